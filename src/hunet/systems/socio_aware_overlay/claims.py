"""The Socio-Aware Overlay's claims: Tables 1 to 5 and SO-1 to SO-13, against the results of its studies.

A verdict is a rule on the numbers, and stands in the code beside its claim. A number of the paper is *reproduced* if
ours is within 10 % of it (or it is within our confidence interval), *partly* if within a third. A reason is given only
where a study has tested it; where the cause is not known, the table says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from hunet.model.intervals import Interval
from hunet.report.claims import Claim, Claims, Judgement, Verdict, claims_table, percent, verdict_of, verdict_of_all
from hunet.report.runs import NotRunError, Runs, Studies
from hunet.systems.socio_aware_overlay import tables
from hunet.systems.socio_aware_overlay.measures import OVERLAY, PUSH, UNIT, communities_of, known, measure, read
from hunet.systems.socio_aware_overlay.tables import LONERS, NAMES, TABLE_4, TABLES, loads, place_of

TABLE_1 = {"cambridge": (1.2, 0.66), "reality": (1.6, 0.44), "geolife": (2.2, 0.41)}
"""Average hops and clustering; Geolife stands in the place of UCSD."""
TABLE_2 = {"cambridge": (0.85, 0.85, 0.85, 2), "reality": (0.79, 0.76, 0.87, 8), "geolife": (0.47, 0.56, 0.55, 8)}
"""SIMPLE against k-clique and Newman, k-CLIQUE against k-clique, communities."""
CLAIMS = Claims()


def sections(results: Path) -> dict[str, str]:
    """The tables of the overlay's page, from ``results/<stem of the study file>``."""
    studies = read(results)
    parts = [
        claims_table(overlay_claims(studies)),
        "Mean ± half of the 95 % confidence interval over 5 repetitions; Tables 1 and 2 have nothing random in them.",
        *(tables.dissemination_table(studies, stem) for stem in TABLES if stem in studies),
    ]
    more = {"what-matters": tables.matters_table, "online": tables.online_table, "table-1": tables.trace_table}
    parts += [table(studies[stem]) for stem, table in more.items() if stem in studies]
    return {"claims": "\n\n".join(filter(None, parts))}


def overlay_claims(studies: Studies) -> list[Claim]:
    """All claims, judged by the results that are there; studies that are missing are not named."""
    claims = CLAIMS.judged(studies)
    return [claim._replace(ours="–") if claim.verdict == "not run" else claim for claim in claims]


# Tables 1 to 5 -----------------------------------------------------------------------------------------------------


def _table_1(studies: Studies, trace: str) -> Judgement:
    runs = studies["table-1"].only(trace=trace)
    graph = runs.first(least_contacts=1)["observed"]["graph"]
    hops, clustering = TABLE_1[trace]
    verdicts = [_near(graph["hops_mean"], hops), _near(graph["clustering_mean"], clustering)]
    ours = f"hops {graph['hops_mean']:.2f}, clustering {graph['clustering_mean']:.2f} of all pairs that met"
    others = {least: part.rows[0]["observed"]["graph"] for least, part in runs.by("least_contacts").items()}
    sparser = [
        f"{others[least]['hops_mean']:.2f} and {others[least]['clustering_mean']:.2f} ({least})"
        for least in (2, 5, 10, 100)
        if least in others and others[least]["hops_mean"]
    ]
    why = f"of pairs that met more often: {', '.join(sparser)}; " if sparser else ""
    why += "another trace" if trace == "geolife" else "how the paper counts is not known"
    verdict = verdict_of_all(verdicts)
    return Judgement(ours, verdict, "" if verdict == "reproduced" else why)


