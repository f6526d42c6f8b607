"""Social election's claims, SE-1 to SE-12, against the studies of its figures.

A verdict is a rule on the numbers, and stands in the code beside its claim. A reason is given only where a study of its
own has tested it (study ``readings``); where the cause is not known, the table says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from hunet.model.intervals import Interval
from hunet.report.broker_duty import BrokerDuty
from hunet.report.claims import Claim, Verdict, claims_table, verdict_of
from hunet.report.runs import Runs, has_runs

ELECTION, RANDOM = "social-election", "random-broker"
WORLDS = {"waypoint": "RWP", "slaw": "SLAW"}
NOT_KNOWN = "the cause is not known"


def sections(results: Path) -> dict[str, str]:
    """The tables of claims, choices and real traces, from the studies that were run.

    Claims whose study has no results are "not run".
    """
    names = sorted({"readings", "traces", "workload", *(row.study for row in _CLAIMS)})
    studies = {name: _Study.read(results / name) for name in names}
    done = [f"`{name}` {study.runs.repetitions}" for name, study in studies.items() if study]
    many = f"Repetitions: {', '.join(done) or 'none yet'}. Mean ± half of the 95 % confidence interval."
    found = {"claims": f"{claims_table(social_election_claims(results))}\n\n{many}"}
    for name, section, table in (("workload", "choices", _choices_table), ("traces", "traces", _traces_table)):
        study = studies[name]
        if study:
            found[section] = table(study)
    return found


def social_election_claims(results: Path) -> list[Claim]:
    """All claims, judged by the studies whose results are in the folder."""
    claims = []
    for row in _CLAIMS:
        study = _Study.read(results / row.study)
        if study:
            claims.append(Claim(row.id, row.paper, *row.judge(study)))
        else:
            claims.append(Claim(row.id, row.paper, f"study `{row.study}`", "not run"))
    return claims


class _Judgement(NamedTuple):
    ours: str
    verdict: Verdict
    why: str = ""


class _Study:
    """A study's runs, by world and speed, with the roles over time where they were kept."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self.runs, self.folder = runs, folder

    @classmethod
    def read(cls, folder: Path) -> _Study | None:
        """The results of a study, or None where there is no complete repetition of all its points yet."""
        if not has_runs(folder):
            return None
        runs, planned = Runs.read(folder), json.loads((folder / "study.json").read_text("utf-8"))["points"]
        return cls(runs, folder) if len({row["point"] for row in runs.rows}) == len(planned) else None

    def at(self, **place: Any) -> _Study:
        """The part of the study in a world, at a speed, or with some value of a parameter."""
        return _Study(Runs(row for row in self.runs.rows if place.items() <= _place(row).items()), self.folder)

    def along(self, axis: str) -> dict[Any, _Study]:
        """The parts of the study along an axis, in order."""
        values = {_place(row)[axis] for row in self.runs.rows if axis in _place(row)}
        return {value: self.at(**{axis: value}) for value in sorted(values)}

    def mean(self, metric: Any, protocol: str = ELECTION) -> Interval:
        return self.runs.at(metric, protocol)

    def duty(self, measure: Callable[[BrokerDuty], float]) -> Interval:
        """A measure of the roles over time, over the repetitions."""
        return Interval.of([measure(self._duties[row["key"]]) for row in self.runs.rows])

    def margin(self, metric: Any) -> Interval:
        """By how much social election is above Random, relative to it; compared repetition by repetition."""
        ours, theirs = (self.runs.values(metric, protocol) for protocol in (ELECTION, RANDOM))
        return Interval.of([one / two - 1 for one, two in zip(ours, theirs, strict=True) if two])

    @cached_property
    def _duties(self) -> dict[str, BrokerDuty]:
        return {row["key"]: BrokerDuty.read(self.folder / "tables" / row["key"]) for row in self.runs.rows}


