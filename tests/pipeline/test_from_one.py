"""Scenarios of The ONE as studies, and results under The ONE's names."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from hunet import Contacts, write_contacts
from hunet.model.contact_files import read_contacts
from hunet.model.files import read_toml
from hunet.pipeline.one_events import Connection, contacts_of, generate_messages
from hunet.pipeline.one_settings import OneSettings
from hunet.pipeline.study_plan import read_study
from hunet.pipeline.study_run import do_run
from hunet.report.one_reports import write_one_reports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS = """
# What everybody has
Scenario.name = default_scenario
Scenario.simulateConnections = true
Scenario.updateInterval = 0.1
Scenario.endTime = 43200
Scenario.nrofHostGroups = 1
btInterface.type = SimpleBroadcastInterface
btInterface.transmitSpeed = 250k
btInterface.transmitRange = 10
Group.movementModel = ShortestPathMapBasedMovement
Group.router = EpidemicRouter
Group.speed = 0.5, 1.5
Group.nrofInterfaces = 1
Group.interface1 = btInterface
Group.msgTtl = 300
Group.nrofHosts = 40
Group1.groupID = p
Group4.routeFile = data/tram3.wkt
Events.nrof = 1
MovementModel.rngSeed = [1; 2; 3]
MapBasedMovement.mapFile1 = data/roads.wkt
Report.nrofReports = 3
Report.report1 = MessageStatsReport
Report.report2 = ConnectivityONEReport
Report.report3 = EventLogReport
ProphetRouter.secondsInTimeUnit = 30
SprayAndWaitRouter.nrofCopies = 6
SprayAndWaitRouter.binaryMode = true
GUI.UnderlayImage.scale = 4.75
"""

MINE = """
Scenario.name = mine-%%Group.router%%-%%SprayAndWaitRouter.nrofCopies%%
Scenario.simulateConnections = false
Scenario.endTime = 1000
Scenario.nrofHostGroups = 2
Group.router = [EpidemicRouter; SprayAndWaitRouter]
SprayAndWaitRouter.nrofCopies = [4; 8; 16]
Group.bufferSize = 1k
Group.nrofHosts = 2
Group2.groupID = c
Group2.msgTtl = 5
Events.nrof = 2
Events1.class = ExternalEventsQueue
Events1.filePath = trace.txt
Events2.class = MessageEventGenerator
Events2.interval = 50, 150
Events2.size = 100
Events2.hosts = 0, 4
Events2.prefix = M
"""

TRACE = """
10 CONN 0 1 up
20 CONN p0 p1 up
30 CONN 0 1 down
40 CONN 0 1 down
# a message of its own
45 C X1 0 3 100
100 CONN 1 c2 up
300 CONN 2 3 up
350 CONN 2 3 DOWN
2000 CONN 2 3 up
"""


FIELDS = re.findall(
    r"\w+",
    """sim_time created started relayed aborted dropped removed delivered delivery_prob response_prob overhead_ratio
    latency_avg latency_med hopcount_avg hopcount_med buffertime_avg buffertime_med rtt_avg rtt_med""",
)


@pytest.fixture(autouse=True)
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has settings and a trace."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("default_settings.txt", DEFAULTS), ("mine.txt", MINE), ("trace.txt", TRACE)):
        Path(name).write_text(text)


def test_a_scenario_becomes_a_study(hunet: Any) -> None:
    status, said, problem = hunet("from-one", "mine.txt", "-o", "study")
    assert (status, problem) == (0, "")
    assert "ConnectivityONEReport: by hunet convert contacts.parquet NAME.one" in said
    assert "report 'EventLogReport' is not written; 'hunet report --one' has MessageStatsReport" in said
    # Three values of the copies and two routers are six runs, of which epidemic routing has no use for copies.
    assert "the same for hunet as run 1, and left out: run 3, 5\n" in said
    assert "study/study.toml: 4 runs" in said
    study = read_toml(Path("study/study.toml"))
    assert study["contacts"] == "contacts.parquet"
    assert [(case["name"], case["protocol"], case["parameters"].get("copies")) for case in study["case"]] == [
        ("mine-EpidemicRouter-4", "push", None),
        ("mine-SprayAndWaitRouter-8", "spray-and-wait", 8),
        ("mine-SprayAndWaitRouter-4", "spray-and-wait", 4),
        ("mine-SprayAndWaitRouter-16", "spray-and-wait", 16),
    ]
    assert study["case"][0]["parameters"] == {
        **{"subscribers_carry": False, "order": "random", "evict": "first-in", "again": "at-once"}
    }
    assert study["storage"] == 1000
    assert study["links"] == {"rate": 2_000_000.0, "unit": "bits/s", "radio": "one"}

    contacts = read_contacts("study/contacts.parquet")
    assert contacts.names == ("c2", "c3", "p0", "p1")
    assert contacts.span == (0.0, 1000.0)
    # The second up and the second down change nothing; what is open at the end ends there; what comes later does not.
    assert sorted(contacts.records()) == [("c2", "c3", 300, 350), ("c2", "p1", 100, 1000), ("p0", "p1", 10, 30)]

    with Path("study/publications.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {"id": "X1", "time": "45", "node": "p0", "topic": "c3", "size": "100", "ttl": "18000"} in rows
    assert all(row["ttl"] == ("300" if row["node"][0] == "c" else "18000") for row in rows)
    assert all(row["topic"] != row["node"] for row in rows)
    points = read_study(Path("study/study.toml")).points
    assert [point.axes for point in points] == [{"case": case["name"]} for case in study["case"]]


def test_the_whole_way(spark: SparkSession, hunet: Any) -> None:
    del spark  # the session that the command finds running
    assert hunet("from-one", "mine.txt", "-o", "study", "--runs", "2")[0] == 0
    assert hunet("study", "study/study.toml", "-o", "results")[0] == 0
    status, said, _ = hunet("report", "results", "--one")
    assert (status, said) == (0, "results/reports: 8 reports\n")
    stats = Path("results/reports/mine-EpidemicRouter-4_MessageStatsReport.txt").read_text().splitlines()
    assert stats[0] == "Message stats for scenario mine-EpidemicRouter-4"
    fields = dict(line.split(": ") for line in stats[1:])
    assert list(fields) == FIELDS
    assert fields["sim_time"] == "1000.0000"
    assert fields["rtt_avg"] == "NaN"
    assert int(fields["created"]) > 5
    status, said, _ = hunet("report", "results")  # the study's own page
    assert (status, said) == (0, "results/report.html: written\n")
    page = Path("results/report.html").read_text()
    assert "mine-SprayAndWaitRouter-8" in page  # a case goes by its name
    assert "case mine" not in page


def test_json_and_runs(hunet: Any) -> None:
    made = json.loads(hunet("from-one", "mine.txt", "-o", "study", "--runs", "2:3", "--json")[1])
    assert made["cases"] == ["mine-SprayAndWaitRouter-8", "mine-EpidemicRouter-16"]
    for wrong in ("x", "0", "3:2", ":4", "0:4"):
        assert f"--runs {wrong}: write how many" in hunet("from-one", "mine.txt", "-o", "other", "--runs", wrong)[2]
    assert "study: holds other files" in hunet("from-one", "mine.txt", "-o", "study")[2]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            "Group.router = LifeRouter",
            "extra.txt, line 2: no router 'LifeRouter' in hunet: it has EpidemicRouter",
        ),
        (
            "Scenario.simulateConnections = true",
            "line 11: 'Group.movementModel' = ShortestPathMapBasedMovement: hunet has RandomWaypoint",
        ),
        ("Group2.router = DirectDeliveryRouter", "line 2: 'Group2.router' differs between groups"),
        ("Group.bufferSize = 99", "bufferSize 99 holds no message, for the smallest has 100 bytes"),
        ("Events2.class = MessageBurstGenerator", "no events of class 'MessageBurstGenerator'"),
        ("Group.activeTimes = 0, 100", "'Group.activeTimes' = 0, 100: devices here are always on"),
        ("Group1.deleteDelivered = true", "devices here do not learn that a message has been delivered"),
        ("SprayAndWaitRouter.binaryMode = false", "hunet sprays in binary mode only"),
        ("Report.warmup = 100", "set Report.warmup = 0"),
        ("Group.bufersize = 5M", "no use for the setting 'Group.bufersize': did you mean 'Group.bufferSize'?"),
        ("btInterface.type = InterferenceLimitedInterface", "links have one speed here"),
    ],
)
def test_what_cannot_be_mapped_is_refused_or_listed(hunet: Any, more: str, problem: str) -> None:
    Path("extra.txt").write_text(f"# later files win\n{more}\n")
    status, _, said = hunet("from-one", "mine.txt", "extra.txt", "-o", "study")
    assert status == 1
    assert said.startswith("hunet: ")
    assert said.count("\n") == 1
    assert problem in said
    assert not Path("study").exists()
    if "holds no message" not in problem:
        status, _, said = hunet("from-one", "mine.txt", "extra.txt", "-o", "study", "--ignore-unknown")
        assert status == 0
        assert said.startswith("hunet: warning: ")
        assert problem in said
        assert read_study(Path("study/study.toml")).points


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("Events1.filePath = nowhere.txt", "no file 'nowhere.txt', seen from the working folder or from here"),
        ("Events.nrof = 0", "no events with connections"),
        ("Events2.hosts = 0, 9", "'Events2.hosts' needs at least two of the 4 hosts, not '0, 9'"),
        ("Events2.hosts = 0, 1", "'Events2.hosts' needs at least two of the 4 hosts, not '0, 1'"),
        ("Events2.prefix = X", "two messages are called 'X1': give each generator a prefix of its own"),
        ("Events2.interval = 0", "'Events2.interval' needs a second between messages, not '0'"),
        ("Group.nrofHosts = 1", "trace.txt, line 7: host 3, but the groups have hosts 0 to 1 only"),
        ("Events1.filePath = bad.txt", "bad.txt, line 2: expected 'time CONN a b up|down' or"),
        ("Events1.filePath = self.txt", "self.txt, line 1: a host with itself (3)"),
        ("Events1.filePath = who.txt", "who.txt, line 1: 'p' is no host: expected a number, or the letters of its"),
        ("Events1.filePath = when.txt", "when.txt, line 1: the time must not be negative, and it is -1"),
        ("Events1.filePath = answer.txt", "answer.txt, line 1: asks for a response"),
    ],
)
def test_what_is_wrong_is_said(hunet: Any, more: str, problem: str) -> None:
    Path("extra.txt").write_text(more)
    Path("bad.txt").write_text("1 CONN 0 1 up\n2 S M1 0 1\n")
    Path("self.txt").write_text("1 CONN 3 3 up\n")
    Path("who.txt").write_text("1 CONN p 3 up\n")
    Path("when.txt").write_text("-1 C M1 0 1 100\n")
    Path("answer.txt").write_text("1 C M1 0 1 100 50\n")
    status, _, said = hunet("from-one", "mine.txt", "extra.txt", "-o", "study")
    assert status == 1
    assert problem in said


def test_everything_that_cannot_be_taken_over_is_listed_at_once(hunet: Any) -> None:
    Path("extra.txt").write_text(
        "Group.router = LifeRouter\nGroup.activeTimes = 0, 100\nGroup.bufersize = 5M\nReport.warmup = 100\n"
        "btInterface.type = InterferenceLimitedInterface\nScenario.simulateConnections = true\n"
    )
    status, _, said = hunet("from-one", "mine.txt", "extra.txt", "-o", "study")
    assert status == 1
    lines = said.splitlines()
    assert lines[0] == "hunet: 6 settings cannot be taken over (or go on without, with --ignore-unknown):"
    assert [re.match(r"  (\w+)\.txt, line (\d+): ", line).groups() for line in lines[1:]] == [  # type: ignore[union-attr]
        ("default_settings", "11"),
        ("extra", "1"),
        ("extra", "2"),
        ("extra", "5"),
        ("extra", "4"),
        ("extra", "3"),
    ]
    assert "ConnectivityONEReport" in lines[1]
    # What is wrong for The ONE too is in the list, and nothing follows from it that is not there.
    Path("extra.txt").write_text("Scenario.endTime = soon\nEvents2.interval = 0\nGroup.router = LifeRouter\n")
    status, _, said = hunet("from-one", "mine.txt", "extra.txt", "-o", "study", "--ignore-unknown")
    assert (status, said.count("\n")) == (1, 3)
    assert "extra.txt, line 1: 'Scenario.endTime' must be a number" in said
    assert "extra.txt, line 2: 'Events2.interval' needs a second between messages" in said
    assert not Path("study").exists()


MOVING = """
Scenario.simulateConnections = true
Scenario.endTime = 2000
Scenario.nrofHostGroups = 3
MovementModel.worldSize = 400, 300
MovementModel.warmup = 100
Group.movementModel = ClusterMovement
Group.clusterCenter = 60, 60
Group.clusterRange = 50
Group.waitTime = 0, 60
Group.nrofHosts = 6
Group2.groupID = c
Group2.movementModel = RandomWaypoint
Group2.speed = 2, 4
Group3.groupID = s
Group3.nrofHosts = 1
Group3.movementModel = StationaryMovement
Group3.nodeLocation = 200, 150
Group.router = [EpidemicRouter; ProphetRouter; MaxPropRouter]
Events.nrof = 1
Events1.class = MessageEventGenerator
Events1.interval = 50, 150
Events1.size = 100, 900
Events1.hosts = 0, 13
Events1.prefix = M
MovementModel.rngSeed = 7
Group.bufferSize = 1k
"""


def test_movement_without_a_map_becomes_contacts(hunet: Any) -> None:
    Path("moving.txt").write_text(MOVING)
    status, said, problem = hunet("from-one", "moving.txt", "-o", "study")
    assert (status, problem) == (0, "")
    assert said.count("hosts move by hunet's world 'clusters', seed 7: not along The ONE's paths") == 1
    study = read_toml(Path("study/study.toml"))
    assert [(case["protocol"], case["parameters"]) for case in study["case"]] == [
        ("push", {"subscribers_carry": False, "order": "random", "evict": "first-in", "again": "at-once"}),
        (
            "prophet",
            {"subscribers_carry": False, "time_unit": 30.0, "renew": True, "evict": "first-in", "again": "at-once"},
        ),
        ("max-prop", {"subscribers_carry": False, "acknowledged": "delete", "evict": "first-in", "again": "at-once"}),
    ]
    assert study["storage"] == 1000
    contacts = read_contacts("study/contacts.parquet")
    assert len(contacts.names) == 13
    assert contacts.span == (0.0, 2000.0)
    met = {frozenset((a[0], b[0])) for a, b, _, _ in contacts.records()}
    assert {frozenset("p"), frozenset("pc"), frozenset("cs")} <= met
    assert frozenset("ps") not in met  # the clusters are too far from who stands still
    [first, *_] = read_study(Path("study/study.toml")).runs()
    assert do_run(first, Path("results")) is None


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("Group2.speed = 0, 4", "'Group2.speed' = 0, 4: hosts that walk need a speed above 0"),
        ("MovementModel.worldSize = 400", "'MovementModel.worldSize' must be two numbers, not '400'"),
        ("Group3.movementModel = BusMovement", "'Group3.movementModel' = BusMovement: hunet has RandomWaypoint"),
        ("Group2.interface1 = other\nother.transmitRange = 50", "movement needs one transmitRange"),
    ],
)
def test_movement_that_cannot_be(hunet: Any, more: str, problem: str) -> None:
    Path("moving.txt").write_text(MOVING + more)
    status, _, said = hunet("from-one", "moving.txt", "-o", "study")
    assert status == 1
    assert problem in said


def test_messages_are_those_of_the_one(tmp_path: Path) -> None:
    """By hand from java.util.Random(77): 77 is the hash of "M"; see test_random_numbers_are_javas for its draws."""
    file = tmp_path / "settings.txt"
    file.write_text(
        "Events1.interval = 25, 125\nEvents1.size = 10, 110\nEvents1.hosts = 0, 100\nEvents1.prefix = M\n"
        "Events1.time = 1000, 1100\n"
    )
    # Draws below 100: 27 (first interval), 14 (from), 38 (to), 34 (size), 11 (interval).
    first, second = generate_messages(OneSettings.read([file]), "Events1", 10_000.0, 100)
    assert first == ("M1", 1000 + 25 + 27, 14, 38, 10 + 34)
    assert (second.id, second.time) == ("M2", first.time + 25 + 11)


def test_connections_are_kept_as_the_one_does() -> None:
    events = [Connection(5, 1, 0, False), Connection(1, 0, 1, True), Connection(7, 1, 0, True)]
    assert contacts_of(events, 9) == [(0, 1, 1, 5), (0, 1, 7, 9)]


def test_reports_on_contacts(hunet: Any) -> None:
    rows = [("0", "1", 0, 2), ("0", "1", 5, 5), ("1", "2", 0, 2), ("0", "2", 1, 9), ("0", "1", 8.5, 9)]
    write_contacts(Contacts.from_records(rows), Path("contacts.csv"))
    assert hunet("convert", "contacts.csv", "x_ContactTimesReport.txt")[0] == 0
    assert Path("x_ContactTimesReport.txt").read_text() == "0.0 1\n1.0 0\n2.0 2\n3.0 0\n"  # two are open at the end
    assert hunet("convert", "contacts.csv", "x_InterContactTimesReport.txt")[0] == 0
    assert Path("x_InterContactTimesReport.txt").read_text() == "0.0 0\n1.0 0\n2.0 0\n3.0 2\n4.0 0\n"


ORACLE = """
Scenario.name = oracle
Scenario.simulateConnections = false
Scenario.endTime = 1000000
Scenario.nrofHostGroups = 1
Group.groupID = n
Group.nrofHosts = 36
Group.router = EpidemicOracleRouter
Events.nrof = 2
Events1.class = ExternalEventsQueue
Events1.filePath = {folder}/connectivity.one
Events2.class = ExternalEventsQueue
Events2.filePath = {folder}/creates.one
"""


def test_reports_agree_with_those_of_the_one(shared: Path, hunet: Any) -> None:
    """The oracle has what The ONE delivered with the same settings."""
    folder = shared / "oracles/one-cambridge"
    Path("default_settings.txt").unlink()
    Path("oracle.txt").write_text(ORACLE.format(folder=folder))
    assert hunet("from-one", "oracle.txt", "-o", "study")[0] == 0
    [run] = read_study(Path("study/study.toml")).runs()
    assert do_run(run, Path("results")) is None
    files = {path.name: path.read_text().splitlines() for path in write_one_reports(Path("results"), Path("reports"))}
    stats = files["oracle_MessageStatsReport.txt"]
    assert {"created: 1000", "delivered: 793", "delivery_prob: 0.7930"} < set(stats)
    with (folder / "deliveries.csv").open() as file:
        delivered = [row for row in csv.DictReader(file) if row["delivered"]]
    delays = sorted(float(row["delay"]) for row in delivered)
    assert {f"latency_avg: {fmean(delays):.4f}", f"latency_med: {delays[len(delays) // 2]:.4f}"} < set(stats)
    expected = {(row["id"], row["delivered"], row["src"], row["dst"]) for row in delivered}
    rows = [line.split(" ") for line in files["oracle_DeliveredMessagesReport.txt"][1:]]
    assert {(row[1], row[0], row[5][1:], row[6][1:]) for row in rows} == expected
    for row in rows:
        way = row[9].split("->")
        assert way == ["n/a"] or (way[0], way[-1], len(way)) == (row[5], row[6], int(row[3]) + 1)
    assert sum(row[9] == "n/a" for row in rows) < len(rows) / 100
    assert len(files["oracle_CreatedMessagesReport.txt"]) == 1001
    assert files["oracle_CreatedMessagesReport.txt"][1] == "1127.0000 M0 100 n15 n5 n/a N "
    assert files["oracle_MessageDelayReport.txt"][-1].endswith(" 0.7930")
