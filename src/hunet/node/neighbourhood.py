"""Everybody in reach: sightings become sessions, sessions become links, and there is one link with each device.

A link is up when an authenticated session stands and both ends have agreed that it is *the* session between them. It
goes down when the other end closes it, breaks the rules, says nothing for too long, or takes nothing for too long.

How two devices agree
---------------------
Either may dial, often both do at the same moment, and after a failure one end may believe in a session that the other
has lost. So the device whose name sorts first *chooses*, and the other follows, over each new session:

    follower -> chooser   ready
    chooser  -> follower  keep                          if it has no link with the follower; the link is up
    chooser  -> follower  ask, id of its link           if it has one
    follower -> chooser   have                          and the chooser closes the new session
    follower -> chooser   lost                          and the chooser drops the old link, and says keep

The chooser links only what the follower is ready for, so a follower that never heard of a session has lost it for
certain: nothing flaps, whatever the order in which things arrive, and a device that was restarted is linked at once.

After that the two exchange data and, when they have nothing to say, signs of life. The first byte of a frame tells
which of all these it is.

More neighbours than a radio can hold
-------------------------------------
A Bluetooth adapter holds a few connections. When all are taken, the link on which nothing was said for longest makes
room for whoever comes next, and that device is not linked again for a while. So a crowd is served in turns. Half of the
links may make room for those who were seen meanwhile; one does if nobody was, since devices that are full are not seen.

What strangers and bad neighbours can do
----------------------------------------
All that they cause us to remember is bounded: connections that are not links yet, links, one incoming frame for each
link, addresses, penalties. Nobody can keep others out by filling a table: when there are too many connections, the
oldest of the host that has most goes, those that have said nothing apart from others, and an honest device needs a
place for milliseconds only. Who gets a place, and how much strangers may bring, is in ``places``.

Frames are taken no faster than a limit, so that whoever sends faster is slowed down by the connection, and outgoing
frames wait in the hands of whoever sends them. A device that breaks the rules loses its link and
is not let in again for a while, for longer each time. Everything refused is counted by reason in ``refused``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from hunet.model import ConfigurationError, HunetError, PeerError
from hunet.node.discovery import ShortIds
from hunet.node.places import LIMITS, NeighbourLimits, NeighbourLink, Places
from hunet.node.radio import Ip, Radio
from hunet.node.rate_limits import Backoff, BoundedDict, RateLimit, next_backoff
from hunet.node.session import PeerFault, Session, SessionLimits, open_session
from hunet.node.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hunet.node.discovery import Discovery, Sighting
    from hunet.node.identity import Identity
    from hunet.node.trust import AddressBook

_log = logging.getLogger(__name__)

_DATA, _ALIVE, _READY, _KEEP, _ASK, _HAVE, _LOST = (bytes([kind]) for kind in range(7))
_SIGNS_OF_LIFE = 20  # that may come at once; an honest device sends one every few seconds
_LONGEST_RETRY = 60.0  # times the first pause
_LONGEST_PENALTY = 3600.0


class Listener(Protocol):
    """Who is told about links. For each link: one ``link_up``, any number of ``frame``, one ``link_down``."""

    def link_up(self, device: str) -> None:
        """An authenticated link with this device stands."""
        ...

    async def frame(self, device: str, data: bytes) -> None:
        """A frame came. The next one of this device is read when this returns: whoever is slow slows the sender down.

        So do not wait here for something to be sent to that device: if both ends did, with neither of them reading,
        they would wait for each other. Leave sending to another task.

        Raise :class:`PeerFault` (or another PeerError) to have the link dropped and the reason counted.
        """
        ...

    def signal(self, device: str, rssi: int) -> None:
        """A device that is linked was heard so strongly (dBm)."""
        ...

    def link_down(self, device: str, reason: str) -> None:
        """The link is gone; frames that were sent last may not have arrived."""
        ...


class Neighbourhood:
    """The links of this device; ``await start(listener)`` begins, ``await close()`` ends them all."""

    def __init__(
        self,
        identity: Identity,
        book: AddressBook,
        discoveries: Iterable[Discovery] = (),
        listen: tuple[str, int] | None = ("", 0),
        keepalive: float = 10.0,
        silence: float = 30.0,
        limits: NeighbourLimits = LIMITS,
        radios: Iterable[Radio] = (),
    ) -> None:
        if not 0 < keepalive < silence:
            raise ConfigurationError(f"a sign of life every {keepalive:g} s and patience for {silence:g} s cannot work")
        self.identity, self.book = identity, book
        self.refused: Counter[str] = Counter()
        """How often something of a peer was refused, by reason."""
        self._discoveries = list(discoveries)
        self._ip = Ip(*listen) if listen else None
        self.radios: dict[str, Radio] = {radio.name: radio for radio in [*([self._ip] if self._ip else []), *radios]}
        self._ids = ShortIds()
        self._keepalive, self._limits = keepalive, limits
        self._session_limits = SessionLimits(limits.frame_bytes + 1, limits.handshake_seconds, silence)
        self._links: dict[str, NeighbourLink] = {}
        self._places = Places(self._links, book, limits)
        self._open: set[bytes] = set()  # the ids of sessions that are links, or may become one
        self._choosing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._silent: dict[asyncio.StreamWriter, str] = {}  # connections that have said nothing, and the host of each
        self._shaking_hands: dict[asyncio.StreamWriter, str] = {}  # those that have; both begin with the oldest
        self._dialling: set[str] = set()
        self._dials = RateLimit(limits.dials / 2, 2.0 * limits.dials)
        self._device_of: BoundedDict[str, str] = BoundedDict(limits.remembered)  # whom a sighting turned out to be
        self._retry: BoundedDict[tuple[str, int], Backoff] = BoundedDict(limits.remembered)
        self._penalties: BoundedDict[str, Backoff] = BoundedDict(limits.remembered)
        self._turned_away: BoundedDict[str, None] = BoundedDict(limits.neighbours)  # by a radio that is full
        self._tasks = Tasks()
        self._listener: Listener

    async def start(self, listener: Listener) -> None:
        """Listens, looks around, and tells the listener from now on; ConfigurationError if the address is taken."""
        self._listener = listener
        wanted, self._discoveries = self._discoveries, []
        try:
            for radio in self.radios.values():
                await radio.serve(partial(self._accepted, radio.name))
                if radio is not self._ip:
                    self._tasks.start(self._make_room(radio))
            for discovery in wanted:
                discovery.ids = self._ids
                await discovery.start(self._ip.address[1] if self._ip else 0)
                self._discoveries.append(discovery)
                self._tasks.start(self._look(discovery))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends all links, with "closing" as the reason, and everything else."""
        for discovery in self._discoveries:
            await discovery.close()
        for link in self._links.values():
            link.reason = link.reason or "closing"
        await self._tasks.close(self._ip.server if self._ip else None)
        for radio in self.radios.values():
            await radio.stop()

    @property
    def address(self) -> tuple[str, int]:
        """Where this device accepts connections over IP."""
        assert self._ip is not None, "no IP"
        return self._ip.address

    def devices(self) -> list[str]:
        """Everybody who is linked, in the order in which they came."""
        return list(self._links)

    def session_id(self, device: str) -> bytes:
        """What both ends of a link call the session that it stands on."""
        return self._links[device].session.id

    def radio(self, device: str) -> str:
        """The name of the radio over which a device is linked."""
        return self._links[device].radio

    async def send(self, device: str, frame: bytes) -> None:
        """Sends a frame, and returns when there is room for the next; PeerFault if the device is gone or goes away."""
        link = self._links.get(device)
        if link is None or link.reason:
            raise PeerFault("not linked")
        if len(frame) > self._limits.frame_bytes:
            raise ValueError(f"a frame of {len(frame)} bytes; the limit is {self._limits.frame_bytes}")
        link.used = time.monotonic()
        await self._say(link, _DATA + frame)

    async def allow(self, device: str, many: int) -> None:
        """Waits until a neighbour may bring so many publications, which the listener has found in a frame of it."""
        link = self._links.get(device)
        if link is not None:
            await self._places.allow(link, many)

    async def drop(self, device: str, reason: str) -> None:
        """Ends a link, if there is one; when this returns the listener has been told.

        (Called by the listener while it takes a frame of that device, it is told afterwards.)
        """
        link = self._links.get(device)
        if link is not None:
            link.end(reason)
            if link.task is not asyncio.current_task():
                await link.gone.wait()

    # Dialling and being dialled

    async def _look(self, discovery: Discovery) -> None:
        async for sighting in discovery:
            self._sighted(sighting)

    def _sighted(self, sighting: Sighting) -> None:
        """Dials, unless that is being done, or was done in vain a moment ago, or the device is linked already."""
        who = sighting.short_id or f"{sighting.host} {sighting.port}"
        if sighting.rssi is not None and self._device_of.get(who) in self._links:
            self._listener.signal(self._device_of[who], sighting.rssi)
        pause = self._retry.get((sighting.host, sighting.port))
        if (
            who not in self._dialling
            and len(self._dialling) < self._limits.dials
            and self._device_of.get(who) not in self._links
            and self._device_of.get(who) != self.identity.device
            and not self._places.rests(sighting.radio, self._device_of.get(who, ""))
            and (pause is None or pause.over)
            and self._dials.left >= 1
        ):
            if self.radios[sighting.radio].full:
                self._turned_away[who] = None
            else:
                self._dials.use()
                self._dialling.add(who)
                self._tasks.start(self._dial(sighting, who))

    async def _dial(self, sighting: Sighting, who: str) -> None:
        address, link = (sighting.host, sighting.port), None
        try:
            async with asyncio.timeout(self._limits.handshake_seconds):
                reader, writer = await self.radios[sighting.radio].connect(sighting)
            link = await self._establish(reader, writer, sighting.radio, who=who)
        except (OSError, TimeoutError, ValueError):  # ValueError: a host that is no host
            pass
        finally:
            self._dialling.discard(who)
        if link is not None or self._device_of.get(who) in self._links:
            self._retry.pop(address, None)
        else:
            self._retry[address] = next_backoff(
                self._retry.get(address), self._limits.retry_seconds, _LONGEST_RETRY * self._limits.retry_seconds
            )
        if link is not None:
            await self._serve(link, sighting.rssi)

    def _accepted(self, radio: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._admit(self._silent, writer, self._limits.silent)
        self._tasks.serve(writer, self._answer(reader, writer, radio))

    def _admit(self, those: dict[asyncio.StreamWriter, str], writer: asyncio.StreamWriter, most: int) -> None:
        """Make a connection one of those; if there are too many, the oldest of the host that has most goes."""
        those[writer] = _host(writer)
        if len(those) > most:
            crowd = Counter(those.values()).most_common(1)[0][0]
            oldest = next(each for each, host in those.items() if host == crowd)
            del those[oldest]
            self.refused["too many handshakes"] += 1
            oldest.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, radio: str) -> None:
        def spoke() -> None:
            if self._silent.pop(writer, None) is not None:
                self._admit(self._shaking_hands, writer, self._limits.handshakes)

        try:
            link = await self._establish(reader, writer, radio, spoke=spoke)
        finally:
            self._silent.pop(writer, None)
            self._shaking_hands.pop(writer, None)
        if link is not None:
            await self._serve(link)

    async def _establish(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        radio: str,
        who: str = "",
        spoke: Callable[[], None] | None = None,
    ) -> NeighbourLink | None:
        """A link over a fresh connection; None if it came to nothing, and then it is closed and counted.

        ``who`` is whom this device dialled, if it was this one that did.
        """
        try:
            session = await open_session(reader, writer, self.identity, bool(who), self._session_limits, spoke)
        except PeerFault as fault:
            self.refused[fault.reason] += 1
            return None
        if who:
            self._device_of[who] = session.device
        host = _host(writer)
        unwelcome = self._unwelcome(session.device, radio, host)
        if unwelcome:
            self.refused[unwelcome] += 1
            await session.close()
            return None
        link = None
        self._open.add(session.id)
        try:
            async with asyncio.timeout(self._limits.handshake_seconds):
                link = await self._agree(session, radio, host)
        except TimeoutError:
            self.refused["slow handshake"] += 1
        except PeerFault as fault:
            self._blame(session.device, fault)
        finally:
            if link is None:
                self._open.discard(session.id)
                await session.close()
        return link

    def _unwelcome(self, device: str, radio: str, host: str) -> str:
        """Why a device is not let in; nothing if it is."""
        penalty = self._penalties.get(device)
        if device == self.identity.device:
            return "ourselves"
        if self.book.blocked(device):
            return "blocked"
        if penalty is not None and not penalty.over:
            return "misbehaved lately"
        if self._places.rests(radio, device):
            return "made room"
        if device not in self._links and not self._places.admit(device, host):
            return "too many neighbours"
        return ""

    async def _make_room(self, radio: Radio) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._limits.idle_seconds / 2))
            links = [link for link in self._links.values() if link.radio == radio.name]
            idle = [link for link in links if time.monotonic() - link.used > self._limits.idle_seconds]
            if radio.full and idle:
                room = max(1, min(len(self._turned_away), len(links) // 2))  # one even if nobody can be seen: see above
                self._turned_away.clear()
                for link in sorted(idle, key=lambda link: link.used)[:room]:
                    self._places.end_turn(link, self._limits.rest_seconds)

    async def _agree(self, session: Session, radio: str, host: str) -> NeighbourLink | None:
        """The link, if both ends want this session to be theirs (see the head of this file)."""
        device = session.device
        choosing = self._choosing.setdefault(device, asyncio.Lock())
        if self.identity.device < device:
            if await session.receive() != _READY:
                raise PeerFault("malformed")
            async with choosing:
                while (old := self._links.get(device)) is not None:
                    await session.send(_ASK + old.session.id)
                    answer = await session.receive()
                    if answer == _LOST:
                        old.end("lost")
                    elif answer != _HAVE:
                        raise PeerFault("malformed")
                    elif not old.reason:
                        return None
                    await old.gone.wait()
                await session.send(_KEEP)
                return self._new_link(session, radio, host)
        await session.send(_READY)
        while (frame := await session.receive()) != _KEEP:
            if frame[:1] != _ASK:
                raise PeerFault("malformed")
            await session.send(_HAVE if frame[1:] in self._open else _LOST)
        async with choosing:
            while (old := self._links.get(device)) is not None:
                old.end("replaced")
                await old.gone.wait()
            return self._new_link(session, radio, host)

    def _new_link(self, session: Session, radio: str, host: str) -> NeighbourLink:
        task = asyncio.current_task()
        assert task is not None
        link = self._links[session.device] = NeighbourLink(session, radio, host, task, self._limits)
        return link

    # Links

    async def _serve(self, link: NeighbourLink, rssi: int | None = None) -> None:
        """A link from the first word about it to the last: whatever the listener hears of it, it hears from here."""
        device = link.session.device
        alive = self._tasks.start(self._show_life(link))
        try:
            try:
                self.book.saw(device, time.time())
            except HunetError as error:  # a full disk is no reason to be alone
                _log.warning("%s", error)
            self._listener.link_up(device)
            if rssi is not None:
                self._listener.signal(device, rssi)
            await self._take_frames(link)
        except PeerFault as fault:
            if not link.reason:
                link.reason = fault.reason
                self._blame(device, fault)
        except PeerError:
            link.reason = link.reason or "malformed"
            self._blame(device, PeerFault("malformed"))
        except Exception:
            link.reason = link.reason or "our own error"
            _log.exception("the link with %s is dropped", device)
        finally:
            alive.cancel()
            self._open.discard(link.session.id)
            del self._links[device]
            try:
                self._listener.link_down(device, link.reason)
            finally:
                link.gone.set()
                await link.session.close()

    async def _take_frames(self, link: NeighbourLink) -> None:
        rate = self._limits.frames_per_second
        frames, signs_of_life = RateLimit(rate, max(1.0, rate)), RateLimit(1.0, _SIGNS_OF_LIFE)
        work = RateLimit(self._limits.share_of_time, 20 * self._limits.share_of_time)
        while True:
            frame = await link.session.receive()
            if frame == _ALIVE:
                if signs_of_life.use() > 0:
                    raise PeerFault("flooding")
            elif frame[:1] == _DATA:
                await link.pause(frames.use())
                link.used = time.monotonic()
                if link.reason:
                    return
                link.worked = time.thread_time()
                await self._listener.frame(link.session.device, frame[1:])
                await link.pause(work.use(time.thread_time() - link.worked))
            else:
                raise PeerFault("malformed")

    async def _show_life(self, link: NeighbourLink) -> None:
        with suppress(PeerFault):  # which the link's own task is about to notice
            while True:
                quiet = time.monotonic() - link.sent
                if quiet >= self._keepalive:
                    await self._say(link, _ALIVE)
                else:
                    await asyncio.sleep(self._keepalive - quiet)

    async def _say(self, link: NeighbourLink, frame: bytes) -> None:
        try:
            await link.session.send(frame)
        except PeerFault as fault:
            link.end(fault.reason)
            raise
        link.sent = time.monotonic()

    def _blame(self, device: str, fault: PeerFault) -> None:
        if fault.hostile:
            self.refused[fault.reason] += 1
            self._penalties[device] = next_backoff(
                self._penalties.get(device), self._limits.penalty_seconds, _LONGEST_PENALTY
            )


def _host(writer: asyncio.StreamWriter) -> str:
    return str((writer.get_extra_info("peername") or ("",))[0])
