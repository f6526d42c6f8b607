"""The community world: its network, its communities, its variants, and the signatures of its contacts."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hunet.graphs import contact_statistics, inter_contact_times, modularity
from hunet.graphs.communities import girvan_newman
from hunet.model.contacts import Contacts
from hunet.model.errors import ConfigurationError
from hunet.worlds import make_movement, make_world
from hunet.worlds.community import Community, draw_society
from hunet.worlds.movement import RadioMovement
from hunet.worlds.society import communities, placed, related, weighted


@cache
def separated(seed: int) -> tuple[RadioMovement, Contacts]:
    movement = make_movement("community", seed, min_separation=3)
    assert isinstance(movement, RadioMovement)
    return movement, movement.contacts()


def goal_squares(movement: Any, per_side: int = 20, side: float = 4000.0) -> list[np.ndarray]:
    """For each host the square of every breakpoint of its track."""
    size = side / per_side
    points = (movement.tracks.breakpoints(host) for host in range(len(movement.tracks)))
    return [(y // size).astype(int) * per_side + (x // size).astype(int) for _, x, y in points]


def home_squares(about: dict[str, Any], per_side: int = 20) -> np.ndarray:
    squares = np.array([row * per_side + column for column, row in about["home_squares"]])
    return np.asarray(squares[about["communities"]])


def in_and_out(contacts: Contacts) -> tuple[float, float]:
    """Contact time and number of contacts per pair, inside communities against outside."""
    community = np.array(contacts.metadata["communities"])
    own = community[contacts.a] == community[contacts.b]
    same = community[:, None] == community
    pairs_in, pairs_out = (same.sum() - len(same)) / 2, (~same).sum() / 2
    length = contacts.end - contacts.start
    time = (length[own].sum() / pairs_in) / (length[~own].sum() / pairs_out)
    return float(time), float((own.sum() / pairs_in) / ((~own).sum() / pairs_out))


def test_rewiring_keeps_the_number_of_relations_and_joins_caves() -> None:
    rewired = []
    for seed in range(20):
        edges = related(100, 10, 0.1, np.random.default_rng(seed))
        assert len(edges) == 450
        assert all(i < j for i, j in edges)
        rewired.append(sum(i % 10 != j % 10 for i, j in edges))
    assert np.mean(rewired) == pytest.approx(45, abs=4 * 6.4 / math.sqrt(20))


def test_relations_are_symmetric_and_strong_or_weak() -> None:
    rng = np.random.default_rng(1)
    edges = related(30, 3, 0.2, rng)
    weight = weighted(30, edges, 0.1, True, rng)
    assert (weight == weight.T).all()
    assert (np.diag(weight) == 0).all()
    strong = np.array([weight[edge] for edge in edges])
    assert strong.min() > 0.9
    assert (weight > 0.1).sum() == 2 * len(edges)


def test_girvan_newman_finds_the_caves() -> None:
    for seed in range(5):
        edges = related(100, 10, 0.1, np.random.default_rng(seed))
        found = communities(100, 10, edges, "girvan-newman")
        assert found.tolist() == [host % 10 for host in range(100)]
        parts = [list(range(cave, 100, 10)) for cave in range(10)]
        assert modularity(100, sorted(edges), np.ones(450), parts) == pytest.approx(0.8, abs=4 * 0.013)


def test_girvan_newman_agrees_with_an_independent_implementation() -> None:
    import networkx  # type: ignore[import-untyped]

    edges = related(24, 4, 0.25, np.random.default_rng(2))
    graph = networkx.Graph(sorted(edges))
    partitions = networkx.community.girvan_newman(graph)
    qualities = [
        networkx.community.modularity(graph, partition) for _, partition in zip(range(8), partitions, strict=False)
    ]
    ones = np.ones(len(edges))
    found = girvan_newman(24, sorted(edges), ones)
    assert modularity(24, sorted(edges), ones, found) == pytest.approx(max(qualities), abs=0.02)


def test_one_cave_is_one_community() -> None:
    assert set(make_movement("community", 1, hosts=10, caves=1, duration=10).metadata["communities"]) == {0}


def test_girvan_newman_without_relations_leaves_everybody_alone() -> None:
    assert communities(3, 3, set(), "girvan-newman").tolist() == [0, 1, 2]


def test_communities_live_apart() -> None:
    for seed in range(10):
        society = draw_society(Community(min_separation=3), seed)
        column, row = society.square % 20, society.square // 20
        apart = np.maximum(np.abs(column[:, None] - column), np.abs(row[:, None] - row))
        assert apart[~np.eye(len(apart), dtype=bool)].min() >= 3
    with pytest.raises(ConfigurationError, match="no room for 5 communities on 2 x 2 squares"):
        placed(5, 2, True, 1, np.random.default_rng(1))


def test_the_signatures_of_the_default_rule() -> None:
    found = [(separated(seed), contact_statistics(separated(seed)[1])) for seed in (1, 2, 3)]
    assert np.mean([statistics.contacts for _, statistics in found]) == pytest.approx(24_552, rel=0.30)
    assert np.mean([statistics.mean_degree for _, statistics in found]) == pytest.approx(4.26, rel=0.25)
    assert np.mean([statistics.mean_duration for _, statistics in found]) == pytest.approx(167, rel=0.1)
    at_home = []
    for (movement, _), _ in found:
        places = movement.positions(np.arange(0, 28800, 60.0))
        square = (places[..., 1] // 200).astype(int) * 20 + (places[..., 0] // 200).astype(int)
        at_home.append((square == home_squares(movement.metadata)).mean())
    assert np.mean(at_home) == pytest.approx(0.504, abs=0.10)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_people_of_a_community_meet_more(seed: int) -> None:
    time, rate = in_and_out(separated(seed)[1])
    assert time >= 5
    assert rate >= 1.3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_inter_contact_times_are_heavier_than_exponential(seed: int) -> None:
    gaps = inter_contact_times(separated(seed)[1])
    assert gaps.std() / gaps.mean() > 1.15
    assert (gaps > 8 * gaps.mean()).mean() > 5 * math.exp(-8)


def test_random_waypoint_on_the_same_field_is_not() -> None:
    field = {"width": 4000, "height": 4000, "radio_range": 250, "speed_max": 6, "duration": 28800}
    gaps = inter_contact_times(make_world("waypoint", 1, **field))
    assert gaps.std() / gaps.mean() < 1.15


def test_the_share_of_hosts_that_never_leave_home_is_that_of_hosts_without_friends_elsewhere() -> None:
    movement, _ = separated(1)
    home = home_squares(movement.metadata)
    never = np.mean([(squares == home[host]).all() for host, squares in enumerate(goal_squares(movement))])
    assert never == pytest.approx(0.39, abs=4 * 0.048)


def test_the_deterministic_rule_freezes_everybody_at_home() -> None:
    for association in ("home", "goal"):
        movement = make_movement("community", 1, choice="deterministic", association=association, duration=4000)
        home = home_squares(movement.metadata)
        assert all((squares == home[host]).all() for host, squares in enumerate(goal_squares(movement)))


def test_travellers_go_back_and_forth_between_their_two_best_squares() -> None:
    movement = make_movement(
        "community", 1, choice="deterministic", weak_ties=True, travellers=5, hosts=30, caves=3, duration=4000
    )
    home = home_squares(movement.metadata)
    for host, squares in enumerate(goal_squares(movement)):
        seen = list(dict.fromkeys(squares.tolist()))
        assert seen[0] == home[host]
        assert len(seen) == (2 if host < 5 else 1)
        assert all((one != two) == (host < 5) for one, two in pairwise(squares.tolist()[1:]))
    with pytest.raises(ConfigurationError, match="travellers mean nothing with choice=pseudo"):
        make_movement("community", 1, choice="pseudo", travellers=1)


def test_current_goals_make_a_herd() -> None:
    movement = make_movement("community", 1, association="goal", weak_ties=True)
    squares, hosts = goal_squares(movement), range(100)

    def goals_at(instant: float) -> np.ndarray:
        heading = [np.searchsorted(movement.tracks.breakpoints(host)[0], instant) for host in hosts]
        return np.array([squares[host][heading[host]] for host in hosts])

    assert np.bincount(goals_at(14400)).max() >= 25
    assert len(np.unique(goals_at(28000))) < 6
    time, _ = in_and_out(movement.contacts())
    assert time < 2


@pytest.mark.parametrize(
    "rule", [{"choice": "proportional"}, {"choice": "pseudo"}, {"choice": "hcmm"}, {"association": "goal"}]
)
def test_without_rewiring_nobody_leaves_home(rule: dict[str, Any]) -> None:
    movement = make_movement("community", 1, rewiring=0, duration=3000, **rule)
    home = home_squares(movement.metadata)
    assert all((squares == home[host]).all() for host, squares in enumerate(goal_squares(movement)))


@pytest.mark.parametrize("association", ["home", "goal"])
@pytest.mark.parametrize("choice", ["proportional", "deterministic", "pseudo"])
def test_hosts_without_any_relation_stay_where_they_are(choice: str, association: str) -> None:
    hermits = {"hosts": 12, "caves": 12, "duration": 1500}
    movement = make_movement("community", 1, choice=choice, association=association, **hermits)
    home = home_squares(movement.metadata)
    assert len(set(movement.metadata["communities"])) == 12
    assert all((squares == home[host]).all() for host, squares in enumerate(goal_squares(movement)))


def test_the_reading_of_the_socialcast_runs() -> None:
    settings = {
        "association": "goal",
        "drift": 0.01,
        "weak_ties": True,
        "speed_per": "host",
        "distinct_squares": False,
    }
    contacts = make_world("community", 1, **settings)
    assert contact_statistics(contacts).mean_degree == pytest.approx(1.77, rel=0.25)
    assert len(contacts) == pytest.approx(29_400, rel=0.30)


def test_the_mean_rule_and_the_rank_rule() -> None:
    mean = contact_statistics(make_world("community", 1, association="goal", normalisation="mean"))
    assert mean.mean_degree == pytest.approx(3.56, rel=0.5)
    rank = contact_statistics(make_world("community", 1, choice="pseudo", min_separation=3))
    assert 3 < rank.mean_degree < 7


def test_excursions_of_hcmm_have_the_length_of_its_coin() -> None:
    movement = make_movement("community", 1, choice="hcmm", excursion=0.8)
    home, further, excursions = home_squares(movement.metadata), 0, 0
    for host, squares in enumerate(goal_squares(movement)):
        away = squares != home[host]
        left = away[1:] & ~away[:-1]
        excursions += int(left.sum())
        further += int((away[1:] & away[:-1]).sum())
    assert further / excursions == pytest.approx(0.8 / 0.2, rel=0.1)


def test_a_speed_per_host() -> None:
    legs = make_movement("community", 1, speed_per="host", duration=2000).tracks.legs()
    for host in range(100):
        own = legs.speed[legs.node == host]
        assert own == pytest.approx(own[0], rel=1e-6)
    assert 1 < legs.speed.min() < legs.speed.max() <= 6.000001


def test_after_a_reconfiguration_everybody_goes_to_a_new_home_and_nobody_jumps() -> None:
    movement = make_movement("community", 1, reconfiguration=5000, duration=12000)
    later = movement.metadata["reconfigurations"]
    assert [each["time"] for each in later] == [5000, 10000]
    assert later[0]["home_squares"] != movement.metadata["home_squares"]
    assert movement.tracks.legs().speed.max() <= 6.000001
    squares = goal_squares(movement)
    home = home_squares(later[0])
    for host in range(100):
        t = movement.tracks.breakpoints(host)[0]
        decision = int(np.searchsorted(t, 5000))
        assert squares[host][decision + 1] == home[host]


def test_a_reconfiguration_may_leave_who_knows_whom() -> None:
    first, later = (
        draw_society(Community(hosts=30, caves=3, reconfiguration=100.0, society_stays=True), 1, epoch)
        for epoch in (0, 1)
    )
    assert (first.weight == later.weight).all()
    assert (first.community == later.community).all()
    assert (first.square != later.square).any()
    with pytest.raises(ConfigurationError, match="without reconfigurations"):
        make_movement("community", 1, society_stays=True)


def test_more_hosts_by_the_shortcut() -> None:
    contacts = make_world("community", 1, hosts=300, caves=30, side=6900, squares=34, detection="caves", duration=600)
    assert contacts.metadata["communities"] == [host % 30 for host in range(300)]