def _table_2(studies: Studies, trace: str) -> Judgement:
    runs, (*papers, many) = studies[f"table-2-{trace}"], TABLE_2[trace]
    pairs = (("simple", "k-clique"), ("simple", "newman"), ("k-clique", "k-clique"))
    best = [_best(runs, algorithm, method) for algorithm, method in pairs]
    counts = {
        threshold: len(_figures(part, "k-clique")["communities"]) for threshold, part in runs.by("threshold").items()
    }
    verdicts = [_near(value, wanted) for (value, _), wanted in zip(best, papers, strict=True)]
    ours = (
        f"SIMPLE {best[0][0]:.2f} / {best[1][0]:.2f}, k-CLIQUE {best[2][0]:.2f} (best of {len(counts)} thresholds: "
        f"{best[0][1]:,g}, {best[1][1]:,g}, {best[2][1]:,g} s); communities by k-CLIQUE: "
        + ", ".join(f"{number} at {threshold:,g} s" for threshold, number in counts.items())
    )
    above = all(value >= wanted for (value, _), wanted in zip(best, papers, strict=True))
    why = "ours is higher; " if above and verdicts != ["reproduced"] * 3 else ""
    why += "another trace" if trace == "geolife" else "the paper's index of similarity is not in the paper"
    return Judgement(ours, verdict_of_all([*verdicts, verdict_of(many in counts.values(), False)]), why)


def _dissemination(studies: Studies, stem: str) -> Judgement:
    """Judged cell by cell: hops, C - B, C - A, undelivered and total hops of every load."""
    found = {
        said: [verdict for row in TABLES[stem][2] for verdict in _verdicts(studies[stem], row, loners)]
        for loners, said in LONERS.items()
    }
    exact = {said: sum(v == "reproduced" for v in verdicts) for said, verdicts in found.items()}
    near = {said: sum(v != "not reproduced" for v in verdicts) for said, verdicts in found.items()}
    ours = "; ".join(
        f"{said}: {exact[said]} of {len(verdicts)} numbers within 10 %, {near[said]} within a third"
        for said, verdicts in found.items()
    )
    best = max(found, key=lambda said: near[said])
    many = len(found[best])
    why = "with a default community loners get and pass on publications, late, so C−B is long; else not known"
    why = f"see the table below; {'another trace' if stem == 'table-5' else why}"
    return Judgement(ours, verdict_of(exact[best] == many, 2 * near[best] >= many), why)


def _verdicts(runs: Runs, row: tables.Row, loners: bool) -> list[Verdict]:
    """The verdicts of a row's numbers."""
    wanted = {
        "hops": row.hops,
        "contact_to_sub": row.contact_to_sub,
        "pub_to_sub": row.pub_to_sub,
        "undelivered": row.undelivered / int(row.load.partition("/")[0]),
        "total_hops": float(row.total_hops or 0),
    }
    here = runs.only(OVERLAY, **place_of(row, loners))
    return [_judge(here.at(measure(name), OVERLAY), paper) for name, paper in wanted.items()]


def _add_tables() -> None:
    """Add the claims of Tables 1 to 5, one for each trace."""
    for trace, (hops, clustering) in TABLE_1.items():
        paper = f"average hops {hops}, clustering {clustering}"
        CLAIMS.add(f"Table 1, {NAMES[trace]}", paper, "table-1")(partial(_table_1, trace=trace))
    for trace, (simple, newman, clique, many) in TABLE_2.items():
        paper = f"SIMPLE {simple} / {newman}, k-CLIQUE {clique}, {many} communities"
        CLAIMS.add(f"Table 2, {NAMES[trace]}", paper, f"table-2-{trace}")(partial(_table_2, trace=trace))
    for stem, (table, trace, rows) in TABLES.items():
        loads = (f"{row.load}: {row.hops} hops, C−B {row.contact_to_sub}, C−A {row.pub_to_sub}" for row in rows)
        CLAIMS.add(f"{table}, {trace}", "; ".join(loads), stem)(partial(_dissemination, stem=stem))


_add_tables()


# Detection ---------------------------------------------------------------------------------------------------------


def _best(runs: Runs, algorithm: str, method: str) -> tuple[float, float]:
    """The highest similarity over thresholds, and the threshold; the paper gives "the highest similarity values"."""
    found = [(_figures(part, algorithm)["similarity"][method] or 0.0, at) for at, part in runs.by("threshold").items()]
    return max(found, key=lambda each: each[0])


