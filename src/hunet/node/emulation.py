"""Replay contacts over real nodes: processes, sockets, sessions and disks, and a clock that runs faster.

Theory of operation
-------------------
Every device of the trace is a process of its own with a folder of its own (``emulated_device``), in which a
:class:`~hunet.node.node.Node` runs as it always does, but that its clock shows the time of the trace: ``pace`` seconds
of it pass in a real one, from the same moment in all processes. The conductor (:func:`emulate`) talks to them over
pipes: it has them subscribe and publish when the workload says so, and is told of what they deliver.

Who can reach whom is the conductor's to say, in one of three ways (``networks``):

*namespaces* (needs root and Linux): every device is in a network namespace of its own. Each pair that ever meets is
joined by a cable (a pair of veth interfaces) that is plugged in while they are in contact and pulled out when they
part. Devices find each other by their beacons, and notice that somebody has gone by silence.

*loopback*: all devices listen on this machine's loopback interface. The conductor shows two devices each other's
address while they are in contact (they dial as soon as they see it), and has them drop the link when they part.

*ble*: every device has a virtual Bluetooth adapter, which is in the conductor's process and hears the adapters of
those with whom its device is in contact. Devices find each other by advertisements, and are told when a connection is
lost. There is no IP.

In all of them sessions come up some time after a contact begins: finding each other and shaking hands takes real time,
of which every millisecond is ``pace`` milliseconds of the trace. Devices write down every event that their protocols
are shown, with its time; from that ``hunet.simulation.agreement`` tells whether they did what their protocols say.

Devices are named so that their names sort as in the trace, and number each other in that order, since systems break
ties by numbers. Where a system exchanges once in a contact, devices that stay together do not begin another one by
themselves: contacts are as the trace has them.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import AsyncExitStack
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from hunet.model import ConfigurationError, OutputError
from hunet.node.emulated_device import DeviceSetting, Network
from hunet.node.identity import Identity
from hunet.node.networks import Cables, Radios, may_make_namespaces
from hunet.node.publication import PublicationLimits
from hunet.node.tasks import note_stalls
from hunet.protocols.capabilities import check_workload
from hunet.protocols.watcher import CONDUCTOR, Logged, Stall
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hunet.model import Contacts, Workload

_PATIENCE = 300.0
"""How long the conductor waits for devices to start, and for the last deliveries (s)."""
_LONGEST_LINE = 64 << 20
_PROGRAM = "from hunet.node.emulated_device import main; main()"


class DeliveryRecord(NamedTuple):
    """A publication that a device's application took."""

    publication: str
    node: int
    time: float
    hops: int


class Emulation(msgspec.Struct, frozen=True):
    """What happened."""

    pace: float
    network: Network
    deliveries: list[DeliveryRecord]
    events: list[Logged]
    """All that the protocols of all devices were shown, in order."""
    repeated: list[DeliveryRecord]
    """What an application got although it had it: always empty, unless something is broken."""
    counters: dict[str, int]
    """What the devices counted, summed up."""
    stalls: list[Stall]
    """When the machine had no time for a device, or for the conductor and the radios that are in its process."""


# The conductor --------------------------------------------------------------------------------------------------------


