"""A subscription list: who wants what, pieced together from what passes by word of mouth.

A record says that somebody has an interest, or no longer does, and since when. Of two records of the same person and
interest the newer counts, whichever comes first; at one instant, the one that takes back. So lists can be merged in any
order, any number of times, and end up the same (Socio-Aware Overlay, section 5.2: subscriptions and unsubscriptions
travel by gossip towards the broker).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Node, NodeSet, Topic, interest_of, matching_score
from hunet.model.interests import tags_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        self._judged: set[Record] = set()
        """Every record ever heard."""

    def knows(self, records: Sequence[Record]) -> bool:
        """Whether none of these records would be news."""
        return records == self._all or self._judged.issuperset(records)  # members of a community mostly know the same

    def update(self, records: Iterable[Record]) -> list[Record]:
        """Take in records; returns those that were news."""
        news: list[Record] = []
        for record in records:
            self._judged.add(record)
            node, topic, wanted, time = record
            known = self._records.get((node, topic))
            if known is None or (time, not wanted) > (known[3], not known[2]):
                self._records[node, topic] = record
                others = self._subscribers.get(topic, 0) & ~(1 << node)
                self._subscribers[topic] = others | wanted << node
                news.append(record)
        if news:
            self._all = self._others = None
        return news

    def subscribers(self, topic: Topic) -> NodeSet:
        """Those who want messages of a topic."""
        if self._others is None:
            self._others = [wanted for wanted in self._subscribers if interest_of(wanted).tag is None]
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
