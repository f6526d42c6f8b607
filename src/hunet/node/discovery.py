"""Finding devices in reach: whoever might be there is a sighting; who it is, only a session tells.

A way of discovery reports :class:`Sighting` s as long as it runs; several run side by side. It never decides anything:
a sighting may be stale, forged, or of a device that is linked already, and it may come every second. Bluetooth is
another subclass of :class:`Discovery` that calls :meth:`Discovery.sight` (see ``ble``).

What strangers can learn from us here: that a device of this kind is near, its address on this network, and a short
id that is random, means nothing and changes every 15 minutes and at every start. No name, no interest, no key.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import random
import re
import socket
import struct
import sys
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_log = logging.getLogger(__name__)

_ROTATION = 15 * 60.0
BEACON_PORT = 26726
_GROUP_4 = "239.255.104.117"  # of the organisation-local scope (RFC 2365)
_GROUP_6 = "ff02::6875:6e65:74"  # of the link-local scope
_LOOPBACK = ("lo", "lo0")  # on Linux, on BSD and macOS
_BEACON = struct.Struct(">4sB8sH")
_MAGIC, _VERSION = b"hune", 1
_MOST_WAITING = 256  # sightings that nobody looked at; more are forgotten, since they come again


class Sighting(msgspec.Struct, frozen=True):
    """A device may be reached there; ``short_id`` is what it calls itself for now, if it said so."""

    host: str
    port: int
    short_id: str = ""
    radio: str = "ip"
    """The name of the radio that connects (see ``radio``)."""
    rssi: int | None = None
    """How strongly it was heard (dBm), where the radio tells."""


class Discovery(ABC):
    """A way of finding devices: ``await start(port)``, ``async for sighting in discovery``, ``await close()``.

    The port is the one on which this device accepts connections.
    """

    def __init__(self) -> None:
        self.ids = ShortIds()
        """What this device calls itself; the neighbourhood gives all ways the same, so that others know it again."""
        self._sightings: asyncio.Queue[Sighting | None] = asyncio.Queue()

    @abstractmethod
    async def start(self, port: int) -> None:
        """Begins to look, and to be seen; a ConfigurationError if that cannot work here."""

    @abstractmethod
    async def close(self) -> None:
        """Ends it, and with it the iteration."""
        self._sightings.put_nowait(None)

    def reaches(self, device: str) -> bool:  # noqa: ARG002
        """Whether a device may be linked; False where the way knows better than whoever has connected."""
        return True

    def sight(self, sighting: Sighting) -> None:
        """Reports a device; for subclasses."""
        if self._sightings.qsize() < _MOST_WAITING:
            self._sightings.put_nowait(sighting)

    def __aiter__(self) -> Discovery:
        return self

    async def __anext__(self) -> Sighting:
        sighting = await self._sightings.get()
        if sighting is None:
            self._sightings.put_nowait(None)  # an iteration that has ended stays so
            raise StopAsyncIteration
        return sighting


class ShortIds:
    """What a device calls itself before it trusts anybody: 16 hexadecimal digits, others every 15 minutes.

    >>> time_is = 0.0
    >>> ids = ShortIds(clock=lambda: time_is)
    >>> first = ids.now
    >>> time_is = 899.0
    >>> ids.now == first
    True
    >>> time_is = 900.0
    >>> ids.now == first, ids.ours(first)  # a beacon of ours may still be on its way
    (False, True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, rotation: float = _ROTATION) -> None:
        self._secret, self._clock, self._rotation = os.urandom(32), clock, rotation

    @property
    def now(self) -> str:
        """The one to use now."""
        return self._in(self._period())

    @property
    def left(self) -> float:
        """For how many seconds it is the one to use."""
        return self._rotation - self._clock() % self._rotation

    def ours(self, short_id: str) -> bool:
        """Whether it is this device that a beacon speaks of."""
        period = self._period()
        return short_id in (self._in(period), self._in(period - 1))

    def _period(self) -> int:
        return int(self._clock() // self._rotation)

    def _in(self, period: int) -> str:
        return hmac.digest(self._secret, str(period).encode(), hashlib.sha256)[:8].hex()


class StaticPeers(Discovery):
    """Addresses that the owner gave, sighted again and again; whoever dials them backs off while nobody answers."""

    def __init__(self, peers: Iterable[str], interval: float = 1.0) -> None:
        super().__init__()
        self._peers = [_address(peer) for peer in peers]
        self._interval = interval
        self._task: asyncio.Task[None] | None = None

    async def start(self, port: int) -> None:  # noqa: ARG002 - nobody is told
        """Begins to report the addresses."""
        self._task = asyncio.create_task(self._repeat())

    async def close(self) -> None:
        """Ends it."""
        await _stop(self._task)
        await super().close()

    async def _repeat(self) -> None:
        while True:
            for host, port in self._peers:
                self.sight(Sighting(host, port))
            await asyncio.sleep(self._interval)


class Beacons(Discovery):
    """Says "somebody is here" on the local network every few seconds, and hears others say it.

    Each beacon goes out by IPv4 multicast and broadcast and by IPv6 link-local multicast, on every interface or on
    those named; one of the three passes on nearly every network. Interfaces that come up later are used as well.
    """

    def __init__(
        self,
        interfaces: Sequence[str] | None = None,
        port: int = BEACON_PORT,
        interval: float = 3.0,
    ) -> None:
        super().__init__()
        if interval <= 0:
            raise ConfigurationError(f"beacons every {interval:g} s; give more than 0")
        self._chosen, self._port, self._interval = interfaces, port, interval
        self._ears: dict[tuple[str, socket.AddressFamily], asyncio.DatagramTransport] = {}
        self._tcp_port = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def open_on(self) -> list[tuple[str, socket.AddressFamily]]:
        """The interfaces and families that work at present."""
        return sorted(key for key, transport in self._ears.items() if not transport.is_closing())

    async def start(self, port: int) -> None:
        """Opens the sockets; a ConfigurationError if a named interface does not exist."""
        self._tcp_port = port
        there = [name for _, name in socket.if_nameindex()]
        for name in self._chosen or ():
            if name not in there:
                raise ConfigurationError(f"no network interface '{name}'; {did_you_mean(name, there)}")
        await self._open_sockets()
        self._task = asyncio.create_task(self._beat())

    async def close(self) -> None:
        """Falls silent."""
        await _stop(self._task)
        for transport in self._ears.values():
            transport.abort()
        self._ears.clear()
        await super().close()

    async def _beat(self) -> None:
        while True:
            self._speak()
            # Not in step with the others, who may all have been switched on by the same event.
            await asyncio.sleep(self._interval * random.uniform(0.8, 1.2))
            try:
                await self._open_sockets()
            except OSError as error:  # no list of interfaces, just now
                _log.debug("beacons: %s", error)

    def _speak(self) -> None:
        beacon = _BEACON.pack(_MAGIC, _VERSION, bytes.fromhex(self.ids.now), self._tcp_port)
        for (name, family), transport in self._ears.items():
            if transport.is_closing():
                continue
            if family == socket.AF_INET6:
                with suppress(OSError):  # the interface has just gone
                    transport.sendto(beacon, (_GROUP_6, self._port, 0, socket.if_nametoindex(name)))
            else:
                transport.sendto(beacon, (_GROUP_4, self._port))
                if name not in _LOOPBACK:
                    transport.sendto(beacon, ("255.255.255.255", self._port))

    def heard(self, data: bytes, source: tuple[Any, ...]) -> None:
        """A datagram came; what is not a beacon of another device is ignored."""
        if len(data) != _BEACON.size:
            return
        magic, version, short_id, port = _BEACON.unpack(data)
        if magic != _MAGIC or version != _VERSION or port == 0 or self.ids.ours(short_id.hex()):
            return
        host = source[0]
        if (
            len(source) == 4 and source[3] and "%" not in host
        ):  # IPv6 link-local: an address means nothing without its link
            host = f"{host}%{source[3]}"
        self.sight(Sighting(host, port, short_id.hex()))

    async def _open_sockets(self) -> None:
        there = [name for _, name in socket.if_nameindex() if self._chosen is None or name in self._chosen]
        for key in [key for key in self._ears if key[0] not in there or self._ears[key].is_closing()]:
            self._ears.pop(key).abort()
        for name in there:
            for family in (socket.AF_INET, socket.AF_INET6):
                if (name, family) in self._ears:
                    continue
                try:
                    ear = _beacon_socket(name, family, self._port)
                except OSError as error:  # down, or without addresses of this family
                    _log.debug("no beacons on %s (%s): %s", name, family.name, error)
                    continue
                transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                    lambda: _Ear(self.heard), sock=ear
                )
                self._ears[name, family] = transport


