"""Familiar sets: those with whom a device has spent enough time.

P. Hui, E. Yoneki, S. Y. Chan and J. Crowcroft, "Distributed Community Detection in Delay Tolerant Networks", MobiArch
2007, as the Socio-Aware Overlay uses it (section 4.2 of its paper). A device adds up the time of its contacts with
each other device; once the sum reaches a threshold T_th, the other is *familiar*, also in the middle of a contact.

Nobody polls a clock for that: :meth:`FamiliarSet.link_up` says when the threshold will be reached if the contact lasts
that long, and the owner sets a timer.

Without a threshold it is *derived* from the contacts so far: the time that a moment of company belongs to, on average
over all moments, which is Σ d² / Σ d over the times d spent with each other device. So half a dozen colleagues among
hundreds of strangers are familiar, whether a trace lasts a day or a year, and in a crowd in which all are alike about
half of it is. It rises with the sums, by at least a quarter each time; then who is below is not familiar any more, and
what others know of the set is out of date: :attr:`FamiliarSet.version` says since when it is so.

With a *window* only the last so many seconds count (section 4.4). While two are in contact their time within the window
never falls: what leaves it at one end was a contact, and so is what comes in at the other. So there still is one
instant at which the threshold is reached. Afterwards the sum shrinks, and who falls below the threshold is forgotten.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Any, ClassVar

from hunet.model import Node, NodeSet, members

_RISE = 1.25
"""By how much a derived threshold rises at least: it need not follow every contact."""


class FamiliarSet:
    """The familiar set of one device (the paper's F).

    >>> familiar = FamiliarSet(threshold=100)
    >>> familiar.link_up(7, now=0), familiar.link_down(7, now=60)
    (100.0, False)
    >>> familiar.link_up(7, now=1000)  # 60 s are behind them: 40 s to go
    1040.0
    >>> familiar.add(7)
    >>> familiar.nodes == 1 << 7
    True
    """

    saved: ClassVar[dict[str, Any]] = {
        "nodes": NodeSet,
        "_since": dict[Node, float],
        "_total": dict[Node, float],
        "_contacts": dict[Node, deque[tuple[float, float]]],
    }

    def __init__(self, threshold: float | None, window: float | None = None) -> None:
        self.nodes: NodeSet = 0
        self.version = 0
        """When the derived threshold rose last (s); 0 with a given one."""
        self._window = window
        self._derived = threshold is None
        self._level = inf if threshold is None else threshold
        """The threshold; infinite until the first contact has ended if it is derived."""
        self._sums = (0.0, 0.0)
        """Derived: Σ d and Σ d²."""
        self._since: dict[Node, float] = {}
        self._total: dict[Node, float] = {}
        """Time with each of those who are not familiar yet, or with each at all if that is needed; without a window."""
        self._contacts: dict[Node, deque[tuple[float, float]]] = {}
        """Contacts that reach into the window; where there is one."""

    def link_up(self, peer: Node, now: float) -> float | None:
        """A contact begins: when the peer becomes familiar if it lasts; None if it is familiar already."""
        self._since[peer] = now
        if self.nodes >> peer & 1:
            return None
        if self._window is None:
            return self.threshold_time(peer)
        return self._threshold_time_in_window(peer, now)

    def threshold_time(self, peer: Node) -> float | None:
        """When a peer in contact becomes familiar if it stays; None if nobody knows yet. Without a window."""
        at = self._since[peer] + max(0.0, self._level - self._total.get(peer, 0.0))
        return at if at < inf else None

    def add(self, peer: Node) -> None:
        """The instant that :meth:`link_up` gave has come, and the contact is still open."""
        self.nodes |= 1 << peer
        if not self._derived:
            self._total.pop(peer, None)

    def link_down(self, peer: Node, now: float) -> bool:
        """The contact ends: whether the peer has become familiar by it, which the timer may miss by a rounding."""
        since = self._since.pop(peer)
        if self._window is not None:
            self._contacts.setdefault(peer, deque()).append((since, now))
        if self._derived:
            return self._derive(peer, since, now)
        if self.nodes >> peer & 1:
            return False
        if self._window is None:
            together = self._total[peer] = self._total.get(peer, 0.0) + now - since
        else:
            together = self._in_window(peer, now)
        if together < self._level:
            return False
        self.add(peer)
        return True

    def restored(self) -> None:
        """After a restart: a derived threshold follows from what is known of the past."""
        if self._derived and self._total:
            self._sums = (sum(self._total.values()), sum(time**2 for time in self._total.values()))
            self._level = self._sums[1] / self._sums[0] if self._sums[0] else inf

    def _derive(self, peer: Node, since: float, now: float) -> bool:
        """A contact has ended: what is familiar by a derived threshold; whether the set has changed."""
        before, apart = self.nodes, self._total.get(peer, 0.0)
        together = self._total[peer] = apart + now - since
        self._sums = (self._sums[0] + now - since, self._sums[1] + together**2 - apart**2)
        company, squares = self._sums
        level = squares / company if company else inf
        if self._level == inf or level >= _RISE * self._level:
            self._level, self.version = level, int(now)
            self.nodes = 0
            for other, time in self._total.items():
                open_since = self._since.get(other)
                if time + (now - open_since if open_since is not None else 0.0) >= level * (1 - 1e-9):
                    self.nodes |= 1 << other
        elif together >= self._level:
            self.nodes |= 1 << peer
        return self.nodes != before

    def forget(self, now: float) -> NodeSet:
        """Those who have just dropped out of the set because the window has moved on."""
        gone = 0
        if self._window is not None:
            for peer in members(self.nodes):
                # The rounding of long sums must not push out whoever has just come in.
                if self._in_window(peer, now) < self._level * (1 - 1e-9):
                    gone |= 1 << peer
            self.nodes ^= gone
        return gone

    def _in_window(self, peer: Node, now: float) -> float:
        """Time together in the last ``window`` seconds, an open contact included."""
        assert self._window is not None
        edge = now - self._window
        past = self._contacts.get(peer, deque())
        while past and past[0][1] <= edge:
            past.popleft()
        together = sum(end - max(start, edge) for start, end in past)
        if peer in self._since:
            together += now - max(self._since[peer], edge)
        return together

    def _threshold_time_in_window(self, peer: Node, now: float) -> float:
        assert self._window is not None
        missing = self._level - self._in_window(peer, now)
        edge = now - self._window
        # The sum grows while the window's far edge runs through time apart, and stands still while through a contact.
        for start, end in self._contacts.get(peer, ()):
            apart = max(0.0, start - edge)
            if missing <= apart:
                break
            missing -= apart
            now, edge = now + end - edge, end
        return now + max(0.0, missing)
