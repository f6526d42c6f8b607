"""The baselines on a table: a few devices, links opened and closed by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hunet import Links
from hunet.testing import Network, Pair


def test_push_sends_what_the_other_has_not_seen_newest_first() -> None:
    pair = Pair("push", links=Links(rate=1))
    old, new = pair.a.publish("x", at=0), pair.a.publish("x", at=1)
    pair.a.connect(pair.b, at=2)
    pair.advance(4)
    assert pair.packets() == [f"0->1 {new.id}", f"0->1 {old.id}"]


def test_push_does_not_send_twice() -> None:
    pair = Pair("push")
    pair.a.publish("x")
    pair.a.meet(pair.b, at=1)
    pair.a.meet(pair.b, at=2)
    assert pair.packets() == ["0->1 m0"]


def test_push_does_not_ask_for_a_link_to_who_has_the_message() -> None:
    pair = Pair("push")
    pair.a.publish("x")
    pair.a.connect(pair.b)
    asked: list[int] = []
    pair.b.protocol.driver = SimpleNamespace(wake=asked.append)
    pair.b.protocol._store(0b1, 0.0)
    assert asked == []
    pair.b.publish("x")
    assert asked == [0]


def test_push_passes_on_at_once_along_open_links() -> None:
    net = Network("push", 4)
    for one, other in zip(net.nodes, net.nodes[1:], strict=False):
        one.connect(other)
    net[3].subscribe("x")
    hello = net[0].publish("x", at=5)
    assert net[3].delivered == [hello]
    assert net.packets() == ["0->1 m0", "1->2 m0", "2->3 m0"]


def test_push_delivers_what_it_holds_to_a_late_subscriber() -> None:
    pair = Pair("push")
    hello = pair.a.publish("x")
    pair.a.meet(pair.b, at=1)
    assert pair.b.delivered == []
    pair.b.subscribe("x", at=2)
    pair.b.unsubscribe("x", at=3)
    pair.b.subscribe("x", at=4)
    assert pair.b.delivered == [hello]


def test_push_never_takes_back_what_its_full_buffer_dropped() -> None:
    net = Network("push", 3, buffer=1)
    ann, bob, eve = net.nodes
    old = ann.publish("x", at=0)
    ann.meet(eve, at=1)
    new = bob.publish("x", at=5)
    ann.meet(bob, at=6)
    assert old not in ann.protocol.buffer
    assert new in ann.protocol.buffer
    ann.meet(eve, at=7)
    assert net.packets() == ["0->2 m0", "1->0 m1", "0->2 m1"]


def test_pull_serves_the_subscriber_from_the_publisher_only() -> None:
    net = Network("pull", 3)
    publisher, friend, stranger = net.nodes
    friend.subscribe("x")
    stranger.subscribe("x")
    hello = publisher.publish("x")
    publisher.publish("y")
    publisher.meet(friend, at=1)
    friend.meet(stranger, at=2)
    assert friend.delivered == [hello]
    assert stranger.delivered == []
    assert net.packets() == ["0->1 m0"]


def test_pull_from_anyone_serves_from_receivers_too() -> None:
    net = Network("pull", 3, from_anyone=True)
    publisher, friend, stranger = net.nodes
    friend.subscribe("x")
    stranger.subscribe("x")
    hello = publisher.publish("x")
    publisher.meet(friend, at=1)
    friend.meet(stranger, at=2)
    assert stranger.delivered == [hello]


def test_pull_hears_of_a_new_interest_while_the_contact_lasts() -> None:
    pair = Pair("pull")
    hello = pair.a.publish("x")
    pair.a.connect(pair.b, at=1)
    assert pair.b.delivered == []
    pair.b.subscribe("x", at=2)
    assert pair.b.delivered == [hello]


def test_spray_gives_half_of_its_tokens_and_then_waits() -> None:
    net = Network("spray-and-wait", 5, copies=4)
    source, first, second, third, fourth = net.nodes
    message = source.publish("x").bit
    source.meet(first, at=1)
    assert (source.protocol.tokens[message], first.protocol.tokens[message]) == (2, 2)
    source.meet(second, at=2)
    assert (source.protocol.tokens[message], second.protocol.tokens[message]) == (1, 1)
    source.meet(third, at=3)
    assert message not in third.protocol.tokens
    first.meet(fourth, at=4)
    assert (first.protocol.tokens[message], fourth.protocol.tokens[message]) == (1, 1)
    assert net.packets() == ["0->1 m0", "0->2 m0", "1->4 m0"]


@pytest.mark.parametrize("serve", [False, True])
def test_spray_lets_subscribers_serve_if_told_so(serve: bool) -> None:
    net = Network("spray-and-wait", 3, copies=1, subscribers_serve=serve)
    source, reader, another = net.nodes
    for each in (reader, another):
        each.subscribe("x")
    hello = source.publish("x")
    source.meet(reader, at=1)
    reader.meet(another, at=2)
    assert (another.delivered == [hello]) == serve


def test_spray_delivers_to_subscribers_without_spending_a_token() -> None:
    net = Network("spray-and-wait", 3, copies=2)
    source, reader, other = net.nodes
    reader.subscribe("x")
    hello = source.publish("x")
    source.meet(reader, at=1)
    assert reader.delivered == [hello]
    assert source.protocol.tokens[hello.bit] == 2
    assert len(reader.protocol.buffer) == 0
    source.meet(other, at=2)
    assert source.protocol.tokens[hello.bit] == 1


def test_spray_keeps_its_tokens_when_the_packet_is_lost() -> None:
    pair = Pair("spray-and-wait", copies=2, links=Links(rate=0.1))
    message = pair.a.publish("x").bit
    pair.a.meet(pair.b, at=1, seconds=5)  # ten seconds would be needed
    assert pair.a.protocol.tokens[message] == 2
    assert pair.engine.record.aborted == 1


def test_a_message_is_of_use_up_to_and_including_its_last_instant() -> None:
    for time, expected in ((10.0, 1), (10.1, 0)):
        pair = Pair("push")
        pair.b.subscribe("x")
        pair.a.publish("x", at=0, ttl=10)
        pair.a.meet(pair.b, at=time)
        assert len(pair.b.delivered) == expected


def test_a_message_that_dies_on_a_slow_link_is_not_delivered() -> None:
    pair = Pair("push", links=Links(rate=0.1))
    pair.b.subscribe("x")
    pair.a.publish("x", at=0, ttl=9)
    pair.a.meet(pair.b, at=0, seconds=20)
    assert pair.packets() == ["0->1 m0"]
    assert pair.b.delivered == []
    assert len(pair.b.protocol.buffer) == 0


def test_a_hop_limit_stops_the_copy_but_not_the_delivery() -> None:
    net = Network("push", 4, max_hops=2)
    for node in net.nodes[1:]:
        node.subscribe("x")
    net[0].publish("x")
    for k in range(3):
        net[k].meet(net[k + 1], at=k)
    assert [len(node.delivered) for node in net.nodes] == [0, 1, 1, 0]
