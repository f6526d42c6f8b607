"""Spark Connect: a real server on loopback, which has hunet only from what the client sends it."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from hunet.model import ConfigurationError
from hunet.pipeline.connect import _reach
from hunet.pipeline.importing import import_trace
from hunet.pipeline.java import SparkError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

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


IMPORT = """
import json, sys
from hunet.pipeline.importing import import_trace

log, out = sys.argv[1:]
said = import_trace(spark, log, out)
table = spark.read.parquet(out + "/contacts.parquet").orderBy("start", "a", "b")
print(json.dumps([said["fingerprint"], said["fates"], [list(row) for row in table.collect()]]))
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


@pytest.mark.slow
def test_an_import_is_the_same_as_locally(spark: SparkSession, connect_server: Connect, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("a,b,start,end\nann,bob,0,10\nbob,ann,5,20\nbob,eve,30,30\neve,eve,1,2\n")
    fingerprint, fates, rows = json.loads(connect_server.run(IMPORT, log.as_uri(), (tmp_path / "there").as_uri()))
    here = import_trace(spark, log, tmp_path / "here")
    assert (fingerprint, fates) == (here["fingerprint"], here["fates"])
    assert rows == [["ann", "bob", 0.0, 20.0], ["bob", "eve", 30.0, 30.0]]


STAGES = """
import json, sys
from hunet.pipeline import communities_of, graph_of, nodes_of, pairs_of, paths_of, span_of
from hunet.pipeline.analysis import analyse_communities, analyse_graph, analyse_pairs, open_communities, open_trace
from hunet.pipeline.pairs import PairSettings
from hunet.pipeline.social_graph import GraphSettings

there, out = sys.argv[1:]
trace = open_trace(spark, there)
contacts, span = trace.contacts, trace.span
edges = graph_of(contacts, span_of(contacts)).persist()
sampled = nodes_of(edges, paths_of(edges, approximate=True)).orderBy("node").collect()
labels = communities_of(edges, approximate=True).count()
found = analyse_communities(trace, out + "/communities", span, {"mops": {}, "simple": {"threshold": 5.0}})
groups = open_communities(spark, out + "/communities", "mops")
pairs = analyse_pairs(trace, out + "/pairs", PairSettings(span), communities=groups)
graph = analyse_graph(trace, out + "/graph", GraphSettings(span, methods=("k-clique",)))
print(json.dumps([[row["closeness"] for row in sampled], labels, found, pairs, graph]))
"""


@pytest.mark.slow
def test_stages_3_and_4_are_the_same_as_locally(spark: SparkSession, connect_server: Connect, tmp_path: Path) -> None:
    from hunet.pipeline.analysis import analyse_communities, analyse_graph, analyse_pairs, open_communities, open_trace
    from hunet.pipeline.pairs import PairSettings
    from hunet.pipeline.social_graph import GraphSettings

    rows = [
        f"{a},{b},{7 * a + 30 * turn},{9 * a + b + 30 * turn}" for turn in range(4) for a in range(5) for b in range(a)
    ]
    (tmp_path / "log.csv").write_text("\n".join(["a,b,start,end", *rows]))
    import_trace(spark, tmp_path / "log.csv", tmp_path / "trace")
    remote = connect_server.run(STAGES, (tmp_path / "trace").as_uri(), (tmp_path / "there").as_uri())
    closeness, labels, *told = json.loads(remote)
    trace = open_trace(spark, tmp_path / "trace")
    found = analyse_communities(trace, tmp_path / "c", trace.span, {"mops": {}, "simple": {"threshold": 5.0}})
    groups = open_communities(spark, tmp_path / "c", "mops")
    pairs = analyse_pairs(trace, tmp_path / "p", PairSettings(trace.span), communities=groups)
    graph = analyse_graph(trace, tmp_path / "g", GraphSettings(trace.span, methods=("k-clique",)))
    assert told == json.loads(json.dumps([found, pairs, graph]))
    assert (closeness, labels) == ([1.0] * 5, 5)
