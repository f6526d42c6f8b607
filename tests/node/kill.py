"""Kill nodes at random moments during traffic, and see that nothing is lost and nothing comes twice.

Two processes run a node each over loopback: one publishes, and writes down what was acknowledged to it; the other
subscribes, and writes down what it got. One of them is killed (SIGKILL) at a random moment and started again, as often
as asked for. Then both are left alone until everything acknowledged has arrived.

    python -m tests.node.kill --times 200 --seed 1
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hunet import Node

ROOT = Path(__file__).parents[2]


async def publish(folder: Path, port: int) -> None:
    """Publish as quickly as the disk allows, a little pause between; write down each acknowledgement."""
    number = len(_lines(folder / "acknowledged"))
    async with Node(folder / "node", listen=f"127.0.0.1:{port}", beacons=False) as node:
        with (folder / "acknowledged").open("a") as acknowledged:
            print("running", flush=True)
            while not (folder / "enough").exists():
                publication = await node.publish("news", f"message {number}")
                acknowledged.write(publication.id + "\n")
                acknowledged.flush()
                number += 1
                await asyncio.sleep(0.01)
            await asyncio.Event().wait()


async def subscribe(folder: Path, port: int) -> None:
    """Write down each message, and begin after the one written down last."""
    got = [line.split() for line in _lines(folder / "got")]
    after = int(got[-1][0]) if got else 0
    peers = [f"127.0.0.1:{port}"]
    async with Node(folder / "node", listen="127.0.0.1:0", beacons=False, peers=peers) as node:
        with (folder / "got").open("a") as file:
            print("running", flush=True)
            async for delivery in node.subscribe("news", after=after):
                file.write(f"{delivery.number} {delivery.id}\n")
                file.flush()


def _lines(path: Path) -> list[str]:
    """Whole lines; the one that a kill cut off was not written down."""
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


class Device:
    """A node in a process of its own."""

    def __init__(self, role: str, folder: Path, port: int) -> None:
        self.folder = folder / role
        self.folder.mkdir()
        self._words = [sys.executable, "-m", "tests.node.kill", "--role", role, str(self.folder), str(port)]
        self.start()

    def start(self) -> None:
        for path in (self.folder / "acknowledged", self.folder / "got"):
            if path.exists():
                path.write_text("".join(_lines(path)))
        self._process = subprocess.Popen(
            self._words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "running\n":
            raise AssertionError(self._process.communicate()[1])

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def torture(times: int, seed: int, folder: Path, patience: float = 60.0) -> dict[str, int]:
    """Kill so many times; returns counts, or raises AssertionError with what went wrong."""
    rng = random.Random(seed)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    author, reader = Device("publish", folder, port), Device("subscribe", folder, port)
    try:
        for _ in range(times):
            time.sleep(rng.uniform(0.0, 0.6))  # the moment of the kill, not a wait for anything
            victim = rng.choice([author, reader])
            victim.kill()
            victim.start()
        (author.folder / "enough").touch()
        until = time.monotonic() + patience
        while True:
            acknowledged = {line.strip() for line in _lines(author.folder / "acknowledged")}
            got = [line.split()[1] for line in _lines(reader.folder / "got")]
            if acknowledged <= set(got) or time.monotonic() > until:
                break
            time.sleep(0.05)
    finally:
        author.kill()
        reader.kill()
    assert len(got) == len(set(got)), f"{len(got) - len(set(got))} came twice"
    missing = acknowledged - set(got)
    assert not missing, f"{len(missing)} of {len(acknowledged)} acknowledged are lost"
    return {"kills": times, "acknowledged": len(acknowledged), "delivered": len(got)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", nargs=3, metavar=("ROLE", "FOLDER", "PORT"))
    given = parser.parse_args()
    if given.role:
        role, folder, port = given.role
        asyncio.run({"publish": publish, "subscribe": subscribe}[role](Path(folder), int(port)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(torture(given.times, given.seed, Path(folder))))


if __name__ == "__main__":
    main()
