"""Who has been told what, number by number: news go once, and who misses some asks for everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hunet.model import Node

_LATER = 10_000
"""A device that has lost its memory counts on from another number than before, most probably."""


class ToldTo:
    """What a peer has been told."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.entries: int | None = None
        """The number of changes of the directory that it knows; None if it was told nothing."""
        self.records: int | None = None
        """Of the subscription list."""

    def next(self) -> int:
        """The number of the next news."""
        self._number += 1
        return self._number


class Telling:
    """The two directions of what a device and each of its peers tell each other.

    >>> ann, bob = Telling(), Telling()
    >>> to_bob = ann.begin(2, now=0.0)
    >>> bob.hear(1, to_bob.next(), everything=True)
    True
    >>> lost, later = to_bob.next(), to_bob.next()
    >>> bob.hear(1, later), bob.asks(1), bob.asks(1)  # once in a contact
    (False, True, False)
    """

    def __init__(self) -> None:
        self._told: dict[Node, ToldTo] = {}
        self._last: dict[Node, int] = {}
        """The number of the last news of each peer."""
        self._asked: set[Node] = set()
        self._answered: set[Node] = set()

    def told(self, peer: Node) -> ToldTo | None:
        """What a peer has been told; None if it is a stranger."""
        return self._told.get(peer)

    def begin(self, peer: Node, now: float) -> ToldTo:
        """A peer is about to be told everything."""
        found = self._told[peer] = ToldTo(int(now) % _LATER)
        return found

    def hear(self, peer: Node, number: int, everything: bool = False) -> bool:
        """News have come; whether they can be used: they are all there is, or follow those that came before."""
        if not everything and number != self._last.get(peer, -2) + 1:
            return False
        self._last[peer] = number
        return True

    def asks(self, peer: Node) -> bool:
        """Whether to ask a peer for everything: once in a contact."""
        if peer in self._asked:
            return False
        self._asked.add(peer)
        return True

    def tells_all(self, peer: Node) -> bool:
        """A peer has asked for everything; whether it gets that: once in a contact."""
        if peer in self._answered:
            return False
        self._answered.add(peer)
        self._told.pop(peer, None)
        return True

    def part(self, peer: Node) -> None:
        """The contact ends."""
        self._asked.discard(peer)
        self._answered.discard(peer)
