"""What routers of one message to one receiver have in common here, where a message has subscribers.

The routers of the literature (epidemic, Spray and Wait, PRoPHET, MaxProp, BUBBLE Rap) and of The ONE send a message to
one destination. Here its destinations are the subscribers of its topic; with a topic for each device, to which only
that device subscribes, both are the same. Some habits of The ONE's hosts are parameters, so that its scenarios can be
run as they were: whether a copy that was dropped is taken again, in which order messages go, and whether a receiver
carries what it wanted itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from hunet.model import ConfigurationError, MessageSet, Node, NodeSet, Parameters, Topic, doc, members, without
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, number_size, texts_size, widths
from hunet.protocols.capabilities import Experiment
from hunet.protocols.carrier import BufferParameters, Carrier, Interests
from hunet.protocols.contract import Control, Data, Driver, Packet

if TYPE_CHECKING:
    from random import Random


class RouterParameters(BufferParameters, frozen=True):
    """What a router does with copies."""

    again: Annotated[
        Literal["never", "next-contact", "at-once"],
        doc("when a copy that was dropped for lack of room may come again; The ONE: at-once (on limited links)"),
    ] = "never"
    subscribers_carry: Annotated[
        bool, doc("whether a subscriber passes on what it wanted itself; The ONE's receivers do not")
    ] = True


class Dropped(Control, frozen=True, gc=False):
    """Messages that the sender has let go for lack of room, and would take again."""

    messages: MessageSet


class Router(Carrier):
    """A carrier that may take again what it has dropped."""

    Parameters: ClassVar[type[Parameters]] = RouterParameters

    @classmethod
    def prepare(cls, parameters: Any, experiment: Experiment) -> dict[str, Any]:
        if parameters.again == "at-once" and not experiment.limited:
            raise ConfigurationError(
                "again = at-once needs links with a rate, for without one devices would never stop: use next-contact"
            )
        return {}

    @classmethod
    def prepare_live(cls, parameters: Any, storage: int) -> Any:  # noqa: ARG003
        if parameters.again == "at-once":
            raise ConfigurationError("again = at-once: links of a node have no rate; set next-contact or never")
        return parameters

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:
        kept = super().keeps(messages, packet)
        return kept if self.parameters.subscribers_carry else without(kept, self.wanted(self.topics))

    def receive_other(self, peer: Node, packet: Packet) -> None:
        if isinstance(packet, Dropped) and peer in self.known:
            self.known[peer] = without(self.known[peer], packet.messages)
            self.driver.wake(peer)

    def surrender(self, among: MessageSet, now: float) -> MessageSet:
        gone = super().surrender(among, now)
        if gone:
            self.forget(gone)
        return gone

    def has_for(self, peer: Node, now: float) -> bool:
        known = self.known.get(peer)
        wanted = self.wanted(self.interests.get(peer, ()))
        return known is not None and bool(without(self.offers(peer, now), known) & wanted)

    def forget(self, messages: MessageSet) -> None:
        """Copies were dropped for lack of room: what was for this device is not needed again, the rest may be."""
        if self.parameters.again == "never":
            return
        lost = without(messages, self.delivered & self.wanted(self.topics))
        self.seen = without(self.seen, lost)
        self._greeting = ()
        if lost and self.parameters.again == "at-once":
            self.driver.broadcast(Dropped(lost))

    def _store(self, messages: MessageSet, now: float) -> None:
        if self.buffer.capacity is None:
            super()._store(messages, now)
            return
        before = self.buffer.held(now)
        super()._store(messages, now)
        gone = without(before | messages, self.buffer.held(now))
        if gone:
            self.forget(gone)


class QueueParameters(RouterParameters, frozen=True):
    """What a router without an order of its own does with copies."""

    order: Annotated[
        Literal["newest", "random"],
        doc("what goes first on a slow link; random, as in The ONE: what the neighbour wants, then any"),
    ] = "newest"


class QueueRouter(Router):
    """A router that has no order of its own for messages."""

    Parameters: ClassVar[type[Parameters]] = QueueParameters

    def greeting(self) -> tuple[Control, ...]:
        packets = super().greeting()
        unsaid = self.parameters.order == "random" and not self.tells_interests
        return (Interests(tuple(sorted(self.topics))), *packets) if unsaid else packets

    def next_of(self, offers: MessageSet, peer: Node, room: int) -> MessageSet:
        if self.parameters.order == "newest" or offers.bit_count() <= room:
            return super().next_of(offers, peer, room)
        wanted = offers & self.wanted(self.interests.get(peer, ()))
        return 1 << self.rng.choice(members(wanted or offers))


class Wants(msgspec.Struct, frozen=True, gc=False):
    """What a device wants, and since when; of changes at one instant, which."""

    since: tuple[float, int]
    topics: tuple[Topic, ...]


class Directory(Control, frozen=True, gc=False):
    """What the sender knows of who wants what, itself included."""

    wants: dict[Node, Wants]

    @property
    def size(self) -> int:
        many = len(self.wants)
        entries = sum([number_size(each.since[1]) + texts_size(each.topics) for each in self.wants.values()])
        return KIND_BYTES + ids_size(many) + count_size(many) + many * (widths(many, 0).node + 8) + entries


class DestinationRouter(Router):
    """A router that knows who wants what, from hand to hand: the subscribers are the destinations of a message.

    What a device wants travels with what is known of the ways to it. A newer word replaces an older one.
    """

    saved: ClassVar[dict[str, Any]] = {
        "wants": dict[Node, Wants],
        "wanting": dict[tuple[Topic, ...], NodeSet],
    }

    def __init__(self, node: Node, parameters: RouterParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.wants: dict[Node, Wants] = {node: Wants((0.0, 0), ())}
        self.wanting: dict[tuple[Topic, ...], NodeSet] = {}
        """The other devices by what they want: many want the same."""

    def destinations(self, messages: MessageSet) -> dict[Node, MessageSet]:
        """For each other device that is known to want some of these messages, which."""
        found: dict[Node, MessageSet] = {}
        for topics, nodes in self.wanting.items():
            matching = messages & self.wanted(topics)
            if matching:
                found |= dict.fromkeys(members(nodes), matching)
        return found

    def wanted_by(self, nodes: NodeSet) -> set[Topic]:
        """What some of these devices want."""
        found: set[Topic] = set()
        for topics, who in self.wanting.items():
            if who & nodes:
                found.update(topics)
        return found

    def ways(self, now: float) -> tuple[Control, ...]:
        """What this device tells a neighbour of its ways to others."""
        raise NotImplementedError

    def first(self, messages: MessageSet, peer: Node, now: float) -> MessageSet:
        """Of messages for a neighbour that it does not want itself, the one to be sent first."""
        raise NotImplementedError

    # The contract -------------------------------------------------------------------------------------------------

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self.encounter(peer, now)
        *packets, seen = super().link_up(peer, now)  # what was seen comes last: it starts the exchange of messages
        return (*packets, Directory(dict(self.wants)), *self.ways(now), seen)

    def encounter(self, peer: Node, now: float) -> None:
        """A contact begins: learn from it, before anything is said."""

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._note_interests(now)

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._note_interests(now)

    def _note_interests(self, now: float) -> None:
        mine = Wants((now, self.wants[self.node].since[1] + 1), tuple(sorted(self.topics)))
        self.wants[self.node] = mine
        if self.known:
            self.driver.broadcast(Directory({self.node: mine}))

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Directory):
            for node, wants in packet.wants.items():
                known = self.wants.get(node)
                if known is None or (known.since < wants.since and node != self.node):
                    self.wants[node] = wants
                    if known is not None:
                        self._take_back(node, known.topics)
                    self.wanting[wants.topics] = self.wanting.get(wants.topics, 0) | 1 << node
        else:
            super().receive(peer, packet, now)

    def _take_back(self, node: Node, topics: tuple[Topic, ...]) -> None:
        self.wanting[topics] &= ~(1 << node)
        if not self.wanting[topics]:
            del self.wanting[topics]

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        known = self.known.get(peer)
        if known is None:
            return None
        offers = without(self.offers(peer, now), known)
        if not offers:
            return None
        if offers.bit_count() <= room:
            return self.packet(offers, peer)
        wanted = offers & self.wanted(self.interests.get(peer, ()))
        if wanted:  # deliveries go before copies
            return self.packet(self.driver.messages.newest(wanted, room), peer)
        return self.packet(self.first(offers, peer, now), peer)
