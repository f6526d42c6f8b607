"""What the tests of the pipeline share: one Spark session, and a real cluster on this machine."""

from __future__ import annotations

import os
import shutil
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


HIDE = """
import os, sys
HIDDEN = tuple(os.environ["HUNET_TEST_HIDDEN"].split(os.pathsep))

def refuse(event, args):
    if event in ("open", "os.listdir", "os.scandir") and str(args[0]).startswith(HIDDEN):
        raise FileNotFoundError(2, "hidden from the workers", args[0])

sys.addaudithook(refuse)
"""
"""Where mounts are not allowed: what the Python of a worker is shown of the driver's folders."""


class Cluster:
    """A standalone Spark cluster on loopback: a master and workers, each a process of its own.

    The folders of the driver do not exist for the workers: each has a mount namespace in which they are empty. Where
    that is not allowed, ``isolation`` says so, and their Python refuses to open them.
    """

    def __init__(self, folder: Path, workers: int, hidden: list[Path]) -> None:
        from hunet.pipeline.java import find_java, java_home

        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in ("SPARK_LOCAL_DIRS", "PYTHONPATH")},
            "JAVA_HOME": str(java_home(find_java())),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        self._processes: list[subprocess.Popen[str]] = []
        _, found = self._start("master.Master", ["--port", "0", "--webui-port", "0"], "Starting Spark master at ")
        self.url = found.split("Starting Spark master at ")[1].strip()
        shell = 'while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 1; shift; done; shift; exec "$@"'
        inside = ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else []), "sh", "-c", shell, "sh"]
        self._inside = [*inside, *map(str, hidden), "--"]
        allowed = shutil.which("unshare") and not subprocess.call([*self._inside, "true"], stderr=subprocess.DEVNULL)
        self.isolation = "mount namespaces" if allowed else "an audit hook in Python: mounts are not allowed here"
        if not allowed:
            self._inside = []
            (folder / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
            self._environment |= {
                "PYTHONPATH": str(folder),
                "HUNET_TEST_HIDDEN": os.pathsep.join(map(str, hidden)),
            }
        options = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
        self.workers = [
            self._start(
                "worker.Worker",
                [*options, "--work-dir", str(folder / f"work-{n}"), self.url],
                "Successfully registered",
            )[0]
            for n in range(workers)
        ]

    def _start(self, kind: str, options: list[str], awaited: str) -> tuple[subprocess.Popen[str], str]:
        """Start a part of the cluster in a process group of its own, and wait for the line that says it is there."""
        import pyspark

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        inside = self._inside if kind == "worker.Worker" else []
        process = subprocess.Popen(
            [*inside, program, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *options],
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
