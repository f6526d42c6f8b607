"""Distances in a graph, in hops."""

from __future__ import annotations


def hop_counts(nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """Ordered pairs by their distance; a breadth-first search from every node, with sets of nodes as bits."""
    near = [0] * nodes
    for one, two in edges:
        near[one] |= 1 << two
        near[two] |= 1 << one
    counts = [0] * (nodes + 1)
    for node in range(nodes):
        known = reached = 1 << node
        distance = 0
        while reached:
            ahead = 0
            while reached:
                lowest = reached & -reached
                ahead |= near[lowest.bit_length() - 1]
                reached ^= lowest
            reached = ahead & ~known
            known |= reached
            distance += 1
            counts[distance] += reached.bit_count()
    return counts
