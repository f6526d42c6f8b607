"""Inter-contact laws by category and community, profiles of devices, and the page about a trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from hunet import make_world, write_contacts
from hunet.graphs.power_law import fit_times
from hunet.pipeline.analysis import analyse_communities, analyse_pairs, open_communities, open_trace
from hunet.pipeline.pairs import PairSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("report")
    write_contacts(make_world("community", seed=3, hosts=40, duration=6000), home / "trace.parquet")
    trace = open_trace(spark, home / "trace.parquet")
    analyse_communities(trace, home / "communities", trace.span, {"simple": {"threshold": 120.0}})
    groups = open_communities(spark, home / "communities")
    analyse_pairs(trace, home / "pairs", PairSettings(trace.span), communities=groups)
    return home


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return found


def test_every_group_has_its_law(folder: Path) -> None:
    pairs = {(row["a"], row["b"]): row["category"] for row in rows(folder, "pairs/pairs")}
    homes: dict[str, set[int]] = {}
    for row in rows(folder, "communities/communities"):
        homes.setdefault(row["node"], set()).add(row["community"])
    gaps: dict[tuple[str, str], list[float]] = {}
    for row in rows(folder, "pairs/inter_contacts"):
        pair = (row["a"], row["b"])
        common = homes.get(pair[0], set()) & homes.get(pair[1], set())
        groups = [("community", str(number)) for number in common] or [("community", "between")]
        for group in [("all", "all"), ("category", pairs[pair]), *groups]:
            gaps.setdefault(group, []).append(row["time"])
    laws = {(row["by"], row["group"]): row for row in rows(folder, "pairs/laws")}
    assert set(laws) == set(gaps)
    assert {by for by, _ in laws} == {"all", "category", "community"}
    assert {("community", "0"), ("community", "between")} <= set(laws)
    import numpy as np

    for group, times in gaps.items():
        law = fit_times(np.array(times))
        assert laws[group]["times"] == len([time for time in times if time > 0])
        expected = (law.alpha, law.low, law.high, law.share, law.distance) if law else (None,) * 5
        for name, value in zip(("alpha", "low", "high", "share", "distance"), expected, strict=True):
            assert laws[group][name] == (pytest.approx(value) if value is not None else None)
    assert any(row["alpha"] is not None for row in laws.values())


def test_profiles_count_the_pairs_of_a_device(folder: Path) -> None:
    counted: dict[tuple[str, str], int] = {}
    for row in rows(folder, "pairs/pairs"):
        for node in (row["a"], row["b"]):
            key = (node, row["category"].replace(" ", "_"))
            counted[key] = counted.get(key, 0) + 1
    profiles = {row.pop("node"): row for row in rows(folder, "pairs/profiles")}
    assert {(node, kind): many for node, row in profiles.items() for kind, many in row.items() if many} == counted


def test_the_page_needs_nothing_else(folder: Path, spark: SparkSession, hunet: Any) -> None:
    del spark  # the session that the command finds running
    answer = hunet(
        "trace", "report", folder / "trace.parquet", "-o", folder / "page.html", "--communities", folder / "communities"
    )
    assert answer.status == 0, answer.err
    page = (folder / "page.html").read_text()
    assert page.count("<svg ") == 4
    assert "α by community" in page
    assert "power law with α" in page
    assert not re.search(r"<script|<link|<img|src=|url\(http", page)
    assert not [link for link in re.findall(r'href="([^"]*)"', page) if not link.startswith("#")]


def test_wrong_folders_of_communities_are_one_line(folder: Path, spark: SparkSession, hunet: Any) -> None:
    del spark
    for options, problem in (
        (["--communities", folder], "has no communities.parquet"),
        (["--communities", folder / "communities", "--method", "mops"], "has no communities by 'mops'"),
    ):
        answer = hunet("trace", "pairs", folder / "trace.parquet", "-o", folder / "none", *options)
        assert answer.status != 0
        assert problem in answer.err
    answer = hunet("trace", "communities", folder / "trace.parquet", "-o", folder / "none", "--set", "threshold=3")
    assert "write METHOD.NAME=VALUE" in answer.err
    assert not (folder / "none").exists()
