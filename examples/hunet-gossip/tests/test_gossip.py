"""GOSSIP1 on a table: a test reads like the paper's example."""

from __future__ import annotations

import pytest
from hunet_gossip.gossip import Gossip

from hunet.testing import Network


@pytest.mark.parametrize(("probability", "arrives"), [(1.0, True), (0.0, False)])
def test_a_device_passes_on_or_not(probability: float, arrives: bool) -> None:
    net = Network(Gossip, 4, probability=probability, sure_hops=2)
    source, first, second, reader = net.nodes
    reader.subscribe("news")
    hello = source.publish("news", at=0)
    source.meet(first, at=10)
    first.meet(second, at=20)  # after one hop a message is sure to be passed on
    second.meet(reader, at=30)
    assert reader.delivered == ([hello] if arrives else [])
