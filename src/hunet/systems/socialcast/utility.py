"""How good a carrier a device is for an interest: attributes of its surroundings, forecast and weighed (SocialCast).

Section IV of the paper composes a utility from attributes of a device's context: U = Σ wᵢ X̂ᵢ, with X̂ᵢ the forecast
of the i-th attribute. Two are the paper's, the third its example of a further one. One of somebody else's is an
:class:`Attribute` in a module of theirs, named ``module:NAME`` where weights are given. Each attribute may have a
predictor with settings of its own (:class:`Filter`).

=============  ===========================================================================================
``col``        co-location: 1 if a subscriber of the interest is near, else 0; a forecast per interest
``cdc``        change degree of connectivity: how much of the neighbourhood is new or gone since last time
``battery``    what is left of it
=============  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

import msgspec

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
    from collections.abc import Collection, Hashable

Model = Literal["level", "trend", "season"]
"""What a predictor assumes: a level that wanders, a trend, a daily season."""
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
    """What a device sees when it looks around."""

    __slots__ = ("battery", "change", "near", "neighbours")

    def __init__(self, change: float, near: set[str], battery: float, neighbours: Collection[Hashable] = ()) -> None:
        self.change, self.near, self.battery, self.neighbours = change, near, battery, neighbours


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

    def sample(self, neighbours: set[Hashable], near: set[str], charge: float | None = None) -> Sample:
        """Look around; ``near`` are the interests that neighbours have told, ``charge`` is a real battery's."""
        change = change_degree(self._before, neighbours)
        self._before = neighbours
        passed, self.passed = self.passed, set()
        if charge is None:
            charge = max(0.0, 1 - self.transmissions / self._battery)
        return Sample(change, near | passed if passed else near, charge, neighbours)


def _change(sample: Sample, topic: str) -> float:  # noqa: ARG001
    return sample.change


def _colocation(sample: Sample, topic: str) -> float:
    return 1.0 if topic in sample.near else 0.0


def _battery(sample: Sample, topic: str) -> float:  # noqa: ARG001
    return sample.battery


class Attribute:
    """One dimension of a device's context. An object and no function: it says whether interests differ in it."""

    def __init__(self, measure: Callable[[Sample, str], float], per_interest: bool = False) -> None:
        self.measure = measure
        """From what is seen, and an interest, to a number between 0 and 1; of nothing else."""
        self.per_interest = per_interest


ATTRIBUTES = {
    "cdc": Attribute(_change),
    "col": Attribute(_colocation, per_interest=True),
    "battery": Attribute(_battery),
}
"""Our attributes by name."""


def attribute(name: str) -> Attribute:
    """The attribute of that name: one of ours, or ``module:NAME`` of somebody else's.

    >>> attribute("col").per_interest
    True
    >>> attribute("colour")
    Traceback (most recent call last):
        ...
    ValueError: no attribute 'colour'; there are cdc, col, battery, and MODULE:NAME of a module that can be imported
    """
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    module, _, member = name.partition(":")
    if not member:
        known = ", ".join(ATTRIBUTES)
        raise ValueError(f"no attribute '{name}'; there are {known}, and MODULE:NAME of a module that can be imported")
    try:
        found = getattr(import_module(module), member)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"attribute '{name}' cannot be imported: {error}") from None
    if not isinstance(found, Attribute):
        raise ValueError(f"attribute '{name}' is not a {__name__}.Attribute")
    return found


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The predictor of one attribute; what is left out is as for all attributes."""

    model: Model | None = None
    state_noise: Annotated[float, msgspec.Meta(ge=0)] | None = None
    observation_noise: Annotated[float, msgspec.Meta(gt=0)] | None = None
    distrust: Annotated[float, msgspec.Meta(gt=0)] | None = None


class Settings(Protocol):
    """What forecasts need to know; SocialCast's parameters have it."""

    @property
    def weights(self) -> dict[str, float]: ...
    @property
    def state_noise(self) -> float: ...
    @property
    def observation_noise(self) -> float: ...
    @property
    def model(self) -> Model: ...
    @property
    def distrust(self) -> float | None: ...
    @property
    def predictors(self) -> dict[str, Filter]: ...
    @property
    def interval(self) -> float: ...


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


