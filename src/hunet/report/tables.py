"""Tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from hunet.model.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunet.model import Parameter
    from hunet.simulation.result import Result

__all__ = ["print_comparison", "print_parameters", "print_study", "print_summary"]

_SHOWN = (
    ("delivery_ratio", "delivery ratio", "of all (publication, interested subscriber) pairs"),
    ("reachable_ratio", "reachable bound", "what contacts allow at best"),
    ("latency_avg", "delay, mean", ""),
    ("latency_med", "delay, median", ""),
    ("hopcount_avg", "hops, mean", ""),
    ("relayed", "data packets", "messages that changed hands"),
    ("overhead_ratio", "overhead ratio", "further packets per delivery"),
    ("control_bytes", "control bytes", ""),
    ("copies_avg", "copies per message", "devices that ever held or received it"),
    ("efficiency", "efficiency", "share of the receivers that wanted it"),
    ("dropped_overflow", "dropped: full buffer", "copies"),
    ("dropped_expired", "dropped: old age", "copies"),
    ("aborted", "cut off", "packets under way when a contact ended"),
)
_LONGEST_DEFAULT = 24
_SECONDS = ("latency_avg", "latency_med")
_RATIOS = ("delivery_ratio", "reachable_ratio", "efficiency")


def print_summary(result: Result) -> None:
    """One run as a table."""
    name, summary = result.name, result.summary
    title = f"{name['protocol']}, seed {name['seed']}: {summary['created']} publications, {summary['pairs']} pairs"
    table = Table(title=title, box=box.SIMPLE, show_header=False, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    for key, label, remark in _SHOWN:
        table.add_row(label, _text(key, summary[key]), remark)
    Console().print(table)


def print_parameters(name: str, summary: str, parameters: Iterable[Parameter]) -> None:
    """What can be set, as a table."""
    table = Table(title=f"{name}: {summary}", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("parameter", "symbol", "default", "unit", "meaning"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "parameter")
    for row in parameters:
        choices = f": {row.kind.replace('|', ', ')}" if "|" in row.kind else ""
        table.add_row(row.name, row.symbol, _default(row.default), row.unit, row.help + choices)
    Console(markup=False, highlight=False).print(table, markup=False)


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        value = tuple(f"{name}={each}" for name, each in value.items())
    if not isinstance(value, tuple):
        return str(value)
    text = ", ".join(map(str, value))
    return text if len(text) <= _LONGEST_DEFAULT else f"{len(value)} entries"


_COLUMNS = (
    ("delivery_ratio", "deliv-\nered %", 0.01),
    ("reachable_ratio", "bound\n%", 0.01),
    ("latency_avg", "delay\n{time}", 0.0),
    ("overhead_ratio", "over-\nhead", 1.0),
    ("copies_avg", "copies", 1.0),
    ("control_bytes", "control\nMB", 1e6),
    ("brokers", "bro-\nkers", 1.0),
)
"""Metric, heading, unit of what is compared at a glance."""


def print_study(points: list[dict[str, Any]], title: str = "") -> None:
    """The rows of a study's summary table: where they differ, and what came out."""
    axes = [name for name in points[0] if name not in ("point", "runs", "failed") and not _is_metric(name)]
    shown = [axis for axis in axes if axis == "protocol" or len({str(point[axis]) for point in points}) > 1]
    rows = []
    for point in points:
        found = {}
        for key, _, _ in _COLUMNS:
            mean, half = point[f"{key}_mean"], point[f"{key}_ci95"]
            found[key] = Interval.of([]) if mean is None else Interval(mean, half, point["runs"])
        rows.append((["" if point[axis] is None else str(point[axis]) for axis in shown], found))
    _print_intervals(title, [axis.rpartition(".")[2] for axis in shown], rows)


def print_comparison(points: list[dict[str, Any]], title: str) -> None:
    """Protocols side by side, best delivery first, and in words which reaches most and which costs least."""
    order = sorted(points, key=lambda point: -(point["delivery_ratio_mean"] or 0.0))
    print_study(order, title)
    cheapest = [point for point in order if point["overhead_ratio_mean"] is not None]
    least = min(cheapest, key=lambda point: point["overhead_ratio_mean"], default=order[0])
    Console(highlight=False).print(
        f"Most delivered: [bold]{order[0]['protocol']}[/bold]. "
        f"Fewest packets per delivery: [bold]{least['protocol']}[/bold]."
    )


def _is_metric(name: str) -> bool:
    return name.endswith(("_mean", "_ci95"))


def _print_intervals(title: str, labels: list[str], rows: list[tuple[list[str], dict[str, Interval]]]) -> None:
    slowest = max((_known(found["latency_avg"], 0.0) for _, found in rows), default=0.0)
    time, seconds = next(
        (unit, float(size))
        for size, unit in ((86400, "days"), (3600, "hours"), (60, "min"), (1, "s"))
        if slowest >= size or size == 1
    )
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    for label in labels:
        table.add_column(label, no_wrap=True)
    columns = [column for column in _COLUMNS if any(found[column[0]].runs for _, found in rows)]
    for _, heading, _ in columns:
        table.add_column(heading.format(time=time), justify="right", no_wrap=True)
    for names, found in rows:
        table.add_row(*names, *(_spread(found[key], unit or seconds) for key, _, unit in columns))
    console = Console()
    console.print(table)
    console.print(
        "mean ± half of the 95 % confidence interval; bound: what contacts allow;\n"
        "overhead: further packets per delivery; copies: per message",
        style="dim",
        highlight=False,
    )


def _known(interval: Interval, otherwise: float) -> float:
    return interval.mean if interval.runs else otherwise


def _spread(interval: Interval, unit: float) -> str:
    if not interval.runs:
        return "–"
    mean, half = interval.mean / unit, (interval.half or 0.0) / unit
    digits = 0 if mean >= 10 or half >= 1 else 1
    return f"{mean:,.{digits}f}" + (f" ±{half:,.{digits}f}" if half else "")


def _text(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    if key in _SECONDS:
        return _duration(value)
    if key in _RATIOS:
        return f"{value:.3f}"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.2f}"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
