"""Matching scores, and that everybody who counts messages agrees on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Publication, Subscription, Workload, run
from hunet.model import Catalogue, DeviceCatalogue, InputError, matching_score
from hunet.simulation.workload_files import read_workload

TERMS = st.text("abc", min_size=1, max_size=2)
WEIGHTS = st.dictionaries(TERMS, st.floats(0.001, 1), min_size=1, max_size=4)


@given(WEIGHTS, st.lists(TERMS, max_size=4))
def test_a_score_adds_up_the_weights_of_the_terms_and_stays_within_one(
    weights: dict[str, float], said: list[str]
) -> None:
    subscription = " ".join(f"{term}^{weight!r}" for term, weight in weights.items())
    score = matching_score(subscription, " ".join(said))
    assert score == pytest.approx(min(1.0, sum(weights.get(term, 0.0) for term in set(said))))


@given(TERMS, TERMS)
def test_a_plain_subscription_to_one_of_one_tag_is_equality(one: str, two: str) -> None:
    assert matching_score(one, two) == (1.0 if one == two else 0.0)


def test_a_bad_weight_is_refused_with_its_place(tmp_path: Path) -> None:
    said, wanted = tmp_path / "said.csv", tmp_path / "wanted.csv"
    said.write_text("id,time,node,topic\n")
    wanted.write_text("node,topic\n0,goals\n1,goals^0.5  hockey^7\n")
    contacts = Contacts.from_records([("0", "1", 0, 10)])
    with pytest.raises(InputError, match=r"wanted.csv, line 3: interest .*, character 19: '7' is not a weight"):
        read_workload(contacts, said, wanted)
    wanted.write_text("node,topic\n0,goals\n")
    said.write_text("id,time,node,topic\nm1,0,0,goals  price=5\nm2,0,0,price=(\n")
    with pytest.raises(InputError, match=r"said.csv, line 3: topic .*, character 7: a value is missing"):
        read_workload(contacts, said, wanted)


ASKED = ("a", "b", "a^0.7", "a^0.1 c^1", "a and not b", "price < 5", "not a", "c")
SAID = ("a", "a b", "b c", "price = 3", "a price = 7")


@given(st.lists(st.tuples(st.sampled_from(SAID), st.sets(st.sampled_from(ASKED), max_size=3)), max_size=30))
def test_a_catalogue_finds_what_an_interest_matches_as_it_grows(steps: list[tuple[str, set[str]]]) -> None:
    messages = Catalogue()
    mine = DeviceCatalogue(messages)
    messages.reserve("m1")  # it is spoken of before it is here
    for number, (topic, asked) in enumerate(steps):
        message = messages.add(f"m{number}", topic, 0, 0.0)
        if number % 2:
            mine.show(message.bit)
        for interest in sorted(asked):
            there = sum(each.bit for each in messages if matching_score(interest, each.topic))
            assert messages.on_topic(interest) == there
            assert mine.on_topic(interest) == there & mine.shown


def test_who_weighs_terms_is_interested_in_all_that_has_one_of_them() -> None:
    contacts = Contacts.from_records([("0", "1", 0, 10), ("0", "2", 0, 10)])
    said = [Publication(topic, 1.0, 0, topic) for topic in ("football", "football goals", "hockey")]
    wanted = [Subscription(1, "football^0.7 goals^0.3"), Subscription(2, "hockey")]
    result = run(contacts, Workload.of(said, wanted), "push")
    assert result.publications["interested"].tolist() == [1, 1, 1]
    assert result.summary["delivery_ratio"] == 1
