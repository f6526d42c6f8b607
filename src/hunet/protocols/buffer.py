"""A bounded store of messages.

When it is full the lowest-ranked message goes, which may be the newcomer; of equal ranks, the one with the lower
number. A rank is fixed when a message comes in. The rankings that systems share have names:

=============  =======================================================
``oldest``     the message created first goes (B-SUB, section 6.1)
``first-in``   the message that arrived first goes
``last-in``    the newcomer goes (drop tail)
=============  =======================================================

Messages past their life leave before anything else is asked of the buffer, and never count as overflow. Every change
is reported to the driver for the metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Literal

from hunet.model import Message, MessageSet, members

if TYPE_CHECKING:
    from hunet.protocols.contract import Driver

__all__ = ["RANKINGS", "Buffer", "Eviction", "Ranking"]

Ranking = Callable[[Message, int], float]
"""From a message and its running number of arrival to its rank; the lowest goes first."""

Eviction = Literal["oldest", "first-in", "last-in"]

RANKINGS: dict[Eviction, Ranking] = {
    "oldest": lambda message, arrival: message.created,  # noqa: ARG005
    "first-in": lambda message, arrival: arrival,  # noqa: ARG005
    "last-in": lambda message, arrival: -arrival,  # noqa: ARG005
}


class Buffer:
    """The messages that a device holds, as a set of the driver's catalogue; ``capacity`` None is unlimited."""

    def __init__(self, driver: Driver, capacity: int | None = None, rank: Ranking = RANKINGS["oldest"]) -> None:
        self.capacity = capacity
        self._rank = rank
        self._driver = driver
        self._held: MessageSet = 0
        self._arrivals = 0
        self._expiries: list[tuple[float, int]] = []
        self._next_expiry = inf
        # Only a bounded buffer ranks: a heap whose entries count while they agree with the dict beside it.
        self._heap: list[tuple[float, int]] = []
        self._ranks: dict[int, float] = {}

    def __contains__(self, message: Message) -> bool:
        return bool(self._held >> message.number & 1)

    def __len__(self) -> int:
        return self._held.bit_count()

    def held(self, now: float) -> MessageSet:
        """What the buffer holds, without what has expired."""
        if now > self._next_expiry:
            expiries, catalogue, gone = self._expiries, self._driver.messages, 0
            while expiries and now > expiries[0][0]:
                message = catalogue[heappop(expiries)[1]]
                if self._held >> message.number & 1:
                    gone |= message.bit
                    self._ranks.pop(message.number, None)
                    self._driver.removed(message, "expired")
            self._held ^= gone
            self._next_expiry = expiries[0][0] if expiries else inf
        return self._held

    def add(self, messages: MessageSet, now: float) -> MessageSet:
        """Take messages in, newest number first, and make room; returns those that stayed."""
        new = messages & ~self.held(now)
        if not new:
            return messages
        self._held |= new
        self._driver.stored(new)
        catalogue = self._driver.messages
        if new & catalogue.mortal:
            for number in members(new & catalogue.mortal):
                heappush(self._expiries, (catalogue[number].expires, number))
            self._next_expiry = self._expiries[0][0]
        if self.capacity is not None:
            self._make_room(members(new))
        return messages & self._held

    def _make_room(self, newcomers: list[int]) -> None:
        catalogue, ranks = self._driver.messages, self._ranks
        for number in newcomers:
            self._arrivals += 1
            rank = ranks[number] = self._rank(catalogue[number], self._arrivals)
            heappush(self._heap, (rank, number))
        assert self.capacity is not None
        while len(ranks) > self.capacity:
            rank, number = heappop(self._heap)
            if ranks.get(number) == rank:
                self.remove(catalogue[number], "overflow")

    def remove(self, message: Message, reason: str) -> None:
        """Take a message out, if it is there."""
        if self._held >> message.number & 1:
            self._held ^= message.bit
            self._ranks.pop(message.number, None)
            self._driver.removed(message, reason)
