"""The results of a study: one Parquet file a run, and summary tables over the grid.

``runs/protocol=NAME/KEY.parquet`` has one row a run (table ``RUNS``), which any tool reads as one partitioned data
set. ``failed/protocol=NAME/KEY.parquet`` has the same for a run that failed, until it is tried again and does not.
``summary.parquet`` and ``summary.csv`` have one row a grid point: its values, how many runs, and for each metric
the mean over the repetitions and half the width of its 95 % confidence interval by Student's t; after the metrics of
all systems come the figures that the papers of the study's systems report (``hunet.systems.figures_of``). Sums are
exact, so that the bytes depend on the results alone.

At a URI the same tables are there as Spark writes them: files of many rows, added every some seconds.
"""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from hunet.model.errors import ConfigurationError
from hunet.model.files import file_in_place, folder_in_place
from hunet.model.intervals import Interval
from hunet.model.run_files import Row, add_figures, read_runs, read_table
from hunet.pipeline.storage import Storage, is_uri, join, read_json, refuse_foreign, write_json
from hunet.pipeline.study_plan import Run, StudyPlan
from hunet.pipeline.study_values import canonical
from hunet.systems import figures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from hunet.pipeline.study_run import TaskOutcome
    from hunet.simulation import Result

__all__ = ["RUNS", "Results", "load_runs", "metrics", "results_at", "row_bytes", "runs_of", "summary_of"]

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

_MARKER = "study.json"
_WRITE_EVERY = 20.0
"""Seconds between additions to tables at a URI."""


def metrics() -> list[str]:
    """The metrics of a run, in the order of the summary."""
    from hunet.simulation import SUMMARY

    return [name for name in SUMMARY if name not in ("role_time", "observed")]


def row_bytes(run: Run, result: Result | None, error: str | None, figures: dict[str, Any] | None = None) -> bytes:
    """A run's row as a Parquet file; ``figures`` are those of an analysis."""
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
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


class Results(Protocol):
    """Where the results of a study are kept."""

    def begin(self, study: StudyPlan) -> set[str]:
        """Refuse what belongs to something else; returns the keys of the runs that are there."""

    def add(self, outcome: TaskOutcome) -> None:
        """Keep an outcome."""

    def flush(self) -> None:
        """Write what is not written yet."""

    def summarise(self, study: StudyPlan) -> pa.Table:
        """Write the summary tables and return the one."""


def results_at(start: Callable[[], SparkSession], folder: Path | str) -> Results:
    """The results in a folder of this machine, or at a URI; only that needs a session."""
    if not is_uri(folder):
        return LocalResults(Path(folder))
    spark = start()
    path = Storage(spark).local(folder)
    return _SparkResults(spark, str(folder)) if path is None else LocalResults(path)


class LocalResults:
    """Results in a folder of this machine, one file a run; the driver alone writes them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, study: StudyPlan) -> set[str]:
        refuse_foreign(self._folder, _MARKER, partial(_foreign, study))
        if read_json(self._folder / _MARKER) is None:
            write_json(self._folder / _MARKER, study.identity)
        for left in self._folder.glob("*/*/.*.partial"):  # of a study that was killed
            left.unlink(missing_ok=True)
        return {path.stem for path in self._folder.glob("runs/*/*.parquet")}

    def add(self, outcome: TaskOutcome) -> None:
        save_outcome(self._folder, outcome)

    def flush(self) -> None:
        pass

    def summarise(self, study: StudyPlan) -> pa.Table:
        """The driver has the files, and executors may not see them: it reads them itself."""
        import pyarrow.parquet as pq

        by_point: dict[int, list[Row]] = {}
        own = figures_of(study.protocols)
        for row in load_runs(self._folder, study):
            by_point.setdefault(row["point"], []).append({**row, "folder": self._folder})
        for rows in by_point.values():
            add_figures(rows, own)
        table = _summary(study, {point: _figures(rows, own) for point, rows in by_point.items()})
        with file_in_place(self._folder / "summary.parquet") as partial:
            pq.write_table(table, partial)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))
        with file_in_place(self._folder / "summary.csv") as partial:
            partial.write_text(text.getvalue(), encoding="utf-8")
        return table


def save_outcome(folder: Path, outcome: TaskOutcome) -> None:
    """Write the files of a run, each in one step, its row as the last of them."""
    assert outcome.row is not None
    if outcome.tables:
        with folder_in_place(folder / "tables" / outcome.key) as partial:
            for name, content in outcome.tables.items():
                (partial / name).write_bytes(content)
    done, failed = (
        folder / kind / f"protocol={outcome.protocol}" / f"{outcome.key}.parquet" for kind in ("runs", "failed")
    )
    with file_in_place(done if outcome.error is None else failed) as partial:
        partial.write_bytes(outcome.row)
    if outcome.error is None:
        failed.unlink(missing_ok=True)


class _SparkResults:
    """Results at a URI: tables to which Spark adds the rows of some seconds at a time."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._folder = spark, folder
        self._rows: dict[str, list[pa.Table]] = {"runs": [], "failed": []}
        self._written = monotonic()

    def begin(self, study: StudyPlan) -> set[str]:
        if study.tables:
            raise ConfigurationError(f"{self._folder}: tables = true needs a folder of this machine, not a URI")
        storage, marker = Storage(self._spark), join(self._folder, _MARKER)
        storage.refuse_foreign(self._folder, _MARKER, partial(_foreign, study))
        if storage.read_json(marker) is None:
            storage.write_json(marker, study.identity)
        done = runs_of(self._spark, self._folder)
        return set() if done is None else {row["key"] for row in done.where("error is null").select("key").collect()}

    def add(self, outcome: TaskOutcome) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        row = pq.read_table(pa.BufferReader(outcome.row))
        row = row.append_column("protocol", pa.array([outcome.protocol], pa.string()))
        self._rows["runs" if outcome.error is None else "failed"].append(row)
        if monotonic() - self._written > _WRITE_EVERY:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        for kind, rows in self._rows.items():
            if rows:
                table = self._spark.createDataFrame(pa.concat_tables(rows)).coalesce(1)
                table.write.mode("append").partitionBy("protocol").parquet(join(self._folder, kind))
                rows.clear()
        self._written = monotonic()

    def summarise(self, study: StudyPlan) -> pa.Table:
        import pyarrow as pa

        runs = runs_of(self._spark, self._folder)
        assert runs is not None
        known = self._spark.createDataFrame([(run.key,) for run in study.runs()], "key string")
        rows = summary_of(runs.join(known, "key", "left_semi"), study.protocols).toArrow().to_pylist()
        table = _summary(study, {row.pop("point"): row for row in rows})
        # Spark's CSV knows no column without a type, such as the interval of a single run.
        typed = [field.with_type(pa.float64()) if pa.types.is_null(field.type) else field for field in table.schema]
        frame = self._spark.createDataFrame(table.cast(pa.schema(typed))).coalesce(1)
        frame.write.mode("overwrite").parquet(join(self._folder, "summary.parquet"))
        frame.write.mode("overwrite").csv(join(self._folder, "summary.csv"), header=True)
        return table


