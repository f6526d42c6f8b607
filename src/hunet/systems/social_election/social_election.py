"""Social election: devices that meet too few brokers appoint some, those that meet too many dismiss the unpopular.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from hunet.model import Node, NodeList, Parameters, doc
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, widths
from hunet.protocols.contract import Control, Driver, Packet
from hunet.systems.social_election.encounter_window import EncounterWindow
from hunet.systems.social_election.swarm import (
    BROKER,
    LONGEST,
    SHORTEST,
    USER,
    BrokerSwarm,
    Designation,
    Role,
    SwarmLink,
    SwarmParameters,
)

if TYPE_CHECKING:
    from random import Random

_TRY_AGAIN = 1.0
"""Seconds between two coins of a lonely device."""
_ASKS = 10
"""How often a device without a broker asks its neighbours in a window."""
_PEOPLE = 10
"""People in a window that follows the pace of meetings, for each broker of the lower bound: with k people in a window
about 3.5 / k of a crowd are brokers."""
_POPULARITY = 3600.0
"""Popularity is then whom a device has met in an hour: windows that all have as many people cannot be compared."""


class SocialElectionParameters(SwarmParameters, frozen=True):
    """Social election's parameters; bounds and switching are those of section V.B, whose window is 100 s."""

    lower_bound: Annotated[
        int, doc("who has met fewer brokers appoints some", symbol="lower_bound", source="V.B", ge=0)
    ] = 3
    upper_bound: (
        Annotated[
            int,
            doc("who has met as many dismisses unpopular ones; none: the lower bound", symbol="upper_bound", ge=0),
        ]
        | None
    ) = None
    difference: Annotated[
        Literal["mean", "marginal", "scalar"],
        doc("a broker's popularity, what it adds to those met before, or how much larger it is", symbol="γ"),
    ] = "mean"
    threshold: (
        Annotated[
            float,
            doc("dismissed below; none: the mean popularity of the brokers met before", symbol="β", source="V.A"),
        ]
        | None
    ) = None
    switching: Annotated[float, doc("probability that a designated device obeys", source="IV.A.1", ge=0, le=1)] = 0.5
    self_promotion: Annotated[
        bool, doc("users who have met too few brokers become brokers themselves (ferries)", source="IV.A.2")
    ] = False
    ferries: Annotated[
        Literal["alone", "all"],
        doc("who promotes itself: who has met nobody for half a window; or all who met enough brokers before"),
    ] = "alone"
    ask_again: Annotated[
        bool, doc("users who have met no broker at all ask their neighbours to become one, every T_w / 10")
    ] = True
    adaptive_start: Annotated[bool, doc("both bounds grow from 0 during the first window", source="V.D")] = False

    def __post_init__(self) -> None:
        if self.upper_bound is not None and self.lower_bound > self.upper_bound:
            raise ValueError(f"lower_bound ({self.lower_bound}) must not exceed upper_bound ({self.upper_bound})")


class Hello(Control, frozen=True, gc=False):
    """What the other needs for its decision."""

    role: Role
    peers: NodeList
    """Whom the sender has met in its window: its popularity."""

    @property
    def size(self) -> int:
        many = len(set(self.peers))
        return KIND_BYTES + 1 + ids_size(many) + count_size(len(self.peers)) + widths(many, 0).node * len(self.peers)


