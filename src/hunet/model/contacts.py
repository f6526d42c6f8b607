"""Contacts: who could talk to whom, and when.

A contact is a closed interval: both ends are usable instants, so a contact of length zero (a device seen in one
scan) is one usable instant. Contacts are symmetric. Inside a table the records of a pair are disjoint: records
that overlap or touch have been joined.

The table is columnar. Nodes are dense integers, in the natural order of their names ("2" before "10").
"""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.model.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which embedded numbers count as numbers.

    >>> sorted(["n10", "n2", "n1"], key=natural_order)
    ['n1', 'n2', 'n10']
    """
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part]


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """A contact table: columns ``a``, ``b``, ``start``, ``end``, sorted by (start, a, b), with a < b.

    Make one with :meth:`from_records` or :meth:`from_arrays`, or read one with ``hunet.read_contacts``.

    >>> contacts = Contacts.from_records([("ann", "bob", 0, 10), ("bob", "ann", 10, 12), ("bob", "eve", 20, 30)])
    >>> contacts
    Contacts(3 nodes, 2 contacts, 0 to 30 s)
    >>> list(contacts.records())
    [('ann', 'bob', 0.0, 12.0), ('bob', 'eve', 20.0, 30.0)]
    """

    names: tuple[str, ...]
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    span: tuple[float, float]
    """First and last second that was observed; at least from the first start to the last end."""
    origin: float | None = None
    """Unix time of second 0, where it is known."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Whatever else is known: the world and its seed, communities, the file it came from. JSON values."""

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        a: ArrayLike,
        b: ArrayLike,
        start: ArrayLike,
        end: ArrayLike,
        *,
        span: tuple[float, float] | None = None,
        origin: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Contacts:
        """Check, orient, sort and join; ``a`` and ``b`` index ``names``."""
        one, two = np.asarray(a, np.int32), np.asarray(b, np.int32)
        begin, finish = np.asarray(start, np.float64), np.asarray(end, np.float64)
        check_records(one, two, begin, finish)
        low, high = np.minimum(one, two), np.maximum(one, two)
        low, high, begin, finish = _joined(low, high, begin, finish)
        order = np.lexsort((high, low, begin))
        low, high, begin, finish = low[order], high[order], begin[order], finish[order]
        observed = (float(begin[0]), float(finish.max())) if len(begin) else (0.0, 0.0)
        if span is not None:
            observed = (min(span[0], observed[0]), max(span[1], observed[1])) if len(begin) else span
        return cls(tuple(names), low, high, begin, finish, observed, origin, metadata or {})

    @classmethod
    def from_records(
        cls, records: Iterable[tuple[str, str, float, float]], *, metadata: dict[str, Any] | None = None
    ) -> Contacts:
        """From (name, name, start, end) rows."""
        rows = list(records)
        names = sorted({name for row in rows for name in row[:2]}, key=natural_order)
        number = {name: i for i, name in enumerate(names)}
        return cls.from_arrays(
            names,
            [number[row[0]] for row in rows],
            [number[row[1]] for row in rows],
            [row[2] for row in rows],
            [row[3] for row in rows],
            metadata=metadata,
        )

    @classmethod
    def from_pandas(
        cls, frame: pd.DataFrame, *, a: str = "a", b: str = "b", start: str = "start", end: str = "end"
    ) -> Contacts:
        """From a DataFrame with two columns of names and two of times, in seconds or as timestamps.

        Timestamps (without a time zone they are UTC) count from the first of them, which becomes ``origin``.

        >>> import pandas as pd
        >>> log = pd.DataFrame({"who": ["ann"], "whom": ["bob"], "from": [0], "to": [60]})
        >>> Contacts.from_pandas(log, a="who", b="whom", start="from", end="to")
        Contacts(2 nodes, 1 contacts, 0 to 60 s)
        """
        for column in (a, b, start, end):
            if column not in frame.columns:
                known = ", ".join(map(str, frame.columns))
                raise ConfigurationError(f"no column '{column}' in the DataFrame, which has {known}: name it")
        begin, finish, origin = _seconds(frame[start]), _seconds(frame[end]), None
        if frame[start].dtype.kind == "M" and len(frame):
            origin = float(begin.min())
            begin, finish = begin - origin, finish - origin
        one, two = (frame[column].astype(str).to_numpy() for column in (a, b))
        names = sorted({*one, *two}, key=natural_order)
        number = {name: index for index, name in enumerate(names)}
        low, high = ([number[name] for name in column] for column in (one, two))
        return cls.from_arrays(names, low, high, begin, finish, origin=origin)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a DataFrame with the columns a, b, start, end; names are categories.

        >>> Contacts.from_records([("ann", "bob", 0, 10)]).to_pandas().values.tolist()
        [['ann', 'bob', 0.0, 10.0]]
        """
        import pandas as pd

        a, b = (pd.Categorical.from_codes(codes, list(self.names)) for codes in (self.a, self.b))
        return pd.DataFrame({"a": a, "b": b, "start": self.start, "end": self.end})

    def __len__(self) -> int:
        return len(self.start)

    def __repr__(self) -> str:
        first, last = self.span
        return f"Contacts({len(self.names)} nodes, {len(self)} contacts, {first:g} to {last:g} s)"

    def records(self) -> Iterator[tuple[str, str, float, float]]:
        """The rows with their nodes' names, in order."""
        names = self.names
        columns = (self.a.tolist(), self.b.tolist(), self.start.tolist(), self.end.tolist())
        for a, b, start, end in zip(*columns, strict=True):
            yield names[a], names[b], start, end

    def within(self, begin: float, end: float) -> Contacts:
        """What of these contacts lies in a window, cut at its edges.

        >>> list(Contacts.from_records([("a", "b", 0, 10), ("b", "c", 20, 30)]).within(5, 15).records())
        [('a', 'b', 5.0, 10.0)]
        """
        inside = (self.end >= begin) & (self.start <= end)
        return Contacts.from_arrays(
            self.names,
            self.a[inside],
            self.b[inside],
            np.maximum(self.start[inside], begin),
            np.minimum(self.end[inside], end),
            span=(max(begin, self.span[0]), min(end, self.span[1])),
            origin=self.origin,
            metadata=self.metadata,
        )

    def busiest(self, many: int) -> Contacts:
        """The contacts among the nodes that have most of them; of equals, the first.

        >>> crowd = Contacts.from_records([("a", "b", 0, 1), ("a", "c", 2, 3), ("b", "d", 4, 5), ("a", "d", 6, 7)])
        >>> crowd.busiest(2)
        Contacts(2 nodes, 1 contacts, 0 to 7 s)
        """
        degree = np.bincount(np.concatenate([self.a, self.b]), minlength=len(self.names))
        chosen = np.sort(np.argsort(-degree, kind="stable")[:many])
        number = np.full(len(self.names), -1, np.int32)
        number[chosen] = np.arange(len(chosen))
        inside = (number[self.a] >= 0) & (number[self.b] >= 0)
        return Contacts.from_arrays(
            [self.names[node] for node in chosen],
            number[self.a[inside]],
            number[self.b[inside]],
            self.start[inside],
            self.end[inside],
            span=self.span,
            origin=self.origin,
            metadata=self.metadata,
        )

    @property
    def fingerprint(self) -> str:
        """A hash of the content (names, rows and span): what a run's name says of its trace."""
        codes = np.array([zlib.crc32(name.encode()) for name in self.names], np.uint64)
        one, two = codes[self.a], codes[self.b]
        rows = _hashes(np.minimum(one, two), np.maximum(one, two), self.start, self.end)
        return content_fingerprint(_halves(rows), _halves(_hashes(codes)), self.span)


