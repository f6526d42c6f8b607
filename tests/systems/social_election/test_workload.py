"""Social election's workload."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from hunet import Contacts, make_workload, make_world
from hunet.model import ConfigurationError


@pytest.fixture(scope="module")
def contacts() -> Contacts:
    return make_world("waypoint", seed=1, nodes=100, duration=60)


def test_the_papers_numbers(contacts: Contacts) -> None:
    work = make_workload(contacts, seed=1, kind="types")
    assert len(work.publications) == 25 * 60  # 75,000 in 3,000 s
    assert len({(said.node, said.topic) for said in work.publications}) == 25
    assert Counter(wanted.topic for wanted in work.subscriptions) == {f"type{i}": 10 for i in range(5)}
    assert all(0 <= said.time < 60 for said in work.publications)
    one = work.publications[0]
    times = [said.time for said in work.publications if (said.node, said.topic) == (one.node, one.topic)]
    assert [b - a for a, b in pairwise(times)] == pytest.approx([1.0] * 59)


def test_five_publishers_in_all_is_the_other_reading(contacts: Contacts) -> None:
    assert len(make_workload(contacts, seed=1, kind="types", publishers=1).publications) == 5 * 60


def test_subscribers_may_weigh_several_types(contacts: Contacts) -> None:
    work = make_workload(contacts, seed=1, kind="types", types=3, weights=[1, 0.5])
    assert {wanted.topic for wanted in work.subscriptions} == {
        "type0^1 type1^0.5",
        "type1^1 type2^0.5",
        "type0^0.5 type2^1",
    }


def test_what_cannot_be_is_refused(contacts: Contacts) -> None:
    for given, problem in (
        ({"publishers": 101}, "101 publishers and 10 subscribers of a type, but only 100 nodes"),
        ({"types": 1, "weights": [1, 1]}, "weights has 2 values, but there are 1 types"),
        ({"weights": [2]}, "weights are above 0, and at most 1"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            make_workload(contacts, kind="types", **given)
