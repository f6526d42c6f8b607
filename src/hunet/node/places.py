"""Who may be linked, and how much strangers may bring.

When all places for strangers are taken, one of the host that has most of them makes way for the next: the one that has
brought most beyond its share, or, if there is none, one on which nothing was said for long. Some places are for
devices that are known (named, or met on an earlier day).

What strangers bring is to be passed on to all other neighbours: when that is more than a limit, who has brought more
than a share waits.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hunet.node.rate_limits import Backoff, BoundedDict, RateLimit, next_backoff

if TYPE_CHECKING:
    from hunet.node.session import Session
    from hunet.node.trust import AddressBook

BROUGHT_TOO_MUCH = "brought too much"
"""Why a stranger's link was ended to make room, if it had brought more than its share of publications."""
_AT_ONCE = 64  # publications of a stranger, after a pause
_LONG_TURN = 15  # turns


class NeighbourLimits(msgspec.Struct, frozen=True):
    """What a device puts up with from all its neighbours and strangers together."""

    neighbours: int = 64
    places_for_known: int = 16
    """Of these, so many, but at most a quarter, are not for strangers."""
    turn_seconds: float = 2.0
    """After so long a stranger's link may be ended to make room for another, if it is greedy or idle, and after 15
    times as long in any case. It then rests for as long, and five times as long if it was greedy."""
    handshakes: int = 128
    """Connections at once that are not links yet, beside those that have said nothing."""
    silent: int = 256
    """Connections at once that have said nothing: far more than are accepted before one of them is heard."""
    dials: int = 16
    """Attempts to connect at once; and half as many a second in the long run, because beacons can be forged."""
    frame_bytes: int = 4 << 20
    handshake_seconds: float = 10.0
    frames_per_second: float = 2000.0
    """Of one neighbour, in the long run; it may send as many at once after a pause of a second."""
    share_of_time: float = 0.25
    """Of this device's time, for the frames of one neighbour in the long run; 20 times that at once."""
    passed_on_per_second: float = 2000.0
    """What strangers bring, times the other neighbours to whom it may go, in the long run; ten times that at once."""
    brought_per_second: float = 2.0
    """What each stranger may bring even if others have used that up; 64 at once."""
    retry_seconds: float = 1.0
    """After an attempt to connect that came to nothing; doubled each time, up to sixty times as long."""
    idle_seconds: float = 5.0
    """After so long without anything to say, a link may be ended to make room: a stranger's, or any over a radio."""
    rest_seconds: float = 30.0
    """How long a device whose link made room is not linked again."""
    penalty_seconds: float = 30.0
    """How long a device that broke the rules is not let in again; doubled each time."""
    remembered: int = 1024
    """Addresses and penalties that are kept in mind."""


LIMITS = NeighbourLimits()


class NeighbourLink:
    """One neighbour."""

    def __init__(
        self, session: Session, radio: str, host: str, task: asyncio.Task[None], limits: NeighbourLimits
    ) -> None:
        self.session, self.radio, self.host, self.task = session, radio, host, task
        self.share = RateLimit(limits.brought_per_second, _AT_ONCE)
        """Publications of a stranger; the right to them comes with time."""
        self.share.use(_AT_ONCE)
        self.began = self.sent = self.used = time.monotonic()
        """When the link came to be, when something was sent last, and when it was data, or data came."""
        self.brought = 0
        """Publications that it has brought, and those that wait until it has a right to them."""
        self._rate = limits.brought_per_second
        self.worked = 0.0
        """The time by the thread's clock when its frame was taken up; moved on by what others did meanwhile."""
        self.reason = ""
        self.ending, self.gone = asyncio.Event(), asyncio.Event()

    @property
    def excess(self) -> float:
        """How many publications it has brought beyond its share, over all the time of the link."""
        return max(0.0, self.brought - self._rate * (time.monotonic() - self.began))

    @property
    def greedy(self) -> bool:
        """Whether it brings more than its share of publications."""
        return self.excess > 0

    def end(self, reason: str) -> None:
        """Has the task that serves the link end it, for the first reason given."""
        self.reason = self.reason or reason
        self.ending.set()
        self.session.abort()

    async def pause(self, seconds: float) -> None:
        """Waits, unless the link ends; others go first in any case."""
        if not seconds:
            await asyncio.sleep(0)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.ending.wait()


class Places:
    """The places of a device's links, and which of those makes way for another."""

    def __init__(self, links: dict[str, NeighbourLink], book: AddressBook, limits: NeighbourLimits) -> None:
        self._links, self._book, self._limits = links, book, limits
        self._passed_on = RateLimit(limits.passed_on_per_second, 10.0 * limits.passed_on_per_second)
        self._resting: BoundedDict[tuple[str, str], Backoff] = BoundedDict(limits.remembered)  # by radio and device

    async def allow(self, link: NeighbourLink, many: int) -> None:
        """Wait until a neighbour may bring so many publications."""
        if self._book.knows(link.session.device, time.time()):
            return
        link.brought += many
        passed_on = many * (len(self._links) - 1)
        share, all_share = link.share.wait(many), self._passed_on.wait(passed_on)
        if seconds := min(share, all_share):
            worked = time.thread_time() - link.worked
            await link.pause(seconds)
            link.worked = time.thread_time() - worked
        if share <= all_share:
            link.share.use(many)
        else:
            self._passed_on.use(passed_on)

    def admit(self, device: str, host: str) -> bool:
        """Whether there is a place for a device, for which a stranger's link may have to make way."""
        now, limits = time.time(), self._limits
        links = [link for link in self._links.values() if not link.reason]
        strangers = [link for link in links if not self._book.knows(link.session.device, now)]
        places = limits.neighbours - min(limits.places_for_known, limits.neighbours // 4)
        if len(links) < limits.neighbours and (len(strangers) < places or self._book.knows(device, now)):
            return True
        hosts, tick = Counter(link.host for link in strangers), time.monotonic()
        ripe = [link for link in strangers if hosts[link.host] >= hosts[host] and self._had_its_turn(link, tick)]
        if not ripe:
            return False
        link = max(ripe, key=lambda link: (hosts[link.host], link.excess, tick - link.used))
        if link.greedy:
            self.end_turn(link, 5 * limits.turn_seconds, BROUGHT_TOO_MUCH)
        else:
            self.end_turn(link, limits.turn_seconds)
        return True

    def _had_its_turn(self, link: NeighbourLink, tick: float) -> bool:
        turn, had = self._limits.turn_seconds, tick - link.began
        return had >= turn and (
            link.greedy or tick - link.used >= self._limits.idle_seconds or had >= _LONG_TURN * turn
        )

    def end_turn(self, link: NeighbourLink, rest: float, reason: str = "made room") -> None:
        """End a link, and let its device rest for some seconds."""
        self._resting[link.radio, link.session.device] = next_backoff(None, rest, rest)
        link.end(reason)

    def rests(self, radio: str, device: str) -> bool:
        """Whether a device has to wait until it is linked again."""
        rest = self._resting.get((radio, device))
        return rest is not None and not rest.over
