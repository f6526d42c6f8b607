"""MOPS's local communities: cliques of local neighbours, cut from the graph where it is thinnest.

F. Li and J. Wu, "MOPS", ICDCS 2009, section III.A and the appendix, Algorithm 1.

Theory of operation. Two people are *local neighbours* if their virtual link is at least T close; N(i) are the local
neighbours of i, and N(N(i)) is what i can see. The one with the highest degree of all that it sees makes itself an
initiator. It builds cliques of its local neighbours, each begun with one that no clique of its has taken yet, and keeps
the clique with the least normalised cut: the weight of direct links that leave it for others in sight, over that of all
direct links of its members. Then those who are left do the same among themselves, until everybody has a community.
Two initiators never see each other, so their communities cannot overlap.

Where we depart from the paper, and why
- Neighbours are taken closest first, then by number (the paper does not say).
- Lines 11 to 13 of Algorithm 1 stand inside its outer loop; the community would be announced after the first clique.
  The best of all cliques is chosen here, and the cut is computed once for each finished clique ("aims to maximise the
  communities"). Of equal cuts the larger clique wins, then the one with the lower nodes.
- The cut's denominator sums over l but has c_uv in it; it is read with u = l.
- "Nodes ... will exclude nodes in formed communities": as members and from degrees. Virtual links may still lead
  through them: people of another community carry as before.
- c > T in one place and ≥ T in others: ≥ here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.model import Node, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hunet.systems.mops.closeness_graph import ClosenessGraph

Communities = dict[Node, tuple[Node, ...]]
"""Members in rising order, by label: the number of the initiator."""


def communities(graph: ClosenessGraph, nodes: Iterable[Node], threshold: float) -> Communities:
    """The communities of some nodes, of which those without local neighbours stay alone.

    >>> from hunet.systems.mops.closeness_graph import ClosenessGraph
    >>> rows = [(1, 2, .9), (1, 3, .8), (2, 3, .7), (2, 4, .3), (2, 5, .2), (3, 4, .4), (4, 5, .9)]
    >>> communities(ClosenessGraph(rows, hops=2), range(1, 6), threshold=0.5)
    {2: (1, 2, 3), 4: (4, 5)}
    """
    near = Neighbourhoods(graph, threshold)
    left = sum(1 << node for node in nodes)
    found: Communities = {}
    while left:
        taken = 0
        for initiator in near.initiators(left):
            community = near.community_of(initiator, left)
            found[initiator] = tuple(members(community)[::-1])
            taken |= community
        left &= ~taken
    return dict(sorted(found.items()))


def normalised_cut(graph: ClosenessGraph, inside: int, outside: int) -> float:
    """Ncut of a set of nodes against others, over direct links; 0 where the set has none (appendix)."""
    crossing = total = 0.0
    for node in members(inside):
        for peer, closeness in graph.links.get(node, {}).items():
            total += closeness
            if outside >> peer & 1:
                crossing += closeness
    return crossing / total if total else 0.0


class Neighbourhoods:
    """Local neighbours of everybody, as sets of nodes (bit i is node i), and what follows among those still left."""

    def __init__(self, graph: ClosenessGraph, threshold: float) -> None:
        self.graph, self.threshold = graph, threshold
        self.near: dict[Node, int] = {
            node: sum(1 << peer for peer, closeness in reach.items() if closeness >= threshold)
            for node, reach in graph.reach.items()
        }
        """N(i), without i."""

    def visible(self, node: Node, left: int) -> int:
        """N(N(i)) among those left, with i itself and its local neighbours."""
        near = self.near.get(node, 0) & left
        seen = near | 1 << node
        for peer in members(near):
            seen |= self.near[peer]
        return seen & left

    def initiators(self, left: int) -> list[Node]:
        """Those left whose degree is the highest in sight; of equal degrees the lowest number."""
        ranks = self._ranks(left, left)
        return [node for node in members(left)[::-1] if self._leads(node, left, ranks)]

    def initiates(self, node: Node, left: int) -> bool:
        """Whether one of those left is an initiator: the same, asked by a device that knows what it can see."""
        return self._leads(node, left, self._ranks(self.visible(node, left), left))

    def _ranks(self, nodes: int, left: int) -> Mapping[Node, tuple[float, Node]]:
        """The highest degree, over direct links to others left, has the lowest rank."""
        links = self.graph.links
        return {
            node: (-sum(closeness for peer, closeness in links.get(node, {}).items() if left >> peer & 1), node)
            for node in members(nodes)
        }

    def _leads(self, node: Node, left: int, ranks: Mapping[Node, tuple[float, Node]]) -> bool:
        mine = ranks[node]
        near = members(self.near.get(node, 0) & left)
        if any(ranks[peer] < mine for peer in near):  # most see somebody better right beside them
            return False
        return all(ranks[other] >= mine for other in members(self.visible(node, left)))

    def community_of(self, initiator: Node, left: int) -> int:
        """Algorithm 1: of the initiator's cliques the one with the least normalised cut."""
        reach, near = self.graph.reach.get(initiator, {}), self.near.get(initiator, 0) & left
        order = sorted(members(near), key=lambda node: (-reach[node], node))
        visible = self.visible(initiator, left)
        cliques: list[int] = []
        used = 0
        for first in order:
            if used >> first & 1:
                continue
            clique, common = 1 << initiator | 1 << first, near & self.near[first]
            for node in order:
                if common >> node & 1:
                    clique |= 1 << node
                    common &= self.near[node]
            used |= clique
            cliques.append(clique)
        if not cliques:
            return 1 << initiator
        return min(
            cliques, key=lambda q: (normalised_cut(self.graph, q, visible & ~q), -q.bit_count(), members(q)[::-1])
        )
