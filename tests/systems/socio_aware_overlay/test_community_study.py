"""Tables 1 and 2 of the Socio-Aware Overlay: against networkx, on circles of friends, and as study files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings

import hunet.systems.socio_aware_overlay
from hunet import Contacts, HunetError, write_contacts
from hunet.graphs.figures import graph_figures
from hunet.model import from_mapping
from hunet.pipeline.study_plan import read_study
from hunet.systems.socio_aware_overlay.community_study import COMMUNITIES
from tests.strategies import crowds


def circles() -> Contacts:
    """Two circles of five that meet every 100 s, and one who only passes by."""
    inside = [
        (str(a), str(b), 100.0 * turn, 100.0 * turn + 50)
        for turn in range(20)
        for first in (0, 5)
        for a in range(first, first + 5)
        for b in range(a + 1, first + 5)
    ]
    return Contacts.from_records([*inside, ("4", "5", 1000, 1050), ("9", "10", 500, 510)])


def figures(**given_: Any) -> dict[str, Any]:
    return COMMUNITIES.compute(circles(), from_mapping(COMMUNITIES.parameters, {"threshold": 300.0, **given_}))


@given(crowds())
@settings(max_examples=30)
def test_hops_and_clustering_are_those_of_networkx(crowd: Any) -> None:
    contacts: Contacts = crowd[0]
    graph = nx.Graph(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True))
    found = graph_figures(contacts)
    lengths = [d for node, row in nx.all_pairs_shortest_path_length(graph) for other, d in row.items() if node < other]
    assert found["hops_mean"] == pytest.approx(sum(lengths) / len(lengths))
    assert found["clustering_mean"] == pytest.approx(nx.average_clustering(graph))
    assert sorted(found["degrees"]) == sorted(degree for _, degree in graph.degree)


def test_devices_find_what_the_centre_finds() -> None:
    found = figures()
    assert found["communities"] == found["centralised"]["k-clique"] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert found["similarity"]["k-clique"] == found["accuracy"]["k-clique"] == found["density"] == 1
    assert found["found"]["k-clique"] == [1.0] * 5
    assert found["similarity"]["newman"] == 1


def test_too_little_of_the_trace_finds_nothing() -> None:
    found = figures(share=0.1)
    assert (found["communities"], found["similarity"]["k-clique"], found["density"]) == ([], 0.0, None)
    assert figures(threshold=1e6)["similarity"]["k-clique"] is None
    assert figures(least_contacts=3)["graph"]["nodes"] == 10
    with pytest.raises(HunetError, match="share"):
        figures(share=0)


def test_the_study_files_are_studies(tmp_path: Path) -> None:
    """All of them, on a trace of our own in the place of the real ones."""
    folder = Path(hunet.systems.socio_aware_overlay.__file__).parent / "studies"
    files = sorted(folder.glob("*.toml"))
    assert len(files) >= 12
    for trace in ("cambridge", "reality", "geolife"):
        (tmp_path / trace).mkdir()
        write_contacts(circles(), tmp_path / trace / "contacts.parquet")
    for file in files:
        study = read_study(file, tmp_path)
        assert study.runs(), file.name
        analysed = all(run.is_analysis for run in study.runs())
        assert len(study.seeds) >= 5 or analysed, f"{file.name}: the paper averages at least 5 runs"
