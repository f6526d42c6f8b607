"""Familiar sets, SIMPLE and k-CLIQUE, centralities: vectors worked out by hand, properties, another program."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Contacts, HunetError, NodeSet, from_mapping, members
from hunet.systems.socio_aware_overlay.centrality import betweenness, brokers, closeness, closest, farthest, graph_of
from hunet.systems.socio_aware_overlay.detection import agreed, best_matches, detect, jaccard
from hunet.systems.socio_aware_overlay.familiar import FamiliarSet
from hunet.systems.socio_aware_overlay.local_community import CommunityState, DetectionParameters, LocalCommunity
from tests.strategies import crowds

CONTACTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30)), min_size=1, max_size=8)
"""Times apart and times together, in turn."""


def nodes(*numbers: int) -> NodeSet:
    return sum(1 << number for number in numbers)


# Familiar sets ------------------------------------------------------------------------------------------------------


def test_vector_5_promotion_fires_in_the_middle_of_a_contact() -> None:
    familiar = FamiliarSet(threshold=100)
    assert familiar.link_up(1, 0) == 100
    assert not familiar.link_down(1, 60)
    assert familiar.link_up(1, 500) == 540
    familiar.add(1)
    assert familiar.nodes == nodes(1)
    assert not familiar.link_down(1, 550)
    assert familiar.link_up(1, 600) is None


@given(CONTACTS, st.integers(1, 60), st.one_of(st.none(), st.integers(60, 100)))
def test_a_peer_becomes_familiar_exactly_when_the_threshold_is_reached(
    contacts: list[tuple[int, int]], threshold: int, window: int | None
) -> None:
    """Against adding up second by second; with a window it also leaves again."""
    familiar = FamiliarSet(threshold, window)
    seconds: list[int] = []
    now, was = 0, False
    for apart, together in contacts:
        now += apart
        familiar.forget(now)
        assert bool(familiar.nodes) == (was and enough(seconds, now, threshold, window))
        crossing = familiar.link_up(0, now)
        reached = [
            t for t in range(now, now + together + 1) if enough([*seconds, *range(now, t)], t, threshold, window)
        ]
        if crossing is not None and crossing <= now + together:
            assert reached[0] == crossing
            familiar.add(0)
        elif crossing is not None:
            assert not reached
        seconds += range(now, now + together)
        now += together
        assert not familiar.link_down(0, now)
        was = bool(familiar.nodes)


def enough(seconds: list[int], now: int, threshold: int, window: int | None) -> bool:
    return sum(1 for second in seconds if window is None or second >= now - window) >= threshold


# SIMPLE and k-CLIQUE ------------------------------------------------------------------------------------------------

ZERO, A, B, C, D, E, PEER, J, X, Y = range(10)


def community(algorithm: str, *members_: int, **rules: Any) -> LocalCommunity:
    made = LocalCommunity(ZERO, DetectionParameters(algorithm=algorithm, threshold=100.0, **rules))  # type: ignore[arg-type]
    made.nodes = nodes(ZERO, *members_)
    return made


@pytest.mark.parametrize(("threshold", "merged"), [(0.6, False), (0.4, True)])
def test_vector_3_simple(threshold: float, merged: bool) -> None:
    mine = community("simple", A, B, C, admission=0.6, merging=threshold)
    told = CommunityState(nodes(PEER, A, B, E), nodes(A, B, C, D), {E: nodes(A)})
    assert mine.receive(PEER, told, 0)
    assert mine.nodes == (nodes(ZERO, A, B, C, PEER, E) if merged else nodes(ZERO, A, B, C, PEER))
    assert (E in mine.familiar_of) == merged


def test_simple_refuses_on_the_threshold_and_without_familiars() -> None:
    mine = community("simple", A, B, C, admission=0.75)
    assert not mine.receive(PEER, CommunityState(nodes(PEER), nodes(A, B, C, D), {}), 0)  # 3/4 is not more than 0.75
    assert not mine.receive(PEER, CommunityState(nodes(PEER), 0, {}), 0)
    assert mine.nodes == nodes(ZERO, A, B, C)


def test_vector_4_k_clique() -> None:
    mine = community("k-clique", A, B, C, k=3)
    told = CommunityState(nodes(PEER, J, E), nodes(A, B, C, D), {J: nodes(ZERO, X, Y), E: nodes(A, PEER)})
    assert mine.receive(PEER, told, 0)
    assert mine.nodes == nodes(ZERO, A, B, C, PEER, E)  # E is familiar with A and the new peer; J with one of us only
    assert mine.familiar_of == {PEER: nodes(A, B, C, D), E: nodes(A, PEER)}


def test_the_conservative_variants_bring_nobody_along() -> None:
    for algorithm in ("simple", "k-clique"):
        mine = community(algorithm, A, B, C, aggressive=False, merging=0.0)
        mine.receive(PEER, CommunityState(nodes(PEER, A, B, E), nodes(A, B, C), {E: nodes(A, B)}), 0)
        assert mine.nodes == nodes(ZERO, A, B, C, PEER)


def test_only_what_both_know_of_a_familiar_set_is_united() -> None:
    mine = community("k-clique", A, B)
    mine.familiar_of = {A: nodes(B)}
    assert mine.receive(C, CommunityState(nodes(C, A, B), 0, {A: nodes(C), B: nodes(C)}), 0)
    assert mine.familiar_of == {A: nodes(B, C)}
    before = mine.state()
    assert not mine.receive(C, CommunityState(nodes(C, A, B), 0, {A: nodes(C)}), 1)
    assert mine.state() is before  # nothing new: the same words again


def test_bad_rules_are_refused_in_one_line() -> None:
    for given_, said in (({"threshold": 0}, "threshold"), ({"k": 1}, "k"), ({"window": 10, "threshold": 20}, "window")):
        with pytest.raises(HunetError, match=said) as error:
            from_mapping(DetectionParameters, given_)
        assert "\n" not in str(error.value)


RULES = st.builds(
    DetectionParameters,
    algorithm=st.sampled_from(["simple", "k-clique"]),
    threshold=st.sampled_from([1.0, 5.0, 20.0]),
    k=st.integers(2, 4),
    aggressive=st.booleans(),
    window=st.sampled_from([None, 30.0]),
)


@given(crowds(), RULES)
def test_a_community_holds_its_owner_and_the_familiar_and_only_those_met_in_its_part(crowd: Any, rules: Any) -> None:
    contacts: Contacts = crowd[0]
    graph = nx.Graph(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True))
    graph.add_nodes_from(range(len(contacts.names)))
    for device in detect(contacts, rules):
        assert device.nodes >> device.node & 1
        assert not device.familiar & ~device.nodes
        assert not device.familiar >> device.node & 1
        assert set(members(device.nodes)) <= set(nx.node_connected_component(graph, device.node))
        assert not sum(1 << node for node in device.familiar_of) & ~device.nodes
    if rules.window is None:
        middle = sum(contacts.span) / 2
        for early, late in zip(detect(contacts, rules, until=middle), detect(contacts, rules), strict=True):
            assert not early.nodes & ~late.nodes  # without a window nobody is ever forgotten
            assert not early.familiar & ~late.familiar


def test_familiarity_is_mutual_and_by_total_contact_time() -> None:
    contacts = Contacts.from_records(
        [("0", "1", 0, 60), ("1", "2", 10, 30), ("0", "1", 100, 150), ("1", "2", 200, 210)]
    )
    devices = detect(contacts, DetectionParameters(threshold=100))
    assert [device.familiar for device in devices] == [nodes(1), nodes(0), 0]
    assert detect(contacts, DetectionParameters(threshold=100), until=139)[0].familiar == 0
    assert detect(contacts, DetectionParameters(threshold=100), until=140)[0].familiar == nodes(1)


def test_two_cliques_with_a_bridge_are_two_communities() -> None:
    """F4 of the workloads' fixtures."""
    records = [
        (str(a), str(b), 100.0 * turn, 100.0 * turn + 50)
        for turn in range(20)
        for first in (0, 5)
        for a in range(first, first + 5)
        for b in range(a + 1, first + 5)
    ]
    contacts = Contacts.from_records([*records, ("4", "5", 1000, 1050)])
    for algorithm in ("simple", "k-clique"):
        found = detect(contacts, DetectionParameters(algorithm=algorithm, threshold=300))
        assert agreed([device.nodes for device in found]) == [nodes(0, 1, 2, 3, 4), nodes(5, 6, 7, 8, 9)]


