"""What people say and what they want to hear: publications and subscriptions in time.

Like contacts, subscriptions are closed intervals: a node is subscribed at ``start`` and still at ``end``. A
subscription without a start was there before anything happened; one without an end lasts.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hunet.model.errors import ConfigurationError
from hunet.model.interests import canonical_interest, canonical_topic

if TYPE_CHECKING:
    from hunet.model.parameters import Parameters


class Publication(NamedTuple):
    """A message to be published: by whom, when, on what topic."""

    id: str
    time: float
    node: int
    topic: str
    """Its tags and attributes, in the language of ``hunet.model.interests``."""
    size: int = 140
    ttl: float | None = None


class Subscription(NamedTuple):
    """What a node wants to hear from ``start`` to ``end``, both included."""

    node: int
    topic: str
    """The interest, in the language of ``hunet.model.interests``."""
    start: float = -inf
    end: float = inf


R = TypeVar("R", Publication, Subscription)


@dataclass(frozen=True, slots=True, repr=False)
class Workload:
    """Publications in order of time, and subscriptions, disjoint per node and interest.

    Nodes are numbers: places in the contact table's ``names``.

    >>> work = Workload.of([Publication("m1", 5, 0, "news")], [Subscription(1, "news"), Subscription(1, "news", 3, 9)])
    >>> work.subscriptions
    (Subscription(node=1, topic='news', start=-inf, end=inf),)
    >>> work
    Workload(1 publications, 1 subscriptions, 1 topics)
    """

    publications: tuple[Publication, ...]
    subscriptions: tuple[Subscription, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    """How it was made: generator, parameters and seed, or files."""

    def __repr__(self) -> str:
        topics = {publication.topic for publication in self.publications} | {
            wanted.topic for wanted in self.subscriptions
        }
        many = f"{len(self.publications)} publications, {len(self.subscriptions)} subscriptions"
        return f"Workload({many}, {len(topics)} topics)"

    @classmethod
    def of(
        cls,
        publications: list[Publication],
        subscriptions: list[Subscription],
        metadata: dict[str, Any] | None = None,
    ) -> Workload:
        """Sort, check and join: overlapping or touching subscriptions of one node to one interest are one."""
        publications = [_with(given, canonical_topic(given.topic)) for given in publications]
        subscriptions = [_with(wanted, canonical_interest(wanted.topic)) for wanted in subscriptions]
        known: set[str] = set()
        for publication in publications:
            if publication.id in known:
                raise ConfigurationError(f"two publications have the id '{publication.id}': ids must differ")
            known.add(publication.id)
        wanted: dict[tuple[int, str], list[Subscription]] = defaultdict(list)
        for subscription in sorted(subscriptions):
            row = wanted[subscription.node, subscription.topic]
            if row and subscription.start <= row[-1].end:
                row[-1] = row[-1]._replace(end=max(row[-1].end, subscription.end))
            else:
                row.append(subscription)
        joined = [subscription for row in wanted.values() for subscription in row]
        ordered = sorted(publications, key=lambda p: (p.time, p.id))
        return cls(tuple(ordered), tuple(sorted(joined)), metadata or {})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content: what a run's name says of its workload."""
        digest = hashlib.sha256()
        for row in (*self.publications, *self.subscriptions):
            digest.update(repr(tuple(row)).encode())
        return digest.hexdigest()


def _with(row: R, topic: str) -> R:
    return row if row.topic == topic else row._replace(topic=topic)


Drawn = tuple[list[Publication], list[Subscription]]


class WorkloadKind(NamedTuple):
    """A kind of generated workload: its parameters, and a function of (contacts, parameters, seed)."""

    parameters: type[Parameters]
    draw: Callable[[Any, Any, int], Drawn]
