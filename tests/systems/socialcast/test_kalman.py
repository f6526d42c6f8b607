"""SocialCast's predictor: vectors worked out by hand, and the general form against the scalar one."""

from __future__ import annotations

from math import pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.systems.socialcast.kalman import (
    KalmanPredictor,
    Levels,
    Predictability,
    ScalarKalman,
    limit_gain,
    local_level,
    local_linear_trend,
    with_season,
)

# Q, R and, after each of the samples 1, 1, 0, 1: gain, forecast, error (section 13, vector 2).
VECTORS = [
    (1.0, [(0.5, 0.5, 1.5), (0.6, 0.8, 1.6), (0.615385, 0.307692, 1.615385), (0.617647, 0.735294, 1.617647)], 0.618034),
    (
        0.1,
        [(0.5, 0.5, 0.6), (0.375, 0.6875, 0.475), (0.322034, 0.466102, 0.422034), (0.296782, 0.624553, 0.396782)],
        0.270156,
    ),
    (
        0.01,
        [(0.5, 0.5, 0.51), (0.337748, 0.668874, 0.347748), (0.258022, 0.49629, 0.268022), (0.21137, 0.602759, 0.22137)],
        0.095125,
    ),
]


@pytest.mark.parametrize(("noise", "steps", "gain"), VECTORS)
def test_the_vectors_of_the_specification(noise: float, steps: list[tuple[float, float, float]], gain: float) -> None:
    predictor = ScalarKalman(noise, 1.0)
    for sample, (step_gain, forecast, error) in zip((1, 1, 0, 1), steps, strict=True):
        assert predictor.error / (predictor.error + 1.0) == pytest.approx(step_gain, abs=5e-7)
        assert predictor.update(sample) == pytest.approx(forecast, abs=5e-7)
        assert predictor.error == pytest.approx(error, abs=5e-7)
    assert limit_gain(noise, 1.0) == pytest.approx(gain, abs=5e-7)


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(1e-3, 10), st.floats(1e-3, 10))
def test_the_scalar_predictor_is_the_general_one_with_one_state(samples: list[float], q: float, r: float) -> None:
    scalar, general = ScalarKalman(q, r), local_level(q, r)
    for sample in samples:
        assert general.update([sample]) == pytest.approx([scalar.update(sample)], abs=1e-9)
        assert 0 <= scalar.forecast <= 1  # every update is a convex combination


@given(st.floats(1e-3, 10), st.floats(1e-3, 10))
def test_the_gain_settles(q: float, r: float) -> None:
    predictor = ScalarKalman(q, r)
    for _ in range(2000):
        predictor.update(0.5)
    assert predictor.error / (predictor.error + r) == pytest.approx(limit_gain(q, r), rel=1e-3)


def test_a_trend_is_followed_where_a_level_lags_behind() -> None:
    trend, level = local_linear_trend(0.01, 0.01, 1.0), local_level(0.01, 1.0)
    for time in range(200):
        followed, lagging = trend.update([0.1 * time])[0], level.update([0.1 * time])[0]
    assert followed == pytest.approx(20.0, abs=0.05)
    assert lagging < 19.5


def test_a_season_is_foreseen() -> None:
    """A day of 24 samples: after ten days the next sample is known to a few percent, and a level comes late."""
    season, level = with_season(local_level(1e-4, 0.1), 24, 1e-4), local_level(0.1, 0.1)
    worst = late = 0.0
    for time in range(480):
        expected = 1 + sin(2 * pi * (time + 1) / 24)
        sample = [1 + sin(2 * pi * time / 24)]
        foreseen, smoothed = season.update(sample)[0], level.update(sample)[0]
        if time > 240:
            worst, late = max(worst, abs(foreseen - expected)), max(late, abs(smoothed - expected))
    assert worst < 0.05 < late


def test_two_numbers_observed_at_once() -> None:
    """Two observations of the same level count as one with half the noise."""
    both = KalmanPredictor([[1.0]], [[1.0], [1.0]], [[0.1]], [[2.0, 0.0], [0.0, 2.0]], [0.0], [[1.0]])
    one = ScalarKalman(0.1, 1.0)
    for sample in (1.0, 0.0, 1.0):
        assert both.update([sample, sample]) == pytest.approx([one.update(sample)] * 2)


def test_two_levels_that_have_nothing_to_do_with_each_other() -> None:
    """Their Δ is 0 beside the diagonal: no pivot for whoever takes the smallest."""
    identity = [[1.0, 0.0], [0.0, 1.0]]
    noise = [[0.1, 0.0], [0.0, 0.2]]
    both = KalmanPredictor(identity, identity, noise, [[1.0, 0.0], [0.0, 3.0]], [0.0, 0.0], identity)
    one, two = ScalarKalman(0.1, 1.0), ScalarKalman(0.2, 3.0)
    for first, second in ((1.0, 0.0), (0.0, 2.0), (1.0, 1.0)):
        assert both.update([first, second]) == pytest.approx([one.update(first), two.update(second)])


def test_how_a_season_starts() -> None:
    """By hand, with a quarter of a turn for each sample, R = 1 and Q = 0: level and season share the first surprise."""
    season = with_season(local_level(0.0, 1.0), 4, 0.0)
    assert season.update([3.0]) == pytest.approx([1.0])  # Δ = 3, Θ = (1, 0, -1)
    assert [row[0] for row in season.state] == pytest.approx([1.0, 0.0, -1.0])
    assert season.update([9.0]) == pytest.approx([3.0])  # Δ = 8/3, Θ = (2/3, 1/3, -1)
    assert [row[0] for row in season.state] == pytest.approx([3.0, 0.0, -3.0])


def test_what_cannot_be_foreseen_is_not_relied_upon() -> None:
    watch = Predictability(window=3, threshold=0.4)
    trusted = [watch.trusted(1.0, guess) for guess in (1.0, 0.0, 0.0, 1.0, 1.0, 1.0)]
    assert trusted == [True, False, False, False, True, True]


@given(
    st.lists(
        st.tuples(st.booleans(), st.sets(st.sampled_from("abcd")), st.sampled_from((1, 1, 1, 2, 30, 2000))), max_size=20
    ),
    st.sampled_from((0.0, 0.01, 1.0)),
)
def test_many_predictors_at_once_forecast_what_each_would_alone(
    told: list[tuple[bool, set[str], int]], state_noise: float
) -> None:
    """New interests now and then, and stretches in which nothing changes: the same numbers, to the last digit."""
    levels, plain = Levels(state_noise, 1.0), dict[str, ScalarKalman]()
    for begins, ones, times in told:
        if begins and len(plain) < 4:
            name = "abcd"[len(plain)]
            levels.begin(name)
            plain[name] = ScalarKalman(state_noise, 1.0)
        found = levels.update(ones, times)
        for name, predictor in plain.items():
            for _ in range(times):
                predictor.update(1.0 if name in ones else 0.0)
            assert found.get(name, 0.0) == predictor.forecast
