"""Workloads from a seed or from files."""

from __future__ import annotations

import csv
from math import inf, isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from hunet.model import (
    ConfigurationError,
    InputError,
    Parameters,
    Publication,
    Subscription,
    Workload,
    about,
    did_you_mean,
    from_mapping,
)
from hunet.simulation.randomness import Stream, generator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hunet.model import Contacts

__all__ = ["WorkloadParameters", "make_workload", "read_workload"]


class WorkloadParameters(Parameters, frozen=True):
    """A generated workload: who wants what, and who says what when."""

    messages: Annotated[int, about("publications in all", ge=0)] = 100
    topics: Annotated[int, about("topics, named t0, t1, ...", ge=1)] = 10
    interests: Annotated[int, about("distinct topics that a subscriber wants, drawn uniformly", ge=0)] = 1
    subscribers: Annotated[float, about("share of the nodes that subscribe", ge=0, le=1)] = 1.0
    publishers: Annotated[float, about("share of the nodes that publish", gt=0, le=1)] = 1.0
    popularity: Annotated[
        float, about("Zipf exponent of the topics of messages; 0 makes them equally likely", ge=0)
    ] = 0.0
    first: Annotated[float, about("when publishing begins, as a share of the trace", ge=0, le=1)] = 0.0
    last: Annotated[float, about("when publishing ends, as a share of the trace", ge=0, le=1)] = 0.7
    timing: Annotated[Literal["uniform", "regular"], about("publication times: uniformly random, or evenly spaced")] = (
        "uniform"
    )
    size: Annotated[int, about("bytes of a message", unit="bytes", ge=0)] = 140
    ttl: Annotated[float, about("life of a message; none is for ever", unit="s", ge=0)] | None = None

    def __post_init__(self) -> None:
        if self.interests > self.topics:
            raise ValueError(f"interests ({self.interests}) cannot exceed topics ({self.topics})")
        if self.first > self.last:
            raise ValueError(f"first ({self.first:g}) must not be after last ({self.last:g})")


def make_workload(contacts: Contacts, seed: int = 1, **given: Any) -> Workload:
    """A random workload for these contacts; the parameters are those of :class:`WorkloadParameters`.

    Who wants and who says what comes from one random stream, the times from another.

    >>> from hunet.model import Contacts
    >>> line = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30)])
    >>> work = make_workload(line, seed=7, messages=2, topics=3)
    >>> [(p.id, p.node, p.topic) for p in work.publications]
    [('m0', 2, 't1'), ('m1', 1, 't2')]
    """
    chosen = from_mapping(WorkloadParameters, given)
    nodes = len(contacts.names)
    if not nodes:
        raise ConfigurationError("a workload needs nodes, and the contact table has none")
    roles, times = generator(seed, Stream.ROLES), generator(seed, Stream.TIMES)

    subscribing = np.sort(roles.permutation(nodes)[: round(chosen.subscribers * nodes)])
    subscriptions = [
        Subscription(int(node), f"t{topic}")
        for node in subscribing
        for topic in sorted(roles.permutation(chosen.topics)[: chosen.interests])
    ]
    publishing = np.sort(roles.permutation(nodes)[: max(1, round(chosen.publishers * nodes))])
    weights = 1.0 / np.arange(1, chosen.topics + 1) ** chosen.popularity
    publishers = roles.choice(publishing, chosen.messages)
    topics = roles.choice(chosen.topics, chosen.messages, p=weights / weights.sum())

    begin, finish = contacts.span
    window = begin + chosen.first * (finish - begin), begin + chosen.last * (finish - begin)
    if chosen.timing == "uniform":
        when = np.sort(times.uniform(*window, chosen.messages))
    else:
        when = np.linspace(*window, chosen.messages, endpoint=False)
    publications = [
        Publication(f"m{i}", float(when[i]), int(publishers[i]), f"t{topics[i]}", chosen.size, chosen.ttl)
        for i in range(chosen.messages)
    ]
    made = {"generated": msgspec.to_builtins(chosen), "seed": seed}
    return Workload.of(publications, subscriptions, made)


def read_workload(contacts: Contacts, publications: Path, subscriptions: Path) -> Workload:
    """A workload from two CSV files with a header line.

    Publications: id, time, node, topic, and if wanted size (bytes) and ttl (seconds). Subscriptions: node, topic, and
    if wanted from and until (seconds, both included). Nodes are named as in the contact table.
    """
    number = {name: i for i, name in enumerate(contacts.names)}

    def node(row: _Row) -> int:
        name = row.text("node")
        if name not in number:
            raise row.error(f"no node '{name}' in the contacts: {did_you_mean(name, number)[:200]}")
        return number[name]

    said = []
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
        said.append(Publication(name, time, node(row), row.text("topic"), int(size), None if ttl == inf else ttl))
    wanted = []
    for row in _rows(subscriptions, ("node", "topic"), ("from", "until")):
        start, end = row.number("from", -inf), row.number("until", inf)
        if end < start:
            raise row.error(f"the subscription ends ({end:g}) before it begins ({start:g})")
        wanted.append(Subscription(node(row), row.text("topic"), start, end))
    return Workload.of(said, wanted, {"publications": publications.name, "subscriptions": subscriptions.name})


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
