"""The event log of a live node: everything that its protocol was shown and did, as JSON lines.

The first line says what ran, on which device; then come the events, and before the first event that names a message
the message itself. The format is in docs/formats.md. A log goes on in the same file after a restart, with a first line
of its own. No content of a message is in it, but all topics and the keys of neighbours: the file is for its owner only.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hunet.model import OutputError
from hunet.protocols.event_lines import EventLines

if TYPE_CHECKING:
    from pathlib import Path

    from hunet.node.device import Device
    from hunet.protocols.contract import Driver, Protocol

_log = logging.getLogger("hunet.node")

FORMAT = 1
"""The version of the format."""


class NodeEventLog:
    """Writes the log of a node into a file, line by line."""

    def __init__(self, path: Path) -> None:
        self._path, self._failed = path, False
        try:
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror}): name another file") from None
        self._device: Device
        self._written: set[int] = set()
        """The messages that have a line."""

    def watch_driver(self, device: Device, protocol: str, parameters: msgspec.Struct) -> Driver:
        """Begin a run of a device; its actions are written."""
        self._device, self._written = device, set()
        self._write(
            {
                "hunet": "event log",
                "format": FORMAT,
                "protocol": protocol,
                "parameters": msgspec.to_builtins(parameters),
                "node": device.device,
            }
        )
        holdings = device.holdings
        self._lines = EventLines(self._event, holdings.messages, holdings.names, device.now, mark_data=True)
        return self._lines.watch_driver(cast("Driver", device))

    def watch_protocol(self, protocol: Protocol) -> Protocol:
        """The protocol, whose events and answers are written."""
        return self._lines.watch_protocol(protocol)

    def close(self) -> None:
        """Nothing more is written."""
        with suppress(OSError):
            self._file.close()

    def _event(self, line: dict[str, Any]) -> None:
        packet = line.get("packet")
        for name in packet["messages"] if packet and "data" in line else ():
            self._message(name)
        if "message" in line:
            self._message(line["message"])
        self._write({"t": line.pop("t"), "node": self._device.device} | line)

    def _message(self, name: str) -> None:
        """Write what a message is, before the first event that names it."""
        message = self._device.holdings.messages.by_id(name)
        if message.number not in self._written:
            self._written.add(message.number)
            fields = {field: getattr(message, field) for field in ("id", "topic", "created", "size", "ttl")}
            self._write({"message": fields | {"publisher": self._device.holdings.names[message.publisher]}})

    def _write(self, line: dict[str, Any]) -> None:
        if self._failed:
            return
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:  # the node goes on without it
            self._failed = True
            _log.warning("%s: the event log ends here: %s", self._path, error.strerror)
