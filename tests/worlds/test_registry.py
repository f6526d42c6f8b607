"""The registry of worlds: names, parameters, seeds, labels, and what is refused with which words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import hunet.worlds
from hunet.graphs.contact_statistics import contact_statistics
from hunet.model.errors import ConfigurationError
from hunet.worlds import WORLDS, make_movement, make_world

SMALL: dict[str, dict[str, Any]] = {
    "community": {"hosts": 20, "caves": 2, "duration": 1200},
    "waypoint": {"nodes": 20, "duration": 400},
    "slaw": {"nodes": 20, "duration": 300},
    "campus": {"days": 1},
    "clusters": {"duration": 900},
}


def test_the_worlds_and_their_parameters() -> None:
    assert list(WORLDS) == ["community", "waypoint", "slaw", "campus", "clusters"]
    for world in WORLDS.values():
        rows = world.describe()
        assert all(row.help and row.source for row in rows)
        assert len({row.name for row in rows}) == len(rows)


def test_everything_public_is_there() -> None:
    assert all(hasattr(hunet.worlds, name) for name in hunet.worlds.__all__)


@pytest.mark.parametrize("name", SMALL)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name: str) -> None:
    one, two, other = (make_world(name, seed, **SMALL[name]) for seed in (7, 7, 8))
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize("name", SMALL)
def test_the_table_tells_how_it_was_made(name: str) -> None:
    contacts = make_world(name, 3, **SMALL[name])
    about = json.loads(json.dumps(contacts.metadata))
    assert (about["world"], about["seed"]) == (name, 3)
    again = make_world(about["world"], about["seed"], **about["parameters"])
    assert again.fingerprint == contacts.fingerprint
    movement = make_movement(name, 3, **SMALL[name])
    assert contacts.span == (0, movement.duration)
    assert about["censored"]["left"] == (contacts.start == 0).sum()
    assert about["censored"]["right"] == (contacts.end == movement.duration).sum()
    labels = {"community": "communities", "slaw": "own_clusters", "campus": "departments", "clusters": "communities"}
    assert name not in labels or len(about[labels[name]]) == len(contacts.names)


@pytest.mark.parametrize("name", ["community", "waypoint", "slaw", "clusters"])
def test_a_contact_is_a_matter_of_distance(name: str) -> None:
    movement = make_movement(name, 2, **SMALL[name])
    contacts, radius = (
        movement.contacts(),
        make_movement(name, 2, **SMALL[name]).metadata["parameters"]["radio_range"],
    )
    for a, b, start, end in zip(contacts.a, contacts.b, contacts.start, contacts.end, strict=True):
        inside = movement.positions(np.linspace(start, end, 5))
        assert np.hypot(*(inside[:, a] - inside[:, b]).T).max() <= radius + 1e-6


def test_values_may_be_text() -> None:
    assert (
        make_world("waypoint", 1, nodes="5", duration="100").fingerprint
        == make_world("waypoint", 1, nodes=5, duration=100).fingerprint
    )
    assert make_movement("community", 1, hosts=10, caves=2, duration=10, reconfiguration="none").duration == 10


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("waypoint", {"width": 0}, "parameter 'width'.*> 0.*given: 0"),
    ("waypoint", {"speed_min": 9, "speed_max": 3}, "speed_min 9 is above speed_max 3: exchange the two"),
    ("waypoint", {"pause_min": 9}, "pause_min 9 is above pause_max 0: exchange"),
    (
        "waypoint",
        {"radio_range": 1001},
        "radio_range 1001 m is larger than the area.*choose a range below 1000 m",
    ),
    ("waypoint", {"nodes": 1}, "parameter 'nodes'.*>= 2"),
    ("waypoint", {"speed_min": 0, "start": "stationary"}, "no steady state: choose a speed_min above 0"),
    ("waypoint", {"duration": "inf"}, "parameter 'duration' is inf: give a number, such as 3000"),
    ("waypoint", {"duration": "soon"}, "parameter 'duration'"),
    ("waypoint", {"sped_max": 3}, "no parameter 'sped_max': did you mean 'speed_max'"),
    ("waypoint", {"start": "steady"}, "parameter 'start'.*steady"),
    ("community", {"side": -1}, "parameter 'side'"),
    ("community", {"caves": 101}, "101 caves are too many for 100 hosts: choose at most 100"),
    ("community", {"speed_max": 0.5}, "speed_min 1 is above speed_max 0.5"),
    ("community", {"radio_range": 5000}, "choose a range below 4000 m"),
    ("community", {"squares": 3}, "10 caves do not fit on 3 x 3 squares.*choose 9 caves or fewer"),
    ("community", {"min_separation": 10}, "choose 4 caves or fewer"),
    (
        "community",
        {"distinct_squares": False, "min_separation": 2},
        "min_separation needs distinct_squares=true",
    ),
    ("community", {"choice": "hcmm", "association": "goal"}, "leave association=home"),
    ("community", {"choice": "pseudo", "drift": 1}, "set choice=proportional or drift=0"),
    ("community", {"reconfiguration": 0}, "give a number above 0, or none"),
    ("slaw", {"hurst": 1.2}, "parameter 'hurst'"),
    ("slaw", {"pause_min": 60}, "pause_min 60 is above pause_max 50"),
    ("slaw", {"speed_min": 20}, "speed_min 20 is above speed_max 10"),
    ("slaw", {"radio_range": 2000}, "choose a range below 1000 m"),
    ("slaw", {"cluster_range": 1000}, "cluster_range 1000 m reaches across.*such as 50 m"),
    ("campus", {"undergraduates": [], "graduates": [], "shared_courses": []}, "fewer than two students"),
    ("campus", {"graduates": [5, -1]}, "graduates has a negative entry"),
    ("campus", {"weekend": [7]}, "0 is Monday, 6 is Sunday"),
    ("campus", {"public_buildings": ["LIB", "UNION", "REC", "GEN", "DEPT0"]}, "names of their own"),
    ("campus", {"slot": 1000}, "slot 1000 s does not divide a day"),
    ("campus", {"jitter": 3600}, "jitter 3600 s is longer than a slot"),
    ("campus", {"contact_min": 20000}, "contact_min 20000 is above contact_max 14400"),
    ("campus", {"night_begin": 7}, "night_begin 7 h is not after night_end 8 h"),
    ("campus", {"shared_courses": [1]}, "shared_courses has 1 entries for 4"),
    ("campus", {"core_courses": 9}, "11 courses without a clash need as many day_patterns, not 9"),
    ("campus", {"lecture_hall": "AULA"}, "lecture_hall 'AULA' is not among public_buildings"),
    ("campus", {"day_patterns": ["Monday morning"]}, "is not of the form"),
    ("campus", {"attractions": {}}, "say nothing about 8 h"),
    ("campus", {"attractions": {"dean weekday 8-11": {"OFF": 1}}}, "is not like 'graduate weekday 8-11'"),
    (
        "campus",
        {"attractions": {"graduate weekday 8-23": {"LIBB": 1}}},
        "no place 'LIBB': did you mean 'LIB'",
    ),
    ("campus", {"attractions": {"graduate weekday 8-23": {"LIB": 0.5}}}, "sum to 1, not 0.5"),
]


@pytest.mark.parametrize(("name", "parameters", "words"), BAD)
def test_the_impossible_is_refused_and_the_right_way_told(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_world(name, **parameters)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ConfigurationError, match="a seed is a whole number"):
        make_world("waypoint", seed)


def test_an_unknown_world_is_guessed_at() -> None:
    with pytest.raises(ConfigurationError, match="no world 'comunity': did you mean 'community'"):
        make_world("comunity")


def test_statistics_of_no_contacts() -> None:
    nobody = contact_statistics(make_world("waypoint", 1, nodes=2, duration=1))
    assert nobody.contacts == 0
    assert nobody.mean_degree == 0
    assert np.isnan(nobody.mean_duration)
