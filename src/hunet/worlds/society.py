"""The society of the community world: who is related to whom, what communities that makes, where they live.

D. J. Watts, "Small Worlds", 1999 (caves); M. Musolesi and C. Mascolo, "Designing mobility models based on
social network theory", ACM SIGMOBILE Mobile Computing and Communications Review 11(3), 2007.

Theory of operation. Hosts live in caves in which everybody is related to everybody. Each relation is then
rewired with a small probability: one of its two people drops the other and takes up with somebody of another
cave. Strong relations weigh nearly 1. Communities are found in that network, and each is given a square of
the map.

Where we depart from the papers, and why. Rewiring keeps the network symmetric and picks the new partner
uniformly (the authors' generator does neither, and sends all new relations to the first few hosts).
Communities get different squares unless told otherwise: in the authors' generator two of ten share one in a
ninth of all runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from hunet.graphs.communities import girvan_newman
from hunet.model.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.random import Generator

    from hunet.worlds.tracks import Floats, Integers

PLACEMENT_ATTEMPTS = 200


@dataclass(frozen=True, slots=True)
class Society:
    """One drawing of the network, its communities and their squares."""

    weight: Floats
    """Strength of the relation of each two hosts, 0 to 1; symmetric, 0 on the diagonal."""
    community: Integers
    """Community of each host."""
    square: Integers
    """Square of each community: row times squares per side, plus column."""

    @property
    def home(self) -> Integers:
        """Home square of each host."""
        return self.square[self.community]


def related(hosts: int, caves: int, rewiring: float, rng: Generator) -> set[tuple[int, int]]:
    """Draw the strong relations (i, j), i < j: caves, rewired. Host i lives in cave i mod ``caves``.

    >>> len(related(100, 10, 0.1, np.random.default_rng(1)))
    450
    """
    cave = np.arange(hosts) % caves
    edges = {(i, j) for i in range(hosts) for j in range(i + caves, hosts, caves)}
    linked = cave[:, None] == cave[None, :]
    for i, j in sorted(edges):
        if rng.random() >= rewiring:
            continue
        keeps = i if rng.random() < 0.5 else j
        strangers = np.nonzero((cave != cave[keeps]) & ~linked[keeps])[0]
        if not len(strangers):
            continue
        stranger = int(rng.choice(strangers))
        edges.remove((i, j))
        edges.add((min(keeps, stranger), max(keeps, stranger)))
        linked[i, j] = linked[j, i] = False
        linked[keeps, stranger] = linked[stranger, keeps] = True
    return edges


def weighted(hosts: int, edges: set[tuple[int, int]], spread: float, weak_ties: bool, rng: Generator) -> Floats:
    """Weigh the relations: strong pairs in (1 - spread, 1], others 0 or, with weak ties, in [0, spread)."""
    strong = np.zeros((hosts, hosts), bool)
    for i, j in edges:
        strong[i, j] = True
    draw = np.triu(rng.random((hosts, hosts)), 1)
    upper = np.where(strong, 1 - spread * draw, spread * draw if weak_ties else 0.0)
    return upper + upper.T


def communities(
    hosts: int, caves: int, edges: set[tuple[int, int]], detection: Literal["girvan-newman", "caves"]
) -> Integers:
    """Find the community of each host, numbered in the order of their lowest members."""
    if detection == "caves" or caves == 1:
        return np.arange(hosts) % caves
    ends = sorted(edges)
    found = girvan_newman(hosts, ends, np.ones(len(ends)))
    labels = np.empty(hosts, np.int64)
    for number, members in enumerate(sorted(found)):
        labels[members] = number
    return labels


def placed(count: int, per_side: int, distinct: bool, min_separation: int, rng: Generator) -> Integers:
    """Draw a square for each of ``count`` communities, at least ``min_separation`` squares apart."""
    if not distinct:
        return rng.integers(per_side**2, size=count)
    apart = max(1, min_separation)
    column, row = np.arange(per_side**2) % per_side, np.arange(per_side**2) // per_side
    for _ in range(PLACEMENT_ATTEMPTS):
        free, chosen = np.ones(per_side**2, bool), list[int]()
        while len(chosen) < count and free.any():
            square = int(rng.choice(np.nonzero(free)[0]))
            chosen.append(square)
            free &= np.maximum(np.abs(column - column[square]), np.abs(row - row[square])) >= apart
        if len(chosen) == count:
            return np.array(chosen, np.int64)
    raise ConfigurationError(
        f"no room for {count} communities on {per_side} x {per_side} squares at least {apart} apart: "
        "lower min_separation or raise squares"
    )


def squares_that_fit(per_side: int, min_separation: int) -> int:
    """Count how many communities fit on the map at best.

    >>> squares_that_fit(20, 3)
    49
    """
    return (-(-per_side // max(1, min_separation))) ** 2
