"""Keys by which interests can be looked up in tables that hold nothing but keys, as the filters of B-SUB do.

:func:`keys_of` has those of a message, and :func:`cover` keys of which each message that matches an interest has one.
The rule is the same on all devices, so that they need to exchange nothing but keys. What it finds too much, the
subscriber, who has the interest itself, sorts out.
"""

from __future__ import annotations

from functools import lru_cache
from math import floor

from hunet.model.conditions import All, Condition, Interest, Is, Not, Tag, Within
from hunet.model.interests import content_of, tags_of

_LEVELS = 17
"""Numbers of an attribute have keys for intervals of 1, 2, 4, ... 65,536."""
_END = 1 << _LEVELS - 1
"""What is further from 0 than this has one key on either side."""
MOST_KEYS = 8
"""Of one interval; what would need more is covered by larger ones, with room for what does not match."""


@lru_cache(1 << 14)
def keys_of(topic: str) -> tuple[str, ...]:
    """By what a message can be found in a table of keys: its tags, its texts, and the intervals of its numbers.

    >>> keys_of("football"), keys_of("kind=alert"), keys_of("price=4.5")[:3]
    (('football',), ('=kind alert',), ('=price 0 4', '=price 1 2', '=price 2 1'))
    """
    keys, content = list(tags_of(topic)), content_of(topic)
    for name, value in content.attributes:
        if isinstance(value, str):
            keys.append(f"={name} {value}")
        elif -_END <= value < _END:
            unit = floor(value)
            keys += [f"={name} {level} {unit >> level}" for level in range(_LEVELS)]
        else:
            keys.append(f"={name} {'low' if value < 0 else 'high'}")
    return tuple(keys)


def cover(interest: Interest) -> tuple[str, ...] | None:
    """Keys of which every message that matches has one, by a rule that all devices share; None if there are none.

    A tag and a text are keys themselves. An interval is cut into the fewest dyadic ones; if these are more than
    ``MOST_KEYS``, into larger ones. Of conditions that must all hold the one with the fewest keys is enough; of those
    of which one must, all keys are needed; and what must not hold has no key.

    >>> from hunet.model.interests import interest_of

    >>> cover(interest_of("football and value in 10..20"))
    ('football',)
    >>> cover(interest_of("value in 10..20"))
    ('=value 0 20', '=value 1 5', '=value 2 3', '=value 2 4')
    >>> cover(interest_of("not football"))
    """
    keys: set[str] = set()
    for condition, _ in interest.terms:
        found = _cover(condition)
        if found is None:
            return None
        keys |= found
    return tuple(sorted(keys))


def _cover(condition: Condition) -> set[str] | None:
    if isinstance(condition, Tag):
        return {condition.text}
    if isinstance(condition, Is):
        return {f"={condition.attribute} {condition.value}"}
    if isinstance(condition, Within):
        return _intervals(condition)
    if isinstance(condition, Not):
        return None
    parts = [_cover(each) for each in condition.of]
    known = [part for part in parts if part is not None]
    if isinstance(condition, All):
        return min(known, key=lambda part: (len(part), sorted(part)), default=None)
    return set().union(*known) if len(known) == len(parts) else None


def _intervals(within: Within) -> set[str]:
    name, keys = within.attribute, set()
    if within.low < -_END:
        keys.add(f"={name} low")
    if within.high >= _END:
        keys.add(f"={name} high")
    first, last = floor(max(within.low, -_END)), floor(min(within.high, _END - 1))
    if first > last:
        return keys
    coarsest = 0
    while len(found := _dyadic(first >> coarsest << coarsest, last | (1 << coarsest) - 1)) > MOST_KEYS:
        coarsest += 1
    return keys | {f"={name} {level} {unit}" for level, unit in found}


def _dyadic(first: int, last: int) -> list[tuple[int, int]]:
    """Whole numbers from one to another as the fewest intervals (level, place), of 2^level numbers each."""
    found = []
    while first <= last:
        level = 0
        while level + 1 < _LEVELS and not first & (2 << level) - 1 and first + (2 << level) - 1 <= last:
            level += 1
        found.append((level, first >> level))
        first += 1 << level
    return found