def _figures(runs: Runs, algorithm: str, **place: Any) -> dict[str, Any]:
    """The figures of the analysis of communities at a point of the grid; nothing there is random."""
    found: dict[str, Any] = runs.first(algorithm=algorithm, **place)["observed"]
    return found


def _detections(studies: Studies) -> dict[str, Runs]:
    """The studies of Table 2 that have been run, by trace."""
    found = {NAMES[trace]: studies[f"table-2-{trace}"] for trace in TABLE_2 if f"table-2-{trace}" in studies}
    if not found:
        raise NotRunError
    return found


@CLAIMS.add("SO-1", 'best accuracy up to 90 %, "about 80 %" of communities found; k-CLIQUE at least as good as SIMPLE')
def _detection_accuracy(studies: Studies) -> Judgement:
    parts, worse, top, shares = [], [], 0.0, []
    for trace, runs in _detections(studies).items():
        clique, at = _best(runs, "k-clique", "k-clique")
        simple, _ = _best(runs, "simple", "k-clique")
        shares.append(_figures(runs, "k-clique", threshold=at)["found"]["k-clique"][0] or 0.0)
        top = max(top, clique)
        worse += [trace] if clique < simple else []
        parts.append(f"{trace}: k-CLIQUE {clique:.2f}, SIMPLE {simple:.2f}, {shares[-1]:.0%} found half alike")
    why = f"SIMPLE's best is better on {' and '.join(worse)}; why is not known" if worse else ""
    return Judgement.of_all("; ".join(parts), [top >= 0.81, max(shares) >= 0.72, not worse], why)


@CLAIMS.add(
    "SO-2",
    "accuracy hardly depends on the level (50 to 90 %) at 150 ks, and rises with T_th, 50 to 250 ks (Fig. 6)",
    "table-2-reality",
)
def _thresholds(studies: Studies) -> Judgement:
    runs = studies["table-2-reality"]
    levels = [level or 0.0 for level in _figures(runs, "k-clique", threshold=150_000)["found"]["k-clique"]]
    along = {threshold: _figures(part, "k-clique") for threshold, part in runs.by("threshold").items()}
    likeness = [found["similarity"]["k-clique"] or 0.0 for found in along.values()]
    own = [found["accuracy"]["k-clique"] or 0.0 for found in along.values()]
    flat = levels[0] - levels[-1] <= 0.2
    ours = (
        f"found at 50 to 90 %: {', '.join(f'{level:.0%}' for level in levels)}; from {min(along):,g} to "
        f"{max(along):,g} s similarity {_listed(likeness)}, devices' own accuracy {_listed(own)}"
    )
    why = "" if flat else "communities found are mostly half alike, few are 90 %; how the paper compares is not known"
    return Judgement.of_all(ours, [likeness[-1] > likeness[0], own[-1] > 1.1 * own[0], flat], why)


@CLAIMS.add(
    "SO-3",
    "at 250 ks a third of the trace is comparable to all of it (Fig. 5); UCSD is stable from two thirds (Fig. 7, 8)",
    "figure-5",
    "figures-7-and-8",
)
def _shares_of_the_trace(studies: Studies) -> Judgement:
    def along(stem: str, **place: Any) -> list[float]:
        found = [studies[stem].first(share=share, **place)["observed"] for share in (0.3333, 0.6667, 1.0)]
        return [each["similarity"]["k-clique"] or 0.0 for each in found]

    reality = along("figure-5", threshold=250_000)
    others = {
        name: along("figures-7-and-8", algorithm=algorithm)
        for name, algorithm in (("k-CLIQUE", "k-clique"), ("SIMPLE", "simple"))
    }
    good = [reality[0] >= 0.8 * reality[2], *(abs(v[1] - v[2]) <= 0.1 * max(v[2], 1e-9) for v in others.values())]
    ours = f"Reality after 1/3, 2/3, all: {_listed(reality)}; Geolife: "
    ours += ", ".join(f"{name} {_listed(values)}" for name, values in others.items())
    why = "why is not known; our Reality is the first 155 of 283 days: a third of the paper's is 0.6 of ours"
    return Judgement.of_all(ours, good, why)


