"""SLAW: the fractal map, the walk, and the signatures of its contacts."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from hunet.graphs.contact_statistics import contact_statistics
from hunet.model.errors import ConfigurationError
from hunet.worlds import make_movement, make_world
from hunet.worlds.fractal_map import fractal_waypoints, hurst_parameter
from hunet.worlds.movement import Movement
from hunet.worlds.slaw import Slaw, clusters, truncated_pareto, waypoint_map


@cache
def walk(seed: int) -> Movement:
    return make_movement("slaw", seed)


@pytest.mark.parametrize("wanted", [0.55, 0.65, 0.75, 0.85, 0.90])
def test_the_map_has_the_wanted_hurst_parameter(wanted: float) -> None:
    found = [hurst_parameter(*waypoint_map(Slaw(hurst=wanted), seed), 1000.0) for seed in range(5)]
    assert np.mean(found) == pytest.approx(wanted, abs=0.03)


def test_the_map_in_the_manner_of_the_published_ones() -> None:
    found = [hurst_parameter(*waypoint_map(Slaw(waypoints=2000, split="first31"), seed), 1000.0) for seed in range(5)]
    assert np.mean(found) == pytest.approx(0.748, abs=0.03)


def test_uniform_points_are_not_fractal() -> None:
    points = [np.random.default_rng(seed).random((2, 1000)) for seed in range(5)]
    found = [hurst_parameter(x, y, 1.0, first_level=2) for x, y in points]
    assert np.mean(found) == pytest.approx(0.48, abs=0.1)


def test_a_map_keeps_all_waypoints_inside_and_apart() -> None:
    x, y = fractal_waypoints(3000, 70.0, np.random.default_rng(1), hurst=0.95)
    assert len(np.unique(np.column_stack((x, y)), axis=0)) == 3000
    assert 0 <= min(x.min(), y.min()) < max(x.max(), y.max()) < 70


def test_too_much_or_no_variance_is_taken_as_far_as_it_goes() -> None:
    x, _ = fractal_waypoints(200, 1.0, np.random.default_rng(1), hurst=0.51, first_variance=2.99)
    assert len(x) == 200


def test_clusters_are_what_hangs_together() -> None:
    x, y = waypoint_map(Slaw(), 1)
    members = clusters(x, y, 50.0)
    assert sorted(np.concatenate(members).tolist()) == list(range(1000))
    label = np.empty(1000, int)
    for number, each in enumerate(members):
        label[each] = number
    near = np.hypot(x[:, None] - x, y[:, None] - y) <= 50.0
    assert (label[:, None] == label)[near].all()
    others = [near[each][:, label == number].sum() for number, each in enumerate(members) if len(each) > 1]
    assert min(others) > 1


def test_clusters_per_map() -> None:
    counts = [len(clusters(*waypoint_map(Slaw(), seed), 50.0)) for seed in range(8)]
    assert np.mean(counts) == pytest.approx(33, abs=4 * 8 / math.sqrt(8))


def test_pauses_follow_the_truncated_pareto_law() -> None:
    legs = walk(1).tracks.legs()
    whole = (legs.begin > 0) & (legs.speed == 0)
    pauses = np.sort((legs.end - legs.begin)[whole])
    assert 10 - 1e-6 <= pauses[0] < pauses[-1] <= 50 + 1e-6
    assert pauses.mean() == pytest.approx(math.log(5) / (1 / 10 - 1 / 50), rel=0.02)
    law = (1 / 10 - 1 / pauses) / (1 / 10 - 1 / 50)
    steps = np.arange(len(pauses) + 1) / len(pauses)
    distance = max(np.abs(law - steps[1:]).max(), np.abs(law - steps[:-1]).max())
    assert distance * math.sqrt(len(pauses)) < 1.95  # Kolmogorov-Smirnov at 0.1 %


def test_truncated_pareto_hits_both_ends() -> None:
    ends = truncated_pareto(30.0, 3600.0, 1.36, np.array([0.0, 1.0]))
    assert ends == pytest.approx([30, 3600])


@pytest.mark.parametrize("seed", [1, 2])
def test_flights_have_a_heavy_tail(seed: int) -> None:
    legs = walk(seed).tracks.legs()
    whole = (legs.begin > 0) & (legs.speed > 0)
    flights = (legs.speed * (legs.end - legs.begin))[whole]
    assert flights.std() / flights.mean() > 1.5
    assert np.percentile(flights, 99) / np.median(flights) > 18


def test_the_papers_scenario_has_the_contacts_that_were_measured() -> None:
    runs = [contact_statistics(walk(seed).contacts()) for seed in (1, 2, 3)]
    assert np.mean([run.contacts for run in runs]) == pytest.approx(10_620, rel=0.25)
    assert np.mean([run.mean_degree for run in runs]) == pytest.approx(2.71, rel=0.25)
    assert np.mean([run.mean_duration for run in runs]) == pytest.approx(38.0, rel=0.1)
    assert 1.2 < np.mean([run.inter_contact_variation for run in runs]) < 1.6


def test_some_pairs_meet_far_more_than_others() -> None:
    def top_tenth(world: str) -> float:
        contacts = make_world(world, 1)
        time = np.bincount(contacts.a * 100 + contacts.b, weights=contacts.end - contacts.start, minlength=100**2)
        return float(np.sort(time)[-495:].sum() / time.sum())

    assert 0.33 < top_tenth("slaw") < 0.50
    assert top_tenth("waypoint") < 0.32


def test_a_common_start_is_a_wave() -> None:
    def degree(contacts: object, instant: float) -> float:
        return float(2 * ((contacts.start <= instant) & (instant <= contacts.end)).sum() / 100)  # type: ignore[attr-defined]

    together = make_world("slaw", 1, start="sync")
    scattered = walk(1).contacts()
    assert degree(together, 600) > 1.5 * degree(together, 2900)
    assert contact_statistics(together).mean_degree > 1.4 * contact_statistics(scattered).mean_degree


def test_walkers_visit_waypoints_only() -> None:
    x, y = waypoint_map(Slaw(), 1)
    known = set(zip(x.tolist(), y.tolist(), strict=True))
    for node in range(5):
        _, px, py = walk(1).tracks.breakpoints(node)
        assert set(zip(px[1:].tolist(), py[1:].tolist(), strict=True)) <= known


def test_one_cluster_is_reported() -> None:
    with pytest.raises(ConfigurationError, match=r"form one cluster at cluster_range 400 m.*such as 200 m"):
        make_world("slaw", 1, cluster_range=400)


def test_walkers_who_own_every_cluster_still_walk() -> None:
    assert len(make_world("slaw", 1, nodes=10, cluster_ratio=1, duration=300)) > 0
