"""Single rules of Social Election and of its swarm."""

from __future__ import annotations

from hunet.protocols.contract import ID_BYTES
from hunet.systems.social_election.swarm import TIME_BYTES, Standing
from tests.systems.social_election.test_links import swarm


def test_a_standing_is_as_long_as_what_it_says() -> None:
    assert Standing("user", (), {}, 0).size == 1
    told = Standing("broker", ("ab", "c"), {"def": 1.0, "är": 2.0}, 0b101)
    assert told.size == 1 + 3 + (3 + 3 + 2 * TIME_BYTES) + 2 * ID_BYTES


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
