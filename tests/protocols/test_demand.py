"""What each system tells people: whom a device carries a message for, and who its community is."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.protocols.capabilities import Demand, FindsCommunity
from hunet.systems import PROTOCOLS
from hunet.systems.mops.interests import InterestList
from hunet.testing import Network, TestNode

WORLD = [(0, 1, 0.9), (2, 3, 0.9), (1, 2, 0.3)]


def demand(node: TestNode, topic: str = "news", at: float | None = None) -> Demand:
    """What a device would say of a message of its own."""
    message = node.publish(topic)
    found: Demand = node.protocol.demand(message, message.created if at is None else at)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_has_met_nobody_knows_of_nobody(protocol: str) -> None:
    given: dict[str, Any] = {"share": 0.3} if protocol == "random-broker" else {}
    net = Network(protocol, 2, **given)
    assert demand(net[0]) == Demand()
    if isinstance(net[0].protocol, FindsCommunity):
        assert net[0].protocol.circle() == 0b1


def test_with_pull_it_is_who_asks_while_they_are_near() -> None:
    net = Network("pull", 3)
    ann, bob, eve = net.nodes
    bob.subscribe("news")
    eve.subscribe("arts")
    ann.connect(bob)
    ann.connect(eve)
    assert demand(ann) == Demand(devices=0b010)
    ann.disconnect(bob)
    assert demand(ann) == Demand()


def test_b_sub_knows_how_firmly_and_not_who_and_it_fades() -> None:
    net = Network("b-sub", 2, decay_cycle=10)
    ann, bob = net.nodes
    bob.subscribe("news")
    ann.meet(bob, at=1)
    assert demand(ann) == Demand(strength=5)
    assert demand(ann, at=21) == Demand(strength=3)
    assert demand(ann, "arts") == Demand()
    assert ann.protocol.relay.value("news") == 5  # asking changes nothing


def test_brokers_know_subscriptions_and_neighbours() -> None:
    net = Network("social-election", 2, switching=0.0)
    ann, bob = net.nodes
    ann.protocol.become("broker", 0.0)
    bob.subscribe("news")
    ann.meet(bob, at=10)
    assert demand(ann) == Demand(strength=1.0)  # nobody keeps who registered it
    ann.connect(bob)
    assert demand(ann).devices == 0b10


def test_socialcast_knows_the_neighbours_and_its_own_utility() -> None:
    net = Network("socialcast", 2)
    ann, bob = net.nodes
    bob.subscribe("news")
    ann.connect(bob)
    net.advance(3 * ann.protocol.parameters.period)
    found = demand(ann)
    assert found.devices == 0b10
    assert found.strength == ann.protocol.utilities["news"] > 0


def test_the_overlay_knows_subscribers_and_its_community() -> None:
    known = [{"members": [0, 1, 2], "brokers": [0], "depth": 1}]
    net = Network("socio-aware-overlay", 4, mode="frozen", communities=known)
    ann, bob, eve, dan = net.nodes
    eve.subscribe("news")
    eve.meet(bob, at=1)
    bob.meet(ann, at=2)
    assert demand(ann) == Demand(devices=0b100)
    assert (ann.protocol.circle(), dan.protocol.circle()) == (0b0111, 0b1000)


def test_mops_knows_the_lists_of_its_community_and_the_weight_of_others() -> None:
    net = Network("mops", 4, closeness=WORLD)
    ann, bob, eve, dan = net.nodes
    assert (ann.protocol.circle(), dan.protocol.circle()) == (0b0011, 0b1100)
    for one, other in ((ann, bob), (bob, ann)):
        one.protocol.book.hear([InterestList(other.node, 1.0, ("news",))])
        assert demand(one) == Demand(devices=1 << other.node)
    dan.subscribe("arts")
    dan.meet(eve, at=1)
    eve.meet(bob, at=2)
    assert demand(bob, "arts").devices == 0
    assert demand(bob, "arts").strength > 0
