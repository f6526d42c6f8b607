"""Social election's claims, SE-1 to SE-12, against the studies of its figures.

A verdict is a rule on the numbers, and stands in the code beside its claim. A reason is given only where a study of its
own has tested it (study ``readings``); where the cause is not known, the table says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from hunet.model.intervals import Interval
from hunet.report.broker_duty import BrokerDuty
from hunet.report.claims import NOT_KNOWN, Claims, Judgement, falls, percent, rises, table
from hunet.report.runs import Metric, Row, Runs, Studies, axes_of, read_studies, tables_of

ELECTION, RANDOM = "social-election", "random-broker"
WORLDS = {"waypoint": "RWP", "slaw": "SLAW"}
CLAIMS = Claims()


def sections(results: Path) -> dict[str, str]:
    """The tables of claims, choices and real traces, from the studies that were run.

    Claims whose study has no results are "not run".
    """
    studies = read(results)
    found = {"claims": CLAIMS.section(studies)}
    if "workload" in studies:
        found["choices"] = _choices_table(studies["workload"])
    if "traces" in studies:
        found["traces"] = _traces_table(studies["traces"])
    return found


def read(results: Path) -> Studies:
    """The studies that have a complete repetition of all their points."""
    names = sorted({"readings", "traces", "workload", *(name for row in CLAIMS for name in row.studies)})
    studies = read_studies(results, names, _place)
    planned = {name: json.loads((results / name / "study.json").read_text("utf-8"))["points"] for name in studies}
    return {
        name: runs for name, runs in studies.items() if len({row["point"] for row in runs.rows}) == len(planned[name])
    }


def _place(row: Row) -> Row:
    """Where a run stands: world, its parameters, and the values of the axes."""
    source = row["name"]["contacts"]
    return {"world": source.get("world"), **source.get("parameters", {}), **axes_of(row)}


# Metrics --------------------------------------------------------------------------------------------------------------


def throughput(row: Row) -> float:
    """The matched throughput: the sum of the scores of all deliveries."""
    return float(row["observed"]["score"])


def brokers(row: Row) -> float:
    """The number of brokers, averaged over the time after the first window."""
    return float(row["observed"]["duty"] / row["observed"]["watched"] * row["name"]["result"]["contacts"]["nodes"])


def carriers(row: Row) -> float:
    """How many brokers took a message, on average."""
    return float(row["observed"]["brokered"] / row["created"])


def duty(measure: Callable[[BrokerDuty], float]) -> Metric:
    """A measure of the roles over time."""
    return lambda row: measure(_roles(tables_of(row)))


@lru_cache(maxsize=64)
def _roles(tables: Path) -> BrokerDuty:
    return BrokerDuty.read(tables)


@duty
def _below_half(roles: BrokerDuty) -> float:
    """How many of 100 nodes serve less than half of the run."""
    begin, end = roles.span
    return sum(100 / roles.nodes for time in roles.duty_times() if time < (end - begin) / 2)


@duty
def _below_mean(roles: BrokerDuty) -> float:
    """How many of 100 nodes have duty cycles that are shorter than the mean."""
    cycles = roles.duty_cycles()
    return 100 * mean(cycle < mean(cycles) for cycle in cycles)


def _second_half(roles: BrokerDuty) -> float:
    counts = roles.brokers()
    return mean(counts[len(counts) // 2 :])


@duty
def _settling_time(roles: BrokerDuty) -> float:
    """When the count, which overshoots, first comes down to its mean of the second half of the run."""
    counts, level = roles.brokers(), _second_half(roles)
    peak = counts.index(max(counts))
    return float(next(second for second in range(peak, len(counts)) if counts[second] <= level))


@duty
def _restlessness(roles: BrokerDuty) -> float:
    """By how much the number of brokers changes in a second."""
    return mean(abs(one - two) for one, two in pairwise(roles.brokers()[500:]))


def _margin(runs: Runs, metric: Metric) -> Interval:
    """By how much social election is above Random, relative to it; compared repetition by repetition."""
    ours, theirs = (runs.values(metric, protocol) for protocol in (ELECTION, RANDOM))
    return Interval.of(one / two - 1 for one, two in zip(ours, theirs, strict=True) if two)


# Fig. 1 ------------------------------------------------------------------------------------------------------------


def _panels(runs: Runs) -> dict[tuple[str, str], dict[Any, Runs]]:
    """The panels of Fig. 1: world and replication, then speed."""
    return {
        (world, replication): runs.only(world=world, replication=replication).by("speed_max")
        for world in WORLDS
        for replication in ("naive", "delegation")
    }


@CLAIMS.add(
    "SE-1", "matched throughput above Random, RWP and SLAW, both replications, 5 to 50 m/s (Fig. 1)", "figure-1"
)
def _beats_random(studies: Studies) -> Judgement:
    """In part it holds at more than half of the points, or in one of the figure's panels at every speed."""
    parts, above, sure, points, below, whole_panel = [], 0, 0, 0, [], False
    for (world, replication), panel in _panels(studies["figure-1"]).items():
        name = f"{WORLDS[world]}, {replication}"
        margins = {speed: _margin(part, throughput) for speed, part in panel.items()}
        points += len(margins)
        sure += sum(margin.half is not None and margin.mean > margin.half for margin in margins.values())
        low = [speed for speed, margin in margins.items() if margin.mean <= 0]
        above += len(margins) - len(low)
        whole_panel |= not low
        if low:
            where = "at every speed" if len(low) == len(margins) else f"at {', '.join(map(str, low))} m/s"
            below.append(f"{name}: {where}")
        span = [margin.mean for margin in margins.values()]
        parts.append(f"{name}: {min(span):+.1%} to {max(span):+.1%}")
    ours = f"above Random at {above} of {points} points, beyond chance at {sure}; {'; '.join(parts)}"
    why = f"not above with {'; '.join(below)}; {NOT_KNOWN}"
    return Judgement.of(ours, not below, whole_panel or above > points / 2, why)


