"""What the contact-driven protocols have in common: a device that stores, remembers and delivers.

A carrier tells each neighbour what it has seen, so that nobody sends it a message twice, and (where the protocol asks
for it) which topics it wants. It accepts a message once, delivers it to its own application once, and keeps it in a
:class:`Buffer` if the protocol says so. What is sent to whom is left to the protocol: :meth:`Carrier.offers`.

A message refused by a full buffer, or dropped by it later, still counts as seen and is never accepted again: taking
dropped messages back would let a small network drop the same messages for ever (B-SUB, "without duplication").
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hunet.model import (
    Interest,
    Message,
    MessageSet,
    Node,
    Parameters,
    Topic,
    doc,
    matches,
    members,
    without,
)
from hunet.protocols.buffer import RANKINGS, Buffer, Eviction
from hunet.protocols.capabilities import Demand
from hunet.protocols.carrier_packets import Carried, Have, Interests, Seen
from hunet.protocols.contract import Control, Data, Driver, Packet, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

__all__ = ["BufferParameters", "Carried", "Carrier", "Have", "Interests", "Seen"]


_STRIDE = 256
"""By how many messages the record of hops grows at least."""


class BufferParameters(Parameters, frozen=True):
    """How much a device can carry."""

    buffer: Annotated[int, doc("messages that a device can hold; none is unlimited", unit="messages")] | None = None
    max_hops: (
        Annotated[
            int,
            doc("a copy that has come this far is not stored any more; none is no limit", unit="hops", ge=1),
        ]
        | None
    ) = None
    evict: Annotated[Eviction, doc("which message goes when the buffer is full")] = "oldest"


class Carrier(Protocol):
    """A device that stores, remembers and delivers; ``offers`` decides what a neighbour may get."""

    Parameters: ClassVar[type[Parameters]] = BufferParameters
    tells_interests: ClassVar[bool] = True
    """Whether neighbours learn this device's topics."""

    saved: ClassVar[dict[str, Any]] = {
        "buffer": Buffer,
        "seen": MessageSet,
        "delivered": MessageSet,
        "hops": array,
        "known": dict[Node, MessageSet],
        "interests": dict[Node, tuple[Topic, ...]],
    }

    def __init__(self, node: Node, parameters: Any, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.buffer = Buffer(driver, parameters.buffer, RANKINGS[parameters.evict])
        self.seen: MessageSet = 0
        """What has come here and has not expired."""
        self._dead: MessageSet = 0
        self.delivered: MessageSet = 0
        self.hops = array("H")
        """For each message that has come here, by number: how many transmissions it took."""
        self.known: dict[Node, MessageSet] = {}
        """For each neighbour that has greeted: what it need not be sent."""
        self.interests: dict[Node, tuple[Topic, ...]] = {}
        self._greeting: tuple[Control, ...] = ()

    @classmethod
    def refuses(cls, interest: Interest) -> str:  # noqa: ARG003
        return ""

    # What a protocol decides --------------------------------------------------------------------------------------

    def greeting(self) -> tuple[Control, ...]:
        """What this device tells every neighbour first; made again when ``_greeting`` is empty."""
        seen = Seen(self.seen)
        return (Interests(tuple(sorted(self.topics))), seen) if self.tells_interests else (seen,)

    def offers(self, peer: Node, now: float) -> MessageSet:
        """The messages that this neighbour may get, without regard to what it has already seen."""
        raise NotImplementedError

    def lacking(self, peer: Node, known: MessageSet, now: float) -> MessageSet:
        """The messages that this neighbour may get and does not know; of them those that go first."""
        return without(self.offers(peer, now), known)

    def next_of(self, offers: MessageSet, peer: Node, room: int) -> MessageSet:  # noqa: ARG002
        """Of what a neighbour may get and lacks, what goes first if there is not room for all."""
        return offers if offers.bit_count() <= room else self.driver.messages.newest(offers, room)

    def packet(self, messages: MessageSet, peer: Node) -> Data:  # noqa: ARG002
        """The packet that takes messages to a neighbour."""
        return Carried(messages, self.next_hops(messages))

    def next_hops(self, messages: MessageSet) -> tuple[int, ...]:
        """The hops of these messages after one more transmission, in the order of ``Carried``."""
        hops = self.hops
        return tuple([hops[number] + 1 for number in members(messages)])

    def listeners(self, peer: Node) -> bool:
        """Whether other neighbours than this one may be about to send this device something."""
        return len(self.known) > (peer in self.known)

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:  # noqa: ARG002
        """Of messages that have just arrived, those to be stored, for others or for later."""
        return messages

    def wanted(self, topics: Iterable[Topic]) -> MessageSet:
        """Every message that matches one of these subscriptions."""
        messages = 0
        for topic in topics:
            messages |= self.driver.messages.on_topic(topic)
        return messages

    # The contract -------------------------------------------------------------------------------------------------

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:  # noqa: ARG002
        if self.driver.messages.dead(now) != self._dead:
            self._forget_the_dead(now)
        if not self._greeting:  # it stays the same until this device sees or wants something new
            self._greeting = self.greeting()
        return self._greeting

    def link_down(self, peer: Node, now: float) -> None:  # noqa: ARG002
        self.known.pop(peer, None)
        self.interests.pop(peer, None)

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._tell_interests()
        self._deliver(self.buffer.held(now))

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._tell_interests()

    def publish(self, message: Message, now: float) -> None:
        self._see(message.bit)
        self.delivered |= message.bit  # a device never delivers its own publications
        self._store(message.bit, now)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Seen):
            self.known[peer] = packet.messages
            # Most who meet have met the same messages: nothing to offer, and one comparison says so.
            if packet.messages != self.seen and self.lacking(peer, packet.messages, now):
                self.driver.wake(peer)
        elif isinstance(packet, Have):
            if peer in self.known:
                self.known[peer] |= packet.messages
        elif isinstance(packet, Data):
            self._accept(peer, packet, now)
        elif isinstance(packet, Interests):
            self.interests[peer] = packet.topics
            if peer in self.known:  # it wants something new; at the greeting, what it has seen comes next
                self.driver.wake(peer)
        else:
            self.receive_other(peer, packet)

    def receive_other(self, peer: Node, packet: Packet) -> None:
        """A control packet has arrived that not all carriers know."""

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        known = self.known.get(peer)
        if known is None:  # it has not greeted yet
            return None
        offers = self.lacking(peer, known, now)
        return self.packet(self.next_of(offers, peer, room), peer) if offers else None

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:  # noqa: ARG002
        # What the link lost is not tried again in this contact.
        if peer in self.known:
            self.known[peer] |= packet.messages

    def surrender(self, among: MessageSet, now: float) -> MessageSet:
        lowest = self.buffer.lowest(among & self.buffer.held(now))
        for number in members(lowest):
            self.buffer.remove(self.driver.messages[number], "overflow")
        return lowest

    def demand(self, message: Message, now: float) -> Demand:  # noqa: ARG002
        return Demand(sum([1 << peer for peer, topics in self.interests.items() if matches(topics, message.topic)]))

    # The steps ----------------------------------------------------------------------------------------------------

    def _accept(self, peer: Node, packet: Data, now: float) -> MessageSet:
        """Take in what a neighbour has sent, each message once; returns those that are new and have not expired."""
        assert isinstance(packet, Carried)
        if peer in self.known:
            self.known[peer] |= packet.messages
        dead = self.driver.messages.dead(now)
        seen = packet.messages & (self.seen | dead if dead else self.seen)
        new = packet.messages ^ seen if seen else packet.messages
        if not new:
            return 0
        self._see(new)
        if self.listeners(peer):  # they could send it too: let them know that there is no need
            self.driver.broadcast(Have(new), but=peer)
        mine, limit, far = self.hops, self.parameters.max_hops, 0
        for number, hops in zip(members(packet.messages), packet.hops, strict=True):
            if not seen or new >> number & 1:
                mine[number] = hops
                if limit is not None and hops >= limit:
                    far |= 1 << number
        self._deliver(new)
        keep = self.keeps(new, packet)
        if far:
            keep = without(keep, far)
        if keep:
            self._store(keep, now)
        return new

    def _forget_the_dead(self, now: float) -> None:
        """Nobody sends what has expired: there is no need to remember, and to tell, that it came."""
        self._dead = dead = self.driver.messages.dead(now)
        if self.seen & dead:
            self.seen = without(self.seen, dead)
            self._greeting = ()

    def _see(self, new: MessageSet) -> None:
        self.seen |= new
        self._greeting = ()
        missing = new.bit_length() - len(self.hops)
        if missing > 0:
            self.hops.extend([0] * max(missing, _STRIDE))

    def _store(self, messages: MessageSet, now: float) -> None:
        stayed = self.buffer.add(messages, now)
        for neighbour, known in self.known.items():
            if stayed & known != stayed:
                self.driver.wake(neighbour)

    def _deliver(self, messages: MessageSet) -> None:
        wanted = messages & self.wanted(self.topics)
        mine = without(wanted, self.delivered) if wanted else 0
        if mine:
            self.delivered |= mine
            for message in map(self.driver.messages.__getitem__, members(mine)):
                if message.publisher != self.node:  # it may have come back after a crash
                    self.driver.deliver(message, self.hops[message.number])

    def _tell_interests(self) -> None:
        self._greeting = ()
        if self.tells_interests and self.known:
            self.driver.broadcast(Interests(tuple(sorted(self.topics))))
