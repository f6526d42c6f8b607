"""Parameters: how a protocol, a world or a workload says what can be set, and how a value given as text gets in.

A set of parameters is a frozen record; each field carries its help, its paper's symbol and its unit, so that the
command line, the error messages and the documentation all come from one place:

>>> class Cats(Parameters, frozen=True):
...     lives: Annotated[int, doc("how often it may fall", symbol="λ", ge=1)] = 9
>>> from_mapping(Cats, {"lives": "7"})
Cats(lives=7)
>>> from_mapping(Cats, {"live": 7})
Traceback (most recent call last):
    ...
hunet.model.errors.ConfigurationError: no parameter 'live': did you mean 'lives'?
>>> [(p.name, p.kind, p.default, p.symbol, p.help) for p in describe(Cats)]
[('lives', 'int', 9, 'λ', 'how often it may fall')]
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from hunet.model.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set of parameters; every field has a default, so that no parameter must be given.

    A number that may be absent is written ``Annotated[float, doc(...)] | None``: bounds go with the number.

    Checks that concern several fields together go into ``__post_init__`` and raise ``ValueError``.
    """


P = TypeVar("P", bound=Parameters)


def doc(
    help_: str,
    *,
    symbol: str = "",
    unit: str = "",
    source: str = "",
    path: bool = False,
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
) -> msgspec.Meta:
    """What there is to say of a field: help, the paper's symbol, unit, section or table, and bounds.

    ``path`` marks the name of a file or folder, which is relative to the file that gives it.
    """
    bounds: dict[str, Any] = {"gt": gt, "ge": ge, "lt": lt, "le": le}
    extra = {"symbol": symbol, "unit": unit, "source": source, "path": "path" if path else ""}
    return msgspec.Meta(description=help_, extra=extra, **bounds)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a help table."""

    name: str
    kind: str
    default: Any
    help: str
    symbol: str
    unit: str
    source: str


def describe(record: type[Parameters]) -> list[Parameter]:
    """The parameters of a record, in the order in which they are declared."""
    rows = []
    hints = get_type_hints(record, include_extras=True)
    for declared in msgspec.structs.fields(record):
        hint = hints[declared.name]
        meta = _meta(hint) or msgspec.Meta()
        default = declared.default
        if default is msgspec.NODEFAULT and declared.default_factory is not msgspec.NODEFAULT:
            default = declared.default_factory()
        extra: Mapping[str, str] = meta.extra or {}
        rows.append(
            Parameter(
                declared.name,
                _kind(hint),
                default,
                meta.description or "",
                extra.get("symbol", ""),
                extra.get("unit", ""),
                extra.get("source", ""),
            )
        )
    return rows


def path_fields(record: type[Parameters]) -> list[str]:
    """The fields that name files or folders.

    >>> class Nets(Parameters, frozen=True):
    ...     edges: Annotated[str, doc("a file of edges", path=True)] = "edges.csv"
    ...     nodes: int = 3
    >>> path_fields(Nets)
    ['edges']
    """
    hints = get_type_hints(record, include_extras=True)
    return [name for name, hint in hints.items() if ((_meta(hint) or msgspec.Meta()).extra or {}).get("path")]


def named_paths(parameters: Parameters) -> dict[str, str]:
    """The files and folders that these parameters name, by field."""
    given = {field: getattr(parameters, field) for field in path_fields(type(parameters))}
    return {field: path for field, path in given.items() if isinstance(path, str) and path}


def from_mapping(record: type[P], given: Mapping[str, Any]) -> P:
    """Make a record from names and values; text is converted to the type of its field."""
    known = {declared.name for declared in msgspec.structs.fields(record)}
    for name in given:
        if name not in known:
            raise ConfigurationError(f"no parameter '{name}': {did_you_mean(name, known)}")
    values = {name: None if value in ("none", "None") else value for name, value in given.items()}
    try:
        return msgspec.convert(values, record, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        # msgspec says "Expected `int` >= 1 - at `$.lives`": turn it round to begin with the name.
        problem, _, where = str(error).partition(" - at `$.")
        name = where.rstrip("`")
        given_value = f" (given: {given[name]!r})" if name in given else ""
        raise ConfigurationError(f"parameter '{name}': {problem}{given_value}" if name else problem) from None


def _meta(hint: Any) -> msgspec.Meta | None:
    """What ``about`` said of a field, also where only one half of a union carries it."""
    parts = get_args(hint)
    metas = [part for part in parts if isinstance(part, msgspec.Meta)]
    return metas[0] if metas else next(filter(None, map(_meta, parts)), None)


def _kind(hint: Any) -> str:
    """A type as a user would write it: ``int``, ``float or none``, ``oldest|first-in``."""
    origin = get_origin(hint)
    if origin is Literal:
        return "|".join(str(choice) for choice in get_args(hint))
    if origin is Annotated:
        return _kind(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return " or ".join("none" if part is type(None) else _kind(part) for part in get_args(hint))
    if origin in (list, tuple):
        return "list of " + _kind(next(part for part in get_args(hint) if part is not Ellipsis))
    return getattr(hint, "__name__", str(hint))
