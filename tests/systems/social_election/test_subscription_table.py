"""Subscriptions with their freshest time, and the utility that follows from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.systems.social_election.subscription_table import SubscriptionTable, utility

TABLES = st.dictionaries(st.sampled_from(["a", "b", "a^0.5 b^0.2", "b^0.9"]), st.floats(0, 100))


@pytest.mark.parametrize(
    ("registered", "created", "worth"),
    [(80.0, 70.0, 0.02), (100.0, 90.0, 0.1), (100.0, 100.0, 1.0), (99.9, 99.9, 1.0)],
)
def test_vector_1_utility_by_equation_2(registered: float, created: float, worth: float) -> None:
    table = SubscriptionTable({"A": registered})
    assert utility(table.matches("A"), created, now=100.0) == pytest.approx(worth)
    assert utility(table.matches("B"), created, now=100.0) == 0


def test_vector_4_the_freshest_registration_wins() -> None:
    one, two = SubscriptionTable({"A": 100.0}), SubscriptionTable({"A": 140.0})
    one.refresh(two.times)
    two.refresh(one.times)
    assert one.times == two.times == {"A": 140.0}
    one.refresh({"A": 120.0})
    assert one.times == {"A": 140.0}


def test_of_several_matches_the_most_useful_counts() -> None:
    """A score of 0.5 that was registered just now is worth more than a full match of long ago."""
    table = SubscriptionTable({"goals": 0.0, "goals^0.5": 99.0, "hockey": 100.0})
    assert table.matches("goals") == ((1.0, 0.0), (0.5, 99.0))
    assert utility(table.matches("goals"), created=91.0, now=100.0) == pytest.approx(0.05)


@given(TABLES, TABLES, TABLES)
def test_merging_is_commutative_associative_and_idempotent(
    one: dict[str, float], two: dict[str, float], three: dict[str, float]
) -> None:
    def merged(*tables: dict[str, float]) -> dict[str, float]:
        whole = SubscriptionTable()
        for table in tables:
            whole.refresh(table)
        return whole.times

    assert merged(one, two) == merged(two, one) == merged(one, two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))


@given(TABLES, TABLES, st.floats(0, 100))
def test_what_is_remembered_of_matches_is_what_a_new_table_says(
    one: dict[str, float], two: dict[str, float], before: float
) -> None:
    table = SubscriptionTable(one)
    for topic in ("a", "b", "a b"):
        table.matches(topic)
    table.refresh(two)
    table.drop_before(before)
    anew = SubscriptionTable(table.times)
    assert all(time >= before for time in table.times.values())
    for topic in ("a", "b", "a b"):
        assert sorted(table.matches(topic)) == sorted(anew.matches(topic))


@given(TABLES, st.floats(0, 100), st.floats(0, 100))
def test_on_one_topic_the_newer_message_is_never_worth_less(table: dict[str, float], one: float, two: float) -> None:
    for topic in ("a", "b", "a b"):
        matches = SubscriptionTable(table).matches(topic)
        older, newer = (utility(matches, created, now=100.0) for created in sorted((one, two)))
        assert older <= newer