class _Process:
    """A device as the conductor sees it. Requests are answered in the order in which they are made."""

    def __init__(self, number: int, name: str, folder: Path, enter: list[str]) -> None:
        self.number, self.name, self.folder = number, name, folder
        self._command = [*enter, sys.executable, "-c", _PROGRAM, str(folder)]
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self.address = ""
        self.deliveries: list[tuple[str, DeliveryRecord]] = []
        """What its application got, with the topic to which it is subscribed."""

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=_LONGEST_LINE
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._complaints = asyncio.create_task(self.process.stderr.read())
        try:
            async with asyncio.timeout(_PATIENCE):
                ready = await self.process.stdout.readline()
        except TimeoutError:
            ready = b""
        if not ready:
            if self.process.returncode is None:
                self.process.kill()
            raise await self.ended("did not start")
        self.address = json.loads(ready)["ok"]
        self._answers = asyncio.create_task(self._listen(self.process.stdout))

    async def ended(self, how: str) -> OutputError:
        """Why it is not there, in its own words."""
        lines = (await self._complaints).decode(errors="replace").strip().splitlines()
        return OutputError(f"device {self.number} {how}: {lines[-1] if lines else 'it says nothing'}")

    async def _listen(self, lines: asyncio.StreamReader) -> None:
        while line := await lines.readline():
            match json.loads(line):
                case {"delivery": [topic, publication, at, hops]}:
                    self.deliveries.append((topic, DeliveryRecord(publication, self.number, at, hops)))
                case {"ok": answer}:
                    self._waiting.popleft().set_result(answer)
                case {"error": error}:
                    self._waiting.popleft().set_exception(OutputError(f"device {self.number}: {error}"))
        while self._waiting:
            self._waiting.popleft().set_exception(await self.ended("ended before its time"))

    def ask(self, do: str, **fields: Any) -> asyncio.Future[Any]:
        """Have it do something; the request is on its way when this returns."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._answers.done():
            answer.set_exception(OutputError(f"device {self.number} ended before its time"))
            return answer
        self._waiting.append(answer)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
        return answer

    async def end(self) -> None:
        process = getattr(self, "process", None)
        if process is None or process.returncode is not None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(10.0):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        if answers := getattr(self, "_answers", None):
            await asyncio.gather(answers, return_exceptions=True)


class _Conductor:
    def __init__(self, contacts: Contacts, workload: Workload, devices: list[_Process], pace: float) -> None:
        self._contacts, self._workload, self._devices, self._pace = contacts, workload, devices, pace
        self.begin = _beginning(contacts, workload)
        self.end = max([contacts.span[1], *(each.time for each in workload.publications)])
        self._origin, self._stalls = 0.0, list[tuple[float, float]]()
        self._asked: list[asyncio.Future[Any]] = []
        self._published: dict[str, asyncio.Future[Any]] = {}

    async def play(self, network: Cables | Radios | None, progress: Callable[[float], None] | None) -> None:
        early = [wanted for wanted in self._workload.subscriptions if wanted.start == -inf]
        await asyncio.gather(*(self._devices[each.node].ask("subscribe", topic=each.topic) for each in early))
        origin = self._origin = time.monotonic() + 0.2
        await asyncio.gather(*(device.ask("begin", origin=origin) for device in self._devices))
        events, watching = self._events(network), asyncio.create_task(note_stalls(self._stalls))
        for number, (when, _, act, given) in enumerate(events):
            await asyncio.sleep(max(0.0, origin + (when - self.begin) / self._pace - time.monotonic()))
            act(*given)
            self._raise()
            if progress:
                progress(number / len(events))
        await asyncio.sleep(max(0.0, origin + (self.end - self.begin) / self._pace - time.monotonic()))
        await asyncio.gather(*self._asked, *self._published.values())
        await self._let_take()
        watching.cancel()

    def _events(self, network: Cables | Radios | None) -> list[tuple[float, int, Callable[..., None], tuple[Any, ...]]]:
        """In the simulator's order: at one instant contacts begin first and end last."""
        contacts = self._contacts
        meet, part = (network.plug, network.pull) if network else (self._meet, self._part)
        events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        columns = (contacts.a.tolist(), contacts.b.tolist(), contacts.start.tolist(), contacts.end.tolist())
        for a, b, start, end in zip(*columns, strict=True):
            events += [(start, 1, meet, (a, b)), (end, 8, part, (a, b))]
        for wanted in self._workload.subscriptions:
            if wanted.start != -inf:
                events.append((wanted.start, 3, self._subscribe, wanted[:2]))
            if wanted.end != inf:
                events.append((wanted.end, 7, self._unsubscribe, wanted[:2]))
        events += [(each.time, 4, self._publish, (each,)) for each in self._workload.publications]
        return sorted(events, key=lambda event: event[:2])

    def _meet(self, a: int, b: int) -> None:
        one, two = self._devices[a], self._devices[b]
        self._asked.append(two.ask("meet", device=one.name, address=one.address, first=False))
        self._asked.append(one.ask("meet", device=two.name, address=two.address, first=True))

    def _part(self, a: int, b: int) -> None:
        one, two = self._devices[a], self._devices[b]
        self._asked.append(one.ask("part", device=two.name))
        self._asked.append(two.ask("part", device=one.name))

    def _publish(self, publication: Any) -> None:
        text = f"{publication.id}\n".ljust(publication.size, ".")
        ttl = min(inf if publication.ttl is None else publication.ttl, PublicationLimits().longest_ttl)
        device = self._devices[publication.node]
        self._published[publication.id] = device.ask("publish", topic=publication.topic, text=text, ttl=ttl)

    def _subscribe(self, node: int, topic: str) -> None:
        self._asked.append(self._devices[node].ask("subscribe", topic=topic))

    def _unsubscribe(self, node: int, topic: str) -> None:
        self._asked.append(self._devices[node].ask("unsubscribe", topic=topic))

    def _raise(self) -> None:
        """What went wrong with a request that nobody waits for."""
        for each in [each for each in self._asked if each.done()]:
            each.result()
            self._asked.remove(each)

    async def _let_take(self) -> None:
        """Return when applications have taken everything."""
        until = time.monotonic() + _PATIENCE
        while sum([(await device.ask("status"))["waiting"] for device in self._devices]):
            if time.monotonic() > until:
                raise OutputError("applications did not get all that was delivered")
            await asyncio.sleep(0.05)

    async def report(self, network: Network) -> Emulation:
        counters: dict[str, int] = {}
        for device in self._devices:
            for name, value in (await device.ask("status"))["counters"].items():
                counters[name] = counters.get(name, 0) + value
        stalls = [(CONDUCTOR, self._stalls)]
        stalls += [(number, await device.ask("stalls")) for number, device in enumerate(self._devices)]
        ours = {answer.result(): name for name, answer in self._published.items()}
        events = [Logged(*event) for device in self._devices for event in await device.ask("events")]
        events = [
            event._replace(argument=ours[event.argument]) if event.what == "publish" else event
            for event in sorted(events)
        ]
        deliveries = [each for device in self._devices for each in device.deliveries]
        first: dict[tuple[str, int], DeliveryRecord] = {}
        repeated: list[DeliveryRecord] = []
        topics: dict[tuple[str, int], set[str]] = {}
        for topic, each in sorted(deliveries, key=lambda given: given[1].time):
            heard = topics.setdefault((each.publication, each.node), set())
            if topic in heard:
                repeated.append(each)
            heard.add(topic)  # two subscriptions of one device may match the same publication
            first.setdefault((each.publication, each.node), each)
        stood = [
            Stall(node, *(self.begin + (each - self._origin) * self._pace for each in stall))
            for node, those in stalls
            for stall in those
        ]
        return Emulation(self._pace, network, list(first.values()), events, repeated, counters, stood)


