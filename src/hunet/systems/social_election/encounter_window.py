"""Whom a device has met lately: a sliding window of encounters (social election, section IV.A).

Of each peer the last encounter counts: when it was, whether the peer was a broker then, and whom it had met itself.
An encounter leaves the window when it is as old as the window is long. Every encounter is put in and taken out once, so
that keeping the window up to date costs constant time.

>>> window = EncounterWindow(length=100)
>>> window.record(7, now=0, broker=True, met=(1, 2, 3))
>>> window.record(8, now=50, broker=False, met=())
>>> window.peers, window.broker_count
((7, 8), 1)
>>> window.forget(now=100)
>>> window.peers, window.broker_count
((8,), 0)
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from hunet.model import Node, NodeList


class EncounterWindow:
    """The encounters of the last ``length`` seconds. Time never runs backwards."""

    saved: ClassVar[dict[str, Any]] = {
        "_times": dict[Node, float],
        "_brokers": dict[Node, NodeList],
    }

    def __init__(self, length: float) -> None:
        self.length = length
        self._times: dict[Node, float] = {}
        """Last encounter of each peer, the oldest first."""
        self._oldest = -inf
        """No encounter is older."""
        self._brokers: dict[Node, NodeList] = {}
        self._peers: NodeList | None = None

    def record(self, peer: Node, now: float, *, broker: bool, met: NodeList) -> None:
        """Meet a peer, who is a broker or not and has met these nodes itself."""
        if self._times.pop(peer, None) is None:
            self._peers = None
        self._times[peer] = now
        self._brokers.pop(peer, None)
        if broker:
            self._brokers[peer] = met

    def forget(self, now: float) -> None:
        """Let encounters go that are as old as the window is long."""
        if now - self._oldest < self.length:
            return
        while self._times:
            peer, time = next(iter(self._times.items()))
            self._oldest = time
            if now - time < self.length:
                return
            del self._times[peer]
            self._brokers.pop(peer, None)
            self._peers = None

    @property
    def peers(self) -> NodeList:
        """Whom this device has met, in order of their numbers: how many they are is its popularity."""
        if self._peers is None:
            self._peers = tuple(sorted(self._times))
        return self._peers

    @property
    def broker_count(self) -> int:
        """How many brokers this device has met."""
        return len(self._brokers)

    def mean_popularity(self) -> float:
        """The mean popularity of the brokers that were met, as they told it then; 0 if there were none."""
        return sum(map(len, self._brokers.values())) / len(self._brokers) if self._brokers else 0.0

    def popularity_of_brokers(self) -> set[Node]:
        """Whom the brokers that were met have met: the popularity of a set is the union of its members'."""
        return set().union(*self._brokers.values())
