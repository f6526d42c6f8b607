"""B-SUB and its kin on a table: a few devices, links opened and closed by hand."""

from __future__ import annotations

import pytest

from hunet import Links, make_workload, make_world, run
from hunet.model import Catalogue, ConfigurationError, PeerError
from hunet.protocols.codec import decode, encode
from hunet.protocols.state import parts_of, restore_part
from hunet.systems.b_sub.filter import FilterShape
from hunet.systems.b_sub.packets import Filters
from hunet.systems.b_sub.watch import OBSERVED
from hunet.testing import Network, Pair, TestNode

SHAPE = FilterShape()


def relay(node: TestNode, tag: str) -> int:
    return int(node.protocol.relay.value(tag))


# Interests ---------------------------------------------------------------------------------------------------------


def test_a_meeting_is_evidence_and_hearsay_does_not_add_up() -> None:
    net = Network("b-sub", 3, decay_cycle=1e9)
    ann, bob, eve = net.nodes
    ann.subscribe("x")
    for at in (1, 2, 3):
        ann.meet(bob, at=at)
    assert relay(bob, "x") == 15  # three meetings
    for at in (4, 5, 6):
        bob.meet(eve, at=at)
    assert (relay(bob, "x"), relay(eve, "x")) == (15, 15)


def test_vector_4_evidence_is_merged_before_hearsay() -> None:
    pair = Pair("b-sub", decay_cycle=1e9)
    pair.b.subscribe("x")
    for node, value in ((pair.a, 3), (pair.b, 6)):
        node.protocol.relay = FilterShape(initial=value).of(["x"])
    pair.a.meet(pair.b, at=1)
    assert relay(pair.a, "x") == 8


def test_interests_fade_at_the_ticks_of_a_common_clock() -> None:
    net = Network("b-sub", 3, decay_cycle=10)
    ann, bob, eve = net.nodes
    ann.subscribe("x")
    ann.meet(bob, at=9)
    bob.meet(eve, at=31)  # ticks at 10, 20 and 30
    assert (relay(bob, "x"), relay(eve, "x")) == (2, 2)
    bob.meet(eve, at=50)
    assert relay(bob, "x") == 0


def test_the_clock_may_tick_faster_than_seconds() -> None:
    pair = Pair("b-sub", decay_cycle=0.5)
    pair.b.subscribe("x")
    for at in (0.1, 0.6):
        pair.a.meet(pair.b, at=at)
    assert relay(pair.a, "x") == 5 - 1 + 5


@pytest.mark.parametrize(("protocol", "gaps"), [("b-sub", 2), ("b-sub-p", 1)])
def test_without_a_decay_cycle_it_follows_the_mean_gap_between_contacts(protocol: str, gaps: int) -> None:
    pair = Pair(protocol)
    device = pair.a.protocol
    assert device.cycle == 256  # the paper's, before anything is seen
    for at in (1000, 1030, 1080, 8280):  # before the last it was away: no gap
        pair.a.meet(pair.b, at=at)
    assert device.cycle == gaps * (30 + 50) / 2
    assert Pair(protocol, decay_cycle=9).a.protocol.cycle == 9
    again = Pair(protocol).a.protocol
    for name, part in parts_of(device).items():
        restore_part(again, name, part)
    assert again.cycle == device.cycle  # also after a restart


def test_rounding_does_not_decide_whether_a_tick_has_come() -> None:
    """With two gaps a cycle is their sum, and ends at the third contact itself; logs round times to 1e-7 s."""
    for late in (-1e-7, 0.0, 1e-7):
        pair = Pair("b-sub")
        pair.b.subscribe("x")
        for at in (1000.0, 1030.1, 1080.3 + late):
            pair.a.meet(pair.b, at=at)
        assert relay(pair.a, "x") == 14


