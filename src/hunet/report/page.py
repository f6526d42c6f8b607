"""``hunet report``: a study as one page that needs nothing else, its figures as SVG and their data as CSV."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.files import file_in_place
from hunet.report.comparison import Difference, paired_differences
from hunet.report.html import facts, write_page
from hunet.report.metrics import Metric
from hunet.report.study import REPORTED, StudyResults
from hunet.report.study_figures import study_figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunet.report.crowd import Crowd

__all__ = ["write_report"]

_COMPARED = {"delivery_ratio": "Highest", "latency_avg": "Lowest", "overhead_ratio": "Lowest"}
"""What alternatives are compared by, and what is good."""
_MOST_COMPARED = 20
"""Alternatives in a table of differences; the file with the data has all."""


def write_report(
    study: StudyResults,
    out: Path | None = None,
    latex: Path | None = None,
    *,
    crowds: Sequence[Crowd] = (),
    units: Mapping[str, str] | None = None,
) -> Path:
    """Write a study's report; returns its path. Figures and their data go to a folder ``report`` beside the study.

    ``crowds`` are the contacts that the study was on, as far as they are known; ``units`` has the units of its axes.
    """
    folder, title = study.folder, study.folder.absolute().name
    results = _results(study)
    compared = list(_comparisons(study))
    _write_csv(folder / "report" / "differences.csv", compared)
    parts = [
        f"<h1>{escape(title)}</h1>",
        _told(study),
        "<h2>Results</h2>",
        results.html(),
        "<p>Mean ± half of the 95 % confidence interval.</p>",
        *study_figures(study, folder / "report", crowds, units or {}),
        "<h2>Which differences are real?</h2>",
        *_differences(compared),
        "<h2>What was run, in full</h2>",
        *_names(study),
    ]
    write_page(out or folder / "report.html", title, parts)
    if latex is not None:
        tables = [results, *(each.matrix() for each in compared)]
        with file_in_place(latex) as place:
            place.write_text("\n".join(table.latex() for table in tables), encoding="utf-8")
    return out or folder / "report.html"


class _Table(NamedTuple):
    """A table for a page and for a paper."""

    caption: str
    head: list[str]
    lines: list[list[str]]
    strong: set[tuple[int, int]]
    """Cells (line, column) that are said aloud."""

    def html(self) -> str:
        top = "".join(f"<th>{escape(title)}</th>" for title in self.head)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td><b>{escape(cell)}</b></td>" if (number, place) in self.strong else f"<td>{escape(cell)}</td>"
                for place, cell in enumerate(line)
            )
            + "</tr>"
            for number, line in enumerate(self.lines)
        )
        return f"<div class=wide><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"

    def latex(self) -> str:
        rows = [" & ".join(map(_latex, self.head)) + r" \\", r"\hline"]
        for number, line in enumerate(self.lines):
            cells = [
                rf"\textbf{{{_latex(cell)}}}" if (number, place) in self.strong else _latex(cell)
                for place, cell in enumerate(line)
            ]
            rows.append(" & ".join(cells) + r" \\")
        columns = "l" + "r" * (len(self.head) - 1)
        return "\n".join([f"% {self.caption}", rf"\begin{{tabular}}{{{columns}}}", *rows, r"\end{tabular}", ""])


def _told(study: StudyResults) -> str:
    """What was run, at a glance."""
    rows = study.rows
    versions = rows[0]["name"]["result"]["versions"]
    told = [
        ("protocols", ", ".join(dict.fromkeys(row["protocol"] for row in rows))),
        *(("contacts", _contacts(study, label)) for label in study.sources()),
        ("workload", "; ".join(dict.fromkeys(_plain(row["name"].get("workload", {})) for row in rows))),
        ("runs", f"{len(rows)}: {len(study.series())} settings, {study.repetitions} repetitions each"),
        ("seeds", ", ".join(dict.fromkeys(str(row["seed"]) for row in rows))),
        ("versions", ", ".join(f"{name} {number}" for name, number in versions.items())),
    ]
    return facts(told)


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
    lines = [
        [name, *(metric.of(rows).text(metric.digits, metric.unit) for metric in shown)]
        for name, rows in study.series().items()
    ]
    return _Table(
        "Results: mean and half of the 95 % confidence interval", ["", *(m.title for m in shown)], lines, set()
    )


class _Comparison(NamedTuple):
    """All pairs of alternatives in the same surroundings, by one metric."""

    place: str
    metric: Metric
    order: list[str]
    """The alternatives, the best first."""
    found: list[Difference]

    def matrix(self) -> _Table:
        """Row less column; what is real is strong."""
        shown = self.order[:_MOST_COMPARED]
        of = {frozenset((each.one, each.two)): each for each in self.found}
        lines, strong = [], set()
        for number, row in enumerate(shown[1:]):
            line = [row]
            for place, column in enumerate(shown[:-1], 1):
                each = of.get(frozenset((row, column)))
                if each is None or place > number + 1:
                    line.append("")
                    continue
                sign = 1 if each.one == row else -1
                less = each.interval._replace(mean=sign * each.interval.mean)
                line.append(f"{less.text(self.metric.digits, self.metric.unit)}{'' if each.real else ' ≈'}")
                if each.real:
                    strong.add((number, place))
            lines.append(line)
        where = f" ({self.place})" if self.place else ""
        return _Table(f"Differences of {self.metric.title}{where}: row less column", ["", *shown[:-1]], lines, strong)

    def verdict(self) -> str:
        """In words: who is on top, and who cannot be told from it."""
        top = self.order[0]
        near = [each for each in self.found if top in (each.one, each.two) and not each.real]
        others = [each.two if each.one == top else each.one for each in near]
        told = f"not told apart from it: {', '.join(others)}" if others else "no other comes near"
        where = f" ({self.place})" if self.place else ""
        return f"{_COMPARED[self.metric.name]} {self.metric.title}{where}: {top}; {told}."


def _comparisons(study: StudyResults) -> Iterator[_Comparison]:
    for metric in REPORTED:
        if metric.name not in _COMPARED:
            continue
        for place, alternatives in study.alternatives().items():
            found = {
                name: {row["repetition"]: row[metric.name] for row in rows if row[metric.name] is not None}
                for name, rows in alternatives.items()
            }
            known = {name: values for name, values in found.items() if values}
            sign = -1 if _COMPARED[metric.name] == "Highest" else 1
            order = sorted(known, key=lambda name: sign * sum(known[name].values()) / len(known[name]))
            differences = paired_differences({name: known[name] for name in order})
            if differences:
                yield _Comparison(place, metric, order, differences)


def _differences(compared: list[_Comparison]) -> Iterator[str]:
    if not compared:
        yield "<p>Needs two alternatives and two repetitions.</p>"
        return
    yield (
        "<p>Runs of a repetition share world, workload and coins, so that alternatives are compared repetition by "
        "repetition (paired t-test; 5 % for all pairs of a table together by Holm's correction). Row less column: "
        "<b>bold</b> is real, ≈ may be chance.</p>"
    )
    for number, each in enumerate(compared):
        opened = "" if number else " open"
        yield f"<details{opened}><summary>{escape(each.verdict())}</summary>{each.matrix().html()}</details>"


def _write_csv(path: Path, compared: list[_Comparison]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("where", "metric", "one", "two", "one less two", "ci95", "runs", "p", "p by Holm", "real"))
    for comparison in compared:
        for each in comparison.found:
            row = (each.one, each.two, *each.interval, each.p, each.adjusted, each.real)
            writer.writerow((comparison.place, comparison.metric.name, *row))
    with file_in_place(path) as place:
        place.write_text(text.getvalue(), encoding="utf-8")


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}
_LATEX |= {"≈": r"$\approx$", "<": r"$<$", ">": r"$>$"} | {sign: f"\\{sign}" for sign in "%_&#${}"}


def _latex(cell: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in cell)
