"""What a SocialCast device gives up when a live node is short of storage: the copy that came in first."""

from __future__ import annotations

from hunet.model import Message
from hunet.systems.socialcast.socialcast import Advertisement, Transfer
from hunet.testing import Network, TestNode


def holding() -> tuple[TestNode, Message, Message]:
    """A device with three copies of its own publication, and one of an older one that came later."""
    net = Network("socialcast", 2, copies=3)
    author, node = net.nodes
    older = author.publish("x", at=1.0)
    own = node.publish("x", at=5.0)
    node.receive(author.node, Transfer(older.bit, (1,), True), 8.0)
    assert [number for number, _ in node.protocol.copies.values()] == [1, 1, 1, 0]
    return node, older, own


def test_the_copy_that_came_in_first_goes_one_at_a_time() -> None:
    node, older, own = holding()
    protocol = node.protocol
    for left in (2, 1, 0):
        assert protocol.surrender(older.bit | own.bit, 9.0) == own.bit
        assert [number for number, _ in protocol.copies.values()] == [own.number] * left + [older.number]
        assert protocol.held == older.bit | (own.bit if left else 0)
    assert protocol.surrender(older.bit | own.bit, 9.0) == older.bit
    assert (protocol.copies, protocol.held) == ({}, 0)
    assert protocol.surrender(older.bit | own.bit, 9.0) == 0


def test_others_stay_also_if_they_came_in_first() -> None:
    node, older, own = holding()
    assert node.protocol.surrender(older.bit, 9.0) == older.bit
    assert [number for number, _ in node.protocol.copies.values()] == [own.number] * 3


def test_a_copy_that_is_given_up_is_promised_to_nobody() -> None:
    node = Network("socialcast", 2, copies=1)[0]
    message = node.publish("x")
    node.protocol.link_up(1, 0.0)
    for wants in (("x",), ()):  # to be delivered, to be handed over
        node.receive(1, Advertisement(wants, {"x": 0.9}, 0), 0.0)
        node.protocol._plan()
        assert node.protocol._deliveries or node.protocol._handovers
    assert node.protocol.surrender(message.bit, 0.0) == message.bit
    assert node.protocol.poll(1, 0.0, 1) is None
