"""MOPS's claims, MO-1 to MO-11, against the studies of its figures.

A verdict is a rule on the numbers, and stands in the code beside its claim. A reason is given only where a study has
tested it; where the cause is not known, the table says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from hunet.model.intervals import Interval
from hunet.report.claims import NOT_KNOWN, Claims, Judgement, falls, highest, table
from hunet.report.runs import Metric, Row, Runs, Studies, read_studies

MOPS, NEIGHBORS, PUSH, PULL = "mops", "k-nearest", "push", "pull"
SCHEMES = (PUSH, MOPS, NEIGHBORS, PULL)
TRACES = {"infocom05": "Infocom 2005", "reality": "Reality", "campus": "campus"}
FIGURES = {trace: f"figures-8-and-9-{trace}" for trace in TRACES}
BROKERS = {trace: f"brokers-{trace}" for trace in TRACES}
RECORDED = {trace: f"as-recorded-{trace}" for trace in TRACES}
CHOICES = "efficiency-infocom05"
FEW, MANY = 0.2, 0.8
"""Thresholds B of pruning that leave few brokers, and the paper's."""
DAY = 86_400
CLAIMS = Claims()


def sections(results: Path) -> dict[str, str]:
    """The tables of MOPS's page, from the results of its studies: a folder each, named as the study's file.

    Claims whose studies have no results are "not run".
    """
    studies = read(results)
    found = {"claims": CLAIMS.section(studies)}
    for trace, study in FIGURES.items():
        if study in studies:
            found[f"figures 8 and 9, {TRACES[trace]}"] = _figure_table(studies[study], "ttl", _hours)
    if "figure-10" in studies:
        found["figure 10"] = _threshold_table(studies["figure-10"])
    if "figure-11" in studies:
        found["figure 11"] = _figure_table(studies["figure-11"], "rate", lambda rate: f"{rate:g}/h")
    recorded, pruned = _by_trace(studies, RECORDED), _by_trace(studies, BROKERS)
    if recorded:
        found["as recorded"] = _recorded_table(recorded)
    if pruned:
        found["brokers"] = _brokers_table(pruned)
    if "relearning-reality" in studies:
        found["relearning"] = _relearning_table(studies["relearning-reality"])
    return found


def read(results: Path) -> Studies:
    """The studies that have results."""
    judged = sorted({name for row in CLAIMS for name in row.studies} | {*RECORDED.values()})
    return read_studies(results, [*judged, CHOICES, *BROKERS.values(), "relearning-reality"])


def _by_trace(studies: Studies, names: dict[str, str]) -> Studies:
    """Those studies of some that have been run, by the trace as it is called in tables."""
    return {TRACES[trace]: studies[name] for trace, name in names.items() if name in studies}


# Metrics --------------------------------------------------------------------------------------------------------------


def _observed(name: str) -> Metric:
    return lambda row: float(row["observed"].get(name, 0.0))


COMMUNITIES, BROKER_COUNT, LISTS = _observed("communities"), _observed("brokers"), _observed("lists_sent")


def _product(row: Row) -> float | None:
    """Utility times efficiency: the paper does not say how the two are to be taken together."""
    utility, efficiency = row["utility"], row["efficiency"]
    return None if None in (utility, efficiency) else float(utility * efficiency)


def _share(hops: int) -> Metric:
    """Of all virtual links, those that a path of so many hops decides."""

    def share(row: Row) -> float:
        counts = {name: value for name, value in row["observed"].items() if name.startswith("decided_by_")}
        return float(counts[f"decided_by_{hops}"] / sum(counts.values()))

    return share


# The claims -----------------------------------------------------------------------------------------------------------


