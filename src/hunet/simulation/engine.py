"""The engine: devices, links and what happens between them at an instant.

The engine is the simulator's driver of protocols (see ``hunet.protocols.contract``). It knows no schedule: somebody
tells it that a contact starts or ends, that an application publishes or subscribes, that a device crashes; it carries
the packets that follow, until nothing more can happen at that instant. The event loop is in ``hunet.simulation.run``;
tests tell the engine themselves (``hunet.testing``).

Links are *instantaneous*, or *limited* in messages or bits per second. On an instantaneous link all data that can
change hands does so at once, also over several hops where contacts are open together. On a limited link one packet is
under way at a time, in one direction (half duplex, shared); the two ends take turns; a packet still under way when
the contact ends is lost. Control packets arrive at once on either; with ``control = "shared"`` data waits on a limited
link for as long as the control before it takes. With one *radio* a device sends or receives one packet
at a time, over all its links together.

A device may have limited *storage*, in bytes. When what it holds is more, its protocol lets go of copies, by its own
ranking (``surrender``), before anything else happens; a message that is larger than the storage goes first.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf, nextafter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from hunet.model import (
    Catalogue,
    DeviceCatalogue,
    Message,
    MessageSet,
    Node,
    ProtocolError,
    Topic,
    canonical_interest,
    doc,
    members,
)
from hunet.model.parameters import Parameters
from hunet.protocols.capabilities import (
    Counts,
    Delivers,
    OutOfBand,
    Repeats,
    Settles,
    Surrenders,
    Trains,
    check_subscription,
)
from hunet.protocols.contract import Control, Data, Packet, Protocol
from hunet.simulation.record import Record

if TYPE_CHECKING:
    from random import Random

    from hunet.protocols.contract import Driver

MakeProtocol = Callable[[Node, "Driver", int], Protocol]
"""Makes the protocol object of a device: its number, its driver, and how often it has been started before."""


class Rank:
    """The order of events at one instant; contacts are usable at both of their ends."""

    RESTART: Final = 0
    CONTACT_START: Final = 1
    PHASE: Final = 2
    SUBSCRIBE: Final = 3
    PUBLISH: Final = 4
    ARRIVAL: Final = 5
    TIMER: Final = 6
    UNSUBSCRIBE: Final = 7
    CONTACT_END: Final = 8
    CRASH: Final = 9
    LAST: Final = 10


_NO_MULTICAST: tuple[int, int, float, Node, Packet | None, list[Node]] = (-1, 0, 0.0, -1, None, [])


class Links(Parameters, frozen=True):
    """What a contact can carry."""

    rate: Annotated[float, doc("what a link carries; none is everything, at once", gt=0)] | None = None
    unit: Annotated[Literal["messages/s", "bits/s"], doc("the unit of rate")] = "messages/s"
    radio: Annotated[
        Literal["each link", "one"],
        doc("whether a device uses all its limited links at once, or takes part in one transfer at a time"),
    ] = "each link"
    control: Annotated[
        Literal["free", "shared"],
        doc("whether control packets use what a limited link carries: data then waits for them; needs bits/s"),
    ] = "free"
    loss: Annotated[float, doc("probability that a link loses a packet, control or data", ge=0, le=1)] = 0.0
    out_of_band_delay: Annotated[float, doc("delay of packets that need no contact", unit="s", ge=0)] = 0.0
    out_of_band_loss: Annotated[float, doc("probability that such a packet is lost", ge=0, le=1)] = 0.0

    def __post_init__(self) -> None:
        if self.control == "shared" and (self.rate is None or self.unit != "bits/s"):
            raise ValueError("control = 'shared' needs a rate in bits/s: control packets are no messages")


class SimulatedLink:
    """A limited link while its contact lasts."""

    __slots__ = ("busy_since", "carried", "control", "control_until", "ends", "frame", "idle", "settled")

    def __init__(self, one: Node, two: Node) -> None:
        self.ends = (one, two)
        """The end whose turn it is, and the other."""
        self.frame: tuple[Node, Node, Data] | None = None
        self.idle: set[Node] = set()
        """Ends that had nothing to send when they were asked, and have not woken the link since."""
        self.busy_since = 0.0
        self.carried = 0.0
        """Messages or bits since then: times add up without rounding errors piling up."""
        self.control = 0
        """Bytes of control that came while data was under way: they go after it."""
        self.control_until = 0.0
        """When the control has gone that came while the link was free."""
        self.settled = False


class SimulatedDevice:
    """One device as its protocol's driver: every call is an action of the contract."""

    __slots__ = ("engine", "messages", "near", "neighbours", "node", "starts", "timers", "topics", "up")

    def __init__(self, engine: Engine, node: Node) -> None:
        self.engine = engine
        self.messages = DeviceCatalogue(engine.messages)
        self.node = node
        self.neighbours: dict[Node, None] = {}
        """Devices with an open link, in the order in which the links opened."""
        self.near: set[Node] = set()
        """Devices in contact, whether or not both are up; kept only where devices can crash."""
        self.timers: dict[str, int] = {}
        self.topics: list[Topic] = []
        """What the application wants; it tells a restarted protocol again."""
        self.up = True
        self.starts = 0

    def send(self, peer: Node, packet: Control) -> None:
        if peer in self.neighbours:
            self.engine.control.append((self.node, (peer,), packet))

    def broadcast(self, packet: Control, but: Node | None = None) -> None:
        hearers = tuple([peer for peer in self.neighbours if peer != but])
        if hearers:
            self.engine.control.append((self.node, hearers, packet))

    def send_out_of_band(self, node: Node, packet: Packet) -> None:
        self.engine.out_of_band(self.node, node, packet)

    def wake(self, peer: Node) -> None:
        link = (self.node, peer)
        if peer in self.neighbours and link not in self.engine.woken:
            self.engine.woken.add(link)
            self.engine.awake.append(link)

    def deliver(self, message: Message, hops: int) -> None:
        engine = self.engine
        engine.record.deliveries.extend((engine.now, self.node, message.number, hops))

    def set_timer(self, tag: str, at: float) -> None:
        self.timers[tag] = self.engine.at(at, Rank.TIMER, self._ring, tag)

    def cancel_timer(self, tag: str) -> None:
        self.timers.pop(tag, None)

    def stored(self, messages: MessageSet) -> None:
        record, numbers = self.engine.record, members(messages)
        record.stored.extend((self.engine.now, self.node, len(numbers)))
        record.stored_messages.extend(numbers)

    def removed(self, message: Message, reason: str) -> None:
        if reason != "expired":  # that is noticed when somebody looks; the record knows it from the message
            record = self.engine.record
            record.removed.extend((self.engine.now, self.node, message.number, record.reason(reason)))

    @property
    def repeats(self) -> bool:
        return self.engine.repeats

    def repeated(self, packet: Control, times: int) -> None:
        record = self.engine.record
        record.control_packets += times
        record.control_bytes += times * packet.size
        record.seen_bytes += times * packet.seen_bytes

    def is_silent(self, peer: Node) -> bool:
        repeating = self.engine.repeating
        return repeating is not None and bool(repeating[peer].is_silent())

    def last_said(self, peer: Node) -> Control | None:
        return cast("Repeats", self.engine.protocols[peer]).say_again(self.engine.now)

    def role(self, name: str) -> None:
        engine = self.engine
        engine.record.roles.append((engine.now, self.node, name))

    def false_match(self, message: Message) -> None:
        engine = self.engine
        engine.record.false_matches.extend((engine.now, self.node, message.number))

    def _ring(self, number: int, tag: str) -> None:
        if self.timers.get(tag) == number:
            del self.timers[tag]
            self.engine.protocols[self.node].timer(tag, self.engine.now)


