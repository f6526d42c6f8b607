"""How fast B-SUB runs, as a multiple of a bare replay of the same contacts, and what its filters cost.

    python bench/b_sub.py [--trace FILE | --small] [--yardstick FILE]
    python bench/b_sub.py --pictures [FOLDER]          (docs/pictures unless told otherwise)

FILE is a contact table, best Infocom 2006 as imported; without one, a made-up crowd, or a small one. The bare replay is
an epidemic with sets as integers, nothing else; ``--yardstick`` names a program of its own to take it from. Ratios are
of the least of several times in one run, so that they hold on other machines too.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from hunet import Contacts, make_workload, make_world, read_contacts, run
from hunet.report.figures import panels
from hunet.systems.b_sub import theory
from hunet.systems.b_sub.filter import Evidence, FilterShape
from hunet.systems.b_sub.lookup import QuickLookup
from hunet.systems.b_sub.packets import Filters
from hunet.systems.b_sub.wire import wire_size
from hunet.systems.b_sub.workload import TAGS

REPEATS = 3


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--trace", type=Path)
    ask.add_argument("--small", action="store_true")
    ask.add_argument("--yardstick", type=Path)
    ask.add_argument("--pictures", nargs="?", type=Path, const=Path("docs/pictures"))
    said = ask.parse_args()
    if said.pictures:
        draw(said.pictures)
        return
    size = {"nodes": 20, "duration": 600.0} if said.small else {"nodes": 60, "duration": 14400.0}
    contacts = read_contacts(said.trace) if said.trace else make_world("waypoint", seed=1, **size)
    operations()
    runs(contacts, said.yardstick)


def operations() -> None:
    """The filter's operations, in microseconds."""
    shape, rng = FilterShape(), random.Random(1)
    mine, theirs = shape.empty(), shape.empty()
    for _ in range(80):
        mine = mine.a_merge(shape.of(rng.sample(TAGS, 2))).decay(rng.randrange(2))
        theirs = theirs.a_merge(shape.of(rng.sample(TAGS, 2))).decay(rng.randrange(2))
    genuine, lookup = shape.of(TAGS[:2]), QuickLookup(shape, TAGS)
    evidence = Evidence(genuine)
    cases: dict[str, Callable[[], object]] = {
        "decay": lambda: mine.decay(1),
        "A-merge": lambda: mine.a_merge(genuine),
        "M-merge": lambda: mine.m_merge(theirs),
        "A-merge, then M-merge": lambda: mine.a_merge_and_m_merge(evidence, theirs.counters),
        "preferred of 38 tags": lambda: list(lookup.preferred(mine.counters, theirs.counters, TAGS)),
        "size on the wire": lambda: wire_size(mine.counters),
        "a greeting": lambda: Filters(b"", mine.counters),
    }
    print("| operation | microseconds |\n|---|---|")
    for name, call in cases.items():
        print(f"| {name} | {best(lambda call=call: [call() for _ in range(2000)]) / 2000 * 1e6:.2f} |")  # type: ignore[misc]


def runs(contacts: Contacts, yardstick: Path | None) -> None:
    """Whole runs with the paper's workload, against bare replays with 1,000 messages and with as many as they have."""
    workload = make_workload(contacts, seed=1, kind="tags")
    many = len(workload.publications)
    bare = {count: best(replay(contacts, count, yardstick)) for count in (1000, many)}
    print(f"\n{contacts}, {many} messages; bare replay: " + ", ".join(f"{s:.3f} s ({n})" for n, s in bare.items()))
    print("\n| protocol | CPU s | bare replays of 1,000 messages | of as many |\n|---|---|---|---|")
    for protocol, cycle in (("b-sub", 16), ("b-sub", 256), ("b-sub", 4096), ("b-sub-p", 256), ("b-sub-pull", 256)):
        spent = best(lambda p=protocol, c=cycle: run(contacts, workload, p, decay_cycle=float(c)))  # type: ignore[misc]
        label = f"{protocol} {cycle} s"
        print(f"| {label} | {spent:.2f} | {spent / bare[1000]:.0f} | {spent / bare[many]:.1f} |")


