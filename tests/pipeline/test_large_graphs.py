"""Graphs beyond one task: sampled paths and label propagation against the exact ones, where both run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import networkx as nx  # type: ignore[import-untyped]
import pytest

from hunet.pipeline import large_graphs, social_graph
from hunet.pipeline.large_graphs import Paths, propagated_communities, sampled_paths
from hunet.pipeline.social_graph import communities_of, hops_of, nodes_of, paths_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


pytestmark = pytest.mark.slow


def table_of(spark: SparkSession, *graphs: nx.Graph) -> DataFrame:
    """Edges, one window for each graph."""
    rows = [
        (window, f"n{one}", f"n{two}", 2, float(data.get("weight", 1.0)))
        for window, graph in enumerate(graphs)
        for one, two, data in graph.edges(data=True)
    ]
    return spark.createDataFrame(rows, "window int, a string, b string, contacts bigint, duration double").persist()


def by_node(paths: Paths) -> dict[tuple[int, str], Any]:
    return {(row["window"], row["node"]): row for row in paths.centralities.collect()}


def by_hops(paths: Paths) -> dict[tuple[int, int | None], tuple[int, float]]:
    return {(row["window"], row["hops"]): (row["pairs"], row["error"]) for row in paths.hops.collect()}


@pytest.fixture(scope="module")
def two(spark: SparkSession) -> DataFrame:
    """A connected graph, and one of several components."""
    return table_of(spark, nx.gnm_random_graph(26, 40, seed=4), nx.barbell_graph(4, 2))


def test_with_all_nodes_as_sources_the_figures_are_exact(two: DataFrame) -> None:
    exact, sampled = paths_of(two, approximate=False), sampled_paths(two, 70, 26)
    expected, found = by_node(exact), by_node(sampled)
    assert set(found) == set(expected)
    for key, row in found.items():
        assert row["closeness"] == pytest.approx(expected[key]["closeness"], abs=1e-12)
        assert row["betweenness"] == pytest.approx(expected[key]["betweenness"], abs=1e-12)
        assert (row["closeness_error"], row["betweenness_error"]) == (0, 0)
    assert by_hops(sampled) == by_hops(exact)
    means = {row["window"]: row for row in exact.means.collect()}
    for row in sampled.means.collect():
        assert row["hops_mean"] == pytest.approx(means[row["window"]]["hops_mean"])
        assert (row["hops_error"], row["paths"], means[row["window"]]["paths"]) == (0, "sampled", "exact")


def test_a_sample_is_within_the_stated_error(spark: SparkSession) -> None:
    edges = table_of(spark, nx.powerlaw_cluster_graph(400, 3, 0.3, seed=2))
    exact, sampled = paths_of(edges, approximate=False), sampled_paths(edges, 100, 40)
    expected, found = by_node(exact), by_node(sampled)
    for figure in ("closeness", "betweenness"):
        off = {key: (row[figure] - expected[key][figure], row[f"{figure}_error"]) for key, row in found.items()}
        assert sum(error > 0 for _, error in off.values()) > 350
        if figure == "closeness":  # loads are skewed: of betweenness only the size of the errors is right
            assert sum(abs(wrong) <= 3 * error for wrong, error in off.values()) >= 0.97 * len(off)
        wrong, stated = (math.sqrt(sum(each[i] ** 2 for each in off.values())) for i in (0, 1))
        assert 0.3 * stated < wrong < 2 * stated
    pairs = by_hops(exact)
    for key, (many, error) in by_hops(sampled).items():
        assert abs(many - pairs[key][0]) <= 4 * error + 1
    mean, estimate = exact.means.collect()[0], sampled.means.collect()[0]
    assert 0 < estimate["hops_error"] < 0.1
    assert abs(mean["hops_mean"] - estimate["hops_mean"]) <= 4 * estimate["hops_error"]


def test_what_one_task_cannot_do_is_sampled(
    two: DataFrame, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By edges or by work, each window for itself; the exact way alone says nothing of the large one."""
    monkeypatch.setattr(social_graph, "MOST_EDGES", 30)
    monkeypatch.setattr(large_graphs, "MOST_HOPS", 3)
    assert social_graph.large_windows(two) == [0]
    paths = paths_of(two)
    how = {row["window"]: row["paths"] for row in paths.means.collect()}
    assert how == {0: "sampled", 1: "exact"}
    assert max(row["hops"] for row in hops_of(two).collect() if row["window"] == 0 and row["hops"]) == 3
    nodes = nodes_of(two, paths).collect()
    assert {row["window"] for row in nodes if row["closeness"] is not None} == {0, 1}
    methods = {(row["window"], row["method"]) for row in communities_of(two, ["modularity"]).collect()}
    assert methods == {(0, "label-propagation"), (1, "modularity")}
    monkeypatch.setattr(social_graph, "MOST_EDGES", 1000)
    monkeypatch.setattr(social_graph, "MOST_WORK", 500)
    assert social_graph.large_windows(two) == [0]


def test_labels_find_planted_communities(spark: SparkSession) -> None:
    graph = nx.planted_partition_graph(5, 12, 0.9, 0.02, seed=3)
    for one, other in graph.edges:
        graph[one][other]["weight"] = 5.0 if one // 12 == other // 12 else 1.0
    rows = propagated_communities(table_of(spark, graph, nx.barbell_graph(6, 0))).collect()
    parts: dict[tuple[int, int], set[int]] = {}
    for row in rows:
        parts.setdefault((row["window"], row["community"]), set()).add(int(row["node"][1:]))
    first = [part for (window, _), part in sorted(parts.items()) if window == 0]
    assert sorted(map(sorted, first)) == [list(range(12 * n, 12 * n + 12)) for n in range(5)]
    assert parts[1, 0] | parts[1, 1] == set(range(12))
    quality = {row["window"]: row["modularity"] for row in rows}
    assert quality[0] == pytest.approx(nx.community.modularity(graph, first))


def test_labels_do_not_swap_for_ever(spark: SparkSession) -> None:
    """A star, on which moves of all nodes at a time never end."""
    rows = propagated_communities(table_of(spark, nx.star_graph(6))).collect()
    assert {row["community"] for row in rows} == {0}
    assert len(rows) == 7
