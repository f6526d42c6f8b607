"""MOPS's workload: values, ranges that are a partition, and a Poisson process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, make_workload
from hunet.model import ConfigurationError, matching_score
from hunet.model.interests import terms_of
from hunet.systems.mops.workload import Category

CROWD = Contacts.from_records([(str(n), str(n + 1), 0, 864_000) for n in range(199)])


def category(topic: str) -> Category:
    low, _, high = topic.partition("..")
    return Category(int(low), int(high))


def test_the_paper_s_defaults() -> None:
    work = make_workload(CROWD, seed=1, kind="intervals")
    assert len(work.publications) == pytest.approx(1440, rel=0.1)  # 10 an hour in the last 60 % of ten days
    assert min(p.time for p in work.publications) >= 0.4 * 864_000
    assert {(p.size * 8, p.ttl) for p in work.publications} == {(5_000_000, 86_400.0)}
    assert len(work.subscriptions) == pytest.approx(0.2 * 10 * 200, rel=0.2)


@given(st.integers(1, 100), st.integers(0, 1000))
def test_every_event_falls_into_its_category_and_no_other(categories: int, seed: int) -> None:
    work = make_workload(CROWD, seed=seed, kind="intervals", categories=categories, rate=0.5, interest=1)
    ranges = sorted({category(s.topic) for s in work.subscriptions})
    assert len(ranges) == categories
    assert [value for low, high in ranges for value in range(low, high + 1)] == list(range(1, 101))
    for said in work.publications:
        value = int(said.id.partition("=")[2])
        assert [one.topic for one in ranges if one.matches(value)] == [said.topic]


def test_more_categories_than_values_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="categories"):
        make_workload(CROWD, kind="intervals", categories=11, values=10)


def test_ranges_that_are_drawn_overlap_and_events_have_values() -> None:
    work = make_workload(CROWD, seed=2, kind="intervals", ranges="drawn")
    wanted = {each.topic for each in work.subscriptions}
    assert len(wanted) == 10
    matched = [sum(matching_score(each, said.topic) for each in wanted) for said in work.publications]
    assert max(matched) >= 3
    assert len({said.topic for said in work.publications}) > 90
    assert len(work.subscriptions) == pytest.approx(0.2 * 10 * 200, rel=0.2)


def test_levels_are_those_of_subscriptions() -> None:
    work = make_workload(CROWD, seed=2, kind="intervals", ranges="drawn", levels=True)
    levels = [terms_of(each.topic)[0][1] for each in work.subscriptions]
    assert min(levels) == pytest.approx(0.01, abs=0.02)
    assert max(levels) == 1
    assert sum(levels) / len(levels) == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ConfigurationError, match="set ranges = 'drawn' too"):
        make_workload(CROWD, kind="intervals", levels=True)
