"""A protocol with a memory: one device's part of the live driver that has nothing to do with neighbours.

What is kept
------------
The state of the protocol is written as data (``state``) into the transaction of whatever it did last that others rely
on: a delivery, an acknowledgement. After a crash it comes back as it was then, and is shown what a crash looks like
from inside: links that were open end, packets that were under way are lost. A part of it that cannot be read is lost.
A state that belongs to another protocol or other parameters is not used: the device starts afresh, with the
publications that it holds.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from hunet.model import ConfigurationError, Message, MessageSet, Node, OutputError, Topic, matches, members, without
from hunet.node.clock import is_set
from hunet.node.holdings import Holdings, Quotas
from hunet.node.publication import PublicationLimits, is_private
from hunet.node.state import DriverState, SavedState, read_state, write_state
from hunet.protocols.capabilities import Demand, Explains, FindsCommunity, Settles, Surrenders, check_subscription
from hunet.protocols.state import keeps_state, restore_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from hunet.node.event_log import NodeEventLog
    from hunet.node.private import Private
    from hunet.node.store import Store
    from hunet.protocols.contract import Data, Driver, Protocol

_log = logging.getLogger("hunet.node")

NEVER = float("inf")
_MEMORY = 3600.0
"""For so long after it is out of date a message's header is kept (s)."""


class Delivered(NamedTuple):
    """A message is the application's to take, and on the disk."""

    message: Message


class PrivateArrived(NamedTuple):
    """Something has come on a private topic, and is on the disk; it may call for an answer."""


class SubscriptionEnded(NamedTuple):
    """A subscription that was made for some time is over."""

    topic: Topic


class RoleChanged(NamedTuple):
    """The device has another role in its system."""

    role: str


