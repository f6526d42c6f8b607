"""Workloads from a seed and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hunet import Contacts, HunetError, Publication, Subscription, make_workload, read_workload

CROWD = Contacts.from_records([(f"n{k}", f"n{k + 1}", 10.0 * k, 10.0 * k + 5) for k in range(40)])


def test_the_same_seed_gives_the_same_workload_and_another_seed_another() -> None:
    assert make_workload(CROWD, 1) == make_workload(CROWD, 1)
    assert make_workload(CROWD, 1).fingerprint != make_workload(CROWD, 2).fingerprint


def test_roles_and_times_come_from_streams_of_their_own() -> None:
    """More topics change who wants what, but not when people speak."""
    few, many = make_workload(CROWD, 1, topics=2), make_workload(CROWD, 1, topics=20)
    assert [p.time for p in few.publications] == [p.time for p in many.publications]
    assert [s.topic for s in few.subscriptions] != [s.topic for s in many.subscriptions]


def test_the_parameters_do_what_they_say() -> None:
    work = make_workload(
        CROWD, 3, messages=400, topics=5, interests=2, subscribers=0.5, publishers=0.1, first=0.2, last=0.4, ttl=60
    )
    nodes = len(CROWD.names)
    subscribers = {s.node for s in work.subscriptions}
    assert len(subscribers) == round(nodes / 2)
    assert len(work.subscriptions) == 2 * len(subscribers)
    assert len({p.node for p in work.publications}) == round(nodes / 10)
    begin, end = CROWD.span
    assert all(begin + 0.2 * (end - begin) <= p.time <= begin + 0.4 * (end - begin) for p in work.publications)
    assert {p.ttl for p in work.publications} == {60}


def test_popular_topics_are_chosen_more_often() -> None:
    work = make_workload(CROWD, 1, messages=2000, topics=4, popularity=1.0)
    counts = [sum(p.topic == f"t{k}" for p in work.publications) for k in range(4)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] / 2000 == pytest.approx(1 / (1 + 1 / 2 + 1 / 3 + 1 / 4), abs=0.04)


def test_regular_times_are_evenly_spaced() -> None:
    times = [p.time for p in make_workload(CROWD, 1, messages=4, timing="regular", last=1.0).publications]
    begin, end = CROWD.span
    assert times == pytest.approx([begin + k * (end - begin) / 4 for k in range(4)])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"interests": 11}, r"interests \(11\) cannot exceed topics \(10\)"),
        ({"first": 0.9}, r"first \(0.9\) must not be after last \(0.7\)"),
        ({"message": 3}, "did you mean 'messages'"),
        ({"publishers": 0}, "parameter 'publishers'"),
        ({"kind": "unifrom"}, "no workload 'unifrom': did you mean 'uniform'"),
    ],
)
def test_impossible_workloads_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(HunetError, match=problem):
        make_workload(CROWD, 1, **given)


def test_a_workload_from_files(tmp_path: Path) -> None:
    said, wanted = tmp_path / "p.csv", tmp_path / "s.csv"
    said.write_text("id,time,node,topic,size,ttl\nm1,5,n1,news,100,60\nm2,1.5,n0,sport,,\n")
    wanted.write_text("node, topic, from, until\nn2,news,,\nn3,sport,10,20\n")
    work = read_workload(CROWD, said, wanted)
    assert work.publications == (Publication("m2", 1.5, 0, "sport"), Publication("m1", 5, 1, "news", 100, 60))
    assert work.subscriptions == (Subscription(2, "news"), Subscription(3, "sport", 10, 20))


GOOD_SAID, GOOD_WANTED = "id,time,node,topic\nm,1,n1,x\n", "node,topic\nn1,x\n"
BAD = [
    ("id,time,node,topic\nm,1,bob,x\n", GOOD_WANTED, "p.csv, line 2: no node 'bob' in the contacts"),
    ("id,time,node,topic\nm,-1,n1,x\n", GOOD_WANTED, "p.csv, line 2: 'time' must not be negative"),
    ("id,time,node,topic\nm,1,n1,x\nm,2,n1,x\n", GOOD_WANTED, "p.csv, line 3: the id 'm' was already used in line 2"),
    ("id,time,node,topic\nm,soon,n1,x\n", GOOD_WANTED, "p.csv, line 2: 'time' must be a number, not 'soon'"),
    ("id,time,node,topic\nm,inf,n1,x\n", GOOD_WANTED, "p.csv, line 2: time must be a finite number"),
    ("id,time,node,topic,size\nm,1,n1,x,1.5\n", GOOD_WANTED, "p.csv, line 2: size must be a whole number"),
    ("id,time,node\nm,1,n1\n", GOOD_WANTED, "p.csv, line 1: no column 'topic'"),
    ("id,time,node,topic,sise\nm,1,n1,x,1\n", GOOD_WANTED, "p.csv, line 1: no use for column 'sise': did you mean"),
    ("id,time,node,topic\nm,1,n1\n", GOOD_WANTED, "p.csv, line 2: 3 values where the header names 4"),
    ("id,time,node,topic\nm,1,n1,\n", GOOD_WANTED, "p.csv, line 2: 'topic' is empty"),
    (GOOD_SAID, "node,topic,from,until\nn1,x,9,3\n", "s.csv, line 2: the subscription ends"),
    (GOOD_SAID, "node,topic\nn77,x\n", "s.csv, line 2: no node 'n77'"),
]


@pytest.mark.parametrize(("said", "wanted", "problem"), BAD)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, said: str, wanted: str, problem: str) -> None:
    (tmp_path / "p.csv").write_text(said)
    (tmp_path / "s.csv").write_text(wanted)
    with pytest.raises(HunetError) as error:
        read_workload(CROWD, tmp_path / "p.csv", tmp_path / "s.csv")
    assert problem in str(error.value)


def test_missing_and_binary_files(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HunetError, match="no such file"):
        read_workload(CROWD, tmp_path / "p.csv", tmp_path / "s.csv")
    (tmp_path / "p.csv").write_text(GOOD_SAID)
    with pytest.raises(HunetError, match="not a CSV file in UTF-8"):
        read_workload(CROWD, tmp_path / "p.csv", tmp_path / "s.csv")
