"""SocialCast's tables: real traces, and what the paper leaves out, tried."""

from __future__ import annotations

from hunet.report.claims import table
from hunet.report.runs import Runs, Studies
from hunet.systems.socialcast.measures import WITH, WITHOUT

TRACES = {
    "infocom05": "Infocom 2005, interests by lot",
    "infocom06": "Infocom 2006, interests from questionnaires",
    "high-school": "High School 2013, classes",
}
MOBILITY = {"goal": "dissolving", "home": "lasting", "frozen": "nobody leaves home"}
_NAMES = (("with", WITH), ("without", WITHOUT))


def traces_table(studies: Studies) -> str:
    """Both protocols on the traces that there are."""
    axes, rows = ("copies", "period", "memory", "hysteresis"), []
    for name, title in TRACES.items():
        if name not in studies:
            rows.append([title, "not run" + 8 * " |"])
            continue
        for label, protocol in _NAMES:
            runs = studies[name].only(protocol)
            for coordinates in sorted({tuple(row["coordinates"][axis] for axis in axes) for row in runs.rows}):
                here = runs.only(**dict(zip(axes, coordinates, strict=True)))
                cells = [here.at(metric, protocol).text() for metric in ("delivery_ratio", "reachable_ratio")]
                cells += [here.at("relayed", protocol).text(0), here.at("latency_avg", protocol).text(1, unit=3600)]
                rows.append([title, label, *(f"{value:g}" for value in coordinates), *cells])
    return table(
        "trace and interests | prediction | γ | T (s) | λ | ε | delivery | possible | sent | latency (h)", rows
    )


def calibration_table(runs: Runs) -> str:
    """What the paper leaves out, tried: with 5 copies by mobility, maxTTL and Q/R, and without prediction."""
    limits = [6, 8, 10, 25, None]
    cases = [(f"with, Q/R = {q:g}", WITH, {"copies": 5, "state_noise": q}) for q in (0.001, 0.01, 0.1, 1.0)]
    cases += [(f"without, γ = {copies}", WITHOUT, {"copies": copies}) for copies in (5, 15)]
    rows = []
    for association, reading in MOBILITY.items():
        for label, protocol, case in cases:
            cells = []
            for limit in limits:
                here = runs.only(protocol, association=association, max_hops=limit, **case)
                delivery, sent = (here.at(metric, protocol) for metric in ("delivery_ratio", "relayed"))
                cells.append(f"{delivery.text()}; {sent.text(0)}" if delivery.runs else "–")
            rows.append([reading, label, *cells])
    return table("communities | prediction | " + " | ".join(f"maxTTL {limit or 'none'}" for limit in limits), rows)