class _Ear(asyncio.DatagramProtocol):
    """Errors of sending (an interface without a route, for example) are not news: the next beacon tries again."""

    def __init__(self, heard: Callable[[bytes, tuple[Any, ...]], None]) -> None:
        self._heard = heard

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self._heard(data, addr)


def _beacon_socket(interface: str, family: socket.AddressFamily, port: int) -> socket.socket:
    """A socket that sends and hears beacons on one interface, beside those of other nodes on this machine."""
    index = socket.if_nametoindex(interface)
    ear = socket.socket(family, socket.SOCK_DGRAM)
    try:
        ear.setblocking(False)
        shared = socket.SO_REUSEADDR if sys.platform == "linux" else socket.SO_REUSEPORT
        ear.setsockopt(socket.SOL_SOCKET, shared, 1)
        if sys.platform == "linux":
            with suppress(PermissionError):  # kernels before 5.7 keep it to root; then a beacon may come in elsewhere
                ear.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        if family == socket.AF_INET6:
            ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
            ear.bind(("::", port))
            group = socket.inet_pton(family, _GROUP_6) + struct.pack("@I", index)
            ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
        else:
            # Beacons on the loopback interface would carry the address of another one if this did not name it.
            source = socket.inet_aton("127.0.0.1" if interface in _LOOPBACK else "0.0.0.0")
            here = struct.pack("@4s4si", socket.inet_aton(_GROUP_4), source, index)  # struct ip_mreqn
            ear.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            ear.bind(("", port))
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, here)
    except BaseException:
        ear.close()
        raise
    return ear


def _address(peer: str) -> tuple[str, int]:
    match = re.fullmatch(r"\[(?P<v6>[^\]]+)\]:(?P<p6>\d+)|(?P<host>[^:\[\]]+):(?P<port>\d+)", peer.strip())
    port = int(match["port"] or match["p6"]) if match else 0
    if not match or not 0 < port < 65536:
        raise ConfigurationError(f"'{peer}' is no address of a peer; write host:port or [IPv6 address]:port")
    return match["host"] or match["v6"], port


async def _stop(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