@CLAIMS.add(
    "MO-1",
    "closeness is decided by a direct link for 60.8 % of pairs in Reality and 12.2 % in Haggle, by two hops for "
    "30.9 % and 83.3 % (section III.A)",
    "closeness-reality",
    "closeness-infocom05",
)
def _shares(studies: Studies) -> Judgement:
    parts, trend, exact = [], True, True
    for trace, paper in (("reality", (0.608, 0.309)), ("infocom05", (0.122, 0.833))):
        runs = studies[f"closeness-{trace}"]
        found = [runs.at(_share(hops), MOPS, hops=2, edges="both").mean for hops in (1, 2)]
        inner = [runs.at(_share(hops), MOPS, hops=2, edges="inner").mean for hops in (1, 2)]
        longer = [runs.at(_share(hops), MOPS, hops=3, edges="both").mean for hops in (1, 2, 3)]
        parts.append(
            f"{TRACES[trace]}: direct {found[0]:.1%}, two hops {found[1]:.1%} (inner separations only: {inner[0]:.1%} "
            f"and {inner[1]:.1%}; up to three hops: {longer[0]:.1%}, {longer[1]:.1%}, {longer[2]:.1%})"
        )
        trend &= (found[0] > found[1]) == (paper[0] > paper[1])
        # The paper's shares leave some to longer paths, so it is those of up to three hops that could be the same.
        exact &= all(abs(one - two) < 0.05 for one, two in zip(longer[:2], paper, strict=True))
    why = "the shares change with the separations that count and with k (beside), of which the paper says little"
    return Judgement.of("; ".join(parts), exact, trend, why)


@CLAIMS.add("MO-2", "a higher T makes more communities (Fig. 3)", "figure-10")
def _more_communities(studies: Studies) -> Judgement:
    along = studies["figure-10"].along(COMMUNITIES, MOPS, "threshold")
    counts = [found.mean for found in along.values()]
    rises = all(one <= two for one, two in pairwise(counts)) and counts[0] < counts[-1]
    ours = ", ".join(f"{found.text(1)} at T = {threshold:g}" for threshold, found in along.items())
    return Judgement.of(f"communities: {ours}", rises, False, NOT_KNOWN)


@CLAIMS.add(
    "MO-3",
    "Reality: all below 40 % utility at 3 days; push, then MOPS, then Neighbors, pull very low (Fig. 8a)",
    FIGURES["reality"],
)
def _reality(studies: Studies) -> Judgement:
    utility = _at(studies[FIGURES["reality"]], "utility", ttl=3 * DAY)
    low = all(found.mean < 0.4 for found in utility.values())
    order = falls(utility[scheme] for scheme in (PUSH, MOPS, NEIGHBORS, PULL))
    why = []
    if not low:
        why.append("other contacts than the paper's (Table I has 54,667 in 246 days), whether that is why is not known")
    if not order:
        why.append(f"the order differs; {NOT_KNOWN}")
    return Judgement.of_all(f"at 3 days {_text(utility)}", [low, order], "; ".join(why))


@CLAIMS.add(
    "MO-4",
    "Haggle: all utilities higher than on the others; push best at small TTL, MOPS best at larger (Fig. 8b)",
    *FIGURES.values(),
)
def _infocom(studies: Studies) -> Judgement:
    runs = studies[FIGURES["infocom05"]]
    short, long = _at(runs, "utility", ttl=3600), _at(runs, "utility", ttl=3 * DAY)
    elsewhere = {trace: _at(studies[FIGURES[trace]], "utility", ttl=DAY) for trace in ("reality", "campus")}
    here = _at(runs, "utility", ttl=DAY)
    above = [trace for trace in elsewhere if all(here[s].mean > elsewhere[trace][s].mean for s in SCHEMES)]
    checks = [len(above) == 2, highest(short) == PUSH, highest(long) == MOPS]
    ours = f"1 hour: {_text(short)}; 3 days: {_text(long)}; all utilities at 1 day above those on "
    ours += " and ".join(TRACES[trace] for trace in above) or "neither of the others"
    return Judgement.of_all(ours, checks, NOT_KNOWN if highest(long) == MOPS else _bandwidth(runs))


@CLAIMS.add(
    "MO-5",
    "campus: MOPS above Neighbors and pull, above push at long TTL; the largest margin over Neighbors (Fig. 8c)",
    *FIGURES.values(),
)
def _campus(studies: Studies) -> Judgement:
    days = {trace: _at(studies[study], "utility", ttl=DAY) for trace, study in FIGURES.items()}
    day, later = days["campus"], _at(studies[FIGURES["campus"]], "utility", ttl=3 * DAY)
    margins = {trace: found[MOPS].mean - found[NEIGHBORS].mean for trace, found in days.items()}
    above = day[MOPS].mean > max(day[NEIGHBORS].mean, day[PULL].mean)
    checks = [above, later[MOPS].mean > later[PUSH].mean, max(margins, key=lambda t: margins[t]) == "campus"]
    ours = f"1 day: {_text(day)}; 3 days: {_text(later)}; MOPS less Neighbors at 1 day: "
    ours += ", ".join(f"{TRACES[trace]} {margin:+.3f}" for trace, margin in margins.items())
    return Judgement.of_all(ours, checks, NOT_KNOWN)


