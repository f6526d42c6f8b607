"""What travels among brokers and users, once it is settled who is which: subscriptions, messages, hand-over.

Y. Zhao, J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks", sections IV.B and IV.B.1 to 4: message
replication and buffer management. Who becomes a broker is decided elsewhere: by ``social_election``, or by lot
(``baselines``).

Theory of operation. Two devices in contact tell each other what they hold, and then their *standing*: their role, the
subscriptions that they register, and what they have seen of that. Then

- a user registers its topics with a broker, hands over what it has published (one copy, to the first broker), and gets
  what it wants;
- brokers keep the freshest registration of each subscription, deliver what the other itself wants, and replicate the
  rest to each other, the most useful first;
- users give each other what they have published and the other wants (in the paper, without
  ``direct_delivery``, they have nothing to tell each other).

A message's utility at the next hop is its matching score over its age plus the age of the subscription there (Eqs. 1
and 2). *Naive* replication sends everything in that order, what matches nothing last and newest first. *Delegation*
sends a message only for a utility above all that it was forwarded with before, its *mark*. The same utility ranks a
broker's buffer; when that is full the lowest goes.

A broker that becomes a user forgets foreign subscriptions and keeps its messages, to hand them to brokers it meets.

How it is fast. On one topic the newest message is always the most useful, so what a neighbour may get is kept in one
queue for each topic, in order of age, and the best of all is among their heads. A poll looks at as many heads as there
are topics, and at every candidate once in a contact, however long it lasts.
"""

from __future__ import annotations

from bisect import insort
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from hunet.model import (
    Interest,
    Message,
    MessageSet,
    Node,
    Parameters,
    Topic,
    doc,
    matches,
    matching_score,
    members,
    set_of,
    without,
)
from hunet.protocols.byte_streams import KIND_BYTES, ids_size, texts_size
from hunet.protocols.capabilities import Demand
from hunet.protocols.carrier import Have, Seen
from hunet.protocols.contract import Control, Data, Driver, Packet, Protocol
from hunet.systems.social_election.buffer import Copy, Entry, UtilityBuffer
from hunet.systems.social_election.subscription_table import Matches, SubscriptionTable, utility

if TYPE_CHECKING:
    from random import Random

Role = Literal["user", "broker"]
USER: Role = "user"
BROKER: Role = "broker"

SHORTEST, LONGEST = 100.0, 6 * 3600.0
"""Limits of a window that follows the pace of meetings, in seconds; the shortest is the paper's."""

_FORGOTTEN, _DAY = 10, 86_400.0
"""After so many windows, and a day at least, a broker forgets a subscription that nobody has renewed: nobody says when
one ends. With less than a day delegation delivers 5 % less on Cambridge, where people are apart for a night."""
_DELIVER, _PASS_ON, _LEFT_OVER = 0, 1, 2
"""What goes first: to those who want it; replication, or own publications; messages of an earlier term as broker."""


Rank = tuple[int, float, float, int]
"""What is sent first is what ranks highest: tier, utility, when it was created, number."""
_NOTHING: Rank = (-3, 0.0, 0.0, 0)


class SwarmParameters(Parameters, frozen=True):
    """What users and brokers do with messages and subscriptions."""

    window: (
        Annotated[
            float,
            doc(
                "how long encounters count; none: it follows the pace of meetings, from 100 s to 6 h",
                symbol="T_w",
                unit="s",
                source="V.B",
                gt=0,
            ),
        ]
        | None
    ) = None
    replication: Annotated[
        Literal["naive", "delegation"],
        doc("brokers copy everything, most useful first; or only for an ever higher utility", source="IV.B.2, 3"),
    ] = "naive"
    buffer: (
        Annotated[int, doc("messages that a device can hold; none is unlimited", unit="messages", source="V.A", ge=1)]
        | None
    ) = 100
    forget_after: (
        Annotated[
            float,
            doc(
                "brokers drop subscriptions not renewed for so long; none: ten windows, and a day at least",
                unit="s",
                gt=0,
            ),
        ]
        | None
    ) = None
    direct_delivery: Annotated[bool, doc("users give users what they want, without a broker")] = True


