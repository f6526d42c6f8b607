"""Communities of a weighted graph: k-clique percolation, Girvan-Newman, and Newman's greedy modularity.

Theory of operation.

*k-clique percolation* (Palla et al., Nature 435, 2005): two cliques of k nodes that share k - 1 are of one community.
Cliques are enumerated node by node over sets of common neighbours, and united through the (k-1)-cliques that they
contain; the work follows the number of k-cliques, not of maximal cliques, of which a dense contact graph has too many.

*Girvan-Newman*, weighted (Newman, Physical Review E 70, 2004): a contact graph is a multigraph with as many edges
between two nodes as their weight. The edge that most shortest paths per unit of weight run over is removed, paths are
counted anew, and so on; of the partitions that the graph falls into, the one of the highest weighted modularity counts.

*Modularity* (Newman, Physical Review E 69, 2004): every node begins alone, and the two communities are united whose
union raises the weighted modularity most, as long as any does.

Where we depart from the papers, and why. Girvan-Newman stops when modularity has fallen 0.05 below its best: nothing
better came after in any trace, and taking communities apart is most of the work. Ties go to the lowest nodes, so that
the answer is a function of the graph.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from hunet.model.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    Weights = NDArray[np.float64]

_GIVE_UP = 0.05
_MOST_CLIQUES = 20_000_000
Edges = list[tuple[int, int]]


def find_communities(method: str, nodes: int, edges: Edges, weights: Weights, k: int = 3) -> list[list[int]]:
    """The communities by a named method, largest first."""
    if method not in METHODS:
        raise ConfigurationError(f"no method '{method}': {did_you_mean(method, METHODS)}")
    found = METHODS[method](nodes, edges, weights, k)
    return sorted((sorted(community) for community in found), key=lambda members: (-len(members), members))


def k_cliques(nodes: int, edges: Edges, weights: Weights, k: int) -> list[list[int]]:  # noqa: ARG001
    """Communities of k-clique percolation; they may overlap, and not every node is in one.

    >>> k_cliques(5, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)], None, 3)
    [[0, 1, 2], [2, 3, 4]]
    """
    if k < 2:
        raise ConfigurationError(f"k-cliques have at least 2 nodes, not {k}")
    parent: dict[tuple[int, ...], tuple[int, ...]] = {}

    def root(part: tuple[int, ...]) -> tuple[int, ...]:
        while parent[part] != part:
            parent[part] = part = parent[parent[part]]
        return part

    for number, clique in enumerate(_cliques(nodes, edges, k)):
        if number > _MOST_CLIQUES:
            raise ConfigurationError(
                f"the graph has more than {_MOST_CLIQUES} cliques of {k}: keep only stronger edges "
                "(--least-contacts, --least-duration), or use another method"
            )
        first, *others = (root(parent.setdefault(part, part) and part) for part in combinations(clique, k - 1))
        for other in others:
            low, high = min(root(first), root(other)), max(root(first), root(other))
            parent[high] = low
            first = low
    groups: dict[tuple[int, ...], set[int]] = {}
    for part in parent:
        groups.setdefault(root(part), set()).update(part)
    return sorted(sorted(group) for group in groups.values())


def girvan_newman(nodes: int, edges: Edges, weights: Weights, k: int = 0) -> list[list[int]]:  # noqa: ARG001
    """The partition of the highest modularity on the way of Girvan and Newman."""
    import numpy as np
    import rustworkx

    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(list(range(nodes)))
    graph.add_edges_from([(*edge, number) for number, edge in enumerate(edges)])
    best, best_quality, parts = [list(range(nodes))], -np.inf, 0
    while True:
        components = rustworkx.connected_components(graph)
        if len(components) > parts:
            parts = len(components)
            quality = modularity(nodes, edges, weights, [sorted(part) for part in components])
            if quality > best_quality + 1e-12:
                best, best_quality = [sorted(part) for part in components], quality
            if quality < best_quality - _GIVE_UP:
                return best
        if not graph.num_edges():
            return best
        # One thread: sums in a fixed order, so that ties break the same way on every machine.
        paths = rustworkx.graph_edge_betweenness_centrality(graph, normalized=False, parallel_threshold=1 << 30)
        load = {graph.get_edge_data_by_index(index): paths[index] for index in paths}
        heaviest = max(load[number] / weights[number] for number in load)
        gone = min(number for number in load if load[number] / weights[number] >= heaviest * (1 - 1e-9))
        graph.remove_edge(*edges[gone])


def greedy_modularity(nodes: int, edges: Edges, weights: Weights, k: int = 0) -> list[list[int]]:  # noqa: ARG001
    """Newman's greedy agglomeration, on a matrix of what unions would gain."""
    import numpy as np

    total = float(weights.sum())
    shares = np.zeros((nodes, nodes))
    for (one, two), weight in zip(edges, weights, strict=True):
        shares[one, two] += weight / (2 * total)
        shares[two, one] += weight / (2 * total)
    ends = shares.sum(axis=1)
    gain = 2 * (shares - np.outer(ends, ends))
    gain[shares == 0] = -np.inf
    np.fill_diagonal(gain, -np.inf)
    members: list[list[int]] = [[node] for node in range(nodes)]
    while True:
        best = float(gain.max(initial=-np.inf))
        if best <= 1e-15:
            return [part for part in members if part]
        # The lowest pair of those that gain as much, to the last digits but a few.
        one, two = sorted(int(i) for i in np.unravel_index(int(np.argmax(gain >= best - 1e-13)), gain.shape))
        members[one] += members[two]
        members[two] = []
        shares[one] += shares[two]
        shares[:, one] += shares[:, two]
        shares[two] = shares[:, two] = 0.0
        ends[one] += ends[two]
        ends[two] = 0.0
        gain[two] = gain[:, two] = -np.inf
        row = np.where(shares[one] > 0, 2 * (shares[one] - ends[one] * ends), -np.inf)
        row[one] = -np.inf
        gain[one] = gain[:, one] = row


def modularity(nodes: int, edges: Edges, weights: Weights, parts: list[list[int]]) -> float:
    """Weighted modularity of a partition: the share of weight inside parts less what chance would give."""
    import numpy as np

    total = float(weights.sum())
    if not total:
        return 0.0
    label = np.full(nodes, -1)
    for number, part in enumerate(parts):
        label[part] = number
    ends = np.array(edges, np.int64).reshape(-1, 2)
    strength = np.bincount(ends.ravel(), np.repeat(weights, 2), minlength=nodes)
    inside = float(weights[label[ends[:, 0]] == label[ends[:, 1]]].sum()) / total
    by_part = np.bincount(label[label >= 0], strength[label >= 0])
    return inside - float(((by_part / (2 * total)) ** 2).sum())


METHODS: dict[str, Callable[[int, Edges, Any, int], list[list[int]]]] = {
    "k-clique": k_cliques,
    "girvan-newman": girvan_newman,
    "modularity": greedy_modularity,
}


def _cliques(nodes: int, edges: Edges, k: int) -> Iterator[tuple[int, ...]]:
    """Every clique of k nodes once, as rising numbers; common neighbours are sets of bits."""
    higher = [0] * nodes
    for one, two in edges:
        higher[min(one, two)] |= 1 << max(one, two)

    def grow(clique: tuple[int, ...], common: int) -> Iterator[tuple[int, ...]]:
        if len(clique) == k:
            yield clique
            return
        while common:
            lowest = common & -common
            common ^= lowest
            node = lowest.bit_length() - 1
            yield from grow((*clique, node), common & higher[node])

    for node in range(nodes):
        yield from grow((node,), higher[node])
