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
from hunet.systems.socio_aware_overlay.exchange import PeerExchange
from hunet.systems.socio_aware_overlay.frozen_communities import FrozenCommunity, Hop, freeze, thawed, with_loners
from hunet.systems.socio_aware_overlay.local_community import (
    NO_CHANGE,
    CommunityState,
    DetectionParameters,
    LocalCommunity,
)
from hunet.systems.socio_aware_overlay.packets import (
    Announcements,
    Direct,
    Handed,
    Purpose,
    Resend,
    StateUpdate,
    Subscriptions,
    Unchanged,
)
from hunet.systems.socio_aware_overlay.subscription_list import SubscriptionList

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from hunet.systems.socio_aware_overlay.broker_directory import Announcement
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
    patience: (
        Annotated[
            float,
            doc(
                "a device that is silent for longer than this share of the time for which it is known, and than an "
                "hour, is taken for gone, and others become brokers; none: never",
                gt=0,
            ),
        ]
        | None
    ) = 0.5
    forget_after: Annotated[
        float,
        doc("a subscription not renewed for so long is forgotten; its device renews it after half", unit="s", gt=0),
    ] = 7 * 86_400.0
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


_NOTHING = StateUpdate()


class Membership(NamedTuple):
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

    saved_version: ClassVar[int] = 2
    saved: ClassVar[dict[str, Any]] = {
        "membership": Membership,
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
        self.membership = Membership(1 << node)
        self.view = LocalCommunity(node, parameters)
        self.directory = BrokerDirectory(parameters.patience if parameters.mode == "online" else None)
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
        self._flood_log: list[tuple[NodeSet, MessageSet]] = []
        """The same in the order in which it came."""
        self._floods_to: dict[Node, tuple[int, MessageSet]] = {}
        """Of a peer: how far the log has been read for it, and what it may get by then."""
        self._online = parameters.mode == "online"
        self._direct = parameters.broker_link != "unicast"
        self._found = self.membership
        """The membership that followed from the community as it was last looked at."""
        self._degree = 0
        """That membership is the same as long as all nodes that get more neighbours have fewer than this."""
        self._gone: NodeSet = 0
        """Members of the community that were gone when its brokers were found."""
        self._was_listed = False
        self._exchanges: dict[Node, PeerExchange] = {}
        """What each peer has been sent, and what has come of what it sends."""
        self._renewal = 0.0
        """When to look next whether own subscriptions have to be renewed."""
        self._unheeded: dict[Node, tuple[NodeSet, tuple[Record, ...]]] = {}
        """Of each peer: whose subscriptions concerned this device, and the records that did not."""

    @property
    def is_broker(self) -> bool:
        """Whether this device is a broker of its community."""
        return bool(self.membership.brokers >> self.node & 1)

    @property
    def knows_no_broker(self) -> bool:
        """Whether step 7 has no default community to offer: then a device serves those that it meets itself."""
        return (
            self._online
            and self.parameters.default_community
            and not (self.membership.brokers or self.directory.brokers)
        )

    # Events: contacts -----------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self.driver.role("user")
        for known in self.parameters.communities or ():
            members_, brokers_ = _as_set(known.members), _as_set(known.brokers)
            self.directory.update([(broker, True, int(now)) for broker in known.brokers])
            if self.node in known.members or self.node in known.guests:
                self._set_membership(Membership(members_ | _as_set(known.guests), brokers_, known.depth), now)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self._refresh(now)
        if self._online:
            reached = self.view.link_up(peer, now)
            if reached is not None:
                self.driver.set_timer(f"familiar {peer}", reached)
            if self.directory.is_due(self.node, now):
                self._announce(now)
            expired = self.directory.expire(now)
            if expired or self.view.nodes != self.membership.community:  # or a window has moved on
                self._update_brokers(now)
        return (self._update_for(peer, now), *super().link_up(peer, now))

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self._exchange(peer).link_down()
        if self._online:
            self.driver.cancel_timer(f"familiar {peer}")
            if self.view.link_down(peer, now):
                self._update_brokers(now)

    def timer(self, tag: str, now: float) -> None:
        peer = int(tag.removeprefix("familiar "))
        if self.view.reach_threshold(peer, now):
            self._update_brokers(now)
            return
        later = self.view.threshold_time(peer)
        if later is not None:
            self.driver.set_timer(tag, later)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, (StateUpdate, Unchanged, Subscriptions)):
            self._receive_update(peer, packet, now)
        elif isinstance(packet, Resend):
            if self._exchange(peer).may_answer():
                self.driver.send(peer, self._update_for(peer, now))
        else:
            if self._online and isinstance(packet, Seen) and not self.membership.brokers:
                self._find_default(peer, now)
            super().receive(peer, packet, now)
            if isinstance(packet, Seen) and self.membership.brokers >> peer & 1:  # others were quicker
                done = self.errands & packet.messages
                self.errands ^= done
                self._drop(done)

    def _receive_update(self, peer: Node, packet: StateUpdate | Unchanged | Subscriptions, now: float) -> None:
        """Step 1: merge what a peer sends; if any of it is missing, ask for the whole state."""
        exchange = self._exchange(peer)
        if isinstance(packet, Unchanged):
            complete = packet.number == exchange.received
        else:
            complete = exchange.accepts(packet.number, isinstance(packet, StateUpdate) and packet.full)
        if not complete:
            if exchange.may_ask():
                self.driver.send(peer, Resend(packet.number))
        elif isinstance(packet, Subscriptions):
            self._learn(self._of_concern(packet.subscriptions, peer, now), peer)
        else:
            self._merge(peer, packet if isinstance(packet, StateUpdate) else _NOTHING, now)

    def _exchange(self, peer: Node) -> PeerExchange:
        found = self._exchanges.get(peer)
        if found is None:
            found = self._exchanges[peer] = PeerExchange()
        return found

    def _merge(self, peer: Node, update: StateUpdate, now: float) -> None:
        if update.full:
            self._unheeded.pop(peer, None)
        if self._online:
            state = CommunityState(update.community, update.familiar, update.familiar_of, update.versions)
            if self.view.receive(peer, state, now, update.full):
                self._update_brokers(now)
            if update.announcements:
                before, exchange = self.directory.changes.count, self._exchange(peer)
                self._update_directory(update.announcements, now)
                if exchange.directory == before:  # the peer knows what it has sent
                    exchange.directory = self.directory.changes.count
        if update.subscriptions or peer in self._unheeded:
            self._learn(self._of_concern(update.subscriptions, peer, now), peer)

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Direct):
            self._accept(node, packet, now)
        elif isinstance(packet, Announcements):
            self._update_directory(packet.announcements, now)
        elif isinstance(packet, Subscriptions):
            self._learn(packet.subscriptions, node, shared=True)

    # Events: the application ----------------------------------------------------------------------------------------

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._renewal = min(self._renewal, now + self.parameters.forget_after / 2)
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
        brokered = self.membership.brokers >> peer & 1
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
            kept = self._serve(own, reached=known if known >> peer & 1 and self._direct else 0)
            self._wake_all()
        self._drop(packet.messages & ~kept)

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:
        if isinstance(packet, Direct):
            return self._serve(messages, packet.reached) if self.is_broker else self._pass_on(messages, packet.reached)
        assert isinstance(packet, Handed)
        kept = 0
        if packet.purpose == "flood" and packet.left:
            kept |= self._flood(messages, packet.scope, packet.left)
        if packet.purpose == "unicast" and self.parameters.unicast == "epidemic":
            self.unicasts |= messages
            kept |= messages
        if self.is_broker:
            # A flood comes from a broker, who has sent it to the others.
            kept |= self._serve(messages, self.directory.brokers if packet.purpose == "flood" and self._direct else 0)
        elif packet.purpose == "inject":
            self.errands |= messages
            kept |= messages
            if self.knows_no_broker:
                self._serve(messages)  # among those it has met; the errand is still for a broker
        return kept

    def _serve(self, messages: MessageSet, reached: NodeSet = 0) -> MessageSet:
        """Steps 5 and 8: serve new publications, which the brokers ``reached`` have; returns what to keep."""
        kept = 0
        for number in members(messages):
            message = self.driver.messages[number]
            wanted = self.subscriptions.subscribers(message.topic) & ~(1 << message.publisher | 1 << self.node)
            if wanted:
                kept |= self._flood(message.bit, self.membership.community | wanted, self.membership.depth)
        others = self.directory.brokers & ~(reached | 1 << self.node) if messages else 0  # what came may have expired
        if others and self._direct:
            hops = tuple([self.hops[number] for number in members(messages)])
            packet = Direct(messages, hops, reached | others | 1 << self.node)
            for broker in _sorted(others):
                self._send_out_of_band(broker, packet)
        elif others:
            self.unicasts |= messages
            kept |= messages
        return kept

    def _pass_on(self, messages: MessageSet, reached: NodeSet) -> MessageSet:
        """What a device does that is no broker any more: the brokers of its community get what has come for one."""
        if not messages:
            return 0
        successors = self.membership.brokers & self.directory.brokers or self.membership.brokers
        if successors & reached:
            return 0
        others = successors & ~(1 << self.node)
        if not others:  # a broker that it meets gets them
            self.errands |= messages
            return messages
        hops = tuple([self.hops[number] for number in members(messages)])
        packet = Direct(messages, hops, reached | others | 1 << self.node)
        for broker in _sorted(others):
            self._send_out_of_band(broker, packet)
        return 0

    def _send_out_of_band(self, broker: Node, packet: Packet) -> None:
        cast("OutOfBandDriver", self.driver).send_out_of_band(broker, packet)

    def _drop(self, messages: MessageSet) -> None:
        for number in members(messages):
            self.buffer.remove(self.driver.messages[number], "given")

    def _flood(self, messages: MessageSet, scope: NodeSet, left: int) -> MessageSet:
        self.floods[scope, left] = self.floods.get((scope, left), 0) | messages
        self._reach |= scope
        self._flood_log.append((scope, messages))
        return messages

    def _floods_for(self, peer: Node) -> MessageSet:
        log = self._flood_log
        read, found = self._floods_to.get(peer, (0, 0))
        if read < len(log):
            for scope, messages in log[read:]:
                if scope >> peer & 1:
                    found |= messages
            self._floods_to[peer] = (len(log), found)
        return found

    def restored(self) -> None:
        """After a restart: index what is to be spread."""
        self._flood_log = [(scope, messages) for (scope, _), messages in self.floods.items()]

    # Subscriptions --------------------------------------------------------------------------------------------------

    def _refresh(self, now: float) -> None:
        """Renew what this device wants in time, and forget what others have not renewed."""
        after = self.parameters.forget_after
        if now >= self._renewal:
            since = {topic: self.subscriptions.since(self.node, topic) for topic in sorted(self.topics)}
            due = [topic for topic, time in since.items() if time <= now - after / 2]
            self._learn([(self.node, topic, True, now) for topic in due])
            self._renewal = after / 2 + min([time for topic, time in since.items() if topic not in due], default=now)
        self.subscriptions.forget(now - after)

    def _of_concern(self, records: tuple[Record, ...], peer: Node, now: float) -> Sequence[Record]:
        """Of records that a peer sends or has sent, those that concern this device: step 4, and for brokers guests'."""
        subscribers = self.membership.community
        if self.knows_no_broker:
            subscribers |= 1 << peer
        if self.is_broker:
            subscribers = -1 if self.membership.brokers >> peer & 1 else subscribers | 1 << peer
        before, unheeded = self._unheeded.get(peer, (subscribers, ()))
        if unheeded and subscribers != before:
            records, unheeded = (*unheeded, *records), ()
        found: list[Record] = []
        others: list[Record] = []
        earliest = now - self.parameters.forget_after
        for record in records:
            if record[3] < earliest:
                continue
            (found if subscribers >> record[0] & 1 else others).append(record)
        if others or unheeded or before != subscribers:
            self._unheeded[peer] = subscribers, (*unheeded, *others)
        return found

    def _learn(self, records: Sequence[Record], source: Node | None = None, shared: bool = False) -> None:
        """Merge subscriptions and pass on what is new: to members in contact and, Direct, to the other brokers."""
        if not records:
            return
        before = self.subscriptions.changes.count
        new = tuple(self.subscriptions.update(records))
        if not new:
            return
        count = self.subscriptions.changes.count
        if source is not None:
            exchange = self._exchanges.get(source)
            if exchange is not None and exchange.began and exchange.subscriptions == before:
                exchange.subscriptions = count
        for neighbour in self.known:
            exchange = self._exchange(neighbour)
            if neighbour != source and exchange.began and self._is_near(neighbour):
                self.driver.send(neighbour, Subscriptions(new, exchange.next()))
                if exchange.subscriptions == before:
                    exchange.subscriptions = count
        if self.is_broker and self._direct and not shared:
            for broker in _sorted(self.membership.brokers & ~(1 << self.node)):
                self._send_out_of_band(broker, Subscriptions(new))

    # The overlay ----------------------------------------------------------------------------------------------------

    def _update_brokers(self, now: float) -> None:
        """Step 2: the brokers of the community, as far as this device can see."""
        nodes, gone = self.view.nodes, self.view.nodes & self.directory.gone
        if nodes == 1 << self.node:
            self._set_membership(Membership(nodes), now)
            return
        more, graph = self.view.changes(), self.view.graph()
        if more is None or gone != self._gone or any(graph[node].bit_count() >= self._degree for node in members(more)):
            self._gone = gone
            if gone:
                graph = {node: near & ~gone for node, near in graph.items() if not gone >> node & 1}
            if self.parameters.centrality == "closeness":
                group, self._degree = closest(graph)
            else:
                group = brokers(graph, self.parameters.centrality)
            if not self.parameters.broker_group:
                group &= -group
            self._found = Membership(nodes, group, max(1, farthest(graph, group)))
        self._set_membership(self._found, now)

    def _find_default(self, peer: Node, now: float) -> None:
        """Step 7: who has no community uses that of the first broker it meets."""
        known = self.directory.brokers
        if self.parameters.default_community and known >> peer & 1:
            found = (known & self.view.community_of(peer) | 1 << peer) & ~(1 << self.node)
            self._set_membership(Membership(self.membership.community, found), now)

    def _set_membership(self, membership: Membership, now: float) -> None:
        """Take a new membership; if this device becomes a broker, or is none any more, step 3."""
        if membership == self.membership:
            return
        before, self.membership = self.membership, membership
        was_broker = before.brokers >> self.node & 1
        if was_broker and self._online and self._direct:
            handed_on = Subscriptions(self.subscriptions.records())
            for broker in _sorted(membership.brokers & ~before.brokers):
                self._send_out_of_band(broker, handed_on)
        if was_broker != self.is_broker:
            if self._online:
                self._announce(now)
            self.driver.role("broker" if self.is_broker else "user")
            if self.is_broker and self.errands:  # they are at their end
                ended, self.errands = self.errands, 0
                self._drop(ended & ~self._serve(ended))
        self._wake_all()

    def _announce(self, now: float) -> None:
        """Announce the role of this device: in contacts, and to brokers out of band if it is one, or has been."""
        mine = self.directory.announce(self.node, self.is_broker, now)
        listed = self.directory.brokers & ~(1 << self.node)
        if self._direct and listed and (mine[1] or self._was_listed):
            packet = Announcements((mine,))
            for broker in _sorted(listed):
                self._send_out_of_band(broker, packet)
        self._was_listed = mine[1]

    def _update_directory(self, announcements: Sequence[Announcement], now: float) -> None:
        """Merge what others say of the roles of devices; of its own a device knows best."""
        if self.directory.update(announcements):
            if bool(self.directory.brokers >> self.node & 1) != self.is_broker:  # from before it lost its memory
                self._announce(now)
            if self._gone & ~self.directory.gone:
                self._update_brokers(now)

    def _update_for(self, peer: Node, now: float) -> Control:
        """What a device sends at a contact (step 1): its state, or what has changed since the last update."""
        exchange = self._exchange(peer)
        full = not exchange.began
        if full:
            exchange.begin(now)
            self.view.forget_sent(peer)
        state = NO_CHANGE
        announcements: tuple[Announcement, ...] = ()
        subscriptions: tuple[Record, ...] = ()
        if self._online:
            state = self.view.changes_for(peer)[1]
            if exchange.directory != self.directory.changes.count:
                announcements = self.directory.changed_since(exchange.directory)
                exchange.directory = self.directory.changes.count
        if exchange.subscriptions != self.subscriptions.changes.count and self._is_near(peer):
            subscriptions = self.subscriptions.changed_since(exchange.subscriptions)
            exchange.subscriptions = self.subscriptions.changes.count
        if not full and state is NO_CHANGE and not announcements and not subscriptions:
            return Unchanged(exchange.sent)
        return StateUpdate(exchange.next(), full, *state, announcements, subscriptions)

    def _is_near(self, peer: Node) -> bool:
        return self.knows_no_broker or bool((self.membership.community | self.membership.brokers) >> peer & 1)

    def _wake_all(self) -> None:
        for neighbour in self.known:
            self.driver.wake(neighbour)

    def circle(self) -> NodeSet | None:
        return self.membership.community

    def demand(self, message: Message, now: float) -> Demand:  # noqa: ARG002
        return Demand(self.subscriptions.subscribers(message.topic) & ~(1 << message.publisher | 1 << self.node))

    def observations(self, now: float) -> dict[str, float]:  # noqa: ARG002
        alone = self.membership.community == 1 << self.node
        guests = {guest for known in self.parameters.communities or () for guest in known.guests}
        return {"brokers": float(self.is_broker), "loners": float(alone or self.node in guests)}


def _as_set(nodes: Sequence[Node]) -> NodeSet:
    return sum(1 << node for node in nodes)


def _sorted(nodes: NodeSet) -> tuple[Node, ...]:
    return tuple(reversed(members(nodes)))
