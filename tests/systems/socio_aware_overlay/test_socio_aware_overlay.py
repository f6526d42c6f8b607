"""The Socio-Aware Overlay: the steps of section 5.2 of its paper, on a table and in small worlds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, HunetError, Links, Publication, Subscription, Workload, make_workload, run
from hunet.model import Catalogue, ConfigurationError, NodeSet
from hunet.protocols.codec import decode, encode
from hunet.simulation import EventLog
from hunet.simulation.event_log import _replay
from hunet.systems.socio_aware_overlay.detection import detect
from hunet.systems.socio_aware_overlay.frozen_communities import FrozenCommunity, freeze, with_loners
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters
from hunet.systems.socio_aware_overlay.packets import (
    Announcements,
    Direct,
    Handed,
    StateUpdate,
    Subscriptions,
    Unchanged,
)
from hunet.systems.socio_aware_overlay.socio_aware_overlay import Membership, OverlayParameters, SocioAwareOverlay
from hunet.systems.socio_aware_overlay.subscription_list import SubscriptionList
from hunet.testing import Network, TestNode
from tests.strategies import crowds, delivered


def nodes(*numbers: int) -> NodeSet:
    return sum(1 << number for number in numbers)


def frozen(
    size: int,
    *communities: tuple[Sequence[int], Sequence[int]],
    depth: int = 1,
    guests: Sequence[int] = (),
    **given: Any,
) -> Network:
    """Devices whose communities are known, as (members, brokers); loners are guests of the first."""
    known = [{"members": members, "brokers": brokers, "depth": depth} for members, brokers in communities]
    known[0]["guests"] = guests
    return Network("socio-aware-overlay", size, mode="frozen", communities=known, **given)


def introduce(*devices: TestNode, at: float) -> None:
    """Let devices meet one after the other, so that subscriptions reach the last one."""
    for number, (one, two) in enumerate(pairwise(devices)):
        one.meet(two, at=at + number)


# The path of a publication ------------------------------------------------------------------------------------------


def two_communities(**given: Any) -> tuple[Network, list[TestNode]]:
    """Ann publishes at home, where Bob is the broker; Eve subscribes elsewhere, where Dan is the broker."""
    net = frozen(4, ([0, 1], [1]), ([2, 3], [2]), **given)
    ann, bob, dan, eve = net.nodes
    eve.subscribe("news")
    eve.meet(dan, at=1)  # step 4: the subscription reaches the broker
    return net, [ann, bob, dan, eve]


def test_a_publication_goes_over_brokers_to_a_community_that_wants_it() -> None:
    net, (ann, bob, dan, eve) = two_communities()
    hello = ann.publish("news", at=10)
    ann.meet(bob, at=20)
    assert eve.delivered == []
    dan.meet(eve, at=30)
    assert eve.delivered == [hello]
    assert net.packets() == ["0->1 m0", "1->2 m0", "2->3 m0"]  # the second by a way that needs no contact
    assert [type(packet).__name__ for _, _, packet in net.sent if hasattr(packet, "hops")] == [
        "Handed",
        "Direct",
        "Handed",
    ]
    assert eve.protocol.hops[0] == 2  # the direct link counts none


def test_unicast_needs_contacts_between_brokers_and_direct_does_not() -> None:
    for carrier in ("epidemic", "contact"):
        net, (ann, bob, dan, eve) = two_communities(broker_link="unicast", unicast=carrier)
        hello = ann.publish("news", at=10)
        ann.meet(bob, at=20)
        dan.meet(eve, at=30)
        assert eve.delivered == []
        bob.meet(dan, at=40)
        dan.meet(eve, at=50)
        assert eve.delivered == [hello]
        assert eve.protocol.hops[0] == 3  # here every contact counts
    for carrier, carried in (("epidemic", True), ("contact", False)):
        net, (ann, bob, dan, eve) = two_communities(broker_link="unicast", unicast=carrier)
        ann.publish("news", at=10)
        ann.meet(bob, at=20)
        bob.meet(eve, at=30)  # no broker: it is only a carrier
        assert bool(net.packets()[1:]) == carried


def test_nothing_is_flooded_where_nobody_wants_it() -> None:
    net, (ann, bob, dan, eve) = two_communities()
    ann.publish("gossip", at=10)
    ann.meet(bob, at=20)
    dan.meet(eve, at=30)
    assert net.packets() == ["0->1 m0", "1->2 m0"]


def test_a_flood_stays_in_its_community_and_goes_as_far_as_the_broker_knows() -> None:
    """0 is the broker of a chain 0-1-2-3; 4 is of no community."""
    for depth, reached in ((1, [1]), (2, [1, 2]), (3, [1, 2, 3])):
        net = frozen(6, ([0, 1, 2, 3, 5], [0]), depth=depth)
        for reader in net.nodes[1:5]:
            reader.subscribe("news")
        introduce(net[3], net[2], net[1], net[0], at=1)
        net[4].meet(net[0], at=4)
        net[5].publish("news", at=10)
        net[5].meet(net[0], at=20)
        net[0].meet(net[4], at=21)
        introduce(*net.nodes[:5], at=30)
        assert [reader.node for reader in net.nodes if reader.delivered] == reached


def test_hops_within_one_instant_where_contacts_are_open_together() -> None:
    net = frozen(4, ([0, 1, 2, 3], [1]), depth=2)
    publisher, broker, middle, reader = net.nodes
    reader.subscribe("news")
    middle.connect(reader, at=1)
    broker.connect(middle, at=2)
    hello = publisher.publish("news", at=5)
    publisher.meet(broker, at=10)
    assert reader.delivered == [hello]
    assert reader.protocol.hops[0] == 3


def test_a_triangle_gets_a_message_once_each() -> None:
    """F6 of the workloads' fixtures."""
    net = frozen(3, ([0, 1, 2], [0, 1, 2]))
    for node in net.nodes:
        node.subscribe("news")
    for one, two in ((0, 1), (1, 2), (0, 2)):
        net[one].connect(net[two], at=0)
    net[0].publish("news", at=5)
    net.advance(6)
    assert [len(node.delivered) for node in net.nodes] == [0, 1, 1]


