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
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import Node, OutputError, PeerError, members
from hunet.node import wire
from hunet.node.device import NEVER, Device
from hunet.node.holdings import MOST_SPOKEN_OF
from hunet.node.publication import Publication, Refused, read_publication
from hunet.protocols.codec import decode, encode
from hunet.protocols.contract import Control, Data, Packet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from hunet.node.device import Host
    from hunet.node.holdings import Quotas
    from hunet.node.publication import PublicationLimits
    from hunet.node.store import Store
    from hunet.protocols.contract import Protocol

_log = logging.getLogger("hunet.node")

_FRAME = 1
"""The version of the frames; neighbours of another are left alone."""
_ROOM = 64
"""Messages in a data frame, at most."""
_MOST_PACKETS = 64
"""Packets in a greeting."""
AGAIN = 2.0
"""Devices that stay together and exchange once in a contact begin the next after so long, if there is news (s)."""


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


class LiveDriver(Device):
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
        self.links: dict[str, _Link] = {}
        self._room, self._again = room, again if kind.exchanges_once else NEVER
        self._outbox: list[tuple[str, bytes]] = []
        self._woken: list[str] = []
        super().__init__(device, kind, parameters, store, host=host, rng=rng, clock=clock, quotas=quotas, limits=limits)

    # Events: time -----------------------------------------------------------------------------------------------------

    def next_timer(self) -> float | None:
        """When :meth:`tick` has something to do."""
        due = min([self._next_ring(), *(at for at, _ in self._due_again())])
        return due if due < NEVER else None

    def tick(self) -> None:
        """Time has passed: timers that have run out ring, and contacts that are due begin anew."""
        with self._event():
            self._ring()
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
        from hunet.systems import PROTOCOLS

        other = PROTOCOLS.get(name)
        if name == self._name() or other is None:
            return name == self._name()
        return other in self._kind.__mro__[:2] or self._kind in other.__mro__[:2]

    def _name(self) -> str:
        from hunet.systems import PROTOCOLS

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
        while link.awake[True]:
            link.awake[True] = False  # unless it is woken meanwhile
            packet: Data | None = self.protocol.poll(link.node, self.now, self.holdings.room(self._room))
            if packet is None:
                continue
            link.awake[True] = True  # there may be more: it is asked until it has none
            publications = self._publications(packet)
            if publications is None:
                self.protocol.sent(link.node, packet, False, self.now)
                continue
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

    def _publications(self, packet: Data) -> list[bytes] | None:
        """What a packet carries, as its encoding lists it; None if the disk has lost some, which then is given up."""
        # What is sent on in the very moment in which it comes is not on the disk yet.
        found = {n: self._arriving.get(n) or self.store.content(n) for n in members(packet.messages)}
        lost = [number for number, content in found.items() if content is None]
        for number in lost:
            self.count("damaged")
            self.protocol.surrender(1 << number, self.now)
        return None if lost else [content for content in found.values() if content is not None]

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
        if (
            not isinstance(listed, list)
            or not all(isinstance(each, str) for each in listed)
            or not all(isinstance(each, bytes) for each in publications)
            or not 0 < len(publications) == len(listed) == len(set(listed))
        ):
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

    def _open_contacts(self) -> list[tuple[Node, bool, Data | None]]:
        return [(link.node, link.settled, link.packet) for link in self.links.values() if not link.mute]

    def _flush(self) -> None:
        outbox, self._outbox = self._outbox, []
        for device, frame in outbox:
            self._host.send_frame(device, frame)

    def _carry(self) -> None:
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
        publications = self._publications(packet) if isinstance(packet, Data) else []
        if publications is not None:
            self._frame(link, "out of band", packet=self._plain(packet), publications=publications)

    def wake(self, peer: Node) -> None:
        link = self.links.get(self.holdings.names[peer])
        if link is not None and not link.mute and not link.awake[True]:
            link.awake[True] = True
            self._woken.append(link.device)

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
