"""Clocks that are wrong, and put right: nothing acknowledged is lost, and a node says when it is alone in time."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from hunet.node.node import Node
from tests.node.company import until
from tests.node.test_flood import Person

START = 1_800_000_000.0
DAY = 86400.0


class Wall:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> float:
        return self.time


def device(folder: Path, clock: Wall, *peers: Node, **given: Any) -> Node:
    addresses = [each.address for each in peers]
    return Node(
        folder,
        given.pop("protocol", "push"),
        listen="127.0.0.1:0",
        beacons=False,
        peers=addresses,
        clock=clock,
        **given,
    )


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.node._SAVE_EVERY", 0.02)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("jump", [3 * DAY, 400 * DAY, -3 * DAY, -400 * DAY])
def test_a_clock_that_was_wrong_and_is_right_again_loses_nothing(tmp_path: Path, jump: float, restarts: bool) -> None:
    async def scene() -> None:
        wall, right = Wall(), Wall()
        async with device(tmp_path / "ann", wall) as ann:
            before = await ann.publish("news", "before")
            wall.time += jump
            await until(lambda: ann._clock() == wall.time and not ann._driver.stale)
            if not restarts:
                wall.time = START + 10
                await until(lambda: abs(ann._clock() - wall.time) < 900)
        if restarts:
            async with device(tmp_path / "ann", wall):
                wall.time = START + 10
        async with device(tmp_path / "ann", wall) as ann, device(tmp_path / "bob", right, ann) as bob:
            messages = bob.subscribe("news")
            after = await ann.publish("news", "after")
            assert after.created == START + 10
            assert {(await anext(messages)).id, (await anext(messages)).id} == {before.id, after.id}
            assert "refused: from the future" not in bob.status()["counters"]

    asyncio.run(scene())


def test_what_was_delivered_before_the_clock_went_back_is_not_delivered_again(tmp_path: Path) -> None:
    async def scene() -> None:
        wall = Wall()
        async with device(tmp_path / "ann", wall) as ann, device(tmp_path / "bob", wall, ann) as bob:
            messages = bob.subscribe("news")
            await ann.publish("news", "one", ttl=1e6)
            assert (await anext(messages)).text == "one"
            wall.time -= 3600
            await ann.publish("news", "two", ttl=1e6)
            assert (await anext(messages)).text == "two"
            assert len(list(bob.deliveries())) == 2

    asyncio.run(scene())


@pytest.mark.parametrize(("skew", "words"), [(-1200.0, "1200 s behind"), (4 * DAY, "s ahead of")])
def test_a_node_whose_neighbours_all_live_at_another_time_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, skew: float, words: str
) -> None:
    async def scene() -> None:
        right, wrong = Wall(), Wall()
        wrong.time += skew
        async with device(tmp_path / "ann", right) as ann, device(tmp_path / "bob", right, ann) as bob:
            await until(lambda: bool(ann.peers()))
            async with device(tmp_path / "eve", wrong, ann, bob) as eve:
                await until(lambda: len(eve.peers()) == 2 and bool(eve.status()["clock"]))
                assert words in eve.status()["clock"]
                assert words in caplog.text
                assert not ann.status()["clock"]
                wrong.time = START
                await until(lambda: not eve.status()["clock"])

    caplog.set_level(logging.WARNING)
    asyncio.run(scene())


def test_ten_minutes_of_difference_are_tolerated(tmp_path: Path) -> None:
    async def scene() -> None:
        right, slow = Wall(), Wall()
        slow.time -= 600
        async with device(tmp_path / "ann", right) as ann, device(tmp_path / "bob", slow, ann) as bob:
            here, there = ann.subscribe("news"), bob.subscribe("news")
            await ann.publish("news", "from ann")
            await bob.publish("news", "from bob")
            assert ((await anext(there)).text, (await anext(here)).text) == ("from ann", "from bob")
            assert not ann.status()["clock"]

    asyncio.run(scene())


def test_who_disagrees_on_the_age_of_a_copy_leaves_it_with_who_has_it() -> None:
    """A protocol that hands its only copy over is told that it was not taken."""
    ann, bob = Person(), Person(clock=lambda: 2000.0)
    said = ann.write(3, 100)
    ann.meet(bob)
    counted = ann.driver.store.counters()
    assert (counted.get("sent"), counted["not taken"], ann.holds(said)) == (None, 3, 3)
    assert bob.driver.store.counters()["refused: expired"] == 3
