"""SocialCast: routing by where subscribers are likely to be met soon.

The folder's ``__init__`` has the citation, the theory of operation and the departures from the paper.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Message, MessageSet, Node, Parameters, PerMessage, Topic, members, without
from hunet.protocols.byte_streams import KIND_BYTES, ids_size, texts_size
from hunet.protocols.contract import Control, Data, Demand, Driver, Packet, Protocol
from hunet.systems.socialcast.parameters import SocialCastParameters
from hunet.systems.socialcast.utility import Forecasts, Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random


class Advertisement(Control, frozen=True, gc=False):
    """CONTROL of Fig. 2: what a device wants, how good a carrier it is for each interest, what it received last."""

    interests: tuple[Topic, ...]
    utilities: dict[Topic, float]
    received: MessageSet

    @property
    def size(self) -> int:
        texts = texts_size(self.interests) + texts_size(self.utilities)
        return KIND_BYTES + texts + 8 * len(self.utilities) + ids_size(self.received.bit_count())


class Transfer(Data, frozen=True, gc=False):
    """DATA of Fig. 2; with ``replica`` the receiver becomes the carrier, without it only its application gets it."""

    hops: PerMessage
    """Transmissions behind each message, this one included; highest number first."""
    replica: bool


class SocialCast(Protocol):
    """Hand copies to whoever is likely to be near subscribers soon."""

    Parameters: ClassVar[type[Parameters]] = SocialCastParameters

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
        self._arrivals = 0
        self._copies_of: dict[int, list[int]] = {}
        self._deliveries: dict[Node, MessageSet] = {}
        self._handovers: dict[Node, MessageSet] = {}
        self._observed: Counter[str] = Counter()
        self._asleep: float | None = None
        """While nobody is near no timer runs: when the next tick is due that has not been made up for."""

    # Events -------------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self.driver.set_timer("tick", now + self.rng.random() * self.parameters.period)  # section III: no synchrony
        for time in self.parameters.snapshots:
            if time >= now:
                self.driver.set_timer(f"held_at_{time:g}", time)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self._catch_up(now)
        if self._asleep is not None:
            self.driver.set_timer("tick", self._asleep)
            self._asleep = None
        self.neighbours[peer] = None
        return ()

    def link_down(self, peer: Node, now: float) -> None:  # noqa: ARG002
        del self.neighbours[peer]
        row = self.rows.pop(peer, None)
        if row and self.parameters.col_mode == "interval":
            self.surroundings.passed.update(row.interests)
        for table in (self.has, self._handovers):
            table.pop(peer, None)
        self._wake_carriers_of(self._deliveries.pop(peer, 0))

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._catch_up(now)
        self.forecasts.learn(topic)
        self._bury_the_dead(now)
        for number in members(self.held & self.driver.messages.on_topic(topic)):
            self._deliver(number, self.copies[self._copies_of[number][0]][1])

    def publish(self, message: Message, now: float) -> None:
        self._catch_up(now)
        self.forecasts.learn(message.topic)
        self.delivered |= message.bit
        self._remember(message.number)
        for _ in range(self.parameters.copies):
            self._insert(message.number, 0)

    def timer(self, tag: str, now: float) -> None:
        if tag == "tick":
            self._tick(now)
            if self.neighbours:
                self.driver.set_timer(tag, now + self.parameters.period)
            else:
                self._asleep = now + self.parameters.period
        else:
            self._bury_the_dead(now)
            self._observed[f"{tag}_{len(self.copies)}"] += 1

    def observations(self, now: float) -> dict[str, float]:  # noqa: ARG002
        """How many deliveries came over how many hops (``hops_N``), devices held how much (``held_at_TIME_N``)."""
        return dict(self._observed)

    def _tick(self, now: float) -> None:
        """The three phases of Fig. 2, one after the other."""
        self.update_own_utilities()
        self._bury_the_dead(now)
        if self.neighbours:
            received = without(self.received_set, self.driver.messages.dead(now))  # nobody sends what has expired
            self.driver.broadcast(Advertisement(tuple(sorted(self.topics)), self.utilities, received))
            self._plan()

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Advertisement):
            self.rows[peer], self.has[peer] = packet, packet.received
            if not packet.utilities.keys() <= self.forecasts.topics.keys():
                for topic in packet.utilities:
                    self.forecasts.learn(topic)
        elif isinstance(packet, Transfer):
            for number, hops in zip(members(packet.messages), packet.hops, strict=True):
                if now <= self.driver.messages[number].expires:
                    self._take(number, hops, packet.replica)

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

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:  # noqa: ARG002
        assert isinstance(packet, Transfer)
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
        near = sum([1 << peer for peer, row in self.rows.items() if message.topic in row.interests])
        return Demand(near, self.utilities.get(message.topic, 0.0))

    # Steps --------------------------------------------------------------------------------------------------------

    def update_own_utilities(self) -> None:
        """Sample the surroundings, and forecast (section IV)."""
        near = {topic for row in self.rows.values() for topic in row.interests}
        self.utilities = self.forecasts.utilities(self.surroundings.sample(set(self.neighbours), near))

    def _catch_up(self, now: float) -> None:
        """Make up for the ticks of a device without neighbours: each sees the same, and only forecasts change.

        At one instant contacts, subscriptions and publications come before timers, so that a tick that is due now is
        not among them.
        """
        if self._asleep is None or self._asleep >= now:
            return
        ticks = 0
        while self._asleep < now:
            last, self._asleep = self._asleep, self._asleep + self.parameters.period
            ticks += 1
        self.rest(ticks)
        self._bury(number for number in members(self.held) if self.driver.messages[number].expires < last)

    def rest(self, ticks: int) -> None:
        """Sample the surroundings so many times in which nobody is there."""
        self.utilities = self.forecasts.utilities(self.surroundings.sample(set(), set()), ticks)

    def _plan(self) -> None:
        """Fig. 2, lines for carrier selection and message dissemination: who gets what in this tick."""
        self._deliveries, self._handovers = {}, {}
        held, movable, by_topic = self.held, 0, self.driver.messages.by_topic
        for has in self.has.values():
            movable |= held & ~has
        if not movable:  # everybody near has everything: the buffer need not be looked through
            return
        for topic in self.forecasts.topics:
            mine = movable & by_topic.get(topic, 0)
            if mine:
                self.choose_carriers(topic, mine)
        for peer, row in self.rows.items():
            wanted = 0
            for topic in row.interests:
                wanted |= by_topic.get(topic, 0)
            wanted &= movable & ~self.has[peer] & ~self._handovers.get(peer, 0)
            if wanted:
                self._deliveries[peer] = wanted
            if wanted or peer in self._handovers:
                self.driver.wake(peer)

    def _wake_carriers_of(self, served: MessageSet) -> None:
        """Subscribers have been served: go on with the hand-overs that waited for that."""
        for peer, handed in self._handovers.items():
            if handed & served:
                self.driver.wake(peer)

    def choose_carriers(self, topic: Topic, mine: MessageSet) -> None:
        """The neighbour of the highest utility for the topic, if it exceeds ours by more than ε; ties: smallest id.

        ``mine`` are the messages on it that are held here and that some neighbour has not received.
        """
        level = self.utilities.get(topic, 0.0) + self.parameters.hysteresis
        told = [(row.utilities.get(topic, 0.0), peer) for peer, row in self.rows.items()]
        for _, peer in sorted([(-utility, peer) for utility, peer in told if utility > level]):
            taken = mine & ~self.has[peer]
            if taken:
                self._handovers[peer] = self._handovers.get(peer, 0) | taken
                mine ^= taken

    def _take(self, number: int, hops: int, replica: bool) -> None:
        message = self.driver.messages[number]
        self.forecasts.learn(message.topic)
        self._remember(number)
        if message.topic in self.topics:
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
        """The last λ messages received, own publications included (A6)."""
        if not self.received_set >> number & 1:
            self.received.append(number)
            self.received_set |= 1 << number
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
        self._bury(members(self.held & self.driver.messages.dead(now)))

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
