"""The answer of a report: comparisons with the best, the Pareto front, and charts for a paper."""

from __future__ import annotations

import math
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hunet
from hunet.cli.report import report
from hunet.model.intervals import Interval
from hunet.report.chart import WIDTHS, Chart, ChartPoint, Series, pgfplots, write_for_paper
from hunet.report.comparison import compare_with_best
from hunet.report.field import Alternative, Alternatives, fields_of, with_front
from hunet.report.study import StudyResults
from hunet.report.study_figures import write_figures
from tests.machine import needs_pgfplots
from tests.report.test_page import real_study, rows_of, study

values = st.lists(st.floats(0, 1), min_size=3, max_size=3).map(lambda found: dict(enumerate(found)))


@given(st.dictionaries(st.sampled_from("abcdef"), values, min_size=1))
def test_intervals_agree_with_their_verdicts(found: dict[str, dict[int, float]]) -> None:
    standings = compare_with_best(found)
    assert standings[0].may_be_best
    for each in standings:
        assert 0 <= each.near <= each.far
        assert each.may_be_best or each.far > 0
        assert each.near == 0 or not each.may_be_best
        assert ("best" in each.text()) == each.may_be_best
    turned = {name: {run: -value for run, value in runs.items()} for name, runs in found.items()}
    lowest = compare_with_best(turned, highest=False)
    assert [each.may_be_best for each in lowest] == [each.may_be_best for each in standings]


def test_statements_about_the_best_hold_together() -> None:
    """Alternatives with known means, drawn many times: the true distances are outside their intervals in few draws."""
    coins = random.Random(1)
    means = {"a": 0.9, "b": 0.9, "c": 0.85, "d": 0.5}
    wrong, found_worse = 0, 0
    for _ in range(300):
        crowd = [coins.gauss(0, 0.1) for _ in range(6)]
        drawn = {
            name: {run: mean + shared + coins.gauss(0, 0.03) for run, shared in enumerate(crowd)}
            for name, mean in means.items()
        }
        standings = compare_with_best(drawn)
        found_worse += any(each.name == "c" and not each.may_be_best for each in standings)
        wrong += any(
            not each.near <= 0.9 - means[each.name] <= each.far or (not each.may_be_best and means[each.name] == 0.9)
            for each in standings
        )
    assert wrong / 300 < 0.07
    assert found_worse > 30, "it tells differences that are there"


def test_what_is_at_the_ceiling_is_taken_for_the_best() -> None:
    found = {
        "push": {0: 0.9, 1: 0.8, 2: 0.95},
        "wild": {0: 0.9, 1: 0.2, 2: 0.95},
        "pull": {0: 0.4, 1: 0.31, 2: 0.44},
    }
    told = {each.name: each for each in compare_with_best(found, ceiling=found["push"])}
    assert told["push"].text() == "best"
    assert told["wild"].may_be_best
    assert told["pull"].near > 0.4
    assert compare_with_best(found)[0].far > 0, "without a ceiling 'wild' might be better than push"


def test_one_run_tells_nothing() -> None:
    standings = compare_with_best({"push": {0: 0.9}, "pull": {0: 0.4}})
    assert all(each.may_be_best for each in standings)
    assert math.isinf(standings[1].far)
    assert standings[1].text() == "not known: needs two runs"


def field(**found: tuple[list[float], float]) -> Alternatives:
    ratios = {name: dict(enumerate(runs)) for name, (runs, _) in found.items()}
    standings = compare_with_best(ratios)
    placed = [
        Alternative(each.name, Interval.of(ratios[each.name].values()), Interval(found[each.name][1], 0.0, 3))
        for each in standings
    ]
    return Alternatives("", Interval(0.95, 0.0, 3), with_front(placed), {each.name: each for each in standings})


def test_the_answer_says_which_at_what_cost_and_how_sure() -> None:
    alone = field(push=([0.95, 0.94, 0.96], 50.0), pull=([0.30, 0.31, 0.29], 1.0)).answer()
    assert alone.startswith("push delivers 95.0 ± 2.5 % (contacts allow 95.0 %) at 50.0 data packets per publication;")
    assert "all others deliver less, the nearest, pull, by " in alone
    near = field(push=([0.95, 0.90, 0.96], 50.0), spray=([0.93, 0.91, 0.95], 8.0), pull=([0.3, 0.3, 0.3], 1.0))
    assert near.answer().startswith("spray delivers 93.0 ± 5.0 %")
    assert "the cheapest of 2 that come near the highest delivery (push, 93.7" in near.answer()
    assert near.others() == "Also on the front: push 94 % at 50.0; pull 30 % at 1.0."
    wild = field(push=([0.95, 0.20, 0.60], 50.0), pull=([0.1, 0.5, 0.1], 1.0)).answer()
    assert wild.endswith("no other comes near, but 3 runs vary so much that pull may be as good: more runs will tell.")
    assert "one run does not tell" in field(push=([0.9], 5.0), pull=([0.3], 1.0)).answer()


