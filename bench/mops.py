"""How fast MOPS is: its construction, and a run on the campus.

Construction is closeness graph, communities, gateways and pruning. For k = 2 every link is a step behind every other
link of its ends, so that links times mean degree is the least work. A made-up network of people in groups: those of a
group are close, some of the others meet now and then.

The run is one point of the paper's Fig. 8: 200 people for ten days, four of them to learn; events live a day. With all
metrics, all tables and the reachable bound; MOPS's baselines beside it.

    ./run bench mops
    ./run bench mops --small                  100 people, and a day on the campus
"""

from __future__ import annotations

import sys
import time
from random import Random

from hunet import Links, make_workload, make_world, run
from hunet.systems.mops.closeness_graph import ClosenessGraph
from hunet.systems.mops.communities import communities
from hunet.systems.mops.structure import Structure


def network(nodes: int, degree: int, seed: int = 1) -> list[tuple[int, int, float]]:
    """Groups of ten who are close, and links to strangers up to a mean degree."""
    rng = Random(seed)
    links: dict[tuple[int, int], float] = {}
    for one in range(nodes):
        for two in range(one + 1, min(nodes, one // 10 * 10 + 10)):
            links[one, two] = rng.uniform(0.6, 0.95)
    while len(links) < nodes * degree // 2:
        one, two = sorted(rng.sample(range(nodes), 2))
        links.setdefault((one, two), rng.uniform(0.01, 0.6))
    return [(one, two, closeness) for (one, two), closeness in sorted(links.items())]


def construct(table: list[tuple[int, int, float]]) -> Structure:
    """All of it, every device's brokers included."""
    graph = ClosenessGraph(table, hops=2, floor=0.5)
    structure = Structure(graph, communities(graph, graph.nodes, 0.5), 0.8)
    for node in graph.nodes:
        structure.bridges(node)
    return structure


def seconds(table: list[tuple[int, int, float]]) -> float:
    """CPU seconds of one construction, the best of three."""
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        construct(table)
        best = min(best, time.process_time() - begin)
    return best


def campus(days: int) -> None:
    """One run of MOPS and of each of its baselines."""
    contacts = make_world("campus", seed=1, days=days)
    workload = make_workload(contacts, seed=1, kind="intervals", ttl=86400)
    links = Links(rate=500_000, unit="bits/s")
    print("\n| protocol | contacts | events | messages that changed hands | CPU s |")
    print("|---|---|---|---|---|")
    for protocol in ("push", "pull", "k-nearest", "mops"):
        begin = time.process_time()
        result = run(contacts, workload, protocol, links=links, train=0.4)
        took = time.process_time() - begin
        sizes = f"{len(contacts):,} | {len(workload.publications):,} | {result.summary['relayed']:,}"
        print(f"| {protocol} | {sizes} | {took:.1f} |", flush=True)


def main() -> None:
    small = "--small" in sys.argv
    sizes = ((100, 20), (200, 20), (400, 20), (800, 20), (200, 40), (200, 80), (200, 160))
    print("| people | links | mean degree | communities | CPU s | µs per (link x degree) |")
    print("|---|---|---|---|---|---|")
    for nodes, degree in sizes[:1] if small else sizes:
        table = network(nodes, degree)
        spent, structure = seconds(table), construct(table)
        groups = len({structure.label(node) for node in structure.graph.nodes})
        share = 1e6 * spent / (len(table) * 2 * len(table) / nodes)
        print(f"| {nodes} | {len(table):,} | {2 * len(table) / nodes:.0f} | {groups} | {spent:.2f} | {share:.2f} |")
    campus(1 if small else 10)


if __name__ == "__main__":
    main()
