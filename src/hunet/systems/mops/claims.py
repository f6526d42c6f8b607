"""MOPS's claims, MO-1 to MO-11, as rules of the yardstick on the studies of its figures."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from hunet.report.claims import Reason, Rule, Rules
from hunet.report.evidence import Evaluation
from hunet.report.paper_figures import Curve, Panel
from hunet.report.runs import Studies
from hunet.report.yardstick import Above, At, Less, Mean, Ratio, Rises, Same
from hunet.systems.mops.measures import FIGURES
from hunet.systems.mops.tables import (
    DAY,
    MOPS,
    NEIGHBORS,
    PULL,
    PUSH,
    brokers_table,
    figure_table,
    hours,
    recorded_table,
    relearning_table,
    scarce_table,
    threshold_table,
)

TRACES = {"infocom05": "Infocom 2005", "reality": "Reality", "campus": "campus"}
OF_TRACE = {trace: f"figures-8-and-9-{trace}" for trace in TRACES}
BROKERS = {trace: f"brokers-{trace}" for trace in TRACES}
RECORDED = {trace: f"as-recorded-{trace}" for trace in TRACES}
CHOICES = "efficiency-infocom05"
SCARCE = "scarce-infocom05"
AS_MEANT = "-as-meant"
RELAYING = (PUSH, MOPS, NEIGHBORS)
"""Pull's efficiency is 1 by construction, so nothing is judged by it."""
LIVES = [3600, 10_800, 21_600, 43_200, DAY, 2 * DAY, 3 * DAY]
RATES = (2, 5, 10, 20, 50)
THRESHOLDS = [number / 10 for number in range(11)]
WITH_BROKERS = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
"""Below, the campus is one community without a broker, and the two runs of MO-9 are the same run."""


def _on(trace: str, metric: str, scheme: str, life: int = DAY) -> At:
    return At(OF_TRACE[trace], metric, scheme, {"ttl": life})


def _threshold(metric: str, threshold: float, weight: float = 1e-5) -> At:
    return At("figure-10", metric, MOPS, {"threshold": threshold, "default_weight": weight})


def _rate(metric: str, scheme: str, rate: int) -> At:
    return At("figure-11", metric, scheme, {"rate": rate})


def _kept(scheme: str) -> Ratio:
    """The share of its utility that a scheme keeps at the highest rate."""
    return Ratio(_rate("utility", scheme, 50), _rate("utility", scheme, 2))


def _margin(trace: str) -> Less:
    return Less(_on(trace, "utility", MOPS), _on(trace, "utility", NEIGHBORS))


def _share(trace: str, metric: str, **coordinates: Any) -> At:
    return At(f"closeness-{trace}", metric, MOPS, {"hops": 2, "edges": "both", **coordinates})


_PRUNED = {study: At(study, "efficiency", MOPS).pair("pruning", 0.2, 0.8) for study in BROKERS.values()}


def _scarce(scheme: str, life: int, **coordinates: Any) -> At:
    return At(SCARCE, "utility", scheme, {"ttl": life, **coordinates})


