"""The neighbouring graph of MOPS: who is close to whom, directly or over a few hops.

F. Li and J. Wu, "MOPS: Providing Content-Based Service in Disruption-Tolerant Networks", ICDCS 2009, sections II.B and
III.A.

A *link* joins two people who have met; its closeness c is exp(-AVG² / 2σ²) of their mean separation (Eq. 1). A
*virtual link* joins two people with a path of at most k links between them (Definition 2): its closeness ĉ is the
largest product of closenesses over those paths, and that path is their *local connection*. Since -ln c is the
separation squared over 2σ², the best path has the least sum of squared separations, whatever σ is. Closeness is at most
1, so that a best walk never needs to visit anybody twice.

The graph is built from a closeness table, rows of (node, node, closeness): from contacts by :func:`closeness_table`, or
by the pipeline's pair stage, which gives the same rows.
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, NamedTuple

from hunet.model import Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hunet.model import Contacts
    from hunet.systems.mops.contact_history import Edges

ClosenessTable = tuple[tuple[Node, Node, float], ...]
"""Rows of (node, node, closeness), the smaller node first, in rising order."""

Separations = dict[tuple[Node, Node], float]
"""For each pair that met, AVG(D): how long they were apart on average (s)."""


class VirtualLink(NamedTuple):
    """The best path of at most k links to somebody."""

    closeness: float
    path: tuple[Node, ...]
    """From one end to the other, both included: the local connection."""


class ClosenessGraph:
    """Direct links by node, and virtual links of at most ``hops`` links (k, section III.A) that reach ``floor``.

    >>> graph = ClosenessGraph([(1, 2, 0.9), (1, 3, 0.8), (2, 3, 0.7)], hops=2)
    >>> graph.virtual(2, 3)  # better by way of 1 than directly
    VirtualLink(closeness=0.7200000000000001, path=(2, 1, 3))
    >>> graph.degree(1)
    1.7000000000000002
    """

    def __init__(self, table: Iterable[tuple[Node, Node, float]], *, hops: int = 2, floor: float = 0.0) -> None:
        self.links: dict[Node, dict[Node, float]] = {}
        """Closeness of the direct links of everybody who has one, in the order of the table."""
        for one, two, closeness in table:
            if not 0 < closeness <= 1 or one == two:
                raise ValueError(f"closeness of {one} and {two} is {closeness:g}: two nodes, from above 0 to 1")
            self.links.setdefault(one, {})[two] = closeness
            self.links.setdefault(two, {})[one] = closeness
        self.hops = hops
        self.reach: dict[Node, dict[Node, float]] = {node: {} for node in self.links}
        """ĉ of everybody within k hops, where it is at least the floor."""
        # Strong links first: where a path falls below the floor, so do all after it.
        strong = {node: sorted(row.items(), key=lambda item: -item[1]) for node, row in self.links.items()}
        for node in sorted(self.links):
            for peer, closeness in _best_products(node, strong, hops, floor).items():
                if peer > node:  # once for both, so that rounding cannot make them differ
                    self.reach[node][peer] = self.reach[peer][node] = closeness

    @property
    def nodes(self) -> list[Node]:
        """Everybody with a link, in rising order."""
        return sorted(self.links)

    def table(self) -> ClosenessTable:
        """The rows of the table that the graph was made of, in rising order."""
        links = self.links
        return tuple((one, two, links[one][two]) for one in sorted(links) for two in sorted(links[one]) if one < two)

    def direct(self, one: Node, two: Node) -> float:
        """The closeness of a direct link; 0 if the two never met."""
        return self.links.get(one, {}).get(two, 0.0)

    def closeness(self, one: Node, two: Node) -> float:
        """ĉ, where it reaches the floor, else 0; everybody is 1 to itself (as in the paper's own I of broker 8)."""
        return 1.0 if one == two else self.reach.get(one, {}).get(two, 0.0)

    def degree(self, node: Node) -> float:
        """d: the sum of the closeness of all direct links (section II.B)."""
        return sum(self.links.get(node, {}).values())

    def virtual(self, one: Node, two: Node) -> VirtualLink | None:
        """The virtual link of two people with its path: of equal paths the one with fewest hops, then lowest nodes."""
        if two not in self.reach.get(one, {}):
            return None
        if one > two:
            turned = self.virtual(two, one)
            return turned and VirtualLink(turned.closeness, turned.path[::-1])
        best = self.reach[one][two]
        paths: list[tuple[float, tuple[Node, ...]]] = [(1.0, (one,))]
        for _ in range(self.hops):
            for product, path in paths:
                if product * self.direct(path[-1], two) == best:
                    return VirtualLink(best, (*path, two))
            paths = [
                (product * closeness, (*path, peer))
                for product, path in paths
                for peer, closeness in sorted(self.links[path[-1]].items())
                if product * closeness >= best and peer not in path
            ]
        raise AssertionError(f"no path for the virtual link of {one} and {two}")

    def decided_for(self, one: Node) -> dict[int, int]:
        """How many virtual links of a node to later ones are decided by a path of 1, 2, ..., k hops."""
        counts = dict.fromkeys(range(1, self.hops + 1), 0)
        for two, closeness in self.reach.get(one, {}).items():
            if one < two:
                hops = 1 if self.direct(one, two) == closeness else 2
                if hops == 2 < self.hops:
                    link = self.virtual(one, two)
                    assert link is not None
                    hops = len(link.path) - 1
                counts[hops] += 1
        return counts


def closeness_table(separations: Separations, sigma: float | None = None) -> ClosenessTable:
    """Eq. 1 for every pair; σ is by default the mean over all pairs (section V.A).

    >>> [(a, b, round(c, 4)) for a, b, c in closeness_table({(5, 8): 20.0}, sigma=25)]  # c58, section II.B
    [(5, 8, 0.7261)]
    """
    if not separations:
        return ()
    sigma = sigma or sum(separations.values()) / len(separations)
    rows = [
        # Never apart at all is 1. What is too far for a number above 0 is no link.
        (one, two, exp(-((apart / sigma) ** 2) / 2) if apart else 1.0)
        for (one, two), apart in sorted(separations.items())
    ]
    return tuple(row for row in rows if row[2] > 0)


def mean_separations(contacts: Contacts, begin: float, finish: float, edges: Edges = "both") -> Separations:
    """AVG(D) of every pair that met in a window of time, as ``ContactHistory.separations`` has them.

    >>> from hunet.model import Contacts
    >>> mean_separations(Contacts.from_records([("5", "8", 20, 40), ("5", "8", 50, 70)]), 0, 100)
    {(0, 1): 20.0}
    """
    last: dict[tuple[Node, Node], float] = {}
    total: dict[tuple[Node, Node], float] = {}
    many: dict[tuple[Node, Node], int] = {}
    columns = (contacts.a.tolist(), contacts.b.tolist(), contacts.start.tolist(), contacts.end.tolist())
    for one, two, start, end in zip(*columns, strict=True):
        if start > finish:
            break  # the table is in order of time
        if end < begin:
            continue
        pair = (one, two)
        if pair not in last:
            total[pair], many[pair], last[pair] = 0.0, 0, begin if edges == "both" else start
        if start > last[pair]:
            total[pair] += start - last[pair]
            many[pair] += 1
        last[pair] = max(last[pair], end)
    for pair, until in last.items():
        if finish > until and edges != "inner":
            total[pair] += finish - until
            many[pair] += 1
    return {pair: total[pair] / many[pair] if many[pair] else 0.0 for pair in sorted(last)}


def gaussian_closeness(separations: Sequence[float], sigma: float) -> float:
    """MOPS, Eq. 1: exp(-AVG² / 2σ²) of the mean separation; never apart is 1.

    >>> round(gaussian_closeness([20, 10, 30], sigma=25), 4)  # the paper's c58, section II.B
    0.7261
    """
    if not separations:
        return 1.0
    average = sum(separations) / len(separations)
    return exp(-(average**2) / (2 * sigma**2))


def _best_products(
    node: Node, strong: dict[Node, list[tuple[Node, float]]], hops: int, floor: float
) -> dict[Node, float]:
    """The largest product of at most ``hops`` links to everybody, where it is at least the floor."""
    best = {node: 1.0}
    layer = {node: 1.0}
    for _ in range(hops):
        further: dict[Node, float] = {}
        for peer, product in layer.items():
            for other, closeness in strong[peer]:
                path = product * closeness
                if path < floor:
                    break
                if other not in best or path > best[other]:
                    best[other] = further[other] = path
        layer = further
    del best[node]
    return best
