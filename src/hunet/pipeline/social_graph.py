"""Stage 4: the weighted contact graph, over the whole trace or over sliding windows, and what can be read off it.

An edge is a pair that met in the window, weighted by contact time or number of contacts, if it has enough of both.

What runs as joins, and what does not. Edges, degree, strength and clustering (triangles by joining edges from the end
with fewer neighbours: at most m^1.5 rows for m edges) are DataFrame joins of any size. Exact shortest paths (hops,
closeness, betweenness) and communities need the whole graph of a window in one task: they are done for windows of up to
``MOST_EDGES`` edges and ``MOST_WORK`` nodes × edges, one task a window. Beyond, and where it is asked for, paths are
those of sampled nodes and communities those of label propagation (``large_graphs``), which the tables say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hunet.graphs.communities import METHODS, find_communities, modularity
from hunet.graphs.hops import hop_counts
from hunet.model.contacts import natural_order
from hunet.model.errors import ConfigurationError
from hunet.pipeline.large_graphs import CENTRALITIES, Paths, propagated_communities, sampled_paths
from hunet.pipeline.schemas import ddl, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

MOST_EDGES = 1_000_000
MOST_WORK = 20_000_000_000


@dataclass(frozen=True)
class GraphSettings:
    """How the graph is made and cut up."""

    span: tuple[float, float]
    length: float | None = None
    """Length of a window (s); None is the whole span in one."""
    step: float | None = None
    """From the start of a window to the next (s); None is the length."""
    weight: Literal["duration", "contacts"] = "duration"
    least_contacts: int = 1
    least_duration: float = 0.0
    methods: tuple[str, ...] = ("k-clique", "girvan-newman")
    k: int = 3
    approximate: bool | None = None
    """Whether paths are sampled and communities propagated: always, never, or (None) where one task cannot do it."""

    def __post_init__(self) -> None:
        if self.length is not None and self.length <= 0:
            raise ConfigurationError("a window needs a length of more than 0 seconds")
        if self.step is not None and self.step <= 0:
            raise ConfigurationError("windows must move on by more than 0 seconds")
        if self.weight not in ("duration", "contacts"):
            raise ConfigurationError(f"weight '{self.weight}': write duration or contacts")
        _check_methods(self.methods)

    def windows(self) -> list[tuple[float, float]]:
        """The windows in order; the last is the first that reaches the end."""
        return _windows(self.span, self.length, self.step)


def graph_of(
    contacts: DataFrame,
    span: tuple[float, float],
    *,
    length: float | None = None,
    step: float | None = None,
    least_contacts: int = 1,
    least_duration: float = 0.0,
) -> DataFrame:
    """Contacts to the table ``edges``; a contact counts in every window that it touches, for the part inside.

    ``contacts`` has columns a, b, start, end: each pair in one order, its contacts disjoint (as stage 2 makes them).
    """
    from pyspark.sql import functions as sf

    windows = GraphSettings(span, length, step).windows()
    length = windows[0][1] - windows[0][0]
    step = step or length
    first = span[0]
    if len(windows) == 1:
        placed = contacts.withColumn("window", sf.lit(0))
    else:
        low = sf.greatest(sf.ceil((sf.col("start") - first - length) / step), sf.lit(0))
        high = sf.least(sf.floor((sf.col("end") - first) / step), sf.lit(len(windows) - 1))
        placed = contacts.withColumn("window", sf.explode(sf.sequence(low.cast("int"), high.cast("int"))))
    begin = sf.lit(first) + sf.col("window") * step
    inside = placed.withColumns(
        {"start": sf.greatest("start", begin), "end": sf.least(sf.col("end"), begin + length)}
    ).where(sf.col("start") <= sf.col("end"))
    return (
        inside.groupBy("window", "a", "b")
        # Decimals: sums that do not depend on the order of adding.
        .agg(
            sf.count("*").alias("contacts"),
            sf.sum((sf.col("end") - sf.col("start")).cast("decimal(30,6)")).cast("double").alias("duration"),
        )
        .where((sf.col("contacts") >= least_contacts) & (sf.col("duration") >= least_duration))
        .select(*names("edges"))
    )


def nodes_of(
    edges: DataFrame, paths: Paths | None = None, *, weight: Literal["duration", "contacts"] = "duration"
) -> DataFrame:
    """Edges to the table ``nodes``; ``paths`` are those of :func:`paths_of`, exact ones by default."""
    from pyspark.sql import functions as sf

    value = sf.col(weight).cast("decimal(30,6)")
    ends = edges.select("window", sf.explode(sf.array("a", "b")).alias("node"), value.alias("weight"))
    degrees = ends.groupBy("window", "node").agg(
        sf.count("*").alias("degree"), sf.sum("weight").cast("double").alias("strength")
    )
    possible = sf.col("degree") * (sf.col("degree") - 1) / 2
    found = sf.coalesce("triangles", sf.lit(0))
    return (
        degrees.join(_triangles(edges, degrees), ["window", "node"], "left")
        .join((paths or paths_of(edges, approximate=False)).centralities, ["window", "node"], "left")
        .withColumn("clustering", sf.when(possible > 0, found / possible).otherwise(0.0))
        .select(*names("nodes"))
    )


def paths_of(edges: DataFrame, *, approximate: bool | None = None) -> Paths:
    """Hops, closeness and betweenness: exact, from sampled nodes, or (None) each window as its size allows.

    Exact paths are null for windows that are too large for one task; the others run at once, step by step.
    """
    from pyspark.sql import functions as sf

    if approximate:
        return sampled_paths(edges)
    large = large_windows(edges) if approximate is None else []
    there = sf.col("window").isin(large)
    small = edges.where(~there) if large else edges
    hops = small.groupBy("window").applyInArrow(_hops, ddl("hops"))
    reached = hops.where("hops is not null").groupBy("window")
    mean = sf.sum(sf.col("hops") * sf.col("pairs")) / sf.sum("pairs")
    exact = Paths(
        small.groupBy("window").applyInArrow(_centralities, CENTRALITIES),
        hops,
        reached.agg(mean.alias("hops_mean"), sf.lit(0.0).alias("hops_error"), sf.lit("exact").alias("paths")),
    )
    if not large:
        return exact
    return Paths(*(a.unionByName(b) for a, b in zip(exact, sampled_paths(edges.where(there)), strict=True)))


def hops_of(edges: DataFrame, *, approximate: bool | None = None) -> DataFrame:
    """Edges to the table ``hops``."""
    return paths_of(edges, approximate=approximate).hops


def communities_of(
    edges: DataFrame,
    methods: Sequence[str] = ("k-clique", "girvan-newman"),
    *,
    k: int = 3,
    weight: Literal["duration", "contacts"] = "duration",
    approximate: bool | None = None,
) -> DataFrame:
    """Edges to the table ``communities``: by these methods, or by label propagation, or (None) as the size allows."""
    from pyspark.sql import functions as sf

    _check_methods(methods)
    if approximate:
        return propagated_communities(edges, weight)
    large = large_windows(edges) if approximate is None else []
    there = sf.col("window").isin(large)
    chosen = tuple(methods)

    def detect(table: pa.Table) -> pa.Table:
        return _detect(table, weight, chosen, k)

    small = edges.where(~there) if large else edges
    found = small.groupBy("window").applyInArrow(detect, ddl("communities"))
    return found.unionByName(propagated_communities(edges.where(there), weight)) if large else found


def large_windows(edges: DataFrame) -> list[int]:
    """The windows whose graph is too large for one task."""
    from pyspark.sql import functions as sf

    ends = edges.select("window", sf.explode(sf.array("a", "b")).alias("node"))
    sizes = ends.groupBy("window").agg((sf.count("*") / 2).alias("edges"), sf.count_distinct("node").alias("nodes"))
    large = sizes.where((sf.col("edges") > MOST_EDGES) | (sf.col("edges") * sf.col("nodes") > MOST_WORK))
    return sorted(row["window"] for row in large.select("window").collect())


def windows_of(windows: Sequence[tuple[float, float]], edges: DataFrame, nodes: DataFrame, paths: Paths) -> DataFrame:
    """The table ``windows``: one row a window, also an empty one."""
    from pyspark.sql import functions as sf

    spark = edges.sparkSession
    rows = [(number, *window) for number, window in enumerate(windows)]
    whole = spark.createDataFrame(rows, "window int, start double, end double")
    counted = edges.groupBy("window").agg(sf.count("*").alias("edges"))
    many = nodes.groupBy("window").agg(
        sf.count("*").alias("nodes"),
        (sf.sum(sf.col("clustering").cast("decimal(30,15)")).cast("double") / sf.count("*")).alias("clustering_mean"),
    )
    joined = whole.join(counted, "window", "left").join(many, "window", "left").join(paths.means, "window", "left")
    return joined.fillna(0, ["edges", "nodes"]).select(*names("windows"))


def _windows(span: tuple[float, float], length: float | None, step: float | None) -> list[tuple[float, float]]:
    first, last = span
    if length is None:
        return [span]
    found: list[tuple[float, float]] = []
    while not found or found[-1][1] < last:
        begin = first + len(found) * (step or length)
        found.append((begin, begin + length))
    return found


def _check_methods(methods: Sequence[str]) -> None:
    for method in methods:
        if method not in METHODS:
            raise ConfigurationError(f"no method '{method}': write one of {', '.join(METHODS)}")


def _triangles(edges: DataFrame, degrees: DataFrame) -> DataFrame:
    """Triangles of every node: each is found once, from its corner with the fewest neighbours."""
    from pyspark.sql import functions as sf

    one = degrees.select("window", sf.col("node").alias("a"), sf.col("degree").alias("_one"))
    two = degrees.select("window", sf.col("node").alias("b"), sf.col("degree").alias("_two"))
    ranked = edges.select("window", "a", "b").join(one, ["window", "a"]).join(two, ["window", "b"])
    low = sf.struct(sf.col("_one").alias("d"), sf.col("a").alias("n"))
    high = sf.struct(sf.col("_two").alias("d"), sf.col("b").alias("n"))
    aimed = ranked.select("window", sf.least(low, high).alias("u"), sf.greatest(low, high).alias("v"))
    wedge = aimed.alias("one").join(aimed.alias("two"), ["window", "u"]).where(sf.col("one.v") < sf.col("two.v"))
    wedge = wedge.select("window", "u", sf.col("one.v").alias("v"), sf.col("two.v").alias("w"))
    closing = aimed.select("window", sf.col("u").alias("v"), sf.col("v").alias("w"))
    found = wedge.join(closing, ["window", "v", "w"])
    corners = found.select("window", sf.explode(sf.array("u.n", "v.n", "w.n")).alias("node"))
    return corners.groupBy("window", "node").agg(sf.count("*").alias("triangles"))


class _Graph:
    """The graph of one window within one task: nodes by number in their natural order."""

    def __init__(self, table: pa.Table) -> None:
        a, b = table.column("a").to_pylist(), table.column("b").to_pylist()
        self.window: int = table.column("window")[0].as_py()
        self.names = sorted({*a, *b}, key=natural_order)
        number = {name: i for i, name in enumerate(self.names)}
        pairs = [(number[one], number[two], row) for row, (one, two) in enumerate(zip(a, b, strict=True))]
        pairs.sort()
        self.edges = [(one, two) for one, two, _ in pairs]
        self.rows = [row for _, _, row in pairs]
        self.small = len(self.edges) <= MOST_EDGES and len(self.edges) * len(self.names) <= MOST_WORK

    def graph(self) -> Any:
        import rustworkx

        graph = rustworkx.PyGraph(multigraph=False)
        graph.add_nodes_from(self.names)
        graph.add_edges_from_no_data(self.edges)
        return graph


_ONE_THREAD = 1 << 30
"""Spark's tasks are the threads; and sums come out the same."""


