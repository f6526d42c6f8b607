"""Contacts of people who stay in the same building: the rule of the campus.

Wherever distances are not known, two people who are in one building at the same time may or may not meet.
Each *co-location*, the whole time that two of them are inside together, yields one contact with a given
probability, of a length with a power-law tail (cut at the co-location's), somewhere in it. One trial per
co-location, not per unit of time: otherwise a long night in a dormitory would outweigh all days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hunet.worlds.exact_contacts import ContactColumns
from hunet.worlds.slaw import truncated_pareto

if TYPE_CHECKING:
    from numpy.random import Generator

    from hunet.worlds.tracks import Floats, Integers


class Stays(NamedTuple):
    """Who was where, from when to when (half-open), in columns: person by person, each in order of time."""

    person: Integers
    place: Integers
    enter: Floats
    leave: Floats


class CoLocations(NamedTuple):
    """Maximal intervals in which two people are in one building, in columns, sorted by (start, a, b)."""

    a: Integers
    b: Integers
    start: Floats
    end: Floats


def co_locations(stays: Stays) -> CoLocations:
    """Find all pairs of stays of one place that overlap.

    >>> both = Stays(np.array([0, 1]), np.array([5, 5]), np.array([0.0, 4.0]), np.array([10.0, 20.0]))
    >>> [column.tolist() for column in co_locations(both)]
    [[0], [1], [4.0], [10.0]]
    """
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))]
    for place in np.unique(stays.place):
        here = np.nonzero(stays.place == place)[0]
        here = here[np.argsort(stays.enter[here], kind="stable")]
        person, enter, leave = stays.person[here], stays.enter[here], stays.leave[here]
        # Anybody who enters after a stay has begun and before it ends is inside together with it.
        later = np.searchsorted(enter, leave, "left") - np.arange(len(here)) - 1
        one = np.repeat(np.arange(len(here)), later)
        two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(later) - later, later)
        low, high = np.minimum(person[one], person[two]), np.maximum(person[one], person[two])
        found.append((low, high, enter[two], np.minimum(leave[one], leave[two])))
    a, b, start, end = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((b, a, start))
    return CoLocations(a[order], b[order], start[order], end[order])


def meetings(
    together: CoLocations,
    rng: Generator,
    *,
    probability: float,
    shortest: float,
    longest: float,
    exponent: float,
) -> ContactColumns:
    """Draw at most one contact per co-location."""
    draw, length_share, start_share = rng.random((len(together.a), 3)).T
    in_contact = draw < probability
    a, b, begin, end = (column[in_contact] for column in together)
    length = np.minimum(truncated_pareto(shortest, longest, exponent, length_share[in_contact]), end - begin)
    # Both ends stay inside the co-location, rounding or not.
    start = begin + start_share[in_contact] * np.maximum(0.0, end - length - begin)
    return ContactColumns(a, b, start, np.minimum(start + length, end))
