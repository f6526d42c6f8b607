"""Which differences are real: alternatives compared pair by pair, over runs that share everything random.

Theory of operation. The runs of a repetition share their world, workload and coins (common random numbers), so that
two alternatives are compared by their differences repetition by repetition: what a crowd does to both cancels, and a
paired t-test sees differences far smaller than the intervals of the means. Every pair is a chance to be wrong; Holm's
correction keeps the probability that any difference of a table is called real by mistake below 5 %.

>>> push, pull = {0: 0.9, 1: 0.8, 2: 0.95}, {0: 0.4, 1: 0.31, 2: 0.44}
>>> [one] = paired_differences({"push": push, "pull": pull})
>>> one.interval.text(), one.real
('0.500 ± 0.025', True)
"""

from __future__ import annotations

from itertools import combinations
from math import isclose
from typing import TYPE_CHECKING, NamedTuple

from hunet.model.intervals import Interval, student_p, student_t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEVEL = 0.05


class Difference(NamedTuple):
    """By how much one alternative is above another."""

    one: str
    two: str
    interval: Interval
    """One less two, over the repetitions that both have."""
    p: float
    """The probability that chance alone gives as much, for this pair alone."""
    adjusted: float
    """The same for this pair among all of the table."""

    @property
    def real(self) -> bool:
        """Whether it is called real."""
        return self.adjusted < _LEVEL


def paired_differences(found: Mapping[str, Mapping[int, float]]) -> list[Difference]:
    """All pairs of alternatives that share two repetitions at least; ``found`` has a value for each repetition."""
    pairs = []
    for one, two in combinations(found, 2):
        common = sorted(found[one].keys() & found[two].keys())
        if len(common) > 1:
            interval = Interval.of(found[one][each] - found[two][each] for each in common)
            pairs.append((one, two, interval, _chance(interval)))
    adjusted = holm([p for *_, p in pairs])
    return [Difference(*pair, corrected) for pair, corrected in zip(pairs, adjusted, strict=True)]


def _chance(interval: Interval) -> float:
    if isclose(interval.mean, 0.0, abs_tol=1e-12):
        return 1.0
    if not interval.half:
        return 0.0  # the same difference every time
    freedom = interval.runs - 1
    return student_p(interval.mean / interval.half * student_t(freedom), freedom)


def holm(chances: Sequence[float]) -> list[float]:
    """Correct for many tests (Holm, 1979): the least likely of n counts n times, the next n - 1 times, and so on.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for rank, number in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min((len(chances) - rank) * chances[number], 1.0))
        adjusted[number] = highest
    return adjusted
