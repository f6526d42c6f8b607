"""Pairs: MOPS's vectors, the four categories, and a plain computation of the rest."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from hunet import Contacts, make_world, write_contacts
from hunet.graphs.power_law import fit_times
from hunet.model import ConfigurationError
from hunet.pipeline.analysis import analyse_pairs, open_trace
from hunet.pipeline.pairs import PairSettings, pairs_of
from hunet.systems.mops.closeness_graph import closeness_table, mean_separations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def table(spark: SparkSession, records: list[tuple[str, str, float, float]]) -> DataFrame:
    return spark.createDataFrame(records, "a string, b string, start double, end double")


# MOPS, section 13: window 100 s, sigma 25 s.
VECTORS: dict[str, tuple[list[tuple[float, float]], float, float]] = {
    "58": ([(20, 40), (50, 70)], 20.0, math.exp(-0.32)),  # vector 1: separations 20, 10, 30
    "aa": ([(0, 100)], 0.0, 1.0),  # no separation at all
    "bb": ([(0, 10), (30, 100)], 20.0, math.exp(-0.32)),  # edges of no length are not counted
    "cc": ([(50, 50)], 50.0, math.exp(-2.0)),  # one instant parts the window in two
    "dd": ([(-20, 10), (90, 130)], 80.0, math.exp(-5.12)),  # contacts are cut to the window
}


def test_closeness_is_that_of_mops(spark: SparkSession) -> None:
    rows = [(name, "peer", s, e) for name, (contacts, _, _) in VECTORS.items() for s, e in contacts]
    outside = [("ee", "peer", 200.0, 210.0)]  # never met in the window: no edge
    contacts = table(spark, [(a, b, float(s), float(e)) for a, b, s, e in rows] + outside)
    measured = pairs_of(contacts, (0.0, 100.0), sigma=25.0)
    found = {row["a"]: row for row in measured.collect()}
    assert set(found) == set(VECTORS)
    for name, (_, separation, closeness) in VECTORS.items():
        assert found[name]["separation"] == pytest.approx(separation)
        assert found[name]["closeness"] == pytest.approx(closeness)
    assert found["58"]["closeness"] == pytest.approx(0.7261, abs=5e-5)


@pytest.mark.parametrize("edges", ["both", "inner+trailing", "inner"])
def test_the_table_is_the_one_that_devices_are_given(spark: SparkSession, edges: Any) -> None:
    contacts = make_world("waypoint", seed=1, nodes=12, duration=900)
    rows = [(a, b, start, end) for a, b, start, end in contacts.records()]
    measured = pairs_of(table(spark, rows), (100.0, 700.0), edges=edges).collect()
    number = {name: node for node, name in enumerate(contacts.names)}
    found = {tuple(sorted((number[row["a"]], number[row["b"]]))): row["closeness"] for row in measured}
    given = closeness_table(mean_separations(contacts, 100.0, 700.0, edges))
    assert found == {(one, two): pytest.approx(closeness) for one, two, closeness in given}


@pytest.mark.parametrize(("edges", "closeness"), [("both", 0.7261), ("inner+trailing", 0.7261), ("inner", 0.9231)])
def test_edges_of_the_window(spark: SparkSession, edges: Any, closeness: float) -> None:
    contacts = table(spark, [("5", "8", 20.0, 40.0), ("5", "8", 50.0, 70.0)])
    row = pairs_of(contacts, (0.0, 100.0), edges=edges, sigma=25.0).first()
    assert row is not None
    assert row["closeness"] == pytest.approx(closeness, abs=5e-5)


def test_everything_against_a_plain_computation(spark: SparkSession, tmp_path: Path) -> None:
    contacts = make_world("waypoint", seed=5, nodes=25, duration=1800)
    rows = list(contacts.records())
    write_contacts(contacts, tmp_path / "contacts.parquet")
    said = analyse_pairs(
        open_trace(spark, tmp_path / "contacts.parquet"), tmp_path / "out", PairSettings(contacts.span)
    )
    found = {(row["a"], row["b"]): row for row in pq.read_table(tmp_path / "out" / "pairs.parquet").to_pylist()}
    by_pair: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for a, b, start, end in rows:
        by_pair.setdefault((a, b), []).append((start, end))
    assert set(found) == set(by_pair)
    begin, finish = contacts.span
    apart = {}
    for pair, intervals in by_pair.items():
        row, gaps = found[pair], [later[0] - before[1] for before, later in pairwise(intervals)]
        ends = [intervals[0][0] - begin, finish - intervals[-1][1]]
        separations = gaps + [edge for edge in ends if edge > 0]
        apart[pair] = sum(separations) / len(separations) if separations else 0.0
        lengths = [end - start for start, end in intervals]
        assert row["contacts"] == len(intervals)
        assert row["duration"] == pytest.approx(sum(lengths))
        assert row["contact_mean"] == pytest.approx(sum(lengths) / len(lengths))
        assert row["contact_max"] == pytest.approx(max(lengths))
        assert row["inter_contact_mean"] == (pytest.approx(sum(gaps) / len(gaps)) if gaps else None)
        assert row["inter_contact_max"] == (pytest.approx(max(gaps)) if gaps else None)
        assert row["separations"] == len(separations)
        assert row["separation"] == pytest.approx(apart[pair])
    sigma = sum(apart.values()) / len(apart)
    assert said["sigma"] == pytest.approx(sigma)
    many = sum(row["contacts"] for row in found.values()) / len(found)
    long = sum(row["duration"] for row in found.values()) / len(found)
    names = {(True, True): "community", (True, False): "familiar stranger", (False, True): "friend"}
    for pair, row in found.items():
        assert row["closeness"] == pytest.approx(math.exp(-(apart[pair] ** 2) / (2 * sigma**2)))
        assert row["category"] == names.get((row["contacts"] > many, row["duration"] > long), "stranger")
    gaps_found = pq.read_table(tmp_path / "out" / "inter_contacts.parquet").column("time").to_numpy()
    law = fit_times(np.asarray(gaps_found))
    assert (law is None) == (said["power_law"] is None)
    if law is not None:
        assert said["power_law"] == pytest.approx(law._asdict(), rel=1e-9)
    assert json.loads((tmp_path / "out" / "pairs.json").read_text())["pairs"] == len(found)


def test_thresholds_can_be_given(spark: SparkSession) -> None:
    contacts = table(spark, [("a", "b", 0.0, 10.0), ("a", "b", 20.0, 30.0), ("a", "c", 0.0, 50.0)])
    found = pairs_of(contacts, (0.0, 60.0), many=1, long=30).collect()
    assert {row["b"]: row["category"] for row in found} == {"b": "familiar stranger", "c": "friend"}


def test_power_law_of_a_known_sample() -> None:
    """Pareto with density exponent 1.7 from 100 to 100,000 s, and something else on both sides."""
    rng = np.random.default_rng(3)
    low, high, rate = 100.0, 1e5, 0.7
    u = rng.random(40000)
    inside = low * (1 - u * (1 - (high / low) ** -rate)) ** (-1 / rate)
    mixed = np.concatenate([inside, rng.uniform(1, 100, 4000), rng.uniform(1e5, 1.2e5, 4000)])
    given = fit_times(mixed, (low, high))
    assert given is not None
    assert given.alpha == pytest.approx(1.7, abs=0.02)
    assert given.distance < 0.01
    found = fit_times(mixed)
    assert found is not None
    assert found.alpha == pytest.approx(1.7, abs=0.1)
    assert found.low == pytest.approx(low, rel=0.6)
    assert found.high == pytest.approx(high, rel=0.6)
    assert fit_times(np.array([1.0, 2.0])) is None


def test_wrong_settings_are_refused() -> None:
    for wrong in (
        {"window": (5.0, 5.0)},
        {"window": (0.0, 1.0), "edges": "outer"},
        {"window": (0.0, 1.0), "sigma": 0.0},
    ):
        with pytest.raises(ConfigurationError):
            PairSettings(**wrong)


def test_infocom(spark: SparkSession, shared: Path) -> None:
    """Chaintreau et al.: inter-contact times of Infocom 2005 follow a power law from minutes to most of a day."""
    from hunet.graphs.pairs import inter_contact_times

    rows = [line.split() for line in (shared / "traces" / "infocom05" / "contacts.Exp3.dat").read_text().splitlines()]
    inside = [(a, b, float(s), float(e)) for a, b, s, e, *_ in rows if int(b) <= 41]
    law = fit_times(inter_contact_times(Contacts.from_records(inside)))
    assert law is not None
    assert 1.3 < law.alpha < 1.6
    assert law.low < 240
    assert law.high > 6 * 3600
