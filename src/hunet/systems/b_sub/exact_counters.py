"""What a Temporal Counting Bloom Filter stands for: its keys with their counters, and no two keys in each other's way.

The same operations on a table of keys. Beside a filter it tells which of the filter's answers are false positives; a
filter's value of a key is never below the exact one.

>>> ours = ExactCounters({"NewMoon": 5}).a_merge(ExactCounters({"NewMoon": 5, "openwebawards": 5}))
>>> ours.counters
{'NewMoon': 10, 'openwebawards': 5}
>>> ours.decay(5).counters
{'NewMoon': 5}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExactCounters:
    """Keys and their counters, all above zero and none above the ceiling. A value: operations return new ones."""

    __slots__ = ("ceiling", "counters")

    def __init__(self, counters: Mapping[str, int], ceiling: int = 255) -> None:
        self.counters, self.ceiling = counters, ceiling

    def __contains__(self, key: str) -> bool:
        return key in self.counters

    def value(self, key: str) -> int:
        """A key's counter; 0 if it is not there."""
        return self.counters.get(key, 0)

    def a_merge(self, other: ExactCounters) -> ExactCounters:
        """The counters of both added up, at most the ceiling."""
        merged = dict(self.counters)
        for key, value in other.counters.items():
            merged[key] = min(merged.get(key, 0) + value, self.ceiling)
        return ExactCounters(merged, self.ceiling)

    def m_merge(self, other: ExactCounters) -> ExactCounters:
        """The larger of both counters, for every key."""
        merged = dict(self.counters)
        for key, value in other.counters.items():
            if value > merged.get(key, 0):
                merged[key] = value
        return ExactCounters(merged, self.ceiling)

    def decay(self, cycles: int) -> ExactCounters:
        """After so many decay cycles: every counter less by one per cycle; what reaches zero is gone."""
        if cycles <= 0:
            return self
        left = {key: value - cycles for key, value in self.counters.items() if value > cycles}
        return ExactCounters(left, self.ceiling)

    def without(self, keys: ExactCounters) -> ExactCounters:
        """Less the keys that the other holds."""
        return ExactCounters({key: v for key, v in self.counters.items() if key not in keys}, self.ceiling)
