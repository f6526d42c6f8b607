"""A broker directory: which communities there are, and who their brokers are, as far as word has come.

Communities have no names in the paper, yet every broker is to keep "the list of brokers in the other communities"
(Socio-Aware Overlay, section 5.2). Here a community goes by the smallest number among its brokers, and an entry makes
way for a newer one of the same name or of a community that is mostly the same (*mostly*
is a Jaccard index of at least one half, since communities next to each other share members).

A device that is no longer a broker, or never was one in its own view, withdraws: an entry without members, which takes
it out of all older entries and travels as they do. The next entry that names it as a broker ends the withdrawal.
"""

from __future__ import annotations

from math import inf, nextafter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hunet.model import Node, NodeSet
from hunet.systems.socio_aware_overlay.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Sequence


class Entry(NamedTuple):
    """A community: its brokers, its members, and since when it is so."""

    brokers: NodeSet
    members: NodeSet
    time: float

    @property
    def handle(self) -> Node:
        """The community's name: the smallest of its brokers."""
        return (self.brokers & -self.brokers).bit_length() - 1


class BrokerDirectory:
    """The communities that a device knows of.

    >>> directory = BrokerDirectory()
    >>> directory.update([Entry(0b0001, 0b0111, 10.0), Entry(0b1000, 0b111000, 10.0)])
    True
    >>> directory.update([Entry(0b0010, 0b0111, 20.0)])  # the first community has another broker
    True
    >>> bin(directory.brokers)
    '0b1010'
    """

    saved: ClassVar[dict[str, Any]] = {
        "_entries": dict[Node, Entry],
        "_judged": set[tuple[NodeSet, NodeSet, float]],
        "brokers": NodeSet,
    }

    def __init__(self) -> None:
        self._entries: dict[Node, Entry] = {}
        self._judged: set[tuple[NodeSet, NodeSet, float]] = set()
        """Every entry ever heard: one that has been replaced does not come back by hearsay."""
        self.changes = Changes[Node]()
        """Of entries, by their names."""
        self._all: tuple[Entry, ...] | None = None
        self.brokers: NodeSet = 0
        """All brokers of all communities."""

    def update(self, entries: Sequence[tuple[NodeSet, NodeSet, float]]) -> bool:
        """Take in entries; whether any was news."""
        news = False
        if self._judged.issuperset(entries):  # mostly all of them
            return news
        for given in entries:
            if given in self._judged:
                continue
            self._judged.add(given)
            entry = self._without_retired(Entry(*given))
            if entry.members == 0:
                news |= self._retire(entry)
                continue
            handle, many = entry.handle, entry.members.bit_count()
            rivals = [
                known
                for name, known in self._entries.items()
                if name == handle
                or (_overlap(entry.members, many, known.members) if known.members else known.brokers & entry.brokers)
            ]
            if entry.brokers and all((entry.time, entry) > (rival.time, rival) for rival in rivals):
                for rival in rivals:
                    del self._entries[rival.handle]
                self._entries[handle] = entry
                self.changes.note(handle)
                news = True
        if news:
            self._all = None
            self.brokers = 0
            for entry in self._entries.values():
                if entry.members:
                    self.brokers |= entry.brokers
        return news

    def _without_retired(self, entry: Entry) -> Entry:
        """An entry without those who have withdrawn since."""
        gone = 0
        for known in self._entries.values():
            if not known.members and known.time >= entry.time and entry.members:
                gone |= known.brokers
        return entry._replace(brokers=entry.brokers & ~gone)

    def _retire(self, withdrawal: Entry) -> bool:
        """Take a device out of all entries that are not newer than its withdrawal; whether that was news."""
        newer = [known for known in self._entries.values() if known.time > withdrawal.time]
        if any(known.brokers & withdrawal.brokers for known in newer):
            return False
        listing = [known for known in self._entries.values() if known.brokers & withdrawal.brokers]
        for known in listing:
            del self._entries[known.handle]
        for known in listing:
            left = known._replace(brokers=known.brokers & ~withdrawal.brokers)
            if not left.members or not left.brokers:
                continue
            rival = self._entries.get(left.handle)  # its name is now that of its next broker
            if rival is None or (left.time, left) > (rival.time, rival):
                self._entries[left.handle] = left
                self.changes.note(left.handle)
        self._entries[withdrawal.handle] = withdrawal
        self.changes.note(withdrawal.handle)
        return True

    def after_withdrawal(self, node: Node, now: float) -> float:
        """The time of an entry that names a device again: now, or an instant later if it has just withdrawn."""
        known = self._entries.get(node)
        if known is None or known.members or known.time < now:
            return now
        return nextafter(known.time, inf)

    def entries(self) -> tuple[Entry, ...]:
        """Everything that is known, in a fixed order."""
        if self._all is None:
            self._all = tuple([self._entries[handle] for handle in sorted(self._entries)])
        return self._all

    def news(self, told: int | None) -> tuple[Entry, ...]:
        """What has changed since somebody was told, or all that is known (None), in a fixed order."""
        if told is None:
            return self.entries()
        changed = self.changes.since(told)
        return tuple([self._entries[handle] for handle in sorted(changed) if handle in self._entries])

    def of_broker(self, node: Node) -> Entry | None:
        """The community of which a device is a broker."""
        return next((entry for entry in self.entries() if entry.members and entry.brokers >> node & 1), None)


def _overlap(members: NodeSet, many: int, others: NodeSet) -> bool:
    """Whether the Jaccard index of two sets, the first of so many nodes, is at least one half."""
    common = (members & others).bit_count()
    return 3 * common >= many + others.bit_count()
