"""Who wants what, as a broker knows it: subscriptions with the freshest time at which each was registered.

Nobody keeps who registered a subscription; the freshest registration wins, whether it came from a subscriber or from
another broker (social election, section IV.B). What a message is worth to a node follows from its table by Eqs. 1 and
2: the matching score, divided by the age of the message plus the age of the subscription.

>>> table = SubscriptionTable({"A": 100.0})
>>> table.refresh({"A": 140.0, "B": 20.0})
>>> table.refresh({"A": 120.0})
>>> table.times
{'A': 140.0, 'B': 20.0}
>>> utility(table.matches("A"), created=130.0, now=160.0)
0.02
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from hunet.model import Topic, matching_score
from hunet.model.interests import tag_of, tags_of

Matches = tuple[tuple[float, float], ...]
"""For a message, each subscription that it matches: the score, and when the subscription was registered."""

YOUNGEST = 1.0
"""Ages below one second count as one: Eq. 1 has no value at 0."""


class SubscriptionTable:
    """Subscriptions and when each was registered last."""

    __slots__ = ("_matches", "_oldest", "_others", "times")

    saved: ClassVar[dict[str, Any]] = {
        "times": dict[Topic, float],
    }

    def __init__(self, times: dict[Topic, float] | None = None) -> None:
        self.times: dict[Topic, float] = times or {}
        """Never changed in place: packets and links share this very dictionary."""
        self._others: list[Topic] | None = None
        """The subscriptions that are more than a tag, once somebody has asked for matches."""
        self._matches: dict[Topic, Matches] = {}
        self._oldest = -inf
        """Nothing was registered before."""

    def refresh(self, table: dict[Topic, float]) -> None:
        """Take over registrations that are new or fresher; nobody may change ``table`` afterwards."""
        times = self.times
        if not times:
            self._oldest = -inf
            self._replace(table)
            return
        fresh = {topic: time for topic, time in table.items() if topic not in times or time > times[topic]}
        if fresh:
            self._oldest = min(self._oldest, *fresh.values())
            others, known = self._others, len(times)
            self._replace(times | fresh)
            if len(self.times) == known:
                self._others = others

    def drop_before(self, time: float) -> None:
        """Forget what was registered before a time."""
        if time <= self._oldest:
            return
        kept = {topic: last for topic, last in self.times.items() if last >= time}
        self._oldest = min(kept.values(), default=inf)
        if len(kept) < len(self.times):
            self._replace(kept)

    def _replace(self, times: dict[Topic, float]) -> None:
        self.times = times
        self._others = None
        if self._matches:
            self._matches = {}

    def matches(self, topic: Topic) -> Matches:
        """The subscriptions that messages of this topic match, in the order of their tags."""
        if self._others is None:
            self._others = [wanted for wanted in self.times if tag_of(wanted) is None]
        tags = tags_of(topic)
        if len(tags) == 1 and not self._others:  # mostly: it matches those who want this tag, fully
            registered = self.times.get(tags[0])
            return () if registered is None else ((1.0, registered),)
        found = self._matches.get(topic)
        if found is None:
            asked = [tag for tag in tags if tag in self.times]
            scored = [(matching_score(wanted, topic), self.times[wanted]) for wanted in (*asked, *self._others)]
            found = self._matches[topic] = tuple([match for match in scored if match[0]])
        return found

    def restored(self) -> None:
        """After a restart."""
        self._others, self._matches, self._oldest = None, {}, -inf


def utility(matches: Matches, created: float, now: float) -> float:
    """What a message is worth (Eqs. 1 and 2): of several matches, the best counts; without any, nothing.

    For one node at one time it falls with the age of the message, whatever subscriptions match: of messages on the same
    topic, the newest is worth most.
    """
    best = 0.0
    for score, registered in matches:
        age = now - created + now - registered
        worth = score / (age if age > YOUNGEST else YOUNGEST)
        best = max(best, worth)
    return best
