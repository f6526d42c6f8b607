"""How values are written as bytes: one *form* for each type that a field of a packet can have.

Sizes and bytes come from the same forms, so that ``Control.size`` needs no encoding and still is what is sent
(``tests/protocols/test_packet_bytes.py`` holds both equal for every kind of packet). What counts as size: the packet
alone, as :func:`hunet.protocols.packet_bytes.to_bytes` makes it. The frame around it, encryption and the transport are
not in it, and neither are the publications that a data packet carries.

============================  ====================================================================================
type                          bytes
============================  ====================================================================================
``bool``                      1
``int``                       1 to 10: 7 bits each, lowest first, the sign in the lowest bit
``float``                     8, IEEE 754, big-endian; NaN is refused
``str``, ``bytes``            a count, and the text in UTF-8 or the bytes
``Literal``                   1: its place among the choices
``X | None``                  1, and the value if there is one
``tuple[X, ...]``, ``dict``   a count, and the members, of a dictionary in its order
``tuple[X, Y]``, a record     the members
``Node``                      1, or 2 in packets that name more than 256 devices: its place in the packet's table
``NodeSet``                   a bit for each device of the packet's table
``MessageSet``                a count and 8 bytes for each message; a bit for each message of the packet's table where
                              a packet has several sets, or carries the messages
``PerMessage``                1 to 2 bytes for each message
============================  ====================================================================================

A *table* stands once at the beginning of a packet: a count, and the first 8 bytes of each device's key or message's
id, ascending. A count takes a byte for each 7 bits. A type that none of these serves has a form of its own: a
:class:`Form` in ``Annotated``.
"""

from __future__ import annotations

