"""The figures of SocialCast's paper that a run's summary does not have by itself, and where its runs stand."""

from __future__ import annotations

from collections.abc import Callable

from hunet.report.runs import Figure, Row

WITH, WITHOUT = "socialcast", "socialcast-random"
"""With prediction, and without."""


def coordinates(row: Row) -> Row:
    """What was set for a run, by name: of the world, the workload and the protocol, the last with all defaults."""
    name = row["name"]
    world = name["contacts"].get("parameters", {})
    found = {**world, **name["workload"], **name["result"]["parameters"]}
    found["association"] = "frozen" if world.get("choice") == "deterministic" else world.get("association", "home")
    found["w_col"] = found.pop("weights", {}).get("col")
    return found


def _share(row: Row, counted: str, fits: Callable[[int], bool]) -> float | None:
    """The share of what was observed under ``counted`` and a number that fits."""
    seen = {int(key.removeprefix(counted)): many for key, many in row["observed"].items() if key.startswith(counted)}
    every = sum(seen.values())
    return sum(many for number, many in seen.items() if fits(number)) / every if every else None


def _hops_within(most: int) -> Figure:
    return lambda row: _share(row, "hops_", lambda hops: hops <= most)


def _held(when: int, fits: Callable[[int], bool]) -> Figure:
    return lambda row: _share(row, f"held_at_{when}_", fits)


FIGURES: dict[str, Figure] = {
    **{f"hops_within_{most}": _hops_within(most) for most in (5, 10, 31)},
    "holding_below_5_at_10000": _held(10_000, lambda many: many < 5),
    "holding_below_10_at_10000": _held(10_000, lambda many: many < 10),
    "holding_above_30_at_10000": _held(10_000, lambda many: many > 30),
}
"""Fig. 6 and 7, as columns of summaries, reports and claims."""
