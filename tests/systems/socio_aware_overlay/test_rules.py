"""Single rules of the overlay: of its directory of brokers and of its communities."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hunet.protocols.capabilities import Demand
from hunet.systems.socio_aware_overlay.broker_directory import BrokerDirectory
from hunet.systems.socio_aware_overlay.detection import agreed
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters, LocalCommunity
from hunet.systems.socio_aware_overlay.packets import Handed
from hunet.systems.socio_aware_overlay.socio_aware_overlay import Membership
from hunet.systems.socio_aware_overlay.subscription_list import SubscriptionList
from hunet.testing import Network

ANNOUNCEMENTS = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 9)), unique_by=lambda it: it[::2])


@given(ANNOUNCEMENTS, st.randoms())
def test_of_each_device_the_last_announcement_counts_in_whatever_order_they_come(
    announcements: list[tuple[int, bool, int]], rng: Random
) -> None:
    last = {node: broker for node, broker, _ in sorted(announcements, key=lambda it: it[2])}
    for patience in (None, 0.5):
        directory, shuffled = BrokerDirectory(patience), rng.sample(announcements, len(announcements))
        directory.update(shuffled[:3])
        directory.update(shuffled)
        assert directory.brokers == sum(1 << node for node, broker in last.items() if broker)
        assert [node for node, _, _ in directory.changed_since(-1)] == sorted(last)
        assert not directory.update(announcements)


def test_a_broker_that_is_silent_for_long_is_gone_until_it_announces_itself_again() -> None:
    directory = BrokerDirectory(patience=0.5)
    directory.update([(1, True, 0), (2, True, 0)])
    directory.update([(1, True, 20_000), (2, True, 15_000)])  # known for so long: they may be silent for half of it
    assert not directory.expire(22_000.0)
    assert directory.expire(23_000.0)
    assert (directory.brokers, directory.gone) == (0b010, 0b100)
    assert not directory.expire(23_001.0)
    assert directory.update([(2, True, 23_002)])
    assert (directory.brokers, directory.gone) == (0b110, 0)
    assert directory.expire(99_000.0)
    patient = BrokerDirectory(None)
    patient.update([(1, True, 0)])
    assert not patient.expire(1e9)


def test_a_device_announces_itself_before_others_take_it_for_gone() -> None:
    directory = BrokerDirectory(patience=0.5)
    now, said = 0.0, []
    while now < 1e6:
        if directory.is_due(0, now):
            said.append(directory.announce(0, False, now))
        assert not directory.expire(now)
        now += 1000.0
    assert len(said) < 30
    assert directory.announce(0, True, 5.0)[2] > said[-1][2]  # a later one, whatever its clock says


def test_who_is_in_a_community_makes_no_other() -> None:
    assert agreed([0b011, 0b011, 0b100], least=1) == [0b011, 0b100]


def test_a_friend_whom_the_window_has_left_behind_is_a_change() -> None:
    mine = LocalCommunity(0, DetectionParameters(threshold=10.0, window=100.0))
    mine.link_up(1, 0.0)
    mine.reach_threshold(1, 10.0)
    mine.link_down(1, 20.0)
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
    assert ann.protocol.membership.community == 0b011
    ann.meet(eve, at=500)
    assert ann.protocol.membership == Membership(0b001)


def sent_out_of_band(net: Network, node: int, membership: Membership) -> list[tuple[int, str]]:
    """What a device sends, and to whom, when its membership changes."""
    before = len(net.sent)
    net[node].protocol._set_membership(membership, net.now)
    net.advance(net.now + 1)
    return sorted((receiver, type(packet).__name__) for sender, receiver, packet in net.sent[before:] if sender == node)


def test_brokers_tell_each_other_of_a_change_and_others_do_not() -> None:
    net = overlay()
    net[0].protocol.directory.update([(5, True, 0), (1, True, 0)])
    assert sent_out_of_band(net, 0, Membership(0b0111, 0b0110, 1)) == []  # it is no broker and was none
    assert sent_out_of_band(net, 0, Membership(0b0111, 0b0011, 1)) == [(1, "Announcements"), (5, "Announcements")]
    # A broker that was one already has the subscriptions; a new one is given them.
    found = sent_out_of_band(net, 0, Membership(0b0111, 0b0110, 1))
    assert found == [(1, "Announcements"), (2, "Subscriptions"), (5, "Announcements")]


def test_what_a_broker_hears_of_strangers_concerns_it_if_they_or_brokers_of_its_own_say_it() -> None:
    net = overlay()
    broker = net[0].protocol
    broker._set_membership(Membership(0b0111, 0b0011, 1), 0.0)
    stranger = (5, "news", True, 1.0)
    assert [bool(broker._of_concern((stranger,), peer, 1.0)) for peer in (1, 2, 4, 5)] == [True, False, False, True]
    assert broker._of_concern(((2, "news", True, 1.0),), 4, 1.0)
    member = net[2].protocol
    member._set_membership(Membership(0b0111, 0b0011, 1), 0.0)
    assert [bool(member._of_concern((stranger,), peer, 1.0)) for peer in (0, 5)] == [False, False]


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
    ann.protocol._set_membership(Membership(0b0111, 0b0010, 1), 0.0)
    assert ann.protocol.lacking(1, 0, 0.0) == message.bit
    net[1].protocol._set_membership(Membership(0b0111, 0b0010, 1), 0.0)
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
