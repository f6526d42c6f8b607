"""Whole nodes on loopback: what an application sees of them."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hunet import Node
from hunet.cli import app
from hunet.model import ConfigurationError, OutputError, canonical_interest
from hunet.node.http.client import NodeClient
from hunet.node.http.server import HttpServer
from hunet.node.identity import device_key
from hunet.node.publication import Group
from tests.node.company import until
from tests.node.kill import torture

QUICK = {"listen": "127.0.0.1:0", "beacons": False}


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 30.0))


def device(folder: Path, name: str, *peers: Node, **given: Any) -> Node:
    return Node(folder / name, **{**QUICK, "peers": [peer.address for peer in peers], **given})


def test_two_nodes_exchange_a_message(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, device(tmp_path, "bob", ann) as bob:
            messages = bob.subscribe("news")
            said = await ann.publish("news", "hello")
            got = await anext(messages)
            assert (got.text, got.author, got.id, got.topic, got.hops) == ("hello", ann.device, said.id, "news", 1)
            assert [peer["device"] for peer in ann.peers()] == [bob.device]
            assert ann.status()["peers"] == 1
            assert bob.status()["counters"]["delivered"] == 1

    play(scene())


PAIRS = 10
MORE = [pytest.param(first, marks=pytest.mark.slow) for first in range(PAIRS, 100, PAIRS)]


@pytest.mark.parametrize("first", [0, *MORE])
def test_two_people_are_enough(tmp_path: Path, first: int) -> None:
    """With social election a coin decides who becomes a broker; every pair gets its message whatever it says."""

    async def pair(number: int) -> str:
        async with AsyncExitStack() as stack:
            ann = await stack.enter_async_context(device(tmp_path, f"ann{number}", protocol="social-election"))
            bob = await stack.enter_async_context(device(tmp_path, f"bob{number}", ann, protocol="social-election"))
            await ann.publish("news", str(number))
            return (await anext(bob.subscribe("news"))).text

    async def scene() -> None:
        numbers = range(first, first + PAIRS)
        assert await asyncio.gather(*map(pair, numbers)) == [str(number) for number in numbers]

    play(scene())  # for 30 s at most


def test_a_message_travels_over_a_device_that_does_not_want_it(tmp_path: Path) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            bob = await stack.enter_async_context(device(tmp_path, "bob", protocol="push"))
            ann = await stack.enter_async_context(device(tmp_path, "ann", bob, protocol="push"))
            eve = await stack.enter_async_context(device(tmp_path, "eve", bob, protocol="push"))
            messages = eve.subscribe("news")
            await ann.publish("news", b"\0\1\2", content_type="image/x-dot")
            got = await anext(messages)
            assert (got.content, got.content_type, got.hops) == (b"\0\1\2", "image/x-dot", 2)

    play(scene())


def test_receipts_find_their_way_back_over_others(tmp_path: Path) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            bob = await stack.enter_async_context(device(tmp_path, "bob", protocol="push"))
            ann = await stack.enter_async_context(device(tmp_path, "ann", bob, protocol="push"))
            readers = [
                await stack.enter_async_context(device(tmp_path, name, bob, protocol="push", receipts=name != "may"))
                for name in ("eve", "joe", "may")
            ]
            for reader in readers:
                reader.subscribe("news")
            silent = await ann.publish("news", "no need to tell")
            said = await ann.publish("news", "tell me", receipts=True)
            await until(lambda: ann.receipts(said.id) == 2)
            await until(lambda: bob.receipts(said.id) == 2)  # and not from who did not want to
            assert ann.receipts(silent.id) == 0
            sealed = b"".join(row[2] for row in bob._store.receipts(0, bob.now, 10))
            assert not any(device_key(each.device) in sealed for each in (ann, *readers))

    play(scene())


def test_a_private_topic_is_read_by_its_members_only(tmp_path: Path) -> None:
    async def scene() -> None:
        family, others = Group.new("family"), Group.new("others")
        async with (
            device(tmp_path, "ann", protocol="push") as ann,
            device(tmp_path, "bob", ann, protocol="push") as bob,
        ):
            messages, nothing = bob.subscribe(family), bob.subscribe(others)
            await ann.publish(family, "dinner at eight")
            got = await anext(messages)
            assert (got.topic, got.text) == ("family", "dinner at eight")
            assert b"dinner" not in b"".join(bob._store.content(n) or b"" for n in bob._store.kept())
            assert nothing.at_once() is None
            nothing.close()
            assert sorted(bob.groups()) == ["family", "others"]
            with pytest.raises(ConfigurationError, match="another group 'family'"):
                bob.subscribe(Group.new("family"))

    play(scene())


def test_what_was_taken_never_comes_again_and_what_was_not_does(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            for text in ("one", "two", "three"):
                await ann.publish("news", text)
            async with device(tmp_path, "bob", ann, protocol="push") as bob:
                messages = bob.subscribe("news")
                first, second = await anext(messages), await anext(messages)  # the second is not taken yet
            async with device(tmp_path, "bob", ann, protocol="push") as bob:
                assert bob.subscriptions() == ["news"]
                messages = bob.subscribe("news")
                assert [(await anext(messages)).number for _ in range(2)] == [second.number, 3]
            async with device(tmp_path, "bob", ann, protocol="push") as bob:
                messages = bob.subscribe("news", after=3)
                await ann.publish("news", "four")
                assert (await anext(messages)).text == "four"
                await bob.unsubscribe("news")
                assert bob.subscriptions() == []
            assert first.number == 1

    play(scene())


def test_encounters_are_noted_as_asked_for(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann", encounters="names") as ann:
            async with device(tmp_path, "bob", ann) as bob, device(tmp_path, "eve", ann, encounters="off") as eve:
                await until(lambda: len(ann.peers()) == 2 and len(bob.peers()) == len(eve.peers()) == 1)
                assert [each["met"] for each in bob.log()] != [ann.device]
                assert list(eve.log()) == []
            await until(lambda: not ann.peers())
            met = list(ann.log())
            assert {each["met"] for each in met} == {bob.device, eve.device}
            assert all(each["device"] == ann.device and each["end"] >= each["start"] for each in met)

    play(scene())


def test_a_folder_has_one_node_and_mistakes_are_explained(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann:
            with pytest.raises(ConfigurationError, match="a node runs here already"):
                async with device(tmp_path, "ann"):
                    pass
            with pytest.raises(ConfigurationError, match="needs a topic"):
                ann.subscribe("")
            with pytest.raises(ConfigurationError, match="limit is"):
                await ann.publish("news", bytes(2 << 20))
        with pytest.raises(ConfigurationError, match="not running"):
            await ann.publish("news", "too late")

    play(scene())
    with pytest.raises(ConfigurationError, match="did you mean 'b-sub-p'"):
        Node(tmp_path / "x", "b-sup")
    with pytest.raises(ConfigurationError, match="HOST:PORT"):
        Node(tmp_path / "x", listen="here")


def test_a_full_disk_refuses_a_publication_and_nothing_else(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            safe = await ann.publish("news", "safe")
            pages = ann._store._row("PRAGMA page_count")
            assert pages is not None
            ann._store._sqlite.execute(f"PRAGMA max_page_count = {pages[0] + 1}")
            with pytest.raises(OutputError, match="make some room"):
                await ann.publish("news", bytes(500_000))
            ann._store._sqlite.execute("PRAGMA max_page_count = 1000000")
            after = await ann.publish("news", "after")
            assert ann.status()["held"] == 2
        async with (
            device(tmp_path, "ann", protocol="push") as ann,
            device(tmp_path, "bob", ann, protocol="push") as bob,
        ):
            messages = bob.subscribe("news")
            assert {(await anext(messages)).id, (await anext(messages)).id} == {safe.id, after.id}

    play(scene())


def test_a_damaged_store_is_salvaged_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def fill() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            for number in range(50):
                await ann.publish("news", str(number) * 500)

    async def look() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            for number in list(ann._store.kept()):
                ann._deliveries.read(number)
            ann.status()
            assert not list(ann.log())

    async def go_on() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            assert ann.status()["held"] > 10
            await ann.publish("news", "life goes on")

    play(fill())
    path = tmp_path / "ann" / "hunet.db"
    content = bytearray(path.read_bytes())
    page = content.index(b"25" * 100) // 4096 * 4096
    content[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(bytes(content))
    with suppress(OutputError):  # it is noticed when the page is needed, and salvaged at the next start
        play(look())
    play(go_on())
    assert "was damaged" in caplog.text


def test_a_clock_that_jumps_stops_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        now = [1_800_000_000.0]
        clock = {"clock": lambda: now[0], "protocol": "push"}
        async with device(tmp_path, "ann", **clock) as ann, device(tmp_path, "bob", ann, **clock) as bob:
            messages = bob.subscribe("news")
            for jump in (0.0, -3600.0, 7200.0, -86400.0, 3 * 86400.0):
                now[0] += jump
                await ann.publish("news", f"after {jump}", ttl=1e6)
                assert (await anext(messages)).text == f"after {jump}"
        now[0] -= 86400.0
        async with device(tmp_path, "ann", **clock) as ann, device(tmp_path, "bob", ann, **clock) as bob:
            messages = bob.subscribe("news")
            await ann.publish("news", "after a start in the past", ttl=1e6)
            got = await anext(messages)
            while got.text != "after a start in the past":
                got = await anext(messages)

    play(scene())


def test_timers_run_on_the_nodes_clock(tmp_path: Path) -> None:
    """SocialCast advertises every 30 s; at a hundred times the pace that is soon."""
    import time

    began = time.monotonic()

    def clock() -> float:
        return 1_800_000_000.0 + 100 * (time.monotonic() - began)

    async def scene() -> None:
        given: dict[str, Any] = {"protocol": "socialcast", "parameters": {"period": 30}, "clock": clock, "pace": 100.0}
        async with device(tmp_path, "ann", **given) as ann, device(tmp_path, "bob", ann, **given) as bob:
            messages = bob.subscribe("news")
            await ann.publish("news", "hello", ttl=1e5)
            assert (await anext(messages)).text == "hello"

    play(scene())


def test_killing_nodes_loses_nothing_and_delivers_nothing_twice(tmp_path: Path) -> None:
    counted = torture(times=3, seed=4, folder=tmp_path)
    assert counted["acknowledged"] > 0


# Commands -----------------------------------------------------------------------------------------------------------


def test_people_have_names_and_can_be_shut_out(tmp_path: Path) -> None:
    def command(*words: str) -> Any:
        return asyncio.to_thread(CliRunner().invoke, app, ["peers", "--folder", str(tmp_path / "ann"), *words])

    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann), device(tmp_path, "bob", ann) as bob:
            await until(lambda: bool(ann.peers()))
            assert "Bob  " + bob.device in (await command("--name", bob.device[:8], "Bob")).output
            assert "nobody is in reach" in (await command("--block", "bob")).output
            await until(lambda: ann.status()["counters"].get("refused: blocked", 0) > 0)  # bob calls again, in vain
            assert not ann.peers()
            assert (await command("--unblock", "Bob")).exit_code == 0
            await until(lambda: bool(ann.peers()))
            unknown = await command("--block", "eve")
            assert unknown.exit_code != 0

    play(scene())


def test_an_invitation_makes_a_private_topic(tmp_path: Path) -> None:
    made = Group.new("the choir").invitation

    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, device(tmp_path, "bob", ann) as bob:
            messages = bob.subscribe(Group.from_invitation(made))
            await ann.publish(Group.from_invitation(made), "rehearsal at eight")
            delivery = await anext(messages)
            assert (delivery.text, delivery.topic) == ("rehearsal at eight", "the choir")

    play(scene())


def test_commands_talk_to_a_running_node(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann), device(tmp_path, "bob", ann) as bob:
            assert (tmp_path / "ann" / "socket").stat().st_mode & 0o777 == 0o600
            client = NodeClient(tmp_path / "ann")

            def ask(*words: str, **body: Any) -> Any:
                return asyncio.to_thread(client.ask, *words, **body)

            followed = asyncio.to_thread(lambda: list(client.follow("news", most=2)))
            task = asyncio.create_task(followed)
            await until(lambda: ann.subscriptions() == ["news"])
            await bob.publish("news", "hello")
            await bob.publish("news", b"\xff", content_type="text/plain")
            got = [(message["text"], message["base64"]) for message in await task]
            assert sorted(got, key=str) == [("hello", None), (None, "/w==")]  # in the order in which they came
            assert ann.status()["waiting"] == 0
            said = await ask("POST", "publications", topic="news", text="from ann", receipts=True)
            assert len(said["id"]) == 26
            assert (await ask("GET", "receipts", said["id"]))["subscribers"] == 0
            assert [peer["device"] for peer in (await ask("GET", "peers"))["peers"]] == [bob.device]
            assert (await ask("GET", "status"))["subscriptions"] == ["news"]
            assert (await ask("GET", "log"))["log"][0]["end"] is None
            await asyncio.to_thread(client.unsubscribe, "news")
            assert ann.subscriptions() == []
            with pytest.raises(ConfigurationError, match="GET /statsu: not found"):
                await ask("GET", "statsu")
            with pytest.raises(ConfigurationError, match="topic or group"):
                await ask("POST", "publications", text="on what?")
            with pytest.raises(ConfigurationError, match="at most 1048576 bytes"):
                await ask("POST", "publications", topic="news", text="x" * (5 << 20))
            with pytest.raises(ConfigurationError, match="not valid text"):
                await ask("PUT", "subscriptions", "\udcff")
        with pytest.raises(ConfigurationError, match="hunet node --folder"):
            client.ask("GET", "status")
        assert not (tmp_path / "ann" / "socket").exists()

    play(scene())


@pytest.mark.parametrize("topic", [".", "..", "a/../b", "a//b", "/", "a?b#c", "50%", "caf\u00e9", "x~", "the choir"])
def test_any_topic_can_be_followed_over_the_socket(tmp_path: Path, topic: str) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann):
            client = NodeClient(tmp_path / "ann")
            await asyncio.to_thread(client.ask, "PUT", "subscriptions", topic)
            assert ann.subscriptions() == [canonical_interest(topic)]
            await asyncio.to_thread(client.unsubscribe, topic)
            assert ann.subscriptions() == []

    play(scene())


def test_a_follower_sees_each_message_once_while_the_node_is_restarted(tmp_path: Path) -> None:
    seen: list[str] = []

    def follow() -> None:
        for message in NodeClient(tmp_path / "bob").follow("news", most=9):
            seen.append(message["text"])

    async def scene() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            task = None
            for life in range(3):
                async with device(tmp_path, "bob", ann, protocol="push") as bob, HttpServer(bob):
                    task = task or asyncio.create_task(asyncio.to_thread(follow))
                    await until(lambda bob=bob: bob.subscriptions() == ["news"])  # type: ignore[misc]
                    for number in range(3 * life, 3 * life + 3):
                        await ann.publish("news", str(number))
                    await until(lambda life=life: len(seen) == 3 * life + 3)  # type: ignore[misc]
                    if life == 2:
                        assert task is not None
                        await task
                        assert bob.status()["waiting"] == 0
        assert sorted(seen) == [str(number) for number in range(9)]

    play(scene())


def test_who_unsubscribes_is_not_subscribed_again_by_a_follower(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann):
            client = NodeClient(tmp_path / "ann")
            await asyncio.to_thread(client.ask, "PUT", "subscriptions", "news")
            await asyncio.to_thread(client.unsubscribe, "news")
            said = await asyncio.to_thread(client.ask, "POST", "deliveries", "next", topic="news", wait=0)
            assert (said["message"], said["more"]) == (None, [])
            assert ann.subscriptions() == []

    play(scene())


def test_a_private_topic_is_followed_over_the_socket(tmp_path: Path) -> None:
    choir = Group.new("the choir")

    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann), device(tmp_path, "bob", ann) as bob:
            client = NodeClient(tmp_path / "ann")
            followed = asyncio.to_thread(lambda: list(client.follow(group=choir.invitation, most=1)))
            task = asyncio.create_task(followed)
            await until(lambda: list(ann.groups()) == ["the choir"])
            await bob.publish(choir, "rehearsal at eight")
            (message,) = await task
            assert (message["topic"], message["text"]) == ("the choir", "rehearsal at eight")
            assert ann.subscriptions() == []
            await asyncio.to_thread(client.ask, "DELETE", "groups", "the choir")
            assert ann.groups() == {}

    play(scene())


def test_two_commands_on_one_machine_exchange_a_message(tmp_path: Path) -> None:
    hunet = [sys.executable, "-c", "from hunet.cli import main; main()"]

    def run(*words: object) -> subprocess.Popen[str]:
        return subprocess.Popen([*hunet, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    bob = run("node", "-d", tmp_path / "bob", "--listen", "127.0.0.1:0", "--no-beacons", "--subscribe", "news")
    assert bob.stdout is not None
    assert bob.stderr is not None
    try:
        address = bob.stderr.readline().split()[-1]
        ann = run("node", "-d", tmp_path / "ann", "--peer", address, "--no-beacons", "--publish", "news", "hello")
        try:
            assert bob.stdout.readline().endswith(": hello\n")
            status = run("status", "-d", tmp_path / "ann", "--json").communicate()[0]
            assert '"protocol": "push"' in status
            shown = run("status", "-d", tmp_path / "ann").communicate()[0]
            assert re.search(r"^role +none$", shown, re.MULTILINE)
            assert run("log", "-d", tmp_path / "bob").communicate()[0].endswith("still there\n")
            assert run("log", "-d", tmp_path / "bob", "--json").communicate()[0] == ""
        finally:
            ann.terminate()
            assert ann.communicate()[0] == ""
            assert ann.returncode == 0
    finally:
        bob.terminate()
        bob.communicate()
    done = run("peers", "-d", tmp_path / "bob")
    assert "no node is running" in done.communicate()[1]
    assert done.returncode == 1
