"""The social graph against networkx: many random graphs, each in a window of its own, in one Spark job."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
import pyarrow.parquet as pq
import pytest

from hunet import Contacts, write_contacts
from hunet.graphs.communities import find_communities, modularity
from hunet.model import ConfigurationError
from hunet.pipeline.analysis import analyse_graph, open_trace
from hunet.pipeline.social_graph import GraphSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW = 1000.0


def random_graph(number: int) -> nx.Graph:
    """Sparse and dense, with loners apart, trees, cliques; weights are whole seconds."""
    rng = random.Random(number)
    nodes = rng.randint(2, 14)
    kinds = (
        lambda: nx.gnp_random_graph(nodes, rng.choice([0.15, 0.3, 0.6, 0.95]), seed=number),
        lambda: nx.connected_caveman_graph(3, 4),
        lambda: nx.path_graph(nodes),
    )
    graph = kinds[number % 3 if number < 3 else 0]()
    graph.remove_nodes_from(list(nx.isolates(graph)))
    for one, two in graph.edges:
        graph[one][two]["weight"] = float(rng.randint(1, 90))
    return graph


@pytest.fixture(scope="module")
def graphs() -> list[nx.Graph]:
    found = [random_graph(number) for number in range(24)]
    return [graph for graph in found if graph.number_of_edges()]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, graphs: list[nx.Graph], tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = []
    for number, graph in enumerate(graphs):
        for one, two, weight in graph.edges(data="weight"):
            # Two contacts, both well inside the window.
            begin = number * WINDOW + 100
            rows += [
                (f"n{one}", f"n{two}", begin, begin + weight - 0.5),
                (f"n{one}", f"n{two}", begin + 200, begin + 200.5),
            ]
    contacts = Contacts.from_records(rows)
    out = tmp_path_factory.mktemp("graph") / "out"
    write_contacts(contacts, out.with_name("contacts.csv"))
    settings = GraphSettings((0.0, len(graphs) * WINDOW), WINDOW, methods=("k-clique", "girvan-newman", "modularity"))
    analyse_graph(open_trace(spark, out.with_name("contacts.csv")), out, settings)
    return out


def rows(folder: Path, name: str) -> list[dict]:  # type: ignore[type-arg]
    found: list[dict] = pq.read_table(folder / f"{name}.parquet").to_pylist()  # type: ignore[type-arg]
    return found


def test_edges(tables: Path, graphs: list[nx.Graph]) -> None:
    found = {(row["window"], row["a"], row["b"]): (row["contacts"], row["duration"]) for row in rows(tables, "edges")}
    assert len(found) == sum(graph.number_of_edges() for graph in graphs)
    for number, graph in enumerate(graphs):
        for one, two, weight in graph.edges(data="weight"):
            a, b = sorted((one, two))
            assert found[number, f"n{a}", f"n{b}"] == (2, weight)


def test_node_measures_are_those_of_networkx(tables: Path, graphs: list[nx.Graph]) -> None:
    found = {(row["window"], row["node"]): row for row in rows(tables, "nodes")}
    assert len(found) == sum(graph.number_of_nodes() for graph in graphs)
    for number, graph in enumerate(graphs):
        expected = {
            "degree": dict(graph.degree),
            "strength": dict(graph.degree(weight="weight")),
            "clustering": nx.clustering(graph),
            "closeness": nx.closeness_centrality(graph),
            "betweenness": nx.betweenness_centrality(graph),
        }
        for name, values in expected.items():
            for node, value in values.items():
                assert found[number, f"n{node}"][name] == pytest.approx(value, abs=1e-12), name


def test_hops_and_windows(tables: Path, graphs: list[nx.Graph]) -> None:
    hops = {(row["window"], row["hops"]): row["pairs"] for row in rows(tables, "hops")}
    windows = rows(tables, "windows")
    assert [row["window"] for row in windows] == list(range(len(graphs)))
    for number, graph in enumerate(graphs):
        lengths = [
            length
            for one, reached in nx.all_pairs_shortest_path_length(graph)
            for two, length in reached.items()
            if one < two
        ]
        for hop in set(lengths):
            assert hops[number, hop] == lengths.count(hop)
        many = graph.number_of_nodes()
        assert hops.get((number, None), 0) == many * (many - 1) // 2 - len(lengths)
        assert windows[number]["hops_mean"] == pytest.approx(np.mean(lengths))
        assert windows[number]["clustering_mean"] == pytest.approx(nx.average_clustering(graph))
        assert (windows[number]["nodes"], windows[number]["edges"]) == (many, graph.number_of_edges())


def test_communities_are_those_of_networkx(tables: Path, graphs: list[nx.Graph]) -> None:
    found: dict[tuple[int, str], dict[int, set[str]]] = {}
    quality: dict[tuple[int, str], float] = {}
    for row in rows(tables, "communities"):
        found.setdefault((row["window"], row["method"]), {}).setdefault(row["community"], set()).add(row["node"])
        quality[row["window"], row["method"]] = row["modularity"]
    for number, graph in enumerate(graphs):
        cliques = {frozenset(f"n{node}" for node in part) for part in nx.community.k_clique_communities(graph, 3)}
        assert {frozenset(part) for part in found.get((number, "k-clique"), {}).values()} == cliques
        for method in ("girvan-newman", "modularity"):
            parts = [{int(node[1:]) for node in part} for part in found[number, method].values()]
            assert nx.community.is_partition(graph, parts)
            expected = nx.community.modularity(graph, parts)
            assert quality[number, method] == pytest.approx(expected, abs=1e-12)
        greedy = nx.community.greedy_modularity_communities(graph, weight="weight")
        assert quality[number, "modularity"] >= nx.community.modularity(graph, greedy) - 0.05


def test_girvan_newman_takes_the_best_of_all_partitions() -> None:
    """On weighted graphs whose edges differ, networkx's dendrogram has no better partition."""
    for number in range(6):
        graph = nx.planted_partition_graph(3, 5, 0.9, 0.1, seed=number)
        rng = random.Random(number)
        for one, two in graph.edges:
            graph[one][two]["weight"] = 10 + rng.random() if one // 5 == two // 5 else 1 + rng.random()

        def heaviest(left: nx.Graph) -> tuple[int, int]:
            load = nx.edge_betweenness_centrality(left, normalized=False)
            one, two = max(load, key=lambda edge: load[edge] / left[edge[0]][edge[1]]["weight"])
            return one, two

        best = max(
            nx.community.modularity(graph, parts)
            for parts in nx.community.girvan_newman(graph, most_valuable_edge=heaviest)
        )
        edges = [(min(e), max(e)) for e in graph.edges]
        edges.sort()
        weights = np.array([graph[one][two]["weight"] for one, two in edges])
        parts = find_communities("girvan-newman", graph.number_of_nodes(), edges, weights)
        whole = nx.community.modularity(graph, [set(range(15))])
        assert modularity(15, edges, weights, parts) == pytest.approx(max(best, whole), abs=1e-12)