@CLAIMS.add("MO-6", "utility and efficiency rise with TTL (Fig. 8, 9)", *FIGURES.values())
def _rises_with_life(studies: Studies) -> Judgement:
    but = []
    for trace, scheme, metric in product(TRACES, SCHEMES, ("utility", "efficiency")):
        curve = [found.mean for found in studies[FIGURES[trace]].along(metric, scheme, "ttl").values()]
        if curve[0] >= curve[-1] and (scheme, metric) != (PULL, "efficiency"):
            but.append(f"{metric} of {scheme} on {TRACES[trace]} ({curve[0]:.3f} to {curve[-1]:.3f})")
    rises = not any(fall.startswith("utility") for fall in but)
    ours = "from 1 hour to 3 days all rise" + (f" but {', '.join(but)}" if but else "")
    return Judgement.of(ours, not but, rises, NOT_KNOWN)


@CLAIMS.add("MO-7", "efficiency: pull 1, then MOPS, then Neighbors and push, on all sets (Fig. 9)", *FIGURES.values())
def _efficiency(studies: Studies) -> Judgement:
    parts, checks = [], []
    for trace, study in FIGURES.items():
        found = _at(studies[study], "efficiency", ttl=DAY)
        parts.append(f"{TRACES[trace]}: {_text(found)}")
        order = falls(found[scheme] for scheme in (PULL, MOPS, PUSH))
        checks += [order, found[MOPS].mean > found[NEIGHBORS].mean, found[PULL].mean > 0.99]
    return Judgement.of_all(f"at 1 day {'; '.join(parts)}", checks, _of_choices(studies))


def _of_choices(studies: Studies) -> str:
    """How the efficiencies change with what the paper leaves open, and with the number of brokers."""
    why = []
    for trace, runs in _by_trace(studies, BROKERS).items():
        few, many = (runs.at("efficiency", MOPS, pruning=share).text() for share in (FEW, MANY))
        why.append(f"{trace} {few} with {_brokers(runs, FEW)} instead of {many} with {_brokers(runs, MANY)}")
    if why:
        why = [f"brokers are many: with B = {FEW:g} instead of {MANY:g} MOPS has on " + ", on ".join(why)]
    if CHOICES in studies:
        runs = studies[CHOICES]
        mops = [runs.at("efficiency", MOPS, default_weight=weight).text() for weight in (0.0, 1e-5)]
        by_k = runs.along("efficiency", NEIGHBORS, "nearest")
        why.append(
            "by the default weight brokers take what nobody near asks for: on Infocom 2005 MOPS has "
            f"{mops[0]} without it, {mops[1]} with it"
        )
        why.append(
            "Neighbors has "
            + ", ".join(f"{found.text()} at K = {nearest:g}" for nearest, found in by_k.items())
            + ", and the paper does not tell its K"
        )
    return "; ".join(why) or NOT_KNOWN


def _brokers(runs: Runs, pruning: float) -> str:
    return f"{runs.at(BROKER_COUNT, MOPS, pruning=pruning).mean:.0f} brokers"


