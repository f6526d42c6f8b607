"""What a device learns from its own encounters: the chance to meet somebody within a time.

Theory of operation. Time is looked at in magnitudes: nine *spans*, each three times the one before, from a few minutes
to weeks; a message's life left is taken for the longest span that it allows. An *encounter* is the beginning of a
contact with anybody. The chance to meet x within a span is the share of the device's encounters after which it met x
within that span: so nights and holidays, in which nothing happens, do not count, and no rate has to be assumed. With
few encounters a prior counts for some: a little hope to meet anybody::

    chance(x, span) = (met x in time + prior hope) / (encounters + prior)

An encounter whose span is not over yet has not been followed by x so far, and counts as such. While x is near, each
encounter is one after which x was met. What is long ago counts less: when the list of encounters is full its older half
goes, and what has been counted is halved.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, ClassVar

from hunet.model import Node

SPANS = tuple([3.0**power for power in range(5, 14)])
"""The magnitudes of time (s)."""
_MOST = 4096
"""Encounters that are remembered one by one."""
PRIOR = 5.0
"""Encounters that the prior counts for."""
HOPE = 0.05
"""The prior: the chance to meet somebody not met so far."""


def span_of(left: float) -> int:
    """The place of the span that stands for a life left: within a factor of the root of 3.

    >>> [span_of(left) for left in (60.0, 3600.0, 86400.0, float("inf"))]
    [0, 2, 5, 8]
    """
    return max(0, bisect_right(SPANS, left * 3**0.5) - 1)


class Encounters:
    """The encounters of one device."""

    saved: ClassVar[dict[str, Any]] = {
        "count": float,
        "_times": list[float],
        "_met": dict[Node, list[float]],
        "_last": dict[Node, float],
    }

    def __init__(self) -> None:
        self.count = 0.0
        """All encounters; what is long ago counts less."""
        self._times: list[float] = []
        self._met: dict[Node, list[float]] = {}
        """For each device and span, the encounters after which it was met within the span."""
        self._last: dict[Node, float] = {}
        """When each device was last seen; what came before is counted."""

    def meet(self, node: Node, now: float) -> None:
        """A contact begins."""
        times = self._times
        times.append(now)
        self.count += 1
        if len(times) > _MOST:
            self._halve()
        last = self._last.get(node)
        followed = self._met.get(node)
        if followed is None:
            followed = self._met[node] = [0.0] * len(SPANS)
        many = len(times)
        counted = 0 if last is None else bisect_right(times, last)
        for index, span in enumerate(SPANS):
            followed[index] += many - bisect_right(times, now - span, counted)
        self._last[node] = now

    def part(self, node: Node, now: float) -> None:
        """A contact has ended."""
        times = self._times
        since = float(len(times) - bisect_right(times, self._last[node]))
        if since:
            self._met[node] = [each + since for each in self._met[node]]
        self._last[node] = now

    def chances(self, node: Node) -> list[float]:
        """For each span, the chance to meet a device within it."""
        all_in, followed = self.count + PRIOR, self._met.get(node)
        if followed is None:
            return [PRIOR * HOPE / all_in] * len(SPANS)
        return [(each + PRIOR * HOPE) / all_in for each in followed]

    def chance(self, node: Node, span: int) -> float:
        """The chance to meet a device within a span."""
        followed = self._met.get(node)
        return ((followed[span] if followed else 0.0) + PRIOR * HOPE) / (self.count + PRIOR)

    def _halve(self) -> None:
        del self._times[: _MOST // 2]
        self.count /= 2
        for node, followed in self._met.items():
            self._met[node] = [each / 2 for each in followed]
