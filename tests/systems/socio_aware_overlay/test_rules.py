"""Single rules of the overlay: of its directory of brokers and of its communities."""

from __future__ import annotations

from typing import Any

from hunet.protocols.capabilities import Demand
from hunet.systems.socio_aware_overlay.broker_directory import BrokerDirectory, Entry
from hunet.systems.socio_aware_overlay.detection import agreed
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters, LocalCommunity
from hunet.systems.socio_aware_overlay.packets import Handed
from hunet.systems.socio_aware_overlay.socio_aware_overlay import Place
from hunet.systems.socio_aware_overlay.subscription_list import SubscriptionList
from hunet.testing import Network


def test_of_two_entries_with_one_handle_the_newer_stays_however_unlike_they_are() -> None:
    new = Entry(0b001, 0b000111, 5.0)
    old = Entry(0b001, 0b111001, 1.0)
    assert (new.handle, old.handle) == (0, 0)
    directory = BrokerDirectory()
    assert directory.update([new])
    assert not directory.update([old])
    assert directory.entries() == (new,)


def test_a_community_without_brokers_is_no_news() -> None:
    directory = BrokerDirectory()
    assert not directory.update([Entry(0, 0b111, 5.0)])
    assert directory.entries() == ()


def test_who_is_in_a_community_makes_no_other() -> None:
    assert agreed([0b011, 0b011, 0b100], least=1) == [0b011, 0b100]


def test_a_friend_whom_the_window_has_left_behind_is_a_change() -> None:
    mine = LocalCommunity(0, DetectionParameters(threshold=10.0, window=100.0))
    mine.meet(1, 0.0)
    mine.cross(1, 10.0)
    mine.part(1, 20.0)
    mine._confirm(1, 20.0)
    assert not mine._forget(105.0)
    assert mine._forget(115.0)  # five seconds are left in the window, and it was confirmed within it
    assert (mine.familiar, mine.nodes) == (0, 0b11)


def overlay(**given: Any) -> Network:
    return Network("socio-aware-overlay", 6, mode="online", broker_link="direct", **given)


def test_who_has_lost_all_friends_is_alone_again() -> None:
    net = overlay(threshold=10.0, window=100.0)
    ann, bob, eve = net.nodes[:3]
    ann.meet(bob, at=0, seconds=20)
    assert ann.protocol.place.community == 0b011
    ann.meet(eve, at=500)
    assert ann.protocol.place == Place(0b001)


def told_out_of_band(net: Network, node: int, place: Place) -> list[tuple[int, str]]:
    """Whom a device tells, and what, when it takes a place."""
    before = len(net.sent)
    net[node].protocol._move(place, net.now)
    net.advance(net.now + 1)
    return sorted((receiver, type(packet).__name__) for sender, receiver, packet in net.sent[before:] if sender == node)


def test_brokers_tell_each_other_of_a_change_and_others_do_not() -> None:
    net = overlay()
    net[0].protocol.directory.update([(0b100000, 0b110000, 0.0)])
    assert told_out_of_band(net, 0, Place(0b0111, 0b0110, 1)) == []  # it is no broker and was none
    assert told_out_of_band(net, 0, Place(0b0111, 0b0011, 1)) == [(1, "BrokerNews"), (5, "BrokerNews")]
    # A broker that was one already has the subscriptions; a new one is given them.
    found = told_out_of_band(net, 0, Place(0b0111, 0b0110, 1))
    assert [(to, what) for to, what in found if what == "SubscriptionNews"] == [(2, "SubscriptionNews")]


def test_what_a_broker_hears_of_strangers_concerns_it_if_they_or_brokers_of_its_own_say_it() -> None:
    net = overlay()
    broker = net[0].protocol
    broker._move(Place(0b0111, 0b0011, 1), 0.0)
    stranger = (5, "news", True, 1.0)
    assert [bool(broker._of_concern([stranger], peer)) for peer in (1, 2, 4, 5)] == [True, False, False, True]
    assert broker._of_concern([(2, "news", True, 1.0)], 4)
    member = net[2].protocol
    member._move(Place(0b0111, 0b0011, 1), 0.0)
    assert [bool(member._of_concern([stranger], peer)) for peer in (0, 5)] == [False, False]


def test_a_flood_has_what_was_flooded_and_no_more() -> None:
    node = overlay()[0].protocol
    for messages in (0b100, 0b1000):
        node._flood(messages, 0b111, 2)
    assert node.floods == {(0b111, 2): 0b1100}


def test_a_publication_leaves_the_outbox_when_it_is_handed_over_and_is_offered_to_nobody_before() -> None:
    net = overlay(inject="broker")
    ann = net[0]
    message = ann.publish("news")
    assert ann.protocol.outbox == message.bit
    assert ann.protocol.lacking(3, 0, 0.0) == 0  # no broker
    ann.protocol._move(Place(0b0111, 0b0010, 1), 0.0)
    assert ann.protocol.lacking(1, 0, 0.0) == message.bit
    net[1].protocol._move(Place(0b0111, 0b0010, 1), 0.0)
    ann.protocol.sent(1, Handed(message.bit, (1,), "inject", 0, 0), True, 0.0)
    assert ann.protocol.outbox == 0


def test_nobody_carries_a_message_for_its_publisher_or_for_itself() -> None:
    net = overlay()
    node = net[0].protocol
    node.subscriptions.update([(number, "news", True, 1.0) for number in (0, 1, 2)])
    assert node.demand(net[1].publish("news"), 1.0) == Demand(0b100)


def test_who_unsubscribes_is_no_subscriber() -> None:
    wanted = SubscriptionList()
    wanted.update([(1, "news", True, 1.0), (2, "news", True, 1.0)])
    wanted.update([(2, "news", False, 2.0)])
    assert wanted.subscribers("news") == 0b010
