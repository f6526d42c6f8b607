"""B-SUB and B-SUB-P: messages climb towards those who meet the interested.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hunet.model import (
    Interest,
    Message,
    MessageSet,
    Node,
    Parameters,
    PeerError,
    Topic,
    doc,
    interest_of,
    members,
    without,
)
from hunet.model.keys import cover, keys_of
from hunet.protocols.capabilities import Demand, Experiment
from hunet.protocols.carrier import BufferParameters, Have
from hunet.protocols.contract import Control, Data, Driver, Packet
from hunet.systems.b_sub.filter import (
    HIGHEST,
    MOST_FILTERS,
    Evidence,
    FilterShape,
    TemporalCountingBloomFilter,
    cycles_between,
    preference,
)
from hunet.systems.b_sub.lookup import Lookup, lookup_of
from hunet.systems.b_sub.pace import PacedCarrier
from hunet.systems.b_sub.packets import GREETINGS, Filters, Forward, Truth, check_filters
from hunet.systems.b_sub.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

_MARKS = 256
"""Marks kept before those of messages that are gone are thrown away."""
_HEARD = 4096
"""Genuine filters remembered."""


class BSubParameters(BufferParameters, frozen=True):
    """B-SUB's parameters."""

    decay_cycle: (
        Annotated[
            float,
            doc(
                "time in which every counter loses 1; none: twice (B-SUB-P: once) the mean gap between contacts",
                symbol="1/DF",
                unit="s",
                source="section 6.2",
                gt=0,
            ),
        ]
        | None
    ) = None
    counters: Annotated[int, doc("counters of a filter", symbol="m", source="section 6.1", ge=8, le=256)] = 256
    hashes: Annotated[int, doc("positions of a tag", symbol="k", source="section 6.1", ge=1, le=16)] = 3
    initial: Annotated[int, doc("counter of a new interest", symbol="Π", source="section 6.1", ge=1, le=255)] = 5
    ceiling: Annotated[
        int,
        doc(
            "where counters stop: up to 255 a counter is a byte, up to 65535 two, above that four",
            symbol="C_max",
            source="section 6.2",
            ge=1,
            le=HIGHEST,
        ),
    ] = 255
    filters: Annotated[
        int, doc("filters over which tags are spread", symbol="h", source="section 5", ge=1, le=MOST_FILTERS)
    ] = 1
    salt: (
        Annotated[int, doc("which hash functions; none: with each seed of a study others", ge=0, lt=1 << 62)] | None
    ) = 0
    buffer: (
        Annotated[int, doc("messages that a device can hold; none is unlimited", unit="messages", source="section 6.1")]
        | None
    ) = 100
    while_linked: Annotated[
        bool,
        doc("what is published beside a neighbour is planned against the filters of when the contact began"),
    ] = True
    first_wins: Annotated[
        bool, doc("a message that was never relayed goes to whomever it meets first, whatever the preference")
    ] = False
    consumers_relay: Annotated[bool, doc("who wanted a message passes it on too")] = True
    relative_always: Annotated[
        bool, doc("a peer is preferred over no counter as over a counter of 1", source="section 3.1")
    ] = False
    suppress_own: Annotated[
        bool, doc("what peers have heard of a device's own interests stays out of its relay filter")
    ] = False
    exact: Annotated[
        bool, doc("exact counters go with the filters, to tell their false positives; for studies, slow")
    ] = False
    warm_up: Annotated[float, doc("exact: time from which on patient attackers listen", unit="s", ge=0)] = 0.0
    tags: Annotated[tuple[str, ...], doc("exact: the tags that an attacker tries; none: all of the workload")] = ()

    def __post_init__(self) -> None:
        if self.initial > self.ceiling:
            raise ValueError(f"initial ({self.initial}) cannot exceed ceiling ({self.ceiling})")
        if self.hashes == 16 and self.filters > 1:
            raise ValueError("with several filters there are 15 hashes at most: one more chooses the filter")


