"""Real nodes under bad conditions: links that are cut in mid-transfer, and neighbours that lie, flood and stall.

    python -m tests.node.faults cuts --times 100 --seed 1       connections that break after so many bytes
    python -m tests.node.faults attacks --seconds 120 --seed 1  a node process that is attacked, and its memory

In both one process publishes and another subscribes, as in ``tests.node.kill`` (which kills them). In the end all that
was acknowledged has to be there, once. ``tests.node.fuzz`` attacks the part of a node that holds its links.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import Identity
from hunet.node.publication import Publication
from hunet.node.session import Session, open_session
from hunet.node.tasks import Tasks
from hunet.protocols.carrier import Carried, Have, Interests, Seen
from hunet.protocols.packet_bytes import to_bytes
from hunet.protocols.packets import Packet
from tests.node.company import free_port
from tests.node.kill import Device, _lines

__all__ = ["attacks", "cuts"]

PATIENCE = 120.0  # in seconds: much longer than anything takes
READY, KEEP, DATA = b"\x02", b"\x03", b"\0"


class Pair:
    """A process that publishes all the time, and one that subscribes, perhaps over a relay."""

    def __init__(self, folder: Path, relay: int | None = None) -> None:
        self.port = free_port()
        self.author = Device("publish", folder, self.port)
        self.reader = Device("subscribe", folder, relay or self.port)

    def counts(self) -> tuple[set[str], list[str]]:
        """What was acknowledged to the publisher, and what the subscriber got."""
        acknowledged = {line.strip() for line in _lines(self.author.folder / "acknowledged")}
        return acknowledged, [line.split()[1] for line in _lines(self.reader.folder / "got")]

    async def finish(self) -> dict[str, int]:
        """Publish no more, and wait until everything is there; AssertionError if it is not, or if some came twice."""
        (self.author.folder / "enough").touch()
        until = time.monotonic() + PATIENCE
        while True:
            acknowledged, got = self.counts()
            if acknowledged <= set(got) or time.monotonic() > until:
                break
            await asyncio.sleep(0.05)
        assert len(got) == len(set(got)), f"{len(got) - len(set(got))} came twice"
        assert acknowledged <= set(got), f"{len(acknowledged - set(got))} of {len(acknowledged)} are lost"
        return {"acknowledged": len(acknowledged), "delivered": len(got)}

    def end(self) -> None:
        for device in (self.author, self.reader):
            device.kill()


# Links that are cut ---------------------------------------------------------------------------------------------------


class Relay:
    """Passes bytes on, and breaks each connection after a random number of them until it has done so often enough."""

    def __init__(self, rng: random.Random, times: int, target: int) -> None:
        self._rng, self._target, self.left = rng, target, times
        self.enough = asyncio.Event()
        self._tasks = Tasks()

    async def start(self, port: int) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)

    async def close(self) -> None:
        await self._tasks.close(self._server)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.serve(writer, self._relay(reader, writer))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            return
        try:
            await self._join((reader, back), (there, writer))
        finally:
            for end in (writer, back):
                end.transport.abort()

    async def _join(self, *both: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        budget = [int(self._rng.choice([600, 5_000, 50_000]) * self._rng.uniform(0.5, 2.0)) if self.left else 1 << 60]
        ways = [asyncio.ensure_future(self._pass(*way, budget)) for way in both]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
        if budget[0] <= 0:
            self.left -= 1
        if not self.left:
            self.enough.set()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: list[int]) -> None:
        with suppress(OSError):
            while budget[0] > 0 and (data := await reader.read(4096)):
                writer.write(data[: budget[0]])
                await writer.drain()
                budget[0] -= len(data)


async def cuts(times: int, seed: int, folder: Path) -> dict[str, int]:
    """Break so many connections between two nodes, in the middle of what they say."""
    port = free_port()
    relay = Relay(random.Random(seed), times, 0)
    pair = await asyncio.to_thread(Pair, folder, port)
    relay._target = pair.port
    try:
        await relay.start(port)
        async with asyncio.timeout(PATIENCE + 10 * times):
            await relay.enough.wait()
        return {"cuts": times, **await pair.finish()}
    finally:
        await relay.close()
        pair.end()


# Neighbours that attack -----------------------------------------------------------------------------------------------


_greater: WeakKeyDictionary[Session, bool] = WeakKeyDictionary()
"""Whether the attacker's name is greater than its victim's."""


class Victim:
    """A node, as its attackers see it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[asyncio.StreamWriter] = []

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._open.append(writer)
        return reader, writer

    async def link(self) -> Session:
        """A link as an honest device makes it."""
        identity = Identity.new()
        session = await open_session(*await self.connect(), identity, initiator=True)
        if identity.device < session.device:
            await session.receive()
            await session.send(KEEP)
        else:
            await session.send(READY)
            await session.receive()
        _greater[session] = identity.device > session.device
        return session

    async def leave(self) -> None:
        while self._open:
            writer = self._open.pop()
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


async def _say(session: Session, **said: Any) -> None:
    await session.send(DATA + wire.encode(said))