def test_injection_by_the_first_contact_or_by_a_broker() -> None:
    for inject, first in (("first-contact", ["0->3 m0"]), ("broker", [])):
        net = frozen(4, ([0, 1], [1]), ([2, 3], [2]), inject=inject)
        publisher, broker, other_broker, helper = net.nodes
        other_broker.subscribe("news")
        publisher.publish("news", at=10)
        publisher.meet(helper, at=20)  # of another community, and no broker
        assert net.packets() == first
        if inject == "first-contact":
            broker.meet(helper, at=30)  # takes it to the broker of its own community only
            assert net.packets() == first
            helper.meet(other_broker, at=40)
            assert net.packets() == ["0->3 m0", "3->2 m0", "2->1 m0"]
        else:
            publisher.meet(broker, at=40)
            assert net.packets() == ["0->1 m0", "1->2 m0"]
        assert len(other_broker.delivered) == 1
        assert publisher.protocol.buffer.held(net.now) == 0  # what is handed over is not kept


def test_an_errand_ends_where_others_were_quicker() -> None:
    net = frozen(4, ([0, 1, 2, 3], [0]))
    broker, publisher, slow, quick = net.nodes
    publisher.connect(slow, at=1)
    publisher.publish("news", at=5)
    slow.disconnect(publisher, at=6)
    broker.protocol.driver.messages.show(1)
    broker.protocol.receive_out_of_band(quick.node, Direct(1, (1,), 0), 7.0)  # it has come another way
    assert slow.protocol.buffer.held(8) == 1
    slow.meet(broker, at=10)
    assert slow.protocol.buffer.held(11) == slow.protocol.errands == 0
    assert "2->0 m0" not in net.packets()


def test_a_broker_that_publishes_waits_for_a_contact_and_then_serves() -> None:
    net = frozen(5, ([0, 1], [0]), ([2, 3], [2]))
    publisher, neighbour, broker, _, stranger = net.nodes
    neighbour.subscribe("news")
    broker.subscribe("news")
    neighbour.meet(publisher, at=1)
    publisher.publish("news", at=10)
    net.advance(19)
    assert broker.delivered == []
    publisher.meet(stranger, at=20)
    net.advance(21)
    assert len(broker.delivered) == 1
    assert broker.protocol.hops[0] == 0
    publisher.meet(neighbour, at=30)
    assert len(neighbour.delivered) == 1


