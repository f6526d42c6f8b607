"""Devices that find their communities by talking find those of the central computation."""

from __future__ import annotations

from itertools import combinations
from math import log, sqrt
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hunet.systems.mops.closeness_graph import ClosenessGraph, closeness_table
from hunet.systems.mops.communities import communities
from hunet.systems.mops.exchange import CommunityExchange, Learnt
from tests.systems.mops.test_communities import tables

Table = list[tuple[int, int, float]]
"""Closeness of pairs."""


def apart(table: Table) -> dict[tuple[int, int], float]:
    """The mean separations of such closeness, with σ = 1 (Eq. 1)."""
    return {(one, two): round(sqrt(-2 * log(closeness)), 4) for one, two, closeness in table}


def graph_of(table: Table, hops: int, floor: float) -> ClosenessGraph:
    return ClosenessGraph(closeness_table(apart(table), 1.0), hops=hops, floor=floor)


def devices_of(table: Table, threshold: float, hops: int) -> dict[int, CommunityExchange]:
    rows: dict[int, dict[int, float]] = {}
    for (one, two), average in apart(table).items():
        rows.setdefault(one, {})[two] = rows.setdefault(two, {})[one] = average
    return {n: CommunityExchange(n, 0, rows[n], threshold=threshold, hops=hops, sigma=1.0) for n in sorted(rows)}


def tell(teller: CommunityExchange, hearer: CommunityExchange, since: int = 0) -> None:
    hearer.take(teller.rows_of(hearer.hear(teller.since(since))))


def talk(devices: dict[int, CommunityExchange], table: Table, seed: int = 1) -> int:
    """Let people meet in random order until nobody has anything new to tell; returns how often all have met."""
    order, rounds, lively = list(table), 0, True
    heard: dict[tuple[int, int], int] = {}
    while lively:
        Random(seed + rounds).shuffle(order)
        before = {node: device.version for node, device in devices.items()}
        for pair in order:
            for teller, hearer in ((pair[0], pair[1]), (pair[1], pair[0])):
                upto = devices[teller].version
                tell(devices[teller], devices[hearer], heard.get((teller, hearer), 0))
                heard[teller, hearer] = upto
        lively = before != {node: device.version for node, device in devices.items()}
        rounds += 1
    return rounds


@given(tables(), st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]), st.integers(1, 3), st.integers(0, 9))
def test_everybody_finds_the_central_communities(table: Table, threshold: float, hops: int, seed: int) -> None:
    devices = devices_of(table, threshold, hops)
    graph = graph_of(table, hops, threshold)
    central = communities(graph, graph.nodes, threshold)
    talk(devices, table, seed)
    for node, device in devices.items():
        assert device.placed
        mine = next(label for label, group in central.items() if node in group)
        assert device.communities[mine] == central[mine]
        assert all(central[label] == group for label, group in device.communities.items())


@given(st.integers(0, 30), st.sampled_from([0.3, 0.5, 0.7]))
def test_far_ends_of_a_long_network_need_not_know_each_other(seed: int, threshold: float) -> None:
    """A street of 16 houses: rows go 2k hops far, and the communities are the central ones all the same."""
    luck = Random(seed)
    table = [(n, n + step, luck.choice([0.4, 0.6, 0.8, 0.95])) for n in range(16) for step in (1, 2) if n + step < 16]
    devices = devices_of(table, threshold, 1)
    graph = graph_of(table, 1, threshold)
    talk(devices, table, seed)
    assert 15 not in devices[0].rows
    assert devices[0].communities == devices[15].communities == communities(graph, range(16), threshold)


def test_rounds_of_hello_suffice_for_rows() -> None:
    """After 2k rounds in which everybody has met its neighbours, all rows that are needed have come (appendix)."""
    table = [(n, n + 1, 0.9) for n in range(8)]
    devices = devices_of(table, 0.5, 2)
    assert devices[4].graph() is None
    for _ in range(4):
        told = {node: (device.since(0), device.rows_of(sorted(device.rows))) for node, device in devices.items()}
        for pair in table:
            for teller, hearer in ((pair[0], pair[1]), (pair[1], pair[0])):
                news, rows = told[teller]
                lacking = devices[hearer].hear(news)
                devices[hearer].take(row for row in rows if row.owner in lacking)
    assert sorted(devices[0].rows) == [0, 1, 2, 3, 4]
    assert devices[4].graph() is not None


def test_news_of_another_epoch_are_not_heard() -> None:
    device = CommunityExchange(0, 3, {1: 0.9}, threshold=0.5, hops=2)
    for epoch, learnt in ((2, 0), (3, 1), (3, 0)):
        before = device.version
        device.hear(Learnt(epoch, 0, 1, (), (), ((1, 1, 1),), ()))
        assert device.version - before == learnt


def test_the_scale_is_the_mean_of_all_pairs_heard_of() -> None:
    device = CommunityExchange(0, 0, {1: 30.0, 2: 50.0}, threshold=0.5, hops=2)
    assert device.sigma == 40.0
    device.hear(Learnt(0, 0, 1, (), ((1, 3, 240.0, 7.0),), (), ()))
    assert device.sigma == (80.0 + 240.0) / 5
    assert CommunityExchange(0, 0, {1: 30.0}, threshold=0.5, hops=2, sigma=7.0).sigma == 7.0


def test_who_met_nobody_is_alone_at_once() -> None:
    assert CommunityExchange(7, 0, {}, threshold=0.5, hops=2).communities == {7: (7,)}


def test_everybody_hears_of_all_communities() -> None:
    table = [(a, b, 0.9) for a, b in combinations(range(4), 2)] + [(3, 4, 0.2)]
    table += [(a, b, 0.9) for a, b in combinations(range(4, 8), 2)]
    devices = devices_of(table, 0.5, 2)
    talk(devices, table)
    assert {tuple(device.communities.items()) for device in devices.values()} == {
        ((3, (0, 1, 2, 3)), (4, (4, 5, 6, 7)))
    }


@given(tables(), st.sampled_from([0.2, 0.5, 0.8]), st.integers(1, 2), st.integers(0, 8))
def test_those_who_have_left_are_done_without(table: Table, threshold: float, hops: int, gone: int) -> None:
    devices = devices_of(table, threshold, hops)
    there = [row for row in table if gone not in row[:2]]
    talk(devices, there)
    for device in devices.values():
        device.give_up()
    talk(devices, there)
    for node, device in devices.items():
        assert device.placed
        assert sum(node in group for group in device.communities.values()) >= 1


def test_all_who_are_left_find_the_same() -> None:
    table = [(a, b, 0.9) for a, b in combinations(range(4), 2)] + [(3, 4, 0.9), (0, 5, 0.3)]
    there = [row for row in table if 4 not in row[:2]]
    devices = devices_of(table, 0.5, 2)
    talk(devices, there)
    assert not devices[1].placed  # nobody knows what 4 would say
    for node in (0, 1, 2, 3, 5):
        devices[node].give_up()
    graph = graph_of(there, 2, 0.5)
    assert [devices[n].communities for n in (0, 1, 2, 3, 5)] == [communities(graph, [0, 1, 2, 3, 5], 0.5)] * 5
