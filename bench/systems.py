"""How fast each system is on real contacts, in bare replays of the same contacts (see ``simulation.py``).

The four traces are Cambridge, Infocom 2005, Infocom 2006 and Reality as ``hunet trace import`` writes them; a made-up
crowd stands in where they are not at hand. Each system runs with 1,000 messages, all metrics and all tables, on
settings at which it delivers. CPU seconds of one process, the best of a few tries.

    ./run bench systems                       the traces below the folder that HUNET_TRACES names, or raw ones beside us
    ./run bench systems --traces FOLDER       folders called cambridge, infocom05, infocom06, reality below this one
    ./run bench systems --small               a small made-up crowd, in seconds
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bench.simulation import MESSAGES, bare_replay, crowd
from bench.simulation import traces as raw_traces

from hunet import Contacts, make_workload, read_contacts, run

TRACES = {"cambridge": "Cambridge", "infocom05": "Infocom05", "infocom06": "Infocom06", "reality": "Reality"}
RAW = {
    "Cambridge students": "Cambridge",
    "Infocom 2005": "Infocom05",
    "Infocom 2006": "Infocom06",
    "Reality (mit.one)": "Reality",
}
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "push": ("push", {}),
    "b-sub": ("b-sub", {"decay_cycle": 256.0}),
    "mops": ("mops", {}),
    "social-election": ("social-election", {}),
    "socialcast, T = 20 s": ("socialcast", {}),
    "socialcast, T = 300 s": ("socialcast", {"period": 300.0}),  # the paper's T is for a run of hours
    "overlay": ("socio-aware-overlay", {}),
    "overlay, threshold 3,600 s": ("socio-aware-overlay", {"threshold": 3600.0}),  # its paper's is for months
}
LEAST, TRY_FOR, LONG = 3, 0.3, 5.0
"""Tries of one measurement at least, but for one that takes long; a quick one is tried for a third of a second."""


T = TypeVar("T")


def contacts_of(folder: Path | str | None) -> dict[str, Contacts]:
    """The four traces, as far as they are there; without any, a made-up crowd."""
    if folder is None:
        found = {RAW[name]: contacts for name, contacts in raw_traces().items() if name in RAW}
    else:
        places = sorted(path.parent for path in Path(folder).rglob("contacts.parquet"))
        known = {name: next((each for each in places if each.name == name), None) for name in TRACES}
        found = {TRACES[name]: read_contacts(place) for name, place in known.items() if place}
    return found or {"a made-up crowd": crowd(20_000, 60)}


def least(call: Callable[[], T]) -> tuple[float, T]:
    """The least CPU seconds of several tries, and what came out."""
    spent: list[float] = []
    while not spent or sum(spent) < TRY_FOR or (len(spent) < LEAST and sum(spent) < LONG):
        began = time.process_time()
        found = call()
        spent.append(time.process_time() - began)
    return min(spent), found


def replay_of(contacts: Contacts) -> Callable[[], object]:
    """The bare replay of these contacts with as many messages."""
    draw, (begin, end), nodes = random.Random(1), contacts.span, len(contacts.names)
    publications = sorted(
        (draw.uniform(begin, begin + 0.7 * (end - begin)), draw.randrange(nodes)) for _ in range(MESSAGES)
    )
    starts = list(zip(contacts.start.tolist(), contacts.a.tolist(), contacts.b.tolist(), strict=True))
    return lambda: bare_replay(starts, nodes, publications)


def table(traces: dict[str, Contacts], chosen: list[str]) -> None:
    """One row for each system: bare replays, CPU seconds and the delivery ratio, on each trace."""
    bare = {name: least(replay_of(contacts))[0] for name, contacts in traces.items()}
    workloads = {name: make_workload(contacts, seed=1, messages=MESSAGES) for name, contacts in traces.items()}
    print(f"| | {' | '.join(traces)} |\n{'|---' * (len(traces) + 1)}|")
    print(f"| bare replay, CPU s | {' | '.join(f'{seconds:.4f}' for seconds in bare.values())} |", flush=True)
    for label in chosen:
        system, parameters = SYSTEMS[label]
        cells = []
        for name, contacts in traces.items():
            replay, call = replay_of(contacts), partial(run, contacts, workloads[name], system, **parameters)
            # How quick a machine is changes with what else it does: the replay is measured beside each run.
            before, (spent, result), after = least(replay), least(call), least(replay)
            ratio = spent / min(before[0], after[0])
            cells.append(f"{ratio:.0f} ({spent:.2f} s, {result.summary['delivery_ratio']:.0%})")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--traces", type=Path, default=os.environ.get("HUNET_TRACES"))
    ask.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    ask.add_argument("--small", action="store_true")
    said = ask.parse_args()
    table({"a small crowd": crowd(500, 20)} if said.small else contacts_of(said.traces), said.systems)


if __name__ == "__main__":
    main()