import struct
from functools import cache
from math import isnan
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from hunet.model import MessageSet, NodeSet, PeerError
from hunet.protocols.byte_streams import (
    KIND_BYTES,
    Reader,
    Widths,
    Writer,
    count_size,
    ids_size,
    number_size,
    text_size,
    unsigned,
    widths,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Form", "NotSent"]

MOST_HOPS = 10_000
"""What stands per message, such as the hops behind it, counts up to here: more would not fit everywhere."""
_DOUBLE = struct.Struct(">d")


class Form:
    """How values of one type are written. The base is for types that no packet names devices or messages with."""

    even = False
    """Whether all values have the same size, in one packet."""

    def size(self, value: Any, widths: Widths) -> int:
        """How many bytes :meth:`write` writes."""
        raise NotImplementedError

    def write(self, value: Any, to: Writer) -> None:
        """Write a value."""
        raise NotImplementedError

    def read(self, source: Reader) -> Any:
        """Read a value; whatever no honest device writes is a PeerError."""
        raise NotImplementedError

    def named(self, value: Any) -> tuple[NodeSet, MessageSet]:  # noqa: ARG002
        """The devices and messages in a value."""
        return 0, 0

    names: frozenset[str] = frozenset()
    """Which of both there can be: ``nodes``, ``messages``."""


class NotSent(Form):
    """What never leaves a simulation; a reader gets something else instead."""

    def __init__(self, instead: Any = None) -> None:
        self.instead = instead

    def size(self, value: Any, widths: Widths) -> int:  # noqa: ARG002
        return 0

    def write(self, value: Any, to: Writer) -> None:
        pass

    def read(self, source: Reader) -> Any:  # noqa: ARG002
        return self.instead


class _Flag(Form):
    even = True

    def size(self, value: bool, widths: Widths) -> int:  # noqa: ARG002
        return 1

    def write(self, value: bool, to: Writer) -> None:
        to.data.append(value)

    def read(self, source: Reader) -> bool:
        return bool(_choice(source, 2))


class _Number(Form):
    def size(self, value: int, widths: Widths) -> int:  # noqa: ARG002
        return number_size(value)

    def write(self, value: int, to: Writer) -> None:
        to.count(unsigned(value))

    def read(self, source: Reader) -> int:
        found = source.number()
        return -(found >> 1) - 1 if found & 1 else found >> 1


class _Real(Form):
    even = True

    def size(self, value: float, widths: Widths) -> int:  # noqa: ARG002
        return 8

    def write(self, value: float, to: Writer) -> None:
        to.data += _DOUBLE.pack(value)

    def read(self, source: Reader) -> float:
        found: float = _DOUBLE.unpack(source.take(8))[0]
        if isnan(found):
            raise PeerError("a packet with a number that is none")
        return found


class _Text(Form):
    def size(self, value: str, widths: Widths) -> int:  # noqa: ARG002
        return text_size(value)

    def write(self, value: str, to: Writer) -> None:
        encoded = value.encode()
        to.count(len(encoded))
        to.data += encoded

    def read(self, source: Reader) -> str:
        try:
            return source.take(source.count()).decode()
        except UnicodeDecodeError:
            raise PeerError("a packet with a text that is none") from None


class _Bytes(Form):
    def size(self, value: bytes, widths: Widths) -> int:  # noqa: ARG002
        return count_size(len(value)) + len(value)

    def write(self, value: bytes, to: Writer) -> None:
        to.count(len(value))
        to.data += value

    def read(self, source: Reader) -> bytes:
        return source.take(source.count())


class _Choice(Form):
    even = True

    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = choices

    def size(self, value: Any, widths: Widths) -> int:  # noqa: ARG002
        return 1

    def write(self, value: Any, to: Writer) -> None:
        to.data.append(self.choices.index(value))

    def read(self, source: Reader) -> Any:
        return self.choices[_choice(source, len(self.choices))]


class _Optional(Form):
    def __init__(self, inner: Form) -> None:
        self.inner, self.names = inner, inner.names

    def size(self, value: Any, widths: Widths) -> int:
        return 1 if value is None else 1 + self.inner.size(value, widths)

    def write(self, value: Any, to: Writer) -> None:
        to.data.append(value is not None)
        if value is not None:
            self.inner.write(value, to)

    def read(self, source: Reader) -> Any:
        return self.inner.read(source) if _choice(source, 2) else None

    def named(self, value: Any) -> tuple[NodeSet, MessageSet]:
        return (0, 0) if value is None else self.inner.named(value)


class _Node(Form):
    even = True
    names = frozenset({"nodes"})

    def size(self, value: int, widths: Widths) -> int:  # noqa: ARG002
        return widths.node

    def write(self, value: int, to: Writer) -> None:
        to.data += to.nodes[value].to_bytes(to.widths.node, "big")

    def read(self, source: Reader) -> int:
        index = int.from_bytes(source.take(source.widths.node))
        if index >= len(source.nodes):
            raise PeerError("a packet with a device that it does not name")
        return source.nodes[index]

    def named(self, value: int) -> tuple[NodeSet, MessageSet]:
        return 1 << value, 0


class _Nodes(Form):
    even = True
    names = frozenset({"nodes"})

    def size(self, value: NodeSet, widths: Widths) -> int:  # noqa: ARG002
        return widths.nodes

    def write(self, value: NodeSet, to: Writer) -> None:
        to.bits(value, to.nodes, to.widths.nodes)

    def read(self, source: Reader) -> NodeSet:
        return source.bits(source.nodes, source.widths.nodes)

    def named(self, value: NodeSet) -> tuple[NodeSet, MessageSet]:
        return value, 0


class _Messages(Form):
    even = True
    names = frozenset({"messages"})

    def size(self, value: MessageSet, widths: Widths) -> int:  # noqa: ARG002
        return widths.messages

    def write(self, value: MessageSet, to: Writer) -> None:
        to.bits(value, to.messages, to.widths.messages)

    def read(self, source: Reader) -> MessageSet:
        return source.bits(source.messages, source.widths.messages)

    def named(self, value: MessageSet) -> tuple[NodeSet, MessageSet]:
        return 0, value


class _AllMessages(_Messages):
    """A set that is the whole of its packet's table."""

    def size(self, value: MessageSet, widths: Widths) -> int:  # noqa: ARG002
        return 0

    def write(self, value: MessageSet, to: Writer) -> None:
        pass

    def read(self, source: Reader) -> MessageSet:
        numbers = [number for number in source.messages if number is not None]
        found = bytearray((max(numbers, default=0) >> 3) + 1)
        for number in numbers:  # a sum of so many long numbers takes long
            found[number >> 3] |= 1 << (number & 7)
        return int.from_bytes(found, "little")


class _PerMessage(Form):
    """Written in the order of the table; on both sides the highest numbered message comes first."""

    def write(self, value: tuple[int, ...], to: Writer) -> None:
        for each in value:
            to.count(min(each, MOST_HOPS))

    def read(self, source: Reader) -> tuple[int, ...]:
        values = [(number, source.number()) for number in source.messages]
        if any(value > MOST_HOPS for _, value in values):
            raise PeerError(f"a packet with a count above {MOST_HOPS}")
        return tuple([value for _, value in sorted([each for each in values if each[0] is not None], reverse=True)])


class _Sequence(Form):
    def __init__(self, member: Form) -> None:
        self.member, self.names = member, member.names

    def size(self, value: Sequence[Any], widths: Widths) -> int:
        member = self.member
        if member.even:
            return count_size(len(value)) + member.size(None, widths) * len(value)
        return count_size(len(value)) + sum([member.size(each, widths) for each in value])

    def write(self, value: Sequence[Any], to: Writer) -> None:
        to.count(len(value))
        for each in value:
            self.member.write(each, to)

    def read(self, source: Reader) -> tuple[Any, ...]:
        return tuple([self.member.read(source) for _ in range(source.count())])

    def named(self, value: Iterable[Any]) -> tuple[NodeSet, MessageSet]:
        return _all_named((self.member, each) for each in value) if self.names else (0, 0)


class _Tuple(Form):
    def __init__(self, parts: Sequence[Form]) -> None:
        self.parts = parts
        self.names = frozenset().union(*[part.names for part in parts])
        self.even = all(part.even for part in parts)

    def size(self, value: Sequence[Any] | None, widths: Widths) -> int:
        if value is None:  # they are even
            return sum([part.size(None, widths) for part in self.parts])
        return sum([part.size(each, widths) for part, each in zip(self.parts, value, strict=True)])

    def write(self, value: Sequence[Any], to: Writer) -> None:
        for part, each in zip(self.parts, value, strict=True):
            part.write(each, to)

    def read(self, source: Reader) -> tuple[Any, ...]:
        return tuple([part.read(source) for part in self.parts])

    def named(self, value: Sequence[Any]) -> tuple[NodeSet, MessageSet]:
        return _all_named(zip(self.parts, value, strict=True)) if self.names else (0, 0)


class _Dictionary(Form):
    def __init__(self, key: Form, value: Form) -> None:
        self.key, self.value = key, value
        self.pairs = _Sequence(_Tuple((key, value)))
        self.names = self.pairs.names

    def size(self, value: dict[Any, Any], widths: Widths) -> int:
        size, many = count_size(len(value)), len(value)
        for form, column in ((self.key, value.keys()), (self.value, value.values())):
            if form.even:
                size += form.size(None, widths) * many
            else:
                size += sum([form.size(each, widths) for each in column])
        return size

    def write(self, value: dict[Any, Any], to: Writer) -> None:
        self.pairs.write(tuple(value.items()), to)

    def read(self, source: Reader) -> dict[Any, Any]:
        pairs = self.pairs.read(source)
        found = dict(pairs)
        if len(found) < len(pairs):
            raise PeerError("a packet that names a thing twice")
        return found

    def named(self, value: dict[Any, Any]) -> tuple[NodeSet, MessageSet]:
        return self.pairs.named(value.items())


class _Record(_Tuple):
    def __init__(self, kind: type[msgspec.Struct]) -> None:
        self.kind = kind
        hints = fields_of(kind)
        self.fields = [name for name in kind.__struct_fields__ if name in hints]
        super().__init__([form_of(hints[name]) for name in self.fields])

    def size(self, value: Any, widths: Widths) -> int:
        return super().size(value and self._values(value), widths)

    def write(self, value: Any, to: Writer) -> None:
        super().write(self._values(value), to)

    def read(self, source: Reader) -> Any:
        return self.kind(*super().read(source))

    def named(self, value: Any) -> tuple[NodeSet, MessageSet]:
        return super().named(self._values(value)) if self.names else (0, 0)

    def _values(self, value: Any) -> list[Any]:
        return [getattr(value, name) for name in self.fields]


class Layout:
    """How the packets of a class are written: their tables, then their fields."""

    def __init__(self, kind: type[msgspec.Struct], *, carries: bool) -> None:
        hints = fields_of(kind)
        forms = {name: form_of(hints[name]) for name in kind.__struct_fields__}
        lists = [name for name, form in forms.items() if "messages" in form.names]
        if carries:
            forms["messages"] = _AllMessages()
        elif len(lists) == 1 and type(forms[lists[0]]) is _Messages:
            forms[lists[0]] = _AllMessages()
        self.fields = list(forms.items())
        names = frozenset().union(*[form.names for form in forms.values()])
        self.names_nodes = "nodes" in names
        self.lists_messages = "messages" in names and not carries
        self.whole = not carries and any(type(form) is _AllMessages for form in forms.values())
        """Whether nothing but the table says which messages a set has."""

    def named(self, packet: Any) -> tuple[NodeSet, MessageSet]:
        """The devices and messages in a packet."""
        return _all_named((form, getattr(packet, name)) for name, form in self.fields if form.names)

    def size(self, packet: Any) -> int:
        """How many bytes a control packet has."""
        size, width = KIND_BYTES, _NARROW
        if self.names_nodes or self.lists_messages:
            nodes, messages = [each.bit_count() for each in self.named(packet)]
            width = widths(nodes, messages)
            if self.names_nodes:
                size += ids_size(nodes)
            if self.lists_messages:
                size += ids_size(messages)
        return size + sum([form.size(getattr(packet, name), width) for name, form in self.fields])


_NARROW = Widths()


@cache
def fields_of(kind: Any) -> dict[str, Any]:
    """The type of each field of a record."""
    hints = get_type_hints(kind, include_extras=True)
    return {field: hints[field] for field in kind.__struct_fields__}


@cache
def form_of(hint: Any) -> Form:
    """The form of a type."""
    origin, parts = get_origin(hint), get_args(hint)
    form: Form | None = None
    if hint in _FORMS:
        form = _FORMS[hint]()
    elif origin is Annotated:
        marks = [mark if isinstance(mark, Form) else _MARKED[mark]() for mark in parts[1:] if _is_mark(mark)]
        form = marks[0] if marks else form_of(parts[0])
    elif origin is Literal:
        form = _Choice(parts)
    elif origin in (Union, UnionType) and len(parts) == 2 and NoneType in parts:
        form = _Optional(form_of(parts[0] if parts[1] is NoneType else parts[1]))
    elif origin is dict:
        form = _Dictionary(form_of(parts[0]), form_of(parts[1]))
    elif origin is tuple:
        form = _Sequence(form_of(parts[0])) if parts[-1] is Ellipsis else _Tuple([form_of(part) for part in parts])
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        form = _Record(hint)
    if form is None:
        raise TypeError(f"a field of a packet cannot be a {hint}: see hunet.protocols.forms for what it can be")
    return form


def _is_mark(mark: Any) -> bool:
    return isinstance(mark, Form) or (isinstance(mark, str) and mark in _MARKED)


_FORMS: dict[Any, type[Form]] = {bool: _Flag, int: _Number, float: _Real, str: _Text, bytes: _Bytes}
_MARKED: dict[Any, type[Form]] = {
    "node": _Node,
    "nodes": _Nodes,
    "messages": _Messages,
    "per message": _PerMessage,
}


def _all_named(values: Iterable[tuple[Form, Any]]) -> tuple[NodeSet, MessageSet]:
    nodes = messages = 0
    for form, value in values:
        more_nodes, more_messages = form.named(value)
        nodes |= more_nodes
        messages |= more_messages
    return nodes, messages


def _choice(source: Reader, many: int) -> int:
    index = source.take(1)[0]
    if index >= many:
        raise PeerError("a packet with a choice that there is not")
    return index
