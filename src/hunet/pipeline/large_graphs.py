"""Stage 4 beyond one task: paths from sampled nodes, and communities by label propagation, as joins of any size.

Theory of operation. *Paths*: a breadth-first search from all of ``SOURCES`` sampled nodes at once. Every node has one
bit for each source, set when the source's search reaches it; a step of all searches is one join of the edges with the
bits that were new in the last step, and ``bit_or`` over each node's neighbours (M. Then et al., "The More the Merrier:
Efficient Multi-Source Graph Traversal", VLDB 2014). The searches are exact; what is estimated is the mean over all
nodes by that over the sources. So the error is that of a sample without replacement, known from the sample itself: the
standard errors stand beside the estimates (closeness by the delta method), and with all nodes as sources they are 0 and
the figures are the exact ones. Registers of HyperLogLog would need more bytes a node for the same error, and their
error can only be quoted.

*Betweenness* adds up what the shortest paths from ``BETWEENNESS_SOURCES`` sampled nodes put on every node (Brandes and
Pich, "Centrality Estimation in Large Networks", 2007), layer by layer forth and back: a number for each source and
node, not a bit, hence fewer sources. Few sources put most of the load on a node, and a sample that missed them shows
too small an error: the stated errors are right on the whole (root mean square over the nodes), not for every node.

*Communities*: every node takes the label that weighs most among its neighbours (Raghavan, Albert and Kumara, Physical
Review E 76, 2007). Half of the nodes move at a time, chosen by a hash of their names, so that neighbours do not swap
labels forever; of equal labels the node's stays, else the least wins. Nothing is random. How good the partition is, its
modularity says.

Each step is cut off from the plan of the one before (``localCheckpoint``), which would double with every join.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from hunet.pipeline.schemas import ddl, names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

SOURCES = 256
BETWEENNESS_SOURCES = 16
MOST_HOPS = 64
"""Searches end here: what is further counts as without a path."""
MOST_ROUNDS = 12
_FEW_MOVES = 1e-3
"""Labels have settled when no larger share of the nodes moves in a round."""
_BUCKETS = 64
CENTRALITIES = (
    "window int, node string, closeness double, closeness_error double, betweenness double, betweenness_error double"
)
MEANS = "window int, hops_mean double, hops_error double, paths string"


class Paths(NamedTuple):
    """What shortest paths say, of every window."""

    centralities: DataFrame
    """Columns as in ``CENTRALITIES``."""
    hops: DataFrame
    """The table ``hops``."""
    means: DataFrame
    """Columns as in ``MEANS``."""


def sampled_paths(edges: DataFrame, sources: int = SOURCES, betweenness_sources: int = BETWEENNESS_SOURCES) -> Paths:
    """Closeness, betweenness, hops and their mean by searches from sampled nodes; runs at once, step by step."""
    from pyspark.sql import functions as sf

    ends = _both_ways(edges).localCheckpoint()
    many = ends.groupBy("window").agg(sf.count_distinct("node").alias("many"))
    ranked = _ranked(ends, max(sources, betweenness_sources)).localCheckpoint()
    state, counts = _search(ends, ranked.where(sf.col("rank") < sources), sources)
    sizes: dict[int, int] = {row["window"]: row["many"] for row in many.collect()}
    loads = _loads(ends, ranked.where(sf.col("rank") < betweenness_sources), betweenness_sources)
    centralities = (
        state.join(sf.broadcast(many), "window")
        .select("window", "node", *_closeness(sources))
        .join(_betweenness(state, loads, many, betweenness_sources), ["window", "node"])
    )
    hops, means = [], []
    for window, by_source in sorted(counts.items()):
        found, mean = _hops(sizes[window], list(by_source.values()))
        hops += [(window, *row) for row in found]
        means.append((window, *mean, "sampled"))
    spark = edges.sparkSession
    return Paths(centralities, spark.createDataFrame(hops, ddl("hops")), spark.createDataFrame(means, MEANS))


def propagated_communities(edges: DataFrame, weight: str = "duration", rounds: int = MOST_ROUNDS) -> DataFrame:
    """Edges to the table ``communities``, by label propagation; runs at once, round by round."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    # Contacts of no length still are contacts; decimals, so that sums do not depend on the order of adding.
    value = sf.greatest(sf.col(weight), sf.lit(1e-6)).cast("decimal(30,6)").alias("weight")
    ends = _both_ways(edges, value).withColumn("half", sf.pmod(sf.xxhash64("node"), sf.lit(2))).localCheckpoint()
    labels = ends.select("window", "node").distinct().withColumn("label", sf.col("node")).localCheckpoint()
    many = labels.count()
    for _ in range(rounds):
        before = labels
        for half in (0, 1):
            labels = _voted(ends.where(sf.col("half") == half), labels).localCheckpoint()
        old = before.withColumnRenamed("label", "old")
        if labels.join(old, ["window", "node"]).where("label != old").count() <= _FEW_MOVES * many:
            break
    order = Window.partitionBy("window").orderBy(sf.desc("size"), "label")
    sizes = labels.groupBy("window", "label").agg(sf.count("*").alias("size"))
    numbers = sizes.withColumn("community", (sf.row_number().over(order) - 1).cast("int"))
    return (
        labels.join(numbers, ["window", "label"])
        .join(sf.broadcast(_modularity(ends, labels)), "window")
        .withColumn("method", sf.lit("label-propagation"))
        .select(*names("communities"))
    )


