"""The Spark session: local by default, a cluster by its master's URL; quiet, and leaving nothing behind.

Everything that Spark would write beside the work (shuffle files, warehouse, artifacts, log settings) goes to one
temporary folder that is removed with the session. Executors elsewhere are sent this package as a zip file; they need
the same Python and the packages that hunet depends on. A session that runs already, as in a notebook, is used and
never stopped. What differs between classic Spark and Spark Connect is asked for here: see ``classic`` and ``connect``.
"""

from __future__ import annotations

import atexit
import re
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hunet.model.errors import ConfigurationError, HunetError
from hunet.pipeline import classic, connect
from hunet.pipeline.classic import ATTEMPTS, first_line
from hunet.pipeline.java import SparkError
from hunet.pipeline.shipping import package_zip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

__all__ = [
    "ATTEMPTS",
    "DEFAULT_MEMORY",
    "SparkError",
    "cores",
    "first_line",
    "for_streams",
    "is_connect",
    "scratch_folder",
    "spark_errors",
    "spark_session",
    "stage",
    "stages_told",
    "start_python",
    "stop_spark",
    "watched",
]

DEFAULT_MEMORY = "2g"
_LEAST_MEMORY = 512
"""Megabytes of heap; with less Spark refuses to start, in other words."""
_STAGES: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("stages", default=None)


class _State:
    """The session of this process."""

    ours: SparkSession | None = None
    scratch: Path | None = None
    shipped: object = None
    """The session that has been sent the package."""


def spark_session(
    master: str | None = None,
    *,
    memory: str = DEFAULT_MEMORY,
    options: dict[str, str] | None = None,
    small: bool = False,
) -> SparkSession:
    """Start Spark, or give the session that runs already.

    ``master`` is ``local[N]``, a cluster's URL or ``sc://HOST:PORT`` (Spark Connect); without one, all cores of this
    machine are used. ``memory`` is the Java heap of the driver (which locally does all the work) and of each executor.
    ``options`` are Spark's own. ``small`` says that the job is a matter of seconds: Java then starts with what such a
    job needs.
    """
    _hush()
    running = _running()
    if running is None:
        wish = classic.Wish(_master(master), _memory(memory), options or {}, small)
        running = _start(wish, given=master is not None)
    if _State.shipped is not running:
        _ship(running)
        _State.shipped = running
    return running


def stop_spark(*, leaving: bool = False) -> None:
    """End the session that was started here and its Java process, and remove what it kept on disk."""
    ours, _State.ours, _State.shipped = _State.ours, None, None
    if ours is not None and is_connect(ours):
        connect.stop(ours)
    elif ours is not None:
        classic.stop(ours, leaving=leaving)
    if _State.scratch is not None:
        shutil.rmtree(_State.scratch, ignore_errors=True)
        _State.scratch = None


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect, where the driver is elsewhere."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def cores(spark: SparkSession) -> int:
    """How many tasks run at the same time."""
    return connect.cores(spark) if is_connect(spark) else classic.cores(spark)


def start_python(spark: SparkSession) -> None:
    """Say that tasks will need Python, before they are planned: on this machine it then starts meanwhile."""
    if not is_connect(spark) and classic.is_local(spark):
        classic.start_python(spark)


