"""``surrender``: a live node that is short of storage asks its protocol for the copy of the lowest rank."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.model import members
from hunet.simulation.record import columns
from hunet.systems import PROTOCOLS
from hunet.testing import Network, TestNode

PARAMETERS: dict[str, dict[str, Any]] = {"random-broker": {"share": 0.5}, "socialcast": {"copies": 1}}
PARAMETERS["socialcast-random"] = PARAMETERS["socialcast"]


def holding(protocol: str, **parameters: Any) -> TestNode:
    """A device that holds m0 to m3, published at 0, 1, 2 and 3; m3 dies at 13."""
    node = Network(protocol, 2, **PARAMETERS.get(protocol, {}), **parameters)[0]
    for time, ttl in enumerate((None, None, None, 10.0)):
        node.publish("x", at=float(time), ttl=ttl)
    assert copies(node) == [0, 1, 2, 3]
    return node


def copies(node: TestNode) -> list[int]:
    return node._network.engine.record.copies_at(node.node)


def surrender(node: TestNode, *among: int) -> list[int]:
    """The numbers of what was given up; the observers were told of exactly that."""
    record, protocol = node._network.engine.record, node.protocol
    before = len(columns(record.removed, 4)[0])
    gone = members(protocol.surrender(sum(1 << number for number in among), node._network.now))
    _, nodes, messages, reasons = (column[before:].tolist() for column in columns(record.removed, 4))
    overflow = [m for m, reason in zip(messages, reasons, strict=True) if record.reasons[int(reason)] == "overflow"]
    assert gone == overflow
    assert set(nodes) <= {node.node}
    return list(gone)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_lowest_of_those_in_question_goes_and_nothing_else(protocol: str) -> None:
    node = holding(protocol)
    assert surrender(node, 1, 2, 3) == [1]  # of messages of one topic, all rank the oldest lowest
    assert copies(node) == [0, 2, 3]
    assert surrender(node, 3, 2) == [2]
    assert copies(node) == [0, 3]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_not_held_or_is_dead_cannot_go(protocol: str) -> None:
    node = holding(protocol)
    assert surrender(node) == []
    assert surrender(node, 0) == [0]
    assert surrender(node, 0) == []
    node._network.advance(13.5)
    assert surrender(node, 0, 3) == []
    assert set(copies(node)) >= {1, 2}


@pytest.mark.parametrize(("evict", "first"), [("oldest", 1), ("first-in", 1), ("last-in", 3)])
@pytest.mark.parametrize("buffer", [4, None])
def test_a_buffer_gives_up_what_it_would_evict(evict: str, first: int, buffer: int | None) -> None:
    node = holding("push", buffer=buffer, evict=evict)
    assert surrender(node, 1, 2, 3) == [first]
    assert copies(node) == sorted({0, 1, 2, 3} - {first})
