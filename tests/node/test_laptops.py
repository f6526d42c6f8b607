"""The first try: two laptops, and three, with every protocol that a node accepts.

What is published before two devices meet, and while they are linked, reaches the subscriber: from the author itself,
and by a device that meets the subscriber, then the author, then the subscriber again. Nodes are real, over loopback;
their clocks run fast, so that what a system does every 18 s takes a tenth of one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from hunet.model import ConfigurationError
from hunet.node.discovery import Sighting
from hunet.node.node import Node
from hunet.systems import PROTOCOLS
from tests.node.company import PATIENCE, ByHand

PACE = 200.0
TOGETHER = 45.0  # seconds of the nodes' clocks, for which the carrier meets the subscriber at first

REFUSED = {"k-nearest": "push", "random-broker": "share"}
"""Protocols that need an experimenter, and what the refusal advises."""
PARAMETERS: dict[str, dict[str, Any]] = {
    "random-broker": {"share": 1.0},
}
_PULL = "nobody carries for others, by definition"
MISSING = {
    ("b-sub-pull", "carrier"): _PULL,
    ("pull", "carrier"): _PULL,
}
"""What does not work yet, and why. A test that begins to pass must leave this list."""
SOMETIMES = {
    ("social-election", "carrier"): "a carrier that was not elected carries nothing",
}
"""The same where luck decides: these are not run."""


def clock(began: float = time.monotonic()) -> float:
    return 1.8e9 + (time.monotonic() - began) * PACE


class Laptop(Node):
    """A node that meets whom it is shown."""

    def __init__(self, folder: Path, protocol: str) -> None:
        self.by_hand = ByHand()
        super().__init__(
            folder,
            protocol,
            PARAMETERS.get(protocol),
            listen="127.0.0.1:0",
            beacons=False,
            discoveries=[self.by_hand],
            clock=clock,
            pace=PACE,
        )

    async def meet(self, other: Laptop) -> None:
        host, _, port = other.address.rpartition(":")
        self.by_hand.sight(Sighting(host, int(port)))
        await until(lambda: bool(self.peers()) and bool(other.peers()))

    async def part(self, other: Laptop) -> None:
        await self.drop(other.device)
        await until(lambda: not other.peers())

    def has(self, *ids: str) -> bool:
        return set(ids) <= {each["id"] for each in self.carried()}

    def got(self, *ids: str) -> bool:
        return set(ids) <= {each.id for each in self.deliveries()}


async def until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.001)


def cases(where: str) -> list[Any]:
    runs = [protocol for protocol in sorted(PROTOCOLS) if protocol not in REFUSED or protocol in PARAMETERS]
    return [
        pytest.param(protocol, (protocol, where) in MISSING, id=protocol)
        for protocol in runs
        if (protocol, where) not in SOMETIMES
    ]


def play(scene: Callable[[float], Coroutine[Any, Any, None]], missing: bool) -> None:
    """What is missing does not arrive in time."""
    with pytest.raises(TimeoutError) if missing else nullcontext():
        asyncio.run(scene(0.5 if missing else PATIENCE))


@pytest.mark.parametrize(("protocol", "missing"), cases("direct"))
def test_two_laptops(tmp_path: Path, protocol: str, missing: bool) -> None:
    async def scene(patience: float) -> None:
        async with Laptop(tmp_path / "ann", protocol) as ann, Laptop(tmp_path / "bob", protocol) as bob:
            bob.subscribe("news")
            before = await ann.publish("news", "before")
            await ann.meet(bob)
            await until(lambda: bob.got(before.id), patience)
            during = await ann.publish("news", "while linked")
            await until(lambda: bob.got(before.id, during.id), patience)
            assert len(list(bob.deliveries())) == 2

    play(scene, missing)


@pytest.mark.parametrize(("protocol", "missing"), cases("carrier"))
def test_three_laptops(tmp_path: Path, protocol: str, missing: bool) -> None:
    async def scene(patience: float) -> None:
        async with AsyncExitStack() as stack:
            ann, bob, carrier = [
                await stack.enter_async_context(Laptop(tmp_path / name, protocol)) for name in ("ann", "bob", "carrier")
            ]
            bob.subscribe("news")
            await carrier.meet(bob)
            begun = clock()
            await until(lambda: clock() > begun + TOGETHER)
            await carrier.part(bob)
            before = await ann.publish("news", "before")
            await carrier.meet(ann)
            await until(lambda: carrier.has(before.id), patience)
            during = await ann.publish("news", "while linked")
            await until(lambda: carrier.has(before.id, during.id), patience)
            await carrier.part(ann)
            await carrier.meet(bob)
            await until(lambda: bob.got(before.id, during.id), patience)
            assert len(list(bob.deliveries())) == 2

    play(scene, missing)


@pytest.mark.parametrize("protocol", REFUSED)
def test_what_needs_an_experimenter_is_refused_at_once(tmp_path: Path, protocol: str) -> None:
    with pytest.raises(ConfigurationError, match=REFUSED[protocol]):
        Node(tmp_path, protocol)


def test_a_limit_of_messages_is_for_simulations(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="set its quota"):
        Node(tmp_path, "b-sub", {"buffer": 7})


def test_every_expected_failure_is_of_a_protocol() -> None:
    assert {protocol for protocol, _ in {**MISSING, **SOMETIMES}} <= set(PROTOCOLS)
    assert set(REFUSED) <= set(PROTOCOLS)