def _seconds(times: pd.Series[Any]) -> NDArray[np.float64]:
    """Seconds, of numbers or of timestamps since 1970."""
    if times.dtype.kind != "M":
        return np.asarray(times, np.float64)
    import pandas as pd

    return np.asarray(pd.to_datetime(times, utc=True).astype("datetime64[us, UTC]").astype("int64"), np.float64) / 1e6


def content_fingerprint(rows: tuple[int, int, int], nodes: tuple[int, int, int], span: tuple[float, float]) -> str:
    """The fingerprint of a contact table from hashes of its rows and nodes, which may be added up in any order.

    Both are given as their number and the sums of the upper and the lower halves of their 64-bit hashes: xxHash64 with
    Spark's seed, of a row over the CRC-32 of both names (the smaller first), start and end; of a node over that of its
    name. ``hunet.pipeline`` computes the same as SQL, wherever the rows lie.
    """
    header = " ".join(map(str, (*rows, *nodes, *(float(edge) for edge in span))))
    return hashlib.sha256(header.encode()).hexdigest()


def _halves(hashes: NDArray[np.uint64]) -> tuple[int, int, int]:
    low = hashes & np.uint64(0xFFFFFFFF)
    return len(hashes), int((hashes >> np.uint64(32)).sum()), int(low.sum())