def replay(contacts: Contacts, messages: int, yardstick: Path | None) -> Callable[[], object]:
    """A bare epidemic on these contacts: the given program's, or one like it."""
    starts = list(zip(contacts.start.tolist(), contacts.a.tolist(), contacts.b.tolist(), strict=True))
    nodes, (first, last), rng = len(contacts.names), contacts.span, random.Random(1)
    said = sorted((rng.uniform(first, first + 0.7 * (last - first)), rng.randrange(nodes)) for _ in range(messages))
    if yardstick:
        spec = importlib.util.spec_from_file_location("yardstick", yardstick)
        assert spec is not None and spec.loader is not None
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return lambda: module.replay_bits(starts, nodes, said)
    return lambda: _bare(starts, nodes, said)


def _bare(starts: list[tuple[float, int, int]], nodes: int, said: list[tuple[float, int]]) -> list[Any]:
    have, arrivals, published = [0] * nodes, [], 0
    for now, a, b in starts:
        while published < len(said) and said[published][0] <= now:
            have[said[published][1]] |= 1 << published
            published += 1
        if have[a] != have[b]:
            both = have[a] | have[b]
            for node in (a, b):
                new = both ^ have[node]
                while new:
                    arrivals.append((new.bit_length() - 1, node, now))
                    new ^= 1 << new.bit_length() - 1
                have[node] = both
    return arrivals


def best(call: Callable[[], object], clock: Callable[[], float] = process_time) -> float:
    """The least processor time of a few tries; wall time for what is too short for that clock."""
    spent = []
    for _ in range(REPEATS):
        began, wall = clock(), perf_counter()
        call()
        spent.append(clock() - began or perf_counter() - wall)
    return min(spent)


def draw(folder: Path) -> None:
    """Theory as lines, filters measured as points. Needs matplotlib; the same program draws the same bytes."""
    with panels(folder / "b-sub-theory.svg", 1, 3) as [errors, size, life]:
        counts, shape = [2, 5, 10, 20, 30, 38, 50, 65, 80], FilterShape()
        grid = range(1, 81)
        made = {n: [shape.of([f"{trial} {i}" for i in range(n)]) for trial in range(100)] for n in counts}
        wrong = {n: sum(f"other {i}" in one for one in made[n] for i in range(400)) / 40_000 for n in counts}
        for h, colour in ((1, "#0072b2"), (2, "#d55e00"), (4, "#009e73")):
            errors.plot(grid, [theory.false_positive_rate(n, filters=h) for n in grid], color=colour, label=f"{h}")
            size.plot(grid, [theory.expected_bytes(n, filters=h) for n in grid], color=colour, label=f"{h}")
        errors.plot(counts, [wrong[n] for n in counts], "o", color="#0072b2", markersize=3)
        size.plot(counts, [_mean([wire_size(f.counters) for f in made[n]]) for n in counts], "o", color="#0072b2", ms=3)
        loads = [0.05 * step for step in range(19)]
        life.plot(loads, [theory.expected_life(1, load / 5) for load in loads], color="#0072b2")
        tried = loads[::3]
        life.plot(tried, [_mean(_lives(load / 5)) for load in tried], "o", color="#0072b2", markersize=3)
        errors.set(xlabel="tags", ylabel="false-positive rate", yscale="log", ylim=(1e-6, 1))
        size.set(xlabel="tags", ylabel="bytes")
        life.set(xlabel="renewals in 5 decay cycles", ylabel="mean life (decay cycles)", yscale="log")
        errors.legend(title="filters")


def _lives(rate: float, tries: int = 4000) -> list[float]:
    """How long an interest is in a filter whose decay cycle is 1, renewed at random times of this rate."""
    rng, lives = random.Random(1), []
    shape = FilterShape(counters=8, hashes=1, ceiling=255)
    one = shape.of(["x"])
    for _ in range(tries):
        ours, tick = one, 1
        first = rng.random()  # it comes at any phase of the clock
        renewed = first + rng.expovariate(rate) if rate else float("inf")
        while True:
            while renewed < tick:
                ours, renewed = ours.a_merge(one), renewed + rng.expovariate(rate)
            ours = ours.decay(1)
            if "x" not in ours:
                break
            tick += 1
        lives.append(tick - first)
    return lives


def _mean(values: list[Any]) -> float:
    return float(sum(values) / len(values))


if __name__ == "__main__":
    main()
