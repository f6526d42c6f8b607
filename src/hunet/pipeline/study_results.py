"""The results of a study: one Parquet file a run, and summary tables over the grid.

``runs/protocol=NAME/KEY.parquet`` has one row a run (table ``RUNS``), which any tool reads as one partitioned data
set. ``failed/protocol=NAME/KEY.parquet`` has the same for a run that failed, until it is tried again and does not.
``summary.parquet`` and ``summary.csv`` have one row a grid point: its values, how many runs, and for each metric
the mean over the repetitions and half the width of its 95 % confidence interval by Student's t. Sums are exact, so
that the bytes depend on the results alone.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from hunet.model.files import file_in_place
from hunet.model.intervals import Interval
from hunet.model.run_files import Row, read_runs
from hunet.pipeline.study_plan import Run, Study
from hunet.pipeline.study_values import canonical

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from hunet.simulation import Result

__all__ = ["RUNS", "load_runs", "metrics", "run_file", "summarise_study", "write_run"]

RUNS: dict[str, str] = {
    "key": "the run's own name, a hash of all that it depends on",
    "point": "number of the grid point",
    "repetition": "number of the repetition, from 0",
    "seed": "its seed",
    "contacts": "label of the trace or world",
    "axes": "the values in which points differ (JSON)",
    "name": "all that the run depends on (JSON)",
    "error": "what went wrong; null if the run is complete",
    "role_time": "for each role, the mean number of nodes that had it (JSON)",
    "observed": "what the protocols counted themselves, summed over nodes; the figures of an analysis (JSON)",
}
"""The columns of a run beside its metrics, which are those of ``hunet.simulation.SUMMARY``, as numbers."""


def metrics() -> list[str]:
    """The metrics of a run, in the order of the summary."""
    from hunet.simulation import SUMMARY

    return [name for name in SUMMARY if name not in ("role_time", "observed")]


def run_file(folder: Path, run: Run, kind: str = "runs") -> Path:
    """Where a run's result is; or, if ``kind`` is ``failed``, its failure."""
    return folder / kind / f"protocol={run.point.protocol}" / f"{run.key}.parquet"


def write_run(
    folder: Path, run: Run, result: Result | None, error: str | None, figures: dict[str, Any] | None = None
) -> None:
    """Write a run's row, in one step; ``figures`` are those of an analysis."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    summary = result.summary if result is not None else {}
    observed = summary["observed"] if summary else figures
    named = {**run.name, "result": result.name} if result is not None else run.name
    columns = {
        "key": pa.array([run.key], pa.string()),
        "point": pa.array([run.point.number], pa.int32()),
        "repetition": pa.array([run.repetition], pa.int32()),
        "seed": pa.array([run.seed], pa.int64()),
        "contacts": pa.array([run.point.source.label], pa.string()),
        "axes": pa.array([canonical(run.point.axes)], pa.string()),
        "name": pa.array([canonical(named)], pa.string()),
        "error": pa.array([error], pa.string()),
        "role_time": pa.array([canonical(summary["role_time"]) if summary else None], pa.string()),
        "observed": pa.array([None if observed is None else canonical(observed)], pa.string()),
    }
    for metric in metrics():
        value = summary.get(metric)
        columns[metric] = pa.array([None if value is None else float(value)], pa.float64())
    failure = run_file(folder, run, "failed")
    with file_in_place(failure if error is not None else run_file(folder, run)) as place:
        pq.write_table(pa.table(columns), place)
    if error is None:
        failure.unlink(missing_ok=True)


def load_runs(folder: Path, study: Study) -> list[Row]:
    """The rows of all runs of a study that were done or failed, in the order of its grid."""
    known = {run.key for run in study.runs()}
    return [row for row in read_runs(folder) if row["key"] in known]


def summarise_study(folder: Path, study: Study) -> pa.Table:
    """Write the summary tables and return the one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    by_point: dict[int, list[Row]] = {}
    for row in load_runs(folder, study):
        by_point.setdefault(row["point"], []).append(row)
    axes = sorted({name for point in study.points for name in point.axes} - {"contacts"})
    measures = (*metrics(), "brokers")
    columns: dict[str, list[Any]] = {name: [] for name in ("point", "contacts", "protocol", *axes, "runs", "failed")}
    for metric in measures:
        columns |= {f"{metric}_mean": [], f"{metric}_ci95": []}
    for point in study.points:
        rows = by_point.get(point.number, [])
        done = [row for row in rows if row["error"] is None]
        said = {"point": point.number, "contacts": point.source.label, "protocol": point.protocol}
        said |= {"runs": len(done), "failed": len(rows) - len(done)}
        for name in axes:
            said[name] = point.axes.get(name)
        for metric in measures:
            found = Interval.of(row[metric] for row in done)
            said |= {f"{metric}_mean": found.mean if found.runs else None, f"{metric}_ci95": found.half}
        for name, value in said.items():
            columns[name].append(value)
    table = pa.table({name: _typed(values) for name, values in columns.items()})
    with file_in_place(folder / "summary.parquet") as place:
        pq.write_table(table, place)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))
    with file_in_place(folder / "summary.csv") as place:
        place.write_text(text.getvalue(), encoding="utf-8")
    return table


def _typed(values: list[Any]) -> pa.Array:
    """A column of its own kind; where kinds mix, as JSON."""
    import pyarrow as pa

    try:
        if any(isinstance(value, (list, dict)) for value in values):
            raise pa.ArrowInvalid("not plain")
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else json.dumps(value) for value in values], pa.string())
