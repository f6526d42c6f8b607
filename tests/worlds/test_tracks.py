"""Positions at any time, legs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hunet.worlds.tracks import Tracks, from_instant


def test_positions_are_defined_for_every_instant() -> None:
    tracks = Tracks.from_breakpoints([([0, 10, 30, 40], [0, 100, 100, 0], [0, 0, 0, 50]), ([0, 40], [7, 7], [8, 8])])
    places = tracks.positions([0, 5, 20, 35, 40, 99])
    assert places[:, 0].tolist() == [[0, 0], [50, 0], [100, 0], [50, 25], [0, 50], [0, 50]]
    assert (places[:, 1] == [7, 8]).all()
    assert tracks.positions(5.0).shape == (1, 2, 2)


def test_legs_carry_their_velocity_and_a_pause_has_none() -> None:
    legs = Tracks.from_breakpoints([([0, 10, 30], [0, 30, 30], [0, 40, 40]), ([0, 5], [0, 0], [0, 5])]).legs()
    assert legs.node.tolist() == [0, 0, 1]
    assert legs.speed.tolist() == [5.0, 0.0, 1.0]
    assert legs.end.tolist() == [10.0, 30.0, 5.0]


def test_legs_of_no_duration_are_dropped() -> None:
    tracks = Tracks.from_breakpoints([([0, 4, 4, 9], [0, 1, 1, 2], [0, 0, 0, 0])])
    assert tracks.t.tolist() == [0, 4, 9]


def test_a_track_can_begin_later() -> None:
    t, x, y = from_instant((np.array([0.0, 10, 20]), np.array([0.0, 100, 100]), np.zeros(3)), 5.0)
    assert (t.tolist(), x.tolist(), y.tolist()) == ([0, 5, 15], [50, 100, 100], [0, 0, 0])


@pytest.mark.parametrize("times", [[], [1, 2], [0, 5, 4], [0], [0, 0]])
def test_impossible_times_are_refused_with_the_node(times: list[float]) -> None:
    with pytest.raises(ValueError, match="track of node 1"):
        Tracks.from_breakpoints([([0, 1], [0, 0], [0, 0]), (times, [0] * len(times), [0] * len(times))])


def test_no_nodes_are_no_tracks() -> None:
    assert len(Tracks.from_breakpoints([])) == 0
