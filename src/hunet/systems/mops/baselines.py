"""Neighbors: every device also collects for the K people whom it meets most. A baseline of MOPS (section V.A).

F. Li and J. Wu, "MOPS", ICDCS 2009, section V.A, after its reference [15]: "Nodes in the Neighbors scheme aggregate the
interests from the k nearest neighbors, and associate weight according to the popularity among the k nearest neighbors
to each category of interest. Nodes then collect events according to the weights."

Theory of operation. While it trains, a device records whom it is in contact with. Its K nearest are then those with the
largest closeness, which is the least mean separation. It learns their interests when it meets them, and asks everybody
for events by weight: 1 for what it wants itself, and the share of its nearest who want it.

Where the paper leaves a choice. K is not given; 5 here (section V.A prints "k = 2", which is the hops of MOPS too). Who
gives what (``collects_from``): the text says that this scheme "only depends on 2-hop paths", so publishers give to
anybody who asks, and copies that are carried for others go to people who want them themselves, no further
(``publishers``). But "nodes then collect events according to the weights" says of nobody that it does not give, and a
MOPS of communities of one "downgrades to the Neighbors scheme" (V.B): then everybody gives to anybody who asks
(``anybody``). Without a training phase there are no nearest, and everybody asks for its own interests only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from hunet.model import ConfigurationError, MessageSet, Node, Parameters, Topic, doc
from hunet.protocols.carrier import BufferParameters, Interests, Seen
from hunet.protocols.contract import Control, Driver, Packet
from hunet.systems.mops.contact_history import ContactHistory, Edges
from hunet.systems.mops.interests import levels
from hunet.systems.mops.weighted_carrier import WeightedCarrier, by_weight

if TYPE_CHECKING:
    from random import Random


class KNearestParameters(BufferParameters, frozen=True):
    """The parameters of Neighbors."""

    nearest: Annotated[int, doc("people for whom a device collects", symbol="K", source="MOPS, section V.A", ge=1)] = 5
    collects_from: Annotated[
        Literal["publishers", "anybody"], doc("who gives events to those who collect them for others")
    ] = "publishers"
    edges: Annotated[Edges, doc("which separations count at the ends of the training window")] = "both"


class KNearest(WeightedCarrier):
    """Collect for yourself, and for those whom you meet most."""

    Parameters: ClassVar[type[Parameters]] = KNearestParameters

    saved: ClassVar[dict[str, Any]] = {
        "history": ContactHistory,
        "nearest": list[Node],
        "interests_of_nearest": dict[Node, tuple[Topic, ...]],
    }

    def __init__(self, node: Node, parameters: KNearestParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.history: ContactHistory = ContactHistory()
        self.nearest: list[Node] = []
        self.interests_of_nearest: dict[Node, tuple[Topic, ...]] = {}

    @classmethod
    def prepare_live(cls, parameters: KNearestParameters, storage: int) -> KNearestParameters:  # noqa: ARG003
        raise ConfigurationError("k-nearest needs a training phase, which a node does not have: use push")

    def weights(self) -> dict[Topic, float]:
        """How much this device wants each topic: for itself, and for its nearest."""
        own, share, nearest = levels(sorted(self.topics)), dict[Topic, float](), self.parameters.nearest
        for topics in self.interests_of_nearest.values():
            for topic, level in levels(topics).items():
                share[topic] = share.get(topic, 0.0) + level
        return {topic: own.get(topic, 0.0) + share.get(topic, 0.0) / nearest for topic in sorted({*own, *share})}

    def gives(self, peer: Node, now: float) -> MessageSet:
        held = self.buffer.held(now)
        if self.parameters.collects_from == "anybody":
            return held
        return held & (self.published | self.wanted(self.interests.get(peer, ())))

    def greeting(self) -> tuple[Control, ...]:
        return (Interests(tuple(sorted(self.topics))), by_weight(self.weights()), Seen(self.seen))

    # The contract ---------------------------------------------------------------------------------------------------

    def phase(self, name: str, now: float) -> None:
        trained = self.training
        super().phase(name, now)
        if self.training:
            for peer in self._near:  # contacts that begin at this instant have begun already
                self.history.start(peer, now)
        elif trained:
            self.nearest = self._rank(now)
            self._greet_neighbours(now)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        if self.training:
            self.history.start(peer, now)
        return super().link_up(peer, now)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        if self.training:
            self.history.end(peer, now)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        super().receive(peer, packet, now)
        if not isinstance(packet, Interests) or peer not in self.nearest:
            return
        if self.interests_of_nearest.get(peer) != packet.topics:
            self.interests_of_nearest[peer] = packet.topics
            self._greeting = ()

    # The steps ------------------------------------------------------------------------------------------------------

    def _rank(self, now: float) -> list[Node]:
        def apart(peer: Node) -> float:
            times = self.history.separations(peer, self._began, now, self.parameters.edges)
            return sum(times) / len(times) if times else 0.0

        peers = sorted(cast("list[Node]", self.history.peers))
        return sorted(peers, key=apart)[: self.parameters.nearest]

    def _tell_interests(self) -> None:
        self._greeting = ()
        if self.known:
            for packet in self.greeting()[:2]:
                self.driver.broadcast(packet)
