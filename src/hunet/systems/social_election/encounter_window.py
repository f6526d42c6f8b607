"""Whom a device has met lately: a sliding window of encounters (social election, section IV.A).

Of each peer the last encounter counts: whether the peer is a broker, and whom it had met itself. An encounter is in the
window while the contact lasts, with the peer's present role; from its end on it ages, and leaves the window when it
is as old as the window is long. Every encounter is put in and taken out once, and totals are kept, so that keeping
the window up to date costs constant time.

>>> window = EncounterWindow(length=100)
>>> window.record(7, broker=True, peers=(1, 2, 3))
>>> window.record(8, broker=False, peers=())
>>> window.end(8, now=50)
>>> window.forget(now=149)
>>> window.peers, window.broker_count
((7, 8), 1)
>>> window.forget(now=150)
>>> window.peers, window.broker_count
((7,), 1)
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from hunet.model import Node, NodeList


class EncounterWindow:
    """The contacts that are open, and those that ended in the last ``length`` seconds. Time never runs backwards.

    Where fewer than ``people`` were met in that time the window reaches further back, until it has as many: up to
    ``longest`` seconds.
    """

    saved: ClassVar[dict[str, Any]] = {
        "_open": set[Node],
        "_ends": dict[Node, float],
        "_brokers": dict[Node, NodeList],
    }

    def __init__(self, length: float, people: int = 0, longest: float | None = None) -> None:
        self.length = length
        self.people = people
        self.longest = length if longest is None else longest
        self._open: set[Node] = set()
        self._ends: dict[Node, float] = {}
        """When the last encounter with each other peer ended, the oldest first."""
        self._oldest = -inf
        """No encounter ended earlier."""
        self._brokers: dict[Node, NodeList] = {}
        self._popularities = 0
        """The sum of the popularities of these brokers."""
        self._peers: NodeList | None = None

    def restored(self) -> None:
        self._oldest, self._peers = -inf, None
        self._popularities = sum(map(len, self._brokers.values()))

    def record(self, peer: Node, *, broker: bool, peers: NodeList) -> None:
        """Stand beside a peer, who is a broker or not, as of now, and has met these nodes itself."""
        if self._ends.pop(peer, None) is None and peer not in self._open:
            self._peers = None
        self._open.add(peer)
        self._drop_broker(peer)
        if broker:
            self._brokers[peer] = peers
            self._popularities += len(peers)

    def end(self, peer: Node, now: float) -> None:
        """A contact ends; its encounter counts for ``length`` seconds more."""
        if peer in self._open:
            self._open.remove(peer)
            self._ends[peer] = now

    def forget(self, now: float) -> None:
        """Let encounters go that ended as long ago as the window is long."""
        if now - self._oldest < self.length:
            return
        while self._ends:
            peer, time = next(iter(self._ends.items()))
            self._oldest, age = time, now - time
            if age < self.length or (age < self.longest and len(self._open) + len(self._ends) <= self.people):
                return
            del self._ends[peer]
            self._drop_broker(peer)
            self._peers = None

    def reach(self, now: float) -> float:
        """How far back the window reaches at present."""
        oldest = next(iter(self._ends.values()), now)
        return min(max(now - oldest, self.length), self.longest)

    def without_brokers(self) -> float:
        """The earliest time at which no broker is in the window, if no contact begins until then."""
        latest = -inf
        for broker in self._brokers:
            if broker in self._open:
                return inf
            latest = max(latest, self._ends[broker])
        few = len(self._open) + len(self._ends) <= self.people
        return latest + (self.longest if few else self.length)

    def _drop_broker(self, peer: Node) -> None:
        self._popularities -= len(self._brokers.pop(peer, ()))

    @property
    def peers(self) -> NodeList:
        """Whom this device has met, in order of their numbers: how many they are is its popularity."""
        if self._peers is None:
            self._peers = tuple(sorted([*self._open, *self._ends]))
        return self._peers

    @property
    def broker_count(self) -> int:
        """How many brokers this device has met."""
        return len(self._brokers)

    def mean_popularity(self) -> float:
        """The mean popularity of the brokers that were met, as they stated it then; 0 if there were none."""
        return self._popularities / len(self._brokers) if self._brokers else 0.0

    def popularity_of_brokers(self) -> set[Node]:
        """Whom the brokers that were met have met: the popularity of a set is the union of its members'."""
        return set().union(*self._brokers.values())