_SCARCE_LINKS = Reason(
    "where links are full (events of 5 megabytes, contacts as recorded, as meant) the order is the paper's",
    [_scarce(scheme, 3 * DAY) for scheme in (PUSH, NEIGHBORS)] + [_scarce(MOPS, 3 * DAY, alpha=0.99)],
    given=[Above(_scarce(MOPS, 3 * DAY, alpha=0.99), _scarce(other, 3 * DAY)) for other in (PUSH, NEIGHBORS)],
)
_FEW_BROKERS = Reason(
    "with fewer brokers (B = 0.2) efficiency is higher",
    [few for few, _ in _PRUNED.values()],
    given=[Above(few, many) for few, many in _PRUNED.values()],
)
RULES = Rules(
    since="2026-11-16",
    fitted="the campus world, to the frequency of contacts, on no claim; K = 5 of Neighbors is ours; means that "
    "are kept are of seed 1",
    readings={"as printed": {}, "as meant": {}},
    suffixes={"as meant": AS_MEANT},
    apart=frozenset(OF_TRACE.values()),
    chosen="Eq. 4 and the sentence of IV.B on the external list say so; IV.C and IV.A say otherwise (`unsubscribed`, "
    "`exclude_peer_community`)",
    fixed=frozenset({"closeness-reality", "closeness-infocom05"}),
    rules=[
        Rule(
            "MO-1",
            "closeness is decided by a direct link for 60.8 % of pairs in Reality and 12.2 % in Haggle, by two hops "
            "for 30.9 % and 83.3 % (section III.A)",
            core=[
                Above(_share("reality", "direct_share"), _share("reality", "two_hop_share")),
                Above(_share("infocom05", "two_hop_share"), _share("infocom05", "direct_share")),
            ],
            numbers=[
                *(Same(_share("reality", f"{m}_share"), paper) for m, paper in (("direct", 0.608), ("two_hop", 0.309))),
                *(
                    Same(_share("infocom05", f"{m}_share"), paper)
                    for m, paper in (("direct", 0.122), ("two_hop", 0.833))
                ),
            ],
            reasons=[
                Reason(
                    "no choice of separations and of k that the paper leaves open turns it",
                    [
                        _share("reality", "direct_share", edges="inner"),
                        _share("reality", "direct_share", hops=3),
                    ],
                )
            ],
            readings=False,
            before="not reproduced",
        ),
        Rule(
            "MO-2",
            "a higher T makes more communities (Fig. 3)",
            core=[Rises([_threshold("communities", t) for t in THRESHOLDS])],
            readings=False,
            before="reproduced",
        ),
        Rule(
            "MO-3",
            "Reality: all below 40 % utility at 3 days; push, then MOPS, then Neighbors, pull very low (Fig. 8a)",
            core=[
                Above(_on("reality", "utility", more, 3 * DAY), _on("reality", "utility", less, 3 * DAY))
                for more, less in ((PUSH, MOPS), (MOPS, NEIGHBORS), (NEIGHBORS, PULL))
            ],
            numbers=[Above(0.4, _on("reality", "utility", scheme, 3 * DAY)) for scheme in RELAYING],
            before="partly",
        ),
        Rule(
            "MO-4",
            "Haggle: all utilities higher than on the others; push best at small TTL, MOPS best at larger (Fig. 8b)",
            core=[
                *(
                    Above(_on("infocom05", "utility", scheme), _on(other, "utility", scheme))
                    for scheme in (*RELAYING, PULL)
                    for other in ("reality", "campus")
                ),
                *(
                    Above(_on("infocom05", "utility", best, life), _on("infocom05", "utility", other, life))
                    for best, life in ((PUSH, 3600), (MOPS, 3 * DAY))
                    for other in (*RELAYING, PULL)
                    if other != best
                ),
            ],
            reasons=[_SCARCE_LINKS],
            before="partly",
        ),
        Rule(
            "MO-5",
            "campus: MOPS above Neighbors and pull, above push at long TTL; the largest margin over Neighbors "
            "(Fig. 8c)",
            core=[
                *(
                    Above(_on("campus", "utility", MOPS), _on("campus", "utility", other))
                    for other in (NEIGHBORS, PULL)
                ),
                Above(_on("campus", "utility", MOPS, 3 * DAY), _on("campus", "utility", PUSH, 3 * DAY)),
                *(Above(_margin("campus"), _margin(other)) for other in ("infocom05", "reality")),
            ],
            before="partly",
        ),
        Rule(
            "MO-6",
            "utility and efficiency rise with TTL (Fig. 8, 9)",
            core=[
                Rises([_on(trace, metric, scheme, life) for life in LIVES])
                for trace, scheme, metric in product(TRACES, RELAYING, ("utility", "efficiency"))
            ],
            before="partly",
        ),
        Rule(
            "MO-7",
            "efficiency: pull 1, then MOPS, then Neighbors and push, on all sets (Fig. 9)",
            core=[
                Above(_on(trace, "efficiency", MOPS), _on(trace, "efficiency", other))
                for trace in TRACES
                for other in (NEIGHBORS, PUSH)
            ],
            reasons=[
                _FEW_BROKERS,
                Reason(
                    "by the default weight brokers take what nobody near asks for",
                    At(CHOICES, "efficiency", MOPS).pair("default_weight", 0.0, 1e-5),
                    given=[Above(*At(CHOICES, "efficiency", MOPS).pair("default_weight", 0.0, 1e-5))],
                ),
                Reason(
                    "Neighbors' depends on its K, which the paper does not tell",
                    [At(CHOICES, "efficiency", NEIGHBORS, {"nearest": nearest}) for nearest in (2, 5, 10, 20)],
                    given=[Above(*At(CHOICES, "efficiency", NEIGHBORS).pair("nearest", 2, 20))],
                ),
            ],
            before="partly",
        ),
        Rule(
            "MO-8",
            "fewest forwardings near T = 0.5, many at small T; near 1 as Neighbors (Fig. 10b)",
            core=[Above(_threshold("all_forwardings", end), _threshold("all_forwardings", 0.5)) for end in (0.0, 1.0)],
            numbers=[Same(_threshold("relayed", 1.0), At("figure-10", "relayed", NEIGHBORS))],
            reasons=[
                Reason(
                    "most people of our campus are brokers at T = 0.5, none at T = 0",
                    [
                        *(_threshold("broker_count", t) for t in (0.0, 0.5)),
                        *At("brokers-campus", "relayed", MOPS).pair("pruning", 0.2, 0.8),
                    ],
                    given=[Above(*At("brokers-campus", "relayed", MOPS).pair("pruning", 0.8, 0.2))],
                )
            ],
            readings=False,
            before="not reproduced",
        ),
        Rule(
            "MO-9",
            "default weight 0: larger latency, fewer forwardings (Fig. 10)",
            core=[
                Above(_threshold("latency_avg", 0.5, 0.0), _threshold("latency_avg", 0.5)),
                Above(_threshold("relayed", 0.5), _threshold("relayed", 0.5, 0.0)),
                Above(
                    Mean([_threshold("latency_avg", t, 0.0) for t in WITH_BROKERS]),
                    Mean([_threshold("latency_avg", t) for t in WITH_BROKERS]),
                ),
                Above(
                    Mean([_threshold("relayed", t) for t in WITH_BROKERS]),
                    Mean([_threshold("relayed", t, 0.0) for t in WITH_BROKERS]),
                ),
            ],
            readings=False,
            before="partly",
        ),
        Rule(
            "MO-10",
            "utility and efficiency fall with λ, MOPS's least (Fig. 11)",
            core=[
                *(
                    Rises([_rate(metric, scheme, rate) for rate in RATES], falls=True)
                    for scheme, metric in product(RELAYING, ("utility", "efficiency"))
                ),
                *(Above(_kept(MOPS), _kept(other)) for other in (PUSH, NEIGHBORS)),
            ],
            readings=False,
            before="partly",
        ),
        Rule(
            "MO-11",
            "MOPS is best when utility and efficiency are taken together (section V.B)",
            core=[
                Above(_on(trace, "utility_times_efficiency", MOPS), _on(trace, "utility_times_efficiency", other))
                for trace in TRACES
                for other in (PUSH, NEIGHBORS, PULL)
            ],
            reasons=[_FEW_BROKERS],
            before="not reproduced",
        ),
    ],
)
PANELS = [
    *(
        Panel(
            f"Fig. {figure}, {name}",
            "life of events (s)",
            metric,
            [Curve(scheme, At(OF_TRACE[trace], metric, scheme), "ttl", LIVES) for scheme in (*RELAYING, PULL)],
        )
        for figure, metric in (("8", "utility"), ("9", "efficiency"))
        for trace, name in TRACES.items()
    ),
    *(
        Panel(
            title,
            "T",
            y,
            [
                Curve(
                    f"default weight {weight:g}",
                    At("figure-10", metric, MOPS, {"default_weight": weight}),
                    "threshold",
                    THRESHOLDS,
                    unit,
                )
                for weight in (0.0, 1e-5)
            ],
        )
        for title, metric, y, unit in (
            ("Fig. 10a", "latency_avg", "delay (h)", 3600.0),
            ("Fig. 10b", "all_forwardings", "forwardings, with lists", 1.0),
        )
    ),
    *(
        Panel(
            "Fig. 11",
            "λ (events/h)",
            metric,
            [Curve(scheme, At("figure-11", metric, scheme), "rate", RATES) for scheme in (*RELAYING, PULL)],
        )
        for metric in ("utility", "efficiency")
    ),
]
EVALUATION = Evaluation(RULES, FIGURES, Path(__file__).parent / "studies", panels=PANELS)


