"""What the tests of the pipeline share: one Spark session, and a real cluster on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark warns of pandas 3 whenever a function goes to Python; sockets to Java close when Java does."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: starting one takes seconds."""
    from hunet.pipeline.session import spark_session, stop_spark

    session = spark_session(
        "local[2]",
        memory="1g",  # enough for every trace here, and several test processes fit beside each other
        options={
            "spark.sql.shuffle.partitions": "2",  # the tables are small: a task costs more than its rows
            "spark.default.parallelism": "2",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # no job lasts long enough to repay more
        },
    )
    yield session
    stop_spark()


class Cluster:
    """A standalone Spark cluster on loopback: a master and workers, each a process of its own."""

    def __init__(self, folder: Path, workers: int) -> None:
        from hunet.pipeline.java import find_java, java_home

        self._folder = folder
        self._environment = {
            **os.environ,
            "JAVA_HOME": str(java_home(find_java())),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(folder / "work"),
            "PYSPARK_PYTHON": sys.executable,
        }
        self._environment.pop("SPARK_LOCAL_DIRS", None)
        self._processes: list[subprocess.Popen[str]] = []
        master, found = self._start("master.Master", ["--port", "0", "--webui-port", "0"], "Starting Spark master at ")
        self.url = found.split("Starting Spark master at ")[1].strip()
        self.workers = [
            self._start(
                "worker.Worker",
                ["--cores", "1", "--memory", "1g", "--webui-port", "0", self.url],
                "Successfully registered",
            )[0]
            for _ in range(workers)
        ]
        del master

    def _start(self, kind: str, options: list[str], awaited: str) -> tuple[subprocess.Popen[str], str]:
        """Start a part of the cluster in a process group of its own, and wait for the line that says it is there."""
        import pyspark

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        process = subprocess.Popen(
            [program, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *options],
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._processes.append(process)
        assert process.stderr is not None
        seen = []
        for line in process.stderr:
            seen.append(line)
            if awaited in line:
                threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never blocks
                return process, line
        raise AssertionError(f"{kind} did not start:\n{''.join(seen)}")

    def kill(self, process: subprocess.Popen[str]) -> None:
        """End a worker and its executor at once, as if the machine had gone."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    try:
        yield made
    finally:
        made.stop()
