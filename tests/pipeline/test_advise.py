"""``hunet advise``: the cheapest that reaches a goal, and how sure that is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Publication, Subscription, Workload, run, write_contacts
from hunet.model.errors import ConfigurationError
from hunet.model.files import read_toml
from hunet.pipeline.advice import COSTS, Advice, Goal, advice_study, judge
from hunet.pipeline.storage import write_json
from hunet.pipeline.study_plan import ContactSource, Point, StudyPlan
from hunet.pipeline.study_run import do_run
from hunet.report.advice import advice_text, shown
from hunet.report.runs import Runs
from hunet.systems import PROTOCOLS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOAL = Goal(0.8, 3600.0)


def crowd(path: Path) -> Path:
    around = [(str(i % 7), str((i * 3 + 1) % 7), 60.0 * i, 60.0 * i + 90) for i in range(200)]
    apart = ("8", "9", 0.0, 1.0)  # two whom nobody else meets
    write_contacts(Contacts.from_records([apart, *(row for row in around if row[0] != row[1])]), path)
    return path


def judged(found: dict[str, list[tuple[float, float]]], goal: Goal = GOAL) -> Advice:
    """Advice on made-up results: for each candidate its ratio and its packets, run by run."""
    points = [
        Point(number, ContactSource("crowd"), name.split()[0], {"parameters": {}}, {"case": name})
        for number, name in enumerate(found)
    ]
    rows = [
        {
            "point": point.number,
            "repetition": repetition,
            "error": None,
            "delivery_ratio": ratio,
            "reachable_ratio": 0.95,
            "relayed": relayed,
            "created": 1,
        }
        for point, runs in zip(points, found.values(), strict=True)
        for repetition, (ratio, relayed) in enumerate(runs)
    ]
    return judge(rows, StudyPlan(points, [1], (), False, {}), goal)


def test_the_cheapest_that_reaches_the_goal() -> None:
    advice = judged(
        {
            "push": [(0.95, 50.0), (0.94, 51.0), (0.96, 50.0)],
            "spray 4": [(0.85, 4.1), (0.86, 4.0), (0.85, 4.2)],
            "spray 8": [(0.90, 8.1), (0.91, 8.0), (0.90, 8.1)],
            "pull": [(0.30, 1.0), (0.31, 1.0), (0.29, 1.0)],
        }
    )
    assert advice.best is not None
    assert advice.best.name == "spray 4"
    assert advice.sure
    assert advice.best.meets > 0.95
    assert advice.best.wins > 0.95
    assert advice.runner_up is not None
    assert advice.runner_up.name == "push"  # of another kind
    assert [each.name for each in advice.candidates] == ["spray 4", "spray 8", "push", "pull"]
    assert advice.bound.mean == pytest.approx(0.95)


def test_what_is_cheap_but_not_sure_is_not_recommended() -> None:
    shaky = [(0.70, 1.0), (0.95, 1.0), (0.80, 1.0)]
    advice = judged({"cheap": shaky, "dear": [(0.90, 9.0), (0.91, 9.0), (0.89, 9.0)]})
    assert advice.best is not None
    assert advice.best.name == "dear"
    cheap = next(each for each in advice.candidates if each.name == "cheap")
    assert 0.5 < cheap.meets < 0.9
    assert cheap.wins == cheap.meets
    alone = judged({"cheap": shaky})
    assert alone.best is not None
    assert not alone.sure
    assert not judged({"cheap": shaky}, Goal(0.99, 60.0)).best


def test_near_misses_and_the_likely_winner_are_told() -> None:
    advice = judged(
        {
            "likely": [(0.78, 2.0), (0.88, 2.0), (0.80, 2.0)],
            "sure": [(0.90, 9.0), (0.91, 9.0), (0.89, 9.0)],
            "unlikely": [(0.70, 1.0), (0.78, 1.0), (0.69, 1.0)],
            "hopeless": [(0.10, 1.0), (0.11, 1.0), (0.10, 1.0)],
            "dear": [(0.91, 20.0), (0.91, 20.0), (0.92, 20.0)],
        }
    )
    assert advice.best is not None
    assert advice.best.name == "sure"
    assert advice.likely is not None
    assert advice.likely.name == "likely"
    assert [each.name for each in advice.near_misses] == ["likely", "unlikely"]
    assert advice.undecided
    answer, near, undecided, *_ = advice_text(advice, "packets")
    assert answer.startswith("For 80 % within 60 min use sure: 90.0 % in time at 9.0 packets.")
    assert re.search(r"^Cheaper, and may reach it too: likely \(\d\d % likely, at 2.0\); unlikely \(", near)
    assert undecided.startswith("Undecided: more runs will tell, such as --runs 6. The likely winner is likely (")
    push = [(0.95, 50.0), (0.94, 51.0), (0.96, 50.0)]
    clear = judged({"spray": [(0.85, 4.1), (0.86, 4.0), (0.85, 4.2)], "push": push})
    assert not clear.undecided
    assert clear.likely == clear.best
    assert clear.near_misses == []


def test_nothing_reaches_the_goal_but_something_may() -> None:
    advice = judged({"close": [(0.75, 1.0), (0.83, 1.0), (0.80, 1.0)], "far": [(0.1, 1.0), (0.1, 1.0), (0.1, 1.0)]})
    assert advice.best is None
    assert advice.undecided
    told = advice_text(advice, "packets")
    assert told[0].startswith("Nothing reaches 80 % within 60 min.")
    assert told[1].startswith("What may reach it after all: close (")
    assert told[2].startswith("Undecided: more runs will tell")


def test_near_misses_are_never_left_out_of_the_table() -> None:
    many = {f"dear {number}": [(0.9, 9.0), (0.9, 9.1), (0.9, 9.0)] for number in range(20)}
    advice = judged(many | {"cheap": [(0.70, 1.0), (0.95, 1.0), (0.78, 1.0)]})
    assert [each.name for each in shown(advice)][-1] == "cheap"
    assert len(shown(advice)) == 13


def test_probabilities_are_those_of_students_t() -> None:
    # Mean 0.8 + s / sqrt(3), so t = 1 with two degrees of freedom: 0.7887 by the table.
    runs = [(0.81, 1.0), (0.82, 1.0), (0.83, 1.0)]
    goal = Goal(0.82 - 0.01 / 3**0.5, 60.0)
    [only] = judged({"one": runs}, goal).candidates
    assert only.meets == pytest.approx(0.7887, abs=0.03)


results = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 100)), min_size=3, max_size=3),
    min_size=1,
)


@given(results, st.floats(0.01, 1))
def test_advice_is_consistent(found: dict[str, list[tuple[float, float]]], ratio: float) -> None:
    advice = judged(found, Goal(ratio, 60.0))
    assert sorted(each.name for each in advice.candidates) == sorted(found)
    assert sum(each.wins for each in advice.candidates) <= 1 + 1e-9
    for each in advice.candidates:
        assert 0 <= each.wins <= each.meets <= 1
        if advice.best and each.ratio.mean > ratio and (each.meets >= 0.9 or not advice.sure):
            assert advice.best.cost.mean <= each.cost.mean
    assert (advice.best is None) == all(each.ratio.mean < ratio - 1e-9 for each in advice.candidates)


def test_costs_are_per_publication() -> None:
    line = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30)])
    said = [Publication(f"m{i}", 0.0, 0, "news", 100) for i in range(4)]
    row = run(line, Workload.of(said, [Subscription(2, "news")]), "push").summary
    assert {name: cost(row) for name, (_, cost) in COSTS.items()} == {
        "forwards": 2,  # each message passes over both contacts
        "bytes": 2 * 100 + row["control_bytes"] / 4,
        "control": row["control_bytes"] / 4,
        "copies": 3,
    }
    assert row["control_bytes"] > 0


def test_goals_that_cannot_be(tmp_path: Path) -> None:
    asked = {"messages": 9, "topics": 2, "buffer": None, "runs": 2, "quick": False}
    trace = crowd(tmp_path / "trace.csv")
    for goal, problem in (
        (Goal(1.5, 60.0), "a ratio is above 0 and at most 1"),
        (Goal(0.5, 0.0), "longer than nothing"),
        (Goal(0.5, 9000.0), "ask for a shorter delay or give a longer trace"),
        (Goal(0.5, 60.0, "money"), "no cost 'money': known: forwards"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ConfigurationError, match=problem):
            advice_study(trace, goal, **asked)  # type: ignore[arg-type]
    study = advice_study(trace, GOAL, **asked)  # type: ignore[arg-type]
    systems = {"b-sub", "mops", "social-election", "socialcast", "socio-aware-overlay"}
    assert systems < {point.protocol for point in study.points} <= set(PROTOCOLS)
    assert all(point.settings["parameters"]["buffer"] == "none" for point in study.points)


def test_another_question_is_answered_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hunet: Any
) -> None:
    """All runs are there: nothing of Spark is started, and only the head of the page is written anew."""
    monkeypatch.chdir(tmp_path)
    trace = crowd(Path("trace.csv"))
    study = advice_study(trace, Goal(0.3, 1800.0), messages=9, topics=2, buffer=None, runs=2, quick=True)
    assert [do_run(run, Path("advice")) for run in study.runs()] == [None] * len(study.runs())
    write_json(Path("advice/study.json"), study.identity)

    def no_session(*_: object, **__: object) -> None:
        raise AssertionError("a session was asked for")

    monkeypatch.setattr("hunet.pipeline.session.spark_session", no_session)
    ask = ("advise", trace, "--within", "30min", "--messages", "9", "--topics", "2", "--quick", "--runs", "2")
    first = hunet(*ask, "--ratio", "0.2", "--confidence", "0.5")
    assert first.status == 0, first.err
    page = Path("advice/report.html").read_text()
    assert page.index("class=answer>For 20 % within 30 min use ") < page.index("<svg") < page.index("<h2>Results")
    drawn = Path("advice/report/side-by-side.svg").stat().st_mtime_ns
    second = hunet(*ask, "--ratio", "0.21", "--cost", "copies", "--confidence", "0.5")
    assert second.status == 0, second.err
    assert "runs, about" not in second.err
    again = Path("advice/report.html").read_text()
    assert "class=answer>For 21 % within" in again
    assert "For 20 % within" not in again
    assert again.partition("<h2>Results")[2] == page.partition("<h2>Results")[2]
    assert Path("advice/report/side-by-side.svg").stat().st_mtime_ns == drawn
    assert "belongs to another study" in hunet("advise", trace, "--within", "20min", *ask[4:]).err


@pytest.mark.slow
def test_from_question_to_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hunet: Any) -> None:
    del spark  # the session that the command finds running
    monkeypatch.chdir(tmp_path)
    crowd(Path("trace.csv"))

    ask = ("advise", "trace.csv", "--within", "30min", "--messages", "20", "--topics", "2", "--quick", "--runs", "2")
    assert (
        "--within soon: write a number and one of s, min, h, d" in hunet("advise", "trace.csv", "--within", "soon")[2]
    )
    status, said, _ = hunet(*ask, "--ratio", "0.3", "--confidence", "0.5")
    assert status == 0
    assert "For 30 % within 30 min use " in said
    assert "To run it: hunet run --config advice/recommended.toml" in said
    assert Path("advice/report.html").exists()
    status, said, _ = hunet(*ask, "--ratio", "0.3", "--confidence", "0.5", "--json")  # from the results that are there
    advice: dict[str, Any] = json.loads(said)
    best = advice["recommended"]
    assert best["cost"]["mean"] == min(c["cost"]["mean"] for c in advice["candidates"] if c["meets"] >= 0.5)

    settings = read_toml(Path("advice/recommended.toml"))
    assert settings["protocol"] == best["protocol"]
    status, said, _ = hunet("run", "--config", "advice/recommended.toml", "--json")
    assert status == 0
    again = json.loads(said)
    rows = Runs.read(Path("advice")).rows
    [first] = [r["delivery_ratio"] for r in rows if r["repetition"] == 0 and r["axes"]["case"] == best["name"]]
    assert again["delivery_ratio"] == first  # the very run that the advice rests on
    assert again["name"]["parameters"].items() >= {k: v for k, v in best["parameters"].items() if v != "none"}.items()

    status, said, _ = hunet(*ask, "--ratio", "1")
    assert status == 1
    assert "Nothing reaches 100 % within 30 min. Contacts allow " in said
    assert "Ask for less, or for a longer delay." in said
    assert not Path("advice/recommended.toml").exists()
