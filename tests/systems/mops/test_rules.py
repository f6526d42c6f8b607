"""Single rules of MOPS, each on as few devices as it takes."""

from __future__ import annotations

import inspect
from typing import Any

from hunet.protocols.capabilities import Demand
from hunet.protocols.carrier import Seen
from hunet.systems.mops.contact_history import ContactHistory
from hunet.systems.mops.errands import Errand
from hunet.systems.mops.exchange import CommunityExchange, Learnt, Row
from hunet.systems.mops.interests import InterestBook, InterestList, Internal, Lists
from hunet.systems.mops.learning import Learner, Update
from hunet.systems.mops.parameters import MopsParameters
from hunet.systems.mops.structure import structure_of
from hunet.systems.mops.weighted_carrier import WantedTopics
from hunet.testing import Network, TestNode
from tests.systems.mops.test_exchange import tell
from tests.systems.mops.test_mops import TWO_TOWNS, towns
from tests.systems.mops.test_patience import left_behind


def test_a_contact_that_ends_as_the_window_begins_counts_as_a_meeting_in_it() -> None:
    history = ContactHistory()
    for start, end in ((0, 10), (20, 30)):
        history.start("bob", start)
        history.end("bob", end)
    assert history.separations("bob", 10, 30, "inner") == [10]
    assert history.separations("bob", 11, 30, "inner") == []


def test_who_gives_up_decides_the_next_round() -> None:
    alone = CommunityExchange(0, 0, {1: 0.5}, threshold=0.5, hops=2, sigma=1.0)
    assert not alone.placed
    alone.give_up()
    assert alone.since(0).communities == ((1, (0,)),)


def test_who_gives_up_does_without_those_who_have_not_been_heard_of() -> None:
    """0 and 2 are close to 1, of whom nothing is known: by way of 1 they would be of one community."""
    device = CommunityExchange(0, 0, {1: 0.5}, threshold=0.5, hops=2, sigma=1.0)
    device.take([Row(2, 1, ((1, 0.5),))])
    device.give_up()
    assert device.communities == {0: (0,), 2: (2,)}


def test_communities_are_told_in_order() -> None:
    pairs = [(0, 1, 0.5), (2, 3, 0.5), (1, 2, 2.0)]
    rows = {n: {b if a == n else a: c for a, b, c in pairs if n in (a, b)} for n in range(4)}
    devices = {n: CommunityExchange(n, 0, rows[n], threshold=0.5, hops=1, sigma=1.0) for n in rows}
    for _ in range(6):
        for one, two, _ in reversed(pairs):
            tell(devices[two], devices[one])
            tell(devices[one], devices[two])
    for device in devices.values():
        told = device.since(0).communities
        assert [group for _, group in told] == [(1, 0), (2, 3)]
        assert list(told) == sorted(told)
    device = CommunityExchange(0, 0, {}, threshold=0.5, hops=1)
    device.hear(Learnt(0, 0, 1, (), (), (), ((3, (9,)), (2, (7, 8)))))
    assert device.since(0).communities == ((1, (0,)), (2, (7, 8)), (3, (9,)))


def test_a_broker_asks_for_what_has_weight_elsewhere() -> None:
    book = InterestBook(2, 0.9, 0.0)
    book.use_structure(structure_of(tuple(TWO_TOWNS)))
    book.hear_internal(3, Internal(3, (("none", 0.0), ("some", 0.5))))
    assert book.carried() == ("some",)


def learners(*patience: float | None) -> list[Learner]:
    """Devices that met from 5 to 6 in a window of 10 s, after which it is over."""
    found = []
    for node, waits in enumerate(patience):
        learner = Learner(node, threshold=0.5, hops=2, pruning=0.8, sigma=10.0, edges="both", patience=waits)
        for peer in range(len(patience)):
            if peer != node:
                learner.history.start(peer, 5.0)
                learner.history.end(peer, 6.0)
        learner.begin(1, 0.0, 10.0)
        found.append(learner)
    return found


