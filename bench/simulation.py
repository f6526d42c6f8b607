"""How fast PUSH is, against a bare replay of the same contacts.

The opponent (the *yardstick*) is the least that any program in plain Python must do: at each contact start two bit sets
become their union, and first arrivals are written down. No protocol, no links, no packets, no hops, no chains of open
contacts, no metrics. A simulator's time is stated as a multiple of it, in CPU seconds of one process, best of several.

    ./run bench simulation                    the real traces beside the repository, if they are there, and made-up ones
    ./run bench simulation FILE...            contact tables of your own
    ./run bench simulation --small            a small made-up crowd, in seconds
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hunet import Contacts, make_workload, read_contacts, run, write_contacts

SHARED = Path(__file__).resolve().parents[2] / "shared"
MESSAGES = 1000
REPEATS = 5


def bare_replay(
    starts: list[tuple[float, int, int]], nodes: int, publications: list[tuple[float, int]]
) -> list[tuple[int, int, float]]:
    """The yardstick, on contacts that are plain tuples already."""
    have = [0] * nodes
    arrivals = []
    following = 0
    for now, a, b in starts:
        while following < len(publications) and publications[following][0] <= now:
            have[publications[following][1]] |= 1 << following
            following += 1
        x, y = have[a], have[b]
        if x != y:
            for node, news in ((a, y & ~x), (b, x & ~y)):
                left = news
                while left:
                    low = left & -left
                    arrivals.append((low.bit_length() - 1, node, now))
                    left ^= low
            have[a] = have[b] = x | y
    return arrivals


def crowd(contacts: int, nodes: int = 400, seed: int = 1, span: float | None = None) -> Contacts:
    """A made-up crowd: pairs drawn at random, exponential lengths; one begins each second, or all within a span."""
    rng = np.random.default_rng(seed)
    a = rng.integers(nodes, size=contacts)
    b = (a + 1 + rng.integers(nodes - 1, size=contacts)) % nodes
    start = np.sort(rng.uniform(0, span or contacts, contacts))
    return Contacts.from_arrays([str(n) for n in range(nodes)], a, b, start, start + rng.exponential(30, contacts))


def traces() -> dict[str, Contacts]:
    """Infocom 2005 and 2006, and Cambridge, where the traces are at hand."""
    found: dict[str, Contacts] = {}
    if not (SHARED / "traces").is_dir():
        return found
    rows = np.loadtxt(SHARED / "traces/infocom05/contacts.Exp3.dat", usecols=range(4))
    rows = rows[(rows[:, :2] <= 41).all(axis=1)]
    found["Infocom 2005"] = table(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])
    rows = np.loadtxt(SHARED / "traces/infocom06/infocom2006_day2345.trace", delimiter=";")
    found["Infocom 2006"] = table(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 2] + rows[:, 3])
    found["Cambridge students"] = read_contacts(SHARED / "traces/cambridge/students.one.tsv")
    found["Reality (mit.one)"] = read_contacts(SHARED / "traces/reality/mit.one.txt.gz")
    return found


def table(a: np.ndarray, b: np.ndarray, start: np.ndarray, end: np.ndarray) -> Contacts:
    names, numbers = np.unique(np.concatenate([a, b]), return_inverse=True)
    return Contacts.from_arrays([f"{n:g}" for n in names], numbers[: len(a)], numbers[len(a) :], start, end)


def independent_yardstick(contacts: Contacts) -> float:
    """The same by a program that is not ours, where it is at hand; the quicker of the two counts."""
    program = SHARED / "bench" / "yardstick.py"
    if not program.exists():
        return float("inf")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contacts.txt"
        path.write_text("".join(f"{a} {b} {start} {end}\n" for a, b, start, end in contacts.records()))
        command = [sys.executable, str(program), str(path), "--messages", str(MESSAGES), "--json"]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(REPEATS)]
    return min(float(json.loads(done.stdout)["bits_seconds"]) for done in runs)


def cpu(work: object, *given: object) -> float:
    assert callable(work)
    best = float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        work(*given)
        best = min(best, time.process_time() - began)
    return best


def measure(name: str, contacts: Contacts) -> str:
    """One row: the yardstick, PUSH with all metrics and the bound, and their ratio."""
    draw = random.Random(1)
    begin, end = contacts.span
    nodes = len(contacts.names)
    publications = sorted(
        (draw.uniform(begin, begin + 0.7 * (end - begin)), draw.randrange(nodes)) for _ in range(MESSAGES)
    )
    workload = make_workload(contacts, seed=1, messages=MESSAGES)
    starts = list(zip(contacts.start.tolist(), contacts.a.tolist(), contacts.b.tolist(), strict=True))
    bare = min(cpu(bare_replay, starts, nodes, publications), independent_yardstick(contacts))
    push = cpu(run, contacts, workload, "push")
    return f"| {name} | {nodes:,} | {len(contacts):,} | {bare:.3f} | {push:.3f} | {push / bare:.1f} |"


def in_a_process(path: Path) -> dict[str, float]:
    """One run in a process of its own: CPU seconds of the run and the most memory it held."""
    code = (
        "import json, resource, sys, time\n"
        "from hunet import make_workload, read_contacts, run\n"
        "contacts = read_contacts(sys.argv[1])\n"
        f"workload = make_workload(contacts, seed=1, messages={MESSAGES})\n"
        "began = time.process_time()\n"
        "result = run(contacts, workload, 'push')\n"
        "print(json.dumps({'seconds': time.process_time() - began, 'relayed': result.summary['relayed'],\n"
        "    'gib': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def growth(folder: Path, sizes: tuple[int, ...]) -> None:
    print("\n| contacts | messages that changed hands | CPU s | µs per contact | most memory, GiB |")
    print("|---|---|---|---|---|")
    for size in sizes:
        path = folder / f"crowd-{size}.parquet"
        write_contacts(crowd(size), path)
        row = in_a_process(path)
        each = 1e6 * row["seconds"] / size
        print(f"| {size:,} | {row['relayed']:,} | {row['seconds']:.2f} | {each:.1f} | {row['gib']:.2f} |", flush=True)


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("files", nargs="*", type=Path)
    ask.add_argument("--small", action="store_true")
    said = ask.parse_args()
    sizes = (200, 500) if said.small else (50_000, 100_000, 200_000, 400_000, 800_000)
    print(f"PUSH with {MESSAGES:,} publications, all metrics and the bound, against the bare replay\n")
    print("| contacts of | nodes | contacts | bare replay, CPU s | PUSH, CPU s | ratio |\n|---|---|---|---|---|---|")
    given = {path.name: read_contacts(path) for path in said.files}
    known = {} if said.small else traces()
    for name, contacts in (given or {**known, "a made-up crowd": crowd(sizes[1])}).items():
        print(measure(name, contacts), flush=True)
    if not given:
        with tempfile.TemporaryDirectory() as folder:
            growth(Path(folder), sizes)
    print(f"\nThis process held at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB.")


if __name__ == "__main__":
    main()
