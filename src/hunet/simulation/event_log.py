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
from typing import TYPE_CHECKING, Any

from hunet.model import (
    Catalogue,
    HunetError,
    InputError,
    Message,
    MessageSet,
    Node,
    Topic,
    from_mapping,
    members,
)
from hunet.model.files import file_in_place
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Control, Data, Driver, Packet, Protocol
from hunet.protocols.codec import decode, encode
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO


class ReplayError(HunetError):
    """A protocol did not do again what the log says it did."""


@contextmanager
def open_log(path: Path) -> Iterator[EventLog]:
    """A log that becomes the named file when the block ends well; ``.gz`` is packed."""
    with file_in_place(path) as place, place.open("wb") as raw:
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
            said = {field: getattr(message, field) for field in ("id", "topic", "created", "size", "ttl")}
            self._write({"message": said | {"publisher": names[message.publisher]}})

    def recording(self, node: Node, driver: Driver, create: Callable[[Driver], Protocol], starts: int) -> Protocol:
        """A protocol that is watched: its driver and its own methods pass through the log."""
        self.write(None, node, {"in": "create", "starts": starts})
        watched = _WatchedDriver(self, node, driver)
        return _WatchedProtocol(self, watched, create(watched))

    def write(self, now: float | None, node: Node, event: dict[str, Any]) -> None:
        """One line."""
        self._write({"t": now, "node": self.names[node]} | event)

    def plain(self, packet: Packet | None) -> dict[str, Any] | None:
        return None if packet is None else encode(packet, self.messages, self.names)

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")


class _WatchedDriver:
    """Passes actions on to the real driver, and writes them down."""

    def __init__(self, log: EventLog, node: Node, driver: Driver) -> None:
        self._log, self._node, self._driver = log, node, driver
        self.messages = driver.messages
        self.now: float | None = None

    def _out(self, action: str, **details: Any) -> None:
        self._log.write(self.now, self._node, {"out": action} | details)

    def send(self, peer: Node, packet: Control) -> None:
        self._out("send", peer=self._log.names[peer], packet=self._log.plain(packet))
        self._driver.send(peer, packet)

    def broadcast(self, packet: Control, but: Node | None = None) -> None:
        spared = None if but is None else self._log.names[but]
        self._out("broadcast", but=spared, packet=self._log.plain(packet))
        self._driver.broadcast(packet, but)

    def send_out_of_band(self, node: Node, packet: Packet) -> None:
        self._out("send_out_of_band", peer=self._log.names[node], packet=self._log.plain(packet))
        self._driver.send_out_of_band(node, packet)

    def wake(self, peer: Node) -> None:
        self._out("wake", peer=self._log.names[peer])
        self._driver.wake(peer)

    def deliver(self, message: Message, hops: int) -> None:
        self._out("deliver", message=message.id, hops=hops)
        self._driver.deliver(message, hops)

    def set_timer(self, tag: str, at: float) -> None:
        self._out("set_timer", tag=tag, at=at)
        self._driver.set_timer(tag, at)

    def cancel_timer(self, tag: str) -> None:
        self._out("cancel_timer", tag=tag)
        self._driver.cancel_timer(tag)

    def stored(self, messages: MessageSet) -> None:
        self._out("stored", messages=[self.messages[number].id for number in members(messages)])
        self._driver.stored(messages)

    def removed(self, message: Message, reason: str) -> None:
        self._out("removed", message=message.id, reason=reason)
        self._driver.removed(message, reason)

    def role(self, name: str) -> None:
        self._out("role", role=name)
        self._driver.role(name)

    def false_match(self, message: Message) -> None:
        self._out("false_match", message=message.id)
        self._driver.false_match(message)


class _WatchedProtocol(Protocol):
    """Passes events on to the real protocol, and writes them down before."""

    def __init__(self, log: EventLog, driver: _WatchedDriver, inner: Protocol) -> None:
        super().__init__(inner.node, inner.parameters, driver, inner.rng)
        self._log, self._watched, self._inner = log, driver, inner

    def _in(self, event: str, now: float, **details: Any) -> Protocol:
        self._watched.now = now
        self._log.write(now, self.node, {"in": event} | details)
        return self._inner

    def start(self, now: float) -> None:
        self._in("start", now).start(now)

    def phase(self, name: str, now: float) -> None:
        self._in("phase", now, name=name).phase(name, now)

    def subscribe(self, topic: Topic, now: float) -> None:
        self._in("subscribe", now, topic=topic).subscribe(topic, now)

    def unsubscribe(self, topic: Topic, now: float) -> None:
        self._in("unsubscribe", now, topic=topic).unsubscribe(topic, now)

    def publish(self, message: Message, now: float) -> None:
        self._in("publish", now, message=message.id).publish(message, now)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        greeting = self._in("link_up", now, peer=self._log.names[peer]).link_up(peer, now)
        for packet in greeting:
            self._log.write(now, self.node, {"out": "greeting", "packet": self._log.plain(packet)})
        return greeting

    def link_down(self, peer: Node, now: float) -> None:
        self._in("link_down", now, peer=self._log.names[peer]).link_down(peer, now)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        details = {"peer": self._log.names[peer], "packet": self._log.plain(packet)}
        self._in("receive", now, **details).receive(peer, packet, now)

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        details = {"peer": self._log.names[node], "packet": self._log.plain(packet)}
        self._in("receive_out_of_band", now, **details).receive_out_of_band(node, packet, now)

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        packet = self._in("poll", now, peer=self._log.names[peer], room=room).poll(peer, now, room)
        self._log.write(now, self.node, {"out": "packet", "packet": self._log.plain(packet)})
        return packet

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        details = {"peer": self._log.names[peer], "packet": self._log.plain(packet), "arrived": arrived}
        self._in("sent", now, **details).sent(peer, packet, arrived, now)

    def settled(self, peer: Node, now: float) -> None:
        self._in("settled", now, peer=self._log.names[peer]).settled(peer, now)

    def timer(self, tag: str, now: float) -> None:
        self._in("timer", now, tag=tag).timer(tag, now)

    def observations(self, now: float) -> dict[str, float]:
        return self._inner.observations(now)


class _DeafDriver:
    """A driver that does nothing: in a replay only the log counts."""

    def __init__(self, messages: Catalogue) -> None:
        self.messages = messages

    def _ignore(self, *_: Any, **__: Any) -> None:
        pass

    send = broadcast = send_out_of_band = wake = deliver = set_timer = cancel_timer = _ignore
    stored = removed = role = false_match = _ignore


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
                said = dict(event["message"])
                messages.add(publisher=numbers[said.pop("publisher")], **said)
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
        chosen = from_mapping(kind.Parameters, name["parameters"])
        rng = node_rng(name["seed"], Stream.PROTOCOL, node, event["starts"])
        protocols[node] = log.recording(
            node, _DeafDriver(messages), lambda driver: kind(node, chosen, driver, rng), event["starts"]
        )
        return
    given = {key: value for key, value in event.items() if key not in ("t", "node", "in")}
    if "peer" in given:
        given["peer"] = numbers[given["peer"]]
    if "packet" in given:
        given["packet"] = decode(given["packet"], messages, numbers)
    if "message" in given:
        given["message"] = messages.by_id(given["message"])
    if event["in"] == "receive_out_of_band":
        given["node"] = given.pop("peer")
    getattr(protocols[node], event["in"])(**given, now=event["t"])
