"""When links settle and whom they ask, what crashes leave of them, and the order of what happens at one instant."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

import pytest

from hunet import Contacts, Crash, Links, Workload, run
from hunet.model import Catalogue, Node
from hunet.protocols import Control, Data, Driver, Packet, Protocol
from hunet.simulation.engine import Engine
from hunet.simulation.metrics import deliveries
from hunet.simulation.record import Record, columns
from hunet.testing import Network, Pair
from tests.simulation.test_engine import Diary, Word


class Sender(Diary):
    """Has a number of packets to send, and writes down when it is asked for one."""

    packets = 0

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self.driver.wake(peer)
        return ()

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        self.diary.append(("poll", peer, now))
        self.packets -= 1
        return Data(0b1) if self.packets >= 0 else None


def times(node: Any, what: str) -> list[float]:
    return [entry[2] for entry in node.protocol.diary if entry[0] == what]


def test_a_slow_link_settles_once_and_asks_nobody_who_has_nothing() -> None:
    pair = Pair(Sender, links=Links(rate=1.0))
    pair.a.protocol.packets = 2
    pair.a.connect(pair.b, at=10)
    pair.advance(15)
    pair.a.protocol.packets = 1
    pair.a.protocol.driver.wake(1)
    pair.a.subscribe("x", at=20)  # any event: what was woken is asked
    pair.a.disconnect(pair.b, at=30)
    assert [times(node, "settled") for node in pair.nodes] == [[12.0], [12.0]]
    assert times(pair.b, "poll") == [11.0]


class Eager(Sender):
    """Asks to be asked three times."""

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        for _ in range(3):
            self.driver.wake(peer)
        return ()


def test_who_wakes_a_link_several_times_is_asked_once() -> None:
    pair = Pair(Eager)
    pair.a.meet(pair.b, at=1)
    assert [times(node, "poll") for node in pair.nodes] == [[1.0], [1.0]]


class Thankful(Diary):
    """Says a word when a link has settled."""

    def settled(self, peer: Node, now: float) -> None:
        self.driver.send(peer, Word("thanks"))


def test_what_is_said_when_a_link_settles_is_heard_before_the_next_contact_begins() -> None:
    net = Network(Thankful, 3)
    net.engine.connect(0, 1)
    assert [node.protocol.diary for node in net.nodes] == [[(1, Word("thanks"), 0.0)], [(0, Word("thanks"), 0.0)], []]


@pytest.mark.parametrize("crashed", [0, 1])
def test_a_contact_that_ends_after_one_end_has_crashed_is_not_ended_again(crashed: Node) -> None:
    pair = Pair(Diary)
    pair.a.connect(pair.b, at=1)
    pair[crashed].crash(at=2)
    pair.a.disconnect(pair.b, at=3)
    assert times(pair[1 - crashed], "down") == [2.0]


class Mourner(Protocol):
    """Tells everybody of a link that is down."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.diary: list[str] = []

    def link_down(self, peer: Node, now: float) -> None:
        self.diary.append(f"{peer} is gone")
        self.driver.broadcast(Word("gone"))

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        self.diary.append(f"{peer} says so")


@pytest.mark.parametrize("links", [Links(), Links(rate=1.0)])
def test_all_links_of_a_crashed_device_are_down_before_anybody_talks_of_it(links: Links) -> None:
    net = Network(Mourner, 3, links=links)
    for one, two in ((0, 1), (0, 2), (1, 2)):
        net[one].connect(net[two])
    net[0].crash(at=1)
    assert [net[node].protocol.diary for node in (1, 2)] == [["0 is gone", "2 says so"], ["0 is gone", "1 says so"]]


def test_timers_of_a_crashed_device_do_not_run_out() -> None:
    net = Network(Diary, 2)
    lives = [node.protocol for node in net.nodes]
    for node in net.nodes:
        node.protocol.driver.set_timer("tick", 10.0)
        node.crash(at=5)
    net[1].restart(at=6)
    net.advance(20)
    assert [life.diary for life in [*lives, net[1].protocol]] == [[], [], []]


def test_a_device_that_is_back_meets_its_neighbours_in_order() -> None:
    net = Network(Mourner, 9)
    for peer in (8, 1):
        net[0].connect(net[peer])
    net[0].crash(at=1)
    net[0].restart(at=2)
    assert list(net.engine.devices[0].neighbours) == [1, 8]


def test_a_device_is_told_how_often_it_has_been_started_before() -> None:
    told = []

    def make(node: Node, driver: Driver, starts: int) -> Protocol:
        told.append(starts)
        return Protocol(node, None, driver, Random(starts))

    engine = Engine(1, Catalogue(), make, Links(), Random(1), crashes=True)
    for _ in range(2):
        engine.crash(0)
        engine.restart(0)
    assert told == [0, 1, 2]


def test_packets_arrive_before_timers_run_out() -> None:
    net = Network(Diary, 2, links=Links(out_of_band_delay=3.0))
    net[1].protocol.driver.set_timer("tick", 3.0)
    net[0].protocol.driver.send_out_of_band(1, Word("hello"))
    net.advance(10)
    assert [entry[0] for entry in net[1].protocol.diary] == ["out of band", "tick"]


