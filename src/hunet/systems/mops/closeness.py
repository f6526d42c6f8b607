"""Closeness: how soon two people are likely to meet again."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def gaussian_closeness(separations: Sequence[float], sigma: float) -> float:
    """MOPS, Eq. 1: exp(-AVG² / 2σ²) of the mean separation; never apart is 1.

    >>> round(gaussian_closeness([20, 10, 30], sigma=25), 4)  # the paper's c58, section II.B
    0.7261
    """
    if not separations:
        return 1.0
    average = sum(separations) / len(separations)
    return exp(-(average**2) / (2 * sigma**2))
