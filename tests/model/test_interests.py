"""The language of interests: what is read is written and read as the same, and what cannot be read is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import (
    ConfigurationError,
    canonical_interest,
    canonical_topic,
    content_of,
    interest_of,
    matching_score,
    parse_content,
    parse_interest,
)
from hunet.model.conditions import All, Condition, Content, Either, Interest, Is, Not, Tag, Within
from hunet.model.interests import LONGEST
from hunet.model.keys import MOST_KEYS, cover, keys_of

NAMES = st.sampled_from(("football", "goals", "and", "a b", 'q"', "é", "5", "a=b", "!", "\\", "price"))
NUMBERS = st.one_of(st.integers(-9, 9).map(float), st.floats(-1e6, 1e6), st.sampled_from((0.1, 65535.5, 7e4, -7e4)))
VALUES = st.one_of(NUMBERS, NAMES)
CONTENTS = st.builds(
    lambda tags, attributes: Content(tuple(tags), tuple(sorted(attributes.items()))),
    st.lists(NAMES, unique=True, max_size=3),
    st.dictionaries(NAMES, VALUES, max_size=3),
).filter(any)


def compared(name: str, how: str, value: float) -> str:
    return f"{Tag(name).text} {how} {value!r}"


COMPARISONS = st.builds(compared, NAMES, st.sampled_from(("<", "<=", ">", ">=", "=", "!=")), NUMBERS)
RANGES = st.builds(
    lambda name, ends: f"{Tag(name).text} in {min(ends)!r}..{max(ends)!r}", NAMES, st.tuples(NUMBERS, NUMBERS)
)
LEAVES = st.one_of(
    NAMES.map(lambda name: Tag(name).text), COMPARISONS, RANGES, st.builds(lambda *both: Is(*both).text, NAMES, NAMES)
)

WRITTEN = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda one: f"not ({one})"),
        st.lists(inner, min_size=2, max_size=3).map(" ".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: "(" + " or ".join(parts) + ")"),
    ),
    max_leaves=6,
)
WEIGHED = st.lists(st.tuples(WRITTEN, st.floats(0.01, 1)), min_size=1, max_size=3).map(
    lambda terms: " ".join(f"({text})^{weight!r}" for text, weight in terms)
)
INTERESTS = st.one_of(WRITTEN, WEIGHED)
EITHER_WAY = st.text('football goals^0.7=<>!()"\\.andornotin10..20 ', max_size=40)


def read(text: str) -> Interest | None:
    try:
        return parse_interest(text)
    except ConfigurationError:
        return None


@given(INTERESTS, CONTENTS)
def test_the_canonical_form_of_an_interest_is_read_as_the_same(text: str, content: Content) -> None:
    interest = read(text)
    if interest is not None:  # ranges of one attribute may exclude each other, and terms be the same
        assert canonical_interest(interest.text) == interest.text
        assert parse_interest(interest.text) == interest
        assert 0 <= interest.score(content) <= interest.level <= 1


@given(CONTENTS)
def test_the_canonical_form_of_a_topic_is_read_as_the_same(content: Content) -> None:
    assert parse_content(content.text) == content
    assert canonical_topic(content.text) == content.text


@given(st.one_of(EITHER_WAY, st.text(max_size=20)))
def test_any_text_is_read_or_refused_with_its_place_and_never_lost_on_the_way(text: str) -> None:
    for what, parse in (("interest", parse_interest), ("topic", parse_content)):
        try:
            parse(text)
        except ConfigurationError as error:
            assert str(error).startswith(f"{what} '{text[:60]}")
            assert ", character " in str(error)
    if "^" not in text and read(text) is None:
        assert matching_score(text, text) == 1  # as between devices of which one does not know the language
    assert content_of(text).text
    assert interest_of(text).text


def holds(condition: Condition, content: Content) -> bool:
    """What the grammar's page says, once more."""
    if isinstance(condition, Tag):
        return condition.name in content.tags
    if isinstance(condition, Not):
        return not holds(condition.of, content)
    if isinstance(condition, All):
        return all(holds(each, content) for each in condition.of)
    if isinstance(condition, Either):
        return any(holds(each, content) for each in condition.of)
    value = dict(content.attributes).get(condition.attribute)
    if isinstance(condition, Is):
        return value == condition.value
    assert isinstance(condition, Within)
    if not isinstance(value, float):
        return False
    low = condition.low < value or (condition.low == value and not condition.above)
    return low and (value < condition.high or (value == condition.high and not condition.below))


