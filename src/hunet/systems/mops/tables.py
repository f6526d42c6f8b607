"""MOPS's tables: Fig. 8 to 11 in numbers, contacts as recorded, fewer brokers, and learning again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from hunet.report.claims import table
from hunet.report.runs import Metric, Row, Runs, Studies
from hunet.systems.mops.measures import BROKER_COUNT, COMMUNITIES, LISTS, observed, product_of_both

MOPS, NEIGHBORS, PUSH, PULL = "mops", "k-nearest", "push", "pull"
SCHEMES = (PUSH, MOPS, NEIGHBORS, PULL)
DAY = 86_400

COLUMNS: dict[str, tuple[Metric, int, float]] = {
    "communities": (COMMUNITIES, 1, 1),
    "brokers": (BROKER_COUNT, 1, 1),
    "utility": ("utility", 3, 1),
    "efficiency": ("efficiency", 3, 1),
    "utility times efficiency": (product_of_both, 3, 1),
    "forwardings": ("relayed", 0, 1),
    "list forwardings": (LISTS, 0, 1),
    "delay (h)": ("latency_avg", 2, 3600),
    "hello messages (MB)": (observed("hello_bytes"), 1, 1e6),
    "role changes": ("role_changes", 0, 1),
}
"""Metric, digits and unit by heading."""


def _mops_table(labels: str, columns: str, points: Iterable[tuple[list[str], Runs]]) -> str:
    """Results of MOPS at some points of the studies, each with its labels."""
    shown = [COLUMNS[name] for name in columns.split(" | ")]
    rows = [
        [*named, *(runs.at(metric, MOPS).text(digits, unit) for metric, digits, unit in shown)]
        for named, runs in points
    ]
    return table(f"{labels} | {columns}", rows)


def figure_table(runs: Runs, axis: str, name: Callable[[Any], str]) -> str:
    values = runs.only(MOPS).by(axis)
    rows = [
        [f"{metric}, {scheme}", *(runs.at(metric, scheme, **{axis: value}).text() for value in values)]
        for metric, scheme in product(("utility", "efficiency"), SCHEMES)
    ]
    return table(f"| {' | '.join(map(name, values))}", rows)


def threshold_table(runs: Runs) -> str:
    return _mops_table(
        "T | default weight",
        "communities | brokers | forwardings | list forwardings | delay (h) | utility | efficiency",
        (
            ([f"{threshold:g}", f"{weight:g}"], here.only(default_weight=weight))
            for threshold, here in runs.only(MOPS).by("threshold").items()
            for weight in (0.0, 1e-5)
        ),
    )


def recorded_table(studies: Studies) -> str:
    lives = [10_800, DAY, 3 * DAY]
    cases: list[tuple[str, str, Row]] = [(scheme, scheme, {}) for scheme in (PUSH, MOPS, NEIGHBORS)]
    cases += [("pull", PULL, {"from_anyone": False}), ("pull from anybody", PULL, {"from_anyone": True})]
    rows = []
    for (trace, runs), (label, scheme, coordinates) in product(studies.items(), cases):
        by_life = [
            [runs.at(m, scheme, ttl=life, **coordinates).text() for m in ("utility", "efficiency")] for life in lives
        ]
        rows.append([f"{trace}: {label}", *map(", ".join, by_life)])
    return table(f"utility, efficiency | {' | '.join(map(hours, lives))}", rows)


def scarce_table(runs: Runs) -> str:
    """Utility and efficiency where links are full, for some α."""
    lives = [3600, DAY, 3 * DAY]
    cases: list[tuple[str, str, Row]] = [(scheme, scheme, {}) for scheme in (PUSH, NEIGHBORS, PULL)]
    cases += [(f"mops, α = {alpha:g}", MOPS, {"alpha": alpha}) for alpha in runs.only(MOPS).by("alpha")]
    rows = []
    for label, scheme, coordinates in cases:
        here = runs.only(**coordinates)
        by_life = [[here.at(m, scheme, ttl=life).text() for m in ("utility", "efficiency")] for life in lives]
        rows.append([label, *map(", ".join, by_life)])
    return table(f"utility, efficiency | {' | '.join(map(hours, lives))}", rows)


def brokers_table(studies: Studies) -> str:
    return _mops_table(
        "| B",
        "brokers | utility | efficiency | utility times efficiency | forwardings | delay (h)",
        (
            ([trace, f"{share:g}"], here)
            for trace, runs in studies.items()
            for share, here in runs.only(MOPS).by("pruning").items()
        ),
    )


def relearning_table(runs: Runs) -> str:
    periods = {row["coordinates"]["relearn"] for row in runs.rows}
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


def hours(life: float) -> str:
    """The life of an event, as people write it."""
    return f"{life / 3600:g} h" if life < DAY else f"{life / DAY:g} d"
