"""Classic Spark: a Java process of our own as driver, local or for a cluster; all that Spark Connect has not.

No other module uses ``sparkContext``, the Java gateway, RDDs or broadcast variables, so that everything else runs on
Spark Connect too. Java is started here and not by PySpark, because PySpark keeps no hold of a Java that is still
starting: Ctrl-C would leave it running.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from hunet.model.errors import ConfigurationError
from hunet.pipeline.class_archive import archive_of, make_in_background, use_archive
from hunet.pipeline.java import Java, SparkError, find_java, java_home, spark_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

ATTEMPTS = 4
"""How often Spark tries a task before it gives up."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANSWER_WITHIN = 5.0
_LOOK_EVERY = 0.2
_START_LOOK_EVERY = 0.02
_COUNTED_WITHIN = 1000
"""Milliseconds."""
_CONNECTION = "connection"
_GROUP = "spark.jobGroup.id"
SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # The largest there is stands for no limit: any other makes Spark measure the batch again at each row.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.parquet.compression.codec": "zstd",
    # Spark would be told of every call where in the program it stands: twice as many calls.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
"""What our jobs rely on, wherever they run."""
_SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",  # there is nothing to adapt, and every stage is planned anew
}
"""For a job of a few megabytes."""
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


class Wish(NamedTuple):
    """What a session should be."""

    master: str
    memory: str
    options: dict[str, str]
    """Spark's own options; they win over ours."""
    small: bool
    """The job is a matter of seconds: nothing that pays only later."""


def start(wish: Wish, scratch: Path) -> SparkSession:
    """Start Java and Spark; everything that they write beside the work goes to ``scratch``."""
    if wish.master.startswith("spark://"):
        _reach(wish.master)
    home = spark_home()
    java = find_java(memory=wish.memory)
    archive = archive_of(java)
    settings = _settings(wish, archive, scratch) | wish.options
    process: subprocess.Popen[bytes] | None = None
    logging.getLogger().addFilter(_not_py4j)
    logging.getLogger("py4j").propagate = False
    try:
        with _ctrl_c_waits():  # until it is known whom to end
            process = _launch(home, java, settings, scratch)
        from pyspark import SparkContext  # while Java starts
        from pyspark.sql import SparkSession

        SparkContext(gateway=_gateway(process, scratch / _CONNECTION))
        session = SparkSession.builder.getOrCreate()
    except BaseException as error:
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        _forget_java()
        if not isinstance(error, Exception):
            raise
        raise SparkError(
            f"Spark did not start at {wish.master}: {first_line(error)} "
            f"(Java {java.version} from {java.where}: {java.path})"
        ) from None
    if archive is not None and not archive.exists():
        atexit.register(make_in_background, archive, java)
    return session


def submitted() -> bool:
    """Whether ``spark-submit`` started this process: Java runs already and has its master and its options."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def join(options: dict[str, str]) -> SparkSession:
    """The session of the Java that ``spark-submit`` started; what its user set wins over ``options``."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf()
    builder = SparkSession.builder.appName(conf.get("spark.app.name", "hunet") or "hunet")
    for name, value in options.items():
        if not conf.contains(name):
            builder = builder.config(name, value)
    return builder.getOrCreate()


def stop(session: SparkSession, *, leaving: bool) -> None:
    """End the session and the Java process that was started for it; ``leaving`` says that this process ends too."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    with suppress(Exception):  # Java may have gone before; there is nothing left to stop then
        # Word of a lost executor that comes during the stop is printed past all loggers.
        jvm: Any = session.sparkContext._jvm
        java = jvm.java
        java.lang.System.setErr(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))
        if process is None or not leaving:
            session.stop()
        else:  # Java stops Spark when it ends; PySpark's own part takes another second, and complains if left out
            accumulators: Any = session.sparkContext._accumulatorServer
            accumulators.handle_error = lambda *_: None
    if process is not None:  # the next session may need another heap, which Java takes at its start only
        assert gateway is not None
        with suppress(Exception):
            gateway.shutdown()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        _forget_java()


def ship(session: SparkSession, package: Path) -> None:
    session.sparkContext.addPyFile(str(package))


def is_local(session: SparkSession) -> bool:
    """Whether tasks run in the driver's own process, which has what the driver has."""
    return re.match(r"local(\[|$)", str(session.sparkContext.master)) is not None


def start_python(session: SparkSession) -> None:
    """Have Spark start a Python process for its tasks, which takes a second, while somebody else plans the work."""
    from pyspark.sql.types import LongType, StructField, StructType

    from hunet.pipeline.joining import as_they_are

    def run() -> None:
        with suppress(Exception):  # Spark may be on its way out; the work will say what is wrong
            session.range(1).mapInArrow(as_they_are, StructType([StructField("id", LongType())])).collect()

    threading.Thread(target=run, daemon=True).start()


def cores(session: SparkSession) -> int:
    return max(1, session.sparkContext.defaultParallelism)


