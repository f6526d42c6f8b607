"""The figures of a study's report: each an SVG with its data as CSV beside it, and a part of the page."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.model.files import file_in_place
from hunet.report.broker_duty import BrokerDuty
from hunet.report.crowd import MOST_DRAWN
from hunet.report.figures import STYLES, curve, dots, line, panels
from hunet.report.html import picture
from hunet.report.metrics import METRICS
from hunet.report.study import StudyResults, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hunet.model.run_files import Row
    from hunet.report.crowd import Crowd

_DRAWN = ("delivery_ratio", "latency_avg", "overhead_ratio", "hopcount_avg", "buffer_avg", "brokers")
_MOST_SERIES = len(STYLES)
_MOST_DOTS = 30
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
        served = {name: rows for name, rows in _few(study).items() if rows[0]["brokers"] is not None}
        if served:
            yield _brokers(study, served, folder / "brokers")
    if crowds:
        yield _inter_contacts(crowds, folder / "inter-contact-times")
    for number, crowd in enumerate(crowds[:_MOST_GRAPHS]):
        if len(crowd.contacts.names) <= MOST_DRAWN:
            yield _graph(study, crowd, folder / f"contact-graph-{number}")


def _few(study: StudyResults) -> dict[str, list[Row]]:
    return dict(list(study.series().items())[:_MOST_SERIES])


def _along(study: StudyResults, axis: str, unit: str, path: Path) -> str:
    drawn = study.shown(_DRAWN)
    data: Data = [(axis, "series", "metric", "mean", "ci95")]
    series = {name: [row for row in rows if axis in row["axes"]] for name, rows in study.series(axis).items()}
    series = {name: rows for name, rows in series.items() if rows}
    values = sorted({row["axes"][axis] for rows in series.values() for row in rows})
    wide = values[0] > 0 and values[-1] / values[0] >= 50
    with panels(path.with_suffix(".svg"), -(-len(drawn) // 3), min(len(drawn), 3)) as places:
        for style, (label, rows) in zip(STYLES, series.items(), strict=False):
            ordered = sorted(rows, key=lambda row: row["axes"][axis])
            for panel, metric in zip(places, drawn, strict=False):
                along = {
                    place: metric.of(list(there)) for place, there in groupby(ordered, lambda row: row["axes"][axis])
                }
                curve(panel, along, style, label, metric.unit)
                data += [(place, label, metric.name, one.mean, one.half) for place, one in along.items() if one.runs]
        for panel, metric in zip(places, drawn, strict=False):
            label = f"{short(axis)} ({unit})" if unit else short(axis)
            panel.set(xlabel=label, ylabel=metric.title, xscale="log" if wide else "linear")
            panel.set_ylim(0, 1.02 if metric.name == "delivery_ratio" else None)
        _finish(places, len(drawn))
    left_out = f" The first {_MOST_SERIES} of {len(series)} are drawn." if len(series) > _MOST_SERIES else ""
    return _figure(path, data, f"Against {short(axis)}; bands are 95 % confidence intervals.{left_out}")


def _side_by_side(study: StudyResults, path: Path) -> str:
    series, drawn = study.series(), study.shown(_DRAWN)
    delivered = {name: METRICS["delivery_ratio"].of(rows) for name, rows in series.items()}
    order = sorted(series, key=lambda name: -delivered[name].mean if delivered[name].runs else 0.0)
    best = order[:_MOST_DOTS]
    data: Data = [("series", "metric", "mean", "ci95")]
    rows = -(-len(drawn) // 3)
    with panels(path.with_suffix(".svg"), rows, min(len(drawn), 3), height=0.9 + 0.17 * len(best)) as places:
        for number, (panel, metric) in enumerate(zip(places, drawn, strict=False)):
            found = [metric.of(series[name]) for name in best]
            dots(panel, [""] * len(best) if number % 3 else best, found, metric.unit)
            panel.set(xlabel=metric.title)
            panel.set_ylim(0.6 - len(best), 0.6)
            panel.set_xlim(0, 1.02 if metric.name == "delivery_ratio" else None)
            data += [(name, metric.name, one.mean, one.half) for name, one in zip(best, found, strict=True) if one.runs]
        _finish(places, len(drawn), legend=False)
    left_out = f" The best {_MOST_DOTS} of {len(series)} are drawn." if len(series) > _MOST_DOTS else ""
    return _figure(path, data, f"Best delivery on top; bars are 95 % confidence intervals.{left_out}")


def _distributions(study: StudyResults, path: Path) -> str:
    """Delays and hops of all deliveries, and copies over time."""
    import pyarrow.parquet as pq

    data: Data = [("series", "what", "x", "y")]
    with panels(path.with_suffix(".svg"), 1, 3) as places:
        delays, hops, held = places
        for style, (name, rows) in zip(STYLES, _few(study).items(), strict=False):
            folders = [kept for row in rows if (kept := study.tables(row))]
            tables = [pq.read_table(one / "deliveries.parquet", columns=["delay", "hops"]) for one in folders]
            delay = np.concatenate([table.column("delay").to_numpy() for table in tables]) / 60
            hop = np.concatenate([table.column("hops").to_numpy() for table in tables]).astype(int)
            over = [pq.read_table(one / "series.parquet", columns=["time", "buffered"]) for one in folders]
            time = np.mean([table.column("time").to_numpy() for table in over], axis=0) / 3600
            buffered = np.mean([table.column("buffered").to_numpy() for table in over], axis=0)
            line(held, time, buffered, style, name)
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
    return _figure(path, data, "Delays and hops of all deliveries; copies held over time.")


def _brokers(study: StudyResults, served: Mapping[str, list[Row]], path: Path) -> str:
    """How many brokers there are over time, how their duty is spread over people, and how long a term lasts."""
    data: Data = [("series", "what", "x", "y")]
    with panels(path.with_suffix(".svg"), 1, 3) as places:
        many, duty, terms = places
        for style, (name, rows) in zip(STYLES, served.items(), strict=False):
            found = [BrokerDuty.read(kept) for row in rows if (kept := study.tables(row))]
            middles = (np.arange(_POINTS) + 0.5) / _POINTS
            instants = [begin + middles * (end - begin) for begin, end in (one.span for one in found)]
            count = np.mean([one.brokers_at(at.tolist()) for one, at in zip(found, instants, strict=True)], axis=0)
            time = np.mean(instants, axis=0) / 3600
            line(many, time, count, style, name)
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
        _finish(places, 3)
    return _figure(path, data, "Brokers: how many, how duty is spread (mean by rank), how long a term lasts.")


def _inter_contacts(crowds: Sequence[Crowd], path: Path) -> str:
    """Complementary cumulative distributions of the times between contacts of a pair, and of their lengths."""
    data: Data = [("contacts", "what", "x", "share of longer ones")]
    with panels(path.with_suffix(".svg"), 1, 2) as places:
        for style, crowd in zip(STYLES, crowds, strict=False):
            lengths = crowd.contacts.end - crowd.contacts.start
            for panel, what, values in (
                (places[0], "time between contacts (min)", crowd.gaps),
                (places[1], "length of contacts (min)", lengths),
            ):
                known = values[values > 0] / 60
                x, y = _cumulative(known) if len(known) else (np.empty(0), np.empty(0))
                x, y = x[y < 1], 1 - y[y < 1]
                line(panel, x, y, style, crowd.label)
                panel.set(xlabel=what, ylabel="share of longer ones", xscale="log", yscale="log")
                data += [(crowd.label, what, *point) for point in zip(x.tolist(), y.tolist(), strict=True)]
        _finish(places, 2)
    return _figure(path, data, "Times between contacts of a pair, and lengths of contacts (first repetition).")


def _graph(study: StudyResults, crowd: Crowd, path: Path) -> str:
    """Who spent time with whom, by community; squares were brokers for half of the run or more."""
    names = crowd.contacts.names
    name, share = _who_served(study, crowd)
    pairs, together = crowd.ties
    place, community = crowd.layout, crowd.community()
    data: Data = [("kind", "node", "other", "x", "y", "community", "share as broker", "share of time together")]
    served: Sequence[float | str] = [""] * len(names) if share is None else share.tolist()
    data += [
        ("node", names[node], "", *place[node].round(4).tolist(), int(community[node]), served[node], "")
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


def _finish(places: Sequence[Any], used: int, *, legend: bool = True) -> None:
    """Take panels away that nothing is drawn in; one legend for all, below them."""
    for panel in places[used:]:
        panel.set_axis_off()
    handles, labels = places[0].get_legend_handles_labels()
    if legend and handles:
        places[0].figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), fontsize=7)


def _figure(path: Path, data: Data, caption: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(data)
    with file_in_place(path.with_suffix(".csv")) as place:
        place.write_text(text.getvalue(), encoding="utf-8")
    return picture(path.with_suffix(".svg"), caption, f" Data: {path.name}.csv")
