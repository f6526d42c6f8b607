"""What happens on a node, as a stream that can be left and taken up again without loss or doubling.

A place in the stream is written ``run.happening.delivery``. Deliveries have numbers for good, and are read from the
disk: who comes back after a restart gets those that it has missed. Links and roles are news of the moment: the latest
are kept in memory, and who comes back when they are gone, or the node has been started again (another ``run``), is told
so by ``hello``, and asks for the present state.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from hunet.node.deliveries import Delivery
    from hunet.node.node import Node

_KEPT = 1000
_AT_ONCE = 4
"""Deliveries that are read from the disk at a time."""
_PLACE = re.compile(r"([0-9a-f]{8})\.(\d{1,15})\.(\d{1,15})")


class Position(NamedTuple):
    """How far somebody has heard."""

    run: str
    happening: int
    delivery: int

    def __str__(self) -> str:
        return f"{self.run}.{self.happening}.{self.delivery}"


class Event(NamedTuple):
    """Something that happened, and the place in the stream after it."""

    position: Position
    kind: str
    details: dict[str, Any] | Delivery


class EventFeed:
    """The latest events of a node, for any number of listeners; it is what ``Node.watched_by`` tells."""

    def __init__(self, node: Node, kept: int = _KEPT) -> None:
        self._node = node
        self._run = secrets.token_hex(4)
        self._happened: deque[tuple[int, str, dict[str, Any]]] = deque(maxlen=kept)
        self._last = 0
        self._listeners: set[asyncio.Event] = set()
        self._closed = False

    def __call__(self, what: str, details: dict[str, Any]) -> None:
        """Something has happened."""
        if what != "delivery":
            self._last += 1
            self._happened.append((self._last, what.replace(" ", "-"), details))
        self._wake()

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self._wake()

    async def follow(self, after: str, patience: float) -> AsyncIterator[Event | None]:
        """Events after a place, as they come; None whenever nothing has come for some seconds."""
        position, changed = self._find(after), asyncio.Event()
        self._listeners.add(changed)
        try:
            while not self._closed:
                changed.clear()
                for event in self._since(position):
                    yield event
                    position = event.position
                    if self._closed:
                        return
                try:
                    async with asyncio.timeout(patience):
                        await changed.wait()
                except TimeoutError:
                    yield None
        finally:
            self._listeners.discard(changed)

    def _wake(self) -> None:
        for changed in self._listeners:
            changed.set()

    def _find(self, after: str) -> Position:
        last = self._node.last_delivery()
        match = _PLACE.fullmatch(after)
        if match is None:
            return Position("", 0, last)
        return Position(match[1], int(match[2]), min(int(match[3]), last))

    def _since(self, position: Position) -> Iterator[Event]:
        """Everything after a place; the listener may be slow, so nothing is held for it."""
        while not self._closed:
            oldest = self._happened[0][0] if self._happened else self._last + 1
            if position.run != self._run or not oldest - 1 <= position.happening <= self._last:
                position = Position(self._run, self._last, position.delivery)
                yield Event(position, "hello", {"last_delivery": position.delivery})
                continue
            if position.happening == self._last:
                break
            number, kind, details = self._happened[position.happening + 1 - oldest]
            position = position._replace(happening=number)
            yield Event(position, kind, details)
        while not self._closed and (found := list(self._node.deliveries(above=position.delivery, most=_AT_ONCE))):
            for delivery in found:
                position = position._replace(delivery=delivery.number)
                yield Event(position, "delivery", delivery)
