"""The results of the Socio-Aware Overlay's studies as its paper measures: stages A, B and C of a publication.

A publication is created (A), handed over by its publisher for the first time (B) and delivered to a subscriber (C;
section 5.3). Times are counted in units. The paper says that one has 0.5 s, but its tables have hours beside the
units, and all ten rows agree on 390 s. *Undelivered* are publications that reached nobody; averages are over deliveries
(a row of UCSD has 17 publications delivered, 17 hops in all, and 1.00 on average).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from hunet.report.runs import Figure, Row, axes_of, tables_of

OVERLAY, PUSH = "socio-aware-overlay", "push"
UNIT = 390.0
"""Seconds in a time unit of the paper's tables."""


def coordinates(row: Row) -> Row:
    """Where a run stands: its trace, and the values of the axes."""
    return {"trace": row["contacts"], **axes_of(row)}


def undelivered_percent(undelivered: int, publications: int) -> int:
    """As the paper's tables have it.

    >>> [undelivered_percent(*row) for row in ((261, 1000), (242, 500), (115, 200))]
    [26, 48, 58]
    """
    return int(100 * undelivered / publications + 0.5)


class Dissemination(NamedTuple):
    """A row of Tables 3 to 5, of one run."""

    hops: float | None
    contact_to_sub: float | None
    """C - B, units."""
    pub_to_sub: float | None
    """C - A, units."""
    undelivered: float
    """Share of the publications."""
    total_hops: float
    handed_at_once: float | None
    """Share of the deliveries in the unit of B."""
    quicker_than_mean: float | None
    """Share of the deliveries whose C - A is below the mean."""
    median_units: float | None
    no_contact: float | None
    """Share of the deliveries without a contact on the way: from a publisher that is a broker."""
    late_subscribers: float | None
    """Share of the subscribers that wait for more than ten units after B, on average (Fig. 13)."""

    @property
    def hops_with_injection(self) -> float | None:
        """Mean hops if the contact at B counts in any case."""
        return None if self.hops is None or self.no_contact is None else self.hops + self.no_contact


class Stages(NamedTuple):
    """A delivery: to whom, after how many hops, and how long after stages A and B, in units."""

    subscriber: str
    hops: int
    since_created: float
    since_handed: float


def stages(tables: Path) -> list[Stages]:
    """All deliveries of a run of a study that keeps its tables."""
    author = dict(zip(*_columns(tables, "publications", "publication", "publisher"), strict=True))
    handed: dict[str, float] = {}
    for time, sender, publication in zip(*_columns(tables, "forwards", "time", "sender", "publication"), strict=True):
        if sender == author[publication]:
            handed.setdefault(publication, time)  # rows are in the order of time
    served = _columns(tables, "deliveries", "publication", "node", "time", "hops", "delay")
    return [
        Stages(node, hops, delay / UNIT, (time - handed[publication]) / UNIT)
        for publication, node, time, hops, delay in zip(*served, strict=True)
    ]


@cache
def measured(tables: Path) -> Dissemination:
    """Measure a run of a study that keeps its tables."""
    served = stages(tables)
    [delivered] = _columns(tables, "publications", "delivered")
    undelivered = _share([not many for many in delivered])
    if not served:
        return Dissemination(None, None, None, undelivered, 0, *[None] * 5)
    units = [each.since_created for each in served]
    average = mean(units)
    waiting: dict[str, list[float]] = {}
    for each in served:
        waiting.setdefault(each.subscriber, []).append(each.since_handed)
    return Dissemination(
        mean(each.hops for each in served),
        mean(each.since_handed for each in served),
        average,
        undelivered,
        sum(each.hops for each in served),
        _share([each.since_handed < 1 for each in served]),
        _share([each < average for each in units]),
        median(units),
        _share([each.hops == 0 for each in served]),
        _share([mean(waits) > 10 for waits in waiting.values()]),
    )


def measure(name: str) -> Figure:
    """A field of :class:`Dissemination` as a metric of a run."""

    def of(row: Row) -> float | None:
        found: float | None = getattr(measured(tables_of(row)), name)
        return found

    return of


def _columns(tables: Path, table: str, *names: str) -> list[list[Any]]:
    import pyarrow.parquet as pq

    read = pq.read_table(tables / f"{table}.parquet", columns=list(names))
    return [read.column(name).to_pylist() for name in names]


def _share(holds: list[bool]) -> float:
    return sum(holds) / len(holds) if holds else 0.0


def _within(*path: str | int) -> Figure:
    """What the analysis of a trace's communities found, or the frozen communities of a run say."""

    def of(row: Row) -> float | None:
        found: Any = row["observed"]
        for step in path:
            found = found[step]
        return float(len(found)) if isinstance(found, list) else found

    return of


def _size(row: Row) -> float:
    """The mean size of the communities that devices found."""
    return mean(len(each) for each in row["observed"]["communities"])


def _frozen(measured: Callable[[list[dict[str, Any]]], float]) -> Figure:
    """A figure of the communities that a frozen study took for granted, the largest first."""
    return lambda row: float(measured(_communities(row)))


def _communities(row: Row) -> list[dict[str, Any]]:
    """What a frozen study took for granted: given, or prepared from the trace."""
    name = row["name"]["result"]
    found: list[dict[str, Any]] = {**name["parameters"], **name.get("prepared", {})}["communities"]
    return found


FIGURES: dict[str, Figure] = {
    "pair_hops": _within("graph", "hops_mean"),
    "clustering": _within("graph", "clustering_mean"),
    "similarity": _within("similarity", "k-clique"),
    "similarity_to_newman": _within("similarity", "newman"),
    "accuracy": _within("accuracy", "k-clique"),
    "found_half_alike": _within("found", "k-clique", 0),
    "found_nearly_alike": _within("found", "k-clique", 4),
    "communities": _within("communities"),
    "community_size": _size,
    "community_density": _within("density"),
    **{name: measure(name) for name in Dissemination._fields},
    "median_share": lambda row: _median_share(measured(tables_of(row))),
    "epidemic_total_hops": lambda row: (row["hopcount_avg"] or 0) * row["delivered"],
    "frozen_communities": _frozen(len),
    "largest_community": _frozen(lambda known: len(known[0]["members"])),
    "brokers_of_largest": _frozen(lambda known: len(known[0]["brokers"])),
    "loners": _frozen(lambda known: max(len(each["guests"]) for each in known)),
    "broker_share": _frozen(lambda known: mean(len(each["brokers"]) / len(each["members"]) for each in known)),
}
"""Tables 1 to 5, Fig. 5 to 9 and 12 to 14, and section 5.3, as columns of summaries, reports and claims."""


def _median_share(found: Dissemination) -> float | None:
    """The median of C - A relative to its mean."""
    return found.median_units / found.pub_to_sub if found.median_units is not None and found.pub_to_sub else None
