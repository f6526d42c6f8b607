"""Studies: the grid, the seeds, resuming, failures, and what a stopped study leaves behind."""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from hunet import Contacts, make_workload, run, write_contacts
from hunet.model import ConfigurationError, HunetError, InputError, OutputError
from hunet.model.intervals import Interval, student_t
from hunet.model.run_files import read_runs
from hunet.pipeline import studies
from hunet.pipeline.session import ATTEMPTS
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study
from hunet.pipeline.study_results import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from hunet.pipeline.study_plan import Run
    from hunet.pipeline.study_run import TaskOutcome
    from tests.pipeline.conftest import Connect

SMALL = """
contacts = "trace.csv"
protocol = ["push", "spray-and-wait"]
repetitions = 3
seed = 11
[parameters.spray-and-wait]
copies = [1, 4]
[workload]
messages = 10
topics = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [(str(i), str((i * 5 + 2) % 9), 10.0 * i, 10.0 * i + 25) for i in range(60) if i % 9 != (i * 5 + 2) % 9]
    write_contacts(
        Contacts.from_records([(str(int(a) % 9), b, s, e) for a, b, s, e in records]), tmp_path / "trace.csv"
    )
    return tmp_path


def plan(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_lists_and_ranges_make_a_grid(folder: Path) -> None:
    study = read_study(
        plan(
            folder,
            """
            contacts = "trace.csv"
            train = [0.0, 0.5]
            [parameters]
            buffer = {from = 2, to = 6, step = 2}
            [workload]
            ttl = {from = 10, to = 1000, count = 3, scale = "log"}
            """,
        )
    )
    axes = [point.axes for point in study.points]
    assert len(axes) == 2 * 3 * 3
    assert {point["parameters.buffer"] for point in axes} == {2, 4, 6}
    assert {point["workload.ttl"] for point in axes} == {10.0, 100.0, 1000.0}
    assert all(isinstance(point["parameters.buffer"], int) for point in axes)
    assert len({run.key for run in study.runs()}) == 18


def test_cases_are_laid_over_what_is_common(folder: Path) -> None:
    study = read_study(
        plan(
            folder,
            """
            contacts = "trace.csv"
            [parameters]
            buffer = 10
            [workload]
            messages = 20
            [[case]]
            name = "as it is"
            [[case]]
            name = "sprayed"
            protocol = "spray-and-wait"
            parameters = {copies = [2, 4]}
            [[case]]
            name = "made up"
            world = [{name = "waypoint", nodes = 10, duration = 60}]
            workload = {ttl = 30}
            """,
        )
    )
    assert [point.axes for point in study.points] == [
        {"case": "as it is", "contacts": "trace"},
        {"case": "sprayed", "contacts": "trace", "parameters.copies": 2},
        {"case": "sprayed", "contacts": "trace", "parameters.copies": 4},
        {"case": "made up", "contacts": "waypoint"},
    ]
    assert [point.settings["parameters"] for point in study.points][1] == {"buffer": 10, "copies": 2}
    assert study.points[3].source.label == "waypoint"
    assert study.points[3].settings["workload"] == {"messages": 20, "ttl": 30}


def test_contacts_that_differ_are_axes(folder: Path) -> None:
    def axes(text: str) -> list[dict[str, object]]:
        return [point.axes for point in read_study(plan(folder, text)).points]

    world = "[[world]]\nname = 'waypoint'\nduration = 60\n"
    assert axes(world) == [{}]
    assert axes(world + "nodes = [5, 6]\n") == [{"world.nodes": 5}, {"world.nodes": 6}]
    assert axes(world + "nodes = [5, 6]\n[[world]]\nname = 'slaw'\n") == [
        {"contacts": "waypoint", "world.duration": 60, "world.nodes": 5},
        {"contacts": "waypoint", "world.duration": 60, "world.nodes": 6},
        {"contacts": "slaw"},
    ]
    # Where only the seeds differ, contacts are told apart by their labels.
    assert axes(world + "seed = [1, 2]\n") == [{"contacts": "waypoint seed=1"}, {"contacts": "waypoint seed=2"}]
    # Worlds of two cases differ as those of one grid do.
    cases = "[[case]]\nname = '{0}'\nworld = {{name = 'waypoint', nodes = {0}}}\n"
    assert axes(cases.format(5) + cases.format(6)) == [
        {"case": "5", "world.nodes": 5},
        {"case": "6", "world.nodes": 6},
    ]
    write_contacts(Contacts.from_records([("x", "y", 0, 1)]), folder / "b" / "trace.csv")
    two = "contacts = ['trace.csv', 'b/trace.csv']"
    assert axes(two) == [{"contacts": "trace (0)"}, {"contacts": "trace (1)"}]
    assert [point.source.label for point in read_study(plan(folder, two)).points] == ["trace (0)", "trace (1)"]


def test_repetitions_share_their_seed_and_are_spawned_by_position(folder: Path) -> None:
    few = read_study(plan(folder, SMALL))
    more = read_study(plan(folder, SMALL.replace("repetitions = 3", "repetitions = 5")))
    assert more.seeds[:3] == few.seeds
    assert len(set(more.seeds)) == 5
    for repetition in range(3):
        assert len({run.seed for run in few.runs() if run.repetition == repetition}) == 1
    assert few.identity == more.identity, "more repetitions continue the same study"


def test_a_study_from_start_to_end(spark: SparkSession, folder: Path) -> None:
    study, out = read_study(plan(folder, SMALL)), folder / "out"
    seen: list[tuple[int, int]] = []
    done = run_study(spark, study, out, lambda *counts: seen.append(counts))
    assert (done.runs, done.skipped, done.failed) == (9, 0, [])
    assert all(total == 9 for _, total in seen)
    # Each run is what hunet.run gives.
    table = ds.dataset(out / "runs", partitioning="hive").to_table().to_pylist()
    assert len(table) == 9
    from hunet.model.contact_files import read_contacts

    contacts = read_contacts(folder / "trace.csv")
    for row in table:
        copies = json.loads(row["axes"]).get("parameters.copies")
        given = {} if copies is None else {"copies": copies}
        workload = make_workload(contacts, row["seed"], messages=10, topics=2)
        expected = run(contacts, workload, row["protocol"], seed=row["seed"], **given).summary
        for metric in ("delivered", "relayed", "latency_avg", "control_bytes"):
            assert row[metric] == expected[metric]
    # The summary has the mean and Student's interval of each point.
    summary = pq.read_table(out / "summary.parquet").to_pylist()
    assert [(row["protocol"], row["parameters.copies"], row["runs"]) for row in summary] == [
        ("push", None, 3),
        ("spray-and-wait", 1, 3),
        ("spray-and-wait", 4, 3),
    ]
    values = [row["delivery_ratio"] for row in table if row["protocol"] == "push"]
    assert summary[0]["delivery_ratio_mean"] == pytest.approx(statistics.mean(values))
    half = 4.30265 * statistics.stdev(values) / math.sqrt(3)
    assert summary[0]["delivery_ratio_ci95"] == pytest.approx(half, rel=1e-5)
    first = contents(out)
    assert not [name for name in first if "partial" in name]
    # Again: nothing is done. With some results gone: they are done again, to the same bytes.
    assert run_study(spark, study, out).skipped == 9
    for path in list((out / "runs").rglob("*.parquet"))[:4]:
        path.unlink()
    (out / "summary.csv").unlink()
    assert run_study(spark, study, out).skipped == 5
    assert contents(out) == first
    # More repetitions: those that are there stay.
    longer = read_study(plan(folder, SMALL.replace("repetitions = 3", "repetitions = 4")))
    again = run_study(spark, longer, out)
    assert (again.runs, again.skipped) == (12, 9)
    # Another study does not touch it.
    other = read_study(plan(folder, SMALL.replace("messages = 10", "messages = 11")))
    before = contents(out)
    with pytest.raises(OutputError, match="belongs to another study"):
        run_study(spark, other, out)
    assert contents(out) == before


def test_a_failed_run_stops_nobody(spark: SparkSession, folder: Path) -> None:
    text = SMALL.replace("topics = 2", "topics = 2\ninterests = [1, 5]")
    study, out = read_study(plan(folder, text)), folder / "out"
    done = run_study(spark, study, out)
    assert done.runs == 18
    assert len(done.failed) == 9
    assert "interests (5) cannot exceed topics (2)" in done.failed[0]
    summary = pq.read_table(out / "summary.parquet").to_pylist()
    assert {(row["workload.interests"], row["runs"], row["failed"]) for row in summary} == {(1, 3, 0), (5, 0, 3)}
    failures = ds.dataset(out / "failed", partitioning="hive").to_table().to_pylist()
    assert all("cannot exceed" in row["error"] for row in failures)
    again = run_study(spark, study, out)
    assert (again.skipped, len(again.failed)) == (9, 9), "what failed is tried again"


def test_worlds_and_tables(spark: SparkSession, folder: Path) -> None:
    text = """
    repetitions = 2
    tables = true
    [workload]
    messages = 5
    [[world]]
    name = "waypoint"
    nodes = [8, 12]
    duration = 300
    """
    study, out = read_study(plan(folder, text)), folder / "out"
    assert run_study(spark, study, out).failed == []
    kept = [path for path in (out / "tables").iterdir() if (path / "deliveries.parquet").exists()]
    assert len(kept) == 4
    labels = pq.read_table(out / "summary.parquet").column("contacts").to_pylist()
    assert labels == ["waypoint nodes=8", "waypoint nodes=12"]


@pytest.mark.slow
def test_a_run_that_ends_its_process_fails_alone(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = read_study(plan(folder, SMALL.replace("repetitions = 3", "repetitions = 20")))
    victim, whole = study.runs()[30].key, studies._do_task

    def deadly(runs: list[Run], archive: str) -> Iterator[TaskOutcome]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() < ATTEMPTS - 1 and victim in [run.key for run in runs]:
            os._exit(1)
        yield from whole(runs, archive)

    monkeypatch.setattr(studies, "_do_task", deadly)
    done = run_study(spark, study, folder / "out")
    assert [failure.split(": ")[:2] for failure in done.failed] == [[victim, "the process that ran it died 3 times"]]
    assert len(list((folder / "out").glob("runs/*/*.parquet"))) == 59
    monkeypatch.undo()
    again = run_study(spark, study, folder / "out")
    assert (again.skipped, again.failed) == (59, [])
    assert not list((folder / "out").glob("failed/*/*"))


@pytest.mark.slow
def test_a_study_at_a_uri(spark: SparkSession, folder: Path) -> None:
    """Rows, summary and resuming as in a folder; a copy of it is a folder for reports."""
    spark.conf.set("fs.viewfs.mounttable.studies.link./store", folder.as_uri())
    text = SMALL.replace("topics = 2", "topics = 2\ninterests = [1, 5]")
    study, uri = read_study(plan(folder, text)), "viewfs://studies/store/there"
    here, there = run_study(spark, study, folder / "here"), run_study(spark, study, uri)
    assert (there.runs, there.skipped, there.failed) == (18, 0, here.failed)
    assert there.summary.to_pylist() == here.summary.to_pylist()
    assert read_runs(folder / "there") == read_runs(folder / "here")
    assert pq.read_table(folder / "there" / "summary.parquet").to_pylist() == here.summary.to_pylist()
    again = run_study(spark, study, uri)
    assert (again.skipped, len(again.failed)) == (9, 9)
    assert again.summary.to_pylist() == here.summary.to_pylist()
    runs = runs_of(spark, uri)
    assert runs is not None
    assert runs.count() == 18
    with pytest.raises(OutputError, match="belongs to another study"):
        run_study(spark, read_study(plan(folder, SMALL)), uri)
    with pytest.raises(ConfigurationError, match="tables = true needs a folder of this machine"):
        run_study(spark, read_study(plan(folder, f"tables = true\n{SMALL}")), uri)


CLIENT = """
import sys
from pathlib import Path
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study
done = run_study(spark, read_study(Path(sys.argv[1])), Path(sys.argv[2]))
print(done.runs, done.failed)
"""


@pytest.mark.slow
def test_a_study_on_spark_connect(spark: SparkSession, connect_server: Connect, folder: Path) -> None:
    """The trace travels to the server, and the results come back from it."""
    path = plan(folder, SMALL)
    run_study(spark, read_study(path), folder / "here")
    assert connect_server.run(CLIENT, path, folder / "there") == "9 []\n"
    assert contents(folder / "there") == contents(folder / "here")


DRIVER = """
import sys
from pathlib import Path
from hunet.pipeline.session import spark_session
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study
run_study(spark_session("local[2]", memory="512m"), read_study(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_study_goes_on(spark: SparkSession, folder: Path, how: signal.Signals) -> None:
    """Ctrl-C or kill -9 in the middle: no half-written result, and the same command ends it."""
    text = SMALL.replace("messages = 10", "messages = [10, 20]").replace("repetitions = 3", "repetitions = 8")
    path, out = plan(folder, text), folder / "out"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(path), str(out)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        | {"TMPDIR": str(folder)},
    )
    some = threading.Event()
    while driver.poll() is None and not some.wait(0.02):
        if len(list(out.glob("runs/*/*.parquet"))) >= 2:
            some.set()
    assert driver.poll() is None, "the study ended before it could be stopped"
    if how == signal.SIGKILL:
        os.killpg(driver.pid, how)  # the whole group, as a machine that loses its power
    else:
        driver.send_signal(how)
    _, err = driver.communicate(timeout=60)
    if how == signal.SIGINT:
        assert "KeyboardInterrupt" in err
        assert not list(out.rglob("*.partial"))
    there = len(list(out.glob("runs/*/*.parquet")))
    study = read_study(path)
    assert 2 <= there < len(study.runs())
    done = run_study(spark, study, out)
    assert (done.runs, done.failed) == (48, [])
    assert done.skipped >= there
    assert not list(out.rglob("*.partial"))
    run_study(spark, study, folder / "whole")
    assert contents(out) == contents(folder / "whole")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("contacts = 'no.csv'", "no such file"),
        ("protocols = ['push']", "no key 'protocols': did you mean 'protocol'?"),
        ("contacts = 'trace.csv'\nprotocol = 'pusch'", "no protocol 'pusch'"),
        ("contacts = 'trace.csv'\n[parameters]\nbufer = 3", "push has no parameter 'bufer'"),
        ("contacts = 'trace.csv'\n[parameters.pul]\nbuffer = 3", "no such protocol"),
        ("contacts = 'trace.csv'\n[workload]\nttl = {from = 1}", "a range is"),
        ("contacts = 'trace.csv'\nprotocol = ['push', 'push']", "names a value twice"),
        ("contacts = 'trace.csv'\nprotocol = []", "an empty list"),
        ("contacts = 'trace.csv'\nseeds = [1, 1]", "names a value twice"),
        ("contacts = 'trace.csv'\nrepetitions = 0", "at least 1"),
        ("[[world]]\nname = 'moon'", "no world 'moon'"),
        ("[[world]]\nname = 'slaw'\nnodez = 3", "has no parameter 'nodez'"),
        ("contacts = 'trace.csv'\n[case]\nname = 'a'", "write each case as a table"),
        ("contacts = 'trace.csv'\n[[case]]\nprotocol = 'pull'", "every [[case]] needs a name of its own"),
        ("contacts = 'trace.csv'\n[[case]]\nname = 'a'\nseed = 3", "case 'a': no key 'seed'"),
        ("contacts = 'trace.csv'\n[[case]]\nname = 'a'\n[[case]]\nname = 'b'", "'a' and 'b' are the same: drop one"),
        ("protocol = 'push'", "give contacts = ... or a [[world]]"),
        ("contacts =", "is not TOML"),
    ],
)
def test_a_wrong_plan_is_refused(folder: Path, text: str, problem: str) -> None:
    with pytest.raises(HunetError, match=problem.replace("[", r"\[").replace("?", r"\?")):
        read_study(plan(folder, text))


def test_a_missing_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_study(tmp_path / "nowhere.toml")


def test_intervals() -> None:
    assert Interval.of([]).runs == 0
    assert Interval.of([None, 2.0]) == (2.0, None, 1)
    mean, half, _ = Interval.of([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)
    assert student_t(1000) == pytest.approx(1.96234, abs=1e-5)
