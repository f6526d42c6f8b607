"""``hunet report``: a study as one page that needs nothing else, its figures as SVG and their data as CSV.

The answer comes first: which system, at what cost, how sure, and the field of all. Then the table, which differences
are real, the other figures, and at the end what was run.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.files import file_in_place
from hunet.report.chart import latex as _latex
from hunet.report.chart import write_rows
from hunet.report.comparison import Placement, compare_with_best
from hunet.report.field import Alternatives, by_repetition, ceiling_of, fields_of
from hunet.report.html import facts, table, write_page
from hunet.report.metrics import community_warning
from hunet.report.study import REPORTED, StudyResults
from hunet.report.study_figures import draw_fields, study_figures, write_figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunet.report.crowd import Crowd
    from hunet.report.metrics import Metric

__all__ = ["Paper", "write_report"]

_COMPARED = {"delivery_ratio": True, "latency_avg": False, "overhead_ratio": False}
"""What alternatives are compared by, and whether more of it is better."""
_MOST_ANSWERS = 6
"""Surroundings that are answered in words; the tables have all."""


class Paper(NamedTuple):
    """Figures for a paper."""

    folder: Path
    style: str
    """A key of ``hunet.report.chart.WIDTHS``."""


def write_report(
    study: StudyResults,
    out: Path | None = None,
    latex: Path | None = None,
    *,
    crowds: Sequence[Crowd] = (),
    units: Mapping[str, str] | None = None,
    head: str = "",
    paper: Paper | None = None,
) -> Path:
    """Write a study's report; returns its path. Figures and their data go to a folder ``report`` beside the study.

    ``crowds`` are the contacts that the study was on, as far as they are known; ``units`` has the units of its axes.
    ``head`` is a part of the page that takes the place of its answer.
    """
    folder, title = study.folder, study.folder.absolute().name
    fields = fields_of(study)
    results, compared = _results(study), list(_comparisons(study))
    _write_csv(folder / "report" / "differences.csv", compared)
    parts = [
        f"<h1>{escape(title)}</h1>",
        head or "\n".join(_answer(fields, folder / "report")),
        "<h2>Results</h2>",
        results.html(),
        f"<p>Highest delivery first; mean ± half of the 95 % confidence interval.{_about_brokers(study)}</p>",
        *_about_communities(study),
        "<h2>Which differences are real?</h2>",
        *_differences(compared),
        "<h2>Figures</h2>",
        *study_figures(study, folder / "report", crowds, units or {}),
        "<h2>What was run</h2>",
        _facts(study),
        *_names(study),
    ]
    write_page(out or folder / "report.html", title, parts)
    if latex is not None:
        tables = [results, *(each.table() for each in compared)]
        with file_in_place(latex) as partial:
            partial.write_text("\n".join(each.latex() for each in tables), encoding="utf-8")
    if paper is not None:
        write_figures(study, fields, paper.folder, paper.style, units or {})
    return out or folder / "report.html"


def _answer(fields: Sequence[Alternatives], folder: Path) -> Iterator[str]:
    """Which system, at what cost, how sure; and the field."""
    if not fields:
        yield "<p class=answer>Nobody wanted anything: there is nothing to compare.</p>"
        return
    for field in fields[:_MOST_ANSWERS]:
        yield f"<p class=answer>{escape(field.answer())}</p>"
        if len(fields) == 1 and (rest := field.others()):
            yield f"<p>{escape(rest)}</p>"
    if len(fields) > _MOST_ANSWERS:
        yield f"<p>{len(fields) - _MOST_ANSWERS} more surroundings are in the tables.</p>"
    yield draw_fields(fields, folder)


def _about_brokers(study: StudyResults) -> str:
    shown = [metric.name for metric in study.shown()]
    text = ""
    if "brokers" in shown:
        text += " Brokers: how many people carry for all others at a time; –: this system has none, everybody is alike."
    if "out_of_band_bytes" in shown:
        text += " Out of band: traffic between brokers that no contact carried, as over the Internet."
    return text


def _about_communities(study: StudyResults) -> Iterator[str]:
    """For each protocol and contacts in which one community holds nearly everybody, a warning."""
    found: dict[tuple[str, str], str] = {}
    for row in study.rows:
        if warning := community_warning(row.get("observed")):
            found.setdefault((row["protocol"], row["contacts"]), warning)
    for (protocol, contacts), warning in found.items():
        yield f"<p class=warning>{escape(f'{protocol} on {contacts}: {warning}')}</p>"


class _Table(NamedTuple):
    """A table for a page and for a paper."""

    caption: str
    head: list[str]
    lines: list[list[str]]
    strong: set[tuple[int, int]]
    """Cells (row, column) printed in bold."""

    def html(self) -> str:
        return table(self.head, self.lines, self.strong)

    def latex(self) -> str:
        rows = [" & ".join(map(_latex, self.head)) + r" \\", r"\hline"]
        for number, line in enumerate(self.lines):
            cells = [
                rf"\textbf{{{_latex(cell)}}}" if (number, column) in self.strong else _latex(cell)
                for column, cell in enumerate(line)
            ]
            rows.append(" & ".join(cells) + r" \\")
        columns = "l" + "r" * (len(self.head) - 1)
        return "\n".join([f"% {self.caption}", rf"\begin{{tabular}}{{{columns}}}", *rows, r"\end{tabular}", ""])


def _facts(study: StudyResults) -> str:
    """What was run, at a glance."""
    rows = study.rows
    versions = rows[0]["name"]["result"]["versions"]
    items = [
        ("protocols", ", ".join(dict.fromkeys(row["protocol"] for row in rows))),
        *(("contacts", _contacts(study, label)) for label in study.sources()),
        ("workload", "; ".join(dict.fromkeys(_plain(row["name"].get("workload", {})) for row in rows))),
        ("runs", f"{len(rows)}: {len(study.series())} settings, {study.repetitions} repetitions each"),
        ("seeds", ", ".join(dict.fromkeys(str(row["seed"]) for row in rows))),
        ("versions", ", ".join(f"{name} {number}" for name, number in versions.items())),
    ]
    return facts(items)


def _contacts(study: StudyResults, label: str) -> str:
    """A trace or world with the hash of its content; a world has one for each repetition."""
    rows = [row for row in study.rows if row["contacts"] == label]
    named = rows[0]["name"]["contacts"]
    hashes = list(dict.fromkeys(row["name"]["result"]["contacts"]["sha256"] for row in rows))
    people = f"{rows[0]['name']['result']['contacts']['nodes']} people"
    world = f"world {named['world']} ({_plain(named['parameters'])}), " if "world" in named else ""
    more = f" and {len(hashes) - 1} more, one for each seed" if len(hashes) > 1 else ""
    return f"{label}: {world}{people}, SHA-256 {hashes[0]}{more}"


def _plain(given: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in given.items()) or "as by default"


def _names(study: StudyResults) -> Iterator[str]:
    """Every setting with all its parameters, and its runs with their keys."""
    for name, rows in study.series().items():
        run = rows[0]["name"]["result"]
        full = {key: value for key, value in run.items() if key not in ("contacts", "seed", "versions")}
        runs = "".join(
            f"<li>seed {row['seed']}: {escape(str(row['key']))}, "
            f"contacts {escape(row['name']['result']['contacts']['sha256'])}</li>"
            for row in rows
        )
        yield (
            f"<details><summary>{escape(name)}</summary><pre>{escape(json.dumps(full, indent=1))}</pre>"
            f"<ul>{runs}</ul></details>"
        )
    if study.has_tables():
        yield "<p>Any of these runs can be watched: <code>hunet replay STUDY/tables/KEY</code>.</p>"


def _results(study: StudyResults) -> _Table:
    shown = study.shown()
    bounds = {row["reachable_ratio"] for row in study.rows if row["repetition"] == study.rows[0]["repetition"]}
    if len(bounds) == 1:  # the same for all: the answer has it
        shown = [metric for metric in shown if metric.name != "reachable_ratio"]
    lines = [[name, *(_cell(metric, rows) for metric in shown)] for name, rows in study.ranked().items()]
    return _Table(
        "Results: mean and half of the 95 % confidence interval", ["", *(m.title for m in shown)], lines, set()
    )


def _cell(metric: Metric, rows: list[dict[str, Any]]) -> str:
    """A mean with its interval, or without one that would be written as 0."""
    found = metric.of(rows)
    if metric.sparse and not found.mean:
        return "–"
    return found.brief(metric.digits, metric.unit)


class _Comparison(NamedTuple):
    """How far all alternatives in the same surroundings are from the best, by one metric."""

    point: str
    metric: Metric
    standings: list[Placement]

    def table(self) -> _Table:
        """The best first; who is worse for sure is strong."""
        digits, unit = self.metric.digits, self.metric.unit
        lines = [[each.name, f"{each.mean / unit:,.{digits}f}", each.text(digits, unit)] for each in self.standings]
        strong = {(number, 2) for number, each in enumerate(self.standings) if not each.may_be_best}
        where = f" ({self.point})" if self.point else ""
        caption = f"{self.metric.title}{where}: mean, and distance from the best"
        return _Table(caption, ["", self.metric.title, "against the best"], lines, strong)

    def verdict(self) -> str:
        """In words: who is on top, and who cannot be told from it."""
        rivals = [each.name for each in self.standings if each.may_be_best]
        word = "Highest" if _COMPARED[self.metric.name] else "Lowest"
        where = f" ({self.point})" if self.point else ""
        others = len(self.standings) - len(rivals)
        text = f"may also be best: {', '.join(rivals[1:])}" if len(rivals) > 1 else f"all {others} others are worse"
        return f"{word} {self.metric.title}{where}: {rivals[0]}; {text}."


def _comparisons(study: StudyResults) -> Iterator[_Comparison]:
    for metric in REPORTED:
        if metric.name not in _COMPARED:
            continue
        for point, alternatives in study.alternatives().items():
            found = {name: by_repetition(rows, metric.name) for name, rows in alternatives.items()}
            known = {name: values for name, values in found.items() if len(values) > 1}
            if len(known) > 1:
                ceiling = ceiling_of(alternatives) if metric.name == "delivery_ratio" else None
                standings = compare_with_best(known, highest=_COMPARED[metric.name], ceiling=ceiling)
                yield _Comparison(point, metric, standings)


def _differences(compared: list[_Comparison]) -> Iterator[str]:
    if not compared:
        yield "<p>Needs two alternatives and two repetitions.</p>"
        return
    yield (
        "<p>All alternatives against the best of them. Runs of a repetition share world, workload and coins, so they "
        "are compared repetition by repetition. The intervals of a table hold together with 95 % confidence (multiple "
        "comparisons with the best); <b>bold</b> is worse for sure.</p>"
    )
    for number, each in enumerate(compared):
        opened = "" if number else " open"
        yield f"<details{opened}><summary>{escape(each.verdict())}</summary>{each.table().html()}</details>"


def _write_csv(path: Path, compared: list[_Comparison]) -> None:
    head = ("where", "metric", "alternative", "mean", "worse by at least", "worse by at most", "may be best")
    rows = [
        (one.point, one.metric.name, each.name, each.mean, each.near, each.far, each.may_be_best)
        for one in compared
        for each in one.standings
    ]
    write_rows(path, [head, *rows])
