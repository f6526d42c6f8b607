"""A bounded store whose ranking is the messages' utility now (social election, section IV.B.4).

:class:`hunet.protocols.buffer.Buffer` fixes a rank when a message comes in; here ranks change with time and with every
subscription that is heard of. What makes that cheap: on one topic the newest message is always worth most (see
``subscription_table.utility``). So messages are kept by topic in order of age, and the least worthy of all is the least
of the oldest ones, one for each topic.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Message, MessageSet, Topic, set_of
from hunet.systems.social_election.subscription_table import SubscriptionTable, utility

if TYPE_CHECKING:
    from hunet.protocols.contract import Driver

Entry = tuple[float, int]
"""When a message was created, and its number: the order of age."""


class Copy:
    """A message that this device holds."""

    __slots__ = ("entry", "hops", "mark", "message")

    saved: ClassVar[dict[str, Any]] = {
        "message": Message,
        "entry": tuple[float, int],
        "hops": int,
        "mark": float,
    }

    def __init__(self, message: Message, hops: int = 0, mark: float = 0.0) -> None:
        self.message = message
        self.entry: Entry = (message.created, message.number)
        self.hops = hops
        """Transmissions behind it."""
        self.mark = mark
        """The highest utility that it was forwarded with (delegation)."""


class UtilityBuffer:
    """Copies by number, and by topic in order of age; the holder's subscriptions rank them."""

    saved: ClassVar[dict[str, Any]] = {
        "copies": dict[int, Copy],
        "held": MessageSet,
        "by_topic": dict[Topic, list[tuple[float, int]]],
        "_expiries": list[tuple[float, int]],
    }

    def __init__(self, driver: Driver, capacity: int | None, table: SubscriptionTable) -> None:
        self.copies: dict[int, Copy] = {}
        self._held: MessageSet | None = 0
        """The same as a set, if somebody has asked since it changed."""
        self.by_topic: dict[Topic, list[Entry]] = {}
        self._capacity = capacity
        self._driver = driver
        self._table = table
        self._expiries: list[tuple[float, int]] = []

    @property
    def held(self) -> MessageSet:
        """What is held, as a set: what a neighbour lacks of it is one operation."""
        if self._held is None:
            self._held = set_of(self.copies)
        return self._held

    @held.setter
    def held(self, messages: MessageSet) -> None:
        self._held = messages

    def add(self, copy: Copy, now: float) -> bool:
        """Take a copy in and make room; tells whether it stayed."""
        message = copy.message
        self.copies[message.number] = copy
        self._held = None
        insort(self.by_topic.setdefault(message.topic, []), copy.entry)
        self._driver.stored(message.bit)
        if message.ttl is not None:
            heappush(self._expiries, (message.expires, message.number))
        if self._capacity is not None and len(self.copies) > self._capacity:
            lowest = self._lowest(now)
            self.remove(lowest, "overflow")
            return lowest != message.number
        return True

    def remove(self, number: int, reason: str) -> None:
        """Take a copy out, if it is there."""
        copy = self.copies.pop(number, None)
        if copy is None:
            return
        self._held = None
        topic = copy.message.topic
        entries = self.by_topic[topic]
        del entries[bisect_left(entries, copy.entry)]
        if not entries:
            del self.by_topic[topic]
        self._driver.removed(copy.message, reason)

    def expire(self, now: float) -> None:
        """Let go what is past its life."""
        expiries = self._expiries
        while expiries and expiries[0][0] < now:
            self.remove(heappop(expiries)[1], "expired")

    def lowest(self, among: MessageSet, now: float) -> int | None:
        """Of the messages in a set, the one that would go first, if any is held."""
        ranks = [
            (utility(self._table.matches(topic), created, now), created, number)
            for topic, entries in self.by_topic.items()
            for created, number in entries
            if among >> number & 1
        ]
        return min(ranks)[2] if ranks else None

    def _lowest(self, now: float) -> int:
        """The message that goes; what matches nothing has no utility and goes first, the oldest of it before others."""
        lowest = None
        for topic, entries in self.by_topic.items():
            rank = (utility(self._table.matches(topic), entries[0][0], now), *entries[0])
            if lowest is None or rank < lowest:
                lowest = rank
        assert lowest is not None
        return lowest[2]

    def restored(self) -> None:
        """Tell the driver what is held after a restart."""
        self._driver.stored(self.held)
