"""The numbers of messages: those that are here, those that neighbours only speak of, and none that is forgotten.

Packets have the first 8 bytes of ids only, by which a message is found. What is known by these alone is named by them,
in 13 letters and digits, until the rest is known. A number is never given twice: protocols remember numbers, and to
them a message that is forgotten is dead.
"""

from __future__ import annotations

from base64 import b32encode
from functools import lru_cache

from hunet.model import Catalogue, SharedCatalogue
from hunet.protocols.byte_streams import ID_BYTES

_LETTERS = 13
_DIGITS = str.maketrans("abcdefghijklmnopqrstuvwxyz234567", "0123456789abcdefghijklmnopqrstuv")
"""Names are in base32, whose digits Python knows by other letters: much quicker than its ``base64`` reads them."""
_MOST_HEARD_OF = 100_000
"""Messages that are not here and have a number."""


@lru_cache(1 << 13)
def short_id(name: str) -> bytes:
    """The first 8 bytes of a device's key or a message's id, from its name."""
    return (int(name[:_LETTERS].translate(_DIGITS), 32) >> 5 * _LETTERS - 8 * ID_BYTES).to_bytes(ID_BYTES)


def short_name(short: bytes) -> str:
    """What is known by its first 8 bytes alone is called so."""
    return b32encode(short).decode().rstrip("=").lower()


class MessageNumbers:
    """Messages by number, and their numbers by the beginnings of their ids."""

    def __init__(self) -> None:
        self.all = Catalogue()
        self.shown = SharedCatalogue(self.all)
        """What the protocol knows of them: those that are here, and not those that others only speak of."""
        self.short_ids: list[bytes] = []
        """The beginnings of the ids by number; empty where there is no message any more."""
        self._by_short: dict[bytes, int] = {}
        self._heard_of: dict[int, None] = {}
        """Messages that are not here; those that were heard of first come first."""
        self._heard_lately = 0
        """The numbers from here on were given since the last time that such messages were forgotten."""

    def find(self, short: bytes) -> int | None:
        """The number of a message that somebody speaks of, here or not; None if there are too many of those."""
        number = self._by_short.get(short)
        if number is None and len(self._heard_of) < _MOST_HEARD_OF:
            number = self.all.reserve(short_name(short)).number
            self._know(short, number)
            self._heard_of[number] = None
        return number

    def number(self, id: str) -> int:  # noqa: A002
        """The number of a message that has come: the one that it had when others spoke of it, or a new one."""
        short = short_id(id)
        if self._by_short.get(short) in self._heard_of:
            self.all.rename(short_name(short), id)
        return self.all.reserve(id).number

    def came(self, id: str, number: int) -> None:  # noqa: A002
        """A message is here."""
        self.shown.show(1 << number)
        self._know(short_id(id), number)
        self._heard_of.pop(number, None)

    def _know(self, short: bytes, number: int) -> None:
        self.short_ids += [b""] * (number + 1 - len(self.short_ids))
        self._by_short[short], self.short_ids[number] = number, short

    def forget(self, number: int) -> None:
        """Know nothing more of a message."""
        self._by_short.pop(self.short_ids[number], None)
        self.short_ids[number] = b""
        self.all.forget(number)
        self.shown.show(1 << number)  # as dead

    def forget_heard_of(self) -> None:
        """Forget messages that others spoke of since before the last time, and that have not come."""
        for number in [number for number in self._heard_of if number < self._heard_lately]:
            del self._heard_of[number]
            self.forget(number)
        self._heard_lately = len(self.all)
