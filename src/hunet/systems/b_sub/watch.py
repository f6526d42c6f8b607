"""An observer that goes with a B-SUB device and knows what its filters stand for (sections 4.5, 6.2 and 6.3).

Filters err. To say how often, a study lets exact counters travel with them and compares. It also plays the attacker of
section 4.5, who knows all tags there are and guesses a peer's interests from what the peer tells. All this costs more
than the filters themselves, so it is done only when asked for. Nothing here influences what the device does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hunet.model import Node, members
from hunet.model.keys import keys_of
from hunet.systems.b_sub.filter import FilterShape
from hunet.systems.b_sub.lookup import Lookup, lookup_of
from hunet.systems.b_sub.packets import Filters, Forward, Truth

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hunet.model import MessageSet, Topic
    from hunet.protocols.contract import Driver

OBSERVED: dict[str, str] = {
    "greetings": "greetings sent: two in a contact",
    "filter_bytes": "bytes of their filters",
    "string_bytes": "bytes of the same interests as strings",
    "forwards": "messages that changed hands",
    "false_forwards": "of them by a false positive; for PUSH, those that B-SUB would not have sent",
    "relayed_tags": "tags that relay filters stand for at the end of the run",
    "relayed_tags_mean": "the same, as a mean over time",
    "interests": "interests of the sender, counted in every greeting",
    "guessed": "of them, how many an attacker guesses from that greeting alone, naming as many tags",
    "lasting_interests": "interests, counted once for every device",
    "lasting_guessed": "of them, how many are guessed by an attacker who heard all its greetings from `warm_up` on",
    "participant_interests": "interests, counted once for every device and everybody that it met",
    "participant_guessed": "of them, how many one of those guesses from what it heard itself from `warm_up` on",
}
"""What is counted with ``exact``: names in a summary's ``observed``, summed over devices."""


class ExactCounters:
    """What a Temporal Counting Bloom Filter stands for: keys with their counters, above zero and up to the ceiling.

    The same operations on a table of keys. Beside a filter it tells which of the filter's answers are false positives;
    a filter's value of a key is never below the exact one. A value: operations return new ones.

    >>> ours = ExactCounters({"NewMoon": 5}).a_merge(ExactCounters({"NewMoon": 5, "openwebawards": 5}))
    >>> ours.counters
    {'NewMoon': 10, 'openwebawards': 5}
    >>> ours.decay(5).counters
    {'NewMoon': 5}
    """

    __slots__ = ("ceiling", "counters")

    def __init__(self, counters: Mapping[str, int], ceiling: int = 255) -> None:
        self.counters, self.ceiling = counters, ceiling

    def __contains__(self, key: str) -> bool:
        return key in self.counters

    def value(self, key: str) -> int:
        """A key's counter; 0 if it is not there."""
        return self.counters.get(key, 0)

    def a_merge(self, other: ExactCounters) -> ExactCounters:
        """The counters of both added up, at most the ceiling."""
        merged = dict(self.counters)
        for key, value in other.counters.items():
            merged[key] = min(merged.get(key, 0) + value, self.ceiling)
        return ExactCounters(merged, self.ceiling)

    def m_merge(self, other: ExactCounters) -> ExactCounters:
        """The larger of both counters, for every key."""
        merged = dict(self.counters)
        for key, value in other.counters.items():
            if value > merged.get(key, 0):
                merged[key] = value
        return ExactCounters(merged, self.ceiling)

    def decay(self, cycles: int) -> ExactCounters:
        """After so many decay cycles: every counter less by one per cycle; what reaches zero is gone."""
        if cycles <= 0:
            return self
        left = {key: value - cycles for key, value in self.counters.items() if value > cycles}
        return ExactCounters(left, self.ceiling)

    def without(self, keys: ExactCounters) -> ExactCounters:
        """Less the keys that the other holds."""
        return ExactCounters({key: v for key, v in self.counters.items() if key not in keys}, self.ceiling)


