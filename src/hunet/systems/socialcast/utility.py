"""How good a carrier a device is for an interest: attributes of its surroundings, forecast and weighed (SocialCast).

Section IV of the paper composes a utility from attributes of a device's context: U = Σ wᵢ X̂ᵢ, with X̂ᵢ the forecast
of the i-th attribute. Two are the paper's, the third shows how one adds another: a function from what a device knows
of its surroundings to a sample between 0 and 1, and a line in ``ATTRIBUTES``.

=============  ===========================================================================================
``col``        co-location: 1 if a subscriber of the interest is near, else 0; a forecast per interest
``cdc``        change degree of connectivity: how much of the neighbourhood is new or gone since last time
``battery``    what is left of it
=============  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hunet.model import Node
from hunet.systems.socialcast.kalman import (
    KalmanPredictor,
    Levels,
    Predictability,
    ScalarKalman,
    local_level,
    local_linear_trend,
    with_season,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

_DAY = 86_400.0


def change_degree(before: set[Hashable], now: set[Hashable]) -> float:
    """The Jaccard distance of two neighbourhoods; 0 if both are empty.

    >>> change_degree({1, 2, 3}, {2, 3, 4, 5})
    0.6
    """
    if before is now:
        return 0.0
    either = len(before | now)
    return (either - len(before & now)) / either if either else 0.0


class Sample:
    """What a device sees at a tick."""

    __slots__ = ("battery", "change", "near")

    def __init__(self, change: float, near: set[str], battery: float) -> None:
        self.change, self.near, self.battery = change, near, battery


class Surroundings:
    """What a device remembers between ticks in order to sample its surroundings."""

    saved: ClassVar[dict[str, Any]] = {
        "transmissions": int,
        "passed": set[str],
        "_before": set[Node],
    }

    def __init__(self, battery: float) -> None:
        self.transmissions = 0
        self.passed: set[str] = set()
        """Interests of neighbours that were here since the last tick and are gone."""
        self._battery = battery
        self._before: set[Hashable] = set()

    def sample(self, neighbours: set[Hashable], near: set[str]) -> Sample:
        """Sample at a tick; ``near`` are the interests of the neighbours that have told them."""
        change = change_degree(self._before, neighbours)
        self._before = neighbours
        passed, self.passed = self.passed, set()
        return Sample(change, near | passed if passed else near, max(0.0, 1 - self.transmissions / self._battery))


def _change(sample: Sample, topic: str) -> float:  # noqa: ARG001
    return sample.change


def _colocation(sample: Sample, topic: str) -> float:
    return 1.0 if topic in sample.near else 0.0


def _battery(sample: Sample, topic: str) -> float:  # noqa: ARG001
    return sample.battery


ATTRIBUTES: dict[str, Callable[[Sample, str], float]] = {"cdc": _change, "col": _colocation, "battery": _battery}
"""Each attribute by name: from what is seen, and an interest, to a number between 0 and 1."""

_PER_INTEREST = frozenset({"col"})


class Settings(Protocol):
    """What forecasts need to know; SocialCast's parameters have it."""

    @property
    def weights(self) -> dict[str, float]: ...
    @property
    def state_noise(self) -> float: ...
    @property
    def observation_noise(self) -> float: ...
    @property
    def model(self) -> str: ...
    @property
    def distrust(self) -> float | None: ...
    @property
    def period(self) -> float: ...


class Predictor(Protocol):
    """Forecasts one attribute. An object and no function: it is part of a device's state."""

    def numbers(self) -> list[float]:
        """What it has learnt."""
        ...

    def learn_again(self, numbers: list[float]) -> None:
        """Have learnt that."""
        ...

    def update(self, sample: float) -> float:
        """Take in a sample; returns the forecast of the next one."""
        ...

    def repeat(self, sample: float, times: int) -> float:
        """Take in the same sample so many times, at least once; a predictor may know a shorter way."""
        for _ in range(times - 1):
            self.update(sample)
        return self.update(sample)


class _Bounded(Predictor):
    """The forecast of a general model, kept between 0 and 1."""

    def __init__(self, model: KalmanPredictor) -> None:
        self._model = model

    def numbers(self) -> list[float]:
        return self._model.numbers()

    def learn_again(self, numbers: list[float]) -> None:
        self._model.learn_again(numbers)

    def update(self, sample: float) -> float:
        return min(1.0, max(0.0, self._model.update([sample])[0]))


class _Watched(Predictor):
    """Forecasts as another predictor does; while its forecasts do not come true, the last sample instead."""

    def __init__(self, predictor: Predictor, threshold: float) -> None:
        self._predictor = predictor
        self._watch = Predictability(threshold=threshold)
        self._expected = 0.0

    def numbers(self) -> list[float]:
        return [self._expected, len(self._watch.misses), *self._watch.misses, *self._predictor.numbers()]

    def learn_again(self, numbers: list[float]) -> None:
        self._expected, many = numbers[0], int(numbers[1])
        self._watch.misses.extend(numbers[2 : 2 + many])
        self._predictor.learn_again(numbers[2 + many :])

    def update(self, sample: float) -> float:
        trusted = self._watch.trusted(sample, self._expected)
        self._expected = self._predictor.update(sample)
        return self._expected if trusted else sample


