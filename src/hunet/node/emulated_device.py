"""A device of an emulation: a node in a process of its own, on the time of a trace, that writes down what happens.

The conductor (``emulation``) leaves what a device has to know in its folder and starts :func:`main`. From then on it
talks to it over its local socket, as applications do. Beside what those ask, it asks for

=======  ==================================================================================================
begin    let the time of the trace pass, from this moment on
meet     (loopback) this device is in reach, at this address; and which of the two sees the other first
part     (loopback) it is no longer
events   everything that the protocol has been shown (:class:`~hunet.protocols.contract.Logged`)
=======  ==================================================================================================
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hunet.node.control import Control as Socket
from hunet.node.discovery import Beacons, Discovery, Sighting
from hunet.node.neighbourhood import NeighbourLimits
from hunet.node.node import Node
from hunet.node.session import PeerFault
from hunet.node.store import open_store
from hunet.protocols.contract import Logged

if TYPE_CHECKING:
    from hunet.model import Message
    from hunet.node.driver import LiveDriver
    from hunet.protocols.contract import Control, Data, Packet

EPOCH = 1_741_824_000.0
"""When the trace's second 0 is on the devices' clocks: in 2025, and a multiple of any period that systems count in."""
_SHOWN_EVERY = 0.5
"""In loopback, addresses of devices in reach are shown again after so long, in case a handshake failed (s)."""
_BEACONS = 0.5
"""Seconds between beacons: everything that takes time here takes ``pace`` times as much of the trace."""
_KEEPALIVE, _SILENCE = {True: 1.0, False: 10.0}, {True: 3.0, False: 60.0}
"""By whether there are namespaces: there silence is how a device learns that another has gone."""
_LIMITS = NeighbourLimits(handshakes=64, handshakes_of_a_host=64, retry_seconds=0.2)


class Setting(msgspec.Struct, frozen=True):
    """What a device is told in its folder before it starts."""

    node: int
    names: list[str]
    """All devices; their places are their numbers."""
    protocol: str
    parameters: dict[str, Any]
    begin: float
    pace: float
    namespaces: bool


class _Clock:
    """The time of the trace, which stands still until everybody is there."""

    def __init__(self, begin: float, pace: float) -> None:
        self._begin, self._pace, self.origin = begin, pace, inf

    def __call__(self) -> float:
        return EPOCH + self._begin + max(0.0, time.monotonic() - self.origin) * self._pace


def _itself(protocol: Any) -> Any:
    return protocol


class _Recorder:
    """Stands before a device's protocol and writes down every event that it is shown."""

    def __init__(self, node: int) -> None:
        self._node = node
        self.events: list[Logged] = []
        self.session = ""
        """The one that the next ``link_up`` is about."""

    def watch(self, driver: LiveDriver) -> None:
        """From now on."""
        self._protocol = driver.protocol
        driver.protocol = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def __reduce__(self) -> Any:
        return _itself, (self._protocol,)  # on the disk is the protocol, as ever

    def _note(self, what: str, now: float, peer: int = -1, about: Any = None) -> None:
        self.events.append(Logged(time.monotonic(), now - EPOCH, self._node, what, peer, about))

    def publish(self, message: Message, now: float) -> None:
        self._note("publish", now, about=message.id)
        self._protocol.publish(message, now)

    def subscribe(self, topic: str, now: float) -> None:
        self._note("subscribe", now, about=topic)
        self._protocol.subscribe(topic, now)

    def unsubscribe(self, topic: str, now: float) -> None:
        self._note("unsubscribe", now, about=topic)
        self._protocol.unsubscribe(topic, now)

    def link_up(self, peer: int, now: float) -> tuple[Control, ...]:
        self._note("link_up", now, peer, self.session)
        return self._protocol.link_up(peer, now)

    def receive(self, peer: int, packet: Packet, now: float) -> None:
        self._note("receive", now, peer, type(packet).__name__)
        self._protocol.receive(peer, packet, now)

    def poll(self, peer: int, now: float, room: int) -> Data | None:
        self._note("poll", now, peer, room)
        return self._protocol.poll(peer, now, room)

    def sent(self, peer: int, packet: Data, arrived: bool, now: float) -> None:
        self._note("sent", now, peer, arrived)
        self._protocol.sent(peer, packet, arrived, now)

    def settled(self, peer: int, now: float) -> None:
        self._note("settled", now, peer)
        self._protocol.settled(peer, now)

    def link_down(self, peer: int, now: float) -> None:
        self._note("link_down", now, peer)
        self._protocol.link_down(peer, now)

    def timer(self, tag: str, now: float) -> None:
        self._note("timer", now, about=tag)
        self._protocol.timer(tag, now)