class Watch:
    """Exact counters beside the relay filter of one device, and what is counted with them."""

    def __init__(self, driver: Driver, shape: FilterShape, tags: Collection[Topic]) -> None:
        self._driver, self._shape = driver, shape
        self.relayed = ExactCounters({}, shape.ceiling)
        self.counts: dict[str, float] = dict.fromkeys(OBSERVED, 0)
        self._tags = _lookup(shape, tuple(sorted(tags)))
        """What the attacker knows."""
        self._index = {tag: index for index, tag in enumerate(self._tags.keys)}
        self._lowest: Sequence[int] = ()
        """For each tag, the lowest value that any greeting has shown since the warm-up."""
        self._lowest_to: dict[Node, Sequence[int]] = {}
        """The same of the greetings to one neighbour."""
        self._own: frozenset[Topic] = frozenset()
        self._begun = self._counted = 0.0
        self._tag_seconds = 0.0
        """Time for which the relay filter stood for tags, summed over tags."""

    def truth(self, own: Iterable[Topic], *, mixed: bool = False, relays: bool = True) -> Truth:
        """What the filters of a greeting stand for."""
        topics = tuple(sorted(own))
        relayed = self.relayed.a_merge(self._inserted(topics)) if mixed else self.relayed
        return Truth(() if mixed else topics, relayed.counters if relays else {})

    def greeted(self, filters: Filters, own: Iterable[Topic], peer: Node = 0, *, warm: bool = True) -> None:
        """Count what a greeting costs, what the same would cost as strings, and what it gives away.

        ``warm`` greetings are those that patient attackers listen to.
        """
        assert filters.truth is not None
        self.counts["greetings"] += 1
        self.counts["filter_bytes"] += filters.filter_bytes
        self.counts["string_bytes"] += sum(map(_bytes_of, filters.truth.own)) + sum(
            map(_bytes_of, filters.truth.relayed)
        )
        shown = self._shown(filters)
        self._own = frozenset(own)
        if warm:
            self._lowest = _lower(self._lowest, shown)
            self._lowest_to[peer] = _lower(self._lowest_to.get(peer, ()), shown)
        self.counts["interests"] += len(self._own)
        self.counts["guessed"] += self._guessed(shown)

    def learned(self, filters: Filters, forgotten: Collection[Topic] = ()) -> None:
        """Do exactly what the device did to its relay filter; ``forgotten`` are kept out of the hearsay."""
        assert filters.truth is not None
        hearsay = self._of(filters.truth.relayed)
        if forgotten:
            hearsay = hearsay.without(self._inserted(forgotten))
        self.relayed = self.relayed.a_merge(self._inserted(filters.truth.own)).m_merge(hearsay)

    def begin(self, now: float) -> None:
        """The run begins."""
        self._begun = self._counted = now

    def passed(self, now: float, cycle: float) -> None:
        """Count for how long each tag was there since the last time, before anything changes: it fades meanwhile."""
        since, self._counted = now - self._counted, now
        if since > 0:
            self._tag_seconds += sum([min(since, value * cycle) for value in self.relayed.counters.values()])

    def aged(self, cycles: int) -> None:
        """Time has passed."""
        self.relayed = self.relayed.decay(cycles)

    def forwarded(self, filters: Filters, packet: Forward, unasked: MessageSet = 0) -> None:
        """Count messages that went to a peer, and those that went by a filter's mistake, or although unasked for."""
        assert filters.truth is not None
        for number in members(packet.messages):
            keys, bit = keys_of(self._driver.messages[number].topic), 1 << number
            meant: Collection[Topic] = filters.truth.own if packet.direct & bit else filters.truth.relayed
            self.counts["forwards"] += 1
            self.counts["false_forwards"] += bool(unasked & bit) or not any(map(meant.__contains__, keys))

    def observations(self) -> dict[str, float]:
        """What was counted, and how things stand now."""
        now = {
            "relayed_tags": len(self.relayed.counters),
            "relayed_tags_mean": self._tag_seconds / max(self._counted - self._begun, 1.0),
            "lasting_guessed": self._guessed(self._lowest),
            "lasting_interests": len(self._own) if self._lowest else 0,
            "participant_guessed": sum(map(self._guessed, self._lowest_to.values())),
            "participant_interests": len(self._own) * len(self._lowest_to),
        }
        return self.counts | now

    def _shown(self, filters: Filters) -> Sequence[int]:
        """How firmly each tag is in what the attacker looks at: the genuine filter if there is one."""
        genuine = _plain_counters(self._shape, filters.genuine)
        return self._tags.values(genuine if any(genuine) else filters.relay)

    def _guessed(self, shown: Sequence[int]) -> int:
        """How many of the device's interests are among as many tags, the firmest first; of equals, by name."""
        found = 0
        for tag in self._own:
            index = self._index.get(tag)
            value = shown[index] if index is not None and shown else 0
            if value:
                ahead = sum([other > value for other in shown]) + sum([other == value for other in shown[:index]])
                found += ahead < len(self._own)
        return found

    def _inserted(self, tags: Iterable[Topic]) -> ExactCounters:
        return self._of(dict.fromkeys(tags, self._shape.initial))

    def _of(self, counters: Mapping[Topic, int]) -> ExactCounters:
        return ExactCounters(counters, self._shape.ceiling)


def _lower(one: Sequence[int], two: Sequence[int]) -> Sequence[int]:
    """The lower value of each tag; the second where there is no first."""
    return [a if a < b else b for a, b in zip(one, two, strict=True)] if one else two


@lru_cache(1 << 14)
def _bytes_of(tag: Topic) -> int:
    return len(tag.encode())


@lru_cache(16)
def _lookup(shape: FilterShape, tags: tuple[Topic, ...]) -> Lookup:
    return lookup_of(shape, tags)


@lru_cache(1 << 12)
def _plain_counters(shape: FilterShape, genuine: bytes) -> bytes:
    return shape.from_plain_wire(genuine).counters
