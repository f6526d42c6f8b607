"""Whom a device has met, and when: disjoint intervals per peer, and the separations between them.

Intervals are closed; those that overlap or touch are one. The separations of a window are the maximal stretches of it
without contact: with the contacts they make up the whole window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hunet.model import Node

if TYPE_CHECKING:
    from collections.abc import Hashable

Edges = Literal["both", "inner+trailing", "inner"]
"""Which separations of a window count: also the one before the first contact and the one after the last, or not."""


class ContactHistory:
    """The contacts of one device, as they begin and end.

    >>> history = ContactHistory()
    >>> history.start("bob", 20); history.end("bob", 40)
    >>> history.start("bob", 50); history.end("bob", 70)
    >>> history.separations("bob", 0, 100)
    [20, 10, 30]
    >>> history.total("bob")
    40.0
    """

    saved: ClassVar[dict[str, Any]] = {
        "_intervals": dict[Node, list[tuple[float, float]]],
        "_since": dict[Node, float],
    }

    def __init__(self) -> None:
        self._intervals: dict[Hashable, list[tuple[float, float]]] = {}
        self._since: dict[Hashable, float] = {}

    @property
    def peers(self) -> list[Hashable]:
        """Everybody met so far, in the order of first meeting."""
        return list(self._intervals)

    def start(self, peer: Hashable, now: float) -> None:
        """A contact begins."""
        self._intervals.setdefault(peer, [])
        self._since.setdefault(peer, now)

    def end(self, peer: Hashable, now: float) -> None:
        """The contact ends; times must not run backwards."""
        since = self._since.pop(peer)
        row = self._intervals[peer]
        if row and since <= row[-1][1]:
            row[-1] = (row[-1][0], max(row[-1][1], now))
        else:
            row.append((since, now))

    def intervals(self, peer: Hashable, until: float | None = None) -> list[tuple[float, float]]:
        """The contacts with a peer; one that is still open lasts ``until`` then."""
        row = list(self._intervals.get(peer, ()))
        if until is not None and peer in self._since:
            row.append((self._since[peer], until))
        return row

    def total(self, peer: Hashable, until: float | None = None) -> float:
        """Seconds in contact with a peer."""
        return float(sum(end - start for start, end in self.intervals(peer, until)))

    def separations(self, peer: Hashable, begin: float, finish: float, edges: Edges = "both") -> list[float]:
        """How long the two were apart, each time, within a window; separations of no length do not count."""
        last = begin
        gaps = []
        overlapping = False
        for start, end in self.intervals(peer, finish):
            if end < begin or start > finish:
                continue
            leading = not overlapping
            if start > last and not (leading and edges != "both"):
                gaps.append(start - last)
            overlapping, last = True, max(last, end)
        if finish > last and edges != "inner":
            gaps.append(finish - last)
        return gaps
