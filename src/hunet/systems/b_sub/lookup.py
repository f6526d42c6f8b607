"""Many tags at once in a filter: which are in, how firmly, and which are in more firmly than in another filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import TypeVar

from hunet.systems.b_sub.filter import FilterShape
from hunet.systems.b_sub.lanes import at_least, lanes
from hunet.systems.b_sub.wire import BLOCK

T = TypeVar("T")
_LOOKUPS_KEPT = 64
"""Both ends of a contact look the same two filters up, in a simulation often with the same keys."""


class Lookup:
    """Keys in filters of one shape, whichever it is."""

    def __init__(self, shape: FilterShape, keys: Sequence[str]) -> None:
        self.shape, self.keys = shape, tuple(keys)
        rows = [shape.positions(key) for key in self.keys]
        self._columns = [[row[i] for row in rows] for i in range(shape.hashes)]
        self._wide = lru_cache(_LOOKUPS_KEPT)(self._look_up_wide)

    def values(self, counters: bytes) -> Sequence[int]:
        """For each key, how firmly a filter with these counters holds it."""
        return self._wide(counters)

    def present(self, counters: bytes) -> list[str]:
        """The keys that a filter with these counters holds, in order."""
        return list(compress(self.keys, self.values(counters)))

    def preferred(self, mine: bytes, theirs: bytes, by_key: Iterable[T]) -> Iterable[tuple[T, int, int]]:
        """What belongs to keys that a filter holds more firmly than mine, with both values (mine first).

        ``by_key`` has something for each key, in their order, be it the keys themselves.
        """
        return [(each, one, two) for each, one, two in self.compared(mine, theirs, by_key) if two > one]

    def compared(self, mine: bytes, theirs: bytes, by_key: Iterable[T]) -> Iterable[tuple[T, int, int]]:
        """What belongs to any key, with both values."""
        return zip(by_key, self.values(mine), self.values(theirs), strict=True)

    def _look_up_wide(self, counters: bytes) -> Sequence[int]:
        values = self.shape.values(counters)
        found: Sequence[int] = [values[position] for position in self._columns[0]]
        for column in self._columns[1:]:
            found = list(map(min, found, [values[position] for position in column]))
        return found


class QuickLookup(Lookup):
    """The same for one filter with counters of a byte: keys are looked up, and compared, all at once."""

    def __init__(self, shape: FilterShape, keys: Sequence[str]) -> None:
        super().__init__(shape, keys)
        self._gather = [bytes(column) for column in self._columns]
        self._high, self._low = lanes(len(self.keys))
        self._values = lru_cache(_LOOKUPS_KEPT)(self._look_up)

    def values(self, counters: bytes) -> bytes:
        return self._values(counters)[1]

    def preferred(self, mine: bytes, theirs: bytes, by_key: Iterable[T]) -> Iterable[tuple[T, int, int]]:
        if mine == theirs:
            return ()
        mine_packed, mine_values = self._values(mine)
        theirs_packed, theirs_values = self._values(theirs)
        wins = at_least(mine_packed, theirs_packed, mine_packed ^ theirs_packed, self._high, self._low)
        if wins == self._high:
            return ()
        ahead = (wins ^ self._high).to_bytes(len(self.keys), "little")
        return zip(  # noqa: B905 (the keyword would cost a tenth of the call)
            compress(by_key, ahead), compress(mine_values, ahead), compress(theirs_values, ahead)
        )

    def _look_up(self, counters: bytes) -> tuple[int, bytes]:
        table = counters.ljust(BLOCK, b"\0")
        least = int.from_bytes(self._gather[0].translate(table), "little")
        for positions in self._gather[1:]:
            other = int.from_bytes(positions.translate(table), "little")
            difference = least ^ other
            wins = at_least(least, other, difference, self._high, self._low)
            least ^= difference & ((wins << 1) - (wins >> 7))
        return least, least.to_bytes(len(self.keys), "little")


def lookup_of(shape: FilterShape, keys: Sequence[str]) -> Lookup:
    """The quick one where it serves."""
    return QuickLookup(shape, keys) if shape.width == 1 and shape.total <= BLOCK else Lookup(shape, keys)
