"""Users and brokers on a table: registration, custody, replication, buffers, and what a change of role does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet import Links, run
from hunet.systems.social_election.baselines import RandomBroker
from hunet.systems.social_election.buffer import Copy, UtilityBuffer
from hunet.systems.social_election.social_election import SocialElection
from hunet.systems.social_election.subscription_table import SubscriptionTable, utility
from hunet.systems.social_election.swarm import BrokerSwarm
from hunet.testing import Network, TestNode
from tests.strategies import crowds


def swarm(roles: str, **parameters: Any) -> Network:
    """Devices that are brokers (b) and users (u) as written, and stay so: nobody obeys a designation."""
    net = Network("social-election", len(roles), **{"switching": 0.0, "direct_delivery": False, **parameters})
    for node, role in zip(net.nodes, roles, strict=True):
        if role == "b":
            node.protocol.become("broker", 0.0)
    return net


def held(node: TestNode) -> list[int]:
    return sorted(node.protocol.buffer.copies)


def table(node: TestNode) -> dict[str, float]:
    return dict(node.protocol.table.times)


# Registration ------------------------------------------------------------------------------------------------------


def test_subscriptions_are_registered_with_brokers_and_renewed_at_every_contact() -> None:
    net = swarm("ubu")
    reader, broker, other = net.nodes
    reader.subscribe("A")
    reader.meet(broker, at=10)
    assert table(broker) == {"A": 10}
    reader.meet(broker, at=30)
    assert table(broker) == {"A": 30}
    reader.meet(other, at=40)
    assert table(other) == {}


def test_vector_4_brokers_keep_the_freshest_registration() -> None:
    net = swarm("bb")
    one, two = net.nodes
    one.protocol.table.refresh({"A": 100.0, "B": 5.0})
    two.protocol.table.refresh({"A": 140.0})
    one.meet(two, at=150)
    assert table(one) == table(two) == {"A": 140, "B": 5}


def test_a_broker_registers_its_own_topics_with_itself() -> None:
    net = swarm("bb")
    net[0].subscribe("A", at=5)
    assert table(net[0]) == {"A": 5}
    net[0].meet(net[1], at=50)
    assert table(net[0]) == table(net[1]) == {"A": 50}


def test_subscriptions_that_nobody_renews_can_be_forgotten() -> None:
    net = swarm("bbu", forget_after=100.0)
    net[2].subscribe("A")
    net[2].meet(net[0], at=10)
    net[0].meet(net[1], at=110)
    assert table(net[1]) == {"A": 10}
    net[0].meet(net[1], at=111)
    assert table(net[0]) == table(net[1]) == {}


# Messages ----------------------------------------------------------------------------------------------------------


def test_a_publication_goes_to_the_first_broker_and_from_there_to_subscribers() -> None:
    net = swarm("ubbuu")
    author, first, second, reader, stranger = net.nodes
    reader.subscribe("A")
    message = author.publish("A", at=0)
    author.meet(stranger, at=1)  # users have nothing to give to each other
    author.meet(first, at=2)
    assert held(author) == []
    author.meet(second, at=3)
    first.meet(stranger, at=4)
    first.meet(reader, at=5)
    assert reader.delivered == [message]
    assert net.packets() == ["0->1 m0", "1->3 m0"]
    assert held(reader) == []  # it does not carry it
    first.meet(reader, at=6)
    assert len(net.packets()) == 2


def test_a_publication_is_handed_over_in_a_contact_that_is_open_already() -> None:
    net = swarm("ubu")
    author, broker, reader = net.nodes
    reader.subscribe("A")
    author.connect(broker, at=0)
    broker.connect(reader, at=0)
    message = author.publish("A", at=1)
    assert reader.delivered == [message]


def test_brokers_replicate_what_matches_first_and_then_the_newest() -> None:
    net = swarm("bbu", links=Links(rate=1.0))
    one, two, reader = net.nodes
    reader.subscribe("A")
    reader.meet(two, at=0)
    for at, topic in enumerate("ABAB", start=1):
        one.publish(topic, at=at)
    one.connect(two, at=10)
    two.disconnect(one, at=20)
    assert net.packets() == ["0->1 m2", "0->1 m0", "0->1 m3", "0->1 m1"]
    assert held(one) == held(two) == [0, 1, 2, 3]


def test_what_the_other_broker_wants_itself_goes_before_all_else() -> None:
    net = swarm("bb", links=Links(rate=1.0))
    one, two = net.nodes
    two.subscribe("B")
    wanted = one.publish("B", at=1)
    one.publish("A", at=100)
    one.protocol.table.refresh({"A": 100.0})  # a hundred times as useful
    one.connect(two, at=101)
    net.advance(110)
    assert net.packets() == ["0->1 m0", "0->1 m1"]
    assert two.delivered == [wanted]


def test_brokers_take_turns() -> None:
    net = swarm("bb", links=Links(rate=1.0))
    for at, node in enumerate(net.nodes * 2):
        node.publish("A", at=at)
    net[0].connect(net[1], at=10)
    net.advance(20)
    assert [packet.split()[0] for packet in net.packets()] == ["0->1", "1->0", "0->1", "1->0"]


def test_vector_6_delegation_sends_for_an_ever_higher_utility() -> None:
    """U = 0.05, 0.04, 0.0625, the same again, and no match; the message is 10 s old at each meeting."""
    net = Network("social-election", 6, replication="delegation", switching=0.0)
    for node in net.nodes:
        node.protocol.become("broker", 0.0)
    holder, *others = net.nodes
    ages = (10.0, 15.0, 6.0, 6.0, None)
    message = holder.publish("A", at=90)
    for other, age, worth in zip(others, ages, (0.05, 0.05, 0.0625, 0.0625, 0.0625), strict=True):
        holder.protocol.table.drop_before(float("inf"))  # as if it had heard of nobody
        if age is not None:
            other.protocol.table.refresh({"A": 100 - age})
        holder.meet(other, at=100)
        assert holder.protocol.buffer.copies[0].mark == pytest.approx(worth)
    assert net.packets() == ["0->1 m0", "0->3 m0"]
    assert net[1].protocol.buffer.copies[message.number].mark == pytest.approx(0.05)
    assert net[3].protocol.buffer.copies[message.number].mark == pytest.approx(0.0625)


@pytest.mark.parametrize("author", [0, 1])
def test_the_next_hop_has_what_it_knew_before_this_contact(author: int) -> None:
    """Eq. 2 takes the age of the subscription in the next hop, not what that hears in this contact."""
    net = swarm("bb", replication="delegation")
    net[author].subscribe("A", at=5)
    net[author].publish("A", at=100)
    net[0].meet(net[1], at=110)
    assert net.packets() == []
    net[0].meet(net[1], at=120)
    assert net.packets() == [f"{author}->{1 - author} m0"]
    assert [node.protocol.buffer.copies[0].mark for node in net.nodes] == [pytest.approx(1 / (20 + 10))] * 2


def test_delegation_still_delivers() -> None:
    net = swarm("bu", replication="delegation")
    net[1].subscribe("A")
    message = net[0].publish("A", at=0)
    net[0].protocol.buffer.copies[0].mark = 1.0
    net[0].meet(net[1], at=50)
    assert net[1].delivered == [message]


def test_users_may_serve_users_if_told_so() -> None:
    net = swarm("uub", direct_delivery=True)
    author, reader, broker = net.nodes
    reader.subscribe("A")
    message = author.publish("A", at=0)
    author.publish("B", at=0)
    author.meet(reader, at=1)
    assert reader.delivered == [message]
    assert held(author) == [0, 1]  # still to be brought to a broker
    assert held(reader) == []
    author.meet(broker, at=2)
    assert held(broker) == [0, 1]


def test_a_message_past_its_life_is_neither_kept_nor_delivered() -> None:
    net = swarm("bbu")
    net[2].subscribe("A")
    net[0].publish("A", at=0, ttl=10)
    net[0].meet(net[1], at=10)
    assert held(net[1]) == [0]
    net[1].meet(net[2], at=10.5)
    net[0].meet(net[1], at=11)
    assert net[2].delivered == []
    assert held(net[0]) == held(net[1]) == []


def test_scores_between_zero_and_one_enter_the_utility() -> None:
    """A match of 0.2 waits behind one of 0.9 although it is a little newer; what was delivered counts by its score."""
    net = swarm("bu", links=Links(rate=1.0))
    broker, reader = net.nodes
    reader.subscribe("football^0.9 goals^0.2")
    first = broker.publish("football cup", at=0)
    second = broker.publish("goals", at=5)
    broker.publish("hockey", at=6)
    broker.meet(reader, at=20, seconds=10)
    assert reader.delivered == [first, second]
    assert reader.protocol.observations(40)["score"] == pytest.approx(1.1)


def test_own_words_are_no_news_also_after_a_crash() -> None:
    net = swarm("bb")
    net[0].subscribe("A")
    net[0].publish("A", at=0)
    net[0].meet(net[1], at=1)
    net[0].crash(at=2)
    net[0].restart(at=3)
    net[0].protocol.become("broker", 3)
    net[0].meet(net[1], at=4)
    assert net.packets() == ["0->1 m0", "1->0 m0"]
    assert net[0].delivered == []


# Buffers -----------------------------------------------------------------------------------------------------------


def test_vector_5_the_lowest_goes_and_that_may_be_the_newcomer() -> None:
    for topic, age, stays in (("B", 0, [0, 2]), ("A", 50, [0, 2]), ("B", 2, [0, 1])):
        net = swarm("bu", buffer=2)
        broker, user = net.nodes
        broker.protocol.table.refresh({"A": 100.0})
        user.publish(topic, at=100 - age) if age > 5 else None
        ours = broker.publish("A", at=95)
        user.publish(topic, at=98) if age == 2 else None
        theirs = broker.publish("B", at=99)
        user.publish(topic, at=100) if age == 0 else None
        arriving = next(message for message in net.messages if message.publisher == 1)
        user.meet(broker, at=100)
        expected = {0: ours.number, 1: theirs.number, 2: arriving.number}
        assert held(broker) == sorted(expected[place] for place in stays)


def test_a_users_full_outbox_drops_the_oldest() -> None:
    net = swarm("u", buffer=2)
    for at in range(3):
        net[0].publish("A", at=at)
    assert held(net[0]) == [1, 2]


def test_what_was_dropped_is_not_taken_again() -> None:
    net = swarm("bb", buffer=1)
    net[0].publish("A", at=0)
    net[0].meet(net[1], at=1)
    net[1].publish("A", at=2)
    assert held(net[1]) == [1]
    net[1].protocol.buffer.remove(1, "overflow")
    net[0].meet(net[1], at=3)
    assert net.packets() == ["0->1 m0"]


ARRIVALS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20)), max_size=30)
TIMES = st.dictionaries(st.sampled_from(["a", "b", "a^0.5"]), st.integers(0, 20).map(float))


@given(ARRIVALS, TIMES, st.integers(1, 5))
def test_a_full_buffer_holds_the_most_useful(
    arrivals: list[tuple[str, int]], times: dict[str, float], capacity: int
) -> None:
    net = Network("push", 1)
    driver, known = net.engine.devices[0], SubscriptionTable(times)
    buffer = UtilityBuffer(driver, capacity, known)
    messages = [net.messages.add(f"m{i}", topic, 0, float(age)) for i, (topic, age) in enumerate(arrivals)]

    def rank(message: Any) -> tuple[float, float, int]:
        worth = utility(known.matches(message.topic), message.created, 30.0)
        return worth, message.created, message.number

    expected: list[Any] = []
    for message in messages:
        stayed = buffer.add(Copy(message), 30.0)
        expected = sorted([*expected, message], key=rank)[-capacity:]
        assert stayed == (message in expected)
        assert sorted(buffer.copies) == sorted(message.number for message in expected)
        assert sorted(number for entries in buffer.by_topic.values() for _, number in entries) == sorted(buffer.copies)


# Roles -------------------------------------------------------------------------------------------------------------


def test_an_ex_broker_forgets_foreign_subscriptions_and_hands_its_messages_to_a_broker() -> None:
    net = swarm("bub")
    one, user, two = net.nodes
    user.subscribe("A")
    user.meet(one, at=1)
    one.subscribe("B")
    one.publish("A", at=2)
    one.protocol.become("user", 3)
    assert table(one) == {}
    one.meet(user, at=4)  # a user neither delivers nor replicates
    assert user.delivered == []
    one.publish("C", at=5)
    one.meet(two, at=6)
    assert held(one) == []
    assert held(two) == [0, 1]
    assert table(two) == {"B": 6}


def test_own_publications_go_before_what_is_left_of_a_term() -> None:
    net = swarm("bub", links=Links(rate=1.0))
    ex, author, broker = net.nodes
    author.publish("A", at=0)
    author.meet(ex, at=1, seconds=2)
    ex.protocol.become("user", 5)
    ex.publish("A", at=6)
    broker.protocol.table.refresh({"A": 5.0})
    ex.connect(broker, at=10)
    net.advance(20)
    assert net.packets()[1:] == ["0->2 m1", "0->2 m0"]
    assert (held(ex), held(broker)) == ([], [0, 1])


def test_own_publications_go_first_also_if_they_are_older() -> None:
    net = swarm("bub", links=Links(rate=1.0))
    ex, author, broker = net.nodes
    ex.publish("A", at=0)
    author.publish("A", at=1)
    author.meet(ex, at=2, seconds=2)
    ex.protocol.become("user", 5)
    ex.meet(broker, at=10, seconds=10)
    assert net.packets()[1:] == ["0->2 m0", "0->2 m1"]


def test_a_copy_that_the_broker_knows_stays_since_it_may_be_the_last() -> None:
    net = swarm("bbb")
    one, two, three = net.nodes
    one.publish("A", at=0)
    one.meet(two, at=1)
    two.protocol.buffer.remove(0, "overflow")
    one.protocol.become("user", 2)
    one.meet(two, at=3)
    assert held(one) == [0]
    one.meet(three, at=4)
    assert held(one) == []
    assert held(three) == [0]


def test_an_ex_broker_does_not_hand_a_message_back_to_who_sent_it_in_this_contact() -> None:
    net = swarm("bb")
    one, two = net.nodes
    one.connect(two, at=0)
    one.publish("A", at=1)
    two.protocol.become("user", 2)
    net.engine.settle()
    assert net.packets() == ["0->1 m0"]
    assert held(one) == held(two) == [0]


def test_a_role_that_changes_in_a_contact_is_acted_upon_at_once() -> None:
    net = swarm("uuu")
    author, middle, reader = net.nodes
    reader.subscribe("A")
    author.connect(middle, at=0)
    middle.connect(reader, at=0)
    message = author.publish("A", at=1)
    assert net.packets() == []
    net.advance(2)
    middle.protocol.become("broker", 2)
    net.engine.settle()
    assert reader.delivered == [message]
    assert table(middle) == {"A": 2}
    middle.subscribe("B")
    author.protocol.become("broker", 2)
    middle.protocol.become("user", 2)
    net.engine.settle()
    assert net.packets() == ["0->1 m0", "1->2 m0"]
    assert held(middle) == [0]  # the author has seen its own message
    assert table(author) == {"B": 2}  # the ex-broker has forgotten the rest


def test_a_message_on_its_way_to_one_broker_is_not_given_to_another() -> None:
    net = swarm("ubb", links=Links(rate=0.1))
    author, one, two = net.nodes
    author.connect(one, at=0)
    author.connect(two, at=0)
    author.publish("A", at=1)
    net.advance(5)
    author.disconnect(one, at=6)  # it takes ten seconds
    net.advance(30)
    assert (held(author), held(one), held(two)) == ([], [], [0])
    author.connect(one, at=40)
    author.publish("A", at=41)
    net.advance(80)  # two sends its message on to nobody: it has not met one
    assert len(held(one)) + len(held(two)) == 2
    assert net.packets() == ["0->2 m0", "0->2 m1"] or net.packets() == ["0->2 m0", "0->1 m1"]


def test_what_comes_into_custody_of_a_device_that_has_just_become_a_user_is_kept() -> None:
    net = swarm("ub", links=Links(rate=0.1))
    author, broker = net.nodes
    author.publish("A", at=0)
    author.connect(broker, at=1)
    net.advance(5)
    broker.protocol.become("user", 5)
    net.advance(20)
    assert (held(author), held(broker)) == ([], [0])


@settings(max_examples=100)
@given(
    crowds(),
    st.sampled_from([SocialElection, RandomBroker]),
    st.sampled_from(["naive", "delegation"]),
    st.sampled_from([Links(), Links(rate=0.5), Links(loss=0.3)]),
    st.integers(0, 3),
)
def test_no_message_is_lost_while_there_is_room(
    crowd: Any, kind: type[BrokerSwarm], replication: str, links: Links, seed: int
) -> None:
    """Whatever roles change, every message published has a copy somewhere, and a user's moves: it is one copy."""
    devices: list[Any] = []
    published: set[int] = set()

    class Watched(kind):  # type: ignore[misc, valid-type]
        """Counts copies whenever a transfer is over."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            devices.append(self)

        def publish(self, message: Any, now: float) -> None:
            super().publish(message, now)
            published.add(message.number)

        def sent(self, peer: int, packet: Any, arrived: bool, now: float) -> None:
            super().sent(peer, packet, arrived, now)
            copies = Counter(number for device in devices for number in device.buffer.copies)
            assert all(copies[number] for number in published)

        def become(self, role: Any, now: float) -> None:
            before = dict(self.buffer.copies)
            super().become(role, now)
            assert self.buffer.copies == before

    given: dict[str, Any] = (
        {"share": 0.4, "cycle": 3.0} if kind is RandomBroker else {"lower_bound": 1, "upper_bound": 1}
    )
    run(crowd[0], crowd[1], Watched, seed=seed, window=6.0, buffer=None, replication=replication, links=links, **given)
    assert {number for device in devices for number in device.buffer.copies} == published
