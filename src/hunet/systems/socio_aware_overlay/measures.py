"""The results of the Socio-Aware Overlay's studies as its paper measures: stages A, B and C of a publication.

A publication is created (A), handed over by its publisher for the first time (B) and delivered to a subscriber (C;
section 5.3). Times are counted in units. The paper says that one has 0.5 s, but its tables have hours beside the
units, and all ten rows agree on 390 s. *Undelivered* are publications that reached nobody; averages are over deliveries
(A1 and A2 of our specification).
"""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.intervals import Interval
from hunet.report.runs import Runs, has_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OVERLAY, PUSH = "socio-aware-overlay", "push"
UNIT = 390.0
"""Seconds in a time unit of the paper's tables."""


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
    pairs: float | None
    """Share of (publication, subscriber) pairs that were served."""
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


def stages(folder: Path, row: dict[str, Any]) -> list[Stages]:
    """All deliveries of a run of a study that keeps its tables."""
    author = dict(zip(*_columns(folder, row, "publications", "publication", "publisher"), strict=True))
    handed: dict[str, float] = {}
    for time, sender, said in zip(*_columns(folder, row, "forwards", "time", "sender", "publication"), strict=True):
        if sender == author[said]:
            handed.setdefault(said, time)  # rows are in the order of time
    served = _columns(folder, row, "deliveries", "publication", "node", "time", "hops", "delay")
    return [
        Stages(node, hops, delay / UNIT, (time - handed[said]) / UNIT)
        for said, node, time, hops, delay in zip(*served, strict=True)
    ]


def measured(folder: Path, row: dict[str, Any]) -> Dissemination:
    """Measure a run of a study that keeps its tables."""
    served = stages(folder, row)
    [delivered] = _columns(folder, row, "publications", "delivered")
    undelivered = _share([not many for many in delivered])
    if not served:
        return Dissemination(None, None, None, undelivered, 0, row["delivery_ratio"], *[None] * 5)
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
        row["delivery_ratio"],
        _share([each.since_handed < 1 for each in served]),
        _share([each < average for each in units]),
        median(units),
        _share([each.hops == 0 for each in served]),
        _share([mean(waits) > 10 for waits in waiting.values()]),
    )


def _columns(folder: Path, row: dict[str, Any], table: str, *names: str) -> list[list[Any]]:
    import pyarrow.parquet as pq

    read = pq.read_table(folder / "tables" / row["key"] / f"{table}.parquet", columns=list(names))
    return [read.column(name).to_pylist() for name in names]


def _share(holds: list[bool]) -> float:
    return sum(holds) / len(holds) if holds else 0.0


class Studies:
    """The results of the studies, by the stem of the study file; those that have not been run are not there."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._runs: dict[str, Runs | None] = {}
        self._measured: dict[str, Dissemination] = {}

    def runs(self, stem: str) -> Runs | None:
        """The runs of a study, if there are any."""
        if stem not in self._runs:
            folder = self._results / stem
            self._runs[stem] = Runs.read(folder) if has_runs(folder) else None
        return self._runs[stem]

    def at(self, stem: str, metric: Callable[[Dissemination], float | None], **axes: Any) -> Interval | None:
        """A measure of dissemination at a point of a study; None if it has not been run, or has no deliveries."""
        runs = self.runs(stem)
        if runs is None:
            return None

        def of(row: dict[str, Any]) -> float | None:
            if row["key"] not in self._measured:
                self._measured[row["key"]] = measured(self._results / stem, row)
            return metric(self._measured[row["key"]])

        found = runs.at(of, OVERLAY, **axes)
        return found if found.runs else None

    def communities(self, stem: str, **axes: Any) -> list[dict[str, Any]] | None:
        """The communities that a frozen study took for granted, at a point of the grid."""
        row = self._first(stem, lambda row: row["protocol"] == OVERLAY, axes)
        return None if row is None else row["name"]["result"]["parameters"]["communities"]

    def figures(self, stem: str, contacts: str | None = None, **axes: Any) -> dict[str, Any] | None:
        """The figures of the analysis of communities at a point of the grid; nothing there is random."""
        row = self._first(stem, lambda row: contacts in (None, row["contacts"]), axes)
        return None if row is None else row["observed"]

    def _first(
        self, stem: str, wanted: Callable[[dict[str, Any]], bool], axes: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The first run of a study at a point of its grid."""
        runs = self.runs(stem)
        for row in runs.rows if runs else ():
            place = {name.rpartition(".")[2]: value for name, value in row["axes"].items()}
            if wanted(row) and all(place.get(name) == value for name, value in axes.items()):
                return row
        return None