def test_without_a_decay_cycle_a_carrier_of_b_sub_p_forgets_enough_between_two_meetings() -> None:
    """Three laptops: a carrier that met the reader, then the author, gives the reader what it took."""
    for first, second in ((45, 30), (46, 300), (100, 50), (600, 50)):
        net = Network("b-sub-p", 3)
        author, carrier, reader = net.nodes
        reader.subscribe("x")
        carrier.meet(reader, at=1000, seconds=40)
        before = author.publish("x", at=1041)
        author.connect(carrier, at=1000 + first)
        beside = author.publish("x", at=1010 + first)
        author.disconnect(carrier, at=1020 + first)
        carrier.meet(reader, at=1000 + first + second, seconds=5)
        assert set(reader.delivered) == {before, beside}


def test_what_is_learnt_at_a_tick_does_not_fade_by_it() -> None:
    pair = Pair("b-sub", decay_cycle=10, links=Links(rate=1.0))
    pair.b.subscribe("x")
    message = pair.a.publish("x", at=8)
    pair.a.meet(pair.b, at=9, seconds=2)  # the link rests, and filters merge, at 10
    assert [pair.a.protocol.demand(message, at).strength for at in (12.0, 20.0)] == [5, 4]


def test_unsubscribing_empties_the_genuine_filter_and_others_forget_by_decay() -> None:
    pair = Pair("b-sub", decay_cycle=10)
    pair.a.subscribe("x")
    pair.a.meet(pair.b, at=1)
    pair.a.unsubscribe("x")
    assert "x" not in pair.a.protocol.genuine
    assert relay(pair.b, "x") == 5
    pair.a.meet(pair.b, at=55)
    assert relay(pair.b, "x") == 0


def test_vector_8_in_b_sub_p_an_interest_echoes() -> None:
    pair = Pair("b-sub-p", decay_cycle=1)
    pair.a.subscribe("x")
    seen = []
    for at in range(1, 7):
        pair.a.meet(pair.b, at=at)
        seen.append((relay(pair.a, "x"), relay(pair.b, "x")))
    assert seen == [(0, 5), (4, 5), (4, 8), (7, 8), (7, 11), (10, 11)]


def test_an_echo_can_be_kept_out() -> None:
    for protocol in ("b-sub", "b-sub-p"):
        pair = Pair(protocol, decay_cycle=1e9, suppress_own=True, exact=True)
        pair.a.subscribe("x")
        for at in range(1, 4):
            pair.a.meet(pair.b, at=at)
        assert relay(pair.a, "x") == 0
        assert pair.a.protocol.watch.relayed.value("x") == 0
        assert relay(pair.b, "x") == (15 if protocol == "b-sub" else 5)


# Messages ----------------------------------------------------------------------------------------------------------


def test_a_message_is_delivered_on_sight_and_both_keep_it() -> None:
    pair = Pair("b-sub")
    pair.b.subscribe("x")
    hello = pair.a.publish("x", at=0)
    pair.a.meet(pair.b, at=1)
    assert pair.b.delivered == [hello]
    assert hello in pair.a.protocol.buffer
    assert hello in pair.b.protocol.buffer
    assert pair.a.protocol.marks == {}


def test_relaying_happens_because_filters_merge_after_forwarding() -> None:
    """Vector 7: had they merged first, nobody would ever be preferred."""
    for protocol in ("b-sub", "b-sub-p"):
        net = Network(protocol, 3, decay_cycle=1e9)
        publisher, helper, reader = net.nodes
        reader.subscribe("x")
        helper.meet(reader, at=1)
        hello = publisher.publish("x", at=2)
        publisher.meet(helper, at=3)
        assert net.packets() == ["0->1 m0"]
        helper.meet(reader, at=4)
        assert reader.delivered == ([hello] if protocol == "b-sub" else [])
        if protocol == "b-sub-p":  # the helper's 5 is not below the reader's own 5: literal, and the reason for BS-3
            assert relay(helper, "x") == 5
            helper.protocol.relay = helper.protocol.relay.decay(1)
            helper.meet(reader, at=5)
            assert reader.delivered == [hello]


