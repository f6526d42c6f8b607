"""A subscription list: who wants what, pieced together from what passes by word of mouth.

A record says that somebody has an interest, or no longer does, and since when. Of two records of the same person and
interest the newer counts, whichever comes first; at one instant, the one that takes back. So lists can be merged in any
order, any number of times, and end up the same (Socio-Aware Overlay, section 5.2: subscriptions and unsubscriptions
travel by gossip towards the broker). Subscribers renew their records now and then, and all forget what is older than
some age: so nobody who has missed an unsubscription can bring a subscription back to those who have forgotten both.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Node, NodeSet, Topic, matching_score
from hunet.model.interests import tag_of, tags_of
from hunet.systems.socio_aware_overlay.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Iterable

Record = tuple[Node, Topic, bool, float]
"""Subscriber, interest, whether it has it (or no longer does), since when."""


class SubscriptionList:
    """Who wants what.

    >>> wanted = SubscriptionList()
    >>> wanted.update([(1, "news", True, 10.0), (2, "news", True, 5.0)])
    [(1, 'news', True, 10.0), (2, 'news', True, 5.0)]
    >>> wanted.update([(1, "news", False, 20.0), (2, "news", False, 1.0)])
    [(1, 'news', False, 20.0)]
    >>> bin(wanted.subscribers("news"))
    '0b100'
    """

    saved: ClassVar[dict[str, Any]] = {
        "_records": dict[tuple[Node, Topic], Record],
        "_subscribers": dict[Topic, NodeSet],
    }

    def __init__(self) -> None:
        self._records: dict[tuple[Node, Topic], Record] = {}
        self._subscribers: dict[Topic, NodeSet] = {}
        self._others: list[Topic] | None = None
        """The interests that are more than a tag, once somebody has asked for subscribers."""
        self._all: tuple[Record, ...] | None = None
        self._oldest = -inf
        """No record is of an earlier time."""
        self.changes = Changes[tuple[Node, Topic]]()
        """Of records, by subscriber and topic."""

    def update(self, records: Iterable[Record]) -> list[Record]:
        """Take in records; returns those that were news."""
        new: list[Record] = []
        for record in records:
            node, topic, wanted, time = record
            known = self._records.get((node, topic))
            if known is None or (time, not wanted) > (known[3], not known[2]):
                self._records[node, topic] = record
                self.changes.add((node, topic))
                self._oldest = min(self._oldest, time)
                self._mark(node, topic, wanted)
                new.append(record)
        if new:
            self._all = self._others = None
        return new

    def _mark(self, node: Node, topic: Topic, wanted: bool) -> None:
        subscribers = self._subscribers.get(topic, 0) & ~(1 << node) | wanted << node
        if subscribers:
            self._subscribers[topic] = subscribers
        else:
            self._subscribers.pop(topic, None)

    def since(self, node: Node, topic: Topic) -> float:
        """Of what time the record of somebody is, -inf if there is none."""
        known = self._records.get((node, topic))
        return -inf if known is None else known[3]

    def forget(self, before: float) -> None:
        """Know nothing any more of records of an earlier time."""
        if before <= self._oldest:
            return
        for key in [key for key, record in self._records.items() if record[3] < before]:
            del self._records[key]
            self.changes.forget(key)
            self._mark(*key, False)
            self._all = self._others = None
        self._oldest = min([record[3] for record in self._records.values()], default=inf)

    def changed_since(self, count: int) -> tuple[Record, ...]:
        """What has changed after so many changes, or all that is known (-1), in a fixed order."""
        if count < 0:
            return self.records()
        return tuple(sorted([self._records[key] for key in self.changes.since(count)]))

    def subscribers(self, topic: Topic) -> NodeSet:
        """Those who want messages of a topic."""
        if self._others is None:
            self._others = [wanted for wanted in self._subscribers if tag_of(wanted) is None]
        found = 0
        for tag in tags_of(topic):
            found |= self._subscribers.get(tag, 0)
        for wanted in self._others:
            if matching_score(wanted, topic):
                found |= self._subscribers[wanted]
        return found

    def records(self) -> tuple[Record, ...]:
        """Everything that is known, in a fixed order."""
        if self._all is None:
            self._all = tuple(sorted(self._records.values()))
        return self._all
