"""How fast worlds are made, beside a ticking simulator written as well as NumPy and SciPy allow.

    python bench/worlds.py [--small] [--seeds N] [--json FILE]

1. Exact contacts of 100, 1,000 and 10,000 random walkers at constant density (100 per square kilometre, range
   50 m, speeds 1 to 10 m/s, 3,000 s), against the opponent: positions every second, neighbours by scipy's
   cKDTree, and the changes between two ticks. CPU seconds of one core, the walks themselves not counted.
2. Accuracy of both against ticks of 0.01 s, on 100 walkers and 300 s.
3. CPU seconds of each world in its paper's scenario, movement and contacts.
4. With --seeds, the statistics of the worlds over so many seeds.

With --small, 50 walkers for 30 s and short worlds: it only shows that this program runs.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree  # type: ignore[import-untyped]

from hunet.graphs.contact_statistics import contact_statistics
from hunet.worlds import WORLDS, make_movement, make_world
from hunet.worlds.exact_contacts import ContactColumns, exact_contacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunet.worlds.tracks import Tracks

RANGE, DURATION = 50.0, 3000.0
AS_THE_GENERATOR = {"speed_per": "host", "distinct_squares": False}


def ticking(tracks: Tracks, radio_range: float, until: float, tick: float) -> ContactColumns:
    """Look at distances every tick, the opponent: up at the first tick in range, down at the first out."""
    legs, nodes = tracks.legs(), len(tracks)
    leg = np.searchsorted(legs.node, np.arange(nodes))
    before = np.empty(0, np.int64)
    since = np.empty(0)
    done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for now in np.arange(0.0, until + tick / 2, tick).tolist():
        while (over := (legs.end[leg] < now)).any():
            leg[over] += 1
        along = now - legs.begin[leg]
        places = np.column_stack((legs.x[leg] + legs.vx[leg] * along, legs.y[leg] + legs.vy[leg] * along))
        pairs = cKDTree(places).query_pairs(radio_range, output_type="ndarray")
        near = np.sort(np.minimum(pairs[:, 0], pairs[:, 1]) * nodes + np.maximum(pairs[:, 0], pairs[:, 1]))
        at = np.searchsorted(near, before)
        stayed = np.zeros(len(before), bool)
        inside = at < len(near)
        stayed[inside] = near[at[inside]] == before[inside]
        started = np.full(len(near), now)
        started[at[stayed]] = since[stayed]
        done.append((before[~stayed], since[~stayed], np.full(int((~stayed).sum()), now)))
        before, since = near, started
    done.append((before, since, np.full(len(before), until)))
    pair, start, end = (np.concatenate(column) for column in zip(*done, strict=True))
    order = np.lexsort((start, pair))
    return ContactColumns(pair[order] // nodes, pair[order] % nodes, start[order], end[order])


def cpu_seconds(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Take the least of some repetitions, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return best, result


def walkers(nodes: int, duration: float) -> Tracks:
    """Random waypoint at 100 nodes per square kilometre."""
    side = 1000 * (nodes / 100) ** 0.5
    return make_movement("waypoint", 1, nodes=nodes, width=side, height=side, duration=duration).tracks


def scaling(sizes: list[int], until: float) -> list[dict[str, float]]:
    rows = []
    headings = ("contacts", "exact s", "us/node", "1 s ticks s", "seen", "ratio")
    print(f"{'nodes':>7}" + "".join(f"{heading:>13}" for heading in headings))
    for nodes in sizes:
        tracks = walkers(nodes, until)
        repeats = 3 if nodes <= 1000 else 2  # the best of as many for both
        ours, found = cpu_seconds(partial(exact_contacts, tracks, RANGE, until), repeats)
        theirs, seen = cpu_seconds(partial(ticking, tracks, RANGE, until, 1.0), repeats)
        rows.append({"nodes": nodes, "contacts": len(found.a), "exact": ours, "ticking": theirs, "seen": len(seen.a)})
        figures = [f"{len(found.a):,}", f"{ours:.3f}", f"{1e6 * ours / nodes:.0f}", f"{theirs:.3f}"]
        figures += [f"{len(seen.a):,}", f"{theirs / ours:.1f}"]
        print(f"{nodes:>7}" + "".join(f"{figure:>13}" for figure in figures))
    return rows


def accuracy(until: float) -> list[dict[str, float]]:
    """Unmatched contacts, and the largest and the mean error of boundaries, against ticks of 0.01 s."""
    tracks = walkers(100, until)
    reference = ticking(tracks, RANGE, until, 0.01)
    rows = []
    print(f"{'':>12} {'contacts':>9} {'unmatched':>10} {'largest error s':>16} {'mean error s':>13}")
    for name, found in (
        ("ticks 0.01 s", reference),
        ("exact", exact_contacts(tracks, RANGE, until)),
        ("ticks 1 s", ticking(tracks, RANGE, until, 1.0)),
    ):
        unmatched, errors = _compared(found, reference, len(tracks))
        rows.append({"contacts": len(found.a), "unmatched": unmatched, "largest": errors.max(), "mean": errors.mean()})
        print(f"{name:>12} {len(found.a):>9,} {unmatched:>10} {errors.max():>16.5f} {errors.mean():>13.5f}")
    return rows


def _compared(found: ContactColumns, reference: ContactColumns, nodes: int) -> tuple[int, np.ndarray]:
    """Match each reference contact with the one of its pair that overlaps it (or lies within a second)."""
    by_pair: dict[int, list[tuple[float, float]]] = {}
    for a, b, start, end in zip(*(column.tolist() for column in found), strict=True):
        by_pair.setdefault(a * nodes + b, []).append((start, end))
    errors, matched = [], 0
    for a, b, start, end in zip(*(column.tolist() for column in reference), strict=True):
        near = [each for each in by_pair.get(a * nodes + b, []) if each[0] <= end + 1 and start - 1 <= each[1]]
        if near:
            best = min(near, key=lambda each: abs(each[0] - start) + abs(each[1] - end))
            errors += [abs(best[0] - start), abs(best[1] - end)]
            matched += 1
    return len(reference.a) - matched, np.array(errors)


def papers(small: bool) -> list[dict[str, Any]]:
    rows = []
    print(f"{'world':>10} {'nodes':>6} {'contacts':>9} {'movement s':>11} {'contacts s':>11}")
    for name in WORLDS:
        short: dict[str, Any] = {"days": 1} if name == "campus" else {"duration": 60.0}
        moving, movement = cpu_seconds(partial(make_movement, name, 1, **(short if small else {})), 2)
        meeting, contacts = cpu_seconds(movement.contacts, 2)
        rows.append({"world": name, "contacts": len(contacts), "movement": moving, "meeting": meeting})
        print(f"{name:>10} {len(contacts.names):>6} {len(contacts):>9,} {moving:>11.2f} {meeting:>11.2f}")
    return rows


def signatures(seeds: int) -> list[dict[str, Any]]:
    """Print mean and standard deviation between seeds of the statistics that were measured for docs/worlds.md."""
    scenarios: list[tuple[str, dict[str, Any]]] = [
        ("waypoint", {"start": "stationary"}),
        ("waypoint", {}),
        ("community", {}),
        ("community", {"min_separation": 3}),
        ("community", {"association": "goal", "drift": 0.01, "weak_ties": True, **AS_THE_GENERATOR}),
        ("slaw", {}),
        ("campus", {}),
    ]
    rows = []
    for name, parameters in scenarios:
        runs = [asdict(contact_statistics(make_world(name, seed, **parameters))) for seed in range(1, seeds + 1)]
        print(name, parameters)
        for figure in runs[0]:
            values = np.array([run[figure] for run in runs])
            rows.append({"world": name, "figure": figure, "mean": values.mean(), "sd": values.std(ddof=1)})
            print(f"    {figure:>24} {values.mean():>14.6g} ± {values.std(ddof=1):.3g}")
    return rows


def main() -> None:
    ask = argparse.ArgumentParser(description="How fast worlds are made.")
    ask.add_argument("--small", action="store_true", help="only show that this program runs")
    ask.add_argument("--json", type=Path, help="also write the figures to this file")
    ask.add_argument("--seeds", type=int, default=0, help="also measure the worlds over so many seeds")
    said = ask.parse_args()
    results: dict[str, list[dict[str, Any]]] = {
        "scaling": scaling([50], 30.0) if said.small else scaling([100, 1000, 10_000], DURATION),
        "accuracy": accuracy(30.0 if said.small else 300.0),
        "papers": papers(said.small),
    }
    if said.seeds > 1:
        results["signatures"] = signatures(said.seeds)
    if said.json:
        said.json.write_text(json.dumps(results, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
