"""How a MOPS device learns its place by itself: its own contacts, and hello messages.

A live device has nobody who computes communities for it. It records whom it is in contact with, works out how close
they are at the end of a window (Eq. 1; σ must be agreed, since nobody knows all separations), and exchanges what it
knows with whomever it meets (``exchange``) until it has its community and its bridges.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from hunet.model import Node
from hunet.protocols.contract import Control
from hunet.systems.mops.closeness_graph import gaussian_closeness
from hunet.systems.mops.communities import Communities
from hunet.systems.mops.contact_history import ContactHistory, Edges
from hunet.systems.mops.exchange import CommunityExchange, News
from hunet.systems.mops.structure import Structure


class Neighbourhood(Control, frozen=True, gc=False):
    """What the sender knows of who is close to whom, and of communities."""

    news: News


class Learner:
    """One device's contacts, and its part in the forming of communities."""

    saved: ClassVar[dict[str, Any]] = {
        "history": ContactHistory,
        "exchange": CommunityExchange | None,
        "hellos": int,
        "hello_bytes": int,
        "_told": dict[Node, tuple[int, int]],
        "_used": tuple[int, Communities] | None,
    }

    def __init__(self, node: Node, *, threshold: float, hops: int, pruning: float, sigma: float, edges: Edges) -> None:
        self.node = node
        self._threshold, self._hops, self._pruning, self._sigma = threshold, hops, pruning, sigma
        self._edges: Edges = edges
        self.history = ContactHistory()
        self.exchange: CommunityExchange | None = None
        self.hellos = self.hello_bytes = 0
        self._told: dict[Node, tuple[int, int]] = {}
        """For each peer, of which epoch it was told, and how much."""
        self._used: tuple[int, Communities] | None = None

    def begin(self, epoch: int, start: float, finish: float) -> None:
        """A window is over: find communities by what happened in it."""
        links = {}
        for peer in sorted(cast("list[Node]", self.history.peers)):
            if any(end >= start and begin <= finish for begin, end in self.history.intervals(peer, finish)):
                apart = self.history.separations(peer, start, finish, self._edges)
                closeness = gaussian_closeness(apart, self._sigma)
                if closeness > 0:
                    links[peer] = closeness
        self.exchange = CommunityExchange(self.node, epoch, links, threshold=self._threshold, hops=self._hops)

    def hello(self, peer: Node) -> tuple[Neighbourhood, ...]:
        """What to tell a peer, if there is anything that it has not been told."""
        exchange = self.exchange
        if exchange is None or self._told.get(peer) == (exchange.epoch, exchange.version):
            return ()
        self._told[peer] = (exchange.epoch, exchange.version)
        hello = Neighbourhood(exchange.news())
        self.hellos += 1
        self.hello_bytes += hello.size
        return (hello,)

    def hear(self, hello: Neighbourhood) -> None:
        """Learn from a peer."""
        if self.exchange is not None:
            self.exchange.hear(hello.news)

    def structure(self) -> Structure | None:
        """The structure as it is known now, if this device has a place in it that it did not have before."""
        exchange = self.exchange
        if exchange is None or exchange.graph is None or not exchange.placed:
            return None
        found = (exchange.epoch, exchange.communities)
        if found == self._used:
            return None
        self._used = found
        return Structure(exchange.graph, exchange.communities, self._pruning)
