"""MOPS's claims, MO-1 to MO-11, against the studies of its figures.

A verdict is a rule on the numbers, and stands in the code beside its claim. A reason is given only where a study has
tested it; where the cause is not known, the table says so.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from hunet.model.intervals import Interval
from hunet.report.claims import Claim, Verdict, claims_table
from hunet.report.runs import Runs, read_studies

MOPS, NEIGHBORS, PUSH, PULL = "mops", "k-nearest", "push", "pull"
SCHEMES = (PUSH, MOPS, NEIGHBORS, PULL)
TRACES = {"infocom05": "Infocom 2005", "reality": "Reality", "campus": "campus"}
FIGURES = {trace: f"figures-8-and-9-{trace}" for trace in TRACES}
BROKERS = {trace: f"brokers-{trace}" for trace in TRACES}
NOT_KNOWN = "the cause is not known"
DAY = 86_400

Studies = dict[str, Runs]


class _Judgement(NamedTuple):
    ours: str
    verdict: Verdict
    why: str = ""


def sections(results: Path) -> dict[str, str]:
    """The tables of MOPS's page, from the results of its studies: a folder each, named as the study's file.

    Claims whose studies have no results are "not run".
    """
    studies = _read(results)
    done = [f"`{name}` {runs.repetitions}" for name, runs in studies.items()]
    many = f"Repetitions: {', '.join(done) or 'none yet'}. Mean ± half of the 95 % confidence interval."
    found = {"claims": f"{claims_table(mops_claims(results))}\n\n{many}"}
    for trace, study in FIGURES.items():
        if study in studies:
            found[f"figures 8 and 9, {TRACES[trace]}"] = _figure_table(studies[study], "ttl", _hours)
    if "figure-10" in studies:
        found["figure 10"] = _threshold_table(studies["figure-10"])
    if "figure-11" in studies:
        found["figure 11"] = _figure_table(studies["figure-11"], "rate", lambda rate: f"{rate:g}/h")
    recorded = {TRACES[t]: studies[f"as-recorded-{t}"] for t in TRACES if f"as-recorded-{t}" in studies}
    if recorded:
        found["as recorded"] = _recorded_table(recorded)
    pruned = {TRACES[trace]: studies[study] for trace, study in BROKERS.items() if study in studies}
    if pruned:
        found["brokers"] = _brokers_table(pruned)
    if "relearning-reality" in studies:
        found["relearning"] = _relearning_table(studies["relearning-reality"])
    return found


def mops_claims(results: Path) -> list[Claim]:
    """All claims, judged by the studies whose results are in the folder."""
    studies = _read(results)
    claims = []
    for row in _CLAIMS:
        missing = [name for name in row.studies if name not in studies]
        if missing:
            claims.append(Claim(row.id, row.paper, ", ".join(f"study `{m}`" for m in missing), "not run"))
        else:
            claims.append(Claim(row.id, row.paper, *row.judge(studies)))
    return claims


# The claims -----------------------------------------------------------------------------------------------------------


def _shares(studies: Studies) -> _Judgement:
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
    why = (
        ""
        if exact
        else "the shares change with the separations that count and with k (beside), of which the paper says little"
    )
    return _Judgement("; ".join(parts), "reproduced" if exact else "partly" if trend else "not reproduced", why)


def _more_communities(studies: Studies) -> _Judgement:
    along = studies["figure-10"].along(_observed("communities"), MOPS, "threshold")
    counts = [found.mean for found in along.values()]
    rises = all(one <= two for one, two in pairwise(counts)) and counts[0] < counts[-1]
    ours = ", ".join(f"{found.text(1)} at T = {threshold:g}" for threshold, found in along.items())
    return _Judgement(f"communities: {ours}", "reproduced" if rises else "not reproduced", "" if rises else NOT_KNOWN)


def _reality(studies: Studies) -> _Judgement:
    utility = _at(studies[FIGURES["reality"]], "utility", ttl=3 * DAY)
    low = all(found.mean < 0.4 for found in utility.values())
    order = _falls(utility, PUSH, MOPS, NEIGHBORS, PULL)
    verdict: Verdict = "reproduced" if low and order else "partly" if low or order else "not reproduced"
    why = []
    if not low:
        why.append("other contacts than the paper's (Table I has 54,667 in 246 days), whether that is why is not known")
    if not order:
        why.append(f"the order differs; {NOT_KNOWN}")
    return _Judgement(f"at 3 days {_text(utility)}", verdict, "; ".join(why))


def _infocom(studies: Studies) -> _Judgement:
    runs = studies[FIGURES["infocom05"]]
    short, long = _at(runs, "utility", ttl=3600), _at(runs, "utility", ttl=3 * DAY)
    elsewhere = {trace: _at(studies[FIGURES[trace]], "utility", ttl=DAY) for trace in ("reality", "campus")}
    here = _at(runs, "utility", ttl=DAY)
    above = [trace for trace in elsewhere if all(here[s].mean > elsewhere[trace][s].mean for s in SCHEMES)]
    checks = [len(above) == 2, _best(short) == PUSH, _best(long) == MOPS]
    ours = f"1 hour: {_text(short)}; 3 days: {_text(long)}; all utilities at 1 day above those on "
    ours += " and ".join(TRACES[trace] for trace in above) or "neither of the others"
    why = "" if all(checks) else NOT_KNOWN if _best(long) == MOPS else _bandwidth(runs)
    return _Judgement(ours, _all_of(checks), why)


def _campus(studies: Studies) -> _Judgement:
    utility = _at(studies[FIGURES["campus"]], "utility", ttl=3 * DAY)
    margins = {}
    for trace, study in FIGURES.items():
        found = _at(studies[study], "utility", ttl=DAY)
        margins[trace] = found[MOPS].mean - found[NEIGHBORS].mean
    day = _at(studies[FIGURES["campus"]], "utility", ttl=DAY)
    above = day[MOPS].mean > max(day[NEIGHBORS].mean, day[PULL].mean)
    checks = [above, utility[MOPS].mean > utility[PUSH].mean, max(margins, key=lambda t: margins[t]) == "campus"]
    ours = f"1 day: {_text(day)}; 3 days: {_text(utility)}; MOPS less Neighbors at 1 day: "
    ours += ", ".join(f"{TRACES[trace]} {margin:+.3f}" for trace, margin in margins.items())
    return _Judgement(ours, _all_of(checks), "" if all(checks) else NOT_KNOWN)


def _rises_with_life(studies: Studies) -> _Judgement:
    falls = []
    for trace, study in FIGURES.items():
        for scheme in SCHEMES:
            for metric in ("utility", "efficiency"):
                means = [found.mean for found in studies[study].along(metric, scheme, "ttl").values()]
                if means[0] >= means[-1] and not (metric == "efficiency" and scheme == PULL):
                    falls.append(f"{metric} of {scheme} on {TRACES[trace]} ({means[0]:.3f} to {means[-1]:.3f})")
    rises = not any(fall.startswith("utility") for fall in falls)
    verdict: Verdict = "reproduced" if not falls else "partly" if rises else "not reproduced"
    ours = "from 1 hour to 3 days all rise" + (f" but {', '.join(falls)}" if falls else "")
    return _Judgement(ours, verdict, NOT_KNOWN if falls else "")


def _efficiency(studies: Studies) -> _Judgement:
    parts, checks = [], []
    for trace, study in FIGURES.items():
        found = _at(studies[study], "efficiency", ttl=DAY)
        parts.append(f"{TRACES[trace]}: {_text(found)}")
        checks += [_falls(found, PULL, MOPS, PUSH), found[MOPS].mean > found[NEIGHBORS].mean, found[PULL].mean > 0.99]
    return _Judgement(f"at 1 day {'; '.join(parts)}", _all_of(checks), "" if all(checks) else _of_choices(studies))


def _of_choices(studies: Studies) -> str:
    """How the efficiencies change with what the paper leaves open, and with the number of brokers."""
    why = []
    for trace, runs in _pruned(studies):
        few, many = (runs.at("efficiency", MOPS, pruning=share).text() for share in (_FEW, _MANY))
        why.append(f"{TRACES[trace]} {few} with {_brokers(runs, _FEW)} instead of {many} with {_brokers(runs, _MANY)}")
    if why:
        why = [f"brokers are many: with B = {_FEW:g} instead of {_MANY:g} MOPS has on " + ", on ".join(why)]
    if _CHOICES in studies:
        runs = studies[_CHOICES]
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


def _pruned(studies: Studies) -> list[tuple[str, Runs]]:
    """The studies with fewer brokers that have been run."""
    return [(trace, studies[study]) for trace, study in BROKERS.items() if study in studies]


def _brokers(runs: Runs, pruning: float) -> str:
    return f"{runs.at(_observed('brokers'), MOPS, pruning=pruning).mean:.0f} brokers"


def _threshold(studies: Studies) -> _Judgement:
    runs = studies["figure-10"]
    sent = {
        t: runs.at("relayed", MOPS, threshold=t, default_weight=1e-5) for t in runs.along("relayed", MOPS, "threshold")
    }
    least, last = min(sent, key=lambda t: sent[t].mean), max(sent)
    neighbors = runs.at("relayed", NEIGHBORS)
    like = abs(sent[last].mean / neighbors.mean - 1) < 0.2
    lists = runs.along(_observed("lists_sent"), MOPS, "threshold")
    checks = [0.3 <= least <= 0.7, sent[min(sent)].mean > sent[least].mean, like]
    ours = (
        f"fewest forwardings at T = {least:g} ({sent[least].text(0)}), {sent[min(sent)].text(0)} at {min(sent):g} and "
        f"{sent[last].text(0)} at {last:g}, Neighbors {neighbors.text(0)}; lists {lists[min(lists)].text(0)} at "
        f"{min(lists):g}, {lists[last].text(0)} at {last:g}"
    )
    why = NOT_KNOWN
    if BROKERS["campus"] in studies:
        pruned = studies[BROKERS["campus"]]
        few, many = (pruned.at("relayed", MOPS, pruning=share).text(0) for share in (_FEW, _MANY))
        alone = runs.at(_observed("brokers"), MOPS, threshold=min(sent), default_weight=1e-5).mean
        why = (
            "who has met somebody of another community is a gateway, and on our campus most have and stay brokers: at "
            f"T = 0.5 {_brokers(pruned, _MANY)} make {many} forwardings, {_brokers(pruned, _FEW)} (with B = {_FEW:g}) "
            f"{few}; at T = {min(sent):g} there are {alone:.0f}"
        )
    return _Judgement(ours, _all_of(checks), "" if all(checks) else why)


def _default_weight(studies: Studies) -> _Judgement:
    runs = studies["figure-10"]
    good, parts = 0, []
    thresholds = list(runs.along("relayed", MOPS, "threshold"))
    for threshold in thresholds:
        sent, delay = (
            [runs.at(metric, MOPS, threshold=threshold, default_weight=weight) for weight in (0.0, 1e-5)]
            for metric in ("relayed", "latency_avg")
        )
        good += sent[0].mean <= sent[1].mean and delay[0].mean >= delay[1].mean
        if threshold == 0.5:
            parts.append(
                f"at T = 0.5 {sent[0].text(0)} forwardings and {delay[0].text(1, 3600)} h without, "
                f"{sent[1].text(0)} and {delay[1].text(1, 3600)} h with it"
            )
    parts.append(f"so at {good} of {len(thresholds)} thresholds")
    verdict: Verdict = "reproduced" if good == len(thresholds) else "partly" if good else "not reproduced"
    return _Judgement("; ".join(parts), verdict, "" if verdict == "reproduced" else NOT_KNOWN)


def _rate(studies: Studies) -> _Judgement:
    runs = studies["figure-11"]
    lost, checks = {}, []
    for scheme in SCHEMES:
        for metric in ("utility", "efficiency"):
            means = [found.mean for found in runs.along(metric, scheme, "rate").values()]
            lost[scheme, metric] = 1 - means[-1] / means[0]
            if (scheme, metric) != (PULL, "efficiency"):
                checks.append(lost[scheme, metric] > 0)
    # Pull hardly uses the links, so it has little to lose; the paper's comparison is among those that relay.
    least = min((PUSH, MOPS, NEIGHBORS), key=lambda scheme: lost[scheme, "utility"])
    checks.append(least == MOPS)
    ours = "lost from the lowest to the highest rate: " + ", ".join(
        f"{scheme} {lost[scheme, 'utility']:.1%} of utility, {lost[scheme, 'efficiency']:.1%} of efficiency"
        for scheme in SCHEMES
    )
    return _Judgement(ours, _all_of(checks), "" if all(checks) else NOT_KNOWN)


def _together(studies: Studies) -> _Judgement:
    """Utility times efficiency: the paper does not say how the two are to be taken together."""
    parts, checks = [], []
    for trace, study in FIGURES.items():
        both = {scheme: _product(studies[study], scheme, ttl=DAY) for scheme in SCHEMES}
        parts.append(f"{TRACES[trace]}: {_text(both)}")
        checks.append(_best(both) == MOPS)
    why = "the paper does not say how the two are weighed; see MO-7"
    few = [f"{TRACES[t]} {_product(runs, MOPS, pruning=_FEW).text()}" for t, runs in _pruned(studies)]
    if few:
        why += f"; with B = {_FEW:g} MOPS has {', '.join(few)}"
    ours = f"utility times efficiency at 1 day, {'; '.join(parts)}"
    return _Judgement(ours, _all_of(checks), "" if all(checks) else why)


def _product(runs: Runs, scheme: str, **place: Any) -> Interval:
    both = (runs.values(metric, scheme, **place) for metric in ("utility", "efficiency"))
    return Interval.of(utility * efficiency for utility, efficiency in zip(*both, strict=True))


class _Row(NamedTuple):
    id: str
    paper: str
    studies: tuple[str, ...]
    judge: Callable[[Studies], _Judgement]


_ALL = tuple(FIGURES.values())
_CHOICES = "efficiency-infocom05"
_FEW, _MANY = 0.2, 0.8
"""Thresholds B of pruning that leave few brokers, and the paper's."""
_CLAIMS = (
    _Row(
        "MO-1",
        "closeness is decided by a direct link for 60.8 % of pairs in Reality and 12.2 % in Haggle, by two hops for "
        "30.9 % and 83.3 % (section III.A)",
        ("closeness-reality", "closeness-infocom05"),
        _shares,
    ),
    _Row("MO-2", "a higher T makes more communities (Fig. 3)", ("figure-10",), _more_communities),
    _Row(
        "MO-3",
        "Reality: all below 40 % utility at 3 days; push, then MOPS, then Neighbors, pull very low (Fig. 8a)",
        (FIGURES["reality"],),
        _reality,
    ),
    _Row(
        "MO-4",
        "Haggle: all utilities higher than on the others; push best at small TTL, MOPS best at larger (Fig. 8b)",
        _ALL,
        _infocom,
    ),
    _Row(
        "MO-5",
        "campus: MOPS above Neighbors and pull, above push at long TTL; the largest margin over Neighbors (Fig. 8c)",
        _ALL,
        _campus,
    ),
    _Row("MO-6", "utility and efficiency rise with TTL (Fig. 8, 9)", _ALL, _rises_with_life),
    _Row("MO-7", "efficiency: pull 1, then MOPS, then Neighbors and push, on all sets (Fig. 9)", _ALL, _efficiency),
    _Row(
        "MO-8",
        "fewest forwardings near T = 0.5, many at small T; near 1 as Neighbors (Fig. 10b)",
        ("figure-10",),
        _threshold,
    ),
    _Row("MO-9", "default weight 0: larger latency, fewer forwardings (Fig. 10)", ("figure-10",), _default_weight),
    _Row("MO-10", "utility and efficiency fall with λ, MOPS's least (Fig. 11)", ("figure-11",), _rate),
    _Row("MO-11", "MOPS is best when utility and efficiency are taken together (section V.B)", _ALL, _together),
)


