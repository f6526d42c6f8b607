"""Tables for a terminal."""

from __future__ import annotations

import math
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunet.model import Parameter
    from hunet.simulation.result import Result

__all__ = ["Comparison", "print_comparison", "print_parameters", "print_summary"]

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


class Comparison:
    """Runs of several protocols over common random numbers."""

    _METRICS = (*(key for key, _, _ in _SHOWN), "relayed_per_delivery")

    def __init__(self) -> None:
        self._runs: dict[str, list[dict[str, Any]]] = {}

    def add(self, protocol: str, summary: dict[str, Any]) -> None:
        per_delivery = summary["relayed"] / summary["delivered"] if summary["delivered"] else None
        self._runs.setdefault(protocol, []).append(summary | {"relayed_per_delivery": per_delivery})

    def rows(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """For each protocol and metric, the mean and half the width of its 95 % confidence interval."""
        return {
            protocol: {key: _interval([run[key] for run in runs]) for key in self._METRICS}
            for protocol, runs in self._runs.items()
        }


def print_comparison(comparison: Comparison, title: str) -> None:
    """Protocols side by side, best delivery first, and in words which reaches most and which costs least."""
    rows = comparison.rows()
    order = sorted(rows, key=lambda name: -(rows[name]["delivery_ratio"]["mean"] or 0))
    slowest = max((rows[name]["latency_avg"]["mean"] or 0) for name in order)
    time_unit, seconds = next(
        (unit, size)
        for size, unit in ((86400, "days"), (3600, "hours"), (60, "min"), (1, "s"))
        if slowest >= size or size == 1
    )
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("protocol", no_wrap=True)
    columns = (
        ("delivery_ratio", "delivered\n%", 0.01),
        ("reachable_ratio", "bound\n%", 0.01),
        ("latency_avg", f"delay\n{time_unit}", seconds),
        ("relayed_per_delivery", "packets/\ndelivery", 1),
        ("copies_avg", "copies/\nmessage", 1),
        ("control_bytes", "control\nMB", 1e6),
    )
    for _, heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for name in order:
        table.add_row(name, *(_spread(rows[name][key], unit) for key, _, unit in columns))
    console = Console()
    console.print(table)
    most, least = order[0], min(order, key=lambda name: rows[name]["relayed_per_delivery"]["mean"] or math.inf)
    console.print("mean ± half of the 95 % confidence interval; bound: what contacts allow", style="dim")
    console.print(
        f"Most delivered: [bold]{most}[/bold]. Fewest packets per delivery: [bold]{least}[/bold].", highlight=False
    )


def _spread(interval: dict[str, float | None], unit: float) -> str:
    value, half = interval["mean"], interval["ci95"]
    if value is None:
        return "–"
    digits = 0 if value / unit >= 1000 else 1
    return f"{value / unit:,.{digits}f}" + (f" ±{half / unit:,.{digits}f}" if half else "")


# Student's t for a two-sided 95 % interval, by degrees of freedom; 1.96 beyond.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def _interval(values: list[float | None]) -> dict[str, float | None]:
    known = [value for value in values if value is not None]
    if not known:
        return {"mean": None, "ci95": None}
    if len(known) == 1:
        return {"mean": known[0], "ci95": None}
    freedom = len(known) - 1
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96
    return {"mean": mean(known), "ci95": student * stdev(known) / len(known) ** 0.5}


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
