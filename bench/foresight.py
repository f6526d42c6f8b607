"""Foresight beside push, pull and spray-and-wait: deliveries against copies and all bytes.

    python bench/foresight.py [--small] [--contacts FILE] [--hours H ...] [--size BYTES] [--interests N] [--seeds N]

300 messages on 20 topics, published in the first 60 % of the contacts; a table for docs/systems/foresight.md. Without
--contacts, the community world. Deliveries, forwards and bytes (data and control) are in per cent of PUSH's; the last
row is the cost of Foresight at equal deliveries, of that of the best other point, chosen in hindsight: between two
points the cost is read off the line through them. CPU is that of one run in bare replays (PUSH's).
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import hunet

COPIES = (2, 4, 8, 16, 32, 64, 128)
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "pull": ("pull", {}),
    "pull from anyone": ("pull", {"from_anyone": True}),
    **{f"spray, {many}": ("spray-and-wait", {"copies": many}) for many in COPIES},
    **{
        f"spray, {many}, subscribers serve": ("spray-and-wait", {"copies": many, "subscribers_serve": True})
        for many in COPIES
    },
}


class Cost(NamedTuple):
    """What a run delivered, and what it cost."""

    delivered: float
    forwards: float
    data: float
    control: float
    cpu: float

    def of(self, push: Cost) -> tuple[float, float, float]:
        """Deliveries, forwards and bytes, in per cent of PUSH's."""
        all_bytes = _percent(self.data + self.control, push.data + push.control)
        return _percent(self.delivered, push.delivered), _percent(self.forwards, push.forwards), all_bytes


def _percent(one: float, other: float) -> float:
    return 100 * one / other if other else 0.0


def measure(contacts: hunet.Contacts, workload: hunet.Workload, protocol: str, seed: int, **given: Any) -> Cost:
    began = time.process_time()
    summary = hunet.run(contacts, workload, protocol, seed=seed, **given).summary
    taken = time.process_time() - began
    delivered, forwards = float(summary["delivered"]), float(summary["relayed"])
    return Cost(delivered, forwards, float(summary["relayed_bytes"]), float(summary["control_bytes"]), taken)


def in_hindsight(points: list[tuple[float, float]], delivered: float) -> float | None:
    """The least forwards at which points reach so many deliveries, also between two of them; None if none does.

    >>> in_hindsight([(50.0, 10.0), (100.0, 30.0)], 75.0)
    20.0
    """
    reached = [cost for share, cost in points if share >= delivered]
    for low, low_cost in points:
        for high, high_cost in points:
            if low < delivered <= high:
                reached.append(low_cost + (high_cost - low_cost) * (delivered - low) / (high - low))
    return min(reached, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--contacts")
    parser.add_argument("--hours", type=float, nargs="+", default=[1.0, 6.0, 24.0])
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--interests", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    contacts = hunet.read_contacts(asked.contacts) if asked.contacts else hunet.make_world("community", seed=1)
    messages, hours = (20, asked.hours[:1]) if asked.small else (300, asked.hours)
    print("| life | seed | protocol | deliveries | forwards | bytes | CPU |\n|---|---|---|---|---|---|---|")
    for life in hours:
        for seed in range(1, asked.seeds + 1):
            workload = hunet.make_workload(
                contacts,
                seed=seed,
                messages=messages,
                topics=20,
                interests=asked.interests,
                last=0.6,
                size=asked.size,
                ttl=life * 3600,
            )
            push = measure(contacts, workload, "push", seed)
            points = [(100.0, 100.0)]
            for name, (protocol, given) in {**OTHERS, "foresight": ("foresight", {})}.items():
                cost = measure(contacts, workload, protocol, seed, **given)
                delivered, forwards, all_bytes = cost.of(push)
                if protocol != "foresight":
                    points.append((delivered, forwards))
                cpu = cost.cpu / push.cpu if push.cpu else 0.0
                print(
                    f"| {life:g} h | {seed} | {name} | {delivered:.1f} | {forwards:.1f} | {all_bytes:.0f} | {cpu:.0f} |"
                )
            best = in_hindsight(points, delivered)
            if best:
                print(
                    f"| {life:g} h | {seed} | foresight / best in hindsight | | {forwards / best:.2f} | | |", flush=True
                )


if __name__ == "__main__":
    main()
