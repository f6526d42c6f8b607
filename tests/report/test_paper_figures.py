"""The figures of papers drawn again: ours from what judges claims, the printed numbers beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunet.report.evidence import Evaluation
from hunet.report.paper_figures import Curve, Panel, draw_figures
from hunet.report.runs import Runs
from hunet.report.yardstick import At, Found
from hunet.systems import load, systems


def runs() -> Runs:
    return Runs(
        {
            "protocol": p,
            "coordinates": {"ttl": ttl},
            "seed": seed,
            "repetition": seed,
            "utility": 0.1 * ttl + 0.01 * seed,
        }
        for p in ("push", "pull")
        for ttl in (1, 2, 3)
        for seed in (0, 1)
    )


def panel(title: str, protocol: str) -> Panel:
    return Panel(
        title, "life", "utility", [Curve("ours", At("s", "utility", protocol), "ttl", (1, 2, 3, 4))], [(2, 0.5)]
    )


def test_only_what_there_are_results_for_is_drawn_and_always_the_same(tmp_path: Path) -> None:
    shown = [panel("Fig. 1", "push"), panel("Fig. 2", "spray")]
    assert draw_figures(shown, {"calm": Found({"s": runs()})}, tmp_path / "a.svg")
    assert draw_figures(shown, {"calm": Found({"s": runs()})}, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "Fig. 1" in text
    assert "ours, calm" in text
    assert "the paper" in text
    assert "Fig. 2" not in text
    assert not draw_figures(shown, {"": Found({})}, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_a_curve_has_the_means_and_intervals_of_the_yardstick() -> None:
    curve = Curve("ours", At("s", "utility", "push"), "ttl", (1, 2, 4), unit=0.1)
    drawn = curve.drawn(Found({"s": runs()}))
    assert {place: found.mean for place, found in drawn.items()} == pytest.approx({1: 1.05, 2: 2.05})
    flat = Curve("all", At("s", "utility", "push", {"ttl": 3}), "", (1, 9))
    assert [found.mean for found in flat.drawn(Found({"s": runs()})).values()] == pytest.approx([0.305, 0.305])
    shares = Curve("share", At("s", "hops_within_{}", "push"), "", (5, 31))
    assert [at.metric for at in shares.points().values()] == ["hops_within_5", "hops_within_31"]


@pytest.mark.parametrize("name", [name for name, one in systems().items() if one.evaluation])
def test_every_panel_asks_for_studies_that_there_are(name: str) -> None:
    one: Evaluation = load(systems()[name].evaluation)
    files = {file.stem for file in one.folder.glob("*.toml")}
    assert one.panels
    assert {each.at.study for panel in one.panels for each in panel.curves} <= files