class Plan:
    """What goes to a peer in this contact: deliveries, and messages to relay with the preference that sends them."""

    __slots__ = ("before", "direct", "left", "made", "preferences", "unasked")

    saved: ClassVar[dict[str, Any]] = {
        "made": float,
        "left": MessageSet,
        "direct": MessageSet,
        "preferences": dict[int, float],
        "unasked": MessageSet,
        "before": dict[int, float | None],
    }

    def __init__(
        self, made: float, left: MessageSet, direct: MessageSet, preferences: dict[int, float], unasked: MessageSet = 0
    ) -> None:
        self.made, self.direct, self.preferences, self.unasked = made, direct, preferences, unasked
        self.left = left
        """What has not gone yet."""
        self.before: dict[int, float | None] = {}
        """The marks that messages had before they were given to the link."""

    def joined(self, earlier: Plan | None) -> Plan:
        """With what was planned earlier in the same contact."""
        if earlier:
            self.made = earlier.made
            self.left |= earlier.left
            self.direct |= earlier.direct
            self.unasked |= earlier.unasked
            self.preferences = earlier.preferences | self.preferences
            self.before = earlier.before
        return self


class BSub(PacedCarrier):
    """Deliver to the interested, relay to those who meet them more often."""

    gaps_of_cycle: ClassVar[float] = 2.0

    Parameters: ClassVar[type[Parameters]] = BSubParameters
    exchanges_once: ClassVar[bool] = True
    tells_interests: ClassVar[bool] = False

    saved: ClassVar[dict[str, Any]] = {
        "relay_counters": bytes,
        "marks": dict[int, float],
        "_most_marks": int,
        "filters": dict[Node, Filters],
        "plans": dict[Node, Plan],
        "_aged": float,
        "_next_decay": float,
    }

    @classmethod
    def prepare(cls, parameters: BSubParameters, experiment: Experiment) -> dict[str, Any]:
        found: dict[str, Any] = {"salt": experiment.seed} if parameters.salt is None else {}
        if parameters.exact and not parameters.tags:
            found["tags"] = tuple(sorted({key for topic in experiment.topics for key in keys_of(topic)}))
        return found

    @classmethod
    def refuses(cls, interest: Interest) -> str:
        if cover(interest) is None:
            return "filters hold what a message must have, and this asks for no tag, text or range: add one with 'and'"
        return ""

    def __init__(self, node: Node, parameters: BSubParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.shape = _shape(
            parameters.counters,
            parameters.hashes,
            parameters.initial,
            parameters.ceiling,
            parameters.filters,
            parameters.salt or 0,
        )
        self._unmarked = -inf if parameters.first_wins else 0.0
        """The mark of a message that was never relayed: what its first preference must exceed."""
        self.keys: list[str] = []
        """What stands in the genuine filter for the subscriptions."""
        self.genuine = self.relay = self.shape.empty()
        self._nothing = self.genuine.to_plain_wire()
        self.marks: dict[int, float] = {}
        """The paper's preference table: for messages that were relayed, the best preference they were sent for."""
        self._most_marks = _MARKS
        self.filters: dict[Node, Filters] = {}
        """The filters of neighbours with which the exchange of this contact is not finished."""
        self.plans: dict[Node, Plan] = {}
        self.open_contacts: dict[Node, tuple[bytes, Filters | None]] = {}
        """For each neighbour: this device's relay counters when the contact began, and the filters that it got then."""
        self._parted: tuple[Node, float, bytes] | None = None
        """Who left last, when, and the relay counters when that contact began."""
        self.watch = Watch(driver, self.shape, parameters.tags) if parameters.exact else None
        self.genuine_wire = b""
        self._aged = self._next_decay = self._begun = 0.0
        driver.messages.index_by(keys_of)
        self._tags = _lookup(self.shape, ())
        self._heard: dict[bytes, tuple[Evidence, list[Topic]]] = {}
        """For each genuine filter, as it came: the filter, and the tags that it matches."""

    # What variants change -------------------------------------------------------------------------------------------

    def greeting(self) -> tuple[Filters]:
        """The filters of this device: its interests and those that it relays (section 4.3)."""
        truth = self.watch.truth(self.keys) if self.watch else None
        return (self.filters_of(self.genuine_wire, self.relay.counters, truth),)

    def filters_of(self, genuine: bytes, relay: bytes, truth: Truth | None) -> Filters:
        """A greeting with these filters."""
        return GREETINGS[self.shape.width](genuine, relay, truth, self.seen)

    def plan(self, filters: Filters, mine: bytes, held: MessageSet, now: float) -> Plan | None:
        """Of messages held, what to send a peer that has sent these filters, and has seen what they list.

        ``mine`` are this device's relay counters to compare the peer's with (section 4.4).
        """
        if not held:
            return None
        # Numbers count from the first message that is still alive, which keeps the sets short.
        first, by_topic = self.driver.messages.alive(now)
        offers = held >> first
        offers ^= offers & (filters.seen >> first)
        if not offers:
            return None
        if len(by_topic) != len(self._tags.keys):
            self._know_tags(by_topic)
        direct = 0
        for tag in (self._heard.get(filters.genuine) or self._hear(filters.genuine))[1]:
            direct |= offers & by_topic[tag]
        offers ^= direct
        relayed, marks, unmarked = 0, self.marks, self._unmarked
        preferences: dict[int, float] = {}
        compare = self._tags.compared if unmarked < 0 else self._tags.preferred
        for on_tag, ours, theirs in compare(mine, filters.relay, by_topic.values()):
            messages = offers & on_tag
            if messages:
                better = preference(ours or self.parameters.relative_always, theirs)
                while messages:
                    number = messages.bit_length() - 1
                    bit = 1 << number
                    messages ^= bit
                    number += first
                    if better > marks.get(number, unmarked):
                        if not relayed & bit or better > preferences[number]:  # it may stand under several keys
                            preferences[number] = better
                        relayed |= bit
        goes = direct | relayed
        return Plan(now, goes << first, direct << first, preferences) if goes else None

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:  # noqa: ARG002
        if self.parameters.consumers_relay:
            return messages
        return without(messages, messages & self.delivered)

    def listeners(self, peer: Node) -> bool:
        return len(self.filters) > (peer in self.filters)

    # The contract ---------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self._aged = self._begun = now
        if self.watch:
            self.watch.begin(now)

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._renew_genuine()

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._renew_genuine()

    def publish(self, message: Message, now: float) -> None:
        super().publish(message, now)
        if not self.open_contacts or not self.parameters.while_linked:
            return
        # Filters have merged since the contact began, and no peer is preferred any more: the beginning counts.
        held = self.buffer.held(now) & message.bit
        planned = {
            peer: self.plan(filters, mine, held, now) for peer, (mine, filters) in self.open_contacts.items() if filters
        }
        for peer, plan in planned.items():
            if plan:
                self.plans[peer] = plan.joined(self.plans.get(peer))
        for peer, plan in planned.items():  # all plans are there when the first link is asked
            if plan:
                self.driver.wake(peer)

    @property
    def cycle(self) -> float:
        """The decay cycle: as given, or after the pace at which this device meets others."""
        given: float | None = self.parameters.decay_cycle
        return self.cycle_of_pace() if given is None else given

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        parted, self._parted = self._parted, None
        goes_on = parted is not None and parted[:2] == (peer, now)
        if not goes_on and self.parameters.decay_cycle is None:
            self._observe_contact(now)
        if now >= self._next_decay:
            self._age(now)
        if self.driver.messages.dead(now) != self._dead:
            self._forget_the_dead(now)
        if not self._greeting or self.watch:  # it stays the same until this device learns or sees something new
            greeting = self._greeting = self.greeting()
            if self.watch:
                warm = now >= self._begun + self.parameters.warm_up
                self.watch.greeted(greeting[0], self.keys, peer, warm=warm)
        # Live devices that stay together begin a new contact in the instant in which the last one ends: it goes on.
        self.open_contacts[peer] = parted[2] if parted and goes_on else self.relay.counters, None
        return self._greeting

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Filters):
            self.filters[peer] = packet
            if peer in self.open_contacts:
                self.open_contacts[peer] = self.open_contacts[peer][0], packet
            plan = self.plan(packet, self.relay.counters, self.buffer.held(now), now)
            if plan:
                self.plans[peer] = plan
                self.driver.wake(peer)
        elif isinstance(packet, Forward):
            matched = self._accept(peer, packet, now) & packet.direct
            for number in members(without(matched, self.delivered)):
                self.driver.false_match(self.driver.messages[number])
        elif isinstance(packet, Have) and peer in self.plans:
            self.plans[peer].left &= ~packet.messages

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        plan = self.plans.get(peer)
        if not plan or not plan.left:
            return None
        if now > plan.made:  # both ends send what they held when they met, also if it is pushed out by what they get
            plan.left &= self.buffer.held(now)
        left = plan.left if now == plan.made and len(self.plans) == 1 else self.still_better(plan)
        if not left:
            return None
        messages = self.driver.messages.newest(left, room)
        self._raise_marks(plan, messages)
        return Forward(messages, self.next_hops(messages), messages & plan.direct)

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        plan = self.plans.get(peer)
        if not plan:
            return
        plan.left ^= plan.left & packet.messages  # what the link lost is not tried again in this contact
        if not arrived:
            self._lower_marks(plan, packet.messages)
        else:
            assert isinstance(packet, Forward)
            if len(self.marks) > self._most_marks:
                marks = self.marks
                self.marks = {number: marks[number] for number in members(self.buffer.held(now)) if number in marks}
                self._most_marks = max(_MARKS, 2 * len(self.marks))
            if self.watch:
                filters = self.open_contacts[peer][1]
                assert filters is not None
                self.watch.forwarded(filters, packet, plan.unasked)

    def settled(self, peer: Node, now: float) -> None:
        filters = self.filters.pop(peer, None)  # one exchange in a contact, and this was it (section 6.1)
        if self.plans:
            self.plans.pop(peer, None)
        if not filters:
            return
        if now >= self._next_decay and self.parameters.decay_cycle is not None:  # one's own clock ticks at contacts
            self._age(now)
        # First the evidence, then the hearsay: the other way round, hearsay would be counted as evidence (section 4.3).
        hearsay, suppress = filters.relay, self.parameters.suppress_own
        if suppress:
            hearsay = TemporalCountingBloomFilter(self.shape, hearsay).without(self.genuine).counters
        evidence = (self._heard.get(filters.genuine) or self._hear(filters.genuine))[0]
        merged = self.relay.a_merge_and_m_merge(evidence, hearsay)
        if merged is not self.relay:
            self.relay, self._greeting = merged, ()
        if self.watch:
            self.watch.passed(now, self.cycle)
            self.watch.learned(filters, self.keys if suppress else ())

    def link_down(self, peer: Node, now: float) -> None:
        contact = self.open_contacts.pop(peer, None)
        if contact:
            self._parted = peer, now, contact[0]
        self.filters.pop(peer, None)  # the exchange may have been cut off
        self.plans.pop(peer, None)

    def check(self, packet: Packet) -> None:
        if isinstance(packet, Filters):
            if self.watch:
                raise PeerError("exact is for simulations: devices do not send what their filters stand for")
            check_filters(packet, self.shape)

    def demand(self, message: Message, now: float) -> Demand:
        faded = self.relay.decay(self._ticks(now))
        # Filters do not tell whose interests they hold.
        return Demand(strength=max([faded.value(key) for key in keys_of(message.topic)]))

    def observations(self, now: float) -> dict[str, float]:
        self._age(now)
        return self.watch.observations() if self.watch else {}

    # The steps ------------------------------------------------------------------------------------------------------

    def _hear(self, genuine: bytes) -> tuple[Evidence, list[Topic]]:
        if len(self._heard) >= _HEARD:  # a peer could make them up
            self._heard.clear()
        whole, evidence = _genuine(self.shape, genuine)
        heard = self._heard[genuine] = evidence, self._tags.present(whole.counters)
        return heard

    def _know_tags(self, tags: Iterable[Topic]) -> None:
        self._tags = _lookup(self.shape, tuple(tags))  # in the catalogue's order, in which it has their messages
        self._heard.clear()

    def still_better(self, plan: Plan) -> MessageSet:
        """What is left of a plan, without messages that go, or have gone, on another link for a higher preference.

        Whichever link is asked first: simulated and live ones are asked in different orders.
        """
        left, plans = plan.left, list(self.plans.values())
        earlier = plans.index(plan)
        for number, better in plan.preferences.items():
            bit = 1 << number
            if left & bit and (
                better <= self.marks.get(number, self._unmarked)
                or any(
                    other.left & bit and other.preferences.get(number, -inf) >= better + (i > earlier and 1e-9)
                    for i, other in enumerate(plans)
                    if other is not plan
                )
            ):
                left ^= bit
        return left

    def _raise_marks(self, plan: Plan, messages: MessageSet) -> None:
        """The marks of messages that are given to a link now, so that another one is asked for a higher preference."""
        preferences, marks = plan.preferences, self.marks
        if not preferences:
            return
        for number in members(messages):
            mark = preferences.get(number)
            if mark is not None:
                before = marks.get(number)
                if before is None or mark > before:
                    plan.before[number], marks[number] = before, mark

    def _lower_marks(self, plan: Plan, messages: MessageSet) -> None:
        """What did not arrive has the mark that it had before."""
        for number in members(messages):
            if number in plan.before and self.marks.get(number) == plan.preferences[number]:
                before = plan.before[number]
                if before is None:
                    del self.marks[number]
                else:
                    self.marks[number] = before

    def _ticks(self, now: float) -> int:
        """Decay cycles since the last time: of a common clock where the cycle is given, else of the device's own."""
        cycle: float | None = self.parameters.decay_cycle
        return self.ticks_since(self._aged, now) if cycle is None else cycles_between(self._aged, now, cycle)

    def _age(self, now: float) -> None:
        cycle, cycles = self.cycle, self._ticks(now)
        if self.watch:
            self.watch.passed(now, cycle)
        if self.parameters.decay_cycle is None:
            self._aged += cycles * cycle
            self._next_decay = self._aged + cycle
        else:
            self._aged, self._next_decay = now, (now // cycle + 1) * cycle
        if not cycles:
            return
        self.relay, self._greeting = self.relay.decay(cycles), ()
        if self.watch:
            self.watch.aged(cycles)

    def _observe_contact(self, now: float) -> None:
        if self._last_contact is None and not self.relay.packed:
            self._aged = max(self._aged, now)  # a clock of its own begins when there may be something to fade
        self.observe_contact(now)
        self._next_decay = now  # whether a cycle of the new length has passed

    def _renew_genuine(self) -> None:
        self.keys = sorted({key for topic in self.topics for key in cover(interest_of(topic)) or ()})
        self.genuine = self.shape.of(self.keys)
        self.genuine_wire, self._greeting = self.genuine.to_plain_wire(), ()

    # State ----------------------------------------------------------------------------------------------------------

    @property
    def relay_counters(self) -> bytes:
        """The relay filter as data."""
        return self.relay.counters

    @relay_counters.setter
    def relay_counters(self, counters: bytes) -> None:
        check_filters(GREETINGS[self.shape.width](b"", counters), self.shape)
        self.relay = TemporalCountingBloomFilter(self.shape, counters)

    def restored(self) -> None:
        """After a restart: the genuine filter follows from the topics."""
        self._renew_genuine()


class BSubP(BSub):
    """B-SUB with own and relayed interests mixed in one filter, for privacy (section 4.5)."""

    gaps_of_cycle: ClassVar[float] = 1.0

    def greeting(self) -> tuple[Filters]:
        truth = self.watch.truth(self.keys, mixed=True) if self.watch else None
        return (self.filters_of(self._nothing, self.relay.a_merge(self.genuine).counters, truth),)


@lru_cache(64)
def _shape(counters: int, hashes: int, initial: int, ceiling: int, filters: int, salt: int) -> FilterShape:
    return FilterShape(counters, hashes, initial, ceiling, filters, salt)


@lru_cache(_HEARD)
def _genuine(shape: FilterShape, data: bytes) -> tuple[TemporalCountingBloomFilter, Evidence]:
    whole = shape.from_plain_wire(data)
    return whole, Evidence(whole)


@lru_cache(256)
def _lookup(shape: FilterShape, tags: tuple[Topic, ...]) -> Lookup:
    return lookup_of(shape, tags)
