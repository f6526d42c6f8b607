"""Bundles of the Bundle Protocol version 7 (RFC 9171): bytes in, bytes out, and every rule of the format checked.

A bundle is a CBOR array of blocks: the primary block, which says who sends what to whom and for how long it lives;
any extension blocks; and last the payload. The array is of indefinite length, the blocks in it are arrays of fixed
length, and each block may end with a checksum over its own bytes, in which the checksum itself counts as zeros. So a
block must be checked as it stood on the wire, not as it would be written again: :func:`read_bundle` walks over the
bytes along the grammar of the RFC and takes nothing else, which also bounds what hostile bytes can make it do.

A :class:`Bundle` holds what the bytes say, no more and no less, and cannot be made against the rules; therefore
``read_bundle(bundle.to_bytes()) == bundle``, and the bytes of a bundle in the usual form come back as they were.
Endpoints are URIs as text: ``dtn:none``, ``dtn://NODE/DEMUX``, ``ipn:NODE.SERVICE`` and ``ipn:ALLOCATOR.NODE.SERVICE``
(RFC 9758). A demux that begins with ``~`` names a group (section 4.2.5.1.1), which is what publish/subscribe is over
bundles.

Where we depart from the RFC, and why: an outer array of fixed length is refused (section 4.1 lets us), because nobody
who follows the RFC writes it. Numbers in more bytes than they need are refused, as its deterministic encoding wants.
A bundle of more than 64 blocks is refused.

>>> hello = Bundle(
...     "dtn://hunet/~news", "dtn://ann/", created=dtn_time(1_800_000_000), lifetime=60_000, blocks=(payload(b"hello"),)
... )
>>> read_bundle(hello.to_bytes()) == hello
True
>>> read_bundle(hello.to_bytes()[:-9])
Traceback (most recent call last):
hunet.node.bundles.BundleError: the bundle is cut short: payload block, data: 5 bytes are announced, 0 are there
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any

import cbor2

from hunet.node.bundle_bytes import BREAK, INDEFINITE, BundleError, BundleReader, Crc, crc_named, sealed

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 7
NOBODY = "dtn:none"
"""The null endpoint."""
LARGEST = 2 << 20
"""Bytes of a bundle that are worth reading: the longest publication, and room for blocks."""
_DTN_EPOCH = 946_684_800
"""2000-01-01 00:00:00 UTC in Unix time (s)."""
_MOST = (1 << 64) - 1


class BundleFlag(IntFlag):
    """What holds for a whole bundle (section 4.2.3); unknown bits are kept and ignored."""

    FRAGMENT = 0x1
    ADMINISTRATIVE = 0x2
    DO_NOT_FRAGMENT = 0x4
    ACKNOWLEDGE = 0x20
    STATUS_TIME = 0x40
    REPORT_RECEPTION = 0x4000
    REPORT_FORWARDING = 0x10000
    REPORT_DELIVERY = 0x20000
    REPORT_DELETION = 0x40000
    REPORTS = REPORT_RECEPTION | REPORT_FORWARDING | REPORT_DELIVERY | REPORT_DELETION


class BlockFlag(IntFlag):
    """What holds for one block (section 4.2.4); unknown bits are kept and ignored."""

    REPLICATE = 0x1
    REPORT_IF_UNKNOWN = 0x2
    DELETE_BUNDLE_IF_UNKNOWN = 0x4
    DISCARD_IF_UNKNOWN = 0x10


class BlockKind(IntEnum):
    """The types of blocks that mean something here (sections 4.3.3 and 4.4, and RFC 9172 for the integrity block)."""

    PAYLOAD = 1
    PREVIOUS_NODE = 6
    BUNDLE_AGE = 7
    HOP_COUNT = 10
    INTEGRITY = 11


_NAMES = {int(kind): f"{kind.name.lower().replace('_', ' ')} block" for kind in BlockKind}
_UNIQUE = (BlockKind.PREVIOUS_NODE, BlockKind.BUNDLE_AGE, BlockKind.HOP_COUNT)
"""Extension blocks of which a bundle has one at most."""
_MOST_BLOCKS = 64
"""Nobody needs more, and a bundle of a million empty ones would keep us busy."""


@dataclass(frozen=True, slots=True)
class Block:
    """A canonical block (section 4.3.2): any but the primary one."""

    kind: int
    number: int
    data: bytes
    flags: int = 0
    crc: Crc = Crc.X25

    @property
    def name(self) -> str:
        """How messages call it."""
        return _name(self.kind, self.number)

    def to_bytes(self) -> bytes:
        """The block as it stands in a bundle."""
        return sealed([self.kind, self.number, self.flags, int(self.crc), self.data], self.crc)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: the fields of its primary block (section 4.3.1), and its other blocks in order, the payload last."""

    destination: str
    source: str
    created: int
    """DTN time (ms since 2000); 0 if the source has no clock."""
    lifetime: int
    """From its creation (ms)."""
    blocks: tuple[Block, ...]
    sequence: int = 0
    """Tells bundles apart that their source made in the same millisecond."""
    report_to: str = NOBODY
    flags: int = 0
    fragment: tuple[int, int] | None = None
    """Of a fragment, its offset in the whole payload, and the length of the whole."""
    crc: Crc = Crc.CASTAGNOLI
    """The checksum of the primary block."""

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise BundleError(fault)

    @property
    def payload(self) -> bytes:
        """What the bundle carries."""
        return self.blocks[-1].data

    @property
    def previous_node(self) -> str | None:
        """The node that the bundle came from last, if it says so."""
        block = self._only(BlockKind.PREVIOUS_NODE)
        return None if block is None else _read_previous_node(block)

    @property
    def age(self) -> int | None:
        """How old the bundle was when it was last sent on (ms), if it says so."""
        block = self._only(BlockKind.BUNDLE_AGE)
        return None if block is None else _read_age(block)

    @property
    def hops(self) -> tuple[int, int] | None:
        """The most hops that the bundle may take, and those that it has taken, if it says so."""
        block = self._only(BlockKind.HOP_COUNT)
        return None if block is None else _read_hops(block)

    def expires(self, now: float) -> float:
        """When its life ends (Unix s); by its age, if its source has no clock (section 5.5)."""
        if self.created:
            return unix_time(self.created) + self.lifetime / 1000
        return now + (self.lifetime - (self.age or 0)) / 1000

    def to_bytes(self) -> bytes:
        """The bundle as it goes over a wire or into a file."""
        primary = [
            VERSION,
            int(self.flags),
            int(self.crc),
            *(_write_endpoint(each) for each in (self.destination, self.source, self.report_to)),
            [self.created, self.sequence],
            self.lifetime,
            *(self.fragment or ()),
        ]
        blocks = b"".join(block.to_bytes() for block in self.blocks)
        return bytes([INDEFINITE]) + sealed(primary, self.crc) + blocks + bytes([BREAK])

    def _only(self, kind: BlockKind) -> Block | None:
        return next((block for block in self.blocks if block.kind == kind), None)


