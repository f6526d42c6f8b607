"""What is delivered to the applications of a device: each message is theirs until they have taken it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from hunet.model import matching_score
from hunet.node.publication import Opened, Publication, Refused, is_private, read_publication

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from hunet.node.driver import LiveDriver
    from hunet.node.store import Pending


class Delivery(msgspec.Struct, frozen=True):
    """A message for the application of this device."""

    number: int
    """Deliveries are numbered in order; the number never comes twice."""
    id: str
    topic: str
    author: str
    created: float
    content: bytes
    content_type: str
    hops: int
    """Transmissions behind it."""
    delivered: float
    taken: bool = False
    """Whether an application has dealt with it."""
    private: bool = False
    """Whether it was sealed for a group."""

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode("utf-8", "replace")


class Subscription:
    """Messages on a topic as they come: ``async for delivery in subscription``. Asking for the next takes the last."""

    def __init__(self, deliveries: Deliveries, topic: str, after: int) -> None:
        self.topic = topic
        self._deliveries = deliveries
        self._last, self._offered = after, 0
        self._news = asyncio.Event()
        self._closed = False

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        self.taken()
        while not self._closed and not self._deliveries.ended:
            for number, delivery in self._deliveries.waiting(self.topic, self._last):
                self._last = number
                if delivery is not None:
                    self._offered = number
                    return delivery
            self._news.clear()
            await self._news.wait()
        raise StopAsyncIteration

    def taken(self) -> None:
        """The delivery that was handed over last is dealt with, and never comes again."""
        if self._offered:
            self._deliveries.take(self._offered)
            self._offered = 0

    def close(self) -> None:
        """Stop listening; what comes meanwhile waits, since the subscription holds."""
        self._offered, self._closed = 0, True
        self._deliveries.forget(self)
        self.wake()

    def wake(self) -> None:
        """There may be something new, or the node has ended."""
        self._news.set()


class Deliveries:
    """The deliveries on the disk of a device, and the subscriptions that wait for more."""

    def __init__(self, driver: LiveDriver) -> None:
        self._driver, self._store = driver, driver.store
        self._subscriptions: list[Subscription] = []
        self.ended = False

    def listen(self, topic: str, after: int) -> Subscription:
        """Messages on a topic, or of a group by its label; those up to number ``after`` count as taken."""
        for earlier in list(takewhile(lambda waiting: waiting.number <= after, self._store.waiting())):
            if matching_score(topic, earlier.topic):
                self.take(earlier.number)
        subscription = Subscription(self, topic, after)
        self._subscriptions.append(subscription)
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """A subscription waits no longer."""
        with suppress(ValueError):
            self._subscriptions.remove(subscription)

    def wake(self) -> None:
        """Something was delivered."""
        for subscription in self._subscriptions:
            subscription.wake()

    def end(self) -> None:
        """Nothing more is delivered, nor taken."""
        self.ended = True
        self.wake()

    def take(self, delivery: int) -> None:
        """A delivery is dealt with: no subscription gets it any more."""
        if not self.ended:
            self._driver.take(delivery)

    def waiting(self, topic: str, after: int) -> Iterator[tuple[int, Delivery | None]]:
        """The numbers of all that nobody has taken, and what is for this topic; what cannot be read counts as taken."""
        for pending in list(self._store.waiting(after)):
            delivery = None
            if matching_score(topic, pending.topic):
                delivery = self._delivery(pending)
                if delivery is None:
                    self.take(pending.number)
            yield pending.number, delivery

    def by_number(self, above: int, below: int, most: int, newest: bool) -> Iterator[Delivery]:
        """Deliveries by number, also those that were taken."""
        for pending, taken in self._store.deliveries(above, below, most, newest):
            delivery = self._delivery(pending, taken=taken)
            if delivery is not None:
                yield delivery

    def read(self, message: int) -> Publication | None:
        """A publication from the disk; None if the disk has lost it."""
        encoded = self._store.content(message)
        if encoded is not None:
            with suppress(Refused):
                return read_publication(encoded, self._driver.messages[message].created, self._driver.limits)
        self._driver.count("damaged")
        return None

    def _delivery(self, pending: Pending, taken: bool = False) -> Delivery | None:
        """What the application gets; None if it cannot be read."""
        publication = self.read(pending.message)
        if publication is None:
            return None
        topic, opened = publication.topic, Opened(publication.content, publication.content_type)
        if is_private(topic) and self._driver.private is not None:
            try:
                topic, opened = self._driver.private.open(publication)
            except Refused as refused:
                self._driver.count(f"refused: {refused.reason}")
                return None
        return Delivery(
            pending.number,
            publication.id,
            topic,
            publication.author,
            publication.created,
            opened.content,
            opened.content_type,
            pending.hops,
            pending.at,
            taken,
            is_private(publication.topic),
        )