class Designation(Control, frozen=True, gc=False):
    """The sender's role by now, what it wants the other to become, if anything, and what it has for it."""

    role: Role
    become: Role | None
    holds: MessageSet

    @property
    def size(self) -> int:
        return KIND_BYTES + 2 + (self.become is not None) + ids_size(self.holds.bit_count())

    @property
    def seen_bytes(self) -> int:
        return ids_size(self.holds.bit_count())


class Standing(Control, frozen=True, gc=False):
    """What a device is to the other in this contact, and all that the other needs to serve it."""

    role: Role
    topics: tuple[Topic, ...]
    """What its own application wants."""
    subscriptions: dict[Topic, float]
    """What it registers: a user its own topics, now; a broker all that it knows."""
    seen: MessageSet
    """What it need not be sent of what the other holds."""

    @property
    def size(self) -> int:
        texts = texts_size(self.topics) + texts_size(self.subscriptions)
        return KIND_BYTES + 1 + texts + 8 * len(self.subscriptions) + ids_size(self.seen.bit_count())

    @property
    def seen_bytes(self) -> int:
        return ids_size(self.seen.bit_count())


class Dispatch(Data, frozen=True, gc=False):
    """A message on its way."""

    hops: int
    """Transmissions behind it, this one included."""
    mark: float
    """The highest utility that it was forwarded with."""
    custody: bool
    """Whether the sender deletes its copy: it has no other business with the message than to hand it to a broker."""


class Offer:
    """Messages on one topic that a neighbour may get, in order of age."""

    __slots__ = ("climbing", "custody", "entries", "matches", "tier")

    saved: ClassVar[dict[str, Any]] = {
        "tier": int,
        "matches": tuple[tuple[float, float], ...],
        "custody": bool,
        "climbing": bool,
        "entries": list[tuple[float, int]],
    }

    def __init__(self, tier: int, matches: Matches, *, custody: bool = False, climbing: bool = False) -> None:
        self.tier = tier
        self.matches = matches
        """The subscriptions stored at the neighbour that they match."""
        self.custody = custody
        self.climbing = climbing
        """Whether each goes only for a utility above its mark."""
        self.entries: list[Entry] = []


_NO_SUBSCRIPTIONS = SubscriptionTable()


class SwarmLink:
    """A neighbour."""

    __slots__ = ("before", "exchanged", "holds", "introduced", "offers", "open", "role", "seen", "table", "topics")

    saved: ClassVar[dict[str, Any]] = {
        "introduced": bool,
        "open": bool,
        "role": Role,
        "topics": tuple[Topic, ...],
        "table": SubscriptionTable,
        "seen": MessageSet,
        "told": MessageSet,
        "offers": dict[tuple[Topic, bool], Offer | None],
    }

    def __init__(self, before: MessageSet) -> None:
        self.before = before
        """What this device had seen when the contact began."""
        self.holds: MessageSet = 0
        """What the neighbour held then, and what it says that it has got since."""
        self.introduced = False
        """Whether it knows this device's standing."""
        self.open = False
        """Whether this device knows its standing."""
        self.role: Role = USER
        self.topics: tuple[Topic, ...] = ()
        self.table = _NO_SUBSCRIPTIONS
        """The subscriptions that it stored before the two exchanged them; of a user, its own."""
        self.seen: MessageSet = 0
        """What it had seen of what this device held then."""
        self.exchanged: set[int] = set()
        """What it has been sent, has sent or has got elsewhere since. Few, while numbers may be large: not as bits."""
        self.offers: dict[tuple[Topic, bool], Offer | None] = {}

    @property
    def told(self) -> MessageSet:
        """The same as it is saved."""
        return set_of(self.exchanged)

    @told.setter
    def told(self, messages: MessageSet) -> None:
        self.exchanged = set(members(messages))

    def restored(self) -> None:
        self.before = self.holds = 0


