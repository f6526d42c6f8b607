"""Peers that lie, flood, stall and send random bytes at a neighbourhood, from a seed, for as long as one likes.

    python -m tests.node.fuzz --seconds 300 --seed 7

One honest neighbour stays linked all the time and is answered between the attacks; it must never lose its link, nothing
that was not signed may come through, and what the victim keeps in mind must stay bounded.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.discovery import Beacons, Sighting
from hunet.node.identity import Identity
from hunet.node.places import NeighbourLimits
from hunet.node.publication import Publication, read_publication
from hunet.node.session import PeerFault, Session, SessionLimits, open_session
from hunet.node.tasks import Tasks
from tests.node.company import Diary, Neighbour, neighbour, until

__all__ = ["fuzz"]

READY, KEEP, ASK = b"\x02", b"\x03", b"\x04"
NOW = 1000.0
AUTHOR = Identity.new()
LIMITS = NeighbourLimits(neighbours=200, handshakes=200, frame_bytes=200_000)
Attack = Callable[[random.Random, Neighbour], Awaitable[None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Reader(Diary):
    """Takes publications, as a node does, and refuses everything else."""

    async def frame(self, device: str, data: bytes) -> None:
        match wire.decode(data):
            case {"t": "echo"}:
                await super().frame(device, data)
            case {"t": "data", "publication": bytes() as encoded}:
                publication = read_publication(encoded, NOW)
                assert publication.author == AUTHOR.device
                assert publication.content == b"true"
            case _:
                raise PeerFault("malformed")


async def fuzz(seed: int, cases: int = sys.maxsize, seconds: float = float("inf")) -> Counter[str]:
    """Attacks until enough; AssertionError if the victim suffers. What was done and what was refused."""
    rng, done = random.Random(seed), Counter[str]()
    errors = _Errors()
    logging.getLogger("hunet.node").addHandler(errors)
    ends = time.monotonic() + seconds
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            async with neighbour(place, diary=Reader(), limits=LIMITS) as victim, neighbour(place) as honest:
                honest.sight(victim)
                await until(lambda: bool(victim.devices() and honest.devices()))
                memory = 0
                while done.total() < cases and time.monotonic() < ends:
                    attacks = [rng.choice(ATTACKS) for _ in range(min(8, cases - done.total()))]
                    await asyncio.gather(*(_one(attack, random.Random(rng.random()), victim) for attack in attacks))
                    done.update(attack.__name__ for attack in attacks)
                    echo = wire.encode({"t": "echo", "n": done.total()})
                    await honest.send(victim.device, echo)
                    await until(lambda: (honest.device, echo) in victim.diary.events)  # noqa: B023 - awaited here
                    await until(lambda: victim.devices() == [honest.device])
                    victim.diary.events.clear()
                    assert not honest.reasons, honest.reasons
                    assert not errors.records, errors.records
                    assert len(victim._tasks) < 100
                    assert len(victim._open) < 100
                    for memo in (victim._device_of, victim._retry, victim._penalties):
                        assert len(memo) <= LIMITS.remembered
                    if done.total() < 2000:  # by then everything has been in use that ever is
                        memory = _memory()
                    assert _memory() - memory < 50 << 20
                done.update({f"refused: {reason}": count for reason, count in victim.refused.items()})
    finally:
        logging.getLogger("hunet.node").removeHandler(errors)
    return done


_calls: ContextVar[list[asyncio.StreamWriter]] = ContextVar("connections of this attack")


async def _one(attack: Attack, rng: random.Random, victim: Neighbour) -> None:
    _calls.set([])
    with suppress(PeerError, OSError, asyncio.IncompleteReadError):
        await attack(rng, victim)
    for writer in _calls.get():  # also where the victim put an end to the attack
        writer.transport.abort()


async def _connect(victim: Neighbour) -> Streams:
    reader, writer = await asyncio.open_connection(*victim.address)
    _calls.get().append(writer)
    return reader, writer


async def _session(victim: Neighbour, identity: Identity | None = None) -> Session:
    return await open_session(*await _connect(victim), identity or Identity.new(), True, SessionLimits())


async def _link(victim: Neighbour, identity: Identity | None = None) -> Session:
    """A session that stands; which of the two chooses is a matter of chance."""
    identity = identity or Identity.new()
    session = await _session(victim, identity)
    if identity.device < victim.device:
        assert await session.receive() == READY
        await session.send(KEEP)
    else:
        await session.send(READY)
        assert await session.receive() == KEEP
    return session


def _noise(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 2, 16, 34, 100, 5000, rng.randrange(70_000))))


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        bit = rng.randrange(8 * len(changed))
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


async def _leave(rng: random.Random, writer: asyncio.StreamWriter) -> None:
    """Goes as people go: politely, or not."""
    if rng.random() < 0.5:
        with suppress(OSError):
            writer.write_eof()
        await asyncio.sleep(rng.random() * 0.01)
    writer.transport.abort()


async def random_bytes(rng: random.Random, victim: Neighbour) -> None:
    _, writer = await _connect(victim)
    for _ in range(rng.randrange(4)):
        noise = _noise(rng)
        writer.write(struct.pack(">H", len(noise) & 0xFFFF) + noise if rng.random() < 0.5 else noise)
    await _leave(rng, writer)


async def changed_handshake(rng: random.Random, victim: Neighbour) -> None:
    reader, writer = await _connect(victim)
    write, left = writer.write, rng.randrange(2)

    def tampered(data: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            data = rng.choice((_flip(rng, data), data[: rng.randrange(len(data))], data + _noise(rng), data + data))
        write(data)

    writer.write = tampered  # type: ignore[method-assign, assignment]
    try:
        async with asyncio.timeout(0.05):
            session = await open_session(reader, writer, Identity.new(), True)
            await session.receive()
    except TimeoutError:
        pass
    await _leave(rng, writer)


async def noise_in_a_session(rng: random.Random, victim: Neighbour) -> None:
    session = await (_link if rng.random() < 0.5 else _session)(victim)
    session._writer.write(_noise(rng))
    await _leave(rng, session._writer)


async def nonsense_for_agreement(rng: random.Random, victim: Neighbour) -> None:
    session = await _session(victim)
    for _ in range(rng.randrange(1, 4)):
        await session.send(rng.choice((bytes([rng.randrange(9)]), ASK + rng.randbytes(32), READY, KEEP, _noise(rng))))
    await _leave(rng, session._writer)


async def strange_frames(rng: random.Random, victim: Neighbour) -> None:
    """Properly encrypted, and still not what anybody sends: lengths that lie, chunks that are short, tails cut off."""
    session = await _link(victim)
    for _ in range(rng.randrange(1, 5)):
        length = rng.choice((0, 1, 65515, 65516, 200_001, 200_002, 0xFFFFFFFF, rng.randrange(200_000)))
        body = rng.randbytes(min(rng.choice((length, rng.randrange(70_000))), 65_515))
        message = session._outgoing.encrypt(struct.pack(">I", length) + body)
        sent = struct.pack(">H", len(message)) + message
        session._writer.write(rng.choice((sent, sent, _flip(rng, sent), sent[: rng.randrange(len(sent))], sent + sent)))
        await asyncio.sleep(0)
    await _leave(rng, session._writer)


async def forged_publications(rng: random.Random, victim: Neighbour) -> None:
    session = await _link(victim)
    true = Publication.signed(AUTHOR, "news", b"true", created=NOW, ttl=60.0).to_bytes()
    old = Publication.signed(AUTHOR, "news", b"old", created=1.0, ttl=60.0).to_bytes()
    await session.send(b"\0" + wire.encode({"t": "data", "publication": true}))
    for _ in range(rng.randrange(1, 4)):
        forged = rng.choice((_flip(rng, true), true[: rng.randrange(len(true))], old, true + b"\0", _noise(rng)))
        frame = wire.encode({"t": "data", "publication": forged})
        await session.send(b"\0" + rng.choice((frame, frame, _flip(rng, frame), _noise(rng))))
    await _leave(rng, session._writer)


async def flood(rng: random.Random, victim: Neighbour) -> None:
    session = await _link(victim)
    frame = rng.choice((b"\1", b"\0" + wire.encode({"t": "data", "publication": b""})))
    for _ in range(rng.randrange(1000)):
        await session.send(frame)
    await _leave(rng, session._writer)


async def many_connections(rng: random.Random, victim: Neighbour) -> None:
    writers = [(await _connect(victim))[1] for _ in range(rng.randrange(30))]
    await asyncio.sleep(0)
    for writer in writers:
        writer.transport.abort()


async def stall(rng: random.Random, victim: Neighbour) -> None:
    """Is linked, takes nothing while the victim would like to give, and then is gone."""
    identity = Identity.new()
    session = await _link(victim, identity)
    session._writer.transport.pause_reading()  # type: ignore[attr-defined]
    giving = [asyncio.create_task(victim.send(identity.device, bytes(200_000))) for _ in range(rng.randrange(50))]
    await asyncio.sleep(rng.random() * 0.02)
    session.abort()
    await asyncio.gather(*giving, return_exceptions=True)


async def false_sightings(rng: random.Random, victim: Neighbour) -> None:
    """Beacons of nobody, and of a server that speaks something else."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(_noise(rng))
        await _leave(rng, writer)

    tasks = Tasks()
    server = await asyncio.start_server(lambda _, writer: tasks.serve(writer, answer(writer)), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ears = Beacons([])
    for _ in range(rng.randrange(20)):
        ears.heard(_noise(rng), ("127.0.0.1", 1))
        ears.heard(struct.pack(">4sB8sH", b"hune", 1, rng.randbytes(8), port), ("127.0.0.1", 1))
    while not ears._sightings.empty():
        victim.by_hand.sight(await ears.__anext__())
    await until(lambda: victim.by_hand._sightings.empty() and not victim._dialling)
    await tasks.close(server)
    victim.by_hand.sight(Sighting("127.0.0.1", port, rng.randbytes(8).hex()))  # where nobody is any more


ATTACKS: tuple[Attack, ...] = (
    random_bytes,
    changed_handshake,
    noise_in_a_session,
    nonsense_for_agreement,
    strange_frames,
    forged_publications,
    flood,
    many_connections,
    stall,
    false_sightings,
)


class _Errors(logging.Handler):
    """Mistakes of ours, which are logged so that a node stays up."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


def _memory() -> int:
    """The most that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--seconds", type=float, default=60.0)
    ask.add_argument("--seed", type=int, default=1)
    said = ask.parse_args()
    before = _memory()
    for what, count in sorted(asyncio.run(fuzz(said.seed, seconds=said.seconds)).items()):
        print(f"{count:8d}  {what}")
    print(f"memory: {before >> 20} MiB at the start, {_memory() >> 20} MiB at most")


if __name__ == "__main__":
    main()
