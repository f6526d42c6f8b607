"""MOPS: mobile community-based publish/subscribe.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from hunet.model import (
    ConfigurationError,
    Message,
    MessageSet,
    Node,
    NodeSet,
    Parameters,
    Topic,
    matches,
    members,
    without,
)
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, widths
from hunet.protocols.capabilities import Demand
from hunet.protocols.carrier import Seen
from hunet.protocols.contract import Control, Data, Driver, Packet
from hunet.systems.mops.closeness_graph import ClosenessGraph, ClosenessTable
from hunet.systems.mops.communities import Communities
from hunet.systems.mops.errands import Errand, Errands
from hunet.systems.mops.interests import InterestBook, InterestList, Internal, Lists, Relay
from hunet.systems.mops.learning import AskRows, Learner, Rows, Update, Versions
from hunet.systems.mops.parameters import MopsParameters, Table, closeness_in_training, tables_of
from hunet.systems.mops.structure import Standings, Structure, structure_of
from hunet.systems.mops.weighted_carrier import WantedTopics, WeightedCarrier

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from hunet.protocols.capabilities import Experiment

DAY = 86_400.0
"""A live device makes its place anew every day, if nothing is given (s)."""
_TICK = 1e-6
"""Two lists of one device are at least so far apart (s)."""


class LocalStanding(Control, frozen=True, gc=False):
    """Where the sender stands: its community, those to which it is a broker, and which lists of its own it knows."""

    community: Node
    bridges: tuple[Node, ...]
    lists: tuple[tuple[Node, float], ...]
    """Whose lists of its community it knows, and of what time."""

    @property
    def size(self) -> int:
        bridges, lists = len(self.bridges), len(self.lists)
        named = len({self.community, *self.bridges, *[origin for origin, _ in self.lists]})
        counts = count_size(bridges) + count_size(lists)
        return KIND_BYTES + ids_size(named) + counts + widths(named, 0).node * (1 + bridges + lists) + 8 * lists


class Mops(WeightedCarrier):
    """Send inside your community, collect for it outside, by weight."""

    Parameters: ClassVar[type[Parameters]] = MopsParameters

    saved_version: ClassVar[int] = 2
    saved: ClassVar[dict[str, Any]] = {
        "book": InterestBook,
        "parts_of_structure": tuple[ClosenessTable, Communities, Communities],
        "standing": dict[Node, LocalStanding],
        "errands": Errands,
        "only_carried": MessageSet,
        "_sent_to": dict[int, set[Node]],
        "learner": Learner | None,
        "placeless": bool,
        "_role": str,
        "_lists_sent": int,
    }

    def __init__(self, node: Node, parameters: MopsParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.book = InterestBook(
            node,
            parameters.alpha,
            parameters.default_weight,
            parameters.unsubscribed,
            exclude_peer=parameters.exclude_peer_community,
        )
        closeness, known = parameters.closeness or (), parameters.communities
        if isinstance(closeness, str) or isinstance(known, str):
            raise ConfigurationError("folders of closeness and communities are for simulations: leave them out")
        self.structure = self._made_of(closeness, known)
        self.book.use_structure(self.structure)
        self.standing: dict[Node, LocalStanding] = {}
        """What neighbours have told of themselves."""
        self.errands = Errands()
        self.only_carried: MessageSet = 0
        """What this device holds for an errand and nothing else."""
        self._sent_to: dict[int, set[Node]] = {}
        """The publisher's pub list: for its own messages, whom they were sent to or sent off to."""
        self.learner = self._learner() if parameters.learning == "exchange" else None
        self.placeless = parameters.learning == "exchange"
        """Whether this device has not found a place so far: then it carries for anybody, by the default weight."""
        self._mine: LocalStanding | None = None
        self._role = ""
        self._lists_sent = 0

    @classmethod
    def prepare(cls, parameters: MopsParameters, experiment: Experiment) -> dict[str, Any]:
        found = tables_of(parameters, experiment)
        known = msgspec.structs.replace(parameters, **found)
        return found | closeness_in_training(known, experiment.contacts, experiment.training)

    @classmethod
    def prepare_live(cls, parameters: MopsParameters, storage: int) -> MopsParameters:  # noqa: ARG003
        return msgspec.structs.replace(parameters, learning="exchange", relearn=parameters.relearn or DAY)

    @property
    def community(self) -> Node:
        """The label of this device's community."""
        return self.structure.label(self.node)

    @property
    def bridges(self) -> tuple[Node, ...]:
        """The communities to which this device is a broker."""
        return self.structure.bridges(self.node)

    # Phases and structures ------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        super().start(now)
        self._renew_list(now)
        self._tell_role()
        self._await_structure(now)

    def phase(self, name: str, now: float) -> None:
        super().phase(name, now)
        if self.training:
            self.standing.clear()
        else:
            self._learn(now)
            self._greet_neighbours(now)

    def timer(self, tag: str, now: float) -> None:
        if tag == "patience":
            if self.learner and self.learner.exchange and not self.learner.exchange.placed:
                if now < self.learner.waits_until():
                    self.driver.set_timer("patience", self.learner.waits_until())
                elif self.learner.in_company():
                    self.learner.exchange.give_up()
                    self._find_place(now)
        elif tag == "relearn":
            if self.learner:
                if not self.training:
                    self._learn(now)
                    self._greet_neighbours(now)
            else:
                table = [table for time, table in self.parameters.later if time <= now][-1]
                self.adopt(self._made_of(table), now)
            self._await_structure(now)

    def adopt(self, structure: Structure, now: float, *, first: bool = False) -> None:
        """Take a new place in a new structure, or the first one, and tell those who are near."""
        before = (self.community, self.structure.members(self.node), self.bridges)
        self.structure = structure
        if not first and before == (self.community, structure.members(self.node), self.bridges):
            self.book.weigh_by(structure)
            return
        self.book.use_structure(structure)
        self._mine = None
        self._renew_list(now)
        self._tell_role()
        self._greet_neighbours(now)

    def _made_of(self, table: Table, known: Standings | None = None) -> Structure:
        p = self.parameters
        return structure_of(table, p.threshold, p.hops, p.pruning, known)

    def _learner(self) -> Learner:
        p = self.parameters
        return Learner(
            self.node,
            threshold=p.threshold,
            hops=p.hops,
            pruning=p.pruning,
            sigma=p.sigma,
            edges=p.edges,
            patience=p.patience,
        )

    def _learn(self, now: float) -> None:
        """A window is over; devices whose clocks agree count windows alike."""
        if self.learner:
            p = self.parameters
            epoch = int(now // p.relearn) if p.relearn else 0
            self.learner.begin(epoch, max(self._began, now - p.window) if p.window else self._began, now)
            self.driver.set_timer("patience", self.learner.waits_until())
            self._find_place(now)

    def _find_place(self, now: float) -> None:
        structure = self.learner.structure() if self.learner else None
        if structure:
            first, self.placeless = self.placeless, False
            self.adopt(structure, now, first=first)

    def _await_structure(self, now: float) -> None:
        p = self.parameters
        if p.learning == "exchange":
            times = [(now // p.relearn + 1) * p.relearn] if p.relearn else []
        else:
            times = [time for time, _ in p.later if time > now]
        if times:
            self.driver.set_timer("relearn", times[0])

    def _tell_role(self) -> None:
        role = "broker" if self.bridges else "user"
        if role != self._role:
            self._role = role
            self.driver.role(role)

    def _greeted_again(self, peer: Node, now: float) -> None:
        for hello in self.learner.hello(peer, now) if self.learner else ():
            self.driver.send(peer, hello)
        if peer in self.standing:  # it has changed places a moment earlier
            self._answer(peer, self.standing[peer])

    # Contacts and lists (section IV.B) ------------------------------------------------------------------------------

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        greeting = super().link_up(peer, now)
        if self.learner:
            self.learner.history.start(peer, now)
            greeting += () if self.training else self.learner.hello(peer, now)
        return greeting

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        if self.learner:
            self.learner.history.end(peer, now)
            self.learner.forget(peer)
        self.standing.pop(peer, None)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, (WantedTopics, Seen)):
            super().receive(peer, packet, now)
        elif isinstance(packet, LocalStanding):
            self.standing[peer] = packet
            self._answer(peer, packet)
        elif isinstance(packet, Data):
            super().receive(peer, packet, now)
            if isinstance(packet, Errand):
                self._take_errand(packet, now)
        elif isinstance(packet, Lists):
            self._hear_lists(peer, packet, now)
        elif isinstance(packet, Internal):
            self.book.hear_internal(peer, packet)
            self._renew_list(now)
        elif isinstance(packet, Relay):
            self.book.hear_relay(peer, packet)
        elif isinstance(packet, Versions | Update | AskRows | Rows):
            if self.learner and not self.training:
                for other, answer in self.learner.hear(peer, packet, now):
                    self.driver.send(other, answer)
                self._find_place(now)
        else:
            super().receive(peer, packet, now)

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._change_interests(now)

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._change_interests(now)

    def list_for(self, standing: LocalStanding) -> WantedTopics:
        """The interest list that is meant for such a peer."""
        if self.placeless:
            return self.book.for_itself_and_anybody()
        if standing.community == self.community:
            return self.book.for_neighbours() if self.bridges else self.book.for_itself()
        return self.book.for_outsiders(standing.community) if self._pair_up(standing) else self.book.for_itself()

    def may_give(self, peer: Node, now: float) -> bool:
        return self.errands.by(peer) != 0 or super().may_give(peer, now)

    def greeting(self) -> tuple[Control, ...]:
        return (self._stand(), Seen(self.seen))

    def _stand(self) -> LocalStanding:
        if self._mine is None:
            lists = tuple((origin, one.made) for origin, one in sorted(self.book.lists.items()))
            self._mine = LocalStanding(self.community, self.bridges, lists)
        return self._mine

    def _answer(self, peer: Node, standing: LocalStanding) -> None:
        send, book = self.driver.send, self.book
        if standing.community == self.community:
            self._send_lists((peer,), self._lists_for(standing))
            if self.bridges and standing.bridges:
                send(peer, book.told_inside())
        elif self._pair_up(standing):
            send(peer, book.told_outside())
        send(peer, self.list_for(standing))

    def _lists_for(self, standing: LocalStanding) -> tuple[InterestList, ...]:
        """The lists that a member of the community lacks, or has of an earlier time."""
        mine = self._stand().lists
        if mine == standing.lists:
            return ()
        theirs = dict(standing.lists)
        return tuple(self.book.lists[origin] for origin, made in mine if made > theirs.get(origin, -inf))

    def _pair_up(self, standing: LocalStanding) -> bool:
        """Whether this device and the peer are both brokers between their communities."""
        return standing.community in self.bridges and self.community in standing.bridges

    def _hear_lists(self, peer: Node, packet: Lists, now: float) -> None:
        new = self.book.hear(packet.lists)
        if new:
            self._mine, self._greeting = None, ()
            others = [n for n, there in self.standing.items() if n != peer and there.community == self.community]
            self._send_lists(others, new)
            for message in map(self.driver.messages.__getitem__, members(self.published & self.buffer.held(now))):
                self._send_off(message, new)

    def _send_lists(self, peers: list[Node] | tuple[Node, ...], lists: tuple[InterestList, ...]) -> None:
        for peer in peers if lists else ():
            self._lists_sent += len(lists)
            self.driver.send(peer, Lists(lists))

    def _change_interests(self, now: float) -> None:
        self._renew_list(now)
        for peer, standing in self.standing.items():
            self.driver.send(peer, self.list_for(standing))
            if standing.community == self.community:
                self._send_lists((peer,), (self.book.lists[self.node],))

    def _renew_list(self, now: float) -> None:
        """Make this device's list of what it wants, with the time, if it is not as it was."""
        book, broker = self.book, bool(self.bridges)
        book.want(self.topics)
        anything = (broker or self.placeless) and book.default > 0
        carried = book.carried() if broker else ()
        before = book.lists.get(self.node)
        own = tuple(sorted(self.topics))
        if before is None or (before.own, before.carried, before.anything) != (own, carried, anything):
            made = now if before is None else max(now, before.made + _TICK)
            book.lists[self.node] = InterestList(self.node, made, own, carried, anything)
            self._mine, self._greeting = None, ()

    # Events (sections II.C, III.B) ----------------------------------------------------------------------------------

    def publish(self, message: Message, now: float) -> None:
        super().publish(message, now)
        self._send_off(message, self.book.lists.values())

    def gives(self, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        held = self.buffer.held(now)
        return without(held, self.only_carried) if self.only_carried else held

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        if peer not in self.wants or peer not in self.known:
            return None
        chosen = (
            self.most_wanted(peer, now, room) or self._errands_due(peer, now) or self.taken_by_default(peer, now, room)
        )
        return self.packet(chosen, peer) if chosen else None

    def packet(self, messages: MessageSet, peer: Node) -> Data:
        errands = messages & self.errands.by(peer)
        if errands:  # they go one by one
            errand = self.driver.messages.soonest(errands)
            return Errand(errand, self.next_hops(errand), self.errands.ways(errand.bit_length() - 1, peer))
        return super().packet(messages, peer)

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        if arrived:
            for number in members(packet.messages):
                self._served(number, peer)

    def circle(self) -> NodeSet | None:
        return sum([1 << node for node in self.structure.members(self.node)])

    def demand(self, message: Message, now: float) -> Demand:
        devices = super().demand(message, now).devices
        for one in self.book.lists.values():
            if one.origin != self.node and matches(one.own, message.topic):
                devices |= 1 << one.origin
        asked = self.book.external_or_relayed()
        strength = max([weight for topic, weight in asked.items() if matches((topic,), message.topic)], default=0.0)
        return Demand(devices, strength)

    def observations(self, now: float) -> dict[str, float]:  # noqa: ARG002
        """Sums over devices: list forwardings (Fig. 10), the structure, and what decides closeness (section III.A)."""
        decided = self.structure.graph.decided_for(self.node)
        starts = self.node == self.community
        return {
            "lists_sent": self._lists_sent,
            "communities": float(starts),
            **({f"communities_of_{len(self.structure.members(self.node))}": 1.0} if starts else {}),
            "brokers": float(bool(self.bridges)),
            "hellos": self.learner.hellos if self.learner else 0,
            "hello_bytes": self.learner.hello_bytes if self.learner else 0,
            **{f"decided_by_{hops}": float(count) for hops, count in decided.items()},
        }

    # Over virtual links (section III.B) -----------------------------------------------------------------------------

    def _send_off(self, message: Message, lists: Iterable[InterestList]) -> None:
        """Prepare an event of this device for those of the community who want it and are better reached over others."""
        sent = self._sent_to.setdefault(message.number, set())
        for one in lists:
            target = one.origin
            if target != self.node and target not in sent and self.book.asks_for(one, message.topic):
                way = self.structure.way(self.node, target)
                if len(way) > 2:  # a direct link needs no preparation: the two will meet
                    sent.add(target)
                    self._add_errand(message.number, way[1:])

    def _add_errand(self, number: int, way: tuple[Node, ...]) -> None:
        self.errands.add(number, way)
        if way[0] in self.known:
            self.driver.wake(way[0])

    def _take_errand(self, packet: Errand, now: float) -> None:
        if not self.buffer.held(now) & packet.messages:
            return
        message = self.driver.messages[packet.messages.bit_length() - 1]
        ways = [way for way in packet.ways if way]
        for way in ways:
            self._add_errand(message.number, way)
        asked = self.book.asks_for(self.book.lists[self.node], message.topic)
        if ways and not asked and message.publisher != self.node:
            self.only_carried |= packet.messages

    def _errands_due(self, peer: Node, now: float) -> MessageSet:
        """The messages to be handed to a peer for others; those that are gone, or that it has, are forgotten."""
        waiting = self.errands.by(peer)
        if not waiting:
            return 0
        due = without(waiting & self.buffer.held(now), self.known[peer])
        for number in members(waiting ^ due):
            self._served(number, peer)
        return due

    def _served(self, number: int, peer: Node) -> None:
        """A peer has a message: errands by it and for it are done."""
        if number in self._sent_to:
            self._sent_to[number].add(peer)
        if self.errands.done(number, peer) and self.only_carried >> number & 1:
            self.only_carried ^= 1 << number
            self.buffer.remove(self.driver.messages[number], "handover")

    # State ----------------------------------------------------------------------------------------------------------

    @property
    def parts_of_structure(self) -> tuple[ClosenessTable, Communities, Communities]:
        """The structure as data: links, communities by label, and for brokers the communities that they bridge to."""
        return self.structure.graph.table(), self.structure.communities, self.structure.brokers

    @parts_of_structure.setter
    def parts_of_structure(self, parts: tuple[ClosenessTable, Communities, Communities]) -> None:
        (table, groups, bridges), p = parts, self.parameters
        graph = ClosenessGraph(table, hops=p.hops, floor=p.threshold)
        self.structure = Structure(graph, groups, p.pruning, bridges)

    def restored(self) -> None:
        """After a restart."""
        self.book.weigh_by(self.structure)
