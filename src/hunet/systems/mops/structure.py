"""What MOPS makes of a closeness table: communities, the ways inside them, and brokers between them.

A structure is the same for all who know the same table, so devices that were given one share it; a device that learns
by itself has one of its own, of the part of the network that it knows (``exchange``).

>>> structure = structure_of(((1, 2, .9), (1, 3, .8), (2, 3, .7), (2, 4, .3), (2, 5, .2), (3, 4, .4), (4, 5, .9)))
>>> structure.label(3), structure.members(3), structure.bridges(3)
(2, (1, 2, 3), (4,))
>>> structure.way(2, 3)
(2, 1, 3)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hunet.model import Node
from hunet.systems.mops.closeness_graph import ClosenessGraph, ClosenessTable
from hunet.systems.mops.communities import Communities, communities
from hunet.systems.mops.gateways import brokers

if TYPE_CHECKING:
    from hunet.systems.mops.closeness_graph import VirtualLink


class Structure:
    """Communities by label, and who bridges them."""

    def __init__(
        self,
        graph: ClosenessGraph,
        groups: Communities,
        pruning: float,
        bridges: dict[Node, tuple[Node, ...]] | None = None,
    ) -> None:
        self.graph = graph
        self.communities = groups
        self.brokers = brokers(graph, groups, pruning) if bridges is None else bridges
        self._label = {node: label for label, group in groups.items() for node in group}
        self._ways: dict[tuple[Node, Node], tuple[Node, ...]] = {}

    def label(self, node: Node) -> Node:
        """The community of a node: the number of its initiator; who is in none is one of its own."""
        return self._label.get(node, node)

    def members(self, node: Node) -> tuple[Node, ...]:
        """Everybody in the community of a node."""
        return self.communities.get(self.label(node), (node,))

    def bridges(self, node: Node) -> tuple[Node, ...]:
        """The communities for which a node is a broker."""
        return self.brokers.get(node, ())

    def way(self, one: Node, two: Node) -> tuple[Node, ...]:
        """The local connection of two members of a community, from the first to the second."""
        if (one, two) not in self._ways:
            link: VirtualLink | None = self.graph.virtual(one, two)
            self._ways[one, two] = link.path if link else (one, two)
        return self._ways[one, two]


Standings = tuple[tuple[Node, Node, tuple[Node, ...]], ...]
"""Rows of (node, label of its community, labels of the communities for which it is a broker)."""


@lru_cache(64)
def structure_of(
    table: ClosenessTable,
    threshold: float = 0.5,
    hops: int = 2,
    pruning: float = 0.8,
    known: Standings | None = None,
) -> Structure:
    """The structure of a whole network, made once for all devices that were given the same table.

    Communities and brokers are not worked out if they are known.
    """
    graph = ClosenessGraph(table, hops=hops, floor=threshold)
    if known is None:
        return Structure(graph, communities(graph, graph.nodes, threshold), pruning)
    groups: dict[Node, list[Node]] = {}
    for node, label, _ in sorted(known):
        groups.setdefault(label, []).append(node)
    bridges = {node: labels for node, _, labels in sorted(known) if labels}
    return Structure(graph, {label: tuple(groups[label]) for label in sorted(groups)}, pruning, bridges)
