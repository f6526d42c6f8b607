"""BUBBLE Rap: up the ranks of the network to a member of the receiver's community, then up those of the community.

P. Hui, J. Crowcroft and E. Yoneki, "BUBBLE Rap: Social-based Forwarding in Delay Tolerant Networks", MobiHoc 2008
(section 5, Algorithm 1; section 6 for the ranks, without a view of the whole network).

Theory of operation. Every device has a global rank and a rank in its local community. A copy of a message for d goes
from a to b

- where d is in a's community: if d is in b's too, and b ranks higher in it than a;
- elsewhere: if d is in b's community, or b ranks higher than a in the whole network.

a keeps its own copy (BUBBLE-A); with ``handover`` it lets it go once a member of d's community has one (BUBBLE-B).
Communities are found by devices themselves, by k-CLIQUE or SIMPLE (``local_community``), as in the Overlay by the same
authors, whose folder this is in for that. The rank of a device is how many different devices it met in a window of six
hours, on average over all windows that are over (C-Window), or in the last of them (S-Window); in its community, how
many of its members.

Where we depart from the paper, and why. Messages have topics, not destinations: the destinations of a message are the
subscribers of its topic that a device has heard of, and what a device wants is passed on to all. With a topic for each
device all is as in the paper. A message of which no subscriber is known climbs the global ranks. Until its first window
is over a device ranks by what it met in it. Where a device has several communities in the paper, it has one here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from hunet.model import MessageSet, Node, NodeSet, Parameters, doc, members, without
from hunet.protocols.byte_streams import KIND_BYTES
from hunet.protocols.contract import Control, Data, Driver, Packet
from hunet.protocols.router import DestinationRouter, RouterParameters
from hunet.systems.socio_aware_overlay.local_community import CommunityState, DetectionParameters, LocalCommunity
from hunet.systems.socio_aware_overlay.packets import community_size

if TYPE_CHECKING:
    from random import Random


class BubbleRapParameters(RouterParameters, frozen=True):
    """BUBBLE Rap's parameters."""

    algorithm: Annotated[
        Literal["k-clique", "simple"], doc("how devices find their communities", source="section 6.1")
    ] = "k-clique"
    threshold: Annotated[
        float, doc("time together that makes a peer familiar", symbol="T_th", unit="s", source="section 4", gt=0)
    ] = 20_000.0
    k: Annotated[int, doc("size of the cliques of k-clique", symbol="k", source="section 4", ge=2)] = 3
    window: Annotated[float, doc("the window of the ranks", unit="s", source="section 6.2", gt=0)] = 21_600.0
    rank: Annotated[
        Literal["cumulative", "single"],
        doc("over all windows that are over (C-Window), or the last one (S-Window)", source="section 6.2"),
    ] = "cumulative"
    handover: Annotated[
        bool, doc("whether a copy is let go once the receiver's community has one: BUBBLE-B", source="section 5")
    ] = False


class Ranks(Control, frozen=True, gc=False):
    """The sender's ranks, and what community detection exchanges: C, F and FoC."""

    in_network: float
    in_community: float
    community: NodeSet
    familiar: NodeSet
    familiar_of: dict[Node, NodeSet]

    @property
    def size(self) -> int:
        return KIND_BYTES + 8 + 8 + community_size(self.community, self.familiar, self.familiar_of)


class PeerRanks(NamedTuple):
    """Where a neighbour stands, as it said."""

    in_network: float
    in_community: float
    community: NodeSet


