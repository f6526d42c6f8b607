"""Stage 5: a study on Spark. Results come back as runs end; the same command again does what is missing.

What runs read travels to the executors as one archive, worlds are made there, and results come back to the driver,
which alone writes them: nothing needs a path that several machines see. Runs go out in waves, each a small Spark job.
Several waves are under way at any time, so that a core that has ended its part of one takes from the next, and a
driver that is killed loses only what was not yet back, some seconds of work.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from hunet.pipeline.session import ATTEMPTS, cores, scratch_folder, spark_errors
from hunet.pipeline.study_files import WORLDS, send_files, unpacked
from hunet.pipeline.study_plan import Run, StudyPlan
from hunet.pipeline.study_results import LocalResults, results_at
from hunet.pipeline.study_run import TaskOutcome, given_up, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["STUDY_OPTIONS", "StudyDone", "run_here", "run_study"]

STUDY_OPTIONS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""Java does little in a study; compiling it well would take processor time from the simulations."""

_OUTCOME = "key string, protocol string, error string, row binary, tables map<string, binary>, seconds double"
_TASK_SECONDS = 10.0
_TASK_BYTES = 64e6
"""What a task should last and bring back, about."""
_WAVES = 8
"""How many waves are under way."""
_ASK_EVERY = 20.0
"""Seconds after which Spark is asked again how many cores it has: executors of a cluster come and go."""


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
    spark: SparkSession | Callable[[], SparkSession],
    study: StudyPlan,
    folder: Path | str,
    progress: Callable[[int, int], None] | None = None,
) -> StudyDone:
    """Do all runs of a study that have no result yet, then write the summary tables.

    ``spark`` is a session, or what starts one: it is called only if a run is missing or the folder is a URI.
    ``folder`` is a folder of this machine, or a URI that Spark knows. ``progress`` is called now and then with the
    runs that are done and the runs there are.
    """
    start = spark if callable(spark) else lambda: spark
    with spark_errors():
        results = results_at(start, folder)
        there = results.begin(study)
        runs = study.runs()
        waiting = [run for run in runs if run.key not in there]
        skipped, failed = len(runs) - len(waiting), []
        with closing(_outcomes(start, waiting)) as outcomes:
            for many, outcome in enumerate(outcomes, 1):
                results.add(outcome)
                if outcome.error is not None:
                    failed.append(f"{outcome.key}: {outcome.error}")
                if progress is not None:
                    progress(skipped + many, len(runs))
        results.flush()
        return StudyDone(len(runs), skipped, sorted(failed), results.summarise(study))


def run_here(study: StudyPlan, folder: Path, progress: Callable[[int, int], None] | None = None) -> StudyDone:
    """The same in this process, run after run, without Spark: for what is small, such as in a notebook."""
    results = LocalResults(folder)
    there = results.begin(study)
    runs = study.runs()
    waiting = [run for run in runs if run.key not in there]
    failed = []
    with TemporaryDirectory(prefix="hunet-worlds-") as worlds:
        for many, run in enumerate(waiting, len(runs) - len(waiting) + 1):
            outcome = outcome_of(run, Path(), Path(worlds))
            results.add(outcome)
            if outcome.error is not None:
                failed.append(f"{outcome.key}: {outcome.error}")
            if progress is not None:
                progress(many, len(runs))
    return StudyDone(len(runs), len(runs) - len(waiting), sorted(failed), results.summarise(study))


def _outcomes(start: Callable[[], SparkSession], waiting: list[Run]) -> Generator[TaskOutcome]:
    """The outcomes of runs, as they come."""
    if not waiting:
        return
    spark = start()
    runs, archive = send_files(spark, waiting, scratch_folder())
    queue = _Queue(spark, runs)
    tag = f"hunet-{os.urandom(8).hex()}"
    flying: dict[Future[list[TaskOutcome]], list[list[Run]]] = {}
    with ThreadPoolExecutor(_WAVES) as pool:
        try:
            while queue or flying:
                while queue and len(flying) < _WAVES:
                    wave = queue.take()
                    flying[pool.submit(_do_wave, spark, tag, wave, archive)] = wave
                landed, _ = wait(flying, return_when=FIRST_COMPLETED)
                for each in landed:
                    del flying[each]
                    yield from queue.sort_out(each.result())
        finally:
            if flying:
                with suppress(Exception):  # Spark may be the one that has gone
                    spark.interruptTag(tag)
                pool.shutdown(wait=False, cancel_futures=True)