@CLAIMS.add("SO-4", "SIMPLE needs less storage and computation, O(n), than k-CLIQUE (section 4.3)")
def _storage(studies: Studies) -> Judgement:
    parts, good = [], []
    for trace, runs in _detections(studies).items():
        threshold = _best(runs, "k-clique", "k-clique")[1]
        simple, clique = (_figures(runs, algorithm, threshold=threshold) for algorithm in ("simple", "k-clique"))
        everything = clique["kept"] + clique["kept_of_others"]
        good.append(simple["kept"] < everything)
        parts.append(f"{trace}: {simple['kept']:.1f} and {everything:.1f}")
    ours = "entries that a device keeps, in C and F by SIMPLE, in C, F and FoC by k-CLIQUE: "
    why = "as printed; ours keeps FoC for SIMPLE too, to compute centralities"
    return Judgement(ours + "; ".join(parts), verdict_of(all(good), any(good)), why)


# Dissemination -----------------------------------------------------------------------------------------------------


@CLAIMS.add(
    "SO-5",
    "Reality: 8 communities, the largest of 21 with 13 brokers, communities 4 to 8 of 3 to 4; 24 loners (25 %); "
    "brokers are one hop from all members; 93 % of a community can be broker",
    "table-4",
)
def _communities(studies: Studies) -> Judgement:
    known = communities_of(studies["table-4"])
    sizes = [len(each["members"]) for each in known]
    share = sum(len(each["brokers"]) / len(each["members"]) for each in known) / len(known)
    loners = max((len(each["guests"]) for each in known), default=0)
    depth = max(each["depth"] for each in known)
    good = [
        len(known) == 8,
        _near(sizes[0], 21) == "reproduced",
        set(sizes[3:]) <= {3, 4},
        _near(loners, 24) != "not reproduced",
        all(each["depth"] == 1 for each in known),
        _near(share, 0.93) == "reproduced",
    ]
    ours = (
        f"{len(known)} communities of {', '.join(map(str, sizes))}, "
        f"the largest with {len(known[0]['brokers'])} brokers; {loners} loners of {sum(sizes) + loners}; "
        f"brokers at most {depth} hop{'s' * (depth > 1)} from members; {share:.0%} of a community can be broker"
    )
    return Judgement.of_all(ours, good, "why is not known; our trace is the first 155 of 283 days")


@CLAIMS.add("SO-6", "Reality: about 1.3 hops at every load, below the pair distance (1.6)", "table-1", "table-4")
def _hops(studies: Studies) -> Judgement:
    distance = studies["table-1"].first(trace="reality", least_contacts=1)["observed"]["graph"]["hops_mean"]
    by_load = loads(studies["table-4"], "hops")
    ours = "; ".join(f"{LONERS[loners]}: {_texts(some)}" for loners, some in by_load.items())
    means = [each.mean for each in by_load[False]]
    alike = all(_near(value, 1.3) == "reproduced" for value in means)
    good = [alike, max(means) - min(means) < 0.1, max(means) < distance]
    counted = _texts(loads(studies["table-4"], "hops_with_injection")[False])
    why = f"some publishers are brokers and need no contact; counted as one: {counted}"
    return Judgement(f"{ours}; pair distance {distance:.2f}", verdict_of(all(good), any(good)), why)


