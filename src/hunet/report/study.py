"""A study as it is told: its runs by series, by place of the grid, by what was compared.

A *series* is a protocol with all else that distinguishes points of the study, but for the parameter along the
horizontal axis. *Alternatives* are protocols with their own parameters; they are compared in the same *surroundings*:
contacts, workload, links, all that is not theirs to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hunet.model import InputError
from hunet.model.run_files import Row, add_figures
from hunet.report.metrics import METRICS, Metric
from hunet.report.runs import Figure, Runs

REPORTED = tuple(
    METRICS[name]
    for name in (
        *("delivery_ratio", "reachable_ratio", "forwards", "latency_avg", "hopcount_avg", "overhead_ratio"),
        *("copies_avg", "control_bytes", "seen_bytes", "out_of_band_bytes", "buffer_avg", "brokers"),
    )
)
"""What a report shows, in this order."""


class StudyResults:
    """The runs that ``hunet study`` left in a folder."""

    def __init__(self, folder: Path, figures_of: Callable[[Iterable[str]], Mapping[str, Figure]] | None = None) -> None:
        """``figures_of`` tells the figures that the papers of some protocols report, by name."""
        self.folder = folder
        runs = Runs.read(folder)
        if not (folder / "study.json").exists():
            raise InputError(folder, "is not the folder of a study: it has no study.json")
        self.rows, self.repetitions = runs.rows, runs.repetitions
        figures = figures_of({row["protocol"] for row in self.rows}) if figures_of else {}
        add_figures(self.rows, figures)
        self._own = [Metric(name, name.replace("_", " "), digits=3) for name in figures]
        names = {axis for row in self.rows for axis in row["axes"]}
        self.axes = sorted(names, key=lambda axis: (axis != "contacts", axis))

    def sources(self) -> dict[str, Row]:
        """The first run on each trace or world, by its label."""
        found: dict[str, Row] = {}
        for row in self.rows:
            found.setdefault(row["contacts"], row)
        return found

    def series(self, but: str = "") -> dict[str, list[Row]]:
        """The runs by protocol and all axes but one, in the order of the study."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(self._label(row, [axis for axis in self.axes if axis != but]), []).append(row)
        return found

    def alternatives(self) -> dict[str, dict[str, list[Row]]]:
        """The runs by surroundings and then by alternative."""
        own = [axis for axis in self.axes if axis.startswith("parameters.") or axis == "case"]
        around = [axis for axis in self.axes if axis not in own]
        found: dict[str, dict[str, list[Row]]] = {}
        for row in self.rows:
            point = self._label(row, around, protocol=False)
            found.setdefault(point, {}).setdefault(self._label(row, own), []).append(row)
        return found

    def ranked(self) -> dict[str, list[Row]]:
        """The series, in the order of their surroundings and there the highest delivery first."""
        keys_at = [[row["key"] for rows in each.values() for row in rows] for each in self.alternatives().values()]
        index_of = {key: number for number, keys in enumerate(keys_at) for key in keys}

        def rank(name: str) -> tuple[int, float]:
            delivered = METRICS["delivery_ratio"].of(series[name])
            return index_of[series[name][0]["key"]], -delivered.mean if delivered.runs else 1.0

        series = self.series()
        return {name: series[name] for name in sorted(series, key=rank)}

    def _label(self, row: Row, axes: list[str], *, protocol: bool = True) -> str:
        values = {axis: row["axes"][axis] for axis in axes if axis in row["axes"]}
        name = values.pop("case", row["protocol"])  # a case has a name that says what it is
        return ", ".join([*([name] if protocol else []), *(f"{short(axis)} {value}" for axis, value in values.items())])

    def numeric(self) -> list[str]:
        """The axes along which curves can be drawn."""
        return [axis for axis in self.axes if self._is_numeric(axis)]

    def _is_numeric(self, axis: str) -> bool:
        values = [row["axes"][axis] for row in self.rows if axis in row["axes"]]
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        return numbers and len(set(values)) > 1

    def shown(self, names: tuple[str, ...] = ()) -> list[Metric]:
        """The metrics that some run has, of those that are named; at the end the papers' own figures."""
        metrics = [*REPORTED, *self._own]
        known = [metric for metric in metrics if metric.shown(row[metric.name] for row in self.rows)]
        return [metric for metric in known if not names or metric.name in names]

    def tables(self, row: Row) -> Path | None:
        """The folder of a run's own tables, if the study kept them."""
        path = self.folder / "tables" / str(row["key"])
        return path if (path / "series.parquet").exists() else None

    def has_tables(self) -> bool:
        """Whether the study kept the tables of all runs."""
        return all(self.tables(row) for row in self.rows)


def short(axis: str) -> str:
    """An axis without the table that it stands in.

    >>> short("workload.ttl")
    'ttl'
    """
    return axis.rpartition(".")[2]
