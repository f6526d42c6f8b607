"""Neighbors, MOPS's opponent: who is nearest, and what happens to contacts that are open when its phases change."""

from __future__ import annotations

from hunet.systems.mops.closeness_graph import ClosenessGraph
from hunet.testing import Network


def test_the_nearest_are_those_whom_one_is_apart_from_shortly() -> None:
    net = Network("k-nearest", 4, nearest=2)
    net.phase("train")
    for peer, times in ((1, 1), (2, 2), (3, 6)):
        for _ in range(times):
            net[0].meet(net[peer], at=net.now + 5, seconds=1)
    net.advance(100)
    net.phase("operate")
    assert net[0].protocol.nearest == [3, 2]


def test_who_never_left_is_nearer_than_who_left_for_half_a_second() -> None:
    net = Network("k-nearest", 3, nearest=1)
    net.phase("train")
    net[0].connect(net[1])
    net[0].connect(net[2])
    net[0].disconnect(net[1], at=5)
    net[0].connect(net[1], at=5.5)
    net.advance(10)
    net.phase("operate")
    assert net[0].protocol.nearest == [2]


def test_of_those_who_are_equally_near_the_lowest_numbers_count() -> None:
    net = Network("k-nearest", 3, nearest=1)
    net.phase("train")
    net[0].meet(net[2], at=10, seconds=10)
    net[0].meet(net[1], at=80, seconds=10)
    net.advance(100)
    net.phase("operate")
    assert net[0].protocol.nearest == [1]


def test_who_has_left_before_the_training_is_not_met_in_it() -> None:
    net = Network("k-nearest", 3)
    net[0].meet(net[1], at=1)
    net[0].connect(net[2], at=2)
    net.phase("train")
    assert net[0].protocol.history.peers == [2]


def test_nothing_is_said_in_the_training() -> None:
    net = Network("k-nearest", 2)
    net.phase("train")
    net[0].connect(net[1], at=1)
    net[0].subscribe("x")
    assert net.sent == []


def test_contacts_that_are_open_when_the_training_ends_are_used() -> None:
    net = Network("k-nearest", 2)
    net.phase("train")
    net[1].subscribe("x")
    event = net[0].publish("x")
    net[0].connect(net[1], at=1)
    assert net.packets() == []
    net.advance(10)
    net.phase("operate")
    assert net[1].delivered == [event]


def test_links_are_counted_by_hops_from_one_on() -> None:
    graph = ClosenessGraph([(0, 1, 0.9), (1, 2, 0.9)], hops=3)
    assert graph.decided_for(0) == {1: 1, 2: 1, 3: 0}


def test_copies_go_on_only_to_who_wants_them_unless_anybody_may_collect() -> None:
    """0 publishes, 1 collects for 2, and 3 collects for 4; 1 meets 3."""
    for collects_from, taken in (("publishers", False), ("anybody", True)):
        net = Network("k-nearest", 5, nearest=1, collects_from=collects_from)
        net.phase("train")
        net[1].meet(net[2], at=1)
        net[3].meet(net[4], at=2)
        net.phase("operate")
        net[2].subscribe("x")
        net[4].subscribe("x")
        net[1].meet(net[2], at=10)
        net[3].meet(net[4], at=11)
        event = net[0].publish("x", at=12)
        net[0].meet(net[1], at=13)
        net[1].meet(net[3], at=14)
        assert (event in net[3].protocol.buffer) == taken
