"""The radio itself: what it says, how it dials and accepts, and what strangers can do to it."""

from __future__ import annotations

import asyncio
import errno
import random
import re
import sys
from pathlib import Path

import pytest
from bumble import hci, ll
from bumble.device import Device
from bumble.host import Host
from bumble.l2cap import L2CAP_LE_SIGNALING_CID, LeCreditBasedChannelSpec
from bumble.transport.common import AsyncPipeSink

from hunet.model import ConfigurationError
from hunet.node.ble import advertisement
from hunet.node.ble.adapter import named_adapter
from hunet.node.ble.air import Air, VirtualAdapter
from hunet.node.ble.bluetooth import Bluetooth, BluetoothSettings
from hunet.node.discovery import ShortIds, Sighting
from hunet.node.places import NeighbourLimits
from tests.node.ble.company import QUICK, BleNeighbour, ble_neighbour, in_the_air
from tests.node.company import PATIENCE, neighbour, until

PSM = 0xD3


def linked(*company: BleNeighbour) -> bool:
    return all(len(each.links.devices()) == len(company) - 1 for each in company)


class Ear(VirtualAdapter):
    """Writes down every advertisement that it hears."""

    said: list[tuple[str, bytes]]

    def hear(self, packet: ll.AdvertisingPdu, rssi: int) -> None:
        if isinstance(packet, ll.AdvExtInd):
            self.said.append((packet.advertiser_address.to_string(), packet.data))


def ear_in(air: Air) -> Ear:
    made = Ear("ear", link=air)
    made.said = []
    return made


async def stranger_in(air: Air) -> Device:
    """Somebody with a Bluetooth stack of their own."""
    adapter = air.adapter("stranger")
    device = Device(address=hci.Address.generate_static_address(), host=Host(adapter, AsyncPipeSink(adapter)))
    await device.power_on()
    return device


def place_of(each: BleNeighbour) -> hci.Address:
    return each.radio._device.random_address