def _foreign(study: StudyPlan, description: dict[str, Any]) -> str | None:
    if description.get("kind") != "study":
        return "holds something else than a study"
    for key, value in study.identity.items():
        if canonical(description.get(key)) != canonical(value):
            return f"belongs to another study ('{key}' differs)"
    return None


def load_runs(folder: Path, study: StudyPlan) -> list[Row]:
    """The rows of all runs of a study that were done or failed, in the order of its grid."""
    known = {run.key for run in study.runs()}
    return [row for row in read_runs(folder) if row["key"] in known]


def runs_of(spark: SparkSession, folder: Path | str) -> DataFrame | None:
    """The runs of a study as a DataFrame, one row each, with the column ``protocol``; None if there are none.

    A run that failed is there, with its ``error``, unless it was done later.
    """
    from pyspark.errors import AnalysisException

    found: DataFrame | None = None
    for kind in ("runs", "failed"):
        try:
            table = Storage(spark).read_parquet(join(folder, kind)).dropDuplicates(["key"])
            _ = table.schema  # Spark Connect looks only now whether it is there
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            continue
        found = table if found is None else found.unionByName(table.join(found, "key", "left_anti"))
    return found


def summary_of(runs: DataFrame, protocols: Iterable[str] = ()) -> DataFrame:
    """For each ``point`` how many ``runs`` are complete and ``failed``, and mean and interval of each metric.

    With the papers' own figures of the systems of some protocols, where a run's row is enough for them.
    """
    chosen = sorted(protocols)
    schema = "".join(f", `{name}_mean` double, `{name}_ci95` double" for name in _columns(figures_of(chosen)))

    def summarise(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        rows, own = read_table(table), figures_of(chosen)
        add_figures(rows, own)
        return pa.Table.from_pylist([{"point": rows[0]["point"], **_figures(rows, own)}], _figures_schema(own))

    return runs.groupBy("point").applyInArrow(summarise, f"point int, runs int, failed int{schema}")


def _columns(own: Iterable[str]) -> list[str]:
    """What is summed up: the metrics, and the papers' own figures."""
    return [*metrics(), "brokers", *own]


def _figures_schema(own: Iterable[str]) -> pa.Schema:
    import pyarrow as pa

    names = [f"{name}_{kind}" for name in _columns(own) for kind in ("mean", "ci95")]
    whole = [(name, pa.int32()) for name in ("point", "runs", "failed")]
    return pa.schema([*whole, *((name, pa.float64()) for name in names)])


def _figures(rows: Iterable[Row], own: Iterable[str]) -> Row:
    """What the summary says of the runs of one grid point."""
    rows = list(rows)
    done = [row for row in rows if row["error"] is None]
    figures: Row = {"runs": len(done), "failed": len(rows) - len(done)}
    for metric in _columns(own):
        found = Interval.of(row[metric] for row in done)
        figures |= {f"{metric}_mean": found.mean if found.runs else None, f"{metric}_ci95": found.half}
    return figures


def _summary(study: StudyPlan, figures: dict[int, Row]) -> pa.Table:
    """The table of all grid points: their values, and their figures."""
    import pyarrow as pa

    axes = sorted({name for point in study.points for name in point.axes} - {"contacts"})
    none = _figures((), figures_of(study.protocols))
    rows = [
        {"point": point.number, "contacts": point.source.label, "protocol": point.protocol}
        | {name: point.axes.get(name) for name in axes}
        | figures.get(point.number, none)
        for point in study.points
    ]
    return pa.table({name: _typed([row[name] for row in rows]) for name in rows[0]})


def _typed(values: list[Any]) -> pa.Array:
    """A column of its own kind; where kinds mix, as JSON."""
    import pyarrow as pa

    try:
        if any(isinstance(value, (list, dict)) for value in values):
            raise pa.ArrowInvalid("not plain")
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else json.dumps(value) for value in values], pa.string())
