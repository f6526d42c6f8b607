"""A broker directory: which devices are brokers, and which of all devices are still there, as far as is known.

Every broker is to keep "the list of brokers in the other communities" (Socio-Aware Overlay, section 5.2), and the paper
leaves "expiration of membership, membership refresh, or change of roles" open. Here each device announces its own role,
when that changes and at intervals, and of two announcements of a device the later one counts. So a broker withdraws as
it was listed, and two directories with the same announcements are the same, in whatever order they came.

A device is taken for *gone* when it has been silent for longer than a share (``patience``) of the time for which it has
announced itself, and for longer than an hour: a night among days is no silence, a night after one morning is. It
announces itself twice as often. If it comes back, its next announcement lists it again.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Node, NodeSet
from hunet.systems.socio_aware_overlay.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Iterable

Announcement = tuple[Node, bool, int]
"""A device, whether it is a broker, and when it said so (s); each announcement of a device is later than the last."""

_LEAST = 3600.0
"""Nobody is taken for gone before (s)."""


class BrokerDirectory:
    """What a device knows of the roles of all.

    >>> directory = BrokerDirectory(patience=0.5)
    >>> directory.update([(0, True, 10), (3, True, 10)]), directory.update([(0, False, 5)])
    (True, False)
    >>> directory.update([(0, False, 20)]), bin(directory.brokers)
    (True, '0b1000')
    >>> directory.expire(now=3000), directory.expire(now=4000), bin(directory.gone), directory.brokers
    (False, True, '0b1001', 0)
    """

    saved: ClassVar[dict[str, Any]] = {
        "_last": dict[Node, Announcement],
        "_first": dict[Node, int],
        "_listed": NodeSet,
        "gone": NodeSet,
        "brokers": NodeSet,
    }

    def __init__(self, patience: float | None = None) -> None:
        self.brokers: NodeSet = 0
        """The brokers that are not gone."""
        self.gone: NodeSet = 0
        self.changes = Changes[Node]()
        self._patience = patience
        self._last: dict[Node, Announcement] = {}
        self._first: dict[Node, int] = {}
        """When the first announcement of each was made that this device has heard of."""
        self._listed: NodeSet = 0
        self._due = inf
        """Nobody is to be taken for gone before, and perhaps not then."""

    def update(self, announcements: Iterable[Announcement]) -> bool:
        """Merge announcements; whether the brokers, or those who are gone, are others now."""
        last, brokers, gone = self._last, self.brokers, self.gone
        for announcement in announcements:
            node, broker, time = announcement
            known = last.get(node)
            if known is None:
                self._first[node] = time
            elif time <= known[2]:
                continue
            last[node] = announcement
            self.changes.add(node)
            bit = 1 << node
            self._listed = self._listed | bit if broker else self._listed & ~bit
            self.gone &= ~bit
            self._due = min(self._due, time + _LEAST)
        self.brokers = self._listed & ~self.gone
        return self.brokers != brokers or self.gone != gone

    def announce(self, node: Node, broker: bool, now: float) -> Announcement:
        """A device's own announcement, later than all that it has made."""
        known = self._last.get(node)
        found = (node, broker, max(int(now), 0 if known is None else known[2] + 1))
        self.update([found])
        return found

    def is_due(self, node: Node, now: float) -> bool:
        """Whether a device should announce itself again."""
        known = self._last.get(node)
        if known is None:
            return True
        return self._patience is not None and now - known[2] >= self._silence(node) / 2

    def expire(self, now: float) -> bool:
        """Find out who is gone by now; whether anybody is who was not."""
        if self._patience is None or now <= self._due:
            return False
        before, self._due = self.gone, inf
        for node, (_, _, time) in self._last.items():
            due = time + self._silence(node)
            if due < now:
                self.gone |= 1 << node
            else:
                self._due = min(self._due, due)
        self.brokers = self._listed & ~self.gone
        return self.gone != before

    def _silence(self, node: Node) -> float:
        """How long a device may be silent, where there is a patience."""
        return max(_LEAST, (self._patience or 0.0) * (self._last[node][2] - self._first[node]))

    def changed_since(self, count: int) -> tuple[Announcement, ...]:
        """The announcements after so many changes, or all (-1), in a fixed order."""
        last = self._last
        return tuple([last[node] for node in sorted(last if count < 0 else self.changes.since(count))])

    def restored(self) -> None:
        """After a restart: see at the next opportunity who is gone."""
        self._due = -inf