def _place(row: dict[str, Any]) -> dict[str, Any]:
    """Where a run stands: world, its parameters, and the values of the axes by the last part of their names."""
    source = row["name"]["contacts"]
    axes = {name.rpartition(".")[2]: value for name, value in row["axes"].items()}
    return {"world": source.get("world"), **source.get("parameters", {}), **axes}


def throughput(row: dict[str, Any]) -> float:
    """The matched throughput: the sum of the scores of all deliveries."""
    return float(row["observed"]["score"])


def brokers(row: dict[str, Any]) -> float:
    """The number of brokers, averaged over the time after the first window."""
    return float(row["observed"]["duty"] / row["observed"]["watched"] * row["name"]["result"]["contacts"]["nodes"])


def carriers(row: dict[str, Any]) -> float:
    """How many brokers took a message, on average."""
    return float(row["observed"]["brokered"] / row["created"])


# Fig. 1 ------------------------------------------------------------------------------------------------------------


def _panels(study: _Study) -> dict[tuple[str, str], dict[Any, _Study]]:
    """The panels of Fig. 1: world and replication, then speed."""
    return {
        (world, replication): study.at(world=world, replication=replication).along("speed_max")
        for world in WORLDS
        for replication in ("naive", "delegation")
    }


def _beats_random(study: _Study) -> _Judgement:
    """In part it holds at more than half of the points, or in one of the figure's panels at every speed."""
    parts, above, sure, points, below, whole_panel = [], 0, 0, 0, [], False
    for (world, replication), panel in _panels(study).items():
        name = f"{WORLDS[world]}, {replication}"
        margins = {speed: part.margin(throughput) for speed, part in panel.items()}
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
    why = f"not above with {'; '.join(below)}; {NOT_KNOWN}" if below else ""
    return _Judgement(ours, verdict_of(not below, whole_panel or above > points / 2), why)


def _rises_with_speed(study: _Study) -> _Judgement:
    parts, steady, rising = [], True, True
    for (world, replication), panel in _panels(study).items():
        curve = [part.mean(throughput) for part in panel.values()]
        steady &= all(one.mean <= two.mean for one, two in pairwise(curve))
        rising &= curve[0].mean < curve[-1].mean
        slow, fast = curve[0].text(0), curve[-1].text(0)
        parts.append(f"{WORLDS[world]}, {replication}: {slow} at {min(panel)} m/s, {fast} at {max(panel)} m/s")
    why = "" if steady else f"it does not rise at every step; {NOT_KNOWN}"
    return _Judgement("; ".join(parts), verdict_of(steady, rising), why)


def _margins_compared(study: _Study) -> _Judgement:
    margin = {
        key: {speed: part.margin(throughput).mean for speed, part in panel.items()}
        for key, panel in _panels(study).items()
    }
    by_world = {
        world: mean(value for key, panel in margin.items() if key[0] == world for value in panel.values())
        for world in WORLDS
    }
    speeds = sorted(margin["slaw", "naive"])
    half = len(speeds) // 2
    slow, fast = (
        mean(panel[speed] for panel in margin.values() for speed in part)
        for part in (speeds[:half], speeds[len(speeds) - half :])
    )
    larger, calmer = by_world["slaw"] > by_world["waypoint"], slow > fast
    ours = (
        f"margin {by_world['waypoint']:+.1%} under RWP, {by_world['slaw']:+.1%} under SLAW; "
        f"{slow:+.1%} at {_list(speeds[:half])} m/s, {fast:+.1%} at {_list(speeds[len(speeds) - half :])} m/s"
    )
    missing = [] if larger else ["the margin is not larger under SLAW"]
    missing += [] if calmer else ["it grows with speed"]
    why = f"{'; '.join(missing)}; {NOT_KNOWN}" if missing else ""
    return _Judgement(ours, verdict_of(larger and calmer, larger or calmer), why)