class BrokerSwarm(Protocol):
    """A device that is a user or a broker; subclasses decide which, by :meth:`become`."""

    Parameters: ClassVar[type[Parameters]] = SwarmParameters
    exchanges_once: ClassVar[bool] = True  # subscriptions are exchanged when a contact begins

    saved: ClassVar[dict[str, Any]] = {
        "role": Role,
        "table": SubscriptionTable,
        "buffer": UtilityBuffer,
        "seen": MessageSet,
        "delivered": set[int],
        "links": dict[Node, SwarmLink],
        "_under_way": set[int],
        "started": float,
        "_role_since": float,
        "_duty": float,
        "_terms": int,
        "_registered": float,
        "_score": float,
        "_brokered": int,
    }

    @classmethod
    def refuses(cls, interest: Interest) -> str:  # noqa: ARG003
        return ""

    @classmethod
    def prepare_live(cls, parameters: Any, storage: int) -> Any:  # noqa: ARG003
        """Two people who stay together may both stay users for ever: live, they need no broker between them."""
        return msgspec.structs.replace(parameters, direct_delivery=True)

    def __init__(self, node: Node, parameters: Any, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self._direct: bool = parameters.direct_delivery
        self._forget_after: float | None = parameters.forget_after
        self.role: Role = USER
        self.table = SubscriptionTable()
        """A broker's subscriptions, foreign and own; users have none."""
        self.buffer = UtilityBuffer(driver, parameters.buffer, self.table)
        self.seen: MessageSet = 0
        self._dead: MessageSet = 0
        self.delivered: set[int] = set()
        self.links: dict[Node, SwarmLink] = {}
        self._under_way: set[int] = set()
        """Messages that are on their way into another's custody: no second broker gets them meanwhile."""
        self.shortest: float = SHORTEST if parameters.window is None else parameters.window
        """T_w, or its lower limit where it follows the pace of meetings."""
        self.started = 0.0
        self._role_since = 0.0
        self._duty = 0.0
        self._terms = 0
        self._sorted_topics: tuple[Topic, ...] | None = None
        self._registered = -inf
        """When a broker registered its own topics with itself."""
        self._scores: dict[Topic, float] = {}
        self._score = 0.0
        self._brokered = 0

    def start(self, now: float) -> None:
        self.started = self._role_since = now
        self.driver.role(self.role)

    # Roles ----------------------------------------------------------------------------------------------------------

    def become(self, role: Role, now: float) -> None:
        """Change the role; neighbours hear of it, and open links go on by the new one."""
        if role == self.role:
            return
        self._duty, self._terms = self._served(now)
        self.role, self._role_since = role, now
        self.driver.role(role)
        # A user forgets foreign subscriptions and keeps its messages; a broker begins with its own (section IV.B).
        self._registered = -inf
        if role == BROKER:
            self._register_own(now)
        else:
            self.table.drop_before(inf)
        for peer, link in self.links.items():
            link.offers = {}
            if link.open:
                self._introduce(peer, link, now)
                if role == USER:  # a new broker hears from each neighbour again, and serves it then
                    self._exchange(peer, link, now)

    # Applications ---------------------------------------------------------------------------------------------------

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._scores.clear()
        self._sorted_topics, self._registered = None, -inf
        if self.role == BROKER:
            self.table.refresh({topic: now})
        self.buffer.expire(now)
        for _, number in sorted(entry for entries in self.buffer.by_topic.values() for entry in entries):
            copy = self.buffer.copies[number]
            self._deliver(copy.message, copy.hops)

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._scores.clear()
        self._sorted_topics, self._registered = None, -inf

    def publish(self, message: Message, now: float) -> None:
        self.seen |= message.bit
        self._store(Copy(message), now)

    # Contacts -------------------------------------------------------------------------------------------------------

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:  # noqa: ARG002
        self.links[peer] = SwarmLink(self.seen)
        return ()

    def link_down(self, peer: Node, now: float) -> None:  # noqa: ARG002
        self.links.pop(peer, None)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        link = self.links.get(peer)
        if link is None:
            return
        if isinstance(packet, Dispatch):
            self._accept(peer, link, packet, now)
        elif isinstance(packet, Have):
            # It has just got what it did not hold when the contact began: who had seen that by then says so now, if it
            # might be sent it again; else should it become a broker.
            link.holds |= packet.messages
            numbers = members(packet.messages)
            known = [number for number in numbers if link.before >> number & 1 and self._may_get(link, number)]
            if known:
                self.driver.send(peer, Seen(packet.messages if len(known) == len(numbers) else set_of(known)))
            link.exchanged.update(numbers)
        elif isinstance(packet, Seen):
            link.exchanged.update(members(packet.messages))
        elif isinstance(packet, Standing):
            self._hear_standing(peer, link, packet, now)

    def reach(self, now: float) -> float:  # noqa: ARG002
        """How far back this device's window reaches; at most, where it follows the pace of meetings."""
        window: float = LONGEST if self.parameters.window is None else self.parameters.window
        return window

    def _may_get(self, link: SwarmLink, number: int) -> bool:
        """Whether this neighbour may send a message that this device has seen."""
        if self.role == BROKER:
            return True
        messages = self.driver.messages
        if not messages.shown >> number & 1 or (link.role == USER and not self._direct):
            return False
        return self._wants(messages[number].topic) > 0

    def role_known(self, peer: Node, link: SwarmLink, now: float) -> None:
        """A neighbour's role is known for the first time in this contact, or has changed."""

    def holds(self, now: float) -> MessageSet:
        """What this device tells a neighbour first, to hear what of it need not be sent."""
        self.buffer.expire(now)
        return self.buffer.held

    def standing(self, link: SwarmLink, now: float) -> Standing:
        """What this device tells a neighbour; users who have nothing to exchange need no more."""
        topics = self._wanted_topics()
        dead = self.driver.messages.dead(now)
        if dead != self._dead:  # nobody sends what has expired
            self.seen, self._dead = without(self.seen, dead), dead
        if self.role == link.role == USER and not self._direct:
            return Standing(self.role, topics, {}, 0)
        seen = self.seen & link.holds
        if self.role == USER:
            return Standing(self.role, topics, self._own(now), seen)
        self._register_own(now)
        after = self._forget_after
        self.table.drop_before(now - (max(_FORGOTTEN * self.reach(now), _DAY) if after is None else after))
        return Standing(self.role, topics, self.table.times, seen)

    def _introduce(self, peer: Node, link: SwarmLink, now: float) -> None:
        link.introduced = True
        self.driver.send(peer, self.standing(link, now))

    def _hear_standing(self, peer: Node, link: SwarmLink, packet: Standing, now: float) -> None:
        promoted = link.open and packet.role == BROKER != link.role
        changed = not link.open or packet.role != link.role
        link.open, link.role, link.topics = True, packet.role, packet.topics
        link.seen = packet.seen
        if changed:
            self.role_known(peer, link, now)
        # Utilities are by the tables that the two had before they met: each tells its own, and only then takes over the
        # other's. A message so goes to where a subscription is fresher: back along the way that it came.
        if promoted or not link.introduced:
            self._introduce(peer, link, now)
        link.table = SubscriptionTable(packet.subscriptions) if packet.subscriptions else _NO_SUBSCRIPTIONS
        if self.role == BROKER:
            self._register_own(now)
            self.table.refresh(packet.subscriptions)
        self._exchange(peer, link, now)

    # What a neighbour may get ---------------------------------------------------------------------------------------

    def _exchange(self, peer: Node, link: SwarmLink, now: float) -> None:
        """Put all that the neighbour may get and has not seen into queues."""
        link.offers = {}
        if self.role == link.role == USER and not self._direct:
            return
        self.buffer.expire(now)
        copies = self.buffer.copies
        missing = without(self.buffer.held, link.seen)
        if missing and link.role == USER:  # it gets what it wants, and nothing else: few messages of many
            wanted = 0
            for topic in link.topics:
                wanted |= self.driver.messages.on_topic(topic)
            missing &= wanted
        if not missing:
            return
        offers, user, node = link.offers, self.role == USER, self.node
        for number in members(missing):
            copy = copies[number]
            message = copy.message
            key = (message.topic, user and message.publisher == node)
            # Most contacts lack many messages on few topics: the queue is looked up here, and made once.
            offer = offers[key] if key in offers else self._offer(link, message)
            if offer is not None:
                offer.entries.append(copy.entry)
        filled = False
        for offer in offers.values():
            if offer is not None and offer.entries:
                offer.entries.sort()
                filled = True
        if filled:
            self.driver.wake(peer)

    def _offer_to_all(self, copy: Copy, but: Node | None = None) -> None:
        """Let neighbours have a message that has just come in."""
        message = copy.message
        for peer, link in self.links.items():
            if link.open and peer != but:
                offer = self._offer(link, message)
                if offer and message.number not in link.exchanged and not link.seen >> message.number & 1:
                    insort(offer.entries, copy.entry)
                    self.driver.wake(peer)

    def _offer(self, link: SwarmLink, message: Message) -> Offer | None:
        """The queue for such messages (a user's own publications have their own), or None if none go there."""
        own = self.role == USER and message.publisher == self.node
        key = (message.topic, own)
        if key in link.offers:
            return link.offers[key]
        offer, worth = None, link.table.matches(message.topic)
        if self.role == USER and link.role == BROKER:
            offer = Offer(_PASS_ON if own else _LEFT_OVER, worth, custody=True)
        elif (self.role == BROKER or self._direct) and matches(link.topics, message.topic):
            offer = Offer(_DELIVER, worth)
        elif self.role == link.role == BROKER:
            climbing = self.parameters.replication == "delegation"
            if worth or not climbing:
                offer = Offer(_PASS_ON, worth, climbing=climbing)
        link.offers[key] = offer
        return offer

    # Transmission ---------------------------------------------------------------------------------------------------

    def poll(self, peer: Node, now: float, room: int) -> Data | None:  # noqa: ARG002
        link = self.links.get(peer)
        if link is None or not link.offers:
            return None
        self.buffer.expire(now)
        best, best_rank = None, _NOTHING
        for offer in link.offers.values():
            if offer and offer.entries:
                rank = self._head(offer, link.exchanged, now)
                if rank > best_rank:
                    best, best_rank = offer, rank
        if best is None:
            return None
        number = best.entries.pop()[1]
        link.exchanged.add(number)  # what the link loses is not tried again in this contact
        if best.custody:
            self._under_way.add(number)
        copy = self.buffer.copies[number]
        return Dispatch(1 << number, copy.hops + 1, best_rank[1] if best.climbing else copy.mark, best.custody)

    def _head(self, offer: Offer, exchanged: set[int], now: float) -> Rank:
        """The rank of the best message in a queue; what cannot go any more leaves it on the way."""
        copies, entries = self.buffer.copies, offer.entries
        while entries:
            created, number = entries[-1]
            copy = copies.get(number)
            if copy is not None and number not in exchanged and not (offer.custody and number in self._under_way):
                worth = utility(offer.matches, created, now)
                if not offer.climbing or worth > copy.mark:
                    return (-offer.tier, worth, created, number)
            entries.pop()  # for the rest of the contact: marks only rise, and utilities only fall
        return _NOTHING

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:  # noqa: ARG002
        assert isinstance(packet, Dispatch)
        number = packet.messages.bit_length() - 1
        copy = self.buffer.copies.get(number)
        if packet.custody:
            self._under_way.discard(number)
            if arrived:
                self.buffer.remove(number, "handover")
            elif copy:
                self._offer_to_all(copy, but=peer)
        elif arrived and copy and packet.mark > copy.mark:
            copy.mark = packet.mark

    def surrender(self, among: MessageSet, now: float) -> MessageSet:
        self.buffer.expire(now)
        lowest = self.buffer.lowest(among, now)
        if lowest is None:
            return 0
        self.buffer.remove(lowest, "overflow")
        return 1 << lowest

    def _accept(self, peer: Node, link: SwarmLink, packet: Dispatch, now: float) -> None:
        number = packet.messages.bit_length() - 1
        link.exchanged.add(number)
        message = self.driver.messages[number]
        known = self.seen >> number & 1
        # What comes into custody is kept, also if this device has just become a user: nobody else may have it.
        keeps = number not in self.buffer.copies if packet.custody else self.role == BROKER and not known
        wanted = not known and self._wants(message.topic) > 0
        if message.expires < now or not (keeps or wanted):
            return
        self.seen |= packet.messages
        for other, beside in self.links.items():
            # It could send it too; or it may have seen it, and would be sent it again.
            if other != peer and (beside.role == BROKER or (keeps and self._offer(beside, message))):
                self.driver.broadcast(Have(packet.messages), but=peer)
                break
        if wanted:
            self._deliver(message, packet.hops)
        if keeps:
            self._brokered += self.role == BROKER
            self._store(Copy(message, packet.hops, packet.mark), now, but=peer)

    # Steps ----------------------------------------------------------------------------------------------------------

    def _wanted_topics(self) -> tuple[Topic, ...]:
        if self._sorted_topics is None:
            self._sorted_topics = tuple(sorted(self.topics))
        return self._sorted_topics

    def _register_own(self, now: float) -> None:
        """A broker stores its own topics, as of now."""
        if self._registered != now:
            self._registered = now
            self.table.refresh(self._own(now))

    def _own(self, now: float) -> dict[Topic, float]:
        """The device's own topics, registered now."""
        return dict.fromkeys(self._wanted_topics(), now)

    def _wants(self, topic: Topic) -> float:
        """How well messages of a topic match what the application wants."""
        score = self._scores.get(topic)
        if score is None:
            score = self._scores[topic] = max([matching_score(wanted, topic) for wanted in self.topics], default=0.0)
        return score

    def _deliver(self, message: Message, hops: int) -> None:
        score = self._wants(message.topic)
        if score and message.number not in self.delivered and message.publisher != self.node:
            self.delivered.add(message.number)  # nobody gets an own message, not even after a crash
            self._score += score
            self.driver.deliver(message, hops)

    def _store(self, copy: Copy, now: float, but: Node | None = None) -> None:
        self.buffer.expire(now)
        if self.buffer.add(copy, now):
            self._offer_to_all(copy, but)

    def _settled_time(self, now: float) -> float:
        """Seconds in the present role, without those of the first window, in which all is still in flux."""
        return max(0.0, now - max(self._role_since, self.started + self.shortest))

    def _served(self, now: float) -> tuple[float, int]:
        """Seconds as a broker so far, without those of the first window, and in how many terms."""
        settled = self._settled_time(now) if self.role == BROKER else 0.0
        return self._duty + settled, self._terms + (settled > 0)

    def demand(self, message: Message, now: float) -> Demand:
        near = sum([1 << peer for peer, link in self.links.items() if matches(link.topics, message.topic)])
        return Demand(near, utility(self.table.matches(message.topic), message.created, now))

    def observations(self, now: float) -> dict[str, float]:
        duty, terms = self._served(now)
        return {
            "score": self._score,
            "brokered": self._brokered,
            "duty": duty,
            "terms": terms,
            "watched": max(0.0, now - self.started - self.shortest),
        }
