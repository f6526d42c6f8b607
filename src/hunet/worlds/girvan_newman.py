"""Communities of a social network by the method of Girvan and Newman.

M. E. J. Newman and M. Girvan, "Finding and evaluating community structure in networks", Physical Review E 69,
2004.

Theory of operation. The edge that most shortest paths run over is likely to join two communities. Remove it,
count the paths anew, and repeat: the network falls apart into finer and finer parts. Each partition is judged
by its modularity on the whole network, the share of edges inside parts less what chance would give, and the
best one is returned.

Where we depart from the paper, and why. The removal stops when modularity has fallen 0.05 below its best: in
the networks of our worlds nothing better ever came after, and taking the communities themselves apart is most
of the work. Ties go to the edge with the lowest nodes, so that the result is a function of the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunet.worlds.tracks import Integers

GIVE_UP = 0.05
"""How far modularity may fall below its best before the search ends."""
TIE = 1e-9
"""Betweenness this close (relative) is equal: sums of fractions differ in their last digits."""


def girvan_newman(nodes: int, edges: Iterable[tuple[int, int]]) -> Integers:
    """Find the community of each node, numbered from 0 in the order of their lowest members.

    >>> girvan_newman(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    import rustworkx  # only this world needs a graph library

    ends = np.array(sorted((min(edge), max(edge)) for edge in edges), np.int64).reshape(-1, 2)
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(list(range(nodes)))
    graph.add_edges_from_no_data([(int(i), int(j)) for i, j in ends])
    best, best_quality, parts = np.zeros(nodes, np.int64), -np.inf, 0
    while True:
        components = rustworkx.connected_components(graph)
        if len(components) > parts:
            parts = len(components)
            labels = _labels(nodes, components)
            quality = modularity(labels, ends)
            if quality > best_quality:
                best, best_quality = labels, quality
            if quality < best_quality - GIVE_UP:
                return best
        if not graph.num_edges():
            return best
        # One thread: sums in a fixed order, so that ties break the same way on every machine.
        paths = rustworkx.graph_edge_betweenness_centrality(graph, normalized=False, parallel_threshold=nodes + 1)
        most = max(paths.values())
        busiest = min(edge for edge, count in paths.items() if count >= most * (1 - TIE))
        graph.remove_edge_from_index(busiest)


def modularity(labels: Integers, ends: Integers) -> float:
    """Give the share of edges inside communities, less what random edges of the same nodes would have.

    >>> round(modularity(np.array([0, 0, 1, 1]), np.array([[0, 1], [2, 3]])), 3)
    0.5
    """
    if not len(ends):
        return 0.0
    one, two = labels[ends[:, 0]], labels[ends[:, 1]]
    parts = int(labels.max()) + 1
    inside = np.bincount(one[one == two], minlength=parts) / len(ends)
    touching = np.bincount(np.append(one, two), minlength=parts) / (2 * len(ends))
    return float((inside - touching**2).sum())


def _labels(nodes: int, components: Iterable[set[int]]) -> Integers:
    labels = np.empty(nodes, np.int64)
    for number, members in enumerate(sorted(components, key=min)):
        labels[list(members)] = number
    return labels
