"""One device: it finds the devices around it, meets them, and carries publications for people.

>>> import asyncio, tempfile
>>> from hunet.node.node import Node
>>> async def two_devices(folder):
...     async with Node(f"{folder}/ann", listen="127.0.0.1:0", beacons=False) as ann:
...         async with Node(f"{folder}/bob", listen="127.0.0.1:0", beacons=False, peers=[ann.address]) as bob:
...             messages = bob.subscribe("news")
...             await ann.publish("news", "hello")
...             return (await anext(messages)).text
>>> with tempfile.TemporaryDirectory() as folder:
...     asyncio.run(two_devices(folder))
'hello'

What a node keeps is in its folder: its key (``key.pem``), whom it knows (``known.json``), everything else in
``hunet.db``. While it runs, ``socket`` is where the commands talk to it. One node runs in a folder at a time.

A call of :meth:`Node.publish` returns when the publication is on the disk. A delivery is the application's until it
asks for the next one, or says ``taken``; what was not taken comes again after a restart. An application that writes
down the number of the delivery that it dealt with last, and starts again ``after`` it, sees each exactly once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import AsyncExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from random import Random
from shutil import disk_usage
from typing import TYPE_CHECKING, Any, Self

from hunet.model import ConfigurationError, Message, OutputError, Parameters, interest_of
from hunet.node.battery import charge
from hunet.node.clock import SteadyClock, is_set
from hunet.node.deliveries import Deliveries, Delivery, Subscription
from hunet.node.device import Delivered, PrivateArrived, RoleChanged, SubscriptionEnded
from hunet.node.discovery import Beacons, Discovery, StaticPeers
from hunet.node.driver import AGAIN, AnnouncementsHeard, Frame, HandedOver, LinkReady, LiveDriver, ReceiptsHeard
from hunet.node.encounters import EncounterLog
from hunet.node.event_log import NodeEventLog
from hunet.node.folder import locked
from hunet.node.groups import label_of
from hunet.node.holdings import Quotas
from hunet.node.identity import Identity
from hunet.node.neighbourhood import Neighbourhood
from hunet.node.parameters import live_parameters
from hunet.node.people import People
from hunet.node.places import BROUGHT_TOO_MUCH, NeighbourLimits
from hunet.node.private import Private
from hunet.node.publication import Group, Publication, PublicationLimits, is_private
from hunet.node.receipts import ReceiptBook
from hunet.node.session import PeerFault
from hunet.node.store import DamagedError, open_store
from hunet.node.trust import AddressBook
from hunet.node.vault import Vault
from hunet.protocols.capabilities import check_subscription, check_topic
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    from hunet.node.encounters import HowNoted
    from hunet.node.radio import Radio
    from hunet.protocols import Protocol

_log = logging.getLogger("hunet.node")

DAY = 86400.0
_SAVE_EVERY = 5.0
"""What nobody relies on is written so often (s)."""
_CLEAN_EVERY = 3600.0
_ENOUGH = 8 << 20
"""On a disk that was full, nothing is taken from neighbours until so many bytes are free."""


class Node(People):
    """A device; ``async with Node(folder) as node`` runs it.

    ``protocol`` is one of ``hunet protocols``, with its ``parameters``; a record of them is used as it is, limits of
    messages and all, as simulations do. ``listen`` is the address at which others connect ("" for all, port 0 for
    any), or None: no IP. Devices are found by beacons on the local network unless ``beacons`` is False, at ``peers``
    ("host:port"), by further ``discoveries``, and by ``radios`` (Bluetooth). ``encounters`` says how they are noted:
    by "pseudonyms" that only this device can tell, or all that share the secret word of a ``trial``, by "names", or
    "off". ``clock`` tells the time in seconds since 1970, of which ``pace`` pass in one real second. With ``receipts``
    the device tells authors who ask that it has got their publications; they learn how many have, not who. Systems
    that exchange once in a contact do so ``again`` after as many seconds. A ``recorder`` is given the protocol and
    puts a watcher before it. ``event_log`` is a file for all events of the protocol (docs/formats.md). A node that is
    not ``direct`` can neither write to people nor be written to. With a ``passphrase`` its folder is encrypted (extra
    ``hunet[sealed]``).
    """

    def __init__(
        self,
        folder: Path | str,
        protocol: str = "push",
        parameters: Mapping[str, Any] | Parameters | None = None,
        *,
        listen: str | None = ":0",
        beacons: bool = True,
        peers: Iterable[str] = (),
        discoveries: Iterable[Discovery] = (),
        radios: Iterable[Radio] = (),
        quotas: Quotas | None = None,
        encounters: HowNoted = "pseudonyms",
        trial: str | None = None,
        clock: Callable[[], float] = time.time,
        pace: float = 1.0,
        keepalive: float = 10.0,
        silence: float = 30.0,
        neighbours: NeighbourLimits | None = None,
        again: float = AGAIN,
        receipts: bool = False,
        recorder: Callable[[Protocol], Protocol] | None = None,
        event_log: Path | None = None,
        direct: bool = True,
        passphrase: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.protocol = protocol
        self._kind, self._quotas = protocol_class(protocol), quotas or Quotas()
        self._parameters = (
            parameters
            if isinstance(parameters, Parameters)
            else live_parameters(self._kind, parameters or {}, self._quotas.total)
        )
        self._listen = None if listen is None else _address(listen)
        self._radios = list(radios)
        self._ways = [
            *([Beacons()] if beacons and self._listen else []),
            *([StaticPeers(peers)] if peers else []),
            *discoveries,
            *(radio for radio in self._radios if isinstance(radio, Discovery)),
        ]
        if self._listen is None and (peers or discoveries):
            raise ConfigurationError("without IP no peers can be dialled: leave them out, or give an address to listen")
        self._how_noted, self._trial = encounters, trial
        self._wall, self._pace = clock, pace
        self._patience = (keepalive, silence, neighbours or NeighbourLimits())
        self._again, self._recorder, self._gives_receipts = again, recorder, receipts
        self._event_log = NodeEventLog(event_log) if event_log else None
        self._direct, self._passphrase = direct, passphrase
        self._limits = PublicationLimits()
        self._stack = AsyncExitStack()
        self._queues: dict[str, asyncio.Queue[bytes]] = {}
        self._senders: dict[str, asyncio.Task[None]] = {}
        self._since: dict[str, float] = {}
        self._watchers: list[Callable[[str, dict[str, Any]], None]] = []
        self._alarm = asyncio.Event()
        self._sleeps_until = 0.0
        """By this node's clock: until when timers are looked after without an alarm."""
        self._failed: asyncio.Future[None] | None = None
        self._skew: float | None = None
        self._soon: asyncio.Handle | None = None
        self.running = False

    # Starting and stopping --------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.enter_context(locked(self.folder))
            self._vault = Vault.open(self.folder, self._passphrase)
            self.identity = Identity.load_or_create(self.folder / "key.pem", self._vault)
            self.book = AddressBook(self.folder / "known.json", self._vault)
            self._failed = asyncio.get_running_loop().create_future()
            self._load()
            stack.callback(self._close_store)
            self._neighbourhood = Neighbourhood(
                self.identity, self.book, self._ways, self._listen, *self._patience, self._radios
            )
            self.running = True
            stack.push_async_callback(self._stop)
            await self._neighbourhood.start(self)
            self._keeper = asyncio.create_task(self._keep())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _stop(self) -> None:
        self.running = False
        if keeper := getattr(self, "_keeper", None):
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        await self._neighbourhood.close()
        if not self._driver.stale and not (self._failed and self._failed.done()):
            with self._room_or_not():
                self._driver.save()
        self._deliveries.end()

    def _close_store(self) -> None:
        if self._event_log:
            self._event_log.close()
        try:
            self._store.close()
        except OutputError as error:
            _log.warning("%s", error)

    def _load(self) -> None:
        path, key = self.folder / "hunet.db", self._vault.key if self._vault else None
        self._store, problem = open_store(path, key)
        try:
            self._driver = self._make_driver()
        except DamagedError:
            self._store.abandon()
            self._store, problem = open_store(path, key)
            self._driver = self._make_driver()
        if problem:
            _log.warning("%s", problem)
        self._deliveries = Deliveries(self._driver)
        self._encounters = EncounterLog(self._store, self.identity, self._how_noted, self._trial)
        self._receipts = ReceiptBook(self._store, self.identity)
        self._begin_private()
        self._carry_out()

    def _begin_private(self) -> None:
        self._private = Private(self._driver, self.identity, self.book, self._publish, self._direct)
        with self._room_or_not():
            self._private.refresh(self._clock())
            self._private.settle(self._date())
            self._store.commit()

    @contextmanager
    def _room_or_not(self) -> Iterator[None]:
        """If the disk is full, take nothing from neighbours until there is room: what is in memory may not be on it."""
        try:
            yield
        except DamagedError:
            raise
        except OutputError as error:
            if not self._driver.full:
                _log.warning("%s", error)
            self._driver.full = self._driver.stale = True
            self._alarm.set()

    def _make_driver(self) -> LiveDriver:
        known, wall = float((self._store.fact("alive") or b"0").decode()), self._wall()
        trusted = known if known < wall + self._limits.clock_skew or not is_set(wall) else 0.0
        self._clock = SteadyClock(self._wall, since=trusted, pace=self._pace)
        driver = LiveDriver(
            self.identity.device,
            self._kind,
            self._parameters,
            self._store,
            rng=Random(os.urandom(16)),
            clock=self._clock,
            quotas=self._quotas,
            limits=self._limits,
            friends=self.book.named,
            again=self._again,
            event_log=self._event_log,
            battery=charge,
        )
        driver.is_hidden = self.book.blocked
        if self._recorder:
            driver.protocol = self._recorder(driver.protocol)
        return driver

    async def failure(self) -> None:
        """Wait until the node cannot go on (a damaged store), and raise why."""
        assert self._failed is not None, "not started"
        await asyncio.shield(self._failed)

    def _fail(self, error: Exception) -> None:
        """The disk is damaged: what can be read of it is where the next start begins."""
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)
            self._failed.exception()  # whoever waits for failure gets it; nobody has to
        self.running = False
        self._deliveries.end()

    async def _keep(self) -> None:
        """Let timers ring, and write from time to time what nobody waits for."""
        saved = cleaned = time.monotonic()
        try:
            while True:
                if self._clock.behind() > self._limits.clock_skew and is_set(self._wall()):
                    _log.warning("the clock has gone back by %.0f s; starting afresh", self._clock.behind())
                    self._driver.stale = True
                if self._driver.stale:
                    await self._begin_anew()
                if (leap := self._clock.leapt()) > 1.0:
                    cleaned = time.monotonic()  # if it is wrong, there is time to put it right
                    self._driver.clock_leapt(leap)
                self._look_at_clocks()
                at = self._driver.next_timer()
                now = self._clock()
                wait = _SAVE_EVERY if at is None else min(_SAVE_EVERY, max(0.0, (at - now) / self._pace))
                self._sleeps_until = now + wait * self._pace
                self._alarm.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._alarm.wait()
                at, now = self._driver.next_timer(), time.monotonic()
                if self._driver.stale:
                    continue
                with self._room_or_not():
                    if at is not None and at <= self._clock():
                        self._driver.tick()
                        self._carry_out()
                    if (self._driver.dirty or self._driver.full) and now - saved >= _SAVE_EVERY:
                        saved = now
                        self._driver.save()
                        self._driver.full = self._driver.full and disk_usage(self.folder).free < _ENOUGH
                    if now - cleaned >= _CLEAN_EVERY:
                        cleaned = now
                        self._driver.clean()
                        self.renew_keys()
        except Exception as error:  # a damaged disk, or a mistake in a protocol: say so, do not limp on
            self._fail(error)

    async def _begin_anew(self) -> None:
        """Go on with what is on the disk, as after a restart: protocols know no way back."""
        for device in list(self._driver.links):
            await self._neighbourhood.drop(device, "begins anew")
        self._store.rollback()
        full = self._driver.full
        self._driver = self._make_driver()
        self._driver.full = full or self._driver.full
        self._deliveries.go_on_with(self._driver)
        self._begin_private()
        self._carry_out()

    def _look_at_clocks(self) -> None:
        skew, before = self._driver.skew(), self._skew
        self._skew = skew
        if skew is not None and before is None:
            _log.warning("%s", _about_clock(skew))

    # The application --------------------------------------------------------------------------------------------------

    @property
    def device(self) -> str:
        """The public name of this device."""
        return self.identity.device

    @property
    def now(self) -> float:
        """The time by this node's clock, in seconds since 1970."""
        return self._clock()

    @property
    def address(self) -> str:
        """Where others connect: "host:port"; empty without IP."""
        if self._listen is None:
            return ""
        host, port = self._neighbourhood.address
        host = {"::": "127.0.0.1", "0.0.0.0": "127.0.0.1"}.get(host, host)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def publish(
        self,
        topic: str | Group,
        content: str | bytes,
        *,
        ttl: float = DAY,
        receipts: bool = False,
        content_type: str | None = None,
    ) -> Publication:
        """Publish on a topic, or to a group; returns when it is on the disk.

        It is carried for ``ttl`` seconds. With ``receipts`` it asks subscribers' devices to tell that they have it.
        """
        self._check_running()
        kind = content_type or ("text/plain; charset=utf-8" if isinstance(content, str) else "application/octet-stream")
        payload = content.encode() if isinstance(content, str) else content
        details: dict[str, Any] = {"created": self._date(), "ttl": ttl, "content_type": kind, "receipts": receipts}
        if isinstance(topic, Group):
            publication = topic.seal(self.identity, payload, **details, limits=self._limits)
        else:
            topic = topic if is_private(topic) else check_topic(self._kind, topic)
            publication = Publication.signed(self.identity, topic, payload, **details, limits=self._limits)
        self._publish(publication)
        return publication

    def _date(self) -> float:
        """The time of what is published now."""
        wall = self._wall()
        return wall if is_set(wall) else self._clock()

    def _publish(self, publication: Publication) -> None:
        """Carry a publication of this device's own."""
        self._driver.publish(publication)  # if this cannot be written nothing has happened
        self._carry_out()
        due = self._driver.next_timer()
        if due is not None and due < self._sleeps_until:
            self._alarm.set()

    async def bring(self, publication: Publication) -> bool:
        """Carry a publication that came another way than over a link, in a bundle say; whether it is new here.

        It must have been checked (``read_publication``). It is on the disk when this returns.
        """
        self._check_running()
        if publication.id in self._driver.messages:
            return False
        self._driver.publish(publication, brought=True)
        self._carry_out()
        self._alarm.set()
        return True

    def subscribe(
        self,
        topic: str | Group,
        after: int = 0,
        since: int | None = None,
        *,
        lasting: float | None = None,
        until: float | None = None,
    ) -> Subscription:
        """Follow what matches an interest, or a group; this holds, over restarts too, until :meth:`unsubscribe`.

        An interest can also be followed for so many seconds (``lasting``), or ``until`` a time (Unix seconds): then
        the subscription ends, and so does waiting for more. The last word on an interest counts.
        Deliveries up to number ``after`` count as taken. Everybody who follows a topic gets all that nobody had taken
        when they began; ``since`` an earlier subscription, its ``since`` says when that was.
        """
        self._check_running()
        if isinstance(topic, Group):
            if lasting is not None or until is not None:
                raise ConfigurationError("one belongs to a group until one leaves it: give no time")
            self.join(topic)
            return self.listen(topic, after, since)
        if not topic or is_private(topic):
            raise ConfigurationError("a subscription needs a topic, which does not begin with '~'")
        topic = check_subscription(self._kind, topic)
        with self._watched():
            self._driver.subscribe(topic, self._ending(lasting, until))
        self._alarm.set()
        return self.listen(topic, after, since)

    def _ending(self, lasting: float | None, until: float | None) -> float | None:
        """Until when a subscription is to hold."""
        if lasting is not None and until is not None:
            raise ConfigurationError("a subscription lasts for some time, or until a time: give one of both")
        now = self._clock()
        end = until if lasting is None else now + lasting
        if end is not None and not now < end < inf:
            raise ConfigurationError("a subscription cannot end before it begins: give a time to come")
        return end

    def listen(self, topic: str | Group, after: int = 0, since: int | None = None) -> Subscription:
        """Messages that match an interest that is followed already, or of a group; none come for one that is not."""
        self._check_running()
        asked = label_of(topic.name) if isinstance(topic, Group) else _interest(topic)
        return self._deliveries.listen(asked, after, since)

    async def unsubscribe(self, topic: str | Group) -> None:
        """Follow a topic no longer, or leave a group."""
        self._check_running()
        if isinstance(topic, Group):
            self.leave(topic.name)
            return
        with self._watched():
            for each in dict.fromkeys((topic, _interest(topic))):  # an earlier version kept it as it was written
                self._driver.unsubscribe(each)

    def subscriptions(self) -> list[str]:
        """The interests that this device follows, in their canonical forms; its groups are in :meth:`groups`."""
        return [topic for topic in self._store.subscriptions() if not is_private(topic)]

    def endings(self) -> dict[str, float]:
        """Those of them that are not for good, and until when they hold (Unix seconds)."""
        return self._store.endings()

    def receipts(self, publication: str) -> int:
        """How many subscribers have a publication, as far as this node has heard."""
        return self._store.subscribers_of(publication)

    def name(self, whom: str, petname: str) -> str:
        """Call a device (its key, the beginning of it, or a name that it has) by a name from now on; gives its key."""
        device = self.book.find(whom)
        self.book.name(device, petname)
        self._driver.weigh_again()
        with self._watched():
            self._private.settle(self._date())  # who is known is told that their messages have come
        return device

    async def block(self, whom: str) -> str:
        """Have nothing more to do with a device, and show nothing of its author's; gives its key."""
        device = self.book.find(whom)
        self.book.block(device)
        self._driver.hide(device)
        await self._neighbourhood.drop(device, "blocked")
        return device

    def unblock(self, whom: str) -> str:
        """Take :meth:`block` back; gives the key of the device."""
        device = self.book.find(whom)
        self.book.unblock(device)
        return device

    async def drop(self, device: str) -> None:
        """End the link with a device, if there is one; it is linked again when it is found again."""
        await self._neighbourhood.drop(device, "closed")

    def session(self, device: str) -> str:
        """What both ends of the link with a device call it."""
        return self._neighbourhood.session_id(device).hex()

    def peers(self) -> list[dict[str, Any]]:
        """Who is in reach now."""
        return [
            {
                "device": device,
                "name": self.book.call(device),
                "since": self._since.get(device),
                "radio": self._neighbourhood.radio(device),
                "same_protocol": not link.mute,
            }
            for device, link in self._driver.links.items()
        ]

    def status(self) -> dict[str, Any]:
        """How this node fares: what it holds, and what it has counted."""
        holdings = self._driver.holdings
        role = self._store.fact("role")
        return {
            "device": self.device,
            "address": self.address,
            "protocol": self.protocol,
            "role": role.decode() if role else None,
            "peers": len(self._driver.links),
            "subscriptions": self.subscriptions(),
            "endings": self.endings(),
            "held": holdings.held.bit_count(),
            "held_bytes": holdings.held_bytes,
            "waiting": self._store.many_waiting(),
            "disk_bytes": self._store.bytes_on_disk(),
            "clock": "" if self._skew is None else _about_clock(self._skew),
            "radios": {radio.name: radio.status() for radio in self._radios},
            "counters": self._store.counters() | {f"refused: {r}": n for r, n in self._neighbourhood.refused.items()},
        }

    def count(self, name: str) -> None:
        """Add one to a counter of :meth:`status`."""
        self._driver.count(name)

    def log(self) -> Iterator[dict[str, Any]]:
        """The encounters of this device, in the order in which they began; those that last have no end.

        Those that have ended are the lines of an encounter log, which ``hunet trace import`` reads.
        """
        return self._encounters.log()

    def encounters(self, since: float = 0.0, most: int = 1000) -> list[dict[str, Any]]:
        """The same for the eyes of its owner: the latest first, with the names of those whom it knows."""
        return self._encounters.latest(self.book, since, most)

    def deliveries(
        self, above: int = 0, below: int = 1 << 62, most: int = 100, newest: bool = False
    ) -> Iterator[Delivery]:
        """Deliveries by number, also those that were taken, for as long as the device has them.

        Those of a group can be read as long as this device belongs to it.
        """
        return self._deliveries.by_number(above, below, most, newest)

    def last_delivery(self) -> int:
        """The number of the latest delivery."""
        return self._store.last_delivery()

    def take(self, delivery: int) -> None:
        """Say that a delivery is dealt with: who begins to follow later does not get it."""
        self._check_running()
        self._deliveries.take(delivery)
        self._deliveries.commit()

    def carried(self, most: int = 1000) -> list[dict[str, Any]]:
        """What this device carries, latest first, and for whom as far as its protocol knows."""
        return self._driver.carried(most)

    def community(self) -> list[str] | None:
        """The devices that the protocol takes for this one's community; None in a system without communities."""
        return self._driver.community()

    @contextmanager
    def watched_by(self, watcher: Callable[[str, dict[str, Any]], None]) -> Iterator[None]:
        """Tell somebody, at once, of a "delivery", "direct" messages, "link up", "link down", and a new "role"."""
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)

    def _tell(self, what: str, **details: Any) -> None:
        for watcher in self._watchers:
            watcher(what, details)

    def _check_running(self) -> None:
        if not self.running:
            raise ConfigurationError("this node is not running: use it inside 'async with Node(...) as node'")

    # What the driver puts out -----------------------------------------------------------------------------------------

    def _carry_out(self) -> None:
        """Do what the latest events ask for: send frames, tell applications."""
        for output in self._driver.output():
            match output:
                case Frame(device, data):
                    self._send(device, data)
                case LinkReady(device):
                    self._give_receipts(device)
                    self._give_announcements(device)
                case HandedOver(device, messages):
                    self._handed(device, messages)
                case AnnouncementsHeard(device, announcements):
                    if self._private.hear(device, announcements, self._date()):
                        self._tell_announcements()
                case PrivateArrived():
                    self._private.settle(self._date())
                    self._tell("direct", device=None)
                case ReceiptsHeard(receipts):
                    if self._receipts.add(receipts):
                        self._spread_receipts()
                case Delivered(message):
                    self._delivered(message)
                case SubscriptionEnded():
                    self._deliveries.wake()
                case RoleChanged(role):
                    self._tell("role", role=role)

    def _send(self, device: str, frame: bytes) -> None:
        queue = self._queues.get(device)
        if queue is not None:
            queue.put_nowait(frame)

    def _delivered(self, message: Message) -> None:
        self._deliveries.wake()
        self._tell("delivery")
        if self._gives_receipts:
            publication = self._deliveries.read(message.number)
            if publication is not None and publication.receipts:
                self._receipts.give(message, publication.author)
                self._spread_receipts()

    def _spread_receipts(self) -> None:
        for device in list(self._queues):
            self._give_receipts(device)

    def _give_receipts(self, device: str) -> None:
        if device in self._queues:
            for frame in self._receipts.frames_for(device, self._driver.now):
                self._send(device, frame)

    # What the neighbourhood tells a node ------------------------------------------------------------------------------

    def link_up(self, device: str) -> None:
        """A link stands."""
        if not all(way.reaches(device) for way in self._ways):
            raise PeerFault("closed")
        self._since[device] = self._clock()
        queue = self._queues[device] = asyncio.Queue()
        task = asyncio.create_task(self._send_frames(device, queue))
        self._senders[device] = task
        self._encounters.begin(device, self._clock(), self._neighbourhood.radio(device))
        with self._watched():
            self._driver.link_up(device)
        self._tell("link up", device=device)

    async def frame(self, device: str, data: bytes) -> None:
        """A frame has come over a link."""
        try:
            payload, brings = self._driver.read(device, data)
            if brings:
                await self._neighbourhood.allow(device, brings)
            self._driver.hear(device, payload)
        except DamagedError as error:
            self._fail(error)
            raise
        except OutputError:
            self._driver.full = self._driver.stale = True
            raise PeerFault("no room") from None
        finally:
            if self._soon is None:  # frames that have come with this one are committed with it
                self._soon = asyncio.get_running_loop().call_soon(self._carry_out_soon)

    def _carry_out_soon(self) -> None:
        self._soon = None
        try:
            with self._room_or_not():
                self._carry_out()
        except DamagedError as error:
            self._fail(error)
        self._alarm.set()

    def signal(self, device: str, rssi: int) -> None:
        """A neighbour was heard so strongly (dBm)."""
        if device in self._since:
            self._encounters.signal(device, rssi)

    def link_down(self, device: str, reason: str) -> None:
        """A link is gone."""
        if device not in self._since:  # it was refused
            return
        _log.info("%s is gone: %s", self.book.call(device), reason)
        self._since.pop(device, None)
        self._queues.pop(device, None)
        self._senders.pop(device).cancel()
        self._encounters.end(device, self._clock())
        self._private.announcements.forget(device)
        with self._watched():
            self._driver.link_down(device)
            if reason == BROUGHT_TOO_MUCH:
                self._driver.holdings.pool(device)
        self._tell("link down", device=device, reason=reason)

    async def _send_frames(self, device: str, queue: asyncio.Queue[bytes]) -> None:
        with suppress(PeerFault):  # the neighbourhood tells when a link is gone
            while True:
                await self._neighbourhood.send(device, await queue.get())

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """What cannot be written while others wait for it is told to them, and undone."""
        try:
            try:
                yield
            finally:
                self._carry_out()
        except DamagedError as error:
            self._fail(error)
            raise
        except OutputError:
            self._driver.full = self._driver.stale = True
            raise
        finally:
            self._alarm.set()


def _about_clock(skew: float) -> str:
    direction = "behind" if skew > 0 else "ahead of"
    return f"this clock is {abs(skew):.0f} s {direction} those of all neighbours: set it, or publications are refused"


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigurationError(f"'{text}' is no address to listen at; write HOST:PORT, or :PORT for all interfaces")
    return host.strip("[]"), int(port)


def _interest(topic: str) -> str:
    """What is followed under this name."""
    return topic if is_private(topic) else interest_of(topic).text
