"""Tables 3 to 5 of the Socio-Aware Overlay as the paper has them, and as our studies fill them."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.systems.socio_aware_overlay.measures import PUSH, UNIT, Studies, undelivered_percent

if TYPE_CHECKING:
    from hunet.model.intervals import Interval


class Row(NamedTuple):
    """A row of Tables 3 to 5, of the paper."""

    load: str
    hops: float
    contact_to_sub: float
    pub_to_sub: float
    hours: float
    undelivered: int
    total_hops: int | None


TABLE_3 = (
    Row("1000/100", 1.27, 0.0, 74.2, 8.0, 174, 6528),
    Row("500/50", 1.26, 0.0, 67.5, 7.3, 107, 1852),
    Row("200/20", 1.45, 0.0, 21.9, 2.4, 81, 351),
)
TABLE_4 = (
    Row("1000/100", 1.28, 5.6, 631.6, 68.4, 261, 6431),
    Row("500/50", 1.34, 4.6, 828.5, 89.8, 242, 1373),
    Row("200/20", 1.32, 4.3, 831.4, 90.1, 115, 204),
)
SAME_COMMUNITY = Row("1000/100C", 1.35, 2.7, 449.4, 48.7, 33, None)
TABLE_5 = (
    Row("1000/100", 1.01, 0.0, 645.7, 70.0, 846, 237),
    Row("500/50", 1.04, 0.0, 988.1, 107.0, 432, 85),
    Row("200/20", 1.00, 0.0, 1660.8, 180.0, 183, 17),
)
TABLES = {
    "table-3": ("Table 3", "Cambridge", TABLE_3),
    "table-4": ("Table 4", "Reality", TABLE_4),
    "table-5": ("Table 5", "Geolife for UCSD", TABLE_5),
}
LONERS = {True: "loners have the default community", False: "loners have none"}
_HOUR = UNIT / 3600


def axes_of(row: Row, loners: bool) -> dict[str, Any]:
    """Where a row of the tables stands in our studies' grids."""
    load = row.load.partition("/")[2]
    return {"default_community": loners} | ({} if load.endswith("C") else {"subscriptions": int(load)})


