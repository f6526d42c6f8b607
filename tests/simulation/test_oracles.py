"""Answers of other programs on real traces: an independent search, and The ONE."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from hunet import Contacts, Publication, Result, Subscription, Workload, make_workload, read_contacts, run
from tests.strategies import delivered


def infocom05(shared: Path) -> Contacts:
    rows = np.loadtxt(shared / "traces/infocom05/contacts.Exp3.dat", usecols=range(4))
    inside = rows[(rows[:, :2] <= 41).all(axis=1)]
    return Contacts.from_records((str(int(a)), str(int(b)), start, end) for a, b, start, end in inside)


def cambridge(shared: Path) -> Contacts:
    return read_contacts(shared / "traces/cambridge/students.one.tsv")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("name", "load"), [("push-cambridge", cambridge), ("push-infocom05", infocom05)])
def test_push_and_the_bound_agree_with_the_independent_search(shared: Path, name: str, load: object) -> None:
    assert callable(load)
    contacts = load(shared)
    number = {node: i for i, node in enumerate(contacts.names)}
    said = [
        Publication(row["id"], float(row["time"]), number[row["node"]], "all")
        for row in rows(shared / "oracles" / name / "publications.csv")
    ]
    result = run(contacts, Workload.of(said, [Subscription(n, "all") for n in number.values()]), "push")
    arrivals = rows(shared / "oracles" / name / "arrivals.csv")
    publisher = {p.id: contacts.names[p.node] for p in said}
    expected = {
        (row["id"], row["node"]): float(row["arrival"]) for row in arrivals if publisher[row["id"]] != row["node"]
    }
    assert delivered(result) == expected
    assert bound(result) == len(expected)


def bound(result: Result) -> int:
    assert result.summary["reachable_latency_avg"] == pytest.approx(result.summary["latency_avg"], rel=1e-12)
    return int(result.summary["reachable"])


def test_push_agrees_with_the_one(shared: Path) -> None:
    folder = shared / "oracles/one-cambridge"
    contacts = read_contacts(folder / "connectivity.one")
    assert len(contacts) == 5576
    number = {node: i for i, node in enumerate(contacts.names)}
    said, wanted = [], []
    for line in (folder / "creates.one").read_text().splitlines():
        time, _, message, source, target, size = line.split()
        said.append(Publication(message, float(time), number[source], message, int(size)))
        wanted.append(Subscription(number[target], message))
    result = run(contacts, Workload.of(said, wanted), "push")
    answers = rows(folder / "deliveries.csv")
    expected = {(row["id"], row["dst"]): float(row["delivered"]) for row in answers if row["delivered"]}
    assert delivered(result) == expected
    assert result.summary["delivered"] == 793
    assert result.summary["latency_avg"] == pytest.approx(59_684.93, abs=0.005)
    assert result.summary["latency_med"] == 37_516


@pytest.mark.parametrize("load", [cambridge, infocom05])
def test_push_is_the_bound_on_real_traces(shared: Path, load: object) -> None:
    assert callable(load)
    contacts = load(shared)
    result = run(contacts, make_workload(contacts, seed=5, messages=300, ttl=40_000), "push")
    assert result.summary["delivered"] == result.summary["reachable"] > 0
    assert (result.publications["delivered"] == result.publications["reachable"]).all()
