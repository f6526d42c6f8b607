"""Sightings: by a list, by beacons on real sockets; and what a beacon gives away."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hunet.model import ConfigurationError
from hunet.node.discovery import Beacons, Discovery, Sighting, StaticPeers
from hunet.node.identity import Identity
from hunet.node.neighbourhood import Neighbourhood
from hunet.node.trust import AddressBook
from tests.node.company import PATIENCE, Diary, until


async def next_of(discovery: Discovery) -> Sighting:
    async with asyncio.timeout(PATIENCE):
        return await discovery.__anext__()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def loopback() -> str:
    """The loopback interface, if datagrams to a group pass over it."""
    name = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "")
    here = struct.pack("@4s4si", socket.inet_aton("239.255.104.117"), bytes(4), socket.if_nametoindex(name))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
            ear.bind(("", 0))
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, here)
            ear.settimeout(1.0)
            ear.sendto(b"?", ("239.255.104.117", ear.getsockname()[1]))
            ear.recv(1)
    except OSError as error:
        pytest.skip(f"this machine has no multicast on its loopback interface: {error}")
    return name


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
    interface, port = loopback(), free_port()

    async def scene() -> None:
        ann, bob = (Beacons([interface], port, interval=0.01) for _ in range(2))
        await ann.start(1001)
        await bob.start(1002)
        assert (interface, socket.AF_INET) in ann.open_on
        for here, there, tcp_port in ((ann, bob, 1002), (bob, ann, 1001)):
            for _ in range(5):
                assert await next_of(here) == Sighting("127.0.0.1", tcp_port, there._ids.now)
        await ann.close()
        await bob.close()
        assert ann.open_on == []
        with pytest.raises(StopAsyncIteration):
            while True:
                await next_of(ann)

    asyncio.run(scene())


GROUP_6 = "ff02::6875:6e65:74"


def broadcast_ear(port: int) -> socket.socket:
    """Hears broadcasts alone."""
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind(("255.255.255.255", port))
    return ear


def ipv6_ear(port: int, interface: int) -> socket.socket:
    """Hears the group of beacons on one interface alone."""
    ear = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind((GROUP_6, port, 0, interface))
    group = socket.inet_pton(socket.AF_INET6, GROUP_6) + struct.pack("@I", interface)
    ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
    return ear


def ears_that_hear(port: int) -> dict[str, socket.socket]:
    """By name, the ears that hear what this machine sends: found without any code of ours."""
    ears: dict[str, socket.socket] = {}
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
        ears["broadcast"] = broadcast_ear(port)
        mouth.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        mouth.sendto(b"probe", ("255.255.255.255", port))
    for interface, name in socket.if_nameindex():
        with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as mouth:
            ears[name] = ipv6_ear(port, interface)
            mouth.sendto(b"probe", (GROUP_6, port, 0, interface))
    heard = {}
    for name, ear in ears.items():
        ear.settimeout(0.2)
        try:
            assert ear.recv(100) == b"probe"
            heard[name] = ear
        except TimeoutError:
            ear.close()
    return heard


@pytest.mark.skipif(sys.platform != "linux", reason="sockets bound to a group's address are Linux's way")
def test_beacons_also_go_by_broadcast_and_by_ipv6() -> None:
    """Wherever a datagram of the test's own is heard, beacons are heard."""
    port = free_port()
    ears = ears_that_hear(port)
    if not ears:
        pytest.skip("this machine hears neither broadcasts nor IPv6 multicasts of its own")

    async def scene() -> None:
        beacons = Beacons(None, port, interval=0.01)
        await beacons.start(1001)
        expected = struct.pack(">4sB8sH", b"hune", 1, bytes.fromhex(beacons._ids.now), 1001)

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
    interface, port = loopback(), free_port()
    clock = [0.0]

    async def scene() -> None:
        sent: list[bytes] = []
        beacons = Beacons([interface], port, interval=1000.0, clock=lambda: clock[0])
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
        other = Beacons([interface], port, clock=lambda: clock[0])
        assert bytes.fromhex(other._ids.now) not in said  # another start, another id, though it is the same device

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
            good[:5] + bytes.fromhex(beacons._ids.now) + good[13:],
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
    interface, port = loopback(), free_port()
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
    interface, port = loopback(), free_port()

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
