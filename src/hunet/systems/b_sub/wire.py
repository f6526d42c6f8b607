"""The form in which filters travel: with counters, and without.

Counters are written in groups of equal ones: the value, their number less one, their positions, a byte each. So a tag
takes at most 4 bytes (section 6.1) where values are shared. More than 256 counters are written in blocks of 256. A
value takes as many bytes as a counter has: one, or two or four where the ceiling is wide.

>>> list(write_counters(bytes([0, 5, 5, 0, 9])))
[5, 1, 1, 2, 9, 0, 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from struct import pack, unpack

from hunet.model import PeerError

BLOCK = 256
"""Counters whose positions fit into a byte."""
_IDENTITY = bytes(range(BLOCK))
_CODES = {1: "B", 2: "H", 4: "I"}


def values_of(counters: bytes, width: int) -> Sequence[int]:
    """The counters as numbers."""
    return counters if width == 1 else unpack(f"<{len(counters) // width}{_CODES[width]}", counters)


def counters_of(values: Sequence[int], width: int) -> bytes:
    """Numbers as counters."""
    return bytes(values) if width == 1 else pack(f"<{len(values)}{_CODES[width]}", *values)


def write_counters(counters: bytes, width: int = 1) -> bytes:
    """The groups of a block of counters of so many bytes each; values ascend."""
    groups: dict[int, list[int]] = {}
    for position, value in enumerate(values_of(counters, width)):
        if value:
            groups.setdefault(value, []).append(position)
    return b"".join(
        value.to_bytes(width, "little") + bytes((len(groups[value]) - 1, *groups[value])) for value in sorted(groups)
    )


def read_counters(data: bytes, many: int, width: int = 1) -> bytes:
    """The counters, so many, that :func:`write_counters` wrote; a peer's nonsense is refused."""
    found = [0] * many
    offset, before = 0, 0
    while offset < len(data):
        value, first = int.from_bytes(data[offset : offset + width], "little"), offset + width + 1
        held = data[first - 1] + 1 if first <= len(data) else 0
        positions = data[first : first + held]
        if not before < value or not held or len(positions) != held:
            raise PeerError("a filter came damaged: its groups of counters are cut off or out of order")
        _refuse_disorder(positions, many)
        for position in positions:
            if found[position]:
                raise PeerError(f"a filter came damaged: counter {position} has two values")
            found[position] = value
        offset, before = first + held, value
    return counters_of(found, width)


def blocks(counters: bytes, width: int = 1) -> list[bytes]:
    """Counters in blocks of at most 256."""
    step = BLOCK * width
    return [counters[start : start + step] for start in range(0, len(counters), step)]


@lru_cache(1024)
def wire_size(counters: bytes, width: int = 1) -> int:
    """What filters with these counters take on the wire, without writing them."""
    if width == 1 and len(counters) <= BLOCK:
        held = counters.translate(None, b"\0")
        return len(held) + 2 * (BLOCK - len(_IDENTITY.translate(None, held)))
    found = 0
    for block in blocks(counters, width):
        set_ = [value for value in values_of(block, width) if value]
        found += len(set_) + (width + 1) * len(set(set_))
    return found


def write_plain(positions: Sequence[int], many: int) -> bytes:
    """Which of so many counters are set: their positions, a byte each, or a bit vector where that is shorter.

    With more than 256 counters, each block of 256 has its length in a byte before it.
    """
    if many <= BLOCK:
        width = -(-many // 8)
        if len(positions) < width:
            return bytes(positions)
        return sum(1 << position for position in positions).to_bytes(width, "little")
    found = b""
    for start in range(0, many, BLOCK):
        block = write_plain([p - start for p in positions if 0 <= p - start < BLOCK], min(BLOCK, many - start))
        found += bytes([len(block)]) + block
    return found


def read_plain(data: bytes, many: int) -> list[int]:
    """The positions that :func:`write_plain` wrote."""
    if many <= BLOCK:
        return _read_block(data, many)
    found: list[int] = []
    offset = 0
    for start in range(0, many, BLOCK):
        if offset >= len(data):
            raise PeerError("a plain filter came cut off")
        length = data[offset]
        block = data[offset + 1 : offset + 1 + length]
        if len(block) < length:
            raise PeerError("a plain filter came cut off")
        found += [start + position for position in _read_block(block, min(BLOCK, many - start))]
        offset += 1 + length
    if offset < len(data):
        raise PeerError("a plain filter came longer than it need be")
    return found


def _read_block(data: bytes, many: int) -> list[int]:
    width = -(-many // 8)
    if len(data) > width:
        raise PeerError(f"a plain filter came in {len(data)} bytes: {width} are enough")
    if len(data) == width:
        bits = int.from_bytes(data, "little")
        if bits >> many:
            raise PeerError(f"a plain filter came with bits beyond its {many}")
        return [position for position in range(many) if bits >> position & 1]
    _refuse_disorder(data, many)
    return list(data)


def _refuse_disorder(positions: Sequence[int], many: int) -> None:
    if any(one >= two for one, two in pairwise(positions)) or max(positions, default=0) >= many:
        raise PeerError("a filter came damaged: its positions are out of order or out of range")
