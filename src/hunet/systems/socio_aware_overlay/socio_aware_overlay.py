"""Socio-Aware Overlay: the most central members of each community are its brokers, and brokers know each other.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, cast

import msgspec

from hunet.model import (
    ConfigurationError,
    Message,
    MessageSet,
    Node,
    NodeSet,
    Parameters,
    Topic,
    doc,
    members,
    without,
)
from hunet.protocols.buffer import Eviction
from hunet.protocols.capabilities import Demand, Experiment, OutOfBandDriver
from hunet.protocols.carrier import Carrier, Seen
from hunet.protocols.contract import Control, Data, Driver, Packet
from hunet.systems.socio_aware_overlay.broker_directory import BrokerDirectory
from hunet.systems.socio_aware_overlay.centrality import Centrality, brokers, closest, farthest
from hunet.systems.socio_aware_overlay.frozen_communities import FrozenCommunity, Hop, freeze, thawed, with_loners
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters, LocalCommunity, Told
from hunet.systems.socio_aware_overlay.packets import (
    BrokerNews,
    CommunityNews,
    Direct,
    Handed,
    Purpose,
    SubscriptionNews,
    TellAll,
)
from hunet.systems.socio_aware_overlay.subscription_list import SubscriptionList
from hunet.systems.socio_aware_overlay.telling import Telling

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from hunet.systems.socio_aware_overlay.subscription_list import Record


class OverlayParameters(DetectionParameters, frozen=True):
    """The Socio-Aware Overlay's parameters; those of a buffer are repeated, since records have one base."""

    mode: Annotated[
        Literal["online", "frozen"], doc("communities as devices find them on the way, or of the whole trace at once")
    ] = "online"
    centrality: Annotated[Centrality, doc("what makes a broker", source="section 3.3")] = "closeness"
    hop: Annotated[
        Hop, doc("frozen: who is one hop from whom when centralities are computed: all who met, or the familiar")
    ] = "met"
    broker_group: Annotated[
        bool, doc("whether all of the most central members are brokers, or one of them", source="section 5.2")
    ] = True
    broker_link: (
        Annotated[
            Literal["direct", "unicast"],
            doc("how brokers reach each other; none: direct if simulated, unicast if live", source="section 5.1"),
        ]
        | None
    ) = None
    unicast: Annotated[
        Literal["epidemic", "contact"], doc("what carries unicast: everybody, or brokers who meet brokers")
    ] = "epidemic"
    inject: Annotated[
        Literal["first-contact", "broker"], doc("to whom publishers hand their publications", source="section 5.3")
    ] = "first-contact"
    default_community: Annotated[
        bool, doc("whether devices without a community use the default one", source="section 5.2, step 7")
    ] = True
    buffer: Annotated[int, doc("messages that a device can hold; none is unlimited", unit="messages")] | None = None
    max_hops: Annotated[int, doc("a copy that has come this far is not stored; none is no limit", ge=1)] | None = None
    evict: Annotated[Eviction, doc("which message goes when the buffer is full")] = "oldest"
    communities: (
        Annotated[
            str | tuple[FrozenCommunity, ...],
            doc("frozen: a folder of hunet trace communities; none: found on the whole trace", path=True),
        ]
        | None
    ) = None


class Place(NamedTuple):
    """Where a device stands in the overlay."""

    community: NodeSet = 0
    """Its community: itself and whoever floods may reach."""
    brokers: NodeSet = 0
    """The brokers of its community."""
    depth: int = 1


