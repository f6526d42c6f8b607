"""The engine's promises to protocols, told by small protocols that use one of them each."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from hunet import Contacts, Crash, Links, Publication, Subscription, Workload, run
from hunet.model import ConfigurationError, Message, Node, ProtocolError
from hunet.protocols import Control, Data, Packet, Protocol
from hunet.testing import Network, Pair


class Word(Control, frozen=True, gc=False):
    """A control packet of so many bytes."""

    said: str

    @property
    def size(self) -> int:
        return len(self.said)


class Diary(Protocol):
    """Writes down what it is told."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.diary: list[Any] = []

    def publish(self, message: Message, now: float) -> None:
        self.diary.append(("publish", message.id))

    def phase(self, name: str, now: float) -> None:
        self.diary.append((name, now))

    def timer(self, tag: str, now: float) -> None:
        self.diary.append((tag, now))

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        self.diary.append((peer, packet, now))

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        self.diary.append(("out of band", node, packet, now))

    def settled(self, peer: Node, now: float) -> None:
        self.diary.append(("settled", peer, now))

    def link_down(self, peer: Node, now: float) -> None:
        self.diary.append(("down", peer, now))


def test_a_timer_runs_out_once_at_its_time_and_can_be_replaced_or_cancelled() -> None:
    net = Network(Diary, 1)
    driver = net[0].protocol.driver
    driver.set_timer("tick", 5.0)
    driver.set_timer("tock", 6.0)
    driver.set_timer("late", 7.0)
    driver.set_timer("tick", 8.0)
    driver.cancel_timer("tock")
    net.advance(7.5)
    assert net[0].protocol.diary == [("late", 7.0)]
    net.advance(100)
    assert net[0].protocol.diary == [("late", 7.0), ("tick", 8.0)]


def test_out_of_band_packets_need_no_contact_and_take_their_delay() -> None:
    net = Network(Diary, 2, links=Links(out_of_band_delay=3.0))
    net[0].protocol.driver.send_out_of_band(1, Word("hello"))
    net.advance(10)
    assert net[1].protocol.diary == [("out of band", 0, Word("hello"), 3.0)]
    assert net.engine.record.out_of_band_bytes == 5


def test_out_of_band_packets_can_be_lost() -> None:
    net = Network(Diary, 2, links=Links(out_of_band_loss=1.0))
    net[0].protocol.driver.send_out_of_band(1, Word("hello"))
    net.advance(10)
    assert net[1].protocol.diary == []


def test_a_control_packet_to_somebody_who_is_not_there_goes_nowhere() -> None:
    pair = Pair(Diary)
    pair.a.protocol.driver.send(1, Word("hello"))
    pair.a.meet(pair.b, at=1)
    assert pair.b.protocol.diary == [("settled", 0, 1.0), ("down", 0, 1.0)]
    assert pair.engine.record.control_packets == 0


def test_a_broadcast_is_heard_by_all_neighbours_but_one_and_counted_once() -> None:
    net = Network(Diary, 4)
    for other in net.nodes[1:3]:
        net[0].connect(other, at=1)
    net[0].protocol.driver.broadcast(Word("hello"))
    net[0].protocol.driver.broadcast(Word("psst"), but=1)
    net[3].subscribe("x")  # any event: what was queued is carried
    heard = [[entry[1].said for entry in node.protocol.diary if isinstance(entry[1], Word)] for node in net.nodes]
    assert heard == [[], ["hello"], ["hello", "psst"], []]
    assert (net.engine.record.control_packets, net.engine.record.control_bytes) == (2, 9)


@pytest.mark.parametrize("links", [Links(), Links(rate=1.0)])
def test_a_link_settles_once_per_contact_before_it_goes_down(links: Links) -> None:
    pair = Pair(Diary, links=links)
    for time in (1.0, 5.0):
        pair.a.meet(pair.b, at=time, seconds=2)
    assert [entry[0] for entry in pair.a.protocol.diary] == ["settled", "down", "settled", "down"]


