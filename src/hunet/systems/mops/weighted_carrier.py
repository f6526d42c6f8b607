"""What the systems with weighted interests have in common: a neighbour says how much it wants each topic.

MOPS's general rule (section II.C): of two who meet, each sends its interest list, and the other transmits the events
that match, in decreasing order of weight. Of equal weights the message that expires first goes first.

While it trains, a device only records contacts: it does not greet. When training is over it greets everybody near.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Message, MessageSet, Node, Topic, matches, without
from hunet.protocols.byte_streams import KIND_BYTES, count_size, text_size
from hunet.protocols.capabilities import Demand
from hunet.protocols.carrier import Carrier, Seen
from hunet.protocols.contract import Control, Data, Driver, Packet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random


class WantedTopics(Control, frozen=True, gc=False):
    """The interest list {(X, w)} of the sender, highest weight first, and the weight of all topics not in it.

    A topic of weight 0 is in it so that it does not get the weight of the rest: the sender takes none of it.
    """

    weights: tuple[tuple[Topic, float], ...]
    default: float = 0.0

    @property
    def size(self) -> int:
        return KIND_BYTES + weights_size(self.weights) + 8


@lru_cache(1 << 12)
def weights_size(weights: tuple[tuple[Topic, float], ...]) -> int:
    """Bytes of a weighted list."""
    return count_size(len(weights)) + sum([text_size(topic) for topic, _ in weights]) + 8 * len(weights)


def by_weight(weights: Mapping[Topic, float], default: float = 0.0, refused: Iterable[Topic] = ()) -> WantedTopics:
    """A list in order: of what has no weight only the topics that are refused.

    >>> by_weight({"sports": 0.5, "arts": 1.0, "news": 0.0})
    WantedTopics(weights=(('arts', 1.0), ('sports', 0.5)), default=0.0)
    >>> by_weight({"sports": 0.5}, 0.1, refused=["news", "sports"])
    WantedTopics(weights=(('sports', 0.5), ('news', 0.0)), default=0.1)
    """
    listed = {**dict.fromkeys(refused, 0.0), **{topic: weight for topic, weight in weights.items() if weight > 0}}
    return WantedTopics(tuple(sorted(listed.items(), key=lambda item: (-item[1], item[0]))), default)


class WeightedCarrier(Carrier):
    """A device that sends what its neighbours want most; ``gives`` decides what it may send to whom."""

    tells_interests: ClassVar[bool] = False

    saved: ClassVar[dict[str, Any]] = {
        "wants": dict[Node, WantedTopics],
        "published": MessageSet,
        "training": bool,
        "_began": float,
        "_near": dict[Node, None],
    }

    def __init__(self, node: Node, parameters: Any, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.wants: dict[Node, WantedTopics] = {}
        """What each neighbour has asked for."""
        self.published: MessageSet = 0
        self.training = False
        self._began = 0.0
        """When the device started, or when training did."""
        self._near: dict[Node, None] = {}
        """Everybody in contact, in the order in which contacts began."""
        self._listings: dict[tuple[tuple[Topic, float], ...], MessageSet] = {}
        """For lists of neighbours: the messages that they match, of ``_listed_of``."""
        self._listed_of: MessageSet = 0

    # What a protocol decides ----------------------------------------------------------------------------------------

    def gives(self, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        """What this neighbour may get if it wants it."""
        return self.buffer.held(now)

    # The contract ---------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self._began = now

    def phase(self, name: str, now: float) -> None:
        self.training = name == "train"
        if self.training:  # contacts that begin at this instant have begun already: let nothing come of them
            self._began = now
            self.known.clear()
            self.wants.clear()

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self._near[peer] = None
        return () if self.training else super().link_up(peer, now)

    def publish(self, message: Message, now: float) -> None:
        self.published |= message.bit
        super().publish(message, now)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, WantedTopics):
            self.wants[peer] = packet
            if peer in self.known and self.may_give(peer, now):
                self.driver.wake(peer)
        elif isinstance(packet, Seen):
            self.known[peer] = packet.messages
            if peer in self.wants and self.may_give(peer, now):
                self.driver.wake(peer)
        elif isinstance(packet, Data):
            self._accept(peer, packet, now)
        else:
            super().receive(peer, packet, now)

    def may_give(self, peer: Node, now: float) -> bool:
        """Whether there may be something for a neighbour; mostly there is not, and sets tell that without an order."""
        given, known, wants = self.gives(peer, now), self.known[peer], self.wants[peer]
        lacking = given ^ (given & known)
        return bool(lacking) and (wants.default > 0 or lacking & self._listed(wants) != 0)

    def _listed(self, wants: WantedTopics) -> MessageSet:
        """All messages on topics that a neighbour lists with a weight."""
        messages = self.driver.messages
        if self._listed_of != messages.shown:
            self._listed_of, self._listings = messages.shown, {}
        found = self._listings.get(wants.weights)
        if found is None:
            found = 0
            for topic, weight in wants.weights:
                if weight:
                    found |= messages.on_topic(topic)
            self._listings[wants.weights] = found
        return found

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        chosen = self.most_wanted(peer, now, room) or self.taken_by_default(peer, now, room)
        return self.packet(chosen, peer) if chosen else None

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.wants.pop(peer, None)
        self._near.pop(peer, None)

    def demand(self, message: Message, now: float) -> Demand:  # noqa: ARG002
        asked = [(peer, [topic for topic, weight in wants.weights if weight]) for peer, wants in self.wants.items()]
        return Demand(sum([1 << peer for peer, topics in asked if matches(topics, message.topic)]))

    # The steps ------------------------------------------------------------------------------------------------------

    def _greet_neighbours(self, now: float) -> None:
        self._greeting = ()
        for peer in self._near:
            for packet in super().link_up(peer, now):
                self.driver.send(peer, packet)
            self._greeted_again(peer, now)

    def _greeted_again(self, peer: Node, now: float) -> None:
        """A neighbour has been greeted in the middle of a contact."""

    def most_wanted(self, peer: Node, now: float, room: int) -> MessageSet:
        """Of what the neighbour has listed and lacks, the ``room`` messages that it wants most."""
        wants = self.wants.get(peer)
        if wants is None or not wants.weights:
            return 0
        # Numbers count from the first message that is still alive, which keeps the sets short.
        first, by_topic = self.driver.messages.alive(now)
        left = self._lacking(peer, now, first)
        chosen = tier = 0
        weight_of_tier = 0.0
        for topic, weight in wants.weights:
            if not left or not weight:
                break
            if tier and weight != weight_of_tier:
                chosen |= self._soonest(tier, first, room - chosen.bit_count())
                tier = 0
                if chosen.bit_count() >= room:
                    return chosen
            hits = left & (by_topic[topic] if topic in by_topic else self.driver.messages.on_topic(topic) >> first)
            if hits:
                left ^= hits
                tier |= hits
                weight_of_tier = weight
        return chosen | self._soonest(tier, first, room - chosen.bit_count())

    def taken_by_default(self, peer: Node, now: float, room: int) -> MessageSet:
        """Of what the neighbour lacks and has not listed, what it takes when there is nothing better."""
        wants = self.wants.get(peer)
        if wants is None or not wants.default:
            return 0
        first, _ = self.driver.messages.alive(now)
        left = self._lacking(peer, now, first)
        for topic, _ in wants.weights if left else ():
            left = without(left, self.driver.messages.on_topic(topic) >> first)
        return self._soonest(left, first, room)

    def _lacking(self, peer: Node, now: float, first: int) -> MessageSet:
        """What this device could give to a neighbour that lacks it, in numbers that count from ``first``."""
        known = self.known.get(peer)
        if known is None:  # it has not greeted yet
            return 0
        return without(self.gives(peer, now) >> first, known >> first)

    def _soonest(self, messages: MessageSet, first: int, room: int) -> MessageSet:
        """The ``room`` messages that expire first, of a set whose numbers count from ``first``."""
        if messages.bit_count() <= room:
            return messages << first
        chosen = 0
        for _ in range(room):
            soonest = self.driver.messages.soonest(messages, first)
            chosen |= soonest
            messages ^= soonest >> first
        return chosen
