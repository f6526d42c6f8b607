"""Tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from hunet.model.intervals import Interval
from hunet.report.metrics import METRICS, Metric, community_sizes, community_warning, duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunet.model import Parameter
    from hunet.pipeline.advice import Advice
    from hunet.simulation.result import Result

_OF_A_RUN = (
    *("delivery_ratio", "reachable_ratio", "latency_avg", "latency_med", "hopcount_avg", "relayed", "overhead_ratio"),
    *("control_bytes", "seen_bytes", "out_of_band_bytes", "copies_avg", "efficiency"),
    *("dropped_overflow", "dropped_expired", "aborted"),
)
_AT_A_GLANCE = [metric for metric in METRICS.values() if metric.heading]
_NOTES = {
    "reachable_ratio": "bound: what contacts allow",
    "forwards": "packets: those with data",
    "seen_bytes": "lists: of messages seen, a part of control; the rest of it is what a system knows of people",
    "out_of_band_bytes": "out of band: between brokers, carried by no contact",
    "brokers": "brokers: people who carry for all others (–: none, everybody is alike)",
}
_LONGEST_DEFAULT = 24


def print_summary(result: Result) -> None:
    """One run as a table."""
    name, summary = result.name, result.summary
    title = f"{name['protocol']}, seed {name['seed']}: {summary['created']} publications, {summary['pairs']} pairs"
    table = Table(title=title, box=box.SIMPLE, show_header=False, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    for metric in map(METRICS.__getitem__, _OF_A_RUN):
        value = summary.get(metric.name)  # older results have fewer metrics
        if value or not metric.sparse:
            table.add_row(metric.label, _text(metric, value), metric.remark)
    observed = summary.get("observed")
    sizes = community_sizes(observed)
    if sizes:
        text = ", ".join(str(size) if n == 1 else f"{n} of {size}" for size, n in sizes.items())
        table.add_row("communities", text, "people in each")
    Console().print(table)
    if warning := community_warning(observed):
        Console().print(warning)


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


def print_study(points: list[dict[str, Any]], title: str = "") -> None:
    """The rows of a study's summary table: where they differ, and what came out."""
    axes = [name for name in points[0] if name not in ("point", "runs", "failed") and not _is_metric(name)]
    shown = [axis for axis in axes if axis == "protocol" or len({str(point[axis]) for point in points}) > 1]
    shown = [axis for axis in shown if not axis.startswith("world.")]  # the name of the contacts says them
    rows = []
    for point in points:
        found = {}
        for metric in _AT_A_GLANCE:
            # A summary has the packets; a study says in all runs as much.
            name, unit = ("relayed", point["created_mean"] or 1.0) if metric.name == "forwards" else (metric.name, 1.0)
            mean, half = point.get(f"{name}_mean"), point.get(f"{name}_ci95")  # older results have fewer metrics
            found[metric.name] = Interval.of([]) if mean is None else Interval(mean, half, point["runs"]).scaled(unit)
        rows.append((["" if point[axis] is None else str(point[axis]) for axis in shown], found))
    _print_intervals(title, [axis.rpartition(".")[2] for axis in shown], rows)


def print_comparison(points: list[dict[str, Any]], title: str) -> None:
    """Protocols side by side, best delivery first."""
    print_study(sorted(points, key=lambda point: -(point["delivery_ratio_mean"] or 0.0)), title)


