"""What the tests of live nodes share: a listener that writes everything down, and sightings made by hand."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hunet.node.discovery import Discovery, Sighting
from hunet.node.identity import Identity
from hunet.node.neighbourhood import Neighbourhood
from hunet.node.trust import AddressBook

__all__ = ["ByHand", "Diary", "free_port", "narrow", "neighbour", "until"]

PATIENCE = 20.0  # of tests, in seconds: much longer than anything takes


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port that nobody uses now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


async def until(true: Callable[[], bool]) -> None:
    """Lets everything else run until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.001)


class ByHand(Discovery):
    """Nobody is seen unless the test says so."""

    async def start(self, port: int) -> None:
        self.port = port

    async def close(self) -> None:
        await super().close()


class Diary:
    """A listener that writes down what it hears, as ("up", device), (device, frame), ("down", device, reason)."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def link_up(self, device: str) -> None:
        self.events.append(("up", device))

    async def frame(self, device: str, data: bytes) -> None:
        self.events.append((device, data))

    def signal(self, device: str, rssi: int) -> None:
        self.events.append(("signal", device, rssi))

    def link_down(self, device: str, reason: str) -> None:
        self.events.append(("down", device, reason))

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [event for event in self.events if event[0] == kind]


class Neighbour(Neighbourhood):
    """A neighbourhood with the things a test wants at hand."""

    by_hand: ByHand
    diary: Diary

    def sight(self, other: Neighbourhood, short_id: str = "") -> None:
        self.by_hand.sight(Sighting("127.0.0.1", other.address[1], short_id))

    @property
    def device(self) -> str:
        return self.identity.device

    @property
    def reasons(self) -> list[str]:
        return [event[2] for event in self.diary.of("down")]


@asynccontextmanager
async def neighbour(
    folder: Path,
    identity: Identity | None = None,
    diary: Diary | None = None,
    ways: Iterable[Discovery] = (),
    **settings: Any,
) -> AsyncIterator[Neighbour]:
    """A running neighbourhood on loopback, with further ways of discovery."""
    identity, by_hand, diary = identity or Identity.new(), ByHand(), diary or Diary()
    book = AddressBook(folder / f"{identity.device}.json")
    made = Neighbour(identity, book, [by_hand, *ways], **{"listen": ("127.0.0.1", 0), **settings})
    made.by_hand, made.diary = by_hand, diary
    await made.start(diary)
    try:
        yield made
    finally:
        await made.close()
        assert not made._tasks
        assert not made._links
        assert not made._open


def narrow(writer: asyncio.StreamWriter) -> None:
    """Let the system take only little at once, so that a large frame has to wait however quick the machine is."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
