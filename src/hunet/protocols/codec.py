"""Packets as plain data: what an event log holds. What devices send each other is in ``packet_bytes``.

Inside, messages and nodes are a driver's own numbers; outside they are ids and names. Which fields hold them, also
inside tuples, dictionaries and records, is read from the annotations of the packet's class (``MessageSet``, ``Node``,
``NodeSet``, ``PerMessage``), so a new packet needs no code here. Two drivers number the same messages differently: what
stands ``PerMessage`` beside a set is put into the order of the reader's numbers.

A packet's *kind* is ``<system>.<class>``, so that packets of two systems may have the same class name:
``b-sub.Filters`` for a system of hunet, ``hunet.Seen`` for what systems share, ``package.Rumour`` for a class of
another package.

>>> from hunet.model import Catalogue
>>> from hunet.protocols.carrier import Seen
>>> messages = Catalogue()
>>> sent = Seen(messages.add("m1", "news", publisher=0, created=0.0).bit)
>>> encode(sent, messages, ["ann"])
{'kind': 'hunet.Seen', 'messages': ['m1']}
>>> decode(encode(sent, messages, ["ann"]), messages, {"ann": 0}) == sent
True
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import msgspec

from hunet.model import Catalogue, ConfigurationError, members
from hunet.protocols.forms import MOST_HOPS, fields_of
from hunet.protocols.packets import Packet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


def encode(packet: Packet, messages: Catalogue, names: Sequence[str] | Mapping[int, str]) -> dict[str, Any]:
    """A packet as plain data, with ids and names instead of numbers."""
    writers: dict[str, Callable[[Any], Any]] = {
        "messages": lambda value: [messages[number].id for number in members(value)],
        "per message": lambda value: [min(each, MOST_HOPS) for each in value],
        "node": lambda value: names[value],
        "nodes": lambda value: [names[node] for node in members(value)],
    }

    def outside(value: Any, hint: Any) -> Any:
        mark, inner = _shape(hint)
        if mark in writers:
            return writers[mark](value)
        if mark == "record":
            return {field: outside(getattr(value, field), part) for field, part in inner}
        if inner and isinstance(value, dict):
            return {outside(key, inner[0]): outside(each, inner[1]) for key, each in value.items()}
        if inner:
            return [outside(each, part) for each, part in zip(value, _parts(inner, len(value)), strict=True)]
        return msgspec.to_builtins(value)

    plain: dict[str, Any] = {"kind": kind_of(type(packet))}
    for field, hint in fields_of(type(packet)).items():
        plain[field] = outside(getattr(packet, field), hint)
    return plain


def decode(plain: Mapping[str, Any], messages: Catalogue, numbers: Mapping[str, int]) -> Packet:
    """The packet that :func:`encode` made plain."""

    def listed(ids: Any) -> Iterator[tuple[int, int]]:
        for index, each in enumerate(ids):
            yield messages.by_id(each).number, index

    read: dict[str, Callable[[Any], Any]] = {
        "messages": lambda value: _together(number for number, _ in listed(value)),
        "per message": lambda value: _in_order(value, listed(plain["messages"])),
        "node": lambda value: numbers[value],
        "nodes": lambda value: _together(numbers[name] for name in value),
    }

    def inside(value: Any, hint: Any) -> Any:
        mark, inner = _shape(hint)
        if mark in read:
            return read[mark](value)
        if mark == "record":
            return hint(**{field: inside(value[field], part) for field, part in inner})
        if inner and isinstance(value, dict):
            return {inside(key, inner[0]): inside(each, inner[1]) for key, each in value.items()}
        if inner:
            return tuple(inside(each, part) for each, part in zip(value, _parts(inner, len(value)), strict=True))
        return msgspec.convert(value, hint)

    if plain["kind"] not in kinds():
        kinds.cache_clear()  # its class may have been imported since
    kind = kinds()[plain["kind"]]
    return kind(**{field: inside(plain[field], hint) for field, hint in fields_of(kind).items()})


def _together(numbers: Iterable[int]) -> int:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def _in_order(values: Any, listed: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """What stands per message, in the order of the reader's numbers: highest first."""
    checked = msgspec.convert(values, tuple[Annotated[int, msgspec.Meta(ge=0, le=MOST_HOPS)], ...])
    return tuple(checked[index] for _, index in sorted(listed, reverse=True))


@cache
def _shape(hint: Any) -> tuple[str, tuple[Any, ...]]:
    """What an annotation says that a value holds; and, of a container of such values, the types of its parts."""
    if get_origin(hint) is Annotated:
        return next((mark for mark in get_args(hint)[1:] if isinstance(mark, str)), ""), ()
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        fields = {name: fields_of(hint)[name] for name in hint.__struct_fields__}
        return ("record", tuple(fields.items())) if any(map(_holds_numbers, fields.values())) else ("", ())
    inner = get_args(hint) if get_origin(hint) in (tuple, dict) else ()
    return "", inner if any(map(_holds_numbers, inner)) else ()


def _holds_numbers(hint: Any) -> bool:
    return hint is not Ellipsis and _shape(hint) != ("", ())


def _parts(inner: tuple[Any, ...], many: int) -> tuple[Any, ...]:
    """The types of the members of a tuple."""
    return inner[:1] * many if inner[-1] is Ellipsis else inner


@cache
def kind_of(packet: type[Packet]) -> str:
    """The kind of a class of packets."""
    package, *parts = packet.__module__.split(".")
    system = parts[1].replace("_", "-") if package == "hunet" and parts[0] == "systems" else package
    return f"{system}.{packet.__name__}"


@cache
def kinds() -> dict[str, type[Packet]]:
    """All classes of packets by kind. Building it takes longer than decoding a packet, hence the cache."""
    found: dict[str, type[Packet]] = {}
    classes = [Packet]
    for each in classes:
        classes.extend(each.__subclasses__())
        other = found.setdefault(kind_of(each), each)
        # A class that is defined again, as in a notebook, takes the place of the earlier one.
        if (other.__module__, other.__qualname__) != (each.__module__, each.__qualname__):
            raise ConfigurationError(
                f"two packets are of the kind '{kind_of(each)}', one in {other.__module__} and one in "
                f"{each.__module__}: rename one of the classes"
            )
        found[kind_of(each)] = each
    return found