async def _greet(session: Session, *packets: Any) -> None:
    await _say(session, t="greet", contact=1, version=2, protocol="push", packets=list(packets))


async def _until(session: Session, kind: str) -> None:
    """Take what the node gives, as an honest device does, until it says something."""
    while True:
        frame = await session.receive()
        said = wire.decode(frame[1:]) if frame[:1] == DATA and frame[1:] else {}
        if said.get("t") == "data":
            await _say(session, t="ack", contact=1, number=said["number"], awake=True)
        if said.get("t") == kind:
            return


async def _turn(session: Session) -> None:
    """Wait until it is our turn to send data: at once, if our name is the greater."""
    await _say(session, t="ready", contact=1, awake=True)
    await _until(session, "ready" if _greater[session] else "turn")


_MANY = (1 << 5000) - 1


def _bytes(packet: Packet, rng: random.Random | None = None) -> bytes:
    """A packet with messages that nobody has."""
    return to_bytes(packet, lambda number: rng.randbytes(8) if rng else number.to_bytes(8), lambda _: bytes(8))


async def random_bytes(rng: random.Random, victim: Victim) -> None:
    _, writer = await victim.connect()
    writer.write(rng.randbytes(rng.randrange(1, 5000)))
    await asyncio.sleep(rng.random() * 0.05)


async def random_frames(rng: random.Random, victim: Victim) -> None:
    session = await victim.link()
    await session.send(DATA + rng.randbytes(rng.randrange(200)))
    await session.receive()


async def lies_about_messages(rng: random.Random, victim: Victim) -> None:
    """Speaks of as many messages as fit, none of which exists."""
    session = await victim.link()
    await _greet(session, _bytes(Interests(("news",))), _bytes(Seen(_MANY), rng))
    for _ in range(5):
        await _say(session, t="control", contact=1, packet=_bytes(Have(_MANY), rng))
    await session.close()


async def forged_publications(rng: random.Random, victim: Victim) -> None:
    session, author = await victim.link(), Identity.new()
    await _greet(session, _bytes(Seen(0)))
    await _turn(session)
    true = Publication.signed(author, "spam", rng.randbytes(1000), created=time.time(), ttl=3600.0)
    forged = bytearray(true.to_bytes())
    forged[rng.randrange(len(forged))] ^= 1
    await _say(session, t="data", contact=1, number=1, packet=_bytes(Carried(1, (1,))), publications=[bytes(forged)])
    while True:
        await session.receive()


async def spam(rng: random.Random, victim: Victim) -> None:
    """True publications, as many as it takes."""
    session, author = await victim.link(), Identity.new()
    await _greet(session, _bytes(Seen(0)))
    await _turn(session)
    for number in range(1, 20):
        made = Publication.signed(author, "spam", rng.randbytes(20_000), created=time.time(), ttl=3600.0)
        await _say(
            session, t="data", contact=1, number=number, packet=_bytes(Carried(1, (1,))), publications=[made.to_bytes()]
        )
        await _until(session, "ack")


async def flood(rng: random.Random, victim: Victim) -> None:
    session = await victim.link()
    await _greet(session, _bytes(Seen(0)))
    await _say(session, t="ready", contact=1, awake=False)
    for _ in range(rng.randrange(3000)):
        await _say(session, t="want", contact=1)
    await session.close()


async def stall(rng: random.Random, victim: Victim) -> None:
    """Listens to nothing, and speaks on."""
    session = await victim.link()
    session._writer.transport.pause_reading()  # type: ignore[attr-defined]
    await _greet(session)
    await asyncio.sleep(rng.random() * 0.2)


ATTACKS: tuple[Callable[[random.Random, Victim], Awaitable[None]], ...] = (
    random_bytes,
    random_frames,
    lies_about_messages,
    forged_publications,
    spam,
    flood,
    stall,
)


def _memory(process: int) -> int:
    """What a process has in memory, in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096 >> 20


async def attacks(seconds: float, seed: int, folder: Path, most: int = 1 << 30) -> dict[str, Any]:
    """Attack the publisher, one attack at a time but without a pause."""
    rng, done = random.Random(seed), Counter[str]()
    pair = await asyncio.to_thread(Pair, folder)
    try:
        process, victim = pair.author._process.pid, Victim(pair.port)
        before, until = _memory(process), time.monotonic() + seconds
        peak = before
        while time.monotonic() < until and done.total() < most:
            attack = ATTACKS[done.total() % len(ATTACKS)]
            with suppress(OSError, PeerError, TimeoutError):
                async with asyncio.timeout(10.0):
                    await attack(rng, victim)
            await victim.leave()
            done[attack.__name__] += 1
            peak = max(peak, _memory(process))
        assert pair.author._process.poll() is None, "the node did not survive"
        counts = await pair.finish()
        return {"attacks": dict(done), "MiB before": before, "MiB at most": peak, **counts}
    finally:
        pair.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["cuts", "attacks"])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "cuts":
            found: Any = asyncio.run(cuts(given.times, given.seed, Path(folder)))
        else:
            found = asyncio.run(attacks(given.seconds, given.seed, Path(folder)))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
