"""How fast a live node is, against the least that moves the same bytes between two processes of this machine.

Nodes meet over TCP, and over virtual Bluetooth adapters, which are in the process that measures.

The opponent is a *plain path*: CBOR byte strings over one TCP connection, which is all that MTCP is, counted by the
receiver; and the same with each message written to SQLite, durably, before it counts. No keys, no encryption, no
signatures, no topics, no protocol, nothing remembered about what was sent.

    ./run bench node
    ./run bench node --small                  a few messages, in seconds
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import cbor2

from hunet.node.ble.adapter import named_adapter
from hunet.node.ble.air import Air
from hunet.node.ble.bluetooth import Bluetooth, BluetoothSettings
from hunet.node.discovery import Discovery, Sighting
from hunet.node.identity import Identity
from hunet.node.node import Node
from hunet.node.places import NeighbourLimits
from hunet.node.publication import Publication
from hunet.node.store import Header, open_store

SMALL = "--small" in sys.argv
MESSAGES, STORED, MEETINGS, REPEATS = (20, 200, 2, 1) if SMALL else (1000, 100_000, 50, 3)
MINUTE, LONG = (2.0, 2) if SMALL else (60.0, 30)
BYTES = 140
CONTENT = b"x" * BYTES
QUICK = BluetoothSettings(advertise=0.02, scan=1.0)


# What runs in other processes -----------------------------------------------------------------------------------------


async def node_reader(folder: Path) -> None:
    await take_all(Node(folder, "push", listen="127.0.0.1:0", beacons=False))


async def ble_reader(folder: Path) -> None:
    await take_all(Node(folder, "push", listen=None, radios=[Bluetooth(named_adapter(f"unix:{folder}.hci"), QUICK)]))


async def ble_reader_at_ease(folder: Path) -> None:
    await take_all(Node(folder, "push", listen=None, radios=[Bluetooth(named_adapter(f"unix:{folder}.hci"))]))


async def take_all(reader: Node) -> None:
    """Says where the node is, and when it has got all messages."""
    async with reader as node:
        messages = node.subscribe("news")
        say(node.address)
        for _ in range(MESSAGES):
            await anext(messages)
        say({"last": time.monotonic()})
        await asyncio.Event().wait()


async def plain_reader(folder: Path) -> None:
    """Counts byte strings, and writes them down first if it is given a folder."""
    disk = sqlite3.connect(folder / "plain.db", isolation_level=None) if folder.name != "none" else None
    if disk:
        disk.execute("PRAGMA journal_mode = WAL")
        disk.execute("PRAGMA synchronous = FULL")
        disk.execute("CREATE TABLE messages (content BLOB)")

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(1):
            if head == b"\0":  # somebody who only wants to know whether we are here
                writer.write(b"\0")
                continue
            for got in range(MESSAGES):
                if got:
                    head = await reader.readexactly(1)
                assert head == b"\x58"  # a byte string, its length in one byte
                content = await reader.readexactly((await reader.readexactly(1))[0])
                if disk:
                    disk.execute("INSERT INTO messages VALUES (?)", (content,))
            say({"last": time.monotonic()})

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    say(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await asyncio.Event().wait()


async def with_a_store(folder: Path) -> None:
    """Starts a node where there may be many messages."""
    before = memory()
    began = time.monotonic()
    async with Node(folder, "push", listen="127.0.0.1:0", beacons=False) as node:
        say({"seconds": time.monotonic() - began, "held": node.status()["held"], "mib": memory(), "before": before})


async def plain_store(folder: Path) -> None:
    """Reads as many contents into a dictionary."""
    before, began = memory(), time.monotonic()
    disk = sqlite3.connect(folder / "hunet.db")
    found = dict(disk.execute("SELECT number, content FROM contents"))
    say({"seconds": time.monotonic() - began, "held": len(found), "mib": memory(), "before": before})


ROLES = {
    "node": node_reader,
    "ble": ble_reader,
    "ble-at-ease": ble_reader_at_ease,
    "plain": plain_reader,
    "store": with_a_store,
    "plain-store": plain_store,
}


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


def memory() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Other:
    """Another process, and what it says."""

    def __init__(self, role: str, folder: Path) -> None:
        words = [sys.executable, __file__, "--role", role, str(folder), *(["--small"] if SMALL else [])]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def hear(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: a process ended early ({self._process.wait()})")
        return json.loads(line)

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


# What is measured -----------------------------------------------------------------------------------------------------


async def at_once(folder: Path) -> float:
    """Messages a second when all are there before the devices meet."""
    with Other("node", folder / "reader") as reader:
        address = reader.hear()
        shown = Shown()
        async with Node(folder / "author", "push", listen="127.0.0.1:0", beacons=False, discoveries=[shown]) as node:
            for _ in range(MESSAGES):
                await node.publish("news", CONTENT)
            began = time.monotonic()
            shown.show(address)
            return MESSAGES / (float((await asyncio.to_thread(reader.hear))["last"]) - began)


async def as_they_come(folder: Path) -> float:
    """Messages a second from publish to the other application, while the devices are linked."""
    with Other("node", folder / "reader") as reader:
        address = reader.hear()
        async with Node(folder / "author", "push", listen="127.0.0.1:0", beacons=False, peers=[address]) as node:
            while not node.peers():
                await asyncio.sleep(0.01)
            began = time.monotonic()
            for _ in range(MESSAGES):
                await node.publish("news", CONTENT)
                await asyncio.sleep(0)
            return MESSAGES / (float((await asyncio.to_thread(reader.hear))["last"]) - began)


async def plainly(folder: Path) -> float:
    """Messages a second on the plain path."""
    with Other("plain", folder) as reader:
        host, port = reader.hear().split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        framed = cbor2.dumps(CONTENT)
        began = time.monotonic()
        for _ in range(MESSAGES):
            writer.write(framed)
            await writer.drain()
        last = (await asyncio.to_thread(reader.hear))["last"]
        writer.close()
        return MESSAGES / (float(last) - began)


class Shown(Discovery):
    """Sights what it is shown."""

    async def start(self, port: int) -> None: ...

    async def close(self) -> None:
        await super().close()

    def show(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.sight(Sighting(host, int(port)))


class Meeter(Node):
    """Knows when it has been greeted."""

    greeted: asyncio.Event

    def _give_receipts(self, device: str) -> None:
        super()._give_receipts(device)
        self.greeted.set()


async def meetings(folder: Path) -> list[float]:
    """From a sighting to the end of the greetings: TCP, Noise, agreement, greeting; in seconds."""
    times = []
    shown = Shown()
    with Other("node", folder / "reader") as reader:
        address = reader.hear()
        eager = NeighbourLimits(retry_seconds=0.0, dials=1000)
        node = Meeter(
            folder / "author", "push", listen="127.0.0.1:0", beacons=False, discoveries=[shown], neighbours=eager
        )
        async with node:
            for _ in range(MEETINGS):
                node.greeted = asyncio.Event()
                while not node.greeted.is_set():  # the other end may find that it was called too often, and hang up
                    began = time.monotonic()
                    shown.show(address)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(node.greeted.wait(), 2.0)
                times.append(time.monotonic() - began)
                for device in node._neighbourhood.devices():
                    await node._neighbourhood.drop(device, "closed")
                await asyncio.sleep(0.02)
    return times


@asynccontextmanager
async def over_bluetooth(
    folder: Path, role: str = "ble"
) -> AsyncIterator[tuple[Other, Meeter, Callable[[], None], Callable[[], None]]]:
    """A reader in another process, a node here, and how to bring their adapters into reach and out of it."""
    air = Air(apart=True)
    ours, theirs = air.adapter(), air.adapter()
    await air.serve(theirs, f"{folder}/reader.hci")
    with Other(role, folder / "reader") as reader:
        await asyncio.to_thread(reader.hear)
        radio = Bluetooth(air.opener(ours), QUICK if role == "ble" else None)
        async with Meeter(folder / "author", "push", listen=None, radios=[radio]) as node:
            node.greeted = asyncio.Event()
            yield reader, node, lambda: air.meet(ours, theirs), lambda: air.part(ours, theirs)
    air.close()


async def at_once_over_bluetooth(folder: Path) -> float:
    async with over_bluetooth(folder) as (reader, node, meet, _):
        for _ in range(MESSAGES):
            await node.publish("news", CONTENT)
        began = time.monotonic()
        meet()
        return MESSAGES / (float((await asyncio.to_thread(reader.hear))["last"]) - began)


async def as_they_come_over_bluetooth(folder: Path) -> float:
    async with over_bluetooth(folder) as (reader, node, meet, _):
        meet()
        await node.greeted.wait()
        began = time.monotonic()
        for _ in range(MESSAGES):
            await node.publish("news", CONTENT)
            await asyncio.sleep(0)
        return MESSAGES / (float((await asyncio.to_thread(reader.hear))["last"]) - began)


async def meetings_over_bluetooth(folder: Path, role: str, many: int) -> list[float]:
    """From the moment two are in reach to the end of the greetings; in seconds."""
    times = []
    scan_interval = (QUICK if role == "ble" else BluetoothSettings()).scan_interval
    async with over_bluetooth(folder, role) as (_, node, meet, part):
        for _ in range(many):
            await asyncio.sleep(random.uniform(0.0, scan_interval))  # people meet at any time
            node.greeted.clear()
            began = time.monotonic()
            meet()
            await node.greeted.wait()
            times.append(time.monotonic() - began)
            part()
            while node.peers():
                await asyncio.sleep(0.01)
    return times


async def served(folder: Path, beside: int, leave: bool) -> int:
    """How many neighbours a device gets a message from in a minute, if so many are in reach at any time.

    Each leaves when its message has come, and somebody else comes; or they all stay.
    """
    air, ours = Air(apart=True), {}
    async with AsyncExitStack() as stack:

        async def device(name: str) -> Node:
            ours[name] = air.adapter()
            node = Node(folder / name, "push", listen=None, radios=[Bluetooth(air.opener(ours[name]))])
            return await stack.enter_async_context(node)

        hub = await device("hub")
        messages = hub.subscribe("news")
        crowd = [await device(f"{number}") for number in range(3 * beside if leave else beside)]
        names = {node.device: f"{number}" for number, node in enumerate(crowd)}
        waiting = deque(names.values())
        for node in crowd:
            await node.publish("news", CONTENT)
        for _ in range(beside):
            air.meet(ours["hub"], ours[waiting.popleft()])
        many = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(MINUTE):
                async for message in messages:
                    many += 1
                    if not leave:
                        continue
                    name = names[message.author]
                    air.part(ours["hub"], ours[name])
                    await crowd[int(name)].publish("news", f"{many}")
                    waiting.append(name)
                    air.meet(ours["hub"], ours[waiting.popleft()])
    air.close()
    return many


async def plain_meetings() -> list[float]:
    """TCP and one byte there and back."""
    times = []
    with Other("plain", Path("none")) as reader:
        host, port = reader.hear().split(":")
        for _ in range(MEETINGS):
            began = time.monotonic()
            incoming, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"\0")
            await incoming.readexactly(1)
            times.append(time.monotonic() - began)
            writer.close()
            await writer.wait_closed()
    return times


def fill(folder: Path) -> None:
    """A node's folder with many publications of its own: the store's own functions, one transaction."""
    folder.mkdir()
    identity = Identity.load_or_create(folder / "key.pem")
    store, _ = open_store(folder / "hunet.db")
    store.add_device(0, identity.device)
    now = time.time()
    for number in range(STORED):
        content = number.to_bytes(4, "big") + CONTENT[4:]
        made = Publication.signed(identity, f"topic {number % 100}", content, created=now, ttl=86400.0)
        encoded = made.to_bytes()
        store.add_message(Header(number, made.id, made.topic, 0, made.created, made.ttl, len(encoded), 0))
        store.add_content(number, encoded)
    store.set_fact("next", str(STORED).encode())
    store.close()


def once(role: str, folder: Path) -> dict[str, float]:
    with Other(role, folder) as other:
        answer: dict[str, float] = other.hear()
    return answer


def best(measure: Callable[[Path], Any]) -> float:
    """The most of several, each in a folder of its own."""
    found: list[float] = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            found.append(asyncio.run(measure(Path(folder))))
    return max(found)


def main() -> None:
    print(f"Two processes on loopback, {MESSAGES:,} messages of {BYTES} bytes, PUSH; best of {REPEATS}\n")
    print("| path | messages/s | of the plain path |\n|---|---|---|")
    plain, written = best(lambda _: plainly(Path("none"))), best(plainly)
    rows = {
        "plain: CBOR over TCP": plain,
        "plain, each written to SQLite": written,
        "node, all published before they meet": best(at_once),
        "node, published one by one while linked": best(as_they_come),
        "Bluetooth, all published before they meet": best(at_once_over_bluetooth),
        "Bluetooth, published one by one while linked": best(as_they_come_over_bluetooth),
    }
    for name, rate in rows.items():
        print(f"| {name} | {rate:,.0f} | {rate / plain:.3f} ({rate / written:.2f} of the written) |", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        ours = asyncio.run(meetings(Path(folder)))
    plainest = asyncio.run(plain_meetings())
    print(f"\n{MEETINGS} contacts, ms\n\n| path | median | best | of the plain path (medians) |\n|---|---|---|---|")
    rows_of_meetings = [("TCP, one byte there and back", plainest), ("TCP, Noise, agreement, greetings", ours)]
    for name, role in (("advertisements every 20 ms", "ble"), ("every 250 ms, scanning 10 %", "ble-at-ease")):
        with tempfile.TemporaryDirectory() as folder:
            times = asyncio.run(meetings_over_bluetooth(Path(folder), role, MEETINGS if role == "ble" else LONG))
        rows_of_meetings.append((f"Bluetooth with {name}: the same, and finding each other", times))
    for name, times in rows_of_meetings:
        ratio = median(times) / median(plainest)
        print(f"| {name} | {1000 * median(times):.2f} | {1000 * min(times):.2f} | {ratio:.1f} |", flush=True)

    print("\nNeighbours that a device serves in a minute, advertisements every 250 ms, scanning 10 %\n")
    print("| in reach at any time | served |\n|---|---|")
    for beside, leave in ((1, True), (8, True), (30, False)):
        with tempfile.TemporaryDirectory() as folder:
            many = asyncio.run(served(Path(folder), beside, leave))
        print(f"| {beside}, who {'leave when they are served' if leave else 'stay'} | {many} |", flush=True)

    print(
        f"\n{STORED:,} publications in the store\n\n| process | start, s | MiB before | MiB after |\n|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "node"
        fill(place)
        rows_of = {
            "plain: contents into a dictionary": once("plain-store", place),
            "node, which has never seen them": once("store", place),
            "node, which has": min((once("store", place) for _ in range(REPEATS)), key=lambda row: row["seconds"]),
            "node with an empty store": once("store", Path(folder) / "empty"),
        }
        for name, row in rows_of.items():
            print(f"| {name} ({row['held']:,}) | {row['seconds']:.2f} | {row['before']:.0f} | {row['mib']:.0f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--role"]:
        asyncio.run(ROLES[sys.argv[2]](Path(sys.argv[3])))
    else:
        main()
