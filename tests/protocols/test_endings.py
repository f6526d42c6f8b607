"""A subscription that is over is forgotten by whoever kept it for others, and told to nobody, in every system."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from hunet.model import interest_of
from hunet.model.keys import cover
from hunet.protocols.state import parts_of
from hunet.systems import PROTOCOLS
from hunet.testing import Network, TestNode

DAY = 86_400.0
TAG, PREDICATE = "zebra", 'kind = "zebra" and price in 10..20'
CHAIN = [[0, 1, 0.9], [1, 2, 0.9], [2, 3, 0.9], [0, 4, 0.3], [4, 5, 0.9]]

ENDS: dict[str, tuple[dict[str, Any], float]] = {
    "push": ({}, 0.0),
    "pull": ({}, 0.0),
    "spray-and-wait": ({}, 0.0),
    "prophet": ({}, 0.0),
    "prophet-v2": ({}, 0.0),
    "max-prop": ({}, 0.0),
    "bubble-rap": ({"threshold": 3.0, "window": 50.0}, 0.0),
    "b-sub": ({"decay_cycle": 100.0}, 255 * 100.0),  # a counter's ceiling
    "b-sub-p": ({"decay_cycle": 100.0}, 255 * 100.0),
    "b-sub-push": ({"decay_cycle": 100.0}, 255 * 100.0),
    "b-sub-pull": ({}, 0.0),
    "socialcast": ({"period": 5.0}, DAY + 350 * 5.0),  # so many ticks until a forecast is 0
    "socialcast-random": ({"period": 5.0}, DAY),
    "socio-aware-overlay": ({"threshold": 3.0, "broker_link": "unicast"}, 7 * DAY),
    "social-election": ({"window": 100.0, "lower_bound": 1}, DAY),  # ten windows, and a day at least
    "random-broker": ({"cycle": 30.0, "share": 0.5}, 10 * 6 * 3600.0),  # whose window is of six hours at most
    "mops": ({"closeness": CHAIN}, 0.0),
    "k-nearest": ({}, 0.0),
    "foresight": ({}, 0.0),
}
"""For each protocol: parameters, and after how many seconds nobody has it any more, once all have met again."""

each_protocol = pytest.mark.parametrize("protocol", ENDS)


def test_every_protocol_takes_part() -> None:
    assert ENDS.keys() == PROTOCOLS.keys()


def meetings(net: Network, times: int = 1) -> None:
    """Everybody meets everybody, one pair after the other, for long enough to become familiar."""
    for _ in range(times):
        for one, two in combinations(net.nodes, 2):
            one.meet(two, at=net.now + 1, seconds=6)


def train(net: Network) -> None:
    """Let those learn whom people meet that do so beforehand."""
    if hasattr(net.nodes[0].protocol, "phase"):
        net.phase("train")
        meetings(net)
        net.phase("operate")


def known_by(node: TestNode) -> bool:
    """Whether a device has the interest in its state, as text or in a filter."""
    relay = getattr(node.protocol, "relay", None)
    keys = [*(cover(interest_of(TAG)) or ()), *(cover(interest_of(PREDICATE)) or ())]
    faded = relay.decay(node.protocol._ticks(node._network.now)) if relay else None
    return "zebra" in repr(parts_of(node.protocol)) or (faded is not None and any(map(faded.value, keys)))


@each_protocol
def test_what_is_over_is_forgotten_and_told_to_nobody(protocol: str) -> None:
    parameters, after = ENDS[protocol]
    net = Network(protocol, 6, **parameters)
    train(net)
    reader, *others = net.nodes
    for interest in (TAG, PREDICATE):
        reader.subscribe(interest)
    others[0].subscribe("yak")
    meetings(net, 3)
    tells = "zebra" in repr(net.sent) or any(map(known_by, others))
    assert tells or protocol in ("push", "spray-and-wait")  # which ask nobody
    for interest in (TAG, PREDICATE):
        reader.unsubscribe(interest)
    meetings(net, 3)
    net.advance(net.now + after)
    meetings(net, 2)
    told = len(net.sent)
    meetings(net)
    assert len(net.sent) > told
    assert "zebra" not in repr(net.sent[told:])
    assert [node.node for node in net.nodes if known_by(node)] == []
    others[1].publish(TAG)
    meetings(net, 2)
    assert reader.delivered == []


@pytest.mark.parametrize(
    "protocol", ["prophet", "b-sub", "socialcast", "socio-aware-overlay", "social-election", "mops", "k-nearest"]
)
def test_others_keep_it_while_it_lasts(protocol: str) -> None:
    """So that the test above shows something."""
    net = Network(protocol, 6, **ENDS[protocol][0])
    train(net)
    net.nodes[0].subscribe(TAG)
    meetings(net, 3)
    assert any(map(known_by, net.nodes[1:]))
