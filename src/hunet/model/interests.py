"""What messages are about, and what people want to hear: one small language for both.

A message's topic says its *tags* (one or more) and, if wanted, *attributes*: numbers or texts by name.

>>> content_of('football goals price = 4.5 kind = "alert"')
Content(tags=('football', 'goals'), attributes=(('kind', 'alert'), ('price', 4.5)))

An *interest* is a condition on them, or several conditions with weights; ``docs/interests.md`` has the grammar:

>>> wanted = interest_of('kind = "alert" and price < 5')
>>> [wanted.score(content_of(topic)) for topic in ("kind=alert price=4.5", "kind=alert price=6", "alert")]
[1.0, 0.0, 0.0]

Both are told, kept and compared as texts, in a *canonical form*, so that two texts which differ only in blanks, order
or repetitions are one interest:

>>> canonical_interest("goals and (price<5.0 and (football))"), canonical_interest("the   choir")
('football and goals and price < 5', 'choir and the')
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from hunet.model.conditions import (
    KEYWORDS,
    WORD,
    All,
    Condition,
    Content,
    Either,
    Interest,
    Is,
    Not,
    Tag,
    Value,
    Within,
    written,
)
from hunet.model.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 500
"""Characters of an interest, or of a topic."""
MOST_CONDITIONS = 32
"""Tags and comparisons of an interest; tags and attributes of a topic."""
DEEPEST = 8
"""Parentheses and negations in each other."""
_TOKEN = re.compile(
    r'(?P<blank>\s+)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark><=|>=|!=|[()<>=^"])' + f"|(?P<word>{WORD})", re.DOTALL
)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@lru_cache(1 << 14)
def parse_interest(text: str) -> Interest:
    """What somebody has written; a ``ConfigurationError`` names the place of what is wrong."""
    reader = _Reader("interest", text)
    interest = reader.interest()
    reader.check_length(interest.text)
    return interest


@lru_cache(1 << 14)
def parse_content(text: str) -> Content:
    """What a message is about, as its author has written it; a ``ConfigurationError`` names the place of a mistake."""
    reader = _Reader("topic", text)
    content = reader.content()
    reader.check_length(content.text)
    return content


@lru_cache(1 << 14)
def interest_of(text: str) -> Interest:
    """The same of what others have written: what cannot be read stands for a tag of just these characters."""
    try:
        return parse_interest(text)
    except ConfigurationError:
        return Interest(((Tag(text), 1.0),))


@lru_cache(1 << 16)
def content_of(text: str) -> Content:
    """The same of what others have written: what cannot be read stands for a tag of just these characters."""
    try:
        return parse_content(text)
    except ConfigurationError:
        return Content((text,))


@lru_cache(1 << 14)
def terms_of(interest: str) -> tuple[tuple[str, float], ...]:
    """The conditions that an interest weighs, each as an interest of its own, and their weights.

    >>> terms_of("football"), terms_of("football^0.7 goals^0.3")
    ((('football', 1.0),), (('football', 0.7), ('goals', 0.3)))
    """
    return tuple([(condition.text, weight) for condition, weight in interest_of(interest).terms])


@lru_cache(1 << 14)
def tag_of(interest: str) -> str | None:
    """The only tag that an interest asks for, fully; None if it asks for more, or something else."""
    return interest_of(interest).tag


def canonical_interest(text: str) -> str:
    """The canonical form of an interest; raise if it cannot be read."""
    return parse_interest(text).text


def canonical_topic(text: str) -> str:
    """The canonical form of a topic; raise if it cannot be read."""
    return parse_content(text).text


@lru_cache(1 << 14)
def tags_of(topic: str) -> tuple[str, ...]:
    """The plain subscriptions that match messages of a topic: one for each of its tags.

    >>> tags_of('football "the goal" price = 5')
    ('football', '"the goal"')
    """
    return tuple([written(tag) for tag in content_of(topic).tags])


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


class _Reader:
    """Goes through a text from left to right."""

    def __init__(self, what: str, text: str) -> None:
        self._what, self._text = what, text
        self._at = self._conditions = 0
        self.check_length(text)
        self._tokens = self._cut()

    def check_length(self, text: str) -> None:
        """Refuse a text, as written or in its canonical form, that is longer than what others would read."""
        if len(text) > LONGEST:
            self.fail(f"it has {len(text)} characters, and at most {LONGEST} are allowed", LONGEST)

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        where = self._next.position if position is None else position
        text = self._text if len(self._text) <= 60 else f"{self._text[:60]}..."
        raise ConfigurationError(f"{self._what} '{text}', character {where + 1}: {problem}")

    def _cut(self) -> list[_Token]:
        tokens = []
        for found in _TOKEN.finditer(self._text):
            kind = found.lastgroup or ""
            if found[0] == '"':
                self.fail("the quotation mark is not closed", found.start())
            if kind != "blank":
                tokens.append(_Token(kind, found[0], found.start()))
        if not tokens:
            self.fail("it is empty: write a tag, such as football", 0)
        return [*tokens, _Token("end", "", len(self._text))]

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _is(self, *words: str) -> bool:
        return self._next.kind in ("word", "mark") and self._next.text in words

    def _count(self) -> None:
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            self.fail(f"it has more than {MOST_CONDITIONS} tags and attributes")

    # A topic

    def content(self) -> Content:
        tags: dict[str, None] = {}
        attributes: dict[str, Value] = {}
        while self._next.kind != "end":
            position = self._next.position
            if self._next.kind == "mark":
                self.fail(f"'{self._next.text}' has to stand in quotation marks, or between a name and its value")
            self._count()
            name = self._named()
            if not self._is("="):
                tags[name] = None
                continue
            self._take()
            if name in attributes:
                self.fail(f"'{name}' has a value already", position)
            attributes[name] = self._a_value()
        return Content(tuple(tags), tuple(sorted(attributes.items())))

    def _named(self) -> str:
        token = self._take()
        name = _unquoted(token.text) if token.kind == "text" else token.text
        if not name:
            self.fail("a name is empty", token.position)
        return name

    def _a_value(self) -> Value:
        token = self._next
        if token.kind not in ("word", "text"):
            self.fail('a value is missing: a number, or a text such as "alert"')
        self._take()
        return _unquoted(token.text) if token.kind == "text" else self._number(token, 0, token.text, as_text=True)

    def _number(self, token: _Token, offset: int, text: str, *, as_text: bool = False) -> Value:
        if not _NUMBER.fullmatch(text):
            if as_text:
                return text
            self.fail(f"'{text}' is not a number", token.position + offset)
        if not isfinite(float(text)):
            self.fail(f"'{text}' is too large a number", token.position + offset)
        return float(text) + 0.0  # no negative zero

    # An interest

    def interest(self) -> Interest:
        if any(token.text == "^" and token.kind == "mark" for token in self._tokens):
            terms: dict[str, tuple[Condition, float]] = {}
            while self._next.kind != "end":
                position = self._next.position
                if self._is("and", "or", "not"):
                    self.fail(
                        f"terms with weights stand side by side: put what '{self._next.text}' joins in parentheses"
                    )
                condition = self._primary(0)
                if condition.text in terms:
                    self.fail(f"'{condition.text}' has a weight already", position)
                terms[condition.text] = condition, self._weight()
            return Interest(tuple([terms[text] for text in sorted(terms)]))
        condition = self._any(0)
        if self._next.kind != "end":
            self.fail(f"'{self._next.text}' cannot stand here")
        return Interest(((condition, 1.0),))

    def _weight(self) -> float:
        if not self._is("^"):
            self.fail("a term without a weight: give all of them one, as in football^0.7 goals^0.3, or none")
        self._take()
        token = self._take()
        if token.kind == "end":
            self.fail("a weight is missing", token.position)
        weight = float(token.text) if token.kind == "word" and _NUMBER.fullmatch(token.text) else 0.0
        if not 0 < weight <= 1:
            self.fail(f"'{token.text}' is not a weight: TERM^WEIGHT has one above 0, and at most 1", token.position)
        return weight

    def _any(self, depth: int) -> Condition:
        found = [self._all(depth)]
        while self._is("or"):
            self._take()
            found.append(self._all(depth))
        return _joined(Either, found)

    def _all(self, depth: int) -> Condition:
        position, found = self._next.position, [self._unary(depth)]
        while self._is("and", "not", "(") or (self._next.kind in ("word", "text") and not self._is(*KEYWORDS)):
            if self._is("and"):
                self._take()
            found.append(self._unary(depth))
        intervals: dict[str, Within] = {}
        others: list[Condition] = []
        for each in _flat(All, found):
            if isinstance(each, Within):
                known = intervals.get(each.attribute)
                interval = intervals[each.attribute] = each.both(known) if known else each
                if interval.empty:
                    self.fail(f"no number is what '{each.attribute}' has to be", position)
            else:
                others.append(each)
        return _joined(All, [*others, *intervals.values()])

    def _unary(self, depth: int) -> Condition:
        if not self._is("not"):
            return self._primary(depth)
        self._deeper(depth)
        self._take()
        negated = self._unary(depth + 1)
        return negated.of if isinstance(negated, Not) else Not(negated)

    def _deeper(self, depth: int) -> None:
        if depth >= DEEPEST:
            self.fail(f"more than {DEEPEST} parentheses and negations in each other")

    def _primary(self, depth: int) -> Condition:
        token = self._next
        if self._is("("):
            self._deeper(depth)
            self._take()
            condition = self._any(depth + 1)
            if self._is("^"):
                self.fail("a weight cannot stand in parentheses")
            if not self._is(")"):
                self.fail("a closing parenthesis is missing")
            self._take()
            return condition
        if token.kind not in ("word", "text"):
            self.fail(
                "a tag or a comparison is missing" if token.kind == "end" else f"'{token.text}' cannot stand here"
            )
        if self._is(*KEYWORDS):
            self.fail(f"'{token.text}' cannot stand here: put it in quotation marks if it is a tag")
        self._count()
        name = self._named()
        if self._is("in"):
            return self._range(name)
        if self._next.kind == "mark" and self._next.text not in "()^":
            return self._comparison(name)
        return Tag(name)

    def _range(self, name: str) -> Condition:
        self._take()
        token = self._next
        if token.kind != "word" or ".." not in token.text:
            self.fail("a range is missing, such as 10..20")
        self._take()
        first, _, last = token.text.partition("..")
        low, high = self._number(token, 0, first), self._number(token, len(first) + 2, last)
        assert not isinstance(low, str)
        assert not isinstance(high, str)
        if low > high:
            self.fail("the smaller end of a range comes first", token.position)
        return Within(name, low, high)

    def _comparison(self, name: str) -> Condition:
        how, position = self._take().text, self._next.position
        value = self._a_value()
        if how in ("=", "!="):
            equal = Is(name, value) if isinstance(value, str) else Within(name, value, value)
            return equal if how == "=" else Not(equal)
        if isinstance(value, str):
            self.fail(f"'{how}' compares numbers, and this is none", position)
        if how.startswith("<"):
            return Within(name, high=value, below=how == "<")
        return Within(name, low=value, above=how == ">")


def _flat(kind: type[All] | type[Either], conditions: Iterable[Condition]) -> list[Condition]:
    found: list[Condition] = []
    for each in conditions:
        found += each.of if isinstance(each, kind) else (each,)
    return found


def _joined(kind: type[All] | type[Either], conditions: Iterable[Condition]) -> Condition:
    by_text = {each.text: each for each in _flat(kind, conditions)}
    if len(by_text) == 1:
        return next(iter(by_text.values()))
    return kind(tuple([by_text[text] for text in sorted(by_text)]))


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.S)