def _both_ways(edges: DataFrame, *more: Column) -> DataFrame:
    """Every edge from both of its ends: window, node, peer."""
    from pyspark.sql import functions as sf

    one = edges.select("window", sf.col("a").alias("node"), sf.col("b").alias("peer"), *more)
    return one.unionByName(edges.select("window", sf.col("b").alias("node"), sf.col("a").alias("peer"), *more))


def _ranked(ends: DataFrame, most: int) -> DataFrame:
    """The first nodes of each window in the order of their hashes: window, node, rank from 0."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    code = sf.xxhash64("node")
    nodes = (
        ends.select("window", "node").distinct().withColumns({"code": code, "part": sf.pmod(code, sf.lit(_BUCKETS))})
    )
    first = Window.partitionBy("window", "part").orderBy("code", "node")
    few = nodes.withColumn("rank", sf.row_number().over(first)).where(sf.col("rank") <= most)
    whole = Window.partitionBy("window").orderBy("code", "node")
    ranks = few.withColumn("rank", sf.row_number().over(whole) - 1).where(sf.col("rank") < most)
    return ranks.select("window", "node", "rank")


# Hops and closeness ---------------------------------------------------------------------------------------------------


def _search(ends: DataFrame, chosen: DataFrame, sources: int) -> tuple[DataFrame, dict[int, dict[int, list[int]]]]:
    """All searches: what every node was told, and by window and source how many nodes are 1, 2, ... hops away."""
    from pyspark.sql import functions as sf

    words = range(-(-sources // 64))
    rank, zero = sf.col("rank"), sf.lit(0).cast("bigint")
    bits = {f"new{i}": sf.when(sf.floor(rank / 64) == i, sf.expr("shiftleft(1L, rank % 64)")) for i in words}
    nodes = ends.select("window", "node").distinct().join(chosen, ["window", "node"], "left")
    state = nodes.withColumns({name: sf.coalesce(bit, zero) for name, bit in bits.items()}).withColumns(
        {**{f"seen{i}": sf.col(f"new{i}") for i in words}, **dict.fromkeys(("reached", "total", "squares"), zero)}
    )
    state = state.localCheckpoint()
    counts: dict[int, dict[int, list[int]]] = {}
    for row in chosen.groupBy("window", "rank").count().collect():
        counts.setdefault(row["window"], {})[row["rank"]] = []
    for hop in range(1, MOST_HOPS + 1):
        ahead = reduce(or_, (sf.col(f"new{i}") != 0 for i in words))
        reached = state.where(ahead).select("window", "node", *(f"new{i}" for i in words))
        heard = (
            ends.join(reached, ["window", "node"])
            .groupBy("window", sf.col("peer").alias("node"))
            .agg(*(sf.bit_or(f"new{i}").alias(f"got{i}") for i in words))
        )
        fresh = {f"new{i}": sf.coalesce(f"got{i}", zero).bitwiseAND(sf.bitwise_not(f"seen{i}")) for i in words}
        state = state.join(heard, ["window", "node"], "left").withColumns(fresh)
        many = reduce(lambda one, two: one + two, (sf.bit_count(f"new{i}") for i in words))
        state = (
            state.withColumns({f"seen{i}": sf.col(f"seen{i}").bitwiseOR(sf.col(f"new{i}")) for i in words})
            .withColumns(
                {
                    "reached": sf.col("reached") + many,
                    "total": sf.col("total") + hop * many,
                    "squares": sf.col("squares") + hop * hop * many,
                }
            )
            .drop(*(f"got{i}" for i in words))
            .localCheckpoint()
        )
        found = _count_bits(state.select("window", *(f"new{i}" for i in words)))
        if not found:
            break
        for window, by_source in counts.items():
            for source, distances in by_source.items():
                distances.append(found.get((window, source), 0))
    return state, counts


def _count_bits(masks: DataFrame) -> dict[tuple[int, int], int]:
    """For every window and source, how many nodes have its bit."""
    from pyspark.sql import functions as sf

    parts = masks.mapInArrow(_bits_of_batches, "window int, source int, many bigint")
    rows = parts.groupBy("window", "source").agg(sf.sum("many").alias("many")).collect()
    return {(row["window"], row["source"]): row["many"] for row in rows}


def _bits_of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import numpy as np
    import pyarrow as pa

    found: dict[int, np.ndarray] = defaultdict(int)  # type: ignore[arg-type]
    for batch in batches:
        window = batch.column(0).to_numpy()
        words = np.stack([column.to_numpy() for column in batch.columns[1:]], axis=1).astype("<i8")
        bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
        for each in np.unique(window).tolist():
            found[each] = found[each] + bits[window == each].sum(axis=0, dtype=np.int64)
    rows = [(window, source, many) for window, counts in found.items() for source, many in enumerate(counts) if many]
    columns = zip(*rows, strict=True) if rows else [()] * 3
    kinds = (pa.int32(), pa.int32(), pa.int64())
    arrays = [pa.array([int(value) for value in column], kind) for column, kind in zip(columns, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=["window", "source", "many"])


def _closeness(sources: int) -> list[Column]:
    """Closeness of a node, X²/Y for the mean X of "reached" and Y of hops over its sources, and its standard error."""
    from pyspark.sql import functions as sf

    asked = _asked(sources)
    x, y, squares = sf.col("reached") / asked, sf.col("total") / asked, sf.col("squares") / asked
    by_x, by_y = 2 * x / y, -x * x / (y * y)
    spread = by_x * by_x * (x - x * x) + by_y * by_y * (squares - y * y) + 2 * by_x * by_y * y * (1 - x)
    error = sf.sqrt(sf.greatest(spread, sf.lit(0.0)) * _correction(asked) / asked)
    reaches = sf.col("reached") > 0
    return [
        sf.when(reaches, x * x / y).otherwise(0.0).alias("closeness"),
        sf.when(reaches, error).otherwise(0.0).alias("closeness_error"),
    ]


def _asked(sources: int) -> Column:
    """How many searches could have reached a node: those of others."""
    from pyspark.sql import functions as sf

    here = sf.least(sf.lit(sources), sf.col("many"))
    return sf.when(sf.col("rank").isNotNull() & (sf.col("rank") < sources), here - 1).otherwise(here)


def _correction(asked: Column) -> Column:
    """What sampling without replacement takes off the variance: all of it if everybody else was asked."""
    from pyspark.sql import functions as sf

    others = sf.col("many") - 1
    sample = sf.when(asked > 1, asked / (asked - 1)).otherwise(1.0)
    return sf.when(others > 1, (others - asked) / (others - 1) * sample).otherwise(0.0)


def _hops(
    many: int, by_source: list[list[int]]
) -> tuple[list[tuple[int | None, int, float]], tuple[float | None, float | None]]:
    """Pairs by distance with their standard errors, and the mean distance with its own."""
    sample = len(by_source)
    shrink = math.sqrt((many - sample) / (many - 1) / max(sample - 1, 1)) if many > 1 else 0.0

    def spread(values: list[float]) -> float:
        """The standard error of a mean over all nodes."""
        middle = sum(values) / sample
        return shrink * math.sqrt(sum((value - middle) ** 2 for value in values) / sample)

    rows: list[tuple[int | None, int, float]] = []
    for hop, counts in enumerate(zip(*by_source, strict=True), 1):
        if any(counts):
            rows.append((hop, round(many * sum(counts) / sample / 2), many * spread(list(counts)) / 2))
    reached = [sum(counts) for counts in by_source]
    apart = [many - 1 - one for one in reached]
    if any(apart):
        rows.append((None, round(many * sum(apart) / sample / 2), many * spread(list(apart)) / 2))
    if not sum(reached):
        return rows, (None, None)
    totals = [sum(hop * number for hop, number in enumerate(counts, 1)) for counts in by_source]
    mean = sum(totals) / sum(reached)
    residues = [total - mean * one for total, one in zip(totals, reached, strict=True)]
    return rows, (mean, spread(residues) / (sum(reached) / sample))


# Betweenness ----------------------------------------------------------------------------------------------------------


def _loads(ends: DataFrame, chosen: DataFrame, sources: int) -> DataFrame:
    """What the paths from each source put on every node: window, node, load and squares, summed over the sources.

    Every node has a column for each source: the number of shortest paths in the layer that the search has reached.
    """
    from pyspark.sql import functions as sf

    columns = range(sources)
    key, none = ["window", "node"], sf.lit(0.0)

    def gathered(table: DataFrame) -> DataFrame:
        """The sum over each node's neighbours, source by source."""
        passed = ends.join(table, key).groupBy("window", sf.col("peer").alias("node"))
        return passed.agg(*(sf.sum(f"p{i}").alias(f"s{i}") for i in columns))

    begun = {f"p{i}": sf.when(sf.col("rank") == i, 1.0).otherwise(0.0) for i in columns}
    layer = chosen.select(*key, *(column.alias(name) for name, column in begun.items())).localCheckpoint()
    layers = [layer]
    while len(layers) <= MOST_HOPS:
        ahead = gathered(layers[-1])
        for known in layers[-2:]:  # neighbours are at most one layer apart
            passed = known.select(*key, *(sf.col(f"p{i}").alias(f"k{i}") for i in columns))
            fresh = {f"s{i}": sf.when(sf.coalesce(f"k{i}", none) > 0, 0.0).otherwise(sf.col(f"s{i}")) for i in columns}
            ahead = ahead.join(passed, key, "left").withColumns(fresh).select(*key, *(f"s{i}" for i in columns))
        ahead = ahead.where(reduce(or_, (sf.col(f"s{i}") > 0 for i in columns)))
        ahead = ahead.select(*key, *(sf.col(f"s{i}").alias(f"p{i}") for i in columns)).localCheckpoint()
        if ahead.isEmpty():
            break
        layers.append(ahead)
    behind = layers.pop().withColumns({f"l{i}": none for i in columns})
    done = [behind]
    for layer in reversed(layers[1:]):
        share = {f"p{i}": sf.when(sf.col(f"p{i}") > 0, (sf.col(f"l{i}") + 1) / sf.col(f"p{i}")) for i in columns}
        flow = gathered(behind.select(*key, *(column.alias(name) for name, column in share.items())))
        load = {f"l{i}": sf.coalesce(sf.col(f"s{i}"), none) * sf.col(f"p{i}") for i in columns}
        behind = layer.join(flow, key, "left").withColumns(load).drop(*(f"s{i}" for i in columns)).localCheckpoint()
        done.append(behind)
    whole = reduce(lambda one, two: one + two, (sf.col(f"l{i}") for i in columns))
    squares = reduce(lambda one, two: one + two, (sf.col(f"l{i}") * sf.col(f"l{i}") for i in columns))
    loads = reduce(lambda one, two: one.unionByName(two), done)
    return (
        loads.select(*key, whole.alias("load"), squares.alias("load_squares"))
        .groupBy(*key)
        .agg(sf.sum("load").alias("load"), sf.sum("load_squares").alias("load_squares"))
    )