def for_streams(spark: SparkSession, function: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """``function(*given)``, itself a function, wherever a stream calls it; what is given must be plain data."""
    if is_connect(spark):
        return connect.with_package(package_zip(scratch_folder()), function, *given)
    made: Callable[..., Any] = function(*given)
    return made


def scratch_folder() -> Path:
    """A folder of this machine that is removed with the session."""
    if _State.scratch is None:
        _State.scratch = Path(tempfile.mkdtemp(prefix="hunet-spark-"))
        atexit.register(_stop_at_exit)
    return _State.scratch


@contextmanager
def watched(spark: SparkSession, progress: Callable[[int, int], None] | None) -> Iterator[None]:
    """Call ``progress`` now and then with the tasks done and the tasks known of the jobs that the block starts."""
    if progress is None:
        yield
        return
    watch = connect.watched if is_connect(spark) else classic.watched
    with watch(spark, progress):
        yield


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say what the jobs of the block do, to anybody who asked by ``stages_told``; costs nothing if nobody did."""
    tell = _STAGES.get()
    if tell is None:
        yield
        return
    from pyspark.sql import SparkSession

    tell(name, 0, 0)
    running = SparkSession.getActiveSession()
    if running is None:
        yield
        return
    with watched(running, lambda done, known: tell(name, done, known)):
        yield


@contextmanager
def stages_told(tell: Callable[[str, int, int], None] | None) -> Iterator[None]:
    """Within the block, ``tell`` hears each stage's name, its tasks done and its tasks known."""
    before = _STAGES.set(tell)
    try:
        yield
    finally:
        _STAGES.reset(before)


@contextmanager
def spark_errors(memory: str = DEFAULT_MEMORY) -> Iterator[None]:
    """Turn what Spark raises into one line that says what to do; our own errors pass."""
    try:
        yield
    except HunetError:
        raise
    except Exception as error:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        if not isinstance(error, (PySparkException, Py4JError, ConnectionError)):
            raise
        text = str(error)
        ours = re.search(r"hunet\.[\w.]*(?:InputError|ConfigurationError|OutputError): (.+)", text)
        if ours:  # raised by our own code within a task
            raise SparkError(ours[1]) from None
        unread = re.search(r"while reading file (?:file:/+)?(\S+?)\.?\s", text)
        if unread and re.search(r"EOFException|ZipException|end of input stream|DataFormat|not a gzip", text):
            path = unread[1] if "://" in unread[1] else f"/{unread[1]}"
            raise SparkError(f"{unquote(path)}: is damaged or cut short: fetch or pack it again") from None
        mixed = re.search(r"reading file (?:file:/+)?(\S+?)\.\s.*Parquet column \[(\w+)\]\. (Expected .*?)\. SQL", text)
        if mixed:
            path = unread[1] if unread and "://" in unread[1] else f"/{mixed[1]}"
            problem = f"column '{mixed[2]}' has another type than in the first file ({mixed[3]})"
            raise SparkError(f"{unquote(path)}: {problem}: write all files with the same types") from None
        if "OutOfMemoryError" in text or "GC overhead" in text:
            raise SparkError(f"Spark ran out of memory with {memory}: give it more with --memory") from None
        if "No space left on device" in text:
            raise SparkError(f"no space left on the disk: Spark works in {tempfile.gettempdir()}") from None
        if isinstance(error, (Py4JError, ConnectionError)) and "Java server" in text + type(error).__name__:
            raise SparkError("Spark's Java process has gone: it may have been killed for its memory") from None
        raise SparkError(f"Spark failed: {first_line(error)}") from error


def _running() -> SparkSession | None:
    """The session that runs, if any; PySpark is not imported to find that there is none."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _start(wish: classic.Wish, *, given: bool) -> SparkSession:
    scratch = scratch_folder()
    try:
        if wish.master.startswith("sc://"):
            _State.ours = connect.start(wish.master, classic.SQL_SETTINGS | wish.options)
        elif classic.submitted() and not given:
            _State.ours = classic.join(classic.SQL_SETTINGS | wish.options)
        else:
            _State.ours = classic.start(wish, scratch)
        _hush_errors()
    except BaseException:
        stop_spark()
        raise
    return _State.ours


def _ship(spark: SparkSession) -> None:
    """Send the package to where tasks run, if that may be elsewhere."""
    if is_connect(spark):
        connect.ship(spark, package_zip(scratch_folder()))
    elif not classic.is_local(spark):
        classic.ship(spark, package_zip(scratch_folder()))


def _stop_at_exit() -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave Java and files behind
    with suppress(Exception):
        stop_spark(leaving=True)


def _hush() -> None:
    """PySpark warns of pandas 3 at every import; what is used here was tried with it and does not go through pandas."""
    import warnings

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def _hush_errors() -> None:
    """PySpark logs an error that names a place in SQL, with Java's stack, and then raises it: we say it in a line."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _memory(given: str) -> str:
    if not re.fullmatch(r"\d+[mg]", given):
        raise ConfigurationError(f"memory '{given}': write a number with m or g, such as 512m or 4g")
    if int(given[:-1]) * (1 if given.endswith("m") else 1024) < _LEAST_MEMORY:
        raise ConfigurationError(f"memory '{given}' is too little for Spark: give at least {_LEAST_MEMORY}m")
    return given


def _master(given: str | None) -> str:
    """The master's URL; a local one is told to try a failed task again, as clusters do."""
    master = given or "local[*]"
    if master == "local":
        master = "local[1]"
    threads = re.fullmatch(r"local\[(\d+|\*)\]", master)
    if threads:
        return f"local[{threads[1]},{ATTEMPTS}]"
    if not re.match(r"(local\[|spark://|sc://|yarn$|k8s://|local-cluster\[)", master):
        raise ConfigurationError(
            f"master '{master}': write local[N], spark://HOST:PORT, sc://HOST:PORT, yarn or k8s://..."
        )
    return master
