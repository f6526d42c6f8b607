"""An L2CAP credit-based channel as an asyncio stream: what sessions read from and write to.

A peer may send as many packets as it has credits. bumble gives new ones as packets come, whether or not anybody reads;
here it stops while the reader has enough, so that a peer that sends fast waits, as over TCP. One that sends without
credits is cut off.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from bumble.l2cap import L2CAP_LE_Flow_Control_Credit, LeCreditBasedChannel

if TYPE_CHECKING:
    from collections.abc import Callable

_HIGH, _LOW = 64 << 10, 16 << 10
"""Bytes that wait to be sent when whoever writes has to wait, and when they may go on."""
_UNDER_WAY = 16 << 10
"""Bytes that are given to the adapter before it is waited for: a peer could give credits without end."""
_LEAST = 23
"""The smallest packets that the specification allows; smaller ones would make endless work."""


class Traffic:
    """Bytes that went over channels, and the packets that they were cut into."""

    def __init__(self) -> None:
        self.sent = self.received = self.packets = 0


def open_stream(
    channel: LeCreditBasedChannel, traffic: Traffic, closed: Callable[[LeCreditBasedChannel], None]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Reader and writer of a channel that has just been opened; ``closed`` is called when they are done with it."""
    if channel.state != channel.State.CONNECTED or min(channel.peer_mtu, channel.peer_mps) < _LEAST:
        closed(channel)
        raise ConnectionError("the channel is closed, or the other end takes no packets of an allowed size")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport = _ChannelTransport(channel, protocol, traffic, closed)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class _ChannelTransport(asyncio.Transport):
    def __init__(
        self,
        channel: LeCreditBasedChannel,
        protocol: asyncio.StreamReaderProtocol,
        traffic: Traffic,
        closed: Callable[[LeCreditBasedChannel], None],
    ) -> None:
        super().__init__({"peername": (channel.connection.peer_address.to_string(False), channel.psm)})
        self._channel, self._protocol, self._traffic, self._closed = channel, protocol, traffic, closed
        self._buffer = bytearray()
        self._waiting = asyncio.Event()
        self._closing = self._gone = self._slowed = False
        self._unread: int | None = None
        """Bytes that came since the reader had enough; None while it wants more."""
        channel.sink = self._received
        channel.on(channel.EVENT_CLOSE, self._finish)
        protocol.connection_made(self)
        self._sender = asyncio.get_running_loop().create_task(self._send())

    def is_closing(self) -> bool:
        return self._closing or self._gone

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def write(self, data: Any) -> None:
        if self.is_closing():
            return
        self._buffer += data
        self._waiting.set()
        if len(self._buffer) > _HIGH and not self._slowed:
            self._slowed = True
            self._protocol.pause_writing()

    async def _send(self) -> None:
        channel, under_way = self._channel, 0
        while self._buffer or not self._closing:
            await self._waiting.wait()
            self._waiting.clear()
            while self._buffer:
                chunk = bytes(self._buffer[: channel.peer_mtu])
                del self._buffer[: channel.peer_mtu]
                channel.write(chunk)
                self._traffic.sent += len(chunk)
                self._traffic.packets += -(-(len(chunk) + 2) // channel.peer_mps)
                await channel.drain()
                under_way += len(chunk)
                if under_way >= _UNDER_WAY:
                    under_way = 0
                    await channel.connection.drain()
                if self._slowed and len(self._buffer) <= _LOW:
                    self._slowed = False
                    self._protocol.resume_writing()
        self._finish()

    def _received(self, data: bytes) -> None:
        if self._gone:
            return
        self._traffic.received += len(data)
        self._traffic.packets += -(-(len(data) + 2) // self._channel.mps)
        if self._unread is not None:
            self._unread += len(data)
            if self._unread > self._channel.peer_max_credits * self._channel.mps:
                self.abort()
                return
        self._protocol.data_received(data)

    def pause_reading(self) -> None:
        self._unread = self._unread or 0
        self._channel.peer_credits_threshold = -1  # none are given

    def resume_reading(self) -> None:
        channel = self._channel
        self._unread = None
        channel.peer_credits_threshold = channel.peer_max_credits // 2
        owed = channel.peer_max_credits - channel.peer_credits
        if owed and channel.state == channel.State.CONNECTED:
            identifier = channel.manager.next_identifier(channel.connection)
            channel.send_control_frame(
                L2CAP_LE_Flow_Control_Credit(identifier=identifier, cid=channel.source_cid, credits=owed)
            )
            channel.peer_credits = channel.peer_max_credits

    def close(self) -> None:
        """End it when what was written has gone out."""
        self._closing = True
        self._waiting.set()

    def abort(self) -> None:
        """End it at once."""
        self._finish()

    def _finish(self) -> None:
        if self._gone:
            return
        self._gone = True
        self._buffer.clear()
        self._sender.cancel()
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)
        self._closed(self._channel)