def test_a_message_goes_only_to_ever_better_carriers() -> None:
    net = Network("b-sub", 6, decay_cycle=1e9)
    publisher, reader, *helpers = net.nodes
    reader.subscribe("x")
    for meetings, helper in zip((2, 1, 3, 1), helpers, strict=True):
        for at in range(meetings):
            helper.meet(reader, at=10 * helper.node + at)
    publisher.publish("x", at=100)
    for helper in helpers:
        helper.meet(publisher, at=100 + helper.node)
        publisher.protocol.relay = SHAPE.empty()  # the publisher stays ignorant, so preferences are the counters
    assert net.packets() == ["0->2 m0", "0->4 m0"]
    assert publisher.protocol.marks == {0: 15.0}


def test_preference_is_relative_to_ones_own_counter() -> None:
    net = Network("b-sub", 3, decay_cycle=1e9)
    holder, twice, often = net.nodes
    for node, value in ((holder, 10), (twice, 20), (often, 25)):
        node.protocol.relay = FilterShape(initial=value).of(["x"])
    holder.publish("x", at=0)
    holder.meet(twice, at=1)
    assert holder.protocol.marks == {0: 1.0}
    holder.meet(often, at=2)  # by now the holder has 20 itself, and 25 is only a quarter more
    assert net.packets() == ["0->1 m0"]


@pytest.mark.parametrize(("relative_always", "mark"), [(False, 7.0), (True, 6.0)])
def test_a_preference_over_nothing(relative_always: bool, mark: float) -> None:
    pair = Pair("b-sub", relative_always=relative_always)
    pair.b.protocol.relay = FilterShape(initial=7).of(["x"])
    pair.a.publish("x", at=0)
    pair.a.meet(pair.b, at=1)
    assert pair.a.protocol.marks == {0: mark}


def test_with_relative_preferences_a_counter_of_1_is_no_better_than_none() -> None:
    """A message without a mark has mark 0, and the preference over a counter of 1 is 0."""
    for relative_always, taken in ((False, True), (True, False)):
        pair = Pair("b-sub", relative_always=relative_always)
        pair.b.protocol.relay = FilterShape(initial=1).of(["x"])
        message = pair.a.publish("x", at=0)
        pair.a.meet(pair.b, at=1)
        assert (message in pair.b.protocol.buffer) == taken


def test_the_first_query_may_win_whatever_the_preference() -> None:
    for first_wins, packets in ((False, []), (True, ["0->1 m0"])):
        net = Network("b-sub", 3, first_wins=first_wins)
        author, stranger, other = net.nodes
        author.publish("x", at=0)
        author.meet(stranger, at=1)
        author.meet(other, at=2)  # by now the mark is 0, and 0 is not better
        assert net.packets() == packets
        assert author.protocol.marks == ({0: 0.0} if first_wins else {})


def test_consumers_may_relay_or_not() -> None:
    for relay_, stored in ((True, True), (False, False)):
        net = Network("b-sub", 3, consumers_relay=relay_)
        author, consumer, reader = net.nodes
        consumer.subscribe("x")
        reader.subscribe("x")
        message = author.publish("x", at=0)
        author.meet(consumer, at=1)
        assert consumer.delivered == [message]
        assert (message in consumer.protocol.buffer) == stored
        consumer.meet(reader, at=2)
        assert reader.delivered == [message] * stored


def test_hash_functions_differ_by_repetition_where_a_study_says_so() -> None:
    contacts = make_world("waypoint", seed=1, nodes=10, duration=300.0)
    prepared = [run(contacts, {}, "b-sub", seed=seed, salt=None).name["prepared"] for seed in (1, 2)]
    assert prepared == [{"salt": 1}, {"salt": 2}]
    assert Pair("b-sub").a.protocol.shape.salt == 0


def test_marks_go_with_their_messages() -> None:
    pair = Pair("b-sub", buffer=10)
    for at in range(600):
        pair.b.protocol.relay = FilterShape(initial=9).of(["x"])
        pair.a.protocol.relay = SHAPE.empty()
        pair.a.publish("x", at=at)
        pair.a.meet(pair.b, at=at)
    assert set(range(590, 600)) <= set(pair.a.protocol.marks)
    assert len(pair.a.protocol.marks) <= 256