def test_nothing_happens_after_the_end() -> None:
    contacts = Contacts.from_records([("0", "1", 0, 100)])
    roles = run(contacts, Workload.of([], []), "social-election", crashes=[Crash(0, 50.0, 1000.0)]).roles
    assert roles[roles["node"] == "0"]["role"].iloc[-1] == "down"


def test_first_deliveries_are_in_order_of_time() -> None:
    record = Record()
    for time, number in ((1.0, 5), (2.0, 3), (3.0, 5)):
        record.deliveries.extend((time, 0, number, 1))
    assert deliveries(record, nodes=1).publication.tolist() == [5, 3]


def test_with_one_radio_a_device_takes_part_in_one_transfer_at_a_time() -> None:
    """In the middle of a star: three seconds for three neighbours, where each link alone would take one."""
    for links, arrivals in ((Links(rate=1.0), [1.0, 1.0, 1.0]), (Links(rate=1.0, radio="one"), [1.0, 2.0, 3.0])):
        net = Network("push", 4, links=links)
        net[0].publish("x", at=0.0)
        for leaf in (1, 2, 3):
            net[0].connect(net[leaf])
        net.advance(5.0)
        times = columns(net.engine.record.forwards, 4)[0].tolist()
        assert times == arrivals


def test_with_one_radio_deliveries_on_all_links_go_before_copies() -> None:
    """In the middle, 0 has four messages for nobody here, and last comes one that 2 wants; 1 was there first."""
    net = Network("push", 3, links=Links(rate=1.0, radio="one"), order="random")
    net[2].subscribe("wanted", at=0.0)
    for _ in range(4):
        net[0].publish("other", at=0.0)
    net[0].connect(net[1])
    net[0].connect(net[2])
    wanted = net[0].publish("wanted", at=0.5)
    net.advance(2.0)
    assert net.packets()[0].startswith("0->1")
    assert net.packets()[1] == f"0->2 {wanted.id}"


class Talker(Sender):
    """Greets with 10 bytes."""

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        return (*super().link_up(peer, now), Word("x" * 10))


def talk(control: Literal["free", "shared"]) -> Pair:
    """Two who have greeted each other over 80 bits/s; the first has a message of 20 bytes, which takes 2 s."""
    pair = Pair(Talker, links=Links(rate=80.0, unit="bits/s", control=control))
    pair.a.publish("x", at=0.0, size=20)
    return pair


def arrivals(pair: Pair) -> list[float]:
    pair.advance(100.0)
    return list(columns(pair.engine.record.forwards, 4)[0])


@pytest.mark.parametrize(("control", "arrived"), [("free", [2.0, 4.0]), ("shared", [4.0, 6.0])])
def test_data_waits_for_the_control_that_shares_its_link(
    control: Literal["free", "shared"], arrived: list[float]
) -> None:
    """Two greetings of 10 bytes take a second each."""
    pair = talk(control)
    pair.a.protocol.packets = 2
    pair.a.connect(pair.b)
    assert arrivals(pair) == arrived


def test_control_that_comes_during_a_transfer_goes_before_the_next_one() -> None:
    pair = talk("shared")
    pair.a.protocol.packets = 2
    pair.a.connect(pair.b)
    pair.advance(3.0)
    pair.b.protocol.driver.send(0, Word("x" * 10))
    pair.engine.settle()
    assert arrivals(pair) == [4.0, 7.0]


def test_control_takes_no_time_from_data_that_comes_long_after_it() -> None:
    pair = talk("shared")
    pair.a.connect(pair.b)
    pair.advance(10.0)
    pair.a.protocol.packets = 1
    pair.a.protocol.driver.wake(1)
    pair.engine.settle()
    assert arrivals(pair) == [12.0]


@pytest.mark.parametrize("given", [{}, {"rate": 5.0}, {"unit": "bits/s"}])
def test_control_shares_only_what_is_limited_in_bits(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs a rate in bits/s"):
        Links(control="shared", **given)


def test_a_radio_is_free_again_when_a_contact_ends_in_a_transfer() -> None:
    net = Network("push", 3, links=Links(rate=1.0, radio="one"))
    net[0].publish("x", at=0.0)
    net[0].connect(net[1])
    net[0].connect(net[2])
    net[0].disconnect(net[1], at=0.5)
    assert net.engine.record.aborted == 1
    net.advance(3.0)
    assert net.packets() == ["0->2 m0"]
    assert columns(net.engine.record.forwards, 4)[0].tolist() == [1.5]


def test_pairs_that_share_nobody_transfer_at_the_same_time_with_one_radio() -> None:
    net = Network("push", 4, links=Links(rate=1.0, radio="one"))
    for node in (0, 2):
        net[node].publish("x", at=0.0)
        net[node].connect(net[node + 1])
    net.advance(1.0)
    assert sorted(net.packets()) == ["0->1 m0", "2->3 m1"]
