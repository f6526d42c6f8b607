"""MOPS's books and gateways: nothing stale after closeness has changed, nothing that depends on an order of arrival."""

from __future__ import annotations

from itertools import combinations, permutations
from random import Random

from hunet.systems.mops.closeness_graph import ClosenessGraph
from hunet.systems.mops.communities import communities
from hunet.systems.mops.gateways import betweenness, brokers
from hunet.systems.mops.interests import InterestBook, InterestList, Internal, Relay
from hunet.systems.mops.structure import Structure, structure_of

BEFORE = structure_of(((0, 1, 0.9), (0, 2, 0.8), (1, 2, 0.7), (2, 3, 0.2), (3, 4, 0.9), (1, 3, 0.1)))
AFTER = structure_of(((0, 1, 1.0), (0, 2, 0.9), (1, 2, 0.6), (2, 3, 0.25), (3, 4, 0.7), (1, 3, 0.15)))


def book(structure: Structure, node: int = 2) -> InterestBook:
    """The book of a broker that has heard from its community, from a neighbouring one, and from another broker."""
    found = InterestBook(node, 0.9, 0.0)
    found.want({"own"})
    found.use_structure(structure)
    found.hear([InterestList(0, 1.0, ("a", "b"), (), False), InterestList(1, 1.0, ("b",), (), False)])
    found.hear_internal(3, Internal(3, (("c", 0.5), ("d", 1.0))))
    found.hear_relay(1, Relay(((3, (("c", 0.9),)),)))
    return found


def everything(found: InterestBook) -> list[object]:
    one_by_one = [found.external_of(3), found.relayed_of(3), found.external_sum(), found.external_or_relayed()]
    lists = [found.for_itself(), found.for_neighbours(), found.for_outsiders()]
    return [found.internal(), *one_by_one, *lists, found.told_outside(), found.told_inside()]


def test_all_weights_follow_when_closeness_changes_and_places_do_not() -> None:
    assert BEFORE.communities == AFTER.communities
    changed = book(BEFORE)
    stale = everything(changed)
    changed.weigh_by(AFTER)
    assert everything(changed) == everything(book(AFTER))
    assert [one == two for one, two in zip(stale, everything(changed), strict=True)].count(True) == 1  # for_itself


def test_a_new_place_forgets_what_others_told_and_who_is_gone() -> None:
    moved = book(BEFORE)
    everything(moved)
    moved.use_structure(structure_of(((0, 2, 0.9), (1, 3, 0.9))))
    assert sorted(moved.lists) == [0]
    assert (moved.external_sum(), moved.external_or_relayed()) == ({}, {})
    assert moved.internal().keys() == {"a", "b"}


def test_sums_do_not_depend_on_who_was_heard_first() -> None:
    def heard(order: tuple[tuple[int, float], ...]) -> list[float]:
        found = InterestBook(2, 0.9, 0.0)
        found.use_structure(BEFORE)
        for community, weight in order:
            found.hear_internal(3, Internal(community, (("x", weight),)))
        return [found.external_sum()["x"], found.external_or_relayed()["x"]]

    sums = [heard(order) for order in permutations([(8, 0.11), (16, 0.23), (24, 0.37)])]
    assert all(one == sums[0] for one in sums)


def test_what_is_told_is_in_order_whoever_was_heard_first() -> None:
    found = InterestBook(2, 0.9, 0.0)
    found.use_structure(BEFORE)
    for broker, topic in ((4, "d"), (3, "c")):
        found.hear_internal(broker, Internal(3, ((topic, 0.5),)))
    [(_, told)] = found.told_inside().lists
    assert [topic for topic, _ in told] == ["c", "d"]


def test_devices_that_learnt_links_in_another_order_find_the_same_brokers_in_the_same_order() -> None:
    found = 0
    for seed in range(30):
        rng = Random(seed)
        table = [
            (a, b, rng.uniform(0.6, 1.0) if a // 4 == b // 4 else rng.uniform(0.1, 0.4))
            for a, b in combinations(range(12), 2)
            if rng.random() < 0.7
        ]
        answers = []
        for _ in range(3):
            graph = ClosenessGraph(table, hops=2, floor=0.5)
            groups = communities(graph, graph.nodes, 0.5)
            shares = [list(betweenness(graph, here, there).items()) for here, there in combinations(groups.values(), 2)]
            answers.append((list(brokers(graph, groups, 0.8).items()), shares))
            rng.shuffle(table)
        assert answers[0] == answers[1] == answers[2], seed
        assert all(list(labels) == sorted(labels) for _, labels in answers[0][0]), seed
        found += len(answers[0][0])
    assert found >= 50
