"""Whether strangers can keep an honest neighbour out of a node: 64 Sybils and 3,000 silent connections, on one host.

The node is a process of its own, and so are the Sybils, who link with it, flood it with publications, and come back
under new names when they lose their links. The silent connections are renewed as soon as they are closed.
Then honest devices with fresh keys look for the node, one after the other of the same host, and each publishes
something.

    ./run bench crowd
    ./run bench crowd --small                 8 Sybils and 100 silent connections
    ./run bench crowd --minutes 10 --write    the attack goes on; an honest pair talks through the node all the while

With ``--minutes`` there are also eight strangers who send nonsense, within sessions and without. The pair are two
devices that know nobody but the node: one publishes every second, the other subscribes. The attack is withstood if
in each minute something published in that minute arrived within 5 s, if nothing of the pair is missing a minute after
the last was published, if no own publication is gone, and if the node's memory is in the second half never more than
1.2 times the most of the first half.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import Identity
from hunet.node.message_numbers import short_id
from hunet.node.node import Node
from hunet.node.publication import Publication
from hunet.node.session import Session, open_session
from hunet.protocols.carrier import Carried
from hunet.protocols.packet_bytes import to_bytes

SMALL = "--small" in sys.argv
SYBILS, SILENT, HONEST = (8, 100, 1) if SMALL else (64, 3000, 5)
SENSELESS = 8
WITHIN = 5.0
MINUTES = float(sys.argv[sys.argv.index("--minutes") + 1]) if "--minutes" in sys.argv else 0.0
MINUTE = 60.0
GROWTH = 1.2
Ask = Callable[[], Awaitable[dict[str, Any]]]
READY, KEEP, DATA = b"\x02", b"\x03", b"\0"


async def victim(folder: Path) -> None:
    """Say where the node is, and what it holds when it is asked."""
    async with Node(folder, "push", listen="127.0.0.1:0", beacons=False) as node:
        said = [(await node.publish("own", str(number))).id for number in range(40)]
        print(json.dumps(node.address), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            status = node.status()
            messages, holdings = node._driver.messages, node._driver.holdings
            own = sum(each in messages and holdings.holds(messages.by_id(each).number) for each in said)
            mib = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
            print(
                json.dumps(
                    {
                        "own": own,
                        "mib": mib,
                        "cpu": time.process_time(),
                        "held": status["held"],
                        "links": status["peers"],
                        "counters": status["counters"],
                    }
                ),
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


async def sybils(address: str) -> None:
    host, _, port = address.rpartition(":")
    await asyncio.gather(*(sybil(host, int(port)) for _ in range(SYBILS)))


async def flood(session: Session, identity: Identity) -> None:
    if identity.device < session.device:
        assert await session.receive() == READY
        await session.send(KEEP)
    else:
        await session.send(READY)
        await session.receive()

    async def say(**said: object) -> None:
        await session.send(DATA + wire.encode({"contact": 1, **said}))

    async def hear(*kinds: str) -> None:
        """Take what the node gives, as an honest device does, until it says one of these."""
        while True:
            frame = await session.receive()
            heard = wire.decode(frame[1:]) if frame[:1] == DATA and frame[1:] else {}
            if heard.get("t") == "data":
                await say(t="ack", number=heard["number"], awake=True)
            if heard.get("t") in kinds:
                return

    await say(t="greet", version=2, protocol="push", packets=[])
    await say(t="ready", awake=True)
    await hear("ready" if identity.device > session.device else "turn")
    for number in range(1, 1 << 30):
        said = [Publication.signed(identity, "junk", bytes([n]) * 500, created=time.time(), ttl=9e4) for n in range(8)]
        ids = [short_id(each.id) for each in said]
        packet = to_bytes(Carried((1 << len(ids)) - 1, (1,) * len(ids)), ids.__getitem__, lambda _: bytes(8))
        await say(t="data", number=number, packet=packet, publications=[each.to_bytes() for each in said])
        await hear("ack", "turn")
        await asyncio.sleep(1.0)


async def nonsense(host: str, port: int, seed: int) -> None:
    """Random bytes instead of a handshake, and random frames in a session."""
    rng = random.Random(seed)
    while True:
        with suppress(OSError, PeerError, TimeoutError):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(rng.randbytes(rng.randrange(1, 4000)))
            await writer.drain()
            writer.transport.abort()
            session = await open_session(*await asyncio.open_connection(host, port), Identity.new(), True)
            try:
                for _ in range(10):
                    await session.send(rng.choice([READY, KEEP, DATA]) + rng.randbytes(rng.randrange(4000)))
            finally:
                session.abort()
        await asyncio.sleep(0.5)


async def pair(address: str, folder: Path, seconds: float) -> None:
    """Say when each message of an honest pair was published, and after how many seconds it came; None if it did not."""
    async with (
        Node(folder / "ann", "push", listen="127.0.0.1:0", beacons=False) as ann,
        Node(folder / "bob", "push", listen="127.0.0.1:0", beacons=False) as bob,
    ):
        for node in (ann, bob):
            node._neighbourhood._tasks.start(keep_dialling(node, address))
        came: dict[str, float] = {}

        async def take() -> None:
            async for message in bob.subscribe("news"):
                came[message.id] = time.monotonic()

        taking = asyncio.create_task(take())
        began = time.monotonic()
        said: dict[str, float] = {}
        while (now := time.monotonic()) - began < seconds:
            said[(await ann.publish("news", f"message {len(said)}")).id] = now
            await asyncio.sleep(1.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(MINUTE):
                while len(came) < len(said):
                    await asyncio.sleep(0.1)
        taking.cancel()
        times = [(at - began, came[each] - at if each in came else None) for each, at in said.items()]
        print(json.dumps({"times": times, "cpu": time.process_time()}))


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
        flooding = subprocess.Popen([sys.executable, __file__, "--sybils", address, *sys.argv[1:]])
        attackers = [asyncio.create_task(silent(host, int(port))) for _ in range(SILENT)]
        if MINUTES:
            attackers += [asyncio.create_task(nonsense(host, int(port), seed)) for seed in range(SENSELESS)]

        async def ask() -> dict[str, Any]:
            assert process.stdin and process.stdout
            process.stdin.write("how\n")
            process.stdin.flush()
            found: dict[str, Any] = json.loads(await asyncio.to_thread(process.stdout.readline))
            ticks = Path(f"/proc/{flooding.pid}/stat").read_text().split()[13:15]
            found["attackers"] = time.process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            return found

        try:
            await asyncio.sleep(1.0 if SMALL else 10.0)
            if MINUTES:
                await withstand(address, Path(folder), ask)
            else:
                await let_in(address, Path(folder), ask)
        finally:
            for each in (process, flooding):
                each.kill()
                each.communicate()
            for task in attackers:
                task.cancel()
            await asyncio.gather(*attackers, return_exceptions=True)


async def let_in(address: str, folder: Path, ask: Ask) -> None:
    times = []
    for number in range(HONEST):
        words = [sys.executable, __file__, "--honest", address, f"{folder}/honest{number}"]
        told = await asyncio.to_thread(subprocess.run, words, stdout=subprocess.PIPE, check=True)
        times.append(json.loads(told.stdout))
    found = await ask()
    slowest = max(linked for linked, _ in times)
    shown = ", ".join(f"{linked:.1f} ({taken:.1f})" for linked, taken in times)
    print(f"{SYBILS} Sybils, {SILENT} silent connections, all on one host")
    print(f"seconds until honest devices were linked (and their publication was on the disk): {shown}")
    print(f"own publications left: {found['own']} of 40; memory: {found['mib']:.0f} MiB; links: {found['links']}")
    assert found["own"] == 40
    assert slowest < WITHIN, f"one of them waited for {slowest:.1f} s"


async def withstand(address: str, folder: Path, ask: Ask) -> None:
    seconds = MINUTES * MINUTE
    words = [sys.executable, __file__, "--pair", address, f"{folder}/pair", str(seconds)]
    talking = asyncio.create_task(asyncio.to_thread(subprocess.run, words, stdout=subprocess.PIPE, check=True))
    began, memory = time.monotonic(), []
    while not talking.done():
        memory.append((time.monotonic() - began, (await ask())["mib"]))
        await asyncio.wait([talking], timeout=min(5.0, seconds / 10))
    told = json.loads((await talking).stdout)
    times: list[tuple[float, float | None]] = told["times"]
    found, lasted = await ask(), time.monotonic() - began
    print(f"{SYBILS} Sybils, {SILENT} silent connections, {SENSELESS} who send nonsense, {MINUTES:g} minutes\n")
    print("| minute | published by the pair | arrived | after (median), s | after (most), s | the node's memory, MiB |")
    print("|---|---|---|---|---|---|")
    unserved = []
    for minute in range(ceil(MINUTES)):
        here = [took for at, took in times if at // MINUTE == minute]
        came = [took for took in here if took is not None]
        most = max((mib for at, mib in memory if at // MINUTE == minute), default=0.0)
        shown = f"{median(came):.2f} | {max(came):.2f}" if came else "- | -"
        print(f"| {minute + 1} | {len(here)} | {len(came)} | {shown} | {most:.0f} |")
        if not came or min(came) > WITHIN:
            unserved.append(minute + 1)
    refused = {name: many for name, many in sorted(found["counters"].items()) if many}
    print(f"\nown publications left: {found['own']} of 40; held in all: {found['held']:,}; counted by the node:")
    print(", ".join(f"{name} {many:,}" for name, many in refused.items()))
    print(
        f"\nprocessor time, s of {lasted:.0f}: node {found['cpu']:.0f}, pair {told['cpu']:.0f}, "
        f"attackers {found['attackers']:.0f}; load of the machine at the end: {os.getloadavg()[0]:.1f}"
    )
    half = seconds / 2
    early = max(mib for at, mib in memory if at < half)
    late = max(mib for at, mib in memory if at >= half)
    missing = sum(took is None for _, took in times)
    wrong = [
        f"{40 - found['own']} own publications are gone" * (found["own"] != 40),
        f"{missing} of the pair's are missing" * bool(missing),
        f"nothing came within {WITHIN:g} s in minutes {unserved}" * bool(unserved),
        f"memory grew from {early:.0f} to {late:.0f} MiB" * (late > GROWTH * early),
    ]
    verdict = "; ".join(filter(None, wrong))
    print(f"\n{'Not withstood: ' + verdict if verdict else 'Withstood'}, by the rule in bench/crowd.py.")


if __name__ == "__main__":
    if "--victim" in sys.argv:
        asyncio.run(victim(Path(sys.argv[2])))
    elif "--sybils" in sys.argv:
        asyncio.run(sybils(sys.argv[2]))
    elif "--honest" in sys.argv:
        asyncio.run(honest(sys.argv[2], Path(sys.argv[3])))
    elif "--pair" in sys.argv:
        asyncio.run(pair(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])))
    else:
        asyncio.run(main())