def test_brokers_of_one_community_share_what_they_learn_in_direct_mode() -> None:
    net = frozen(4, ([0, 1, 2, 3], [0, 1]))
    first, second, reader, publisher = net.nodes
    reader.subscribe("news")
    reader.meet(first, at=1)
    publisher.publish("news", at=10)
    publisher.meet(first, at=20)
    net.advance(21)
    second.meet(reader, at=30)  # it knows of the subscription and has the publication without a contact of its own
    assert len(reader.delivered) == 1


def test_a_device_never_gets_its_own_words_or_a_message_twice() -> None:
    net = frozen(3, ([0, 1, 2], [0]))
    broker, publisher, reader = net.nodes
    for node in (publisher, reader):
        node.subscribe("news")
        node.meet(broker, at=net.now + 1)
    publisher.publish("news", at=10)
    for now in (20, 30, 40):
        publisher.meet(broker, at=now)
        reader.meet(broker, at=now + 5)
    assert len(reader.delivered) == 1
    assert publisher.delivered == []
    assert net.packets() == ["1->0 m0", "0->2 m0"]


# Subscriptions ------------------------------------------------------------------------------------------------------


def test_an_unsubscription_travels_along_a_gossip_chain_and_stops_delivery() -> None:
    """Reader - 1 - 2 - broker: each meets only the next; a second reader shows that the broker itself still works."""
    net = frozen(6, ([0, 1, 2, 3, 4, 5], [3]))
    reader, one, two, broker, publisher, _ = net.nodes
    reader.subscribe("news")
    introduce(reader, one, two, broker, at=1)
    first = publisher.publish("news", at=10)
    publisher.meet(broker, at=11)
    broker.meet(reader, at=12)
    assert reader.delivered == [first]

    reader.unsubscribe("news", at=20)
    reader.meet(one, at=21)
    one.meet(two, at=22)
    publisher.publish("news", at=23)
    publisher.meet(broker, at=24)  # word has not come yet: stale, and accepted by the paper (section 5.2, Membership)
    broker.meet(reader, at=25)
    assert net.packets()[-1] == "3->0 m1"
    assert reader.delivered == [first]  # its application does not want it any more

    two.meet(broker, at=30)
    publisher.publish("news", at=31)
    publisher.meet(broker, at=32)
    broker.meet(reader, at=33)
    assert net.packets()[-1] == "4->3 m2"
    assert broker.protocol.subscriptions.subscribers("news") == 0


def test_subscriptions_stay_in_their_community() -> None:
    net = frozen(4, ([0, 1], [0]), ([2, 3], [2]))
    net[1].subscribe("news")
    net[1].meet(net[3], at=1)
    net[3].meet(net[2], at=2)
    assert net[2].protocol.subscriptions.records() == ()
    net[1].meet(net[0], at=3)
    assert net[0].protocol.subscriptions.subscribers("news") == nodes(1)


def test_news_of_a_subscription_passes_through_open_contacts() -> None:
    net = frozen(3, ([0, 1, 2], [2]))
    net[0].connect(net[1], at=0)
    net[1].connect(net[2], at=1)
    net[0].subscribe("news", at=5)
    assert net[2].protocol.subscriptions.subscribers("news") == nodes(0)


RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("xy"), st.booleans(), st.integers(0, 4).map(float)), max_size=12
)


@given(RECORDS, RECORDS)
def test_subscription_lists_merge_in_any_order(one: Any, two: Any) -> None:
    def merged(*parts: Any) -> tuple[Any, ...]:
        made = SubscriptionList()
        for part in parts:
            made.update(part)
        return made.records()

    whole = merged(one, two)
    assert merged(two, one) == merged(one, two, one) == merged(merged(one), merged(two)) == whole
    made = SubscriptionList()
    assert {made.update(whole) == list(whole), made.update(whole) == []} == {True}
    for topic in "xy":
        wanting = nodes(*(node for node, about, wanted, _ in whole if about == topic and wanted))
        assert made.subscribers(topic) == wanting
    for node, topic, _, time in whole:
        assert time == max(t for n, about, _, t in [*one, *two] if (n, about) == (node, topic))


