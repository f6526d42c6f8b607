"""A device of an emulation: a node in a process of its own, on the time of a trace, that writes down what happens.

The conductor (``emulation``) leaves what a device has to know in its folder and starts :func:`main`. From then on it
writes requests to the device's standard input, JSON objects on lines of their own, and reads its standard output: first
``{"ok": address}``, then ``{"ok": ...}`` or ``{"error": "..."}`` for each request, in order, and in between a
``{"delivery": [...]}`` for each message that the device's application gets. The device ends when its input does.

===========  ======================  ==================================================================================
do           with                    what happens, and what the answer is
===========  ======================  ==================================================================================
begin        origin                  the time of the trace passes, from this moment on
meet         device, address, first  (loopback) this device is in reach; and whether this one sees it first
part         device                  (loopback) it is no longer
publish      topic, text, ttl        the id of the publication
subscribe    topic
unsubscribe  topic
status                               what :meth:`Node.status` says
events                               what the protocol was shown (:class:`~hunet.protocols.watcher.Logged`)
===========  ======================  ==================================================================================
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hunet.model import HunetError, from_mapping
from hunet.node.deliveries import Subscription
from hunet.node.discovery import Beacons, Discovery, Sighting
from hunet.node.node import Node
from hunet.node.places import NeighbourLimits
from hunet.node.store import open_store
from hunet.node.tasks import Tasks, note_stalls
from hunet.protocols.watcher import Logged, watch_protocol
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunet.protocols.contract import Protocol

Network = Literal["loopback", "namespaces", "ble"]
EPOCH = 1_741_824_000.0
"""When the trace's second 0 is on the devices' clocks: in 2025, and a multiple of any period that systems count in."""
_SHOWN_EVERY = 0.5
"""In loopback, addresses of devices in reach are shown again after so long, in case a handshake failed (s)."""
_BEACONS = 0.5
"""Seconds between beacons: everything that takes time here takes ``pace`` times as much of the trace."""
_PATIENCE: dict[Network, tuple[float, float]] = {
    "loopback": (10.0, 60.0),
    "namespaces": (1.0, 3.0),  # there silence is how a device learns that another has gone
    "ble": (10.0, 60.0),
}
"""Seconds between signs of life, and of silence after which a neighbour is gone."""
_OFTEN, _DIAL_SECONDS = 0.1, 1.0
"""Seconds between advertisements; and in which a device that has just gone is called, and others are not heard."""
_LIMITS = NeighbourLimits(places_for_known=0, retry_seconds=0.2)


class DeviceSetting(msgspec.Struct, frozen=True):
    """What a device is told in its folder before it starts."""

    protocol: str
    parameters: dict[str, Any]
    begin: float
    pace: float
    network: Network
    node: int = 0
    names: list[str] = []
    """All devices; their places are their numbers."""
    adapter: str = ""
    """The device's Bluetooth adapter, where that is the network."""


class _Clock:
    """The time of the trace, which stands still until everybody is there."""

    def __init__(self, begin: float, pace: float) -> None:
        self._begin, self._pace, self.origin = begin, pace, inf

    def __call__(self) -> float:
        return EPOCH + self._begin + max(0.0, time.monotonic() - self.origin) * self._pace


class Recorder:
    """Writes down every event that a device's protocol is shown; ``session`` names the link with a neighbour."""

    def __init__(self, node: int, session: Callable[[int], str]) -> None:
        self._node, self._session = node, session
        self.events: list[Logged] = []

    def __call__(self, protocol: Protocol) -> Protocol:
        return watch_protocol(protocol, self._note, also=("settled",))

    def _note(self, what: str, given: dict[str, Any]) -> None:
        peer = given.get("peer", given.get("node", -1))
        subject: Any = None
        match given:
            case {"message": message}:
                subject = message.id
            case {"topic": value} | {"tag": value} | {"room": value} | {"arrived": value}:
                subject = value
            case {"packet": packet}:
                subject = type(packet).__name__
            case {"peer": int()} if what == "link_up":
                subject = self._session(peer)
        self.events.append(Logged(time.monotonic(), given["now"] - EPOCH, self._node, what, peer, subject))


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

    def reaches(self, device: str) -> bool:
        return device in self.addresses

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


