"""Theory against the filters themselves, and numbers worked out by hand."""

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
    """A counter under Poisson renewals that fades at the ticks of a clock, against the formulas."""
    cycle, initial = 10.0, 5
    rate = load / (initial * cycle)
    rng = Random(7)
    lives, absences, now = [], [], 0.0
    for _ in range(4000):
        absences.append(rng.expovariate(rate))
        began = now = now + absences[-1]
        counter, tick, renewed = initial, now // cycle + 1, now + rng.expovariate(rate)
        while counter:
            if renewed < tick * cycle:
                counter, renewed = counter + initial, renewed + rng.expovariate(rate)
            else:
                counter, now, tick = counter - 1, tick * cycle, tick + 1
        lives.append(now - began)
    assert mean(lives) == pytest.approx(expected_life(cycle, rate), rel=0.04)
    share = sum(lives) / (sum(lives) + sum(absences))
    assert share_of_time_present(cycle, rate) == pytest.approx(share, rel=0.03)


def test_with_hearsay_counters_saturate_between_two_bounds() -> None:
    """Twenty devices that meet at random, one of whom is interested: A-merge of its interest, M-merge of the rest."""
    devices, cycle, every = 20, 1200, 10
    rng, counters = Random(3), [0] * devices
    hours = []
    for now in range(every, 150_000, every):
        if now % cycle == 0:
            counters = [max(0, counter - 1) for counter in counters]
        one, two = rng.sample(range(devices), 2)
        told = counters[one], counters[two]
        for mine, theirs in ((one, two), (two, one)):
            counters[mine] = min(255, counters[mine] + 5 * (theirs == 0))
        for mine, hearsay in ((one, told[1]), (two, told[0])):
            counters[mine] = max(counters[mine], hearsay)
        if sum(counter >= 255 for counter in counters[1:]) > devices / 2:
            hours.append(now)
            break
    rate = 2 / (devices * (devices - 1)) / every  # of meetings of one device with the interested one
    assert saturation_time(cycle, rate, sources=devices - 1) < hours[0] < saturation_time(cycle, rate)


def test_the_edges() -> None:
    assert sustaining_cycle(0) == inf
    assert saturation_time(10, rate=0.01) == inf
    assert best_filter_count(5, budget=1) == 1
