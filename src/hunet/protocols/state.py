"""The state of a protocol as plain data, and back.

A class names the attributes that are its state in ``saved``, with their types; everything else (caches, parameters,
the driver) is made anew by its constructor. A value can be a number, a text, bytes, a tuple, list, set, deque or
dictionary of such, a record, or an object of another class that has ``saved``. After a restart a driver makes the
protocol, sets these attributes, and calls ``restored``, if a class has it, on the object whose attributes were set:
there it computes what follows from them, and tells the driver what it holds (``driver.stored``).

Each class of a protocol that has ``saved`` is one *part* of its state, with a name, and a version
(``saved_version``, 1 if there is none). A new version that cannot read the parts of the one before has another number:
they are then not used, and the protocol starts without them.

>>> from hunet.protocols import Protocol
>>> class Counting(Protocol):
...     saved = {"met": dict[int, int]}
...     def __init__(self, *given):
...         super().__init__(*given)
...         self.met = {}
>>> counting = Counting(0, None, None, None)
>>> counting.met[7] = 3
>>> state = parts_of(counting)["hunet.Counting"]
>>> state
[1, {'met': [[7, 3]]}]
>>> again = Counting(0, None, None, None)
>>> restore_part(again, "hunet.Counting", state)
>>> again.met
{7: 3}
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from hunet.protocols.codec import kind_of, kinds
from hunet.protocols.forms import fields_of
from hunet.protocols.packets import Data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["keeps_state", "part_names", "parts_of", "plain", "restore_part", "typed"]

_COLLECTIONS: dict[Any, Callable[[Iterable[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    deque: deque,
    tuple: tuple,
}


def keeps_state(kind: Any) -> bool:
    """Whether the state of such a protocol is all in its parts: classes that begin with more than that say so."""
    return all("saved" in vars(each) for each in kind.__mro__[:-1] if vars(each).keys() & {"__init__", "start"})


def parts_of(protocol: Any) -> dict[str, list[Any]]:
    """The parts of the state of a protocol: by name, its version and its attributes."""
    return {name: [_version(kind), _attributes(protocol, kind)] for name, kind in part_classes(protocol.__class__)}


def part_names(kind: Any) -> list[str]:
    """The parts of the state of such a protocol."""
    return [name for name, _ in part_classes(kind)]


def restore_part(protocol: Any, name: str, part: Any) -> None:
    """Set the attributes that a part holds; an error if it is not what :func:`parts_of` gave, or of another version."""
    kind = dict(part_classes(protocol.__class__))[name]
    match part:
        case [int(version), dict(attributes)]:
            if version != _version(kind):
                raise ValueError(f"it is of version {version}, and version {_version(kind)} is understood")
            _set(protocol, kind, attributes)
        case _:
            raise ValueError("it is not a version and attributes")


def plain(value: Any, hint: Any) -> Any:
    """A value of a type as numbers, texts, bytes, lists and dictionaries with texts as keys."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    found = value
    if origin is Annotated:
        marked = any(mark in ("messages", "nodes") for mark in parts[1:])
        found = value.to_bytes((value.bit_length() + 7) // 8, "little") if marked else plain(value, parts[0])
    elif origin in (Union, UnionType):
        found = None if value is None else plain(value, _present(parts))
    elif origin in (dict, Counter):
        key, each = parts if origin is dict else (parts[0], int)
        found = [[plain(k, key), plain(v, each)] for k, v in value.items()]
    elif origin in (set, frozenset):
        found = [plain(each, parts[0]) for each in sorted(value)]
    elif origin in _COLLECTIONS:
        found = [plain(each, part) for each, part in zip(value, _members(parts, len(value)), strict=True)]
    elif origin is array:
        found = value.tobytes()
    elif origin is Data:
        kind: Any = type(value)
        found = [kind_of(kind), plain(value, kind)]
    elif hasattr(origin, "saved"):
        found = _attributes(value, origin)
    elif _is_record(origin):
        found = [plain(getattr(value, name), part) for name, part in _record(origin)]
    return found


def typed(data: Any, hint: Any) -> Any:
    """The value of a type that :func:`plain` made plain; ValueError or TypeError if it did not."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    found = data
    if origin is Annotated:
        marked = any(mark in ("messages", "nodes") for mark in parts[1:])
        found = int.from_bytes(_checked(data, bytes), "little") if marked else typed(data, parts[0])
    elif origin in (Union, UnionType):
        found = None if data is None else typed(data, _present(parts))
    elif origin in (dict, Counter):
        key, each = parts if origin is dict else (parts[0], int)
        found = origin({typed(k, key): typed(v, each) for k, v in _checked(data, list)})
    elif origin in _COLLECTIONS:
        many = len(_checked(data, list))
        found = _COLLECTIONS[origin]([typed(e, part) for e, part in zip(data, _members(parts, many), strict=True)])
    elif origin is array:
        found = array("H", _checked(data, bytes))
    elif origin is Data:
        kind, fields = data
        found = typed(fields, kinds()[kind])
    elif hasattr(origin, "saved"):
        found = origin.__new__(origin)
        _set(found, origin, _checked(data, dict))
    elif _is_record(origin):
        hints = _record(origin)
        found = origin(*[typed(each, part) for each, (_, part) in zip(_checked(data, list), hints, strict=True)])
    elif origin is Literal:
        if data not in parts:
            raise ValueError(f"{data!r} is none of {parts}")
    else:
        _checked(data, {float: (int, float), None: NoneType}.get(hint, hint))
    return found


def _attributes(thing: Any, kind: Any) -> dict[str, Any]:
    return {name: plain(getattr(thing, name), hint) for name, hint in vars(kind)["saved"].items()}


def _set(thing: Any, kind: Any, attributes: dict[str, Any]) -> None:
    """Set the attributes of an object; other objects that it has already, and their drivers, stay and are set too."""
    saved = vars(kind)["saved"]
    if attributes.keys() != saved.keys():
        raise ValueError(f"it has {sorted(attributes)}, and {sorted(saved)} are understood")
    for name, hint in saved.items():
        there, inner = getattr(thing, name, None), _present(get_args(hint)) if _is_optional(hint) else hint
        if there is not None and hasattr(inner, "saved") and attributes[name] is not None:
            _set(there, inner, _checked(attributes[name], dict))
        else:
            setattr(thing, name, typed(attributes[name], hint))
    if "restored" in vars(kind):
        kind.restored(thing)


@cache
def part_classes(kind: Any) -> list[tuple[str, Any]]:
    """The classes of a protocol that have a part of its state, the base first."""
    return [(kind_of(each), each) for each in reversed(kind.__mro__) if "saved" in vars(each)]


def _version(kind: Any) -> int:
    version: int = vars(kind).get("saved_version", 1)
    return version


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or hasattr(kind, "_fields"))


@cache
def _record(kind: Any) -> list[tuple[str, Any]]:
    """The names and types of the fields of a record, in order."""
    if issubclass(kind, msgspec.Struct):
        return [(name, fields_of(kind)[name]) for name in kind.__struct_fields__]
    return list(get_type_hints(kind, include_extras=True).items())


def _members(parts: tuple[Any, ...], many: int) -> Iterable[Any]:
    """The types of the members of a collection."""
    return parts if len(parts) > 1 and parts[-1] is not Ellipsis else parts[:1] * many


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _present(parts: tuple[Any, ...]) -> Any:
    return next(part for part in parts if part is not NoneType)


def _checked(data: Any, kind: Any) -> Any:
    if not isinstance(data, kind):
        raise ValueError(f"a {type(data).__name__} where a {getattr(kind, '__name__', 'number')} belongs")
    return data
