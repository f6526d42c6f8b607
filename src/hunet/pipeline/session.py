"""The Spark session: local by default, a cluster by its master's URL; quiet, and leaving nothing behind.

Everything that Spark would write beside the work (shuffle files, warehouse, artifacts, log settings) goes to one
temporary folder that is removed with the session. Executors of a cluster are sent this package as a zip file; they
need the same Python and the packages that hunet depends on, and see input and output under the same paths.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import tempfile
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hunet.model.errors import ConfigurationError, HunetError
from hunet.pipeline.java import SparkError, find_java, java_home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["DEFAULT_MEMORY", "SparkError", "cores", "spark_errors", "spark_session", "stop_spark"]

DEFAULT_MEMORY = "2g"
_SCRATCH: list[Path] = []
"""What the running session keeps on disk, to be removed with it."""
ATTEMPTS = 4
"""How often Spark tries a task before it gives up."""
_LEAST_MEMORY = 512
"""Megabytes of heap; with less Spark refuses to start, in other words."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANSWER_WITHIN = 5.0
# Spark reports by exceptions, which become our errors; its log would say the same again, at length.
# The appender is there because Spark brings its own settings where it finds none; the second logger because Spark's
# Python gateway otherwise sets another level and says so.
_LOG_SETTINGS = """rootLogger.level = off
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n
"""


def spark_session(
    master: str | None = None, *, memory: str = DEFAULT_MEMORY, options: dict[str, str] | None = None
) -> SparkSession:
    """Start Spark, or give the session that runs already.

    ``master`` is ``local[N]`` or a cluster's URL; without one, all cores of this machine are used. ``memory`` is the
    Java heap of the driver (which locally does all the work) and of each executor. ``options`` are Spark's own.
    """
    _hush()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if not re.fullmatch(r"\d+[mg]", memory):
        raise ConfigurationError(f"memory '{memory}': write a number with m or g, such as 512m or 4g")
    if int(memory[:-1]) * (1 if memory.endswith("m") else 1024) < _LEAST_MEMORY:
        raise ConfigurationError(f"memory '{memory}' is too little for Spark: give at least {_LEAST_MEMORY}m")
    master = _master(master)
    local = master.startswith("local")
    if master.startswith("spark://"):
        _reach(master)
    java = find_java(memory=memory)
    home = java_home(java)
    scratch = Path(tempfile.mkdtemp(prefix="hunet-spark-"))
    log = scratch / "log4j2.properties"
    log.write_text(_LOG_SETTINGS, encoding="utf-8")
    settings = _settings(local, memory, scratch, log)
    if local or (urlsplit(master).hostname or "") in _LOOPBACK:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ |= {"JAVA_HOME": str(home), "PYSPARK_PYTHON": python, "SPARK_LOCAL_DIRS": str(scratch)}
    builder = SparkSession.builder.master(master).appName("hunet")
    for name, value in (settings | (options or {})).items():
        builder = builder.config(name, value)
    try:
        with _elsewhere(scratch):
            session = builder.getOrCreate()
    except Exception as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise SparkError(
            f"Spark did not start at {master}: {first_line(error)} (Java {java.version} from {java.where}: {java.path})"
        ) from None
    _SCRATCH.append(scratch)
    atexit.register(stop_spark)
    if not local:
        session.sparkContext.addPyFile(str(_package_zip(scratch)))
    return session


