"""Stage 5: a study on Spark. Every run is a task; results land one by one; the same command again does what is missing.

The runs travel to the executors once, as a broadcast; a task carries only the numbers of its runs. Traces are read
once by each worker process, worlds are made once and kept beside the results. Executors write results themselves,
so the results' folder must be the same place for all of them.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.pipeline.session import ATTEMPTS, spark_errors
from hunet.pipeline.study_plan import Study
from hunet.pipeline.study_results import summarise_study
from hunet.pipeline.study_run import do_run, give_up, is_done
from hunet.pipeline.study_values import canonical
from hunet.pipeline.tables import read_json, refuse_foreign, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["STUDY_OPTIONS", "StudyDone", "run_study"]

STUDY_OPTIONS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""Java does little in a study; compiling it well would take processor time from the simulations."""

_MOST_TASKS = 5000
_LOOK_EVERY = 0.2
_MARKER = "study.json"


class StudyDone(NamedTuple):
    """How a study ended."""

    runs: int
    skipped: int
    """Runs that had a result already."""
    failed: list[str]
    """What went wrong, run by run."""
    summary: pa.Table
    """One row a grid point, as in ``summary.parquet``."""


def run_study(
    spark: SparkSession, study: Study, folder: Path, progress: Callable[[int, int], None] | None = None
) -> StudyDone:
    """Do all runs of a study that have no result yet, then write the summary tables.

    ``progress`` is called now and then with the runs that are done and the runs there are.
    """
    refuse_foreign(folder, _MARKER, lambda said: _foreign(said, study))
    runs = study.runs()
    if read_json(folder / _MARKER) is None:
        write_json(folder / _MARKER, study.identity)
    waiting = [run for run in runs if not is_done(run, folder)]
    skipped = len(runs) - len(waiting)
    failed: list[str] = []
    try:
        if waiting:
            with _watch(spark, len(waiting), skipped, progress) as per_task, spark_errors():
                failed = _run_all(spark, waiting, folder, per_task)
    finally:
        for left in folder.glob("*/*/.*.partial"):  # of tasks that were stopped
            left.unlink(missing_ok=True)
    return StudyDone(len(runs), skipped, failed, summarise_study(folder, study))


def _run_all(spark: SparkSession, waiting: list[Any], folder: Path, per_task: int) -> list[str]:
    everything = spark.sparkContext.broadcast((waiting, folder.absolute()))
    tasks = -(-len(waiting) // per_task)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context is not None else 0
        runs, place = everything.value
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for run in runs[task * per_task : (task + 1) * per_task]:
                    # On the last attempt Spark would end the whole study with this run.
                    last = attempt >= ATTEMPTS - 1 and not is_done(run, place)
                    error = give_up(run, place, attempt) if last else do_run(run, place)
                    yield pa.RecordBatch.from_arrays(
                        [pa.array([run.key]), pa.array([error], pa.string())], names=["key", "error"]
                    )

    rows = spark.range(0, tasks, 1, tasks).mapInArrow(work, "key string, error string")
    found = rows.where("error is not null").collect()
    everything.unpersist()
    return sorted(f"{row['key']}: {row['error']}" for row in found)


@contextmanager
def _watch(
    spark: SparkSession, waiting: int, skipped: int, progress: Callable[[int, int], None] | None
) -> Iterator[int]:
    """Call ``progress`` while the block runs; gives how many runs make a task."""
    per_task = -(-waiting // _MOST_TASKS)
    if progress is None:
        yield per_task
        return
    group, over = f"study-{id(progress)}", threading.Event()
    context = spark.sparkContext
    context.setJobGroup(group, "study")
    tracker = context.statusTracker()

    def look() -> None:
        while not over.wait(_LOOK_EVERY):
            done = 0
            for job in tracker.getJobIdsForGroup(group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    found = tracker.getStageInfo(stage)
                    done += found.numCompletedTasks if found else 0
            progress(min(skipped + done * per_task, skipped + waiting), skipped + waiting)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield per_task
    finally:
        over.set()
        watcher.join()


def _foreign(said: dict[str, Any], study: Study) -> str | None:
    if said.get("kind") != "study":
        return "holds something else than a study"
    for key, value in study.identity.items():
        if canonical(said.get(key)) != canonical(value):
            return f"belongs to another study ('{key}' differs)"
    return None
