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

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hunet.model import Message, MessageSet, members

if TYPE_CHECKING:
    from hunet.protocols.contract import Driver

Ranking = Callable[[Message, int], float]
"""From a message and its running number of arrival to its rank; the lowest goes first."""

Eviction = Literal["oldest", "first-in", "last-in"]


def _by_creation(message: Message, arrival: int) -> float:  # noqa: ARG001
    return message.created


def _by_arrival(message: Message, arrival: int) -> float:  # noqa: ARG001
    return arrival


def _against_arrival(message: Message, arrival: int) -> float:  # noqa: ARG001
    return -arrival


RANKINGS: dict[Eviction, Ranking] = {"oldest": _by_creation, "first-in": _by_arrival, "last-in": _against_arrival}


class Buffer:
    """The messages that a device holds, as a set of the driver's catalogue; ``capacity`` None is unlimited."""

    saved: ClassVar[dict[str, Any]] = {
        "_held": MessageSet,
        "_many": int,
        "_arrivals": int,
        "_heap": list[tuple[float, int]],
        "_ranks": dict[int, float],
    }

    def __init__(self, driver: Driver, capacity: int | None = None, rank: Ranking = RANKINGS["oldest"]) -> None:
        self.capacity = capacity
        self._rank = rank
        self._driver = driver
        self._held: MessageSet = 0
        self._many = 0
        """How many these are: counting them takes long where numbers are high."""
        self._buried: MessageSet = 0
        """Expired messages at the last check."""
        self._arrivals = 0
        # A bounded buffer has a heap whose entries count while they agree with the dict beside it. The catalogue itself
        # knows which message is the oldest.
        self._ranks_itself = rank is not RANKINGS["oldest"]
        self._heap: list[tuple[float, int]] = []
        self._ranks: dict[int, float] = {}

    def __contains__(self, message: Message) -> bool:
        return bool(self._held >> message.number & 1)

    def __len__(self) -> int:
        return self._many

    def held(self, now: float) -> MessageSet:
        """What the buffer holds, without what has expired."""
        dead = self._driver.messages.dead(now)
        if dead != self._buried:
            self._buried = dead
            gone = self._held & dead
            if gone:
                self._held ^= gone
                numbers = members(gone)
                self._many -= len(numbers)
                for message in map(self._driver.messages.__getitem__, numbers):
                    self._ranks.pop(message.number, None)
                    self._driver.removed(message, "expired")
        return self._held

    def add(self, messages: MessageSet, now: float) -> MessageSet:
        """Take messages in, newest number first, and make room; returns those that stayed."""
        there = self.held(now) & messages
        new = messages ^ there if there else messages
        if not new:
            return messages
        self._held |= new
        self._driver.stored(new)
        self._many += len(members(new))
        if self._ranks_itself:
            self._rank_newcomers(members(new))
        if self.capacity is None:
            return messages
        catalogue = self._driver.messages
        for _ in range(self._many - self.capacity):
            self.remove(catalogue[self._lowest()], "overflow")
        return messages & self._held

    def _rank_newcomers(self, newcomers: Iterable[int]) -> None:
        catalogue = self._driver.messages
        for number in newcomers:
            self._arrivals += 1
            rank = self._ranks[number] = self._rank(catalogue[number], self._arrivals)
            if self.capacity is not None:
                heappush(self._heap, (rank, number))

    def _lowest(self) -> int:
        if not self._ranks_itself:
            return self._driver.messages.oldest(self._held).bit_length() - 1
        while True:
            rank, number = heappop(self._heap)
            if self._ranks.get(number) == rank:
                return number

    def lowest(self, among: MessageSet) -> MessageSet:
        """Of messages that are held, the lowest-ranked, as a set of one."""
        if not self._ranks_itself or not among:
            return self._driver.messages.oldest(among)
        return 1 << min(members(among), key=lambda number: (self._ranks[number], number))

    def remove(self, message: Message, reason: str) -> None:
        """Take a message out, if it is there."""
        if self._held >> message.number & 1:
            self._held ^= message.bit
            self._many -= 1
            self._ranks.pop(message.number, None)
            self._driver.removed(message, reason)

    def restored(self) -> None:
        """Tell the driver what is held after a restart."""
        self._driver.stored(self._held)
