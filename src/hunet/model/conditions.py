"""Conditions on what messages are about, interests made of them, and how both are written.

``hunet.model.interests`` has the language as a whole. A condition on numbers is an interval of real numbers.
"""

from __future__ import annotations

import re
from math import inf, isfinite
from typing import NamedTuple, TypeAlias

import msgspec

KEYWORDS = frozenset(("and", "or", "not", "in"))
WORD = r'(?:[^\s"()<>=^!]|!(?!=))+'
"""A name that needs no quotation marks, unless it is a keyword."""
_ANY, _ALL, _ONE = 0, 1, 2
"""How tightly the parts of a condition hold together, as written."""

Value: TypeAlias = float | str


class Content(NamedTuple):
    """What a message is about."""

    tags: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Value], ...] = ()
    """By name, in alphabetical order."""

    @property
    def text(self) -> str:
        """Its canonical form: the topic of the message."""
        parts = [f"{written(name)} = {_value(value)}" for name, value in self.attributes]
        return " ".join([*map(written, self.tags), *parts])


class Tag(msgspec.Struct, frozen=True, order=True):
    """The message has this tag."""

    name: str

    def holds(self, content: Content) -> bool:
        return self.name in content.tags

    @property
    def text(self) -> str:
        return written(self.name)

    tightness = _ONE


class Is(msgspec.Struct, frozen=True):
    """An attribute is this text."""

    attribute: str
    value: str

    def holds(self, content: Content) -> bool:
        return (self.attribute, self.value) in content.attributes

    @property
    def text(self) -> str:
        return f"{written(self.attribute)} = {_quoted(self.value)}"

    tightness = _ONE


class Within(msgspec.Struct, frozen=True):
    """An attribute is a number of an interval, whose ends may belong to it or not."""

    attribute: str
    low: float = -inf
    high: float = inf
    above: bool = False
    """Whether the low end does not belong to it."""
    below: bool = False
    """Whether the high end does not belong to it."""

    def holds(self, content: Content) -> bool:
        for name, value in content.attributes:
            if name == self.attribute and not isinstance(value, str):
                low = value > self.low if self.above else value >= self.low
                return low and (value < self.high if self.below else value <= self.high)
        return False

    @property
    def empty(self) -> bool:
        """Whether no number is in it."""
        return self.low > self.high or (self.low == self.high and (self.above or self.below))

    def both(self, other: Within) -> Within:
        """The numbers that are in both."""
        low, above = max((self.low, self.above), (other.low, other.above))
        high, inside = min((self.high, not self.below), (other.high, not other.below))
        return Within(self.attribute, low, high, above, not inside)

    @property
    def text(self) -> str:
        name, low, high = written(self.attribute), _value(self.low), _value(self.high)
        if self.low == self.high:
            return f"{name} = {low}"
        if self.tightness == _ONE and isfinite(self.low) and isfinite(self.high):
            return f"{name} in {low}..{high}"
        ends = [f"{name} >{'=' * (not self.above)} {low}"] if isfinite(self.low) else []
        ends += [f"{name} <{'=' * (not self.below)} {high}"] if isfinite(self.high) else []
        return " and ".join(ends)

    @property
    def tightness(self) -> int:
        return _ALL if (self.above or self.below) and isfinite(self.low) and isfinite(self.high) else _ONE


class Not(msgspec.Struct, frozen=True):
    """Another condition does not hold."""

    of: Condition

    def holds(self, content: Content) -> bool:
        return not self.of.holds(content)

    @property
    def text(self) -> str:
        return f"not {_within(self.of, _ONE)}"

    tightness = _ONE


class All(msgspec.Struct, frozen=True):
    """All of several conditions hold."""

    of: tuple[Condition, ...]

    def holds(self, content: Content) -> bool:
        return all(each.holds(content) for each in self.of)

    @property
    def text(self) -> str:
        return " and ".join([_within(each, _ALL) for each in self.of])

    tightness = _ALL


class Either(msgspec.Struct, frozen=True):
    """At least one of several conditions holds."""

    of: tuple[Condition, ...]

    def holds(self, content: Content) -> bool:
        return any(each.holds(content) for each in self.of)

    @property
    def text(self) -> str:
        return " or ".join([each.text for each in self.of])

    tightness = _ANY


Condition: TypeAlias = Tag | Is | Within | Not | All | Either


def _within(condition: Condition, tightness: int) -> str:
    return condition.text if condition.tightness >= tightness else f"({condition.text})"


class Interest(NamedTuple):
    """What somebody wants to hear, and how much: conditions with weights, in the order of their texts."""

    terms: tuple[tuple[Condition, float], ...]

    def score(self, content: Content) -> float:
        """How well a message matches, from 0 (it does not) to 1: the weights of what holds, added up to at most 1."""
        score = 0.0
        for condition, weight in self.terms:
            if condition.holds(content):
                score += weight
        return min(1.0, score)

    @property
    def level(self) -> float:
        """The highest score that a message can get."""
        return min(1.0, sum([weight for _, weight in self.terms]))

    @property
    def tag(self) -> str | None:
        """The only tag that it asks for, fully: of a plain subscription, its canonical form; else None."""
        condition, weight = self.terms[0]
        return condition.text if isinstance(condition, Tag) and weight == 1 and len(self.terms) == 1 else None

    @property
    def text(self) -> str:
        """Its canonical form."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0].text
        return " ".join([f"{_weighed(condition)}^{_value(weight)}" for condition, weight in self.terms])


def _weighed(condition: Condition) -> str:
    return f"({condition.text})" if isinstance(condition, Not) else _within(condition, _ONE)


def written(name: str) -> str:
    """A tag or a name, in quotation marks where it needs them."""
    return name if re.fullmatch(WORD, name) and name not in KEYWORDS else _quoted(name)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(value: Value) -> str:
    """As it is written, the shortest that is read as the same.

    >>> _value(4.50), _value(1e20), _value("alert")
    ('4.5', '1e+20', '"alert"')
    """
    if isinstance(value, str):
        return _quoted(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
