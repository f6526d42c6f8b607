"""Whether strangers can keep an honest neighbour out of a node: 64 Sybils and 3,000 silent connections, on one host.

The node is a process of its own. The Sybils link with it, flood it with publications, and come back under new names
when they lose their links. The silent connections are renewed as soon as they are closed. Then honest devices with
fresh keys look for the node, one after the other of the same host, and each publishes something.

    ./run bench crowd
    ./run bench crowd --small                 8 Sybils and 100 silent connections
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import Identity
from hunet.node.node import Node
from hunet.node.publication import Publication
from hunet.node.session import Session, open_session

SMALL = "--small" in sys.argv
SYBILS, SILENT, HONEST = (8, 100, 1) if SMALL else (64, 3000, 5)
WITHIN = 5.0
READY, KEEP, DATA = b"\x02", b"\x03", b"\0"


async def victim(folder: Path) -> None:
    """Say where the node is, and what it holds when it is asked."""
    async with Node(folder, "push", listen="127.0.0.1:0", beacons=False) as node:
        said = [(await node.publish("own", str(number))).id for number in range(40)]
        print(json.dumps(node.address), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            status = node.status()
            own = sum(each["id"] in said for each in node.carried(1 << 20))
            mib = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
            print(
                json.dumps({"own": own, "mib": mib, "links": status["peers"], "counters": status["counters"]}),
                flush=True,
            )


async def silent(host: str, port: int) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port)
            await reader.read(1)
            writer.transport.abort()
        await asyncio.sleep(1.0)


async def sybil(host: str, port: int) -> None:
    while True:
        with suppress(OSError, PeerError, TimeoutError):
            identity = Identity.new()
            session = await open_session(*await asyncio.open_connection(host, port), identity, True)
            try:
                await flood(session, identity)
            finally:
                session.abort()
        await asyncio.sleep(0.5)


async def flood(session: Session, identity: Identity) -> None:
    if identity.device < session.device:
        assert await session.receive() == READY
        await session.send(KEEP)
    else:
        await session.send(READY)
        await session.receive()

    async def say(**said: object) -> None:
        await session.send(DATA + wire.encode({"contact": 1, **said}))

    await say(t="greet", version=1, protocol="push", packets=[])
    await say(t="ready", awake=True)
    reading = asyncio.create_task(read(session))
    try:
        for number in range(1, 1 << 30):
            said = [
                Publication.signed(identity, "junk", bytes([n]) * 500, created=time.time() + number, ttl=9e4)
                for n in range(8)
            ]
            packet = {"kind": "hunet.Carried", "messages": [each.id for each in said], "hops": [1] * 8}
            await say(t="data", number=number, packet=packet, publications=[each.to_bytes() for each in said])
            await asyncio.sleep(1.0)
    finally:
        reading.cancel()


async def read(session: Session) -> None:
    with suppress(PeerError):
        while True:
            await session.receive()


async def honest(address: str, folder: Path) -> None:
    """Say after how many seconds an honest device is linked, and the node has its publication on the disk."""
    async with Node(folder, "push", listen="127.0.0.1:0", beacons=False) as node:
        await node.publish("news", "honest")
        began = time.monotonic()
        node._neighbourhood._tasks.start(keep_dialling(node, address))
        async with asyncio.timeout(20 * WITHIN):
            while not node.peers():
                await asyncio.sleep(0.01)
            linked = time.monotonic() - began
            while not node.status()["counters"].get("sent"):
                await asyncio.sleep(0.01)
        print(json.dumps([linked, time.monotonic() - began]), flush=True)


async def keep_dialling(node: Node, address: str) -> None:
    from hunet.node.discovery import Sighting

    host, _, port = address.rpartition(":")
    while True:
        node._neighbourhood._sighted(Sighting(host, int(port)))
        await asyncio.sleep(0.2)


async def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, __file__, "--victim", f"{folder}/victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin and process.stdout
        address = json.loads(process.stdout.readline())
        host, _, port = address.rpartition(":")
        attackers = [asyncio.create_task(sybil(host, int(port))) for _ in range(SYBILS)]
        attackers += [asyncio.create_task(silent(host, int(port))) for _ in range(SILENT)]
        try:
            await asyncio.sleep(1.0 if SMALL else 10.0)
            times = []
            for number in range(HONEST):
                words = [sys.executable, __file__, "--honest", address, f"{folder}/honest{number}"]
                told = await asyncio.to_thread(subprocess.run, words, stdout=subprocess.PIPE, check=True)
                times.append(json.loads(told.stdout))
            process.stdin.write("how\n")
            process.stdin.flush()
            found = json.loads(await asyncio.to_thread(process.stdout.readline))
        finally:
            process.kill()
            process.communicate()
            for task in attackers:
                task.cancel()
            await asyncio.gather(*attackers, return_exceptions=True)
    slowest = max(linked for linked, _ in times)
    shown = ", ".join(f"{linked:.1f} ({taken:.1f})" for linked, taken in times)
    print(f"{SYBILS} Sybils, {SILENT} silent connections, all on one host")
    print(f"seconds until honest devices were linked (and their publication was on the disk): {shown}")
    print(f"own publications left: {found['own']} of 40; memory: {found['mib']:.0f} MiB; links: {found['links']}")
    assert found["own"] == 40
    assert slowest < WITHIN, f"one of them waited for {slowest:.1f} s"


if __name__ == "__main__":
    if "--victim" in sys.argv:
        asyncio.run(victim(Path(sys.argv[2])))
    elif "--honest" in sys.argv:
        asyncio.run(honest(sys.argv[2], Path(sys.argv[3])))
    else:
        asyncio.run(main())
