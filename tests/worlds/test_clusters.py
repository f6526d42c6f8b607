"""Clusters: everybody in his disk, ferries everywhere, speeds and waits as given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hunet.model import ConfigurationError
from hunet.worlds import make_movement, make_world
from hunet.worlds.clusters import Cluster, Clusters, _places

GROUPS: list[dict[str, float]] = [
    {"nodes": 4, "x": 100, "y": 100, "radius": 50},
    {"nodes": 4, "x": 400, "y": 100, "radius": 50, "speed_min": 1, "speed_max": 1, "pause_max": 0},
    {"nodes": 2, "speed_min": 5, "speed_max": 10},
    {"nodes": 1, "x": 250, "y": 300, "radius": 0},
]
AREA: dict[str, Any] = {"width": 500, "height": 400, "duration": 3000}


def test_everybody_keeps_to_his_disk_and_ferries_go_everywhere() -> None:
    walk = make_movement("clusters", 3, groups=GROUPS, **AREA)
    places = walk.positions(np.arange(0, 3001, 10))
    for nodes, centre in ((slice(0, 4), (100, 100)), (slice(4, 8), (400, 100))):
        away = np.hypot(*np.moveaxis(places[:, nodes] - centre, -1, 0))
        assert away.max() <= 50 + 1e-9
        assert away.max() > 45
    assert np.ptp(places[:, 8:10, 0]) > 400
    assert np.ptp(places[:, 8:10, 1]) > 300
    assert (places[:, 10] == (250, 300)).all()
    assert walk.metadata["communities"] == [0] * 4 + [1] * 4 + [2] * 2 + [3]


def test_goals_are_uniform_in_a_disk() -> None:
    group = Cluster(x=100, y=100, radius=50)
    x, y = _places(Clusters(), group, np.random.default_rng(1).random((10_000, 2)))
    away = np.hypot(x - 100, y - 100)
    assert np.median(away) == pytest.approx(50 / np.sqrt(2), rel=0.02)  # half of a disk is outside of that
    assert abs(np.mean(x) - 100) < 1


def test_speeds_and_waits() -> None:
    walk = make_movement("clusters", 3, groups=GROUPS, **AREA)
    steps = np.hypot(*np.moveaxis(np.diff(walk.positions(np.arange(0, 3000, 0.5)), axis=0), -1, 0)) / 0.5
    assert np.median(steps[:, 4:8]) == pytest.approx(1.0)  # never waits, and turns now and then
    assert steps[:, :4].max() <= 1.5 + 1e-9
    assert (steps[:, :4] == 0).mean() > 0.3
    assert steps[:, 8:10].max() > 5


def test_only_ferries_join_the_clusters() -> None:
    contacts = make_world("clusters", 3, groups=GROUPS, radio_range=60, **AREA)
    group = contacts.metadata["communities"]
    met = {(group[a], group[b]) for a, b in zip(contacts.a.tolist(), contacts.b.tolist(), strict=True)}
    assert {(0, 0), (1, 1), (0, 2), (1, 2)} <= met
    assert (0, 1) not in met


def test_a_warm_up_is_walked_before_the_run() -> None:
    fresh, warm = (make_movement("clusters", 3, groups=GROUPS, warmup=warmup, **AREA) for warmup in (0, 500))
    assert np.allclose(fresh.positions([500.0, 1000.0]), warm.positions([0.0, 500.0]))
    assert warm.duration == 3000


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ([{"nodes": 1}], "at least two nodes"),
        ([{"nodes": 3, "speed_min": 3, "speed_max": 2}], "speed_min 3 is above speed_max 2"),
        ([{"nodes": 3, "speed_min": 0}], "Expected `float` > 0.0"),
    ],
)
def test_what_cannot_be(groups: list[dict[str, float]], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        make_world("clusters", groups=groups)