each_variant = pytest.mark.parametrize("protocol", ["b-sub", "b-sub-p"])


@each_variant
def test_what_is_published_beside_a_subscriber_reaches_it(protocol: str) -> None:
    pair = Pair(protocol, decay_cycle=1e9)
    pair.b.subscribe("x")
    pair.a.connect(pair.b, at=1)
    first, unwanted, second = (pair.a.publish(tag, at=at) for tag, at in (("x", 2), ("y", 3), ("x", 99)))
    assert pair.b.delivered == [first, second]
    assert unwanted not in pair.b.protocol.buffer
    pair.a.disconnect(pair.b, at=100)
    pair.a.publish("x", at=101)
    assert pair.b.delivered == [first, second]


@each_variant
@pytest.mark.parametrize("links", [Links(), Links(rate=1)], ids=["quick link", "slow link"])
def test_what_is_published_beside_a_carrier_is_taken_and_brought(protocol: str, links: Links) -> None:
    net = Network(protocol, 3, decay_cycle=50, links=links)
    author, carrier, reader = net.nodes
    reader.subscribe("x")
    carrier.meet(reader, at=1, seconds=5)
    before = author.publish("x", at=10)
    author.connect(carrier, at=11)
    net.advance(20)
    while_linked = author.publish("x", at=20)
    author.disconnect(carrier, at=30)
    assert before in carrier.protocol.buffer
    assert while_linked in carrier.protocol.buffer
    carrier.meet(reader, at=60, seconds=5)  # at 50 the carrier's counters fell: B-SUB-P's reader is preferred again
    assert set(reader.delivered) == {before, while_linked}


def test_the_best_of_the_neighbours_gets_it_whichever_is_asked_first() -> None:
    net = Network("b-sub", 4, decay_cycle=1e9)
    author, good, worse, best = net.nodes
    for node, value in ((good, 7), (worse, 6), (best, 9)):
        node.protocol.relay = FilterShape(initial=value).of(["x"])
        author.protocol.relay = SHAPE.empty()
        author.connect(node, at=1)
    author.publish("x", at=2)
    assert net.packets() == ["0->3 m0"]
    assert author.protocol.marks == {0: 9.0}


def test_one_exchange_in_a_contact_as_in_the_paper() -> None:
    pair = Pair("b-sub", while_linked=False)
    pair.b.subscribe("x")
    pair.a.connect(pair.b, at=1)
    hello = pair.a.publish("x", at=2)
    assert pair.b.delivered == []
    pair.a.disconnect(pair.b, at=3)
    pair.a.meet(pair.b, at=4)
    assert pair.b.delivered == [hello]


def test_what_a_full_buffer_dropped_is_never_taken_again() -> None:
    net = Network("b-sub", 3, buffer=1)
    ann, bob, eve = net.nodes
    for node in net.nodes:
        node.subscribe("x")
    old = ann.publish("x", at=0)
    ann.meet(eve, at=1)
    new = bob.publish("x", at=5)
    ann.meet(bob, at=6)
    assert old not in ann.protocol.buffer
    assert new in ann.protocol.buffer
    assert bob.delivered == [old]  # they exchange what they held when they met, although ann had to drop it
    eve.meet(ann, at=7)
    assert net.packets() == ["0->2 m0", "1->0 m1", "0->1 m0", "0->2 m1"]


def test_a_false_match_is_noted_and_not_delivered() -> None:
    pair = Pair("b-sub", counters=8, hashes=1, exact=True)
    wanted = "a"
    twin = next(t for t in (f"t{n}" for n in range(99)) if _positions(t) == _positions(wanted))
    pair.b.subscribe(wanted)
    pair.a.publish(twin, at=0)
    pair.a.meet(pair.b, at=1)
    assert pair.packets() == ["0->1 m0"]
    assert pair.b.delivered == []
    assert len(pair.engine.record.false_matches) == 3
    seen = pair.a.protocol.observations(1.0)
    assert (seen["forwards"], seen["false_forwards"]) == (1, 1)