def test_an_advertisement_tells_an_id_and_a_channel_and_nothing_else(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air:
            ear = ear_in(air)
            async with ble_neighbour(air, tmp_path) as ann:
                await until(lambda: len(ear.said) > 1)
                [(address, said)] = {*ear.said}
                assert advertisement.decode(said) == (ann.radio.ids.now, PSM)
                assert len(said) == 31
                assert hci.Address(address).is_resolvable
                assert ann.adapter.public_address.to_string(False) != address

    asyncio.run(scene())


def test_id_and_address_change_together_and_links_last(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as ann, ble_neighbour(air, tmp_path) as bob:
            await until(lambda: linked(ann, bob))
            ear = ear_in(air)
            ann.radio.ids = ShortIds(rotation=0.2)
            await ann.radio._set_up()
            again = asyncio.create_task(ann.radio._rotate())
            await until(lambda: len({said for _, said in ear.said if said != ear.said[0][1]}) > 3)
            again.cancel()
            by_address = dict(ear.said)
            assert len(by_address) == len({*ear.said}) == len({said for _, said in ear.said})  # one id, one address
            await ann.links.send(bob.device, b"still here")
            await until(lambda: (ann.device, b"still here") in bob.diary.events)
            assert not bob.links.reasons

    asyncio.run(scene())


@pytest.mark.parametrize("seed", range(4))
def test_a_crowd_that_dials_each_other_has_one_session_and_one_connection_for_each_pair(
    tmp_path: Path, seed: int
) -> None:
    async def scene() -> None:
        async with (
            in_the_air() as air,
            ble_neighbour(air, tmp_path) as ann,
            ble_neighbour(air, tmp_path) as bob,
            ble_neighbour(air, tmp_path) as eve,
        ):
            crowd = (ann, bob, eve)
            await until(lambda: linked(*crowd))
            await until(lambda: all(not each.links._dialling and len(each.links._open) == 2 for each in crowd))
            for each in crowd:
                assert len(each.diary.of("up")) == 2
                assert not each.diary.of("down")
                assert not each.links.refused
                await until(lambda each=each: [*each.radio._channels.values()] == [1, 1])  # type: ignore[misc]
                assert len(each.adapter.le_connections) == 2

    asyncio.run(scene())


class OldAdapter(VirtualAdapter):
    """An adapter of Bluetooth 4: one set of advertisements, and no extended commands."""

    le_features = VirtualAdapter.le_features & ~hci.LeFeatureMask.LE_EXTENDED_ADVERTISING


def test_old_adapters_and_new_ones_meet_and_change_their_ids(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            in_the_air() as air,
            ble_neighbour(air, tmp_path) as ann,
            ble_neighbour(air, tmp_path, adapter=OldAdapter("bob", link=air)) as bob,
            ble_neighbour(air, tmp_path, adapter=OldAdapter("eve", link=air)) as eve,
        ):
            assert not bob.radio._device.supports_le_extended_advertising
            await until(lambda: linked(ann, bob, eve))
            before = place_of(bob)
            bob.radio.ids = ShortIds()
            await until(lambda: bob.radio._called is None)
            await bob.radio._set_up()
            assert bob.adapter.random_address == place_of(bob) != before
            await bob.links.send(eve.device, b"hello")
            await until(lambda: (bob.device, b"hello") in eve.diary.events)
            assert not eve.links.reasons

    asyncio.run(scene())


def test_who_goes_out_of_reach_is_gone_and_comes_back(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as ann, ble_neighbour(air, tmp_path) as bob:
            for times in range(1, 4):
                await until(lambda: linked(ann, bob))
                sending = asyncio.create_task(ann.links.send(bob.device, bytes(4 << 20)))
                before = ann.radio._traffic.sent
                await until(lambda before=before: ann.radio._traffic.sent > before + 10_000)  # type: ignore[misc]
                air.part(ann.adapter, bob.adapter)
                with pytest.raises(Exception, match=r"cut off|closed|not linked"):
                    await sending
                await until(lambda: not ann.links.devices() and not bob.links.devices())
                assert not [event for event in bob.diary.events if event[0] == ann.device]  # nothing half
                assert len(bob.diary.of("down")) == times
                air.meet(ann.adapter, bob.adapter)
            # A frame may be on its way when they part; nobody is blamed for more than that.
            assert set(ann.links.refused) <= {"cut off"}
            assert set(bob.links.refused) <= {"cut off"}

    asyncio.run(scene())


def test_an_attacker_with_thousands_of_ids_costs_little_and_keeps_nobody_apart(tmp_path: Path) -> None:
    ids = 0

    async def advertise_forever(air: Air) -> None:
        nonlocal ids
        attacker, rng = air.adapter("attacker"), random.Random(1)
        while True:
            for _ in range(10):
                said = advertisement.encode(rng.randbytes(8).hex(), PSM)
                address = hci.Address.generate_static_address()
                air.send_advertising_pdu(attacker, ll.AdvExtInd(advertiser_address=address, data=said))
                ids += 1
            await asyncio.sleep(0)

    async def scene() -> None:
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as ann, ble_neighbour(air, tmp_path) as bob:
            air.part(ann.adapter, bob.adapter)
            attack = asyncio.create_task(advertise_forever(air))
            await until(lambda: ids > 2000)
            air.meet(ann.adapter, bob.adapter)
            await until(lambda: linked(ann, bob))
            attack.cancel()
            for each in (ann, bob):
                assert len(each.links._retry) <= 1  # none of them was dialled, since none was heard twice
                assert len(each.radio._heard) <= 1024
                assert not each.radio._device.advertisement_accumulators

    asyncio.run(scene())


def test_ids_of_nobody_are_dialled_a_few_at_a_time_and_later_and_later(tmp_path: Path) -> None:
    async def scene() -> None:
        settings, limits = BluetoothSettings(0.02, 1.0, dial_seconds=0.05), NeighbourLimits(dials=4, retry_seconds=1.0)
        async with in_the_air() as air, ble_neighbour(air, tmp_path, settings=settings, limits=limits) as ann:
            ghosts = [Sighting(str(hci.Address.generate_static_address()), PSM, f"{n:016x}", "ble") for n in range(50)]
            for ghost in ghosts:
                ann.links._sighted(ghost)
            assert len(ann.links._dialling) == 4
            await until(lambda: not ann.links._dialling)
            assert [pause.seconds for pause in ann.links._retry.values()] == [1.0] * 4
            ann.links._sighted(ghosts[0])
            assert not ann.links._dialling
            async with ble_neighbour(air, tmp_path) as bob:
                await until(lambda: linked(ann, bob))

    asyncio.run(scene())


def test_a_stranger_who_connects_and_says_nothing_is_put_out(tmp_path: Path) -> None:
    async def scene() -> None:
        settings = BluetoothSettings(0.02, 1.0, supervision=0.1)
        async with in_the_air() as air, ble_neighbour(air, tmp_path, settings=settings) as ann:
            stranger = await stranger_in(air)
            connection = await stranger.connect_le(place_of(ann))
            gone = asyncio.Event()
            connection.on(connection.EVENT_DISCONNECTION, lambda _: gone.set())
            await asyncio.wait_for(gone.wait(), 20.0)
            async with ble_neighbour(air, tmp_path) as bob:  # and advertising goes on
                await until(lambda: linked(ann, bob))

    asyncio.run(scene())


def test_a_stranger_who_sends_nonsense_harms_nobody(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as ann, ble_neighbour(air, tmp_path) as bob:
            await until(lambda: linked(ann, bob))
            stranger, rng = await stranger_in(air), random.Random(2)
            connection = await stranger.connect_le(place_of(ann))
            for _ in range(500):
                cid = rng.choice([L2CAP_LE_SIGNALING_CID, 4, 6, 0x40, rng.randrange(1 << 16)])
                connection.send_l2cap_pdu(cid, rng.randbytes(rng.randrange(40)))
                code = bytes([rng.randrange(1, 0x1B), rng.randrange(256)])
                body = rng.randbytes(rng.randrange(24))
                connection.send_l2cap_pdu(L2CAP_LE_SIGNALING_CID, code + len(body).to_bytes(2, "little") + body)
            await ann.links.send(bob.device, b"unharmed")
            await until(lambda: (ann.device, b"unharmed") in bob.diary.events)

    asyncio.run(scene())


def test_a_channel_of_packets_that_are_too_small_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as ann:
            stranger = await stranger_in(air)
            connection = await stranger.connect_le(place_of(ann))
            spec = LeCreditBasedChannelSpec(PSM)
            spec.mps = 0
            channel = await connection.create_l2cap_channel(spec)
            await until(lambda: channel.state == channel.State.DISCONNECTED)
            assert not ann.links._shaking_hands

    asyncio.run(scene())


def test_who_sends_faster_than_is_read_waits_and_who_does_not_wait_is_cut_off(tmp_path: Path) -> None:
    async def scene() -> None:
        async with in_the_air() as air:
            taken: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
            radio = Bluetooth(air.opener(air.adapter()), QUICK)
            await radio.serve(lambda reader, writer: taken.append((reader, writer)))
            await radio.start(0)
            stranger = await stranger_in(air)
            connection = await stranger.connect_le(radio._device.random_address)
            channel = await connection.create_l2cap_channel(LeCreditBasedChannelSpec(PSM))
            [(reader, writer)] = taken
            channel.write(bytes(1 << 20))
            await until(lambda: channel.credits == 0)
            assert radio._traffic.received < 250_000
            await reader.readexactly(1 << 20)
            assert channel.state == channel.State.CONNECTED
            channel.write(bytes(1 << 20))
            await until(lambda: channel.credits == 0)
            channel.on_credits(5000)  # which nobody gave
            await until(writer.is_closing)
            assert radio._traffic.received < 2 << 20
            await radio.close()
            await radio.stop()

    asyncio.run(scene())


def test_a_peer_that_does_not_say_goodbye_is_linked_again_when_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        monkeypatch.setattr("hunet.node.ble.bluetooth._GOODBYE", 0.02)
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as ann, ble_neighbour(air, tmp_path) as bob:
            await until(lambda: linked(ann, bob))
            channels = bob.radio._device.l2cap_channel_manager
            answer = channels.on_l2cap_disconnection_request
            monkeypatch.setattr(channels, "on_l2cap_disconnection_request", lambda *_: None)
            channel = ann.links._links[bob.device].session._writer.transport._channel  # type: ignore[attr-defined]
            await ann.links.drop(bob.device, "enough")
            await until(lambda: channel.state == channel.State.DISCONNECTED)
            monkeypatch.setattr(channels, "on_l2cap_disconnection_request", answer)
            air.part(ann.adapter, bob.adapter)
            await until(lambda: not ann.radio._device.connections and not bob.links.devices())
            air.meet(ann.adapter, bob.adapter)
            await until(lambda: linked(ann, bob))

    asyncio.run(scene())


def test_a_device_with_all_the_connections_it_can_hold_is_not_found(tmp_path: Path) -> None:
    async def scene() -> None:
        one = BluetoothSettings(0.02, 1.0, connections=1)
        async with in_the_air() as air, ble_neighbour(air, tmp_path, settings=one) as ann:
            async with ble_neighbour(air, tmp_path) as bob:
                await until(lambda: linked(ann, bob))
                await until(lambda: not ann.radio._device.is_advertising)
                with pytest.raises(ConnectionError, match="no connection is left"):
                    await ann.radio.connect(Sighting("C0:00:00:00:00:01", PSM, radio="ble"))
            await until(lambda: bool(ann.radio._device.is_advertising))
            async with ble_neighbour(air, tmp_path) as eve:
                await until(lambda: linked(ann, eve))

    asyncio.run(scene())


def test_the_adapter_is_told_the_duty_cycle(tmp_path: Path) -> None:
    async def scene() -> None:
        settings = BluetoothSettings()
        async with in_the_air() as air, ble_neighbour(air, tmp_path, settings=settings) as ann:
            adapter = ann.adapter
            assert adapter.le_scan_enable
            assert adapter.le_scan_window * 0.625 == pytest.approx(520)
            assert adapter.le_scan_window / adapter.le_scan_interval == pytest.approx(0.1)
            [advertised] = adapter.advertising_sets.values()
            assert advertised.parameters
            assert advertised.parameters.primary_advertising_interval_min * 0.625 == pytest.approx(250)
            assert ann.radio.status()["scan_duty_cycle"] == 0.1

    asyncio.run(scene())


def test_an_adapter_hears_only_while_its_window_is_open() -> None:
    async def scene() -> None:
        async with in_the_air() as air:
            adapter, loop = air.adapter(), asyncio.get_running_loop()
            adapter.le_scan_enable, adapter.le_scan_window, adapter.le_scan_interval = True, 160, 1600  # 0.1 of 1 s
            for since, hears in ((0.05, True), (0.15, False), (0.95, False), (1.05, True)):
                adapter._scans_since = loop.time() - since
                assert adapter.listens() is hears

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"advertise": 0.01}, "give 0.02 to 5"),
        ({"scan": 0.0}, "more than 0, at most 1"),
        ({"scan": 1.5}, "more than 0, at most 1"),
        ({"advertise": 2.0, "scan": 0.1}, "more often than every 2 s"),
    ],
)
def test_settings_that_cannot_be(given: dict[str, float], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        BluetoothSettings(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.EBUSY, "busy"), "in use: sudo systemctl stop bluetooth && sudo hciconfig hci3 down"),
        (PermissionError(errno.EPERM, "no"), "run as root, or see docs/bluetooth.md"),
        (OSError(errno.ENODEV, "none"), "no such adapter"),
        (OSError(errno.EUSERS, "used"), "another program uses it"),
        (OSError(132, "off"), "sudo rfkill unblock bluetooth"),
        (OSError(errno.EIO, "broken"), "broken; see docs/bluetooth.md"),
        (Exception("device not found"), "device not found; see docs/bluetooth.md"),
    ],
)
def test_an_adapter_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, error: Exception, remedy: str) -> None:
    async def fail(name: str) -> None:
        assert name == "hci-socket:3"
        raise error

    monkeypatch.setattr("socket.AF_BLUETOOTH", 31, raising=False)
    monkeypatch.setattr("bumble.transport.open_transport", fail)
    with pytest.raises(ConfigurationError, match=remedy.replace("&&", ".*")) as complaint:
        asyncio.run(named_adapter("hci3")())  # type: ignore[arg-type]
    assert "\n" not in str(complaint.value)


