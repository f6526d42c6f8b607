"""The yardstick: how claims of papers are judged, the same way in every system.

A claim has a *core*, what its authors would say it is about, and *numbers*. Both are lists of comparisons, which are
data: :class:`Above`, :class:`Same`, :class:`Rises`, :class:`Needs` on quantities of studies (:class:`At`).

* Beyond chance: the same seeds on both sides, the 95 % interval of the difference by Student's t, and the level
  divided by the number of comparisons of the claim (Bonferroni).
* Equal: two one-sided tests (TOST) at 5 %, divided in the same way. The margin is 10 %, or the paper's own spread.
* Where only means with their intervals are kept, seeds cannot be paired. The standard error of a difference is at most
  the sum of the standard errors of its parts, whatever their correlation: with that bound a comparison may still hold,
  a mean on the wrong side fails it, and between the two it is *not known*.
* Where nothing is random there is one run, and its value is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol

from hunet.model.intervals import Interval, student_t
from hunet.report.runs import NotRunError, Row, Studies

MARGIN = 0.10
"""What counts as equal, relative, unless the paper gives its own spread."""
LEVEL = 0.05
CEILING = 0.99
"""Where both sides of a comparison of shares are above it, the comparison says nothing."""

Verdict = Literal["reproduced", "shape only", "not reproduced", "not testable", "not known", "not run"]
Outcome = bool | None
"""Whether a comparison holds; None where the results that are kept cannot tell."""


class Measured(NamedTuple):
    """A quantity in the runs of a study."""

    mean: float
    error: float
    """The standard error of the mean, or an upper bound of it."""
    runs: float
    """Infinite for constants and where nothing is random."""
    values: Mapping[int, float] = {}
    """By seed; empty where only the mean is kept."""

    @classmethod
    def of(cls, values: Mapping[int, float], exact: bool = False) -> Measured:
        """From the values of runs by their seeds; ``exact`` if nothing in them is random."""
        found = Interval.of(values.values())
        if not found.runs:
            raise NotRunError
        if exact:
            return cls(found.mean, 0.0, math.inf, values)
        return cls(found.mean, _error(found.half, found.runs), found.runs, values)

    @classmethod
    def printed(cls, mean: float, half: float | None, runs: int) -> Measured:
        """From a mean with half of its 95 % interval, of so many runs."""
        return cls(mean, _error(half, runs), runs)

    @classmethod
    def constant(cls, value: float) -> Measured:
        """A number of the paper."""
        return cls(value, 0.0, math.inf)

    @property
    def paired(self) -> bool:
        """Whether an interval of it is the interval, and not a bound."""
        return bool(self.values) or math.isinf(self.runs)

    def half(self, level: float = LEVEL) -> float:
        """Half of the two-sided interval at a level."""
        if self.error == 0:
            return 0.0
        return student_t(int(self.runs) - 1, 1 - level) * self.error if self.runs > 1 else math.inf

    def text(self, digits: int | None = None) -> str:
        """As people write it, with the 95 % interval."""
        places = _digits(self.mean) if digits is None else digits
        half = self.half()
        return f"{self.mean:,.{places}f}" + (f" ± {half:,.{places}f}" if 0 < half < math.inf else "")


def _error(half: float | None, runs: int) -> float:
    return math.inf if half is None or runs < 2 else half / student_t(runs - 1)


def _digits(mean: float) -> int:
    return next((digits for least, digits in ((1000, 0), (20, 1), (2, 2)) if abs(mean) >= least), 3)


def combined(*parts: tuple[float, Measured]) -> Measured:
    """A sum of samples with factors: seed by seed, or bounded where seeds are not kept."""
    random = [sample for _, sample in parts if not math.isinf(sample.runs)]
    mean = math.fsum(factor * sample.mean for factor, sample in parts)
    if not random:
        return Measured(mean, 0.0, math.inf)
    if all(sample.values for sample in random):
        seeds = sorted(set.intersection(*(set(sample.values) for sample in random)))
        fixed = math.fsum(factor * sample.mean for factor, sample in parts if math.isinf(sample.runs))
        moving = [(factor, sample.values) for factor, sample in parts if not math.isinf(sample.runs)]
        return Measured.of({seed: fixed + math.fsum(f * values[seed] for f, values in moving) for seed in seeds})
    error = math.fsum(abs(factor) * sample.error for factor, sample in parts if factor)
    return Measured(mean, error, min(sample.runs for sample in random))


def above_zero(sample: Measured, level: float = LEVEL) -> Outcome:
    """Whether a sample is above 0 beyond chance, by its two-sided interval at a level."""
    if sample.mean - sample.half(level) > 0:
        return True
    known = sample.paired and not math.isinf(sample.half(level))
    return False if known or sample.mean <= 0 else None


def equal(
    one: Measured, two: Measured, margin: float = MARGIN, within: float | None = None, points: int = 1
) -> Outcome:
    """Whether two samples are equal (TOST): neither exceeds the other by more than the margin.

    The margin is relative, and symmetric: both ``one < (1 + margin) * two`` and ``two < (1 + margin) * one`` must be
    beyond chance. ``within`` is an absolute margin instead. Means that are within the margin but too uncertain for
    that are not known to be equal, nor to differ.
    """
    level = 2 * LEVEL / points  # one-sided at 5 %
    if within is None:
        sides: list[tuple[tuple[float, Measured], ...]] = [
            ((1 + margin, two), (-1.0, one)),
            ((1 + margin, one), (-1.0, two)),
        ]
    else:
        limit = Measured.constant(within)
        sides = [((1.0, limit), (1.0, one), (-1.0, two)), ((1.0, limit), (1.0, two), (-1.0, one))]
    found = [combined(*side) for side in sides]
    return both(above_zero(side, level) or (None if side.mean > 0 else False) for side in found)


def both(outcomes: Any) -> Outcome:
    """All of them: False if any fails, None if any is not known."""
    found = list(outcomes)
    return False if False in found else None if None in found else True


# Quantities -----------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What there is to judge by: studies, the reading, and the studies in which nothing is random."""

    studies: Studies
    reading: Mapping[str, Any] = {}
    fixed: frozenset[str] = frozenset()
    suffix: str = ""
    """Studies of the reading that are files of their own are called like the study, with this at the end."""
    apart: frozenset[str] = frozenset()
    """The studies that have such files: their results in another reading say nothing of this one."""


