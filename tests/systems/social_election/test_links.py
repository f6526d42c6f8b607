"""What users and brokers do on links that are not as they should be, and with what they hear in the same contact."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.systems.social_election.social_election import Hello
from hunet.systems.social_election.swarm import Designation, Dispatch, Standing
from hunet.testing import Network, TestNode


def swarm(roles: str, **parameters: Any) -> Network:
    """Brokers (b) and users (u) that stay so."""
    net = Network("social-election", len(roles), **{"switching": 0.0, "direct_delivery": False, **parameters})
    for node, role in zip(net.nodes, roles, strict=True):
        if role == "b":
            node.protocol.become("broker", 0.0)
    return net


def hear(node: TestNode, peer: int) -> None:
    """A broker comes that knows nothing, and introduces itself."""
    node.protocol.link_up(peer, 1.0)
    node.protocol.receive(peer, Hello("broker", ()), 1.0)
    node.protocol.receive(peer, Standing("broker", (), {}, 0), 1.0)


def test_a_broker_is_not_credited_with_what_it_is_told_in_the_same_contact() -> None:
    """Delegation goes to where a subscription came from, not to whoever has just heard of it."""
    node = swarm("b", replication="delegation")[0]
    node.protocol.table.refresh({"A": 0.5})
    node.publish("A", at=1.0)
    hear(node, 1)  # it knows of nobody who wants A
    assert node.protocol.poll(1, 1.0, 1) is None


def test_a_user_does_not_credit_a_broker_with_its_own_topics() -> None:
    node = swarm("u")[0]
    node.subscribe("A")
    node.publish("A", at=0.4)
    newest = node.publish("B", at=0.6)
    hear(node, 1)
    packet = node.protocol.poll(1, 1.0, 1)
    assert packet.messages == newest.bit  # nothing matches what the broker knows


def test_what_comes_in_is_offered_to_open_neighbours_but_not_back_to_its_giver() -> None:
    node, *_ = swarm("b" + "u" * 3).nodes
    message = node._network[3].publish("A")
    hear(node, 1)
    hear(node, 2)
    node.protocol.link_up(3, 1.0)  # is known to be a broker, and has not introduced itself yet
    node.protocol.receive(3, Hello("broker", ()), 1.0)
    node.protocol.receive(3, Designation("broker", None, 0), 1.0)
    node.receive(1, Dispatch(message.bit, 1, 0.0, False), 1.0)
    assert node.protocol.poll(1, 1.0, 1) is None
    assert node.protocol.poll(3, 1.0, 1) is None
    offered = node.protocol.poll(2, 1.0, 1)
    assert offered is not None
    assert (offered.messages, offered.hops) == (message.bit, 2)


def test_a_designation_after_a_greeting_that_was_lost_is_obeyed_and_not_answered() -> None:
    net = swarm("uu", switching=1.0)
    node = net[1]
    node.protocol.link_up(0, 1.0)
    node.protocol.receive(0, Designation("user", "broker", 0), 1.0)
    assert node.protocol.role == "broker"
    assert not node.protocol.links[0].open
    node.protocol.receive(0, Standing("user", (), {}, 0), 1.0)  # and its role is then known without its encounters
    assert node.protocol.window.peers == ()


def test_a_summary_names_what_the_neighbour_holds_and_nothing_else() -> None:
    """What was seen long ago, and is held by nobody here, is not told again and again."""
    net = swarm("bb", buffer=2)
    for at in range(20):
        net[at % 2].publish("A", at=at)
        net[0].meet(net[1], at=at)
    told = [packet for _, _, packet in net.sent if isinstance(packet, (Designation, Standing))]
    sets = [packet.holds if isinstance(packet, Designation) else packet.seen for packet in told]
    assert max(each.bit_count() for each in sets) == 2
    assert net[0].protocol.seen.bit_count() == 20


@pytest.mark.parametrize("protocol", ["social-election", "random-broker"])
def test_who_saw_a_message_before_says_so_to_a_neighbour_that_gets_it(protocol: str) -> None:
    """It was not among what the neighbour held when the two met."""
    given: dict[str, Any] = {"share": 0.0} if protocol == "random-broker" else {"switching": 0.0}
    net = Network(protocol, 3, direct_delivery=False, **given)
    for node in net.nodes:
        node.protocol.become("broker", 0.0)
    one, two, three = net.nodes
    message = one.publish("A", at=1)
    one.meet(two, at=2)
    two.connect(three, at=3)
    two.protocol.buffer.remove(message.number, "overflow")
    three.disconnect(two, at=4)
    three.protocol.buffer.remove(message.number, "overflow")
    two.connect(three, at=5)
    one.protocol.seen = 0
    three.connect(one, at=6)
    one.connect(two, at=6)
    assert net.packets() == ["0->1 m0", "1->2 m0"]
