"""The lines of an event log: what a protocol was shown, and what it did, as plain data. Who writes them is elsewhere.

Simulations (``hunet.simulation.event_log``) and live nodes (``hunet.node.event_log``) write the same lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.model import Message, members
from hunet.protocols.codec import encode
from hunet.protocols.packets import Data, Packet
from hunet.protocols.watcher import watch_driver, watch_protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hunet.model import Catalogue
    from hunet.protocols.contract import Driver, Protocol

_NAMES = {("receive_out_of_band", "node"): "peer", ("send_out_of_band", "node"): "peer", ("role", "name"): "role"}
"""Arguments that have another name in the log."""


class EventLines:
    """Gives a function the events, answers and actions of one device's protocol, in order."""

    def __init__(
        self,
        write: Callable[[dict[str, Any]], None],
        messages: Catalogue,
        names: Sequence[str] | Mapping[int, str],
        now: float | None = None,
        mark_data: bool = False,
    ) -> None:
        self._write, self._messages, self._names, self._now = write, messages, names, now
        self._mark_data = mark_data
        """Whether lines say which packets hold messages, for readers that do not know the classes of packets."""

    def watch_driver(self, driver: Driver) -> Driver:
        """The driver, whose actions become lines."""
        return watch_driver(driver, self._did)

    def watch_protocol(self, protocol: Protocol) -> Protocol:
        """The protocol, whose events and answers become lines."""
        return watch_protocol(protocol, self._shown, self._answered)

    def _shown(self, event: str, given: dict[str, Any]) -> None:
        self._now = given["now"]
        self._line({"in": event} | self._plain(event, given))

    def _answered(self, event: str, answer: Any) -> None:
        if event == "poll":
            self._line({"out": "packet"} | self._plain(event, {"packet": answer}))
        elif event == "link_up":
            for packet in answer:
                self._line({"out": "greeting"} | self._plain(event, {"packet": packet}))

    def _did(self, action: str, given: dict[str, Any]) -> None:
        self._line({"out": action} | self._plain(action, given))

    def _line(self, event: dict[str, Any]) -> None:
        self._write({"t": self._now} | event)

    def _plain(self, verb: str, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of an event or action as JSON can hold them."""
        plain: dict[str, Any] = {}
        for name in sorted(given, key=lambda name: name != "but"):  # which stands first in logs that exist
            value = given[name]
            if self._mark_data and isinstance(value, Data):
                plain["data"] = True
            if isinstance(value, Packet):
                value = encode(value, self._messages, self._names)
            elif isinstance(value, Message):
                value = value.id
            elif name in ("messages", "among"):
                value = [self._messages[number].id for number in members(value)]
            elif name in ("peer", "node", "but") and value is not None:
                value = self._names[value]
            if name != "now":
                plain[_NAMES.get((verb, name), name)] = value
        return plain
