"""PRoPHET: copies go to those who are more likely to meet the receiver; and its second version.

A. Lindgren, A. Doria and O. Schelén, "Probabilistic Routing in Intermittently Connected Networks", SAPIR 2004 (section
3); A. Lindgren, A. Doria, E. Davies and S. Grasic, RFC 6693, 2012, whose equations are those of PRoPHETv2 (S. Grasic et
al., "The Evolution of a DTN Routing Protocol - PRoPHETv2", CHANTS 2011).

Theory of operation. A device a has a delivery predictability P(a, b) for each device b that it has heard of. It rises
when they meet (equation 1), falls with time (2), and rises with that of a device that meets b often (3)::

    P(a, b) = P(a, b) + (1 - P(a, b)) P_init                      (1)
    P(a, b) = P(a, b) gamma^k                                     (2), after k units of time
    P(a, c) = P(a, c) + (1 - P(a, c)) P(a, b) P(b, c) beta        (3), when a meets b

Two devices that meet exchange their predictabilities. A copy of a message for d goes from a to b if P(b, d) > P(a, d),
on a slow link the one with the highest P(b, d) first (GRTRMax). a keeps its own copy.

PRoPHETv2 does not let a device that loses and finds another again and again rise by that: the shorter the time since
they parted, compared with a typical one (I_typ), the less. And (3) is a maximum, so that many who know a device do not
add up to certainty (RFC 6693, section 2.1.2)::

    P(a, b) = P_encounter_first                                   (1), at first, or below P_first_threshold
    P(a, b) = P(a, b) + (1 - delta - P(a, b)) P_encounter         (1), later; P_encounter = P_encounter_max
                                                                       min(1, time since they parted / I_typ)
    P(a, c) = max(P(a, c), P(a, b) P(b, c) beta)                  (3)

Where we depart from the paper, and why. Messages have topics, not destinations: the destinations of a message are the
subscribers of its topic that a device has heard of. What a device wants travels with what is known of it, so that with
a topic for each device all is as in the paper. With many subscribers a copy goes to b if b is better for any of them.
Both ends of a contact use what the other knew before it. Where contacts last, that grows old: RFC 6693 lets neighbours
exchange their predictabilities again (its timer next_exchange), and The ONE's hosts read each other's at any time;
``renew`` sends them to all neighbours whenever a meeting has changed them. The paper does not tell the unit of time;
30 s is that of The ONE's settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hunet.model import Message, MessageSet, Node, Parameters, PeerError, doc
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, widths
from hunet.protocols.capabilities import Demand
from hunet.protocols.contract import Control, Driver, Packet
from hunet.protocols.router import DestinationRouter, Directory, RouterParameters

if TYPE_CHECKING:
    from random import Random


class AnyProphetParameters(RouterParameters, frozen=True):
    """What both versions have."""

    renew: Annotated[
        bool, doc("whether neighbours hear of what other meetings changed, as The ONE's hosts know it at any time")
    ] = False


class ProphetParameters(AnyProphetParameters, frozen=True):
    """PRoPHET's parameters."""

    p_init: Annotated[float, doc("what a meeting adds", symbol="P_init", source="section 3.1", gt=0, le=1)] = 0.75
    beta: Annotated[float, doc("weight of what others know", symbol="β", source="section 3.1", ge=0, le=1)] = 0.25
    gamma: Annotated[float, doc("what is left after a unit of time", symbol="γ", source="section 3.1", gt=0, le=1)] = (
        0.98
    )
    time_unit: Annotated[float, doc("the unit of time of gamma", unit="s", source="The ONE", gt=0)] = 30.0


class Prophet2Parameters(AnyProphetParameters, frozen=True):
    """PRoPHETv2's parameters, as RFC 6693 has them."""

    p_first: Annotated[float, doc("after a first meeting", symbol="P_encounter_first", ge=0, le=1)] = 0.5
    p_max: Annotated[float, doc("the most that a meeting adds", symbol="P_encounter_max", ge=0, le=1)] = 0.7
    p_threshold: Annotated[float, doc("what is less is forgotten", symbol="P_first_threshold", ge=0, le=1)] = 0.1
    typical_interval: Annotated[
        float, doc("typical time between two meetings of a pair", symbol="I_typ", unit="s", source="ours", gt=0)
    ] = 1800.0
    delta: Annotated[float, doc("what is missing to certainty at most", symbol="δ", ge=0, lt=1)] = 0.01
    beta: Annotated[float, doc("weight of what others know", symbol="β", ge=0, le=1)] = 0.9
    gamma: Annotated[float, doc("what is left after a unit of time", symbol="γ", gt=0, le=1)] = 0.999
    time_unit: Annotated[float, doc("the unit of time of gamma", unit="s", source="ours", gt=0)] = 30.0


class Predictabilities(Control, frozen=True, gc=False):
    """P(sender, d) for every device d that the sender has heard of."""

    by_node: dict[Node, float]

    @property
    def size(self) -> int:
        many = len(self.by_node)
        return KIND_BYTES + ids_size(many) + count_size(many) + many * (widths(many, 0).node + 8)


