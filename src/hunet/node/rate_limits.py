"""Rate limits, backoff that doubles, and a dictionary of bounded size: what keeps strangers from costing too much.

>>> penalties: BoundedDict[str, Backoff] = BoundedDict(most=2)
>>> penalties["ann"] = next_backoff(penalties.get("ann"), first=30.0, longest=3600.0)
>>> penalties["ann"] = next_backoff(penalties["ann"], first=30.0, longest=3600.0)
>>> penalties["ann"].seconds, penalties["ann"].over
(60.0, False)
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TypeVar

import msgspec


class RateLimit:
    """A token bucket: ``rate`` a second in the long run, and ``at_once`` after a pause."""

    def __init__(self, rate: float, at_once: float) -> None:
        self._rate, self._most = rate, at_once
        self._had, self._when = at_once, time.monotonic()

    @property
    def left(self) -> float:
        """How many may be taken now; less than none if too many were."""
        now = time.monotonic()
        self._had = min(self._most, self._had + (now - self._when) * self._rate)
        self._when = now
        return self._had

    def wait(self, many: float) -> float:
        """In how many seconds so many may be taken; those that are more than fit at once, when it is full."""
        return max(0.0, min(many, self._most) - self.left) / self._rate

    def use(self, many: float = 1.0) -> float:
        """Takes one, or so many; how many seconds too early that is."""
        self._had = self.left - many
        return max(0.0, -self._had / self._rate)


class Backoff(msgspec.Struct, frozen=True):
    """Until when something is not tried."""

    until: float
    seconds: float

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until


def next_backoff(before: Backoff | None, first: float, longest: float) -> Backoff:
    """Twice as long as the last time, unless that is long ago."""
    now = time.monotonic()
    again = before is not None and now < before.until + longest
    seconds = min(longest, 2 * before.seconds) if before is not None and again else first
    return Backoff(now + seconds, seconds)


def has_more_items(data: bytes, most: int) -> bool:
    """Whether CBOR has more than so many items: a megabyte of empty lists takes a second to read, one of text does not.

    It is not checked otherwise: what is not CBOR is left to whoever reads it.

    >>> import cbor2
    >>> data = cbor2.dumps({"ids": ["a" * 300, "b", 1, 70000]})
    >>> has_more_items(data, most=7), has_more_items(data, most=6)
    (False, True)
    """
    offset, end, left = 0, len(data), most
    while offset < end:
        if left == 0:
            return True
        left -= 1
        kind, value = data[offset] >> 5, data[offset] & 31
        offset += 1
        if 24 <= value <= 27:
            length = 1 << value - 24
            value = int.from_bytes(data[offset : offset + length])
            offset += length
        if kind in _STRINGS:
            offset += value
    return False


_STRINGS = (2, 3)
"""Kinds of items that are as long as their value says."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedDict(OrderedDict[_Key, _Value]):
    """A dictionary of at most so many keys: the one that was set longest ago goes first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