async def emulate(
    contacts: Contacts,
    workload: Workload,
    protocol: str = "push",
    parameters: Mapping[str, Any] | None = None,
    *,
    pace: float = 60.0,
    network: Network = "loopback",
    folder: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Emulation:
    """Play contacts and a workload on real nodes, ``pace`` times as fast; folders of devices stay if one is given."""
    if not 0 < pace < inf:
        raise ConfigurationError(f"a pace of {pace:g}: give a number above 0")
    check_workload(protocol_class(protocol), workload)
    if network == "namespaces" and not may_make_namespaces():
        raise ConfigurationError("network namespaces need root and the command ip; leave them out to use loopback")
    async with AsyncExitStack() as stack:
        if folder is None:
            home = Path(tempfile.mkdtemp(prefix="hunet-"))
            stack.callback(shutil.rmtree, home, ignore_errors=True)
        else:
            home = folder
        cables = stack.enter_context(Cables(contacts)) if network == "namespaces" else None
        radios = await stack.enter_async_context(Radios(contacts)) if network == "ble" else None
        setting = DeviceSetting(protocol, dict(parameters or {}), _beginning(contacts, workload), pace, network)
        names = _make_devices(home, len(contacts.names), setting, radios)
        devices = [_Process(i, name, home / str(i), cables.enter(i) if cables else []) for i, name in enumerate(names)]
        for device in devices:
            stack.push_async_callback(device.end)
        await asyncio.gather(*(device.start() for device in devices))
        conductor = _Conductor(contacts, workload, devices, pace)
        await conductor.play(cables or radios, progress)
        return await conductor.report(network)


def _make_devices(home: Path, many: int, setting: DeviceSetting, radios: Radios | None) -> list[str]:
    """Folders with keys and settings; the devices' names, which sort as in the trace."""
    keys = home / "keys"
    made = sorted((Identity.load_or_create(keys / str(i)).device, keys / str(i)) for i in range(many))
    names = [name for name, _ in made]
    for node, (_, key) in enumerate(made):
        own_folder = home / str(node)
        try:
            own_folder.mkdir(mode=0o700)
        except FileExistsError:
            raise OutputError(f"{home}: holds devices already; choose a new folder") from None
        key.rename(own_folder / "key.pem")
        own = replace(setting, node=node, names=names, adapter=radios.adapter(node) if radios else "")
        (own_folder / "device.json").write_bytes(msgspec.json.encode(own))
    keys.rmdir()
    return names


def _beginning(contacts: Contacts, workload: Workload) -> float:
    return min([contacts.span[0], *(each.time for each in workload.publications)])
