"""Theory against the filters themselves, and the specification's numbers (vector 1)."""

from __future__ import annotations

from math import inf
from random import Random
from statistics import mean

import pytest

from hunet.systems.b_sub.filter import FilterShape
from hunet.systems.b_sub.theory import (
    best_filter_count,
    best_hashes,
    expected_bytes,
    expected_life,
    expected_set_counters,
    false_positive_rate,
    saturation_time,
    share_of_time_present,
    sustaining_cycle,
)
from hunet.systems.b_sub.wire import wire_size

SHAPE = FilterShape()


def test_vector_1() -> None:
    assert [round(false_positive_rate(n), 5) for n in (38, 10)] == [0.04663, 0.00136]
    assert round(false_positive_rate(30), 4) == 0.0262
    assert false_positive_rate(2) == pytest.approx(1.25e-5, rel=0.01)
    assert round(expected_set_counters(38), 1) == 92.1
    assert round(best_hashes(38), 2) == 4.67


@pytest.mark.parametrize("keys", [5, 20, 38, 80])
def test_set_counters_false_positives_and_bytes_are_as_expected(keys: int) -> None:
    set_counters, wrong, sizes = [], [], []
    for trial in range(60):
        made = SHAPE.of([f"{trial} {n}" for n in range(keys)])
        set_counters.append(sum(map(bool, made.counters)))
        sizes.append(wire_size(made.counters))
        wrong.append(mean(f"other {trial} {n}" in made for n in range(300)))
    assert mean(set_counters) == pytest.approx(expected_set_counters(keys), rel=0.02)
    assert mean(sizes) == pytest.approx(expected_bytes(keys), rel=0.02)
    assert mean(wrong) == pytest.approx(false_positive_rate(keys), rel=0.25, abs=0.0005)


def test_more_filters_err_less_and_take_more_room() -> None:
    rates = [false_positive_rate(38, filters=h) for h in range(1, 39)]
    sizes = [expected_bytes(38, filters=h) for h in range(1, 39)]
    assert rates == sorted(rates, reverse=True)
    assert sizes == sorted(sizes)
    for budget in (50, 94.2, 120, 150, 1000):
        best = best_filter_count(38, budget)
        fitting = [h for h in range(1, 39) if sizes[h - 1] <= budget]
        assert best == (min(fitting, key=lambda h: rates[h - 1]) if fitting else 1)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_an_interest_lives_as_long_as_a_busy_period(load: float) -> None:
    """A counter under Poisson renewals, in continuous time, against the formula."""
    cycle, initial = 10.0, 5
    rate = load / (initial * cycle)
    rng = Random(7)
    lives = []
    for _ in range(4000):
        left, life = initial * cycle, 0.0  # seconds until it fades
        while True:
            gap = rng.expovariate(rate)
            if gap >= left:
                lives.append(life + left)
                break
            life, left = life + gap, left - gap + initial * cycle
    assert mean(lives) == pytest.approx(expected_life(cycle, rate), rel=0.1)
    assert share_of_time_present(cycle, rate) == pytest.approx(load)


def test_the_edges() -> None:
    assert sustaining_cycle(0) == inf
    assert saturation_time(10, rate=0.01) == inf
    assert best_filter_count(5, budget=1) == 1