# Loners -------------------------------------------------------------------------------------------------------------


def test_a_loner_uses_the_default_community() -> None:
    """Frozen: the largest one, both for what it says and for what it wants."""
    net = frozen(4, ([0, 1, 2], [0]), guests=[3])
    broker, reader, _, loner = net.nodes
    reader.subscribe("news")
    loner.subscribe("sports")
    reader.meet(broker, at=1)
    loner.meet(broker, at=2)
    loner.publish("news", at=10)
    reader.publish("sports", at=10)
    loner.meet(broker, at=20)
    reader.meet(broker, at=21)
    loner.meet(broker, at=22)
    assert [len(node.delivered) for node in (reader, loner)] == [1, 1]


def test_online_a_loner_turns_to_the_first_broker_it_meets() -> None:
    net = online_trio(extra=1)
    *trio, loner = net.nodes
    loner.subscribe("news", at=300)
    assert loner.protocol.membership.brokers == 0
    loner.meet(trio[1], at=310)
    assert loner.protocol.membership.brokers == nodes(0, 1, 2)
    loner.meet(trio[1], at=320)  # now it knows to whom to tell its wishes
    net.advance(321)
    assert trio[2].protocol.subscriptions.subscribers("news") == nodes(3)
    trio[0].publish("news", at=330)
    trio[0].meet(trio[1], at=340)
    trio[2].meet(loner, at=350)
    assert len(loner.delivered) == 1
    alone = online_trio(extra=1, default_community=False)
    alone[3].meet(alone[1], at=310)
    assert alone[3].protocol.membership == Membership(nodes(3))


# Online: communities, brokers, and their changes --------------------------------------------------------------------


def online_trio(extra: int = 0, **given: Any) -> Network:
    """Three devices that have spent 100 s together, each with each, and heard of the others' familiar sets."""
    net = Network("socio-aware-overlay", 3 + extra, threshold=50, **given)
    for start in (0, 100):
        for one, two in ((0, 1), (0, 2), (1, 2)):
            net[one].connect(net[two], at=start)
        for one, two in ((0, 1), (0, 2), (1, 2)):
            net[one].disconnect(net[two], at=start + 60)
    return net


def test_devices_that_spend_time_together_become_a_community_of_brokers() -> None:
    net = online_trio()
    for device in net.nodes:
        assert device.protocol.membership == Membership(nodes(0, 1, 2), nodes(0, 1, 2), 1)
        assert device.protocol.directory.brokers == nodes(0, 1, 2)
    assert all(device.protocol.is_broker for device in net.nodes)
    single = online_trio(broker_group=False)
    assert [device.protocol.is_broker for device in single.nodes] == [True, False, False]


def test_the_threshold_is_crossed_in_the_middle_of_a_contact() -> None:
    net = Network("socio-aware-overlay", 2, threshold=100)
    net[0].meet(net[1], at=0, seconds=60)
    net[0].connect(net[1], at=200)
    net.advance(239)
    assert net[0].protocol.view.familiar == 0
    net.advance(241)
    assert net[0].protocol.view.familiar == nodes(1)


@pytest.mark.parametrize("link", ["direct", "unicast"])
def test_a_new_broker_gets_the_subscription_list_of_the_old(link: str) -> None:
    """A chain 1-0-2 has broker 0. Then 3 joins by 2 and 1, and the brokers change."""
    net = Network("socio-aware-overlay", 4, threshold=50, broker_link=link, broker_group=False)

    def together(one: int, two: int, at: float) -> None:
        net[one].meet(net[two], at=at, seconds=60)

    together(1, 2, 0)
    net[2].subscribe("news", at=70)
    together(1, 2, 100)
    assert net[1].protocol.is_broker  # of the pair 1, 2 it has the smaller number
    assert net[1].protocol.subscriptions.subscribers("news") == nodes(2)
    together(0, 1, 200)
    together(0, 2, 300)
    together(0, 1, 400)
    together(0, 2, 500)
    assert net[0].protocol.is_broker  # now it has, of three that all know each other
    net[1].meet(net[0], at=600)
    assert not net[1].protocol.is_broker
    assert net[0].protocol.subscriptions.subscribers("news") == nodes(2)
    handed_on = [(a, b) for a, b, packet in net.sent if (a, b) == (1, 0) and getattr(packet, "subscriptions", None)]
    assert handed_on
    roles = [(node, role) for _, node, role in net.engine.record.roles]
    assert (1, "broker") in roles
    assert (1, "user") in roles


