"""MOPS's closeness graph, communities and gateways: the paper's worked examples, and what must always hold."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from math import exp, prod, sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Contacts, members
from hunet.systems.mops.closeness_graph import ClosenessGraph, closeness_table, gaussian_closeness, mean_separations
from hunet.systems.mops.communities import Neighbourhoods, communities, normalised_cut
from hunet.systems.mops.contact_history import ContactHistory
from hunet.systems.mops.gateways import betweenness, brokers, gateways

MICRO = [(1, 2, 0.9), (1, 3, 0.8), (2, 3, 0.7), (2, 4, 0.3), (2, 5, 0.2), (3, 4, 0.4), (4, 5, 0.9)]


def bits(*nodes: int) -> int:
    return sum(1 << node for node in nodes)


@st.composite
def tables(draw: st.DrawFn, most: int = 9) -> list[tuple[int, int, float]]:
    """Closeness of some pairs of up to nine nodes."""
    pairs = list(combinations(range(draw(st.integers(2, most))), 2))
    values = draw(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0]), min_size=len(pairs)))
    return [(a, b, c) for (a, b), c in zip(pairs, values, strict=False) if c]


# Closeness (spec, section 13: 1, 8, 9, 10) ----------------------------------------------------------------------------


def example(*rows: tuple[float, float]) -> Contacts:
    return Contacts.from_records([("5", "8", start, end) for start, end in rows])


def test_closeness_of_nodes_5_and_8() -> None:
    met = example((20, 40), (50, 70))
    found = {edges: mean_separations(met, 0, 100, edges)[0, 1] for edges in ("both", "inner+trailing", "inner")}
    assert found == {"both": 20, "inner+trailing": 20, "inner": 10}
    assert closeness_table({(5, 8): 20.0}, sigma=25)[0][2] == pytest.approx(0.7261, abs=5e-5)
    assert closeness_table({(5, 8): 10.0}, sigma=25)[0][2] == pytest.approx(0.9231, abs=5e-5)


def test_the_window_cuts_contacts_and_separations() -> None:
    met = example((0, 10), (90, 130), (150, 160))
    assert mean_separations(met, 0, 100) == {(0, 1): 80}
    assert mean_separations(met, 5, 140) == {(0, 1): 45}
    assert mean_separations(met, 95, 120) == {(0, 1): 0}
    assert closeness_table({(0, 1): 0.0}, sigma=25) == ((0, 1, 1.0),)
    assert mean_separations(met, 20, 80) == {}  # never met, no link (and not exp(-8), as if apart for the whole window)
    assert exp(-8) == pytest.approx(0.000335, abs=1e-6)


def test_sigma_is_the_mean_separation_and_far_is_no_link() -> None:
    table = closeness_table({(0, 1): 10.0, (1, 2): 30.0})
    assert table == ((0, 1, exp(-0.125)), (1, 2, exp(-1.125)))
    assert closeness_table({(0, 1): 1e6}, sigma=1) == ()
    assert closeness_table({}) == ()


def test_two_hops_are_as_one_of_the_root_of_squares() -> None:
    hop = exp(-0.32)
    graph = ClosenessGraph([(0, 1, hop), (1, 2, hop)])
    assert graph.closeness(0, 2) == pytest.approx(0.5273, abs=5e-5)
    assert graph.closeness(0, 2) == pytest.approx(exp(-(sqrt(800) ** 2) / (2 * 25**2)))


def test_c34_is_a_product() -> None:
    link = ClosenessGraph([(1, 3, 0.9), (1, 4, 0.8)]).virtual(3, 4)
    assert link is not None
    assert (round(link.closeness, 2), link.path) == (0.72, (3, 1, 4))


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 15)), min_size=1, max_size=6),
    st.sampled_from(["both", "inner+trailing", "inner"]),
)
def test_the_table_is_what_the_devices_own_histories_give(rows: list[tuple[int, int]], edges: str) -> None:
    met = Contacts.from_records([("a", "b", start, start + length) for start, length in rows])
    history = ContactHistory()
    for _, _, start, end in met.records():
        history.start("b", start)
        history.end("b", end)
    found = mean_separations(met, 5, 80, edges)  # type: ignore[arg-type]
    if any(start <= 80 and end >= 5 for start, end in history.intervals("b")):
        own = gaussian_closeness(history.separations("b", 5, 80, edges), 25)  # type: ignore[arg-type]
        assert closeness_table(found, 25)[0][2] == pytest.approx(own)
    else:
        assert not found


# Virtual links --------------------------------------------------------------------------------------------------------


def test_virtual_links_of_the_micro_graph() -> None:
    graph = ClosenessGraph(MICRO, hops=2)
    assert [graph.degree(node) for node in range(1, 6)] == pytest.approx([1.7, 2.1, 1.9, 1.6, 1.1])
    pairs = [(2, 3), (1, 4), (1, 5), (2, 5), (3, 5)]
    assert [graph.closeness(*pair) for pair in pairs] == pytest.approx([0.72, 0.32, 0.18, 0.27, 0.36])
    assert graph.closeness(1, 1) == 1
    assert graph.virtual(5, 3) == (graph.closeness(3, 5), (5, 4, 3))
    assert graph.virtual(1, 9) is None


@given(tables(7), st.integers(1, 4))
def test_virtual_links_are_the_best_paths(table: list[tuple[int, int, float]], hops: int) -> None:
    graph = ClosenessGraph(table, hops=hops)
    for one, two in combinations(range(7), 2):
        assert graph.closeness(one, two) == graph.closeness(two, one) >= graph.direct(one, two)
        paths = _paths(graph, one, two, hops)
        best = max((prod(graph.direct(*step) for step in pairwise(path)) for path in paths), default=0.0)
        assert graph.closeness(one, two) == pytest.approx(best)
        link = graph.virtual(one, two)
        assert (link is None) == (not paths)
        if link:
            assert link.path in paths
            back = graph.virtual(two, one)
            assert back is not None
            assert back.path == link.path[::-1]


def _paths(graph: ClosenessGraph, one: int, two: int, hops: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [(one,)]
    while waiting:
        path = waiting.pop()
        if path[-1] == two:
            found.append(path)
        elif len(path) <= hops:
            waiting += [(*path, peer) for peer in graph.links.get(path[-1], ()) if peer not in path]
    return found


@given(tables(), st.sampled_from([0.3, 0.5, 0.8]))
def test_a_floor_leaves_out_what_is_below_it(table: list[tuple[int, int, float]], floor: float) -> None:
    full, cut = ClosenessGraph(table), ClosenessGraph(table, floor=floor)
    for node in full.nodes:
        assert cut.reach[node] == {peer: c for peer, c in full.reach[node].items() if c >= floor}


def shares_by_hops(graph: ClosenessGraph) -> dict[int, float]:
    """Section III.A: the share of virtual links that is decided by a path of 1, 2, ..., k hops."""
    counts = Counter[int]()
    for node in graph.nodes:
        counts.update(graph.decided_for(node))
    return {hops: counts[hops] / (counts.total() or 1) for hops in range(1, graph.hops + 1)}


@given(tables(7), st.integers(1, 3))
def test_shares_by_hops_add_up(table: list[tuple[int, int, float]], hops: int) -> None:
    shares = shares_by_hops(ClosenessGraph(table, hops=hops))
    assert sum(shares.values()) == pytest.approx(1.0 if table else 0.0)


def test_most_pairs_are_decided_by_the_better_of_link_and_detour() -> None:
    assert shares_by_hops(ClosenessGraph(MICRO, hops=2)) == {1: 0.5, 2: 0.5}
    assert shares_by_hops(ClosenessGraph(MICRO, hops=3)) == {1: 0.5, 2: 0.4, 3: 0.1}  # 1 to 5 by way of 3 and 4


def test_nonsense_is_refused() -> None:
    for row in [(1, 2, 0.0), (1, 2, 1.5), (1, 1, 0.5)]:
        with pytest.raises(ValueError, match="closeness of 1"):
            ClosenessGraph([row])


# Communities ----------------------------------------------------------------------------------------------------------


def test_cuts_of_the_micro_graph() -> None:
    graph = ClosenessGraph(MICRO)
    everybody = bits(1, 2, 3, 4, 5)
    for group, cut in [((1, 2, 3), 0.1579), ((1, 2), 0.5263), ((4, 5), 0.3333), ((1,), 1.0), ((1, 2, 3, 4, 5), 0.0)]:
        assert normalised_cut(graph, bits(*group), everybody & ~bits(*group)) == pytest.approx(cut, abs=5e-5)
    visible = Neighbourhoods(graph, 0.5).visible(2, everybody)
    assert visible == bits(1, 2, 3)
    assert normalised_cut(graph, bits(1, 2, 3), visible & ~bits(1, 2, 3)) == 0
    assert normalised_cut(graph, bits(1, 2), visible & ~bits(1, 2)) == pytest.approx(0.3947, abs=5e-5)


def test_communities_of_the_micro_graph() -> None:
    graph = ClosenessGraph(MICRO)
    assert Neighbourhoods(graph, 0.5).initiators(bits(1, 2, 3, 4, 5)) == [2, 4]
    assert communities(graph, range(1, 6), 0.5) == {2: (1, 2, 3), 4: (4, 5)}
    assert communities(graph, [*range(1, 6), 9], 0.5)[9] == (9,)  # somebody who met nobody
    assert communities(graph, range(1, 6), 0.95) == {node: (node,) for node in range(1, 6)}


def test_mo_2_a_higher_threshold_makes_more_communities() -> None:
    graph = ClosenessGraph(MICRO)
    counts = [len(communities(graph, range(1, 6), threshold)) for threshold in (0.1, 0.5, 0.75, 0.95)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_equal_degrees_are_told_apart_by_number() -> None:
    assert communities(ClosenessGraph([(3, 7, 0.9)]), [3, 7], 0.5) == {3: (3, 7)}


def test_the_clique_with_the_thinner_cut_is_chosen() -> None:
    """Initiator 0 has two cliques; the one with 1 would leave a strong link to 5 behind."""
    table = [(0, 1, 0.9), (0, 2, 0.8), (0, 3, 0.8), (2, 3, 0.9), (1, 5, 0.85)]
    graph = ClosenessGraph(table, hops=1)
    assert communities(graph, [0, 1, 2, 3, 5], 0.5) == {0: (0, 2, 3), 1: (1, 5)}


@given(tables(), st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]), st.integers(1, 3))
def test_communities_are_a_partition_of_local_neighbours(
    table: list[tuple[int, int, float]], threshold: float, hops: int
) -> None:
    graph = ClosenessGraph(table, hops=hops, floor=threshold)
    found = communities(graph, range(9), threshold)
    assert sorted(node for group in found.values() for node in group) == list(range(9))
    for label, group in found.items():
        assert label in group
        assert all(two in graph.reach[one] for one, two in combinations(group, 2))
        assert all(graph.closeness(one, two) >= threshold for one, two in combinations(group, 2))


@given(tables(), st.sampled_from([0.2, 0.5, 0.8]))
def test_initiators_do_not_see_each_other(table: list[tuple[int, int, float]], threshold: float) -> None:
    near = Neighbourhoods(ClosenessGraph(table), threshold)
    everybody = bits(*range(9))
    leaders = near.initiators(everybody)
    assert leaders
    for leader in leaders:
        assert [node for node in members(near.visible(leader, everybody)) if node in leaders] == [leader]


# Gateways -------------------------------------------------------------------------------------------------------------


def test_betweenness_in_the_micro_graph() -> None:
    graph = ClosenessGraph(MICRO)
    assert gateways(graph, (1, 2, 3), (4, 5)) == [2, 3]
    there, back = betweenness(graph, (1, 2, 3), (4, 5)), betweenness(graph, (4, 5), (1, 2, 3))
    assert there == {2: pytest.approx(0.5652, abs=5e-5), 3: pytest.approx(0.4348, abs=5e-5)}
    assert back == {4: pytest.approx(0.7739, abs=5e-5), 5: pytest.approx(0.2261, abs=5e-5)}


def test_pruning_in_the_micro_graph() -> None:
    graph = ClosenessGraph(MICRO)
    groups = communities(graph, range(1, 6), 0.5)
    assert brokers(graph, groups, 0.8) == {2: (4,), 3: (4,), 4: (2,), 5: (2,)}
    assert brokers(graph, groups, 0.5) == {2: (4,), 4: (2,)}


@given(tables(), st.sampled_from([0.2, 0.5, 0.8]), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_shares_add_up_and_the_best_gateway_stays(
    table: list[tuple[int, int, float]], threshold: float, pruning: float
) -> None:
    graph = ClosenessGraph(table, floor=threshold)
    groups = communities(graph, range(9), threshold)
    kept = brokers(graph, groups, pruning)
    for one, two in combinations(groups, 2):
        for here, there in ((one, two), (two, one)):
            shares = betweenness(graph, groups[here], groups[there])
            if shares:
                assert sum(shares.values()) == pytest.approx(1)
                assert there in kept[max(shares, key=lambda node: shares[node])]
            assert {node for node in groups[here] if there in kept.get(node, ())} <= set(shares)


# Real people ----------------------------------------------------------------------------------------------------------


def test_mo_1_two_hops_decide_most_of_infocom_2005(shared: Path) -> None:
    """21.6 % direct with both edges, 20.2 % with inner+trailing and 12.9 % with inner ones, at most two hops."""
    rows = [line.split() for line in (shared / "traces/infocom05/contacts.Exp3.dat").read_text().splitlines()]
    inside = [(a, b, float(s), float(e)) for a, b, s, e, *_ in rows if a != b and int(a) <= 41 and int(b) <= 41]
    met = Contacts.from_records(inside)
    for edges, share in (("both", 0.216), ("inner+trailing", 0.202), ("inner", 0.129)):
        apart = mean_separations(met, met.span[0], met.span[1], edges)  # type: ignore[arg-type]
        found = shares_by_hops(ClosenessGraph(closeness_table(apart), hops=2))
        assert found[1] == pytest.approx(share, abs=0.01)
