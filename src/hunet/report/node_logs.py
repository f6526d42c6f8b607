"""Event logs of live nodes as contacts and tables: what a page of a run is drawn from.

A log knows the contacts, messages and deliveries of one device. Several together show a crowd; what two devices both
logged is one contact, and one hand-over.
"""

from __future__ import annotations

import json
from math import nan
from typing import TYPE_CHECKING, Any

from hunet.model import Contacts, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class NodeLogs:
    """What the logs of some devices tell; times are in seconds since 1970."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.protocols: set[str] = set()
        self._names: dict[str, None] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        self._contacts: list[tuple[str, str, float, float]] = []
        self._handed: dict[tuple[str, str, str], float] = {}
        self._delivered: dict[tuple[str, str], float] = {}
        self._roles: list[tuple[float, str, str]] = []
        for path in paths:
            self._read(path)

    def _read(self, path: Path) -> None:
        since: dict[str, float] = {}
        last, device, number = 0.0, "", 0
        for number, line in _lines(path):
            try:
                event = json.loads(line)
                if event.get("hunet") == "event log":
                    if event["format"] != 1:
                        raise InputError(path, f"is of format {event['format']}: read it with a newer hunet", number)
                    self._end(since, device, last)
                    device = event["node"]
                    self.protocols.add(event["protocol"])
                    self._names[device] = None
                elif not device:
                    raise ValueError("the first line is not that of a node's log")
                elif "t" not in event:
                    self._messages[event["message"]["id"]] = event["message"]
                    self._names[event["message"]["publisher"]] = None
                else:
                    last = event["t"]
                    self._note(event, since)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(path, f"not a line of a node's event log: {error}", number) from None
        if not device:
            raise InputError(path, "is empty: write one with 'hunet node --event-log FILE'")
        self._end(since, device, last)

    def _note(self, event: dict[str, Any], since: dict[str, float]) -> None:
        at, device = event["t"], event["node"]
        match event:
            case {"in": "link_up", "peer": peer}:
                self._names[peer] = None
                since[peer] = at
            case {"in": "link_down", "peer": peer} if peer in since:
                self._contacts.append((device, peer, since.pop(peer), at))
            case {"in": "receive", "peer": peer, "packet": packet, "data": True}:
                self._hand_over(packet, peer, device, at)
            case {"in": "sent", "peer": peer, "packet": packet, "arrived": True, "data": True}:
                self._hand_over(packet, device, peer, at)
            case {"out": "deliver", "message": message}:
                self._delivered.setdefault((message, device), at)
            case {"out": "role", "role": role}:
                self._roles.append((at, device, role))

    def _hand_over(self, packet: dict[str, Any], sender: str, receiver: str, at: float) -> None:
        for message in packet["messages"]:
            key = message, sender, receiver
            self._handed[key] = min(at, self._handed.get(key, at))

    def _end(self, since: dict[str, float], device: str, last: float) -> None:
        """Contacts that lasted when the log ended end with it."""
        self._contacts += [(device, peer, begin, last) for peer, begin in since.items()]
        since.clear()

    def contacts(self) -> Contacts:
        """Who met whom."""
        numbers = {name: number for number, name in enumerate(self._names)}
        a, b, start, end = zip(*self._contacts, strict=True) if self._contacts else ((), (), (), ())
        # A contact that began and ended in the same moment is still drawn.
        later = [max(finish, begin + 0.001) for begin, finish in zip(start, end, strict=True)]
        return Contacts.from_arrays(
            list(self._names), [numbers[each] for each in a], [numbers[each] for each in b], start, later
        )

    def tables(self) -> dict[str, dict[str, list[Any]]]:
        """The tables of a run, as ``hunet run --out`` writes them."""
        got = [message for message, _ in self._delivered]
        rows = list(self._messages.values())
        return {
            "publications": {
                "publication": [row["id"] for row in rows],
                "topic": [row["topic"] for row in rows],
                "publisher": [row["publisher"] for row in rows],
                "created": [row["created"] for row in rows],
                "ttl": [nan if row["ttl"] is None else row["ttl"] for row in rows],
                "interested": [got.count(row["id"]) for row in rows],
                "delivered": [got.count(row["id"]) for row in rows],
            },
            "forwards": {
                "publication": [message for message, _, _ in self._handed],
                "time": list(self._handed.values()),
                "sender": [sender for _, sender, _ in self._handed],
                "receiver": [receiver for _, _, receiver in self._handed],
            },
            "deliveries": {
                "publication": got,
                "time": list(self._delivered.values()),
                "node": [node for _, node in self._delivered],
            },
            "roles": {
                "time": [at for at, _, _ in self._roles],
                "node": [node for _, node, _ in self._roles],
                "role": [role for _, _, role in self._roles],
            },
        }


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from enumerate(file, 1)
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {error}") from None
