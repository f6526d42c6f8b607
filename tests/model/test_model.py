"""The vocabulary."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import (
    Catalogue,
    ConfigurationError,
    Contacts,
    Parameters,
    Publication,
    Subscription,
    Workload,
    describe,
    doc,
    from_mapping,
    members,
)

NAMES = st.sampled_from(["ann", "bob", "n2", "n10"])
RECORDS = st.lists(
    st.tuples(NAMES, NAMES, st.integers(0, 40), st.integers(0, 10)).filter(lambda r: r[0] != r[1]),
    max_size=40,
)


def joined(records: list[tuple[str, str, int, int]]) -> set[tuple[str, str, float, float]]:
    """Instant by instant: a pair is in contact at t and between t and t+1, or not."""
    at: dict[tuple[str, str], set[int]] = defaultdict(set)
    for a, b, start, length in records:
        pair = (min(a, b), max(a, b))
        at[pair] |= set(range(2 * start, 2 * (start + length) + 1))  # halves stand for what lies between
    found = set()
    for (a, b), moments in at.items():
        for moment in sorted(moments):
            if moment - 1 not in moments:
                start = moment
            if moment + 1 not in moments:
                found.add((a, b, start / 2, moment / 2))
    return found


@given(RECORDS)
def test_records_of_a_pair_are_joined_where_they_overlap_or_touch(
    records: list[tuple[str, str, int, int]],
) -> None:
    contacts = Contacts.from_records((a, b, start, start + length) for a, b, start, length in records)
    assert {(min(a, b), max(a, b), s, e) for a, b, s, e in contacts.records()} == joined(records)
    assert contacts.start.tolist() == sorted(contacts.start.tolist())
    assert (contacts.a < contacts.b).all()


def test_nodes_are_numbered_in_the_natural_order_of_their_names() -> None:
    assert Contacts.from_records([("n10", "n2", 0, 1), ("n2", "n1", 0, 1)]).names == ("n1", "n2", "n10")


def test_the_fingerprint_is_of_the_content() -> None:
    one = Contacts.from_records([("a", "b", 0, 10), ("c", "b", 5, 6)])
    same = Contacts.from_records([("b", "c", 5, 6), ("b", "a", 0, 4), ("a", "b", 3, 10)])
    other = Contacts.from_records([("a", "b", 0, 10), ("c", "b", 5, 7)])
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (("a", "b", 5, 4), "ends before it starts"),
        (("a", "b", -1, 4), "negative time"),
        (("a", "a", 0, 1), "with itself"),
        (("a", "b", float("nan"), 1), "not a finite number"),
        (("a", "b", 0, float("inf")), "not a finite number"),
    ],
)
def test_a_record_that_cannot_be_a_contact_is_refused(record: tuple[str, str, float, float], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=f"record 1: .*{problem}"):
        Contacts.from_records([("a", "b", 0, 1), record])


@given(st.sets(st.integers(0, 200)) | st.sets(st.integers(4_000, 20_000), max_size=5))
def test_a_set_of_messages_is_an_integer(numbers: set[int]) -> None:
    assert members(sum(1 << n for n in numbers)) == sorted(numbers, reverse=True)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=20), st.integers(1, 5), st.data())
def test_the_newest_messages_in_whatever_order_they_became_known(
    created: list[int], most: int, data: st.DataObject
) -> None:
    catalogue = Catalogue()
    for i, time in enumerate(created):
        catalogue.add(f"m{i}", "x", 0, float(time))
    some = data.draw(st.sets(st.integers(0, len(created) - 1), min_size=1))
    expected = sorted(some, key=lambda n: (created[n], n))[-most:]
    assert sorted(members(catalogue.newest(sum(1 << n for n in some), most))) == sorted(expected)


def test_subscriptions_of_one_node_to_one_topic_are_joined() -> None:
    spells = [Subscription(0, "x", 5, 10), Subscription(0, "x", 0, 5), Subscription(0, "x", 11, 12)]
    joined = Workload.of([], spells).subscriptions
    assert joined == (Subscription(0, "x", 0, 10), Subscription(0, "x", 11, 12))


def test_publications_are_sorted_and_their_ids_differ() -> None:
    early, late = Publication("b", 1, 0, "x"), Publication("a", 2, 0, "x")
    assert Workload.of([late, early], []).publications == (early, late)
    with pytest.raises(ConfigurationError, match="two publications have the id 'a'"):
        Workload.of([late, late], [])


class Shoes(Parameters, frozen=True):
    size: Annotated[int, doc("length of the foot", symbol="S", unit="cm", ge=1)] = 27
    width: Annotated[float, doc("how wide", source="Table I")] | None = None
    laces: bool = True
    colours: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.width is not None and self.width > self.size:
            raise ValueError(f"width ({self.width:g}) must not exceed size ({self.size})")


def test_parameters_describe_themselves() -> None:
    rows = {row.name: row for row in describe(Shoes)}
    assert (rows["size"].symbol, rows["size"].unit, rows["size"].default) == ("S", "cm", 27)
    assert (rows["width"].kind, rows["width"].source) == ("float or none", "Table I")
    assert rows["colours"].kind == "list of str"


def test_text_becomes_the_type_of_its_field() -> None:
    given = {"size": "30", "width": "2.5", "laces": "false", "colours": ["red"]}
    assert from_mapping(Shoes, given) == Shoes(size=30, width=2.5, laces=False, colours=("red",))
    assert from_mapping(Shoes, {"width": "none"}).width is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"size": "big"}, "parameter 'size': .*int.*given: 'big'"),
        ({"size": 0}, "parameter 'size': .*>= 1"),
        ({"siez": 1}, "no parameter 'siez': did you mean 'size'"),
        ({"width": 99}, r"width \(99\) must not exceed size \(27\)"),
    ],
)
def test_what_does_not_fit_is_named(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        from_mapping(Shoes, given)
