"""A clock that never runs backwards, made of one that may.

Computers' clocks are set: forwards when a device without a battery for its clock gets to know the time, backwards when
somebody had set it wrong. Time on a device goes on from the latest time that it has known: where the other clock is
behind, at the pace of the other's seconds, until that has caught up.

>>> wall, ticks = 1000.0, 0.0
>>> clock = SteadyClock(lambda: wall, monotonic=lambda: ticks)
>>> clock()
1000.0
>>> wall, ticks = 400.0, 5.0
>>> clock(), clock.behind()
(1005.0, 605.0)
>>> wall, ticks = 2000.0, 6.0
>>> clock(), clock.behind()
(2000.0, 0.0)
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HUNET = 1_577_836_800.0
"""2020: a clock that shows an earlier time has not been set since the device was switched on."""


def is_set(wall: float) -> bool:
    """Whether a clock that shows this has been set at all."""
    return wall >= _HUNET


class SteadyClock:
    """Calling it tells the time; ``pace`` of its seconds pass in a real one."""

    def __init__(
        self,
        wall: Callable[[], float],
        *,
        since: float = 0.0,
        pace: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._pace, self._monotonic = wall, pace, monotonic
        self._time, self._read = since, monotonic()
        self._last_leap = (self(), self._read)

    def __call__(self) -> float:
        """The time now; at least that of the last call."""
        wall, read = self._wall(), self._monotonic()
        self._time = max(wall, self._time + max(0.0, read - self._read) * self._pace if wall < self._time else wall)
        self._read = read
        return self._time

    def leapt(self) -> float:
        """By how much more this clock has moved on since the last call of this than time has passed."""
        (time, read), self._last_leap = self._last_leap, (self(), self._read)
        return self._time - time - (self._read - read) * self._pace

    def behind(self) -> float:
        """By how much the other clock is behind this one."""
        return max(0.0, self() - self._wall())
