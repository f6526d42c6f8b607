"""A full disk: what comes in is refused, the node runs on and starts again, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hunet.model import OutputError
from hunet.node.node import Node
from tests.machine import needs_small_disk
from tests.node.company import until
from tests.node.test_laptops import Laptop


def device(folder: Path, *peers: Node, protocol: str = "push") -> Node:
    return Node(folder, protocol, listen="127.0.0.1:0", beacons=False, peers=[each.address for each in peers])


def fill(node: Node) -> None:
    """From now on the store of a node takes no further page."""
    pages = node._store._row("PRAGMA page_count")
    assert pages is not None
    node._store._sqlite.execute(f"PRAGMA max_page_count = {pages[0]}")


def make_room(node: Node) -> None:
    node._store._sqlite.execute("PRAGMA max_page_count = 1000000")


@pytest.fixture(autouse=True)
def _tries_again_soon(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("hunet.node.node._SAVE_EVERY", 0.02)
    caplog.set_level(logging.CRITICAL)


def test_a_neighbours_data_is_refused_until_there_is_room(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Laptop(tmp_path / "ann", "push") as ann, Laptop(tmp_path / "bob", "push") as bob:
            await bob.meet(ann)
            safe = await bob.publish("news", "safe")
            fill(bob)
            said = await ann.publish("news", os.urandom(500_000))
            await until(lambda: bob._driver.full)
            with pytest.raises(OutputError, match="make some room"):
                await bob.publish("news", os.urandom(500_000))
            await until(lambda: bob.status()["held"] == 1)
            assert bob.running
            make_room(bob)
            messages = bob.subscribe("news")
            await until(lambda: not (bob._driver.full or bob.peers() or ann.peers()))
            await ann.meet(bob)
            assert (await anext(messages)).id == said.id
            assert safe.id in {each["id"] for each in bob.carried()}

    asyncio.run(scene())


def test_a_subscription_that_cannot_be_written_is_refused_and_the_node_goes_on(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann") as ann:
            said = await ann.publish("news", "hello")
            fill(ann)
            with pytest.raises(OutputError, match="make some room"):
                for number in range(1000):
                    ann.subscribe(f"{number} {'long' * 100}")
            await until(lambda: not ann._driver.stale)
            assert ann.running
            assert ann._driver.protocol.topics == set(ann._store.subscriptions())
            assert [each["id"] for each in ann.carried()] == [said.id]
            make_room(ann)

    asyncio.run(scene())


def test_a_node_starts_on_a_disk_that_is_full(tmp_path: Path) -> None:
    async def scene(resize: Callable[[str], object]) -> None:
        said = []
        async with device(tmp_path / "ann") as ann:
            for _ in range(5):
                said.append((await ann.publish("news", os.urandom(30_000))).id)
        with suppress(OSError), (tmp_path / "other").open("wb", buffering=0) as other:
            while other.write(bytes(4096)):
                pass
        for _ in range(2):
            async with device(tmp_path / "ann") as ann:
                assert {each["id"] for each in ann.carried()} == set(said)
                with pytest.raises(OutputError, match="make some room"):
                    await ann.publish("news", os.urandom(500_000))
                assert ann.running
        resize("8m")
        async with device(tmp_path / "ann") as ann:
            said.append((await ann.publish("news", "there is room again")).id)
            assert {each["id"] for each in ann.carried()} == set(said)

    with needs_small_disk(tmp_path, "2m") as resize:
        asyncio.run(scene(resize))
