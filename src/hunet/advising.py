"""Which system suits a crowd, from the question to the page: for ``hunet advise`` and for Python programs.

The study is that of ``hunet.pipeline.advice``; what is missing of it is run on Spark, which starts only then. Another
ratio or cost is another question to the same runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hunet.pipeline.advice import Advice, Goal, advice_study, judge, recommended_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

RUNS, QUICK_RUNS = 5, 3
"""Runs of each candidate, if not said."""


class Advised(NamedTuple):
    """An answer, and where it is written."""

    advice: Advice
    settings: Path | None
    """A file for ``hunet run --config``; None if nothing reaches the goal."""
    failed: list[str]
    """What went wrong, run by run."""


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
) -> Advised:
    """Do the runs that are missing in ``out``, judge all of them, and write the settings of the recommendation.

    ``start`` makes the Spark session, if runs are missing: a local one unless it is given. With ``here`` runs are done
    in this process, without Spark. ``quick`` tries one setting of each protocol. ``progress`` is called now and then
    with the runs that are done and the runs there are.
    """
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS, run_here, run_study
    from hunet.pipeline.study_results import load_runs

    def local() -> SparkSession:
        return spark_session(None, memory="1g", options=STUDY_OPTIONS)

    begin = start or local
    many = runs or (QUICK_RUNS if quick else RUNS)
    study = advice_study(
        contacts, goal, messages=messages, topics=topics, buffer=buffer, runs=many, quick=quick, start=begin
    )
    done = run_here(study, out, progress) if here else run_study(begin, study, out, progress)
    advice = judge(load_runs(out, study), study, goal)
    settings = out / "recommended.toml"
    if advice.best is None:
        settings.unlink(missing_ok=True)  # of another question, to the same runs
        return Advised(advice, None, done.failed)
    from os.path import relpath

    from hunet.model.files import write_toml
    from hunet.pipeline.storage import is_uri

    seen = str(contacts) if is_uri(contacts) else relpath(Path(contacts).absolute(), out.absolute())
    write_toml(settings, recommended_run(study, advice.best.name, seen))
    return Advised(advice, settings, done.failed)