def test_with_a_window_old_friends_are_forgotten() -> None:
    early = [("0", "1", 0.0, 50.0), ("0", "2", 0.0, 50.0), ("1", "2", 0.0, 50.0)]
    late = [("0", "3", t, t + 50.0) for t in (1000.0, 1100.0)]
    contacts = Contacts.from_records(early + late)
    lasting = detect(contacts, DetectionParameters(threshold=40))[0]
    passing = detect(contacts, DetectionParameters(threshold=40, window=200))[0]
    assert lasting.nodes == nodes(0, 1, 2, 3)
    assert (passing.nodes, passing.familiar) == (nodes(0, 3), nodes(3))


def test_the_cost_of_a_contact_follows_the_community_not_the_network() -> None:
    """Lines of Python run by one contact: the same for 50 and for 5,000 devices, more for more members."""

    def lines(network: int, size: int) -> int:
        circle = range(2, network, network // size)
        mine = LocalCommunity(0, DetectionParameters(k=3))
        mine.nodes = nodes(0, *circle)
        mine.familiar_of = dict.fromkeys(circle, nodes(0))
        # The peer brings news of every member, and one device that comes along with it.
        news = dict.fromkeys(circle, mine.nodes) | {network: nodes(0, 2)}
        told = CommunityState(nodes(1, network, *circle), mine.nodes, news)
        count = 0

        def watch(frame: Any, event: str, _: Any) -> Any:
            nonlocal count
            count += event == "line" and "local_community" in frame.f_code.co_filename
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            mine.receive(1, told, 0.0)
        finally:
            sys.settrace(before)
        assert mine.nodes >> network & 1
        return count

    assert 0 < lines(50, 10) == lines(5000, 10)
    assert lines(5000, 10) < lines(5000, 20) < lines(5000, 40)
    assert lines(5000, 40) < 6 * lines(5000, 10)


# Another program ----------------------------------------------------------------------------------------------------


def oracles() -> list[str]:
    simple = [f"SIMPLE_T{t}_l0.6_g{g}" for t in (7200, 21600, 36000, 72000) for g in (0.6, 0.8)]
    return simple + [f"KCLIQUE_T{t}_k{k}" for t in (7200, 21600, 36000, 72000) for k in (3, 4, 5)]


@pytest.mark.parametrize("name", oracles())
def test_agreement_with_an_independent_program_on_cambridge(shared: Path, name: str) -> None:
    """Under its rules: familiar when a contact ends, first end first, no stale familiar sets (k-CLIQUE)."""
    numbers = dict(re.findall(r"([Tklg])([\d.]+)", name))
    if name.startswith("SIMPLE"):
        rules = DetectionParameters(
            algorithm="simple",
            threshold=float(numbers["T"]),
            admission=float(numbers["l"]),
            merging=float(numbers["g"]),
        )
    else:
        rules = DetectionParameters(threshold=float(numbers["T"]), k=int(numbers["k"]))
    familiar, found = under_its_rules(shared / "oracles/one-cambridge/connectivity.one", rules)
    likeness = []
    for line in (shared / f"oracles/communities-cambridge/{name}.txt").read_text().splitlines():
        node, *sets = line.split("\t")
        expected = [nodes(*map(int, filter(None, each.split(",")))) for each in sets]
        assert familiar[int(node)] == expected[0]
        likeness.append(jaccard(found[int(node)], expected[1]))
    assert len(likeness) == 36
    exact = name.startswith("SIMPLE") or name in ("KCLIQUE_T36000_k3", "KCLIQUE_T36000_k4") or "T72000" in name
    assert sum(likeness) / 36 >= (1.0 if exact else 0.95)


def under_its_rules(connectivity: Path, rules: DetectionParameters) -> tuple[list[NodeSet], list[NodeSet]]:
    devices = [LocalCommunity(node, rules) for node in range(36)]
    familiar = [0] * 36
    since: dict[frozenset[int], float] = {}
    total: dict[frozenset[int], float] = {}

    def told(node: int) -> CommunityState:
        return CommunityState(devices[node].nodes, familiar[node], dict(enumerate(familiar)))

    for line in connectivity.read_text().splitlines():
        when, _, first, second, what = line.split()
        now, a, b = float(when), int(first), int(second)
        ends, pair = ((a, b), (b, a)), frozenset((a, b))
        if what == "down":
            total[pair] = total.get(pair, 0.0) + now - since.pop(pair)
            for one, two in ends if total[pair] > (rules.threshold or 0) else ():
                familiar[one] |= 1 << two
                devices[one].nodes |= 1 << two
        elif rules.algorithm == "k-clique":
            since[pair] = now
            for one, two in ends:
                devices[one].receive(two, told(two), now)
        else:  # both ends are judged before either merges
            since[pair] = now
            joining = [(one, two) for one, two in ends if not devices[one].nodes >> two & 1]
            joining = [(one, two) for one, two in joining if devices[one].admits(familiar[two])]
            for one, two in joining:
                devices[one].nodes |= 1 << two
            for one, two in joining:
                devices[one].admit_community(told(two), now)
    return familiar, [device.nodes for device in devices]


# What devices agree on, and who is central --------------------------------------------------------------------------


@given(st.lists(st.integers(0, 255), min_size=8, max_size=8))
def test_agreed_communities_are_disjoint_and_mutual(said: list[int]) -> None:
    views = [view | 1 << node for node, view in enumerate(said)]
    found = agreed(views)
    assert sum(each.bit_count() for each in found) == sum(found).bit_count()
    for each in found:
        assert each.bit_count() >= 3
        for node in members(each):
            assert any(
                views[node] >> other & 1 and views[other] >> node & 1 for other in members(each) if other != node
            )


def test_similarity_is_that_of_the_best_match() -> None:
    assert best_matches([nodes(0, 1, 2), nodes(4, 5)], [nodes(0, 1), nodes(4, 5), nodes(8, 9)]) == [2 / 3, 1.0, 0.0]
    assert best_matches([], [nodes(1)]) == [0.0]
    assert jaccard(0, 0) == 1


def test_vector_2_closeness_and_brokers() -> None:
    edges = {1: nodes(2, 3, 4), 2: nodes(3), 4: nodes(5)}
    graph = graph_of(nodes(1, 2, 3, 4, 5), edges)
    assert {node: round(value, 4) for node, value in closeness(graph).items()} == {
        1: 0.2,
        2: 0.1429,
        3: 0.1429,
        4: 0.1667,
        5: 0.1111,
    }
    assert brokers(graph) == brokers(graph, single=True) == nodes(1)
    assert farthest(graph, nodes(1)) == 2
    complete = graph_of(nodes(1, 2, 3, 4), {1: nodes(2, 3, 4), 2: nodes(3, 4), 3: nodes(4)})
    assert set(closeness(complete).values()) == {1 / 3}
    assert brokers(complete) == nodes(1, 2, 3, 4)
    assert brokers(complete, single=True) == nodes(1)


def test_who_cannot_be_reached_is_as_far_as_the_community_is_large() -> None:
    graph = graph_of(nodes(0, 1, 2), {0: nodes(1)})
    assert closeness(graph) == {0: 1 / 4, 1: 1 / 4, 2: 1 / 6}
    assert farthest(graph, nodes(0)) == 1
    assert closeness(graph_of(nodes(7), {})) == {7: 0.0}
    assert brokers(graph_of(nodes(7), {})) == nodes(7)


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda edge: edge[0] < edge[1])))
def test_centralities_agree_with_networkx(edges: set[tuple[int, int]]) -> None:
    known: dict[int, int] = {}
    for a, b in edges:
        known[a] = known.get(a, 0) | 1 << b
    graph = graph_of(nodes(*range(8)), known)
    reference = nx.Graph(sorted(edges))
    reference.add_nodes_from(range(8))
    assert betweenness(graph) == pytest.approx(nx.betweenness_centrality(reference, normalized=False))
    lengths = dict(nx.all_pairs_shortest_path_length(reference))
    for node, value in closeness(graph).items():
        assert 1 / value == pytest.approx(sum(lengths[node].get(other, 8) for other in range(8) if other != node))