def sections(results: Path) -> dict[str, str]:
    """The tables of MOPS's page, from the results of its studies: a folder each, named as the study's file."""
    studies = EVALUATION.read(results)
    found = {"claims": EVALUATION.section(studies)}
    for trace, study in OF_TRACE.items():
        if study in studies:
            found[f"figures 8 and 9, {TRACES[trace]}"] = figure_table(studies[study], "ttl", hours)
    if "figure-10" in studies:
        found["figure 10"] = threshold_table(studies["figure-10"])
    if "figure-11" in studies:
        found["figure 11"] = figure_table(studies["figure-11"], "rate", lambda rate: f"{rate:g}/h")
    recorded, pruned = _by_trace(studies, RECORDED), _by_trace(studies, BROKERS)
    if recorded:
        found["as recorded"] = recorded_table(recorded)
    if pruned:
        found["brokers"] = brokers_table(pruned)
    for trace, study in OF_TRACE.items():
        if study + AS_MEANT in studies:
            found[f"as meant, {TRACES[trace]}"] = figure_table(studies[study + AS_MEANT], "ttl", hours)
    if SCARCE in studies:
        found["scarce links"] = scarce_table(studies[SCARCE])
    if "relearning-reality" in studies:
        found["relearning"] = relearning_table(studies["relearning-reality"])
    return found


def _by_trace(studies: Studies, names: dict[str, str]) -> Studies:
    """Those studies of some that have been run, by the trace as it is called in tables."""
    return {TRACES[trace]: studies[name] for trace, name in names.items() if name in studies}
