"""Random waypoint against theory: speeds, density, contact rate, duration and degree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hunet.graphs.contact_statistics import contact_statistics
from hunet.worlds import make_movement, make_world
from hunet.worlds.tracks import Tracks
from hunet.worlds.waypoint import mean_leg, mean_speed

DENSITY = 1.368
"""ω, the integral of the squared density of moving nodes over the unit square."""
RELATIVE_SPEED = 5.689
"""m/s: mean speed difference of two stationary walkers with speeds in (1, 10]."""


def speeds_at(tracks: Tracks, instant: float) -> np.ndarray:
    legs = tracks.legs()
    under_way = (legs.begin <= instant) & (instant < legs.end)
    return legs.speed[under_way]


def test_contacts_of_the_stationary_world_follow_theory() -> None:
    runs = [contact_statistics(make_world("waypoint", seed, start="stationary")) for seed in range(1, 6)]
    rate = 2 * 50 * DENSITY * RELATIVE_SPEED / 1000**2
    assert np.mean([run.pair_rate for run in runs]) == pytest.approx(rate, rel=0.05)
    assert np.mean([run.mean_duration for run in runs]) == pytest.approx(math.pi * 50 / (2 * RELATIVE_SPEED), rel=0.05)
    assert np.mean([run.mean_degree for run in runs]) == pytest.approx(
        99 * math.pi * 50**2 * DENSITY / 1000**2, rel=0.05
    )
    assert np.mean([run.pairs_that_meet for run in runs]) == pytest.approx(0.903, abs=4 * 0.005 / math.sqrt(5))


@pytest.mark.parametrize(("fastest", "contacts", "spread"), [(5, 7086, 180), (10, 11693, 260), (50, 40782, 680)])
def test_the_papers_scenario_has_the_contacts_that_were_measured(fastest: float, contacts: int, spread: int) -> None:
    found = len(make_world("waypoint", 1, speed_max=fastest))
    assert found == pytest.approx(contacts, abs=4 * spread)


def test_the_stationary_start_is_flat_from_the_first_instant() -> None:
    walk = make_movement("waypoint", 1, nodes=4000, start="stationary", pause_max=60, duration=2000)
    paused = 30 / (30 + mean_leg(1000, 1000) / mean_speed(1, 10))
    for instant in (0.5, 100.0, 1900.0):
        speeds = speeds_at(walk.tracks, instant)
        assert (speeds == 0).mean() == pytest.approx(paused, abs=4 * math.sqrt(paused * (1 - paused) / 4000))
        x, y = walk.positions([instant])[0].T
        central = ((np.abs(x - 500) < 250) & (np.abs(y - 500) < 250)).mean()
        # Paused nodes are uniform (a quarter of them is in the middle), moving ones are not.
        assert central == pytest.approx(0.25 * paused + 0.4545 * (1 - paused), abs=0.03)


def test_speeds_begin_at_the_limit_and_stay_there() -> None:
    stationary = make_movement("waypoint", 1, nodes=4000, start="stationary").tracks
    for instant in (0.0, 1000.0, 2999.0):
        assert speeds_at(stationary, instant).mean() == pytest.approx(mean_speed(1, 10), rel=0.04)


def test_a_uniform_start_slows_down_and_a_warm_up_cures_it() -> None:
    uniform = make_movement("waypoint", 1, nodes=2000).tracks
    assert speeds_at(uniform, 0.0).mean() == pytest.approx(5.5, rel=0.04)
    assert speeds_at(uniform, 2999.0).mean() == pytest.approx(mean_speed(1, 10), rel=0.05)
    warm = make_movement("waypoint", 1, nodes=2000, start="warmup").tracks
    assert speeds_at(warm, 0.0).mean() == pytest.approx(mean_speed(1, 10), rel=0.08)


def test_without_a_slowest_speed_the_walk_never_settles() -> None:
    tracks = make_movement("waypoint", 1, nodes=2000, speed_min=0).tracks
    means = [speeds_at(tracks, instant).mean() for instant in (0.5, 400.0, 2900.0)]
    assert means[0] > means[1] > means[2]
    assert means[2] < 2.1


def test_inter_contact_times_are_exponential() -> None:
    found = contact_statistics(make_world("waypoint", 1, nodes=40, duration=40000.0))
    assert found.inter_contact_variation == pytest.approx(1.0, abs=0.1)


def test_walks_stay_in_the_area_and_within_their_speeds() -> None:
    tracks = make_movement("waypoint", 2, width=300, height=700, pause_min=3, pause_max=9).tracks
    assert 0 <= tracks.x.min() < tracks.x.max() <= 300
    assert 0 <= tracks.y.min() < tracks.y.max() <= 700
    speed = tracks.legs().speed
    walking = speed > 0
    assert 1 <= speed[walking].min() < speed[walking].max() <= 10 * (1 + 1e-9)
    legs = tracks.legs()
    pauses = (legs.end - legs.begin)[~walking]
    assert pauses.min() == pytest.approx(3, abs=0.1)
    assert pauses.max() == pytest.approx(9, abs=0.1)


def test_mean_leg_of_a_rectangle() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.random((2, 200_000, 2)) * (3, 1)
    assert mean_leg(3, 1) == pytest.approx(np.hypot(*(one - two).T).mean(), rel=0.005)


def test_one_more_node_changes_nobody_elses_walk() -> None:
    few, more = make_movement("waypoint", 5, nodes=4), make_movement("waypoint", 5, nodes=5)
    times = np.linspace(0, 3000, 50)
    assert (few.positions(times) == more.positions(times)[:, :4]).all()
