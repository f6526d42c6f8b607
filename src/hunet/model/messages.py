"""Messages, and sets of them as Python integers.

A driver numbers the messages it knows (0, 1, 2, ...) in a :class:`Catalogue`. A set of messages is then an integer
with one bit per message, and "what do you have that I have not" is ``yours & ~mine``: a few machine operations for
thousands of messages. The numbers are a driver's own affair; on a wire or in a log they are written as ids. A protocol
sees a :class:`DeviceCatalogue`: of all these messages, those that its own device has been shown.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Annotated

import msgspec

from hunet.model.conditions import Content
from hunet.model.errors import ProtocolError
from hunet.model.interests import content_of, interest_of, tags_of
from hunet.model.matching import matching_score

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

Node = Annotated[int, "node"]
"""A device, numbered by its driver."""

NodeSet = Annotated[int, "nodes"]
"""A set of devices: bit i stands for node i of the driver."""

NodeList = tuple[Node, ...]
"""Several devices, in order."""

Topic = str
"""What a message is about, its tags and attributes, or what a subscription asks for, its interest: canonical texts of
``hunet.model.interests``. A tag alone is both."""

MessageSet = Annotated[int, "messages"]
"""A set of messages: bit i stands for message number i of the catalogue."""

PerMessage = Annotated[tuple[int, ...], "per message"]
"""A small number for each message of a packet, highest numbered message first."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """One publication. Its content is the application's; protocols see what is here and nothing else."""

    number: int
    """Its place in the driver's catalogue."""
    id: str
    topic: Topic
    publisher: Node
    created: float
    size: int = 140
    """Bytes on a link. 140 is B-SUB's message (section 6.1): one short text."""
    ttl: float | None = None
    """Seconds of life. A message is of use up to and including created + ttl."""

    @property
    def bit(self) -> MessageSet:
        """The set that holds this message alone."""
        return 1 << self.number

    @property
    def expires(self) -> float:
        """The last instant at which it is of use."""
        return inf if self.ttl is None else self.created + self.ttl

    @property
    def content(self) -> Content:
        """The tags and attributes that its topic says."""
        return content_of(self.topic)


