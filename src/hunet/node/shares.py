"""Whose messages go when there is no room: those of whoever takes most of it.

A device that floods others gets the largest share, and loses its own messages. Shares are by neighbour first, because
authors cost nothing to make up, and by author within a neighbour's share. All operations take a time that hardly
depends on how much is kept.

>>> shares = FairShares()
>>> for number, (giver, author) in enumerate([(1, 1), (2, 7), (2, 8), (2, 8)]):
...     shares.add(number, giver, author, size=100)
>>> bin(shares.largest()), shares.bytes
('0b1100', 400)
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunet.model import MessageSet, Node

_AT_ONCE = 64
"""A protocol chooses among so many messages which one goes."""


class Totals:
    """Sums of bytes by device; the device with the largest sum is found without a look at the others."""

    def __init__(self) -> None:
        self._sums: dict[Node, int] = {}
        self._heap: list[tuple[int, Node]] = []
        """Entries count while they agree with the sums."""

    def __contains__(self, device: Node) -> bool:
        return device in self._sums

    def __iter__(self) -> Iterator[Node]:
        return iter(self._sums)

    def items(self) -> Iterator[tuple[Node, int]]:
        """Every device with its sum."""
        return iter(self._sums.items())

    def add(self, device: Node, size: int) -> None:
        """Add to the sum of a device; a sum of nothing is forgotten."""
        total = self._sums[device] = self._sums.get(device, 0) + size
        if not total:
            del self._sums[device]
        elif len(self._heap) > 2 * len(self._sums) + _AT_ONCE:
            self._heap = [(-each, other) for other, each in self._sums.items()]
            heapify(self._heap)
        else:
            heappush(self._heap, (-total, device))

    def largest(self) -> Node:
        """The device with the largest sum; there must be one."""
        while self._sums.get(self._heap[0][1]) != -self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][1]


class FairShares:
    """Messages by who gave them to this device, and by who wrote them."""

    def __init__(self) -> None:
        self.bytes = self.many = 0
        """Of all messages, and how many these are."""
        self._givers = Totals()
        self._authors: dict[Node, Totals] = {}
        self._messages: dict[tuple[Node, Node], dict[int, None]] = {}
        """In the order of arrival."""

    def add(self, number: int, giver: Node, author: Node, size: int) -> None:
        """One more message."""
        self._messages.setdefault((giver, author), {})[number] = None
        self.many += 1
        self._weigh(giver, author, size)

    def remove(self, number: int, giver: Node, author: Node, size: int) -> None:
        """One less."""
        share = self._messages[giver, author]
        del share[number]
        self.many -= 1
        if not share:
            del self._messages[giver, author]
        self._weigh(giver, author, -size)

    def given_by(self, giver: Node) -> list[int]:
        """The messages that a device gave."""
        return [n for author in self._authors.get(giver, ()) for n in self._messages[giver, author]]

    def pool(self, giver: Node, pool: Node) -> None:
        """Count what a device gave as given by another."""
        for author, size in list(self._authors.get(giver, Totals()).items()):
            moved = self._messages.pop((giver, author))
            self._messages.setdefault((pool, author), {}).update(moved)
            self._weigh(giver, author, -size)
            self._weigh(pool, author, size)

    def _weigh(self, giver: Node, author: Node, size: int) -> None:
        self.bytes += size
        self._givers.add(giver, size)
        self._authors.setdefault(giver, Totals()).add(author, size)
        if giver not in self._givers:
            del self._authors[giver]

    def largest(self) -> MessageSet:
        """Messages of the largest share, those that came first; none if there are none at all."""
        if not self.bytes:
            return 0
        giver = self._givers.largest()
        share = self._messages[giver, self._authors[giver].largest()]
        return sum(1 << number for number in islice(share, _AT_ONCE))
