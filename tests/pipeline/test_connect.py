"""Spark Connect: a real server on loopback, which has hunet only from what the client sends it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from hunet.model import ConfigurationError
from hunet.pipeline.connect import _reach
from hunet.pipeline.java import SparkError

if TYPE_CHECKING:
    from tests.pipeline.conftest import Connect

WHERE = """
def where(batches):
    import hunet
    import pyarrow as pa
    from importlib.metadata import version
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [hunet.__file__], "version": [version("hunet")]})

seen = []
with stages_told(lambda *told: seen.append(told)), stage("looking"):
    row = spark.range(0, 1, 1, 1).mapInArrow(where, "file string, version string").first()
print(is_connect(spark), cores(spark), seen[0], spark.conf.get("spark.sql.session.timeZone"))
print(row["file"], row["version"])
"""


@pytest.mark.slow
def test_the_package_is_sent_to_the_server(connect_server: Connect) -> None:
    from hunet import __version__

    told, found = connect_server.run(WHERE).splitlines()
    assert told == "True 2 ('looking', 0, 0) UTC"
    assert "/hunet.zip/hunet/__init__.py" in found, "the server's workers import what was sent to them"
    assert found.endswith(f" {__version__}")


@pytest.mark.slow
def test_a_session_of_somebody_else_is_used_and_not_stopped(connect_server: Connect) -> None:
    text = """
from pyspark.sql import SparkSession
stop_spark()
theirs = SparkSession.builder.remote(URL).getOrCreate()
assert spark_session() is theirs
stop_spark()
print(theirs.range(3).count())
"""
    assert connect_server.run(text) == "3\n"


def test_a_server_that_does_not_answer() -> None:
    with socket.socket() as silent:  # it listens, and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(SparkError, match=f"no Spark Connect server answers at sc://127.0.0.1:{port} within"):
            _reach(f"sc://127.0.0.1:{port}", within=0.1)
    with pytest.raises(ConfigurationError, match="write sc://HOST:PORT"):
        _reach("sc://127.0.0.1:port")
