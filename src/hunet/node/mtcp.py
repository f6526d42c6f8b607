"""Bundles over TCP: the Minimal TCP convergence layer (MTCP, draft-ietf-dtn-mtcpcl-01), as other DTN nodes speak it.

A connection carries bundles in one direction, from whoever opened it: each bundle is one CBOR byte string, and that is
all. There is no handshake, no acknowledgement and no encryption; a bundle counts as sent when TCP took it. So nothing
that arrives here is to be trusted for having arrived: whoever plugs a port in checks the bundles (signatures) itself.

A port is bounded: so many connections, bundles of so many bytes, so long for a bundle to come. What breaks the framing
(another thing than a byte string, an oversized bundle, one that is cut short or does not come to its end) ends the
connection; bytes that are no bundle, or a bundle that its receiver refuses, are counted and the next one is read.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import cbor2

from hunet.model.errors import ConfigurationError, OutputError, PeerError
from hunet.node.bundle_bytes import BundleError
from hunet.node.bundles import LARGEST, Bundle, read_bundle
from hunet.node.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

_BYTE_STRING = 2


class MtcpPort:
    """Listens for bundles and hands each to ``on_bundle``, one after the other per connection.

    ``on_bundle`` refuses a bundle by raising a :class:`PeerError`. ``refused`` counts what was not taken, by reason.

    ::

        async with MtcpPort(on_bundle, "127.0.0.1", 4224) as port:
            ...
    """

    def __init__(
        self,
        on_bundle: Callable[[Bundle], Awaitable[None]],
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        largest: int = LARGEST,
        patience: float = 300.0,
        connections: int = 16,
    ) -> None:
        self.on_bundle, self.host, self.port = on_bundle, host, port
        self.largest, self.patience, self.connections = largest, patience, connections
        self.received = 0
        self.refused: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self._open = Tasks()

    async def start(self) -> None:
        """Listen; ``port`` is then the port that was given, or the one that the system chose for 0."""
        try:
            self._server = await asyncio.start_server(self._accept, self.host, self.port)
        except OSError as error:
            raise ConfigurationError(
                f"MTCP cannot listen at {self.host}:{self.port} ({error.strerror or error}): choose another address"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and end all connections."""
        if self._server is None:
            return
        await self._open.close(self._server)
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> MtcpPort:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= self.connections:
            self.refused["too many connections"] += 1
            writer.close()
        else:
            self._open.serve(writer, self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._receive(reader)
        except _Framing as fault:
            self.refused[str(fault)] += 1
        except TimeoutError:
            self.refused["nothing came for too long"] += 1
        except OSError:
            self.refused["the connection broke"] += 1
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        while True:
            async with asyncio.timeout(self.patience):
                data = await _read_string(reader, self.largest)
            if data is None:
                return
            try:
                bundle = read_bundle(data)
            except BundleError:
                self.refused["not a bundle"] += 1
                continue
            try:
                await self.on_bundle(bundle)
            except PeerError:
                self.refused["refused"] += 1  # by its receiver, which knows why
            else:
                self.received += 1


async def send_bundles(host: str, port: int, bundles: Iterable[Bundle], *, patience: float = 30.0) -> int:
    """Send bundles to a node that speaks MTCP; returns how many went."""
    sent = 0
    try:
        async with asyncio.timeout(patience):
            _, writer = await asyncio.open_connection(host, port)
        try:
            for bundle in bundles:
                writer.write(cbor2.dumps(bundle.to_bytes()))
                async with asyncio.timeout(patience):
                    await writer.drain()
                sent += 1
        finally:
            writer.close()
            async with asyncio.timeout(patience):
                await writer.wait_closed()
    except TimeoutError:
        raise OutputError(f"{host}:{port} did not take a bundle within {patience:g} s ({sent} went before)") from None
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else str(error)
        raise OutputError(f"{host}:{port}: {problem} ({sent} bundles went before)") from None
    return sent


def parse_address(text: str) -> tuple[str, int]:
    """A host and a port, written as HOST:PORT; a host with colons stands in brackets.

    >>> parse_address("localhost:4224"), parse_address("[::1]:4224")
    (('localhost', 4224), ('::1', 4224))
    """
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigurationError(f"'{text}' is no address: write HOST:PORT, such as localhost:4224")
    return host, int(port)


class _Framing(Exception):  # noqa: N818 - ends a connection, and is counted by what it says
    """The stream is not a sequence of byte strings that we can take."""


async def _read_string(reader: asyncio.StreamReader, largest: int) -> bytes | None:
    """The next byte string; None at the end of the stream."""
    first = await reader.read(1)
    if not first:
        return None
    kind, size = first[0] >> 5, first[0] & 31
    if kind != _BYTE_STRING or size > 27:
        raise _Framing("not a byte string")
    try:
        length = size if size < 24 else int.from_bytes(await reader.readexactly(1 << (size - 24)), "big")
        if length > largest:
            raise _Framing("oversized")
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise _Framing("cut short") from None
