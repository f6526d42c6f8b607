"""Social election's tables: choices that the paper leaves open, and real traces."""

from __future__ import annotations

from hunet.model.intervals import Interval
from hunet.report.claims import percent, table
from hunet.report.runs import Metric, Row, Runs
from hunet.systems.social_election.measures import ELECTION, RANDOM, brokers


def _margin(runs: Runs, metric: Metric) -> Interval:
    """By how much social election is above Random, relative to it; compared repetition by repetition."""
    ours, theirs = (runs.values(metric, protocol) for protocol in (ELECTION, RANDOM))
    return Interval.of(one / two - 1 for one, two in zip(ours, theirs, strict=True) if two)


def margins_table(runs: Runs) -> str:
    """Fig. 1 point by point."""
    points: dict[tuple[str, ...], list[Row]] = {}
    for row in runs.rows:
        at = row["coordinates"]
        point = (at["difference"], at["world"], at["replication"], f"{at['speed_max']:g}")
        points.setdefault(point, []).append(row)
    return table(
        "reading | world | replication | maximum speed (m/s) | social election | Random | margin",
        _beside_random(points),
    )


def _beside_random(points: dict[tuple[str, ...], list[Row]]) -> list[list[str]]:
    """A row for each point: matched throughput of both, and the margin."""
    rows = []
    for chosen, part in points.items():
        here = Runs(part)
        cells = [here.at("matched_throughput", protocol).text(0) for protocol in (ELECTION, RANDOM)]
        rows.append([*chosen, *cells, percent(_margin(here, "matched_throughput"), 1)])
    return rows


def readings_table(runs: Runs) -> str:
    """What the roles depend on where the paper can be read in several ways."""
    points: dict[tuple[str, str, str], list[Row]] = {}
    for row in runs.rows:
        at = row["coordinates"]
        world = at["world"] + (f", pauses up to {at['pause_max']:g} s" if "pause_max" in at else "")
        if at["self_promotion"] or at["ferries"] == "alone":
            ferries = at["ferries"] if at["self_promotion"] else "none"
            points.setdefault((world, at["difference"], ferries), []).append(row)
    metrics = ("broker_count", "serving_below_half", "role_changes")
    rows = [
        [*point, *(Runs(part).at(metric, ELECTION).text(1) for metric in metrics)] for point, part in points.items()
    ]
    return table("world | reading | ferries | brokers | nodes of 100 that serve less than half | role changes", rows)


def choices_table(runs: Runs) -> str:
    """What the throughput depends on where the paper leaves a choice."""
    points: dict[tuple[str, ...], list[Row]] = {}
    for row in runs.rows:
        coordinates = row["coordinates"]
        weights = ", ".join(map(str, coordinates["weights"])) or "one type"
        direct = "yes" if coordinates["direct_delivery"] else "no"
        points.setdefault((str(coordinates["publishers"]), coordinates["replication"], direct, weights), []).append(row)
    return table(
        "publishers of a type | replication | users deliver to users | weights | social election | Random | margin",
        _beside_random(points),
    )


def traces_table(runs: Runs) -> str:
    points: dict[tuple[str, str, str], list[Row]] = {}
    for row in runs.rows:
        points.setdefault((row["contacts"], row["protocol"], str(sorted(row["axes"].items()))), []).append(row)
    rows = []
    for (trace, protocol, _), part in points.items():
        here, coordinates, elects = Runs(part), part[0]["coordinates"], protocol in (ELECTION, RANDOM)
        cells = [
            f"{coordinates['window'] / 3600:g}" if elects else "–",
            coordinates["replication"] if elects else "–",
            here.at(brokers, protocol).text(1) if elects else "–",
            here.at("delivery_ratio", protocol).text(),
            here.at("reachable_ratio", protocol).text(),
            here.at("latency_avg", protocol).text(0, unit=60),
        ]
        rows.append([trace, protocol, *cells])
    return table("trace | protocol | T_w (h) | replication | brokers | delivery | reachable | delay (min)", rows)
