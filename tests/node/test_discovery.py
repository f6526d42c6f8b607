"""Sightings: by a list, by beacons on real sockets; and what a beacon gives away."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from pathlib import Path

import pytest

from hunet.model import ConfigurationError
from hunet.node.discovery import Beacons, Discovery, ShortIds, Sighting, StaticPeers
from hunet.node.identity import Identity
from hunet.node.neighbourhood import Neighbourhood
from hunet.node.trust import AddressBook
from tests.machine import needs_broadcasts, needs_multicast
from tests.node.company import PATIENCE, Diary, free_port, until


async def next_of(discovery: Discovery) -> Sighting:
    async with asyncio.timeout(PATIENCE):
        return await discovery.__anext__()


def test_static_peers_come_again_and_again() -> None:
    async def scene() -> None:
        peers = StaticPeers(["example.org:7000", " [fe80::1%eth0]:7001 "], interval=0.001)
        await peers.start(1)
        expected = [Sighting("example.org", 7000), Sighting("fe80::1%eth0", 7001)]
        assert [await next_of(peers) for _ in range(6)] == expected * 3
        await peers.close()
        with pytest.raises(StopAsyncIteration):
            while True:
                await next_of(peers)

    asyncio.run(scene())


@pytest.mark.parametrize("peer", ["", "host", "host:", ":1", "host:0", "host:65536", "fe80::1:5", "[fe80::1]", "a:b:1"])
def test_addresses_that_are_none(peer: str) -> None:
    with pytest.raises(ConfigurationError, match="no address of a peer"):
        StaticPeers([peer])


def test_sightings_that_nobody_looks_at_are_forgotten() -> None:
    async def scene() -> None:
        peers = StaticPeers([])
        for port in range(1, 100_000):
            peers.sight(Sighting("host", port))
        assert peers._sightings.qsize() == 256

    asyncio.run(scene())


def test_two_see_each_other_by_beacons_and_not_themselves() -> None:
    interface, port = needs_multicast(), free_port(socket.SOCK_DGRAM)

    async def scene() -> None:
        ann, bob = (Beacons([interface], port, interval=0.01) for _ in range(2))
        await ann.start(1001)
        await bob.start(1002)
        assert (interface, socket.AF_INET) in ann.open_on
        for here, there, tcp_port in ((ann, bob, 1002), (bob, ann, 1001)):
            for _ in range(5):
                assert await next_of(here) == Sighting("127.0.0.1", tcp_port, there.ids.now)
        await ann.close()
        await bob.close()
        assert ann.open_on == []
        with pytest.raises(StopAsyncIteration):
            while True:
                await next_of(ann)

    asyncio.run(scene())


def test_beacons_also_go_by_broadcast_and_by_ipv6() -> None:
    """Wherever a datagram of the test's own is heard, beacons are heard."""
    port = free_port(socket.SOCK_DGRAM)
    ears = needs_broadcasts(port)

    async def scene() -> None:
        beacons = Beacons(None, port, interval=0.01)
        await beacons.start(1001)
        expected = struct.pack(">4sB8sH", b"hune", 1, bytes.fromhex(beacons.ids.now), 1001)

        async def listen(ear: socket.socket) -> bytes:
            ear.setblocking(False)
            return await asyncio.get_running_loop().sock_recv(ear, 100)

        heard = await asyncio.gather(*(asyncio.wait_for(listen(ear), 5.0) for ear in ears.values()))
        for ear in ears.values():
            ear.close()
        await beacons.close()
        assert heard == [expected] * len(ears)

    asyncio.run(scene())


def test_a_beacon_says_no_more_than_it_must_and_soon_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    interface, port = needs_multicast(), free_port(socket.SOCK_DGRAM)
    clock = [0.0]

    async def scene() -> None:
        sent: list[bytes] = []
        beacons = Beacons([interface], port, interval=1000.0)
        beacons.ids = ShortIds(clock=lambda: clock[0])
        await beacons.start(1001)
        for each in beacons._ears.values():
            monkeypatch.setattr(each, "sendto", lambda data, address: sent.append(data))
        said = []
        for clock[0] in (0.0, 899.0, 900.0, 1800.0):
            sent.clear()
            beacons._speak()
            assert len(set(sent)) == 1
            magic, version, short_id, tcp_port = struct.unpack(">4sB8sH", sent[0])
            assert (magic, version, tcp_port) == (b"hune", 1, 1001)
            said.append(short_id)
        assert said[0] == said[1]
        assert len(set(said)) == 3
        await beacons.close()
        other = Beacons([interface], port)
        other.ids = ShortIds(clock=lambda: clock[0])
        assert bytes.fromhex(other.ids.now) not in said  # another start, another id, though it is the same device

    asyncio.run(scene())


def test_datagrams_that_are_no_beacons_are_ignored() -> None:
    async def scene() -> None:
        beacons = Beacons([])
        good = struct.pack(">4sB8sH", b"hune", 1, b"ABCDEFGH", 7000)
        rng = random.Random(1)
        for bad in (
            b"",
            good[:-1],
            good + b"\0",
            b"hunx" + good[4:],
            good[:4] + b"\2" + good[5:],
            good[:-2] + b"\0\0",
            good[:5] + bytes.fromhex(beacons.ids.now) + good[13:],
            *(rng.randbytes(rng.choice((15, 15, rng.randrange(2000)))) for _ in range(2000)),
        ):
            beacons.heard(bad, ("192.0.2.1", 5))
        assert beacons._sightings.empty()
        beacons.heard(good, ("192.0.2.1", 5))
        beacons.heard(good, ("fe80::1", 5, 0, 3))
        beacons.heard(good, ("fd00::1", 5, 0, 0))
        hosts = [(await next_of(beacons)).host for _ in range(3)]
        assert hosts == ["192.0.2.1", "fe80::1%3", "fd00::1"]

    asyncio.run(scene())


def test_an_interface_that_comes_later_is_used_and_one_that_goes_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    interface, port = needs_multicast(), free_port(socket.SOCK_DGRAM)
    there = [(socket.if_nametoindex(interface), interface)]
    monkeypatch.setattr(socket, "if_nameindex", lambda: [*present])
    present: list[tuple[int, str]] = [(99, "nothing0")]

    async def scene() -> None:
        beacons = Beacons(None, port, interval=0.01)
        await beacons.start(1001)
        assert beacons.open_on == []
        present[:] = there
        await until(lambda: (interface, socket.AF_INET) in beacons.open_on)
        present.clear()
        await until(lambda: not beacons.open_on)
        await beacons.close()

    asyncio.run(scene())


def test_beacons_that_cannot_be() -> None:
    with pytest.raises(ConfigurationError, match="no network interface 'nowhere0'"):
        asyncio.run(Beacons(["nowhere0"]).start(1))
    with pytest.raises(ConfigurationError, match="more than 0"):
        Beacons(interval=0)


def test_nodes_find_each_other_by_beacons_and_link(tmp_path: Path) -> None:
    interface, port = needs_multicast(), free_port(socket.SOCK_DGRAM)

    async def scene() -> None:
        crowd = []
        for number in range(3):
            book = AddressBook(tmp_path / f"{number}.json")
            beacons = Beacons([interface], port, interval=0.02)
            crowd.append((Neighbourhood(Identity.new(), book, [beacons]), Diary()))
            await crowd[-1][0].start(crowd[-1][1])
        await until(lambda: all(len(each.devices()) == 2 for each, _ in crowd))
        for each, diary in crowd:
            assert len(diary.of("up")) == 2
            await each.close()

    asyncio.run(scene())
