"""Social election: devices that meet too few brokers appoint some, those that meet too many dismiss the unpopular.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from hunet.model import Node, NodeList, Parameters, about
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, widths
from hunet.protocols.contract import Control, Driver, Packet
from hunet.systems.social_election.encounter_window import EncounterWindow
from hunet.systems.social_election.swarm import BROKER, USER, BrokerSwarm, Link, Role, SwarmParameters

if TYPE_CHECKING:
    from random import Random

_TRY_AGAIN = 1.0
"""Seconds between two coins of a lonely device (the specification's tick)."""


class SocialElectionParameters(SwarmParameters, frozen=True):
    """Social election's parameters; the defaults are those of section V.B."""

    lower_bound: Annotated[
        int, about("who has met fewer brokers appoints some", symbol="lower_bound", source="V.B", ge=0)
    ] = 3
    upper_bound: (
        Annotated[
            int,
            about("who has met as many dismisses unpopular ones; none: the lower bound", symbol="upper_bound", ge=0),
        ]
        | None
    ) = None
    difference: Annotated[
        Literal["mean", "marginal", "scalar"],
        about("a broker's popularity, what it adds to those met before, or how much larger it is", symbol="γ"),
    ] = "mean"
    threshold: (
        Annotated[
            float,
            about("dismissed below; none: the mean popularity of the brokers met before", symbol="β", source="V.A"),
        ]
        | None
    ) = None
    switching: Annotated[float, about("probability that a designated device obeys", source="IV.A.1", ge=0, le=1)] = 0.5
    self_promotion: Annotated[
        bool, about("users who have met nobody for half a window become brokers (ferries)", source="IV.A.2")
    ] = False
    adaptive_start: Annotated[bool, about("both bounds grow from 0 during the first window", source="V.D")] = False

    def __post_init__(self) -> None:
        if self.upper_bound is not None and self.lower_bound > self.upper_bound:
            raise ValueError(f"lower_bound ({self.lower_bound}) must not exceed upper_bound ({self.upper_bound})")


class Hello(Control, frozen=True, gc=False):
    """What the other needs for its decision."""

    role: Role
    met: NodeList
    """Whom the sender has met in its window: its popularity."""

    @property
    def size(self) -> int:
        many = len(set(self.met))
        return KIND_BYTES + 1 + ids_size(many) + count_size(len(self.met)) + widths(many, 0).node * len(self.met)


class Designation(Control, frozen=True, gc=False):
    """The sender's role by now, and what it wants the other to become, if anything."""

    role: Role
    become: Role | None

    @property
    def size(self) -> int:
        return KIND_BYTES + 2 + (self.become is not None)


class SocialElection(BrokerSwarm):
    """Dynamic broker allocation (Algorithm 1)."""

    Parameters: ClassVar[type[Parameters]] = SocialElectionParameters

    saved: ClassVar[dict[str, Any]] = {
        "window": EncounterWindow,
        "hellos": dict[Node, Hello],
        "_last_met": float,
    }

    def __init__(self, node: Node, parameters: SocialElectionParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.window = EncounterWindow(parameters.window)
        self.hellos: dict[Node, Hello] = {}
        self._last_met = 0.0

    def designation(self, role: Role, met: NodeList, now: float) -> Role | None:
        """Algorithm 1: what a device of this role, which has met these nodes, should become; None: what it is."""
        brokers, grown = self.window.broker_count, self._grown(now)
        lower, upper = self.parameters.lower_bound, self.parameters.upper_bound
        if role == USER:
            return BROKER if brokers < lower * grown else None
        if not brokers or brokers < (lower if upper is None else upper) * grown:
            return None
        threshold = self.parameters.threshold
        if threshold is None:
            threshold = self.window.mean_popularity()
        return USER if self._popularity_difference(met) < threshold else None

    def _popularity_difference(self, met: NodeList) -> int:
        if self.parameters.difference == "mean":
            return len(met)
        before = self.window.popularity_of_brokers()
        if self.parameters.difference == "marginal":
            return len(before.union(met)) - len(before)
        return len(met) - len(before)

    def _grown(self, now: float) -> float:
        """The share of the bounds that holds already (section V.D)."""
        if not self.parameters.adaptive_start:
            return 1.0
        share: float = (now - self.started) / self.parameters.window
        return min(1.0, share)

    # The contract ---------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        super().start(now)
        self._last_met = now
        self._expect_loneliness(now)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        super().link_up(peer, now)
        self.window.forget(now)
        return (Hello(self.role, self.window.peers),)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.hellos.pop(peer, None)
        self._last_met = now

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Hello):
            self.hellos[peer] = packet
            if self.node < peer:
                self._designate(peer, packet.role, now)
        elif isinstance(packet, Designation):
            self._obey(packet.become, now)
            link = self.links.get(peer)
            if link is None or peer not in self.hellos:  # its greeting was lost
                return
            link.role = packet.role
            if self.node > peer:
                self._designate(peer, packet.role, now)
            else:
                self._introduce(peer, link, now)
        else:
            super().receive(peer, packet, now)

    def met(self, peer: Node, link: Link, now: float) -> None:
        hello = self.hellos.get(peer)
        if hello:
            self.window.record(peer, now, broker=link.role == BROKER, met=hello.met)

    def become(self, role: Role, now: float) -> None:
        super().become(role, now)
        self._expect_loneliness(now)

    def timer(self, tag: str, now: float) -> None:  # noqa: ARG002
        """Users who have met nobody for half a window may be ferries between crowds (section IV.A.2)."""
        self.window.forget(now)
        lonely = not self.links and now >= self._last_met + self.parameters.window / 2
        if lonely and self.window.broker_count < self.parameters.lower_bound:
            self._obey(BROKER, now)
        self._expect_loneliness(now)

    # Steps ----------------------------------------------------------------------------------------------------------

    def _designate(self, peer: Node, role: Role, now: float) -> None:
        wish = self.designation(role, self.hellos[peer].met, now)
        self.driver.send(peer, Designation(self.role, wish))

    def _obey(self, role: Role | None, now: float) -> None:
        if role is not None and role != self.role and self.rng.random() < self.parameters.switching:
            self.become(role, now)

    def _expect_loneliness(self, now: float) -> None:
        if self.parameters.self_promotion and self.role == USER:
            self.driver.set_timer("lonely", max(now + _TRY_AGAIN, self._last_met + self.parameters.window / 2))
