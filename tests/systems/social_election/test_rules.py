"""Single rules of Social Election and of its swarm."""

from __future__ import annotations

import pytest

from hunet import Links
from tests.systems.social_election.test_links import swarm


def test_a_hello_is_forgotten_when_its_contact_ends() -> None:
    net = swarm("ub")
    net[0].connect(net[1], at=1)
    assert net[0].protocol.hellos.keys() == {1}
    net[0].disconnect(net[1], at=2)
    assert net[0].protocol.hellos == {}


def test_a_user_keeps_no_subscriptions_of_others() -> None:
    net = swarm("ubb")
    user, broker, other = net.nodes
    other.subscribe("x")
    other.meet(broker, at=1)
    assert "x" in broker.protocol.table.times
    user.meet(broker, at=2)
    assert user.protocol.role == "user"
    assert user.protocol.table.times == {}


def test_what_is_held_is_delivered_to_a_late_subscriber_in_order_of_age() -> None:
    author, broker = swarm("ub").nodes
    said = [author.publish(topic, at=at) for at, topic in enumerate(("hockey", "football", "hockey"), 1)]
    author.meet(broker, at=10)
    broker.subscribe("hockey^0.5 football^0.5", at=11)
    assert broker.delivered == said


@pytest.mark.parametrize(("other", "told"), [("u", []), ("b", ["1->2 m0"])])
def test_only_another_broker_is_told_what_has_come(other: str, told: list[str]) -> None:
    net = swarm("ub" + other)
    author, broker, neighbour = net.nodes
    author.connect(broker, at=1)
    broker.connect(neighbour, at=1)
    author.publish("A", at=2)
    assert net.packets("Have") == told


def test_a_reader_gets_what_is_on_its_way_to_a_broker() -> None:
    net = swarm("ubu", direct_delivery=True, links=Links(rate=0.1))
    author, broker, reader = net.nodes
    reader.subscribe("A")
    author.connect(broker, at=1)
    author.connect(reader, at=1)
    author.publish("A", at=2)
    net.advance(20)
    assert sorted(net.packets()) == ["0->1 m0", "0->2 m0"]