def test_k_cliques_of_any_size() -> None:
    for number in range(30):
        graph = nx.gnp_random_graph(11, 0.6, seed=number)
        edges = sorted((min(edge), max(edge)) for edge in graph.edges)
        for k in (2, 3, 4, 5):
            ours = find_communities("k-clique", 11, edges, np.ones(len(edges)), k)
            theirs = {frozenset(part) for part in nx.community.k_clique_communities(graph, k)}
            assert {frozenset(part) for part in ours} == theirs


def test_windows_slide() -> None:
    settings = GraphSettings((10.0, 100.0), length=40.0, step=20.0)
    assert settings.windows() == [(10.0, 50.0), (30.0, 70.0), (50.0, 90.0), (70.0, 110.0)]
    for wrong in ({"length": 0.0}, {"length": 1.0, "step": 0.0}, {"weight": "hops"}, {"methods": ("louvain",)}):
        with pytest.raises(ConfigurationError):
            GraphSettings((0.0, 1.0), **wrong)


def test_a_contact_counts_in_every_window_that_it_touches(spark: SparkSession) -> None:
    from hunet.pipeline.social_graph import graph_of

    contacts = spark.createDataFrame([("a", "b", 45.0, 75.0)], "a string, b string, start double, end double")
    edges = graph_of(contacts, (10.0, 100.0), length=40.0, step=20.0).collect()
    assert {row["window"]: row["duration"] for row in edges} == {0: 5.0, 1: 25.0, 2: 25.0, 3: 5.0}


@pytest.mark.slow
def test_cambridge_falls_into_two_years(spark: SparkSession, shared: Path, tmp_path: Path) -> None:
    """The overlay paper's CAM: first- and second-year students; everybody is near everybody (Table 1: 1.2 hops)."""
    trace = open_trace(spark, shared / "traces" / "cambridge" / "students.one.tsv")
    said = analyse_graph(trace, tmp_path / "out", GraphSettings(trace.span, methods=("modularity",)))
    assert said["hops_mean"] == pytest.approx(1.2, abs=0.1)
    assert said["communities"]["modularity"] == [21, 15]
    assert json.loads((tmp_path / "out" / "graph.json").read_text())["edges"] == 541