def payload(data: bytes, crc: Crc = Crc.X25) -> Block:
    """A payload block."""
    return Block(BlockKind.PAYLOAD, 1, data, crc=crc)


def previous_node(node: str, number: int, crc: Crc = Crc.X25) -> Block:
    """A block that says from which node the bundle comes (section 4.4.1)."""
    return Block(BlockKind.PREVIOUS_NODE, number, cbor2.dumps(_write_endpoint(node)), crc=crc)


def bundle_age(milliseconds: int, number: int, crc: Crc = Crc.X25) -> Block:
    """A block that says how old the bundle is (section 4.4.2)."""
    return Block(BlockKind.BUNDLE_AGE, number, cbor2.dumps(milliseconds), crc=crc)


def hop_count(limit: int, count: int, number: int, crc: Crc = Crc.X25) -> Block:
    """A block that limits and counts the hops of the bundle (section 4.4.3)."""
    return Block(BlockKind.HOP_COUNT, number, cbor2.dumps([limit, count]), crc=crc)


def dtn_time(seconds: float) -> int:
    """Unix time as DTN time: milliseconds since 2000 (section 4.2.6).

    >>> dtn_time(946_684_800.5)
    500
    """
    return round((seconds - _DTN_EPOCH) * 1000)


def unix_time(milliseconds: int) -> float:
    """DTN time as Unix time."""
    return milliseconds / 1000 + _DTN_EPOCH


