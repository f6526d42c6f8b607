"""Forecasting one number from noisy samples: the Kalman predictor of SocialCast.

P. Costa, C. Mascolo, M. Musolesi and G. P. Picco, "Socially-Aware Routing for Publish-Subscribe in Delay-Tolerant
Mobile Ad Hoc Networks", IEEE JSAC 26(5), 2008, section IV and appendix; after P. J. Brockwell and R. A. Davis,
"Introduction to Time Series and Forecasting".

Theory of operation. What is observed is Y_t = G X_t + noise of variance R, and what lies behind it moves by
X_{t+1} = F X_t + noise of variance Q. The forecast X̂ and its error Ω follow by

    Δ = G Ω Gᵀ + R,   Θ = F Ω Gᵀ,   X̂' = F X̂ + Θ Δ⁻¹ (Y - G X̂),   Ω' = F Ω Fᵀ + Q - Θ Δ⁻¹ Θᵀ.

With F = G = 1 these are the appendix's scalar recursions, and the whole is exponential smoothing with a gain that
settles at (√(q² + 4q) - q) / 2, q = Q/R: only the ratio matters in the long run.

Where we depart from the paper, and why. The appendix first calls R the variance of the observation and then exchanges
the two letters; its recursions use the first meaning, and so do we. Trend and season, which the paper allows and does
not use, are models of the same general form. A season is one harmonic: a daily season of single samples would need
thousands of states.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from math import cos, pi, sin, sqrt
from typing import Any, ClassVar

Matrix = list[list[float]]

NOTHING = 1e-15
"""A forecast that falls below this is 0: otherwise it would take thousands of samples of 0 until it changes no more."""


_MOST_GAINS = 10_000


class ScalarKalman:
    """The appendix's predictor: one state, F = G = 1.

    >>> predictor = ScalarKalman(state_noise=1.0, observation_noise=1.0)
    >>> [predictor.update(y) for y in (1, 1)]
    [0.5, 0.8]
    """

    __slots__ = ("error", "forecast", "observation_noise", "state_noise")

    def __init__(self, state_noise: float, observation_noise: float) -> None:
        self.state_noise = state_noise
        self.observation_noise = observation_noise
        self.forecast = 0.0
        """X̂, the forecast of the next sample."""
        self.error = 1.0
        """Ω, its mean squared error."""

    def update(self, sample: float) -> float:
        """Take in a sample; returns the forecast of the next one."""
        error, forecast = self.error, self.forecast
        gain = error / (error + self.observation_noise)
        self.error = error + self.state_noise - gain * error
        forecast = forecast + gain * (sample - forecast)
        self.forecast = forecast = forecast if sample or forecast > NOTHING else 0.0
        return forecast

    def numbers(self) -> list[float]:
        """What it has learnt."""
        return [self.error, self.forecast]

    def learn_again(self, numbers: list[float]) -> None:
        """Have learnt that."""
        self.error, self.forecast = numbers

    def repeat(self, sample: float, times: int) -> float:
        """Take in the same sample so many times: the numbers of as many updates, until they change no more."""
        error, forecast, q, r = self.error, self.forecast, self.state_noise, self.observation_noise
        for taken in range(times):
            gain = error / (error + r)
            before, error = error, error + q - gain * error
            if error == before:
                forecast = settled(forecast, sample, gain, times - taken)
                break
            forecast = settled(forecast, sample, gain, 1)
        self.error, self.forecast = error, forecast
        return forecast


def settled(forecast: float, sample: float, gain: float, times: int) -> float:
    """A forecast after the same sample so many times, with a gain that stays as it is."""
    if sample:
        for _ in range(times):
            before, forecast = forecast, forecast + gain * (sample - forecast)
            if forecast == before:
                break
        return forecast
    for _ in range(times):
        forecast -= gain * forecast
        if forecast <= NOTHING:
            return 0.0
    return forecast


class Levels:
    """Many scalar predictors of one device that take samples of 0 or 1 together, each since it was begun.

    Their gains are the same function of the number of samples, whatever these are. A predictor that has got nothing but
    0 for long forecasts 0, and needs no work until it gets a 1.

    >>> levels = Levels(state_noise=1.0, observation_noise=1.0)
    >>> levels.begin("news")
    >>> [dict(levels.update(near)) for near in ({"news"}, {"news", "sport"})]
    [{'news': 0.5}, {'news': 0.8}]
    """

    saved: ClassVar[dict[str, Any]] = {
        "_samples": int,
        "_begun": dict[str, int],
        "forecasts": dict[str, float],
    }

    def __init__(self, state_noise: float, observation_noise: float) -> None:
        self._gains = gains(state_noise, observation_noise)
        self._samples = 0
        self._begun: dict[str, int] = {}
        """For each predictor the number of samples that came before it."""
        self.forecasts: dict[str, float] = {}
        """Those that are not 0."""

    def take_over(self, other: Levels) -> None:
        """Have learnt what those of this device had before a restart."""
        self._samples = other._samples
        self._begun.update(other._begun)
        self.forecasts.update(other.forecasts)

    def begin(self, name: str) -> None:
        """Make a predictor."""
        self._begun[name] = self._samples

    def forget(self, name: str) -> None:
        """Have no such predictor any more."""
        del self._begun[name]
        self.forecasts.pop(name, None)

    def update(self, ones: set[str], times: int = 1) -> dict[str, float]:
        """Take in a 1 for these predictors and a 0 for all others, so many times; returns forecasts other than 0."""
        steps, last, forecasts = self._gains, len(self._gains) - 1, self.forecasts
        for name in ones:
            if name not in forecasts and name in self._begun:
                forecasts[name] = 0.0
        if times == 1:
            self._update_once(ones)
            return forecasts
        for name in list(forecasts):
            sample, forecast = 1.0 if name in ones else 0.0, forecasts[name]
            age = self._samples - self._begun[name]
            early = min(times, max(0, last - age))
            for gain in steps[age : age + early]:
                forecast = settled(forecast, sample, gain, 1)
            forecast = settled(forecast, sample, steps[last], times - early)
            if forecast:
                forecasts[name] = forecast
            else:
                del forecasts[name]
        self._samples += times
        return forecasts

    def _update_once(self, ones: set[str]) -> None:
        steps, last, forecasts, begun = self._gains, len(self._gains) - 1, self.forecasts, self._begun
        for name, before in list(forecasts.items()):
            step = self._samples - begun[name]
            gain = steps[step if step < last else last]
            if name in ones:
                forecasts[name] = before + gain * (1.0 - before)
                continue
            forecast = before + gain * (0.0 - before)
            if forecast > NOTHING:
                forecasts[name] = forecast
            else:
                del forecasts[name]
        self._samples += 1


@cache
def gains(state_noise: float, observation_noise: float) -> list[float]:
    """The gains of a scalar predictor from its first sample on, until they change no more."""
    found, error = [], 1.0
    for _ in range(_MOST_GAINS):
        gain = error / (error + observation_noise)
        found.append(gain)
        before, error = error, error + state_noise - gain * error
        if error == before:
            break
    return found


def limit_gain(state_noise: float, observation_noise: float) -> float:
    """The gain at which the scalar predictor settles.

    >>> round(limit_gain(1.0, 1.0), 6)  # the golden ratio
    0.618034
    """
    q = state_noise / observation_noise
    return (sqrt(q * q + 4 * q) - q) / 2


class KalmanPredictor:
    """The general predictor, for any F, G, Q, R; samples and forecasts are vectors."""

    def __init__(self, f: Matrix, g: Matrix, q: Matrix, r: Matrix, state: list[float], error: Matrix) -> None:
        self.f, self.g, self.q, self.r = f, g, q, r
        self.state = [[value] for value in state]
        self.error = error

    def numbers(self) -> list[float]:
        """What it has learnt."""
        return [value for row in self.state + self.error for value in row]

    def learn_again(self, numbers: list[float]) -> None:
        """Have learnt that."""
        size = len(self.state)
        self.state = [[value] for value in numbers[:size]]
        self.error = [numbers[size * row : size * (row + 1)] for row in range(1, size + 1)]

    def update(self, sample: list[float]) -> list[float]:
        """Take in a sample; returns the forecast of the next one, G X̂."""
        f, g, omega = self.f, self.g, self.error
        delta = _add(_times(_times(g, omega), _transposed(g)), self.r)
        theta = _times(_times(f, omega), _transposed(g))
        gain = _times(theta, _inverse(delta))
        surprise = _add([[y] for y in sample], _times(g, self.state), -1.0)
        self.state = _add(_times(f, self.state), _times(gain, surprise))
        self.error = _add(
            _add(_times(_times(f, omega), _transposed(f)), self.q), _times(gain, _transposed(theta)), -1.0
        )
        return [row[0] for row in _times(g, self.state)]


def local_level(state_noise: float, observation_noise: float) -> KalmanPredictor:
    """The model of the appendix in the general form: what ScalarKalman computes."""
    return KalmanPredictor([[1.0]], [[1.0]], [[state_noise]], [[observation_noise]], [0.0], [[1.0]])


def local_linear_trend(level_noise: float, slope_noise: float, observation_noise: float) -> KalmanPredictor:
    """A level that moves by a slope, which itself wanders.

    >>> trend = local_linear_trend(0.01, 0.01, 0.01)
    >>> for y in range(50):
    ...     forecast = trend.update([float(y)])
    >>> abs(forecast[0] - 50) < 0.01
    True
    """
    f = [[1.0, 1.0], [0.0, 1.0]]
    q = [[level_noise, 0.0], [0.0, slope_noise]]
    return KalmanPredictor(f, [[1.0, 0.0]], q, [[observation_noise]], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])


def with_season(model: KalmanPredictor, period: float, season_noise: float) -> KalmanPredictor:
    """A model of one observed number with a season of so many samples added: one harmonic, whose size may wander."""
    angle = 2 * pi / period
    turn = [[cos(angle), sin(angle)], [-sin(angle), cos(angle)]]
    return KalmanPredictor(
        _blocks(model.f, turn),
        [model.g[0] + [1.0, 0.0]],
        _blocks(model.q, [[season_noise, 0.0], [0.0, season_noise]]),
        model.r,
        [row[0] for row in model.state] + [0.0, 0.0],
        _blocks(model.error, [[1.0, 0.0], [0.0, 1.0]]),
    )


class Predictability:
    """Watches how well forecasts come true; where they do not, the last sample is the better forecast (section IV).

    The paper gives no rule: here the mean of |Y - X̂| over a window is compared with a threshold.

    >>> watch = Predictability(window=2, threshold=0.5)
    >>> watch.trusted(sample=1.0, forecast=0.2), watch.trusted(sample=1.0, forecast=0.9)
    (False, True)
    """

    def __init__(self, window: int = 20, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.misses: deque[float] = deque(maxlen=window)
        """How far off the last forecasts were."""

    def trusted(self, sample: float, forecast: float) -> bool:
        """Take in a sample and what had been forecast for it; whether forecasts can be relied upon now."""
        self.misses.append(abs(sample - forecast))
        return sum(self.misses) / len(self.misses) <= self.threshold


def _times(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]


def _add(a: Matrix, b: Matrix, factor: float = 1.0) -> Matrix:
    return [[x + factor * y for x, y in zip(one, two, strict=True)] for one, two in zip(a, b, strict=True)]


def _transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def _blocks(a: Matrix, b: Matrix) -> Matrix:
    return [row + [0.0] * len(b[0]) for row in a] + [[0.0] * len(a[0]) + row for row in b]


def _inverse(a: Matrix) -> Matrix:
    """By elimination with the largest pivot; the matrices here are as small as the samples."""
    size = len(a)
    rows = [list(row) + [1.0 if i == j else 0.0 for j in range(size)] for i, row in enumerate(a)]
    for index in range(size):
        pivot = max(range(index, size), key=lambda i: abs(rows[i][index]))
        rows[index], rows[pivot] = rows[pivot], rows[index]
        scale = rows[index][index]
        rows[index] = [value / scale for value in rows[index]]
        for i in range(size):
            if i != index:
                factor = rows[i][index]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[index], strict=True)]
    return [row[size:] for row in rows]
