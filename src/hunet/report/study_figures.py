"""The figures of a study's report: each an SVG with its data as CSV beside it, and a part of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.model.intervals import Interval
from hunet.report.broker_duty import BrokerDuty
from hunet.report.chart import MOST_COLOURS, Chart, ChartPoint, Series, strongest, write_for_paper, write_rows
from hunet.report.crowd import MOST_DRAWN
from hunet.report.figures import STYLES, dots, line, panels
from hunet.report.html import picture
from hunet.report.metrics import METRICS
from hunet.report.study import StudyResults, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hunet.model.run_files import Row
    from hunet.report.crowd import Crowd
    from hunet.report.field import Alternatives
    from hunet.report.metrics import Metric

_DRAWN = ("delivery_ratio", "latency_avg", "overhead_ratio", "hopcount_avg", "buffer_avg", "brokers")
_MOST_DOTS = 30
_MOST_FIELDS = 6
_GREY = {"color": "#c4c4c4", "marker": "", "linestyle": "-"}
"""How a series is drawn that is not among the few in colour."""
_MOST_GRAPHS = 3
_POINTS = 200
Data = list[tuple[Any, ...]]


def study_figures(
    study: StudyResults, folder: Path, crowds: Sequence[Crowd], units: Mapping[str, str]
) -> Iterator[str]:
    """Draw all figures that the study has data for, as files in a folder and as parts of the page."""
    numeric = study.numeric()
    for axis in numeric:
        yield _along(study, axis, units.get(axis, ""), folder / f"against-{short(axis)}")
    if not numeric:
        yield _side_by_side(study, folder / "side-by-side")
    if study.has_tables():
        yield _distributions(study, folder / "distributions")
        served = {name: rows for name, rows in study.series().items() if rows[0]["brokers"] is not None}
        if served:
            yield _brokers(study, served, folder / "brokers")
    if crowds:
        yield _inter_contacts(crowds, folder / "inter-contact-times")
    for number, crowd in enumerate(crowds[:_MOST_GRAPHS]):
        if len(crowd.contacts.names) <= MOST_DRAWN:
            yield _graph(study, crowd, folder / f"contact-graph-{number}")


def draw_fields(fields: Sequence[Alternatives], folder: Path) -> str:
    """Delivery against cost, with the bound and the Pareto front, in each of the surroundings."""
    charts = field_charts(fields[:_MOST_FIELDS])
    columns = min(len(charts), 2)
    path = folder / "delivery-against-cost"
    size = {"width": 5.2, "height": 4.0} if columns == 1 else {"height": 3.4}
    with panels(path.with_suffix(".svg"), -(-len(charts) // columns), columns, **size) as grid:
        for panel, chart, field in zip(grid, charts, fields, strict=False):
            panel.set_title(field.point, fontsize=9)
            chart.draw(panel)
        _finish(grid, len(charts), legend=False)
    named = [(field.point, *row) for field, chart in zip(fields, charts, strict=False) for row in chart.rows()[1:]]
    head = ("where", *charts[0].rows()[0])
    left_out = f" The first {_MOST_FIELDS} of {len(fields)} are drawn." if len(fields) > _MOST_FIELDS else ""
    beside = [each.name for field in fields for each in field.alternatives if each.out_of_band]
    note = f" Packets out of band are not counted: {', '.join(dict.fromkeys(beside))}." if beside else ""
    caption = "Delivery against cost. The line is the Pareto front: nothing delivers more for less. Bars are 95 % "
    return _figure(path, [head, *named], f"{caption}confidence intervals.{note}{left_out}", narrow=columns == 1)


def field_charts(fields: Sequence[Alternatives]) -> list[Chart]:
    """Delivery against cost as charts, one for each of the surroundings."""
    found = []
    for number, field in enumerate(fields):
        costs = [each.cost.mean for each in field.alternatives if each.cost.runs]
        found.append(
            Chart(
                "delivery-against-cost" + (f"-{number}" if len(fields) > 1 else ""),
                METRICS["forwards"].title,
                METRICS["delivery_ratio"].title,
                [
                    Series(each.name, [ChartPoint(each.cost, each.delivery)], each.front)
                    for each in field.alternatives
                    if each.cost.runs
                ],
                lines=False,
                log=0 < 20 * min(costs) < max(costs),
                top=1.05,
                bound=field.bound.mean if field.bound.runs else None,
            )
        )
    return found


def write_figures(
    study: StudyResults, fields: Sequence[Alternatives], folder: Path, style: str, units: Mapping[str, str]
) -> int:
    """Write the charts of a study for a paper; returns how many."""
    charts = field_charts(fields)
    for axis in study.numeric():
        charts += [_along_axis(study, axis, units.get(axis, ""), metric) for metric in study.shown(_DRAWN)]
    for chart in charts:
        write_for_paper(chart, folder, style)
    return len(charts)


def _styles(names: Sequence[str], study: StudyResults) -> dict[str, Mapping[str, str]]:
    """A style for each series, those in colour last: the others lie below them."""
    series = study.series()
    strong = strongest(names, {name: _delivered(series[name]) for name in names})
    found: dict[str, Mapping[str, str]] = {name: _GREY for name in names if name not in strong}
    found.update(zip([name for name in names if name in strong], STYLES, strict=False))
    return found


def _delivered(rows: Sequence[Row]) -> float:
    found = METRICS["delivery_ratio"].of(list(rows))
    return found.mean if found.runs else -1.0


def _along(study: StudyResults, axis: str, unit: str, path: Path) -> str:
    """All metrics against a parameter that was swept."""
    charts = [_along_axis(study, axis, unit, metric) for metric in study.shown(_DRAWN)]
    with panels(path.with_suffix(".svg"), -(-len(charts) // 3), min(len(charts), 3)) as grid:
        for panel, chart in zip(grid, charts, strict=False):
            chart.draw(panel)
        _finish(grid, len(charts))
    data: Data = [(axis, "series", "metric", "mean", "ci95")]
    for metric, chart in zip(study.shown(_DRAWN), charts, strict=True):
        data += [
            (point.x.mean, each.label, metric.name, point.y.mean * metric.unit, (point.y.half or 0.0) * metric.unit)
            for each in chart.series
            for point in each.points
        ]
    grey = any(not each.strong for chart in charts for each in chart.series)
    others = " Those that deliver less are grey; the CSV file names them." if grey else ""
    return _figure(path, data, f"Against {short(axis)}; bands are 95 % confidence intervals.{others}")


def _along_axis(study: StudyResults, axis: str, unit: str, metric: Metric) -> Chart:
    """One metric against a parameter that was swept."""
    series = {name: [row for row in rows if axis in row["axes"]] for name, rows in study.series(axis).items()}
    series = {name: rows for name, rows in series.items() if rows}
    strong = strongest(list(series), {name: _delivered(rows) for name, rows in series.items()})
    values = sorted({row["axes"][axis] for rows in series.values() for row in rows})
    drawn = []
    for name, rows in series.items():
        found = {at: metric.of([row for row in rows if row["axes"][axis] == at]).scaled(metric.unit) for at in values}
        points = [ChartPoint(Interval(at, None, 1), each) for at, each in found.items() if each.runs]
        drawn.append(Series(name, points, name in strong))
    return Chart(
        f"{metric.name.replace('_', '-')}-against-{short(axis)}",
        f"{short(axis)} ({unit})" if unit else short(axis),
        metric.title,
        drawn,
        log=values[0] > 0 and values[-1] / values[0] >= 50,
        top=1.02 if metric.name == "delivery_ratio" else None,
    )


def _side_by_side(study: StudyResults, path: Path) -> str:
    series, drawn = study.series(), study.shown(_DRAWN)
    delivered = {name: METRICS["delivery_ratio"].of(rows) for name, rows in series.items()}
    order = sorted(series, key=lambda name: -delivered[name].mean if delivered[name].runs else 0.0)
    best = order[:_MOST_DOTS]
    data: Data = [("series", "metric", "mean", "ci95")]
    rows = -(-len(drawn) // 3)
    with panels(path.with_suffix(".svg"), rows, min(len(drawn), 3), height=0.9 + 0.17 * len(best)) as grid:
        for number, (panel, metric) in enumerate(zip(grid, drawn, strict=False)):
            found = [metric.of(series[name]) for name in best]
            dots(panel, [""] * len(best) if number % 3 else best, found, metric.unit)
            panel.set(xlabel=metric.title)
            panel.set_ylim(0.6 - len(best), 0.6)
            panel.set_xlim(0, 1.02 if metric.name == "delivery_ratio" else None)
            data += [(name, metric.name, one.mean, one.half) for name, one in zip(best, found, strict=True) if one.runs]
        _finish(grid, len(drawn), legend=False)
    left_out = f" The best {_MOST_DOTS} of {len(series)} are drawn." if len(series) > _MOST_DOTS else ""
    return _figure(path, data, f"Best delivery on top; bars are 95 % confidence intervals.{left_out}")


def _distributions(study: StudyResults, path: Path) -> str:
    """Delays and hops of all deliveries, and copies over time."""
    import pyarrow.parquet as pq

    data: Data = [("series", "what", "x", "y")]
    with panels(path.with_suffix(".svg"), 1, 3) as grid:
        delays, hops, held = grid
        series = study.series()
        for name, style in _styles(list(series), study).items():
            rows = series[name]
            folders = [kept for row in rows if (kept := study.tables(row))]
            tables = [pq.read_table(one / "deliveries.parquet", columns=["delay", "hops"]) for one in folders]
            delay = np.concatenate([table.column("delay").to_numpy() for table in tables]) / 60
            hop = np.concatenate([table.column("hops").to_numpy() for table in tables]).astype(int)
            over = [pq.read_table(one / "series.parquet", columns=["time", "buffered"]) for one in folders]
            time = np.mean([table.column("time").to_numpy() for table in over], axis=0) / 3600
            buffered = np.mean([table.column("buffered").to_numpy() for table in over], axis=0)
            line(held, time, buffered, style, name if style is not _GREY else "")
            data += [(name, "copies held", x, y) for x, y in zip(time.tolist(), buffered.tolist(), strict=True)]
            if len(delay):
                x, y = _cumulative(delay)
                line(delays, x, y, style)
                counts = np.bincount(hop) / len(hop)
                hops.plot(range(len(counts)), counts, markersize=3, linewidth=1.0, **style)
                data += [(name, "delay (min)", *point) for point in zip(x.tolist(), y.tolist(), strict=True)]
                data += [(name, "hops", *point) for point in enumerate(counts.tolist())]
        delays.set(xlabel="delay (min)", ylabel="share of deliveries", ylim=(0, 1))
        hops.set(xlabel="hops", ylabel="share of deliveries")
        held.set(xlabel="time (h)", ylabel="copies in all buffers", ylim=(0, None))
        _finish([held, delays, hops], 3)
    others = " Grey: those that deliver less; the CSV file names them." if len(series) > MOST_COLOURS else ""
    return _figure(path, data, f"Delays and hops of all deliveries; copies held over time.{others}")


def _brokers(study: StudyResults, served: Mapping[str, list[Row]], path: Path) -> str:
    """How many brokers there are over time, how their duty is spread over people, and how long a term lasts."""
    data: Data = [("series", "what", "x", "y")]
    with panels(path.with_suffix(".svg"), 1, 3) as grid:
        many, duty, terms = grid
        for name, style in _styles(list(served), study).items():
            rows = served[name]
            found = [BrokerDuty.read(kept) for row in rows if (kept := study.tables(row))]
            middles = (np.arange(_POINTS) + 0.5) / _POINTS
            instants = [begin + middles * (end - begin) for begin, end in (one.span for one in found)]
            count = np.mean([one.brokers_at(at.tolist()) for one, at in zip(found, instants, strict=True)], axis=0)
            time = np.mean(instants, axis=0) / 3600
            line(many, time, count, style, name if style is not _GREY else "")
            data += [(name, "brokers", *point) for point in zip(time.tolist(), count.tolist(), strict=True)]
            people = min(one.nodes for one in found)
            shares = [np.sort(one.duty_times())[::-1][:people] / (one.span[1] - one.span[0]) for one in found]
            share = np.mean(shares, axis=0)
            line(duty, range(1, people + 1), share, style)
            data += [(name, "duty", *point) for point in enumerate(share.tolist(), 1)]
            lengths = [stop - start for one in found for each in one.terms.values() for start, stop in each]
            if lengths:
                x, y = _cumulative(np.array(lengths) / 60)
                line(terms, x, y, style)
                data += [(name, "term (min)", *point) for point in zip(x.tolist(), y.tolist(), strict=True)]
        many.set(xlabel="time (h)", ylabel="brokers", ylim=(0, None))
        duty.set(xlabel="people, the busiest first", ylabel="share of the run as broker", ylim=(0, 1.02))
        terms.set(xlabel="uninterrupted time as broker (min)", ylabel="share of terms", ylim=(0, 1))
        _finish(grid, 3)
    return _figure(path, data, "Brokers: how many, how duty is spread (mean by rank), how long a term lasts.")


def _inter_contacts(crowds: Sequence[Crowd], path: Path) -> str:
    """Complementary cumulative distributions of the times between contacts of a pair, and of their lengths."""
    data: Data = [("contacts", "what", "x", "share of longer ones")]
    drawn: dict[str, bool] = {}
    with panels(path.with_suffix(".svg"), 1, 2) as grid:
        for style, crowd in zip(STYLES, crowds, strict=False):
            lengths = crowd.contacts.end - crowd.contacts.start
            for panel, what, values in (
                (grid[0], "time between contacts (min)", crowd.gaps),
                (grid[1], "length of contacts (min)", lengths),
            ):
                known = values[values > 0] / 60
                x, y = _cumulative(known) if len(known) else (np.empty(0), np.empty(0))
                x, y = x[y < 1], 1 - y[y < 1]
                line(panel, x, y, style, crowd.label)
                panel.set(xlabel=what, ylabel="share of longer ones")
                drawn[what] = drawn.get(what, False) or bool(len(x))
                data += [(crowd.label, what, *point) for point in zip(x.tolist(), y.tolist(), strict=True)]
        for panel, any_drawn in zip(grid, drawn.values(), strict=True):
            if any_drawn:
                panel.set(xscale="log", yscale="log")
            else:  # everybody stays with the same people, or all lengths are the same
                panel.text(0.5, 0.5, "no two different values", ha="center", transform=panel.transAxes)
        _finish(grid, 2)
    return _figure(path, data, "Times between contacts of a pair, and lengths of contacts (first repetition).")


def _graph(study: StudyResults, crowd: Crowd, path: Path) -> str:
    """Who spent time with whom, by community; squares were brokers for half of the run or more."""
    names = crowd.contacts.names
    name, share = _who_served(study, crowd)
    pairs, together = crowd.ties
    spots, community = crowd.layout, crowd.community()
    data: Data = [("kind", "node", "other", "x", "y", "community", "share as broker", "share of time together")]
    served: Sequence[float | str] = [""] * len(names) if share is None else share.tolist()
    data += [
        ("node", names[node], "", *spots[node].round(4).tolist(), int(community[node]), served[node], "")
        for node in range(len(names))
    ]
    data += [
        ("tie", names[a], names[b], "", "", "", "", part)
        for (a, b), part in zip(pairs.tolist(), together.tolist(), strict=True)
    ]
    with panels(path.with_suffix(".svg"), 1, 1, height=6.5) as [panel]:
        crowd.draw(panel, share)
    brokers = f"Squares were brokers of {name} for half of the run or more." if name else "No brokers are known."
    if name is None and any(row["brokers"] is not None for row in study.rows):
        brokers = "Brokers are marked if the study keeps tables (tables = true)."
    return _figure(
        path,
        data,
        f"Who meets whom: {crowd.label}. Letters and colours are communities, {crowd.found_by}; lines are each "
        f"person's strongest ties, the thicker the more time together. {brokers}",
    )


def _who_served(study: StudyResults, crowd: Crowd) -> tuple[str | None, Any]:
    """The best series with brokers on these contacts, and the share of its run that each node was one."""
    whose = crowd.contacts.fingerprint
    best: tuple[float, str, BrokerDuty] | None = None
    for name, rows in study.series().items():
        for row in rows:
            tables = study.tables(row)
            if tables and row["brokers"] and row["name"]["result"]["contacts"]["sha256"] == whose:
                delivered = row["delivery_ratio"] or 0.0
                if best is None or delivered > best[0]:
                    best = delivered, name, BrokerDuty.read(tables)
    if best is None:
        return None, None
    _, name, duty = best
    begin, end = duty.span
    time = [sum(stop - start for start, stop in duty.terms.get(node, ())) for node in crowd.contacts.names]
    return name, np.array(time) / (end - begin)


def _cumulative(values: Any) -> tuple[Any, Any]:
    """The share of values that are at most x, at no more points than a figure shows."""
    ordered = np.sort(values)
    steps = np.unique(np.linspace(0, len(ordered) - 1, _POINTS).astype(int))
    return ordered[steps], (steps + 1) / len(ordered)


def _finish(grid: Sequence[Any], used: int, *, legend: bool = True) -> None:
    """Take panels away that nothing is drawn in; one legend for all, below them."""
    for panel in grid[used:]:
        panel.set_axis_off()
    handles, labels = grid[0].get_legend_handles_labels()
    if legend and handles:
        grid[0].figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), fontsize=7)


def _figure(path: Path, data: Data, caption: str, *, narrow: bool = False) -> str:
    write_rows(path.with_suffix(".csv"), data)
    return picture(path.with_suffix(".svg"), caption, f" Data: {path.name}.csv", narrow=narrow)
