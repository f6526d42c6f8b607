"""The figures of social election's paper that a run's summary does not have by itself, and where its runs stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import mean

from hunet.model.run_files import read_runs
from hunet.report.broker_duty import BrokerDuty
from hunet.report.runs import Figure, Row, axes_of, tables_of

ELECTION, RANDOM = "social-election", "random-broker"


def coordinates(row: Row) -> Row:
    """Where a run stands: world, its parameters, and the values of the axes."""
    source = row["name"]["contacts"]
    return {"world": source.get("world"), **source.get("parameters", {}), **axes_of(row)}


def throughput(row: Row) -> float:
    """The matched throughput: the sum of the scores of all deliveries."""
    return float(row["observed"]["score"])


def brokers(row: Row) -> float:
    """The number of brokers, averaged over the time after the first window."""
    return float(row["observed"]["duty"] / row["observed"]["watched"] * row["name"]["result"]["contacts"]["nodes"])


def carriers(row: Row) -> float:
    """How many brokers took a message, on average."""
    return float(row["observed"]["brokered"] / row["created"])


def common_delay(row: Row) -> float | None:
    """The mean delay (s) of what the other protocol, too, delivered to the same people: they deliver different ones."""
    try:
        keys = _beside(row["folder"])[json.dumps(coordinates(row), sort_keys=True), row["seed"]]
        ours, theirs = (_delays(row["folder"] / "tables" / key) for key in (row["key"], *keys - {row["key"]}))
    except (FileNotFoundError, KeyError, ValueError):  # a study that keeps no tables, or has one protocol
        return None
    return mean(ours[pair] for pair in ours.keys() & theirs.keys())


@lru_cache(maxsize=4)
def _beside(folder: Path) -> dict[tuple[str, int], set[str]]:
    """The runs of a study by where they stand and by seed: of both protocols."""
    found: dict[tuple[str, int], set[str]] = {}
    for row in read_runs(folder):
        found.setdefault((json.dumps(coordinates(row), sort_keys=True), row["seed"]), set()).add(row["key"])
    return found


@lru_cache(maxsize=2)
def _delays(tables: Path) -> dict[tuple[str, str], float]:
    """The delay of every delivery, by message and receiver."""
    import pyarrow.parquet as pq

    rows = pq.read_table(tables / "deliveries.parquet", columns=["publication", "node", "delay"]).to_pydict()
    return dict(zip(zip(rows["publication"], rows["node"], strict=True), rows["delay"], strict=True))


def duty(measure: Callable[[BrokerDuty], float | None]) -> Figure:
    """A measure of the roles over time."""
    return lambda row: measure(_roles(tables_of(row)))


@lru_cache(maxsize=64)
def _roles(tables: Path) -> BrokerDuty:
    return BrokerDuty.read(tables)


def saturation(row: Row) -> float | None:
    """The share of decisions at which a device had met too few brokers: near 1, all appoint all."""
    decisions = row["observed"].get("decisions")
    return float(row["observed"]["too_few"] / decisions) if decisions else None


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
def _settling_time(roles: BrokerDuty) -> float | None:
    """When the count, which overshoots, first comes down to its mean of the second half of the run."""
    counts, level = roles.brokers(), _second_half(roles)
    peak = counts.index(max(counts))
    return next((float(second) for second in range(peak, len(counts)) if counts[second] <= level), None)


@duty
def _restlessness(roles: BrokerDuty) -> float:
    """By how much the number of brokers changes in a second."""
    return mean(abs(one - two) for one, two in pairwise(roles.brokers()[500:]))


@duty
def _level(roles: BrokerDuty) -> float:
    """The number of brokers after the start."""
    return mean(roles.brokers()[500:])


FIGURES: dict[str, Figure] = {
    "matched_throughput": throughput,
    "common_delay": common_delay,
    "broker_count": brokers,
    "brokers_per_message": carriers,
    "saturation": saturation,
    "serving_below_half": _below_half,
    "cycles_below_mean": _below_mean,
    "mean_duty_cycle": duty(lambda roles: mean(roles.duty_cycles())),
    "settling_time": _settling_time,
    "broker_changes_per_second": _restlessness,
    "broker_level": _level,
}
"""Fig. 1, section V.A, Fig. 2a, section V.C, Fig. 2c, 2d, section V.D and Fig. 3: columns of summaries and claims."""
