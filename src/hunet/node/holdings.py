"""What a device knows of messages and devices, by number; what it holds of them; and how much that may be.

Messages and devices have numbers that only this device knows; they stay the same over restarts because the state of
its protocol is full of them. Messages that a neighbour only speaks of get a number as well, up to a limit. Headers are
in memory, contents on the disk.

Of two devices, protocols let the one with the lower number go first, or name a community after it: so all must agree
on who is lower. The number of a device is the beginning of its key, which is as good as random. If that number is in
use, it is the nearest free one that keeps the order of keys, or just the nearest free one. A number in use is never
given to another device, whatever names a neighbour makes up.

Packets have the first 8 bytes of keys and ids only (``hunet.protocols.forms``). What is known by these alone is named
by them, in 13 letters and digits, until the rest is known.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from bisect import bisect_left, insort
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import Catalogue, DeviceCatalogue, Message, MessageSet, Node, OutputError, PeerError, members
from hunet.node.identity import device_key
from hunet.node.store import Header
from hunet.protocols.byte_streams import ID_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunet.node.publication import Publication
    from hunet.node.store import Store

MOST_SPOKEN_OF = 100_000
"""Messages that are not here and have a number; also, how many of its own a device speaks of, newest first."""
_MOST_DEVICES = 10_000
_NUMBERS = 1 << 16
"""Numbers for devices; a set of devices is as many bits long."""
_DATA_BYTES = 2 << 20
"""Publications in a data frame are not longer than this together, if one alone is not."""
_SHORT = 13
"""Letters and digits of what is known by 8 bytes."""


@lru_cache(1 << 16)
def short_id(name: str) -> bytes:
    """The first 8 bytes of a device's key or a message's id, from its name."""
    return b32decode(name[:16].upper().ljust(16, "="))[:ID_BYTES]


class Quotas(msgspec.Struct, frozen=True):
    """How many bytes of others' publications a device carries: in all, on one topic, from one neighbour.

    ``total`` is also what its own publications may take.
    """

    total: int = 512 << 20
    topic: int = 256 << 20
    neighbour: int = 256 << 20


class Holdings:
    """The numbers of messages and devices, and what of them is held. Also what packets are read with."""

    def __init__(self, device: str, store: Store, quotas: Quotas) -> None:
        self._store, self._quotas = store, quotas
        self.messages = Catalogue()
        self.shown = DeviceCatalogue(self.messages)
        """What the protocol knows of them: those that are here, and not those that others only speak of."""
        self.names: dict[Node, str] = dict(store.devices())
        """Devices by number."""
        self._numbers = {name: number for number, name in self.names.items()}
        self._in_order = sorted((_key(name), name) for name in self._numbers)
        self._devices = {short_id(name): number for number, name in self.names.items()}
        self._messages: dict[bytes, int] = {}
        """Numbers of devices and messages by the first 8 bytes."""
        self._unwritten: list[str] = []
        self.node = self.number_of(device)
        self.held: MessageSet = 0
        """The messages that the protocol holds."""
        self.more: dict[int, int] = {}
        """Of those with several copies, how many more than one."""
        self.arriving: dict[int, bytes] = {}
        """Publications that have come with a packet, until it is known what becomes of them."""
        self._givers: dict[int, Node] = {}
        self._bytes: dict[tuple[str, Any], int] = {}
        """Bytes held in all, by topic and by giver."""
        self._spoken_of = 0
        self._largest = 1

    def load(self) -> None:
        """Read the headers of all messages: one pass over the store."""
        for header in self._store.headers():
            self.messages.skip(header.number)
            self._remember(header)
        self.messages.skip(int((self._store.fact("next") or b"0").decode()))
        self.shown.show((1 << len(self.messages)) - 1)  # also what was skipped, which is dead to the protocol

    def commit(self) -> None:
        """Everything is on the disk when this returns."""
        for name in self._unwritten:
            self._store.add_device(self._numbers[name], name)
        self._store.set_fact("next", str(len(self.messages)).encode())
        self._store.commit()
        self._unwritten.clear()

    # Numbers ----------------------------------------------------------------------------------------------------------

    def number_of(self, device: str) -> Node:
        """The number of a device, for good."""
        number = self._numbers.get(device)
        if number is None:
            short = device_key(device)[:ID_BYTES]
            number = self._devices.get(short)
            if number is not None and len(self.names[number]) == _SHORT:
                self._in_order.remove((short, self.names[number]))
                del self._numbers[self.names[number]]
            else:
                number = self._free_number(device_key(device))
            self._name(number, device)
        return number

    def _name(self, number: Node, name: str) -> None:
        self._numbers[name], self.names[number] = number, name
        self._devices.setdefault(short_id(name), number)
        insort(self._in_order, (_key(name), name))
        self._unwritten.append(name)

    def _free_number(self, key: bytes) -> Node:
        """The free number nearest to the beginning of a key, among those that keep the order of keys if any does."""
        place = bisect_left(self._in_order, (key, ""))
        low = self._numbers[self._in_order[place - 1][1]] if place else -1
        high = self._numbers[self._in_order[place][1]] if place < len(self._in_order) else _NUMBERS
        wish = int.from_bytes(key[:2])
        free = self._nearest_free(wish, low, high)
        if free is None:  # numbers do not always rise with keys from here on
            free = self._nearest_free(wish, -1, _NUMBERS)
        if free is None:
            raise PeerError("speaks of too many devices")
        return free

    def _nearest_free(self, wish: Node, low: Node, high: Node) -> Node | None:
        """The number nearest to a wish that is between two others and not in use."""
        below = (number for number in range(min(wish, high - 1), low, -1) if number not in self.names)
        above = (number for number in range(max(wish, low + 1), high) if number not in self.names)
        found = [number for number in (next(below, None), next(above, None)) if number is not None]
        return min(found, key=lambda number: abs(number - wish), default=None)

    def __getitem__(self, device: str) -> Node:
        """The number of a device that has written something."""
        if device not in self._numbers:
            self._check_devices()
        return self.number_of(device)

    def device(self, short: bytes) -> Node:
        """The number of a device that somebody speaks of."""
        number = self._devices.get(short)
        if number is None:
            self._check_devices()
            number = self._free_number(short)
            self._name(number, _short_name(short))
        return number

    def _check_devices(self) -> None:
        if len(self.names) >= _MOST_DEVICES:
            raise PeerError("speaks of too many devices")

    def message(self, short: bytes) -> int | None:
        """The number of a message that somebody speaks of, here or not; None if there are too many of those."""
        number = self._messages.get(short)
        if number is None and self._spoken_of < MOST_SPOKEN_OF:
            self._spoken_of += 1
            number = self._messages[short] = self.messages.reserve(_short_name(short)).number
        return number

    def add(self, publication: Publication, size: int, giver: Node) -> Message:
        """Number a publication for good."""
        about = publication
        short = _short_name(short_id(about.id))
        if self.messages.knows(short):
            self.messages.rename(short, about.id)
        number, author = self.messages.reserve(about.id).number, self.number_of(about.author)
        header = Header(number, about.id, about.topic, author, about.created, about.ttl, size, giver)
        self._store.add_message(header)
        return self._remember(header)

    def _remember(self, header: Header) -> Message:
        message = self.messages.add(header.id, header.topic, header.author, header.created, header.size, header.ttl)
        self.shown.show(message.bit)
        self._messages[short_id(header.id)] = message.number
        if header.giver != self.node:
            self._givers[message.number] = header.giver
        self._largest = max(self._largest, header.size)
        return message

    # What is held -----------------------------------------------------------------------------------------------------

    def holds(self, number: int) -> bool:
        """Whether the protocol holds a copy of a message."""
        return bool(self.held >> number & 1)

    def hold(self, number: int) -> None:
        """It has one more copy."""
        if self.holds(number):
            self.more[number] = self.more.get(number, 0) + 1
        else:
            self.held |= 1 << number
            self._weigh(number, 1)

    def let_go(self, number: int) -> None:
        """It has one less."""
        if self.more.get(number, 0) > 1:
            self.more[number] -= 1
        elif number in self.more:
            del self.more[number]
        elif self.holds(number):
            self.held ^= 1 << number
            self._weigh(number, -1)

    def hold_only(self, held: MessageSet, more: dict[int, int]) -> None:
        """Hold these messages, some in several copies, and no others."""
        for number in members(self.held):
            while self.holds(number):
                self.let_go(number)
        for number in members(held):
            for _ in range(1 + more.get(number, 0)):
                self.hold(number)

    def keep_arrived(self) -> None:
        """Write the contents of what came and was kept or delivered; the rest leaves no trace but its header."""
        for number, encoded in self.arriving.items():
            if self.holds(number) or self._store.is_waiting(number):
                self._store.add_content(number, encoded)
        self.arriving.clear()

    @property
    def held_bytes(self) -> int:
        """How long all that is held is."""
        return self._bytes.get(("total", None), 0)

    def _weigh(self, number: int, sign: int) -> None:
        message = self.messages[number]
        giver = self._givers.get(number, self.node)
        for key in (("total", None), ("topic", message.topic), ("neighbour", giver)):
            self._bytes[key] = self._bytes.get(key, 0) + sign * message.size

    # Quotas -----------------------------------------------------------------------------------------------------------

    def check_room(self, size: int) -> None:
        """Refuse a publication of this device's own that does not fit any more."""
        own = self._bytes.get(("neighbour", self.node), 0)
        if own + size > self._quotas.total:
            raise OutputError(
                f"{own} bytes of own publications are still carried, {size} more exceed the quota of "
                f"{self._quotas.total}: wait until some are out of date, or give the node a larger quota"
            )

    def excess(self) -> Iterator[tuple[str, MessageSet, int]]:
        """Quotas that are exceeded: which, by which messages, and by how many bytes. Own ones are not in question."""
        for (what, whom), size in list(self._bytes.items()):
            quota: int = getattr(self._quotas, what)
            if size > quota and (what, whom) != ("neighbour", self.node):
                yield what, self._others(what, whom), size - quota

    def _others(self, what: str, whom: Any) -> MessageSet:
        found = 0
        for number, giver in self._givers.items():
            if self.holds(number) and (
                what == "total" or whom == (giver if what == "neighbour" else self.messages[number].topic)
            ):
                found |= 1 << number
        return found

    def room(self, most: int) -> int:
        """How many messages a data frame has room for."""
        return max(1, min(most, _DATA_BYTES // self._largest))


def _key(name: str) -> bytes:
    """A device's key, or what is known of it."""
    return short_id(name) if len(name) == _SHORT else device_key(name)


def _short_name(short: bytes) -> str:
    return b32encode(short).decode().rstrip("=").lower()
