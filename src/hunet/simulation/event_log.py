"""The event log: everything that each protocol was shown and everything it did, as JSON lines.

The first line is the run's name and its nodes, then one line per message, then the events in order. An event has the
time, the node, and either ``in`` (what the protocol was told) or ``out`` (what it did in answer):

    {"t": 20.0, "node": "1", "in": "link_up", "peer": "2"}
    {"t": 20.0, "node": "1", "out": "greeting", "packet": {"kind": "hunet.Seen", "messages": ["m0"]}}

Since what a protocol does is a function of what it is shown, the log can be replayed without a simulator:
:func:`replay` shows the same events to new protocol objects and demands the same actions, line by line.
"""

from __future__ import annotations

import gzip
import io
import json
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hunet.model import (
    Catalogue,
    DeviceCatalogue,
    HunetError,
    InputError,
    Node,
    from_mapping,
)
from hunet.model.files import file_in_place
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Data, Driver, Protocol
from hunet.protocols.codec import decode
from hunet.protocols.event_lines import EventLines
from hunet.protocols.watcher import ACTIONS
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO


class ReplayError(HunetError):
    """A protocol did not do again what the log says it did."""


@contextmanager
def open_log(path: Path) -> Iterator[EventLog]:
    """A log that becomes the named file when the block ends well; ``.gz`` is packed."""
    with file_in_place(path) as partial, partial.open("wb") as raw:
        file = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(file, encoding="utf-8", newline="\n") as text:
            yield EventLog(text)


class EventLog:
    """Writes the log of one run."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.names: Sequence[str] = ()
        self.messages = Catalogue()

    def begin(self, name: dict[str, Any], names: Sequence[str], messages: Catalogue) -> None:
        """Write what was run, on which nodes, with which messages."""
        self.names, self.messages = names, messages
        self._write({"run": name, "nodes": list(names)})
        for message in messages:
            fields = {field: getattr(message, field) for field in ("id", "topic", "created", "size", "ttl")}
            self._write({"message": fields | {"publisher": names[message.publisher]}})

    def recording(self, node: Node, driver: Driver, create: Callable[[Driver], Protocol], starts: int) -> Protocol:
        """A protocol whose events, actions and answers are written down."""
        node_name = self.names[node]

        def write(line: dict[str, Any]) -> None:
            self._write({"t": line.pop("t"), "node": node_name} | line)

        lines = EventLines(write, self.messages, self.names)
        write({"t": None, "in": "create", "starts": starts})
        return lines.watch_protocol(create(lines.watch_driver(driver)))

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")


def replay(path: Path | str) -> int:
    """Show a log's events to new protocol objects; returns how many, or raises at the first line that differs."""
    path = Path(path)
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            return _replay(path, lines)
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {error}") from None


def _replay(path: Path, lines: TextIO) -> int:
    again = io.StringIO()
    log = EventLog(again)
    numbers: dict[str, int] = {}
    protocols: dict[int, Protocol] = {}
    messages = Catalogue()
    name: dict[str, Any] = {}
    events = 0
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
            if number == 1:
                name, nodes = event["run"], event["nodes"]
                numbers = {node: i for i, node in enumerate(nodes)}
                log.names, log.messages = nodes, messages
            elif "message" in event and "node" not in event:
                fields = dict(event["message"])
                messages.add(publisher=numbers[fields.pop("publisher")], **fields)
            else:
                if "in" in event:
                    if again.tell():
                        raise ReplayError(f"{path}, line {number}: the protocol did more: {again.getvalue().strip()}")
                    events += 1
                    _show(event, name, numbers, messages, protocols, log)
                    again.seek(0)
                expected = again.readline()
                if expected != line:
                    raise ReplayError(f"{path}, line {number}: replayed as {expected.strip() or 'nothing'}")
                if again.tell() == len(again.getvalue()):
                    again.seek(0)
                    again.truncate()
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(path, f"not a line of an event log: {error!r}", number) from None
    return events


def _show(
    event: dict[str, Any],
    name: dict[str, Any],
    numbers: dict[str, int],
    messages: Catalogue,
    protocols: dict[int, Protocol],
    log: EventLog,
) -> None:
    """Call the method that a line of the log names."""
    node = numbers[event["node"]]
    if event["in"] == "create":
        kind = protocol_class(name["protocol"])
        own = name.get("devices", {}).get(event["node"], {})
        chosen = from_mapping(kind.Parameters, name["parameters"] | own)
        rng = node_rng(name["seed"], Stream.PROTOCOL, node, event["starts"])
        shown = DeviceCatalogue(messages)
        idle: Any = SimpleNamespace(messages=shown, **dict.fromkeys(ACTIONS, lambda *_: None))
        protocols[node] = log.recording(node, idle, lambda driver: kind(node, chosen, driver, rng), event["starts"])
        return
    given = {key: value for key, value in event.items() if key not in ("t", "node", "in")}
    if "peer" in given:
        given["peer"] = numbers[given["peer"]]
    if "packet" in given:
        given["packet"] = decode(given["packet"], messages, numbers)
        if isinstance(given["packet"], Data):
            protocols[node].driver.messages.show(given["packet"].messages)
    if "message" in given:
        given["message"] = messages.by_id(given["message"])
        protocols[node].driver.messages.show(given["message"].bit)
    if "among" in given:
        given["among"] = sum(messages.by_id(each).bit for each in given["among"])
    if event["in"] == "receive_out_of_band":
        given["node"] = given.pop("peer")
    getattr(protocols[node], event["in"])(**given, now=event["t"])