def _betweenness(state: DataFrame, loads: DataFrame, many: DataFrame, sources: int) -> DataFrame:
    """Betweenness as the exact one is scaled (1 is every path of others), and its standard error."""
    from pyspark.sql import functions as sf

    asked, pairs = _asked(sources), sf.col("many") - 2
    mean = sf.coalesce("load", sf.lit(0.0)) / asked
    spread = sf.greatest(sf.coalesce("load_squares", sf.lit(0.0)) / asked - mean * mean, sf.lit(0.0))
    error = sf.sqrt(spread * _correction(asked) / asked)
    known = (asked > 0) & (pairs > 0)
    return (
        state.select("window", "node", "rank")
        .join(sf.broadcast(many), "window")
        .join(loads, ["window", "node"], "left")
        .select(
            "window",
            "node",
            # Rounded, since the last digits depend on the order of adding.
            sf.when(known, sf.round(mean / pairs, 14)).otherwise(0.0).alias("betweenness"),
            sf.when(known, sf.round(error / pairs, 14)).otherwise(0.0).alias("betweenness_error"),
        )
    )


# Communities ----------------------------------------------------------------------------------------------------------


def _voted(ends: DataFrame, labels: DataFrame) -> DataFrame:
    """The labels after those nodes have moved whose ends are given."""
    from pyspark.sql import functions as sf

    theirs = labels.select("window", sf.col("node").alias("peer"), sf.col("label").alias("vote"))
    votes = (
        ends.join(theirs, ["window", "peer"]).groupBy("window", "node", "vote").agg(sf.sum("weight").alias("weight"))
    )
    mine = labels.join(votes, ["window", "node"], "left")
    rank = sf.struct(-sf.col("weight"), sf.col("vote") != sf.col("label"), sf.col("vote").alias("vote"))
    best = mine.groupBy("window", "node", "label").agg(sf.min(sf.when(sf.col("vote").isNotNull(), rank)).alias("best"))
    return best.select("window", "node", sf.coalesce("best.vote", "label").alias("label"))


def _modularity(ends: DataFrame, labels: DataFrame) -> DataFrame:
    """Weighted modularity of each window's partition: window, modularity."""
    from pyspark.sql import functions as sf

    theirs = labels.select("window", sf.col("node").alias("peer"), sf.col("label").alias("other"))
    seen = ends.join(labels, ["window", "node"]).join(theirs, ["window", "peer"])
    parts = seen.groupBy("window", "label").agg(
        sf.sum("weight").cast("double").alias("ends"),
        sf.sum(sf.when(sf.col("label") == sf.col("other"), sf.col("weight"))).cast("double").alias("inside"),
    )
    whole = ends.groupBy("window").agg(sf.sum("weight").cast("double").alias("whole"))
    share = sf.col("ends") / sf.col("whole")
    gain = sf.coalesce("inside", sf.lit(0.0)) / sf.col("whole") - share * share
    return (
        parts.join(sf.broadcast(whole), "window")
        .groupBy("window")
        .agg(sf.sum(gain.cast("decimal(38,18)")).cast("double").alias("modularity"))
    )
