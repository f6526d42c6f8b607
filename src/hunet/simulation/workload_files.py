"""Workloads from CSV files: who says what when, and who wants what."""

from __future__ import annotations

import csv
from math import inf, isfinite
from typing import TYPE_CHECKING

from hunet.model import (
    ConfigurationError,
    InputError,
    Publication,
    Subscription,
    Workload,
    canonical_interest,
    canonical_topic,
    did_you_mean,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hunet.model import Contacts


def read_workload(contacts: Contacts, publications: Path, subscriptions: Path) -> Workload:
    """A workload from two CSV files with a header line.

    Publications: id, time, node, topic (tags and attributes); optional: size (bytes) and ttl (seconds). Subscriptions:
    node, topic (an interest); optional: from and until (seconds, both included). Nodes are named as in the contacts.
    """
    number = {name: i for i, name in enumerate(contacts.names)}

    def node(row: _Row) -> int:
        name = row.text("node")
        if name not in number:
            raise row.error(f"no node '{name}' in the contacts: {did_you_mean(name, number)[:200]}")
        return number[name]

    published = []
    lines: dict[str, int] = {}
    for row in _rows(publications, ("id", "time", "node", "topic"), ("size", "ttl")):
        name = row.text("id")
        if name in lines:
            raise row.error(f"the id '{name}' was already used in line {lines[name]}: ids must differ")
        lines[name] = row.line
        size, ttl = row.number("size", 140.0), row.number("ttl", inf)
        if not size.is_integer():
            raise row.error(f"size must be a whole number of bytes, not {size:g}")
        time = row.number("time")
        if not isfinite(time):
            raise row.error("time must be a finite number of seconds")
        topic = row.canonical("topic", canonical_topic)
        published.append(Publication(name, time, node(row), topic, int(size), None if ttl == inf else ttl))
    wanted = []
    for row in _rows(subscriptions, ("node", "topic"), ("from", "until")):
        start, end = row.number("from", -inf), row.number("until", inf)
        if end < start:
            raise row.error(f"the subscription ends ({end:g}) before it begins ({start:g})")
        wanted.append(Subscription(node(row), row.canonical("topic", canonical_interest), start, end))
    return Workload.of(published, wanted, {"publications": publications.name, "subscriptions": subscriptions.name})


class _Row:
    """One line of a CSV file, which knows where it stands."""

    def __init__(self, path: Path, line: int, values: dict[str, str]) -> None:
        self.path, self.line, self._values = path, line, values

    def error(self, problem: str) -> InputError:
        return InputError(self.path, problem, self.line)

    def text(self, column: str) -> str:
        value = self._values[column]
        if not value:
            raise self.error(f"'{column}' is empty")
        return value

    def canonical(self, column: str, form: Callable[[str], str]) -> str:
        """A text of the language of interests."""
        try:
            return form(self.text(column))
        except ConfigurationError as error:
            raise self.error(str(error)) from None

    def number(self, column: str, default: float | None = None) -> float:
        value = self._values.get(column, "")
        if not value and default is not None:
            return default
        try:
            number = float(self.text(column))
        except ValueError:
            raise self.error(f"'{column}' must be a number, not '{value}'") from None
        if not number >= 0:
            raise self.error(f"'{column}' must not be negative, and it is {value}")
        return number


def _rows(path: Path, needed: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[_Row]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file, strict=True)
            header = [name.strip() for name in next(lines, [])]
            for name in needed:
                if name not in header:
                    raise InputError(path, f"no column '{name}': the first line must name {', '.join(needed)}", 1)
            for name in header:
                if name not in needed + optional:
                    raise InputError(path, f"no use for column '{name}': {did_you_mean(name, needed + optional)}", 1)
            for values in lines:
                if not values:
                    continue
                if len(values) != len(header):
                    problem = f"{len(values)} values where the header names {len(header)} columns"
                    raise InputError(path, problem, lines.line_num)
                stripped = (value.strip() for value in values)
                yield _Row(path, lines.line_num, dict(zip(header, stripped, strict=True)))
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(path, f"not a CSV file in UTF-8: {error}") from None