def _hashes(*columns: NDArray[Any]) -> NDArray[np.uint64]:
    """xxHash64 of 8-byte values, one after the other, as Spark's ``xxhash64`` has it."""
    one, two, four, five = (
        np.uint64(prime) for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
    )
    three = np.uint64(0x165667B19E3779F9)

    def turned(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
        return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))

    hashed = np.full(len(columns[0]), 42, np.uint64)
    for column in columns:
        # A zero is a zero, whatever its sign.
        values = (column + 0.0).view(np.uint64) if column.dtype == np.float64 else column.astype(np.uint64)
        hashed = hashed + five + np.uint64(8)
        hashed ^= turned(values * two, 31) * one
        hashed = turned(hashed, 27) * one + four
        hashed = (hashed ^ (hashed >> np.uint64(33))) * two
        hashed = (hashed ^ (hashed >> np.uint64(29))) * three
        hashed ^= hashed >> np.uint64(32)
    return hashed


def check_records(
    a: NDArray[np.int32], b: NDArray[np.int32], start: NDArray[np.float64], end: NDArray[np.float64]
) -> None:
    """Raise a :class:`BadRecordError` for the first row that no contact table may hold."""
    problems = (
        (~(np.isfinite(start) & np.isfinite(end)), "a time is not a finite number"),
        (start < 0, "the contact starts at a negative time"),
        (end < start, "the contact ends before it starts"),
        (a == b, "a node is in contact with itself"),
    )
    bad = [(int(np.argmax(rows)), problem) for rows, problem in problems if rows.any()]
    if bad:
        raise BadRecordError(*min(bad))


class BadRecordError(ConfigurationError):
    """A row that no contact table may hold: its number (from 0) and what is wrong with it."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(f"contact record {row}: {problem}")
        self.row, self.problem = row, problem


def _joined(
    a: NDArray[np.int32], b: NDArray[np.int32], start: NDArray[np.float64], end: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Join the records of each pair that overlap or touch."""
    order = np.lexsort((end, start, b, a))
    a, b, start, end = a[order], b[order], start[order], end[order]
    same_pair = np.zeros(len(a), bool)
    same_pair[1:] = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    if not (same_pair[1:] & (start[1:] <= end[:-1])).any():
        return a, b, start, end
    # The latest end so far within the pair: a segmented running maximum by doubling strides.
    latest = end.copy()
    first_of_pair = np.maximum.accumulate(np.where(same_pair, 0, np.arange(len(a))))
    rank = np.arange(len(a)) - first_of_pair
    stride = 1
    while stride <= rank.max():
        reach = np.nonzero(rank >= stride)[0]
        latest[reach] = np.maximum(latest[reach], latest[reach - stride])
        stride *= 2
    opens = ~same_pair
    opens[1:] |= start[1:] > latest[:-1]
    firsts = np.nonzero(opens)[0]
    lasts = np.append(firsts[1:], len(a)) - 1
    return a[firsts], b[firsts], start[firsts], latest[lasts]
