"""A chart before it is drawn: its series and its axes, for the page of a study and for a paper.

A paper takes a PDF as it is, or the source for LaTeX's pgfplots, which draws it with the paper's own fonts from the CSV
table beside it. Writing either needs no LaTeX.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.files import file_in_place
from hunet.report.figures import COLOURS, STYLES, curve, paper_panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunet.model.intervals import Interval

MOST_COLOURS = 7
"""More lines than that are not told apart: the others are grey."""

WIDTHS = {"ieee": 3.487, "acm": 3.334}
"""Width of a column (inch): IEEEtran's 252 pt, acmart's sigconf 241 pt."""

_MOST_LABELS = 20
"""Dots that have their names beside them; those of the front first. The data beside a figure names all."""
_LABEL_SPOTS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


class ChartPoint(NamedTuple):
    """A place in a chart, with its confidence intervals."""

    x: Interval
    y: Interval


class Series(NamedTuple):
    """What has one name in a chart."""

    label: str
    points: list[ChartPoint]
    strong: bool = True
    """Whether it is drawn in colour."""


class Chart(NamedTuple):
    """A chart: lines through means if ``lines``, else one dot for each series, with its name beside it."""

    name: str
    """Of its files."""
    x: str
    y: str
    series: list[Series]
    lines: bool = True
    log: bool = False
    """Whether x is logarithmic."""
    top: float | None = None
    """Upper end of y."""
    bound: float | None = None
    """What contacts allow, as a line."""
    goal: float | None = None
    """What is asked for, as a line."""

    def draw(self, panel: Any) -> None:
        """Draw it with matplotlib."""
        panel.set(xlabel=self.x, ylabel=self.y, xscale="log" if self.log else "linear")
        if self.lines:
            self._draw_lines(panel)
        else:
            self._draw_dots(panel)
        panel.set_ylim(0, self.top)
        if self.log:
            panel.xaxis.set_major_formatter("{x:g}")

    def _draw_lines(self, panel: Any) -> None:
        styles = iter(STYLES)
        for each in sorted(self.series, key=lambda each: each.strong):
            if each.strong:
                curve(panel, {point.x.mean: point.y for point in each.points}, next(styles), each.label)
            else:
                x, y = [point.x.mean for point in each.points], [point.y.mean for point in each.points]
                panel.plot(x, y, color="#bbbbbb", linewidth=0.8, zorder=1)

    def _draw_dots(self, panel: Any) -> None:
        for value, what, dash in ((self.bound, "bound: what contacts allow", "--"), (self.goal, "asked for", ":")):
            if value is not None:
                panel.axhline(value, color="#555555", linewidth=1, linestyle=dash, zorder=1)
                panel.text(0.01, value, what, transform=panel.get_yaxis_transform(), va="bottom", fontsize=7)
        front = self.front()
        panel.step(*zip(*front, strict=True), where="post", color=COLOURS[0], linewidth=1, zorder=2, alpha=0.6)
        for each in self.series:
            [point] = each.points
            colour = COLOURS[0] if each.strong else "#888888"
            style = {"color": colour, "ecolor": f"{colour}66", "elinewidth": 0.8, "markersize": 4, "zorder": 3}
            errors = {"fmt": "o" if each.strong else "s", "xerr": point.x.half or 0.0, "yerr": point.y.half or 0.0}
            panel.errorbar(point.x.mean, point.y.mean, **errors, **style)
        means = [each.points[0].x.mean for each in self.series]
        if self.log:
            panel.set_xlim(min(means) / 2.5, max(means) * 2.5)
        else:
            panel.set_xlim(0, 1.3 * max(means) or 1.0)
        panel.set_ylim(0, self.top)
        _place_labels(panel, self.series)

    def front(self) -> list[tuple[float, float]]:
        """The Pareto front as steps, from the cheapest on."""
        return sorted((each.points[0].x.mean, each.points[0].y.mean) for each in self.series if each.strong)

    def rows(self) -> list[tuple[Any, ...]]:
        """Its data, under a head. A label has no comma: pgfplots would take it for the end of the cell."""
        head = ("series", "x", "x_ci95", "y", "y_ci95", "front" if not self.lines else "drawn")
        rows: list[tuple[Any, ...]] = [head]
        for each in self.series:
            for x, y in each.points:
                values = (x.mean, x.half or 0.0, y.mean, y.half or 0.0, int(each.strong))
                rows.append((each.label.replace(",", ""), *values))
        return rows


def strongest(names: Sequence[str], order: Mapping[str, float]) -> set[str]:
    """The names that get a colour: all if there are few, else those of the highest values."""
    return set(sorted(names, key=lambda name: -order[name])[:MOST_COLOURS])


def _place_labels(panel: Any, series: Sequence[Series]) -> None:
    """Put each name beside its dot, where it covers the least of dots and names that are there."""
    figure = panel.figure
    figure.draw_without_rendering()
    size = 7.0
    pixel = figure.dpi / 72
    dots = [panel.transData.transform((each.points[0].x.mean, each.points[0].y.mean)) for each in series]
    taken = [(x - 4 * pixel, y - 4 * pixel, x + 4 * pixel, y + 4 * pixel) for x, y in dots]
    frame = panel.get_window_extent()
    order = sorted(zip(dots, series, strict=True), key=lambda pair: not pair[1].strong)
    for (x, y), each in order[:_MOST_LABELS]:
        wide, high = 0.52 * size * len(each.label) * pixel, 1.15 * size * pixel
        best: tuple[float, tuple[float, float, float, float]] | None = None
        for reach in (6.0, 14.0, 24.0, 36.0):
            for right, up in _LABEL_SPOTS:
                left = x + (right * reach * pixel if right else -wide / 2) - (wide if right < 0 else 0)
                bottom = y + up * reach * pixel - high / 2
                box = (left, bottom, left + wide, bottom + high)
                outside = max(0, frame.x0 - box[0]) + max(0, box[2] - frame.x1) + max(0, frame.y0 - box[1])
                outside += max(0, box[3] - frame.y1)
                cost = sum(_overlap(box, other) for other in taken) + 50 * outside + reach
                if best is None or cost < best[0]:
                    best = cost, box
        assert best is not None
        taken.append(best[1])
        left, bottom, *_ = best[1]
        panel.annotate(
            each.label,
            panel.transData.inverted().transform((x, y)),
            xytext=((left - x) / pixel, (bottom - y) / pixel + high / pixel * 0.2),
            textcoords="offset points",
            fontsize=size,
            color="#000000" if each.strong else "#666666",
            bbox={"facecolor": "#ffffff", "alpha": 0.7, "edgecolor": "none", "pad": 0.2},
            zorder=4,
        )


def _overlap(one: tuple[float, ...], two: tuple[float, ...]) -> float:
    wide = min(one[2], two[2]) - max(one[0], two[0])
    high = min(one[3], two[3]) - max(one[1], two[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def write_for_paper(chart: Chart, folder: Path, style: str) -> list[Path]:
    """Write a chart at the width of a column: PDF, pgfplots source, and the data of both."""
    base = folder / chart.name
    paths = [base.with_suffix(suffix) for suffix in (".pdf", ".pgf", ".csv")]
    with paper_panel(paths[0], WIDTHS[style], style) as panel:
        chart.draw(panel)
        if chart.lines:
            panel.legend(fontsize=6)
    with file_in_place(paths[1]) as partial:
        partial.write_text(pgfplots(chart, WIDTHS[style]), encoding="utf-8")
    write_rows(paths[2], chart.rows())
    return paths


def pgfplots(chart: Chart, width: float) -> str:
    """The source of a chart for LaTeX, which needs the package pgfplots and the data beside the file."""
    options = [
        f"width={width}in, height={0.75 * width:.3f}in, font=\\footnotesize",
        f"xlabel={{{latex(chart.x)}}}, ylabel={{{latex(chart.y)}}}",
        "ymin=0" + (f", ymax={chart.top:g}" if chart.top else "") + (", xmode=log" if chart.log else ""),
        "cycle list name=exotic, legend style={font=\\tiny, at={(0.5,-0.3)}, anchor=north, draw=none}",
        "legend columns=2",
        "enlarge x limits=0.15, clip mode=individual" if not chart.lines else "enlarge x limits=0.02",
    ]
    lines = [f"% Data: {chart.name}.csv, beside this file. Needs pgfplots 1.15 or newer.", "\\begin{tikzpicture}"]
    lines += ["\\begin{axis}[", *(f"  {each}," for each in options), "]"]
    bars = "error bars/.cd, y dir=both, y explicit"
    number = 0
    ends = [point.x.mean for each in chart.series for point in each.points]
    middle = (min(ends) * max(ends)) ** 0.5 if chart.log else max(ends) / 2
    for each in chart.series:
        many = len(each.points)
        only = f"skip coords between index={{0}}{{{number}}}, skip coords between index={{{number + many}}}{{100000}}"
        table = f"table[col sep=comma, x=x, y=y, x error=x_ci95, y error=y_ci95]{{{chart.name}.csv}}"
        number += many
        if chart.lines:
            kind = "" if each.strong else "gray!50, no marks, forget plot, "
            lines.append(f"\\addplot+[{kind}{only}, {bars}] {table};")
            lines += [f"\\addlegendentry{{{latex(each.label)}}}"] if each.strong else []
        else:
            kind = "only marks, mark=*, blue!70!black" if each.strong else "only marks, mark=square*, gray"
            lines.append(f"\\addplot[{kind}, {only}, {bars}, x dir=both, x explicit] {table}")
            side = "east" if each.points[0].x.mean > middle else "west"  # towards the middle, where there is room
            lines.append(f"  node[pos=0, anchor=south {side}, font=\\tiny] {{{latex(each.label)}}};")
    if not chart.lines:
        steps = " ".join(f"({x:g},{y:g})" for x, y in chart.front())
        lines.append(f"\\addplot[const plot, blue!40, no marks] coordinates {{{steps}}};")
    for value, what in ((chart.bound, "bound"), (chart.goal, "asked for")):
        if value is not None:
            left, right = (f"({{rel axis cs:{end},0}} |- {{axis cs:1,{value:g}}})" for end in (0, 1))
            lines.append(f"\\draw[dashed] {right} -- {left} node[anchor=south west, font=\\tiny] {{{what}}};")
    return "\n".join([*lines, "\\end{axis}", "\\end{tikzpicture}", ""])


def write_rows(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write a table of data beside a figure."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with file_in_place(path) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}
_LATEX |= {"<": r"$<$", ">": r"$>$"} | {sign: f"\\{sign}" for sign in "%_&#${}"}


def latex(text: str) -> str:
    r"""A text for LaTeX.

    >>> print(latex("50 % of b_sub"))
    50 \% of b\_sub
    """
    return "".join(_LATEX.get(sign, sign) for sign in text)