# Tables ---------------------------------------------------------------------------------------------------------------


def _figure_table(runs: Runs, axis: str, name: Callable[[Any], str]) -> str:
    places = list(runs.along("utility", MOPS, axis))
    heading = " | ".join(name(place) for place in places)
    lines = [f"| | {heading} |", "|---" * (len(places) + 1) + "|"]
    for metric in ("utility", "efficiency"):
        for scheme in SCHEMES:
            cells = [runs.at(metric, scheme, **{axis: place}).text() for place in places]
            lines.append(f"| {metric}, {scheme} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _threshold_table(runs: Runs) -> str:
    lines = [
        "| T | default weight | communities | brokers | forwardings | list forwardings | delay (h) | utility "
        "| efficiency |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for threshold in runs.along("relayed", MOPS, "threshold"):
        for weight in (0.0, 1e-5):
            place = {"threshold": threshold, "default_weight": weight}
            cells = [
                *(runs.at(_observed(name), MOPS, **place).text(1) for name in ("communities", "brokers")),
                runs.at("relayed", MOPS, **place).text(0),
                runs.at(_observed("lists_sent"), MOPS, **place).text(0),
                runs.at("latency_avg", MOPS, **place).text(2, 3600),
                *(runs.at(name, MOPS, **place).text() for name in ("utility", "efficiency")),
            ]
            lines.append(f"| {threshold:g} | {weight:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _recorded_table(studies: Studies) -> str:
    lives = [10_800, DAY, 3 * DAY]
    lines = [f"| utility, efficiency | {' | '.join(map(_hours, lives))} |", "|---|---|---|---|"]
    cases: list[tuple[str, str, dict[str, Any]]] = [(scheme, scheme, {}) for scheme in (PUSH, MOPS, NEIGHBORS)]
    cases += [("pull", PULL, {"from_anyone": False}), ("pull from anybody", PULL, {"from_anyone": True})]
    for trace, runs in studies.items():
        for label, scheme, place in cases:
            cells = [
                ", ".join(runs.at(metric, scheme, ttl=life, **place).text() for metric in ("utility", "efficiency"))
                for life in lives
            ]
            lines.append(f"| {trace}: {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _brokers_table(studies: Studies) -> str:
    lines = [
        "| | B | brokers | utility | efficiency | utility times efficiency | forwardings | delay (h) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for trace, runs in studies.items():
        for share in runs.along("utility", MOPS, "pruning"):
            cells = [
                runs.at(_observed("brokers"), MOPS, pruning=share).text(1),
                *(runs.at(name, MOPS, pruning=share).text() for name in ("utility", "efficiency")),
                _product(runs, MOPS, pruning=share).text(),
                runs.at("relayed", MOPS, pruning=share).text(0),
                runs.at("latency_avg", MOPS, pruning=share).text(2, 3600),
            ]
            lines.append(f"| {trace} | {share:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _relearning_table(runs: Runs) -> str:
    lines = [
        "| learning | new structure | utility | efficiency | delay (h) | forwardings | list forwardings "
        "| hello messages (MB) | role changes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    periods = {row["axes"]["parameters.relearn"] for row in runs.rows}
    in_order = sorted(periods, key=lambda period: (period != "none", 0 if period == "none" else period))
    for learning, period in product(("central", "exchange"), in_order):
        place = {"learning": learning, "relearn": period}
        cells = [
            *(runs.at(name, MOPS, **place).text() for name in ("utility", "efficiency")),
            runs.at("latency_avg", MOPS, **place).text(2, 3600),
            runs.at("relayed", MOPS, **place).text(0),
            runs.at(_observed("lists_sent"), MOPS, **place).text(0),
            runs.at(_observed("hello_bytes"), MOPS, **place).text(1, 1e6),
            runs.at("role_changes", MOPS, **place).text(0),
        ]
        name = "never" if period == "none" else f"every {period / DAY:g} days"
        lines.append(f"| {learning} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


# Helpers --------------------------------------------------------------------------------------------------------------


def _read(results: Path) -> Studies:
    names = sorted({name for row in _CLAIMS for name in row.studies} | {f"as-recorded-{trace}" for trace in TRACES})
    names += [_CHOICES, *BROKERS.values(), "relearning-reality"]
    return read_studies(results, names)


def _at(runs: Runs, metric: str, **place: Any) -> dict[str, Interval]:
    return {scheme: runs.at(metric, scheme, **place) for scheme in SCHEMES}


def _best(found: dict[str, Interval]) -> str:
    return max(found, key=lambda scheme: found[scheme].mean)


def _falls(found: dict[str, Interval], *order: str) -> bool:
    return all(found[one].mean > found[two].mean for one, two in pairwise(order))


def _text(found: dict[str, Interval]) -> str:
    return ", ".join(f"{scheme} {interval.text()}" for scheme, interval in found.items())


def _all_of(checks: list[bool]) -> Verdict:
    return "reproduced" if all(checks) else "partly" if any(checks) else "not reproduced"


def _hours(life: float) -> str:
    return f"{life / 3600:g} h" if life < DAY else f"{life / DAY:g} d"


def _bandwidth(runs: Runs) -> str:
    """How full the links are on which push should flatten, as far as the results tell."""
    cut = runs.at(lambda row: row["aborted"] / max(1, row["relayed"]), PUSH, ttl=3 * DAY)
    return f"{NOT_KNOWN}; contacts' ends cut off {cut.text(1, unit=0.01)} transfers of push for 100 that arrived"


def _observed(name: str) -> Callable[[dict[str, Any]], float]:
    return lambda row: float(row["observed"].get(name, 0.0))


def _share(hops: int) -> Callable[[dict[str, Any]], float]:
    """Of all virtual links, those that a path of so many hops decides."""

    def share(row: dict[str, Any]) -> float:
        counts = {name: value for name, value in row["observed"].items() if name.startswith("decided_by_")}
        return float(counts[f"decided_by_{hops}"] / sum(counts.values()))

    return share
