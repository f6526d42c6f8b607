"""Foresight: who gets a copy, what devices tell each other, and what they remember."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hunet
from hunet.model import Catalogue, PeerError
from hunet.model.messages import DeviceCatalogue
from hunet.protocols.contract import Driver
from hunet.protocols.state import parts_of, restore_part
from hunet.systems.foresight.encounters import SPANS, Encounters, span_of
from hunet.systems.foresight.foresight import Foresight, ForesightParameters
from hunet.systems.foresight.packets import CHANCES, TOP, Guided, Known, Reach, Share, level_of, packed, unpacked
from hunet.testing import Network
from tests.strategies import crowd


def habits(net: Network, meetings: list[tuple[int, int]], times: int, at: float = 0.0) -> float:
    """The same meetings again and again, a minute apart."""
    for _ in range(times):
        for one, other in meetings:
            at += 60.0
            net[one].meet(net[other], at=at)
    return at


def test_a_copy_goes_to_who_meets_the_subscriber_and_to_nobody_else() -> None:
    net = Network("foresight", 5)
    publisher, friend, stranger, reader, _ = net.nodes
    reader.subscribe("news")
    now = habits(net, [(1, 3), (0, 1), (2, 4), (0, 2)], times=40)
    hello = publisher.publish("news", at=now + 1, ttl=3600.0)
    publisher.meet(stranger, at=now + 10)
    publisher.meet(friend, at=now + 20)
    friend.meet(reader, at=now + 30)
    assert net.packets() == ["0->1 m0", "1->3 m0"]
    assert reader.delivered == [hello]


def test_two_hops_are_seen_and_three_are_not_asked_for() -> None:
    net = Network("foresight", 4)
    publisher, first, second, reader = net.nodes
    reader.subscribe("news")
    now = habits(net, [(2, 3), (1, 2), (0, 1)], times=40)
    hello = publisher.publish("news", at=now + 1, ttl=7200.0)
    publisher.meet(first, at=now + 10)
    first.meet(second, at=now + 20)
    second.meet(reader, at=now + 30)
    assert reader.delivered == [hello]


def test_what_another_copy_covers_is_not_covered_again() -> None:
    net = Network("foresight", 5, price=0.5, doubt=0.0)
    publisher, friend, other, reader, _ = net.nodes
    reader.subscribe("news")
    now = habits(net, [(1, 3), (2, 3), (0, 1), (0, 2)], times=40)
    publisher.publish("news", at=now + 1, ttl=7200.0)
    publisher.meet(friend, at=now + 10)
    publisher.meet(other, at=now + 20)
    assert net.packets() == ["0->1 m0"]


def test_who_has_met_nobody_gives_as_push_does() -> None:
    net = Network("foresight", 3)
    publisher, carrier, reader = net.nodes
    reader.subscribe("news")
    hello = publisher.publish("news", at=1)
    publisher.meet(carrier, at=10)
    carrier.meet(reader, at=20)
    assert reader.delivered == [hello]


def test_subscribers_keep_and_serve() -> None:
    net = Network("foresight", 3, price=100.0, doubt=0.0)
    publisher, reader, another = net.nodes
    for each in (reader, another):
        each.subscribe("news")
    publisher.publish("news", at=1)
    publisher.meet(reader, at=10)
    reader.meet(another, at=20)
    assert net.packets() == ["0->1 m0", "1->2 m0"]


def test_a_changed_interest_is_heard_of_at_the_next_meeting() -> None:
    net = Network("foresight", 2)
    one, other = net.nodes
    one.meet(other, at=10)
    other.subscribe("news", at=20)
    one.meet(other, at=30)
    assert one.protocol.subscribers("news") == (1,)
    other.unsubscribe("news", at=40)
    one.meet(other, at=50)
    assert one.protocol.subscribers("news") == ()


@pytest.mark.parametrize("seed", range(4))
def test_at_no_price_it_delivers_what_push_does(seed: int) -> None:
    contacts, workload = crowd(seed)
    free, push = hunet.run(contacts, workload, "foresight", price=0.0), hunet.run(contacts, workload, "push")
    assert free.summary["delivered"] == push.summary["delivered"]


def test_the_reach_is_told_again_when_the_evidence_has_doubled() -> None:
    net = Network("foresight", 2)
    one = net[0].protocol
    counts = []
    for meeting in range(1, 65):
        greeting = one.link_up(1, now=60.0 * meeting)
        one.link_down(1, now=60.0 * meeting + 1)
        if any(isinstance(packet, Reach) for packet in greeting):
            counts.append(meeting)
    assert counts == [1, 2, 4, 8, 16, 32, 64]


# Chances ---------------------------------------------------------------------------------------------------------


def test_the_chance_is_the_share_of_encounters_that_were_followed() -> None:
    book = Encounters()
    for day in range(100):  # 1 is met at noon, 2 an hour later every other day
        noon = day * 86400.0
        book.meet(1, noon)
        book.part(1, noon + 60)
        if day % 2:
            book.meet(2, noon + 3600)
            book.part(2, noon + 3660)
    hours = span_of(7200.0)
    assert SPANS[hours] >= 3600
    assert book.chance(2, hours) == pytest.approx((50 + 50) / 150, abs=0.05)  # after noon and while it is there
    assert book.chance(2, 0) == pytest.approx(50 / 150, abs=0.05)
    assert book.chance(1, span_of(86400.0 * 3)) == pytest.approx(1.0, abs=0.05)
    assert book.chance(7, 3) < 0.01


@given(st.lists(st.tuples(st.integers(1, 4), st.floats(1, 1e5), st.floats(0, 1e4)), max_size=60))
def test_chances_are_probabilities_and_grow_with_the_span(meetings: list[tuple[int, float, float]]) -> None:
    book, now = Encounters(), 0.0
    for node, gap, lasts in meetings:
        now += gap
        book.meet(node, now)
        now += lasts
        book.part(node, now)
    for node in range(1, 6):
        chances = book.chances(node)
        assert chances == sorted(chances)
        assert 0 <= chances[0] <= chances[-1] <= 1
        assert chances == [book.chance(node, span) for span in range(len(SPANS))]


def test_what_is_remembered_is_bounded() -> None:
    book = Encounters()
    for encounter in range(20_000):
        book.meet(encounter % 3, encounter * 60.0)
        book.part(encounter % 3, encounter * 60.0 + 1)
    assert len(book._times) <= 4096
    assert book.count <= 4096
    assert all(0.9 < book.chance(node, 4) <= 1 for node in range(3))


@given(st.lists(st.integers(0, TOP), min_size=len(SPANS), max_size=len(SPANS)))
def test_levels_come_back_from_their_bytes(levels: list[int]) -> None:
    assert unpacked(packed(levels)) == tuple(levels)
    assert [level_of(CHANCES[level]) for level in levels] == levels


def test_what_no_honest_device_sends_is_refused() -> None:
    device = Network("foresight", 1)[0].protocol
    for packet in (Reach(3, {1: Known(b"\0", None)}), Share(0b1, {1: 99}), Share(0b11, {}), Guided(0b1, (1,), {2: -1})):
        with pytest.raises(PeerError):
            device.check(packet)
    device.check(Share(0b1, {1: TOP}))


# State -----------------------------------------------------------------------------------------------------------


def test_a_device_goes_on_where_it_stopped() -> None:
    net = Network("foresight", 4)
    net[3].subscribe("news")
    now = habits(net, [(1, 3), (0, 1), (2, 0)], times=10)
    net[0].publish("news", at=now + 1)
    net[0].meet(net[1], at=now + 10)
    before = net[0].protocol
    again = Foresight(0, ForesightParameters(), cast("Driver", _Disk()), Random(0))
    for name, part in parts_of(before).items():
        restore_part(again, name, part)
    assert parts_of(again) == parts_of(before)
    assert again.subscribers("news") == before.subscribers("news")


class _Disk:
    def __init__(self) -> None:
        self.messages = DeviceCatalogue(Catalogue())

    def stored(self, messages: int) -> Any:
        pass


def test_what_has_expired_is_forgotten() -> None:
    net = Network("foresight", 2)
    net[0].publish("news", at=1, ttl=10.0)
    net[0].meet(net[1], at=5)
    net[0].meet(net[1], at=100)
    assert net[0].protocol.open == net[0].protocol.shared == {}
