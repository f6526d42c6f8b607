"""Nodes without any IP between them: advertisements, connections and transfers over virtual adapters."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hunet.model import ConfigurationError
from hunet.node.ble.air import Air
from hunet.node.ble.bluetooth import BluetoothSettings
from hunet.node.node import Node
from hunet.node.places import NeighbourLimits
from hunet.node.publication import Group
from tests.node.ble.company import BleNode, ble_node, in_the_air
from tests.node.company import PATIENCE, until


async def next_text(messages: object) -> str:
    async with asyncio.timeout(PATIENCE):
        return str((await anext(messages)).text)  # type: ignore[call-overload]


def test_two_nodes_exchange_publications_groups_and_receipts(tmp_path: Path) -> None:
    async def scene() -> None:
        group = Group.new("friends")
        async with (
            in_the_air() as air,
            ble_node(air, tmp_path / "ann") as ann,
            ble_node(air, tmp_path / "bob", receipts=True) as bob,
        ):
            assert ann.address == ""
            news, private = bob.subscribe("news"), bob.subscribe(group)
            said = await ann.publish("news", "hello", receipts=True)
            await ann.publish(group, "only for friends")
            assert await next_text(news) == "hello"
            assert await next_text(private) == "only for friends"
            await until(lambda: ann.receipts(said.id) == 1)
            [peer] = ann.peers()
            assert (peer["device"], peer["radio"]) == (bob.device, "ble")
            assert ann.session(bob.device) == bob.session(ann.device)

    asyncio.run(scene())


def test_what_crosses_the_air_is_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []
    send = Air.send_acl_data

    def listen(self: Air, *about: object) -> None:
        heard.append(about[-1])  # type: ignore[arg-type]
        send(self, *about)  # type: ignore[arg-type]

    async def scene() -> None:
        monkeypatch.setattr(Air, "send_acl_data", listen)
        async with in_the_air() as air, ble_node(air, tmp_path / "ann") as ann, ble_node(air, tmp_path / "bob") as bob:
            messages = bob.subscribe("a topic to look for")
            await ann.publish("a topic to look for", "a text to look for")
            assert await next_text(messages) == "a text to look for"
            for secret in (b"to look for", ann.device.encode(), bob.device.encode()):
                assert secret not in b"".join(heard)

    asyncio.run(scene())


def test_five_nodes_link_each_with_each_and_all_get_everything(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(ble_node(air, tmp_path / f"{n}")) for n in range(5)]
            messages = [each.subscribe("news") for each in crowd]
            await until(lambda: all(len(each.peers()) == 4 for each in crowd))
            for number, each in enumerate(crowd):
                await each.publish("news", f"from {number}")
            for number, inbox in enumerate(messages):
                got = {await next_text(inbox) for _ in range(4)}
                assert got == {f"from {n}" for n in range(5) if n != number}
            assert all(len(each.adapter.le_connections) == 4 for each in crowd)  # one for each pair

    asyncio.run(scene())


def test_a_carrier_brings_it_from_one_to_the_other_and_notes_whom_it_met(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            in_the_air(apart=True) as air,
            ble_node(air, tmp_path / "ann") as ann,
            ble_node(air, tmp_path / "carrier") as carrier,
            ble_node(air, tmp_path / "bob") as bob,
        ):
            messages = bob.subscribe("news")
            await ann.publish("news", "by hand")
            await met(air, ann, carrier, rssi=-48)
            await until(lambda: carrier.status()["held"] == 1)
            air.meet(ann.adapter, carrier.adapter, rssi=-81)
            await until(lambda: next(iter(carrier.log()))["weakest"] == -81)
            air.part(ann.adapter, carrier.adapter)
            await until(lambda: not carrier.peers() and not ann.peers())
            await met(air, carrier, bob, rssi=-70)
            assert await next_text(messages) == "by hand"
            first, second = carrier.log()
            assert (first["met"], first["radio"], first["strongest"], first["weakest"]) == (ann.device, "ble", -48, -81)
            assert (second["met"], second["end"], second["strongest"]) == (bob.device, None, -70)
            [entry] = ann.encounters()
            assert (entry["radio"], entry["strongest"]) == ("ble", -48)

    asyncio.run(scene())


async def met(air: Air, one: BleNode, two: BleNode, rssi: int) -> None:
    air.meet(one.adapter, two.adapter, rssi)
    await until(lambda: bool(one.peers() and two.peers()))
    await until(lambda: [*one.log()][-1]["strongest"] == [*two.log()][-1]["strongest"] == rssi)


def test_a_message_is_whole_though_its_link_is_lost_again_and_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            in_the_air(apart=True) as air,
            ble_node(air, tmp_path / "ann") as ann,
            ble_node(air, tmp_path / "bob") as bob,
        ):
            messages = bob.subscribe("news")
            content = bytes(range(256)) * 800
            await ann.publish("news", content)
            for share in (0.1, 0.5, 0.9):
                least = ann.radio._traffic.sent + share * len(content)
                air.meet(ann.adapter, bob.adapter)
                await until(lambda least=least: ann.radio._traffic.sent > least)  # type: ignore[misc]
                air.part(ann.adapter, bob.adapter)
                await until(lambda: not ann.peers() and not bob.peers())
                assert bob.status()["waiting"] == 0
            air.meet(ann.adapter, bob.adapter)
            async with asyncio.timeout(PATIENCE):
                assert (await anext(messages)).content == content

    asyncio.run(scene())


def test_status_tells_what_the_radio_costs(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_node(air, tmp_path / "ann") as ann, ble_node(air, tmp_path / "bob") as bob:
            messages = bob.subscribe("news")
            await ann.publish("news", "x" * 5000)
            await next_text(messages)
            await until(lambda: ann.status()["radios"]["ble"]["advertisements"] > 0)
            ours, theirs = ann.status()["radios"]["ble"], bob.status()["radios"]["ble"]
            assert (ours["scan_duty_cycle"], ours["advertise_seconds"], ours["connections"]) == (1.0, 0.04, 1)
            assert ours["sent_bytes"] > 5000
            assert theirs["received_bytes"] > 5000
            packets = ours["sent_bytes"] + ours["received_bytes"]
            assert ours["air_bytes"] > packets + ours["advertisements"] * 141

    asyncio.run(scene())


def test_people_write_and_groups_talk_without_any_ip(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_node(air, tmp_path / "ann") as ann, ble_node(air, tmp_path / "bob") as bob:
            bob.name(ann.device, "Ann")
            await ann.send(bob.device, "dinner at eight?")
            await until(lambda: [letter.text for letter in bob.conversation("Ann")] == ["dinner at eight?"])
            await until(lambda: [letter.state for letter in ann.conversation(bob.device)] == ["arrived"])
            choir = Group.new("choir")
            messages = bob.subscribe(choir)
            ann.join(choir)
            await until(lambda: ann.groups() == {"choir": [bob.device]})
            await ann.publish(choir, "rehearsal at six")
            got = await asyncio.wait_for(anext(messages), 20.0)
            assert (got.text, got.topic, got.private) == ("rehearsal at six", "choir", True)
            assert [peer["radio"] for peer in ann.peers()] == ["ble"]

    asyncio.run(scene())


def test_a_direct_message_goes_by_a_carrier_over_bluetooth(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air(apart=True) as air, AsyncExitStack() as stack:
            ann, bob, eve = [
                await stack.enter_async_context(ble_node(air, tmp_path / name)) for name in ("ann", "bob", "eve")
            ]
            bob.name(ann.device, "Ann")
            air.meet(eve.adapter, bob.adapter)
            await until(lambda: eve._private.announcements.of(bob.device, eve.now) is not None)
            air.part(eve.adapter, bob.adapter)
            await ann.send(bob.device, "dinner at eight?")
            air.meet(ann.adapter, eve.adapter)
            await until(lambda: [letter.state for letter in ann.conversation(bob.device)] == ["carried"])
            air.part(ann.adapter, eve.adapter)
            assert eve.conversations() == []
            air.meet(eve.adapter, bob.adapter)
            await until(lambda: [letter.text for letter in bob.conversation("Ann")] == ["dinner at eight?"])

    asyncio.run(scene())


def test_a_node_with_ip_and_bluetooth_has_one_session_with_another(tmp_path: Path) -> None:
    async def scene() -> None:
        ip = {"listen": "127.0.0.1:0"}
        async with (
            in_the_air() as air,
            ble_node(air, tmp_path / "ann", **ip) as ann,
            ble_node(air, tmp_path / "bob", peers=[ann.address], **ip) as bob,
        ):
            messages = bob.subscribe("news")
            await until(lambda: bool(ann.peers() and bob.peers()))
            await until(lambda: min(len(each.radio._heard) for each in (ann, bob)) > 0)
            again = {each: max(each.radio._heard.values()) for each in (ann, bob)}
            await until(lambda: all(max(each.radio._heard.values()) > again[each] for each in (ann, bob)))
            assert ann.session(bob.device) == bob.session(ann.device)
            for each in (ann, bob):
                assert len(each.peers()) == len([*each.log()]) == 1  # and nothing flapped
            await ann.publish("news", "once")
            assert await next_text(messages) == "once"

    asyncio.run(scene())


def test_a_crowd_is_served_in_turns_by_an_adapter_that_holds_few_connections(tmp_path: Path) -> None:
    async def scene() -> None:
        limits = NeighbourLimits(retry_seconds=0.05, idle_seconds=0.1, rest_seconds=1.0)
        two = BluetoothSettings(0.02, 1.0, connections=2)
        async with in_the_air(apart=True) as air, AsyncExitStack() as stack:
            hub = await stack.enter_async_context(ble_node(air, tmp_path / "hub", settings=two, neighbours=limits))
            messages = hub.subscribe("news")
            for number in range(5):
                each = await stack.enter_async_context(ble_node(air, tmp_path / f"{number}", neighbours=limits))
                await each.publish("news", f"from {number}")
                air.meet(hub.adapter, each.adapter)
            assert {await next_text(messages) for _ in range(5)} == {f"from {number}" for number in range(5)}
            # One may be let in by the adapter in the moment in which another goes.
            await until(lambda: len(hub.adapter.le_connections) <= 2)

    asyncio.run(scene())


def test_without_ip_there_is_nobody_to_dial(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="without IP"):
        Node(tmp_path, listen=None, peers=["127.0.0.1:1"])