def read_bundle(data: bytes) -> Bundle:
    """The bundle that some bytes are; anything else than exactly one whole bundle is refused with the reason."""
    reader = BundleReader(data)
    if reader.byte("the array of blocks") != INDEFINITE:
        raise BundleError("not a bundle: it does not begin an array of indefinite length")
    primary = _read_primary(reader)
    blocks: list[Block] = []
    while not reader.at_break():
        if len(blocks) == _MOST_BLOCKS:
            raise BundleError(f"more than {_MOST_BLOCKS} blocks")
        blocks.append(_read_block(reader))
    if reader.left:
        raise BundleError(f"{reader.left} bytes follow after the end of the bundle")
    return Bundle(**primary, blocks=tuple(blocks))


# ---- the grammar, block by block


def _read_primary(reader: BundleReader) -> dict[str, Any]:
    name = "primary block"
    span = reader.open(name, 8, 11)
    version = reader.number(f"{name}, version")
    if version != VERSION:
        raise BundleError(f"{name}: version {version}, and only version {VERSION} is understood")
    flags = reader.number(f"{name}, flags")
    crc = crc_named(reader.number(f"{name}, kind of checksum"), name)
    ends = {each: _read_endpoint(reader, f"{name}, {each}") for each in ("destination", "source", "report_to")}
    stamp = reader.open(f"{name}, creation timestamp", 2, 2)
    created = reader.number(f"{name}, creation time")
    sequence = reader.number(f"{name}, sequence number")
    reader.close(stamp, 2)
    lifetime = reader.number(f"{name}, lifetime")
    fragment = None
    if flags & BundleFlag.FRAGMENT:
        fragment = reader.number(f"{name}, fragment offset"), reader.number(f"{name}, total length")
    reader.close(span, 8 if fragment is None else 10, crc)
    return {
        **ends,
        "created": created,
        "sequence": sequence,
        "lifetime": lifetime,
        "flags": flags,
        "fragment": fragment,
        "crc": crc,
    }


def _read_block(reader: BundleReader) -> Block:
    span = reader.open("a block", 5, 6)
    kind = reader.number("a block, type")
    number = reader.number("a block, number")
    name = _name(kind, number)
    flags = reader.number(f"{name}, flags")
    crc = crc_named(reader.number(f"{name}, kind of checksum"), name)
    data = reader.string(f"{name}, data")
    reader.close(span._replace(name=name), 5, crc)
    return Block(kind, number, data, flags, crc)


def _read_endpoint(reader: BundleReader, name: str) -> str:
    pair = reader.open(name, 2, 2)
    scheme = reader.number(f"{name}, scheme")
    if scheme == 1:
        if reader.peek() == 0:
            reader.number(name)
            found = NOBODY
        else:
            found = f"dtn:{reader.text(name)}"
            if found == NOBODY:
                raise BundleError(f"{name}: '{NOBODY}' must be written as 0")
    elif scheme == 2:
        numbers = reader.open(name, 2, 3)
        parts = [reader.number(name) for _ in range(numbers.items or 2)]
        if numbers.items is None and reader.peek() != BREAK:
            parts.append(reader.number(name))
        reader.close(numbers, len(parts))
        found = f"ipn:{'.'.join(map(str, parts))}"
    else:
        raise BundleError(f"{name}: unknown scheme {scheme}; known are 1 (dtn) and 2 (ipn)")
    reader.close(pair, 2)
    return found


def _read_previous_node(block: Block) -> str:
    reader = BundleReader(block.data)
    node = _read_endpoint(reader, block.name)
    reader.finish(block.name)
    return node


def _read_age(block: Block) -> int:
    reader = BundleReader(block.data)
    age = reader.number(block.name)
    reader.finish(block.name)
    return age


def _read_hops(block: Block) -> tuple[int, int]:
    reader = BundleReader(block.data)
    pair = reader.open(block.name, 2, 2)
    limit, count = reader.number(f"{block.name}, limit"), reader.number(f"{block.name}, count")
    reader.close(pair, 2)
    reader.finish(block.name)
    if not 1 <= limit <= 255:
        raise BundleError(f"{block.name}: a limit of {limit} hops; it must be from 1 to 255")
    return limit, count


def _name(kind: int, number: int) -> str:
    return _NAMES.get(kind, f"block {number} (type {kind})")


# ---- the rules that hold between fields