class _Checked(Predictor):
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


class Chosen:
    """The settings of the predictor of one attribute."""

    def __init__(self, settings: Settings, name: str) -> None:
        own = settings.predictors.get(name, Filter())
        self.model: Model = own.model or settings.model
        self.state_noise = settings.state_noise if own.state_noise is None else own.state_noise
        self.observation_noise = own.observation_noise or settings.observation_noise
        self.distrust = own.distrust or settings.distrust
        self.interval = settings.interval
        self.plain = self.model == "level" and self.distrust is None

    def predictor(self) -> Predictor:
        """One that has learnt nothing yet."""
        q, r = self.state_noise, self.observation_noise
        found: Predictor
        if self.model == "level":
            found = ScalarKalman(q, r)
        else:
            general = local_linear_trend(q, q, r) if self.model == "trend" else local_level(q, r)
            if self.model == "season":
                general = with_season(general, _DAY / self.interval, q)
            found = _Bounded(general)
        return found if self.distrust is None else _Checked(found, self.distrust)


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
        self._shared: list[tuple[float, Callable[[Sample, str], float], Predictor]] = []
        self._own: list[tuple[float, Callable[[Sample, str], float], Chosen, dict[str, Predictor]]] = []
        self._levels: list[tuple[float, Levels]] = []
        self.weight = settings.weights.get("col", 0.0)
        self.common = 0.0
        """The part that the last utilities have in common."""
        self.levels: dict[str, float] = {}
        """Of a device whose forecasts are monotonous, those of ``col`` that are not 0."""
        self.monotonous = set(settings.weights) <= {"cdc", "col"}
        """Whether forecasts only rise, or only fall, while surroundings stay as they are."""
        for name, w in settings.weights.items():
            one, chosen = attribute(name), Chosen(settings, name)
            self.monotonous = self.monotonous and chosen.plain
            if not one.per_interest:
                self._shared.append((w, one.measure, chosen.predictor()))
            elif name == "col" and chosen.plain:
                levels = Levels(chosen.state_noise, chosen.observation_noise)
                self._levels.append((w, levels))
                self.levels = levels.forecasts
            else:
                self._own.append((w, one.measure, chosen, {}))

    def learn(self, topic: str) -> None:
        """Hear of an interest: from now on it is forecast."""
        if topic not in self.topics:
            self.topics[topic] = None
            for _, _, chosen, predictors in self._own:
                predictors[topic] = chosen.predictor()
            for _, levels in self._levels:
                levels.begin(topic)

    def forget(self, topic: str) -> None:
        """Forecast an interest no longer."""
        del self.topics[topic]
        for _, _, _, predictors in self._own:
            del predictors[topic]
        for _, levels in self._levels:
            levels.forget(topic)

    def utilities(self, sample: Sample, times: int = 1) -> dict[str, float]:
        """Take in a sample, or the same one several times; returns the utility for each interest."""
        if times > 1:
            for _, measure, predictor in self._shared:
                predictor.repeat(measure(sample, ""), times - 1)
            for _, measure, _, predictors in self._own:
                for topic, predictor in predictors.items():
                    predictor.repeat(measure(sample, topic), times - 1)
        common = sum([w * predictor.update(measure(sample, "")) for w, measure, predictor in self._shared], 0.0)
        self.common = common
        found = dict.fromkeys(self.topics, common)
        for weight, measure, _, predictors in self._own:
            for topic, predictor in predictors.items():
                found[topic] += weight * predictor.update(measure(sample, topic))
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
        return [{topic: each.numbers() for topic, each in predictors.items()} for _, _, _, predictors in self._own]

    @own_numbers.setter
    def own_numbers(self, numbers: list[dict[str, list[float]]]) -> None:
        for (_, _, chosen, predictors), learnt in zip(self._own, numbers, strict=True):
            for topic, each in learnt.items():
                predictors[topic] = chosen.predictor()
                predictors[topic].learn_again(each)

    @property
    def level_states(self) -> list[Levels]:
        """Those that take samples together."""
        return [levels for _, levels in self._levels]

    @level_states.setter
    def level_states(self, states: list[Levels]) -> None:
        for (_, mine), state in zip(self._levels, states, strict=True):
            mine.take_over(state)
