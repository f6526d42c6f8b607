"""``hunet report``: a study as one page that needs nothing else, its figures as SVG and their data as CSV.

Theory of operation. A *series* is a protocol with what else distinguishes points of the study, but for the parameter
along the horizontal axis. Runs of one repetition share their world, workload and coins, so that two series are compared
by their differences repetition by repetition (a paired t-test), which is far sharper than by their intervals.
"""

from __future__ import annotations

import csv
import io
import json
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from hunet.model import InputError
from hunet.model.files import file_in_place
from hunet.model.intervals import Interval, student_t
from hunet.report.claims import Runs
from hunet.report.figures import STYLES, curve, dots, panels

__all__ = ["write_report"]


class Metric(NamedTuple):
    """A column of the results as people read it."""

    name: str
    title: str
    unit: float = 1.0
    digits: int = 2


METRICS = (
    Metric("delivery_ratio", "delivery ratio", digits=3),
    Metric("reachable_ratio", "reachable bound", digits=3),
    Metric("latency_avg", "delay (min)", 60.0, 1),
    Metric("hopcount_avg", "hops"),
    Metric("overhead_ratio", "further packets per delivery"),
    Metric("copies_avg", "copies per message", digits=1),
    Metric("control_bytes", "control (MB)", 1e6),
    Metric("buffer_avg", "messages in a buffer", digits=1),
    Metric("brokers", "brokers", digits=1),
)
_DRAWN = ("delivery_ratio", "latency_avg", "overhead_ratio")
_MOST_SERIES = len(STYLES)


def write_report(folder: Path, out: Path | None = None, latex: Path | None = None) -> Path:
    """Write a study's report; returns its path. Figures and their data go to a folder ``report`` beside the study."""
    out = out or folder / "report.html"
    study = _Study(folder)
    parts = [
        f"<h1>{escape(folder.absolute().name)}</h1>",
        study.told(),
        "<h2>Results</h2>",
        study.table(),
        "<p>Mean ± half of the 95 % confidence interval.</p>",
        *study.figures(folder / "report"),
        "<h2>Which differences are real?</h2>",
        study.comparison(),
    ]
    with file_in_place(out) as place:
        place.write_text(_PAGE.format(title=escape(folder.absolute().name), body="\n".join(parts)), encoding="utf-8")
    if latex is not None:
        with file_in_place(latex) as place:
            place.write_text(study.latex(), encoding="utf-8")
    return out