def _faults(bundle: Bundle) -> Iterator[str]:
    """What the RFC does not allow in a bundle, each rule in its words' order; malformed blocks raise by themselves."""
    numbers = (bundle.created, bundle.sequence, bundle.lifetime, bundle.flags, *(bundle.fragment or ()))
    for block in bundle.blocks:
        numbers += (block.kind, block.number, block.flags)
    if not all(0 <= number <= _MOST for number in numbers):
        yield "a number is negative, or longer than 64 bits"
    yield from _faults_of_endpoints(bundle)
    yield from _faults_of_flags(bundle)
    yield from _faults_of_blocks(bundle)


def _faults_of_endpoints(bundle: Bundle) -> Iterator[str]:
    for name in ("destination", "source", "report_to"):
        if not _is_endpoint(getattr(bundle, name)):
            yield f"primary block, {name}: '{getattr(bundle, name)[:80]}' is no endpoint"
    if _is_group(bundle.source):
        yield f"primary block, source: '{bundle.source}' is a group, and a source is one node"


def _faults_of_flags(bundle: Bundle) -> Iterator[str]:
    administrative = bool(bundle.flags & BundleFlag.ADMINISTRATIVE)
    anonymous = bundle.source == NOBODY
    if (administrative or anonymous) and bundle.flags & BundleFlag.REPORTS:
        yield "primary block: an administrative or anonymous bundle asks for status reports"
    if (administrative or anonymous) and any(block.flags & BlockFlag.REPORT_IF_UNKNOWN for block in bundle.blocks):
        yield "a block of an administrative or anonymous bundle asks for status reports"
    if anonymous and not bundle.flags & BundleFlag.DO_NOT_FRAGMENT:
        yield "primary block: an anonymous bundle must forbid fragments"
    if bool(bundle.flags & BundleFlag.FRAGMENT) != (bundle.fragment is not None):
        yield "primary block: a fragment, and only a fragment, has an offset and a total length"
    if bundle.crc is Crc.NONE and not any(block.kind == BlockKind.INTEGRITY for block in bundle.blocks):
        yield "primary block: has neither a checksum nor an integrity block"


def _faults_of_blocks(bundle: Bundle) -> Iterator[str]:
    kinds = Counter(block.kind for block in bundle.blocks)
    numbers = Counter(block.number for block in bundle.blocks)
    if not bundle.blocks or bundle.blocks[-1].kind != BlockKind.PAYLOAD or kinds[BlockKind.PAYLOAD] != 1:
        yield "a bundle has exactly one payload block, at its end"
        return
    if bundle.blocks[-1].number != 1:
        yield f"the payload block is number 1, not {bundle.blocks[-1].number}"
    if len(numbers) != len(bundle.blocks) or 0 in numbers:
        yield "blocks must be numbered differently, and not 0, which is the primary block"
    for kind in _UNIQUE:
        if kinds[kind] > 1:
            yield f"more than one {_NAMES[kind]}"
    if not bundle.created and not kinds[BlockKind.BUNDLE_AGE]:
        yield "a bundle without a creation time needs a bundle age block"
    if bundle.fragment is not None and bundle.fragment[0] + len(bundle.payload) > bundle.fragment[1]:
        yield "primary block: the fragment reaches beyond the total length"
    node = bundle.previous_node
    if node is not None and (not _is_endpoint(node) or _is_group(node)):
        yield f"previous node block: '{node[:80]}' is no node"
    _ = bundle.age, bundle.hops  # malformed ones raise


# ---- endpoints

_DTN = re.compile(r"dtn://(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+/[\x21-\x7e]*")
_IPN = re.compile(r"ipn:(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){1,2}", re.ASCII)


def _is_endpoint(uri: str) -> bool:
    if _IPN.fullmatch(uri):
        numbers = [int(part) for part in uri[4:].split(".")]
        return max(numbers) <= (_MOST if len(numbers) == 2 else (1 << 32) - 1)
    return uri == NOBODY or bool(_DTN.fullmatch(uri))


def _is_group(uri: str) -> bool:
    return uri.startswith("dtn://") and uri[6:].partition("/")[2].startswith("~")


def _write_endpoint(uri: str) -> list[object]:
    if not _is_endpoint(uri):
        raise BundleError(f"'{uri[:80]}' is no endpoint")
    if uri == NOBODY:
        return [1, 0]
    scheme, _, specific = uri.partition(":")
    return [1, specific] if scheme == "dtn" else [2, [int(part) for part in specific.split(".")]]