def test_what_is_given_to_a_carrier_is_no_false_match() -> None:
    net = Network("b-sub", 3, decay_cycle=1e9)
    author, carrier, reader = net.nodes
    reader.subscribe("x")
    reader.meet(carrier, at=1)
    author.publish("x", at=2)
    author.meet(carrier, at=3)
    assert net.packets() == ["0->1 m0"]
    assert len(net.engine.record.false_matches) == 0


def _positions(tag: str) -> tuple[int, ...]:
    return FilterShape(counters=8, hashes=1).positions(tag)


def test_a_slow_link_carries_the_newest_first_and_filters_merge_when_it_rests() -> None:
    pair = Pair("b-sub", links=Links(rate=1))
    pair.b.subscribe("x")
    for at in range(3):
        pair.a.publish("x", at=at)
    pair.a.connect(pair.b, at=3)
    assert relay(pair.a, "x") == 0
    pair.advance(5)
    assert pair.packets() == ["0->1 m2", "0->1 m1"]
    assert relay(pair.a, "x") == 0
    pair.advance(7)
    assert relay(pair.a, "x") == 5
    pair.a.disconnect(pair.b, at=8)
    assert relay(pair.a, "x") == 5


def test_on_slow_links_a_risen_mark_takes_a_message_out_of_other_plans() -> None:
    net = Network("b-sub", 3, links=Links(rate=1))
    holder, better, good = net.nodes
    for node, value in ((better, 9), (good, 7)):
        node.protocol.relay = FilterShape(initial=value).of(["x"])
    holder.subscribe("y")
    good.publish("y", at=0)
    holder.publish("x", at=0)
    holder.publish("x", at=1)
    holder.connect(better, at=1.5)
    holder.connect(good, at=2)  # m2 is under way to the better one, and m1 is planned for it
    net.advance(10)
    assert net.packets() == ["0->1 m2", "2->0 m0", "0->1 m1"]
    assert holder.protocol.marks == {2: 9.0, 1: 9.0}


# B-SUB's own PUSH and PULL -----------------------------------------------------------------------------------------


def test_push_gives_everything_once_in_a_contact() -> None:
    pair = Pair("b-sub-push", exact=True, while_linked=False)
    pair.b.subscribe("x")
    pair.a.publish("x", at=0)
    pair.a.publish("y", at=0)
    pair.a.connect(pair.b, at=1)
    pair.a.publish("y", at=2)
    assert pair.packets() == ["0->1 m1 m0"]
    seen = pair.a.protocol.observations(2.0)
    assert (seen["forwards"], seen["false_forwards"]) == (2, 1)


def test_pull_serves_from_the_publisher_only() -> None:
    net = Network("b-sub-pull", 3)
    publisher, friend, stranger = net.nodes
    friend.subscribe("x")
    stranger.subscribe("x")
    hello = publisher.publish("x", at=0)
    publisher.meet(friend, at=1)
    friend.meet(stranger, at=2)
    assert friend.delivered == [hello]
    assert stranger.delivered == []
    assert len(friend.protocol.buffer) == 0


# What a study asks -------------------------------------------------------------------------------------------------


def test_what_is_observed_with_exact_counters() -> None:
    net = Network("b-sub", 3, exact=True, decay_cycle=100)
    ann, bob, eve = net.nodes
    ann.subscribe("NewMoon")
    ann.publish("openwebawards", at=0)
    ann.meet(bob, at=1)
    bob.meet(eve, at=2)
    seen = [node.protocol.observations(3.0) for node in net.nodes]
    assert [one["relayed_tags"] for one in seen] == [0, 1, 1]
    assert [one["greetings"] for one in seen] == [1, 2, 1]
    assert [one["filter_bytes"] for one in seen] == [3, 5, 0]  # genuine; nothing, then three positions and a value
    assert [one["string_bytes"] for one in seen] == [7, 7, 0]
    assert [node.protocol.observations(600.0)["relayed_tags"] for node in net.nodes] == [0, 0, 0]


