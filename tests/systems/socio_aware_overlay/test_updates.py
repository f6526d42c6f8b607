"""The overlay's devices send each other once what they know, and all of it again where something was lost."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Links
from hunet.systems.socio_aware_overlay.changes import Changes
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters, LocalCommunity
from hunet.systems.socio_aware_overlay.packets import Resend, StateUpdate, Subscriptions, Unchanged
from hunet.testing import Network

EXCHANGED = (StateUpdate, Unchanged, Subscriptions, Resend)


def network(nodes: int = 4) -> Network:
    return Network("socio-aware-overlay", nodes, threshold=10.0, broker_link="direct")


def sent(net: Network, sender: int, receiver: int, since: int = 0) -> list[Any]:
    """What one has sent another of what it knows."""
    packets = [packet for one, two, packet in net.sent[since:] if (one, two) == (sender, receiver)]
    return [packet for packet in packets if isinstance(packet, EXCHANGED)]


@given(st.lists(st.integers(0, 5)), st.data())
def test_changes_are_those_that_came_later(keys: list[int], data: st.DataObject) -> None:
    changes = Changes[int]()
    for key in keys:
        changes.add(key)
    count = data.draw(st.integers(0, changes.count))
    assert changes.since(count) == list(dict.fromkeys(reversed(keys[count:])))


@pytest.mark.parametrize("window", [None, 15.0])
def test_what_has_changed_adds_up_to_what_there_is(window: float | None) -> None:
    """Devices that are told everything each time find the same communities as those that are told what has changed."""
    rules = DetectionParameters(threshold=4.0, k=2, window=window)
    sizes = [0, 0]
    for seed in range(12):
        rng, nodes = Random(seed), range(5)
        crowds = [[LocalCommunity(node, rules) for node in nodes] for _ in range(2)]
        for turn in range(60):
            one, two = rng.sample(nodes, 2)
            now, end = 10.0 * turn, 10.0 * turn + rng.choice([1.0, 3.0, 5.0])
            for each, whole in zip(crowds, (True, False), strict=True):
                exchanged = []
                for a, b in ((one, two), (two, one)):
                    each[a].link_up(b, now)
                    if whole:
                        each[a].forget_sent(b)
                    exchanged.append((b, a, *each[a].changes_for(b)))
                for receiver, sender, full, update in exchanged:
                    sizes[whole] += len(update.familiar_of)
                    each[receiver].receive(sender, update, now, full)
                each[one].link_down(two, end)
                each[two].link_down(one, end)
            for first, second in zip(*crowds, strict=True):
                assert first.state() == second.state()
    assert 0 < sizes[0] < sizes[1] * (1 if window else 0.5)


def test_an_update_has_only_what_is_new() -> None:
    net = network()
    ann, bob, eve = net.nodes[:3]
    ann.subscribe("news")
    ann.meet(bob, at=0, seconds=20)
    before = len(net.sent)
    ann.meet(bob, at=100, seconds=5)
    (first,) = sent(net, 0, 1, before)
    assert (first.full, first.familiar) == (False, 0b10)
    assert [node for node, broker, _ in first.announcements if broker] == [0]  # it has become a broker
    assert first.subscriptions == ()  # it had that in the first contact
    ann.meet(bob, at=200, seconds=5)
    before = len(net.sent)
    ann.meet(bob, at=300, seconds=5)
    (nothing,) = sent(net, 0, 1, before)
    assert isinstance(nothing, Unchanged)
    before = len(net.sent)
    ann.meet(eve, at=400, seconds=5)  # a stranger
    assert sent(net, 0, 2, before)[0].full
    assert sent(net, 0, 2, before)[0].community == 0b11


def test_who_has_missed_something_asks_once_for_everything() -> None:
    net = network()
    ann, bob = net.nodes[:2]
    ann.meet(bob, at=0, seconds=20)
    lost = StateUpdate(77, community=0b1000)
    before = len(net.sent)
    ann.connect(bob, 100)
    ann.receive(1, lost, 100.0)
    ann.receive(1, lost, 100.0)
    assert ann.protocol.view.nodes == 0b11
    net.engine.settle()
    assert [packet for packet in sent(net, 0, 1, before) if isinstance(packet, Resend)] == [Resend(77)]
    answer = [packet for packet in sent(net, 1, 0, before) if isinstance(packet, StateUpdate)]
    assert [packet.full for packet in answer] == [False, True]
    assert answer[1].community == 0b11


def test_what_lossy_links_have_lost_is_sent_again() -> None:
    """With half of all packets lost, who meets often knows in the end what would be known without loss."""
    for loss in (0.0, 0.5):
        net = Network("socio-aware-overlay", 2, links=Links(loss=loss), threshold=10.0, broker_link="direct")
        ann, bob = net.nodes
        for turn in range(40):
            if turn < 5:
                ann.subscribe(f"t{turn}")
            ann.meet(bob, at=100.0 * turn, seconds=10)
        assert [record[1] for record in bob.protocol.subscriptions.records()] == [f"t{n}" for n in range(5)]
        assert bob.protocol.view.familiar_of[0] == 0b10
        asked = [packet for _, _, packet in net.sent if isinstance(packet, Resend)]
        assert bool(asked) == bool(loss)
