"""A real cluster whose workers see no folder of the driver. The same results as locally, crash or not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

import hunet
from hunet import Contacts, write_contacts
from hunet.pipeline.analysis import analyse_graph, analyse_pairs, open_trace
from hunet.pipeline.importing import import_trace
from hunet.pipeline.pairs import PairSettings
from hunet.pipeline.social_graph import GraphSettings
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study
from tests.pipeline.conftest import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

STUDY = """
contacts = ["trace.csv", "viewfs://hunet/store/trace"]
protocol = ["push", "pull"]
repetitions = 8
[parameters]
buffer = [5, 50]
[workload]
kind = "communities"
members = "members.txt"
start = 100
until = 400
[[world]]
name = "waypoint"
nodes = 30
duration = 900
"""

DRIVER = """
import sys
from pathlib import Path
from hunet.pipeline.session import spark_session
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study
from tests.pipeline.test_cluster import mount, stages

master, store, plan, *places = sys.argv[1:]

def where(batches):
    import hunet
    import pyarrow as pa
    from pathlib import Path
    for batch in batches:
        seen = f"{hunet.__file__} {Path(plan).exists()}"
        yield pa.RecordBatch.from_arrays([pa.array([seen])], names=["seen"])

spark = spark_session(master, memory="600m", options={"spark.executor.cores": "1", "spark.sql.shuffle.partitions": "2"})
mount(spark, Path(store))
stages(spark, "viewfs://hunet/store")
for place in places:
    done = run_study(spark, read_study(Path(plan)), place)
    print(done.runs, done.failed)
print("workers:", spark.range(0, 1, 1, 1).mapInArrow(where, "seen string").first()["seen"])
"""


def meetings(step: int) -> Contacts:
    met = ((str(i % 9), str((i * step + 2) % 9), 10.0 * i, 10.0 * i + 25) for i in range(60))
    return Contacts.from_records([each for each in met if each[0] != each[1]])


def mount(spark: SparkSession, store: Path) -> None:
    """Let Spark, and nothing else, know the folder as viewfs://hunet/store."""
    spark.conf.set("fs.viewfs.mounttable.hunet.link./store", store.as_uri())


def stages(spark: SparkSession, store: str) -> None:
    """Import the log in the store, then measure its pairs and its graph."""
    import_trace(spark, f"{store}/log.csv", f"{store}/trace")
    trace = open_trace(spark, f"{store}/trace")
    analyse_pairs(trace, f"{store}/pairs", PairSettings(trace.span))
    analyse_graph(trace, f"{store}/graph", GraphSettings(trace.span))


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver's folder, with a study and what it reads."""
    folder = tmp_path_factory.mktemp("driver")
    write_contacts(meetings(5), folder / "trace.csv")
    (folder / "members.txt").write_text("".join(f"{node} {node % 3}\n" for node in range(30)))
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def cluster(mine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    installed = urlsplit(json.loads(distribution("hunet").read_text("direct_url.json") or "{}").get("url", "")).path
    sources = {Path(hunet.__file__).parents[1], Path(installed or "/nowhere") / "src"}
    made = Cluster(
        tmp_path_factory.mktemp("cluster"), workers=2, hidden=[mine, *(path for path in sources if path.is_dir())]
    )
    print("the driver's folders are hidden from the workers by", made.isolation)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def driver(cluster: Cluster, mine: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A driver in a process of its own: it must not share the Java of this one."""
    write_contacts(meetings(4), tmp_path / "log.csv")
    packages = (Path(__file__).parents[2], Path(hunet.__file__).parents[1])
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    given = [cluster.url, tmp_path, mine / "study.toml", mine / "out", "viewfs://hunet/store/out"]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", DRIVER, *map(str, given)],
        env=environment | {"TMPDIR": str(mine), "PYTHONPATH": os.pathsep.join(map(str, packages))},
        cwd=mine,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows(table: Path) -> list[dict[str, Any]]:
    return sorted(pq.read_table(table).to_pylist(), key=str)


@pytest.mark.slow
def test_a_study_with_a_killed_worker(
    spark: SparkSession, cluster: Cluster, driver: subprocess.Popen[str], mine: Path, tmp_path: Path
) -> None:
    """Import, pairs, graph, and a study of which one worker and its executor see half: the same as locally."""
    some = threading.Event()
    while driver.poll() is None and not some.wait(0.05):
        if len(list((mine / "out").glob("runs/*/*.parquet"))) >= 3:
            some.set()
    assert driver.poll() is None, f"the study ended before the worker could be killed: {driver.communicate()}"
    cluster.kill(cluster.workers.pop())
    told, err = driver.communicate(timeout=240)
    assert (driver.returncode, err) == (0, ""), "Spark is quiet"
    package, seen = told.split("workers: ")[1].split()
    assert "hunet.zip" in package, "executors use the package that was sent to them"
    assert seen == "False", "what the driver reads does not exist for executors"
    assert told.startswith("96 []\n96 []\n")
    # At the URI there are the tables that are made locally.
    local = mine / "store"
    local.mkdir()
    shutil.copy(tmp_path / "log.csv", local)
    stages(spark, str(local))
    for table in ("trace/contacts", "trace/nodes", "trace/rejected", "pairs/pairs", "pairs/laws", "graph/edges"):
        assert rows(tmp_path / f"{table}.parquet") == rows(local / f"{table}.parquet"), table
    mount(spark, tmp_path)
    here = run_study(spark, read_study(mine / "study.toml"), mine / "local")
    assert (here.runs, here.failed) == (96, [])
    assert contents(mine / "out") == contents(mine / "local")
    for table in ("runs", "summary.parquet"):
        assert rows(tmp_path / "out" / table) == rows(mine / "local" / table)