def dissemination_table(studies: Studies, stem: str) -> str:
    """The paper's row, and ours both ways, load by load."""
    table, trace, rows = TABLES[stem]
    runs = studies.runs(stem)
    if runs is None:
        return ""
    lines = [
        f"{table}, {trace} (a unit is 390 s):",
        "",
        "| load | | hops | C−B (units) | C−A (units) | latency (h) | undelivered | total hops | pairs served |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    shown = [(stem, row) for row in rows]
    if stem == "table-4" and studies.runs("table-4-same-community"):
        shown.append(("table-4-same-community", SAME_COMMUNITY))
    for study, row in shown:
        many = int(row.load.partition("/")[0])
        total = "–" if row.total_hops is None else f"{row.total_hops:,}"
        share = undelivered_percent(row.undelivered, many)
        paper = f"{row.hops:.2f} | {row.contact_to_sub} | {row.pub_to_sub:,} | {row.hours} | {share} %"
        lines.append(f"| {row.load} | the paper | {paper} | {total} | – |")
        for loners, said in LONERS.items():
            axes = axes_of(row, loners)
            cells = [
                text(studies.at(study, lambda d: d.hops, **axes), 2),
                text(studies.at(study, lambda d: d.contact_to_sub, **axes), 1),
                text(studies.at(study, lambda d: d.pub_to_sub, **axes), 0),
                text(studies.at(study, lambda d: d.pub_to_sub, **axes), 1, 3600 / UNIT),
                percent(studies.at(study, lambda d: d.undelivered, **axes)),
                text(studies.at(study, lambda d: d.total_hops, **axes), 0),
                percent(studies.at(study, lambda d: d.pairs, **axes)),
            ]
            lines.append(f"| | {said} | {' | '.join(cells)} |")
        if study == stem:
            axes = {"subscriptions": int(row.load.partition("/")[2])}
            hops = runs.at(lambda r: (r["hopcount_avg"] or 0) * r["delivered"], PUSH, **axes)
            cells = [
                runs.at("hopcount_avg", PUSH, **axes).text(2),
                "–",
                runs.at("latency_avg", PUSH, **axes).text(0, UNIT),
            ]
            cells += [runs.at("latency_avg", PUSH, **axes).text(1, 3600), "–", hops.text(0)]
            cells.append(percent(runs.at("delivery_ratio", PUSH, **axes)))
            lines.append(f"| | epidemic | {' | '.join(cells)} |")
    return "\n".join(lines)


def trace_table(studies: Studies, names: dict[str, str]) -> str:
    """Section 3: pairs by category, inter-contact times, degrees and hops of the traces (``names`` by their labels)."""
    lines = [
        "The traces, as section 3 looks at them:",
        "",
        "| trace | nodes | pairs that met | community | familiar stranger | friend | stranger | inter-contact times | "
        "least, median, most met | pairs by hops |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for label, name in names.items():
        found = studies.figures("table-1", label, least_contacts=1)
        if found is None:
            continue
        graph, pairs = found["graph"], found["pairs"]
        law = pairs["power_law"]
        said = f"x^-{law['alpha']:.2f} from {law['low']:,.0f} to {law['high']:,.0f} s" if law else "no power law"
        degrees = sorted(graph["degrees"])
        cells = [
            graph["nodes"],
            graph["edges"],
            *pairs["categories"].values(),
            said,
            f"{degrees[0]}, {median(degrees):g}, {degrees[-1]}",
            ", ".join(f"{number}: {many:,}" for number, many in enumerate(graph["hops"], 1)),
        ]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) if len(lines) > 4 else ""


def matters_table(studies: Studies) -> str:
    """Results with and without each choice that the paper leaves open."""
    if studies.runs("what-matters") is None:
        return ""
    lines = [
        "What Table 4 (Reality, 1000/100, default community) depends on:",
        "",
        "| one hop is | brokers | injection | hops | C−B (units) | C−A (units) | undelivered | pairs served |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for hop in ("met", "familiar"):
        for group in (True, False):
            for inject in ("first-contact", "broker"):
                axes = {"hop": hop, "broker_group": group, "inject": inject}
                cells = _measures(studies, "what-matters", **axes)
                lines.append(f"| {hop} | {'group' if group else 'one'} | {inject} | {' | '.join(cells)} |")
    return "\n".join(lines)


def online_table(studies: Studies) -> str:
    """Results of the whole algorithm at work, beside those with known communities."""
    if studies.runs("online") is None:
        return ""
    lines = [
        "Online and frozen, closeness and betweenness (Reality, 1000/100, default community, one hop is familiar):",
        "",
        "| mode | centrality | hops | C−B (units) | C−A (units) | undelivered | pairs served |",
        "|---|---|---|---|---|---|---|",
    ]
    for mode in ("online", "frozen"):
        for centrality in ("closeness", "betweenness"):
            cells = _measures(studies, "online", mode=mode, centrality=centrality)
            lines.append(f"| {mode} | {centrality} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _measures(studies: Studies, stem: str, **axes: Any) -> list[str]:
    return [
        text(studies.at(stem, lambda d: d.hops, **axes), 2),
        text(studies.at(stem, lambda d: d.contact_to_sub, **axes), 0),
        text(studies.at(stem, lambda d: d.pub_to_sub, **axes), 0),
        percent(studies.at(stem, lambda d: d.undelivered, **axes)),
        percent(studies.at(stem, lambda d: d.pairs, **axes)),
    ]


def text(found: Interval | None, digits: int, unit: float = 1.0) -> str:
    """A number with its confidence interval, or a dash."""
    return found.text(digits, unit) if found else "–"


def percent(found: Interval | None) -> str:
    """A share as a percentage."""
    return f"{found.text(0, 0.01)} %" if found else "–"