def test_names_of_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", "bluetooth", "hci", "usb:", "magic:0"):
        with pytest.raises(ConfigurationError, match="no Bluetooth adapter"):
            named_adapter(name)
    monkeypatch.delattr("socket.AF_BLUETOOTH", raising=False)
    with pytest.raises(ConfigurationError, match="no Bluetooth sockets"):
        named_adapter("hci0")


def test_an_adapter_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(VirtualAdapter):
        def on_packet(self, packet: bytes) -> None: ...

    async def scene() -> None:
        monkeypatch.setattr("hunet.node.ble.bluetooth._ANSWER", 0.01)
        async with in_the_air() as air:
            radio = Bluetooth(air.opener(Deaf("deaf", link=air)))
            with pytest.raises(ConfigurationError, match="does not answer"):
                await radio.serve(lambda *_: None)
            await radio.stop()

    asyncio.run(scene())


def test_an_adapter_that_is_unplugged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with in_the_air() as air, ble_neighbour(air, tmp_path) as bob:
            adapter, place = air.adapter(), f"{tmp_path}/hci"
            await air.serve(adapter, place)
            radio = Bluetooth(named_adapter(f"unix:{place}"), QUICK)
            async with neighbour(tmp_path, ways=[radio], radios=[radio], listen=None) as ann:
                await until(lambda: bob.device in ann.devices())
                adapter.host.transport.close()  # type: ignore[union-attr]
                await until(lambda: not ann.devices())
                assert "adapter is gone" in caplog.text
                with pytest.raises(ConnectionError, match="no adapter"):
                    await radio.connect(Sighting("C0:00:00:00:00:01", PSM, radio="ble"))

    asyncio.run(scene())
    assert caplog.text.count("adapter is gone") == 1


