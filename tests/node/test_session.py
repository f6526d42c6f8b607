"""Sessions over real loopback sockets: who is there, whole frames, and peers that misbehave."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet.node.identity import Identity, device_key
from hunet.node.noise import HandshakeState
from hunet.node.places import NeighbourLimits
from hunet.node.session import PeerFault, Session, SessionLimits, open_session
from tests.node.company import narrow

ANN, BOB, EVE = Identity.new(), Identity.new(), Identity.new()
CHUNK = 65519
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connection() -> AsyncIterator[tuple[Stream, Stream]]:
    """Both ends of a TCP connection."""
    accepted: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda *stream: accepted.set_result(stream), "127.0.0.1", 0)
    dialled = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield dialled, await accepted
    finally:
        for _, writer in (dialled, accepted.result()):
            writer.transport.abort()
        server.close()
        await asyncio.sleep(0)


@asynccontextmanager
async def sessions(limits: SessionLimits = SessionLimits()) -> AsyncIterator[tuple[Session, Session]]:  # noqa: B008
    async with connection() as (dialled, accepted):
        yield await asyncio.gather(
            open_session(*dialled, ANN, True, limits), open_session(*accepted, BOB, False, limits)
        )


async def fault(waiting: Awaitable[Any]) -> str:
    with pytest.raises(PeerFault) as caught:
        await waiting
    return caught.value.reason


def test_both_ends_know_each_other() -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            assert (ann.device, bob.device) == (BOB.device, ANN.device)
            assert (ann.initiator, bob.initiator) == (True, False)
            assert ann.id == bob.id
            assert BOB.device in repr(ann)

    asyncio.run(scene())


@settings(max_examples=20)
@given(
    st.lists(
        st.one_of(st.integers(0, 300), st.integers(0, 200_000), st.sampled_from([65515, 65516, 131034])), max_size=6
    )
)
def test_frames_of_any_size_arrive_whole_and_in_order(sizes: list[int]) -> None:
    frames = [random.Random(size).randbytes(size) for size in sizes]

    async def send(session: Session) -> None:
        for frame in frames:
            await session.send(frame)

    async def receive(session: Session) -> list[bytes]:
        return [await session.receive() for _ in frames]

    async def scene() -> None:
        async with sessions() as (ann, bob):
            _, _, there, here = await asyncio.gather(send(ann), send(bob), receive(bob), receive(ann))
            assert there == here == frames

    asyncio.run(scene())


def test_many_senders_do_not_mix_their_frames() -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            frames = [bytes([n]) * (n * 9000) for n in range(20)]
            sending = asyncio.gather(*(ann.send(frame) for frame in frames))
            assert [await bob.receive() for _ in frames] == frames
            await sending

    asyncio.run(scene())


def test_the_limit_is_the_limit() -> None:
    async def scene() -> None:
        async with sessions(SessionLimits(frame_bytes=100_000)) as (ann, bob):
            with pytest.raises(ValueError, match="100001 bytes"):
                await ann.send(bytes(100_001))
            await ann.send(bytes(100_000))
            assert len(await bob.receive()) == 100_000
            ann._limits = SessionLimits()
            sending = asyncio.create_task(ann.send(bytes(100_001)))
            assert await fault(bob.receive()) == "oversized"
            await asyncio.gather(sending, return_exceptions=True)

    asyncio.run(scene())


def test_a_reader_that_waits_slows_the_writer_down() -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            frame = bytes(1 << 20)
            sending = asyncio.gather(*(ann.send(frame) for _ in range(32)))
            for _ in range(200):
                await asyncio.sleep(0)
            assert not sending.done()
            assert ann._writer.transport.get_write_buffer_size() < 1 << 18
            for _ in range(32):
                assert await bob.receive() == frame
            await sending

    asyncio.run(scene())


def test_a_peer_that_takes_nothing_has_stalled() -> None:
    async def scene() -> None:
        async with sessions(SessionLimits(silence_seconds=0.05)) as (ann, _):
            assert await fault(asyncio.gather(*(ann.send(bytes(1 << 20)) for _ in range(32)))) == "stalled"

    asyncio.run(scene())


def test_a_peer_that_says_nothing_is_silent() -> None:
    async def scene() -> None:
        async with sessions(SessionLimits(silence_seconds=0.05)) as (ann, _):
            assert await fault(ann.receive()) == "silent"

    asyncio.run(scene())


def test_an_end_between_frames_and_one_in_the_middle() -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            await ann.send(b"last words")
            await ann.close()
            assert await bob.receive() == b"last words"
            assert await fault(bob.receive()) == "closed"
        async with sessions() as (ann, bob):
            message = ann._outgoing.encrypt(struct.pack(">I", CHUNK) + bytes(CHUNK - 4))
            ann._writer.write(struct.pack(">H", len(message)) + message)
            await ann.close()
            assert await fault(bob.receive()) == "cut off"
        async with sessions() as (ann, bob):
            ann.abort()
            assert await fault(bob.receive()) in {"closed", "cut off"}
            assert await fault(ann.send(b"")) == "cut off"

    asyncio.run(scene())


class SlowWriter:
    """The writer of a connection that takes a while to close. A test sees in which order things happen."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.transport = self

    def close(self) -> None:
        self.done.append("close")

    async def wait_closed(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("abort")


def test_what_was_sent_goes_out_before_a_session_is_cut_off() -> None:
    writer = SlowWriter()
    session = object.__new__(Session)
    session._writer = writer  # type: ignore[assignment]
    asyncio.run(session.close())
    assert writer.done == ["close", "closed", "abort"]


def test_nothing_is_sent_once_a_session_is_being_closed() -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            await ann.send(b"last words")
            closing = asyncio.create_task(ann.close())
            await asyncio.sleep(0)  # it has begun, and waits for the connection's end
            assert await fault(ann.send(b"too late")) == "cut off"
            assert await bob.receive() == b"last words"
            assert await fault(bob.receive()) == "closed"
            await closing

    asyncio.run(scene())


def test_a_send_that_is_cancelled_half_way_ends_the_session() -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            narrow(ann._writer)
            sending = asyncio.create_task(ann.send(bytes(4 << 20)))
            while ann._writer.transport.get_write_buffer_size() == 0 and not sending.done():
                await asyncio.sleep(0)
            sending.cancel()
            assert isinstance((await asyncio.gather(sending, return_exceptions=True))[0], asyncio.CancelledError)
            assert await fault(bob.receive()) == "cut off"

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([b""], "malformed"),
        ([b"\0\0\0"], "malformed"),
        ([struct.pack(">I", 3) + b"four"], "malformed"),
        ([struct.pack(">I", 10) + b"short", b"rest!"], "malformed"),  # a stranger's way to make us work byte by byte
        ([struct.pack(">I", CHUNK) + bytes(CHUNK - 4), bytes(5)], "malformed"),
        ([struct.pack(">I", 0xFFFFFFFF)], "oversized"),
    ],
)
def test_frames_that_no_honest_peer_sends(chunks: list[bytes], reason: str) -> None:
    async def scene() -> None:
        async with sessions() as (ann, bob):
            for chunk in chunks:
                message = ann._outgoing.encrypt(chunk)
                ann._writer.write(struct.pack(">H", len(message)) + message)
            assert await fault(bob.receive()) == reason

    asyncio.run(scene())