def converse(one: Learner, two: Learner, now: float, *lost: str) -> list[str]:
    """A contact of two; the kinds of packets that went, in order. What is lost does not arrive."""
    waiting: list[Any] = [(two.node, one.node, p) for p in one.hello(two.node, now)] + [
        (one.node, two.node, p) for p in two.hello(one.node, now)
    ]
    told = []
    while waiting:
        to, sender, packet = waiting.pop(0)
        told.append(type(packet).__name__)
        if told[-1] not in lost:
            hearer = one if to == one.node else two
            waiting += [(other, to, answer) for other, answer in hearer.hear(sender, packet, now)]
    one.forget(two.node)
    two.forget(one.node)
    return told


def test_hellos_say_how_much_has_been_heard_until_both_have_said_so() -> None:
    one, two = learners(None, None)
    before = one.hello_bytes, two.hello_bytes
    first = converse(one, two, 20.0)
    assert sorted(set(first)) == ["AskRows", "Rows", "Update", "Versions"]
    assert before < (one.hello_bytes, two.hello_bytes)
    assert one.hellos + two.hellos == len(first)
    assert {*converse(one, two, 30.0)} <= {"Versions"}
    assert converse(one, two, 40.0) == []


def test_what_a_broken_contact_lost_is_told_again() -> None:
    for lost in ("Versions", "Update", "AskRows", "Rows"):
        one, two = learners(None, None)
        converse(one, two, 20.0, lost)
        assert not one.exchange or 1 not in one.exchange.rows
        converse(one, two, 30.0)
        assert one.exchange and two.exchange
        assert sorted(one.exchange.rows) == sorted(two.exchange.rows) == [0, 1]


def test_patience_follows_the_pauses_of_the_crowd() -> None:
    """The most hasty device would decide for all: the median of the longest pauses counts."""
    one, two = learners(None, None)
    assert one.waits_until() == 10.0 + 2 * 5.0  # nobody was met in the last 5 s of the window
    converse(one, two, 18.0)
    assert one.waits_until() == 18.0 + 2 * 5.0  # a row has come
    assert one.exchange
    one.exchange.hear(Learnt(1, 0, 1, (), ((7, 1, 1.0, 60.0), (8, 1, 1.0, 90.0), (9, 1, 1.0, 80.0)), (), ()))
    assert one.waits_until() == 18.0 + 2 * 60.0
    assert learners(7.0, None)[0].waits_until() == 17.0


def test_a_peer_gets_nothing_before_its_list_has_come() -> None:
    net = towns()
    net[2].subscribe("A")
    net[2].meet(net[0], at=1)
    net[0].meet(net[1], at=2)
    net[1].publish("A", at=3)
    author = net[1].protocol
    author.receive(0, Seen(0), 4.0)
    assert author.poll(0, 4.0, 1) is None  # the list may have been lost
    author.receive(0, WantedTopics(()), 4.0)
    assert isinstance(author.poll(0, 4.0, 1), Errand)


def asked(*topics: str, wants: WantedTopics) -> TestNode:
    """A device that has published on these topics, and that its neighbour has asked."""
    node = Network("k-nearest", 2)[0]
    for topic in topics:
        node.publish(topic)
    node.protocol.receive(1, wants, 0.0)
    node.protocol.receive(1, Seen(0), 0.0)
    return node


def test_a_neighbour_gets_as_many_of_the_topics_that_it_wants_most_as_there_is_room_for() -> None:
    node = asked("a", "b", "c", wants=WantedTopics((("c", 3.0), ("b", 2.0), ("a", 1.0))))
    assert [node.protocol.most_wanted(1, 0.0, room) for room in (1, 2, 3)] == [0b100, 0b110, 0b111]
    node = asked("a", "b", "b", wants=WantedTopics((("a", 2.0), ("b", 1.0))))
    assert [node.protocol.most_wanted(1, 0.0, room).bit_count() for room in (1, 2, 3)] == [1, 2, 3]


