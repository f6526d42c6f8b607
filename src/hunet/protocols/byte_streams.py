"""The bytes of a packet while it is written and while it is read, and what counts and ids take of them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hunet.model import PeerError, members

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

ID_BYTES = 8
"""What a message or a device costs in a packet: the beginning of its id or key.

Two messages that begin alike would be taken for one. By chance that does not happen (2^-64 for each pair); who wants it
to happen has to compute some 2^64 hashes for a message, less the more messages it may hit.
"""
KIND_BYTES = 2
_LONGEST_NUMBER = 10


def count_size(count: int) -> int:
    """Bytes of a count.

    >>> [count_size(count) for count in (0, 127, 128, 20_000)]
    [1, 1, 2, 3]
    """
    return 1 if count < 128 else (count.bit_length() + 6) // 7


def number_size(number: int) -> int:
    """Bytes of a number that may be negative."""
    return count_size(unsigned(number))


def unsigned(number: int) -> int:
    """A number that may be negative as one that is not: the sign in the lowest bit."""
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError(f"{number} does not fit into a packet: 64 bits do")
    return number << 1 if number >= 0 else (-number << 1) - 1


def ids_size(many: int) -> int:
    """Bytes of a table of so many devices or messages."""
    return count_size(many) + ID_BYTES * many


@lru_cache(1 << 16)
def text_size(text: str) -> int:
    """Bytes of a text."""
    length = len(text.encode())
    return count_size(length) + length


def texts_size(texts: Collection[str]) -> int:
    """Bytes of several texts."""
    return _texts_size(tuple(texts))


@lru_cache(1 << 12)
def _texts_size(texts: tuple[str, ...]) -> int:
    return count_size(len(texts)) + sum(map(text_size, texts))


class Widths(NamedTuple):
    """Bytes of what depends on the tables of a packet."""

    node: int = 1
    nodes: int = 1
    """Of a set of devices."""
    messages: int = 1
    """Of a set of messages."""


def widths(nodes: int, messages: int) -> Widths:
    """The widths in a packet with tables of so many devices and messages."""
    return Widths(1 if nodes <= 256 else 2, max(1, -(-nodes // 8)), max(1, -(-messages // 8)))


class Writer:
    """The bytes of a packet while it is written, and its tables: the place of each device and message."""

    def __init__(self, nodes: dict[int, int], messages: dict[int, int]) -> None:
        self.data = bytearray()
        self.nodes, self.messages = nodes, messages
        self.widths = widths(len(nodes), len(messages))

    def count(self, count: int) -> None:
        """Write a count."""
        while count > 127:
            self.data.append(count & 127 | 128)
            count >>= 7
        self.data.append(count)

    def bits(self, chosen: int, places: dict[int, int], width: int) -> None:
        """Write a set as the places of its members."""
        found = 0
        for member in members(chosen):
            if member in places:
                found |= 1 << places[member]
        self.data += found.to_bytes(width, "little")


class Reader:
    """The bytes of a packet while it is read; the numbers of the devices and messages in its tables."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.nodes: Sequence[int] = ()
        self.messages: Sequence[int | None] = ()
        """None for a message that the reader wants nothing to do with."""
        self.widths = Widths()

    def take(self, length: int) -> bytes:
        """The next bytes."""
        taken = self.data[self.at : self.at + length]
        if len(taken) < length:
            raise PeerError("a packet that is cut off")
        self.at += length
        return taken

    def number(self) -> int:
        """Up to 64 bits; only the shortest way to write them is accepted."""
        found = 0
        for index in range(_LONGEST_NUMBER):
            byte = self.take(1)[0]
            found |= (byte & 127) << 7 * index
            if byte < 128:
                if index and not byte:
                    break
                return found
        raise PeerError("a packet with a number that no device writes")

    def count(self, each: int = 1) -> int:
        """How many things follow, each at least so many bytes."""
        count = self.number()
        if count * each > len(self.data) - self.at:
            raise PeerError("a packet that is cut off")
        return count

    def table(self, number_of: Callable[[bytes], int | None]) -> list[int | None]:
        """The numbers of the ids in a table."""
        found, last = [], b""
        for _ in range(self.count(ID_BYTES)):
            this = self.take(ID_BYTES)
            if this <= last:
                raise PeerError("a packet whose ids are out of order")
            last = this
            found.append(number_of(this))
        return found

    def bits(self, numbers: Sequence[int | None], width: int) -> int:
        """A set written as places in a table."""
        places, found = int.from_bytes(self.take(width), "little"), 0
        if places >> len(numbers):
            raise PeerError("a packet with a set of what it does not name")
        for index in members(places):
            number = numbers[index]
            if number is not None:
                found |= 1 << number
        return found
