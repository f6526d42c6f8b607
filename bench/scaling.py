"""How the cost of a run grows: with people at constant density, and with messages; all systems.

A made-up crowd: everybody has 200 contacts in a day, with strangers, of half a minute in the mean. Each run has a
process of its own, whose largest memory is stated. A system is tried at the next size as long as the last one promises
that it will end in time. The slope is that of the last two sizes on log-log axes: 1 is linear.

    ./run bench scaling                       up to 10,000 people, as far as a run takes a minute
    ./run bench scaling --full                up to 100,000 people, 10 million contacts, and 1,000,000 messages
    ./run bench scaling --people 100000 --systems push b-sub      one size, whatever it takes
    ./run bench scaling --small               20 people, in seconds
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

DENSITY = 100
"""Contacts for each person; each has twice as many, since a contact has two ends."""
SYSTEMS = ("push", "pull", "spray-and-wait", "b-sub", "mops", "social-election", "socialcast", "socio-aware-overlay")
CODE = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from bench.simulation import crowd
from hunet import make_workload, run
people, contacts, messages, system = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
table = crowd(contacts, people, span=86400)
workload = make_workload(table, seed=1, messages=messages)
settings = {"socio-aware-overlay": {"threshold": 60.0}}
began = time.process_time()
summary = run(table, workload, system, **settings.get(system, {})).summary
print(json.dumps({"seconds": time.process_time() - began, "relayed": summary["relayed"],
    "ratio": summary["delivery_ratio"], "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


def measured(people: int, messages: int, system: str) -> dict[str, float]:
    """One run in a process of its own."""
    root = str(Path(__file__).resolve().parents[1])
    words = [root, str(people), str(people * DENSITY), str(messages), system]
    done = subprocess.run([sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        sys.exit(f"bench: {system} with {people} people failed: {why}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


Point = tuple[int, float]
"""People times messages, and CPU seconds."""


def grow(system: str, sizes: list[tuple[int, int]], patience: float, last: Point | None = None) -> Point | None:
    """One system at growing sizes, (people, messages), while the next one promises to end in time; the first point."""
    first = last
    for people, messages in sizes:
        cost = people * messages
        if last and last[1] * cost / last[0] > patience:
            break
        found = measured(people, messages, system)
        slope = ""
        if last:
            slope = f"{math.log(found['seconds'] / last[1]) / math.log(cost / last[0]):.2f}"
        sizes_ = f"{people:,} | {people * DENSITY:,} | {messages:,} | {found['relayed']:,} | {found['ratio']:.0%}"
        print(f"| {system} | {sizes_} | {found['seconds']:.1f} | {slope} | {found['gib']:.2f} |", flush=True)
        last = cost, found["seconds"]
        first = first or last
    return first


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    ask.add_argument("--people", nargs="+", type=int)
    ask.add_argument("--full", action="store_true")
    ask.add_argument("--small", action="store_true")
    said = ask.parse_args()
    people = said.people or ([10, 20] if said.small else [100, 1000, 10_000, 100_000][: 4 if said.full else 3])
    many = [1000]
    if not said.people:
        many = [10, 20] if said.small else [1000, 10_000, 100_000, 1_000_000][: 4 if said.full else 2]
    patience = math.inf if said.people or said.small else 1800 if said.full else 60
    print("| system | people | contacts | messages | changed hands | delivered | CPU s | slope | GiB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for system in said.systems:
        first = grow(system, [(each, many[0]) for each in people], patience)
        if not said.people:
            grow(system, [(people[0], messages) for messages in many[1:]], patience, first)


if __name__ == "__main__":
    main()