def print_advice(advice: Advice, cost: str) -> None:
    """What to use for a goal, how sure that is, and what the others would cost."""
    from hunet.report.advice import advice_text, shown

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for heading in ("in time %", advice.goal.cost, "reaches\nthe goal", "cheapest\nthat does"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = shown(advice)
    for each in rows:
        shares = (f"{100 * share:.0f} %" for share in (each.meets, each.wins))
        table.add_row(each.name, _spread(each.ratio, 0.01), _spread(each.cost, 1.0), *shares)
    console = Console(highlight=False)
    console.print(table)
    left = len(advice.candidates) - len(rows)
    console.print(
        f"{advice.goal.cost}: {cost}; mean ± half of the 95 % confidence interval;\n"
        f"the last two columns: how probable that is, after {advice.repetitions} runs"
        + (f"; {left} more candidates are in the report" if left > 0 else ""),
        style="dim",
    )
    answer, *rest = advice_text(advice, cost)
    console.print(answer, style="bold", soft_wrap=True)
    for text in rest:
        console.print(text, soft_wrap=True)


def _is_metric(name: str) -> bool:
    return name.endswith(("_mean", "_ci95"))


def _print_intervals(title: str, labels: list[str], rows: list[tuple[list[str], dict[str, Interval]]]) -> None:
    slowest = max((_known(found["latency_avg"], 0.0) for _, found in rows), default=0.0)
    time, seconds = next(
        (unit, float(size))
        for size, unit in ((86400, "days"), (3600, "hours"), (60, "min"), (1, "s"))
        if slowest >= size or size == 1
    )
    units = {"number": 1.0, "ratio": 0.01, "seconds": seconds, "bytes": 1e6}
    columns = {}
    for metric in _AT_A_GLANCE:
        found = [row[metric.name] for _, row in rows]
        if metric.shown(each.mean if each.runs else None for each in found):
            cells = [_spread(each, units[metric.kind], sparse=metric.sparse) for each in found]
            columns[metric.name] = (metric.heading.format(time=time), cells)
    console = Console(highlight=False)
    if title:
        console.print(title, style="bold")
    notes = {name: text for name, text in _NOTES.items() if name in columns}
    bounds = set(columns["reachable_ratio"][1]) if "reachable_ratio" in columns else set()
    if len(bounds) == 1:  # the same for all needs no column
        del columns["reachable_ratio"]
        notes["reachable_ratio"] = f"contacts allow {bounds.pop()} % at best"
    for part in _fitting(list(columns.values()), labels, rows, console.width):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for label in labels:
            table.add_column(label, overflow="fold")
        for heading, _ in part:
            table.add_column(heading, justify="right", no_wrap=True)
        for number, (names, _) in enumerate(rows):
            table.add_row(*names, *(cells[number] for _, cells in part))
        console.print(table)
    console.print("mean ± half of the 95 % confidence interval; " + "; ".join(notes.values()), style="dim")


_Column = tuple[str, list[str]]


def _fitting(
    columns: list[_Column], labels: list[str], rows: list[tuple[list[str], dict[str, Interval]]], width: int
) -> list[list[_Column]]:
    """The columns in as many tables as a terminal needs: nothing is cut off."""
    texts = ["\n".join((label, *(row[0][column] for row in rows))) for column, label in enumerate(labels)]
    names = [max(map(len, text.split("\n"))) + 2 for text in texts]
    room = width - 2 - min(sum(names), width // 2)  # the edges take two, as every column does
    parts: list[list[_Column]] = [[]]
    left = room
    for heading, cells in columns:
        needed = max(map(len, (*heading.split("\n"), *cells))) + 2
        if needed > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1].append((heading, cells))
        left -= needed
    return parts


def _known(interval: Interval, otherwise: float) -> float:
    return interval.mean if interval.runs else otherwise


def _spread(interval: Interval, unit: float, *, sparse: bool = False) -> str:
    if not interval.runs or (sparse and not interval.mean):
        return "–"
    mean, half = interval.mean / unit, (interval.half or 0.0) / unit
    digits = 0 if mean >= 10 or half >= 1 else 1
    return f"{mean:,.{digits}f}" + (f" ±{half:,.{digits}f}" if half else "")


def _text(metric: Metric, value: float | None) -> str:
    if value is None:
        return "–"
    if metric.kind == "seconds":
        return duration(value)
    if metric.kind == "ratio":
        return f"{value:.3f}"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.2f}"
