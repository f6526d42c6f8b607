"""What users and brokers do on links that are not as they should be, and with what they hear in the same contact."""

from __future__ import annotations

from typing import Any

from hunet.systems.social_election.social_election import Designation, Hello
from hunet.systems.social_election.swarm import Dispatch, Standing
from hunet.testing import Network, TestNode


def swarm(roles: str, **parameters: Any) -> Network:
    """Brokers (b) and users (u) that stay so."""
    net = Network("social-election", len(roles), **{"switching": 0.0, **parameters})
    for node, role in zip(net.nodes, roles, strict=True):
        if role == "b":
            node.protocol.become("broker", 0.0)
    return net


def hear(node: TestNode, peer: int) -> None:
    """A broker comes that knows nothing, and introduces itself."""
    node.protocol.link_up(peer, 1.0)
    node.protocol.receive(peer, Hello("broker", ()), 1.0)
    node.protocol.receive(peer, Standing("broker", (), {}, 0), 1.0)


def test_a_broker_is_credited_with_what_it_is_told_in_the_same_contact() -> None:
    """Delegation goes to whoever will be of use: after this contact, the other broker knows what this one knows."""
    node = swarm("b", replication="delegation")[0]
    node.protocol.table.refresh({"A": 0.5})
    message = node.publish("A", at=1.0)
    hear(node, 1)  # it knows of nobody who wants A, yet
    packet = node.protocol.poll(1, 1.0, 1)
    assert packet is not None
    assert packet.messages == message.bit


def test_a_user_credits_a_broker_with_its_own_topics() -> None:
    node = swarm("u")[0]
    node.subscribe("A")
    node.publish("B", at=0.2)
    wanted = node.publish("A", at=0.4)
    node.publish("B", at=0.6)
    hear(node, 1)
    packet = node.protocol.poll(1, 1.0, 1)
    assert packet.messages == wanted.bit  # the most useful first, though it is not the newest


def test_what_comes_in_is_offered_to_open_neighbours_but_not_back_to_its_giver() -> None:
    node, *_ = swarm("b" + "u" * 3).nodes
    message = node._network[3].publish("A")
    hear(node, 1)
    hear(node, 2)
    node.protocol.link_up(3, 1.0)  # is known to be a broker, and has not introduced itself yet
    node.protocol.receive(3, Hello("broker", ()), 1.0)
    node.protocol.receive(3, Designation("broker", None), 1.0)
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
    node.protocol.receive(0, Designation("user", "broker"), 1.0)
    assert node.protocol.role == "broker"
    assert not node.protocol.links[0].open
    node.protocol.receive(0, Standing("user", (), {}, 0), 1.0)  # and its role is then known without its encounters
    assert node.protocol.window.peers == ()