@CLAIMS.add("MO-8", "fewest forwardings near T = 0.5, many at small T; near 1 as Neighbors (Fig. 10b)", "figure-10")
def _threshold(studies: Studies) -> Judgement:
    runs = studies["figure-10"]
    sent = runs.only(default_weight=1e-5).along("relayed", MOPS, "threshold")
    least, last = min(sent, key=lambda t: sent[t].mean), max(sent)
    neighbors = runs.at("relayed", NEIGHBORS)
    like = abs(sent[last].mean / neighbors.mean - 1) < 0.2
    lists = runs.along(LISTS, MOPS, "threshold")
    checks = [0.3 <= least <= 0.7, sent[min(sent)].mean > sent[least].mean, like]
    ours = (
        f"fewest forwardings at T = {least:g} ({sent[least].text(0)}), {sent[min(sent)].text(0)} at {min(sent):g} and "
        f"{sent[last].text(0)} at {last:g}, Neighbors {neighbors.text(0)}; lists {lists[min(lists)].text(0)} at "
        f"{min(lists):g}, {lists[last].text(0)} at {last:g}"
    )
    why = NOT_KNOWN
    if BROKERS["campus"] in studies:
        pruned = studies[BROKERS["campus"]]
        few, many = (pruned.at("relayed", MOPS, pruning=share).text(0) for share in (FEW, MANY))
        alone = runs.at(BROKER_COUNT, MOPS, threshold=min(sent), default_weight=1e-5).mean
        why = (
            "who has met somebody of another community is a gateway, and on our campus most have and stay brokers: at "
            f"T = 0.5 {_brokers(pruned, MANY)} make {many} forwardings, {_brokers(pruned, FEW)} (with B = {FEW:g}) "
            f"{few}; at T = {min(sent):g} there are {alone:.0f}"
        )
    return Judgement.of_all(ours, checks, why)


@CLAIMS.add("MO-9", "default weight 0: larger latency, fewer forwardings (Fig. 10)", "figure-10")
def _default_weight(studies: Studies) -> Judgement:
    parts, good = [], []
    for threshold, here in studies["figure-10"].only(MOPS).by("threshold").items():
        sent, delay = (
            [here.at(metric, MOPS, default_weight=weight) for weight in (0.0, 1e-5)]
            for metric in ("relayed", "latency_avg")
        )
        good.append(sent[0].mean <= sent[1].mean and delay[0].mean >= delay[1].mean)
        if threshold == 0.5:
            parts.append(
                f"at T = 0.5 {sent[0].text(0)} forwardings and {delay[0].text(1, 3600)} h without, "
                f"{sent[1].text(0)} and {delay[1].text(1, 3600)} h with it"
            )
    parts.append(f"so at {sum(good)} of {len(good)} thresholds")
    return Judgement.of_all("; ".join(parts), good, NOT_KNOWN)


@CLAIMS.add("MO-10", "utility and efficiency fall with λ, MOPS's least (Fig. 11)", "figure-11")
def _rate(studies: Studies) -> Judgement:
    runs = studies["figure-11"]
    lost, checks = {}, []
    for scheme, metric in product(SCHEMES, ("utility", "efficiency")):
        curve = [found.mean for found in runs.along(metric, scheme, "rate").values()]
        lost[scheme, metric] = 1 - curve[-1] / curve[0]
        if (scheme, metric) != (PULL, "efficiency"):
            checks.append(lost[scheme, metric] > 0)
    # Pull hardly uses the links, so it has little to lose; the paper's comparison is among those that relay.
    least = min((PUSH, MOPS, NEIGHBORS), key=lambda scheme: lost[scheme, "utility"])
    checks.append(least == MOPS)
    ours = "lost from the lowest to the highest rate: " + ", ".join(
        f"{scheme} {lost[scheme, 'utility']:.1%} of utility, {lost[scheme, 'efficiency']:.1%} of efficiency"
        for scheme in SCHEMES
    )
    return Judgement.of_all(ours, checks, NOT_KNOWN)


@CLAIMS.add("MO-11", "MOPS is best when utility and efficiency are taken together (section V.B)", *FIGURES.values())
def _together(studies: Studies) -> Judgement:
    parts, checks = [], []
    for trace, study in FIGURES.items():
        both = _at(studies[study], _product, ttl=DAY)
        parts.append(f"{TRACES[trace]}: {_text(both)}")
        checks.append(highest(both) == MOPS)
    why = "the paper does not say how the two are weighed; see MO-7"
    few = [f"{t} {runs.at(_product, MOPS, pruning=FEW).text()}" for t, runs in _by_trace(studies, BROKERS).items()]
    if few:
        why += f"; with B = {FEW:g} MOPS has {', '.join(few)}"
    ours = f"utility times efficiency at 1 day, {'; '.join(parts)}"
    return Judgement.of_all(ours, checks, why)


# Tables ---------------------------------------------------------------------------------------------------------------