def test_what_is_not_listed_has_the_default_weight_and_comes_last() -> None:
    for default, rest in ((0.0, 0), (0.1, 0b10)):
        protocol = asked("a", "b", wants=WantedTopics((("a", 1.0),), default)).protocol
        first = protocol.poll(1, 0.0, 9)
        assert first.messages == 0b01
        protocol.sent(1, first, True, 0.0)
        last = protocol.poll(1, 0.0, 9)
        assert (last.messages if last else 0) == rest


def test_who_is_told_the_structure_says_no_hellos() -> None:
    net = towns()
    net[0].meet(net[1], at=1)
    found = [node.protocol.observations(2.0) for node in net.nodes]
    assert {(one["hellos"], one["hello_bytes"]) for one in found} == {(0, 0)}
    assert sum(one["communities"] for one in found) == 2
    assert sum(one["brokers"] for one in found) == 2
    assert sum(one["decided_by_1"] for one in found) == 3  # the pairs 0-1, 0-2, 3-4; 2-3 is too loose to be a link
    assert sum(one["decided_by_2"] for one in found) == 1


def test_who_is_told_the_structure_has_no_use_for_hellos() -> None:
    node = towns()[0].protocol
    node.receive(1, Update(Learnt(0, 0, 1, (), (), (), ())), 1.0)
    assert node.community == 0


def test_hellos_are_counted() -> None:
    net = left_behind(patience=50.0)
    hellos = [packet for kind in ("Versions", "Update", "AskRows", "Rows") for packet in net.packets(kind)]
    for node in net.nodes:
        counted = node.protocol.observations(150.0)["hellos"]
        assert counted == len([hello for hello in hellos if hello.startswith(f"{node.node}->")])
    assert len(hellos) > 2


def test_who_is_no_broker_asks_for_nothing_on_behalf_of_others() -> None:
    net = towns(closeness=[*TWO_TOWNS, (1, 3, 0.1)], pruning=0.5, default_weight=0.0)
    assert [net[node].protocol.bridges for node in (1, 2)] == [(), (3,)]  # 1 could be one, and 2 is better
    for node in (1, 2):
        net[node].protocol.receive(3, Internal(3, (("A", 1.0),)), 1.0)
    assert [net[node].protocol.book.lists[node].carried for node in (1, 2)] == [(), ("A",)]


def test_an_event_is_sent_off_once_to_whoever_wants_it() -> None:
    net = towns(default_weight=0.0)
    net[2].subscribe("A")
    net[2].meet(net[0], at=1)
    net[0].meet(net[1], at=2)
    event = net[1].publish("A", at=3)
    assert net[1].protocol.errands.by(0) == event.bit
    net[1].meet(net[0], at=4)
    net[1].protocol.receive(0, Lists((InterestList(2, 5.0, ("A", "B")),)), 5.0)
    assert net[1].protocol.errands.by(0) == 0


def test_a_structure_is_made_as_devices_make_it() -> None:
    usual = MopsParameters()
    parameters = inspect.signature(structure_of).parameters
    named = (parameters[name].default for name in ("threshold", "hops", "pruning"))
    assert tuple(named) == (usual.threshold, usual.hops, usual.pruning)


def test_virtual_links_have_two_hops_unless_told_otherwise() -> None:
    chain = ((0, 1, 0.9), (1, 2, 0.9), (2, 3, 0.9))
    assert structure_of(chain).graph.hops == structure_of(chain, hops=2).graph.hops == 2


def test_an_errand_is_forgotten_when_its_message_is_gone() -> None:
    net = towns(default_weight=0.0)
    net[2].subscribe("A")
    net[2].meet(net[0], at=1)
    net[0].meet(net[1], at=2)
    event = net[1].publish("A", at=3, ttl=10)
    assert net[1].protocol.errands.by(0) == event.bit
    net[1].meet(net[0], at=20)
    assert net[1].protocol.errands.by(0) == 0
    assert net.packets() == []


def test_whom_a_weighted_carrier_carries_for() -> None:
    net = Network("k-nearest", 4)
    net[2].subscribe("news")
    net[3].subscribe("arts")
    for peer in (2, 3):
        net[1].connect(net[peer], at=1)
    assert net[1].protocol.demand(net[1].publish("news"), 1.0) == Demand(0b100)
