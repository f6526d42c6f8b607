"""Fractal waypoints: the map that SLAW walks on, with a wanted Hurst parameter.

K. Lee, S. Hong, S. J. Kim, I. Rhee and S. Chong, "SLAW: A New Mobility Model for Human Walks", INFOCOM 2009,
and the two generators its authors' circle published (for SLAW_MATLAB and BonnMotion), from which the
constants are.

Theory of operation. Places where people stop are clumped at every scale: cut the area into 4^l boxes, and the
normalised variance of the number of waypoints per box grows as a power of the number of boxes, with an
exponent 2 - 2H that names the Hurst parameter H. The map is grown from that: begin with one box holding all
waypoints, and at every level split each box into four so that the variance comes out as wanted. What the
level before has missed by chance is made up for, since each split starts from the variance that was measured.

Where we depart from the generators, and why. They list the ways of sharing a box among its children in a
fixed order and use the first 31 of several hundred, which leaves one child nearly empty every time; we draw
uniformly among all (``split = "first31"`` gives theirs). They fail when more variance is wanted than a split
can give; we then put all waypoints into one child.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

    from hunet.worlds.tracks import Floats, Integers

SHARE_STEP = 0.01
VARIANCE_TOLERANCE = 0.03
LARGEST_SPLIT_VARIANCE = 3.0
"""Everything in one of four children."""


def fractal_waypoints(
    count: int,
    side: float,
    rng: Generator,
    *,
    hurst: float,
    levels: int = 8,
    first_variance: float = 0.8,
    split: Literal["uniform", "first31"] = "uniform",
) -> tuple[Floats, Floats]:
    """Draw the places of ``count`` waypoints in a square of the given side.

    >>> x, y = fractal_waypoints(1000, 1000.0, np.random.default_rng(1), hurst=0.75)
    >>> abs(hurst_parameter(x, y, 1000.0) - 0.75) < 0.03
    True
    """
    column, row, held = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([count])
    for level in range(1, levels + 1):
        wanted = first_variance * 4.0 ** ((level - 1) * (2 - 2 * hurst))
        reached = 4.0 ** (level - 1) * float(np.square(held / count).sum()) - 1
        children = _split(held, (wanted + 1) / (reached + 1) - 1, split, rng)
        column = (2 * column[:, None] + (0, 1, 0, 1)).ravel()
        row = (2 * row[:, None] + (0, 0, 1, 1)).ravel()
        held = children.ravel()
        filled = held > 0
        column, row, held = column[filled], row[filled], held[filled]
    size = side / 2.0**levels
    box_x, box_y = np.repeat(column, held) * size, np.repeat(row, held) * size
    while True:
        places = rng.random((count, 2)) * size + np.column_stack((box_x, box_y))
        # Two waypoints in one place would be infinitely attractive to each other.
        if len(np.unique(places, axis=0)) == count:
            return places[:, 0], places[:, 1]


def hurst_parameter(x: Floats, y: Floats, side: float, first_level: int = 1) -> float:
    """Estimate H from the growth of the normalised variance, over levels with a waypoint per box or more."""
    deepest = int(np.log(len(x)) / np.log(4))
    levels = np.arange(first_level, deepest + 1)
    variance = [_normalised_variance(x, y, side, int(level)) for level in levels]
    slope = np.polyfit(levels * np.log(4.0), np.log(variance), 1)[0]
    return float(1 - slope / 2)


def _normalised_variance(x: Floats, y: Floats, side: float, level: int) -> float:
    boxes = 2**level
    box = (y / side * boxes).astype(np.int64) * boxes + (x / side * boxes).astype(np.int64)
    held = np.bincount(box, minlength=boxes**2)
    return float(held.var() / held.mean() ** 2)


def _split(held: Integers, variance: float, split: str, rng: Generator) -> Integers:
    """Deal out the waypoints of each box to its four children, in shares of the given variance."""
    if variance <= 0:
        even = np.repeat(held[:, None] // 4, 4, axis=1)
        left_over = (np.arange(4)[None, :] < (held % 4)[:, None]).astype(np.int64)
        dealt: Integers = even + rng.permuted(left_over, axis=1)
        return dealt
    ways, variances = _ways_to_share()
    fitting = np.nonzero(np.abs(variances - variance) <= VARIANCE_TOLERANCE * variance)[0]
    if split == "first31":
        fitting = fitting[:31]
    if variance >= LARGEST_SPLIT_VARIANCE or not len(fitting):
        return rng.permuted(np.column_stack((held, np.zeros((len(held), 3), np.int64))), axis=1)
    shares = ways[fitting[rng.integers(len(fitting), size=len(held))]]
    drawn: Integers = rng.multinomial(held, rng.permuted(shares, axis=1))
    return drawn


@cache
def _ways_to_share() -> tuple[Floats, Floats]:
    """List all shares a <= b <= c <= d in steps of 0.01 that sum to 1, and their variances (times 4)."""
    whole = round(1 / SHARE_STEP)
    ways = [
        (a, b, c, whole - a - b - c)
        for a in range(whole // 4 + 1)
        for b in range(a, (whole - a) // 3 + 1)
        for c in range(b, (whole - a - b) // 2 + 1)
    ]
    shares = np.array(ways) / whole
    return shares, 4 * np.square(shares).sum(axis=1) - 1
