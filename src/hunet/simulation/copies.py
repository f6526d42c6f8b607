"""Copies of messages: how long devices held them, how many at once, and why they went."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hunet.simulation.metrics import find
from hunet.simulation.record import PIECE, Record, count, so_far

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Copies(NamedTuple):
    """Every copy that was ever stored: where, of what, from when to when, and why it went."""

    node: Ints
    publication: Ints
    start: Floats
    end: Floats
    reason: Ints
    """Number in ``Record.reasons``; -1 if it was there to the end of the run, or of its message's life."""


class Figures(NamedTuple):
    """What the metrics say of copies."""

    ever: NDArray[np.bool_]
    """For each publication * nodes + node, whether the node ever stored it."""
    overflow: Ints
    """Copies of each publication that a full buffer dropped."""
    overflow_at: Ints
    """The same at each node."""
    time_at: Floats
    """The time of all copies of a node together."""
    peak_at: Ints
    """The most copies that each node held at once."""
    buffered: Ints
    """Copies held at the end of each step."""
    lost: dict[str, int]
    """Copies lost before their time, by reason."""
    times: Floats
    """How long each copy was held that went."""


def figures(record: Record, expires: Floats, nodes: int, span: tuple[float, float], steps: Floats) -> Figures:
    """What the metrics say of copies; ``expires`` is the end of each publication's life."""
    stored, removed = record.stored_columns(), record.removed_columns()
    if not record.in_files:
        return _of_all(copies(stored, removed, expires, nodes, span[1]), record.reasons, expires, nodes, span, steps)
    if not len(removed[0]) and not np.isfinite(expires).any():
        return _of_lasting(stored, len(expires), nodes, span[1], steps)
    # Of a large run some nodes at a time: the copies of all do not fit into memory.
    parts = []
    edges = np.searchsorted(np.cumsum(count(stored[1], nodes)), np.arange(0, len(stored[1]) + PIECE, PIECE))
    for first, last in pairwise(np.unique([0, *edges, nodes]).tolist()):
        here = [[column[_between(rows[1], first, last)] for column in rows] for rows in (stored, removed)]
        held = copies(here[0], here[1], expires, nodes, span[1])
        parts.append(_of_all(held, record.reasons, expires, nodes, span, steps))
    return _together(parts)


def _between(node: NDArray[Any], first: int, last: int) -> NDArray[np.bool_]:
    return np.asarray((node >= first) & (node < last))


def _together(parts: list[Figures]) -> Figures:
    """The figures of all nodes, from those of some at a time."""
    whole, *others = parts
    for part in others:
        np.logical_or(whole.ever, part.ever, out=whole.ever)
        whole = Figures(
            whole.ever,
            whole.overflow + part.overflow,
            whole.overflow_at + part.overflow_at,
            whole.time_at + part.time_at,
            whole.peak_at + part.peak_at,
            whole.buffered + part.buffered,
            {reason: many + part.lost[reason] for reason, many in whole.lost.items()},
            np.concatenate([whole.times, part.times]),
        )
    return whole


def _of_all(
    held: Copies, reasons: list[str], expires: Floats, nodes: int, span: tuple[float, float], steps: Floats
) -> Figures:
    order = np.lexsort((held.publication * nodes + held.node, held.start))
    held = held._replace(**{column: getattr(held, column)[order] for column in held._fields})
    kept = (held.reason < 0) & (held.end >= span[1])
    gone = np.where(kept, np.inf, held.end)
    ever = np.zeros(len(expires) * nodes, bool)
    ever[held.publication * nodes + held.node] = True
    removed = {
        reason: held.reason == reasons.index(reason) if reason in reasons else np.zeros(len(kept), bool)
        for reason in ("overflow", "crash")
    }
    lost = {reason: int(which.sum()) for reason, which in removed.items()}
    return Figures(
        ever,
        count(held.publication[removed["overflow"]], len(expires)),
        count(held.node[removed["overflow"]], nodes),
        np.bincount(held.node, held.end - held.start, minlength=nodes).astype(np.float64, copy=False),
        _peaks(held, nodes),
        so_far(held.start, steps) - so_far(gone, steps),
        {**lost, "expired": int((~kept & (held.reason < 0)).sum())},
        (held.end - held.start)[~kept],
    )


def _of_lasting(stored: list[NDArray[Any]], publications: int, nodes: int, end: float, steps: Floats) -> Figures:
    """The same where nothing ever went, a piece at a time, in the order in which copies were stored."""
    start, node, publication = stored
    ever, time_at, peak_at = np.zeros(publications * nodes, bool), np.zeros(nodes), np.zeros(nodes, np.int64)
    for first in range(0, len(start), PIECE):
        part = slice(first, first + PIECE)
        ever[publication[part].astype(np.int64) * nodes + node[part]] = True
        time_at += np.bincount(node[part], end - start[part], minlength=nodes)
        peak_at += count(node[part], nodes)
    none = np.zeros(publications, np.int64), np.zeros(nodes, np.int64)
    lost = {"overflow": 0, "crash": 0, "expired": 0}
    return Figures(ever, *none, time_at, peak_at, so_far(start, steps), lost, np.empty(0))


def copies(stored: list[NDArray[Any]], removed: list[NDArray[Any]], expires: Floats, nodes: int, end: float) -> Copies:
    """Match what was stored with what was removed, the n-th with the n-th for each node and publication."""
    stored_time, stored_node, publication = stored
    publication = publication.astype(np.int64, copy=False)
    removed_time, removed_node, removed_publication, removed_reason = removed
    stored_key = publication * nodes + stored_node.astype(np.int64)
    removed_key = removed_publication.astype(np.int64) * nodes + removed_node.astype(np.int64)
    gone = np.minimum(expires[publication], end) if len(publication) else np.empty(0)
    reason = np.full(len(gone), -1)
    if len(removed_key):
        nth_stored, nth_removed = _nth(stored_key), _nth(removed_key)
        most = int(max(nth_stored.max(), nth_removed.max())) + 1
        row, found = find(removed_key * most + nth_removed, stored_key * most + nth_stored)
        gone[found], reason[found] = removed_time[row], removed_reason[row]
    return Copies(stored_node.astype(np.int64), publication, stored_time, gone, reason)


def _peaks(held: Copies, nodes: int) -> NDArray[np.int64]:
    """The most copies that each node held at once; at one instant, what goes makes room for what comes."""
    last = held.end.max(initial=0)
    if ((held.reason < 0) & (held.end == last)).all():  # nothing ever went
        return count(held.node, nodes)
    # A copy that came and went in one instant (dropped on arrival) was never held.
    lasting = held.start < held.end
    node = np.tile(held.node[lasting], 2)
    time = np.concatenate([held.start[lasting], held.end[lasting]])
    change = np.repeat(np.array([1, -1]), int(lasting.sum()))
    order = np.lexsort((change, time, node))
    level = np.cumsum(change[order])
    # Every node begins and ends at zero, so one running sum serves all of them.
    peaks = np.zeros(nodes, np.int64)
    np.maximum.at(peaks, node[order], level)
    return peaks


def _nth(key: Ints) -> Ints:
    """How many equal keys stand before each key."""
    order = np.argsort(key, kind="stable")
    fresh = np.ones(len(key), bool)
    fresh[1:] = key[order][1:] != key[order][:-1]
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(key)), 0))
    nth = np.empty(len(key), np.int64)
    nth[order] = np.arange(len(key)) - first
    return nth
