"""How a MOPS device learns its place by itself: its own contacts, and hello messages.

A live device has nobody who computes communities for it. It records whom it is in contact with, works out how long they
are apart at the end of a window, and exchanges what it knows with whomever it meets (``exchange``) until it has its
community and its bridges.

A hello says how much the sender knows and how much of the peer it has heard, so that the peer tells what is new since
then and nothing else; what a broken contact lost is told again. What is learnt while a contact lasts is told at once.

How long it waits for rows that do not come follows from the pace of the crowd, if nothing is given: after the last row
that came, ``PAUSES`` times the median of everybody's longest pause between two meetings. And it gives up in company
only, when a neighbour has told that it knows no other rows either: who was away for a night has waited for nobody.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, cast

from hunet.model import Node
from hunet.protocols.contract import Control
from hunet.systems.mops.communities import Communities
from hunet.systems.mops.contact_history import ContactHistory, Edges
from hunet.systems.mops.exchange import CommunityExchange, Learnt, Row
from hunet.systems.mops.structure import Structure

PAUSES = 2.0


class Versions(Control, frozen=True, gc=False):
    """How much the sender knows of an epoch, and how much of the receiver it has heard: versions."""

    epoch: int
    version: int
    heard: int


class Update(Control, frozen=True, gc=False):
    """What the sender knows of who is close to whom, and of communities."""

    changes: Learnt


class AskRows(Control, frozen=True, gc=False):
    """Whose rows the sender lacks."""

    epoch: int
    owners: tuple[Node, ...]


class Rows(Control, frozen=True, gc=False):
    """Rows that were asked for."""

    epoch: int
    rows: tuple[Row, ...]


class Learner:
    """One device's contacts, and its part in the forming of communities."""

    saved: ClassVar[dict[str, Any]] = {
        "history": ContactHistory,
        "exchange": CommunityExchange | None,
        "hellos": int,
        "hello_bytes": int,
        "_heard": dict[Node, int],
        "_known_by": dict[Node, int],
        "_used": tuple[int, Communities, int] | None,
        "_row_at": float,
    }

    def __init__(
        self,
        node: Node,
        *,
        threshold: float,
        hops: int,
        pruning: float,
        sigma: float | None,
        edges: Edges,
        patience: float | None,
    ) -> None:
        self.node = node
        self._threshold, self._hops, self._pruning, self._sigma = threshold, hops, pruning, sigma
        self._edges: Edges = edges
        self._patience = patience
        self.history = ContactHistory()
        self.exchange: CommunityExchange | None = None
        self.hellos = self.hello_bytes = 0
        self._heard: dict[Node, int] = {}
        """For each peer, the version up to which all of it has been heard, rows included."""
        self._known_by: dict[Node, int] = {}
        """For each peer, the version of this device's knowledge that it says it has heard."""
        self._greeted: set[Node] = set()
        """The neighbours that have got a hello in this contact."""
        self._sent_up_to: dict[Node, int] = {}
        """For each neighbour that has greeted, up to which version it has been told in this contact."""
        self._awaited: dict[Node, tuple[int, set[Node]]] = {}
        """For each neighbour, the version that is heard once these rows have come."""
        self._used: tuple[int, Communities, int] | None = None
        self._row_at = 0.0
        """When the last row came."""

    def begin(self, epoch: int, start: float, finish: float) -> None:
        """A window is over: find communities by what happened in it."""
        links, meetings = {}, [finish]
        for peer in sorted(cast("list[Node]", self.history.peers)):
            here = [each for each in self.history.intervals(peer, finish) if each[1] >= start and each[0] <= finish]
            if here:
                apart = self.history.separations(peer, start, finish, self._edges)
                links[peer] = sum(apart) / len(apart) if apart else 0.0
                meetings += [max(start, begin) for begin, _ in here]
        meetings.sort()
        pause = max((later - earlier for earlier, later in pairwise(meetings)), default=finish - start)
        self.exchange = CommunityExchange(
            self.node, epoch, links, threshold=self._threshold, hops=self._hops, sigma=self._sigma, pause=pause
        )
        for table in (self._heard, self._known_by, self._sent_up_to, self._awaited):
            table.clear()
        self._row_at = finish

    # Patience ---------------------------------------------------------------------------------------------------------

    def in_company(self) -> bool:
        """Whether a neighbour is there that has greeted."""
        return bool(self._sent_up_to)

    def waits_until(self) -> float:
        """When this device gives up waiting for those whose rows have not come, unless another row comes before."""
        if self._patience is not None or self.exchange is None:
            return self._row_at + (self._patience or 0.0)
        return self._row_at + PAUSES * self.exchange.pause

    # Hellos and what follows --------------------------------------------------------------------------------------

    def hello(self, peer: Node, now: float) -> tuple[Versions, ...]:
        """The greeting of a peer, unless it has said that it has heard everything, and no row is waited for."""
        exchange = self.exchange
        if exchange is None:
            return ()
        waiting = not exchange.placed and now >= self.waits_until()
        if self._known_by.get(peer) == exchange.version and not waiting:
            return ()
        hello = Versions(exchange.epoch, exchange.version, self._heard.get(peer, 0))
        self._greeted.add(peer)
        self._count(hello)
        return (hello,)

    def forget(self, peer: Node) -> None:
        """A contact is over."""
        self._greeted.discard(peer)
        self._sent_up_to.pop(peer, None)
        self._awaited.pop(peer, None)

    def hear(self, peer: Node, packet: Control, now: float) -> list[tuple[Node, Control]]:
        """Take in a hello or what follows one; returns the answers, and for all neighbours what is new by it."""
        exchange = self.exchange
        if exchange is None:
            return []
        before, rows = exchange.version, len(exchange.rows)
        nothing_new = isinstance(packet, Versions) and packet.version <= self._heard.get(peer, 0)
        answers: list[tuple[Node, Control]] = []
        if isinstance(packet, Update):
            if packet.changes.epoch == exchange.epoch:
                answers = self._take_changes(peer, packet.changes)
                nothing_new = not answers
        elif isinstance(packet, Versions | AskRows | Rows) and packet.epoch == exchange.epoch:
            if isinstance(packet, Versions):
                answers = self._answer(peer, packet)
            elif isinstance(packet, AskRows):
                answers = [(peer, Rows(exchange.epoch, exchange.rows_of(packet.owners)))]
            else:
                exchange.take(packet.rows)
                self._settle(peer)
        if len(exchange.rows) > rows and self._patience is None:
            self._row_at = now
        if nothing_new and now >= self.waits_until():
            exchange.give_up()
        if exchange.version > before:
            answers += [packet for other in self._sent_up_to for packet in self._changes_for(other)]
        for _, answer in answers:
            self._count(answer)
        return answers

    def _answer(self, peer: Node, hello: Versions) -> list[tuple[Node, Control]]:
        assert self.exchange is not None
        self._known_by[peer] = hello.heard
        self._sent_up_to[peer] = max(hello.heard, self._sent_up_to.get(peer, 0))
        answers = self._changes_for(peer)
        if peer not in self._greeted:  # it does not know how much of it has been heard here
            self._greeted.add(peer)
            answers.insert(0, (peer, Versions(self.exchange.epoch, self.exchange.version, self._heard.get(peer, 0))))
        return answers

    def _changes_for(self, peer: Node) -> list[tuple[Node, Control]]:
        """What a neighbour has not been told."""
        exchange, version = self.exchange, self._sent_up_to[peer]
        assert exchange is not None
        if version >= exchange.version:
            return []
        self._sent_up_to[peer] = exchange.version
        return [(peer, Update(exchange.since(version)))]

    def _take_changes(self, peer: Node, changes: Learnt) -> list[tuple[Node, Control]]:
        assert self.exchange is not None
        lacking = self.exchange.hear(changes)
        version, awaited = self._awaited.get(peer, (self._heard.get(peer, 0), set()))
        if changes.since <= version:  # nothing in between was lost
            self._awaited[peer] = (max(version, changes.version), awaited | set(lacking))
        self._settle(peer)
        return [(peer, AskRows(self.exchange.epoch, lacking))] if lacking else []

    def _settle(self, peer: Node) -> None:
        """A version of a peer is heard once its rows are there."""
        assert self.exchange is not None
        if peer in self._awaited:
            version, awaited = self._awaited[peer]
            awaited -= self.exchange.rows.keys()
            if not awaited:
                self._heard[peer] = version
                del self._awaited[peer]

    def _count(self, packet: Control) -> None:
        self.hellos += 1
        self.hello_bytes += packet.size

    # What is found --------------------------------------------------------------------------------------------------

    def structure(self) -> Structure | None:
        """The structure as it is known now, if this device has a place in it and knows more than before."""
        exchange = self.exchange
        if exchange is None or not exchange.placed:
            return None
        found = (exchange.epoch, exchange.communities, exchange.basis)
        graph = exchange.graph() if found != self._used else None
        if graph is None:
            return None
        self._used = found
        return Structure(graph, exchange.communities, self._pruning)
