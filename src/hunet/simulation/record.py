"""What a run leaves behind: everything the metrics are computed from, and nothing a protocol could read.

Rows are appended to flat arrays of doubles (a million rows take 24 to 32 MB) and become columns when the run is over.
Those that grow with every transmission go to files as columns while a large run lasts: its memory is that of the
devices.
"""

from __future__ import annotations

import tempfile
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


ROOM = 1 << 22
"""How many messages that changed hands are kept in memory; a run with more keeps them in files."""


class Columns:
    """Columns of numbers in files without names, which are gone when nobody uses them any more."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds
        self._files = [tempfile.TemporaryFile() for _ in kinds]  # noqa: SIM115

    def append(self, *columns: NDArray[Any]) -> None:
        """Write rows behind the others."""
        for file, kind, column in zip(self._files, self._kinds, columns, strict=True):
            column.astype(kind, copy=False).tofile(file)

    def read(self) -> list[NDArray[Any]]:
        """All of them, as arrays whose memory is the file."""
        for file in self._files:
            file.flush()
        return [
            np.memmap(file, kind, "r") if file.tell() else np.empty(0, kind)
            for file, kind in zip(self._files, self._kinds, strict=True)
        ]

    def __del__(self) -> None:
        for file in self._files:
            file.close()


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
        self.seen_bytes = 0
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
        self._sent: Columns | None = None
        self._stored: Columns | None = None
        self._removed: Columns | None = None
        self.reasons: list[str] = []
        self._reason_numbers: dict[str, int] = {}

    @property
    def in_files(self) -> bool:
        """Whether what was sent and stored is in files."""
        return self._sent is not None

    def spill(self) -> None:
        """Move what was sent, stored and removed into files, if it is much; there :meth:`copies_at` does not see it."""
        if len(self.forwarded_messages) + len(self.stored_messages) >= ROOM:
            self._move_to_files()

    def _move_to_files(self) -> None:
        if self._sent is None or self._stored is None or self._removed is None:
            self._sent, self._stored = Columns("f8", "i4", "i4", "i4"), Columns("f8", "i4", "i4")
            self._removed = Columns("f8", "i4", "i4", "i4")
        self._sent.append(*spread(self.forwards, 4, self.forwarded_messages))
        self._stored.append(*spread(self.stored, 3, self.stored_messages))
        self._removed.append(*columns(self.removed, 4))
        self.forwards, self.forwarded_messages = array("d"), array("l")
        self.stored, self.stored_messages, self.removed = array("d"), array("l"), array("d")

    def sent_columns(self) -> list[NDArray[Any]]:
        """Time, sender, receiver and message of every data packet that arrived, with a row for each message."""
        if self._sent is None:
            return spread(self.forwards, 4, self.forwarded_messages)
        self._move_to_files()
        return self._sent.read()

    def stored_columns(self) -> list[NDArray[Any]]:
        """Time, node and message of every copy that was stored."""
        if self._stored is None:
            return spread(self.stored, 3, self.stored_messages)
        self._move_to_files()
        return self._stored.read()

    def removed_columns(self) -> list[NDArray[Any]]:
        """Time, node, message and reason of every copy that was removed."""
        if self._removed is None:
            return columns(self.removed, 4)
        self._move_to_files()
        return self._removed.read()

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
    """The columns of rows of a time, nodes and a number of messages, with a row for each message instead."""
    *given, many = columns(rows, width)
    numbers = np.frombuffer(messages, np.dtype("l")) if messages else np.empty(0, np.int64)
    time, *nodes = (np.repeat(column, many.astype(np.int64)) for column in given)
    return [time, *(column.astype(np.int64) for column in nodes), numbers.astype(np.int64)]


PIECE = 1 << 22
"""Rows that are looked at together."""


def count(which: NDArray[Any], many: int) -> NDArray[np.int64]:
    """How often each of so many numbers occurs."""
    found = np.zeros(many, np.int64)
    for first in range(0, len(which), PIECE):
        found += np.bincount(which[first : first + PIECE], minlength=many)
    return found


def so_far(times: NDArray[np.float64], upto: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many of these times are not after each of others, which are in order."""
    found = np.zeros(len(upto) + 1, np.int64)
    for first in range(0, len(times), PIECE):
        interval = np.searchsorted(upto, times[first : first + PIECE], side="left")
        found += np.bincount(interval, minlength=len(upto) + 1)
    return np.cumsum(found[:-1])
