"""What a run leaves behind: everything the metrics are computed from, and nothing a protocol could read.

Rows are appended to flat arrays of doubles (a million rows take 24 to 32 MB) and become columns when the run is over.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Record:
    """Counters and rows of one run."""

    def __init__(self) -> None:
        self.deliveries = array("d")
        """time, node, message, hops"""
        self.forwards = array("d")
        """time, sender, receiver, number of messages: data packets that arrived"""
        self.forwarded_messages = array("l")
        """their messages, one packet after the other"""
        self.stored = array("d")
        """time, node, number of messages"""
        self.stored_messages = array("l")
        """their messages"""
        self.removed = array("d")
        """time, node, message, reason; not of copies that expired, which need no record"""
        self.false_matches = array("d")
        """time, node, message"""
        self.roles: list[tuple[float, int, str]] = []
        self.control_packets = 0
        self.control_bytes = 0
        self.out_of_band_packets = 0
        self.out_of_band_bytes = 0
        self.aborted = 0
        """Data packets under way when their contact ended."""
        self.lost = 0
        """Data packets that a link lost."""
        self.unpublished = 0
        """Publications whose device was down."""
        self.observed: dict[str, float] = {}
        """What the protocols counted themselves, summed over devices."""
        self.reasons: list[str] = []
        self._reason_numbers: dict[str, int] = {}

    def copies_at(self, node: int) -> list[int]:
        """The messages of which a device holds a copy now, as far as it has said, or held one until they expired."""
        balance: Counter[int] = Counter()
        _, nodes, messages = spread(self.stored, 3, self.stored_messages)
        balance.update(messages[nodes == node].tolist())
        _, nodes, messages, _ = columns(self.removed, 4)
        balance.subtract(messages[nodes == node].astype(int).tolist())
        return sorted(message for message, copies in balance.items() if copies > 0)

    def reason(self, name: str) -> int:
        """The number under which a reason for removing a copy is kept."""
        number = self._reason_numbers.get(name)
        if number is None:
            number = self._reason_numbers[name] = len(self.reasons)
            self.reasons.append(name)
        return number


def columns(rows: array[float], width: int) -> list[NDArray[np.float64]]:
    """The columns of a flat array of rows."""
    table = np.frombuffer(rows, np.float64).reshape(-1, width) if rows else np.empty((0, width))
    return [np.ascontiguousarray(table[:, column]) for column in range(width)]


def spread(rows: array[float], width: int, messages: array[int]) -> list[NDArray[Any]]:
    """The columns of rows that end in a number of messages, with a row for each message instead."""
    *given, many = columns(rows, width)
    numbers = np.frombuffer(messages, np.dtype("l")) if messages else np.empty(0, np.int64)
    return [*(np.repeat(column, many.astype(np.int64)) for column in given), numbers.astype(np.int64)]
