"""The second driver of protocols: real links, a real clock, and a disk.

A protocol cannot tell whether this driver or the simulator's engine shows it events (see
``hunet.protocols.contract``). This one does no I/O but through its :class:`~hunet.node.store.Store`: somebody tells it
that a link is up, that a frame has come, that the clock has moved on; frames to send are handed to ``send_frame``. The
sockets are in ``neighbourhood``, the event loop in ``node``; tests connect drivers in memory.

On a link
---------
Both ends greet, each in one frame, and say when they have heard the other's greeting (``ready``). Data then takes
turns, as in the simulator: the end that holds the turn polls its protocol and sends one data frame; the other end
writes it to the disk and acknowledges it, and only then is the sender's protocol told that it arrived. The turn goes
to the other end if that has something to send. An end without the turn that comes to have something says so (``want``).
When neither has anything, the holder says ``settled``. The end with the greater name begins.

Every frame has the number of its contact. Some systems exchange everything when a contact begins and nothing after
that (``Protocol.exchanges_once``); devices that stay together then end the contact and begin the next, over the same
session, whenever one of them has news: a greeting with the next number says so, and frames of the one before are void.

======================  ============================================================================================
frame                   what it says
======================  ============================================================================================
greet                   the protocol's name, and what ``link_up`` answered
ready                   your greeting has been heard; whether I have something to send
control                 a control packet
data                    a data packet with its number, and every publication that it carries, signed
ack                     it is on my disk; whether I have something to send
turn                    it is your turn; whether I still have something to send
want                    I have something to send
settled                 neither of us has anything to send
out of band             a packet that needs no contact, to a device that happens to be in reach
receipts                who has got a publication (see ``receipts``)
======================  ============================================================================================

What is kept
------------
The protocol object itself is pickled, without its driver, into the transaction of whatever it did last that others
rely on: a delivery, an acknowledgement. After a crash it comes back as it was then, and is shown what a crash looks
like from inside: links that were open end, packets that were under way are lost. A state that cannot be read, or that
belongs to another protocol or other parameters, is not used: the device starts afresh, with the publications that it
holds.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cache
from heapq import heappop, heappush
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any
from typing import Protocol as StructuralType

import msgspec

from hunet.model import (
    Message,
    MessageSet,
    Node,
    OutputError,
    PeerError,
    Topic,
    members,
)
from hunet.node import wire
from hunet.node.clock import WEEK, is_set
from hunet.node.holdings import MOST_SPOKEN_OF, Holdings, Quotas
from hunet.node.publication import Publication, PublicationLimits, Refused, read_publication
from hunet.node.state import read_state, write_state
from hunet.protocols.codec import decode, encode
from hunet.protocols.contract import Control, Data, Packet, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from hunet.node.store import Store

__all__ = ["AGAIN", "Host", "LiveDriver"]

_log = logging.getLogger("hunet.node")

_FRAME = 1
"""The version of the frames; neighbours of another are left alone."""
_ROOM = 64
"""Messages in a data frame, at most."""
_MOST_PACKETS = 64
"""Packets in a greeting."""
AGAIN = 2.0
"""Devices that stay together and exchange once in a contact begin the next after so long, if there is news (s)."""
_MEMORY = 3600.0
"""For so long after it is out of date a message's header is kept (s)."""
_NEVER = float("inf")


class Host(StructuralType):
    """What a driver asks of whoever runs it."""

    def send_frame(self, device: str, frame: bytes) -> None:
        """Send a frame to a neighbour; frames to one neighbour stay in order."""
        ...

    def delivered(self, message: Message) -> None:
        """A message is the application's to take, and on the disk."""
        ...

    def link_ready(self, device: str) -> None:
        """A neighbour has heard our greeting."""
        ...

    def receipts_heard(self, device: str, receipts: list[Any]) -> None:
        """A neighbour tells who has got publications."""
        ...


class _Link:
    """A neighbour, as seen from here."""

    __slots__ = (
        "awake",
        "began",
        "contact",
        "device",
        "greeted",
        "holds_turn",
        "mute",
        "news",
        "node",
        "packet",
        "ready",
        "sequence",
        "settled",
        "told",
    )

    def __init__(self, device: str, node: Node, contact: int, began: float, news: int) -> None:
        self.device, self.node = device, node
        self.contact, self.began = contact, began
        self.news = news
        """How much was new to this device when the contact began."""
        self.greeted = False
        """Whether this end has heard the other's greeting, and said so."""
        self.ready = False
        """Whether the other end has heard this end's too."""
        self.mute = False
        """Whether it runs another protocol."""
        self.holds_turn = False
        self.awake = {True: False, False: False}
        """Whether this end (True), the other end (False) has something to send, as far as it is known here."""
        self.told = False
        """What the other end thinks of this end being awake."""
        self.packet: Data | None = None
        """What is under way."""
        self.sequence = 0
        self.settled = False


