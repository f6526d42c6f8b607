"""A decay cycle of a device's own, by the pace at which it meets others, where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import Node
from hunet.protocols.carrier import Carrier
from hunet.protocols.contract import Driver

if TYPE_CHECKING:
    from random import Random

_FIRST_CYCLE = 256.0
"""The paper's optimum on Infocom 2006, until a device has seen a gap."""
_ABSENCE = 3600.0
"""Between contacts that begin further apart than this a device was away: nights and weekends are no gaps."""
_ROUNDING = 1e-6
"""Parts of a cycle by which a tick may come early: a sum of gaps ends at a contact, where rounding would decide."""


class PacedCarrier(Carrier):
    """A carrier that observes the gaps between the beginnings of its contacts."""

    gaps_of_cycle: ClassVar[float]
    """How many mean gaps a decay cycle is."""
    saved: ClassVar[dict[str, Any]] = {"gaps": int, "waited": float}

    def __init__(self, node: Node, parameters: Any, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.gaps, self.waited = 0, 0.0
        """Gaps that were observed, and their sum."""
        self._last_contact: float | None = None

    def cycle_of_pace(self) -> float:
        """The decay cycle that follows from the gaps observed so far."""
        return max(self.gaps_of_cycle * self.waited / self.gaps, 1.0) if self.gaps else _FIRST_CYCLE

    def ticks_since(self, then: float, now: float) -> int:
        """Cycles that have passed on a clock of its own."""
        return int((now - then) / self.cycle_of_pace() + _ROUNDING)

    def observe_contact(self, now: float) -> None:
        """A contact begins."""
        last, self._last_contact = self._last_contact, now
        if last is not None and now - last < _ABSENCE:
            self.gaps += 1
            self.waited += now - last
