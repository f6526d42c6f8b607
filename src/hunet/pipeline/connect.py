"""Spark Connect (``sc://HOST:PORT``): a server elsewhere does the work, this process has no Java."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hunet.model.errors import ConfigurationError
from hunet.pipeline.java import SparkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

_ANSWER_WITHIN = 5.0
_MODE = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")
"""By these variables PySpark decides which of its two halves it uses."""


def start(url: str, options: dict[str, str]) -> SparkSession:
    """A session on a Connect server; of ``options`` those that a running server can change."""
    from pyspark.sql import SparkSession

    _reach(url)
    try:
        session = SparkSession.builder.remote(url).getOrCreate()
        for name, value in options.items():
            if session.conf.isModifiable(name):
                session.conf.set(name, value)
    except Exception as error:
        raise SparkError(f"Spark Connect at {url} refuses a session: {str(error).splitlines()[0][:300]}") from None
    return session


def stop(session: SparkSession) -> None:
    """End the session, not the server; the next session of this process may be a classic one."""
    session.stop()
    for name in _MODE:
        os.environ.pop(name, None)


def ship(session: SparkSession, package: Path) -> None:
    session.addArtifact(str(package), pyfile=True)


def with_package(package: Path, function: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """``function(*given)``, made where it is called: in a Python of the server for streams, which lacks what was sent.

    What is given must be plain data; the package goes along within the function.
    """
    content, module, name = package.read_bytes(), function.__module__, function.__qualname__

    def call(*arguments: Any) -> Any:
        import sys
        import tempfile
        from importlib import import_module
        from pathlib import Path

        if "hunet" not in sys.modules:
            archive = Path(tempfile.mkdtemp(prefix="hunet-")) / "hunet.zip"
            archive.write_bytes(content)
            sys.path.insert(0, str(archive))
        return getattr(import_module(module), name)(*given)(*arguments)

    return call


@lru_cache(maxsize=1)  # it takes a job to find out
def cores(session: SparkSession) -> int:
    """Into how many parts Spark cuts what it makes itself: the tasks that run at the same time."""
    from pyspark.sql import functions as sf

    parts = session.range(1 << 16).select(sf.spark_partition_id().alias("part")).distinct()
    return len(parts.collect())


@contextmanager
def watched(session: SparkSession, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Call ``progress`` with the tasks that are done and the tasks that are known, as the server tells them."""
    seen: dict[str | None, tuple[int, int]] = {}

    def tell(stages: Any, operation_id: str | None, **_: Any) -> None:
        begun = [stage for stage in stages or () if stage.num_completed_tasks]  # others may never begin: skipped
        if begun:
            seen[operation_id] = sum(s.num_completed_tasks for s in begun), sum(s.num_tasks for s in begun)
            progress(sum(d for d, _ in seen.values()), sum(t for _, t in seen.values()))

    session.registerProgressHandler(tell)  # type: ignore[arg-type]
    try:
        yield
    finally:
        session.removeProgressHandler(tell)  # type: ignore[arg-type]


def _reach(url: str, within: float = _ANSWER_WITHIN) -> None:
    """The client tries for minutes before it gives up on a server; whether one answers is known in seconds."""
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        channel = DefaultChannelBuilder(url).toChannel()
    except (PySparkException, ValueError):
        raise ConfigurationError(f"master '{url}': write sc://HOST:PORT") from None
    with channel:
        try:
            grpc.channel_ready_future(channel).result(within)
        except grpc.FutureTimeoutError:
            raise SparkError(
                f"no Spark Connect server answers at {url} within {within:g} s: "
                "is it running, and is the address right?"
            ) from None
