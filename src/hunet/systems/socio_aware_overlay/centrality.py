"""Centrality within a community: who sees everybody from nearby, and who stands between others.

Closeness is Eq. 1 of the Socio-Aware Overlay (section 3.3): C_C(a) = 1 / Σ_b d_ab over hop distances; its most central
nodes are the brokers of a community. Betweenness, which the paper plans to use next, counts the shortest paths that run
over a node (U. Brandes, Journal of Mathematical Sociology 25, 2001). Graphs are small: a dictionary from a node to the
set of its neighbours, as bits.

Where we depart from the paper, and why. It says nothing of nodes that cannot be reached; they are as far away as the
community is large, which is further than any that can.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from hunet.model import members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunet.model import Node, NodeSet

Graph = dict[int, int]
Centrality = Literal["closeness", "betweenness"]


def graph_of(nodes: NodeSet, familiar_of: Mapping[Node, NodeSet]) -> Graph:
    """The graph of a community: two are neighbours if either is in the other's familiar set, as far as known.

    >>> graph_of(0b111, {0: 0b110, 1: 0b1000})
    {0: 6, 1: 1, 2: 1}
    """
    near: dict[Node, NodeSet] = {}
    for node, familiar in familiar_of.items():
        near[node] = near.get(node, 0) | familiar
        for other in members(familiar):
            near[other] = near.get(other, 0) | 1 << node
    return {node: near.get(node, 0) & (nodes ^ 1 << node) for node in reversed(members(nodes))}


def closeness(graph: Graph) -> dict[int, float]:
    """Eq. 1, for every node; a node alone has 0.

    >>> star = graph_of(0b1111, {0: 0b1110})
    >>> closeness(star)[0], closeness(star)[3]
    (0.3333333333333333, 0.2)
    """
    found, everybody = {}, _everybody(graph)
    for node in graph:
        total = _distances(graph, node, everybody)
        found[node] = 1 / total if total else 0.0
    return found


def betweenness(graph: Graph) -> dict[int, float]:
    """Shortest paths between two others that run over each node, of several as short each its share.

    >>> betweenness(graph_of(0b111, {0: 0b010, 1: 0b100}))
    {0: 0.0, 1: 1.0, 2: 0.0}
    """
    load = dict.fromkeys(graph, 0.0)
    for source in graph:
        rings = [1 << source]
        paths = {source: 1.0}
        known = 1 << source
        while rings[-1]:
            ahead = 0
            for node in members(rings[-1]):
                for other in members(graph[node] & ~known):
                    paths[other] = paths.get(other, 0.0) + paths[node]
                    ahead |= 1 << other
            known |= ahead
            rings.append(ahead)
        share = dict.fromkeys(paths, 0.0)
        for nearer, ring in reversed(list(pairwise(rings))):
            for node in members(ring):
                for before in members(graph[node] & nearer):
                    share[before] += paths[before] / paths[node] * (1 + share[node])
        for node in paths:
            if node != source:
                load[node] += share[node] / 2  # every pair is counted from both of its ends
    return load


def brokers(graph: Graph, by: Centrality = "closeness", single: bool = False) -> NodeSet:
    """The most central nodes: all that are as central as the best, or of them the one with the smallest number.

    >>> complete = graph_of(0b1111, {0: 0b1110, 1: 0b1100, 2: 0b1000})
    >>> bin(brokers(complete)), bin(brokers(complete, single=True))
    ('0b1111', '0b1')
    """
    if by == "closeness":
        group, _ = closest(graph)
    else:
        central = betweenness(graph)
        best = max(central.values(), default=0.0)
        group = sum(1 << node for node, value in central.items() if value >= best * (1 - 1e-12))
    return group & -group if single else group


def closest(graph: Graph) -> tuple[NodeSet, int]:
    """The nodes of the highest closeness; and, if they are so by their degree, the least degree that may change that.

    A node that is no neighbour is at least two hops away, so that distances sum up to at least 2 (n - 1) - degree:
    nodes are tried by falling degree: in a dense community few are. If those of the highest degree all have that sum,
    they stay the closest until more nodes come, or another node has as many neighbours; otherwise the degree is 0.

    >>> closest(graph_of(0b1111, {0: 0b1110}))
    (1, 3)
    """
    everybody, others = _everybody(graph), 2 * (len(graph) - 1)
    degrees = [near.bit_count() for near in graph.values()]
    highest = degree = max(degrees, default=0)
    nearest, group = len(graph) ** 2, 0  # no distances sum up to more
    while degree >= 0 and others - degree <= nearest:
        for node in [node for node, its in zip(graph, degrees, strict=True) if its == degree]:
            total = _distances(graph, node, everybody)
            if total < nearest:
                nearest, group = total, 0
            if total == nearest:
                group |= 1 << node
        degree = max([its for its in degrees if its < degree], default=-1)
    lasting = nearest == others - highest and group.bit_count() == degrees.count(highest)
    return group, highest if lasting else 0


def _distances(graph: Graph, node: int, everybody: NodeSet) -> int:
    """The sum of Eq. 1."""
    return sum([distance * ring.bit_count() for distance, ring in _rings(graph, node, everybody)])


def _everybody(graph: Graph) -> NodeSet:
    return sum([1 << node for node in graph])


def farthest(graph: Graph, sources: NodeSet) -> int:
    """The most hops from any of these nodes to any that it can reach: how far a broker's flood must go."""
    everybody = _everybody(graph)
    return max([len(_rings(graph, node, everybody, reached=True)) for node in members(sources)], default=0)


def _rings(graph: Graph, source: int, everybody: NodeSet, *, reached: bool = False) -> list[tuple[int, NodeSet]]:
    """The other nodes by their distance; those that cannot be reached come last unless only the reached are asked.

    In a community most are one or two hops away: the search ends when everybody is known, often after a few of a ring.
    """
    rings: list[tuple[int, NodeSet]] = []
    unknown = everybody ^ 1 << source
    ring = graph[source]
    while ring:
        rings.append((len(rings) + 1, ring))
        unknown &= ~ring
        if not unknown:
            return rings
        ahead, rest = 0, ring
        while rest and unknown & ~ahead:
            node = rest.bit_length() - 1
            ahead |= graph[node]
            rest ^= 1 << node
        ring = ahead & unknown
    return rings if reached or not unknown else [*rings, (len(graph), unknown)]
