"""Packets as plain data: what an event log holds and what goes over a real wire.

Inside, messages and nodes are a driver's own numbers; outside they are ids and names. Which fields hold them is read
from the annotations of the packet's class (``MessageSet``, ``Node``, ``NodeList``), so a new packet needs no code here.

>>> from hunet.model import Catalogue
>>> from hunet.protocols.contract import Seen
>>> messages = Catalogue()
>>> sent = Seen(messages.add("m1", "news", publisher=0, created=0.0).bit)
>>> encode(sent, messages, ["ann"])
{'kind': 'Seen', 'messages': ['m1']}
>>> decode(encode(sent, messages, ["ann"]), messages, {"ann": 0}) == sent
True
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from hunet.model import Catalogue, members
from hunet.protocols.contract import Packet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["decode", "encode"]


def encode(packet: Packet, messages: Catalogue, names: Sequence[str]) -> dict[str, Any]:
    """A packet as plain data, with ids and names instead of numbers."""
    plain: dict[str, Any] = {"kind": type(packet).__name__}
    for field, (mark, _) in _fields(type(packet)).items():
        value = getattr(packet, field)
        if mark == "messages":
            value = [messages[number].id for number in members(value)]
        elif mark == "node":
            value = names[value]
        elif mark == "nodes":
            value = [names[node] for node in value]
        plain[field] = msgspec.to_builtins(value)
    return plain


def decode(plain: Mapping[str, Any], messages: Catalogue, numbers: Mapping[str, int]) -> Packet:
    """The packet that :func:`encode` made plain."""
    kind = _kinds()[plain["kind"]]
    values: dict[str, Any] = {}
    for field, (mark, hint) in _fields(kind).items():
        value = plain[field]
        if mark == "messages":
            value = sum(messages.by_id(message).bit for message in value)
        elif mark == "node":
            value = numbers[value]
        elif mark == "nodes":
            value = tuple([numbers[node] for node in value])
        else:
            value = msgspec.convert(value, hint)
        values[field] = value
    return kind(**values)


@cache
def _fields(kind: type[Packet]) -> dict[str, tuple[str, Any]]:
    """For each field, what its annotation says it holds, and its type."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        marks = [m for m in get_args(hint)[1:] if isinstance(m, str)] if get_origin(hint) is Annotated else []
        found[name] = (marks[0] if marks else "", hint)
    return found


def _kinds() -> dict[str, type[Packet]]:
    kinds: dict[str, type[Packet]] = {}
    waiting = [Packet]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        kinds[kind.__name__] = kind
    return kinds
