"""Communities as devices find them, on Spark: a run that is given their tables does what it does without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from hunet import Contacts, HunetError, Workload, make_workload, make_world, read_contacts, run, write_contacts
from hunet.model.community_files import read_communities
from hunet.pipeline.analysis import analyse_communities, analyse_pairs, open_trace
from hunet.pipeline.communities import chosen_methods, found_by_devices, members_of
from hunet.pipeline.pairs import PairSettings
from hunet.pipeline.study_plan import plan_study
from hunet.pipeline.study_run import simulate_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRAIN = 0.4
OVERLAY: dict[str, Any] = {"threshold": 120.0, "k": 3, "hop": "familiar"}
MOPS: dict[str, Any] = {"threshold": 0.4, "pruning": 0.6}


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crowd() -> Contacts:
    """Nodes that meet nobody are among them: numbers of nodes must not slip."""
    made = make_world("community", seed=3, hosts=40, duration=6000)
    names = [f"n{number}" for number in range(-1, len(made.names))]
    return Contacts.from_arrays(names, made.a + 1, made.b + 1, made.start, made.end, span=made.span)


@pytest.fixture(scope="module")
def work(crowd: Contacts) -> Workload:
    return make_workload(crowd, 5, messages=60, topics=6, first=TRAIN)


@pytest.fixture(scope="module")
def folders(spark: SparkSession, crowd: Contacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``whole`` is of the whole trace and ``training`` of its first part; ``pairs`` has that part's closeness."""
    home = tmp_path_factory.mktemp("communities")
    write_contacts(crowd, home / "trace.parquet")
    trace = open_trace(spark, home / "trace.parquet")
    begin, end = trace.span
    training = (begin, begin + TRAIN * (end - begin))
    analyse_communities(trace, home / "whole", trace.span, {"k-clique": OVERLAY, "simple": OVERLAY})
    analyse_communities(trace, home / "training", training, {"mops": MOPS})
    analyse_pairs(trace, home / "pairs", PairSettings(training))
    return home


def same(one: Any, two: Any) -> bool:
    assert len(one.deliveries) > 20, "nothing to compare"
    return bool(one.deliveries.equals(two.deliveries)) and one.summary == two.summary


@pytest.mark.parametrize("algorithm", ["k-clique", "simple"])
def test_the_overlay_runs_on_its_table_as_without(
    crowd: Contacts, work: Workload, folders: Path, algorithm: str
) -> None:
    given: dict[str, Any] = {"mode": "frozen", "algorithm": algorithm}
    alone = run(crowd, work, "socio-aware-overlay", **given, **OVERLAY)
    table = run(crowd, work, "socio-aware-overlay", **given, communities=str(folders / "whole"))
    assert alone.name["prepared"]["communities"], "no community was found"
    assert same(alone, table)
    said = table.name["parameters"]
    assert said["communities"] == read_communities(folders / "whole").fingerprint
    used = said | table.name["prepared"]
    assert {key: used[key] for key in OVERLAY} == OVERLAY  # not the defaults that the run was given


def test_mops_runs_on_its_tables_as_without(crowd: Contacts, work: Workload, folders: Path) -> None:
    alone = run(crowd, work, "mops", train=TRAIN, **MOPS)
    ways: list[dict[str, Any]] = [
        {"communities": str(folders / "training")},
        {"closeness": str(folders / "training"), **MOPS},
        {"closeness": str(folders / "pairs"), **MOPS},
    ]
    for given in ways:
        table = run(crowd, work, "mops", train=TRAIN, **given)
        assert same(alone, table), given
        for field in ("closeness", "communities"):
            expected = read_communities(given[field]).fingerprint if field in given else None
            assert table.name["parameters"][field] == expected


def test_the_table_says_what_mops_finds(spark: SparkSession, crowd: Contacts, folders: Path) -> None:
    found = read_communities(folders / "training").of("mops", crowd.names)
    brokers = {each.node for each in found.gateways if each.broker}
    assert brokers == {member.node for member in found.members if member.broker}
    flows: dict[tuple[int, int], float] = {}
    for each in found.gateways:
        flows[each.community, each.other] = flows.get((each.community, each.other), 0.0) + each.betweenness
    assert flows
    assert all(total == pytest.approx(1) for total in flows.values())
    said = json.loads((folders / "training" / "communities.json").read_text())
    assert said["found"]["mops"]["brokers"] == len(brokers)
    assert said["settings"]["mops"] == {"hops": 2, "sigma": None, "edges": "both", **MOPS}