def test_a_run_sums_up_what_its_devices_observed() -> None:
    contacts = make_world("waypoint", seed=1, nodes=20, duration=1200.0)
    workload = make_workload(contacts, seed=1, kind="tags", max_interval=300.0, ttl=300.0)
    summary = run(contacts, workload, "b-sub", exact=True, decay_cycle=16.0).summary
    seen = summary["observed"]
    assert list(seen) == sorted(OBSERVED)
    assert seen["greetings"] == 2 * len(contacts)
    assert seen["forwards"] == summary["relayed"] > 0
    assert seen["lasting_interests"] == 2 * 20
    assert 0 < seen["filter_bytes"] < seen["string_bytes"]
    assert summary["copies_delivered_avg"] >= summary["copies_net_delivered_avg"] >= 2
    assert run(contacts, workload, "b-sub").summary["observed"] == {}


def test_without_exact_nothing_is_observed() -> None:
    pair = Pair("b-sub")
    pair.a.meet(pair.b, at=1)
    assert pair.a.protocol.observations(2.0) == {}


def test_the_filters_do_not_depend_on_being_watched() -> None:
    states = []
    for exact in (False, True):
        net = Network("b-sub", 4, decay_cycle=5, exact=exact)
        for node in net.nodes:
            node.subscribe(f"t{node.node}")
        for at in range(12):
            net[at % 4].meet(net[(at * 3 + 1) % 4] if (at * 3 + 1) % 4 != at % 4 else net[(at + 1) % 4], at=at)
        states.append([node.protocol.relay.counters for node in net.nodes])
    assert states[0] == states[1]


def test_the_attacker_reads_b_sub_and_must_guess_at_b_sub_p() -> None:
    guessed = {}
    for protocol in ("b-sub", "b-sub-p"):
        net = Network(protocol, 4, exact=True, tags=["t0", "t1", "t2", "t3"], decay_cycle=1e9)
        for node in net.nodes:
            node.subscribe(f"t{node.node}")
            node.publish(f"t{node.node}", at=0)
        for at in range(1, 7):
            net[0].meet(net[1], at=at)
        net[0].meet(net[2], at=10)
        net[2].meet(net[3], at=11)
        seen = net[2].protocol.observations(12.0)
        guessed[protocol] = (seen["guessed"], seen["interests"])
    assert guessed == {"b-sub": (2, 2), "b-sub-p": (1, 2)}


# On the wire -------------------------------------------------------------------------------------------------------


HOSTILE = {
    "a relay filter of another size": Filters(b"", bytes(128)),
    "positions that are not in order": Filters(bytes([9, 9]), bytes(256)),
    "a genuine filter that is too long": Filters(bytes(33), bytes(256)),
    "an empty filter in 32 bytes": Filters(bytes(32), bytes(256)),
}


@pytest.mark.parametrize("filters", HOSTILE.values(), ids=HOSTILE)
def test_filters_that_no_device_makes_are_refused(filters: Filters) -> None:
    pair = Pair("b-sub")
    with pytest.raises(PeerError):
        pair.a.protocol.check(filters)


def test_counters_above_the_own_ceiling_are_refused() -> None:
    filters = Filters(b"", bytes([9]) + bytes(255))
    with pytest.raises(PeerError, match="ceiling of 8"):
        Pair("b-sub", ceiling=8).a.protocol.check(filters)
    Pair("b-sub", ceiling=9).a.protocol.check(filters)


def test_exact_counters_are_for_simulations() -> None:
    with pytest.raises(PeerError, match="exact is for simulations"):
        Pair("b-sub", exact=True).a.protocol.check(Filters(b"", bytes(256)))


def test_packets_can_be_logged() -> None:
    pair = Pair("b-sub", exact=True)
    pair.a.subscribe("x")
    (filters,) = pair.a.protocol.link_up(1, 0.0)
    assert decode(encode(filters, Catalogue(), ["0", "1"]), Catalogue(), {}) == filters


def test_parameters_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot exceed ceiling"):
        Pair("b-sub", initial=9, ceiling=8)
