"""The stages as a library, in a session of one's own; and their plain versions, held against them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pytest

import hunet.pipeline
from hunet.graphs.figures import graph_figures, pair_figures
from hunet.graphs.pairs import inter_contact_times
from hunet.graphs.pairs import pairs_of as plain_pairs
from tests.strategies import crowd

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_function_is_there() -> None:
    for name in hunet.pipeline.__all__:
        assert callable(getattr(hunet.pipeline, name)), name
    homes = hunet.pipeline._HOMES.values()
    assert sorted(chain(*homes)) == hunet.pipeline.__all__
    with pytest.raises(AttributeError, match="no attribute 'pears_of'"):
        _ = hunet.pipeline.pears_of


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.slow
def test_the_plain_versions_say_the_same(spark: SparkSession, seed: int) -> None:
    """``hunet.graphs`` is for one task and for pages, the stages are for any size: there is one of each."""
    from hunet.pipeline import graph_of, hops_of, inter_contacts_of, nodes_of, pairs_of, span_of

    contacts = crowd(seed, nodes=9)[0]
    rows = spark.createDataFrame(list(contacts.records()), "a string, b string, start double, end double")
    assert span_of(rows) == (float(contacts.start.min()), float(contacts.end.max()))
    name = contacts.names
    found = {(row["a"], row["b"]): row for row in pairs_of(rows, contacts.span).collect()}
    plain = plain_pairs(contacts)
    assert set(found) == {(name[a], name[b]) for a, b in plain.edges()}
    for (a, b), seconds, many in zip(plain.edges(), plain.seconds, plain.contacts, strict=True):
        row = found[name[a], name[b]]
        assert (row["contacts"], row["duration"]) == (many, pytest.approx(seconds))
    counted = dict.fromkeys(pair_figures(contacts)["categories"], 0)
    for row in found.values():
        counted[row["category"]] += 1
    assert counted == pair_figures(contacts)["categories"]
    gaps = sorted(row["time"] for row in inter_contacts_of(rows).collect())
    assert gaps == pytest.approx(np.sort(inter_contact_times(contacts)).tolist())
    for least in (1, 2):
        edges = graph_of(rows, contacts.span, least_contacts=least).persist()
        figures = graph_figures(contacts, least)
        nodes = nodes_of(edges).collect()
        assert sorted(row["degree"] for row in nodes) == sorted(figures["degrees"])
        assert np.mean([row["clustering"] for row in nodes]) == pytest.approx(figures["clustering_mean"])
        hops = {row["hops"]: row["pairs"] for row in hops_of(edges, approximate=False).collect() if row["hops"]}
        assert hops == {hop: many for hop, many in enumerate(figures["hops"], 1) if many}
        edges.unpersist()