class Forecasts:
    """The predictors of one device: one for each attribute, and for ``col`` one for each interest it knows of."""

    saved: ClassVar[dict[str, Any]] = {
        "topics": dict[str, None],
        "shared_numbers": list[list[float]],
        "own_numbers": list[dict[str, list[float]]],
        "level_states": list[Levels],
    }

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.topics: dict[str, None] = {}
        """The interests that this device knows of, in the order in which it learnt of them."""
        chosen = settings.weights.items()
        self._shared = [(w, ATTRIBUTES[name], self._predictor()) for name, w in chosen if name not in _PER_INTEREST]
        self._own: list[tuple[float, Callable[[Sample, str], float], dict[str, Predictor]]] = []
        self._levels: list[tuple[float, Levels]] = []
        self.weight = settings.weights.get("col", 0.0)
        self.common = 0.0
        """The part that the last utilities have in common."""
        self.levels: dict[str, float] = {}
        """Of a device whose forecasts are monotonous, those of ``col`` that are not 0."""
        plain = settings.model == "level" and settings.distrust is None
        self.monotonous = plain and set(settings.weights) <= {"cdc", "col"}
        """Whether forecasts only rise, or only fall, while surroundings stay as they are."""
        for name, w in chosen:
            if name in _PER_INTEREST and plain:
                self._levels.append((w, Levels(settings.state_noise, settings.observation_noise)))
                self.levels = self._levels[0][1].forecasts
            elif name in _PER_INTEREST:
                self._own.append((w, ATTRIBUTES[name], {}))

    def learn(self, topic: str) -> None:
        """Hear of an interest: from now on it is forecast."""
        if topic not in self.topics:
            self.topics[topic] = None
            for _, _, predictors in self._own:
                predictors[topic] = self._predictor()
            for _, levels in self._levels:
                levels.begin(topic)

    def utilities(self, sample: Sample, times: int = 1) -> dict[str, float]:
        """Take in a sample, or the same one several times; returns the utility for each interest."""
        if times > 1:
            for _, attribute, predictor in self._shared:
                predictor.repeat(attribute(sample, ""), times - 1)
            for _, attribute, predictors in self._own:
                for topic, predictor in predictors.items():
                    predictor.repeat(attribute(sample, topic), times - 1)
        common = sum([w * predictor.update(attribute(sample, "")) for w, attribute, predictor in self._shared], 0.0)
        self.common = common
        found = dict.fromkeys(self.topics, common)
        for weight, attribute, predictors in self._own:
            for topic, predictor in predictors.items():
                found[topic] += weight * predictor.update(attribute(sample, topic))
        for weight, levels in self._levels:
            for topic, forecast in levels.update(sample.near, times).items():
                found[topic] += weight * forecast
        return found

    # State ----------------------------------------------------------------------------------------------------------

    @property
    def shared_numbers(self) -> list[list[float]]:
        """What the predictors of attributes have learnt."""
        return [predictor.numbers() for _, _, predictor in self._shared]

    @shared_numbers.setter
    def shared_numbers(self, numbers: list[list[float]]) -> None:
        for (_, _, predictor), learnt in zip(self._shared, numbers, strict=True):
            predictor.learn_again(learnt)

    @property
    def own_numbers(self) -> list[dict[str, list[float]]]:
        """What those of single interests have learnt."""
        return [{topic: each.numbers() for topic, each in predictors.items()} for _, _, predictors in self._own]

    @own_numbers.setter
    def own_numbers(self, numbers: list[dict[str, list[float]]]) -> None:
        for (_, _, predictors), learnt in zip(self._own, numbers, strict=True):
            for topic, each in learnt.items():
                predictors[topic] = self._predictor()
                predictors[topic].learn_again(each)

    @property
    def level_states(self) -> list[Levels]:
        """Those that take samples together."""
        return [levels for _, levels in self._levels]

    @level_states.setter
    def level_states(self, states: list[Levels]) -> None:
        for (_, mine), state in zip(self._levels, states, strict=True):
            mine.take_over(state)

    def _predictor(self) -> Predictor:
        q, r, model = self.settings.state_noise, self.settings.observation_noise, self.settings.model
        predictor: Predictor
        if model == "level":
            predictor = ScalarKalman(q, r)
        else:
            general = local_linear_trend(q, q, r) if model == "trend" else local_level(q, r)
            if model == "season":
                general = with_season(general, _DAY / self.settings.period, q)
            predictor = _Bounded(general)
        return predictor if self.settings.distrust is None else _Watched(predictor, self.settings.distrust)
