"""B-SUB: what a device does not take, store or send: what is dead, has come too far, is known, or was lost."""

from __future__ import annotations

import pytest

from hunet import Links
from hunet.model import Message
from hunet.testing import Network, TestNode


def held(node: TestNode, message: Message) -> bool:
    return message in node.protocol.buffer


def interested(net: Network, *pairs: tuple[int, int]) -> None:
    """Let the devices on the right know that those on the left want x."""
    for reader, other in pairs:
        net[reader].subscribe("x")
        net[reader].meet(net[other])


def test_a_copy_that_has_come_max_hops_far_is_delivered_and_not_stored() -> None:
    for max_hops, stored in ((1, False), (2, True), (None, True)):
        net = Network("b-sub", 3, decay_cycle=1e9, max_hops=max_hops)
        author, middle, reader = net.nodes
        interested(net, (2, 1))
        middle.subscribe("x")
        message = author.publish("x", at=1.0)
        author.meet(middle, at=2.0)
        assert middle.delivered == [message]
        assert held(middle, message) == stored, max_hops
        middle.meet(reader, at=3.0)
        assert reader.delivered == [message] * stored


def test_what_dies_on_the_way_over_a_slow_link_is_not_delivered_or_stored() -> None:
    for ttl, arrives in ((3.0, False), (30.0, True)):
        net = Network("b-sub", 2, decay_cycle=1e9, links=Links(rate=0.1))  # ten seconds for a message
        author, reader = net.nodes
        reader.subscribe("x")
        message = author.publish("x", at=1.0, ttl=ttl)
        author.connect(reader, at=2.0)
        net.advance(13.0)
        assert net.packets() == ["0->1 m0"]
        assert reader.delivered == [message] * arrives
        assert held(reader, message) == arrives


@pytest.mark.parametrize("arrived", [True, False])
def test_a_mark_rises_only_for_what_has_arrived(arrived: bool) -> None:
    net = Network("b-sub", 3, decay_cycle=1e9)
    author, carrier, _ = net.nodes
    interested(net, (2, 1))
    message = author.publish("x", at=1.0)
    greetings = author.protocol.link_up(1, net.now), carrier.protocol.link_up(0, net.now)
    for packet in greetings[1]:
        author.protocol.receive(1, packet, net.now)
    packet = author.protocol.poll(1, net.now, 1)
    assert packet.messages == message.bit
    author.protocol.sent(1, packet, arrived, net.now)
    assert (author.protocol.marks.get(message.number, 0.0) > 0) == arrived
    assert author.protocol.poll(1, net.now, 1) is None  # what the link lost is not tried again in this contact


def test_what_a_neighbour_says_it_has_got_elsewhere_is_not_sent_to_it() -> None:
    """Two devices with a message meet its reader at once, over slow links; the second is busy with another."""
    net = Network("b-sub", 3, decay_cycle=1e9, links=Links(rate=1.0))
    one, two, reader = net.nodes
    reader.subscribe("x")
    two.subscribe("x")
    one.publish("x", at=1.0)
    one.connect(two, at=3.0)
    one.disconnect(two, at=10.0)
    two.publish("x", at=11.0)
    assert held(two, net.messages[0])
    one.connect(reader, at=20.0)
    two.connect(reader, at=20.0)
    net.advance(40.0)
    assert [packet for packet in net.packets() if "->2" in packet] == ["0->2 m0", "1->2 m1"]
    assert len(reader.delivered) == 2


def test_what_a_peer_wants_itself_raises_no_mark() -> None:
    """Marks are of copies that went to carriers; a delivery is none (section 4.4)."""
    net = Network("b-sub", 3, decay_cycle=1e9)
    author, reader, _ = net.nodes
    interested(net, (2, 1), (1, 2))  # it wants x, and knows somebody else who does
    message = author.publish("x", at=1.0)
    author.meet(reader, at=2.0)
    assert reader.delivered == [message]
    assert author.protocol.marks == {}


def test_what_dies_while_it_waits_for_a_slow_link_is_not_sent() -> None:
    net = Network("b-sub", 2, decay_cycle=1e9, links=Links(rate=1.0))
    author, reader = net.nodes
    reader.subscribe("x")
    for ttl in (1.5, None, None):
        author.publish("x", at=1.0, ttl=ttl)
    author.meet(reader, at=2.0, seconds=10)
    assert net.packets() == ["0->1 m2", "0->1 m1"]
