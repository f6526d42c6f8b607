"""A trace that is kept up to date while logs come in: at any time what an import of the same records would be."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from hunet.model import ConfigurationError, InputError, OutputError
from hunet.model.contact_files import read_contacts
from hunet.pipeline.analysis import open_trace
from hunet.pipeline.following import Follow, adder
from hunet.pipeline.importing import ImportSettings, import_trace
from hunet.pipeline.statistics import trace_statistics
from hunet.pipeline.traces import measure_contacts, read_trace
from tests.pipeline.test_interrupt import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.conftest import Answer
    from tests.pipeline.conftest import Connect

HEADER = "a,b,start,end\n"
SETTINGS = ImportSettings(gap=30.0, extend=2.0, internal="1-8", reversed="repair")
DIFFERENT = {"kind", "input", "settings", "about"}
"""What an import says of itself and not of the records."""


def put(folder: Path, number: int, lines: str, header: str = HEADER) -> None:
    """Let a log arrive, complete, and later than those before it."""
    aside = folder.parent / f".{number}"
    aside.write_bytes((header + lines).encode(errors="surrogateescape"))
    os.utime(aside, (1_000_000 + number,) * 2)
    folder.mkdir(exist_ok=True)
    aside.rename(folder / f"{number}.csv")


def logs(many: int) -> list[str]:
    """Sightings of eight nodes and another, nearly in order, with duplicates, instants and dirt, in several files."""
    coins = random.Random(5)
    rows = []
    for moment in range(0, 200 * many, 5):
        a, b = coins.sample(range(1, 10), 2)
        start = 1_700_000_000 + moment + coins.randrange(-60, 60)
        rows.append((start + coins.random() * 200, f"{a},{b},{start},{start + coins.choice((-3, 0, 20, 90))}\n"))
    rows += [(moment + coins.random() * 100, row) for moment, row in rows[::6]]
    lines = [row for _, row in sorted(rows)]
    cut = -(-len(lines) // many)
    return ["".join(lines[cut * i : cut * (i + 1)]) + "3,4,soon,5\n3,3,7,9\n" for i in range(many)]


def follow(spark: SparkSession, folder: object, out: object, settings: ImportSettings, **more: Any) -> dict[str, Any]:
    heard: list[dict[str, Any]] = []
    said = Follow(str(folder), str(out), settings, **more).run(spark, once=True, every=1.0, report=heard.append)
    assert said is not None
    if heard:
        assert heard[-1] == said
    return said


def assert_same(followed: dict[str, Any], imported: dict[str, Any]) -> None:
    assert {key: followed[key] for key in imported.keys() - DIFFERENT} == {
        key: imported[key] for key in imported.keys() - DIFFERENT
    }


@pytest.mark.slow
def test_after_each_batch_as_an_import_of_all(spark: SparkSession, tmp_path: Path) -> None:
    """Three batches, the last after a restart; contacts of earlier batches are closed meanwhile, others go on."""
    inbox, out = tmp_path / "in", tmp_path / "out"
    first, second, third = logs(3)
    put(inbox, 0, first)
    put(inbox, 1, second)
    (inbox / "README").write_text("not a log")
    (inbox / "empty.csv").touch()
    follow(spark, inbox, out, SETTINGS, late=250.0, most=1)
    (inbox / "empty.csv").unlink()
    two = json.loads((out / "trace.json").read_text())
    assert_same(two, import_trace(spark, inbox, tmp_path / "two", SETTINGS))
    put(inbox, 2, third)
    said = follow(spark, inbox, out, SETTINGS, late=250.0)
    wanted = import_trace(spark, inbox, tmp_path / "three", SETTINGS)
    assert_same(said, wanted)
    assert 0 < said["open"] < said["contacts"]
    assert said["out_of_order"] > two["out_of_order"] > 0
    assert said["fates"]["duplicate"] > 5
    # Whoever reads it reads the same, and nothing of a batch that has not come to its end.
    for table in ("contacts", "nodes"):  # of which there is a part
        shutil.copytree(out / f"{table}.parquet" / "batch=0", out / f"{table}.parquet" / "batch=99")
    assert list(read_contacts(out).records()) == list(read_contacts(tmp_path / "three").records())
    assert read_contacts(out).fingerprint == wanted["fingerprint"]
    assert measure_contacts(open_trace(spark, out).contacts).hashes[0] == wanted["contacts"]
    assert trace_statistics(out) == trace_statistics(tmp_path / "three")

    def rejected(trace: Path) -> list[tuple[Any, ...]]:
        rows = spark.read.parquet(str(trace / "rejected.parquet")).where("reason != 'duplicate'")
        return sorted(tuple(row) for row in rows.select("file", "line", "reason", "detail").collect())

    assert rejected(out) == rejected(tmp_path / "three"), "with file and line"
    # Killed after the last word of a batch and before Spark knows: done again, to the same.
    last = max((out / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink()
    assert follow(spark, inbox, out, SETTINGS, late=250.0) == said


@pytest.mark.slow
def test_what_comes_too_late_is_kept_apart(spark: SparkSession, tmp_path: Path) -> None:
    """And what is in time is joined with what was there, also where a name is no text."""
    inbox, out = tmp_path / "in", tmp_path / "out"
    put(inbox, 0, "ann,bob,1000,1100\nbob,eve\udcff,1500,1600\n")
    follow(spark, inbox, out, ImportSettings(), late=300.0)
    put(inbox, 1, "ann,bob,1199.5,1300\nbob,eve\udcff,1200,1550\n")
    said = follow(spark, inbox, out, ImportSettings(), late=300.0)
    assert (said["fates"], said["out_of_order"], said["records"]) == ({"kept": 3, "late": 1}, 1, 4)
    assert list(read_contacts(out).records()) == [("ann", "bob", 1000.0, 1100.0), ("bob", "eve\ufffd", 1200.0, 1600.0)]
    (late,) = pq.ParquetFile(next((out / "rejected.parquet" / "batch=1").glob("*.parquet"))).read().to_pylist()
    assert (late["file"], late["line"], late["reason"]) == (str(inbox / "1.csv"), 2, "late")


@pytest.mark.slow
def test_from_a_uri_to_a_uri(spark: SparkSession, store: str, tmp_path: Path) -> None:
    inbox = tmp_path / "store" / "in"
    for number, text in enumerate(logs(2)):
        put(inbox, number, text)
    said = follow(spark, f"{store}/in", f"{store}/out", SETTINGS, most=1)
    assert_same(said, import_trace(spark, f"{store}/in", f"{store}/wanted", SETTINGS))
    assert read_trace(f"{store}/out", spark).fingerprint == said["fingerprint"]
    with pytest.raises(OutputError, match="holds another trace that is followed"):
        follow(spark, f"{store}/in", f"{store}/out", ImportSettings())


@pytest.mark.slow
def test_what_cannot_be_followed(spark: SparkSession, tmp_path: Path) -> None:
    inbox, out = tmp_path / "in", tmp_path / "out"
    with pytest.raises(InputError, match="no such folder"):
        Follow(str(inbox), str(out), ImportSettings())
    inbox.mkdir()
    for name in ("one", "positions", "roster"):
        with pytest.raises(ConfigurationError, match=f"'{name}' cannot be followed"):
            Follow(str(inbox), str(out), ImportSettings(format=name))
    with pytest.raises(ConfigurationError, match="--internal scanners"):
        Follow(str(inbox), str(out), ImportSettings(format="haggle"))
    with pytest.raises(ConfigurationError, match="lies in the folder that is followed"):
        Follow(str(inbox), str(inbox / "out"), ImportSettings())
    (tmp_path / "a link").symlink_to(inbox)
    with pytest.raises(ConfigurationError, match="lies in the folder that is followed"):
        Follow(str(inbox), str(tmp_path / "a link" / "out"), ImportSettings())
    with pytest.raises(ConfigurationError, match="--late -1: give 0 or more"):
        Follow(str(inbox), str(out), ImportSettings(), late=-1)
    # A file that is no log stops it; when it is gone, the same command goes on.
    put(inbox, 0, "ann,bob,1,2\n")
    put(inbox, 1, "tell me", header="")
    with pytest.raises(InputError, match=r"1\.csv, line 1: is not in the format 'csv'"):
        follow(spark, inbox, out, ImportSettings(format="csv"))
    (inbox / "1.csv").unlink()
    assert follow(spark, inbox, out, ImportSettings(format="csv"))["contacts"] == 1
    with pytest.raises(OutputError, match=r"holds another trace that is followed .* 'late' differs"):
        Follow(str(inbox), str(out), ImportSettings(format="csv"), late=5.0)
    with pytest.raises(OutputError, match="holds something else than an import"):
        import_trace(spark, inbox, out)


@pytest.mark.slow
def test_the_command(spark: SparkSession, hunet: Callable[..., Answer], tmp_path: Path) -> None:
    inbox, out = tmp_path / "in", tmp_path / "the trace"
    put(inbox, 0, "ann,bob,1,2\n")
    named = inbox / ".." / "a link"
    named.symlink_to(inbox)
    told = hunet("trace", "follow", named, "-o", out, "--once")
    assert (told.status, told.err) == (0, "")
    assert told.out == "batch 0: 1 files, 1 records (1 kept); 2 nodes, 1 contacts, 1 of them open\n"
    put(inbox, 1, "ann,eve,1,2\n")
    told = hunet("trace", "follow", named, "-o", out, "--once", "--json")
    assert (told.status, told.json["contacts"], told.json["files"]) == (0, 2, 2)
    told = hunet("trace", "follow", named, "-o", out, "--once", "--gap", 5)
    assert (told.status, told.out) == (1, "")
    assert "holds another trace that is followed" in told.err
    assert list(read_contacts(out).records()) == [("ann", "bob", 1.0, 2.0), ("ann", "eve", 1.0, 2.0)]
    put(inbox, 2, "tell me", header="")
    told = hunet("trace", "follow", named, "-o", out, "--once")
    assert told.err.startswith(f"hunet: {named / '2.csv'}, line 1: is not in the format 'csv'")
    assert told.err.count("\n") == 1


@pytest.mark.slow
def test_messages_of_kafka(spark: SparkSession, hunet: Callable[..., Answer], tmp_path: Path) -> None:
    """Without the connector one line says so; a batch as the connector gives it becomes a trace."""
    out = tmp_path / "out"
    told = hunet("trace", "follow", "--kafka", "localhost:1", "--topic", "met", "-o", out, "--once")
    assert told.status == 1
    assert told.err.startswith("hunet: --kafka localhost:1: this Spark has no connector for Kafka")
    assert told.err.count("\n") == 1
    told = hunet("trace", "follow", "--kafka", "localhost:1", "-o", out)
    assert "give --kafka HOST:PORT and --topic NAME" in told.err
    lines = ['{"device": "ann", "met": "bob", "start": 5, "end": 9}', "{broken", '{"device": "bob", "met": "ann"', ""]
    values = [(0, offset, line.encode()) for offset, line in enumerate(lines, 7)]
    values.append((1, 7, b'{"device": "bob", "met": "ann", "start": 8, "end": 12}'))
    found = spark.createDataFrame(values, "partition int, offset bigint, value binary")
    adder(asdict(Follow("met", str(out), ImportSettings(), kafka="localhost:1")))(found, 0)
    assert list(read_contacts(out).records()) == [("ann", "bob", 5.0, 12.0)]
    rows = spark.read.parquet(str(out / "rejected.parquet")).orderBy("line").collect()
    assert [(row["file"], row["line"], row["reason"]) for row in rows] == [
        ("met/0", 8, "unreadable"),
        ("met/0", 9, "unreadable"),
    ]


ON_CONNECT = """
import sys
from hunet.pipeline.following import Follow
from hunet.pipeline.importing import ImportSettings
place, told = f"file://{sys.argv[1]}", []
with spark_errors():
    said = Follow(f"{place}/in", f"{place}/out", ImportSettings()).run(spark, once=True, every=1.0, report=told.append)