@pytest.mark.slow
def test_two_commands_with_adapters_exchange_a_message(tmp_path: Path) -> None:
    """The command itself, in two processes; their adapters are in this one."""
    hunet = [sys.executable, "-c", "from hunet.cli import main; main()"]

    async def run(*words: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(*hunet, *words, stdout=pipe, stderr=pipe)

    async def shown(*words: str) -> str:
        return (await (await run(*words, "-d", f"{tmp_path}/bob")).communicate())[0].decode()

    async def scene() -> None:
        async with in_the_air() as air, asyncio.timeout(PATIENCE):
            nodes = []
            for name, does in (("bob", ["--subscribe", "news"]), ("ann", ["--publish", "news", "hello"])):
                await air.serve(air.adapter(name), f"{tmp_path}/{name}.hci")
                radio = ["--bluetooth", "--no-ip", "--adapter", f"unix:{tmp_path}/{name}.hci", "--scan", "100"]
                nodes.append(await run("node", "-d", f"{tmp_path}/{name}", *radio, *does))
            bob, ann = nodes
            try:
                assert bob.stdout is not None
                assert (await bob.stdout.readline()).endswith(b": hello\n")
                peers, log, status = await asyncio.gather(*map(shown, ("peers", "log", "status")))
                assert peers.endswith("  over ble\n")
                assert "still there  over ble, -60 to -60 dBm" in log
                assert re.search(r"^ble scan duty cycle +1.0$", status, re.MULTILINE)
                assert re.search(r"^ble air bytes +\d+$", status, re.MULTILINE)
            finally:
                for each in (ann, bob):
                    each.terminate()
                    assert b"Traceback" not in (await each.communicate())[1]

    asyncio.run(scene())


def test_an_advertisement_of_something_else_is_ignored() -> None:
    good = advertisement.encode("00" * 8, PSM)
    rng = random.Random(3)
    assert advertisement.decode(good)
    for bad in (good[:-1] + b"\x7f", good[:21] + b"\x02" + good[22:], good + b"\0", b"\x03" + good[1:]):
        assert advertisement.decode(bad) is None
    for _ in range(1000):
        assert advertisement.decode(rng.randbytes(31)) is None
