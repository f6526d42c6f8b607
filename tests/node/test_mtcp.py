"""MTCP: what arrives at a port, what does not, and that nobody can make it wait or swell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import cbor2
import pytest

from hunet.model import ConfigurationError, OutputError
from hunet.model.errors import PeerError
from hunet.node.bundles import Bundle, payload
from hunet.node.mtcp import MtcpPort, parse_address, send_bundles

PATIENCE = 20.0


def bundle(text: bytes = b"hello", sequence: int = 0) -> Bundle:
    return Bundle("dtn://hunet/~news", "dtn://ann/", created=1, sequence=sequence, lifetime=9, blocks=(payload(text),))


def run(play: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await play()

    asyncio.run(bounded())


class Inbox:
    """Keeps what arrives, and says when there is so much."""

    def __init__(self) -> None:
        self.bundles: list[Bundle] = []
        self.news = asyncio.Condition()

    async def __call__(self, found: Bundle) -> None:
        if found.payload == b"refuse me":
            raise PeerError("no")
        async with self.news:
            self.bundles.append(found)
            self.news.notify_all()

    async def wait(self, many: int) -> None:
        async with self.news:
            await self.news.wait_for(lambda: len(self.bundles) >= many)


async def say(port: MtcpPort, *pieces: bytes) -> bytes:
    """Send raw bytes, end the stream, and wait until the port hangs up."""
    reader, writer = await asyncio.open_connection(port.host, port.port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_bundles_arrive_in_order() -> None:
    async def play() -> None:
        inbox = Inbox()
        sizes = (0, 5, 200, 70_000)
        sent = [bundle(bytes(size), number) for number, size in enumerate(sizes)]
        async with MtcpPort(inbox) as port:
            assert await send_bundles(port.host, port.port, sent) == 4
            await inbox.wait(4)
            assert inbox.bundles == sent
            assert await send_bundles(port.host, port.port, sent[:1]) == 1
            await inbox.wait(5)
        assert (port.received, port.refused) == (5, {})

    run(play)


def test_a_bad_bundle_does_not_stop_the_next() -> None:
    async def play() -> None:
        inbox = Inbox()
        async with MtcpPort(inbox) as port:
            good = cbor2.dumps(bundle().to_bytes())
            refused = cbor2.dumps(bundle(b"refuse me").to_bytes())
            assert await say(port, cbor2.dumps(b"nonsense"), refused, good) == b"", "MTCP never answers"
            assert inbox.bundles == [bundle()]
            assert port.refused == {"not a bundle": 1, "refused": 1}

    run(play)


def test_what_breaks_the_framing_ends_the_connection() -> None:
    async def play() -> None:
        inbox = Inbox()
        good = cbor2.dumps(bundle().to_bytes())
        async with MtcpPort(inbox, largest=1000) as port:
            await say(port, b"\x16\x03\x01\x02", good)
            await say(port, b"\x5f\x41x\xff", good)
            assert port.refused == {"not a byte string": 2}
            await say(port, good, cbor2.dumps(bytes(1001))[:20])
            await say(port, b"\x5b" + b"\xff" * 8)
            assert port.refused["oversized"] == 2
            await say(port, good, good[:-1])
            await say(port, good, b"\x5b\0\0")
            assert port.refused["cut short"] == 2
            assert inbox.bundles == [bundle()] * 3

    run(play)


def test_silence_and_crowds_are_bounded() -> None:
    async def play() -> None:
        inbox = Inbox()
        async with MtcpPort(inbox, patience=0.05, connections=1) as port:
            reader, writer = await asyncio.open_connection(port.host, port.port)
            writer.write(b"\x45ab")
            assert await reader.read() == b"", "hung up on whoever does not go on"
            writer.close()
            await writer.wait_closed()
            assert port.refused == {"nothing came for too long": 1}
        async with MtcpPort(inbox, connections=1) as port:
            first = await asyncio.open_connection(port.host, port.port)
            first[1].write(cbor2.dumps(bundle().to_bytes()))
            await inbox.wait(1)
            second = await asyncio.open_connection(port.host, port.port)
            assert await second[0].read() == b""
            assert port.refused == {"too many connections": 1}
            second[1].close()
            await second[1].wait_closed()
        assert await first[0].read() == b"", "closing the port ends its connections"
        first[1].close()
        await first[1].wait_closed()

    run(play)


def test_errors_of_ours_say_what_to_do() -> None:
    async def play() -> None:
        async with MtcpPort(Inbox()) as port:
            with pytest.raises(ConfigurationError, match=r"cannot listen at 127.0.0.1:\d+ .*: choose another"):
                await MtcpPort(Inbox(), port.host, port.port).start()
        with pytest.raises(OutputError, match=rf"^127.0.0.1:{port.port}: Connection refused \(0 bundles went before\)"):
            await send_bundles(port.host, port.port, [bundle()])
        await MtcpPort(Inbox()).close()

    run(play)
    for text in ("localhost", "localhost:", ":1", "localhost:http", "localhost:65536", "localhost:-1"):
        with pytest.raises(ConfigurationError, match="is no address: write HOST:PORT"):
            parse_address(text)
