"""What is delivered to the applications of a device: each message is theirs until they have taken it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from hunet.model import OutputError, interest_of, matching_score
from hunet.node.publication import Opened, Publication, Refused, is_private, stored_publication
from hunet.node.store import DamagedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from hunet.node.driver import LiveDriver
    from hunet.node.store import Pending


_log = logging.getLogger("hunet.node")

_AT_ONCE = 64
"""Deliveries that are looked up at once."""
_SOON = 0.1
"""What was taken is on the disk after so long (s)."""


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
    """Messages on a topic as they come: ``async for delivery in subscription``. Asking for the next takes the last.

    Each subscription gets everything that nobody had taken when it began, or, if ``since`` is the number of a take, by
    that time. It stops when a subscription that was made for some time has ended.
    """

    def __init__(self, deliveries: Deliveries, topic: str, after: int, since: int, ends: bool) -> None:
        self.topic = topic
        self.since = since
        self._deliveries = deliveries
        self._last, self._offered = after, 0
        self._ready: deque[Pending] = deque()
        self._changed = asyncio.Event()
        self._closed, self._ends = False, ends

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        self.taken()
        while not self._closed and not self._deliveries.ended:
            self._changed.clear()
            if delivery := self.at_once():
                return delivery
            if self._ends and not self._deliveries.follows(self.topic):
                break
            await self._changed.wait()
        raise StopAsyncIteration

    def at_once(self) -> Delivery | None:
        """The next delivery, if there is one; the one before is not taken by this."""
        while not self._closed and not self._deliveries.ended:
            if not self._ready:
                self._ready.extend(self._deliveries.after(self._last, self.since, self.topic))
            if not self._ready:
                break
            pending = self._ready.popleft()
            self._last = pending.number
            delivery = self._deliveries.delivery(pending, self.topic)
            if delivery is not None:
                self._offered = pending.number
                return delivery
        return None

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
        self._changed.set()


class Deliveries:
    """The deliveries on the disk of a device, and the subscriptions that wait for more."""

    def __init__(self, driver: LiveDriver) -> None:
        self._driver, self._store = driver, driver.store
        self._subscriptions: list[Subscription] = []
        self._commit: asyncio.TimerHandle | None = None
        self.ended = False

    def go_on_with(self, driver: LiveDriver) -> None:
        """The protocol has begun anew, with the same store."""
        self._driver = driver
        self.wake()

    def listen(self, topic: str, after: int, since: int | None) -> Subscription:
        """Messages on a topic, or of a group by its label; those up to number ``after`` count as taken."""
        began, ends = self._store.takes if since is None else since, topic in self._store.endings()
        subscription = Subscription(self, topic, after, began, ends)
        for earlier in list(takewhile(lambda waiting: waiting.number <= after, self._store.waiting())):
            if matching_score(topic, earlier.topic):
                self.take(earlier.number)
        self._subscriptions.append(subscription)
        return subscription

    def follows(self, topic: str) -> bool:
        """Whether the application wants a topic still."""
        return topic in self._store.subscriptions()

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
        self.commit()
        self.ended = True
        self.wake()

    def take(self, delivery: int) -> None:
        """A delivery is dealt with; that is on the disk a moment later, with others."""
        if not self.ended:
            with self._come_again():
                self._driver.take(delivery)
            if self._commit is None:
                self._commit = asyncio.get_running_loop().call_later(_SOON, self.commit)

    def commit(self) -> None:
        """What was taken is on the disk when this returns."""
        if self._commit is not None:
            self._commit.cancel()
            self._commit = None
            with self._come_again():
                self._store.commit()

    @contextmanager
    def _come_again(self) -> Iterator[None]:
        """What cannot be written may come again after a restart, which is better than nothing any more."""
        try:
            yield
        except DamagedError:
            raise
        except OutputError as error:
            _log.warning("%s", error)

    def after(self, number: int, since: int, topic: str) -> list[Pending]:
        """The next deliveries for a subscription, and others among them."""
        asked = topic if is_private(topic) else interest_of(topic).tag
        return self._store.next_deliveries(number, since, asked, _AT_ONCE)

    def delivery(self, pending: Pending, topic: str) -> Delivery | None:
        """What a subscription to a topic gets; None if it is not for it. What cannot be read counts as taken."""
        if not matching_score(topic, pending.topic):
            return None
        delivery = self._delivery(pending)
        if delivery is None:
            self.take(pending.number)
        return delivery

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
                return stored_publication(encoded)
        self._driver.count("damaged")
        return None

    def _delivery(self, pending: Pending, taken: bool = False) -> Delivery | None:
        """What the application gets; None if it cannot be read."""
        publication = self.read(pending.message)
        if publication is None or self._driver.is_hidden(publication.author):
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