def _centralities(table: pa.Table) -> pa.Table:
    import pyarrow as pa
    import rustworkx

    graph = _Graph(table)
    many = len(graph.names)
    closeness: list[float | None] = [None] * many
    betweenness: list[float | None] = [None] * many
    if graph.small:
        made = graph.graph()
        near = rustworkx.closeness_centrality(made, wf_improved=True, parallel_threshold=_ONE_THREAD)
        between = rustworkx.betweenness_centrality(made, normalized=True, parallel_threshold=_ONE_THREAD)
        closeness, betweenness = [near[i] for i in range(many)], [between[i] for i in range(many)]
    return pa.table(
        {
            "window": pa.array([graph.window] * many, pa.int32()),
            "node": pa.array(graph.names, pa.string()),
            "closeness": pa.array(closeness, pa.float64()),
            "closeness_error": pa.array([0.0 if graph.small else None] * many, pa.float64()),
            "betweenness": pa.array(betweenness, pa.float64()),
            "betweenness_error": pa.array([0.0 if graph.small else None] * many, pa.float64()),
        }
    )


def _hops(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    graph = _Graph(table)
    hops: list[int | None] = []
    pairs: list[int] = []
    if graph.small:
        many = len(graph.names)
        counts = hop_counts(many, graph.edges)
        found = [(hop, many_pairs // 2) for hop, many_pairs in enumerate(counts) if many_pairs]
        hops, pairs = [hop for hop, _ in found], [number for _, number in found]
        apart = many * (many - 1) // 2 - sum(pairs)
        if apart:
            hops.append(None)
            pairs.append(apart)
    return pa.table(
        {
            "window": pa.array([graph.window] * len(hops), pa.int32()),
            "hops": pa.array(hops, pa.int32()),
            "pairs": pa.array(pairs, pa.int64()),
            "error": pa.array([0.0] * len(hops), pa.float64()),
        }
    )


def _detect(table: pa.Table, weight: str, methods: tuple[str, ...], k: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    graph = _Graph(table)
    given = np.array(table.column(weight).to_pylist(), np.float64)[graph.rows]
    # Contacts of no length still are contacts: a trace of instants has no other weight.
    weights = np.maximum(given, 1e-6)
    rows: list[tuple[int, str, int, str, float | None]] = []
    for method in methods if graph.small else ():
        found = find_communities(method, len(graph.names), graph.edges, weights, k)
        quality = None if method == "k-clique" else modularity(len(graph.names), graph.edges, weights, found)
        for number, members in enumerate(found):
            rows.extend((graph.window, method, number, graph.names[member], quality) for member in members)
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    kinds = (pa.int32(), pa.string(), pa.int32(), pa.string(), pa.float64())
    named = ("window", "method", "community", "node", "modularity")
    return pa.table({name: pa.array(list(c), kind) for name, c, kind in zip(named, columns, kinds, strict=True)})