@CLAIMS.add("SE-2", "throughput rises with speed (Fig. 1)", "figure-1")
def _rises_with_speed(studies: Studies) -> Judgement:
    parts, steady, rising = [], True, True
    for (world, replication), panel in _panels(studies["figure-1"]).items():
        curve = [part.at(throughput, ELECTION) for part in panel.values()]
        steady &= all(one.mean <= two.mean for one, two in pairwise(curve))
        rising &= curve[0].mean < curve[-1].mean
        slow, fast = curve[0].text(0), curve[-1].text(0)
        parts.append(f"{WORLDS[world]}, {replication}: {slow} at {min(panel)} m/s, {fast} at {max(panel)} m/s")
    return Judgement.of("; ".join(parts), steady, rising, f"it does not rise at every step; {NOT_KNOWN}")


@CLAIMS.add(
    "SE-3", "the margin is larger under SLAW than RWP, and larger in less dynamic mobility (section V.B)", "figure-1"
)
def _margins_compared(studies: Studies) -> Judgement:
    margin = {
        key: {speed: _margin(part, throughput).mean for speed, part in panel.items()}
        for key, panel in _panels(studies["figure-1"]).items()
    }
    by_world = {
        world: mean(value for key, panel in margin.items() if key[0] == world for value in panel.values())
        for world in WORLDS
    }
    speeds = sorted(margin["slaw", "naive"])
    calm, wild = speeds[: len(speeds) // 2], speeds[-(len(speeds) // 2) :]
    slow, fast = (mean(panel[speed] for panel in margin.values() for speed in part) for part in (calm, wild))
    larger, calmer = by_world["slaw"] > by_world["waypoint"], slow > fast
    ours = (
        f"margin {by_world['waypoint']:+.1%} under RWP, {by_world['slaw']:+.1%} under SLAW; "
        f"{slow:+.1%} at {', '.join(map(str, calm))} m/s, {fast:+.1%} at {', '.join(map(str, wild))} m/s"
    )
    missing = [] if larger else ["the margin is not larger under SLAW"]
    missing += [] if calmer else ["it grows with speed"]
    return Judgement.of_all(ours, [larger, calmer], f"{'; '.join(missing)}; {NOT_KNOWN}")


@CLAIMS.add("SE-4", "delays of the two are similar (section V.A)", "figure-1")
def _similar_delays(studies: Studies) -> Judgement:
    apart = [
        _margin(part, "latency_avg").mean for panel in _panels(studies["figure-1"]).values() for part in panel.values()
    ]
    ours = f"social election's mean delay is between {min(apart):+.0%} and {max(apart):+.0%} of Random's"
    most = max(abs(value) for value in apart)
    return Judgement.of(ours, most <= 0.1, most <= 0.25, f"the paper gives no numbers; {NOT_KNOWN}")


# Fig. 2 ------------------------------------------------------------------------------------------------------------


@CLAIMS.add("SE-5", "brokers fall with speed (Fig. 2a)", "figure-2-speed")
def _fewer_brokers_with_speed(studies: Studies) -> Judgement:
    parts, falling = [], []
    for world, name in WORLDS.items():
        curve = studies["figure-2-speed"].only(world=world).along(brokers, ELECTION, "speed_max")
        falling.append(falls(curve.values()))
        parts.append(f"{name}: " + ", ".join(f"{found.text(1)} at {speed}" for speed, found in curve.items()) + " m/s")
    return Judgement.of_all("; ".join(parts), falling)


@CLAIMS.add("SE-6", "larger thresholds make more brokers, windows 100 to 500 s (Fig. 2b)", "figure-2-threshold")
def _more_brokers_with_threshold(studies: Studies) -> Judgement:
    parts, rising = [], []
    for window, part in studies["figure-2-threshold"].by("window").items():
        curve = part.along(brokers, ELECTION, "lower_bound")
        rising.append(rises(curve.values()))
        low, high = min(curve), max(curve)
        parts.append(f"{window} s: {curve[low].text(1)} at {low}, {curve[high].text(1)} at {high}")
    return Judgement.of_all("; ".join(parts), rising)


@CLAIMS.add("SE-7", "80 of 100 nodes serve less than half the run (Fig. 2c)", "figure-2-speed")
def _duty_time(studies: Studies) -> Judgement:
    runs = studies["figure-2-speed"].only(speed_max=10)
    found = {name: runs.at(_below_half, ELECTION, world=world) for world, name in WORLDS.items()}
    ours = "; ".join(f"{name}: {below.text(1)} of 100" for name, below in found.items())
    nearest = min(abs(below.mean - 80) for below in found.values())
    exact = any(abs(below.mean - 80) <= max(2.0, below.half or 0.0) for below in found.values())
    why = "" if exact else f"which mobility the figure is for is not said; {_other_readings(studies)}"
    return Judgement.of(ours, exact, nearest <= 10, why)


def _other_readings(studies: Studies) -> str:
    """The same under the other readings of the popularity difference, which were tested."""
    if "readings" not in studies:
        return NOT_KNOWN
    parts = [
        f"{reading}{' with ferries' if ferries else ''} {below.text(1)}"
        for reading, part in studies["readings"].only(world="waypoint").by("difference").items()
        for ferries, below in part.along(_below_half, ELECTION, "self_promotion").items()
    ]
    return f"by reading of the popularity difference, RWP: {', '.join(parts)}"


@CLAIMS.add("SE-8", "most nodes have comparatively short duty cycles (Fig. 2d)", "figure-2-speed")
def _duty_cycles(studies: Studies) -> Judgement:
    parts, most = [], []
    for world, name in WORLDS.items():
        runs = studies["figure-2-speed"].only(world=world, speed_max=10)
        average = runs.at(duty(lambda roles: mean(roles.duty_cycles())), ELECTION).text(0)
        longest = runs.at(duty(lambda roles: roles.duty_cycles()[-1]), ELECTION).text(0)
        share = runs.at(_below_mean, ELECTION)
        parts.append(f"{name}: {average} s on average, at most {longest} s; {share.text(0)} % of the nodes below")
        most.append(share.mean - (share.half or 0.0) > 50)
    why = "against the run of 3,000 s the cycles of all nodes are short, not those of most only"
    return Judgement.of_all("; ".join(parts), most, why)


# Fig. 3 and the rest -----------------------------------------------------------------------------------------------


@CLAIMS.add(
    "SE-9",
    "the further apart the bounds, the smoother the number of brokers; its average depends on it too (Fig. 3)",
    "figure-3",
)
def _smoother_with_distance(studies: Studies) -> Judgement:
    plain = studies["figure-3"].only(adaptive_start=False)
    steps = plain.along(_restlessness, ELECTION, "upper_bound")
    level = plain.along(duty(lambda roles: mean(roles.brokers()[500:])), ELECTION, "upper_bound")
    ours = "; ".join(
        f"upper bound {bound}: {level[bound].text(1)} brokers, changing by {steps[bound].text(3)} a second"
        for bound in sorted(steps, reverse=True)
    )
    depends = all(abs(a.mean - b.mean) > (a.half or 0.0) + (b.half or 0.0) for a, b in pairwise(level.values()))
    return Judgement.of_all(ours, [falls(steps.values()), depends])


@CLAIMS.add("SE-10", "convergence is fast and takes a time proportional to T_w (section V.D)", "figure-2-threshold")
def _quick_convergence(studies: Studies) -> Judgement:
    times = studies["figure-2-threshold"].only(lower_bound=3).along(_settling_time, ELECTION, "window")
    windows = [found.mean / window for window, found in times.items()]
    ours = ", ".join(f"{found.text(0)} s with T_w = {window} s" for window, found in times.items())
    ours += f": {min(windows):.1f} to {max(windows):.1f} windows"
    ours += f". {_adaptive_start(studies['figure-3'])}" if "figure-3" in studies else ""
    return Judgement.of_all(ours, [max(windows) <= 1.5 * min(windows), max(windows) <= 3])


def _adaptive_start(runs: Runs) -> str:
    """What section V.D suggests, and does not show."""
    parts = []
    for bound, part in sorted(runs.by("upper_bound").items(), reverse=True):
        peak, late = (
            [part.at(duty(measure), ELECTION, adaptive_start=on) for on in (False, True)]
            for measure in (lambda roles: max(roles.brokers()), _second_half)
        )
        parts.append(
            f"upper bound {bound}: peak {peak[1].text(0)} instead of {peak[0].text(0)}, "
            f"second half {late[1].text(1)} instead of {late[0].text(1)}"
        )
    return f"With bounds that grow (V.D, Fig. 3): {'; '.join(parts)}"


@CLAIMS.add("SE-11", "the switching probability has no noticeable effect (section IV.A.1)", "switching")
def _switching(studies: Studies) -> Judgement:
    count, score = (studies["switching"].along(metric, ELECTION, "switching") for metric in (brokers, throughput))
    ours = "; ".join(f"{chance}: {count[chance].text(1)} brokers, {score[chance].text(0)}" for chance in score)
    means = [found.mean for found in score.values()]
    spread = (max(means) - min(means)) / mean(means)
    return Judgement.of(f"{ours}; throughput varies by {spread:.1%}", spread <= 0.05, spread <= 0.15)


@CLAIMS.add("SE-12", "with delegation fewer brokers take part than with naive replication (V.C)", "figure-1")
def _fewer_take_part(studies: Studies) -> Judgement:
    parts, fewer = [], []
    for world, name in WORLDS.items():
        curves = {
            replication: [part.at(carriers, ELECTION).mean for part in panel.values()]
            for (place, replication), panel in _panels(studies["figure-1"]).items()
            if place == world
        }
        fewer += [less < more for less, more in zip(curves["delegation"], curves["naive"], strict=True)]
        less, more = (f"{min(curve):.1f} to {max(curve):.1f}" for curve in (curves["delegation"], curves["naive"]))
        parts.append(f"{name}: a message is taken by {less} brokers instead of {more}")
    return Judgement.of_all("; ".join(parts), fewer)


# Tables ---------------------------------------------------------------------------------------------------------------


def _choices_table(runs: Runs) -> str:
    points: dict[tuple[str, str, str], list[Row]] = {}
    for row in runs.rows:
        place = row["place"]
        weights = ", ".join(map(str, place["weights"])) or "one type"
        chosen = (str(place["publishers"]), "yes" if place["direct_delivery"] else "no", weights)
        points.setdefault(chosen, []).append(row)
    rows = []
    for chosen, part in points.items():
        here = Runs(part)
        cells = [here.at(throughput, protocol).text(0) for protocol in (ELECTION, RANDOM)]
        rows.append([*chosen, *cells, percent(_margin(here, throughput), 1)])
    return table("publishers of a type | users deliver to users | weights | social election | Random | margin", rows)


def _traces_table(runs: Runs) -> str:
    points: dict[tuple[str, str, str], list[Row]] = {}
    for row in runs.rows:
        points.setdefault((row["contacts"], row["protocol"], str(sorted(row["axes"].items()))), []).append(row)
    rows = []
    for (trace, protocol, _), part in points.items():
        here, place, elects = Runs(part), part[0]["place"], protocol in (ELECTION, RANDOM)
        cells = [
            f"{place['window'] / 3600:g}" if elects else "–",
            place["replication"] if elects else "–",
            here.at(brokers, protocol).text(1) if elects else "–",
            here.at("delivery_ratio", protocol).text(),
            here.at("reachable_ratio", protocol).text(),
            here.at("latency_avg", protocol).text(0, unit=60),
        ]
        rows.append([trace, protocol, *cells])
    return table("trace | protocol | T_w (h) | replication | brokers | delivery | reachable | delay (min)", rows)