def _hush() -> None:
    """PySpark warns of pandas 3 at every import; what is used here was tried with it and does not go through pandas."""
    import warnings

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def stop_spark() -> None:
    """End the session and its Java process, and remove what it kept on disk."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        with suppress(Exception):  # Java may have gone before; there is nothing left to stop then
            # Word of a lost executor that comes during the stop is printed past all loggers.
            jvm: Any = session.sparkContext._jvm
            java = jvm.java
            java.lang.System.setErr(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))
            session.stop()
    gateway = SparkContext._gateway
    if gateway is not None:  # the next session may need another heap, which Java takes at its start only
        with suppress(Exception):
            gateway.shutdown()
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            process.wait()
        SparkContext._gateway = None
        SparkContext._jvm = None
    while _SCRATCH:
        shutil.rmtree(_SCRATCH.pop(), ignore_errors=True)


def cores(spark: SparkSession) -> int:
    """How many tasks run at the same time."""
    return max(1, spark.sparkContext.defaultParallelism)


@contextmanager
def spark_errors(memory: str = DEFAULT_MEMORY) -> Iterator[None]:
    """Turn what Spark raises into one line that says what to do; our own errors pass."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except HunetError:
        raise
    except (PySparkException, Py4JError, ConnectionError) as error:
        text = str(error)
        ours = re.search(r"hunet\.[\w.]*(?:InputError|ConfigurationError|OutputError): (.+)", text)
        if ours:  # raised by our own code within a task
            raise SparkError(ours[1]) from None
        if "OutOfMemoryError" in text or "GC overhead" in text:
            raise SparkError(f"Spark ran out of memory with {memory}: give it more with --memory") from None
        if "No space left on device" in text:
            raise SparkError(f"no space left on the disk: Spark works in {tempfile.gettempdir()}") from None
        if isinstance(error, (Py4JError, ConnectionError)) and "Java server" in text + type(error).__name__:
            raise SparkError("Spark's Java process has gone: it may have been killed for its memory") from None
        raise SparkError(f"Spark failed: {first_line(error)}") from error


def _settings(local: bool, memory: str, scratch: Path, log: Path) -> dict[str, str]:
    java_options = (
        f"-Dlog4j2.configurationFile={log.as_uri()} -Dderby.system.home={scratch} -Djava.io.tmpdir={scratch} "
        "-XX:+UseParallelGC -XX:-UsePerfData"
    )
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.defaultJavaOptions": java_options,  # extraJavaOptions are left to the user
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.hunet.scratch": str(scratch),  # where we put what is not to last
        "spark.ui.enabled": "false",  # no port is opened
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.python.worker.reuse": "true",  # a worker keeps the trace that it has read
        "spark.task.maxFailures": str(ATTEMPTS),
        "spark.sql.parquet.compression.codec": "zstd",
    }
    if local:
        # Few partitions: a task costs more than the rows that a finer split would save.
        settings["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
    else:
        settings["spark.executor.memory"] = memory
    return settings


def _master(given: str | None) -> str:
    """The master's URL; a local one is told to try a failed task again, as clusters do."""
    master = given or "local[*]"
    if master == "local":
        master = "local[1]"
    threads = re.fullmatch(r"local\[(\d+|\*)\]", master)
    if threads:
        return f"local[{threads[1]},{ATTEMPTS}]"
    if not re.match(r"(local\[|spark://|yarn$|k8s://|local-cluster\[)", master):
        raise ConfigurationError(f"master '{master}': write local[N], spark://HOST:PORT, yarn or k8s://...")
    return master


def _reach(master: str) -> None:
    """Spark tries for a minute before it gives up on a master; a refused connection is known at once."""
    problems = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ConfigurationError(f"master '{master}': write spark://HOST:PORT")
        try:
            socket.create_connection((host, int(port)), _ANSWER_WITHIN).close()
        except OSError as error:
            problems.append(f"{address}: {error.strerror or error}")
        else:
            return
    raise SparkError(f"no Spark master answers ({'; '.join(problems)}): is it running, and is the address right?")


@contextmanager
def _elsewhere(folder: Path) -> Iterator[None]:
    """Start Java in a folder of its own: what it leaves in its working directory goes with that folder."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def _package_zip(scratch: Path) -> Path:
    """The package as executors import it, with its version, which the names of results tell."""
    import zipfile

    package = Path(__file__).parents[1]
    target = scratch / "hunet.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, Path("hunet") / path.relative_to(package))
        archive.writestr(
            f"hunet-{version('hunet')}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: hunet\nVersion: {version('hunet')}\n",
        )
    return target


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any("Traceback (most recent call last)" in line for line in lines):  # of Python's, what was raised
        raised = [line for line in lines if re.match(r"[\w.]+(?:Error|Exception)\b", line)]
        return raised[0][:300] if raised else lines[0][:300]
    for line in lines:  # of a Java stack trace, the cause is what is worth reading
        if line.startswith("Caused by:") or ("Exception:" in line and "Py4J" not in line):
            return line.removeprefix("Caused by:").strip()[:300].lstrip(": ")
    return lines[0][:300] if lines else type(error).__name__
