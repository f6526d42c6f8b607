"""MOPS devices that learn from each other give up waiting for those who have left (``patience``)."""

from __future__ import annotations

from hunet.testing import Network


def left_behind(patience: float) -> Network:
    """0 and 1 meet often, and so do 1 and 2 in the training; after it, at 100, 2 is never met again."""
    net = Network("mops", 3, learning="exchange", sigma=20.0, threshold=0.01, patience=patience)
    a, b, c = net.nodes
    net.phase("train")
    for turn in range(0, 100, 10):
        a.meet(b, at=turn + 1.0, seconds=2.0)
        b.meet(c, at=turn + 5.0, seconds=2.0)
    net.advance(100.0)
    net.phase("operate")
    for time in (101.0, 105.0, 109.0):
        a.meet(b, at=time, seconds=1.0)
    return net


def test_who_is_waited_for_in_vain_is_done_without_when_patience_runs_out() -> None:
    net = left_behind(patience=50.0)
    a, b, _ = net.nodes
    net.advance(149.0)
    assert not a.protocol.learner.exchange.placed
    assert not b.protocol.learner.exchange.placed
    alone = [node.protocol.structure.members(node.node) for node in (a, b)]
    net.advance(151.0)
    assert [node.protocol.structure.members(node.node) for node in (a, b)] == alone  # who is alone has asked nobody
    a.meet(b, at=152.0)
    assert [node.protocol.structure.members(node.node) for node in (a, b)] != alone
    assert a.protocol.community == b.protocol.community
    assert list(a.protocol.learner.exchange.communities.values()) == [(0, 1)]


def test_with_more_patience_they_still_wait() -> None:
    net = left_behind(patience=1000.0)
    net[0].meet(net[1], at=152.0)
    assert not net[0].protocol.learner.exchange.placed
