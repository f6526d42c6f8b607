"""What ``hunet trace report`` draws, collected from the tables of stages 3 and 4: a bounded number of points.

Of many pairs a sample is drawn (the first by a hash of their names), of inter-contact times the bins, of degrees and
hops the counts: the driver gets as little of a large trace as of a small one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.graphs.power_law import BINS_PER_DECADE
from hunet.pipeline.analysis import analyse_graph, analyse_pairs
from hunet.pipeline.pairs import PairSettings, bins_of, exact_mean
from hunet.pipeline.social_graph import GraphSettings
from hunet.pipeline.storage import Storage, join

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from hunet.pipeline.analysis import Trace

_MOST_PAIRS = 3000
_MOST_BARS = 400


def trace_figures(trace: Trace, folder: str | Path, communities: DataFrame | None = None) -> dict[str, Any]:
    """The figures of a trace; the tables of both stages stay in folders ``pairs`` and ``graph`` of ``folder``."""
    from pyspark.sql import functions as sf

    spark = trace.contacts.sparkSession
    facts = analyse_pairs(trace, join(folder, "pairs"), PairSettings(trace.span), communities=communities)
    # Communities are not drawn.
    graph = analyse_graph(trace, join(folder, "graph"), GraphSettings(trace.span, methods=()))

    def table(name: str) -> DataFrame:
        return Storage(spark).read_parquet(join(folder, f"{name}.parquet"))

    pairs, nodes = table("pairs/pairs"), table("graph/nodes")
    gaps = table("pairs/inter_contacts").join(pairs.select("a", "b", "category"), ["a", "b"], "left")
    means = pairs.agg(exact_mean("contacts"), exact_mean("duration")).collect()[0]
    degrees = nodes.groupBy("degree").agg(sf.count("*").alias("many")).orderBy("degree").limit(_MOST_BARS)
    hops = table("graph/hops").where("hops is not null").orderBy("hops").limit(_MOST_BARS)
    return {
        "trace": trace.sha256,
        "span": list(trace.span),
        "contacts": trace.rows,
        "pairs": facts,
        "graph": graph,
        "means": [float(mean) for mean in means],
        "scatter": _scatter(pairs),
        "devices": _devices(pairs, table("pairs/profiles")),
        "gaps": _gaps(gaps),
        "degrees": [(row["degree"], row["many"]) for row in degrees.collect()],
        "hops": [(row["hops"], row["pairs"]) for row in hops.collect()],
    }


def _scatter(pairs: DataFrame) -> list[tuple[int, float, str]]:
    from pyspark.sql import functions as sf

    first = pairs.orderBy(sf.xxhash64("a", "b"), "a", "b").limit(_MOST_PAIRS)
    return [(row["contacts"], row["duration"], row["category"]) for row in first.collect()]


def _devices(pairs: DataFrame, profiles: DataFrame) -> list[dict[str, Any]]:
    """Two devices that differ most: the most familiar strangers beside few friends, and the most friends."""
    from pyspark.sql import functions as sf

    less = sf.col("familiar_stranger") - sf.col("friend")
    chosen: list[dict[str, Any]] = []
    for why, order in (("most familiar strangers", less), ("most friends", -less)):
        top = profiles.orderBy(sf.desc(order), "node").first()
        if top is not None and all(top["node"] != each["node"] for each in chosen):
            name = top["node"]
            own = pairs.where((sf.col("a") == name) | (sf.col("b") == name))
            chosen.append({"node": name, "why": why, "pairs": _scatter(own)})
    return chosen


def _gaps(gaps: DataFrame) -> dict[str, list[tuple[float, float]]]:
    """For all pairs and each category, times and the share of longer ones."""
    rows = bins_of(gaps, "category").collect()
    found = {}
    for name in ["all pairs", *sorted({row["category"] for row in rows if row["category"]})]:
        counts: dict[int, int] = {}
        for row in rows:
            if name in ("all pairs", row["category"]):
                counts[row["bin"]] = counts.get(row["bin"], 0) + row["times"]
        left = total = sum(counts.values())
        points = []
        for number in sorted(counts):
            left -= counts[number]
            if left:
                points.append((10 ** ((number + 1) / BINS_PER_DECADE), left / total))
        found[name] = points
    return found
