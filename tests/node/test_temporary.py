"""Subscriptions for some time: they end by themselves, over restarts too, and on all ways to make one."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from hunet.cli import node as commands
from hunet.model import ConfigurationError
from hunet.node.http.client import NodeClient
from hunet.node.http.server import HttpServer
from hunet.node.identity import Identity
from hunet.node.node import Node
from hunet.node.publication import Publication
from tests.node.table import Table

INTEREST = 'kind = "alert" and price < 5'


def device(folder: Path, *peers: Node) -> Node:
    return Node(folder, "push", listen="127.0.0.1:0", beacons=False, peers=[peer.address for peer in peers])


def test_it_ends_and_neighbours_hear_of_it() -> None:
    table = Table("pull")
    table[1].subscribe("news", until=100.0)
    table[1].subscribe("sports")
    table.meet(0, 1)
    early = table.publish(0, "news")
    table.advance(150.0)
    table.publish(0, "news")
    sport = table.publish(0, "sports")
    assert table.delivered(1) == [early.id, sport.id]
    assert table[0].protocol.interests == {1: ("sports",)}  # type: ignore[attr-defined]
    assert table[1].store.subscriptions() == ["sports"]
    assert table[1].store.endings() == {}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("restart", [50.0, 150.0])
def test_it_ends_over_a_restart(tmp_path: Path, saved: bool, restart: float) -> None:
    table = Table("push", folder=tmp_path)
    table[0].subscribe("news", until=100.0)
    table.carry()
    if saved:
        table[0].save()
    table.now = restart
    table.crash(0)
    assert table[0].protocol.topics == ({"news"} if restart < 100 else set())
    table.advance(151.0)
    assert table[0].protocol.topics == set()
    assert table[0].store.subscriptions() == []


def test_the_last_word_on_an_interest_counts() -> None:
    table = Table("push", 1)
    table[0].subscribe("news", until=100.0)
    table[0].subscribe("news", until=200.0)
    table[0].subscribe("sports", until=100.0)
    table[0].subscribe("sports")
    table[0].subscribe("arts")
    table[0].subscribe("arts", until=300.0)
    assert table[0].store.endings() == {"arts": 300.0, "news": 200.0}
    table.advance(250.0)
    assert table[0].store.subscriptions() == ["arts", "sports"]
    table[0].unsubscribe("arts")
    assert table[0].store.endings() == {}


def test_a_program_hears_what_comes_and_then_that_it_is_over(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann") as ann, device(tmp_path / "bob", ann) as bob:
            await ann.publish("kind=alert price=6", "too dear")
            await ann.publish("kind=alert price=4.50", "cheap")
            heard = bob.subscribe(INTEREST, lasting=86400)
            assert (await anext(heard)).text == "cheap"
            heard.taken()
            assert bob.subscriptions() == [INTEREST]
            assert time.time() < bob.endings()[INTEREST] <= time.time() + 86400
            over = bob.subscribe(INTEREST, until=time.time() + 0.5)
            assert [each.text async for each in over] == []
            assert bob.subscriptions() == []

    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path) as ann:
            for lasting, until in ((0.0, None), (-5.0, None), (None, 10.0), (None, float("inf"))):
                with pytest.raises(ConfigurationError, match="cannot end before it begins"):
                    ann.subscribe("news", lasting=lasting, until=until)
            with pytest.raises(ConfigurationError, match="give one of both"):
                ann.subscribe("news", lasting=5.0, until=time.time() + 9)
            assert ann.subscriptions() == []

    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_over_http_it_has_a_length_or_an_end(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path) as ann, HttpServer(ann):
            client = NodeClient(tmp_path)
            answer = await asyncio.to_thread(client.ask, "PUT", "subscriptions", INTEREST, query="?for=3600")
            assert answer["subscriptions"] == [INTEREST]
            assert answer["endings"] == ann.endings() != {}
            end = time.time() + 3600
            await asyncio.to_thread(client.ask, "PUT", "subscriptions", INTEREST, query=f"?until={end}")
            assert ann.endings() == {INTEREST: end}
            with pytest.raises(ConfigurationError, match="for is a number from 0"):
                await asyncio.to_thread(client.ask, "PUT", "subscriptions", INTEREST, query="?for=soon")
            heard = await asyncio.to_thread(lambda: list(client.follow("news", until=time.time() + 0.5)))
            assert heard == []
            await asyncio.to_thread(client.ask, "PUT", "subscriptions", INTEREST)
            assert ann.endings() == {}

    asyncio.run(asyncio.wait_for(scene(), 60.0))


APP = typer.Typer()  # the whole one takes long to set up, for each command anew
for command in (commands.publish, commands.subscribe, commands.status):
    APP.command()(command)


async def hunet(*words: object) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, APP, list(map(str, words)))


def test_the_two_nodes_of_the_page(tmp_path: Path) -> None:
    async def scene() -> None:
        ann, bob = tmp_path / "ann", tmp_path / "bob"
        async with device(ann) as one, device(bob, one) as two, HttpServer(one), HttpServer(two):
            for topic, text in (("kind = alert price = 6", "too dear"), ('kind = "alert" price = 4.5', "cheap")):
                assert (await hunet("publish", topic, text, "--folder", ann)).exit_code == 0
            heard = await hunet("subscribe", INTEREST, "--for", "2d", "--count", 1, "--folder", bob)
            assert heard.output == f'kind = "alert" price = 4.5  {one.device[:8]}…: cheap\n'
            assert two.endings()[INTEREST] == pytest.approx(time.time() + 2 * 86400, abs=120)
            assert f"{INTEREST} (until " in (await hunet("status", "--folder", bob)).output
            for given in (("--for", "1h", "--until", "2100-01-01"), ("--for", "soon"), ("--until", "soon")):
                refused = await hunet("subscribe", "news", *given, "--folder", bob)
                assert refused.exit_code != 0
                assert "--" in str(refused.exception)
            refused = await hunet("subscribe", "news", "--until", "2001-01-01", "--folder", bob)
            assert "cannot end before it begins" in str(refused.exception)
            assert two.subscriptions() == [INTEREST]

    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_what_a_bundle_brings_is_matched_too(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path) as ann:
            heard = ann.subscribe(INTEREST)
            for price in (6, 4):
                topic = f"kind=alert price={price}"  # as somebody else writes it
                said = Publication.signed(Identity.new(), topic, b"x", created=time.time(), ttl=60.0)
                assert await ann.bring(said)
            assert (await anext(heard)).topic == "kind=alert price=4"

    asyncio.run(asyncio.wait_for(scene(), 60.0))