def test_all_brokers_hear_of_a_change_of_brokers_without_a_contact() -> None:
    net = online_trio(extra=3)
    for start in (300, 400):
        for one, two in ((3, 4), (3, 5), (4, 5)):
            net[one].connect(net[two], at=start)
        for one, two in ((3, 4), (3, 5), (4, 5)):
            net[one].disconnect(net[two], at=start + 60)
    assert net[0].protocol.directory.brokers == nodes(0, 1, 2)
    net[0].meet(net[3], at=600)  # now the two communities know of each other
    net[3].meet(net[4], at=610)
    assert net[0].protocol.directory.brokers == nodes(0, 1, 2, 3, 4, 5)
    net[5].subscribe("news")
    net[5].meet(net[3], at=620)
    net[1].meet(net[0], at=630)
    net[1].publish("news", at=640)
    net[1].meet(net[2], at=650)
    net.advance(660)
    assert len(net[5].delivered) == 1  # it is a broker, and was told directly


def test_detection_in_the_simulator_is_detection_on_the_trace() -> None:
    """Online devices end up with the communities that ``detect`` finds, and tell each other C, F and FoC for it."""
    crowd = circles()
    for given_ in ({"algorithm": "k-clique"}, {"algorithm": "simple"}, {"aggressive": False}, {"window": 3000.0}):
        rules = DetectionParameters(threshold=300, **given_)
        found: list[int] = []
        run(crowd, Workload.of([], []), collecting(found), threshold=300, **given_)
        assert found == [device.nodes for device in detect(crowd, rules)]


def collecting(found: list[int]) -> Any:
    from hunet.systems.socio_aware_overlay.socio_aware_overlay import SocioAwareOverlay

    class Collecting(SocioAwareOverlay):
        def observations(self, now: float) -> dict[str, float]:
            found.append(self.view.nodes)
            return super().observations(now)

    return Collecting