class SocialElection(BrokerSwarm):
    """Dynamic broker allocation (Algorithm 1)."""

    Parameters: ClassVar[type[Parameters]] = SocialElectionParameters

    saved: ClassVar[dict[str, Any]] = {
        "window": EncounterWindow,
        "company": EncounterWindow,
        "hellos": dict[Node, Hello],
        "_last_met": float,
        "_decisions": int,
        "_too_few": int,
        "_asking": bool,
        "_had_enough": bool,
    }

    def __init__(self, node: Node, parameters: SocialElectionParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.window = self.company = EncounterWindow(self.shortest)
        """Whom this device has met: to count brokers by, and for its popularity."""
        if parameters.window is None:
            self.window = EncounterWindow(SHORTEST, _PEOPLE * parameters.lower_bound, LONGEST)
            self.company = EncounterWindow(_POPULARITY)
        self.hellos: dict[Node, Hello] = {}
        self._last_met = 0.0
        self._decisions = self._too_few = 0
        self._asks_at = inf
        """When the timer rings by which a device asks again; inf: none runs."""
        self._had_enough = False
        """Whether this device has met enough brokers since it became a user."""

    @property
    def _asking(self) -> bool:
        """Whether that timer runs, as it is saved."""
        return self._asks_at < inf

    @_asking.setter
    def _asking(self, runs: bool) -> None:
        self._asks_at = 0.0 if runs else inf  # the driver knows when it rings

    def designation(self, role: Role, peers: NodeList, now: float) -> Role | None:
        """Algorithm 1: what a device of this role, which has met these peers, should become; None: what it is."""
        brokers, grown = self.window.broker_count, self._grown(now)
        lower, upper = self.parameters.lower_bound, self.parameters.upper_bound
        if role == USER:
            return BROKER if brokers < lower * grown else None
        if not brokers or brokers < (lower if upper is None else upper) * grown:
            return None
        threshold = self.parameters.threshold
        if threshold is None:
            threshold = self.window.mean_popularity()
        return USER if self._popularity_difference(peers) < threshold else None

    def _popularity_difference(self, peers: NodeList) -> int:
        if self.parameters.difference == "mean":
            return len(peers)
        before = self.window.popularity_of_brokers()
        if self.parameters.difference == "marginal":
            return len(before.union(peers)) - len(before)
        return len(peers) - len(before)

    def _grown(self, now: float) -> float:
        """The share of the bounds that holds already (section V.D)."""
        if not self.parameters.adaptive_start:
            return 1.0
        share: float = (now - self.started) / self.shortest
        return min(1.0, share)

    # The contract ---------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        super().start(now)
        self._last_met = now
        self._expect_loneliness(now)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        super().link_up(peer, now)
        self.window.forget(now)
        if self.company is not self.window:
            self.company.forget(now)
        return (Hello(self.role, self.company.peers),)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.hellos.pop(peer, None)
        self.window.end(peer, now)
        if self.company is not self.window:
            self.company.end(peer, now)
        self._last_met = now
        if self._asks_at == inf:
            self._expect_to_ask(now)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Hello):
            self.hellos[peer] = packet
            if self.node < peer:
                self._designate(peer, packet.role, now)
        elif isinstance(packet, Designation):
            self._obey(packet.become, now)
            link = self.links.get(peer)
            if link is None or link.open or peer not in self.hellos:  # it asks again; or its greeting was lost
                return
            link.role, link.holds = packet.role, packet.holds
            if self.node > peer:
                self._designate(peer, packet.role, now)
            else:
                self._introduce(peer, link, now)
        else:
            super().receive(peer, packet, now)

    def reach(self, now: float) -> float:
        return self.window.reach(now)

    def role_known(self, peer: Node, link: SwarmLink, now: float) -> None:
        hello = self.hellos.get(peer)
        if hello:
            self.window.record(peer, broker=link.role == BROKER, peers=hello.peers)
            if self.company is not self.window:
                self.company.record(peer, broker=False, peers=())
        if self._asks_at == inf or not self.window.broker_count:
            self._expect_to_ask(now)

    def become(self, role: Role, now: float) -> None:
        super().become(role, now)
        self._had_enough = False
        self._expect_loneliness(now)
        self._expect_to_ask(now)

    def timer(self, tag: str, now: float) -> None:
        self.window.forget(now)
        if tag == "ask":
            self._ask_again(now)
        else:
            self._promote_itself(now)

    def observations(self, now: float) -> dict[str, float]:
        return {
            **super().observations(now),
            "decisions": self._decisions,
            "too_few": self._too_few,
            "window": self.reach(now),
        }

    # Steps ----------------------------------------------------------------------------------------------------------

    def _designate(self, peer: Node, role: Role, now: float) -> None:
        wish = self.designation(role, self.hellos[peer].peers, now)
        self._decisions += 1
        self._too_few += self.window.broker_count < self.parameters.lower_bound
        self.driver.send(peer, Designation(self.role, wish, 0 if self.links[peer].open else self.holds(now)))

    def _ask_again(self, now: float) -> None:
        """Coins may leave devices that stay together without any broker: ask until one obeys, or all have gone."""
        self._asks_at = inf
        if self.role == USER and not self.window.broker_count:
            for peer, link in self.links.items():
                if link.open:
                    self._designate(peer, link.role, now)
        self._expect_to_ask(now)

    def _expect_to_ask(self, now: float) -> None:
        """Ask again in T_w / 10, or when the brokers in the window may be gone; those that stay near never are."""
        if self.parameters.ask_again and self.role == USER and self.links:
            soonest = max(now + self.shortest / _ASKS, self.window.without_brokers())
            if soonest < self._asks_at:
                self._asks_at = soonest
                self.driver.set_timer("ask", soonest)

    def _promote_itself(self, now: float) -> None:
        """Users who meet fewer brokers than they should may be ferries between crowds (section IV.A.2)."""
        if self.window.broker_count >= self.parameters.lower_bound:
            self._had_enough = True
        elif self.parameters.ferries == "all":
            self._obey(BROKER if self._had_enough else None, now)
        elif not self.links and now >= self._last_met + self.shortest / 2:
            self._obey(BROKER, now)
        self._expect_loneliness(now)

    def _obey(self, role: Role | None, now: float) -> None:
        if role is not None and role != self.role and self.rng.random() < self.parameters.switching:
            self.become(role, now)

    def _expect_loneliness(self, now: float) -> None:
        if self.parameters.self_promotion and self.role == USER:
            alone = self.parameters.ferries == "alone"
            soonest = self._last_met + self.shortest / 2 if alone else now + self.shortest / _ASKS
            self.driver.set_timer("lonely", max(now + _TRY_AGAIN, soonest))
