"""The figures of papers drawn again: in the paper's axes, ours as curves, the numbers that it prints as crosses.

They are drawn from what claims are judged by, so that a page shows its figures also where only kept rows are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hunet.model.intervals import Interval
from hunet.report.figures import STYLES, curve, panels
from hunet.report.runs import NotRunError
from hunet.report.yardstick import At, Found


class Curve(NamedTuple):
    """A curve of a figure."""

    label: str
    at: At
    axis: str
    values: Sequence[float]
    """Along the axis. With no axis the curve is flat over them, or each has its own metric: ``hops_within_{}``."""
    unit: float = 1.0

    def points(self) -> dict[float, At]:
        """Its points, by their place on the axis."""
        if "{}" in self.at.metric:
            return {value: self.at._replace(metric=self.at.metric.format(value)) for value in self.values}
        found = {
            value: {**self.at.coordinates, self.axis: value} if self.axis else self.at.coordinates
            for value in self.values
        }
        return {value: self.at._replace(coordinates=coordinates) for value, coordinates in found.items()}

    def drawn(self, found: Found) -> dict[float, Interval]:
        """What there is of it."""
        known = {}
        for value, at in self.points().items():
            try:
                sample = at.sample(found)
            except NotRunError:
                continue
            known[value] = Interval(sample.mean, sample.half(), 2).scaled(self.unit)
        return known


class Panel(NamedTuple):
    """A panel of a figure of the paper."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    printed: Iterable[tuple[float, float]] = ()
    """Numbers of the paper, (x, y)."""
    log: bool = False


_COLUMNS = 3


def draw_figures(shown: Sequence[Panel], readings: Mapping[str, Found], path: Path) -> bool:
    """Draw the panels that there are results for, in all readings; returns whether there were any."""
    drawn = []
    for panel in shown:
        drawn_panel = [
            (", ".join(filter(None, (each.label, name))), along)
            for each in panel.curves
            for name, found in readings.items()
            if (along := each.drawn(found))
        ]
        if drawn_panel:
            drawn.append((panel, drawn_panel))
    if not drawn:
        return False
    with panels(path, -(-len(drawn) // _COLUMNS), _COLUMNS, width=12) as grid:
        for axes in grid[len(drawn) :]:
            axes.set_axis_off()
        for axes, (panel, drawn_panel) in zip(grid, drawn, strict=False):
            for style, (label, along) in zip(STYLES, drawn_panel, strict=False):
                curve(axes, along, style, label)
            crosses = list(panel.printed)
            if crosses:
                axes.plot(*zip(*crosses, strict=True), "kx", markersize=7, label="the paper")
            axes.set(xlabel=panel.x, ylabel=panel.y, title=panel.title)
            if panel.log:
                axes.set_xscale("log", base=2)
            axes.legend(fontsize=7)
    return True
