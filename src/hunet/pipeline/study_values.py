"""The values in the files of studies and runs: one, a list of several, or a range."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hunet.model.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hunet.model.parameters import Parameters


def canonical(value: Any) -> str:
    """JSON in which equal values are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def check_keys(path: Path, given: dict[str, Any], known: Iterable[str]) -> None:
    """Refuse keys that nobody knows."""
    for key in given:
        if key not in known:
            raise InputError(path, f"no key '{key}': {did_you_mean(key, known)}")


def list_of_tables(path: Path, given: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """What a file says as ``[[key]]``."""
    tables = given.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise InputError(path, f"write each {key} as a table [[{key}]]")
    return tables


def values_of_table(path: Path, name: str, table: Any, record: type[Parameters] | None = None) -> dict[str, list[Any]]:
    """The keys of a table, each with its values; ``record`` says what the protocol's parameters are."""
    import msgspec

    if not isinstance(table, dict):
        raise InputError(path, f"'{name}' must be a table")
    records = [record] if record else _records_of(name, table)
    types = {field.name: field.type for each in records for field in msgspec.structs.fields(each)}
    return {key: values_of(path, f"{name}.{key}", value, types.get(key)) for key, value in table.items()}


def _records_of(name: str, table: dict[str, Any]) -> list[type[Parameters]]:
    """The parameters that a table of a workload, of links or of a world can have."""
    from hunet.systems import WORKLOADS

    if name == "links":
        from hunet.simulation import Links

        return [Links]
    kinds: Mapping[str, Any] = WORKLOADS
    kind = table.get("kind", "uniform")
    if name == "world":
        from hunet.worlds import WORLDS

        kinds, kind = WORLDS, table["name"]
    named = map(str, kind if isinstance(kind, list) else [kind])
    return [kinds[each].parameters for each in named if each in kinds]


def values_of(path: Path, name: str, value: Any, kind: Any = None) -> list[Any]:
    """The values of a key: one, those of a list, or those of a range; one may itself be a list or a table."""
    if kind is not None and isinstance(value, (list, dict)):
        import msgspec

        with suppress(msgspec.ValidationError):
            msgspec.convert(value, kind, strict=False)
            return [value]
    if isinstance(value, list):
        if not value and name != "contacts":
            raise InputError(path, f"'{name}' is an empty list: give at least one value")
        if len({canonical(each) for each in value}) < len(value):
            raise InputError(path, f"'{name}' names a value twice")
        return value
    if isinstance(value, dict):
        return _range(path, name, value)
    return [value]


def _range(path: Path, name: str, given: dict[str, Any]) -> list[Any]:
    import numpy as np

    problem = f"'{name}': a range is {{from, to, step}} or {{from, to, count}}, if wanted with scale = \"log\""
    if not {"from", "to"} < set(given) or set(given) - {"from", "to", "step", "count", "scale"}:
        raise InputError(path, problem)
    low, high = given["from"], given["to"]
    if "count" in given:
        space = np.geomspace if given.get("scale") == "log" else np.linspace
        if given["count"] < 1 or (given.get("scale") == "log" and min(low, high) <= 0):
            raise InputError(path, problem)
        values = [float(f"{value:.12g}") for value in space(low, high, given["count"]).tolist()]
    else:
        step = given.get("step", 0)
        if step <= 0 or high < low or "scale" in given:
            raise InputError(path, problem)
        many = int((high - low) / step + 1e-9) + 1
        values = [float(f"{low + i * step:.12g}") for i in range(many)]
    whole = all(isinstance(each, int) for each in given.values() if not isinstance(each, str))
    return [int(value) if whole and value.is_integer() else value for value in values]