class Quantity(Protocol):
    """What can be asked of studies."""

    def sample(self, found: Found) -> Measured:
        """It in the runs that there are."""

    def __str__(self) -> str: ...


class At(NamedTuple):
    """A metric of a protocol at a point of a study."""

    study: str
    metric: str
    protocol: str | None = None
    coordinates: Mapping[str, Any] = {}

    def sample(self, found: Found) -> Measured:
        """Seed by seed, or as it was printed."""
        apart = found.suffix and self.study in found.apart
        runs = found.studies.get(self.study + found.suffix if apart else self.study)
        if runs is None:
            raise NotRunError
        runs = runs.only(self.protocol)
        axes = {name for row in runs.rows for name in row["coordinates"]}
        reading = {name: at for name, at in found.reading.items() if name in axes}
        rows = [row for row in runs.only(**{**reading, **self.coordinates}).rows if _has(row, self.metric)]
        if not rows:
            raise NotRunError
        values = {row["seed"]: float(row[self.metric]) for row in rows}
        if len(values) < len(rows):
            raise ValueError(f"{self} is more than one point of the study")
        if None in values:
            return Measured.printed(values[None], rows[0].get(f"{self.metric} ±"), rows[0]["runs"])
        return Measured.of(values, self.study in found.fixed)

    def pair(self, axis: str, one: Any, two: Any) -> tuple[At, At]:
        """It at two values of an axis, or of two protocols."""
        if axis == "protocol":
            return self._replace(protocol=one), self._replace(protocol=two)
        return self._replace(coordinates={**self.coordinates, axis: one}), self._replace(
            coordinates={**self.coordinates, axis: two}
        )

    def where(self) -> str:
        """The point, as people write it."""
        return ", ".join(f"{name} = {at}" for name, at in self.coordinates.items())

    def __str__(self) -> str:
        of = f" of {self.protocol}" if self.protocol else ""
        at = f", {self.where()}" if self.coordinates else ""
        return f"{self.metric}{of} (`{self.study}`{at})"


