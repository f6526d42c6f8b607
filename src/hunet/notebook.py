"""Studies, advice and reports for notebooks: functions that return objects which show themselves.

>>> import hunet
>>> crowd = hunet.make_world("clusters", seed=1, duration=900)
>>> study = hunet.study(crowd, ["push", "pull"], repetitions=2, workload={"messages": 20, "topics": 5})
>>> study
Study(4 runs: push, pull)
>>> study.table[["protocol", "runs"]].values.tolist()
[['push', 2], ['pull', 2]]

Runs are done in this process, one after the other, unless ``spark`` is given: a session, or True for a local one that
uses all cores. What is asked again of the same folder is not run again.
"""

from __future__ import annotations

import shutil
import weakref
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from hunet.model import Contacts
from hunet.model.errors import ConfigurationError
from hunet.model.plot import Plot
from hunet.model.quantities import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from pyspark.sql import SparkSession

    from hunet.advising import Advised
    from hunet.pipeline.advice import Candidate
    from hunet.report.chart import Chart
    from hunet.report.study import StudyResults

__all__ = ["AdviceShown", "Plot", "Report", "Study", "advise", "report", "study"]

Trace = Contacts | str | Path
"""Contacts, or where they lie."""


class _Scratch:
    """A folder that goes when nobody needs it any more."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="hunet-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


class Report:
    """A page that was written, with the field of its study."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study

    def __repr__(self) -> str:
        return f"Report({self.path})"

    def _repr_html_(self) -> str:
        page = escape(self.path.read_text("utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%; height:40em; border:1px solid #ccc"></iframe>'

    def plot(self) -> Plot:
        """Delivery against cost, with the bound and the Pareto front."""
        return self.study.plot()


class Study:
    """The results of a study."""

    def __init__(self, folder: Path, failed: Sequence[str] = (), scratch: _Scratch | None = None) -> None:
        from hunet.report.study import StudyResults

        self.folder = folder
        self.failed = list(failed)
        """What went wrong, run by run."""
        self.results = StudyResults(folder)
        self._scratch = scratch

    def __repr__(self) -> str:
        names = list(dict.fromkeys(row["protocol"] for row in self.results.rows))
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"Study({len(self.results.rows)} runs{failed}: {', '.join(names)})"

    @property
    def table(self) -> pd.DataFrame:
        """One row for each point of the grid: its values, and mean and confidence interval of each metric."""
        import pyarrow.parquet as pq

        return pq.read_table(self.folder / "summary.parquet").to_pandas()

    @property
    def runs(self) -> pd.DataFrame:
        """One row for each run."""
        import pandas as pd

        return pd.DataFrame(self.results.rows)

    def _repr_html_(self) -> str:
        from hunet.report.field import fields_of
        from hunet.report.html import table

        shown = self.results.shown()
        rows = [
            [name, *(metric.of(rows).brief(metric.digits, metric.unit) for metric in shown)]
            for name, rows in self.results.series().items()
        ]
        answers = "".join(f"<p>{escape(field.answer())}</p>" for field in fields_of(self.results)[:3])
        return answers + table(["", *(metric.title for metric in shown)], rows)

    def plot(self, axis: str | None = None, metric: str = "delivery_ratio") -> Plot:
        """A metric along an axis (such as ``"ttl"``), or without one delivery against cost."""
        from hunet.report.figures import STYLES, curve
        from hunet.report.metrics import METRICS
        from hunet.report.study import short

        if axis is None:
            return _field_plot(self.results)
        found = next((name for name in self.results.numeric() if axis in (name, short(name))), None)
        if found is None or metric not in METRICS:
            known = ", ".join(map(short, self.results.numeric())) or "none"
            raise ConfigurationError(f"no axis '{axis}' with numbers in the study (it has {known}), or no such metric")
        shown = METRICS[metric]
        plot, panel = Plot.empty()
        for style, (label, rows) in zip(STYLES, self.results.series(found).items(), strict=False):
            places = sorted({row["axes"][found] for row in rows})
            there = {value: [row for row in rows if row["axes"][found] == value] for value in places}
            curve(panel, {value: shown.of(each).scaled(shown.unit) for value, each in there.items()}, style, label)
        panel.set(xlabel=short(found), ylabel=shown.title)
        panel.legend(frameon=False, fontsize=7)
        return plot

    def report(self, out: Path | str | None = None, contacts: Sequence[str | Path] = ()) -> Report:
        """Write the study's page; see :func:`report`."""
        return report(self, out, contacts)


class AdviceShown:
    """What to use for a crowd, and how sure that is."""

    def __init__(self, advised: Advised, study: Study, contacts: str) -> None:
        self.advice, self.settings, self.study = advised.advice, advised.settings, study
        self._advised, self._contacts = advised, contacts

    @property
    def best(self) -> Candidate | None:
        """The recommendation; None if nothing reaches the goal."""
        return self.advice.best

    @property
    def text(self) -> str:
        """The advice in words."""
        from hunet.pipeline.advice import COSTS
        from hunet.report.advice import advice_text

        return "\n".join(advice_text(self.advice, COSTS[self.advice.goal.cost][0]))

    @property
    def candidates(self) -> pd.DataFrame:
        """All candidates: in time, cost, and how probable it is that they reach the goal and are the cheapest."""
        import pandas as pd

        rows = [(each.name, each.ratio.mean, each.cost.mean, each.meets, each.wins) for each in self.advice.candidates]
        return pd.DataFrame(rows, columns=["candidate", "in_time", "cost", "meets", "wins"])

    def __repr__(self) -> str:
        return f"Advice({self.best.name if self.best else 'nothing reaches the goal'})"

    def _repr_html_(self) -> str:
        from hunet.report.html import table

        rows = [
            [each.name, each.ratio.brief(3), each.cost.brief(1), f"{each.meets:.0%}", f"{each.wins:.0%}"]
            for each in self.advice.candidates
        ]
        heads = ["", "in time", self.advice.goal.cost, "reaches the goal", "cheapest that does"]
        return "".join(f"<p>{escape(line)}</p>" for line in self.text.splitlines()) + table(heads, rows)

    def plot(self) -> Plot:
        """Delivery against cost of all candidates, with what was asked for."""
        return _field_plot(self.study.results, self.advice.goal.ratio)

    def report(self) -> Report:
        """Write the page of the advice, as ``hunet advise`` does."""
        from hunet.reporting import make_advice_page

        return Report(make_advice_page(self._advised, self.study.folder, self._contacts), self.study)


def study(
    contacts: Trace | Mapping[str, Trace] | Sequence[str | Path] | None = None,
    protocol: str | Sequence[str] = "push",
    *,
    out: Path | str | None = None,
    spark: SparkSession | bool | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> Study:
    """Run every protocol with every value in every repetition, as ``hunet study`` does.

    ``contacts`` are contacts, files or folders of traces, several of them by name, or the ``.toml`` file of a study.
    ``settings`` are the keys of such a file: ``repetitions``, ``parameters``, ``workload``, ``links``, ``world``,
    ``storage``, ``tables`` and so on; a list is an axis of the grid. Results go to ``out``, or to a folder that lasts
    as long as the object.
    """
    from hunet.pipeline.study_plan import plan_study, read_study

    scratch = _Scratch()
    folder = scratch.folder / "results" if out is None else Path(out)
    if isinstance(contacts, (str, Path)) and str(contacts).endswith(".toml"):
        if settings:
            raise ConfigurationError(f"{contacts} tells the whole study: write '{next(iter(settings))}' there")
        plan = read_study(Path(contacts))
    else:
        given = {"protocol": protocol if isinstance(protocol, str) else list(protocol), **settings}
        if contacts is not None:
            given["contacts"] = _files(contacts, scratch.folder)
        plan = plan_study(given, Path.cwd() / "study.toml")
    return Study(folder, _done(plan, folder, spark, progress), scratch)


def advise(
    contacts: Trace,
    ratio: float = 0.8,
    within: float | str = "6h",
    cost: str = "forwards",
    *,
    confidence: float = 0.9,
    out: Path | str | None = None,
    spark: SparkSession | bool | None = None,
    **more: Any,
) -> AdviceShown:
    """Find the system and its parameters that reach a ratio within a delay at the least cost, as ``hunet advise`` does.

    ``more`` are ``messages``, ``topics``, ``buffer``, ``runs`` and ``quick``.
    """
    from hunet.advising import advise as ask
    from hunet.pipeline.advice import Goal

    scratch = _Scratch()
    folder = scratch.folder / "advice" if out is None else Path(out)
    [file] = _files(contacts, scratch.folder)
    delay = duration("within", within) if isinstance(within, str) else float(within)
    goal = Goal(ratio, delay, cost, confidence)  # type: ignore[arg-type]
    found = ask(file, goal, folder, start=_starter(spark), here=not spark, **more)
    return AdviceShown(found, Study(folder, found.failed, scratch), file)


def report(folder: Path | str | Study, out: Path | str | None = None, contacts: Sequence[str | Path] = ()) -> Report:
    """Write a study as one page that works offline, as ``hunet report`` does; ``contacts`` are traces to be drawn."""
    from hunet.reporting import make_report

    study = folder if isinstance(folder, Study) else Study(Path(folder))
    page, _ = make_report(study.folder, None if out is None else Path(out), contacts=contacts)
    return Report(page, study)


def _done(plan: Any, folder: Path, spark: Any, progress: Callable[[int, int], None] | None) -> list[str]:
    from hunet.pipeline.studies import run_here, run_study

    start = _starter(spark)
    done = run_study(start, plan, folder, progress) if start else run_here(plan, folder, progress)
    return done.failed


def _starter(spark: Any) -> Callable[[], SparkSession] | None:
    """What gives the session in which runs are done; None if they are done here."""
    if not spark:
        return None
    if spark is not True:
        return lambda: spark

    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS

    return lambda: spark_session(None, options=STUDY_OPTIONS)


def _files(contacts: Any, scratch: Path) -> list[str]:
    """The files of contacts; what is in memory is written first."""
    from hunet.model.contact_files import write_contacts

    if isinstance(contacts, Contacts):
        contacts = {str(contacts.metadata.get("world", "contacts")): contacts}
    if not isinstance(contacts, dict):
        return [str(each) for each in ([contacts] if isinstance(contacts, (str, Path)) else contacts)]
    found = []
    for name, each in contacts.items():
        if isinstance(each, Contacts):
            write_contacts(each, scratch / f"{name}.parquet")
        found.append(str(scratch / f"{name}.parquet") if isinstance(each, Contacts) else str(each))
    return found


def _field_plot(results: StudyResults, goal: float | None = None) -> Plot:
    from hunet.report.field import fields_of
    from hunet.report.study_figures import field_charts

    charts: list[Chart] = field_charts(fields_of(results)[:1])
    if not charts:
        raise ConfigurationError("nothing was delivered in any run: there is nothing to draw")
    plot, panel = Plot.empty()
    charts[0]._replace(goal=goal).draw(panel)
    return plot
