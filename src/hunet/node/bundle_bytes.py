"""The bytes of bundles: CBOR, as much of it as bundles are made of, read along a grammar; and the checksums of blocks.

A reader that builds whatever the bytes describe, and looks at it then, can be made to build anything. Here the caller
says what must come next, and anything else is a :class:`BundleError` that says where it was found.
"""

from __future__ import annotations

import binascii
from enum import IntEnum
from typing import NamedTuple

import cbor2

from hunet.model.errors import PeerError

INDEFINITE, BREAK = 0x9F, 0xFF
"""The beginning of an array of indefinite length, and its end."""


class BundleError(PeerError):
    """Bytes that are no bundle, or a bundle that the RFC does not allow; the message says why."""


class Crc(IntEnum):
    """Kinds of checksums (section 4.2.1)."""

    NONE = 0
    X25 = 1
    """16 bits."""
    CASTAGNOLI = 2
    """32 bits: CRC-32C."""


_KINDS = (
    "an unsigned integer",
    "a negative integer",
    "a byte string",
    "a text",
    "an array",
    "a map",
    "a tag",
    "a value",
)
_NUMBER, _STRING, _TEXT, _ARRAY = 0, 2, 3, 4


class Span(NamedTuple):
    """An array that is being read: what it is, where it began, and how many items it announced (None: it ends)."""

    name: str
    start: int
    items: int | None


class BundleReader:
    """A walk over bytes, item by item; the caller says what must come next."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, many: int, name: str) -> bytes:
        if many > self.left:
            raise BundleError(f"the bundle is cut short: {name}: {many} bytes are announced, {self.left} are there")
        self.at += many
        return self.data[self.at - many : self.at]

    def byte(self, name: str) -> int:
        if not self.left:
            raise BundleError(f"the bundle is cut short: {name} is missing")
        return self.take(1, name)[0]

    def peek(self) -> int | None:
        return self.data[self.at] if self.left else None

    def at_break(self) -> bool:
        """Step over the end of an array of indefinite length, if it is here."""
        if self.peek() != BREAK:
            return False
        self.at += 1
        return True

    def number(self, name: str) -> int:
        return self._head(_NUMBER, name)

    def string(self, name: str) -> bytes:
        return self.take(self._head(_STRING, name), name)

    def text(self, name: str) -> str:
        try:
            return self.take(self._head(_TEXT, name), name).decode("utf-8")
        except UnicodeDecodeError:
            raise BundleError(f"{name}: the text is not UTF-8") from None

    def open(self, name: str, least: int, most: int) -> Span:
        """Begin an array, of so many items."""
        start = self.at
        if self.peek() == INDEFINITE:
            self.at += 1
            return Span(name, start, None)
        items = self._head(_ARRAY, name)
        if not least <= items <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise BundleError(f"{name}: {items} items where {wanted} must be")
        return Span(name, start, items)

    def close(self, span: Span, items: int, crc: Crc = Crc.NONE) -> None:
        """End an array after so many items, and after its checksum, if it has one."""
        expected = items + (crc is not Crc.NONE)
        if span.items not in (None, expected):
            raise BundleError(f"{span.name}: {span.items} items where {expected} must be")
        found = self.string(f"{span.name}, checksum") if crc is not Crc.NONE else b""
        stops = self.at
        if span.items is None and not self.at_break():
            raise BundleError(f"{span.name}: more than {expected} items")
        if crc is not Crc.NONE:
            block = self.data[span.start : stops - len(found)] + bytes(len(found)) + self.data[stops : self.at]
            if found != _checksum(block, crc):
                raise BundleError(f"{span.name}: wrong checksum; it was damaged on its way")

    def finish(self, name: str) -> None:
        if self.left:
            raise BundleError(f"{name}: {self.left} bytes too many")

    def _head(self, wanted: int, name: str) -> int:
        first = self.byte(name)
        kind, size = first >> 5, first & 31
        if kind != wanted:
            raise BundleError(f"{name}: {_KINDS[kind]} where {_KINDS[wanted]} must be")
        if size < 24:
            return size
        if size > 27:
            raise BundleError(f"{name}: {_KINDS[kind]} of indefinite or unknown length")
        size = 1 << (size - 24)
        value = int.from_bytes(self.take(size, name), "big")
        if value < (24 if size == 1 else 1 << 4 * size):
            raise BundleError(f"{name}: a number in more bytes than it needs")
        return value


def sealed(fields: list[object], crc: Crc) -> bytes:
    """A block's fields as an array, with the checksum at its end."""
    if crc is Crc.NONE:
        return cbor2.dumps(fields)
    size = 2 * crc
    block = cbor2.dumps([*fields, bytes(size)])
    return block[:-size] + _checksum(block, crc)


def crc_named(code: int, name: str) -> Crc:
    """The kind of checksum that a block says it has."""
    try:
        return Crc(code)
    except ValueError:
        raise BundleError(f"{name}: unknown kind of checksum {code}; there are 0, 1 and 2") from None


def _checksum(block: bytes, crc: Crc) -> bytes:
    """The checksum of a block in network byte order (section 4.2.2)."""
    return (_x25(block) if crc is Crc.X25 else _castagnoli(block)).to_bytes(2 * crc, "big")


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _x25(data: bytes) -> int:
    """CRC-16/X.25: the CCITT polynomial, which the standard library knows, with the bits of every byte turned round.

    >>> hex(_x25(b"123456789"))
    '0x906e'
    """
    turned = binascii.crc_hqx(data.translate(_REVERSED), 0xFFFF)
    return (_REVERSED[turned & 0xFF] << 8 | _REVERSED[turned >> 8]) ^ 0xFFFF


def _castagnoli_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # noqa: PLW2901
        table.append(value)
    return tuple(table)


_TABLE = _castagnoli_table()


def _castagnoli(data: bytes) -> int:
    """CRC-32C, byte by byte; payloads get the other checksum by default, which is quicker here.

    >>> hex(_castagnoli(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