def members(messages: MessageSet) -> Sequence[int]:
    """The numbers in a set, highest first.

    >>> members(0b1011)
    [3, 1, 0]
    """
    if not messages:
        return []
    global _last_members  # noqa: PLW0603
    given, numbers = _last_members
    if messages is not given:  # on its way a packet's set is asked for several times in a row
        numbers = []
        top = messages.bit_length() - 1
        if top < _PIECE_BITS:
            _add_members(numbers, messages, 0)
        elif messages == 1 << top:  # one message on its way, of many thousands
            numbers.append(top)
        else:  # each step below makes a number as long as what is left of the set
            lowest = (messages & -messages).bit_length() - 1
            rest = messages >> lowest
            for first in range((top - lowest) // _PIECE_BITS * _PIECE_BITS, -1, -_PIECE_BITS):
                _add_members(numbers, rest >> first & _PIECE, lowest + first)
        _last_members = messages, numbers
    return numbers


def _add_members(numbers: list[int], rest: MessageSet, first: int) -> None:
    while rest:
        top = rest.bit_length() - 1
        numbers.append(first + top)
        highest = 1 << top
        if rest == highest:  # sets of one are frequent, and this is quicker than the next step
            break
        rest ^= highest


_PIECE_BITS = 4096
_PIECE: MessageSet = (1 << _PIECE_BITS) - 1

_last_members: tuple[MessageSet, Sequence[int]] = (0, [])


def set_of(numbers: Collection[int]) -> MessageSet:
    """The set of these numbers.

    >>> bin(set_of([3, 1, 0]))
    '0b1011'
    """
    if not numbers:
        return 0
    bits = bytearray((max(numbers) >> 3) + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def without(messages: MessageSet, others: MessageSet) -> MessageSet:
    """``messages & ~others``, in less time: the complement of a large set is one more number of its size.

    >>> bin(without(0b1011, 0b0110))
    '0b1001'
    """
    return messages ^ (messages & others)


_STEP = 32
"""How many numbers the sets of the living must be shortened by before they are counted anew."""


class _Matches:
    """The messages that an interest matches, as far as somebody has looked."""

    __slots__ = ("looked_at", "messages")

    def __init__(self) -> None:
        self.messages: MessageSet = 0
        self.looked_at = 0
        """How many of those that were added."""


class Catalogue:
    """Every message that a driver knows, by number.

    >>> catalogue = Catalogue()
    >>> old = catalogue.add("m1", "news", publisher=0, created=0.0)
    >>> new = catalogue.add("m2", "news", publisher=1, created=30.0)
    >>> catalogue.newest(old.bit | new.bit) == new.bit
    True
    >>> catalogue.on_topic("news") == old.bit | new.bit, catalogue.on_topic("news and price < 5")
    (True, 0)
    """

    def __init__(self) -> None:
        self._messages: list[Message | None] = []
        """None where one is forgotten: a list of millions is short then."""
        self._by_id: dict[str, Message] = {}
        self._by_tag: dict[Topic, MessageSet] = {}
        """All messages with each tag: what the plain subscription to it matches."""
        self._tags: dict[Topic, tuple[Topic, ...]] = {}
        """Of each topic that a message has."""
        self._rows: dict[Topic, _Matches] = {}
        """For each other interest that somebody has asked for."""
        self._added: list[int] = []
        """The numbers of messages, in the order in which they came."""
        self._in_order = True
        self._dies_in_order = True
        self._expiries: list[tuple[float, int]] = []
        """A heap: when the living die."""
        self.next_expiry = inf
        """When the next one dies."""
        self._dead: MessageSet = 0
        self.absent: MessageSet = 0
        """Numbers of messages that are not here: spoken of, skipped, or forgotten."""

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, number: int) -> Message:
        message = self._messages[number]
        return Message(number, "", "", -1, 0.0, 0) if message is None else message

    def __iter__(self) -> Iterator[Message]:
        messages = (message for message in self._messages if message is not None)
        return (message for message in messages if not self.absent >> message.number & 1)

    def __contains__(self, message_id: str) -> bool:
        """Whether this message is here, and not just its number."""
        known = self._by_id.get(message_id)
        return known is not None and not self.absent >> known.number & 1

    def knows(self, message_id: str) -> bool:
        """Whether this id has a number."""
        return message_id in self._by_id

    def by_id(self, message_id: str) -> Message:
        """The message with this id."""
        return self._by_id[message_id]

    def on_topic(self, topic: Topic) -> MessageSet:
        """All messages that match a subscription."""
        found = self._by_tag.get(topic)
        return self._matching(topic) if found is None else found

    def _matching(self, interest: Topic) -> MessageSet:
        """The same for what is not the tag of a message, be it that no message has it yet."""
        row = self._rows.get(interest)
        if row is None:
            tag = interest_of(interest).tag
            if tag is not None:
                return self._by_tag.get(tag, 0)
            row = self._rows[interest] = _Matches()
        if row.looked_at < len(self._added):
            for number in self._added[row.looked_at :]:
                message = self._messages[number]
                if message is not None and matching_score(interest, message.topic):
                    row.messages |= 1 << number
            row.looked_at = len(self._added)
        return row.messages

    def dead(self, now: float) -> MessageSet:
        """All messages that have expired by now.

        >>> catalogue = Catalogue()
        >>> short = catalogue.add("m1", "news", publisher=0, created=0.0, ttl=10)
        >>> catalogue.dead(now=10.0), catalogue.dead(now=10.5) == short.bit
        (0, True)
        """
        if now > self.next_expiry:
            expiries = self._expiries
            while expiries and expiries[0][0] < now:
                self._dead |= 1 << heappop(expiries)[1]
            self.next_expiry = expiries[0][0] if expiries else inf
        return self._dead

    def add(
        self,
        id: str,  # noqa: A002
        topic: Topic,
        publisher: Node,
        created: float,
        size: int = 140,
        ttl: float | None = None,
    ) -> Message:
        """Number a new message. Drivers that can, add messages in the order of their creation: it is quicker."""
        reserved = self._by_id.get(id) if self.absent else None
        if reserved is not None and self.absent >> reserved.number & 1:
            self.absent ^= reserved.bit
            message = Message(reserved.number, id, topic, publisher, created, size, ttl)
            self._messages[message.number] = message
        else:
            message = Message(len(self._messages), id, topic, publisher, created, size, ttl)
            if last := self._messages[-1] if self._messages else None:
                if created < last.created:
                    self._in_order = False
                if message.expires < last.expires:
                    self._dies_in_order = False
            self._messages.append(message)
        self._by_id[id] = message
        tags = self._tags.get(topic)
        if tags is None:
            tags = self._tags[topic] = tags_of(topic)
        for tag in tags:
            self._by_tag[tag] = self._by_tag.get(tag, 0) | message.bit
        self._added.append(message.number)
        if ttl is not None:
            heappush(self._expiries, (message.expires, message.number))
            self.next_expiry = self._expiries[0][0]
        return message

    def reserve(self, id: str) -> Message:  # noqa: A002
        """Number a message that others speak of and that is not here: it is on no topic until it is added.

        >>> catalogue = Catalogue()
        >>> heard_of = catalogue.reserve("m7").bit
        >>> "m7" in catalogue, list(catalogue)
        (False, [])
        >>> catalogue.add("m7", "news", publisher=0, created=0.0).bit == heard_of
        True
        """
        known = self._by_id.get(id)
        if known is None:
            known = self._by_id[id] = self._set_apart(id)
        return known

    def rename(self, id: str, to: str) -> None:  # noqa: A002
        """Call a message that is not here by another id: of its id, others told only the beginning."""
        self._by_id[to] = self._by_id.pop(id)

    def forget(self, number: int) -> None:
        """Know nothing more of a message, whose number is dead from now on, and never another's.

        >>> catalogue = Catalogue()
        >>> gone = catalogue.add("m1", "news", publisher=0, created=0.0)
        >>> catalogue.forget(gone.number)
        >>> "m1" in catalogue, catalogue.on_topic("news"), catalogue.dead(now=0.0) == gone.bit
        (False, 0, True)
        """
        message = self[number]
        if self._by_id.get(message.id) is message:
            del self._by_id[message.id]
        for tag in self._tags.get(message.topic, ()):
            self._by_tag[tag] = without(self._by_tag[tag], message.bit)
            if not self._by_tag[tag]:
                del self._by_tag[tag]
                self._tags.pop(message.topic, None)
        for row in self._rows.values():
            row.messages = without(row.messages, message.bit)
        self._messages[number] = None
        self._dead |= message.bit
        self.absent |= message.bit
        self._in_order = self._dies_in_order = False
        if len(self._expiries) > 2 * len(self._by_id) + _STEP:  # those that died are taken out as they come up
            self._expiries = [(at, n) for at, n in self._expiries if self._messages[n] is not None]
            heapify(self._expiries)
            self.next_expiry = self._expiries[0][0] if self._expiries else inf

    def skip(self, until: int) -> None:
        """Leave out numbers below this one, as dead: a driver that starts again knows nothing more of who had them."""
        first = len(self._messages)
        while len(self._messages) < until:
            self._set_apart("")
        self._dead |= (1 << len(self._messages)) - (1 << first)

    def _set_apart(self, id: str) -> Message:  # noqa: A002
        message = Message(len(self._messages), id, "", -1, 0.0, 0)
        self._messages.append(message if id else None)
        self.absent |= message.bit
        self._in_order = self._dies_in_order = False
        return message

    def newest(self, messages: MessageSet, most: int = 1) -> MessageSet:
        """Of a set, the ``most`` messages that were created last; of equal age, those numbered last."""
        if most >= len(self._messages) or messages.bit_count() <= most:
            return messages
        if self._in_order and most == 1:
            return 1 << messages.bit_length() - 1
        return sum(1 << number for number in self._by_age(messages)[-most:])

    def oldest(self, messages: MessageSet) -> MessageSet:
        """Of a set, the message that was created first, as a set of one; of equal age, the one numbered first."""
        if self._in_order or not messages:
            return messages & -messages
        return 1 << min(members(messages), key=lambda number: (self[number].created, number))

    def soonest(self, messages: MessageSet) -> MessageSet:
        """Of a set, the message that expires first, as a set of one; of equal expiry, the one numbered first.

        >>> catalogue = Catalogue()
        >>> late = catalogue.add("m1", "news", publisher=0, created=0.0, ttl=90)
        >>> soon = catalogue.add("m2", "news", publisher=0, created=10.0, ttl=20)
        >>> catalogue.soonest(late.bit | soon.bit) == soon.bit
        True
        """
        if self._dies_in_order or not messages:
            return messages & -messages
        return 1 << min(members(messages), key=lambda number: (self[number].expires, number))

    def _by_age(self, messages: MessageSet) -> list[int]:
        return sorted(members(messages), key=lambda number: (self[number].created, number))


class DeviceCatalogue:
    """The messages that one device has been shown: published by its application, or received in a data packet.

    It is all that a protocol sees of messages, in a simulation as on a live node. Drivers call :meth:`show` before the
    event that brings the messages. What other devices have, and what will be published later, is not here.

    >>> everything = Catalogue()
    >>> first, second = (everything.add(name, "news", publisher=0, created=0.0) for name in ("m1", "m2"))
    >>> mine = DeviceCatalogue(everything)
    >>> mine.show(second.bit)
    >>> [message.id for message in mine], mine.on_topic("news") == second.bit
    (['m2'], True)
    >>> mine[first.number]
    Traceback (most recent call last):
    hunet.model.errors.ProtocolError: message 0 has not been shown to this device: ...
    """

    __slots__ = (
        *("_alive", "_all", "_by_topic", "_counted", "_dead", "_first", "_indexed", "_keys", "_unchanged_until"),
        "shown",
    )

    def __init__(self, messages: Catalogue) -> None:
        self._all = messages
        self.shown: MessageSet = 0
        self._dead: MessageSet = 0
        self._unchanged_until = inf
        """Until when ``_dead`` is right; what is shown may have expired already."""
        self._indexed: MessageSet = 0
        """What is in ``_by_topic`` and ``_alive``, which are brought up to date when somebody asks."""
        self._keys: Callable[[Topic], tuple[Topic, ...]] = tags_of
        self._by_topic: dict[Topic, MessageSet] = {}
        self._first = 0
        self._alive: dict[Topic, MessageSet] = {}
        self._counted: MessageSet = 0
        """What had expired when ``_first`` was computed; -1 if more is indexed since."""

    def show(self, messages: MessageSet) -> None:
        """For drivers: these messages are about to be shown to the device."""
        self.shown |= messages
        everything = self._all
        # Some may be dead already; what is forgotten is dead at once.
        if self._unchanged_until > everything.next_expiry or everything.absent or everything.dead(-inf) & messages:
            self._unchanged_until = -inf

    def __len__(self) -> int:
        return self.shown.bit_count()

    def __getitem__(self, number: int) -> Message:
        if not self.shown >> number & 1:
            raise ProtocolError(
                f"message {number} has not been shown to this device: a protocol may look up what it has published or "
                "received, and nothing else"
            )
        return self._all[number]

    def __iter__(self) -> Iterator[Message]:
        return iter([self._all[number] for number in reversed(members(without(self.shown, self._all.absent)))])

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._all and bool(self.shown >> self._all.by_id(message_id).number & 1)

    def by_id(self, message_id: str) -> Message:
        """The message with this id."""
        return self[self._all.by_id(message_id).number]

    def index_by(self, keys: Callable[[Topic], tuple[Topic, ...]]) -> None:
        """For protocols, before anything is shown: what a message stands under in ``by_topic``; usually its tags."""
        self._keys = keys

    @property
    def by_topic(self) -> dict[Topic, MessageSet]:
        """All messages with each tag; tags in alphabetical order."""
        if self._indexed != self.shown:
            self._index()
        return self._by_topic

    def on_topic(self, topic: Topic) -> MessageSet:
        """All messages that match a subscription."""
        return self._all.on_topic(topic) & self.shown

    def dead(self, now: float) -> MessageSet:
        """All messages that have expired by now."""
        if now > self._unchanged_until:
            self._dead = self._all.dead(now) & self.shown
            self._unchanged_until = self._all.next_expiry
        return self._dead

    def alive(self, now: float) -> tuple[int, dict[Topic, MessageSet]]:
        """A number below which no message is of use any more, and all from there on by tag, counted from there.

        Where messages expire, sets of those that are alive are short once they are shifted down by that number. As
        everywhere, ``now`` never runs backwards.

        >>> everything = Catalogue()
        >>> for number in range(1000):
        ...     message = everything.add(f"m{number}", "news", publisher=0, created=number, ttl=10)
        >>> mine = DeviceCatalogue(everything)
        >>> mine.show((1 << 1000) - 1)
        >>> first, by_topic = mine.alive(now=1000)
        >>> first, bin(by_topic["news"])
        (990, '0b1111111111')
        """
        if self._indexed != self.shown:
            self._index()
        dead = self.dead(now)
        if dead != self._counted:
            self._counted = dead
            living = without(self.shown, dead)
            lowest = (living & -living).bit_length() - 1 if living else self.shown.bit_length()
            if lowest < self._first or lowest - self._first >= _STEP:
                self._first = lowest
                self._alive = {topic: on_it >> lowest for topic, on_it in self._by_topic.items()}
        return self._first, self._alive

    def _index(self) -> None:
        by_topic, alive, first = self._by_topic, self._alive, self._first
        topics = len(by_topic)
        for number in members(without(self.shown ^ self._indexed, self._all.absent)):
            bit = 1 << number
            for key in self._keys(self._all[number].topic):
                by_topic[key] = by_topic.get(key, 0) | bit
                alive[key] = alive.get(key, 0) | (bit >> first)
        if len(by_topic) > topics:  # devices that know the same topics have them in the same order, and share tables
            self._by_topic = {topic: by_topic[topic] for topic in sorted(by_topic)}
            self._alive = {topic: alive[topic] for topic in sorted(alive)}
        self._indexed, self._counted = self.shown, -1

    def newest(self, messages: MessageSet, most: int = 1) -> MessageSet:
        """Of a set, the ``most`` messages that were created last; of equal age, those numbered last."""
        return self._all.newest(messages & self.shown, most)

    def oldest(self, messages: MessageSet) -> MessageSet:
        """Of a set, the message that was created first, as a set of one; of equal age, the one numbered first."""
        return self._all.oldest(messages & self.shown)

    def soonest(self, messages: MessageSet, first: int = 0) -> MessageSet:
        """Of a set, the message that expires first, as a set of one; of equal expiry, the one numbered first.

        The numbers of the set count from ``first`` (see :meth:`alive`), that of the answer from 0.
        """
        return self._all.soonest(messages << first & self.shown)
