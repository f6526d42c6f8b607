"""PRoPHET by its equations, and what RFC 6693 changed."""

from __future__ import annotations

import pytest

from hunet import Links
from hunet.model import PeerError
from hunet.protocols.prophet import Predictabilities
from hunet.testing import Network


def p(net: Network, node: int, other: int) -> float:
    return float(net[node].protocol.predictability(other, net.now))


def test_equation_1_meetings_raise() -> None:
    net = Network("prophet", 2, gamma=1.0)
    net[0].meet(net[1], at=0.0)
    assert p(net, 0, 1) == p(net, 1, 0) == pytest.approx(0.75)
    net[0].meet(net[1], at=1.0)
    assert p(net, 0, 1) == pytest.approx(0.75 + 0.25 * 0.75)


def test_equation_2_time_lets_fall() -> None:
    net = Network("prophet", 2, time_unit=10.0)
    net[0].meet(net[1], at=0.0)
    net.advance(50.0)
    assert p(net, 0, 1) == pytest.approx(0.75 * 0.98**5)
    net.advance(55.0)
    assert p(net, 0, 1) == pytest.approx(0.75 * 0.98**5.5)


def test_equation_3_what_others_know_counts() -> None:
    net = Network("prophet", 3, time_unit=10.0)
    net[1].meet(net[2], at=0.0)
    net[0].meet(net[1], at=20.0)
    known = 0.75 * 0.98**2
    assert p(net, 0, 2) == pytest.approx(0.75 * known * 0.25)
    net[0].meet(net[1], at=20.0)  # again: now on top of what was there, and P(0, 1) has risen too
    before = 0.75 * known * 0.25
    assert p(net, 0, 2) == pytest.approx(before + (1 - before) * (0.75 + 0.25 * 0.75) * known * 0.25)


def test_a_copy_goes_to_whoever_is_more_likely_to_meet_a_subscriber() -> None:
    net = Network("prophet", 4)
    net[3].subscribe("news", at=0.0)
    net[1].meet(net[3], at=1.0)
    hello = net[0].publish("news", at=2.0)
    net[0].meet(net[2], at=3.0)  # has never heard of a subscriber
    assert net.packets() == []
    net[0].meet(net[1], at=4.0)
    assert net.packets() == ["0->1 m0"]
    net[1].meet(net[2], at=5.0)  # is less likely
    assert net.packets() == ["0->1 m0"]
    net[1].meet(net[3], at=6.0)
    assert net[3].delivered == [hello]
    assert net[0].protocol.buffer.held(6.0) == hello.bit  # nobody gives his own copy away


def test_on_a_slow_link_deliveries_go_first_then_what_has_the_best_chance() -> None:
    net = Network("prophet", 5, links=Links(rate=1.0), gamma=1.0)
    for node, topic in ((1, "mine"), (3, "often"), (4, "rare")):
        net[node].subscribe(topic, at=0.0)
    net[1].meet(net[4], at=1.0)
    for time in (2.0, 3.0):
        net[1].meet(net[3], at=time)
    often, own, rare = (net[0].publish(topic, at=4.0) for topic in ("often", "mine", "rare"))
    net[0].connect(net[1], at=5.0)
    net.advance(9.0)
    assert net.packets() == [f"0->1 {message.id}" for message in (own, often, rare)]


def test_interests_that_changed_replace_those_that_were_heard_before() -> None:
    net = Network("prophet", 3)
    net[2].subscribe("old", at=0.0)
    net[1].meet(net[2], at=1.0)
    net[2].unsubscribe("old", at=2.0)
    net[2].subscribe("new", at=2.0)
    net[1].meet(net[2], at=3.0)
    net[0].publish("old", at=4.0)
    new = net[0].publish("new", at=4.0)
    net[0].meet(net[1], at=5.0)
    assert net.packets() == [f"0->1 {new.id}"]


def test_v2_first_meetings_and_those_that_come_soon_count_less() -> None:
    net = Network("prophet-v2", 2, gamma=1.0, typical_interval=100.0)
    net[0].meet(net[1], at=0.0)
    assert p(net, 0, 1) == pytest.approx(0.5)
    net[0].meet(net[1], at=25.0)  # a quarter of the typical time after they parted
    first = 0.5 + (1 - 0.01 - 0.5) * 0.7 * 0.25
    assert p(net, 0, 1) == pytest.approx(first)
    net[0].meet(net[1], at=225.0)  # twice the typical time: as much as there is
    assert p(net, 0, 1) == pytest.approx(first + (0.99 - first) * 0.7)
    for time in range(1000, 20_000, 200):
        net[0].meet(net[1], at=float(time))
    assert 0.98 < p(net, 0, 1) <= 0.99  # delta keeps it from certainty


def test_v2_hearsay_does_not_add_up() -> None:
    net = Network("prophet-v2", 4, gamma=1.0)
    for middle in (1, 2):
        net[middle].meet(net[3])
        net[0].meet(net[middle])
    assert p(net, 0, 3) == pytest.approx(0.5 * 0.5 * 0.9)  # the maximum, however many tell it


def test_v2_what_falls_below_the_threshold_is_forgotten() -> None:
    net = Network("prophet-v2", 2, gamma=0.5, time_unit=10.0, typical_interval=10.0)
    net[0].meet(net[1], at=0.0)
    net.advance(20.0)
    assert p(net, 0, 1) == pytest.approx(0.125)
    net.advance(24.0)
    assert p(net, 0, 1) == 0.0
    net[0].meet(net[1], at=30.0)
    assert p(net, 0, 1) == 0.5  # as at first


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(PeerError, match="no probability"):
        Network("prophet", 1)[0].protocol.check(Predictabilities({1: 1.5}))


@pytest.mark.parametrize("protocol", ["prophet", "prophet-v2"])
def test_neighbours_that_stay_hear_of_later_meetings_if_told_so(protocol: str) -> None:
    for renew, packets in ((False, []), (True, ["0->1 m0", "1->2 m0"])):
        net = Network(protocol, 3, renew=renew)
        net[2].subscribe("news", at=0.0)
        net[0].publish("news", at=1.0)
        net[0].connect(net[1], at=2.0)
        net[1].connect(net[2], at=3.0)  # what 0 heard of 1 is older
        assert net.packets() == packets
        assert len(net[2].delivered) == renew


def test_a_renewed_table_is_compared_and_not_inferred_from_again() -> None:
    net = Network("prophet", 4, renew=True, gamma=1.0)
    net[0].connect(net[1], at=1.0)
    net[1].connect(net[2], at=2.0)
    assert p(net, 0, 2) == 0.0
    assert net[0].protocol.better[1] == {2: pytest.approx(0.75)}
