"""Errands of the overlay: a publication on its way to a broker is carried until a broker has it."""

from __future__ import annotations

import pytest

from hunet.protocols.carrier import Seen
from hunet.systems.socio_aware_overlay.packets import Handed
from hunet.systems.socio_aware_overlay.socio_aware_overlay import Membership
from hunet.testing import Network


@pytest.mark.parametrize(("peer", "left"), [(1, True), (2, False)], ids=["a member", "a broker"])
def test_an_errand_ends_when_a_broker_has_the_message_and_not_when_anybody_has(peer: int, left: bool) -> None:
    net = Network("socio-aware-overlay", 3)
    carrier, author, _ = net.nodes
    carrier.protocol._set_membership(Membership(community=0b111, brokers=0b100), 0.0)
    message = author.publish("x")
    carrier.receive(1, Handed(message.bit, (1,), "inject", 0, 0), 1.0)
    assert carrier.protocol.errands == message.bit
    carrier.receive(peer, Seen(message.bit), 2.0)
    assert (carrier.protocol.errands == message.bit) == left
    assert (message in carrier.protocol.buffer) == left


def test_who_is_alone_is_a_loner_and_who_has_found_others_is_none() -> None:
    net = Network("socio-aware-overlay", 3, threshold=10.0)
    net[0].connect(net[1])
    net.advance(20.0)
    assert [node.protocol.observations(net.now)["loners"] for node in net.nodes] == [0, 0, 1]
