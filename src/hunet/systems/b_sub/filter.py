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
one-way hash functions, which quick ones are not; positions are kept per key, so their price is paid once.

Filters are values: operations return new ones, so that a snapshot is the filter itself. Counters are bytes. Decay is
one ``bytes.translate``; merging works on all m counters at once, as lanes of one integer; looking up many keys gathers
their counters with ``translate`` too. That is what lets a simulation merge filters by the hundred thousand.

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
>>> read_counters(write_counters(later.counters), 256) == later.counters
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import compress, pairwise
from typing import TypeVar

from hunet.model import ConfigurationError, PeerError, ProtocolError

T = TypeVar("T")
_BYTE = 256
_IDENTITY = bytes(range(_BYTE))
_SUMS_KEPT = 1024
_LOOKUPS_KEPT = 64
"""Both ends of a contact look the same two filters up, in a simulation often with the same keys."""


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
    """What two filters must share to be merged: m, k, Π and C_max."""

    def __init__(self, counters: int = 256, hashes: int = 3, initial: int = 5, ceiling: int = 255) -> None:
        if not (1 <= counters <= _BYTE and 1 <= hashes <= 16 and 1 <= initial <= ceiling < _BYTE):
            raise ConfigurationError(
                f"no filter of {counters} counters up to {ceiling}, {hashes} hashes and initial value {initial}: "
                "1 to 256 counters, 1 to 16 hashes, 1 <= initial <= ceiling <= 255"
            )
        self.counters, self.hashes, self.initial, self.ceiling = counters, hashes, initial, ceiling
        self.high, self.low = _lanes(counters)
        self._clamp = bytes(min(value, ceiling) for value in range(_BYTE))
        self.rise = bytes(min(initial, max(ceiling - value, 0)) for value in range(_BYTE))
        """For each value of a counter, what Π adds to it."""
        self._positions: dict[str, tuple[int, ...]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilterShape) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, ...]:
        return self.counters, self.hashes, self.initial, self.ceiling

    def add(self, a: int, b: int) -> int:
        """The sum of two filters in lanes, every lane at most the ceiling."""
        either = a | b
        if not either & self.high:
            total = a + b
        else:
            # Add the lower seven bits of each lane, then the top bits without carry: no lane spills into the next.
            total = ((a & self.low) + (b & self.low)) ^ ((a ^ b) & self.high)
            carry = ((a & b) | (either ^ (either & total))) & self.high
            total |= (carry << 1) - (carry >> 7)
        if self.ceiling != _BYTE - 1:
            clamped = total.to_bytes(self.counters, "little").translate(self._clamp)
            total = int.from_bytes(clamped, "little")
        return total

    def positions(self, key: str) -> tuple[int, ...]:
        """The k positions of a key; two of them may coincide.

        >>> FilterShape().positions("NewMoon")
        (179, 49, 171)
        """
        found = self._positions.get(key)
        if found is None:
            digest = blake2b(key.encode(), digest_size=4 * self.hashes, person=b"hunet-tcbf").digest()
            words = (digest[start : start + 4] for start in range(0, len(digest), 4))
            found = tuple(int.from_bytes(word, "little") % self.counters for word in words)
            self._positions[key] = found
        return found

    def empty(self) -> TemporalCountingBloomFilter:
        """A filter that holds nothing."""
        return TemporalCountingBloomFilter(self, bytes(self.counters), fresh=True)

    def of(self, keys: Iterable[str]) -> TemporalCountingBloomFilter:
        """A fresh filter that holds these keys, each counter 0 or Π."""
        made = self.empty()
        for key in keys:
            made = made.insert(key)
        return made

    def from_plain_wire(self, data: bytes) -> TemporalCountingBloomFilter:
        """The filter of Π at each set bit that :meth:`TemporalCountingBloomFilter.to_plain_wire` wrote."""
        width = -(-self.counters // 8)
        if len(data) > width:
            raise PeerError(f"a plain filter came in {len(data)} bytes: {width} are enough")
        if len(data) == width:
            bits = int.from_bytes(data, "little")
            if bits >> self.counters:
                raise PeerError(f"a plain filter came with bits beyond its {self.counters}")
            positions: Sequence[int] = [p for p in range(self.counters) if bits >> p & 1]
        else:
            positions = data
            _refuse_disorder(data, self.counters)
        counters = bytearray(self.counters)
        for position in positions:
            counters[position] = self.initial
        return TemporalCountingBloomFilter(self, bytes(counters), fresh=True)


class TemporalCountingBloomFilter:
    """A filter: its shape, its counters, and whether it is fresh, that is, made by insertion only."""

    __slots__ = ("_counters", "fresh", "packed", "shape")

    def __init__(
        self, shape: FilterShape, counters: bytes | None, packed: int | None = None, *, fresh: bool = False
    ) -> None:
        self.shape, self._counters, self.fresh = shape, counters, fresh
        self.packed: int = int.from_bytes(counters or b"", "little") if packed is None else packed
        """The counters as lanes of an integer, a byte each, the first lowest."""

    @property
    def counters(self) -> bytes:
        """The counters, a byte each."""
        if self._counters is None:
            self._counters = self.packed.to_bytes(self.shape.counters, "little")
        return self._counters

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TemporalCountingBloomFilter):
            return NotImplemented
        return self.shape == other.shape and self.packed == other.packed

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        held = {position: value for position, value in enumerate(self.counters) if value}
        return f"TemporalCountingBloomFilter({held})"

    def insert(self, key: str) -> TemporalCountingBloomFilter:
        """With a key more; only into a fresh filter. What a merged one is to hold comes by merging (section 3.1)."""
        if not self.fresh:
            raise ProtocolError("a key can be inserted into a fresh filter only: insert into an empty one, then merge")
        counters = bytearray(self.counters)
        for position in self.shape.positions(key):
            counters[position] = counters[position] or self.shape.initial
        return TemporalCountingBloomFilter(self.shape, bytes(counters), fresh=True)

    def a_merge(self, other: TemporalCountingBloomFilter) -> TemporalCountingBloomFilter:
        """The counters of both added up, at most C_max."""
        return TemporalCountingBloomFilter(self.shape, None, self.shape.add(self.packed, other.packed))

    def m_merge(self, other: TemporalCountingBloomFilter) -> TemporalCountingBloomFilter:
        """The larger of both counters, everywhere."""
        larger = _larger(self.packed, other.packed, self.shape.high, self.shape.low)
        return TemporalCountingBloomFilter(self.shape, None, larger)

    def a_merge_and_m_merge(self, evidence: Evidence, hearsay: bytes) -> TemporalCountingBloomFilter:
        """The one and then the other, the latter with the counters of a filter: what B-SUB does in every contact."""
        shape, mine = self.shape, self.counters
        merged = self.packed + evidence.added_to(mine)
        if hearsay != mine:
            theirs = int.from_bytes(hearsay, "little")
            merged = _larger(merged, theirs, shape.high, shape.low)
            if merged == theirs:  # those who meet often end up with the same filter, and share what is known of it
                return TemporalCountingBloomFilter(shape, hearsay, merged)
        return self if merged == self.packed else TemporalCountingBloomFilter(shape, None, merged)

    def decay(self, cycles: int) -> TemporalCountingBloomFilter:
        """After so many decay cycles: every counter less by one per cycle, at least 0."""
        if cycles <= 0:
            return self
        return TemporalCountingBloomFilter(self.shape, self.counters.translate(_decay_table(min(cycles, _BYTE - 1))))

    def without(self, other: TemporalCountingBloomFilter) -> TemporalCountingBloomFilter:
        """Nothing where the other has something."""
        counters = bytes(0 if theirs else mine for mine, theirs in zip(self.counters, other.counters, strict=True))
        return TemporalCountingBloomFilter(self.shape, counters)

    def __contains__(self, key: str) -> bool:
        """The existential query: whether the key may be in; never wrongly no."""
        return self.value(key) > 0

    def value(self, key: str) -> int:
        """How firmly a key is in: the smallest of its counters."""
        counters = self.counters
        return min([counters[position] for position in self.shape.positions(key)])

    # On the wire --------------------------------------------------------------------------------------------------

    def to_plain_wire(self) -> bytes:
        """Without counters: the positions that are set, a byte each, or the bit vector where that is shorter."""
        positions = bytes(position for position, value in enumerate(self.counters) if value)
        width = -(-self.shape.counters // 8)
        if len(positions) < width:
            return positions
        return sum(1 << position for position in positions).to_bytes(width, "little")


class Evidence:
    """A fresh filter that many others are A-merged with.

    Few of its counters are set. Each adds Π to the other's, or less where that is near C_max: what a filter adds in all
    is soon one of the sums that it has added before.
    """

    __slots__ = ("_positions", "_shape", "_sums")

    def __init__(self, fresh: TemporalCountingBloomFilter) -> None:
        if not fresh.fresh:
            raise ProtocolError("only a fresh filter is evidence: others hold hearsay too")
        self._shape = fresh.shape
        self._positions = bytes(position for position, value in enumerate(fresh.counters) if value)
        self._sums: dict[bytes, int] = {}
        """For what is added at each position: all of it, in lanes."""

    def added_to(self, counters: bytes) -> int:
        """What it adds to a filter with these counters, in lanes."""
        rises = self._positions.translate(counters.ljust(_BYTE, b"\0")).translate(self._shape.rise)
        found = self._sums.get(rises)
        if found is None:
            if len(self._sums) >= _SUMS_KEPT:
                self._sums.clear()
            found = sum(rise << 8 * position for position, rise in zip(self._positions, rises, strict=True))
            self._sums[rises] = found
        return found


class Lookup:
    """Many keys at once, in filters of one shape."""

    def __init__(self, shape: FilterShape, keys: Sequence[str]) -> None:
        self.shape, self.keys = shape, tuple(keys)
        positions = [shape.positions(key) for key in self.keys]
        self._gather = [bytes(row[i] for row in positions) for i in range(shape.hashes)]
        self._high, self._low = _lanes(len(self.keys))
        self._values = lru_cache(_LOOKUPS_KEPT)(self._look_up)

    def values(self, counters: bytes) -> bytes:
        """For each key, how firmly a filter with these counters holds it."""
        return self._values(counters)[1]

    def lower(self, one: bytes, two: bytes) -> bytes:
        """Of two answers of :meth:`values`, the lower value for each key."""
        a, b = int.from_bytes(one, "little"), int.from_bytes(two, "little")
        return (a ^ b ^ _larger(a, b, self._high, self._low)).to_bytes(len(self.keys), "little")

    def present(self, counters: bytes) -> list[str]:
        """The keys that a filter with these counters holds, in order."""
        return list(compress(self.keys, self.values(counters)))

    def preferred(self, mine: bytes, theirs: bytes, by_key: Iterable[T]) -> Iterable[tuple[T, int, int]]:
        """What belongs to keys that a filter holds more firmly than mine, with both values (mine first).

        ``by_key`` has something for each key, in their order, be it the keys themselves.
        """
        if mine == theirs:
            return ()
        mine_packed, mine_values = self._values(mine)
        theirs_packed, theirs_values = self._values(theirs)
        wins = _at_least(mine_packed, theirs_packed, mine_packed ^ theirs_packed, self._high, self._low)
        if wins == self._high:
            return ()
        ahead = (wins ^ self._high).to_bytes(len(self.keys), "little")
        return zip(  # noqa: B905 (the keyword would cost a tenth of the call)
            compress(by_key, ahead), compress(mine_values, ahead), compress(theirs_values, ahead)
        )

    def _look_up(self, counters: bytes) -> tuple[int, bytes]:
        table = counters.ljust(_BYTE, b"\0")
        least = int.from_bytes(self._gather[0].translate(table), "little")
        for positions in self._gather[1:]:
            other = int.from_bytes(positions.translate(table), "little")
            difference = least ^ other
            wins = _at_least(least, other, difference, self._high, self._low)
            least ^= difference & ((wins << 1) - (wins >> 7))
        return least, least.to_bytes(len(self.keys), "little")


def write_counters(counters: bytes) -> bytes:
    """Groups of equal counters: the value, their number less one, their positions, a byte each; values ascend."""
    groups: dict[int, list[int]] = {}
    for position, value in enumerate(counters):
        if value:
            groups.setdefault(value, []).append(position)
    return b"".join(bytes((value, len(groups[value]) - 1, *groups[value])) for value in sorted(groups))


def read_counters(data: bytes, many: int) -> bytes:
    """The counters, so many, that :func:`write_counters` wrote; a peer's nonsense is refused."""
    counters = bytearray(many)
    place, before = 0, 0
    while place < len(data):
        value, held = data[place], (data[place + 1] + 1 if place + 1 < len(data) else 0)
        positions = data[place + 2 : place + 2 + held]
        if not before < value or not held or len(positions) != held:
            raise PeerError("a filter came damaged: its groups of counters are cut off or out of order")
        _refuse_disorder(positions, many)
        for position in positions:
            if counters[position]:
                raise PeerError(f"a filter came damaged: counter {position} has two values")
            counters[position] = value
        place, before = place + 2 + held, value
    return bytes(counters)


@lru_cache(1024)
def wire_size(counters: bytes) -> int:
    """What a filter with these counters takes on the wire, without writing it."""
    held = counters.translate(None, b"\0")
    values = _BYTE - len(_IDENTITY.translate(None, held))
    return len(held) + 2 * values


def _lanes(many: int) -> tuple[int, int]:
    """For as many lanes of one byte: the top bits, and all the others."""
    high = int.from_bytes(b"\x80" * many, "little")
    return high, high - (high >> 7)


def _larger(a: int, b: int, high: int, low: int) -> int:
    """The larger of a and b in every lane."""
    difference = a ^ b
    wins = _at_least(a, b, difference, high, low)
    return b ^ (difference & ((wins << 1) - (wins >> 7)))


def _at_least(a: int, b: int, difference: int, high: int, low: int) -> int:
    """The top bit of every lane in which a >= b; the difference is a ^ b, which callers need too."""
    # With a's top bit set no lane borrows from the next; what is left of that bit compares the lower seven.
    rest = (a | high) - (b & low)
    return ((a & difference) | (rest ^ (rest & difference))) & high


@lru_cache(_BYTE)
def _decay_table(cycles: int) -> bytes:
    return bytes(cycles) + _IDENTITY[: _BYTE - cycles]


def _refuse_disorder(positions: Sequence[int], counters: int) -> None:
    if any(one >= two for one, two in pairwise(positions)) or max(positions, default=0) >= counters:
        raise PeerError("a filter came damaged: its positions are out of order or out of range")