def _has(row: Row, metric: str) -> bool:
    value = row.get(metric)
    return value is not None and not math.isnan(value)


class Ratio(NamedTuple):
    """One quantity divided by another, seed by seed."""

    one: Quantity
    two: Quantity

    def sample(self, found: Found) -> Measured:
        """Where only means are kept, with the bound of its error to first order."""
        one, two = self.one.sample(found), self.two.sample(found)
        if one.values and two.values:
            values = {seed: one.values[seed] / two.values[seed] for seed in one.values if two.values.get(seed)}
            return Measured.of(values, math.isinf(one.runs) and math.isinf(two.runs))
        if not two.mean:
            raise NotRunError
        ratio = one.mean / two.mean
        error = (one.error + abs(ratio) * two.error) / abs(two.mean)
        return Measured(ratio, error, min(one.runs, two.runs))

    def __str__(self) -> str:
        return f"{self.one} / {self.two}"


class Mean(NamedTuple):
    """The mean of quantities, seed by seed."""

    parts: Sequence[Quantity]

    def sample(self, found: Found) -> Measured:
        """All with the same weight."""
        return combined(*((1 / len(self.parts), part.sample(found)) for part in self.parts))

    def __str__(self) -> str:
        return f"mean of {len(self.parts)}: {self.parts[0]} and others"


class Less(NamedTuple):
    """One quantity less another, or less a constant, seed by seed."""

    one: Quantity
    two: Value

    def sample(self, found: Found) -> Measured:
        """The difference."""
        return combined((1.0, self.one.sample(found)), (-1.0, _sample(self.two, found)))

    def __str__(self) -> str:
        return f"{self.one} less {self.two}"


class Deviation(NamedTuple):
    """The standard deviation over runs."""

    of: Quantity

    def sample(self, found: Found) -> Measured:
        """With its own standard error, as for values of a normal distribution."""
        sample = self.of.sample(found)
        if not 1 < sample.runs < math.inf:
            raise NotRunError
        deviation = sample.error * math.sqrt(sample.runs)
        return Measured(deviation, deviation / math.sqrt(2 * (sample.runs - 1)), sample.runs)

    def __str__(self) -> str:
        return f"standard deviation of {self.of}"


class Largest(NamedTuple):
    """The one of several quantities that has the largest mean."""

    parts: Sequence[Quantity]

    def sample(self, found: Found) -> Measured:
        """That of this one."""
        return max((part.sample(found) for part in self.parts), key=lambda sample: sample.mean)

    def __str__(self) -> str:
        return f"largest of {len(self.parts)}: {self.parts[0]} and others"


class Smallest(NamedTuple):
    """The one of several quantities that has the smallest mean."""

    parts: Sequence[Quantity]

    def sample(self, found: Found) -> Measured:
        """That of this one."""
        return min((part.sample(found) for part in self.parts), key=lambda sample: sample.mean)

    def __str__(self) -> str:
        return f"smallest of {len(self.parts)}: {self.parts[0]} and others"


Value = Quantity | float


def _sample(value: Value, found: Found) -> Measured:
    return Measured.constant(value) if isinstance(value, (int, float)) else value.sample(found)


# Comparisons ----------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """A comparison with its outcome."""

    holds: Outcome
    text: str
    ceiling: bool = False
    """Whether it says nothing because both sides are at the ceiling."""
    missing: bool = False
    """Whether there are no results for it."""


