"""Means over repetitions with their confidence intervals."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Interval(NamedTuple):
    """A mean over repetitions, and half the width of its 95 % confidence interval (Student's t)."""

    mean: float
    """Not a number where there are no values."""
    half: float | None
    """None where there are less than two values."""
    runs: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Interval:
        """The interval of some values; those that are not there do not count.

        >>> Interval.of([1.0, None, 2.0, 3.0]).text(2)
        '2.00 ± 2.48'
        """
        known = [value for value in values if value is not None]
        if not known:
            return cls(math.nan, None, 0)
        mean = math.fsum(known) / len(known)
        if len(known) == 1:
            return cls(mean, None, 1)
        variance = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
        return cls(mean, student_t(len(known) - 1) * math.sqrt(variance / len(known)), len(known))

    def scaled(self, unit: float) -> Interval:
        """The same in another unit."""
        return self._replace(mean=self.mean / unit, half=None if self.half is None else self.half / unit)

    def text(self, digits: int = 3, unit: float = 1.0) -> str:
        """As people write it."""
        if not self.runs:
            return "–"
        half = "" if self.half is None else f" ± {self.half / unit:,.{digits}f}"
        return f"{self.mean / unit:,.{digits}f}{half}"

    def brief(self, digits: int = 3, unit: float = 1.0) -> str:
        """The same without a half that would be written as 0.

        >>> Interval(1.0, 0.0001, 3).brief(2), Interval(1.0, 0.02, 3).brief(2)
        ('1.00', '1.00 ± 0.02')
        """
        small = self.half is not None and round(self.half / unit, digits) == 0
        return self._replace(half=None if small else self.half).text(digits, unit)


@cache
def student_t(freedom: int, confidence: float = 0.95) -> float:
    """The two-sided quantile of Student's t.

    >>> [round(student_t(freedom), 3) for freedom in (1, 2, 9, 10, 29, 100)]
    [12.706, 4.303, 2.262, 2.228, 2.045, 1.984]
    """
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def student_p(t: float, freedom: int) -> float:
    """The probability that chance gives a Student's t that is as far from 0, on either side.

    >>> round(student_p(2.228, 10), 3), round(student_p(-12.706, 1), 3)
    (0.05, 0.05)
    """
    return 1 - _within(abs(t), freedom)


def _within(t: float, freedom: int) -> float:
    """The probability of [-t, t]: a finite series for whole degrees (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for step in range(odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (step + 1) / (step + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
