"""Comparing objects by their fields, however deep, and the tables of results row by row."""

from __future__ import annotations

from collections import deque
from types import FunctionType
from typing import TYPE_CHECKING, Any

from hunet.simulation.result import Coded

if TYPE_CHECKING:
    from collections.abc import Collection

    from hunet import Result


def fields(thing: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots, of msgspec structs and of compiled classes included."""
    names = [*getattr(type(thing), "__struct_fields__", ()), *getattr(type(thing), "__mypyc_attrs__", ())]
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    found = {name: getattr(thing, name) for name in names if hasattr(thing, name)}
    return found | getattr(thing, "__dict__", {})


def difference(
    one: Any, two: Any, outside: tuple[type, ...] = (), where: str = "it", without: Collection[str] = ()
) -> str | None:
    """The first place where two objects differ, or None; objects of the types ``outside`` are not looked into.

    The order of dicts counts, since protocols iterate over them. Fields in ``without`` ("Class.field") do not.
    """
    seen: dict[tuple[int, int], tuple[Any, Any]] = {}  # with the objects, so that no id is used again meanwhile

    def compare(a: Any, b: Any, where: str) -> str | None:
        if type(a) is not type(b):
            return f"{where}: {type(a).__name__}, then {type(b).__name__}"
        if isinstance(a, outside) or (id(a), id(b)) in seen:
            return None
        seen[id(a), id(b)] = (a, b)
        if isinstance(a, dict):
            if list(a) != list(b):
                return f"{where}: keys {list(a)}, then {list(b)}"
            parts = [(f"{where}[{key!r}]", a[key], b[key]) for key in a]
        elif isinstance(a, (list, tuple, deque)):
            if len(a) != len(b):
                return f"{where}: {len(a)} items, then {len(b)}"
            parts = [(f"{where}[{place}]", *both) for place, both in enumerate(zip(a, b, strict=True))]
        elif _overrides(a, "__reduce__") and not isinstance(a, (set, frozenset)):  # it says what is worth writing
            parts = [(where, a.__reduce__(), b.__reduce__())]
        elif isinstance(a, (FunctionType, type)) or not fields(a):
            parts = []
            if a is not b and (a != b or not _overrides(a, "__eq__")):
                return f"{where}: {a!r}, then {b!r}"
        else:
            if fields(a).keys() != fields(b).keys():
                return f"{where}: fields {list(fields(a))}, then {list(fields(b))}"
            parts = [
                (f"{where}.{name}", value, fields(b)[name])
                for name, value in fields(a).items()
                if not any(f"{kind.__name__}.{name}" in without for kind in type(a).__mro__)
            ]
        return next((found for place, x, y in parts if (found := compare(x, y, place))), None)

    return compare(one, two, where)


def _overrides(thing: Any, method: str) -> bool:
    return getattr(type(thing), method) is not getattr(object, method)


def rows(result: Result, table: str, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of a table, row by row; a DataFrame of it costs more than the run."""
    columns = [result.columns[table][name] for name in names]
    plain = [[c.names[code] for code in c.codes] if isinstance(c, Coded) else c.tolist() for c in columns]
    return list(zip(*plain, strict=True))
