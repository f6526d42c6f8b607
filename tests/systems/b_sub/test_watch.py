"""The observer of a B-SUB device: what it counts of greetings and of messages that went, figure by figure."""

from __future__ import annotations

from types import SimpleNamespace

from hunet.model import Catalogue
from hunet.systems.b_sub.filter import FilterShape, TemporalCountingBloomFilter
from hunet.systems.b_sub.packets import Filters, Forward, Truth
from hunet.systems.b_sub.watch import ExactCounters, Watch
from hunet.testing import Network, Pair

SHAPE = FilterShape()


def counters(**values: int) -> bytes:
    """A filter in which each tag has its value."""
    made = bytearray(SHAPE.counters)
    for tag, value in values.items():
        for position in SHAPE.positions(tag):
            made[position] = max(made[position], value)
    return bytes(made)


def watch(*topics: str) -> Watch:
    messages = Catalogue()
    for number, topic in enumerate(topics):
        messages.add(f"m{number}", topic, publisher=0, created=float(number))
    return Watch(SimpleNamespace(messages=messages), SHAPE, topics)


def greeting(**values: int) -> Filters:
    return Filters(b"", counters(**values), Truth(("own",), {"är": 5}))


def test_a_greeting_costs_bytes_and_gives_interests_away() -> None:
    seen = watch("a", "b")
    for strength in (9, 3, 9):  # the attacker names one tag: the firmer of a and b
        seen.greeted(greeting(a=strength, b=5), ["a"])
    found = seen.observations()
    assert (found["greetings"], found["interests"], found["guessed"]) == (3, 3, 2)
    assert found["string_bytes"] == 3 * (len("own") + len("är".encode()))
    assert found["filter_bytes"] == sum(greeting(a=strength, b=5).filter_bytes for strength in (9, 3, 9))
    assert (found["lasting_interests"], found["lasting_guessed"]) == (1, 0), "the lowest value of each tag counts"


def test_of_equally_firm_tags_the_first_by_name_is_guessed() -> None:
    for own, guessed in (("a", 1), ("b", 0)):
        seen = watch("a", "b")
        seen.greeted(greeting(a=5, b=5), [own])
        assert seen.observations()["guessed"] == guessed


def test_greetings_are_counted_also_when_there_is_nothing_new_to_say() -> None:
    pair = Pair("b-sub", decay_cycle=1e9, exact=True)
    for at in (1, 2):
        pair.a.meet(pair.b, at=at)
    assert [node.protocol.observations(3.0)["greetings"] for node in pair.nodes] == [2, 2]


def test_a_tag_that_is_not_shown_is_not_guessed() -> None:
    seen = watch("a", "b")
    seen.greeted(greeting(), ["a"])
    assert seen.observations()["guessed"] == 0
    seen.greeted(greeting(b=5), ["a", "never published"])
    assert seen.observations()["guessed"] == 0


def test_forwards_are_false_where_the_filter_erred_or_nobody_asked() -> None:
    seen = watch("x", "a", "b")
    filters = Filters(b"", counters(), Truth(("a",), {"b": 5}))

    def false(direct: int, unasked: int = 0) -> float:
        before = seen.counts["false_forwards"]
        seen.forwarded(filters, Forward(0b110, (1, 1), direct), unasked)
        return seen.counts["false_forwards"] - before

    assert false(direct=0b010) == 0  # a to whom subscribes to it, b to whom relays it
    assert false(direct=0b100) == 2
    assert false(direct=0b010, unasked=0b010) == 1
    assert seen.counts["forwards"] == 6


def test_own_interests_come_back_as_hearsay_where_they_are_not_suppressed() -> None:
    for suppress in (True, False):
        pair = Pair("b-sub", exact=True, suppress_own=suppress, decay_cycle=1e9)
        pair.a.subscribe("x")
        pair.a.meet(pair.b, at=1)
        pair.a.meet(pair.b, at=2)
        here = pair.a.protocol
        assert here.watch.relayed.value("x") == here.relay.value("x") == (0 if suppress else 5)


def test_b_sub_pull_tells_of_nobody_else() -> None:
    net = Network("b-sub-pull", 2, exact=True, decay_cycle=1e9)
    ann, bob = net.nodes
    ann.subscribe("x")
    ann.meet(bob, at=1)
    assert bob.protocol.watch.relayed.value("x") == 5
    assert bob.protocol.greeting()[0].truth == Truth((), {})


def test_exact_counters_reach_255() -> None:
    assert ExactCounters({"a": 250}).a_merge(ExactCounters({"a": 10})).value("a") == 255


def test_filters_of_other_shapes_differ() -> None:
    nothing = bytes(SHAPE.counters)
    other = FilterShape(hashes=SHAPE.hashes + 1)
    assert TemporalCountingBloomFilter(SHAPE, nothing) == TemporalCountingBloomFilter(FilterShape(), nothing)
    assert TemporalCountingBloomFilter(SHAPE, nothing) != TemporalCountingBloomFilter(other, nothing)


def test_who_takes_part_hears_its_own_contacts_only() -> None:
    """The lowest value of each tag counts: of all greetings for who hears all, else of those to oneself."""
    seen = watch("a", "b")
    for peer, a in ((1, 9), (2, 3), (1, 8)):
        seen.greeted(greeting(a=a, b=5), ["a"], peer)
    found = seen.observations()
    assert (found["lasting_interests"], found["lasting_guessed"]) == (1, 0)
    assert (found["participant_interests"], found["participant_guessed"]) == (2, 1), "only the first neighbour is right"


def test_patient_attackers_listen_after_the_warm_up() -> None:
    """Before anything is relayed, a greeting of B-SUB-P shows the own interests and nothing else."""
    found = []
    for warm_up in (0.0, 20.0, 100.0):
        pair = Pair("b-sub-p", exact=True, tags=["a", "b"], decay_cycle=1e9, warm_up=warm_up)
        ann = pair.a
        ann.subscribe("b")
        ann.meet(pair.b, at=1)
        ann.protocol.relay = FilterShape(initial=9).of(["a"])  # what it has heard of is firmer now
        ann.meet(pair.b, at=30)
        seen = ann.protocol.observations(40.0)
        found.append([seen[f"{who}_{what}"] for who in ("lasting", "participant") for what in ("interests", "guessed")])
    assert found == [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]