def test_a_replayed_or_reordered_or_changed_message_is_refused() -> None:
    async def one(tamper: Callable[[bytes, bytes], bytes]) -> None:
        async with sessions() as (ann, bob):
            messages = [ann._outgoing.encrypt(struct.pack(">I", 1) + letter) for letter in (b"a", b"b")]
            first, second = (struct.pack(">H", len(message)) + message for message in messages)
            ann._writer.write(tamper(first, second))
            ann._writer.write_eof()
            reasons = set()
            try:
                while True:
                    await bob.receive()
            except PeerFault as caught:
                reasons.add(caught.reason)
            assert reasons == {"malformed"}

    async def scene() -> None:
        await one(lambda first, second: first + first)
        await one(lambda first, second: second + first)
        await one(lambda first, second: first[:-1] + bytes([first[-1] ^ 1]))

    asyncio.run(scene())


def impostor() -> HandshakeState:
    return HandshakeState("XX", True, EVE.exchange_key, prologue=b"hunet session 1")


@pytest.mark.parametrize(
    "proof",
    [
        b"",
        ANN.proof,  # copied from Ann
        device_key(ANN.device) + EVE.proof[32:],
        device_key(EVE.device) + EVE.sign(EVE.exchange_key.public_key().public_bytes_raw()),
        EVE.proof + b"!",
    ],
    ids=["none", "copied", "another's name", "for another purpose", "too long"],
)
def test_nobody_takes_a_name_that_is_not_theirs(proof: bytes) -> None:
    async def scene() -> None:
        async with connection() as ((reader, writer), accepted):
            answering = asyncio.create_task(open_session(*accepted, BOB, False))
            noise = impostor()
            message = noise.write_message(b"")
            writer.write(struct.pack(">H", len(message)) + message)
            (length,) = struct.unpack(">H", await reader.readexactly(2))
            noise.read_message(await reader.readexactly(length))
            message = noise.write_message(proof)
            writer.write(struct.pack(">H", len(message)) + message)
            assert await fault(answering) == "not authenticated"

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\x00\x20" + bytes(32), "malformed"),  # a point of small order
        (b"\x00\x10" + bytes(16), "malformed"),
        (b"\x00\x00", "malformed"),
        (b"GET / HTTP/1.1\r\n", "oversized"),
        (b"\x00", "cut off"),
        (b"", "cut off"),
        (b"\x00\x20" + b"\x09" * 32 + b"\x00\x20" + bytes(32), "malformed"),
    ],
)
def test_a_dialler_that_speaks_something_else(sent: bytes, reason: str) -> None:
    async def scene() -> None:
        async with connection() as ((_, writer), accepted):
            writer.write(sent)
            writer.write_eof()
            assert await fault(open_session(*accepted, BOB, False)) == reason

    asyncio.run(scene())


def test_a_handshake_does_not_take_forever() -> None:
    async def scene() -> None:
        async with connection() as (_, accepted):
            assert (
                await fault(open_session(*accepted, BOB, False, SessionLimits(handshake_seconds=0.05)))
                == "slow handshake"
            )

    asyncio.run(scene())


def test_reasons_that_are_nobodys_fault() -> None:
    assert not PeerFault("silent").hostile
    assert PeerFault("malformed").hostile


def test_a_session_puts_up_with_what_a_node_does() -> None:
    session, node = SessionLimits(), NeighbourLimits()
    assert (session.frame_bytes, session.handshake_seconds) == (node.frame_bytes, node.handshake_seconds)