def test_a_crowd_that_stays_put_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every contact lasts for ever: no pair has a time between contacts, and all lengths are the same."""
    still = hunet.make_world("community", seed=1, hosts=30, duration=3600)
    hunet.write_contacts(still, tmp_path / "still.csv")
    source = str(tmp_path / "still.csv")
    folder = real_study(tmp_path / "study", contacts=source, protocol=["push", "pull"], workload={"messages": 5})
    report(folder, contacts=[tmp_path / "still.csv"])
    assert capsys.readouterr().err == ""
    assert "no two different values" in (folder / "report" / "inter-contact-times.svg").read_text()


CHART = Chart(
    "delivery-against-cost",
    "packets",
    "delivery (%)",
    [
        Series("push", [ChartPoint(Interval(50.0, 1.0, 3), Interval(0.9, 0.1, 3))]),
        Series("spray, copies 4", [ChartPoint(Interval(4.0, 0.1, 3), Interval(0.7, 0.1, 3))]),
        Series("slow_one", [ChartPoint(Interval(60.0, 1.0, 3), Interval(0.5, 0.1, 3))], strong=False),
    ],
    lines=False,
    bound=0.95,
)


@pytest.mark.parametrize("style", WIDTHS)
def test_figures_for_a_paper_have_the_width_of_its_column(style: str, tmp_path: Path) -> None:
    pdf, pgf, data = write_for_paper(CHART, tmp_path, style)
    [box] = [line for line in pdf.read_bytes().split(b"\n") if b"/MediaBox" in line]
    width = float(box.split(b"[")[1].split()[2])
    assert width == pytest.approx(WIDTHS[style] * 72, abs=0.1)
    assert f"width={WIDTHS[style]}in" in pgf.read_text()
    rows = rows_of(data)
    assert [row["series"] for row in rows] == ["push", "spray copies 4", "slow_one"]  # pgfplots splits at every comma
    assert [row["front"] for row in rows] == ["1", "1", "0"]
    again = write_for_paper(CHART, tmp_path / "again", style)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in (pdf, pgf, data)]


def test_the_source_for_latex_draws_every_row_of_its_data_once() -> None:
    text = pgfplots(CHART, 3.5)
    drawn = [line for line in text.splitlines() if "{delivery-against-cost.csv}" in line]
    assert len(drawn) == 3
    for number, line in enumerate(drawn):
        assert f"index={{0}}{{{number}}}" in line
        assert f"index={{{number + 1}}}{{100000}}" in line
    assert "(4,0.7) (50,0.9)" in text, "the front, from the cheapest on"
    assert r"slow\_one" in text
    assert r"ylabel={delivery (\%)}" in text
    assert text.count("{") == text.count("}")
    assert text.count(r"\begin{") == text.count(r"\end{")


@pytest.mark.slow
def test_latex_draws_the_source(tmp_path: Path) -> None:
    program = needs_pgfplots()
    write_for_paper(CHART, tmp_path, "ieee")
    sweep = [ChartPoint(Interval(at, None, 1), Interval(0.1 * at, 0.05, 3)) for at in (1.0, 2.0, 4.0)]
    lines = Chart("sweep", "ttl (s)", "delivery", [Series("push", sweep), Series("b_sub, 3 %", sweep, strong=False)])
    write_for_paper(lines, tmp_path, "acm")
    inputs = "".join(rf"\input{{{name}.pgf}}" for name in ("delivery-against-cost", "sweep"))
    head = r"\documentclass{article}\usepackage{pgfplots}\pgfplotsset{compat=1.15}"
    (tmp_path / "paper.tex").write_text(rf"{head}\begin{{document}}{inputs}\end{{document}}")
    words = [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


def test_a_study_is_drawn_for_a_paper(tmp_path: Path, hunet: Any) -> None:
    results = StudyResults(study(tmp_path / "study"))
    assert write_figures(results, fields_of(results), tmp_path / "paper", "acm", {}) == 1
    assert {path.name for path in (tmp_path / "paper").iterdir()} == {
        f"delivery-against-cost.{kind}" for kind in ("pdf", "pgf", "csv")
    }
    rows = rows_of(tmp_path / "paper" / "delivery-against-cost.csv")
    assert [(row["series"], row["x"]) for row in rows] == [("push", "30.0"), ("like-push", "12.0"), ("pull", "0.4")]
    assert "--style apa: one of ieee, acm" in hunet("report", tmp_path, "--figures", "x", "--style", "apa").err