class BoundedDevice(SimulatedDevice):
    """A device whose storage is limited: it counts the bytes that its protocol holds."""

    __slots__ = ("held", "size", "storage")

    def __init__(self, engine: Engine, node: Node, storage: int) -> None:
        super().__init__(engine, node)
        self.storage = storage
        self.held: dict[int, int] = {}
        """By the numbers of messages: how many copies (SocialCast may hold several of one)."""
        self.size = 0

    def stored(self, messages: MessageSet) -> None:
        super().stored(messages)
        for number in members(messages):
            self.held[number] = self.held.get(number, 0) + 1
            self.size += self.engine.messages[number].size
        if self.size > self.storage:
            self.engine.full.append(self)

    def removed(self, message: Message, reason: str) -> None:
        super().removed(message, reason)
        left = self.held.pop(message.number, 0) - 1
        if left >= 0:
            self.size -= message.size
        if left > 0:
            self.held[message.number] = left

    def make_room(self) -> None:
        """Let the protocol choose what goes, until the rest fits."""
        messages = self.engine.messages
        dead = messages.dead(self.engine.now)
        for number in [number for number in self.held if dead >> number & 1]:
            self.size -= self.held.pop(number) * messages[number].size
        protocol, now = cast("Surrenders", self.engine.protocols[self.node]), self.engine.now
        large = [number for number in self.held if messages[number].size > self.storage]
        for numbers in (large, list(self.held)):
            among = sum(1 << number for number in numbers)
            while self.size > self.storage and among and protocol.surrender(among, now):
                among = sum(1 << number for number in numbers if number in self.held)