class Prophet(DestinationRouter):
    """Copies go to those who are more likely to meet a subscriber."""

    Parameters: ClassVar[type[Parameters]] = ProphetParameters

    saved: ClassVar[dict[str, Any]] = {
        "predictabilities": dict[Node, float],
        "better": dict[Node, dict[Node, float]],
        "_heard": dict[Node, tuple[float, dict[Node, float]]],
        "_aged": float,
    }

    def __init__(self, node: Node, parameters: RouterParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.predictabilities: dict[Node, float] = {}
        self.better: dict[Node, dict[Node, float]] = {}
        """For each neighbour, the devices that it is more likely to meet than this one, and how likely."""
        self._heard: dict[Node, tuple[float, dict[Node, float]]] = {}
        """When each neighbour last told its predictabilities, and which."""
        self._aged = 0.0

    def predictability(self, node: Node, now: float) -> float:
        """P(this device, node)."""
        self.age(now)
        return self.predictabilities.get(node, 0.0)

    # The equations ------------------------------------------------------------------------------------------------

    def encountered(self, peer: Node, now: float) -> None:  # noqa: ARG002
        """Equation 1."""
        known = self.predictabilities.get(peer, 0.0)
        self.predictabilities[peer] = known + (1 - known) * self.parameters.p_init

    def age(self, now: float) -> None:
        """Equation 2."""
        if now > self._aged:
            left = self.parameters.gamma ** ((now - self._aged) / self.parameters.time_unit)
            self.predictabilities = {node: known * left for node, known in self.predictabilities.items()}
            self._aged = now

    def infer(self, peer: Node, theirs: dict[Node, float]) -> None:
        """Equation 3."""
        mine = self.predictabilities
        weight = mine.get(peer, 0.0) * self.parameters.beta
        for node, predictability in theirs.items():
            if node not in (self.node, peer):
                known = mine.get(node, 0.0)
                mine[node] = known + (1 - known) * weight * predictability

    # The router ---------------------------------------------------------------------------------------------------

    def encounter(self, peer: Node, now: float) -> None:
        self.age(now)
        self.encountered(peer, now)

    def ways(self, now: float) -> tuple[Control, ...]:  # noqa: ARG002
        return (Predictabilities(self.predictabilities.copy()),)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Predictabilities):
            again = peer in self._heard
            self.age(now)
            self._heard[peer] = now, packet.by_node
            self._compare(peer)
            if again:
                self.driver.wake(peer)
            else:
                self.infer(peer, packet.by_node)
                if self.parameters.renew:
                    self._renew(peer)
        else:
            super().receive(peer, packet, now)

    def _compare(self, peer: Node) -> None:
        mine, me = self.predictabilities, self.node
        since, theirs = self._heard[peer]
        left = self.parameters.gamma ** ((self._aged - since) / self.parameters.time_unit)
        self.better[peer] = {
            node: known * left for node, known in theirs.items() if known * left > mine.get(node, 0.0) and node != me
        }

    def _renew(self, neighbour: Node) -> None:
        """The other neighbours hear of what a meeting has changed here."""
        others = [peer for peer in self._heard if peer != neighbour]
        if others:
            self.driver.broadcast(Directory(dict(self.wants)), but=neighbour)
            self.driver.broadcast(Predictabilities(self.predictabilities.copy()), but=neighbour)
        for peer in others:
            self._compare(peer)
            self.driver.wake(peer)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.better.pop(peer, None)
        self._heard.pop(peer, None)

    def offers(self, peer: Node, now: float) -> MessageSet:
        held = self.buffer.held(now)
        if not held:
            return 0
        better = sum([1 << node for node in self.better.get(peer, ())])
        return held & self.wanted(self.wanted_by(better).union(self.interests.get(peer, ())))

    def first(self, messages: MessageSet, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        better = self.better.get(peer, {})
        for node in sorted(better, key=lambda node: (-better[node], node)):
            for_it = messages & self.wanted(self.wants[node].topics) if node in self.wants else 0
            if for_it:
                return self.driver.messages.newest(for_it)
        return self.driver.messages.newest(messages)

    def check(self, packet: Packet) -> None:
        if isinstance(packet, Predictabilities) and not all(0 <= each <= 1 for each in packet.by_node.values()):
            raise PeerError("a predictability that is no probability")

    def demand(self, message: Message, now: float) -> Demand:
        self.age(now)
        likely = [self.predictabilities.get(node, 0.0) for node in self.destinations(message.bit)]
        return Demand(super().demand(message, now).devices, max(likely, default=0.0))


class Prophet2(Prophet):
    """PRoPHETv2: meetings count less the sooner they come, and hearsay does not add up."""

    Parameters: ClassVar[type[Parameters]] = Prophet2Parameters

    saved: ClassVar[dict[str, Any]] = {
        "parted": dict[Node, float],
    }

    def __init__(self, node: Node, parameters: RouterParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.parted: dict[Node, float] = {}
        """When the last contact with each device ended."""

    def encountered(self, peer: Node, now: float) -> None:
        rules, known = self.parameters, self.predictabilities.get(peer, 0.0)
        if peer not in self.parted or known < rules.p_threshold:
            self.predictabilities[peer] = max(known, rules.p_first)
        else:
            share = min(1.0, (now - self.parted[peer]) / rules.typical_interval)
            self.predictabilities[peer] = known + (1 - rules.delta - known) * rules.p_max * share

    def age(self, now: float) -> None:
        if now > self._aged:
            super().age(now)
            least = self.parameters.p_threshold
            self.predictabilities = {node: known for node, known in self.predictabilities.items() if known >= least}

    def infer(self, peer: Node, theirs: dict[Node, float]) -> None:
        mine = self.predictabilities
        weight = mine.get(peer, 0.0) * self.parameters.beta
        for node, predictability in theirs.items():
            if node not in (self.node, peer):
                mine[node] = max(mine.get(node, 0.0), weight * predictability)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.parted[peer] = now
