"""What a paper reports and no other system has is in a study's summary, in its report and in claims, by one name."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from hunet.pipeline.studies import run_here
from hunet.pipeline.study_plan import plan_study
from hunet.reporting import make_report
from hunet.systems import figures_of, systems

STUDY = {
    "protocol": ["b-sub", "push"],
    "repetitions": 2,
    "world": [{"name": "waypoint", "nodes": 8, "duration": 600}],
    "parameters": {"b-sub": {"exact": True, "decay_cycle": 64}},
    "workload": {"kind": "tags", "max_interval": 60, "ttl": 300},
}


def test_they_are_in_the_summary_and_in_the_report(tmp_path: Path) -> None:
    run_here(plan_study(STUDY, tmp_path / "study.toml"), tmp_path / "results")
    [own, other] = csv.DictReader((tmp_path / "results" / "summary.csv").read_text("utf-8").splitlines())
    for name in figures_of(["b-sub"]):
        assert float(own[f"{name}_mean"]) >= 0, name
        assert own[f"{name}_ci95"]
    assert other["relayed_tags_mean"] == ""  # push has no tags
    page, _ = make_report(tmp_path / "results")
    assert "<th>relayed tags</th>" in page.read_text("utf-8")


@pytest.mark.parametrize("name", [name for name, one in systems().items() if one.figures])
def test_their_names_are_told_on_the_system_s_page(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "systems" / f"{name}.md").read_text("utf-8")
    for figure in figures_of(systems()[name].protocols):
        assert f"`{figure}`" in page, figure
