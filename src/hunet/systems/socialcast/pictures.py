"""SocialCast's curves: what the paper leaves out, calibrated.

The same results give the same bytes. Lines are means over repetitions, bars their 95 % confidence intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.report.figures import panels as draw_panels
from hunet.systems.socialcast.claims import EVALUATION
from hunet.systems.socialcast.measures import WITH, WITHOUT

if TYPE_CHECKING:
    from pathlib import Path

    from hunet.model.intervals import Interval
    from hunet.report.runs import Runs

MOBILITY = {
    "goal": ("communities dissolve", "#0072b2"),
    "home": ("communities last", "#d55e00"),
    "frozen": ("nobody leaves home", "#009e73"),
}


def draw(results: Path, pictures: Path) -> None:
    """Draw the pictures of SocialCast's page, of the studies that have results."""
    studies = EVALUATION.read(results)
    if "calibration" in studies:
        draw_calibration(studies["calibration"], pictures / "socialcast-calibration.svg")


def draw_calibration(study: Runs, path: Path) -> None:
    """Delivery against maxTTL and against Q/R, and traffic against maxTTL for each Q/R, in each mobility."""
    with draw_panels(path, 1, 3) as [hops, noise, traffic]:
        for association, (label, colour) in MOBILITY.items():
            here = study.only(association=association)
            limited = [limit for limit in _numbers(here, "max_hops") if limit <= 10]
            usual = {limit: here.at("delivery_ratio", WITH, max_hops=limit, state_noise=0.01) for limit in limited}
            by_lot = {limit: here.at("delivery_ratio", WITHOUT, max_hops=limit, copies=5) for limit in limited}
            _curve(hops, usual, colour, label)
            _curve(hops, by_lot, colour, linestyle="--")
            at_6 = {
                q: here.at("delivery_ratio", WITH, max_hops=6, state_noise=q) for q in _numbers(here, "state_noise")
            }
            _curve(noise, at_6, colour, label)
        here = study.only(association="goal")
        limits = {**{limit: limit for limit in _numbers(here, "max_hops")}, None: 40}
        for q, shade in zip(_numbers(here, "state_noise"), ("#08306b", "#2171b5", "#6baed6", "#bdd7e7"), strict=False):
            found = {at: here.at("relayed", WITH, max_hops=limit, state_noise=q) for limit, at in limits.items()}
            _curve(traffic, found, shade, f"Q/R = {q:g}")
        for paper in (0.93, 0.40):
            hops.axhline(paper, color="#999999", linewidth=0.8)
        hops.set(xlabel="maxTTL (γ = 5; dashed: without prediction)", ylabel="delivery", ylim=(0, 1.05))
        noise.set(xlabel="Q/R (γ = 5, maxTTL 6)", xscale="log", ylim=(0, 1.05))
        traffic.set(xlabel="maxTTL (right end: no limit)", ylabel="sent", ylim=(0, None))
        noise.legend()
        traffic.legend()


def _curve(panel: Any, along: dict[Any, Interval], colour: str, label: str | None = None, linestyle: str = "-") -> None:
    known = {coordinates: found for coordinates, found in along.items() if found.runs}
    panel.errorbar(
        list(known),
        [found.mean for found in known.values()],
        [found.half or 0.0 for found in known.values()],
        color=colour,
        label=label,
        linestyle=linestyle,
        marker="o",
        markersize=3,
        capsize=2,
    )


def _numbers(study: Runs, axis: str) -> list[Any]:
    """The numbers along an axis of SocialCast, in order."""
    return sorted({row["coordinates"][axis] for row in study.only(WITH).rows} - {None})
