"""Which system suits a crowd, from the question to the page: for ``hunet advise`` and for Python programs.

The study is that of ``hunet.pipeline.advice``; what is missing of it is run on Spark, which starts only then. Another
ratio or cost is another question to the same runs.
"""

from __future__ import annotations

from os import cpu_count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from hunet.pipeline.advice import Advice, Goal, advice_study, judge, recommended_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from hunet.pipeline.study_plan import Run

RUNS, QUICK_RUNS = 5, 3
"""Runs of each candidate, if not said."""
_DEARER = 6.0
"""What a candidate takes on average, in runs of the first, which is push: measured on the crowd of the demo."""
_STARTING = 10.0
"""Seconds that Spark takes to start, about."""


class Advised(NamedTuple):
    """An answer, and where it is written."""

    advice: Advice
    settings: Path | None
    """A file for ``hunet run --config``; None if nothing reaches the goal."""
    failed: list[str]
    """What went wrong, run by run."""
    runs: list[str]
    """The keys of all runs that it rests on."""


def advise(
    contacts: Path | str,
    goal: Goal,
    out: Path = Path("advice"),
    *,
    messages: int = 300,
    topics: int = 10,
    buffer: int | None = None,
    runs: int | None = None,
    quick: bool = False,
    start: Callable[[], SparkSession] | None = None,
    here: bool = False,
    progress: Callable[[int, int], None] | None = None,
    announce: Callable[[int, float], None] | None = None,
) -> Advised:
    """Do the runs that are missing in ``out``, judge all of them, and write the settings of the recommendation.

    ``start`` makes the Spark session, if runs are missing: a local one unless it is given. With ``here`` runs are done
    in this process, without Spark. ``quick`` tries one setting of each protocol. ``progress`` is called now and then
    with the runs that are done and the runs there are; ``announce`` before all of them, if runs are missing, with their
    number and the seconds that they may take here.
    """
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.storage import is_uri
    from hunet.pipeline.studies import STUDY_OPTIONS, run_here, run_study
    from hunet.pipeline.study_results import LocalResults, load_runs

    def local() -> SparkSession:
        return spark_session(None, memory="1g", options=STUDY_OPTIONS)

    begin = start or local
    many = runs or (QUICK_RUNS if quick else RUNS)
    study = advice_study(
        contacts, goal, messages=messages, topics=topics, buffer=buffer, runs=many, quick=quick, start=begin
    )
    there = {path.stem for path in out.glob("runs/*/*.parquet")}
    missing = [run for run in study.runs() if run.key not in there]
    if announce and missing and not is_uri(contacts):
        announce(len(missing), _expected(missing))
    failed = []
    if missing:
        done = run_here(study, out, progress) if here else run_study(begin, study, out, progress)
        failed = done.failed
    else:
        LocalResults(out).begin(study)  # which refuses the results of another study
    advice = judge(load_runs(out, study), study, goal)
    runs_done = [run.key for run in study.runs()]
    settings = out / "recommended.toml"
    if advice.best is None:
        settings.unlink(missing_ok=True)  # of another question, to the same runs
        return Advised(advice, None, failed, runs_done)
    from os.path import relpath

    from hunet.model.files import write_toml

    seen = str(contacts) if is_uri(contacts) else relpath(Path(contacts).absolute(), out.absolute())
    write_toml(settings, recommended_run(study, advice.best.name, seen))
    return Advised(advice, settings, failed, runs_done)


def _expected(missing: list[Run]) -> float:
    """Seconds on all cores of this machine, from how long the first run takes."""
    from hunet.pipeline.study_run import contacts_of, simulate_run

    begin = perf_counter()
    simulate_run(missing[0], contacts_of(missing[0]))
    return _STARTING + _DEARER * (perf_counter() - begin) * len(missing) / (cpu_count() or 1)
