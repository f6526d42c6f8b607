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
    from collections.abc import Iterator, Sequence

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
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """One session for all tests: starting one takes seconds."""
    from hunet.pipeline.session import spark_session, stop_spark

    # To compile each little plan takes longer than to run it. All but the quick tests run plans as users do.
    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    quick = request.config.getoption("-m") == "not slow"
    session = spark_session(
        "local[2]",
        memory="1g",  # enough for every trace here, and several test processes fit beside each other
        options=(interpreted if quick else {})
        | {
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


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> str:
    """A URI that Spark opens and nothing else does: what is behind it is a folder."""
    (tmp_path / "store").mkdir()
    name = f"s{abs(hash(tmp_path))}"
    spark.conf.set(f"fs.viewfs.mounttable.{name}.link./store", (tmp_path / "store").as_uri())
    return f"viewfs://{name}/store"


def spark_environment() -> dict[str, str]:
    """For programs of Spark's own on loopback: nothing of the session of this process."""
    from hunet.pipeline.java import find_java, java_home

    plain = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    home = str(java_home(find_java()))
    return plain | {"JAVA_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def start_spark_program(
    program: str, words: list[str], environment: dict[str, str], folder: Path, awaited: str, inside: Sequence[str] = ()
) -> tuple[subprocess.Popen[str], str]:
    """Start it in a process group of its own, and wait for the line of its log that says it is there.

    ``inside`` is a command that runs it, if any.
    """
    import pyspark

    process = subprocess.Popen(
        [*inside, Path(pyspark.__file__).parent / "bin" / program, *words],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if awaited in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never blocks
            return process, line
    raise AssertionError(f"{words} did not start:\n{''.join(seen)}")


class Cluster:
    """A standalone Spark cluster on loopback: a master and workers, each a process of its own.

    The folders of the driver do not exist for the workers: each has a mount namespace in which they are empty. Where
    that is not allowed, ``isolation`` says so, and their Python refuses to open them. With ``pinned`` all processes of
    a worker share one processor of the machine: a task of one core is a process of Java and one of Python, which
    otherwise take two.
    """

    def __init__(self, folder: Path, workers: int, hidden: list[Path], *, pinned: bool = False) -> None:
        self._folder = folder
        self._environment = spark_environment()
        self._environment.pop("PYTHONPATH", None)
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
                [*self._inside, *(["taskset", "--cpu-list", str(n)] if pinned else [])],
            )[0]
            for n in range(workers)
        ]

    def _start(
        self, kind: str, options: list[str], awaited: str, inside: Sequence[str] = ()
    ) -> tuple[subprocess.Popen[str], str]:
        """Start a part of the cluster, and wait for the line that says it is there."""
        words = [f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *options]
        process, line = start_spark_program("spark-class", words, self._environment, self._folder, awaited, inside)
        self._processes.append(process)
        return process, line

    def kill(self, process: subprocess.Popen[str]) -> None:
        """End a worker and its executor at once, as if the machine had gone."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Connect:
    """A Spark Connect server on loopback, whose Python has no hunet but what clients send."""

    def __init__(self, folder: Path) -> None:
        environment = spark_environment() | {"PYSPARK_PYTHON": str(_python_without_hunet(folder))}
        environment.pop("PYTHONPATH", None)
        settings = {
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(folder),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        words += ["--class", server, "spark-internal"]
        self._process, line = start_spark_program("spark-submit", words, environment, folder, _SERVER_STARTED)
        self.url = f"sc://{line.split(_SERVER_STARTED)[1].strip()}"

    def run(self, text: str, *words: object) -> str:
        """What a program prints that has a session there, as ``spark``: PySpark has one kind in a process."""
        begin = f"URL = {self.url!r}\nfrom hunet.pipeline.session import *\nspark = spark_session(URL)\n"
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", begin + text, *map(str, words)],
            env={key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_SERVER_STARTED = "Spark Connect server started at: "


def _python_without_hunet(folder: Path) -> Path:
    """This Python with all its packages but those that are installed from their sources, as hunet is here."""
    import sysconfig

    packages = os.pathsep.join(dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib")))
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    made = Connect(tmp_path_factory.mktemp("connect"))
    try:
        yield made
    finally:
        made.stop()
