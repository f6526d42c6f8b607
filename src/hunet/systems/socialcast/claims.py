"""SocialCast's claims, SC-1 to SC-17, against the studies of Fig. 3 to Fig. 10, and its results on real traces.

The paper does not say enough of its mobility to build it again, so every claim is judged twice: where communities
*dissolve* (people follow where their friends are heading, the reading that fits most of the paper's numbers) and where
they *last* (people keep going to where their friends live, the default of our world).

A verdict is a rule on the numbers, and stands in the code beside its claim. Two numbers are taken for the same if they
differ by no more than twice the paper's own largest standard deviation of deliveries, or once that of traffic, which
is a fifth of the traffic already (section V.A.2). Everybody is more than 99 %. A reason is given only where one of the
studies has tested it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import stdev
from typing import Any

from hunet.model.intervals import Interval
from hunet.report.claims import NOT_KNOWN, Claim, Claims, Judgement, claims_table, falls, listed, percent, rises, table
from hunet.report.runs import Row, Runs, Studies, read_studies

WITH, WITHOUT = "socialcast", "socialcast-random"
"""With prediction, and without."""
READINGS = {"goal": "dissolving", "home": "lasting"}
TRACES = {
    "infocom05": "Infocom 2005, interests by lot",
    "infocom06": "Infocom 2006, interests from questionnaires",
    "high-school": "High School 2013, classes",
}
STUDIES = [*(f"figure-{n}" for n in range(3, 11)), "calibration", *TRACES]
CLAIMS = Claims()
_NAMES = (("with", WITH), ("without", WITHOUT))
SAME_DELIVERY, SAME_TRAFFIC, EVERYBODY = 2 * 0.016, 3212.0, 0.99


def sections(results: Path) -> dict[str, str]:
    """The tables of SocialCast's page, from the results of its studies: a folder each, named as the study's file.

    Claims whose study has no results are "not run".
    """
    studies = read(results)
    many = ", ".join(f"{name} {study.repetitions}" for name, study in studies.items()) or "none"
    note = f"Repetitions: {many}. Mean ± half of the 95 % confidence interval."
    return {
        "claims": f"{claims_table(socialcast_claims(studies))}\n\n{note}",
        "traces": _traces_table(studies),
        "calibration": _calibration_table(studies.get("calibration")),
    }


def read(results: Path) -> Studies:
    """The studies that have results."""
    return read_studies(results, STUDIES, _place)


def socialcast_claims(studies: Studies) -> list[Claim]:
    """All claims in both readings of the mobility, judged by the studies that there are."""
    readings = []
    for association, reading in READINGS.items():
        here = {name: runs.only(association=association) for name, runs in studies.items()}
        readings.append([_in_reading(claim, reading) for claim in CLAIMS.judged(here)])
    return [claim for claims in zip(*readings, strict=True) for claim in claims]


def _in_reading(claim: Claim, reading: str) -> Claim:
    name = f"{claim.id}, {reading}"
    if claim.verdict == "not run":
        return claim._replace(id=name, ours="–", why=f"needs {claim.ours}")
    return claim._replace(id=name, why="" if claim.verdict == "reproduced" else claim.why or NOT_KNOWN)


@CLAIMS.add("SC-1", "γ = 5: delivery 93 % with prediction, 40 % without (V.B.1)", "figure-3")
def _replicas(here: Studies) -> Judgement:
    with_it, without = (here["figure-3"].at("delivery_ratio", p, copies=5) for p in (WITH, WITHOUT))
    same = abs(with_it.mean - 0.93) <= SAME_DELIVERY and abs(without.mean - 0.40) <= SAME_DELIVERY
    why = _weights(here) if with_it.mean < 0.93 - SAME_DELIVERY else ""
    ours = f"{with_it.text()} with, {without.text()} without (maxTTL 6, chosen to fit the latter)"
    return Judgement.of(ours, same, with_it.mean > 1.5 * without.mean, why)


@CLAIMS.add("SC-2", "above 90 % with γ = 5; without, three times as many copies are needed", "figure-3")
def _thrice(here: Studies) -> Judgement:
    delivery = _along(here["figure-3"], "delivery_ratio", "copies")
    first = {p: _first(delivery[p], lambda found: found.mean > 0.9) for p in (WITH, WITHOUT)}
    most = max(delivery[WITHOUT])
    ours = "; ".join(
        f"{name}: above 0.9 from γ = {first[p]}" if first[p] else f"{name}: {delivery[p][most].text()} at γ = {most}"
        for name, p in _NAMES
    )
    enough = first[WITH] is not None and first[WITH] <= 5
    thrice = enough and first[WITHOUT] is not None and 2 <= first[WITHOUT] / first[WITH] <= 5
    why = "" if enough else _weights(here)
    if enough and not thrice and "calibration" in here:
        longer = here["calibration"].at("delivery_ratio", WITHOUT, copies=15, max_hops=10)
        why = f"depends on maxTTL, which the paper does not give: with 10 instead of 6, 15 copies give {longer.text()}"
    return Judgement.of(ours, thrice, enough and first[WITHOUT] != first[WITH], why)


@CLAIMS.add("SC-3", "equal γ, about the same traffic; it grows with γ (Fig. 3b)", "figure-3")
def _traffic(here: Studies) -> Judgement:
    sent = _along(here["figure-3"], "relayed", "copies")
    grows = all(rises(along.values()) for along in sent.values())
    alike = all(abs(sent[WITH][c].mean - sent[WITHOUT][c].mean) <= SAME_TRAFFIC for c in sent[WITH])
    ours = ", ".join(f"γ = {c}: {sent[WITH][c].text(0)} and {sent[WITHOUT][c].text(0)}" for c in sent[WITH])
    why = "" if alike else "with prediction copies do not use up their hops: see SC-6"
    return Judgement.of(f"with and without, {ours}", alike and grows, grows, why)


@CLAIMS.add(
    "SC-4",
    "publishers among subscribers: clearly faster, delivery and traffic as before; without, no change (Fig. 4)",
    "figure-4",
)
def _publishers(here: Studies) -> Judgement:
    figure = here["figure-4"]
    at = {
        (p, among, metric): figure.at(metric, p, copies=3, among_subscribers=among)
        for p in (WITH, WITHOUT)
        for among in (False, True)
        for metric in ("delivery_ratio", "relayed", "latency_avg")
    }
    parts = []
    for name, p in _NAMES:
        pairs = [
            f"{at[p, False, metric].text(digits)} → {at[p, True, metric].text(digits)}{unit}"
            for metric, digits, unit in (("delivery_ratio", 3, ""), ("relayed", 0, " sent"), ("latency_avg", 0, " s"))
        ]
        parts.append(f"{name}: " + ", ".join(pairs))
    faster = at[WITH, True, "latency_avg"].mean < 0.9 * at[WITH, False, "latency_avg"].mean
    steady = {
        p: abs(at[p, True, "delivery_ratio"].mean - at[p, False, "delivery_ratio"].mean) <= SAME_DELIVERY
        and abs(at[p, True, "relayed"].mean - at[p, False, "relayed"].mean) <= SAME_TRAFFIC
        for p in (WITH, WITHOUT)
    }
    why = [f"delivery or traffic {name} prediction changes too" for name, p in _NAMES if not steady[p]]
    return Judgement.of("; ".join(parts), faster and all(steady.values()), faster, "; ".join(why))


@CLAIMS.add("SC-5", "maxTTL 15 gives more than 90 %; without, 35 or more are needed (Fig. 5a)", "figure-5")
def _hops_needed(here: Studies) -> Judgement:
    delivery = _along(here["figure-5"], "delivery_ratio", "max_hops")
    first = _first(delivery[WITHOUT], lambda found: found.mean > 0.9)
    ours = f"maxTTL 15: {delivery[WITH][15].text()} with; without: {listed(delivery[WITHOUT])}"
    enough = delivery[WITH][15].mean > 0.9
    return Judgement.of(ours, enough and first is not None and first >= 35, enough, "" if enough else _weights(here))


@CLAIMS.add("SC-6", "traffic stops growing beyond maxTTL 25, at 100 %; without, it is linear (Fig. 5b)", "figure-5")
def _saturation(here: Studies) -> Judgement:
    sent = _along(here["figure-5"], "relayed", "max_hops")
    full = here["figure-5"].at("delivery_ratio", WITH, max_hops=25)
    stops = sent[WITH][50].mean <= 1.02 * sent[WITH][25].mean
    linear = abs(sent[WITHOUT][50].mean / sent[WITHOUT][25].mean / 2 - 1) <= 0.1
    ours = f"with: {listed(sent[WITH], 0)} (delivery at 25: {full.text()}); without: {listed(sent[WITHOUT], 0)}"
    slower = sent[WITH][50].mean < 1.2 * sent[WITH][25].mean
    return Judgement.of(ours, stops and linear and full.mean > EVERYBODY, slower and linear, _weights(here))


@CLAIMS.add("SC-7", "no limit: at most 31 hops, most few; without up to 93 (Fig. 6)", "figure-6")
def _hop_distribution(here: Studies) -> Judgement:
    most = {p: max(here["figure-6"].values("hopcount_max", p)) for p in (WITH, WITHOUT)}
    few = here["figure-6"].at(lambda row: _share(row, "hops_", lambda hops: hops <= 10), WITH)
    ours = f"at most {most[WITH]:.0f} hops with, {most[WITHOUT]:.0f} without; {percent(few)} within 10 hops with"
    short = most[WITH] <= 31 < most[WITHOUT] and few.mean > 0.5
    return Judgement.of(ours, short and abs(most[WITHOUT] - 93) <= 31, short)


@CLAIMS.add(
    "SC-8",
    "at 10,000 s almost half of the nodes hold fewer than 5, 2 % over 30; without, most fewer than 10 (Fig. 7)",
    "figure-7",
)
def _buffers(here: Studies) -> Judgement:
    def held(protocol: str, when: int, fits: Callable[[int], bool]) -> Interval:
        return here["figure-7"].at(lambda row: _share(row, f"held_at_{when}_", fits), protocol)

    few, many = held(WITH, 10_000, lambda n: n < 5), held(WITH, 10_000, lambda n: n > 30)
    lot = held(WITHOUT, 10_000, lambda n: n < 10)
    others = {when: held(WITH, when, lambda n: n < 5) for when in (5000, 20_000)}
    ours = (
        f"with: {percent(few)} of devices hold fewer than 5, {percent(many)} more than 30; without: {percent(lot)} "
        f"fewer than 10; fewer than 5 at 5,000 s {percent(others[5000])}, at 20,000 s {percent(others[20_000])}"
    )
    skewed = few.mean > 0.4 and 0 < many.mean < 0.1
    same = skewed and few.mean < 0.55 and many.mean < 0.05 and lot.mean > 0.6
    return Judgement.of(ours, same, skewed and lot.mean > 0.6)


@CLAIMS.add(
    "SC-9",
    "delivery drops below w_col = 0.5, is alike at 0.5 and 1; traffic does not depend on weights (Fig. 8a, b)",
    "figure-8",
)
def _weights_and_delivery(here: Studies) -> Judgement:
    delivery, sent = (here["figure-8"].only(speed_max=6).along(m, WITH, "w_col") for m in ("delivery_ratio", "relayed"))
    drops = max(delivery[0.0].mean, delivery[0.25].mean) < min(delivery[w].mean for w in (0.5, 0.75, 1.0)) - 0.016
    alike = (
        abs(delivery[0.5].mean - delivery[1.0].mean) <= SAME_DELIVERY
        and abs(sent[0.5].mean - sent[1.0].mean) <= SAME_TRAFFIC
    )
    insensitive = max(s.mean for s in sent.values()) - min(s.mean for s in sent.values()) <= 2 * SAME_TRAFFIC
    ours = f"S = 6, by w_col: {listed(delivery)}; sent {listed(sent, 0)}"
    return Judgement.of(ours, drops and alike and insensitive, drops or (alike and insensitive))


@CLAIMS.add("SC-10", "S = 6 m/s: latency 4,000 s at w_cdc = 0, below 3,000 s at 0.5 (Fig. 8c)", "figure-8")
def _latency(here: Studies) -> Judgement:
    none, half = (here["figure-8"].at("latency_avg", WITH, speed_max=6, w_col=w) for w in (1.0, 0.5))
    ours = f"{none.text(0)} s at w_cdc = 0, {half.text(0)} s at 0.5"
    return Judgement.of(ours, half.mean < 0.8 * none.mean, half.mean < none.mean)


@CLAIMS.add("SC-11", "latency falls with S, and so does the benefit of w_cdc (Fig. 8c)", "figure-8")
def _speed(here: Studies) -> Judgement:
    figure = here["figure-8"]
    along = {w: figure.only(w_col=w).along("latency_avg", WITH, "speed_max") for w in (0.0, 0.25, 0.5, 0.75, 1.0)}
    faster = all(falls(found.values()) for found in along.values())
    gain = {speed: along[1.0][speed].mean - along[0.5][speed].mean for speed in along[1.0]}
    shrinks = all(one > two for one, two in pairwise(gain.values())) and max(gain.values()) > 0
    ours = f"latency (s) by S at w_col = 0.75: {listed(along[0.75], 0)}; gained by w_cdc = 0.5: "
    ours += ", ".join(f"{value:,.0f} s at {speed}" for speed, value in gain.items())
    return Judgement.of(ours, faster and shrinks, faster, "" if shrinks else "no benefit that could shrink: see SC-10")


@CLAIMS.add(
    "SC-12",
    "γ = 3, 7 to 20 interests: traffic 15,000 to 11,000, delivery well above 80 % and rising (Fig. 9)",
    "figure-9",
)
def _interests(here: Studies) -> Judgement:
    delivery, sent = (here["figure-9"].only(copies=3).along(m, WITH, "caves") for m in ("delivery_ratio", "relayed"))
    less = sent[7].mean > sent[20].mean
    same = abs(sent[7].mean - 15_000) <= SAME_TRAFFIC and abs(sent[20].mean - 11_000) <= SAME_TRAFFIC
    high = min(found.mean for found in delivery.values()) > 0.8
    more = delivery[20].mean >= delivery[7].mean - 0.016
    found = here["figure-9"].at(_communities, WITH, caves=20, copies=3)
    ours = f"by caves: {listed(sent, 0)} sent; delivery {listed(delivery)}; {found.text(1)} of 20 caves found"
    return Judgement.of(ours, less and same and high and more, less and high)


@CLAIMS.add(
    "SC-13", "γ = 10: everybody is reached, traffic falls too; without prediction it is constant (Fig. 9)", "figure-9"
)
def _many_replicas(here: Studies) -> Judgement:
    figure = here["figure-9"]
    delivery, sent = (figure.only(copies=10).along(m, WITH, "caves") for m in ("delivery_ratio", "relayed"))
    lot = figure.along("relayed", WITHOUT, "caves")
    everybody = min(found.mean for found in delivery.values()) > EVERYBODY
    less = falls(sent.values()) or sent[20].mean < 0.95 * sent[7].mean
    constant = max(s.mean for s in lot.values()) <= 1.1 * min(s.mean for s in lot.values())
    ours = f"by caves: {listed(delivery)}; sent {listed(sent, 0)}; without {listed(lot, 0)}"
    return Judgement.of(ours, everybody and less and constant, less)


@CLAIMS.add("SC-14", "no limit: full delivery at every density, less traffic with prediction (Fig. 10)", "figure-10")
def _density(here: Studies) -> Judgement:
    delivery = _along(here["figure-10"], "delivery_ratio", "side")
    sent = _along(here["figure-10"], "relayed", "side")
    full = all(found.mean > EVERYBODY for along in delivery.values() for found in along.values())
    less = all(sent[WITH][side].mean < sent[WITHOUT][side].mean for side in sent[WITH])
    ours = "; ".join(f"{name}, by side (m): {listed(delivery[p])}; sent {listed(sent[p], 0)}" for name, p in _NAMES)
    return Judgement.of(ours, full and less, less)


@CLAIMS.add("SC-15", "largest standard deviation over runs: delivery 0.016, traffic 3,212", "figure-3")
def _deviation(here: Studies) -> Judgement:
    figure, spread = here["figure-3"], {}
    for metric in ("delivery_ratio", "relayed"):
        places = [(p, copies) for p in (WITH, WITHOUT) for copies in figure.along(metric, p, "copies")]
        series = [figure.values(metric, p, copies=copies) for p, copies in places]
        spread[metric] = max((stdev(values) for values in series if len(values) > 1), default=float("nan"))
    ours = f"over the runs of Fig. 3: {spread['delivery_ratio']:.3f} and {spread['relayed']:,.0f}"
    steady, cheap = spread["delivery_ratio"] <= 0.016, spread["relayed"] <= SAME_TRAFFIC
    why = "here every run draws a society of its own; what the paper draws anew is not said"
    return Judgement.of(ours, steady and cheap, steady or cheap, why)


@CLAIMS.add("SC-16", "no weights deliver more than 0.25 and 0.75", "figure-8")
def _best_weights(here: Studies) -> Judgement:
    delivery = here["figure-8"].only(speed_max=6).along("delivery_ratio", WITH, "w_col")
    best = max(delivery, key=lambda w: delivery[w].mean)
    ours = f"w_col = 0.75: {delivery[0.75].text()}; best {delivery[best].text()} at {best:g}"
    return Judgement.of(ours, delivery[0.75].mean >= delivery[best].mean - 0.016, False)


@CLAIMS.add("SC-17", "a larger maxTTL instead of γ reaches everybody too (note 4)", "figure-5")
def _hops_for_replicas(here: Studies) -> Judgement:
    delivery = here["figure-5"].along("delivery_ratio", WITH, "max_hops")
    ours = f"γ = 3: {delivery[5].text()} at maxTTL 5, {delivery[50].text()} at 50"
    more = delivery[50].mean > delivery[5].mean
    return Judgement.of(ours, delivery[50].mean > EVERYBODY, more, _weights(here))


def _traces_table(studies: Studies) -> str:
    """Both protocols on the traces that there are."""
    axes, rows = ("copies", "period", "memory", "hysteresis"), []
    for name, title in TRACES.items():
        if name not in studies:
            rows.append([title, "not run" + 8 * " |"])
            continue
        for said, protocol in _NAMES:
            runs = studies[name].only(protocol)
            for place in sorted({tuple(row["place"][axis] for axis in axes) for row in runs.rows}):
                here = runs.only(**dict(zip(axes, place, strict=True)))
                cells = [here.at(metric, protocol).text() for metric in ("delivery_ratio", "reachable_ratio")]
                cells += [here.at("relayed", protocol).text(0), here.at("latency_avg", protocol).text(1, unit=3600)]
                rows.append([title, said, *(f"{value:g}" for value in place), *cells])
    return table(
        "trace and interests | prediction | γ | T (s) | λ | ε | delivery | possible | sent | latency (h)", rows
    )


def _calibration_table(runs: Runs | None) -> str:
    """What the paper leaves out, tried: with 5 copies by mobility, maxTTL and Q/R, and without prediction."""
    if runs is None:
        return "Not run: needs study `calibration`."
    limits = [6, 8, 10, 25, None]
    cases = [(f"with, Q/R = {q:g}", WITH, {"copies": 5, "state_noise": q}) for q in (0.001, 0.01, 0.1, 1.0)]
    cases += [(f"without, γ = {copies}", WITHOUT, {"copies": copies}) for copies in (5, 15)]
    rows = []
    for association, reading in {**READINGS, "frozen": "nobody leaves home"}.items():
        for said, protocol, case in cases:
            cells = []
            for limit in limits:
                here = runs.only(protocol, association=association, max_hops=limit, **case)
                delivery, sent = (here.at(metric, protocol) for metric in ("delivery_ratio", "relayed"))
                cells.append(f"{delivery.text()}; {sent.text(0)}" if delivery.runs else "–")
            rows.append([reading, said, *cells])
    return table("communities | prediction | " + " | ".join(f"maxTTL {limit or 'none'}" for limit in limits), rows)


def _place(row: Row) -> Row:
    """What was set for a run, by name: of the world, the workload and the protocol, the last with all defaults."""
    name = row["name"]
    world = name["contacts"].get("parameters", {})
    place = {**world, **name["workload"], **name["result"]["parameters"]}
    place["association"] = "frozen" if world.get("choice") == "deterministic" else world.get("association", "home")
    place["w_col"] = place.pop("weights")["col"]
    return place


def _along(runs: Runs, metric: str, axis: str) -> dict[str, dict[Any, Interval]]:
    """A metric along an axis, by protocol."""
    return {protocol: runs.along(metric, protocol, axis) for protocol in (WITH, WITHOUT)}


def _weights(here: Studies) -> str:
    """A reason for low delivery that Fig. 8 tests, on the same seeds: other weights deliver more on all of them."""
    if "figure-8" not in here:
        return ""
    usual, other = (here["figure-8"].values("delivery_ratio", WITH, speed_max=6, w_col=w) for w in (0.75, 0.25))
    more = Interval.of(more - less for less, more in zip(usual, other, strict=True))
    if more.mean <= SAME_DELIVERY or any(one > two for one, two in zip(usual, other, strict=True)):
        return ""
    return f"the weights: in Fig. 8, on the same seeds, w_col = 0.25 delivers {more.text()} more than 0.75"


def _first(along: dict[Any, Interval], fits: Callable[[Interval], bool]) -> Any:
    """The first place along an axis that fits, or None."""
    return next((place for place, found in along.items() if fits(found)), None)


def _share(row: Row, counted: str, fits: Callable[[int], bool]) -> float | None:
    """The share of what was observed under ``counted`` and a number that fits."""
    seen = {int(key.removeprefix(counted)): many for key, many in row["observed"].items() if key.startswith(counted)}
    every = sum(seen.values())
    return sum(many for number, many in seen.items() if fits(number)) / every if every else None


def _communities(row: Row) -> float:
    return len(set(row["name"]["result"]["contacts"]["about"]["communities"]))