@contextmanager
def watched(session: SparkSession, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Call ``progress`` now and then with the tasks that are done and the tasks that are known, and once at the end."""
    context, over = session.sparkContext, threading.Event()
    before = context.getLocalProperty(_GROUP)
    group = f"hunet-{os.urandom(8).hex()}"
    context.setLocalProperty(_GROUP, group)
    tracker = context.statusTracker()

    def look() -> None:
        done = known = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                found = tracker.getStageInfo(stage)
                if found and found.numActiveTasks + found.numCompletedTasks:  # others may never begin: skipped
                    done += found.numCompletedTasks
                    known += found.numTasks
        progress(done, known)

    def keep_looking() -> None:
        while not over.wait(_LOOK_EVERY):
            with suppress(Exception):  # Spark may be on its way out
                look()

    watcher = threading.Thread(target=keep_looking, daemon=True)
    watcher.start()
    try:
        yield
        over.set()
        watcher.join()
        with suppress(Exception):  # Spark counts a task a little after its end
            bus: Any = context._jsc.sc()
            bus.listenerBus().waitUntilEmpty(_COUNTED_WITHIN)
        look()
    finally:
        over.set()
        watcher.join()
        with suppress(Exception):
            context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type]


def first_line(error: BaseException) -> str:
    """What of an error of Spark's is worth reading."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any("Traceback (most recent call last)" in line for line in lines):  # of Python's, what was raised
        raised = [line for line in lines if re.match(r"[\w.]+(?:Error|Exception)\b", line)]
        return raised[0][:300] if raised else lines[0][:300]
    for line in lines:  # of a Java stack trace, the cause is what is worth reading
        if line.startswith("Caused by:") or ("Exception:" in line and "Py4J" not in line):
            return line.removeprefix("Caused by:").strip()[:300].lstrip(": ")
    return lines[0][:300] if lines else type(error).__name__


def _settings(wish: Wish, archive: Path | None, scratch: Path) -> dict[str, str]:
    local = wish.master.startswith("local")
    log = scratch / "log4j2.properties"
    log.write_text(_LOG_SETTINGS, encoding="utf-8")
    java_options = [
        f"-Dlog4j2.configurationFile={log.as_uri()} -Dderby.system.home={scratch} -Djava.io.tmpdir={scratch}",
        "-XX:-UsePerfData",
        # Compiling a small job well, or collecting its garbage with all cores, costs more than it saves; a cluster's
        # driver only plans. A large local job may collect garbage for a twentieth of its time before the heap grows:
        # it would else always grow to its limit.
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=256m"
        if wish.small or not local
        else "-XX:+UseParallelGC -XX:GCTimeRatio=19",
    ]
    if archive is not None and archive.exists():
        java_options.append(use_archive(archive))
    settings = {
        "spark.master": wish.master,
        "spark.app.name": "hunet",
        "spark.driver.memory": wish.memory,
        "spark.driver.defaultJavaOptions": " ".join(java_options),  # extraJavaOptions are left to the user
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",  # no port is opened
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",  # a worker keeps the trace that it has read
        "spark.task.maxFailures": str(ATTEMPTS),
        **SQL_SETTINGS,
    }
    if local:
        # Few partitions: a task costs more than the rows that a finer split would save.
        settings["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
    else:
        settings["spark.executor.memory"] = wish.memory
    if local or (urlsplit(wish.master).hostname or "") in _LOOPBACK:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return settings | (_SMALL if wish.small else {})


def _launch(home: Path, java: Java, settings: dict[str, str], scratch: Path) -> subprocess.Popen[bytes]:
    """Start Spark's Java, as PySpark would; it ends when its standard input does, whatever becomes of this process."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # PySpark reads it when it sends a function
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    asked = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    return subprocess.Popen(
        [home / "bin" / "spark-submit", *options, *asked],
        stdin=subprocess.PIPE,
        cwd=scratch,  # what Java leaves there goes with that folder
        env={
            **os.environ,
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(java_home(java)),
            "SPARK_LOCAL_DIRS": str(scratch),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(scratch / _CONNECTION),
        },
        start_new_session=True,  # Ctrl-C is for us, who then end it
    )


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # which never hears of it
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


def _gateway(process: subprocess.Popen[bytes], connection: Path) -> Any:
    """Wait until Java says where it listens, and connect to it."""
    from pyspark import java_gateway, serializers

    gateways, read = cast("Any", java_gateway), cast("Any", serializers)

    while not connection.exists():
        with suppress(subprocess.TimeoutExpired):
            raise SparkError(f"Java ended with status {process.wait(_START_LOOK_EVERY)} before it could be asked")
    with connection.open("rb") as answer:
        port, secret = read.read_int(answer), read.UTF8Deserializer().loads(answer)
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    try:
        gateway = gateways.launch_gateway()
    finally:
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            del os.environ[name]
    gateway.proc = process
    return gateway


def _not_py4j(record: logging.LogRecord) -> bool:
    """Py4J logs what it also raises, Ctrl-C among it, past its own logger."""
    return "py4j" not in record.pathname


def _forget_java() -> None:
    if "pyspark" not in sys.modules:  # Ctrl-C came while it was imported
        return
    from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None


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
