"""SocialCast: routing by where subscribers are likely to be met soon.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from collections import Counter, deque
from math import inf, nextafter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from hunet.model import (
    Interest,
    Message,
    MessageSet,
    Node,
    Parameters,
    PerMessage,
    Topic,
    matches,
    members,
    without,
)
from hunet.model.interests import tags_of
from hunet.protocols.byte_streams import KIND_BYTES, ids_size, texts_size
from hunet.protocols.capabilities import BatteryDriver, Demand
from hunet.protocols.contract import Control, Data, Driver, Packet, Protocol
from hunet.protocols.forms import NotSent
from hunet.systems.socialcast.kalman import NOTHING
from hunet.systems.socialcast.parameters import SocialCastParameters
from hunet.systems.socialcast.utility import Forecasts, Surroundings

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from random import Random

    from hunet.protocols.capabilities import RepeatingDriver


_MARGIN = 1e-9
"""So much higher may a utility be than worked out in another order."""


class Advertisement(Control, frozen=True, gc=False):
    """CONTROL of Fig. 2: what a device wants, how good a carrier it is for each interest, what it received last."""

    interests: tuple[Topic, ...]
    utilities: dict[Topic, float]
    received: MessageSet
    common: float = 0.0
    """The part of the utilities that all have in common: all of one for an interest that it has not met lately."""

    @property
    def size(self) -> int:
        texts = texts_size(self.interests) + texts_size(self.utilities)
        return KIND_BYTES + texts + 8 * len(self.utilities) + 8 + ids_size(self.received.bit_count())

    def wanted_nearby(self) -> list[Topic]:
        """The interests that the sender has itself, or has met lately."""
        least, own = self.common + NOTHING, self.interests
        return [topic for topic, utility in self.utilities.items() if utility > least or topic in own]

    @property
    def seen_bytes(self) -> int:
        return ids_size(self.received.bit_count())


class Outlook(Advertisement, frozen=True, gc=False):
    """An advertisement of a device that may leave out the next ones, because all of them follow from this one."""

    high: Annotated[tuple[tuple[Topic, float], ...], NotSent(())] = ()
    """The interests of which the utility is or may come above ``least``, and what it will at most be: forecasts of what
    its neighbours are interested in rise from now on, and all others fall."""
    least: Annotated[float, NotSent(0.0)] = 0.0


class Transfer(Data, frozen=True, gc=False):
    """DATA of Fig. 2; with ``replica`` the receiver becomes the carrier, without it only its application gets it."""

    hops: PerMessage
    """Transmissions behind each message, this one included; highest number first."""
    replica: bool


class SocialCast(Protocol):
    """Hand copies to whoever is likely to be near subscribers soon."""

    Parameters: ClassVar[type[Parameters]] = SocialCastParameters

    saved_version: ClassVar[int] = 2
    saved: ClassVar[dict[str, Any]] = {
        "neighbours": dict[Node, None],
        "rows": dict[Node, Advertisement],
        "has": dict[Node, MessageSet],
        "held": MessageSet,
        "copies": dict[int, tuple[int, int]],
        "received": deque[int],
        "received_set": MessageSet,
        "delivered": MessageSet,
        "surroundings": Surroundings,
        "forecasts": Forecasts,
        "utilities": dict[Topic, float],
        "_arrivals": int,
        "_copies_of": dict[int, list[int]],
        "_deliveries": dict[Node, MessageSet],
        "_handovers": dict[Node, MessageSet],
        "_observed": Counter[str],
        "_asleep": float | None,
        "_last": dict[Topic, float],
        "_forgets": float,
    }

    def __init__(self, node: Node, parameters: SocialCastParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.neighbours: dict[Node, None] = {}
        self.rows: dict[Node, Advertisement] = {}
        """The last advertisement of each neighbour."""
        self.has: dict[Node, MessageSet] = {}
        """What each of them has received, as far as this device knows."""
        self.held: MessageSet = 0
        self.copies: dict[int, tuple[int, int]] = {}
        """The buffer, in order of arrival: running number to (message, hops). The publisher holds several of one."""
        self.received: deque[int] = deque()
        self.received_set: MessageSet = 0
        self.delivered: MessageSet = 0
        self.surroundings = Surroundings(parameters.battery)
        self.forecasts = Forecasts(parameters)
        self.utilities: dict[Topic, float] = {}
        asks = parameters.weights.keys() - {"cdc", "col"}
        self._battery = driver.battery if asks and isinstance(driver, BatteryDriver) else None
        """Tells what is left of a real battery, if the driver knows and an attribute may ask."""
        self._arrivals = 0
        self._copies_of: dict[int, list[int]] = {}
        self._deliveries: dict[Node, MessageSet] = {}
        self._handovers: dict[Node, MessageSet] = {}
        self._observed: Counter[str] = Counter()
        self._asleep: float | None = None
        """While every tick would be like the last no timer runs: when the next one is due that was not made up for."""
        self._next_look: float | None = None if parameters.lag in (None, parameters.period) else inf
        """With a lag of its own (τ): when it looks around next, first at a tick; otherwise each tick does that."""
        self._company: set[Hashable] | None = None
        """The neighbours, and their interests, as sampled at the last tick; None if they have changed since."""
        self._near: set[Topic] | None = None
        self._interests: tuple[Topic, ...] | None = None
        self._last: dict[Topic, float] = {}
        """When this device heard last, of each interest that it forecasts, that somebody has it."""
        self._forgets = -inf
        """When to look next whether interests are to be forgotten."""
        self._silent = False
        self._said = Advertisement((), {}, 0)
        """The last advertisement."""
        self._first_expiry = inf
        """No message that it tells of expires before."""
        self._idle: dict[Node, tuple[Outlook, set[Topic] | None, MessageSet, MessageSet]] = {}
        """For neighbours that can get nothing: for which row, interests near, messages here and there that is so."""
        self._repeats: bool | None = None
        """Whether this device may leave out ticks in company; None before the first."""
        self._least: float = parameters.hysteresis - _MARGIN
        self._on_topic: dict[Topic, MessageSet] = {}
        """What it holds on each topic that somebody asked about, of ``_sorted``."""
        self._sorted: MessageSet = 0
        self._movers: list[Node] = []
        """Neighbours that may get something."""

    @classmethod
    def refuses(cls, interest: Interest) -> str:  # noqa: ARG003
        return ""

    # Events -------------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self.driver.set_timer("tick", now + self.rng.random() * self.parameters.period)  # section III: no synchrony
        for time in self.parameters.snapshots:
            if time >= now:
                self.driver.set_timer(f"held_at_{time:g}", time)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self._wake(now)
        if now >= self._forgets:
            self._forget(now)
        self.neighbours[peer] = None
        self._company = None
        return ()

    def link_down(self, peer: Node, now: float) -> None:
        self._wake(nextafter(now, inf))  # a tick that is due now comes before
        del self.neighbours[peer]
        self._company = None
        row = self.rows.pop(peer, None)
        if row:
            self._near = None
            self._last |= dict.fromkeys(row.wanted_nearby(), now)
            if self.parameters.col_mode == "interval":
                self.surroundings.passed.update(row.interests)
        self._idle.pop(peer, None)
        for table in (self.has, self._handovers):
            table.pop(peer, None)
        self._wake_carriers_of(self._deliveries.pop(peer, 0))

    def subscribe(self, topic: Topic, now: float) -> None:
        self._wake(now)
        super().subscribe(topic, now)
        self._interests = None
        self._hear_of(topic, now)
        self._bury_the_dead(now)
        for number in members(self.held & self.driver.messages.on_topic(topic)):
            self._deliver(number, self.copies[self._copies_of[number][0]][1])

    def unsubscribe(self, topic: Topic, now: float) -> None:
        self._wake(nextafter(now, inf))
        super().unsubscribe(topic, now)
        self._interests, self._last[topic] = None, now

    def publish(self, message: Message, now: float) -> None:
        self._wake(now)
        self._learn(message, now)
        self.delivered |= message.bit
        self._remember(message.number)
        for _ in range(self.parameters.copies):
            self._insert(message.number, 0)

    def timer(self, tag: str, now: float) -> None:
        if tag == "tick":
            self._tick(now)
            due = now + self.parameters.period
            if self._goes_on_like_this(now):
                self._asleep, self._silent = due, bool(self.neighbours)
            else:
                self.driver.set_timer(tag, due)
        elif tag == "expiry":
            self._wake(now)
        else:
            self._bury_the_dead(now)
            self._observed[f"{tag}_{len(self.copies)}"] += 1

    def observations(self, now: float) -> dict[str, float]:  # noqa: ARG002
        """How many deliveries came over how many hops (``hops_N``), devices held how much (``held_at_TIME_N``)."""
        return dict(self._observed)

    def _tick(self, now: float) -> None:
        """The three phases of Fig. 2, one after the other."""
        if self._next_look is None:
            self.update_own_utilities()
        else:
            self._next_look = now if self._next_look == inf else self._next_look
            self._look_around(nextafter(now, inf))
        self._bury_the_dead(now)
        if self.neighbours:
            received = without(self.received_set, self.driver.messages.dead(now))  # nobody sends what has expired
            self._said, self._silent = self._advertisement(received), False
            self.driver.broadcast(self._said)
            self._plan()

    def _advertisement(self, received: MessageSet) -> Advertisement:
        if self._interests is None:
            self._interests = tuple(sorted(self.topics))
        if self._near is None or not self._may_repeat():
            return Advertisement(self._interests, self.utilities, received, self.forecasts.common)
        near, utilities, common, least = self._near, self.utilities, self.forecasts.common, self._least
        highest = common + self.forecasts.weight
        # Of what has no forecast of its own the utility is what all have in common, which falls.
        asked = self.forecasts.levels if common <= least else utilities
        high = [
            (topic, highest if topic in near else utilities[topic])
            for topic in asked
            if topic in near or utilities[topic] > least
        ]
        return Outlook(self._interests, utilities, received, common, tuple(high), least)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Advertisement):
            last = self.rows.get(peer)
            if last is None or last.interests != packet.interests:
                self._wake(now)
                self._near = None
            known = self.forecasts.topics
            if not packet.utilities.keys() <= known.keys():
                for topic in packet.wanted_nearby():  # of what nobody has met lately, nobody learns any more
                    if topic not in known:
                        self._wake(now)
                        self._hear_of(topic, now)
            self.rows[peer], self.has[peer] = packet, packet.received
            if self._asleep is not None and self.held & packet.received != self.held and self.may_move(peer):
                self._wake(now)
        elif isinstance(packet, Transfer):
            self._wake(now)
            for number, hops in zip(members(packet.messages), packet.hops, strict=True):
                if now <= self.driver.messages[number].expires:
                    self._take(number, hops, packet.replica, now)

    def poll(self, peer: Node, now: float, room: int) -> Data | None:  # noqa: ARG002
        for plan in (self._deliveries, self._handovers):
            if peer in plan:  # what was under way at the tick has arrived since
                plan[peer] &= ~self.has[peer]
        wanted, handed = self._deliveries.get(peer, 0), self._handovers.get(peer, 0)
        if handed:  # Fig. 2 serves all subscribers first: the copy that leaves may be the last
            for others in self._deliveries.values():
                handed &= ~others
        if room == 1:  # oldest publication first, whatever becomes of it
            oldest = self.driver.messages.oldest(wanted | handed)
            wanted, handed = oldest & wanted, oldest & handed
        if wanted:
            self._deliveries[peer] ^= wanted
            self._wake_carriers_of(wanted)
            hops = [self.copies[self._copies_of[number][-1]][1] + 1 for number in members(wanted)]
            return Transfer(wanted, tuple(hops), False)
        if handed:
            self._handovers[peer] ^= handed
            return Transfer(handed, tuple([self._lift(number) + 1 for number in members(handed)]), True)
        return None

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        assert isinstance(packet, Transfer)
        self._wake(now)
        self.surroundings.transmissions += packet.messages.bit_count()
        if arrived and peer in self.has:
            self.has[peer] |= packet.messages
        if packet.replica:
            for number, hops in zip(members(packet.messages), packet.hops, strict=True):
                if arrived:
                    self.driver.removed(self.driver.messages[number], "handover")
                else:
                    self._put_back(number, hops - 1)

    def surrender(self, among: MessageSet, now: float) -> MessageSet:
        self._bury_the_dead(now)
        for arrival, (number, _) in self.copies.items():  # the copy that came in first goes
            if among >> number & 1:
                del self.copies[arrival]
                self._forget_copy(number, arrival)
                self.driver.removed(self.driver.messages[number], "overflow")
                return 1 << number
        return 0

    def demand(self, message: Message, now: float) -> Demand:
        self._catch_up(now)
        near = sum([1 << peer for peer, row in self.rows.items() if matches(row.interests, message.topic)])
        asked = [utility for topic, utility in self.utilities.items() if matches((topic,), message.topic)]
        return Demand(near, max(asked, default=0.0))

    # Steps --------------------------------------------------------------------------------------------------------

    def update_own_utilities(self, ticks: int = 1) -> None:
        """Sample the surroundings, so many times if they stay as they are, and forecast (section IV)."""
        if self._company is None:
            self._company = set(self.neighbours)
        if self._near is None:
            self._near = {topic for row in self.rows.values() for topic in row.interests}
        charge = self._battery() if self._battery else None
        self.utilities = self.forecasts.utilities(self.surroundings.sample(self._company, self._near, charge), ticks)

    def _look_around(self, before: float) -> None:
        """Take the samples that are due before a time, with a lag of its own: up to now nothing has changed."""
        samples = 0
        while self._next_look is not None and self._next_look < before:
            self._next_look += self.parameters.interval
            samples += 1
        if samples:
            self.update_own_utilities()
        if samples > 1:  # at the others nobody is new or gone
            self.update_own_utilities(samples - 1)

    # Ticks that are like the last -----------------------------------------------------------------------------------

    def is_silent(self) -> bool:
        return self._silent

    def say_again(self, now: float) -> Control | None:
        self._catch_up(now)
        return self._said

    def _may_repeat(self) -> bool:
        if self._repeats is None:
            monotonous = self.forecasts.monotonous and self._next_look is None
            self._repeats = monotonous and bool(getattr(self.driver, "repeats", False))
        return self._repeats

    def _goes_on_like_this(self, now: float) -> bool:
        """Whether all ticks until something happens do nothing but forecast and advertise."""
        if not self.neighbours:
            return True
        if not self._may_repeat() or self._deliveries or self._handovers:
            return False
        for peer in self._movers:
            if self.may_move(peer):
                return False
        if self._first_expiry < now:
            messages = self.driver.messages
            self._first_expiry = min([messages[each].expires for each in members(self._said.received)], default=inf)
        if self._first_expiry < inf:
            self.driver.set_timer("expiry", self._first_expiry)
        return True

    def may_move(self, peer: Node) -> bool:
        """Whether a neighbour may get something now or at a later tick, if utilities go on as they do."""
        held, has = self.held, self.has[peer]
        lacks = held ^ (held & has)
        if not lacks:
            return False
        row = self.rows[peer]
        if not isinstance(row, Outlook):
            return True
        known = self._idle.get(peer)
        if known and known[0] is row and known[1] is self._near and known[2] == held and known[3] == has:
            return False
        for topic in row.interests:
            if lacks & self._held_on(topic):
                return True
        own, least, weight, levels = self._near or (), self._least, self.forecasts.weight, self.forecasts.levels
        for topic, highest in row.high if least >= row.least else ((topic, 1.0) for topic in row.utilities):
            more = highest - least
            if more <= 0 or (topic in own and more <= weight * levels.get(topic, 0.0)):
                continue
            if lacks & self._held_on(topic):
                return True
        self._idle[peer] = row, self._near, held, has
        return False

    def _wake(self, now: float) -> None:
        """Something happens: make up for the ticks so far, and make the others one by one."""
        if self._asleep is None and self._next_look is None:
            return
        self._catch_up(now)
        if self._asleep is None:
            return
        self.driver.set_timer("tick", self._asleep)
        self._asleep = None

    def _catch_up(self, now: float) -> None:
        """Make up for the ticks before now: each sees the same, and only forecasts change.

        At one instant contacts, subscriptions and publications come before timers, so that a tick that is due now is
        not among them.
        """
        if self._next_look is not None:
            self._look_around(now)
        if self._asleep is None or self._asleep >= now:
            return
        ticks = 0
        while self._asleep < now:
            last, self._asleep = self._asleep, self._asleep + self.parameters.period
            ticks += 1
        if self._next_look is None:
            self.update_own_utilities(ticks)
        if self.neighbours:
            cast("RepeatingDriver", self.driver).repeated(self._said, ticks)
            self._said = self._advertisement(self._said.received)
        messages = self.driver.messages
        dead = self.held & messages.dead(now)
        if dead:
            self._bury([number for number in members(dead) if messages[number].expires < last])

    def _plan(self) -> None:
        """Fig. 2, lines for carrier selection and message dissemination: who gets what in this tick."""
        self._deliveries, self._handovers = {}, {}
        movable, held, on_topic = 0, self.held, self._held_on
        self._movers = movers = []
        repeating = cast("RepeatingDriver", self.driver) if self._may_repeat() else None
        for peer, has in self.has.items():
            lacks = held ^ (held & has)
            if not lacks:
                continue
            if repeating and not self.may_move(peer):
                continue
            if repeating and repeating.is_silent(peer):
                last = repeating.last_said(peer)
                assert isinstance(last, Advertisement)
                self.rows[peer] = last
            movable |= lacks
            movers.append(peer)
        if not movers:  # mostly everybody near has everything: the buffer need not be looked through
            return
        for topics, mine in self._by_interests(movable):
            self.choose_carriers(topics, mine)
        for peer in movers:
            wanted = 0
            for topic in self.rows[peer].interests:
                wanted |= on_topic(topic)
            if wanted:
                wanted = without(wanted & movable, self.has[peer] | self._handovers.get(peer, 0))
            if wanted:
                self._deliveries[peer] = wanted
            if wanted or peer in self._handovers:
                self.driver.wake(peer)

    def _held_on(self, topic: Topic) -> MessageSet:
        """What is held that matches a subscription."""
        if self._sorted != self.held:
            self._sorted, self._on_topic = self.held, {}
        found = self._on_topic.get(topic)
        if found is None:
            found = self._on_topic[topic] = self.held & self.driver.messages.on_topic(topic)
        return found

    def _wake_carriers_of(self, served: MessageSet) -> None:
        """Subscribers have been served: go on with the hand-overs that waited for that."""
        for peer, handed in self._handovers.items():
            if handed & served:
                self.driver.wake(peer)

    def _by_interests(self, messages: MessageSet) -> list[tuple[list[Topic], MessageSet]]:
        """Messages by the interests that they match, of those that this device forecasts."""
        on_topic, left = self._held_on, messages
        groups: list[tuple[list[Topic], MessageSet]] = []
        for topic in self.forecasts.topics:
            hits = messages & on_topic(topic)
            if not hits:
                continue
            fresh = hits & left
            if fresh != hits:  # some match interests that came before, too
                groups = [
                    part
                    for topics, group in groups
                    for part in ((topics, without(group, hits)), ([*topics, topic], group & hits))
                    if part[1]
                ]
            if fresh:
                left ^= fresh
                groups.append(([topic], fresh))
        return [*groups, ([], left)] if left else groups

    def choose_carriers(self, topics: list[Topic], mine: MessageSet) -> None:
        """The neighbour of the highest utility, if it exceeds ours by more than ε; ties: smallest id.

        ``mine`` are messages that are held here and that some neighbour has not received. The utility of a message is
        the highest for an interest that it matches: ``topics``.
        """
        level = self._highest(self.utilities, topics) + self.parameters.hysteresis
        rows = [(self._highest(self.rows[peer].utilities, topics), peer) for peer in self._movers]
        better = [(-utility, peer) for utility, peer in rows if utility > level]
        for _, peer in sorted(better) if len(better) > 1 else better:
            taken = without(mine, self.has[peer])
            if taken:
                self._handovers[peer] = self._handovers.get(peer, 0) | taken
                mine ^= taken

    def _highest(self, utilities: dict[Topic, float], topics: list[Topic]) -> float:
        if len(topics) == 1:
            return utilities.get(topics[0], 0.0)
        return max([utilities.get(topic, 0.0) for topic in topics], default=0.0)

    def _learn(self, message: Message, now: float) -> None:
        """Somebody may want a tag of this message; what is asked of attributes is learnt from those who ask."""
        for tag in tags_of(message.topic):
            self._hear_of(tag, now)

    def _hear_of(self, topic: Topic, now: float) -> None:
        self.forecasts.learn(topic)
        self._last[topic] = now

    def _forget(self, now: float) -> None:
        """Forget interests that nobody here has, or has met lately, and that no message here is about."""
        wanted = self.topics.union(*[row.interests for row in self.rows.values()])
        for topic in list(self.forecasts.topics):
            last = self._last.setdefault(topic, now)
            if topic in wanted or self.held & self.driver.messages.on_topic(topic):
                self._last[topic] = now
            elif last <= now - self.parameters.forget_after:
                self.forecasts.forget(topic)
                del self._last[topic]
                self.utilities = {each: value for each, value in self.utilities.items() if each != topic}
        self._last = {topic: last for topic, last in self._last.items() if topic in self.forecasts.topics}
        self._forgets = min(self._last.values(), default=now) + self.parameters.forget_after

    def _take(self, number: int, hops: int, replica: bool, now: float) -> None:
        message = self.driver.messages[number]
        self._learn(message, now)
        self._remember(number)
        if matches(self.topics, message.topic):
            self._deliver(number, hops)
        limit = self.parameters.max_hops
        if replica and (limit is None or hops < limit):
            self._insert(number, hops)

    def _deliver(self, number: int, hops: int) -> None:
        message = self.driver.messages[number]
        if not self.delivered >> number & 1 and message.publisher != self.node:
            self.delivered |= message.bit
            self._observed[f"hops_{hops}"] += 1
            self.driver.deliver(message, hops)

    def _remember(self, number: int) -> None:
        """The last λ messages received, own publications included: the paper does not say."""
        if not self.received_set >> number & 1:
            self.received.append(number)
            self.received_set |= 1 << number
            self._first_expiry = min(self._first_expiry, self.driver.messages[number].expires)
            if len(self.received) > self.parameters.memory:
                self.received_set ^= 1 << self.received.popleft()

    def _insert(self, number: int, hops: int) -> None:
        self._put_back(number, hops)
        self.driver.stored(1 << number)
        if self.parameters.buffer is not None and len(self.copies) > self.parameters.buffer:
            first = next(iter(self.copies))  # the copy that came in first goes
            gone = self.copies.pop(first)[0]
            self._forget_copy(gone, first)
            self.driver.removed(self.driver.messages[gone], "overflow")

    def _put_back(self, number: int, hops: int) -> None:
        self._arrivals += 1
        self.copies[self._arrivals] = (number, hops)
        self._copies_of.setdefault(number, []).append(self._arrivals)
        self.held |= 1 << number

    def _bury_the_dead(self, now: float) -> None:
        dead = self.held & self.driver.messages.dead(now)
        if dead:
            self._bury(members(dead))

    def _bury(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for arrival in list(self._copies_of[number]):
                del self.copies[arrival]
                self._forget_copy(number, arrival)
                self.driver.removed(self.driver.messages[number], "expired")

    def _lift(self, number: int) -> int:
        """Take one copy out of the buffer to send it; returns its hops."""
        arrival = self._copies_of[number][-1]
        hops = self.copies.pop(arrival)[1]
        self._forget_copy(number, arrival)
        return hops

    def _forget_copy(self, number: int, arrival: int) -> None:
        self._copies_of[number].remove(arrival)
        if not self._copies_of[number]:
            del self._copies_of[number]
            self.held ^= 1 << number
            for plan in (self._deliveries, self._handovers):
                for peer in plan:
                    plan[peer] &= ~(1 << number)

    def restored(self) -> None:
        """Tell the driver what is held after a restart."""
        for number, _ in self.copies.values():
            self.driver.stored(1 << number)
