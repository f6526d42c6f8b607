"""The runs of a study as rows, to be asked for metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hunet.model import InputError
from hunet.model.intervals import Interval
from hunet.model.run_files import complete, read_runs

Row = dict[str, Any]
"""A run: the columns of its summary, its name, its ``place`` in the study and the ``folder`` of the study."""
Figure = Callable[[Row], float | None]
"""A figure of a paper, from the row of a run; None where a run has none."""
Metric = str | Figure
"""A column of a run, or a function of its row."""


class NotRunError(LookupError):
    """There is no run at a place of a study."""


def axes_of(row: Row) -> Row:
    """Where a run stands: the values of the axes, by the last part of their names."""
    return {name.rpartition(".")[2]: value for name, value in row["axes"].items()}


def tables_of(row: Row) -> Path:
    """The folder of a run's own tables, if the study kept them."""
    return Path(row["folder"] / "tables" / row["key"])


class Runs:
    """The runs of a study, to be asked for metrics."""

    def __init__(self, rows: Iterable[Row], coordinates: Callable[[Row], Row] = axes_of) -> None:
        """``place`` tells where a run stands: what it is asked for by, as in ``runs.at("relayed", "push", ttl=60)``."""
        self.rows = [row if "coordinates" in row else {**row, "coordinates": coordinates(row)} for row in rows]

    @classmethod
    def read(cls, folder: Path | str, coordinates: Callable[[Row], Row] = axes_of) -> Runs:
        """From the folder that ``hunet study`` wrote; repetitions that are not complete are left out."""
        done = [row for row in read_runs(folder) if row.get("error") is None]
        if not done:
            raise InputError(folder, "holds no runs of a study: run 'hunet study FILE.toml -o FOLDER' first")
        rows = complete(done)
        if not rows:
            raise InputError(folder, "has no repetition in which no run is missing: run the same 'hunet study' again")
        return cls([{**row, "folder": Path(folder)} for row in rows], coordinates)

    @property
    def repetitions(self) -> int:
        """How many repetitions there are."""
        return len({row["repetition"] for row in self.rows})

    @property
    def seeds(self) -> str:
        """How many it has; of kept means without seeds, of how many runs they are."""
        known = {row["seed"] for row in self.rows if row.get("seed") is not None}
        if not known:
            return f"means of {max(row.get('runs', 1) for row in self.rows)} runs"
        return f"{len(known)} seed{'s' if len(known) > 1 else ''}"

    def only(self, protocol: str | None = None, **coordinates: Any) -> Runs:
        """The runs of a protocol (or all) at a place of the grid."""
        return Runs(
            row
            for row in self.rows
            if protocol in (None, row["protocol"])
            and all(row["coordinates"].get(name) == at for name, at in coordinates.items())
        )

    def first(self, protocol: str | None = None, **coordinates: Any) -> Row:
        """The first run at a place, where all are the same."""
        found = self.only(protocol, **coordinates).rows
        if not found:
            raise NotRunError
        return found[0]

    def values(self, metric: Metric, protocol: str, **coordinates: Any) -> list[float]:
        """A metric in all runs of a protocol at a place."""
        rows = self.only(protocol, **coordinates).rows
        found = [row[metric] if isinstance(metric, str) else metric(row) for row in rows]
        return [float(value) for value in found if value is not None]

    def at(self, metric: Metric, protocol: str, **coordinates: Any) -> Interval:
        """The mean of a metric over repetitions, with its confidence interval."""
        return Interval.of(self.values(metric, protocol, **coordinates))

    def by(self, axis: str) -> dict[Any, Runs]:
        """The runs by their place on an axis, in order."""
        values = {row["coordinates"][axis] for row in self.rows if axis in row["coordinates"]}
        return {value: self.only(**{axis: value}) for value in sorted(values)}

    def along(self, metric: Metric, protocol: str, axis: str) -> dict[Any, Interval]:
        """A metric along an axis of the grid, in order."""
        return {value: part.at(metric, protocol) for value, part in self.only(protocol).by(axis).items()}


Studies = dict[str, Runs]
"""The studies of a system that have results, by the name of their files."""


def has_runs(folder: Path) -> bool:
    """Whether a folder holds runs of a study."""
    return any(folder.glob("runs/protocol=*/*.parquet"))


def read_studies(results: Path, names: Iterable[str], coordinates: Callable[[Row], Row] = axes_of) -> Studies:
    """The studies that have results, each in a folder named as its file."""
    return {name: Runs.read(results / name, coordinates) for name in names if has_runs(results / name)}
