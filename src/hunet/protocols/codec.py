"""Packets as plain data: what an event log holds and what goes over a real wire.

Inside, messages and nodes are a driver's own numbers; outside they are ids and names. Which fields hold them, also
inside tuples and dictionaries, is read from the annotations of the packet's class (``MessageSet``, ``Node``,
``NodeSet``), so a new packet needs no code here.

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

    def outside(value: Any, hint: Any) -> Any:
        mark, inner = _shape(hint)
        if mark == "messages":
            return [messages[number].id for number in members(value)]
        if mark == "node":
            return names[value]
        if mark == "nodes":
            return [names[node] for node in members(value)]
        if inner and isinstance(value, dict):
            return {outside(key, inner[0]): outside(each, inner[1]) for key, each in value.items()}
        if inner:
            return [outside(each, part) for each, part in zip(value, _parts(inner, len(value)), strict=True)]
        return msgspec.to_builtins(value)

    plain: dict[str, Any] = {"kind": type(packet).__name__}
    for field, hint in _fields(type(packet)).items():
        plain[field] = outside(getattr(packet, field), hint)
    return plain


def decode(plain: Mapping[str, Any], messages: Catalogue, numbers: Mapping[str, int]) -> Packet:
    """The packet that :func:`encode` made plain."""

    def inside(value: Any, hint: Any) -> Any:
        mark, inner = _shape(hint)
        if mark == "messages":
            return sum(messages.by_id(message).bit for message in value)
        if mark == "node":
            return numbers[value]
        if mark == "nodes":
            return sum(1 << numbers[name] for name in value)
        if inner and isinstance(value, dict):
            return {inside(key, inner[0]): inside(each, inner[1]) for key, each in value.items()}
        if inner:
            return tuple(inside(each, part) for each, part in zip(value, _parts(inner, len(value)), strict=True))
        return msgspec.convert(value, hint)

    kind = _kinds()[plain["kind"]]
    return kind(**{field: inside(plain[field], hint) for field, hint in _fields(kind).items()})


@cache
def _fields(kind: type[Packet]) -> dict[str, Any]:
    """The type of each field."""
    return get_type_hints(kind, include_extras=True)


@cache
def _shape(hint: Any) -> tuple[str, tuple[Any, ...]]:
    """What an annotation says that a value holds; and, of a container of such values, the types of its parts."""
    if get_origin(hint) is Annotated:
        return next((mark for mark in get_args(hint)[1:] if isinstance(mark, str)), ""), ()
    inner = get_args(hint) if get_origin(hint) in (tuple, dict) else ()
    return "", inner if any(_shape(part) != ("", ()) for part in inner if part is not Ellipsis) else ()


def _parts(inner: tuple[Any, ...], many: int) -> tuple[Any, ...]:
    """The types of the members of a tuple."""
    return inner[:1] * many if inner[-1] is Ellipsis else inner


def _kinds() -> dict[str, type[Packet]]:
    kinds: dict[str, type[Packet]] = {}
    waiting = [Packet]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        kinds[kind.__name__] = kind
    return kinds
