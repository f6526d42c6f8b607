"""The runs of a study as rows, to be asked for metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hunet.model import InputError
from hunet.model.intervals import Interval
from hunet.model.run_files import complete, read_runs

Metric = str | Callable[[dict[str, Any]], float | None]
"""A column of a run, or a function of its row; None where a run has none."""


class Runs:
    """The runs of a study, to be asked for metrics."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.rows = list(rows)

    @classmethod
    def read(cls, folder: Path | str) -> Runs:
        """From the folder that ``hunet study`` wrote; repetitions that are not complete are left out."""
        done = [row for row in read_runs(folder) if row.get("error") is None]
        if not done:
            raise InputError(folder, "holds no runs of a study: run 'hunet study FILE.toml -o FOLDER' first")
        rows = complete(done)
        if not rows:
            raise InputError(folder, "has no repetition in which no run is missing: run the same 'hunet study' again")
        return cls(rows)

    @property
    def repetitions(self) -> int:
        """How many repetitions there are."""
        return len({row["repetition"] for row in self.rows})

    def values(self, metric: Metric, protocol: str, **axes: Any) -> list[float]:
        """A metric in all runs of a protocol at a point of the grid; axes by the last part of their names."""
        found = []
        for row in self.rows:
            place = {name.rpartition(".")[2]: value for name, value in row["axes"].items()}
            if row["protocol"] == protocol and all(place.get(name) == value for name, value in axes.items()):
                value = row[metric] if isinstance(metric, str) else metric(row)
                if value is not None:
                    found.append(float(value))
        return found

    def at(self, metric: Metric, protocol: str, **axes: Any) -> Interval:
        """The mean of a metric over repetitions, with its confidence interval."""
        return Interval.of(self.values(metric, protocol, **axes))

    def along(self, metric: Metric, protocol: str, axis: str) -> dict[Any, Interval]:
        """A metric along an axis of the grid, in order."""
        places = {
            value
            for row in self.rows
            if row["protocol"] == protocol
            for name, value in row["axes"].items()
            if name.rpartition(".")[2] == axis
        }
        return {place: self.at(metric, protocol, **{axis: place}) for place in sorted(places)}


def has_runs(folder: Path) -> bool:
    """Whether a folder holds runs of a study."""
    return any(folder.glob("runs/protocol=*/*.parquet"))


def read_studies(results: Path, names: Iterable[str]) -> dict[str, Runs]:
    """The studies of a system that have results, each in a folder named as its file."""
    return {name: Runs.read(results / name) for name in names if has_runs(results / name)}
