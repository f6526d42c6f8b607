"""A real cluster: a master and two workers as processes of this machine. The same bytes as locally, crash or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.conftest import Cluster

STUDY = """
protocol = ["push", "pull"]
repetitions = 12
[parameters]
buffer = [5, 50]
[workload]
messages = 40
[[world]]
name = "waypoint"
nodes = 30
duration = 900
"""

LOG = "a,b,start,end\nann,bob,0,10\nbob,ann,5,20\nbob,eve,30,30\n"

DRIVER = """
import sys
from pathlib import Path
from hunet.pipeline.session import spark_session
from hunet.pipeline.importing import import_trace
from hunet.pipeline.studies import run_study
from hunet.pipeline.study_plan import read_study

master, source, out = sys.argv[1:]

def where(batches):
    import hunet
    import pyarrow as pa
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([hunet.__file__])], names=["file"])

spark = spark_session(master, memory="600m", options={"spark.executor.cores": "1"})
print(run_study(spark, read_study(Path(source)), Path(out)))
print("imported from", spark.range(0, 1, 1, 1).mapInArrow(where, "file string").first()["file"])
import_trace(spark, Path(out) / "log.csv", Path(out) / "imported")
"""


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """The study's file, and the bytes that it makes locally."""
    folder = tmp_path_factory.mktemp("local")
    plan = folder / "study.toml"
    plan.write_text(STUDY, encoding="utf-8")
    done = run_study(spark, read_study(plan), folder / "out")
    assert (done.runs, done.failed) == (48, [])
    return plan, contents(folder / "out")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def submit(cluster: Cluster, source: Path, out: Path) -> subprocess.Popen[str]:
    """A driver in a process of its own: it must not share the Java of this one."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", DRIVER, cluster.url, str(source), str(out)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(driver: subprocess.Popen[str]) -> str:
    out, err = driver.communicate(timeout=240)
    assert driver.returncode == 0, err
    assert err == "", "Spark is quiet"
    return out


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(cluster: Cluster, local: tuple[Path, dict[str, bytes]], tmp_path: Path) -> None:
    """One worker and its executor die when some runs are done; the study ends complete, with the same bytes."""
    plan, expected = local
    out = tmp_path / "out"
    driver = submit(cluster, plan, out)
    some = threading.Event()

    def look() -> None:
        while driver.poll() is None and not some.is_set():
            if len(list(out.glob("runs/*/*.parquet"))) >= 3:
                some.set()
            some.wait(0.05)

    watcher = threading.Thread(target=look)
    watcher.start()
    watcher.join()
    assert driver.poll() is None, "the study ended before the worker could be killed"
    (out / "log.csv").write_text(LOG, encoding="utf-8")  # what the driver reads when the study is over
    cluster.kill(cluster.workers.pop())
    told = finish(driver)
    assert "failed=[]" in told
    assert "hunet.zip" in told.split("imported from")[1], "executors use the package that was sent to them"
    (out / "log.csv").unlink()
    made = contents(out)
    assert json.loads(made.pop("imported/trace.json"))["contacts"] == 2
    assert {name: made.pop(name) for name in list(made) if name.startswith("imported/")}
    assert made == expected
