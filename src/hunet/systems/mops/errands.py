"""Events on their way over virtual links (MOPS, section III.B).

"When the sender meets the first node on the local connection of a virtual link, it will mark its data with the intended
destination and the data will be propagated towards the destined local neighbor." A *way* is the rest of a local
connection: the next hop first, the one whom the event is for last.

>>> errands = Errands()
>>> errands.add(3, (1, 2))  # message 3 by way of 1 to 2
>>> errands.add(3, (4,))
>>> errands.by(1) == 1 << 3, errands.ways(3, 1)
(True, ((2,),))
>>> errands.done(3, 4), errands.done(3, 2)  # 2 has got it otherwise: nothing is left to do
(False, True)
"""

from __future__ import annotations

from typing import Any, ClassVar

from hunet.model import MessageSet, Node
from hunet.protocols.carrier import Carried

Way = tuple[Node, ...]


class Errand(Carried, frozen=True, gc=False):
    """One message, and the ways that it should be sent on from the receiver: the local connections' rest."""

    ways: tuple[tuple[Node, ...], ...]


class Errands:
    """What a device has to hand on, and to whom."""

    saved: ClassVar[dict[str, Any]] = {
        "_ways": dict[int, dict[Node, set[Way]]],
        "_by": dict[Node, MessageSet],
    }

    def __init__(self) -> None:
        self._ways: dict[int, dict[Node, set[Way]]] = {}
        """For each message, by next hop: the ways after that."""
        self._by: dict[Node, MessageSet] = {}
        """The messages by next hop."""

    def add(self, number: int, way: Way) -> None:
        """Note a way that a message should go."""
        self._ways.setdefault(number, {}).setdefault(way[0], set()).add(way[1:])
        self._by[way[0]] = self.by(way[0]) | 1 << number

    def by(self, hop: Node) -> MessageSet:
        """The messages that go by a next hop."""
        return self._by.get(hop, 0)

    def ways(self, number: int, hop: Node) -> tuple[Way, ...]:
        """The ways of a message after a next hop."""
        return tuple(sorted(self._ways[number][hop]))

    def done(self, number: int, peer: Node) -> bool:
        """A peer has a message: what should go by it or to it is done. Whether that was the last of the message."""
        hops = self._ways.get(number)
        if hops is None:
            return False
        for hop in list(hops):
            hops[hop] = set() if hop == peer else {way for way in hops[hop] if not way or way[-1] != peer}
            if not hops[hop]:
                del hops[hop]
                self._by[hop] &= ~(1 << number)
        if not hops:
            del self._ways[number]
        return not hops