@given(INTERESTS, CONTENTS)
def test_a_message_that_matches_stands_under_a_key_of_the_interest(text: str, content: Content) -> None:
    interest = read(text)
    if interest is None:
        return
    matched = [condition for condition, _ in interest.terms if holds(condition, content)]
    assert bool(interest.score(content)) == bool(matched)
    keys = cover(interest)
    if matched and keys is not None:
        assert set(keys) & set(keys_of(content.text))


@given(NUMBERS, NUMBERS)
def test_an_interval_has_few_keys(low: float, high: float) -> None:
    if low <= high:
        keys = cover(Interest(((Within("price", low, high), 1.0),)))
        assert keys is not None
        assert 1 <= len(keys) <= MOST_KEYS + 2


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("football", "football"),
        (" football^0.70  goals^.3", "football^0.7 goals^0.3"),
        ("goals^1", "goals"),
        ("value in 10..20", "value in 10..20"),
        ("value<=20 value>=10.0", "value in 10..20"),
        ('kind = "alert" and price < 5', 'kind = "alert" and price < 5'),
        ("price<5 and kind=alert", 'kind = "alert" and price < 5'),
        ("(b or (a)) and not not c and c", "(a or b) and c"),
        ("kind != alert", 'not kind = "alert"'),
        ('"the choir" and "and"', '"and" and "the choir"'),
        ("price > 1 and price < 5", "price > 1 and price < 5"),
        ("(price > 1 and price < 5)^0.5 x^0.2", "(price > 1 and price < 5)^0.5 x^0.2"),
        ("price = 5 or -1e20 <= 3", "-1e20 <= 3 or price = 5"),
    ],
)
def test_canonical_forms(text: str, canonical: str) -> None:
    assert canonical_interest(text) == canonical


@pytest.mark.parametrize(
    ("bad", "place", "problem"),
    [
        ("", 1, "it is empty"),
        ("a^", 3, "a weight is missing"),
        ("a^2", 3, "'2' is not a weight: TERM\\^WEIGHT has one above 0, and at most 1"),
        ("a^0", 3, "'0' is not a weight"),
        ("a^nan", 3, "'nan' is not a weight"),
        ("^0.5", 1, r"'\^' cannot stand here"),
        ("a b^0.5", 3, "a term without a weight"),
        ("a^0.5 a^0.7", 7, "'a' has a weight already"),
        ("a^0.5 and b^0.5", 7, "terms with weights stand side by side"),
        ("(a^0.5)", 3, "a weight cannot stand in parentheses"),
        ("(a", 3, "a closing parenthesis is missing"),
        ("a)", 2, r"'\)' cannot stand here"),
        ('a "b', 3, "the quotation mark is not closed"),
        ("a in 10", 6, "a range is missing"),
        ("a in 1..x", 9, "'x' is not a number"),
        ("a in 20..10", 6, "the smaller end of a range comes first"),
        ("a < b", 5, "'<' compares numbers"),
        ("a =", 4, "a value is missing"),
        ("a = 1e999", 5, "'1e999' is too large a number"),
        ("a > 5 and a < 3", 1, "no number is what 'a' has to be"),
        ("or", 1, "put it in quotation marks if it is a tag"),
        ("((((((((((a))))))))))", 9, "more than 8 parentheses"),
        (" ".join("abcdefghijklmnopqrstuvwxyzABCDEFGH"), 65, "more than 32 tags"),
        ("x" * 501, LONGEST + 1, "it has 501 characters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(bad: str, place: int, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"character {place}: .*{problem}"):
        parse_interest(bad)


@pytest.mark.parametrize(
    ("bad", "place", "problem"),
    [
        ("a^1", 2, "has to stand in quotation marks"),
        ("a=1 a=2", 5, "'a' has a value already"),
        ("a = =", 5, "a value is"),
    ],
)
def test_a_topic_that_cannot_be_read_is_refused_with_its_place(bad: str, place: int, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=f"character {place}: .*{problem}"):
        parse_content(bad)
