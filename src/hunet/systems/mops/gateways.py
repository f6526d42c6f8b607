"""Gateways between communities: how much each matters, and which of them become brokers.

F. Li and J. Wu, "MOPS", ICDCS 2009, section IV.D and the appendix, Eq. 7.

A *gateway* from community A to B is a member of A with a direct link, however weak, to a member of B. Its betweenness
b for the pair says how much of all that can flow from A to B flows through it; over all gateways of the pair it adds up
to 1. A gateway whose betters carry a share of B already prunes itself for the pair; one that is left with a pair is a
*broker*. The best gateway of a pair has no betters and always stays.

Everybody is 1 to itself in Eq. 7, as it is in the paper's interest weights. A and B prune independently: that the
brokers who remain on the two sides have a link to each other is likely, not certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.model import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunet.systems.mops.closeness_graph import ClosenessGraph
    from hunet.systems.mops.communities import Communities


def gateways(graph: ClosenessGraph, here: Sequence[Node], there: Sequence[Node]) -> list[Node]:
    """The members of one community with a direct link to the other."""
    return list(betweenness(graph, here, there))


def betweenness(graph: ClosenessGraph, here: Sequence[Node], there: Sequence[Node]) -> dict[Node, float]:
    """Eq. 7: b of every gateway of the first community to the second."""
    label_of = {**dict.fromkeys(here, 0), **dict.fromkeys(there, 1)}
    pull = {node: _pull(graph, node, group) for group in (here, there) for node in group}
    return _shares(graph, here, label_of, pull).get(1, {})


def all_betweenness(graph: ClosenessGraph, groups: Communities) -> Iterator[tuple[Node, Node, Node, float]]:
    """Eq. 7 for all pairs of communities: the label of one, that of the other, a gateway between them, its b."""
    for label, other, shares in _all_shares(graph, groups):
        for node, share in shares.items():
            yield label, other, node, share


def brokers(graph: ClosenessGraph, groups: Communities, pruning: float) -> dict[Node, tuple[Node, ...]]:
    """For every broker, the labels of the communities that it bridges to, after pruning at B (section IV.D)."""
    bridges: dict[Node, list[Node]] = {}
    for _, other, shares in _all_shares(graph, groups):
        for node, share in shares.items():
            betters = sum(better for better in shares.values() if better > share)
            if not betters or betters < pruning:
                bridges.setdefault(node, []).append(other)
    return {node: tuple(labels) for node, labels in sorted(bridges.items())}


def _all_shares(graph: ClosenessGraph, groups: Communities) -> Iterator[tuple[Node, Node, dict[Node, float]]]:
    label_of = {node: label for label, group in groups.items() for node in group}
    pull = {node: _pull(graph, node, group) for group in groups.values() for node in group}
    for label, group in groups.items():
        for other, shares in sorted(_shares(graph, group, label_of, pull).items()):
            yield label, other, shares


def _shares(
    graph: ClosenessGraph, group: Sequence[Node], label_of: Mapping[Node, Node], pull: Mapping[Node, float]
) -> dict[Node, dict[Node, float]]:
    """For each neighbouring community, b of every gateway of a group to it.

    The double sum over i and j in Eq. 7 falls apart into two factors: how close the gateway is to its own people, and
    how close the node beyond is to its own; so every link is looked at once.
    """
    flows: dict[Node, dict[Node, float]] = {}
    for node in group:
        for peer, closeness in sorted(graph.links.get(node, {}).items()):
            other = label_of.get(peer)
            if other is not None and other != label_of[node]:
                row = flows.setdefault(other, {})
                row[node] = row.get(node, 0.0) + closeness * pull[peer]
    shares = {}
    for other, row in flows.items():
        weighed = {node: pull[node] * flow for node, flow in row.items()}
        total = sum(weighed.values())
        shares[other] = {node: flow / total for node, flow in weighed.items()}
    return shares


def _pull(graph: ClosenessGraph, node: Node, group: Sequence[Node]) -> float:
    links = graph.links.get(node, {})
    return 1.0 + sum(links[peer] for peer in group if peer in links)