print(said["fingerprint"], told == [said])
"""


@pytest.mark.slow
def test_on_spark_connect(spark: SparkSession, connect_server: Connect, tmp_path: Path) -> None:
    """Where the server's Python has no hunet."""
    put(tmp_path / "in", 0, "ann,bob,1,2\nann,eve,1,5\n")
    wanted = import_trace(spark, tmp_path / "in", tmp_path / "wanted")
    assert connect_server.run(ON_CONNECT, tmp_path).split() == [wanted["fingerprint"], "True"]


def start(inbox: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    words = ["trace", "follow", str(inbox), "-o", str(out), "--every", "0", "--memory", "512m", *more]
    words += ["--gap", "30", "--extend", "2", "--internal", "1-8", "--reversed", "repair", "--late", "250"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(event: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not event():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


@pytest.mark.slow
def test_killed_ten_times_in_the_middle(spark: SparkSession, tmp_path: Path) -> None:
    """With kill -9, each time at another point of a batch, while logs go on to arrive."""
    inbox, out = tmp_path / "in", tmp_path / "out"
    moments = [
        "checkpoint/offsets/0",
        "rejected.parquet/batch=0",
        "contacts.parquet/batch=0/_SUCCESS",
        "carried.parquet/slot=0",
        "trace.json",
        "checkpoint/offsets/1",
        "nodes.parquet/batch=1/_SUCCESS",
        "contacts.parquet/batch=1",
        "open.parquet/slot=1/_SUCCESS",
        "state/1.json",
    ]
    for number, (moment, text) in enumerate(zip(moments, logs(len(moments)), strict=True)):
        put(inbox, number, text)
        process = start(inbox, out)
        wait_for((out / moment).exists, process)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    process = start(inbox, out, "--once")
    told, problem = process.communicate()
    assert (process.returncode, problem) == (0, ""), told
    said = json.loads((out / "trace.json").read_text())
    wanted = import_trace(spark, inbox, tmp_path / "wanted", SETTINGS)
    assert_same(said, wanted)
    assert list(read_contacts(out).records()) == list(read_contacts(tmp_path / "wanted").records())
    assert read_contacts(out).fingerprint == wanted["fingerprint"]


@pytest.mark.slow
def test_ctrl_c_gives_one_line(tmp_path: Path) -> None:
    inbox, out = tmp_path / "in", tmp_path / "out"
    put(inbox, 0, logs(2)[0])
    process = start(inbox, out)
    wait_for((out / "trace.json").exists, process)
    whole = read_contacts(out).fingerprint
    put(inbox, 1, logs(2)[1])
    wait_for((out / "checkpoint" / "offsets" / "1").exists, process)
    process.send_signal(signal.SIGINT)
    _, problem = process.communicate()
    assert (process.returncode, problem) == (130, "hunet: interrupted; nothing was left half-written\n")
    said = json.loads((out / "trace.json").read_text())
    assert said["fingerprint"] == read_contacts(out).fingerprint
    assert said["batch"] == 1 or said["fingerprint"] == whole