class _Shown(Discovery):
    """Sights the addresses that the conductor shows, again and again while they are shown."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: dict[str, Sighting] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self, port: int) -> None:  # noqa: ARG002 - nobody is told
        self._task = asyncio.create_task(self._repeat())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        await super().close()

    def show(self, device: str, address: str, first: bool) -> None:
        """A device is in reach; one of the two sees the other first."""
        host, _, port = address.rpartition(":")
        self.addresses[device] = Sighting(host, int(port))
        if first:
            self.sight(self.addresses[device])

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(_SHOWN_EVERY)
            for sighting in list(self.addresses.values()):
                self.sight(sighting)


class _Device(Node):
    """A node that, on loopback, links only with devices that it is shown."""

    def __init__(self, folder: Path, setting: Setting) -> None:
        self.trace_time, self.shown = _Clock(setting.begin, setting.pace), _Shown()
        self._anybody = setting.namespaces
        self.recorder = _Recorder(setting.node)
        super().__init__(
            folder,
            setting.protocol,
            setting.parameters,
            listen=":0" if setting.namespaces else "127.0.0.1:0",
            beacons=False,
            discoveries=[Beacons(interval=_BEACONS) if setting.namespaces else self.shown],
            encounters="names",
            clock=self.trace_time,
            pace=setting.pace,
            keepalive=_KEEPALIVE[setting.namespaces],
            silence=_SILENCE[setting.namespaces],
            neighbours=_LIMITS,
            again=inf,
        )

    def begin(self, origin: float) -> None:
        """From now on time passes."""
        self.trace_time.origin = origin
        self._alarm.set()  # timers are due sooner than they seemed to be

    def _make_driver(self) -> LiveDriver:
        driver = super()._make_driver()
        self.recorder.watch(driver)
        return driver

    def link_up(self, device: str) -> None:
        if not self._anybody and device not in self.shown.addresses:
            raise PeerFault("closed")  # they parted while they were still shaking hands
        self.recorder.session = self._neighbourhood.session_id(device).hex()
        super().link_up(device)

    def link_down(self, device: str, reason: str) -> None:
        if device in self._since:
            super().link_down(device, reason)

    async def part(self, device: str) -> None:
        """Reach a device no longer."""
        self.shown.addresses.pop(device, None)
        await self._neighbourhood.drop(device, "closed")


class _Strings(Socket):
    """The local socket, with what a conductor asks beside what applications do."""

    def __init__(self, device: _Device) -> None:
        super().__init__(device)
        self._device = device

    async def _do(self, asked: dict[str, Any]) -> Any:
        match asked:
            case {"do": "begin", "origin": float(origin)}:
                return self._device.begin(origin)
            case {"do": "meet", "device": str(device), "address": str(address), "first": bool(first)}:
                return self._device.shown.show(device, address, first)
            case {"do": "part", "device": str(device)}:
                return await self._device.part(device)
            case {"do": "events"}:
                return self._device.recorder.events
        return await super()._do(asked)


async def _live(folder: Path) -> None:
    setting = msgspec.json.decode((folder / "device.json").read_bytes(), type=Setting)
    store, _ = open_store(folder / "hunet.db")
    for number, name in enumerate(setting.names):
        store.add_device(number, name)
    store.close()
    device, loop = _Device(folder, setting), asyncio.get_running_loop()
    async with device, _Strings(device) as strings:
        orphaned = asyncio.Event()
        loop.add_reader(0, orphaned.set)  # the conductor says nothing here: it is over when there is something to read
        ends = [asyncio.ensure_future(each) for each in (strings.stopped(), orphaned.wait(), device.failure())]
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        done, rest = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        loop.remove_reader(0)
        for each in rest:
            each.cancel()
        for each in done:
            each.result()


def main() -> None:
    """A device of an emulation, in the folder that it is given: what the conductor starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the conductor hears of it, and ends its devices
    asyncio.run(_live(Path(sys.argv[1])))
