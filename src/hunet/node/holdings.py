"""What a device knows of messages and devices, by number; what it keeps of them; and how much that may be.

Messages and devices have numbers that only this device knows; they stay the same over restarts because the state of
its protocol is full of them. Messages known only by id are numbered too, up to a limit. Headers are
in memory, contents on the disk.

Of two devices, protocols let the one with the lower number go first, or name a community after it: so all must agree
on who is lower. The number of a device is the beginning of its key, which is as good as random. If that number is in
use, it is the nearest free one that keeps the order of keys, or just the nearest free one. A number in use is never
given to another device, whatever names a neighbour makes up. When there are too many devices, the number of one that is
not linked goes to the next: of those that neighbours only speak of the one that was spoken of longest ago, and only for
a device that is met, of those that were met the one that was met longest ago. Authors who are neither met nor spoken of
have numbers beyond those of devices, until their last message is forgotten.

Packets have the first 8 bytes of keys only (``hunet.protocols.forms``). A device that is known by these alone is named
by them, in 13 letters and digits, until the rest is known.

What is kept, and in which order it goes
----------------------------------------
A message is kept while the protocol holds a copy, or while the application has not taken it. All that is kept takes at
most :class:`Quotas` bytes, and others' publications are 10,000 at most. This device's own never go: when they alone
fill the quota, no more are taken. Of the rest, *favoured* messages (by authors whom the owner has given a name, or on
topics that are subscribed to) have a right to half of the room, and all others to the other half; either may use what
the other does not. Within its half, the message that goes is one of the largest share (``shares``); which one of it,
the protocol decides. Neighbours that lost their places because they brought too much have one share together.

Of a message that went, the header stays, so that it is not taken again; but only so many, and those that went first
are forgotten first, unless they were delivered. What is forgotten has no number any more, and who brings it again
brings it anew.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from itertools import count
from math import inf
from typing import TYPE_CHECKING

import msgspec

from hunet.model import Message, MessageSet, Node, OutputError, PeerError, members, set_of, without
from hunet.node.identity import device_key
from hunet.node.message_numbers import MessageNumbers, short_id, short_name
from hunet.node.shares import FairShares
from hunet.node.store import Header

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from hunet.node.publication import Publication
    from hunet.node.store import Store

MOST_SPOKEN_OF = 20_000
"""Messages of which a device speaks, newest first."""
_MOST_KEPT = 10_000
"""Messages of others that a device keeps. With those below it speaks of all that it knows; of what it does not speak,
neighbours would bring it again."""
_MOST_GONE = 10_000
"""Messages of others of which only the header is here."""
_MOST_DEVICES = 10_000
_NUMBERS = 1 << 16
"""Numbers for devices; a set of devices is as many bits long. Those of authors begin here."""
_TOO_MUCH = -2
"""Counts as the giver of what those gave who brought too much."""
_DATA_BYTES = 2 << 20
"""Publications in a data frame are not longer than this together, if one alone is not."""
_SHORT = 13
"""Letters and digits of what is known by 8 bytes."""


class Quotas(msgspec.Struct, frozen=True):
    """How many bytes of publications a device keeps, its own included."""

    total: int = 512 << 20


class Holdings:
    """The numbers of messages and devices, and what of them is held. Also what packets are read with."""

    def __init__(
        self, device: str, store: Store, quotas: Quotas, favours: Callable[[Message], bool] = lambda _: False
    ) -> None:
        self._store, self._quotas, self._favours = store, quotas, favours
        self.numbers = MessageNumbers()
        self.messages, self.shown = self.numbers.all, self.numbers.shown
        self.names: dict[Node, str] = dict(store.devices())
        """Devices by number, and authors by theirs."""
        self._numbers = {name: number for number, name in self.names.items()}
        self._taken = set(self.names)
        """The numbers of devices that are in use."""
        self._authors = {name: number for number, name in store.authors()}
        self.names.update((number, name) for name, number in self._authors.items())
        self._in_order = sorted((_key(name), name) for name in self._numbers)
        self._devices = {short_id(name): number for name, number in self._numbers.items()}
        self._author_numbers = count(_NUMBERS)
        self._unwritten: dict[Node, str] = {}
        self._spoken: dict[str, None] = dict.fromkeys(self._numbers)
        """Devices that are not met, as far as is known since the start; those that were spoken of first come first."""
        self._linked_before: dict[str, None] = {}
        """Devices that were met since the start; those that were met first come first."""
        self.linked: Container[str] = ()
        """Devices whose numbers must stay."""
        self.node = self._numbers.get(device, -1)
        if self.node < 0:
            self.node = self._give_number(device)
        self._spoken.pop(device, None)
        self.held: MessageSet = 0
        """The messages that the protocol holds."""
        self.more: dict[int, int] = {}
        """Of those with several copies, how many more than one."""
        self.arriving: dict[int, bytes] = {}
        """Publications that have come with a packet, until it is known what becomes of them."""
        self._givers = self.shown.givers
        self._gone: dict[int, None] = {}
        """Messages of others that are not kept; those that went first come first."""
        self._written: Counter[Node] = Counter()
        """How many messages there are by authors whose numbers are beyond those of devices."""
        self._waiting: set[int] = set()
        """The messages that the application has not taken yet."""
        self.own_bytes = 0
        self._shares = {True: FairShares(), False: FairShares()}
        """Messages of others, favoured or not."""
        self._favoured: set[int] = set()
        self._lapsed: dict[int, None] = {}
        """Messages that are out of date and whose contents are here, in case the clock is wrong; the first to go."""
        self._lapsed_bytes = 0
        self._largest = 1

    def load(self) -> None:
        """Read the headers of all messages: one pass over the store."""
        for header in self._store.headers():
            self.messages.skip(header.number)
            self._remember(header)
        for pending in self._store.waiting():
            self.wait(pending.message)
        self.messages.skip(int((self._store.fact("next") or b"0").decode()))
        self.shown.show((1 << len(self.messages)) - 1)  # also what was skipped, which is dead to the protocol

    def commit(self) -> None:
        """Everything is on the disk when this returns."""
        for number, name in self._unwritten.items():
            self._store.add_device(number, name)
        self._store.commit()
        self._unwritten.clear()

    # Numbers ----------------------------------------------------------------------------------------------------------

    def number_of(self, device: str) -> Node:
        """The number of a device that is met."""
        if device not in self._numbers and self._complete(device) is None:
            if len(self._numbers) >= _MOST_DEVICES:
                self._take_number_from(self._spoken, self._linked_before)
            self._give_number(device)
        if device != self.names[self.node]:
            self._spoken.pop(device, None)
            self._linked_before.pop(device, None)
            self._linked_before[device] = None
        return self._numbers[device]

    def _give_number(self, device: str) -> Node:
        number = self._free_number(_key(device))
        self._taken.add(number)
        self._name(number, device)
        return number

    def _name(self, number: Node, device: str) -> None:
        self._numbers[device] = number
        self.names[number] = self._unwritten[number] = device
        self._devices.setdefault(short_id(device), number)
        insort(self._in_order, (_key(device), device))

    def _complete(self, device: str) -> Node | None:
        """Name a device in full that was known by the beginning of its key, if it was; its number."""
        short = short_name(short_id(device))
        number = self._numbers.pop(short, None)
        if number is not None:
            self._in_order.remove((short_id(device), short))
            self._spoken.pop(short, None)
            self._spoken[device] = None
            self._name(number, device)
        return number

    def _take_number_from(self, *those: dict[str, None]) -> None:
        """Forget the first device that can be forgotten; a PeerError if all are needed."""
        for devices in those:
            for device in devices:
                if device not in self.linked:
                    del devices[device]
                    number = self._numbers.pop(device)
                    self._taken.remove(number)  # a protocol may speak of it until it is another's
                    self._in_order.remove((_key(device), device))
                    if self._devices[short_id(device)] == number:
                        del self._devices[short_id(device)]
                    return
        raise PeerError("speaks of too many devices")

    def _author(self, device: str) -> Node:
        """The number of who wrote a message."""
        number = self._numbers.get(device, self._authors.get(device))
        if number is None:
            number = self._complete(device)
        if number is None:
            number = next(each for each in self._author_numbers if each not in self.names)
            self._authors[device] = number
            self.names[number] = device
        if number >= _NUMBERS:
            self._store.add_author(number, device)  # again, if it was forgotten with its last message
        return number

    def _free_number(self, key: bytes) -> Node:
        """The free number nearest to the beginning of a key, among those that keep the order of keys if any does."""
        position = bisect_left(self._in_order, (key, ""))
        low = self._numbers[self._in_order[position - 1][1]] if position else -1
        high = self._numbers[self._in_order[position][1]] if position < len(self._in_order) else _NUMBERS
        wish = int.from_bytes(key[:2])
        free = self._nearest_free(wish, low, high)
        if free is None:  # numbers do not always rise with keys from here on
            free = self._nearest_free(wish, -1, _NUMBERS)
        if free is None:
            raise PeerError("speaks of too many devices")
        return free

    def _nearest_free(self, wish: Node, low: Node, high: Node) -> Node | None:
        """The number nearest to a wish that is between two others and not in use."""
        below = (number for number in range(min(wish, high - 1), low, -1) if number not in self._taken)
        above = (number for number in range(max(wish, low + 1), high) if number not in self._taken)
        found = [number for number in (next(below, None), next(above, None)) if number is not None]
        return min(found, key=lambda number: abs(number - wish), default=None)

    def device(self, short: bytes) -> Node:
        """The number of a device that somebody speaks of."""
        number = self._devices.get(short)
        if number is None:
            if len(self._numbers) >= _MOST_DEVICES:
                self._take_number_from(self._spoken)
            number = self._give_number(short_name(short))
            self._spoken[self.names[number]] = None
        elif self.names[number] in self._spoken:
            del self._spoken[self.names[number]]
            self._spoken[self.names[number]] = None
        return number

    def add(self, publication: Publication, size: int, giver: Node | None = None) -> Message:
        """Number a publication for good, which was given by its author unless somebody else is named."""
        number, author = self.numbers.number(publication.id), self._author(publication.author)
        header = Header(
            number,
            publication.id,
            publication.topic,
            author,
            publication.created,
            publication.ttl,
            size,
            author if giver is None else giver,
        )
        self._store.add_message(header)
        return self._remember(header)

    def _remember(self, header: Header) -> Message:
        message = self.messages.add(header.id, header.topic, header.author, header.created, header.size, header.ttl)
        self.numbers.came(header.id, message.number)
        if header.giver != self.node:
            self._givers[message.number] = header.giver
        if header.author >= _NUMBERS:
            self._written[header.author] += 1
        self._largest = max(self._largest, header.size)
        return message

    def notice_gone(self) -> None:
        """Of which messages only the header is here."""
        for number in reversed(members(without((1 << len(self.messages)) - 1, self.messages.absent))):
            if number in self._givers and not self.keeps(number):
                self._gone[number] = None

    def forget_gone(self) -> None:
        """Forget messages that went first, if only the headers of too many are here."""
        while len(self._gone) > _MOST_GONE:
            number = next(iter(self._gone))
            del self._gone[number]
            if self._store.forget(number):
                self.forget(number)

    def forget_all_but(self, numbers: set[int]) -> None:
        """The store remembers these only."""
        for number in members(without((1 << len(self.messages)) - 1, self.messages.absent)):
            if number not in numbers and not self.keeps(number):
                self.forget(number)

    def forget(self, number: int) -> None:
        """Know nothing more of a message that the store has forgotten."""
        author = self.messages[number].publisher
        self._givers.pop(number, None)
        self.shown.pooled = without(self.shown.pooled, 1 << number)
        self._gone.pop(number, None)
        self.numbers.forget(number)
        if author >= _NUMBERS:
            self._written[author] -= 1
            if not self._written[author]:
                del self._written[author]
                del self._authors[self.names.pop(author)]
                self._store.forget_author(author)

    # What is held -----------------------------------------------------------------------------------------------------

    def holds(self, number: int) -> bool:
        """Whether the protocol holds a copy of a message."""
        return bool(self.held >> number & 1)

    def keeps(self, number: int) -> bool:
        """Whether the content of a message must stay: a copy is held, or the application is still to get it."""
        return self.holds(number) or number in self._waiting

    def hold(self, number: int) -> None:
        """It has one more copy."""
        if self.holds(number):
            self.more[number] = self.more.get(number, 0) + 1
        else:
            if number not in self._waiting:
                self._weigh(number)
            self.held |= 1 << number

    def let_go(self, number: int) -> None:
        """It has one less."""
        if self.more.get(number, 0) > 1:
            self.more[number] -= 1
        elif number in self.more:
            del self.more[number]
        elif self.holds(number):
            self.held ^= 1 << number
            if number not in self._waiting:
                self._unweigh(number)

    def wait(self, number: int) -> None:
        """The application is to take a message."""
        if not self.keeps(number):
            self._weigh(number)
        self._waiting.add(number)

    def taken(self, number: int) -> bool:
        """It has taken it, or never will; whether it was still to take it."""
        if number not in self._waiting:
            return False
        self._waiting.remove(number)
        if not self.holds(number):
            self._unweigh(number)
        return True

    def lapse(self, number: int) -> None:
        """A message that the protocol has let go is out of date, by a clock that may be wrong."""
        if number not in self._lapsed and not self.keeps(number):
            self._lapsed[number] = None
            self._lapsed_bytes += self.messages[number].size

    def drop_lapsed(self, number: int) -> None:
        """It is in date again, or it is gone."""
        del self._lapsed[number]
        self._lapsed_bytes -= self.messages[number].size

    def lapsed(self, before: float = inf) -> list[int]:
        """Messages whose contents are here though they are out of date since a time."""
        return [number for number in self._lapsed if self.messages[number].expires < before]

    def hold_only(self, held: MessageSet, more: dict[int, int]) -> None:
        """Hold these messages, some in several copies, and no others."""
        for number in members(self.held):
            while self.holds(number):
                self.let_go(number)
        for number in reversed(members(held)):
            for _ in range(1 + more.get(number, 0)):
                self.hold(number)

    def keep_arrived(self) -> None:
        """Write the contents of what came and was kept or delivered; the rest leaves no trace but its header."""
        for number, encoded in self.arriving.items():
            if self.keeps(number):
                self._store.add_content(number, encoded)
            elif number in self._givers:
                self._gone[number] = None
        self.arriving.clear()

    # Quotas -----------------------------------------------------------------------------------------------------------

    @property
    def held_bytes(self) -> int:
        """How long all that is kept is."""
        return self.own_bytes + self._shares[True].bytes + self._shares[False].bytes

    def _weigh(self, number: int) -> None:
        message = self.messages[number]
        if number in self._lapsed:
            self.drop_lapsed(number)
        giver = self._share_of(number)
        if giver == self.node:
            self.own_bytes += message.size
            return
        favoured = self._favours(message)
        if favoured:
            self._favoured.add(number)
        self._gone.pop(number, None)
        self._shares[favoured].add(number, giver, message.publisher, message.size)

    def _unweigh(self, number: int) -> None:
        message = self.messages[number]
        giver = self._share_of(number)
        if giver == self.node:
            self.own_bytes -= message.size
            return
        self._gone[number] = None
        self._shares[number in self._favoured].remove(number, giver, message.publisher, message.size)
        self._favoured.discard(number)

    def weigh_again(self) -> None:
        """The owner favours others than before."""
        for number in sorted(self._waiting.union(members(self.held))):
            self._unweigh(number)
            self._weigh(number)

    def pool(self, device: str) -> None:
        """Count what a device gave together with what others gave who brought too much: names cost nothing."""
        giver = self._numbers.get(device)
        if giver is None or giver == self.node:
            return
        for shares in self._shares.values():
            self.shown.pooled |= set_of(shares.given_by(giver))
            shares.pool(giver, _TOO_MUCH)

    def given_by(self, node: Node) -> MessageSet:
        """What a device gave, of all that is remembered."""
        return set_of([number for number, giver in self._givers.items() if giver == node])

    def _share_of(self, number: int) -> Node:
        """To whose share a message counts."""
        return _TOO_MUCH if self.shown.pooled >> number & 1 else self._givers.get(number, self.node)

    def check_room(self, size: int) -> None:
        """Refuse a publication of this device's own that does not fit any more."""
        if self.own_bytes + size > self._quotas.total:
            raise OutputError(
                f"{self.own_bytes} bytes of own publications are still carried, {size} more exceed the quota of "
                f"{self._quotas.total}: wait until some are out of date, or give the node a larger quota"
            )

    def stale(self) -> int | None:
        """If the quota is exceeded and something is out of date: the message of which there is no need."""
        if self.held_bytes + self._lapsed_bytes <= self._quotas.total:
            return None
        return next(iter(self._lapsed), None)

    def excess(self) -> MessageSet:
        """If more is kept than the quota allows: some messages, of which one must go."""
        room = self._quotas.total - self.own_bytes
        wanted, rest = self._shares[True], self._shares[False]
        if self.held_bytes > self._quotas.total:
            return self._shares[2 * wanted.bytes > room].largest()
        if wanted.many + rest.many > _MOST_KEPT:
            return self._shares[2 * wanted.many > _MOST_KEPT].largest()
        return 0

    def room(self, most: int) -> int:
        """How many messages a data frame has room for."""
        return max(1, min(most, _DATA_BYTES // self._largest))


def _key(name: str) -> bytes:
    """A device's key, or what is known of it."""
    return short_id(name) if len(name) == _SHORT else device_key(name)