def test_a_study_takes_tables(folders: Path, crowd: Contacts) -> None:
    """Folders are relative to the study, may be an axis, and stand in names of runs by their content."""
    given: dict[str, Any] = {
        "contacts": "trace.parquet",
        "protocol": "mops",
        "train": TRAIN,
        "parameters": {"communities": "training"},
    }
    study = plan_study(given, folders / "study.toml")
    (one,) = study.runs()
    fingerprint = read_communities(folders / "training").fingerprint
    assert one.name["parameters"] == {"communities": fingerprint}
    assert str(folders) not in json.dumps([one.name, study.identity])
    assert simulate_run(one, crowd).name["parameters"]["communities"] == fingerprint
    axis = {"closeness": ["training", "pairs"]}
    study = plan_study(given | {"parameters": axis}, folders / "study.toml")
    assert [run.point.axes for run in study.runs()] == [{"parameters.closeness": each} for each in axis["closeness"]]
    assert len({run.key for run in study.runs()}) == 2
    with pytest.raises(HunetError, match="no such folder"):
        plan_study(given | {"parameters": {"closeness": "nowhere"}}, folders / "study.toml")


def test_what_does_not_fit_is_refused(crowd: Contacts, work: Workload, folders: Path, tmp_path: Path) -> None:
    whole, training = str(folders / "whole"), str(folders / "training")
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("mops", {"communities": training, "threshold": 0.7}, "have threshold 0.4, the run 0.7"),
        ("mops", {"communities": whole}, "no communities by 'mops'"),
        ("mops", {"closeness": str(tmp_path)}, "no communities.json"),
        ("mops", {"communities": training, "learning": "exchange", "sigma": 9.0}, "leave them out"),
        ("socio-aware-overlay", {"communities": whole}, "mode frozen"),
        ("socio-aware-overlay", {"communities": whole, "mode": "frozen", "k": 5}, "have k 3, the run 5"),
    ]
    for protocol, given, problem in wrong:
        with pytest.raises(HunetError, match=problem):
            run(crowd, work, protocol, train=TRAIN, **given)
    few = crowd.busiest(5)
    with pytest.raises(HunetError, match="is not in the contacts of the run"):
        run(few, make_workload(few, 1, messages=3), "mops", communities=training)
    for given_, problem in (({"louvain": {}}, "no method"), ({"mops": {"alpha": 1}}, "no parameter 'alpha'")):
        with pytest.raises(HunetError, match=problem):
            chosen_methods(given_)


def test_content_is_known_however_it_is_cut(folders: Path, tmp_path: Path) -> None:
    """Spark cuts a table into files as it likes."""
    before = read_communities(folders / "training")
    (tmp_path / "communities.json").write_bytes((folders / "training" / "communities.json").read_bytes())
    for name in ("communities", "closeness", "gateways"):
        rows = pq.read_table(folders / "training" / f"{name}.parquet")
        (tmp_path / f"{name}.parquet").mkdir()
        half = len(rows) // 2
        pq.write_table(rows.slice(half), tmp_path / f"{name}.parquet" / "part-0.parquet")
        pq.write_table(rows.slice(0, half), tmp_path / f"{name}.parquet" / "part-1.parquet")
    assert read_communities(tmp_path).fingerprint == before.fingerprint


def test_cambridge(spark: SparkSession, shared: Path, tmp_path: Path) -> None:
    """A real trace: the same runs with tables as without."""
    contacts = read_contacts(shared / "traces" / "cambridge" / "students.one.tsv")
    trace = open_trace(spark, shared / "traces" / "cambridge" / "students.one.tsv")
    rows = members_of(found_by_devices(trace.contacts, trace.span, {"k-clique": {"threshold": 30_000}})).collect()
    assert len({row["community"] for row in rows}) >= 2
    work = make_workload(contacts, 1, messages=80, topics=5, first=0.3)
    begin, end = contacts.span
    analyse_communities(trace, tmp_path / "mops", (begin, begin + 0.3 * (end - begin)), {"mops": {}})
    alone = run(contacts, work, "mops", train=0.3)
    assert same(alone, run(contacts, work, "mops", train=0.3, communities=str(tmp_path / "mops")))
    frozen: dict[str, Any] = {"mode": "frozen", "threshold": 30_000.0}
    analyse_communities(trace, tmp_path / "overlay", trace.span, {"k-clique": {"threshold": 30_000}})
    alone = run(contacts, work, "socio-aware-overlay", **frozen)
    table = run(contacts, work, "socio-aware-overlay", **frozen, communities=str(tmp_path / "overlay"))
    assert same(alone, table)
