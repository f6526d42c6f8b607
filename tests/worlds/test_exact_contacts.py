"""The exact engine against hand-made cases, a plain two-pointer oracle, dense sampling and ticking."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet.worlds.exact_contacts import ContactColumns, exact_contacts, near_pairs
from hunet.worlds.tracks import Tracks

Path = list[tuple[float, float, float]]
"""(time, x, y)"""
FORTH: Path = [(0, 0, 0), (100, 100, 0)]
STILL: Path = [(0, 0, 0), (100, 0, 0)]
PLENTY = settings(max_examples=120, deadline=None, derandomize=True)


def tracks_of(paths: list[Path]) -> Tracks:
    columns = [np.array(path, float).T for path in paths]
    return Tracks.from_breakpoints([(t, x, y) for t, x, y in columns])


def intervals(found: ContactColumns) -> list[tuple[float, float]]:
    return list(zip(found.start.tolist(), found.end.tolist(), strict=True))


# Edge cases: range 10, window [0, 100].
EDGE_CASES: dict[str, tuple[Path, Path, list[tuple[float, float]]]] = {
    "E1 head on": (FORTH, [(0, 100, 0), (100, 0, 0)], [(45, 55)]),
    "E2 tangent": (FORTH, [(0, 50, 10), (100, 50, 10)], []),
    "E3 passing by": (FORTH, [(0, 50, 8), (100, 50, 8)], [(44, 56)]),
    "E4 side by side": (FORTH, [(0, 5, 0), (100, 105, 0)], [(0, 100)]),
    "E5 side by side at the range": (FORTH, [(0, 10, 0), (100, 110, 0)], [(0, 100)]),
    "E6 breakpoints within a contact": (
        [(0, 0, 0), (48, 48, 0), (50, 50, 0), (100, 100, 0)],
        [(0, 100, 0), (49, 51, 0), (51, 49, 0), (100, 0, 0)],
        [(45, 55)],
    ),
    "E7 a pause inside": (STILL, [(0, 30, 0), (25, 5, 0), (35, 5, 0), (60, 30, 0), (100, 30, 0)], [(20, 40)]),
    "E8 touches once": (STILL, [(0, 30, 0), (20, 10, 0), (40, 30, 0), (100, 30, 0)], []),
    "E9 pauses at the range": (
        STILL,
        [(0, 30, 0), (20, 10, 0), (25, 10, 0), (45, 30, 0), (100, 30, 0)],
        [(20, 25)],
    ),
    "E10 leaves": (STILL, [(0, 5, 0), (100, 105, 0)], [(0, 5)]),
    "E11 comes back": (STILL, [(0, 30, 0), (30, 0, 0), (60, 30, 0), (100, -10, 0)], [(20, 40), (80, 100)]),
}


@pytest.mark.parametrize("window", [None, 0.7, 1000.0])
@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases(case: str, window: float | None) -> None:
    one, two, expected = EDGE_CASES[case]
    found = intervals(exact_contacts(tracks_of([one, two]), 10, 100, window=window))
    assert found == [pytest.approx(each, abs=1e-9) for each in expected]


def test_nothing_moves() -> None:
    paths: list[Path] = [[(0, x, 0), (50, x, 0)] for x in (0, 6, 12, 100)]
    found = exact_contacts(tracks_of(paths), 10, 50)
    assert list(zip(found.a.tolist(), found.b.tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert intervals(found) == [(0, 50), (0, 50)]


def test_one_node_meets_nobody() -> None:
    assert len(exact_contacts(tracks_of([FORTH]), 10, 100).a) == 0


def oracle(paths: list[Path], radius: float, until: float) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """Every pair, every common piece of two legs, by the textbook formula: slow and plain."""

    def place(path: Path, at: float) -> tuple[float, float, float, float]:
        for (t0, x0, y0), (t1, x1, y1) in pairwise(path):
            if t0 <= at < t1:
                vx, vy = (x1 - x0) / (t1 - t0), (y1 - y0) / (t1 - t0)
                return x0 + vx * (at - t0), y0 + vy * (at - t0), vx, vy
        raise AssertionError(at)

    met: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for i in range(len(paths)):
        for j in range(i + 1, len(paths)):
            cuts = sorted({t for path in (paths[i], paths[j]) for t, _, _ in path if t < until} | {until})
            found: list[tuple[float, float]] = []
            for begin, end in pairwise(cuts):
                (ax, ay, avx, avy), (bx, by, bvx, bvy) = place(paths[i], begin), place(paths[j], begin)
                px, py, wx, wy = ax - bx, ay - by, avx - bvx, avy - bvy
                a, b, c = wx * wx + wy * wy, px * wx + py * wy, px * px + py * py - radius * radius
                if a < 1e-18:
                    low, high = (0.0, end - begin) if c <= 0 else (1.0, 0.0)
                elif b * b - a * c <= 0:
                    continue
                else:
                    root = math.sqrt(b * b - a * c)
                    low, high = max(0.0, (-b - root) / a), min(end - begin, (-b + root) / a)
                if high > low:
                    if found and begin + low - found[-1][1] <= 1e-7:
                        found[-1] = (found[-1][0], begin + high)
                    else:
                        found.append((begin + low, begin + high))
            if found:
                met[i, j] = found
    return met


UNTIL = 60.0


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[Path], float]:
    """A few nodes in a small area, with pauses and with legs of every length, and a range."""
    seed, nodes, legs = draw(st.integers(0, 2**32 - 1)), draw(st.integers(2, 7)), draw(st.integers(1, 8))
    side, pauses = draw(st.sampled_from([20.0, 60.0, 300.0])), draw(st.sampled_from([0.0, 0.4]))
    rng = np.random.default_rng(seed)
    paths: list[Path] = []
    for _ in range(nodes):
        times = [0.0, *np.sort(rng.uniform(0.5, UNTIL - 0.5, legs)).tolist(), UNTIL + rng.random()]
        places = [tuple(side * rng.random(2))]
        for _ in times[1:]:
            places.append(places[-1] if rng.random() < pauses else tuple(side * rng.random(2)))
        paths.append([(t, float(x), float(y)) for t, (x, y) in zip(times, places, strict=True)])
    return paths, draw(st.floats(1.0, 30.0))


@PLENTY
@given(crowds(), st.floats(0.2, 100.0))
def test_the_grid_finds_what_brute_force_finds(crowd: tuple[list[Path], float], window: float) -> None:
    paths, radius = crowd
    found = exact_contacts(tracks_of(paths), radius, UNTIL, window=window)
    by_pair: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for a, b, start, end in zip(*(column.tolist() for column in found), strict=True):
        by_pair.setdefault((a, b), []).append((start, end))
    expected = oracle(paths, radius, UNTIL)
    assert by_pair.keys() == expected.keys()
    for pair, known in expected.items():
        assert np.array(by_pair[pair]).ravel() == pytest.approx(np.array(known).ravel(), abs=1e-6)


@PLENTY
@given(crowds(), st.floats(0.2, 100.0))
def test_windows_do_not_change_a_single_bit(crowd: tuple[list[Path], float], window: float) -> None:
    paths, radius = crowd
    one = exact_contacts(tracks_of(paths), radius, UNTIL)
    two = exact_contacts(tracks_of(paths), radius, UNTIL, window=window)
    assert all((x == y).all() for x, y in zip(one, two, strict=True))


def in_range(tracks: Tracks, radius: float, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sampled state [instant, a, b], and where it is too close to call."""
    places = tracks.positions(times)
    distance = np.hypot(*np.moveaxis(places[:, :, None] - places[:, None, :], 3, 0))
    return distance <= radius, np.abs(distance - radius) < 1e-6