class _Device:
    """A node, and what the conductor asks of it."""

    def __init__(self, folder: Path, setting: DeviceSetting) -> None:
        self._clock, self._shown = _Clock(setting.begin, setting.pace), _Shown()
        self._recorder = Recorder(setting.node, lambda peer: self.node.session(setting.names[peer]))
        self._followers, self._followed = Tasks(), set[str]()
        self._stalls: list[tuple[float, float]] = []
        self.node = Node(
            folder,
            setting.protocol,
            from_mapping(protocol_class(setting.protocol).Parameters, setting.parameters),  # with limits as simulated
            beacons=False,
            **self._way(setting),
            encounters="names",
            clock=self._clock,
            pace=setting.pace,
            keepalive=_PATIENCE[setting.network][0],
            silence=_PATIENCE[setting.network][1],
            neighbours=_LIMITS,
            again=inf,
            recorder=self._recorder,
            direct=False,
        )

    def _way(self, setting: DeviceSetting) -> dict[str, Any]:
        """How the device finds others and connects."""
        if setting.network == "namespaces":
            return {"listen": ":0", "discoveries": [Beacons(interval=_BEACONS)]}
        if setting.network == "loopback":
            return {"listen": "127.0.0.1:0", "discoveries": [self._shown]}
        from hunet.node.ble.adapter import named_adapter
        from hunet.node.ble.bluetooth import Bluetooth, BluetoothSettings

        often = BluetoothSettings(
            advertise=_OFTEN, scan=1.0, connections=len(setting.names), dial_seconds=_DIAL_SECONDS
        )
        return {"listen": None, "radios": [Bluetooth(named_adapter(setting.adapter), often)]}

    async def serve(self, requests: asyncio.StreamReader) -> None:
        _write({"ok": self.node.address})
        self._followers.start(note_stalls(self._stalls))
        while line := await requests.readline():
            try:
                _write({"ok": await self._do(json.loads(line))})
            except HunetError as error:
                _write({"error": str(error)})

    async def _do(self, asked: dict[str, Any]) -> Any:
        match asked:
            case {"do": "begin", "origin": origin}:
                self._clock.origin = origin
            case {"do": "meet", "device": device, "address": address, "first": first}:
                self._shown.show(device, address, first)
            case {"do": "part", "device": device}:
                self._shown.addresses.pop(device, None)
                await self.node.drop(device)
            case {"do": "publish", "topic": topic, "text": text, "ttl": ttl}:
                return (await self.node.publish(topic, text, ttl=ttl)).id
            case {"do": "subscribe", "topic": topic}:
                self._follow(self.node.subscribe(topic))
            case {"do": "unsubscribe", "topic": topic}:
                await self.node.unsubscribe(topic)
            case {"do": "status"}:
                return self.node.status()
            case {"do": "events"}:
                return self._recorder.events
            case {"do": "stalls"}:
                return self._stalls
        return None

    def _follow(self, subscription: Subscription) -> None:
        if subscription.topic in self._followed:  # it was subscribed before, and is followed still
            subscription.close()
        else:
            self._followed.add(subscription.topic)
            self._followers.start(self._take(subscription))

    async def _take(self, subscription: Subscription) -> None:
        async for delivery in subscription:
            publication = delivery.text.partition("\n")[0]
            _write({"delivery": [subscription.topic, publication, delivery.delivered - EPOCH, delivery.hops]})


def _write(fields: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


async def _live(folder: Path) -> None:
    setting = msgspec.json.decode((folder / "device.json").read_bytes(), type=DeviceSetting)
    store, _ = open_store(folder / "hunet.db")
    for number, name in enumerate(setting.names):
        store.add_device(number, name)
    store.close()
    device, requests = _Device(folder, setting), asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    async with device.node:
        ends = [asyncio.ensure_future(each) for each in (device.serve(requests), device.node.failure())]
        done, rest = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for each in rest:
            each.cancel()
        for each in done:
            each.result()


def main() -> None:
    """A device of an emulation, in the folder that it is given: what the conductor starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the conductor hears of it, and ends its devices
    asyncio.run(_live(Path(sys.argv[1])))
