"""Tables 3 to 5 of the Socio-Aware Overlay as the paper has them, and as our studies fill them."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

from hunet.model.intervals import Interval
from hunet.report.claims import percent, table
from hunet.report.runs import Runs, Studies
from hunet.systems.socio_aware_overlay.measures import OVERLAY, PUSH, UNIT, measure, undelivered_percent


class TableRow(NamedTuple):
    """A row of Tables 3 to 5, of the paper."""

    load: str
    hops: float
    contact_to_sub: float
    pub_to_sub: float
    hours: float
    undelivered: int
    total_hops: int | None


TABLE_3 = (
    TableRow("1000/100", 1.27, 0.0, 74.2, 8.0, 174, 6528),
    TableRow("500/50", 1.26, 0.0, 67.5, 7.3, 107, 1852),
    TableRow("200/20", 1.45, 0.0, 21.9, 2.4, 81, 351),
)
TABLE_4 = (
    TableRow("1000/100", 1.28, 5.6, 631.6, 68.4, 261, 6431),
    TableRow("500/50", 1.34, 4.6, 828.5, 89.8, 242, 1373),
    TableRow("200/20", 1.32, 4.3, 831.4, 90.1, 115, 204),
)
SAME_COMMUNITY = TableRow("1000/100C", 1.35, 2.7, 449.4, 48.7, 33, None)
TABLE_5 = (
    TableRow("1000/100", 1.01, 0.0, 645.7, 70.0, 846, 237),
    TableRow("500/50", 1.04, 0.0, 988.1, 107.0, 432, 85),
    TableRow("200/20", 1.00, 0.0, 1660.8, 180.0, 183, 17),
)
TABLES = {
    "table-3": ("Table 3", "Cambridge", TABLE_3),
    "table-4": ("Table 4", "Reality", TABLE_4),
    "table-5": ("Table 5", "Geolife for UCSD", TABLE_5),
}
NAMES = {"cambridge": "Cambridge", "reality": "Reality", "geolife": "Geolife for UCSD"}
LONERS = {True: "loners have the default community", False: "loners have none"}


def place_of(row: TableRow, loners: bool) -> dict[str, Any]:
    """Where a row of the tables stands in our studies' grids."""
    load = row.load.partition("/")[2]
    return {"default_community": loners} | ({} if load.endswith("C") else {"subscriptions": int(load)})


def total_hops(runs: Runs, subscriptions: int) -> Interval:
    """The hops of all deliveries of epidemic dissemination."""
    return runs.at(lambda row: (row["hopcount_avg"] or 0) * row["delivered"], PUSH, subscriptions=subscriptions)


def dissemination_table(studies: Studies, stem: str) -> str:
    """The paper's row, and ours both ways, load by load."""
    title, trace, loads = TABLES[stem]
    shown = [(stem, row) for row in loads]
    if stem == "table-4" and "table-4-same-community" in studies:
        shown.append(("table-4-same-community", SAME_COMMUNITY))
    rows = []
    for study, row in shown:
        runs, many = studies[study], int(row.load.partition("/")[0])
        paper = [f"{row.hops:.2f}", row.contact_to_sub, f"{row.pub_to_sub:,}", row.hours]
        paper += [f"{undelivered_percent(row.undelivered, many)} %", f"{row.total_hops:,}" if row.total_hops else "–"]
        rows.append([row.load, "the paper", *paper, "–"])
        for loners, label in LONERS.items():
            here = runs.only(OVERLAY, **place_of(row, loners))
            hops, after, units, undelivered, pairs = _cells(here, 1)
            hours = here.at(measure("pub_to_sub"), OVERLAY).text(1, 3600 / UNIT)
            total = here.at(measure("total_hops"), OVERLAY).text(0)
            rows.append([f"| {label}", hops, after, units, hours, undelivered, total, pairs])
        if study == stem:
            subscriptions = int(row.load.partition("/")[2])
            here = runs.only(PUSH, subscriptions=subscriptions)
            delay = here.at("latency_avg", PUSH)
            cells = [here.at("hopcount_avg", PUSH).text(2), "–", delay.text(0, UNIT), delay.text(1, 3600), "–"]
            cells += [total_hops(runs, subscriptions).text(0), percent(here.at("delivery_ratio", PUSH))]
            rows.append(["| epidemic", *cells])
    heading = "load | | hops | C−B (units) | C−A (units) | latency (h) | undelivered | total hops | pairs served"
    return f"{title}, {trace} (a unit is 390 s):\n\n{table(heading, rows)}"


def trace_table(runs: Runs) -> str:
    """Section 3: pairs by category, inter-contact times, degrees and hops of the traces."""
    rows = []
    for label, name in NAMES.items():
        for row in runs.only(trace=label, least_contacts=1).rows[:1]:
            graph, pairs = row["observed"]["graph"], row["observed"]["pairs"]
            law, degrees = pairs["power_law"], sorted(graph["degrees"])
            law_text = (
                f"x^-{law['alpha']:.2f} from {law['low']:,.0f} to {law['high']:,.0f} s" if law else "no power law"
            )
            degrees_text = f"{degrees[0]}, {median(degrees):g}, {degrees[-1]}"
            hops = ", ".join(f"{number}: {many:,}" for number, many in enumerate(graph["hops"], 1))
            rows.append(
                [name, graph["nodes"], graph["edges"], *pairs["categories"].values(), law_text, degrees_text, hops]
            )
    heading = (
        "trace | nodes | pairs that met | community | familiar stranger | friend | stranger | inter-contact times "
    )
    heading += "| least, median, most met | pairs by hops"
    return f"The traces, as section 3 looks at them:\n\n{table(heading, rows)}" if rows else ""


_MEASURES = "hops | C−B (units) | C−A (units) | undelivered | pairs served"


def matters_table(runs: Runs) -> str:
    """Results with and without each choice that the paper leaves open."""
    rows = [
        [hop, "group" if group else "one", inject, *_cells(runs.only(hop=hop, broker_group=group, inject=inject))]
        for hop in ("met", "familiar")
        for group in (True, False)
        for inject in ("first-contact", "broker")
    ]
    found = table(f"one hop is | brokers | injection | {_MEASURES}", rows)
    return f"What Table 4 (Reality, 1000/100, default community) depends on:\n\n{found}"


def online_table(runs: Runs) -> str:
    """Results of the whole algorithm at work, beside those with known communities."""
    rows = [
        [mode, centrality, *_cells(runs.only(mode=mode, centrality=centrality))]
        for mode in ("online", "frozen")
        for centrality in ("closeness", "betweenness")
    ]
    title = "Online and frozen, closeness and betweenness (Reality, 1000/100, default community, one hop is familiar):"
    return f"{title}\n\n{table(f'mode | centrality | {_MEASURES}', rows)}"


def _cells(runs: Runs, digits: int = 0) -> list[str]:
    """The measures of the overlay; C - B with so many digits."""
    return [
        runs.at(measure("hops"), OVERLAY).text(2),
        runs.at(measure("contact_to_sub"), OVERLAY).text(digits),
        runs.at(measure("pub_to_sub"), OVERLAY).text(0),
        percent(runs.at(measure("undelivered"), OVERLAY)),
        percent(runs.at("delivery_ratio", OVERLAY)),
    ]
