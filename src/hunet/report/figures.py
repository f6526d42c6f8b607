"""Figures of studies: means with their 95 % confidence intervals, and distributions.

The same results give the same bytes. Colours are told apart by the colour-blind, and in grey by their markers and
dashes.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hunet.model.intervals import Interval

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
MARKERS, DASHES = "os^Dv<>P", ("-", "--", "-.", ":")
STYLES = [
    {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[(number + number // len(COLOURS)) % len(DASHES)],
    }
    for number in range(len(COLOURS) * len(DASHES))
]
"""One for each series of a figure, all different."""


@contextmanager
def panels(path: Path, rows: int, columns: int, height: float = 3.0, width: float = 9.0) -> Iterator[list[Any]]:
    """A figure's panels, row by row; the file is written when they are drawn. Sizes are in inches."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {"svg.hashsalt": "hunet", "svg.fonttype": "none", "font.size": 9, "axes.grid": True}
    style |= {"axes.spines.top": False, "axes.spines.right": False, "grid.color": "#e5e5e5", "legend.frameon": False}
    with mpl.rc_context(style):
        figure = Figure((width, height * rows), layout="constrained")
        yield list(figure.subplots(rows, columns, squeeze=False).flat)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


@contextmanager
def paper_panel(path: Path, width: float, style: str) -> Iterator[Any]:
    """The one panel of a PDF for a paper, as wide as its column (inch), in a font near that of the text."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    fonts = {"ieee": "STIXGeneral", "acm": "DejaVu Serif"}
    settings: dict[Any, Any] = {"font.family": fonts[style], "font.size": 8, "pdf.fonttype": 42, "axes.linewidth": 0.6}
    settings |= {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "lines.linewidth": 1}
    with mpl.rc_context(settings):
        figure = Figure((width, 0.75 * width), layout="constrained")
        yield figure.subplots()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"CreationDate": None})


def curve(panel: Any, along: Mapping[float, Interval], style: Mapping[str, str], label: str) -> None:
    """A line through means, with a band for their confidence intervals."""
    known = {value: found for value, found in along.items() if found.runs}
    means = [found.mean for found in known.values()]
    halves = [found.half or 0.0 for found in known.values()]
    panel.plot(list(known), means, label=label, markersize=3, linewidth=1.2, **style)
    low, high = ([mean + sign * half for mean, half in zip(means, halves, strict=True)] for sign in (-1, 1))
    panel.fill_between(list(known), low, high, color=style["color"], alpha=0.15, linewidth=0)


def line(panel: Any, x: Any, y: Any, style: Mapping[str, str], label: str = "") -> None:
    """A line through many points, with a few markers by which it is told apart in grey."""
    # Lines that run side by side carry their markers at different places.
    offset = 0.02 * MARKERS.index(style["marker"]) if style["marker"] else 0.0
    panel.plot(x, y, label=label or None, linewidth=1.1, markersize=3.5, markevery=(offset, 0.2), **style)


def dots(panel: Any, names: Sequence[str], found: Sequence[Interval], unit: float = 1.0) -> None:
    """A dot for each name, with its confidence interval, the first on top."""
    for index, interval in enumerate(found):
        if interval.runs:
            panel.errorbar(
                interval.mean / unit, -index, xerr=(interval.half or 0.0) / unit, fmt="o", color=COLOURS[0], capsize=2
            )
    panel.set_yticks([-index for index in range(len(names))], names)
