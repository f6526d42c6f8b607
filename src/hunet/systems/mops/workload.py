"""MOPS's workload: events with values, and people who want ranges of them (the Number Interval model, section V.A).

F. Li and J. Wu, "MOPS", ICDCS 2009. "An event is randomly associated with an integer value within the interval [1, 100]
... Each category of events is represented by a random but distinct range within [1, 100]. For each category, a
subscriber may have interest in it with a uniform probability p ... An event matches a subscription only when the
event's value falls into the subscription category's range." Publishers are drawn uniformly, times by a Poisson process;
an event is 5 megabits (a campus video) and lives a day.

A category is the topic of its events and is written as its range, ``17..42``; the value of an event stands in its id,
``m3=25``. Random cuts make the ranges a partition, so that every event has one category, as section II.C has it; how
many there are is not in the paper. The rate is the network's, not a node's.

The other reading of "a random but distinct range": with ``ranges = "drawn"`` both ends of each are drawn, so that
ranges overlap and an event falls into several, or into none. Then an event has its value as an attribute, and who wants
a category is subscribed to its range: ``value in 17..42``. With ``levels``, each subscription has a level of interest w
of its own, in (0, 1] (section II.C): ``(value in 17..42)^0.35``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from hunet.model import Parameters, Publication, Subscription, Topic, doc
from hunet.model.randomness import Stream, generator
from hunet.model.workload import Drawn, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from hunet.model import Contacts

_PAPER = "MOPS, section V.A"


class Category(NamedTuple):
    """A range of values, both ends included.

    >>> Category(17, 42).matches(42), Category(17, 42).matches(43), Category(17, 42).topic
    (True, False, '17..42')
    """

    low: int
    high: int

    @property
    def topic(self) -> Topic:
        """The topic of the events in this range."""
        return f"{self.low}..{self.high}"

    def wanted(self, level: float = 1.0) -> Topic:
        """The interest in values of this range.

        >>> Category(17, 42).wanted(), Category(17, 42).wanted(0.35)
        ('value in 17..42', '(value in 17..42)^0.35')
        """
        within = f"value in {self.low}..{self.high}"
        return within if level == 1 else f"({within})^{level:g}"

    def matches(self, value: int) -> bool:
        """Whether an event with this value falls into the range."""
        return self.low <= value <= self.high


class IntervalWorkload(Parameters, frozen=True):
    """Events with values of 1 to 100, and subscriptions to ranges of them (MOPS)."""

    categories: Annotated[int, doc("ranges that the values are cut into", source="not given", ge=1)] = 10
    ranges: Annotated[
        Literal["cut", "drawn"], doc("whether ranges are a partition, or overlap: both ends of each are drawn")
    ] = "cut"
    levels: Annotated[
        bool, doc("ranges that are drawn: whether subscriptions have levels w, drawn from 0.01 to 1", source="II.C")
    ] = False
    values: Annotated[int, doc("the largest value", source=_PAPER, ge=1)] = 100
    interest: Annotated[float, doc("chance that a node wants a category", symbol="p", source=_PAPER, ge=0, le=1)] = 0.2
    rate: Annotated[float, doc("events in the whole network", symbol="λ", unit="1/h", source=_PAPER, ge=0)] = 10.0
    first: Annotated[float, doc("when publishing begins, as a share of the trace", source=_PAPER, ge=0, le=1)] = 0.4
    size: Annotated[int, doc("bytes of an event: 5 Mb", unit="bytes", source=_PAPER, ge=0)] = 625_000
    ttl: Annotated[float, doc("life of an event; none is for ever", unit="s", source=_PAPER, ge=0)] | None = 86_400.0

    def __post_init__(self) -> None:
        if self.categories > self.values:
            raise ValueError(f"categories ({self.categories}) cannot exceed values ({self.values})")
        if self.levels and self.ranges == "cut":
            raise ValueError("levels are for ranges that are drawn: set ranges = 'drawn' too")


def category_of(value: int, categories: list[Category]) -> Category:
    """The range that a value falls into.

    >>> category_of(30, [Category(1, 16), Category(17, 42), Category(43, 100)])
    Category(low=17, high=42)
    """
    return next(category for category in categories if category.matches(value))


def draw_intervals(contacts: Contacts, chosen: IntervalWorkload, seed: int) -> Drawn:
    """The ranges, who wants which, and who publishes what when."""
    if chosen.ranges == "drawn":
        return _draw_overlapping(contacts, chosen, seed)
    roles, times = generator(seed, Stream.ROLES), generator(seed, Stream.TIMES)
    nodes = len(contacts.names)
    cuts = sorted(roles.permutation(chosen.values - 1)[: chosen.categories - 1].tolist())
    lows, highs = [1, *(cut + 2 for cut in cuts)], [*(cut + 1 for cut in cuts), chosen.values]
    categories = [Category(low, high) for low, high in zip(lows, highs, strict=True)]
    wants = roles.random((nodes, len(categories))) < chosen.interest
    subscriptions = [
        Subscription(node, category.topic)
        for node in range(nodes)
        for category, wanted in zip(categories, wants[node], strict=True)
        if wanted
    ]
    publications = [
        Publication(f"m{i}={value}", time, node, category_of(value, categories).topic, chosen.size, chosen.ttl)
        for i, (time, node, value) in enumerate(_events(contacts, chosen, roles, times))
    ]
    return publications, subscriptions


def _events(
    contacts: Contacts, chosen: IntervalWorkload, roles: Generator, times: Generator
) -> Iterator[tuple[float, int, int]]:
    """When, by whom and with which value events are published, in order."""
    begin, end = contacts.span
    begin += chosen.first * (end - begin)
    many = int(times.poisson(chosen.rate * (end - begin) / 3600))
    when = sorted(times.uniform(begin, end, many).tolist())  # a Poisson process, given its number of events
    publishers = roles.integers(len(contacts.names), size=many).tolist()
    values = roles.integers(1, chosen.values + 1, size=many).tolist()
    return zip(when, publishers, values, strict=True)


def _draw_overlapping(contacts: Contacts, chosen: IntervalWorkload, seed: int) -> Drawn:
    """The same with ranges that are drawn, each different from all others."""
    roles, nodes = generator(seed, Stream.ROLES), len(contacts.names)
    drawn: dict[Category, None] = {}
    while len(drawn) < chosen.categories:
        low, high = sorted(roles.integers(1, chosen.values + 1, size=2).tolist())
        drawn[Category(low, high)] = None
    wants = roles.random((nodes, chosen.categories)) < chosen.interest
    levels = roles.integers(1, 101, size=(nodes, chosen.categories)) / 100 if chosen.levels else 0 * wants + 1.0
    subscriptions = [
        Subscription(node, category.wanted(float(levels[node, number])))
        for node in range(nodes)
        for number, category in enumerate(drawn)
        if wants[node, number]
    ]
    publications = [
        Publication(f"m{i}", time, node, f"value = {value}", chosen.size, chosen.ttl)
        for i, (time, node, value) in enumerate(_events(contacts, chosen, roles, generator(seed, Stream.TIMES)))
    ]
    return publications, subscriptions


INTERVALS = WorkloadKind(IntervalWorkload, draw_intervals)