@PLENTY
@given(crowds())
def test_contacts_agree_with_dense_sampling(crowd: tuple[list[Path], float]) -> None:
    paths, radius = crowd
    tracks, times = tracks_of(paths), np.arange(0.0, UNTIL, 0.01)
    near, unsure = in_range(tracks, radius, times)
    said = np.zeros_like(near)
    for a, b, start, end in zip(*exact_contacts(tracks, radius, UNTIL), strict=True):
        said[(times >= start) & (times <= end), a, b] = True
    above = np.triu(np.ones(near.shape[1:], bool), 1)
    assert ((said == near) | unsure | ~above).all()


@PLENTY
@given(crowds())
def test_contacts_agree_with_a_ticking_simulator_to_one_sample(crowd: tuple[list[Path], float]) -> None:
    """The ONE looks at distances every tick: up at the first tick in range, down at the first out of it."""
    paths, radius = crowd
    tick = 0.1
    tracks, times = tracks_of(paths), np.arange(0.0, UNTIL + tick / 2, tick)
    near, unsure = in_range(tracks, radius, times)
    exact: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for a, b, start, end in zip(*(column.tolist() for column in exact_contacts(tracks, radius, UNTIL)), strict=True):
        exact.setdefault((a, b), []).append((start, end))
    for a in range(len(paths)):
        for b in range(a + 1, len(paths)):
            if unsure[:, a, b].any():
                continue
            changes = np.diff(near[:, a, b].astype(int), prepend=0, append=0)
            ups, downs = np.nonzero(changes == 1)[0], np.nonzero(changes == -1)[0]
            known = exact.get((a, b), [])
            for up, down in zip(times[ups], (downs * tick).tolist(), strict=True):
                assert any(abs(start - up) <= tick + 1e-9 for start, _ in known)
                assert any(abs(end - down) <= tick + 1e-9 for _, end in known)
            for start, end in known:
                if end - start > tick:
                    seen = near[(times >= start) & (times <= end), a, b]
                    assert seen.all()
                    assert len(seen)


def test_the_table_is_in_order_and_each_pair_disjoint() -> None:
    rng = np.random.default_rng(3)
    paths: list[Path] = [
        [(float(t), *(80 * rng.random(2)).tolist()) for t in np.linspace(0, 200, 21)] for _ in range(25)
    ]
    found = exact_contacts(tracks_of(paths), 12.0, 200.0)
    assert (found.a < found.b).all()
    assert (found.start < found.end).all()
    key = found.a * 25 + found.b
    assert (np.diff(key) >= 0).all()
    same = np.diff(key) == 0
    assert (found.start[1:][same] > found.end[:-1][same]).all()
    assert found.start.min() >= 0
    assert found.end.max() <= 200


@PLENTY
@given(st.integers(0, 10**6), st.integers(2, 120), st.floats(0.5, 40.0))
def test_near_pairs_are_all_pairs_within_the_distance(seed: int, count: int, distance: float) -> None:
    x, y = np.random.default_rng(seed).uniform(0, 60, (2, count))
    found = {
        tuple(sorted(pair))
        for one, two in near_pairs(x, y, distance)
        for pair in zip(one.tolist(), two.tolist(), strict=True)
    }
    squared = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    assert found == {(i, j) for i in range(count) for j in range(i + 1, count) if squared[i, j] <= distance**2}