def test_phases_are_announced_to_everybody() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    seen: list[Any] = []

    class Watcher(Diary):
        def phase(self, name: str, now: float) -> None:
            seen.append((self.node, name, now))

    run(contacts, Workload.of([], []), Watcher, train=0.4)
    assert seen == [(0, "train", 0), (1, "train", 0), (0, "operate", 40), (1, "operate", 40)]


class Chatterbox(Protocol):
    """Breaks the contract: offers the same message for ever."""

    def publish(self, message: Message, now: float) -> None:
        self.offer = Data(message.bit)
        self.driver.wake(1 - self.node)

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        return self.offer


def test_a_protocol_that_never_stops_sending_is_named() -> None:
    pair = Pair(Chatterbox)
    pair.a.connect(pair.b)
    with pytest.raises(ProtocolError, match="Chatterbox never stops sending"):
        pair.a.publish("x")


class Pusher(Protocol):
    """Breaks the contract: delivers to everybody."""

    def publish(self, message: Message, now: float) -> None:
        self.driver.deliver(message, 0)


def test_a_protocol_that_delivers_what_nobody_wants_is_named() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    with pytest.raises(ProtocolError, match=r"delivered m .* to node a, which did not want it"):
        run(contacts, Workload.of([Publication("m", 1, 0, "x")], [Subscription(0, "x")]), Pusher)


def test_on_a_limited_link_times_do_not_drift() -> None:
    pair = Pair("push", links=Links(rate=3))
    for _ in range(30):
        pair.a.publish("x")
    pair.a.meet(pair.b, at=0, seconds=10)
    assert len(pair.packets()) == 30  # exactly thirty thirds of a second
    assert pair.engine.record.aborted == 0


@pytest.mark.parametrize(("seconds", "events"), [(120, 12), (9, 0)])
def test_a_contact_passes_what_its_length_allows(seconds: int, events: int) -> None:
    """MOPS, section 13, vector 12: events of 5 Mb at 500 kb/s."""
    pair = Pair("push", links=Links(rate=500e3, unit="bits/s"))
    for _ in range(20):
        pair.a.publish("x", size=5_000_000 // 8)
    pair.a.meet(pair.b, at=0, seconds=seconds)
    assert len(pair.packets()) == events


def test_no_packet_passes_a_limited_contact_of_no_length() -> None:
    pair = Pair("push", links=Links(rate=1000))
    pair.a.publish("x")
    pair.a.meet(pair.b, at=1)
    assert pair.packets() == []


def test_a_lossy_link_loses_about_its_share_and_never_retries_within_a_contact() -> None:
    contacts = Contacts.from_records([("a", "b", 10.0 * k, 10.0 * k + 1) for k in range(300)])
    workload = Workload.of([Publication(f"m{k}", 10.0 * k, 0, "x", ttl=5) for k in range(300)], [Subscription(1, "x")])
    summary = run(contacts, workload, "push", links=Links(loss=0.25)).summary
    # The message of a contact gets through if both greetings (0.75 each way: only the receiver's counts) and it do.
    assert summary["delivered"] + summary["lost"] <= 300
    assert summary["delivered"] == pytest.approx(300 * 0.75 * 0.75, abs=3 * (300 * 0.56 * 0.44) ** 0.5)


def test_a_crashed_device_forgets_and_is_told_again() -> None:
    pair = Pair("push")
    pair.b.subscribe("x")
    hello = pair.a.publish("x", at=0)
    pair.a.connect(pair.b, at=1)
    assert pair.b.delivered == [hello]
    pair.b.crash(at=2)
    assert pair.a.protocol.known == {}
    pair.b.restart(at=3)  # the contact is still there
    assert pair.b.delivered == [hello, hello]
    pair.a.disconnect(pair.b, at=4)


def test_a_publication_of_a_device_that_is_down_never_leaves() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    workload = Workload.of([Publication("m", 50, 0, "x"), Publication("n", 90, 0, "x")], [Subscription(1, "x")])
    result = run(contacts, workload, "push", crashes=[Crash(0, 40, 20)])
    assert result.deliveries["publication"].tolist() == ["n"]
    assert result.summary["unpublished"] == 1


def test_a_crash_takes_the_copies_with_it() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10), ("b", "c", 20, 30)])
    workload = Workload.of([Publication("m", 5, 0, "x")], [Subscription(2, "x")])
    assert run(contacts, workload, "push").summary["delivered"] == 1
    crashed = run(contacts, workload, "push", crashes=[Crash(1, 15)]).summary
    assert crashed["delivered"] == 0
    assert crashed["dropped_crash"] == 1


