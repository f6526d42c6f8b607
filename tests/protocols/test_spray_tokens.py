"""Spray and Wait: tokens that come after the message itself are not lost."""

from __future__ import annotations

from hunet.protocols.spray_and_wait import Spray
from hunet.testing import Network


def test_who_was_only_delivered_a_message_carries_it_when_tokens_come() -> None:
    net = Network("spray-and-wait", 2)
    author, reader = net.nodes
    reader.subscribe("x")
    message = author.publish("x")
    reader.receive(0, Spray(message.bit, (1,), 0), 1.0)
    assert message not in reader.protocol.buffer
    reader.receive(0, Spray(message.bit, (2,), 3), 2.0)
    assert message in reader.protocol.buffer
    assert reader.protocol.tokens == {message.bit: 3}
    reader.receive(0, Spray(message.bit, (2,), 2), 3.0)
    assert reader.protocol.tokens == {message.bit: 5}
    assert reader.delivered == [message]
