"""What the contract promises of every protocol, and the size of its packets."""

from __future__ import annotations

import pytest

from hunet.model import Message
from hunet.protocols.carrier import Interests
from hunet.protocols.contract import Demand, Protocol
from hunet.systems import PROTOCOLS
from hunet.testing import Pair


class Silent(Protocol):
    """Overrides what it must."""

    def publish(self, message: Message, now: float) -> None:
        pass


def test_a_protocol_that_overrides_as_little_as_it_may() -> None:
    pair = Pair(Silent)
    message = pair.a.publish("x")
    pair.a.meet(pair.b, at=1)
    idle = pair.a.protocol
    assert idle.demand(message, 2.0) == Demand()
    assert (idle.surrender(0b1, 2.0), idle.circle(), idle.observations(2.0)) == (0, None, {})
    assert pair.packets() == []


def test_who_exchanges_once_in_a_contact() -> None:
    once = {name for name, kind in PROTOCOLS.items() if kind.exchanges_once}
    assert once == {"b-sub", "b-sub-p", "b-sub-pull", "b-sub-push", "random-broker", "social-election"}


@pytest.mark.parametrize(("protocol", "tells"), [("push", False), ("pull", True), ("spray-and-wait", True)])
def test_who_tells_what_it_wants(protocol: str, tells: bool) -> None:
    pair = Pair(protocol)
    pair.a.subscribe("x")
    pair.a.connect(pair.b, at=1)
    assert bool(pair.packets("Interests")) == tells
    assert pair.packets("Seen")
    before = len(pair.sent)
    pair.a.subscribe("y")
    assert pair.sent[before:] == [(0, 1, Interests(("x", "y")))] * tells
