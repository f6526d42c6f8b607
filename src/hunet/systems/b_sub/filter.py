"""The Temporal Counting Bloom Filter (TCBF): a set of keys that fades unless it is renewed.

Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", IEEE TPDS 2013,
section 3.1.

Theory of operation. m counters and k hash functions. A key stands at k positions; it is in the filter while none of
their counters is zero, and how firmly it is in is the smallest of them. Insertion sets a key's counters to the initial
value Π. Two filters merge by adding their counters (A-merge: evidence adds up) or by taking the larger (M-merge:
hearsay does not add up). Time takes 1 from every counter per decay cycle. So a counter tells how often and how lately a
key was renewed, and the *preference* of one filter over another compares two devices in that.

Positions are part of the wire format: the BLAKE2b digest (4k bytes, personalised with ``hunet-tcbf``) of the key in
UTF-8, cut into k little-endian words of 32 bits, each modulo m. The paper's argument for privacy (section 4.5) asks for
one-way hash functions, which quick ones are not; positions are kept per key, so their price is paid once. A *salt*
gives other hash functions; with the salt 0 they are those of live devices.

Several filters of m counters hold fewer false positives than one (section 5). A word more of the digest says which of
them a key stands in, so that all devices put it into the same one and filters can be merged. Here they are one row of
counters.

Filters are values: operations return new ones, so that a snapshot is the filter itself. Counters are bytes, or of two
or four bytes where C_max is wide. Merging works on all counters at once, as lanes of one integer. That is what lets a
simulation merge filters by the hundred thousand.

Where we depart from the paper, and why. The paper gives no range of the counters, only that there is one (section 6.2):
they stop at C_max = 255, which is what "at most 4 bytes per tag" (section 6.1) leaves for a value. Insertion leaves
counters that are set as they are (section 3.1 first says that it adds, then that it does not). Time runs in whole
cycles of a common clock. m is at most 256, so that a position is one byte on the wire.

>>> shape = FilterShape()
>>> ours = shape.of(["NewMoon"]).a_merge(shape.of(["NewMoon", "openwebawards"]))
>>> ours.value("NewMoon"), ours.value("openwebawards"), "funnybutnotcool" in ours
(10, 5, False)
>>> later = ours.decay(cycles_between(last=0, now=1300, cycle=256))
>>> later.value("NewMoon"), "openwebawards" in later
(5, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from hunet.model import ConfigurationError, ProtocolError
from hunet.systems.b_sub.lanes import add, lanes, larger, smaller
from hunet.systems.b_sub.wire import BLOCK, counters_of, read_plain, values_of, write_plain

HIGHEST = (1 << 32) - 1
"""The highest ceiling: with it nothing overflows in any run."""
MOST_FILTERS = 64
_BYTE = 256
_IDENTITY = bytes(range(_BYTE))
_SUMS_KEPT = 1024


def cycles_between(last: float, now: float, cycle: float) -> int:
    """Whole decay cycles that end in (last, now]: multiples of the cycle on a common clock.

    >>> cycles_between(last=9, now=31, cycle=10)  # at 10, 20 and 30
    3
    """
    return int(now // cycle) - int(last // cycle)


def preference(mine: int, theirs: int) -> float:
    """PREF of a filter that has a key at ``theirs`` over one that has it at ``mine`` (section 3.1).

    >>> preference(4, 10), preference(0, 7), preference(10, 4)
    (1.5, 7.0, -0.6)
    """
    return (theirs - mine) / mine if mine else float(theirs)


class FilterShape:
    """What filters must share to be merged: m, k, Π, C_max, how many filters there are, and the hash functions."""

    def __init__(
        self,
        counters: int = 256,
        hashes: int = 3,
        initial: int = 5,
        ceiling: int = 255,
        filters: int = 1,
        salt: int = 0,
    ) -> None:
        if not (
            1 <= counters <= _BYTE
            and 1 <= hashes <= 16 - (filters > 1)
            and 1 <= initial <= ceiling <= HIGHEST
            and 1 <= filters <= MOST_FILTERS
        ):
            raise ConfigurationError(
                f"no {filters} filters of {counters} counters up to {ceiling}, {hashes} hashes and initial value "
                f"{initial}: 1 to {MOST_FILTERS} filters, 1 to 256 counters, 1 to 16 hashes (15 with several filters), "
                f"1 <= initial <= ceiling <= {HIGHEST}"
            )
        self.counters, self.hashes, self.initial, self.ceiling = counters, hashes, initial, ceiling
        self.filters, self.salt = filters, salt
        self.total = counters * filters
        """Counters of all filters."""
        self.width = 1 if ceiling < _BYTE else 2 if ceiling < _BYTE * _BYTE else 4
        """Bytes of a counter."""
        self.top = 8 * self.width - 1
        self.high, self.low = lanes(self.total, self.width)
        self.ones = self.high >> self.top
        self.rise = bytes(min(initial, max(ceiling - value, 0)) for value in range(_BYTE)) if self.width == 1 else b""
        """For each value of a counter of a byte, what Π adds to it."""
        self._positions: dict[str, tuple[int, ...]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilterShape) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, ...]:
        return self.counters, self.hashes, self.initial, self.ceiling, self.filters, self.salt

    def add(self, a: int, b: int) -> int:
        """The sum of two filters in lanes, every lane at most the ceiling."""
        total = add(a, b, self.high, self.low, self.top)
        if self.ceiling != (2 << self.top) - 1:
            total = smaller(total, self.ceiling * self.ones, self.high, self.low, self.top)
        return total

    def values(self, counters: bytes) -> Sequence[int]:
        """The counters of filters as numbers."""
        return values_of(counters, self.width)

    def positions(self, key: str) -> tuple[int, ...]:
        """The k positions of a key; two of them may coincide.

        >>> FilterShape().positions("NewMoon")
        (179, 49, 171)
        """
        found = self._positions.get(key)
        if found is None:
            words = self.hashes + (self.filters > 1)
            salt = self.salt.to_bytes(8, "little")
            digest = blake2b(key.encode(), digest_size=4 * words, person=b"hunet-tcbf", salt=salt).digest()
            drawn = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, len(digest), 4)]
            first = self.counters * (drawn.pop() % self.filters) if self.filters > 1 else 0
            found = tuple([first + word % self.counters for word in drawn])
            self._positions[key] = found
        return found

    def empty(self) -> TemporalCountingBloomFilter:
        """A filter that holds nothing."""
        return TemporalCountingBloomFilter(self, bytes(self.total * self.width), fresh=True)

    def of(self, keys: Iterable[str]) -> TemporalCountingBloomFilter:
        """A fresh filter that holds these keys, each counter 0 or Π."""
        made = self.empty()
        for key in keys:
            made = made.insert(key)
        return made

    def from_plain_wire(self, data: bytes) -> TemporalCountingBloomFilter:
        """The filter of Π at each set bit that :meth:`TemporalCountingBloomFilter.to_plain_wire` wrote."""
        values = [0] * self.total
        for position in read_plain(data, self.total):
            values[position] = self.initial
        return TemporalCountingBloomFilter(self, counters_of(values, self.width), fresh=True)


class TemporalCountingBloomFilter:
    """A filter: its shape, its counters, and whether it is fresh, that is, made by insertion only."""

    __slots__ = ("_counters", "fresh", "packed", "shape")

    def __init__(
        self, shape: FilterShape, counters: bytes | None, packed: int | None = None, *, fresh: bool = False
    ) -> None:
        self.shape, self._counters, self.fresh = shape, counters, fresh
        self.packed: int = int.from_bytes(counters or b"", "little") if packed is None else packed
        """The counters as lanes of an integer, the first lowest."""

    @property
    def counters(self) -> bytes:
        """The counters as bytes, the first first."""
        if self._counters is None:
            self._counters = self.packed.to_bytes(self.shape.total * self.shape.width, "little")
        return self._counters

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TemporalCountingBloomFilter):
            return NotImplemented
        return self.shape == other.shape and self.packed == other.packed

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        held = {position: value for position, value in enumerate(self.shape.values(self.counters)) if value}
        return f"TemporalCountingBloomFilter({held})"

    def insert(self, key: str) -> TemporalCountingBloomFilter:
        """With a key more; only into a fresh filter. What a merged one is to hold comes by merging (section 3.1)."""
        if not self.fresh:
            raise ProtocolError("a key can be inserted into a fresh filter only: insert into an empty one, then merge")
        values = list(self.shape.values(self.counters))
        for position in self.shape.positions(key):
            values[position] = values[position] or self.shape.initial
        return TemporalCountingBloomFilter(self.shape, counters_of(values, self.shape.width), fresh=True)

    def a_merge(self, other: TemporalCountingBloomFilter) -> TemporalCountingBloomFilter:
        """The counters of both added up, at most C_max."""
        return TemporalCountingBloomFilter(self.shape, None, self.shape.add(self.packed, other.packed))

    def m_merge(self, other: TemporalCountingBloomFilter) -> TemporalCountingBloomFilter:
        """The larger of both counters, everywhere."""
        shape = self.shape
        merged = larger(self.packed, other.packed, shape.high, shape.low, shape.top)
        return TemporalCountingBloomFilter(shape, None, merged)

    def a_merge_and_m_merge(self, evidence: Evidence, hearsay: bytes) -> TemporalCountingBloomFilter:
        """The one and then the other, the latter with the counters of a filter: what B-SUB does in every contact."""
        shape, mine = self.shape, self.counters
        merged = self.packed + evidence.added_to(mine)
        if hearsay != mine:
            theirs = int.from_bytes(hearsay, "little")
            merged = larger(merged, theirs, shape.high, shape.low, shape.top)
            if merged == theirs:  # those who meet often end up with the same filter, and share what is known of it
                return TemporalCountingBloomFilter(shape, hearsay, merged)
        return self if merged == self.packed else TemporalCountingBloomFilter(shape, None, merged)

    def decay(self, cycles: int) -> TemporalCountingBloomFilter:
        """After so many decay cycles: every counter less by one per cycle, at least 0."""
        if cycles <= 0:
            return self
        shape = self.shape
        if shape.width == 1:
            return TemporalCountingBloomFilter(shape, self.counters.translate(_decay_table(min(cycles, _BYTE - 1))))
        less = min(cycles, shape.ceiling) * shape.ones
        left = larger(self.packed, less, shape.high, shape.low, shape.top) - less
        return TemporalCountingBloomFilter(shape, None, left)

    def without(self, other: TemporalCountingBloomFilter) -> TemporalCountingBloomFilter:
        """Nothing where the other has something."""
        values = self.shape.values
        both = zip(values(self.counters), values(other.counters), strict=True)
        left = counters_of([0 if theirs else mine for mine, theirs in both], self.shape.width)
        return TemporalCountingBloomFilter(self.shape, left)

    def __contains__(self, key: str) -> bool:
        """The existential query: whether the key may be in; never wrongly no."""
        return self.value(key) > 0

    def value(self, key: str) -> int:
        """How firmly a key is in: the smallest of its counters."""
        counters = self.shape.values(self.counters)
        return min([counters[position] for position in self.shape.positions(key)])

    # On the wire --------------------------------------------------------------------------------------------------

    def to_plain_wire(self) -> bytes:
        """Without counters: the positions that are set, a byte each, or the bit vector where that is shorter."""
        set_ = [position for position, value in enumerate(self.shape.values(self.counters)) if value]
        return write_plain(set_, self.shape.total)


class Evidence:
    """A fresh filter that many others are A-merged with.

    Few of its counters are set. Each adds Π to the other's, or less where that is near C_max: what a filter adds in all
    is soon one of the sums that it has added before.
    """

    __slots__ = ("_packed", "_positions", "_shape", "_sums")

    def __init__(self, fresh: TemporalCountingBloomFilter) -> None:
        if not fresh.fresh:
            raise ProtocolError("only a fresh filter is evidence: others hold hearsay too")
        self._shape, self._packed = fresh.shape, fresh.packed
        quick = fresh.shape.width == 1 and fresh.shape.total <= BLOCK
        self._positions = bytes([p for p, value in enumerate(fresh.counters) if value]) if quick else None
        self._sums: dict[bytes, int] = {}
        """For what is added at each position: all of it, in lanes."""

    def added_to(self, counters: bytes) -> int:
        """What it adds to a filter with these counters, in lanes."""
        shape = self._shape
        if self._positions is None:
            packed = int.from_bytes(counters, "little")
            return shape.add(packed, self._packed) - packed
        rises = self._positions.translate(counters.ljust(_BYTE, b"\0")).translate(shape.rise)
        found = self._sums.get(rises)
        if found is None:
            if len(self._sums) >= _SUMS_KEPT:
                self._sums.clear()
            found = sum(rise << 8 * position for position, rise in zip(self._positions, rises, strict=True))
            self._sums[rises] = found
        return found


@lru_cache(_BYTE)
def _decay_table(cycles: int) -> bytes:
    return bytes(cycles) + _IDENTITY[: _BYTE - cycles]