COLUMNS: dict[str, tuple[Metric, int, float]] = {
    "communities": (COMMUNITIES, 1, 1),
    "brokers": (BROKER_COUNT, 1, 1),
    "utility": ("utility", 3, 1),
    "efficiency": ("efficiency", 3, 1),
    "utility times efficiency": (_product, 3, 1),
    "forwardings": ("relayed", 0, 1),
    "list forwardings": (LISTS, 0, 1),
    "delay (h)": ("latency_avg", 2, 3600),
    "hello messages (MB)": (_observed("hello_bytes"), 1, 1e6),
    "role changes": ("role_changes", 0, 1),
}
"""Metric, digits and unit by heading."""


def _mops_table(labels: str, columns: str, places: Iterable[tuple[list[str], Runs]]) -> str:
    """Results of MOPS at some places of the studies, each with its labels."""
    shown = [COLUMNS[name] for name in columns.split(" | ")]
    rows = [
        [*told, *(runs.at(metric, MOPS).text(digits, unit) for metric, digits, unit in shown)] for told, runs in places
    ]
    return table(f"{labels} | {columns}", rows)


def _figure_table(runs: Runs, axis: str, name: Callable[[Any], str]) -> str:
    places = runs.only(MOPS).by(axis)
    rows = [
        [f"{metric}, {scheme}", *(runs.at(metric, scheme, **{axis: place}).text() for place in places)]
        for metric, scheme in product(("utility", "efficiency"), SCHEMES)
    ]
    return table(f"| {' | '.join(map(name, places))}", rows)


def _threshold_table(runs: Runs) -> str:
    return _mops_table(
        "T | default weight",
        "communities | brokers | forwardings | list forwardings | delay (h) | utility | efficiency",
        (
            ([f"{threshold:g}", f"{weight:g}"], here.only(default_weight=weight))
            for threshold, here in runs.only(MOPS).by("threshold").items()
            for weight in (0.0, 1e-5)
        ),
    )


def _recorded_table(studies: Studies) -> str:
    lives = [10_800, DAY, 3 * DAY]
    cases: list[tuple[str, str, Row]] = [(scheme, scheme, {}) for scheme in (PUSH, MOPS, NEIGHBORS)]
    cases += [("pull", PULL, {"from_anyone": False}), ("pull from anybody", PULL, {"from_anyone": True})]
    rows = []
    for (trace, runs), (label, scheme, place) in product(studies.items(), cases):
        by_life = [[runs.at(m, scheme, ttl=life, **place).text() for m in ("utility", "efficiency")] for life in lives]
        rows.append([f"{trace}: {label}", *map(", ".join, by_life)])
    return table(f"utility, efficiency | {' | '.join(map(_hours, lives))}", rows)


def _brokers_table(studies: Studies) -> str:
    return _mops_table(
        "| B",
        "brokers | utility | efficiency | utility times efficiency | forwardings | delay (h)",
        (
            ([trace, f"{share:g}"], here)
            for trace, runs in studies.items()
            for share, here in runs.only(MOPS).by("pruning").items()
        ),
    )


def _relearning_table(runs: Runs) -> str:
    periods = {row["place"]["relearn"] for row in runs.rows}
    names = {period: "never" if period == "none" else f"every {period / DAY:g} days" for period in periods}
    in_order = sorted(periods, key=lambda period: 0 if period == "none" else period)
    return _mops_table(
        "learning | new structure",
        "utility | efficiency | delay (h) | forwardings | list forwardings | hello messages (MB) | role changes",
        (
            ([learning, names[period]], runs.only(learning=learning, relearn=period))
            for learning, period in product(("central", "exchange"), in_order)
        ),
    )


# Helpers --------------------------------------------------------------------------------------------------------------


def _at(runs: Runs, metric: Metric, **place: Any) -> dict[str, Interval]:
    return {scheme: runs.at(metric, scheme, **place) for scheme in SCHEMES}


def _text(found: dict[str, Interval]) -> str:
    return ", ".join(f"{scheme} {interval.text()}" for scheme, interval in found.items())


def _hours(life: float) -> str:
    return f"{life / 3600:g} h" if life < DAY else f"{life / DAY:g} d"


def _bandwidth(runs: Runs) -> str:
    """How full the links are on which push should flatten, as far as the results tell."""
    cut = runs.at(lambda row: row["aborted"] / max(1, row["relayed"]), PUSH, ttl=3 * DAY)
    return f"{NOT_KNOWN}; contacts' ends cut off {cut.text(1, unit=0.01)} transfers of push for 100 that arrived"
