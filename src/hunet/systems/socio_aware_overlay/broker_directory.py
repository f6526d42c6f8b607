"""A broker directory: which communities there are, and who their brokers are, as far as word has come.

Communities have no names in the paper, yet every broker is to keep "the list of brokers in the other communities"
(Socio-Aware Overlay, section 5.2). Here a community goes by the smallest number among its brokers, and an entry makes
way for a newer one of the same name or of a community that is mostly the same (*mostly*
is a Jaccard index of at least one half, since communities next to each other share members).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hunet.model import Node, NodeSet

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
            entry = Entry(*given)
            handle, many = entry.handle, entry.members.bit_count()
            rivals = [
                known
                for name, known in self._entries.items()
                if name == handle or _overlap(entry.members, many, known.members)
            ]
            if entry.brokers and all((entry.time, given) > (rival.time, rival) for rival in rivals):
                for rival in rivals:
                    del self._entries[rival.handle]
                self._entries[handle] = entry
                news = True
        if news:
            self._all = None
            self.brokers = 0
            for entry in self._entries.values():
                self.brokers |= entry.brokers
        return news

    def entries(self) -> tuple[Entry, ...]:
        """Everything that is known, in a fixed order."""
        if self._all is None:
            self._all = tuple([self._entries[handle] for handle in sorted(self._entries)])
        return self._all

    def of_broker(self, node: Node) -> Entry | None:
        """The community of which a device is a broker."""
        return next((entry for entry in self.entries() if entry.brokers >> node & 1), None)


def _overlap(members: NodeSet, many: int, others: NodeSet) -> bool:
    """Whether the Jaccard index of two sets, the first of so many nodes, is at least one half."""
    common = (members & others).bit_count()
    return 3 * common >= many + others.bit_count()