class Engine:
    """Devices, links, and the packets between them."""

    def __init__(
        self,
        nodes: int,
        messages: Catalogue,
        make: MakeProtocol,
        links: Links,
        loss_rng: Random,
        *,
        crashes: bool = False,
        storage: int | None = None,
    ) -> None:
        self.messages = messages
        self.record = Record()
        self.now = 0.0
        self.control: deque[tuple[Node, tuple[Node, ...], Control]] = deque()
        self.awake: deque[tuple[Node, Node]] = deque()
        """Ends of links that have something to send, in the order in which they said so, each once."""
        self.woken: set[tuple[Node, Node]] = set()
        self._make = make
        self._links = links
        self._rng = loss_rng
        self._crashes = crashes
        self._greetings: list[tuple[Control, ...]] = [()] * nodes
        self._packet_sizes: list[list[int]] = [[] for _ in range(nodes)]
        self._greeting_sizes = [0] * nodes
        self._greeting_lists = [0] * nodes
        self._open: dict[tuple[Node, Node], SimulatedLink] = {}
        self._sequence = 0
        self._multicast: tuple[int, int, float, Node, Packet | None, list[Node]] = _NO_MULTICAST
        """The last packet that was sent out of band: the number of its arrival, its size, when, from whom, to whom."""
        self.agenda: list[tuple[float, int, int, Callable[..., None], Any]] = []
        """Events that the run itself has made: timers, arrivals on limited links. A heap."""
        self.devices = [
            SimulatedDevice(self, node) if storage is None else BoundedDevice(self, node, storage)
            for node in range(nodes)
        ]
        self.protocols = [make(device.node, device, 0) for device in self.devices]
        self._loss = links.loss
        self._patience = 1000 + 10 * len(messages)
        """How many packets one link may carry at one instant before its protocol is called broken."""
        self._limited = links.rate is not None
        self._shared = links.control == "shared"
        self._serve = self._pump if links.rate is None else self._begin
        self._settling: list[Any] | None = self.protocols if nodes and isinstance(self.protocols[0], Settles) else None
        """The protocols, if they act when links have settled: then they are served in another order."""
        delivering = nodes and isinstance(self.protocols[0], Delivers)
        self._delivering: list[Any] | None = self.protocols if delivering else None
        self.repeating: list[Any] | None = self.protocols if nodes and isinstance(self.protocols[0], Repeats) else None
        """The protocols, if they leave out what they would say again and again."""
        self._busy: set[Node] | None = set() if self._limited and links.radio == "one" else None
        """With one radio: devices that are sending or receiving."""
        self.repeats = False
        """Whether devices may leave out what they would say again: it must not be lost, logged or take time."""
        self.full: list[BoundedDevice] = []
        """Devices that hold more than their storage has room for."""

    # Time -------------------------------------------------------------------------------------------------------

    def at(self, time: float, rank: int, call: Callable[..., None], argument: Any) -> int:
        """Call ``call(number, argument)`` at a time, after the events of that instant with a lower rank."""
        self._sequence += 1
        heappush(self.agenda, (max(time, self.now), rank, self._sequence, call, argument))
        return self._sequence

    def advance(self, time: float, rank: int) -> None:
        """Do everything on the agenda that comes before (time, rank)."""
        agenda, limit = self.agenda, (time, rank)
        while agenda and agenda[0] < limit:  # a longer tuple that begins like the limit is not below it
            self.now, _, number, call, argument = heappop(agenda)
            call(number, argument)
            self.settle()
        self.now = time

    def count_repeated(self, devices: list[SimulatedDevice] | None = None) -> None:
        """Have devices count what they have left out up to now, and now."""
        if self.repeats and self.repeating:
            for device in devices or self.devices:
                protocol = self.repeating[device.node]
                if protocol.is_silent() and device.up:
                    protocol.say_again(nextafter(self.now, inf))

    # What applications and experimenters do -----------------------------------------------------------------------

    def start(self) -> None:
        for protocol in self.protocols:
            protocol.start(self.now)
        self.settle()

    def phase(self, name: str) -> None:
        for protocol in self.protocols:
            if isinstance(protocol, Trains):
                protocol.phase(name, self.now)
        self.settle()

    def subscribe(self, node: Node, topic: Topic) -> None:
        topic = check_subscription(self.protocols[node].__class__, topic)
        device = self.devices[node]
        device.topics.append(topic)
        if device.up:
            self.protocols[node].subscribe(topic, self.now)
            self.settle()

    def unsubscribe(self, node: Node, topic: Topic) -> None:
        topic = canonical_interest(topic)
        device = self.devices[node]
        device.topics.remove(topic)
        if device.up:
            self.protocols[node].unsubscribe(topic, self.now)
            self.settle()

    def publish(self, message: Message) -> None:
        device = self.devices[message.publisher]
        if device.up:
            device.messages.show(message.bit)
            self.protocols[message.publisher].publish(message, self.now)
            self.settle()
        else:
            self.record.unpublished += 1

    def crash(self, node: Node) -> None:
        """The device stops; its links go down and everything that its protocol knew is lost."""
        device = self.devices[node]
        if not device.up:
            return
        self.count_repeated([device])
        for peer in sorted(device.neighbours):
            if self._limited:
                self._stop(node, peer, (peer,))
            device.neighbours.pop(peer, None)
            self.devices[peer].neighbours.pop(node, None)
            self.protocols[peer].link_down(node, self.now)
        device.up = False
        device.timers.clear()
        if self.record.roles:  # of a protocol that has roles
            device.role("down")
        for message in map(self.messages.__getitem__, self.record.copies_at(node)):
            if message.expires >= self.now:
                device.removed(message, "crash")
        self.settle()

    def restart(self, node: Node) -> None:
        """The device comes back with a new protocol object; its application subscribes again."""
        device = self.devices[node]
        if device.up:
            return
        device.up = True
        device.starts += 1
        device.messages = DeviceCatalogue(self.messages)
        protocol = self.protocols[node] = self._make(node, device, device.starts)
        protocol.start(self.now)
        for topic in device.topics:
            protocol.subscribe(topic, self.now)
        for peer in sorted(device.near):
            if self.devices[peer].up:
                self.connect(min(node, peer), max(node, peer))
        self.settle()

    def observe(self, now: float) -> None:
        """Ask every device what it has counted itself."""
        observed = self.record.observed
        for protocol in self.protocols:
            for key, value in protocol.observations(now).items() if isinstance(protocol, Counts) else ():
                observed[key] = observed.get(key, 0.0) + float(value)  # a compiled protocol counts in floats

    # Contacts -----------------------------------------------------------------------------------------------------

    def contact_start(self, one: Node, two: Node) -> None:
        """Two devices come near each other; where none can crash, that is to :meth:`connect` them.

        After the last contact that starts at an instant, :meth:`settle` lets what was learnt travel on.
        """
        if self._crashes:
            self.devices[one].near.add(two)
            self.devices[two].near.add(one)
            if not (self.devices[one].up and self.devices[two].up):
                return
        self.connect(one, two)

    def contact_end(self, one: Node, two: Node) -> None:
        first, second = self.devices[one], self.devices[two]
        if self._crashes:
            first.near.discard(two)
            second.near.discard(one)
            if two not in first.neighbours:
                return
        if self._limited:
            self._stop(one, two, (one, two))
        first.neighbours.pop(two, None)
        second.neighbours.pop(one, None)
        self.protocols[one].link_down(two, self.now)
        self.protocols[two].link_down(one, self.now)
        if self.control or self.awake:
            self.settle()

    def connect(self, one: Node, two: Node) -> None:
        """Open a link between two devices that are up, and let them exchange what they have."""
        now, first, second = self.now, self.protocols[one], self.protocols[two]
        self.devices[one].neighbours[two] = None
        self.devices[two].neighbours[one] = None
        greeting, answer = first.link_up(two, now), second.link_up(one, now)
        # Devices that have learnt nothing since say the same again: it is measured once.
        greetings, sizes, lists, record = self._greetings, self._greeting_sizes, self._greeting_lists, self.record
        if greeting != greetings[one]:
            self._measure(one, greeting)
        if answer != greetings[two]:
            self._measure(two, answer)
        record.control_packets += len(greeting) + len(answer)
        record.control_bytes += sizes[one] + sizes[two]
        record.seen_bytes += lists[one] + lists[two]
        if self._limited:
            link = self._open[one, two] = SimulatedLink(one, two)
            link.control_until = now + self._control_time(sizes[one] + sizes[two])
        loss, draw, waiting = self._loss, self._rng.random, len(self.awake)
        for packet in greeting:
            if not loss or draw() >= loss:
                second.receive(one, packet, now)
        for packet in answer:
            if not loss or draw() >= loss:
                first.receive(two, packet, now)
        settling = self._settling
        if settling is not None:
            if self.control or self.awake:
                self.settle()
            if not self._limited:
                settling[one].settled(two, now)
                settling[two].settled(one, now)
                if self.control or self.awake:
                    self.settle()
        elif len(self.awake) > waiting:
            self._serve_new_link(one, two, waiting)

    def _measure(self, node: Node, greeting: tuple[Control, ...]) -> None:
        """Note the size of a greeting; of packets that were part of the last one it is known."""
        if len(greeting) == 1:
            self._greetings[node], self._greeting_sizes[node] = greeting, greeting[0].size
            self._greeting_lists[node] = greeting[0].seen_bytes
            return
        last, known = self._greetings[node], self._packet_sizes[node]
        many = len(last)
        sizes = [
            known[index] if index < many and packet == last[index] else packet.size
            for index, packet in enumerate(greeting)
        ]
        self._greetings[node], self._packet_sizes[node], self._greeting_sizes[node] = greeting, sizes, sum(sizes)
        self._greeting_lists[node] = sum([packet.seen_bytes for packet in greeting])

    def _serve_new_link(self, one: Node, two: Node, waiting: int) -> None:
        """Let the ends of a new link exchange what they have; what they learn waits behind the other starts."""
        fresh = [self.awake.pop() for _ in range(len(self.awake) - waiting)]
        self.woken.difference_update(fresh)
        first_woke, second_woke = (one, two) in fresh, (two, one) in fresh
        if first_woke or second_woke:
            ends = (two, one) if second_woke else (one, two)  # who was greeted first speaks first
            self._serve(*ends, first_woke and second_woke)

    def _stop(self, one: Node, two: Node, ends: tuple[Node, ...]) -> None:
        """End the traffic of a limited link; ``told`` are the ends that live to hear of it."""
        link = self._open.pop((one, two) if one < two else (two, one))
        if self._settling is not None and not link.settled:
            for end in ends:
                self._settling[end].settled(two if end == one else one, self.now)
            self._carry_control()
        self.devices[one].neighbours.pop(two, None)
        self.devices[two].neighbours.pop(one, None)
        if link.frame is not None:
            sender, receiver, packet = link.frame
            link.frame = None
            self.record.aborted += 1
            if self._busy is not None:
                self._free_radios(sender, receiver)
            if sender in ends:
                self.protocols[sender].sent(receiver, packet, False, self.now)

    # Packets ------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Carry packets until nothing more can happen at this instant."""
        control, awake, woken = self.control, self.awake, self.woken
        if self.full:
            self._make_room()
        if control:
            self._carry_control()
        while awake:
            one, two = awake.popleft()
            woken.discard((one, two))
            both = bool(awake) and awake[0] == (two, one)
            if both:
                woken.discard(awake.popleft())
            self._serve(one, two, both)
            if control:
                self._carry_control()

    def _make_room(self) -> None:
        while self.full:
            self.full.pop().make_room()

    def _carry_control(self) -> None:
        control, protocols, record, loss, now = self.control, self.protocols, self.record, self._loss, self.now
        while control:
            sender, hearers, packet = control.popleft()
            record.control_packets += 1
            record.control_bytes += packet.size
            record.seen_bytes += packet.seen_bytes
            if self._shared:
                for hearer in hearers:
                    link = self._open.get((sender, hearer) if sender < hearer else (hearer, sender))
                    if link is not None:
                        self._charge(link, packet.size)
            for hearer in hearers:
                if not loss or self._rng.random() >= loss:
                    protocols[hearer].receive(sender, packet, now)

    def _control_time(self, size: int) -> float:
        """How long a limited link takes for so many bytes of control."""
        return 8 * size / self._links.rate if self._shared and self._links.rate else 0.0

    def _charge(self, link: SimulatedLink, size: int) -> None:
        """Let the data of a link wait for so many bytes of control."""
        if link.carried:
            link.control += size
        else:
            link.control_until = max(link.control_until, self.now) + self._control_time(size)

    def _rest(self, link: SimulatedLink) -> None:
        """No data follows at once; what control there is goes now."""
        link.carried = 0.0
        if link.control:
            link.control_until = self.now + self._control_time(link.control)
            link.control = 0

    def _pump(self, one: Node, two: Node, both: bool) -> None:
        """Instantaneous link: ask the ends that woke it, in turn, until they have nothing more for now."""
        if two not in self.devices[one].neighbours:  # the link went down since it was woken
            return
        now, first, second = self.now, self.protocols[one], self.protocols[two]
        first_asked, second_asked = True, both
        room = 1 if self._loss else sys.maxsize
        patience = self._patience
        while first_asked or second_asked:
            if first_asked:
                packet = first.poll(two, now, room)
                if packet is None:
                    first_asked = False
                else:
                    self._carry(one, two, packet)
            if second_asked:
                packet = second.poll(one, now, room)
                if packet is None:
                    second_asked = False
                else:
                    self._carry(two, one, packet)
            patience -= 1
            if not patience:
                raise ProtocolError(
                    f"{first.__class__.__name__} never stops sending on one link at time {now:g}: "
                    "its poll() must not offer again what its sent() was told of"
                )

    def _carry(self, sender: Node, receiver: Node, packet: Data) -> None:
        record, loss = self.record, self._loss
        arrived = not (loss and self._rng.random() < loss)
        if arrived:
            numbers = members(packet.messages)
            record.forwards.extend((self.now, sender, receiver, len(numbers)))
            record.forwarded_messages.extend(numbers)
            self.devices[receiver].messages.show(packet.messages)
            self.protocols[receiver].receive(sender, packet, self.now)
            if self.full:
                self._make_room()
        else:
            record.lost += 1
        self.protocols[sender].sent(receiver, packet, arrived, self.now)
        if self.control:
            self._carry_control()

    def _begin(self, one: Node, two: Node, both: bool) -> None:
        """Limited link: if it is free, ask its ends in turn and put the first packet on its way."""
        link = self._open.get((one, two) if one < two else (two, one))
        if link is None:
            return
        idle = link.idle
        idle.discard(one)
        if both:
            idle.discard(two)
        if link.frame is not None or (self._busy and (one in self._busy or two in self._busy)):
            return
        turn, other = link.ends
        for sender, receiver in ((turn, other), (other, turn)):
            if sender in idle and (sender, receiver) not in self.woken:
                continue
            packet = self.protocols[sender].poll(receiver, self.now, 1)
            if packet is not None:
                break
            idle.add(sender)
        else:
            self._rest(link)
            if self._settling is not None and not link.settled:
                link.settled = True
                self._settling[min(one, two)].settled(max(one, two), self.now)
                self._settling[max(one, two)].settled(min(one, two), self.now)
            return
        rate = self._links.rate
        assert rate is not None
        if not link.carried:
            link.busy_since = max(self.now, link.control_until)
        link.carried += len(members(packet.messages)) if self._links.unit == "messages/s" else 8 * self._size(packet)
        link.carried += 8 * link.control
        link.control = 0
        link.frame = (sender, receiver, packet)
        link.ends = (receiver, sender)
        if self._busy is not None:  # who has the radio goes on while it has something
            link.ends = (sender, receiver)
            self._busy |= {sender, receiver}
        self.at(link.busy_since + link.carried / rate, Rank.ARRIVAL, self._arrive, link)

    def _arrive(self, _: int, link: SimulatedLink) -> None:
        if link.frame is None:  # the contact ended first
            return
        sender, receiver, packet = link.frame
        link.frame = None
        self._carry(sender, receiver, packet)
        if self._busy is None:
            self.devices[sender].wake(receiver)
        else:
            self._rest(link)  # the link may have to wait now
            self._free_radios(sender, receiver)

    def _free_radios(self, sender: Node, receiver: Node) -> None:
        """A transfer has ended: deliveries on all links of both devices are next, then the same direction again."""
        assert self._busy is not None
        self._busy -= {sender, receiver}
        waiting = [(sender, receiver)]
        for node in (sender, receiver):
            for peer in self.devices[node].neighbours:
                link = self._open.get((node, peer) if node < peer else (peer, node))
                if link is None or peer in self._busy:
                    continue
                for end, other in ((node, peer), (peer, node)):
                    if end in link.idle:
                        continue
                    if self._delivering and self._delivering[end].has_for(other, self.now):
                        link.ends = (end, other)
                        self.devices[end].wake(other)
                    else:
                        waiting.append((end, other))
        for end, other in waiting:
            self.devices[end].wake(other)

    def out_of_band(self, sender: Node, receiver: Node, packet: Packet) -> None:
        """Send a packet that needs no contact."""
        loss, record, later = self._links.out_of_band_loss, self.record, self.now + self._links.out_of_band_delay
        # One packet for many, one after the other, has one size and one arrival.
        number, size, when, last_sender, last_packet, receivers = self._multicast
        again = packet is last_packet
        if not again:
            size = self._size(packet)
        record.out_of_band_packets += 1
        record.out_of_band_bytes += size
        if loss and self._rng.random() < loss:
            return
        if again and number == self._sequence and sender == last_sender and when == later:
            receivers.append(receiver)
            return
        receivers = [receiver]
        number = self.at(later, Rank.ARRIVAL, self._arrive_out_of_band, (sender, receivers, packet))
        self._multicast = (number, size, later, sender, packet, receivers)

    def _size(self, packet: Packet) -> int:
        if isinstance(packet, Control):
            return packet.size
        assert isinstance(packet, Data)
        size = 0
        for number in members(packet.messages):
            size += self.messages[number].size
        return size

    def _arrive_out_of_band(self, _: int, sent: tuple[Node, list[Node], Packet]) -> None:
        sender, receivers, packet = sent
        if receivers is self._multicast[-1]:
            self._multicast = _NO_MULTICAST  # it is complete
        for receiver in receivers:
            device = self.devices[receiver]
            if device.up:
                if isinstance(packet, Data):
                    device.messages.show(packet.messages)
                cast("OutOfBand", self.protocols[receiver]).receive_out_of_band(sender, packet, self.now)
                if self.control or self.awake or self.full:
                    self.settle()