class Popularity:
    """How many different devices one has met, window by window.

    >>> met = Popularity(window=100)
    >>> met.meet(1, now=0), met.meet(2, now=50), met.meet(1, now=120)
    (None, None, None)
    >>> met.rank(now=150)  # the first window is over: 2 devices
    2.0
    >>> met.rank(now=250), met.rank(now=250, single=True), met.rank(now=250, among=0b100)
    (1.5, 1.0, 0.5)
    """

    saved: ClassVar[dict[str, Any]] = {
        "_first": int | None,
        "_met": dict[int, NodeSet],
    }

    def __init__(self, window: float) -> None:
        self._window = window
        self._first: int | None = None
        self._met: dict[int, NodeSet] = {}
        """For each window, counted from time 0, who was met in it."""

    def meet(self, peer: Node, now: float) -> None:
        """A contact begins."""
        number = int(now // self._window)
        self._first = number if self._first is None else self._first
        self._met[number] = self._met.get(number, 0) | 1 << peer

    def rank(self, now: float, *, single: bool = False, among: NodeSet = -1) -> float:
        """Devices met in a window, on average over those that are over or in the last of them; among all, or some."""
        current = int(now // self._window)
        if self._first is None:
            return 0.0
        if self._first == current:
            return float((self._met[current] & among).bit_count())
        if single:
            return float((self._met.get(current - 1, 0) & among).bit_count())
        counts = [(peers & among).bit_count() for number, peers in self._met.items() if number < current]
        return sum(counts) / (current - self._first)


class BubbleRap(DestinationRouter):
    """Up the ranks of the network, then up those of a subscriber's community."""

    Parameters: ClassVar[type[Parameters]] = BubbleRapParameters

    saved: ClassVar[dict[str, Any]] = {
        "view": LocalCommunity,
        "popularity": Popularity,
        "standings": dict[Node, PeerRanks],
    }

    def __init__(self, node: Node, parameters: BubbleRapParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        rules = DetectionParameters(
            algorithm=parameters.algorithm, threshold=parameters.threshold, k=parameters.k, window=None
        )
        self.view = LocalCommunity(node, rules)
        self.popularity = Popularity(parameters.window)
        self.standings: dict[Node, PeerRanks] = {}

    def standing(self, now: float) -> PeerRanks:
        """Where this device stands itself."""
        single = self.parameters.rank == "single"
        community = self.view.nodes
        return PeerRanks(
            self.popularity.rank(now, single=single),
            self.popularity.rank(now, single=single, among=community),
            community,
        )

    def encounter(self, peer: Node, now: float) -> None:
        reached = self.view.link_up(peer, now)
        if reached is not None:
            self.driver.set_timer(f"familiar {peer}", reached)
        self.popularity.meet(peer, now)

    def ways(self, now: float) -> tuple[Control, ...]:
        mine = self.standing(now)
        return (Ranks(mine.in_network, mine.in_community, *self.view.state()[:3]),)

    def timer(self, tag: str, now: float) -> None:
        self.view.reach_threshold(int(tag.removeprefix("familiar ")), now)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.driver.cancel_timer(f"familiar {peer}")
        self.view.link_down(peer, now)
        self.standings.pop(peer, None)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Ranks):
            self.view.receive(peer, CommunityState(packet.community, packet.familiar, packet.familiar_of), now)
            self.standings[peer] = PeerRanks(packet.in_network, packet.in_community, packet.community)
        else:
            super().receive(peer, packet, now)

    def passes(self, destinations: NodeSet, mine: PeerRanks, theirs: PeerRanks) -> NodeSet:
        """Algorithm 1: the destinations for which a copy goes from this device to a neighbour."""
        inside, outside = destinations & mine.community, destinations & ~mine.community
        up = inside & theirs.community if theirs.in_community > mine.in_community else 0
        return up | (outside if theirs.in_network > mine.in_network else outside & theirs.community)

    def offers(self, peer: Node, now: float) -> MessageSet:
        held = self.buffer.held(now)
        theirs = self.standings.get(peer)
        if not held or theirs is None:
            return held & self.wanted(self.interests.get(peer, ()))
        mine = self.standing(now)
        passing = self.passes(~(1 << peer), mine, theirs)
        topics = self.wanted_by(passing).union(self.interests.get(peer, ()))
        climbing = without(held, self.wanted(self.wanted_by(-1))) if theirs.in_network > mine.in_network else 0
        return held & self.wanted(topics) | climbing

    def first(self, messages: MessageSet, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        return self.driver.messages.newest(messages)

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        theirs = self.standings.get(peer)
        if not (self.parameters.handover and arrived and theirs):
            return
        for number in members(packet.messages):
            receivers = sum(1 << node for node in self.destinations(1 << number))
            # With many receivers only if its community has all of them, and ours none.
            if receivers and not receivers & self.view.nodes and not receivers & ~theirs.community:
                self.buffer.remove(self.driver.messages[number], "handover")

    def circle(self) -> NodeSet | None:
        return self.view.nodes