class LiveDriver:
    """One device's protocol, driven by real events. Every public method is one event."""

    def __init__(
        self,
        device: str,
        kind: type[Protocol],
        parameters: Any,
        store: Store,
        *,
        host: Host,
        rng: Random,
        clock: Callable[[], float],
        quotas: Quotas | None = None,
        limits: PublicationLimits | None = None,
        room: int = _ROOM,
        again: float = AGAIN,
    ) -> None:
        self.device = device
        self.store = store
        self.holdings = Holdings(device, store, quotas or Quotas())
        self.messages = self.holdings.messages
        self.limits = limits or PublicationLimits()
        self.links: dict[str, _Link] = {}
        self.now = 0.0
        self.room = room
        self._again = again if kind.exchanges_once else _NEVER
        self._news = 0
        """Grows whenever there is something that neighbours have not been greeted with."""
        self.dirty = False
        """Whether the protocol may have changed since it was last written."""
        self._kind, self._parameters, self._rng = kind, parameters, rng
        self._host, self._clock = host, clock
        self._timers: dict[str, tuple[float, int]] = {}
        self._agenda: list[tuple[float, int, str]] = []
        self._order = count()
        self._outbox: list[tuple[str, bytes]] = []
        self._woken: list[str] = []
        self._delivered: list[Message] = []
        self._durable = False
        self._arriving: dict[int, bytes] = {}
        """Publications that have come with a packet, until it is known what becomes of them."""
        self._load()

    # Starting -------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        store = self.store
        saved = self._saved()
        self.now = max(self._clock(), saved["now"] if saved else 0.0)
        store.forget_before(self.now - _MEMORY)
        self.holdings.load()
        protocol = self._restore(saved) if saved else None
        self.protocol: Protocol = protocol or self._afresh()
        if protocol is not None:
            self._end_of_the_last_life(saved["links"] if saved else [])
        wanted = set(store.subscriptions())
        for topic in sorted(self.protocol.topics - wanted):
            self.protocol.unsubscribe(topic, self.now)
        for topic in store.subscriptions():
            if topic not in self.protocol.topics:
                self.protocol.subscribe(topic, self.now)
        self._feed(saved["next"] if protocol is not None and saved else 0)
        self._durable = True
        self._finish()

    def _saved(self) -> dict[str, Any] | None:
        """What the driver wrote beside the protocol, if it can be used."""
        label, state = self.store.fact("protocol"), self.store.fact("state")
        if label is None or state is None:
            return None
        if label != self._label():
            _log.warning("the saved state is of %s; starting afresh", label.decode())
            return None
        try:
            saved: dict[str, Any] = read_state(state, self._outside(), self._kind)
        except Exception as error:  # a pickle can fail in any way
            _log.warning("the saved state cannot be read (%s); starting afresh", error)
            return None
        now = self._clock()
        if saved["now"] > now + WEEK and is_set(now):
            _log.warning("the clock has gone back by %.0f days; starting afresh", (saved["now"] - now) / 86400)
            return None
        return saved

    def _restore(self, saved: dict[str, Any]) -> Protocol:
        protocol: Protocol = saved["protocol"]
        self.holdings.restore(saved["held"], saved["more"])
        for tag, at in saved["timers"]:
            self.set_timer(tag, at)
        return protocol

    def _afresh(self) -> Protocol:
        self._timers, self._agenda = {}, []
        self.protocol = self._kind(self.holdings.node, self._parameters, self, self._rng)
        self.protocol.start(self.now)
        return self.protocol

    def _end_of_the_last_life(self, links: list[tuple[Node, bool, Data | None]]) -> None:
        """The links that were open when the state was written are not any more: as the engine ends a contact."""
        for peer, settled, packet in links:
            if not settled:
                self.protocol.settled(peer, self.now)
            if packet is not None:
                self.protocol.sent(peer, packet, False, self.now)
            self.protocol.link_down(peer, self.now)

    def _feed(self, known: int) -> None:
        """Show the protocol what is on the disk and it does not know: the publications of its last moments, or all."""
        kept = sorted(self.store.kept())
        for number in kept:
            message = self.messages[number]
            if number >= known and not self.holdings.holds(number) and message.expires >= self.now:
                self.protocol.publish(message, self.now)
        for number in kept:
            if not self.holdings.holds(number):
                self.store.drop_content(number)

    def _label(self) -> bytes:
        kind = f"{self._kind.__module__}:{self._kind.__qualname__}"
        return f"{kind} of hunet {_installed()} with {self._parameters!r} at {self.holdings.node}".encode()

    def save(self) -> None:
        """Write the state of the protocol; on the disk when this returns."""
        links = [(link.node, link.settled, link.packet) for link in self.links.values() if not link.mute]
        timers = [(tag, at) for tag, (at, _) in self._timers.items()]
        saved = {
            "now": self.now,
            "links": links,
            "timers": timers,
            "held": self.holdings.held,
            "more": self.holdings.more,
            "next": len(self.messages),
            "protocol": self.protocol,
        }
        self.store.set_fact("protocol", self._label())
        self.store.set_fact("state", write_state(saved, self._outside()))
        self.store.set_fact("alive", str(self.now).encode())
        self.holdings.commit()
        self.dirty = False

    def _outside(self) -> dict[str, Any]:
        """What the state of a protocol refers to and is not part of it."""
        return {"driver": self, "messages": self.messages}

    def clean(self) -> None:
        """Forget what is long out of date."""
        self.store.forget_before(self.now - _MEMORY)
        self.holdings.commit()

    # Events: the application ------------------------------------------------------------------------------------------

    def publish(self, publication: Publication) -> None:
        """A publication of this device; on the disk when this returns."""
        with self._event():
            if publication.id in self.messages:
                return
            encoded = publication.to_bytes()
            self.holdings.check_room(len(encoded))
            self.holdings.commit()
            message = self.holdings.add(publication, len(encoded), self.holdings.node)
            self.store.add_content(message.number, encoded)
            self.holdings.commit()  # from here on it is safe: a start after a crash shows it to the protocol
            self.protocol.publish(message, self.now)
            self._keep_quotas()

    def subscribe(self, topic: Topic) -> None:
        """The application wants a topic."""
        with self._event():
            if topic not in self.protocol.topics:
                self._news += 1
                self.store.subscribe(topic, self.now)
                self.protocol.subscribe(topic, self.now)
                self._durable = True

    def unsubscribe(self, topic: Topic) -> None:
        """The application no longer wants a topic."""
        with self._event():
            if topic in self.protocol.topics:
                self._news += 1
                self.store.unsubscribe(topic)
                self.protocol.unsubscribe(topic, self.now)
                self._durable = True

    def take(self, delivery: int) -> None:
        """The application has taken a delivery, and never gets it again."""
        message = self.store.take(delivery)
        if message is not None and not self.holdings.holds(message):
            self.store.drop_content(message)
        self.holdings.commit()

    # Events: time -------------------------------------------------------------------------------------------------

    def next_timer(self) -> float | None:
        """When :meth:`tick` has something to do."""
        due = self._next_ring()
        again = min((at for at, _ in self._due_again()), default=_NEVER) if self._again < _NEVER else _NEVER
        return min(due, again) if min(due, again) < _NEVER else None

    def _next_ring(self) -> float:
        while self._agenda and self._timers.get(self._agenda[0][2], (0.0, -1))[1] != self._agenda[0][1]:
            heappop(self._agenda)
        return self._agenda[0][0] if self._agenda else _NEVER

    def tick(self) -> None:
        """Time has passed: timers that have run out ring, and contacts that are due begin anew."""
        with self._event():
            for _ in range(len(self._agenda)):
                if self._next_ring() > self.now:
                    break
                _, _, tag = heappop(self._agenda)
                del self._timers[tag]
                self.protocol.timer(tag, self.now)
                self._move_woken()
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

    def frame(self, device: str, data: bytes) -> None:
        """A frame has come. What no honest device sends ends the link, and is raised."""
        link = self.links.get(device)
        if link is None:
            return
        try:
            with self._event():
                self._hear(link, wire.decode(data))
        except PeerError as fault:
            _log.warning("%s is left alone: %s", device[:8], fault)
            self._arriving.clear()
            self.link_down(device)
            raise

    def _hear(self, link: _Link, said: Any) -> None:
        match said:
            case {"t": "receipts", "receipts": list(receipts)}:
                self._host.receipts_heard(link.device, receipts)
            case {"t": "greet", "contact": int(contact)} if contact == link.contact + 1 and link.greeted:
                self._end_contact(link)
                self._hear_of_contact(self._begin_contact(link.device, contact), said)
            case {"t": str(), "contact": int(contact)} if contact == link.contact:
                self._hear_of_contact(link, said)
            case {"t": str(), "contact": int(contact)} if 0 < contact < link.contact:
                pass  # it was under way when the contact ended
            case _:
                raise PeerError("a frame that makes no sense here")

    def _hear_of_contact(self, link: _Link, said: dict[str, Any]) -> None:
        match said:
            case {"t": "greet", "version": int(frames), "protocol": str(name), "packets": list(packets)}:
                self._greeted(link, frames, name, packets)
            case {"t": str()} if link.mute:
                pass
            case {"t": "ready", "awake": bool(awake)} if not link.ready:
                link.ready, link.awake[False] = True, awake
                link.holds_turn = self.device > link.device
                self._host.link_ready(link.device)
                self._move(link)
            case {"t": "control", "packet": dict(plain)}:
                self._show(link, self._packet(plain, Control))
            case {"t": "data", "number": int(number), "packet": dict(plain), "publications": list(publications)}:
                self._take_in(link, number, plain, publications)
            case {"t": "ack", "number": int(number), "awake": bool(awake)} if link.packet and number == link.sequence:
                self._acknowledged(link, awake)
            case {"t": "turn", "awake": bool(awake)} if link.ready and not link.holds_turn:
                link.holds_turn, link.awake[False] = True, awake
                self._move(link)
            case {"t": "want"} if link.ready:
                link.awake[False] = True
                self._move(link)
            case {"t": "settled"} if link.ready:
                if not link.settled:
                    link.settled = True
                    self._ask(link, lambda: self.protocol.settled(link.node, self.now))
            case {"t": "out of band", "packet": dict(plain), "publications": list(publications)}:
                packet = self._with_publications(link, plain, publications) if publications else None
                shown = packet or self._packet(plain, Packet)
                self._ask(link, lambda: self.protocol.receive_out_of_band(link.node, shown, self.now))
                self._keep_arrived()
            case _:
                raise PeerError("a frame that makes no sense here")

    # A contact ------------------------------------------------------------------------------------------------------

    def _begin_contact(self, device: str, contact: int) -> _Link:
        link = self.links[device] = _Link(device, self.holdings.number_of(device), contact, self.now, self._news)
        packets = [self._plain(packet) for packet in self.protocol.link_up(link.node, self.now)]
        self._frame(link, "greet", version=_FRAME, protocol=self._name(), packets=packets)
        return link

    def _end_contact(self, link: _Link) -> None:
        if not link.mute and not link.settled:
            link.settled = True
            self.protocol.settled(link.node, self.now)
        del self.links[link.device]
        if not link.mute:
            if link.packet is not None:
                self.protocol.sent(link.node, link.packet, False, self.now)
            self.protocol.link_down(link.node, self.now)

    def _due_again(self) -> Iterator[tuple[float, _Link]]:
        """Links on which the next contact is to begin, and when."""
        for link in self.links.values():
            if link.settled and link.news < self._news and not link.mute:
                yield link.began + self._again, link

    def _greeted(self, link: _Link, frames: int, name: str, packets: list[Any]) -> None:
        if link.greeted or len(packets) > _MOST_PACKETS:
            raise PeerError("a greeting that makes no sense here")
        if frames != _FRAME or not self._understands(name):
            link.mute = True
            self.count("other protocol")
            self.protocol.link_down(link.node, self.now)
            return
        for plain in packets:
            self._show(link, self._packet(plain, Control))
        link.greeted = True
        self._frame(link, "ready", awake=self._tell(link))

    def _understands(self, name: str) -> bool:
        """Whether a protocol by this name speaks as ours does: it is the same, or a variant of it."""
        from hunet.protocols import PROTOCOLS

        other = PROTOCOLS.get(name)
        if name == self._name() or other is None:
            return name == self._name()
        return other in self._kind.__mro__[:2] or self._kind in other.__mro__[:2]

    def _name(self) -> str:
        from hunet.protocols import PROTOCOLS

        kind = self._kind
        return next((name for name, each in PROTOCOLS.items() if each is kind), f"{kind.__module__}:{kind.__name__}")

    def _tell(self, link: _Link) -> bool:
        """Whether this end has something to send, noting that the other end is told."""
        link.told = link.awake[True]
        return link.told

    def _move(self, link: _Link) -> None:
        """If it is this end's turn: send the next packet, or pass the turn, or settle."""
        if not link.ready or not link.holds_turn or link.packet is not None:
            return
        if link.awake[True]:
            link.awake[True] = False  # unless it is woken meanwhile
            packet: Data | None = self.protocol.poll(link.node, self.now, self.holdings.room(self.room))
            if packet is not None:
                link.awake[True] = True  # there may be more: it is asked until it has none
                publications = self.holdings.contents(packet.messages)
                link.sequence += 1
                link.packet = packet
                plain = self._plain(packet)
                self._frame(link, "data", number=link.sequence, packet=plain, publications=publications)
                return
        if link.awake[False]:
            self._pass_turn(link)
        elif not link.settled:
            link.settled = True
            self._frame(link, "settled")
            self.protocol.settled(link.node, self.now)

    def _pass_turn(self, link: _Link) -> None:
        link.holds_turn = False
        self._frame(link, "turn", awake=self._tell(link))

    def _acknowledged(self, link: _Link, awake: bool) -> None:
        packet, link.packet = link.packet, None
        assert packet is not None
        link.awake[False] = awake
        self.protocol.sent(link.node, packet, True, self.now)
        self.count("sent", packet.messages.bit_count())
        if awake:
            self._pass_turn(link)
        else:
            self._move(link)

    def _take_in(self, link: _Link, number: int, plain: dict[str, Any], publications: list[Any]) -> None:
        if not link.ready or link.holds_turn:
            raise PeerError("data out of turn")
        packet = self._with_publications(link, plain, publications)
        if packet is not None:
            self._show(link, packet)
            self._keep_arrived()
            self._keep_quotas()
        self._durable = True
        self._frame(link, "ack", number=number, awake=self._tell(link))

    def _with_publications(self, link: _Link, plain: dict[str, Any], publications: list[Any]) -> Data | None:
        """A data packet whose publications are checked and in the catalogue; None if nothing of it is of use."""
        listed = plain.get("messages")
        if not isinstance(listed, list) or not 0 < len(publications) == len(listed) == len(set(map(str, listed))):
            raise PeerError("a data frame without its publications")
        useless: set[str] = set()
        read: list[tuple[Publication, bytes]] = []
        for message, encoded in zip(listed, publications, strict=True):
            try:
                publication = read_publication(encoded, self.now, self.limits)
            except Refused as refused:
                self.count(f"refused: {refused.reason}")
                if refused.reason not in (
                    "expired",
                    "from the future",
                ):  # clocks differ; the rest is the sender's fault
                    raise
                useless.add(message)
                continue
            if publication.id != message:
                raise PeerError("a publication under another's id")
            read.append((publication, encoded))
        for publication, encoded in sorted(read, key=lambda each: (each[0].created, each[0].id)):
            if publication.id in self.messages:
                self.count("refused: replayed")
                message = self.messages.by_id(publication.id)
            else:
                message = self.holdings.add(publication, len(encoded), link.node)
            self._arriving[message.number] = encoded
        if not read:
            return None
        packet = self._packet(plain, Data, frozenset(useless))
        assert isinstance(packet, Data)
        return packet

    def _show(self, link: _Link, packet: Packet) -> None:
        self.protocol.check(packet)
        self._ask(link, lambda: self.protocol.receive(link.node, packet, self.now))

    def _ask(self, link: _Link, call: Callable[[], None]) -> None:
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
        """Carry out what the event has led to; others hear of it when it is on the disk."""
        self._move_woken()
        if self._durable or self._delivered:
            self._durable = False
            self.save()
        outbox, self._outbox = self._outbox, []
        for device, frame in outbox:
            self._host.send_frame(device, frame)
        delivered, self._delivered = self._delivered, []
        for message in delivered:
            self._host.delivered(message)

    def _move_woken(self) -> None:
        while self._woken:
            link = self.links.get(self._woken.pop(0))
            if link is None or not link.awake[True]:
                continue
            if link.holds_turn:
                self._move(link)
            elif link.greeted and not link.told:
                link.told = True
                self._frame(link, "want")

    # Actions of the contract ------------------------------------------------------------------------------------------

    def send(self, peer: Node, packet: Control) -> None:
        link = self.links.get(self.holdings.names[peer])
        if link is not None and not link.mute:
            self._frame(link, "control", packet=self._plain(packet))

    def broadcast(self, packet: Control, but: Node | None = None) -> None:
        plain: dict[str, Any] | None = None
        for link in self.links.values():
            if link.node != but and not link.mute:
                plain = plain or self._plain(packet)
                self._frame(link, "control", packet=plain)

    def send_out_of_band(self, node: Node, packet: Packet) -> None:
        link = self.links.get(self.holdings.names[node])
        if link is None or link.mute:
            self.count("out of band: out of reach")
            return
        publications = self.holdings.contents(packet.messages) if isinstance(packet, Data) else []
        self._frame(link, "out of band", packet=self._plain(packet), publications=publications)

    def wake(self, peer: Node) -> None:
        link = self.links.get(self.holdings.names[peer])
        if link is not None and not link.mute and not link.awake[True]:
            link.awake[True] = True
            self._woken.append(link.device)

    def deliver(self, message: Message, hops: int) -> None:
        if self.store.deliver(message.number, message.topic, hops, self.now):
            self.count("delivered")
            self._delivered.append(message)

    def set_timer(self, tag: str, at: float) -> None:
        number = next(self._order)
        self._timers[tag] = (at, number)
        heappush(self._agenda, (at, number, tag))

    def cancel_timer(self, tag: str) -> None:
        self._timers.pop(tag, None)

    def stored(self, messages: MessageSet) -> None:
        self._news += 1
        for number in members(messages):
            self.holdings.hold(number)

    def removed(self, message: Message, reason: str) -> None:
        self.count(f"removed: {reason}")
        self.holdings.let_go(message.number)
        if not self.holdings.holds(message.number) and message.number not in self._arriving:
            self.store.drop_content(message.number)

    def role(self, name: str) -> None:
        self.store.set_fact("role", name.encode())

    def false_match(self, message: Message) -> None:  # noqa: ARG002
        self.count("false matches")

    # What is held -----------------------------------------------------------------------------------------------------

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter of the store."""
        self.store.count(name, by)

    def _keep_arrived(self) -> None:
        """Write the contents of what came and was kept or delivered; the rest leaves no trace but its header."""
        for number, encoded in self._arriving.items():
            if self.holdings.holds(number) or self.store.is_waiting(number):
                self.store.add_content(number, encoded)
        self._arriving.clear()

    def _keep_quotas(self) -> None:
        """Where there is too much, the protocol says what goes; a device's own publications are not in question."""
        for what, among, too_much in self.holdings.excess():
            self._make_room(what, among, too_much)

    def _make_room(self, what: str, among: MessageSet, size: int) -> None:
        while among and size > 0:
            gone = self.protocol.surrender(among, self.now)
            if not gone:
                return
            self.count(f"quota: {what}", gone.bit_count())
            size -= sum(self.messages[number].size for number in members(gone & ~self.holdings.held))
            among &= self.holdings.held

    # Packets ----------------------------------------------------------------------------------------------------------

    def _plain(self, packet: Packet) -> dict[str, Any]:
        # What is dead need not be spoken of; numbers whose messages are forgotten are among the dead.
        unsaid = 0
        if isinstance(packet, Control):
            unsaid = self.messages.dead(self.now) | (1 << max(0, len(self.messages) - MOST_SPOKEN_OF)) - 1
        return encode(packet, self.messages, self.holdings.names, unsaid)

    def _packet(self, plain: Any, kind: type[Packet], without: frozenset[str] = frozenset()) -> Packet:
        """A packet of a neighbour; whatever is wrong with it is the neighbour's fault."""
        try:
            packet = decode(plain, self.holdings, self.holdings, without)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, msgspec.MsgspecError) as error:
            raise PeerError(f"a packet that cannot be read: {type(error).__name__}") from None
        if not isinstance(packet, kind):
            raise PeerError(f"a {type(packet).__name__} where a {kind.__name__} packet belongs")
        return packet

    def _frame(self, link: _Link, kind: str, **said: Any) -> None:
        self._outbox.append((link.device, wire.encode({"t": kind, "contact": link.contact, **said})))

    def send_receipts(self, device: str, receipts: list[Any]) -> None:
        """Give receipts to a neighbour."""
        self._host.send_frame(device, wire.encode({"t": "receipts", "receipts": receipts}))


@cache
def _installed() -> str:
    return version("hunet")