def _similar_delays(study: _Study) -> _Judgement:
    apart = [part.margin("latency_avg").mean for panel in _panels(study).values() for part in panel.values()]
    ours = f"social election's mean delay is between {min(apart):+.0%} and {max(apart):+.0%} of Random's"
    most = max(abs(value) for value in apart)
    why = "" if most <= 0.1 else f"the paper gives no numbers; {NOT_KNOWN}"
    return _Judgement(ours, verdict_of(most <= 0.1, most <= 0.25), why)


def _fewer_take_part(study: _Study) -> _Judgement:
    parts, fewer = [], []
    for world, name in WORLDS.items():
        curves = {
            replication: [part.mean(carriers).mean for part in panel.values()]
            for (place, replication), panel in _panels(study).items()
            if place == world
        }
        fewer += [less < more for less, more in zip(curves["delegation"], curves["naive"], strict=True)]
        less, more = (f"{min(curve):.1f} to {max(curve):.1f}" for curve in (curves["delegation"], curves["naive"]))
        parts.append(f"{name}: a message is taken by {less} brokers instead of {more}")
    return _Judgement("; ".join(parts), verdict_of(all(fewer), any(fewer)))


# Fig. 2 ------------------------------------------------------------------------------------------------------------


def _fewer_brokers_with_speed(study: _Study) -> _Judgement:
    parts, falling = [], []
    for world, name in WORLDS.items():
        curve = {speed: part.mean(brokers) for speed, part in study.at(world=world).along("speed_max").items()}
        falling.append(all(one.mean > two.mean for one, two in pairwise(curve.values())))
        parts.append(f"{name}: " + ", ".join(f"{found.text(1)} at {speed}" for speed, found in curve.items()) + " m/s")
    return _Judgement("; ".join(parts), verdict_of(all(falling), any(falling)))


def _more_brokers_with_threshold(study: _Study) -> _Judgement:
    parts, rising = [], []
    for window, part in study.along("window").items():
        curve = {bound: at.mean(brokers) for bound, at in part.along("lower_bound").items()}
        rising.append(all(one.mean < two.mean for one, two in pairwise(curve.values())))
        low, high = min(curve), max(curve)
        parts.append(f"{window} s: {curve[low].text(1)} at {low}, {curve[high].text(1)} at {high}")
    return _Judgement("; ".join(parts), verdict_of(all(rising), any(rising)))


def _below_half(duty: BrokerDuty) -> float:
    begin, end = duty.span
    return sum(100 / duty.nodes for time in duty.duty_times() if time < (end - begin) / 2)


def _duty_time(study: _Study) -> _Judgement:
    found = {name: study.at(world=world, speed_max=10).duty(_below_half) for world, name in WORLDS.items()}
    ours = "; ".join(f"{name}: {below.text(1)} of 100" for name, below in found.items())
    nearest = min(abs(below.mean - 80) for below in found.values())
    exact = any(abs(below.mean - 80) <= max(2.0, below.half or 0.0) for below in found.values())
    why = "" if exact else f"which mobility the figure is for is not said; {_other_readings(study.folder.parent)}"
    return _Judgement(ours, verdict_of(exact, nearest <= 10), why)


def _other_readings(results: Path) -> str:
    """The same under the other readings of the popularity difference, which were tested."""
    study = _Study.read(results / "readings")
    if study is None:
        return NOT_KNOWN
    parts = [
        f"{reading}{' with ferries' if ferries else ''} {at.duty(_below_half).text(1)}"
        for reading, part in study.at(world="waypoint").along("difference").items()
        for ferries, at in part.along("self_promotion").items()
    ]
    return f"by reading of the popularity difference, RWP: {', '.join(parts)}"