@CLAIMS.add(
    "SO-7",
    "C−B far below C−A, so C−A ≈ B−A; more than 3 days to the first contact, then a few minutes (Reality)",
    "table-4",
)
def _stages(studies: Studies) -> Judgement:
    parts, good = [], []
    for loners, said in LONERS.items():
        place = place_of(TABLE_4[0], loners)
        after, whole, at_once = (
            known(studies["table-4"], name, **place) for name in ("contact_to_sub", "pub_to_sub", "handed_at_once")
        )
        days = (whole.mean - after.mean) * UNIT / 86_400
        parts.append(
            f"{said}: C−B {after.text(1)} of C−A {whole.text(0)} units, {days:.1f} days to B; "
            f"{at_once.mean:.0%} delivered in the unit of B"
        )
        good += [after.mean < 0.1 * whole.mean, days > 3]
    why = "with a default community loners get and pass on publications when they meet a broker, long after B"
    return Judgement.of_all("; ".join(parts), good, why)


@CLAIMS.add(
    "SO-8",
    "C−A is like a power law: most are short (Fig. 12, 14b); a few subscribers wait long after B (Fig. 13)",
    "table-4",
)
def _latencies(studies: Studies) -> Judgement:
    below, middle, whole = (
        [found.mean for found in loads(studies["table-4"], name)[False]]
        for name in ("quicker_than_mean", "median_units", "pub_to_sub")
    )
    late = known(studies["table-4"], "late_subscribers", **place_of(TABLE_4[0], True))
    ratio = [one / two for one, two in zip(middle, whole, strict=True)]
    ours = (
        f"at the three loads {', '.join(f'{share:.0%}' for share in below)} of deliveries are quicker than the mean, "
        f"the median is {_listed(ratio)} of it; with a default community "
        f"{percent(late)} of the subscribers wait for more than ten units after B"
    )
    good = [min(below) >= 0.6, max(ratio) <= 0.5, late.mean <= 0.5]
    why = "with a default community what loners were handed comes late to everybody; without, nobody waits"
    return Judgement.of_all(ours, good, "" if good[-1] else why)


@CLAIMS.add(
    "SO-9",
    "Reality: 26, 48, 58 % undelivered; 3 % if publisher and subscribers share a community",
    "table-4",
    "table-4-same-community",
)
def _reliability(studies: Studies) -> Judgement:
    by_load = loads(studies["table-4"], "undelivered")
    same = [known(studies["table-4-same-community"], "undelivered", default_community=loners) for loners in LONERS]
    most, together = max(each.mean for each in by_load[False]), min(each.mean for each in same)
    good = [
        all(
            _judge(each, paper) != "not reproduced"
            for each, paper in zip(by_load[False], (0.26, 0.48, 0.58), strict=True)
        ),
        all(one.mean < two.mean for one, two in pairwise(by_load[False])),
        together < min(each.mean for each in by_load[False]),
        _judge(Interval(together, 0.01, 5), 0.03) != "not reproduced",
    ]
    ours = "; ".join(f"{LONERS[loners]}: {', '.join(map(percent, some))}" for loners, some in by_load.items())
    ours += f"; in one community {' and '.join(map(percent, same))}"
    why = "ours is more reliable; why is not known" if most < 0.58 else ""
    return Judgement(ours, verdict_of(all(good), any(good)), why)


@CLAIMS.add("SO-10", "WithinCommunity beats MixCommunity in reliability and in hops (Fig. 14)", "figure-14")
def _within_and_mix(studies: Studies) -> Judgement:
    parts, good = [], []
    for loners, said in LONERS.items():
        (lost, hops), (lost_mix, hops_mix) = (
            [known(studies["figure-14"], n, within=w, default_community=loners) for n in ("undelivered", "hops")]
            for w in (0.9, 0.0)
        )
        parts.append(
            f"{said}: undelivered {percent(lost)} against {percent(lost_mix)}, "
            f"hops {hops.text(2)} against {hops_mix.text(2)}"
        )
        good += [lost.mean < lost_mix.mean, hops.mean < hops_mix.mean]
    why = "the paper's own Table 4 has more hops in one community (1.35) than in the mix (1.28)"
    return Judgement.of_all("; ".join(parts), good, why)