class SocioAwareOverlay(Carrier):
    """Publications go over the brokers of communities; brokers flood where somebody wants them."""

    Parameters: ClassVar[type[Parameters]] = OverlayParameters
    tells_interests: ClassVar[bool] = False

    saved: ClassVar[dict[str, Any]] = {
        "place": Place,
        "view": LocalCommunity,
        "directory": BrokerDirectory,
        "subscriptions": SubscriptionList,
        "outbox": MessageSet,
        "errands": MessageSet,
        "unicasts": MessageSet,
        "floods": dict[tuple[NodeSet, int], MessageSet],
        "_reach": NodeSet,
    }

    @classmethod
    def prepare_live(cls, parameters: OverlayParameters, storage: int) -> OverlayParameters:  # noqa: ARG003
        if parameters.mode != "online":
            raise ConfigurationError(f"mode {parameters.mode} needs somebody who has the whole trace: set mode=online")
        if parameters.broker_link == "direct":
            raise ConfigurationError(
                "broker_link direct needs a network that joins all brokers at all times, which live nodes have not: "
                "set broker_link=unicast, or leave it out"
            )
        return msgspec.structs.replace(parameters, broker_link="unicast")

    @classmethod
    def prepare(cls, parameters: OverlayParameters, experiment: Experiment) -> dict[str, Any]:
        contacts, given = experiment.contacts, parameters.communities
        if parameters.mode == "online":
            if isinstance(given, str):
                raise ConfigurationError("a folder of communities is for mode frozen: set mode too")
            return {}
        settings: dict[str, Any] = {}
        if isinstance(given, str):
            tables = experiment.communities(given)
            known = thawed(tables.of(parameters.algorithm, contacts.names).members)
            plain, defaults = msgspec.structs.asdict(parameters), msgspec.structs.asdict(OverlayParameters())
            settings = tables.settings_of(parameters.algorithm, plain, defaults)
        elif given is not None:
            return {}
        else:
            known = freeze(
                contacts,
                parameters,
                hop=parameters.hop,
                centrality=parameters.centrality,
                single=not parameters.broker_group,
            )
        if parameters.default_community:
            known = with_loners(known, len(contacts.names))
        return {**settings, "communities": known}

    def __init__(self, node: Node, parameters: OverlayParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        if parameters.mode == "frozen" and parameters.communities is None:
            raise ConfigurationError("mode frozen needs communities: give them, or simulate on a trace to find them")
        if isinstance(parameters.communities, str):
            raise ConfigurationError("a folder of communities is for simulations: give the communities themselves")
        self.place = Place(1 << node)
        self.view = LocalCommunity(node, parameters)
        self.directory = BrokerDirectory()
        self.subscriptions = SubscriptionList()
        """Of a broker, the subscription list; of others, what is on its way there."""
        self.outbox: MessageSet = 0
        """Own publications that nobody has been handed yet."""
        self.errands: MessageSet = 0
        """Publications to be taken to a broker of this community."""
        self.unicasts: MessageSet = 0
        """Publications on their way to other brokers over contacts."""
        self.floods: dict[tuple[NodeSet, int], MessageSet] = {}
        """Publications to be spread, by who may get them, and how many more times they may be passed on."""
        self._reach: NodeSet = 0
        """Who may get any of them."""
        self._floods_to: dict[Node, MessageSet] | None = None
        """By who may get them; made when it is needed."""
        self._online = parameters.mode == "online"
        self._direct = parameters.broker_link != "unicast"
        self._seen = self.place
        """The place that followed from the community as it was last looked at."""
        self._degree = 0
        """That place is the same as long as all nodes that get more neighbours have fewer than this."""
        self._telling = Telling()
        """What each peer has been told, and what has come of what it tells."""
        self._unheeded: dict[Node, tuple[NodeSet, tuple[Record, ...]]] = {}
        """Of each peer: whose subscriptions concerned this device, and the records that did not."""

    @property
    def is_broker(self) -> bool:
        """Whether this device is a broker of its community."""
        return bool(self.place.brokers >> self.node & 1)

    @property
    def knows_no_broker(self) -> bool:
        """Whether step 7 has no default community to offer: then a device serves those that it meets itself."""
        return self._online and self.parameters.default_community and not (self.place.brokers or self.directory.brokers)

    # Events: contacts -----------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self.driver.role("user")
        for known in self.parameters.communities or ():
            members_, brokers_ = _as_set(known.members), _as_set(known.brokers)
            self.directory.update([(brokers_, members_, now)])
            if self.node in known.members or self.node in known.guests:
                self._move(Place(members_ | _as_set(known.guests), brokers_, known.depth), now)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        if self._online:
            reached = self.view.meet(peer, now)
            if reached is not None:
                self.driver.set_timer(f"familiar {peer}", reached)
            if self.view.nodes != self.place.community:  # a window has moved on
                self._look_around(now)
        return (*self._news(peer, now), *super().link_up(peer, now))

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self._telling.part(peer)
        if self._online:
            self.driver.cancel_timer(f"familiar {peer}")
            if self.view.part(peer, now):
                self._look_around(now)

    def timer(self, tag: str, now: float) -> None:
        peer = int(tag.removeprefix("familiar "))
        if self.view.cross(peer, now):
            self._look_around(now)
            return
        later = self.view.crossing(peer)
        if later is not None:
            self.driver.set_timer(tag, later)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, (CommunityNews, BrokerNews, SubscriptionNews)):
            self._hear(peer, packet, now)
        elif isinstance(packet, TellAll):
            if self._telling.tells_all(peer):
                for news in self._news(peer, now):
                    self.driver.send(peer, news)
        else:
            if self._online and isinstance(packet, Seen):
                self._find_default(peer, now)
            super().receive(peer, packet, now)
            if isinstance(packet, Seen) and self.place.brokers >> peer & 1:  # others were quicker
                done = self.errands & packet.messages
                self.errands ^= done
                self._drop(done)

    def _hear(self, peer: Node, news: CommunityNews | BrokerNews | SubscriptionNews, now: float) -> None:
        """Step 1: take in what a peer tells; who has missed any of it asks for everything."""
        everything = not isinstance(news, BrokerNews) and news.everything
        if not self._telling.hear(peer, news.number, everything):
            if self._telling.asks(peer):
                self.driver.send(peer, TellAll(news.number))
        elif isinstance(news, CommunityNews):
            if everything:
                self._unheeded.pop(peer, None)
            told = Told(news.community, news.familiar, news.familiar_of, news.judged)
            if self.view.hear(peer, told, now, everything):
                self._look_around(now)
        elif isinstance(news, BrokerNews):
            if self.directory.update(news.communities):
                self._withdraw(now)
        else:
            if everything:
                self._unheeded.pop(peer, None)
            self._learn(self._of_concern(news.records, peer), peer)

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Direct):
            self._accept(node, packet, now)
        elif isinstance(packet, BrokerNews):
            if self.directory.update(packet.communities):
                self._withdraw(now)
        elif isinstance(packet, SubscriptionNews):
            self._learn(packet.records, node, shared=True)

    # Events: the application ----------------------------------------------------------------------------------------

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._learn([(self.node, topic, True, now)])

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._learn([(self.node, topic, False, now)])

    def publish(self, message: Message, now: float) -> None:
        self.outbox |= message.bit
        super().publish(message, now)

    # Publications ---------------------------------------------------------------------------------------------------

    def plan(self, peer: Node, wanted: MessageSet) -> tuple[MessageSet, Purpose, NodeSet, int]:
        """Of messages that a peer lacks, what it gets first, and why; for floods their scope and how much further."""
        brokered = self.place.brokers >> peer & 1
        if self.outbox & wanted and (brokered or self.is_broker or self.parameters.inject == "first-contact"):
            return self.outbox & wanted, "inject", 0, 0
        if self.errands & wanted and brokered:
            return self.errands & wanted, "inject", 0, 0
        if self._reach >> peer & 1 and self._floods_for(peer) & wanted:
            for (scope, left), messages in self.floods.items():
                if scope >> peer & 1 and messages & wanted:
                    return messages & wanted, "flood", scope, left - 1
        if self.unicasts & wanted and (self.parameters.unicast == "epidemic" or self.directory.brokers >> peer & 1):
            return self.unicasts & wanted, "unicast", 0, 0
        return 0, "inject", 0, 0

    def lacking(self, peer: Node, known: MessageSet, now: float) -> MessageSet:
        wanted = without(self.buffer.held(now), known)
        return self.plan(peer, wanted)[0] if wanted else 0

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        known = self.known.get(peer)
        if known is None:  # it has not greeted yet
            return None
        wanted = without(self.buffer.held(now), known)
        if not wanted:
            return None
        messages, purpose, scope, left = self.plan(peer, wanted)
        if not messages:
            return None
        chosen = self.driver.messages.newest(messages, room)
        return Handed(chosen, self.next_hops(chosen), purpose, scope, left)

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        assert isinstance(packet, Handed)
        if not arrived or packet.purpose != "inject":
            return
        own = packet.messages & self.outbox
        self.outbox ^= own
        self.errands &= ~packet.messages
        kept = 0
        if own and self.is_broker:  # it has waited for this contact; a broker that it met tells the other brokers
            known = self.directory.brokers
            kept = self._serve(own, told=known if known >> peer & 1 and self._direct else 0)
            self._wake_all()
        self._drop(packet.messages & ~kept)

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:
        if isinstance(packet, Direct):
            return self._serve(messages, packet.told) if self.is_broker else self._pass_on(messages, packet.told)
        assert isinstance(packet, Handed)
        kept = 0
        if packet.purpose == "flood" and packet.left:
            kept |= self._flood(messages, packet.scope, packet.left)
        if packet.purpose == "unicast" and self.parameters.unicast == "epidemic":
            self.unicasts |= messages
            kept |= messages
        if self.is_broker:
            kept |= self._serve(messages)
        elif packet.purpose == "inject":
            self.errands |= messages
            kept |= messages
            if self.knows_no_broker:
                self._serve(messages)  # among those it has met; the errand is still for a broker
        return kept

    def _serve(self, messages: MessageSet, told: NodeSet = 0) -> MessageSet:
        """Steps 5 and 8: what a broker does with new publications; ``told`` brokers have them. Returns what to keep."""
        kept = 0
        for number in members(messages):
            message = self.driver.messages[number]
            wanted = self.subscriptions.subscribers(message.topic) & ~(1 << message.publisher | 1 << self.node)
            if wanted:
                kept |= self._flood(message.bit, self.place.community | wanted, self.place.depth)
        others = self.directory.brokers & ~(told | 1 << self.node) if messages else 0  # what came may have expired
        if others and self._direct:
            hops = tuple([self.hops[number] for number in members(messages)])
            packet = Direct(messages, hops, told | others | 1 << self.node)
            for broker in _sorted(others):
                self._send_out_of_band(broker, packet)
        elif others:
            self.unicasts |= messages
            kept |= messages
        return kept

    def _pass_on(self, messages: MessageSet, told: NodeSet) -> MessageSet:
        """What somebody who is no broker does with publications for one: its community's brokers get them."""
        others = self.place.brokers & ~(told | 1 << self.node)
        if others and messages:
            hops = tuple([self.hops[number] for number in members(messages)])
            for broker in _sorted(others):
                self._send_out_of_band(broker, Direct(messages, hops, told | others | 1 << self.node))
        return 0

    def _send_out_of_band(self, broker: Node, packet: Packet) -> None:
        cast("OutOfBandDriver", self.driver).send_out_of_band(broker, packet)

    def _drop(self, messages: MessageSet) -> None:
        for number in members(messages):
            self.buffer.remove(self.driver.messages[number], "given")

    def _flood(self, messages: MessageSet, scope: NodeSet, left: int) -> MessageSet:
        self.floods[scope, left] = self.floods.get((scope, left), 0) | messages
        self._reach |= scope
        if self._floods_to is not None:
            _add(self._floods_to, scope, messages)
        return messages

    def _floods_for(self, peer: Node) -> MessageSet:
        if self._floods_to is None:
            self._floods_to = {}
            for (scope, _), messages in self.floods.items():
                _add(self._floods_to, scope, messages)
        return self._floods_to.get(peer, 0)

    # Subscriptions --------------------------------------------------------------------------------------------------

    def _of_concern(self, records: tuple[Record, ...], peer: Node) -> Sequence[Record]:
        """Of records that a peer tells or has told, those that concern this device: step 4, and for brokers guests'."""
        subscribers = self.place.community
        if self.knows_no_broker:
            subscribers |= 1 << peer
        if self.is_broker:
            subscribers = -1 if self.place.brokers >> peer & 1 else subscribers | 1 << peer
        before, unheeded = self._unheeded.get(peer, (subscribers, ()))
        if unheeded and subscribers != before:
            records, unheeded = (*unheeded, *records), ()
        found: list[Record] = []
        others: list[Record] = []
        for record in records:
            (found if subscribers >> record[0] & 1 else others).append(record)
        if others or unheeded or before != subscribers:
            self._unheeded[peer] = subscribers, (*unheeded, *others)
        return found

    def _learn(self, records: Sequence[Record], teller: Node | None = None, shared: bool = False) -> None:
        """Take in subscriptions and pass on what is new: to members in contact and, Direct, to the other brokers."""
        before = self.subscriptions.changes.count
        news = tuple(self.subscriptions.update(records))
        if not news:
            return
        told = self._telling.told(teller) if teller is not None else None
        if told is not None and told.records == before:
            told.records = self.subscriptions.changes.count
        for neighbour in self.known:
            told = self._telling.told(neighbour)
            if neighbour != teller and told is not None and self._is_near(neighbour):
                self.driver.send(neighbour, SubscriptionNews(news, told.next()))
                if told.records == before:
                    told.records = self.subscriptions.changes.count
        if self.is_broker and self._direct and not shared:
            for broker in _sorted(self.place.brokers & ~(1 << self.node)):
                self._send_out_of_band(broker, SubscriptionNews(news))

    # The overlay ----------------------------------------------------------------------------------------------------

    def _look_around(self, now: float) -> None:
        """Step 2: the brokers of the community, as far as this device can see."""
        nodes = self.view.nodes
        if nodes == 1 << self.node:
            self._move(Place(nodes), now)
            return
        more, graph = self.view.changes(), self.view.graph()
        if more is None or any(graph[node].bit_count() >= self._degree for node in members(more)):
            if self.parameters.centrality == "closeness":
                group, self._degree = closest(graph)
            else:
                group = brokers(graph, self.parameters.centrality)
            if not self.parameters.broker_group:
                group &= -group
            self._seen = Place(nodes, group, max(1, farthest(graph, group)))
        self._move(self._seen, now)

    def _find_default(self, peer: Node, now: float) -> None:
        """Step 7: who has no community uses that of the first broker it meets."""
        if not self.place.brokers and self.parameters.default_community:
            entry = self.directory.of_broker(peer)
            if entry:
                self._move(Place(self.place.community, entry.brokers & ~(1 << self.node)), now)

    def _move(self, place: Place, now: float) -> None:
        """Take a new place; if the brokers have changed, step 3."""
        if place == self.place:
            return
        before, self.place = self.place, place
        was_broker = before.brokers >> self.node & 1
        since = self.directory.after_withdrawal(self.node, now)
        if self.is_broker and self._online:
            self.directory.update([(place.brokers, place.community, since)])
        if place.brokers != before.brokers and self._online and self._direct and (was_broker or self.is_broker):
            change = BrokerNews(((place.brokers, place.community, since),))
            for broker in _sorted(self.directory.brokers & ~(1 << self.node)):
                self._send_out_of_band(broker, change)
            if was_broker:
                handed_on = SubscriptionNews(self.subscriptions.records())
                for broker in _sorted(place.brokers & ~before.brokers):
                    self._send_out_of_band(broker, handed_on)
        self._withdraw(now)
        if was_broker != self.is_broker:
            self.driver.role("broker" if self.is_broker else "user")
            if self.is_broker and self.errands:  # they are at their end
                ended, self.errands = self.errands, 0
                self._drop(ended & ~self._serve(ended))
        self._wake_all()

    def _withdraw(self, now: float) -> None:
        """Take this device out of the directory if it is listed and is no broker; contacts spread the word."""
        if self._online and not self.is_broker and self.directory.brokers >> self.node & 1:
            self.directory.update([(1 << self.node, 0, now)])

    def _news(self, peer: Node, now: float) -> list[Control]:
        """What a device tells whom it meets (step 1): all that it knows, or what has changed since they met."""
        told, news = self._telling.told(peer), list[Control]()
        everything = told is None
        if told is None:
            told = self._telling.begin(peer, now)
            self.view.tell_all(peer)
        if self._online:
            _, said = self.view.tell(peer)
            news.append(CommunityNews(*said, told.next(), everything))
            if told.entries != self.directory.changes.count:
                entries = self.directory.news(told.entries)
                told.entries = self.directory.changes.count
                if entries:
                    news.append(BrokerNews(entries, told.next()))
        if self._is_near(peer):
            records = self.subscriptions.news(told.records)
            told.records = self.subscriptions.changes.count
            news.append(SubscriptionNews(records, told.next(), everything and not self._online))
        return news

    def _is_near(self, peer: Node) -> bool:
        return self.knows_no_broker or bool((self.place.community | self.place.brokers) >> peer & 1)

    def _wake_all(self) -> None:
        for neighbour in self.known:
            self.driver.wake(neighbour)

    def circle(self) -> NodeSet | None:
        return self.place.community

    def demand(self, message: Message, now: float) -> Demand:  # noqa: ARG002
        return Demand(self.subscriptions.subscribers(message.topic) & ~(1 << message.publisher | 1 << self.node))

    def observations(self, now: float) -> dict[str, float]:  # noqa: ARG002
        alone = self.place.community == 1 << self.node
        guests = {guest for known in self.parameters.communities or () for guest in known.guests}
        return {"brokers": float(self.is_broker), "loners": float(alone or self.node in guests)}


def _add(to: dict[Node, MessageSet], nodes: NodeSet, messages: MessageSet) -> None:
    for node in members(nodes):
        to[node] = to.get(node, 0) | messages


def _as_set(nodes: Sequence[Node]) -> NodeSet:
    return sum(1 << node for node in nodes)


def _sorted(nodes: NodeSet) -> tuple[Node, ...]:
    return tuple(reversed(members(nodes)))
