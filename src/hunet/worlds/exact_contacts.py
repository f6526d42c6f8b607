"""Exact contacts: when two nodes that walk in straight legs are within radio range, without a time step.

Two nodes are in contact while their distance is at most the range r (closed disc). While both keep their
velocity, with p the difference of their places at the instant a from which both do, w the difference of their
velocities and s = t - a,

    |p + w s|² <= r²    <=>    A s² + 2 B s + C <= 0,    A = w·w,  B = p·w,  C = p·p - r²,

an interval whose ends are the roots of a quadratic. Its discriminant is taken as D = A r² - (p × w)², which
equals B² - A C but does not lose digits when the two nodes are far apart at a. Touching in one instant (D =
0) is no contact. Pieces of a pair that touch are one contact.

Which pairs can meet at all is found with a grid. Time is cut into windows; at a window's middle every node is
put into a square cell whose side is r plus the furthest that two nodes can approach each other within half a
window, so partners are in neighbouring cells. Rows (window, node) are sorted by (window, row, column),
neighbours are then ranges of that order, and many windows are worked off in one batch of array operations.
The quadratic of two legs is always solved relative to a, the instant from which both legs hold: the windows
and their length therefore have no influence on the result, not even in the last bit.

>>> from hunet.worlds.tracks import Tracks
>>> walkers = Tracks.from_breakpoints([([0, 100], [0, 100], [0, 0]), ([0, 100], [100, 0], [0, 0])])
>>> contacts = exact_contacts(walkers, radio_range=10, until=100)
>>> contacts.start.tolist(), contacts.end.tolist()
([45.0], [55.0])
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hunet.worlds.tracks import Floats, Integers, Legs, Tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

SAME_VELOCITY = 1e-18
"""m²/s²: below this squared relative speed two nodes keep their distance."""
TOUCHING = 1e-7
"""s: pieces of a pair this close are one contact; rounding is about 1e-12 s, real gaps are far longer."""
PLACE_SLACK = 1e-6
"""m: added to the reach in the search for candidates, far above the rounding of a place."""
BATCH_ROWS = 1 << 16
"""Rows (window, node) worked off together: enough to amortise the calls, few enough to stay in the cache."""
CHUNK_PAIRS = 1 << 18
"""Candidate pairs looked at together."""
MOST_WINDOWS = 1 << 20
"""However fast somebody jumps."""
ROW_COST = 1.0
"""What a row costs, in units of what the candidates of a cell neighbourhood cost per partner (measured)."""


class ContactColumns(NamedTuple):
    """Contacts in columns, sorted by (a, b, start), a < b."""

    a: Integers
    b: Integers
    start: Floats
    end: Floats


class _Points(NamedTuple):
    """What the search for candidates sees, sorted by cell."""

    cell: Integers
    x: Floats
    y: Floats
    reach: Floats
    """How far the node can be from (x, y) within the window."""


class _Rows(NamedTuple):
    """One row per (window, node) of a batch, sorted by cell."""

    points: _Points
    first_leg: Integers
    last_leg: Integers
    opens: Floats
    closes: Floats


def exact_contacts(tracks: Tracks, radio_range: float, until: float, *, window: float | None = None) -> ContactColumns:
    """Find all contacts of all pairs within [0, until]; ``window`` (s) affects the speed only."""
    nodes, legs = len(tracks), tracks.legs()
    if nodes < 2 or until <= 0:
        return ContactColumns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
    length = window or _window_length(tracks, legs, radio_range, until)
    edges = np.linspace(0.0, until, max(1, math.ceil(until / length)) + 1)
    pieces = [_no_pieces()]
    for rows, stride in _batches(legs, nodes, edges, radio_range):
        batch = [
            _meetings(legs, rows, one, two, radio_range) for one, two in _candidates(rows.points, stride, radio_range)
        ]
        if batch:
            pieces.append(_joined(*(np.concatenate(column) for column in zip(*batch, strict=True))))
    pair, start, end = _joined(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
    return ContactColumns(pair // nodes, pair % nodes, start, end)


def near_pairs(x: Floats, y: Floats, distance: float) -> Iterator[tuple[Integers, Integers]]:
    """Find pairs of standing points at most ``distance`` apart, each pair once, in portions."""
    column, row = (np.floor((axis - axis.min()) / distance).astype(np.int64) for axis in (x, y))
    stride = int(column.max()) + 3
    cell = row * stride + column
    order = np.argsort(cell)
    still = np.zeros(len(x))
    for one, two in _candidates(_Points(cell[order], x[order], y[order], still), stride, distance):
        yield order[one], order[two]


def _window_length(tracks: Tracks, legs: Legs, radio_range: float, until: float) -> float:
    """Choose the window that costs least.

    Per window a node costs a row and the candidates of nine cells of side g = r + v Δ, so all windows cost
    about (c + ρ g²) / Δ, with ρ nodes per square metre and c the price of a row: least at
    Δ = √(r² + c/ρ) / v.
    """
    fastest = float(legs.speed.max())
    if fastest <= 0:
        return until
    area = max(float(np.ptp(tracks.x)), radio_range) * max(float(np.ptp(tracks.y)), radio_range)
    length = math.sqrt(radio_range**2 + ROW_COST * area / len(tracks)) / fastest
    return min(until, max(length, until / MOST_WINDOWS))


def _batches(legs: Legs, nodes: int, edges: Floats, radio_range: float) -> Iterator[tuple[_Rows, int]]:
    """Make the rows of batches of windows, and the number that leads from a cell to the one above it."""
    first_of = np.searchsorted(legs.node, np.arange(nodes))
    turns = np.delete(np.arange(len(legs.begin)), first_of)
    turns = turns[np.argsort(legs.begin[turns], kind="stable")]
    turn_time, turn_node = legs.begin[turns], legs.node[turns]
    speed = np.append(legs.speed, 0.0)
    current = first_of[:, None]
    windows = max(1, BATCH_ROWS // nodes)
    for at in range(0, len(edges) - 1, windows):
        edge = edges[at : at + windows + 1]
        instants = np.empty(2 * len(edge) - 1)
        instants[::2], instants[1::2] = edge, (edge[1:] + edge[:-1]) / 2
        # The leg that holds at an instant: the one at the batch's start plus the turns since then.
        within = slice(*np.searchsorted(turn_time, edge[[0, -1]], "right"))
        turned = turn_node[within] * len(instants) + np.searchsorted(instants, turn_time[within], "left")
        counts = np.bincount(turned, minlength=nodes * len(instants)).reshape(nodes, -1)
        leg = current + np.cumsum(counts, axis=1)
        current = leg[:, -1:]
        first, middle, last = (part.ravel() for part in (leg[:, :-1:2], leg[:, 1::2], leg[:, 2::2]))
        since = np.tile(instants[1::2], nodes) - legs.begin[middle]
        x, y = legs.x[middle] + legs.vx[middle] * since, legs.y[middle] + legs.vy[middle] * since
        # Rows go node by node, so the odd segments of this reduction are short.
        fastest = np.maximum.reduceat(speed, np.column_stack((first, last + 1)).ravel())[::2]
        reach = fastest * (np.max(np.diff(edge)) / 2) + PLACE_SLACK
        side = radio_range + 2 * float(reach.max())
        column = ((x - x.min()) / side).astype(np.int64)
        row = ((y - y.min()) / side).astype(np.int64)
        stride, height = int(column.max()) + 3, int(row.max()) + 3
        number = np.tile(np.arange(len(edge) - 1), nodes)
        cell = (number * height + row) * stride + column
        order = np.argsort(cell)
        number = number[order]
        yield (
            _Rows(
                _Points(cell[order], x[order], y[order], reach[order]),
                first[order],
                last[order],
                edge[number],
                edge[number + 1],
            ),
            stride,
        )


def _candidates(points: _Points, stride: int, distance: float) -> Iterator[tuple[Integers, Integers]]:
    """Find pairs of rows of neighbouring cells that may come as close as ``distance``, in order of rows.

    Each row looks at the rest of its own cell and the cell to the right, and at the three cells above: both
    are ranges of the sorted order. Two empty columns, and two empty rows between windows, keep the ranges
    from wrapping round.
    """
    cell, x, y, reach = points
    rows = np.arange(len(cell))
    begins = np.column_stack((rows + 1, np.searchsorted(cell, cell + (stride - 1), "left"))).ravel()
    ends = np.column_stack(
        (np.searchsorted(cell, cell + 1, "right"), np.searchsorted(cell, cell + (stride + 1), "right"))
    ).ravel()
    partners = ends - begins
    before = np.cumsum(partners) - partners
    total = int(before[-1] + partners[-1]) if len(partners) else 0
    cuts = np.unique(np.append(np.searchsorted(before, np.arange(0, total, CHUNK_PAIRS)), len(partners)))
    for low, high in pairwise(cuts.tolist()):
        how_many = partners[low:high]
        one = np.repeat(np.arange(low, high) // 2, how_many)
        two = np.repeat(begins[low:high] - (before[low:high] - before[low]), how_many) + np.arange(len(one))
        near = distance + reach[one] + reach[two]
        close = np.square(x[one] - x[two]) + np.square(y[one] - y[two]) <= np.square(near)
        yield one[close], two[close]


def _meetings(
    legs: Legs, rows: _Rows, one: Integers, two: Integers, radio_range: float
) -> tuple[Integers, Floats, Floats]:
    """Find the pieces of contact (pair, start, end) of candidate rows, each inside its window."""
    leg_one, leg_two = rows.first_leg[one], rows.first_leg[two]
    opens, closes = rows.opens[one], rows.closes[one]
    legs_one, legs_two = rows.last_leg[one] - leg_one + 1, rows.last_leg[two] - leg_two + 1
    combinations = legs_one * legs_two
    if len(combinations) and combinations.max() > 1:
        which = np.repeat(np.arange(len(one)), combinations)
        index = np.arange(len(which)) - np.repeat(np.cumsum(combinations) - combinations, combinations)
        leg_one = leg_one[which] + index // legs_two[which]
        leg_two = leg_two[which] + index % legs_two[which]
        opens, closes = opens[which], closes[which]
    both_from = np.maximum(legs.begin[leg_one], legs.begin[leg_two])
    low = np.maximum(both_from, opens)
    high = np.minimum(np.minimum(legs.end[leg_one], legs.end[leg_two]), closes)
    overlap = low < high
    if not overlap.all():
        leg_one, leg_two, both_from = leg_one[overlap], leg_two[overlap], both_from[overlap]
        low, high = low[overlap], high[overlap]
    enters, leaves = _in_range(legs, leg_one, leg_two, both_from, radio_range)
    start, end = np.maximum(low, enters), np.minimum(high, leaves)
    in_contact = start < end
    node_one, node_two = legs.node[leg_one[in_contact]], legs.node[leg_two[in_contact]]
    nodes = int(legs.node[-1]) + 1
    pair = np.minimum(node_one, node_two) * nodes + np.maximum(node_one, node_two)
    return pair, start[in_contact], end[in_contact]


def _in_range(legs: Legs, one: Integers, two: Integers, both_from: Floats, radio_range: float) -> tuple[Floats, Floats]:
    """Say from when to when the lines of two legs are in range; an empty interval (inf, -inf) for never."""
    since_one, since_two = both_from - legs.begin[one], both_from - legs.begin[two]
    wx, wy = legs.vx[one] - legs.vx[two], legs.vy[one] - legs.vy[two]
    px = (legs.x[one] + legs.vx[one] * since_one) - (legs.x[two] + legs.vx[two] * since_two)
    py = (legs.y[one] + legs.vy[one] * since_one) - (legs.y[two] + legs.vy[two] * since_two)
    a, b, c = wx * wx + wy * wy, px * wx + py * wy, px * px + py * py - radio_range**2
    d = a * radio_range**2 - np.square(px * wy - py * wx)
    moving = a >= SAME_VELOCITY
    crosses = moving & (d > 0)
    enters, leaves = np.full(len(a), np.inf), np.full(len(a), -np.inf)
    together = ~moving & (c <= 0)
    enters[together], leaves[together] = -np.inf, np.inf
    # The larger root in magnitude first: the other one follows from their product without cancellation.
    q = -(b + np.copysign(np.sqrt(np.where(crosses, d, 1.0)), b))
    far = both_from + q / np.where(crosses, a, 1.0)
    near = both_from + c / np.where(crosses, q, 1.0)
    enters[crosses] = np.minimum(far, near)[crosses]
    leaves[crosses] = np.maximum(far, near)[crosses]
    return enters, leaves


def _no_pieces() -> tuple[Integers, Floats, Floats]:
    return np.empty(0, np.int64), np.empty(0), np.empty(0)


def _joined(pair: Integers, start: Floats, end: Floats) -> tuple[Integers, Floats, Floats]:
    """Join the touching pieces of each pair; pieces come in order of time, so sorting by pair is enough."""
    order = np.argsort(pair, kind="stable")
    pair, start, end = pair[order], start[order], end[order]
    opens = np.ones(len(pair), bool)
    opens[1:] = (pair[1:] != pair[:-1]) | (start[1:] - end[:-1] > TOUCHING)
    last = np.append(opens[1:], True)[: len(pair)]
    return pair[opens], start[opens], end[last]