def test_the_closest_stay_so_until_another_has_as_many_neighbours() -> None:
    held = 0
    for seed in range(60):
        rng = Random(seed)
        pairs = [(a, b) for a in range(9) for b in range(a)]
        rng.shuffle(pairs)
        known = dict.fromkeys(range(9), 0)
        group, degree, depth = 0, 0, 0
        for a, b in pairs:
            known[a] |= 1 << b
            graph = graph_of(nodes(*range(9)), known)
            if max(graph[a].bit_count(), graph[b].bit_count()) < degree:
                held += 1
                assert (brokers(graph), farthest(graph, group)) == (group, depth)
            group, degree = closest(graph)
            depth = farthest(graph, group)
    assert held > 200


def test_the_graph_of_a_community_grows_with_what_is_known() -> None:
    grown = 0
    for seed in range(20):
        rng = Random(seed)
        window = rng.choice([None, 400.0])
        device = LocalCommunity(0, DetectionParameters(threshold=50.0, k=2, window=window))
        for turn in range(60):
            now, peer = turn * 20.0, rng.randrange(1, 8)
            device.link_up(peer, now)
            told = {node: rng.getrandbits(8) & ~(1 << node) for node in rng.sample(range(1, 8), 2)}
            device.receive(
                peer, CommunityState(rng.getrandbits(8) | 1 << peer, rng.getrandbits(8) & ~(1 << peer), told), now
            )
            device.link_down(peer, now + rng.choice([5.0, 60.0]))
            before = {node: near.bit_count() for node, near in device._graph.items()}
            more, graph = device.changes(), device.graph()
            assert graph == graph_of(device.nodes, {**device.familiar_of, 0: device.familiar})
            if more is not None:
                assert more == nodes(*(node for node, near in graph.items() if near.bit_count() != before[node]))
                grown += more != 0
    assert grown > 20
