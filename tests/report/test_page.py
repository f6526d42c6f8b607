"""The report of a study: one page, figures as SVG, their data as CSV; in a real browser too."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hunet
from hunet.cli.report import report
from hunet.model import InputError
from hunet.report.metrics import METRICS
from hunet.report.one_reports import write_one_reports
from hunet.report.page import write_report
from hunet.report.study import REPORTED, StudyResults
from hunet.reporting import make_report
from tests.browser import colours, complaints, open_page

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

RATIOS = {"push": [0.9, 0.8, 0.95, 0.85], "pull": [0.4, 0.31, 0.44, 0.36], "like-push": [0.88, 0.81, 0.96, 0.84]}
PACKETS = {"push": 300.0, "pull": 4.0, "like-push": 120.0}
DERIVED = ("brokers", "forwards")
"""Metrics that are made of others when results are read."""


def study(folder: Path, lives: tuple[float, ...] = (60.0,)) -> Path:
    """As ``hunet study`` leaves it: every ratio in four repetitions, a little lower for each shorter life."""
    for protocol, ratios in RATIOS.items():
        for life in lives:
            for repetition, ratio in enumerate(ratios):
                result = {"contacts": {"sha256": "0" * 64, "nodes": 7}, "versions": {"hunet": "0.1.0"}}
                row: dict[str, Any] = {metric.name: 10.0 for metric in REPORTED if metric.name not in DERIVED}
                row |= {
                    "key": f"{protocol}-{life}-{repetition}",
                    "point": 0,
                    "repetition": repetition,
                    "seed": 100 + repetition,
                    "contacts": "a <crowd>",
                    "axes": json.dumps({"workload.ttl": life} if len(lives) > 1 else {}),
                    "role_time": json.dumps({"broker": 3.0} if protocol == "pull" else {}),
                    "observed": "{}",
                    "name": json.dumps({"contacts": {"sha256": "0" * 64}, "workload": {}, "result": result}),
                    "delivery_ratio": ratio * life / lives[-1],
                    "reachable_ratio": 0.97,
                    "out_of_band_packets": 0.0,
                    "out_of_band_bytes": 0.0,
                    "created": 10.0,
                    "relayed": PACKETS[protocol],
                }
                place = folder / "runs" / f"protocol={protocol}"
                place.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist([row]), place / f"{row['key']}.parquet")
    (folder / "study.json").write_text('{"kind": "study"}')
    return folder


def real_study(folder: Path, **given: Any) -> Path:
    """Runs of a study, done one after the other without Spark."""
    from hunet.pipeline.storage import write_json
    from hunet.pipeline.study_plan import plan_study
    from hunet.pipeline.study_run import do_run

    plan = plan_study(given, folder / "study.toml")
    assert [do_run(run, folder) for run in plan.runs()] == [None] * len(plan.runs())
    write_json(folder / "study.json", plan.identity)
    return folder


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a study: brokers among communities, messages of three lives, and all tables kept."""
    folder = real_study(
        tmp_path_factory.mktemp("studies") / "brokers",
        world=[{"name": "community", "hosts": 24, "caves": 4, "duration": 3600}],
        protocol=["push", "social-election", "random-broker", "pull"],
        repetitions=4,
        tables=True,
        workload={"messages": 30, "topics": 4, "ttl": [120, 600, 1200], "last": 0.6},
    )
    assert make_report(folder) == (folder / "report.html", [])
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Tags(HTMLParser):
    """Opens and closes every tag but those that have no end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.seen.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_says_what_is_real(tmp_path: Path) -> None:
    folder = study(tmp_path / "crowd")
    page = write_report(StudyResults(folder), latex=tmp_path / "table.tex")
    text = page.read_text()
    tags = Tags(text)
    assert not tags.open
    assert tags.seen.count("svg") == 2
    assert "src=" not in text
    assert f"a &lt;crowd&gt;: 7 people, SHA-256 {'0' * 64}" in text
    assert "<td>100, 101, 102, 103</td>" in text
    assert "Highest delivery ratio: push; may also be best: like-push." in text
    assert "<td>pull</td><td>0.378</td><td><b>0.455 to 0.535 less</b></td>" in text
    assert "<td>like-push</td><td>0.872</td><td>may be best, or up to 0.034 less</td>" in text
    assert "<td>push</td><td>0.875</td><td>may be best, or up to 0.029 less</td>" in text
    assert "brokers" in text
    parts = ("class=answer", "<svg", "<h2>Results", "<h2>Which differences", "<h2>What was")
    order = [text.index(part) for part in parts]
    assert order == sorted(order), "the answer comes first, and what was run last"
    assert (
        "like-push delivers 87.2 ± 10.3 % (contacts allow 97.0 %) at 12.0 data packets per publication: the cheapest "
        "of 2 that come near the highest delivery (push, 87.5 ± 10.3 %, at 30.0); with 95 % confidence it is at most "
        "3.4 points below the best."
    ) in text
    latex = (tmp_path / "table.tex").read_text()
    assert r"push & 0.875 $\pm$ 0.103 &" in latex
    assert r"pull & 0.378 & \textbf{0.455 to 0.535 less}" in latex
    rows = rows_of(folder / "report" / "differences.csv")
    assert [(row["alternative"], row["may be best"]) for row in rows if row["metric"] == "delivery_ratio"] == [
        ("push", "True"),
        ("like-push", "True"),
        ("pull", "False"),
    ]
    write_report(StudyResults(folder))
    assert page.read_text() == text


def test_a_swept_parameter_is_an_axis_and_not_an_alternative(tmp_path: Path) -> None:
    folder = study(tmp_path / "crowd", (60.0, 600.0, 6000.0))
    page = write_report(StudyResults(folder), tmp_path / "elsewhere.html", units={"workload.ttl": "s"})
    assert page == tmp_path / "elsewhere.html"
    picture = (folder / "report" / "against-ttl.svg").read_text()
    assert picture.count("delivery ratio") == 1
    assert picture.count("ttl (s)") == 6
    rows = rows_of(folder / "report" / "against-ttl.csv")
    assert len(rows) == 6 * 3 * 3 - 2 * 3  # pull alone has brokers
    assert rows[0]["series"] == "like-push"
    assert float(rows[0]["mean"]) == pytest.approx(0.008725)
    pairs = rows_of(folder / "report" / "differences.csv")
    assert {row["where"] for row in pairs if row["alternative"] == "pull"} == {"ttl 60.0", "ttl 600.0", "ttl 6000.0"}


def test_parameters_of_a_world_are_axes(tmp_path: Path) -> None:
    folder = real_study(
        tmp_path / "sizes",
        world=[{"name": "waypoint", "nodes": [6, 12], "duration": 300}],
        protocol=["push", "pull"],
        repetitions=2,
        workload={"messages": 5},
    )
    results = StudyResults(folder)
    assert results.numeric() == ["world.nodes"]
    assert list(results.series("world.nodes")) == ["push", "pull"]
    _, missing = make_report(folder)
    assert missing == []
    assert (folder / "report" / "against-nodes.svg").exists()
    labels = {row["contacts"] for row in rows_of(folder / "report" / "inter-contact-times.csv")}
    assert labels == {"waypoint nodes=6", "waypoint nodes=12"}


def test_reports_of_the_one_are_named_by_contacts_too(tmp_path: Path) -> None:
    for seed in (1, 2):
        contacts = hunet.make_world("waypoint", seed=seed, nodes=6, duration=300)
        hunet.write_contacts(contacts, tmp_path / f"day-{seed}.csv")
    folder = real_study(
        tmp_path / "days",
        contacts=[str(tmp_path / f"day-{seed}.csv") for seed in (1, 2)],
        tables=True,
        workload={"messages": 5},
    )
    written = {path.name for path in write_one_reports(folder, tmp_path / "reports")}
    assert {"push_day-1_MessageStatsReport.txt", "push_day-2_MessageStatsReport.txt"} < written
    assert len(written) == 8


def test_worlds_that_differ_by_their_seeds_only_are_told_apart(tmp_path: Path) -> None:
    worlds = [{"name": "waypoint", "seed": [1, 2], "nodes": 6, "duration": 300}]
    folder = real_study(tmp_path / "seeds", world=worlds, workload={"messages": 5})
    assert list(StudyResults(folder).series()) == ["push, contacts waypoint seed=1", "push, contacts waypoint seed=2"]


def test_a_real_study_has_every_figure_with_its_data(crowd: Path) -> None:
    made = {path.stem for path in (crowd / "report").glob("*.svg")}
    assert made == {
        *("delivery-against-cost", "against-ttl", "distributions", "brokers", "inter-contact-times", "contact-graph-0")
    }
    assert {path.stem for path in (crowd / "report").glob("*.csv")} == {*made, "differences"}
    tags = Tags((crowd / "report.html").read_text())
    assert not tags.open
    assert tags.seen.count("figure") == len(made)
    # The curves are those of the tables: the share of delays at or below the longest is all of them.
    delays = [row for row in rows_of(crowd / "report" / "distributions.csv") if row["what"] == "delay (min)"]
    assert max(float(row["x"]) for row in delays) <= 20.0
    assert max(float(row["y"]) for row in delays) == 1.0
    brokers = rows_of(crowd / "report" / "brokers.csv")
    shares = [
        float(row["y"]) for row in brokers if row["series"] == "social-election, ttl 600" and row["what"] == "duty"
    ]
    counts = [
        float(row["y"]) for row in brokers if row["series"] == "social-election, ttl 600" and row["what"] == "brokers"
    ]
    assert len(shares) == 24
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(np.mean(counts), rel=0.05)  # people on duty, counted in two ways
    graph = rows_of(crowd / "report" / "contact-graph-0.csv")
    people = [row for row in graph if row["kind"] == "node"]
    assert len(people) == 24
    assert len({row["community"] for row in people}) == 4
    assert any(float(row["share as broker"]) >= 0.5 for row in people)
    gaps = rows_of(crowd / "report" / "inter-contact-times.csv")
    assert all(0 < float(row["share of longer ones"]) < 1 for row in gaps)


def test_a_trace_is_drawn_if_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contacts = hunet.make_world("waypoint", seed=1, nodes=8, duration=600)
    hunet.write_contacts(contacts, tmp_path / "trace.csv")
    hunet.write_contacts(hunet.make_world("waypoint", seed=2, nodes=8, duration=600), tmp_path / "other.csv")
    folder = real_study(
        tmp_path / "found", contacts=str(tmp_path / "trace.csv"), protocol=["push", "pull"], workload={"messages": 5}
    )
    report(folder)
    assert "who met whom is not drawn for trace: give --contacts FILE" in capsys.readouterr().err
    assert not (folder / "report" / "contact-graph-0.svg").exists()
    report(folder, contacts=[tmp_path / "trace.csv"])
    assert capsys.readouterr().err == ""
    assert (folder / "report" / "contact-graph-0.svg").exists()
    with pytest.raises(InputError, match=r"other.csv: holds other contacts"):
        report(folder, contacts=[tmp_path / "other.csv"])


def test_the_page_in_a_browser(crowd: Path, browser: Chrome, picture: Callable[[str], None]) -> None:
    open_page(browser, crowd / "report.html")
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(each => each.getBoundingClientRect())"
        ".map(each => Math.min(each.width, each.height))"
    )
    assert len(sizes) == 6
    assert min(sizes) > 150
    cut = "[...document.querySelectorAll('body *')].filter(each => !each.closest('.wide') && "
    cut += "each.getBoundingClientRect().right > innerWidth + 1).map(each => each.tagName)"
    for width in (1366, 390):
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        assert browser.execute_script(f"return {cut}") == [], "what is too wide scrolls in a place of its own"
    picture("report")
    background = "return getComputedStyle(document.querySelector('figure svg')).filter"
    assert browser.execute_script(background) == "none"
    colours(browser, "dark")
    assert "invert" in browser.execute_script(background)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(background) == "none"  # paper is white
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert complaints(browser) == []


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no runs of a study"):
        StudyResults(tmp_path)
    (study(tmp_path / "crowd") / "study.json").unlink()
    with pytest.raises(InputError, match="it has no study"):
        StudyResults(tmp_path / "crowd")


def test_what_is_shown_is_what_runs_compute() -> None:
    assert set(METRICS) - set(hunet.simulation.SUMMARY) == set(DERIVED)