def _duty_cycles(study: _Study) -> _Judgement:
    def below_mean(duty: BrokerDuty) -> float:
        cycles = duty.duty_cycles()
        return 100 * mean(cycle < mean(cycles) for cycle in cycles)

    parts, shares = [], []
    for world, name in WORLDS.items():
        part = study.at(world=world, speed_max=10)
        shares.append(part.duty(below_mean))
        average, longest = (
            part.duty(measure).text(0) for measure in (lambda d: mean(d.duty_cycles()), lambda d: d.duty_cycles()[-1])
        )
        parts.append(f"{name}: {average} s on average, at most {longest} s; {shares[-1].text(0)} % of the nodes below")
    most = [share.mean - (share.half or 0.0) > 50 for share in shares]
    why = "" if all(most) else "against the run of 3,000 s the cycles of all nodes are short, not those of most only"
    return _Judgement("; ".join(parts), verdict_of(all(most), any(most)), why)


# Fig. 3 and the rest -----------------------------------------------------------------------------------------------


def _second_half(duty: BrokerDuty) -> float:
    counts = duty.brokers()
    return mean(counts[len(counts) // 2 :])


def _settling_time(duty: BrokerDuty) -> float:
    """When the count, which overshoots, first comes down to its mean of the second half of the run."""
    counts, level = duty.brokers(), _second_half(duty)
    peak = counts.index(max(counts))
    return float(next(second for second in range(peak, len(counts)) if counts[second] <= level))


def _smoother_with_distance(study: _Study) -> _Judgement:
    def restlessness(duty: BrokerDuty) -> float:
        return mean(abs(one - two) for one, two in pairwise(duty.brokers()[500:]))

    plain = study.at(adaptive_start=False).along("upper_bound")
    steps = {bound: part.duty(restlessness) for bound, part in plain.items()}
    level = {bound: part.duty(lambda duty: mean(duty.brokers()[500:])) for bound, part in plain.items()}
    ours = "; ".join(
        f"upper bound {bound}: {level[bound].text(1)} brokers, changing by {steps[bound].text(3)} a second"
        for bound in sorted(plain, reverse=True)
    )
    smoother = all(one.mean > two.mean for one, two in pairwise(steps.values()))
    depends = all(abs(a.mean - b.mean) > (a.half or 0.0) + (b.half or 0.0) for a, b in pairwise(level.values()))
    return _Judgement(ours, verdict_of(smoother and depends, smoother or depends))


def _quick_convergence(study: _Study) -> _Judgement:
    times = {window: part.duty(_settling_time) for window, part in study.at(lower_bound=3).along("window").items()}
    windows = [found.mean / window for window, found in times.items()]
    ours = ", ".join(f"{found.text(0)} s with T_w = {window} s" for window, found in times.items())
    ours += f": {min(windows):.1f} to {max(windows):.1f} windows"
    proportional, quick = max(windows) <= 1.5 * min(windows), max(windows) <= 3
    adaptive = _Study.read(study.folder.parent / "figure-3")
    ours += f". {_adaptive_start(adaptive)}" if adaptive else ""
    return _Judgement(ours, verdict_of(proportional and quick, proportional or quick))


def _adaptive_start(study: _Study) -> str:
    """What section V.D suggests, and does not show."""
    parts = []
    for bound, part in sorted(study.along("upper_bound").items(), reverse=True):
        peak = [part.at(adaptive_start=on).duty(lambda duty: max(duty.brokers())) for on in (False, True)]
        late = [part.at(adaptive_start=on).duty(_second_half) for on in (False, True)]
        parts.append(
            f"upper bound {bound}: peak {peak[1].text(0)} instead of {peak[0].text(0)}, "
            f"second half {late[1].text(1)} instead of {late[0].text(1)}"
        )
    return f"With bounds that grow (V.D, Fig. 3): {'; '.join(parts)}"


def _switching(study: _Study) -> _Judgement:
    parts = study.along("switching")
    found = {chance: (part.mean(brokers), part.mean(throughput)) for chance, part in parts.items()}
    ours = "; ".join(f"{chance}: {count.text(1)} brokers, {sum_.text(0)}" for chance, (count, sum_) in found.items())
    means = [sum_.mean for _, sum_ in found.values()]
    spread = (max(means) - min(means)) / mean(means)
    return _Judgement(f"{ours}; throughput varies by {spread:.1%}", verdict_of(spread <= 0.05, spread <= 0.15))


class _Row(NamedTuple):
    id: str
    paper: str
    study: str
    judge: Callable[[_Study], _Judgement]


_CLAIMS = (
    _Row(
        "SE-1",
        "matched throughput above Random, RWP and SLAW, both replications, 5 to 50 m/s (Fig. 1)",
        "figure-1",
        _beats_random,
    ),
    _Row("SE-2", "throughput rises with speed (Fig. 1)", "figure-1", _rises_with_speed),
    _Row(
        "SE-3",
        "the margin is larger under SLAW than RWP, and larger in less dynamic mobility (section V.B)",
        "figure-1",
        _margins_compared,
    ),
    _Row("SE-4", "delays of the two are similar (section V.A)", "figure-1", _similar_delays),
    _Row("SE-5", "brokers fall with speed (Fig. 2a)", "figure-2-speed", _fewer_brokers_with_speed),
    _Row(
        "SE-6",
        "larger thresholds make more brokers, windows 100 to 500 s (Fig. 2b)",
        "figure-2-threshold",
        _more_brokers_with_threshold,
    ),
    _Row("SE-7", "80 of 100 nodes serve less than half the run (Fig. 2c)", "figure-2-speed", _duty_time),
    _Row("SE-8", "most nodes have comparatively short duty cycles (Fig. 2d)", "figure-2-speed", _duty_cycles),
    _Row(
        "SE-9",
        "the further apart the bounds, the smoother the number of brokers; its average depends on it too (Fig. 3)",
        "figure-3",
        _smoother_with_distance,
    ),
    _Row(
        "SE-10",
        "convergence is fast and takes a time proportional to T_w (section V.D)",
        "figure-2-threshold",
        _quick_convergence,
    ),
    _Row("SE-11", "the switching probability has no noticeable effect (section IV.A.1)", "switching", _switching),
    _Row(
        "SE-12",
        "with delegation fewer brokers take part than with naive replication (V.C)",
        "figure-1",
        _fewer_take_part,
    ),
)


def _choices_table(study: _Study) -> str:
    lines = [
        "| publishers of a type | users deliver to users | weights | social election | Random | margin |",
        "|---|---|---|---|---|---|",
    ]
    points: dict[str, list[dict[str, Any]]] = {}
    for row in study.runs.rows:
        place = _place(row)
        weights = ", ".join(map(str, place["weights"])) or "one type"
        chosen = f"{place['publishers']} | {'yes' if place['direct_delivery'] else 'no'} | {weights}"
        points.setdefault(chosen, []).append(row)
    for chosen, rows in points.items():
        part = _Study(Runs(rows), study.folder)
        cells = [part.mean(throughput, protocol).text(0) for protocol in (ELECTION, RANDOM)]
        lines.append(f"| {chosen} | {' | '.join(cells)} | {part.margin(throughput).text(1, unit=0.01)} % |")
    return "\n".join(lines)


def _traces_table(study: _Study) -> str:
    lines = [
        "| trace | protocol | T_w (h) | replication | brokers | delivery | reachable | delay (min) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    points: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in study.runs.rows:
        points.setdefault((row["contacts"], row["protocol"], str(sorted(row["axes"].items()))), []).append(row)
    for (trace, protocol, _), rows in points.items():
        place = _place(rows[0])
        elects = protocol in (ELECTION, RANDOM)
        runs = Runs(rows)
        cells = [
            f"{place['window'] / 3600:g}" if elects else "–",
            place["replication"] if elects else "–",
            runs.at(brokers, protocol).text(1) if elects else "–",
            runs.at("delivery_ratio", protocol).text(),
            runs.at("reachable_ratio", protocol).text(),
            runs.at("latency_avg", protocol).text(0, unit=60),
        ]
        lines.append(f"| {trace} | {protocol} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _list(values: list[Any]) -> str:
    return ", ".join(map(str, values))