class _Study:
    """The runs of a study by series."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = Runs.read(folder)
        for row in self.runs.rows:
            row["brokers"] = json.loads(row["role_time"] or "{}").get("broker")
        try:
            self.identity = json.loads((folder / "study.json").read_text("utf-8"))
        except (OSError, ValueError):
            raise InputError(folder, "is not the folder of a study: it has no study.json") from None
        axes = sorted({name for row in self.runs.rows for name in row["axes"]})
        several = len({row["contacts"] for row in self.runs.rows}) > 1
        self.axes = [*(["contacts"] if several else []), *axes]

    def series(self, but: str = "") -> dict[str, list[dict[str, Any]]]:
        """The runs by protocol and all axes but one, in the order of the study."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.runs.rows:
            place = {"contacts": row["contacts"], **row["axes"]}
            case = place.pop("case", row["protocol"])  # a case has a name that says what it is
            parts = [f"{axis.rpartition('.')[2]} {place[axis]}" for axis in self.axes if axis != but and axis in place]
            found.setdefault(", ".join([case, *parts]), []).append(row)
        return found

    def at(self, rows: list[dict[str, Any]], metric: Metric) -> Interval:
        return Interval.of(row[metric.name] for row in rows)

    def told(self) -> str:
        """What was run."""
        rows = self.runs.rows
        contacts = sorted({f"{row['contacts']}: {canonical_short(row['name']['contacts'])}" for row in rows})
        versions = rows[0]["name"]["result"]["versions"]
        facts = {
            "protocols": ", ".join(dict.fromkeys(row["protocol"] for row in rows)),
            "contacts": "; ".join(contacts),
            "workload": json.dumps(rows[0]["name"]["workload"]),
            "runs": f"{len(rows)}, {self.runs.repetitions} repetitions of {len(self.series())} settings",
            "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        }
        lines = [f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items()]
        return f"<table class=facts>{''.join(lines)}</table>"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table of results: headings and rows."""
        series = self.series()
        shown = [metric for metric in METRICS if any(self.at(rows, metric).runs for rows in series.values())]
        lines = [
            [name, *(self.at(rows, metric).text(metric.digits, metric.unit) for metric in shown)]
            for name, rows in series.items()
        ]
        return ["", *(metric.title for metric in shown)], lines

    def table(self) -> str:
        head, lines = self.cells()
        top = "".join(f"<th>{escape(title)}</th>" for title in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
        return f"<div class=wide><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"

    def latex(self) -> str:
        """The table of results for a paper."""
        head, lines = self.cells()
        rows = [" & ".join(_latex(cell) for cell in line) + r" \\" for line in [head, *lines]]
        rows.insert(1, r"\hline")
        return "\n".join([rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", *rows, r"\end{tabular}", ""])

    def figures(self, folder: Path) -> list[str]:
        """All figures, as parts of the page and as files."""
        parts = []
        numeric = [axis for axis in self.axes if self._is_numeric(axis)]
        for axis in numeric:
            parts.append(self._along(axis, folder / f"against-{axis.rpartition('.')[2]}"))
        if not numeric:
            parts.append(self._side_by_side(folder / "side-by-side"))
        parts += self._distributions(folder)
        return parts

    def _is_numeric(self, axis: str) -> bool:
        values = {row["axes"].get(axis) for row in self.runs.rows} - {None}
        return len(values) > 1 and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)

    def _along(self, axis: str, path: Path) -> str:
        drawn = [metric for metric in METRICS if metric.name in _DRAWN]
        data: list[tuple[Any, ...]] = [(axis, "series", "metric", "mean", "ci95")]
        name = axis.rpartition(".")[2]
        series = {key: rows for key, rows in self.series(axis).items() if any(axis in row["axes"] for row in rows)}
        with panels(path.with_suffix(".svg"), 1, len(drawn)) as places:
            for style, (label, rows) in zip(STYLES, series.items(), strict=False):
                ordered = sorted((row for row in rows if axis in row["axes"]), key=lambda row: row["axes"][axis])
                for panel, metric in zip(places, drawn, strict=True):
                    along = {
                        place: self.at(list(there), metric)
                        for place, there in groupby(ordered, lambda row: row["axes"][axis])
                    }
                    curve(panel, along, style, label, metric.unit)
                    data += [(place, label, metric.name, one.mean, one.half) for place, one in along.items()]
            values = sorted({row["axes"][axis] for row in self.runs.rows if axis in row["axes"]})
            for panel, metric in zip(places, drawn, strict=True):
                wide = values[0] > 0 and values[-1] / values[0] >= 50
                panel.set(xlabel=name, ylabel=metric.title, xscale="log" if wide else "linear")
                panel.set_ylim(bottom=0)
            places[0].legend(fontsize=7)
        left_out = f" The first {_MOST_SERIES} of {len(series)} are drawn." if len(series) > _MOST_SERIES else ""
        return _figure(path, data, f"Against {name}; bands are 95 % confidence intervals.{left_out}")

    def _side_by_side(self, path: Path) -> str:
        series = self.series()
        best = sorted(series, key=lambda name: -_or_zero(self.at(series[name], METRICS[0])))[:30]
        drawn = [metric for metric in METRICS if metric.name in _DRAWN]
        data: list[tuple[Any, ...]] = [("series", "metric", "mean", "ci95")]
        with panels(path.with_suffix(".svg"), 1, len(drawn), height=1.0 + 0.25 * len(best)) as places:
            for panel, metric in zip(places, drawn, strict=True):
                found = [self.at(series[name], metric) for name in best]
                dots(panel, best if panel is places[0] else [""] * len(best), found, metric.unit)
                panel.set(xlabel=metric.title)
                panel.set_xlim(0, 1.02 if metric.name == "delivery_ratio" else None)
                data += [(name, metric.name, one.mean, one.half) for name, one in zip(best, found, strict=True)]
        return _figure(path, data, "Best delivery on top; bars are 95 % confidence intervals.")

    def _distributions(self, folder: Path) -> list[str]:
        """Delays and hops of all deliveries, and copies over time, where the study kept its tables."""
        import numpy as np
        import pyarrow.parquet as pq

        series = {
            name: [self.folder / "tables" / row["key"] for row in rows]
            for name, rows in list(self.series().items())[:_MOST_SERIES]
        }
        if not all((path / "deliveries.parquet").exists() for paths in series.values() for path in paths):
            return []
        path = folder / "distributions"
        data: list[tuple[Any, ...]] = [("series", "what", "x", "y")]
        with panels(path.with_suffix(".svg"), 1, 3) as [delays, hops, held]:
            for style, (name, paths) in zip(STYLES, series.items(), strict=False):
                tables = [pq.read_table(one / "deliveries.parquet", columns=["delay", "hops"]) for one in paths]
                delay = np.sort(np.concatenate([table.column("delay").to_numpy() for table in tables])) / 60
                hop = np.concatenate([table.column("hops").to_numpy() for table in tables]).astype(int)
                over = [pq.read_table(one / "series.parquet", columns=["time", "buffered"]) for one in paths]
                time = np.mean([table.column("time").to_numpy() for table in over], axis=0) / 3600
                buffered = np.mean([table.column("buffered").to_numpy() for table in over], axis=0)
                if len(delay):
                    steps = np.unique(np.linspace(0, len(delay) - 1, 200).astype(int))
                    share = (steps + 1) / len(delay)
                    line = {key: style[key] for key in ("color", "linestyle")}
                    delays.plot(delay[steps], share, label=name, linewidth=1.2, **line)
                    counts = np.bincount(hop) / len(hop)
                    hops.plot(range(len(counts)), counts, markersize=3, linewidth=1.0, **style)
                    held.plot(time, buffered, linewidth=1.2, **line)
                    data += [(name, "delay", x, y) for x, y in zip(delay[steps].tolist(), share.tolist(), strict=True)]
                    data += [(name, "hops", x, y) for x, y in enumerate(counts.tolist())]
                    data += [(name, "held", x, y) for x, y in zip(time.tolist(), buffered.tolist(), strict=True)]
            delays.set(xlabel="delay (min)", ylabel="share of deliveries", ylim=(0, 1))
            hops.set(xlabel="hops", ylabel="share of deliveries")
            held.set(xlabel="time (h)", ylabel="copies in all buffers")
            delays.legend(fontsize=7)
        return [_figure(path, data, "Delays and hops of all deliveries; copies held over time.")]

    def comparison(self) -> str:
        """Every series against the one that delivers most, repetition by repetition."""
        series = self.series()
        of = {
            name: {row["repetition"]: row["delivery_ratio"] for row in rows if row["delivery_ratio"] is not None}
            for name, rows in series.items()
        }
        of = {name: found for name, found in of.items() if found}
        if len(of) < 2 or self.runs.repetitions < 2:
            return "<p>Needs two series and two repetitions.</p>"
        best = max(of, key=lambda name: sum(of[name].values()) / len(of[name]))
        lines = []
        for name, found in of.items():
            common = sorted(set(found) & set(of[best]))
            if name != best and len(common) > 1:
                less = Interval.of(of[best][each] - found[each] for each in common)
                # Bonferroni: all statements of this table together are wrong with probability 0.05 at most.
                usual, strict = (student_t(len(common) - 1, 1 - 0.05 / many) for many in (1, len(of) - 1))
                real = less.half is not None and less.mean > less.half * strict / usual
                verdict = "real" if real else "may be chance"
                lines.append(f"<tr><td>{escape(name)}</td><td>{less.text(3)}</td><td>{verdict}</td></tr>")
        head = f"<tr><th></th><th>delivers less than {escape(best)} by</th><th></th></tr>"
        note = (
            "<p>Differences between runs with the same world, workload and coins (paired t-test, 5 % for all lines "
            "together by Bonferroni's correction).</p>"
        )
        return f"<div class=wide><table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table></div>{note}"


def canonical_short(contacts: dict[str, Any]) -> str:
    """Contacts by their hash, or the world and its parameters."""
    if "sha256" in contacts:
        return f"sha256 {contacts['sha256'][:16]}"
    return f"world {contacts['world']} {json.dumps(contacts['parameters'])}"


def _or_zero(found: Interval) -> float:
    return found.mean if found.runs else 0.0


def _figure(path: Path, data: list[tuple[Any, ...]], caption: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(data)
    with file_in_place(path.with_suffix(".csv")) as place:
        place.write_text(text.getvalue(), encoding="utf-8")
    svg = path.with_suffix(".svg").read_text("utf-8")
    svg = svg[svg.index("<svg") :]
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _latex(cell: str) -> str:
    for sign, written in (("±", r"$\pm$"), ("–", "--"), ("%", r"\%"), ("_", r"\_"), ("&", r"\&")):
        cell = cell.replace(sign, written)
    return cell


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; }}
th:first-child, td:first-child, .facts td {{ text-align: left; }}
.wide {{ overflow-x: auto; }}
.wide td {{ white-space: nowrap; }}
figure {{ margin: 1.5rem 0; background: #fff; color: #222; padding: .5rem; border-radius: 6px; }}
figure svg {{ width: 100%; height: auto; }}
figcaption {{ font-size: 13px; }}
@media print {{ body {{ margin: 0; max-width: none; font-size: 11px; }} figure {{ break-inside: avoid; }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