class Above(NamedTuple):
    """``high`` is above ``low`` (times ``by``), beyond chance."""

    high: Value
    low: Value
    by: float = 1.0

    def judge(self, found: Found, points: int) -> Judged:
        """By the interval of the difference."""
        high, low = _sample(self.high, found), _sample(self.low, found)
        difference = combined((1.0, high), (-self.by, low))
        times = f"{self.by:g} × " if self.by != 1 else ""
        text = f"{_stated(self.high, high)} above {times}{_stated(self.low, low)}"
        holds = above_zero(difference, LEVEL / points)
        if holds and _at_ceiling(self.high, self.low, high, low):
            return Judged(False, f"{text}: both at the ceiling", True)
        return Judged(holds, f"{text}: {_word(holds)} ({difference.text(_digits(low.mean))})")


class Same(NamedTuple):
    """Two values are equal, or one is the other's so many times."""

    one: Quantity
    two: Value
    times: float = 1.0
    margin: float = MARGIN
    within: float | None = None
    """The paper's own spread, as an absolute margin."""

    def judge(self, found: Found, points: int) -> Judged:
        """By two one-sided tests."""
        one, two = self.one.sample(found), _sample(self.two, found)
        target = combined((self.times, two))
        times = f"{self.times:g} × " if self.times != 1 else ""
        text = f"{_stated(self.one, one)} equal to {times}{_stated(self.two, two)}"
        if _at_ceiling(self.one, self.two, one, two):
            return Judged(False, f"{text}: both at the ceiling", True)
        holds = equal(one, target, self.margin, self.within, points)
        margin = f"{self.margin:.0%}" if self.within is None else f"{self.within:,g}"
        return Judged(holds, f"{text} within {margin}: {_word(holds)}")


class Rises(NamedTuple):
    """A curve rises: its end is above its start, and no step goes down, both beyond chance."""

    curve: Sequence[Quantity]
    falls: bool = False

    def judge(self, found: Found, points: int) -> Judged:
        """By the intervals of the differences along it."""
        samples = [each.sample(found) for each in self.curve]
        sign = -1.0 if self.falls else 1.0
        level = LEVEL / points
        whole = above_zero(combined((sign, samples[-1]), (-sign, samples[0])), level)
        back = [above_zero(combined((-sign, two), (sign, one)), level) for one, two in pairwise(samples)]
        holds = False if True in back else whole
        if holds and None in back:
            holds = None
        says = "falls" if self.falls else "rises"
        return Judged(holds, f"{self.curve[0]} {says}: {_word(holds)} ({', '.join(s.text() for s in samples)})")


class Needs(NamedTuple):
    """A baseline that does nothing stays below a limit; else nothing that is above the limit says anything."""

    baseline: Quantity
    limit: float

    def judge(self, found: Found, points: int) -> Judged:
        """At the ceiling, if it does not."""
        sample = self.baseline.sample(found)
        holds = above_zero(combined((1.0, Measured.constant(self.limit)), (-1.0, sample)), LEVEL / points)
        text = f"the baseline stays below {self.limit:g}: {_stated(self.baseline, sample)}: {_word(holds)}"
        return Judged(holds, text, holds is False)


Comparison = Above | Same | Rises | Needs


def points_of(comparison: Comparison) -> int:
    """How many comparisons it is: of a curve its ends and its steps."""
    return len(comparison.curve) if isinstance(comparison, Rises) else 1


def names_of(value: object) -> list[At]:
    """All points that quantities, comparisons or whole rules name."""
    if isinstance(value, At):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (tuple, list)) else ()
    return [at for part in parts for at in names_of(part)]


_SHARES = ("delivery_ratio", "utility", "efficiency")


def _at_ceiling(one: Value, two: Value, first: Measured, second: Measured) -> bool:
    shares = all(isinstance(value, At) and value.metric in _SHARES for value in (one, two))
    return shares and min(first.mean, second.mean) > CEILING


def _stated(value: Value, sample: Measured) -> str:
    return f"{value:,g}" if isinstance(value, (int, float)) else f"{value} {sample.text()}"


def _word(holds: Outcome) -> str:
    return {True: "yes", False: "no", None: "not known"}[holds]
