"""Matching scores, and that everybody who counts messages agrees on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Publication, Subscription, Workload, run
from hunet.model import Catalogue, ConfigurationError, InputError, matching_score, weighted_terms
from hunet.simulation.workload_files import read_workload

TERMS = st.text("abc", min_size=1, max_size=2)
WEIGHTS = st.dictionaries(TERMS, st.floats(0, 1), min_size=1, max_size=4)


@given(WEIGHTS, st.lists(TERMS, max_size=4))
def test_a_score_adds_up_the_weights_of_the_terms_and_stays_within_one(
    weights: dict[str, float], said: list[str]
) -> None:
    subscription = " ".join(f"{term}^{weight!r}" for term, weight in weights.items())
    assert weighted_terms(subscription) == weights
    score = matching_score(subscription, " ".join(said))
    assert score == pytest.approx(min(1.0, sum(weights.get(term, 0.0) for term in set(said))))


@given(TERMS, TERMS)
def test_a_plain_subscription_is_equality(one: str, two: str) -> None:
    assert matching_score(one, two) == (1.0 if one == two else 0.0)


@pytest.mark.parametrize("bad", ["a^", "^0.5", "a^2", "a^-1", "a^x", "a b^0.5", "a^nan"])
def test_a_weight_that_is_none_is_refused(bad: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not TERM\^WEIGHT with a weight from 0 to 1"):
        matching_score(bad, "a")


def test_a_bad_weight_is_refused_with_its_place(tmp_path: Path) -> None:
    said, wanted = tmp_path / "said.csv", tmp_path / "wanted.csv"
    said.write_text("id,time,node,topic\n")
    wanted.write_text("node,topic\n0,goals\n1,goals^0.5  hockey^7\n")
    with pytest.raises(InputError, match=r"wanted.csv, line 3: subscription .*, character 12: 'hockey\^7' is not"):
        read_workload(Contacts.from_records([("0", "1", 0, 10)]), said, wanted)


def test_a_catalogue_finds_what_a_weighted_subscription_matches() -> None:
    messages = Catalogue()
    football, both, hockey = (messages.add(topic, topic, 0, 0.0) for topic in ("football", "football goals", "hockey"))
    assert messages.on_topic("football") == football.bit
    assert messages.on_topic("football^0.7") == football.bit | both.bit
    assert messages.on_topic("goals^0.1 hockey^1") == both.bit | hockey.bit
    assert messages.on_topic("hockey^0") == 0


def test_who_weighs_terms_is_interested_in_all_that_has_one_of_them() -> None:
    contacts = Contacts.from_records([("0", "1", 0, 10), ("0", "2", 0, 10)])
    said = [Publication(topic, 1.0, 0, topic) for topic in ("football", "football goals", "hockey")]
    wanted = [Subscription(1, "football^0.7 goals^0.3"), Subscription(2, "hockey")]
    result = run(contacts, Workload.of(said, wanted), "push")
    assert result.publications["interested"].tolist() == [1, 1, 1]
    assert result.summary["delivery_ratio"] == 1
