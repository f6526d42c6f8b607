"""How well a message matches a subscription: a score from 0 to 1.

A plain subscription names a topic and matches messages of exactly that topic, with score 1. A *weighted* one says how
much it cares about single terms, as ``football^0.7 goals^0.3``: it scores a message by the weights of the terms that
the message's topic names (separated by blanks), added up to at most 1. So content can be addressed without knowing
what messages are called in full:

>>> matching_score("football", "football"), matching_score("football", "football goals")
(1.0, 0.0)
>>> [matching_score("football^0.7 goals^0.2", topic) for topic in ("football", "goals hockey", "hockey")]
[0.7, 0.2, 0.0]
>>> round(matching_score("football^0.7 goals^0.2", "football goals"), 9)
0.9
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from hunet.model.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARK = "^"


@lru_cache(1 << 16)
def matching_score(subscription: str, topic: str) -> float:
    """The score of a message of this topic for a subscription."""
    terms = weighted_terms(subscription)
    if not terms:
        return float(subscription == topic)
    return min(1.0, sum(terms.get(term, 0.0) for term in dict.fromkeys(topic.split())))


@lru_cache(1 << 12)
def weighted_terms(subscription: str) -> Mapping[str, float]:
    """The terms of a weighted subscription with their weights; none if it is a plain one.

    >>> dict(weighted_terms("football^0.7 goals^0.3")), dict(weighted_terms("football"))
    ({'football': 0.7, 'goals': 0.3}, {})
    """
    if _MARK not in subscription:
        return MappingProxyType({})
    terms: dict[str, float] = {}
    for word in re.finditer(r"\S+", subscription):
        part = word[0]
        term, _, weight = part.rpartition(_MARK)
        try:
            terms[term] = float(weight)
        except ValueError:
            terms[term] = -1.0
        if not term or not 0 <= terms[term] <= 1:
            raise ConfigurationError(
                f"subscription '{subscription}', character {word.start() + 1}: "
                f"'{part}' is not TERM^WEIGHT with a weight from 0 to 1"
            )
    return MappingProxyType(terms)
