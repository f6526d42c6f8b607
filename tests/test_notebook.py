"""What a notebook uses: tables from pandas, studies, advice and reports that show themselves, short reprs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hunet
from hunet import Contacts, Publication, Subscription, Workload
from hunet.model import ConfigurationError
from hunet.notebook import AdviceShown, Report, Study
from hunet.pipeline.study_plan import plan_study
from hunet.worlds import make_movement

WORK: dict[str, Any] = {"messages": 30, "topics": 4}


@pytest.fixture(scope="module")
def crowd() -> Contacts:
    return hunet.make_world("waypoint", seed=1, nodes=20, duration=900)


@pytest.fixture(scope="module")
def study(crowd: Contacts, tmp_path_factory: pytest.TempPathFactory) -> Study:
    return hunet.study(
        crowd,
        ["push", "spray-and-wait"],
        out=tmp_path_factory.mktemp("studies") / "compare",
        repetitions=3,
        parameters={"spray-and-wait": {"copies": 4}},
        workload={**WORK, "ttl": [100, 300]},
    )


def shown(page: str, *parts: str) -> None:
    for part in parts:
        assert part in page
    assert "<script" not in page.lower() or "srcdoc" in page


def test_contacts_from_pandas_and_back(crowd: Contacts) -> None:
    frame = crowd.to_pandas()
    assert frame.columns.tolist() == ["a", "b", "start", "end"]
    again = Contacts.from_pandas(frame)
    assert list(again.records()) == list(crowd.records())
    renamed = frame.rename(columns={"a": "who", "b": "whom"})
    assert len(Contacts.from_pandas(renamed, a="who", b="whom")) == len(crowd)


def test_timestamps_become_seconds_since_the_first() -> None:
    times = pd.to_datetime(["2024-05-01 10:00", "2024-05-01 11:30"])
    log = pd.DataFrame({"a": [7, 7], "b": [10, 9], "start": times, "end": times + pd.Timedelta("90s")})
    for frame in (log, log.assign(start=log["start"].dt.tz_localize("UTC"), end=log["end"].dt.tz_localize("UTC"))):
        contacts = Contacts.from_pandas(frame)
        assert list(contacts.records()) == [("7", "10", 0, 90), ("7", "9", 5400, 5490)]
        assert contacts.names == ("7", "9", "10")
        assert contacts.origin == pd.Timestamp("2024-05-01 10:00", tz="UTC").timestamp()


def test_what_pandas_cannot_give() -> None:
    with pytest.raises(ConfigurationError, match="no column 'b' in the DataFrame, which has a, c: name it"):
        Contacts.from_pandas(pd.DataFrame({"a": [1], "c": [2]}))
    with pytest.raises(ConfigurationError, match="ends before it starts"):
        Contacts.from_pandas(pd.DataFrame({"a": ["x"], "b": ["y"], "start": [5], "end": [1]}))


def test_run_takes_a_file_and_parameters_of_a_workload(crowd: Contacts, tmp_path: Path) -> None:
    hunet.write_contacts(crowd, tmp_path / "crowd.csv")
    read = hunet.read_contacts(tmp_path / "crowd.csv")
    by_hand = hunet.run(read, hunet.make_workload(read, 3, **WORK), "pull", seed=3)
    assert hunet.run(str(tmp_path / "crowd.csv"), WORK, "pull", seed=3).summary == by_hand.summary
    assert hunet.run(tmp_path / "crowd.csv").summary["created"] == 100
    assert by_hand.plot()._repr_png_().startswith(b"\x89PNG")
    shown(by_hand._repr_html_(), "pull, seed 3", "delivery_ratio")


def test_a_study_shows_itself(study: Study) -> None:
    assert repr(study) == "Study(12 runs: push, spray-and-wait)"
    shown(study._repr_html_(), "<table", "push, ttl 100", "spray-and-wait, ttl 300")
    assert study.table["protocol"].value_counts().to_dict() == {"push": 2, "spray-and-wait": 2}
    assert len(study.runs) == 12
    assert study.failed == []
    for plot in (study.plot(), study.plot("ttl"), study.plot("workload.ttl", "latency_avg")):
        assert plot._repr_png_().startswith(b"\x89PNG")
    assert [each.get_label() for each in study.plot("ttl").figure.axes[0].get_lines()] == ["push", "spray-and-wait"]
    with pytest.raises(ConfigurationError, match=r"no axis 'copies' .* \(it has ttl\)"):
        study.plot("copies")


def test_a_study_that_is_there_is_not_run_again(crowd: Contacts, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.pipeline.studies.outcome_of", lambda *_: pytest.fail("was run"))
    again = hunet.study(
        crowd,
        ["push", "spray-and-wait"],
        out=study.folder,
        repetitions=3,
        parameters={"spray-and-wait": {"copies": 4}},
        workload={**WORK, "ttl": [100, 300]},
    )
    assert again.table.equals(study.table)


def test_studies_of_files_worlds_and_several_traces(crowd: Contacts, tmp_path: Path) -> None:
    hunet.write_contacts(crowd, tmp_path / "crowd.csv")
    (tmp_path / "study.toml").write_text('contacts = "crowd.csv"\n[workload]\nmessages = 5\n')
    assert repr(hunet.study(tmp_path / "study.toml")) == "Study(1 runs: push)"
    with pytest.raises(ConfigurationError, match="tells the whole study: write 'repetitions' there"):
        hunet.study(tmp_path / "study.toml", repetitions=3)
    several = hunet.study({"made": crowd, "file": tmp_path / "crowd.csv"}, workload=WORK)
    assert several.table["contacts"].tolist() == ["made", "crowd"]
    world = {"name": "waypoint", "nodes": 10, "duration": 300}
    assert len(hunet.study(world=world, workload=WORK, repetitions=2).runs) == 2


def test_a_run_that_fails_is_told(crowd: Contacts) -> None:
    told = hunet.study(crowd, "random-broker", parameters={"share": [0.5, 7]}, workload=WORK)
    assert len(told.failed) == 1
    assert "1 failed" in repr(told)


def test_a_report_shows_itself(study: Study, tmp_path: Path) -> None:
    report = hunet.report(study, tmp_path / "page.html")
    assert isinstance(report, Report)
    assert repr(report) == f"Report({tmp_path / 'page.html'})"
    shown(report._repr_html_(), "srcdoc", "&lt;table")
    assert report.plot()._repr_png_().startswith(b"\x89PNG")
    assert callable(importlib.import_module("hunet.report.page").write_report)  # the room of that name is still there
    assert callable(hunet.report)


def test_advice_shows_itself(crowd: Contacts) -> None:
    advice = hunet.advise(crowd, 0.05, "5min", quick=True, runs=2, messages=20, topics=2)
    assert isinstance(advice, AdviceShown)
    assert advice.best is not None
    assert repr(advice) == f"Advice({advice.best.name})"
    assert advice.text.startswith(f"For 5 % within 5 min use {advice.best.name}: ")
    shown(advice._repr_html_(), "<table", advice.best.name)
    assert advice.candidates["candidate"].tolist()[0] == advice.best.name
    assert advice.settings is not None
    assert advice.settings.exists()
    assert advice.plot()._repr_png_().startswith(b"\x89PNG")
    hopeless = hunet.advise(crowd, 1.0, 1.0, quick=True, runs=2, messages=20, topics=2)
    assert repr(hopeless) == "Advice(nothing reaches the goal)"
    assert hopeless.text.startswith("Nothing reaches 100 % within 1 s.")


@pytest.mark.slow
def test_advice_has_its_page(crowd: Contacts) -> None:
    page = hunet.advise(crowd, 0.05, "5min", quick=True, runs=2, messages=20, topics=2).report()
    assert "For 5 % within 5 min use" in page.path.read_text("utf-8")


def test_reprs_are_short(crowd: Contacts) -> None:
    work = Workload.of([Publication("m", 0.0, 0, "x")], [Subscription(1, "x"), Subscription(2, "y")])
    assert repr(work) == "Workload(1 publications, 2 subscriptions, 2 topics)"
    walk = make_movement("waypoint", nodes=5, duration=60)
    plan = plan_study({"world": {"name": "waypoint"}, "protocol": ["push", "pull"]}, Path("study.toml"))
    assert repr(plan) == "StudyPlan(2 points, 1 repetitions: push, pull)"
    for thing in (crowd, work, walk, walk.tracks, plan, hunet.run(crowd, WORK), hunet.run(crowd, WORK).plot()):
        assert len(repr(thing)) < 100, thing
        assert " at 0x" not in repr(thing)
    assert repr(hunet.PROTOCOLS).startswith("<protocols: push, pull, spray-and-wait")
    assert repr(make_movement("campus", days=1)) == "Movement(campus, 200 nodes, 86400 s)"


def test_plots_are_saved(study: Study, tmp_path: Path) -> None:
    for name in ("a.svg", "a.pdf", "a.png"):
        study.plot().save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
