"""The second driver of protocols: real links, a real clock, and a disk.

A protocol cannot tell whether this driver or the simulator's engine shows it events (see
``hunet.protocols.contract``). This one does no I/O but through its :class:`~hunet.node.store.Store`: somebody tells it
that a link is up, that a frame has come, that the clock has moved on, and takes its :meth:`LiveDriver.output` after
each event. The sockets are in ``neighbourhood``, the event loop in ``node``; tests connect drivers in memory. What is
said on a link, and in what order, is in ``link``.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hunet.model import Message, MessageSet, Node, OutputError, PeerError, Topic, matches, members
from hunet.node import wire
from hunet.node.device import NEVER, Delivered, Device, PrivateArrived, RoleChanged, SubscriptionEnded
from hunet.node.link import Link
from hunet.node.packets import Packets
from hunet.node.publication import claimed_id
from hunet.node.rate_limits import has_more_items
from hunet.node.receipts import MOST_AT_ONCE, Receipt
from hunet.node.store import DamagedError
from hunet.protocols.capabilities import Checks, OutOfBand, exchanges_once
from hunet.protocols.carrier_packets import Seen
from hunet.protocols.contract import Control, Data, Packet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from hunet.node.event_log import NodeEventLog
    from hunet.node.holdings import Quotas
    from hunet.node.publication import Publication, PublicationLimits
    from hunet.node.store import Store
    from hunet.protocols.contract import Protocol

_log = logging.getLogger("hunet.node")

_FRAME = 2
"""The version of the frames; neighbours of another are left alone."""
_ROOM = 64
"""Messages in a data frame, at most."""
_MOST_ITEMS = 25_000
"""Items in a frame, so that none takes long to read: more than the ids of all messages that a device speaks of."""
_MOST_PACKETS = 64
"""Packets in a greeting."""
AGAIN = 2.0
"""Devices that stay together and exchange once in a contact begin the next after so long, if there is news (s)."""


class Frame(NamedTuple):
    """To be sent to a neighbour; frames to one neighbour stay in order."""

    device: str
    data: bytes


class LinkReady(NamedTuple):
    """A neighbour has heard our greeting."""

    device: str


class HandedOver(NamedTuple):
    """A neighbour has taken messages, and has them on its disk."""

    device: str
    messages: MessageSet


class AnnouncementsHeard(NamedTuple):
    """A neighbour tells of keys to which messages to people can be sealed; nothing of it is checked."""

    device: str
    announcements: list[Any]


class ReceiptsHeard(NamedTuple):
    """A neighbour passes receipts of messages on, each with the message and its author."""

    receipts: list[tuple[Receipt, Message, str]]


Output = (
    Frame
    | LinkReady
    | HandedOver
    | AnnouncementsHeard
    | ReceiptsHeard
    | Delivered
    | PrivateArrived
    | SubscriptionEnded
    | RoleChanged
)


class LiveDriver(Device):
    """One device's protocol, driven by real events. Every public method is one event."""

    def __init__(
        self,
        device: str,
        kind: type[Protocol],
        parameters: Any,
        store: Store,
        *,
        rng: Random,
        clock: Callable[[], float],
        quotas: Quotas | None = None,
        limits: PublicationLimits | None = None,
        friends: Callable[[str], bool] = lambda _: False,
        room: int = _ROOM,
        again: float = AGAIN,
        event_log: NodeEventLog | None = None,
        battery: Callable[[], float | None] = lambda: None,
    ) -> None:
        self.links: dict[str, Link] = {}
        self._room, self._again = room, again if exchanges_once(kind) else NEVER
        self._checks, self._out_of_band = issubclass(kind, Checks), issubclass(kind, OutOfBand)
        self._outbox: list[Frame] = []
        self._output: list[Output] = []
        self._woken: list[str] = []
        self._unsaved = False
        """Whether others rely on something that is not on the disk yet."""
        super().__init__(
            device,
            kind,
            parameters,
            store,
            rng=rng,
            clock=clock,
            quotas=quotas,
            limits=limits,
            friends=friends,
            event_log=event_log,
            battery=battery,
        )
        self.holdings.linked = self.links
        self._packets = Packets(self.holdings, store, self.limits)
        self.full = False
        """Whether the disk is full: nothing is taken from neighbours then."""
        self._load()
        if event_log:
            self.protocol = event_log.watch_protocol(self.protocol)
        self._finish()
        self._unsaved = False
        try:
            self.save()
        except DamagedError:
            raise
        except OutputError as error:  # nobody has been promised anything yet
            _log.warning("%s", error)
            self.full = True

    # Events: the application ------------------------------------------------------------------------------------------

    def publish(self, publication: Publication, brought: bool = False) -> None:
        """A publication of this device, or one that was brought to it; on the disk when this returns."""
        with self._event():
            if publication.id in self.messages:
                return
            encoded = publication.to_bytes()
            own = publication.author == self.device or not brought  # also under an alias
            if own:
                self.holdings.check_room(len(encoded))
            giver = self.holdings.node if own else None  # others' count towards the quotas, as their authors'
            message = self.holdings.add(publication, len(encoded), giver)
            self.store.add_content(message.number, encoded)
            self.holdings.commit()  # from here on it is safe: a start after a crash shows it to the protocol
            self.protocol.publish(message, self.now)
            if brought and matches(self.protocol.topics, message.topic):
                self.deliver(message, 0)  # the protocol takes it for this device's own, which is no news to it
            self._keep_quotas()

    def subscribe(self, topic: Topic, until: float | None = None) -> None:
        """The application wants a topic: for good, or until then, whatever it has said before."""
        with self._event():
            new = topic not in self.protocol.topics
            if not new and self._endings.get(topic) == until:
                return
            self.store.subscribe(topic, self.now, until)
            if new:
                self._changes += 1
                self.protocol.subscribe(topic, self.now)
            self.weigh_again()
            self._durable = True

    def unsubscribe(self, topic: Topic) -> None:
        """The application no longer wants a topic."""
        with self._event():
            if topic in self.protocol.topics:
                self._unsubscribe(topic)

    def _unsubscribe(self, topic: Topic) -> None:
        self._changes += 1
        self.store.unsubscribe(topic)
        self.protocol.unsubscribe(topic, self.now)
        self.weigh_again()
        self._durable = True

    def hide(self, author: str) -> None:
        """The application gets nothing of an author any more, nor what is waiting or was shown."""
        with self._event():
            for number, name in self.holdings.names.items():
                if name == author:
                    for message in self.store.forget_deliveries_of(number):
                        self.holdings.taken(message)
            self._durable = True

    def take(self, delivery: int) -> None:
        """The application has taken a delivery; once that is committed it never comes again.

        The content stays while there is room, for other applications that follow the topic.
        """
        message = self.store.take(delivery)
        if message is not None:
            self.holdings.taken(message)
            self.holdings.lapse(message)

    # Events: time -----------------------------------------------------------------------------------------------------

    def next_timer(self) -> float | None:
        """When :meth:`tick` has something to do."""
        due = min([self._next_ring(), *self._endings.values(), *(at for at, _ in self._due_again())])
        return due if due < NEVER else None

    def tick(self) -> None:
        """Time has passed: timers ring that have run out, subscriptions end, and contacts that are due begin anew."""
        with self._event():
            for topic in [topic for topic, until in self._endings.items() if until <= self.now]:
                self._unsubscribe(topic)
                self._happened.append(SubscriptionEnded(topic))
            for tag in self._due():
                self.protocol.timer(tag, self.now)
                self._carry()
            for at, link in list(self._due_again()):
                if at <= self.now:
                    self._end_contact(link)
                    self._begin_contact(link.device, link.contact + 1)

    # Events: links ------------------------------------------------------------------------------------------------

    def link_up(self, device: str) -> None:
        """An authenticated session with a device stands."""
        with self._event():
            self._begin_contact(device, 1)

    def link_down(self, device: str) -> None:
        """The session is over."""
        if device in self.links:
            with self._event():
                self._end_contact(self.links[device])

    def read(self, device: str, data: bytes) -> tuple[Any, int]:
        """A frame as plain values, and how many publications it brings that others are to have; nothing is checked."""
        if device not in self.links:
            return None, 0
        with self._blame(device):
            if has_more_items(data, _MOST_ITEMS):
                raise PeerError("a frame of too many items")
            fields = wire.decode(data)
        match fields:
            case {"publications": list(publications)} if len(self.links) > 1:  # there is nobody else to count for
                return fields, sum(claimed_id(each) not in self.messages for each in publications[:_ROOM])
        return fields, 0

    def hear(self, device: str, fields: Any) -> None:
        """A frame has come, and was read. What no honest device sends ends the link, and is raised."""
        link = self.links.get(device)
        if link is not None:
            with self._blame(device), self._event():
                self._hear(link, fields)

    def frame(self, device: str, data: bytes) -> None:
        """Both at once."""
        self.hear(device, self.read(device, data)[0])

    @contextmanager
    def _blame(self, device: str) -> Iterator[None]:
        try:
            yield
        except PeerError as fault:
            _log.warning("%s is left alone: %s", device[:8], fault)
            self.holdings.arriving.clear()
            self.link_down(device)
            raise

    def _hear(self, link: Link, fields: Any) -> None:
        match fields:
            case {"t": "receipts", "receipts": list(receipts)}:
                self._output.append(ReceiptsHeard(self._read_receipts(receipts)))
            case {"t": "announcements", "announcements": list(announcements)}:
                self._output.append(AnnouncementsHeard(link.device, announcements))
            case {"t": "greet", "contact": int(contact)} if contact == link.contact + 1 and link.greeted:
                self._end_contact(link)
                self._hear_of_contact(self._begin_contact(link.device, contact), fields)
            case {"t": str(), "contact": int(contact)} if contact == link.contact:
                self._hear_of_contact(link, fields)
            case {"t": str(), "contact": int(contact)} if 0 < contact < link.contact:
                pass  # it was under way when the contact ended
            case _:
                raise PeerError("a frame that makes no sense here")

    def _read_receipts(self, plain: list[Any]) -> list[tuple[Receipt, Message, str]]:
        """Those of messages that are here and in date; there is no reason to remember others."""
        if len(plain) > MOST_AT_ONCE:
            raise PeerError("more receipts than fit into a frame")
        found = []
        for receipt in map(Receipt.read, plain):
            if receipt.publication in self.messages:
                message = self.messages.by_id(receipt.publication)
                author = self.holdings.names[message.publisher]
                if message.expires >= self.now and (author == self.device or self.holdings.keeps(message.number)):
                    found.append((receipt, message, author))
        return found

    def _hear_of_contact(self, link: Link, fields: dict[str, Any]) -> None:
        match fields:
            case {"t": "greet", "version": int(frames), "protocol": str(name), "packets": list(packets)}:
                self._greeted(link, frames, name, packets, fields.get("time"))
            case {"t": str()} if link.mute:
                pass
            case {"t": "ready", "awake": bool(awake)} if not link.ready:
                link.ready, link.awake[False] = True, awake
                link.holds_turn = self.device > link.device
                self._output.append(LinkReady(link.device))
                self._move(link)
            case {"t": "control", "packet": bytes(packet)}:
                self._show(link, self._packets.read(packet))
            case {"t": "data", "number": int(number), "packet": bytes(packet), "publications": list(publications)}:
                self._take_in(link, number, packet, publications)
            case {"t": "ack", "number": int(number), "awake": bool(awake)} if link.packet and number == link.sequence:
                self._acknowledged(link, awake, fields.get("taken") is not False)
            case {"t": "turn", "awake": bool(awake)} if link.ready and not link.holds_turn:
                link.holds_turn, link.awake[False] = True, awake
                self._move(link)
            case {"t": "want"} if link.ready:
                link.awake[False] = True
                self._move(link)
            case {"t": "settled"} if link.ready:
                if not link.settled:
                    link.settled = True
                    self._ask(link, lambda: self._settle(link.node))
            case {
                "t": "out of band",
                "packet": bytes(packet),
                "publications": list(publications),
            } if self._out_of_band:
                self._hear_out_of_band(link, packet, publications)
            case _:
                raise PeerError("a frame that makes no sense here")

    # A contact ------------------------------------------------------------------------------------------------------

    def _begin_contact(self, device: str, contact: int) -> Link:
        link = self.links[device] = Link(device, self.holdings.number_of(device), contact, self.now, self._changes)
        packets = [self._packets.write(packet, self.now) for packet in self.protocol.link_up(link.node, self.now)]
        self._frame(link, "greet", version=_FRAME, protocol=self._name(), packets=packets, time=self._clock())
        return link

    def _end_contact(self, link: Link) -> None:
        if not link.mute and not link.settled:
            link.settled = True
            self._settle(link.node)
        del self.links[link.device]
        if not link.mute:
            if link.packet is not None:
                self.protocol.sent(link.node, link.packet, False, self.now)
            self.protocol.link_down(link.node, self.now)

    def _due_again(self) -> Iterator[tuple[float, Link]]:
        """Links on which the next contact is to begin, and when."""
        for link in self.links.values():
            if link.settled and link.changes < self._changes and not link.mute:
                yield link.began + self._again, link

    def _greeted(self, link: Link, frames: int, name: str, packets: list[Any], time: Any) -> None:
        if link.greeted or len(packets) > _MOST_PACKETS:
            raise PeerError("a greeting that makes no sense here")
        if isinstance(time, float):
            link.skew = time - self._clock()
        if frames != _FRAME or not self._understands(name):
            link.mute = True
            self.count("other protocol")
            self.protocol.link_down(link.node, self.now)
            return
        for packet in packets:
            self._show(link, self._with_given(link, self._packets.read(packet)))
        link.greeted = True
        self._frame(link, "ready", awake=self._tell(link))

    def _with_given(self, link: Link, packet: Packet) -> Packet:
        """A summary, with what the neighbour has given itself: what it does not speak of any more, it has let go.

        Otherwise who carries much would bring all of it back to a device that a flood makes forget, as if it were
        part of the flood.
        """
        if not isinstance(packet, Seen):
            return packet
        return Seen(packet.messages | self.holdings.given_by(link.node))

    def _understands(self, name: str) -> bool:
        """Whether a protocol by this name speaks as ours does: it is the same, or a variant of it."""
        from hunet.systems import PROTOCOLS

        other = PROTOCOLS.get(name)
        if name == self._name() or other is None:
            return name == self._name()
        return other in self._kind.__mro__[:2] or self._kind in other.__mro__[:2]

    def _tell(self, link: Link) -> bool:
        """Whether this end has something to send, noting that the other end is told."""
        link.reported = link.awake[True]
        return link.reported

    def _move(self, link: Link) -> None:
        """If it is this end's turn: send the next packet, or pass the turn, or settle."""
        if not link.ready or not link.holds_turn or link.packet is not None:
            return
        while link.awake[True]:
            link.awake[True] = False  # unless it is woken meanwhile
            packet: Data | None = self.protocol.poll(
                link.node, self.now, self.holdings.room(min(self._room, link.room))
            )
            if packet is None:
                continue
            link.awake[True] = True  # there may be more: it is asked until it has none
            publications = self._publications(packet)
            if publications is None:
                self.protocol.sent(link.node, packet, False, self.now)
                continue
            link.sequence += 1
            link.packet = packet
            data = self._packets.write(packet, self.now)
            self._frame(link, "data", number=link.sequence, packet=data, publications=publications)
            return
        if link.awake[False]:
            self._pass_turn(link)
        elif not link.settled:
            link.settled = True
            self._frame(link, "settled")
            self._settle(link.node)

    def _publications(self, packet: Data) -> list[bytes] | None:
        """What a packet carries, as its encoding lists it; None if the disk has lost some, which then is given up."""
        # What is sent on in the very moment in which it comes is not on the disk yet.
        found = {n: self.holdings.arriving.get(n) or self.store.content(n) for n in members(packet.messages)}
        lost = [number for number, content in found.items() if content is None]
        for number in lost:
            self.count("damaged")
            self._surrender(1 << number)
        return None if lost else [content for content in found.values() if content is not None]

    def _pass_turn(self, link: Link) -> None:
        link.holds_turn = False
        self._frame(link, "turn", awake=self._tell(link))

    def _acknowledged(self, link: Link, awake: bool, taken: bool) -> None:
        packet, link.packet = link.packet, None
        assert packet is not None
        link.awake[False] = awake
        link.room = min(2 * link.room, self._room) if taken else link.room
        self.protocol.sent(link.node, packet, taken, self.now)
        self.count("sent" if taken else "not taken", packet.messages.bit_count())
        if taken:
            self._output.append(HandedOver(link.device, packet.messages))
        if awake:
            self._pass_turn(link)
        else:
            self._move(link)

    def _take_in(self, link: Link, number: int, data: bytes, publications: list[Any]) -> None:
        if not link.ready or link.holds_turn or len(publications) > _ROOM:
            raise PeerError("data out of turn, or too much of it")
        packet = None if self.full else self._packets.read_data(data, publications, link.node, self.now)
        if packet is not None:
            self._show(link, packet)
            self.holdings.keep_arrived()
            self._keep_quotas()
            self._durable = True
        # A sender who hands its only copy over must keep it if there is no room, or clocks disagree on its age.
        taken = packet is not None and packet.messages.bit_count() == len(publications)
        self._frame(link, "ack", number=number, awake=self._tell(link), taken=taken)

    def skew(self) -> float | None:
        """By how much the clocks of all neighbours are ahead of this one, if none agrees with it."""
        skews = sorted(link.skew for link in self.links.values() if link.skew is not None)
        if not skews or min(map(abs, skews)) <= self.limits.clock_skew:
            return None
        return skews[len(skews) // 2]

    def clock_leapt(self, by: float) -> None:
        """The clock was set: those of neighbours are less ahead of it than they were."""
        for link in self.links.values():
            if link.skew is not None:
                link.skew -= by

    def _hear_out_of_band(self, link: Link, data: bytes, publications: list[Any]) -> None:
        if publications and (self.full or len(publications) > _ROOM):
            return
        packet: Packet | None
        if publications:
            packet = self._packets.read_data(data, publications, link.node, self.now)
        else:
            packet = self._packets.read(data)
        if packet is not None:
            protocol = cast("OutOfBand", self.protocol)
            self._ask(link, lambda: protocol.receive_out_of_band(link.node, packet, self.now))
            self.holdings.keep_arrived()
            self._keep_quotas()
            self._durable = self._durable or bool(publications)

    def _show(self, link: Link, packet: Packet) -> None:
        if self._checks:
            cast("Checks", self.protocol).check(packet)
        self._ask(link, lambda: self.protocol.receive(link.node, packet, self.now))

    def _ask(self, link: Link, call: Callable[[], None]) -> None:
        """Let the protocol deal with what a neighbour said; what it chokes on is the neighbour's fault."""
        try:
            call()
        except (PeerError, OutputError):
            raise
        except Exception as error:
            _log.info("the protocol cannot deal with what %s says", link.device[:8], exc_info=True)
            raise PeerError(f"a packet that the protocol cannot deal with: {type(error).__name__}") from error

    # Events: their end ------------------------------------------------------------------------------------------------

    @contextmanager
    def _event(self) -> Iterator[None]:
        self.now = max(self.now, self._clock())
        self.dirty = True
        try:
            yield
        finally:
            self._finish()

    def _finish(self) -> None:
        """Carry out what the event has led to; others hear of it when it is on the disk (:meth:`output`)."""
        self._carry()
        self._unsaved = self._unsaved or self._durable
        self._durable = False
        self._output += self._outbox
        self._output += self._happened
        self._outbox, self._happened = [], []

    def save(self) -> None:
        """Write the state of the protocol; on the disk when this returns."""
        self._save([(link.node, link.settled, link.packet) for link in self.links.values() if not link.mute])

    def output(self) -> list[Output]:
        """What events have led to since the last call, in order: frames to send, and news for the application.

        What others rely on is on the disk then, in one commit for all of these events.
        """
        if self._unsaved:
            self.save()
            self._unsaved = False
        output, self._output = self._output, []
        return output

    def _carry(self) -> None:
        while self._woken:
            link = self.links.get(self._woken.pop(0))
            if link is None or not link.awake[True]:
                continue
            if link.holds_turn:
                self._move(link)
            elif link.greeted and not link.reported:
                link.reported = True
                self._frame(link, "want")

    # Actions of the contract ------------------------------------------------------------------------------------------

    def send(self, peer: Node, packet: Control) -> None:
        link = self.links.get(self.holdings.names[peer])
        if link is not None and not link.mute:
            self._frame(link, "control", packet=self._packets.write(packet, self.now))

    def broadcast(self, packet: Control, but: Node | None = None) -> None:
        data = b""
        for link in self.links.values():
            if link.node != but and not link.mute:
                data = data or self._packets.write(packet, self.now)
                self._frame(link, "control", packet=data)

    def send_out_of_band(self, node: Node, packet: Packet) -> None:
        link = self.links.get(self.holdings.names[node])
        if link is None or link.mute:
            self.count("out of band: out of reach")
            return
        publications = self._publications(packet) if isinstance(packet, Data) else []
        if publications is not None:
            self._frame(link, "out of band", packet=self._packets.write(packet, self.now), publications=publications)

    def wake(self, peer: Node) -> None:
        link = self.links.get(self.holdings.names[peer])
        if link is not None and not link.mute and not link.awake[True]:
            link.awake[True] = True
            self._woken.append(link.device)

    def _frame(self, link: Link, kind: str, **fields: Any) -> None:
        self._outbox.append(Frame(link.device, wire.encode({"t": kind, "contact": link.contact, **fields})))