def test_a_crash_does_not_take_what_had_expired() -> None:
    line = [("0", "1", 0, 10), ("1", "2", 20, 30)]
    workload = Workload.of([Publication("m", 0.0, 0, "x", ttl=12)], [Subscription(2, "x")])
    for looked_before in ([], [("1", "3", 13, 14)]):  # a buffer notices when somebody is met
        contacts = Contacts.from_records(line + looked_before)
        summary = run(contacts, workload, "push", crashes=[Crash(1, 15)]).summary
        assert (summary["dropped_crash"], summary["dropped_expired"]) == (0, 2)
        assert summary["buffertime_avg"] == 12


def test_a_repeated_delivery_after_a_crash_counts_once() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10), ("a", "b", 20, 30)])
    workload = Workload.of([Publication("m", 5, 0, "x")], [Subscription(1, "x")])
    summary = run(contacts, workload, "push", crashes=[Crash(1, 15)]).summary
    assert (summary["delivered"], summary["repeated"]) == (1, 1)


class Ticker(Protocol):
    """Says one byte to its neighbours every ten seconds, whatever else happens."""

    def start(self, now: float) -> None:
        self.driver.set_timer("tick", now + 10)

    def timer(self, tag: str, now: float) -> None:
        self.driver.broadcast(Word("."))
        self.driver.set_timer("tick", now + 10)


def test_counts_over_time_include_what_happens_between_contacts() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 1000)])
    series = run(contacts, Workload.of([], []), Ticker).series
    assert series["time"].tolist() == [10.0 * k for k in range(1, 101)]
    assert series["control_packets"].tolist() == [2 * k for k in range(1, 101)]


def test_a_subscription_from_before_the_first_event_is_there_when_it_happens_unless_it_has_ended() -> None:
    contacts = Contacts.from_records([("0", "1", 10, 20), ("1", "2", 30, 40)])
    for start, end, delivered in ((2.0, 15.0, 1), (2.0, 10.0, 1), (2.0, 9.0, 0), (2.0, 5.0, 0)):
        workload = Workload.of([Publication("m", 10.0, 0, "x")], [Subscription(1, "x", start, end)])
        assert run(contacts, workload, "push").summary["delivered"] == delivered
    wanted = Workload.of([Publication("m", 5.0, 2, "x"), Publication("n", 32.0, 2, "x")], [Subscription(0, "x", 2.0)])
    apart = Contacts.from_records([("0", "1", 5, 6), ("1", "2", 30, 40)])
    once = run(apart, wanted, "b-sub", decay_cycle=100.0, while_linked=False)
    assert once.summary["relayed"] == 1  # the first contact, at the first instant, has told of the interest


def test_a_workload_for_other_contacts_is_refused() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    with pytest.raises(ConfigurationError, match="publication 'm' names node 7, but the contacts have nodes 0 to 1"):
        run(contacts, Workload.of([Publication("m", 1, 7, "x")], []), "push")
    with pytest.raises(ConfigurationError, match="a crash names node 2"):
        run(contacts, Workload.of([], []), "push", crashes=[Crash(2, 5)])


def test_unknown_names_get_the_nearest_known_one() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    with pytest.raises(ConfigurationError, match="no protocol 'epidemik'"):
        run(contacts, Workload.of([], []), "epidemik")
    with pytest.raises(ConfigurationError, match="did you mean 'buffer'"):
        run(contacts, Workload.of([], []), "push", bufer=3)
    with pytest.raises(ConfigurationError, match="train is a share"):
        run(contacts, Workload.of([], []), "push", train=2)


def test_a_run_leaves_the_garbage_collector_as_it_was() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10)])
    during: list[int] = []
    usual = gc.get_threshold()
    run(contacts, Workload.of([], []), "push", progress=lambda _: during.append(gc.get_threshold()[0]))
    assert during[0] > usual[0]
    assert gc.get_threshold() == usual
