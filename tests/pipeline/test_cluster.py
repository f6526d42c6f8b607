"""A real cluster whose workers see no folder of the driver. The same results as locally, crash or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

import hunet
from hunet import Contacts, write_contacts
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study
from tests.pipeline.conftest import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

STUDY = """
contacts = "trace.csv"
protocol = ["push", "pull"]
repetitions = 12
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

master, store, plan, *places = sys.argv[1:]

def where(batches):
    import hunet
    import pyarrow as pa
    from pathlib import Path
    for batch in batches:
        seen = f"{hunet.__file__} {Path(plan).exists()}"
        yield pa.RecordBatch.from_arrays([pa.array([seen])], names=["seen"])

mount = {"spark.hadoop.fs.viewfs.mounttable.hunet.link./store": Path(store).as_uri()}
spark = spark_session(master, memory="600m", options={"spark.executor.cores": "1", **mount})
for place in places:
    done = run_study(spark, read_study(Path(plan)), place)
    print(done.runs, done.failed)
print("workers:", spark.range(0, 1, 1, 1).mapInArrow(where, "seen string").first()["seen"])
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver's folder, with a study and what it reads."""
    folder = tmp_path_factory.mktemp("driver")
    met = ((str(i % 9), str((i * 5 + 2) % 9), 10.0 * i, 10.0 * i + 25) for i in range(60))
    write_contacts(Contacts.from_records([each for each in met if each[0] != each[1]]), folder / "trace.csv")
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
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    given = [cluster.url, tmp_path, mine / "study.toml", mine / "out", "viewfs://hunet/store/out"]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", DRIVER, *map(str, given)],
        env=environment | {"TMPDIR": str(mine)},
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


@pytest.mark.slow
def test_a_study_with_a_killed_worker(
    spark: SparkSession, cluster: Cluster, driver: subprocess.Popen[str], mine: Path, tmp_path: Path
) -> None:
    """One worker and its executor die when some runs are done; the study ends complete, with the same bytes."""
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
    here = run_study(spark, read_study(mine / "study.toml"), mine / "local")
    assert (here.runs, here.failed) == (96, [])
    assert contents(mine / "out") == contents(mine / "local")
    # At the URI there are the same rows.
    store = tmp_path / "out"
    for table in ("runs", "summary.parquet"):
        rows = pq.read_table(store / table).to_pylist()
        expected = pq.read_table(mine / "local" / table).to_pylist()
        assert sorted(rows, key=str) == sorted(expected, key=str)
