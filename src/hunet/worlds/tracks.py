"""Tracks: where every node is at every instant, as straight legs between breakpoints.

A track is a list of breakpoints (time, x, y). Between two of them a node keeps its velocity; a pause is a leg
whose ends are the same place. So a position is defined for every real instant and nothing depends on a time
step. Times are seconds, places metres, both float64. All areas of our worlds are convex and all goals lie
inside, so straight legs never leave them: there is no reflection and no clipping.

>>> tracks = Tracks.from_breakpoints([([0, 10, 20], [0, 100, 100], [0, 0, 0]), ([0, 20], [50, 50], [5, 5])])
>>> tracks.positions([0.0, 2.5, 15.0])[:, 0].tolist()
[[0.0, 0.0], [25.0, 0.0], [100.0, 0.0]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Breakpoints = tuple[Floats, Floats, Floats]
"""One node's times, x and y."""


class Legs(NamedTuple):
    """All legs of all nodes in columns, node after node, each node's in order of time."""

    node: Integers
    begin: Floats
    end: Floats
    x: Floats
    """Place at ``begin``."""
    y: Floats
    vx: Floats
    vy: Floats

    @property
    def speed(self) -> Floats:
        """How fast each leg is walked; 0 for a pause."""
        return np.hypot(self.vx, self.vy)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tracks:
    """The breakpoints of all nodes in columns; make one with :meth:`from_breakpoints`."""

    first: Integers
    """Node ``i`` owns the rows ``first[i]`` to ``first[i + 1]``."""
    t: Floats
    x: Floats
    y: Floats

    def __repr__(self) -> str:
        return f"Tracks({len(self)} nodes, {len(self.t)} breakpoints)"

    @classmethod
    def from_breakpoints(cls, nodes: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]]) -> Tracks:
        """Join each node's (times, x, y); times begin at 0 and grow. Legs of no duration are dropped."""
        columns: list[Breakpoints] = []
        for number, (times, xs, ys) in enumerate(nodes):
            t, x, y = (np.asarray(column, np.float64) for column in (times, xs, ys))
            if not len(t) or t[0] != 0 or (np.diff(t) < 0).any():
                raise ValueError(f"track of node {number}: times must begin at 0 and never go back")
            distinct = np.append(np.diff(t) > 0, True)
            columns.append((t[distinct], x[distinct], y[distinct]))
            if len(columns[-1][0]) < 2:
                raise ValueError(f"track of node {number}: at least two breakpoints at different times are needed")
        first = np.cumsum([0] + [len(t) for t, _, _ in columns], dtype=np.int64)
        joined = [np.concatenate(column) if columns else np.empty(0) for column in zip(*columns, strict=True)]
        t, x, y = joined or (np.empty(0), np.empty(0), np.empty(0))
        return cls(first, t, x, y)

    def __len__(self) -> int:
        return len(self.first) - 1

    def breakpoints(self, node: int) -> Breakpoints:
        """Give one node's times, x and y."""
        own = slice(self.first[node], self.first[node + 1])
        return self.t[own], self.x[own], self.y[own]

    def positions(self, times: ArrayLike) -> Floats:
        """Say where everybody is: an array [instant, node, (x, y)]; after its track a node stands still."""
        instants = np.atleast_1d(np.asarray(times, np.float64))
        places = np.empty((len(instants), len(self), 2))
        for node in range(len(self)):
            t, x, y = self.breakpoints(node)
            places[:, node, 0] = np.interp(instants, t, x)
            places[:, node, 1] = np.interp(instants, t, y)
        return places

    def legs(self) -> Legs:
        """Give the straight pieces between the breakpoints."""
        points_of = np.diff(self.first)
        node = np.repeat(np.arange(len(self)), points_of)
        begins = np.ones(len(self.t), bool)
        begins[self.first[1:] - 1] = False
        here = np.nonzero(begins)[0]
        lasts = self.t[here + 1] - self.t[here]
        vx, vy = (self.x[here + 1] - self.x[here]) / lasts, (self.y[here + 1] - self.y[here]) / lasts
        return Legs(node[here], self.t[here], self.t[here + 1], self.x[here], self.y[here], vx, vy)


def from_instant(track: Breakpoints, instant: float) -> Breakpoints:
    """Take ``instant`` as time 0 of a track and drop what was before."""
    t, x, y = track
    later = t > instant
    return (
        np.append(0.0, t[later] - instant),
        np.append(np.interp(instant, t, x), x[later]),
        np.append(np.interp(instant, t, y), y[later]),
    )