@CLAIMS.add("SO-11", "Cambridge: reliable and quick, C−B = 0; UCSD: unreliable, about one hop", *TABLES)
def _three_traces(studies: Studies) -> Judgement:
    names = ("undelivered", "hops", "contact_to_sub", "pub_to_sub")
    cambridge, reality, geolife = (
        {name: known(studies[stem], name, default_community=False, subscriptions=100) for name in names}
        for stem in TABLES
    )
    good = [
        cambridge["undelivered"].mean < geolife["undelivered"].mean,
        cambridge["pub_to_sub"].mean < reality["pub_to_sub"].mean,
        cambridge["contact_to_sub"].mean < 1,
        _near(geolife["hops"].mean, 1.0) == "reproduced",
    ]
    ours = "; ".join(
        f"{name}: {percent(found['undelivered'])} undelivered, {found['hops'].text(2)} hops, "
        f"C−B {found['contact_to_sub'].text(1)}, C−A {found['pub_to_sub'].text(0)} units"
        for name, found in (("Cambridge", cambridge), ("Reality", reality), ("Geolife", geolife))
    )
    return Judgement.of_all(f"{ours} ({LONERS[False]})", good, "another sparse trace")


@CLAIMS.add("SO-12", "epidemic has larger total hops; Unicast between brokers raises the average hops", "unicast")
def _costs(studies: Studies) -> Judgement:
    direct, epidemic, contact = (
        known(studies["unicast"], "hops", broker_link=link, unicast=kind)
        for link, kind in (("direct", "epidemic"), ("unicast", "epidemic"), ("unicast", "contact"))
    )
    parts, good = [], []
    for stem, (_, trace, _) in TABLES.items():
        if stem in studies:
            runs = studies[stem].only(subscriptions=100)
            ours = runs.at(measure("total_hops"), OVERLAY, default_community=True)
            theirs = tables.total_hops(runs, 100)
            sent = [runs.at("relayed", OVERLAY, default_community=True), runs.at("relayed", PUSH)]
            good.append(ours.mean < theirs.mean)
            parts.append(
                f"{trace}: {ours.text(0)} against {theirs.text(0)} "
                f"(transmissions {sent[0].text(0)} against {sent[1].text(0)})"
            )
    if not parts:
        raise NotRunError
    good += [direct.mean < epidemic.mean, direct.mean < contact.mean]
    parts.append(
        f"hops Direct {direct.text(2)}, Unicast by epidemic {epidemic.text(2)}, by brokers who meet {contact.text(2)}"
    )
    return Judgement.of_all("; ".join(parts), good)


@CLAIMS.add("SO-13", "a smaller window gives smaller, tighter communities (Fig. 9)", "figure-9")
def _windows(studies: Studies) -> Judgement:
    windows = {row["place"]["window"]: row["observed"] for row in reversed(studies["figure-9"].rows)}
    sizes, density, parts = [], [], []
    for window in sorted(windows, key=lambda w: float("inf") if w == "none" else w):
        members = [len(each) for each in windows[window]["communities"]]
        sizes.append(sum(members) / len(members) if members else 0.0)
        density.append(windows[window]["density"] or 0.0)
        name = "no window" if window == "none" else f"{window / 86_400:g} days"
        parts.append(f"{name}: {len(members)} of {sizes[-1]:.1f} members, {density[-1]:.0%} of pairs familiar")
    good = [all(a <= b for a, b in pairwise(sizes)), density[0] > density[-1]]
    return Judgement.of_all("; ".join(parts), good, "why is not known")


# Rules and words ----------------------------------------------------------------------------------------------------


def _near(ours: float, paper: float) -> Verdict:
    """Within 10 %, within a third, or neither."""
    away = abs(ours - paper) - 1e-9
    return verdict_of(away <= 0.1 * paper, away <= paper / 3)


def _judge(ours: Interval, paper: float) -> Verdict:
    """The same for a mean of repetitions; a tenth of a unit from nothing is nothing."""
    if abs(ours.mean - paper) <= (ours.half or 0.0) or (not paper and ours.mean < 0.1):
        return "reproduced"
    return _near(ours.mean, paper)


def _texts(found: Iterable[Interval]) -> str:
    return ", ".join(each.text(2) for each in found)


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