class Device:
    """A protocol, its state, its timers and its disk; the driver adds the application and the neighbours."""

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
        event_log: NodeEventLog | None = None,
        battery: Callable[[], float | None] = lambda: None,
    ) -> None:
        self.device = device
        self.battery = battery
        self._event_log = event_log
        self.store = store
        self._friends, self._wanted, self._endings = friends, store.subscriptions(), store.endings()
        self.holdings = Holdings(device, store, quotas or Quotas(), self._favours)
        self.messages = self.holdings.shown
        self.limits = limits or PublicationLimits()
        self.now = 0.0
        self.private: Private | None = None
        """Who takes what comes on private topics."""
        self.is_hidden: Callable[[str], bool] = lambda author: False  # noqa: ARG005
        """Of which authors the application gets nothing."""
        self.dirty = False
        """Whether the protocol may have changed since it was last written."""
        self.stale = False
        """Whether it knows what is not on the disk, or another time: then nothing of it is written any more."""
        self._kind, self._parameters, self._rng = kind, parameters, rng
        self._surrenders = issubclass(kind, Surrenders)
        self._clock = clock
        self._changes = 0
        """Grows whenever there is something that neighbours have not been greeted with."""
        self._timers: dict[str, tuple[float, int]] = {}
        self._agenda: list[tuple[float, int, str]] = []
        self._order = count()
        self._durable = False
        """Whether somebody relies on what the event in progress has changed."""
        self._happened: list[Delivered | PrivateArrived | SubscriptionEnded | RoleChanged] = []
        self._writable = True

    # Starting -------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Take up the last state of the protocol, or start it afresh, with what is on the disk."""
        store = self.store
        saved = self._saved()
        self.now = max(self._clock(), saved.driver.now if saved else 0.0)
        # The clock may be wrong: what the last run did not hold to be out of date is not forgotten by this one at once.
        alive = float((store.fact("alive") or b"0").decode())
        with suppress(OutputError):  # a disk that is full can be read
            store.forget_before(min(alive, self.now) - _MEMORY, but_by=self.holdings.node)
        self.holdings.load()
        if saved:
            self._restore(saved)
        else:
            self._make()
            self.protocol.start(self.now)
        wanted = [topic for topic in store.subscriptions() if self._endings.get(topic, NEVER) > self.now]
        for topic in sorted(self.protocol.topics.difference(wanted)):
            self.protocol.unsubscribe(topic, self.now)
        for topic in wanted:
            try:
                check_subscription(self._kind, topic)
            except ConfigurationError as error:  # it was made while the node ran another protocol, and may do so again
                _log.warning("%s; until then it gets nothing", error)
            if topic not in self.protocol.topics:
                self.protocol.subscribe(topic, self.now)
        self._feed(saved.driver.next if saved and not saved.lost else 0)
        self.holdings.notice_gone()

    def _saved(self) -> SavedState | None:
        """The last state, if it can be used."""
        saved = read_state(self.store, self._label(), self._kind)
        now = self._clock()
        if saved and saved.driver.now > now + self.limits.clock_skew and is_set(now):
            _log.warning("the clock has gone back by %.0f days; starting afresh", (saved.driver.now - now) / 86400)
            return None
        return saved

    def _make(self) -> None:
        """Make the protocol, which holds nothing yet."""
        self._timers, self._agenda = {}, []
        self.holdings.hold_only(0, {})
        log = self._event_log
        driver = log.watch_driver(self, self._name(), self._parameters) if log else cast("Driver", self)
        self.protocol: Protocol = self._kind(self.holdings.node, self._parameters, driver, self._rng)

    def _restore(self, saved: SavedState) -> None:
        """Make the protocol as it was; without those parts of its state that turn out to be damaged."""
        restored = False
        while not restored:
            self._make()
            if saved.lost:
                self.protocol.start(self.now)
            restored = self._restore_parts(saved)
        if saved.lost:
            self.protocol.topics = set()  # subscribing again lets all parts know
        else:
            self.holdings.hold_only(saved.driver.held, saved.driver.more)
        for tag, at in saved.driver.timers:
            self.set_timer(tag, at)
        # The contacts that lasted when the state was written do not any more: they end as the engine ends them.
        for peer, settled, packet in saved.driver.contacts:
            if saved.lost:
                self.protocol.link_up(peer, self.now)  # what is left of the protocol may not know of it
            elif not settled:
                self._settle(peer)
            if packet is not None and not saved.lost:
                self.protocol.sent(peer, packet, False, self.now)
            self.protocol.link_down(peer, self.now)

    def _restore_parts(self, saved: SavedState) -> bool:
        """Whether all parts that are left could be used."""
        for name, part in saved.parts.items():
            try:
                restore_part(self.protocol, name, part)
            except Exception as error:  # what is damaged can lead to any error
                saved.lose(name, error)
                return False
        return True

    def _settle(self, peer: Node) -> None:
        if isinstance(self.protocol, Settles):  # a watcher may ask for it where the protocol does not
            self.protocol.settled(peer, self.now)

    def _surrender(self, among: MessageSet) -> MessageSet:
        return cast("Surrenders", self.protocol).surrender(among, self.now) if self._surrenders else 0

    def _feed(self, known: int) -> None:
        """Show the protocol what is on the disk and it does not hold.

        These are the publications of its last moments; what was out of date by a clock that is right again; or all.
        What it has ``known`` and is only for the application is not among them.
        """
        held = set(members(self.holdings.held))
        kept = [n for n in self.store.kept() if n not in held and (n >= known or not self.holdings.keeps(n))]
        taken = self.store.taken() if known else ()
        for number in kept:
            message = self.messages[number]
            if message.expires >= self.now and number not in taken:
                self.protocol.publish(message, self.now)
                if not self.holdings.holds(number):
                    self.store.drop_content(number)
            else:
                self.holdings.lapse(number)

    def _label(self) -> str:
        """Of which protocol a state is: also of later versions of it, with parameters that are new."""
        defaults = msgspec.structs.asdict(type(self._parameters)())
        chosen = {k: v for k, v in msgspec.structs.asdict(self._parameters).items() if v != defaults[k]}
        return f"{self._name()} with {chosen} at {self.holdings.node}"

    def _name(self) -> str:
        """The name of the protocol."""
        from hunet.systems import PROTOCOLS

        kind = self._kind
        return next((name for name, each in PROTOCOLS.items() if each is kind), f"{kind.__module__}:{kind.__name__}")

    def _save(self, contacts: list[tuple[Node, bool, Data | None]]) -> None:
        """Write the state of the protocol, and the contacts that last: peer, whether settled, packet under way."""
        if self.stale:
            raise OutputError("the node is about to go on with what is on its disk; try again")
        if keeps_state(self._kind):
            timers = tuple((tag, at) for tag, (at, _) in self._timers.items())
            held, more = self.holdings.held, self.holdings.more
            driver = DriverState(self.now, len(self.holdings.messages), held, more, timers, tuple(contacts))
            write_state(self.store, self._label(), driver, self.protocol)
        elif self._writable:
            self._writable = False
            _log.warning(
                "the state of %s is not kept over a restart: its class does not name it (see 'saved' in "
                "hunet.protocols.state)",
                self._kind.__name__,
            )
        self.store.set_fact("alive", str(self.now).encode())
        # No state knows of later numbers, and what was given one has a header: it need not be written more often.
        self.store.set_fact("next", str(len(self.holdings.messages)).encode())
        self.holdings.commit()
        self.dirty = False

    def clean(self) -> None:
        """Forget what is long out of date, by a clock that has been right for long enough."""
        self.store.forget_before(self.now - _MEMORY)
        for number in self.holdings.lapsed(self.now - _MEMORY):
            self.holdings.drop_lapsed(number)
        self.holdings.forget_all_but(self.store.remembered())
        self.holdings.numbers.forget_heard_of()
        self.holdings.commit()

    # Time -------------------------------------------------------------------------------------------------------------

    def _next_ring(self) -> float:
        while self._agenda and self._timers.get(self._agenda[0][2], (0.0, -1))[1] != self._agenda[0][1]:
            heappop(self._agenda)
        return self._agenda[0][0] if self._agenda else NEVER

    def _due(self) -> Iterator[str]:
        """The timers that have run out; those that are set meanwhile have to wait."""
        for _ in range(len(self._agenda)):
            if self._next_ring() > self.now:
                break
            _, _, tag = heappop(self._agenda)
            del self._timers[tag]
            yield tag

    # Actions of the contract ------------------------------------------------------------------------------------------

    def deliver(self, message: Message, hops: int) -> None:
        topic = self._label_of(message)
        if topic is not None and self.store.deliver(message.number, topic, hops, self.now):
            self.holdings.wait(message.number)
            self.count("delivered")
            self._happened.append(Delivered(message))
            self._durable = True

    def _label_of(self, message: Message) -> str | None:
        """Under which topic a message is delivered; None if the application does not get it."""
        author = self.holdings.names[message.publisher]
        if self.is_hidden(author):
            self.count("refused: blocked")
            return None
        if self.private is None or not is_private(message.topic):
            return message.topic
        encoded = self.holdings.arriving.get(message.number) or self.store.content(message.number)
        if encoded is None:
            return None
        self._durable = True
        self._happened.append(PrivateArrived())
        return self.private.arrived(author, encoded, self.now)

    def set_timer(self, tag: str, at: float) -> None:
        number = next(self._order)
        self._timers[tag] = (at, number)
        heappush(self._agenda, (at, number, tag))

    def cancel_timer(self, tag: str) -> None:
        self._timers.pop(tag, None)

    def stored(self, messages: MessageSet) -> None:
        self._changes += 1
        for number in members(messages):
            self.holdings.hold(number)

    def removed(self, message: Message, reason: str) -> None:
        self.count(f"removed: {reason}")
        self.holdings.let_go(message.number)
        if not self.holdings.holds(message.number) and message.number not in self.holdings.arriving:
            if reason == "expired":
                self.holdings.lapse(message.number)
            else:
                self.store.drop_content(message.number)

    def role(self, name: str) -> None:
        self.store.set_fact("role", name.encode())
        self._happened.append(RoleChanged(name))

    def false_match(self, message: Message) -> None:  # noqa: ARG002
        self.count("false matches")

    # What is held -----------------------------------------------------------------------------------------------------

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter of the store."""
        self.store.count(name, by)

    def carried(self, most: int) -> list[dict[str, Any]]:
        """What is held and in date, latest first, and for whom as far as the protocol knows."""
        names = self.holdings.names
        found = []
        explains = isinstance(self.protocol, Explains)
        alive = self.holdings.held & ~self.messages.dead(self.now)
        for number in islice(members(alive), most):
            message = self.messages[number]
            protocol = cast("Explains", self.protocol)
            devices, strength = protocol.demand(message, self.now) if explains else Demand()
            found.append(
                {
                    "id": message.id,
                    "topic": message.topic,
                    "author": names[message.publisher],
                    "created": message.created,
                    "expires": message.expires,
                    "size": message.size,
                    "devices": [names[node] for node in reversed(members(devices))],
                    "strength": float(strength),
                    "receipts": self.store.subscribers_of(message.id),
                }
            )
        return found

    def community(self) -> list[str] | None:
        """The devices that the protocol takes for this one's community; None in a system without communities."""
        circle = self.protocol.circle() if isinstance(self.protocol, FindsCommunity) else None
        return None if circle is None else [self.holdings.names[node] for node in reversed(members(circle))]

    def _favours(self, message: Message) -> bool:
        """Whether the owner knows the author of a message, or wants its topic."""
        return (
            message.topic in self._wanted
            or self._friends(self.holdings.names[message.publisher])
            or matches(self._wanted, message.topic)
        )

    def weigh_again(self) -> None:
        """The owner has given somebody a name, or follows other topics."""
        self._wanted, self._endings = self.store.subscriptions(), self.store.endings()
        self.holdings.weigh_again()

    def _keep_quotas(self) -> None:
        """While there is too much, let one message go; own publications are not in question."""
        while (number := self.holdings.stale()) is not None:
            self.holdings.drop_lapsed(number)
            self.store.drop_content(number)
        let_go = 0
        while among := self.holdings.excess():
            held = among & self.holdings.held
            gone = self._surrender(held) if held else among & -among
            if not gone and held == among & self.holdings.held:
                break  # the protocol needs all of them at this moment
            for number in members(without(gone, self.holdings.held)):
                let_go += 1
                if self.holdings.taken(number):
                    self.store.give_up(number)
                    self.count("quota: not taken")
        if let_go:
            self.count("quota", let_go)
        self.holdings.forget_gone()