def circles(members: int = 5, turns: int = 20) -> Contacts:
    """F4 of the workloads' fixtures: two cliques that meet inside every 100 s, and a bridge between them."""
    records = [
        (str(a), str(b), 100.0 * turn + a, 100.0 * turn + 50)
        for turn in range(turns)
        for first in (0, members)
        for a in range(first, first + members)
        for b in range(a + 1, first + members)
    ]
    bridge = [(str(members - 1), str(members), 1000.0 * turn, 1000.0 * turn + 50) for turn in range(turns // 10)]
    return Contacts.from_records([*records, *bridge])


def test_frozen_communities_of_a_trace() -> None:
    found = freeze(circles(), DetectionParameters(threshold=300))
    assert found == tuple(
        FrozenCommunity((n, n + 1, n + 2, n + 3, n + 4), (n, n + 1, n + 2, n + 3, n + 4)) for n in (0, 5)
    )
    assert with_loners(found, 12)[0].guests == (10, 11)
    single = freeze(circles(), DetectionParameters(threshold=300), single=True)
    assert [community.brokers for community in single] == [(0,), (5,)]


def test_betweenness_and_familiar_hops_choose_other_brokers() -> None:
    """A star of familiar pairs around 1, whose ends have met in passing: 0 and 3 never did."""
    star = [("1", str(other), 0.0, 400.0) for other in (0, 2, 3)]
    passing = [("0", "2", 500.0, 501.0), ("2", "3", 500.0, 501.0)]
    again = [("1", str(other), 1000.0, 1400.0) for other in (0, 2, 3)]
    crowd = Contacts.from_records(star + passing + again)
    chosen = {
        (by, hop): freeze(crowd, DetectionParameters(k=2, threshold=300), centrality=by, hop=hop)[0].brokers
        for by in ("closeness", "betweenness")
        for hop in ("met", "familiar")
    }
    assert chosen["closeness", "familiar"] == chosen["betweenness", "familiar"] == (1,)
    assert chosen["closeness", "met"] == chosen["betweenness", "met"] == (1, 2)


# Whole runs ---------------------------------------------------------------------------------------------------------


def test_who_is_listed_and_is_no_broker_withdraws_and_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 is told that it is a broker, and is none; what it is sent goes to the brokers of its community."""
    net = Network("socio-aware-overlay", 4, broker_link="direct")
    device, news = net[0].protocol, net[3].publish("news", at=0)
    device.receive_out_of_band(3, Announcements(((0, True, 1), (3, True, 1))), 5.0)
    assert device.directory.brokers == nodes(3)
    device.membership = Membership(nodes(0, 1), nodes(1))
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(device, "_send_out_of_band", lambda to, packet: sent.append((to, packet.messages)))
    device.receive_out_of_band(3, Direct(news.bit, (0,), nodes(0, 3)), 6.0)
    assert not device.floods
    assert sent == [(1, news.bit)]


def test_direct_serves_communities_that_never_meet_and_unicast_cannot() -> None:
    apart = Contacts.from_records([row for row in circles().records() if {row[0], row[1]} != {"4", "5"}])
    work = Workload.of([Publication("m", 1500.0, 0, "news")], [Subscription(9, "news"), Subscription(1, "news")])
    served = {
        (mode, link): run(apart, work, "socio-aware-overlay", mode=mode, threshold=300, broker_link=link).summary[
            "delivered"
        ]
        for mode in ("frozen", "online")
        for link in ("direct", "unicast")
    }
    # Online, brokers that never hear of each other cannot reach each other either.
    assert served == {
        ("frozen", "direct"): 2,
        ("frozen", "unicast"): 1,
        ("online", "direct"): 1,
        ("online", "unicast"): 1,
    }


def test_a_frozen_run_says_in_its_name_what_it_took_for_granted() -> None:
    crowd = circles()
    work = make_workload(crowd, 1, kind="overlay", messages=20, subscriptions=20, threshold=300.0)
    result = run(crowd, work, "socio-aware-overlay", mode="frozen", threshold=300)
    known = result.name["prepared"]["communities"]
    assert [community["members"] for community in known] == [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9)]
    assert result.summary["observed"] == {"brokers": 10.0, "loners": 0.0}
    again = run(crowd, work, "socio-aware-overlay", **result.name["parameters"])
    assert again.summary == result.summary


def test_lost_packets_are_tried_again_in_the_next_contact() -> None:
    crowd = circles(turns=40)
    work = make_workload(crowd, 3, kind="overlay", messages=30, subscriptions=30, threshold=300.0)
    given_: dict[str, Any] = {"mode": "frozen", "threshold": 300}
    sure = run(crowd, work, "socio-aware-overlay", **given_).summary
    lossy = [run(crowd, work, "socio-aware-overlay", links=Links(loss=0.5), seed=seed, **given_) for seed in range(6)]
    assert all(result.summary["lost"] > 0 for result in lossy)
    # The last publications have too few contacts left for all of that.
    assert min(result.summary["delivered"] for result in lossy) >= 0.9 * sure["delivered"]
    assert max(result.summary["delivered"] for result in lossy) == sure["delivered"]


@given(crowds(ttl=True), st.sampled_from(["online", "frozen"]), st.sampled_from(["direct", "unicast"]))
def test_a_log_replays_to_the_same_actions(crowd: Any, mode: str, link: str) -> None:
    contacts, workload = crowd
    log = io.StringIO()
    given_: dict[str, Any] = {"mode": mode, "broker_link": link, "threshold": 3.0, "k": 2}
    watched = run(contacts, workload, "socio-aware-overlay", log=EventLog(log), **given_)
    assert watched.summary == run(contacts, workload, "socio-aware-overlay", **given_).summary
    assert _replay(Path("log"), io.StringIO(log.getvalue())) > 0


@given(crowds(), st.sampled_from(["first-contact", "broker"]))
def test_over_contacts_alone_nobody_is_served_before_epidemic_could(crowd: Any, inject: str) -> None:
    contacts, workload = crowd
    given_: dict[str, Any] = {"broker_link": "unicast", "threshold": 3.0, "k": 2, "inject": inject}
    epidemic = delivered(run(contacts, workload, "push"))
    for pair, time in delivered(run(contacts, workload, "socio-aware-overlay", **given_)).items():
        assert epidemic[pair] <= time


def test_who_knows_of_no_broker_serves_those_it_meets() -> None:
    """Step 7 has no default community to offer yet: Bob carries from Ann to Eve, whose wishes he has heard."""
    for link in ("direct", "unicast"):
        net = Network("socio-aware-overlay", 3, broker_link=link)
        ann, bob, eve = net.nodes
        eve.subscribe("news")
        bob.meet(eve, at=0, seconds=10)
        news = ann.publish("news", at=20)
        ann.meet(bob, at=30, seconds=10)
        bob.meet(eve, at=50, seconds=10)
        assert eve.delivered == [news]


def test_live_nodes_use_contacts_only_and_refuse_links_that_they_have_not() -> None:
    live = SocioAwareOverlay.prepare_live(OverlayParameters(), 1)
    assert live.broker_link == "unicast"
    with pytest.raises(ConfigurationError, match="set broker_link=unicast"):
        SocioAwareOverlay.prepare_live(OverlayParameters(broker_link="direct"), 1)


def test_what_did_not_concern_a_device_is_heard_when_it_does() -> None:
    """1 tells of its wishes before it is of the community; nothing new is said later, but now it counts."""
    net = Network("socio-aware-overlay", 2, threshold=50, default_community=False)
    net[1].subscribe("news")
    net[0].meet(net[1], at=0, seconds=40)
    assert net[0].protocol.subscriptions.subscribers("news") == 0
    net[0].meet(net[1], at=100, seconds=40)
    net[0].meet(net[1], at=200)
    assert net[0].protocol.subscriptions.subscribers("news") == nodes(1)


def test_bad_parameters_are_refused_in_one_line() -> None:
    crowd, nothing = circles(turns=1), Workload.of([], [])
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mode": "thawed"}, "mode"),
        ({"threshold": -1}, "threshold"),
        ({"broker_link": "pigeon"}, "broker_link"),
        ({"window": 1}, "window"),
        ({"communities": [{"members": [0]}]}, "brokers"),
    ]
    for given_, said in cases:
        with pytest.raises(HunetError, match=said) as error:
            run(crowd, nothing, "socio-aware-overlay", **given_)
        assert "\n" not in str(error.value)
    with pytest.raises(HunetError, match="needs communities"):
        Network("socio-aware-overlay", 2, mode="frozen")


def test_packets_travel_as_plain_data_with_names() -> None:
    messages = Catalogue()
    bit = messages.add("m1", "news", publisher=0, created=0.0).bit
    names = ["ann", "bob", "eve"]
    numbers = {name: i for i, name in enumerate(names)}
    packets = [
        StateUpdate(
            1, True, nodes(0, 1), nodes(1), {1: nodes(0, 2)}, {1: 5}, ((0, True, 9),), ((2, "news", True, 3.0),)
        ),
        Subscriptions(((2, "news", True, 3.0),)),
        Announcements(((0, False, 3),)),
        Unchanged(7),
        Handed(bit, (1,), "flood", nodes(1, 2), 1),
        Direct(bit, (1,), nodes(0)),
    ]
    plain = [encode(packet, messages, names) for packet in packets]
    assert plain[0] == {
        "kind": "socio-aware-overlay.StateUpdate",
        "community": ["bob", "ann"],
        "familiar": ["bob"],
        "familiar_of": {"bob": ["eve", "ann"]},
        "versions": {"bob": 5},
        "announcements": [["ann", True, 9]],
        "subscriptions": [["eve", "news", True, 3.0]],
        "number": 1,
        "full": True,
    }
    assert plain[1]["subscriptions"] == [["eve", "news", True, 3.0]]
    assert [decode(each, messages, numbers) for each in plain] == packets
    # Another driver numbers devices differently: names keep the meaning.
    assert decode(plain[0], messages, {"eve": 0, "ann": 1, "bob": 2}) == StateUpdate(
        1, True, nodes(1, 2), nodes(2), {2: nodes(0, 1)}, {2: 5}, ((1, True, 9),), ((0, "news", True, 3.0),)
    )
