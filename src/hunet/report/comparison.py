"""Which differences are real: alternatives compared with the best of them, over runs that share everything random.

Theory of operation. The runs of a repetition share their world, workload and coins (common random numbers), so that two
alternatives are compared by their differences repetition by repetition: what a crowd does to both cancels. Which
alternative is truly the best is not known, so each is tried as the one to compare with (Edwards and Hsu, "Multiple
comparisons with the best treatment", Journal of the American Statistical Association 78, 1983): its differences to the
k - 1 others have t intervals that hold together with 95 % (Bonferroni). An alternative is in question if no other is
above it for sure, and how far one is from the best is the union of its intervals to those in question. All these
statements hold together with 95 %, although the data chose whom to compare with. If an alternative is at a ceiling that
none can pass, in every run, it is taken for the best (push is, by theory), and all are compared with it.

Verdict and interval are one: who may be the best has an interval that begins at 0, all others are worse by more than 0.

>>> push, pull = {0: 0.9, 1: 0.8, 2: 0.95}, {0: 0.4, 1: 0.31, 2: 0.44}
>>> [(each.name, each.text(3)) for each in compare_with_best({"pull": pull, "push": push})]
[('push', 'best'), ('pull', '0.475 to 0.525 less')]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hunet.model.intervals import student_t

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CONFIDENCE = 0.95
_ROUNDING = 1e-12


class Placement(NamedTuple):
    """How far an alternative is from the best."""

    name: str
    mean: float
    may_be_best: bool
    """Whether the runs leave open that it is the best."""
    near: float
    """By how much it is worse at least; if it is worse for sure and this is 0, by more than that."""
    far: float
    """By how much it is worse at most; not finite where there are less than two runs."""
    highest: bool = True
    """Whether more is better."""

    def text(self, digits: int = 3, unit: float = 1.0) -> str:
        """In words; interval and verdict are one."""
        word = "less" if self.highest else "more"
        near, far = (f"{value / unit:,.{digits}f}" for value in (self.near, self.far))
        if not math.isfinite(self.far):
            return "not known: needs two runs"
        if self.may_be_best:
            return "best" if self.far <= 0 else f"may be best, or up to {far} {word}"
        return f"{near} to {far} {word}" if self.near else f"{word}, by up to {far}"


def compare_with_best(
    found: Mapping[str, Mapping[int, float]], *, highest: bool = True, ceiling: Mapping[int, float] | None = None
) -> list[Placement]:
    """All alternatives, the best mean first; ``found`` has a value for each repetition of an alternative.

    ``ceiling`` is what none can pass, repetition by repetition, if that is known.
    """
    if not found:
        return []
    names = sorted(found, key=lambda name: (-1 if highest else 1) * _mean(found[name]))
    repetitions = sorted(set().union(*(found[name] for name in names)))
    sign = 1.0 if highest else -1.0
    values = np.array([[sign * found[name].get(each, math.nan) for each in repetitions] for name in names])
    mean, half = _differences(values)
    # Seen from each as the best: everybody's difference to it lies between these.
    low, high = mean - half, mean + half
    np.fill_diagonal(low, 0.0)
    np.fill_diagonal(high, 0.0)
    known = ceiling is not None and all(math.isclose(at, ceiling[each]) for each, at in found[names[0]].items())
    # Nobody is above it for sure; where runs are missing, that may leave nobody but the first.
    in_question = [0] if known else sorted({0, *np.nonzero((low <= _ROUNDING).all(axis=0))[0].tolist()})
    far = -low[:, in_question].min(axis=1)
    near = np.maximum(0.0, -high[:, in_question].max(axis=1))
    near[near < _ROUNDING], far[far < _ROUNDING] = 0.0, 0.0
    may = near == 0 if known else np.isin(np.arange(len(names)), in_question)
    return [
        Placement(name, _mean(found[name]), bool(may[index]), float(near[index]), float(far[index]), highest)
        for index, name in enumerate(names)
    ]


def _mean(values: Mapping[int, float]) -> float:
    return math.fsum(values.values()) / len(values)


def _differences(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of all pairs (row less column) the mean difference and half of its interval; not a number stands for no value."""
    apart = values[:, None, :] - values[None, :, :]
    known = np.isfinite(apart)
    many = known.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, apart, 0.0).sum(axis=2) / many
        square = np.where(known, (apart - mean[..., None]) ** 2, 0.0).sum(axis=2)
        spread = np.sqrt(square / (many - 1) / many)
    confidence = 1 - (1 - CONFIDENCE) / max(len(values) - 1, 1)
    factor = {count: student_t(count - 1, confidence) for count in np.unique(many).tolist() if count > 1}
    half = np.vectorize(lambda count: factor.get(count, math.inf))(many) * np.where(many > 1, spread, 1.0)
    return np.where(many > 0, mean, 0.0), half
