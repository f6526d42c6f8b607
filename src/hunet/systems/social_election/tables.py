"""Social election's tables: choices that the paper leaves open, and real traces."""

from __future__ import annotations

from hunet.model.intervals import Interval
from hunet.report.claims import percent, table
from hunet.report.runs import Metric, Row, Runs
from hunet.systems.social_election.measures import ELECTION, RANDOM, brokers, throughput


def _margin(runs: Runs, metric: Metric) -> Interval:
    """By how much social election is above Random, relative to it; compared repetition by repetition."""
    ours, theirs = (runs.values(metric, protocol) for protocol in (ELECTION, RANDOM))
    return Interval.of(one / two - 1 for one, two in zip(ours, theirs, strict=True) if two)


def choices_table(runs: Runs) -> str:
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


def traces_table(runs: Runs) -> str:
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