class _Queue:
    """The runs that wait, and how many of them make a task and a wave."""

    def __init__(self, spark: SparkSession, runs: list[Run]) -> None:
        self._spark, self._runs, self._alone = spark, deque(runs), deque[Run]()
        self._by_key = {run.key: run for run in runs}
        self._cores, self._asked = cores(spark), monotonic()
        self._share: float | None = None
        """What share of a task a run is, lately."""

    def __len__(self) -> int:
        return len(self._runs) + len(self._alone)

    def take(self) -> list[list[Run]]:
        """The runs of the next wave, task by task: those next to each other, which are on the same contacts."""
        if monotonic() - self._asked > _ASK_EVERY:
            self._cores, self._asked = cores(self._spark), monotonic()
        # All waves together have half as many tasks again as there are cores.
        tasks = -(-3 * self._cores // (2 * _WAVES))
        if self._alone:
            return [[self._alone.popleft()] for _ in range(min(tasks, len(self._alone)))]
        # Less than that towards the end, for all cores to end at about the same time.
        fair = len(self._runs) // (2 * self._cores)
        size = 1 if self._share is None else max(1, min(int(1 / self._share), fair))
        wave: list[list[Run]] = []
        while self._runs and len(wave) < tasks:
            wave.append([self._runs.popleft() for _ in range(min(size, len(self._runs)))])
        return wave

    def sort_out(self, outcomes: list[TaskOutcome]) -> Iterator[TaskOutcome]:
        """The outcomes of a wave; what was not done, beside a run that may have ended its process, is put back."""
        for each in outcomes:
            if each.row is None:
                self._alone.append(self._by_key[each.key])
                continue
            size = len(each.row) + sum(map(len, each.tables.values()))
            share = max(each.seconds / _TASK_SECONDS, size / _TASK_BYTES)
            self._share = share if self._share is None else 0.8 * self._share + 0.2 * share
            yield each


def _do_wave(spark: SparkSession, tag: str, wave: list[list[Run]], archive: str) -> list[TaskOutcome]:
    """Do runs, each list of them in one task."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from map(_batch, _do_task(wave[task], archive))

    spark.addTag(tag)
    rows = spark.range(0, len(wave), 1, len(wave)).mapInArrow(work, _OUTCOME).toArrow().to_pylist()
    return [TaskOutcome(**(row | {"tables": dict(row["tables"])})) for row in rows]


def _batch(outcome: TaskOutcome) -> pa.RecordBatch:
    import pyarrow as pa

    text, content = pa.string(), pa.binary()
    types = (text, text, text, content, pa.map_(text, content), pa.float64())
    plain = outcome._replace(tables=list(outcome.tables.items()))  # type: ignore[arg-type]  # a map of Arrow
    return pa.RecordBatch.from_arrays(
        [pa.array([v], t) for v, t in zip(plain, types, strict=True)], TaskOutcome._fields
    )


def _do_task(runs: list[Run], archive: str) -> Iterator[TaskOutcome]:
    """On an executor: do the runs of a task."""
    from pyspark import SparkFiles, TaskContext

    context = TaskContext.get()
    deaths = context.attemptNumber() if context is not None else 0
    # On the last attempt Spark would end the whole study with a run that ends its process. Of several runs it is not
    # known which: each gets a task of its own.
    if deaths < ATTEMPTS - 1:
        files, worlds = unpacked(archive), Path(SparkFiles.get(WORLDS))
        yield from (outcome_of(run, files, worlds) for run in runs)
    elif len(runs) == 1:
        yield given_up(runs[0], deaths)
    else:
        yield from (TaskOutcome(run.key, run.point.protocol, None, None, {}, 0.0) for run in runs)
