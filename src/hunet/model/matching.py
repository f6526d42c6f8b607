"""How well a message matches a subscription: a score from 0 to 1.

A plain subscription names a tag, and matches messages that have it with score 1. Others are conditions on tags and
attributes, or several of them with weights (``hunet.model.interests``):

>>> [matching_score("football", topic) for topic in ("football", "football goals", "goals")]
[1.0, 1.0, 0.0]
>>> [matching_score("football^0.7 goals^0.2", topic) for topic in ("football", "goals hockey", "hockey")]
[0.7, 0.2, 0.0]
>>> round(matching_score("football^0.7 goals^0.2", "football goals"), 9)
0.9
>>> matching_score("value in 10..20", "value = 12")
1.0
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hunet.model.interests import content_of, interest_of

if TYPE_CHECKING:
    from collections.abc import Iterable


@lru_cache(1 << 16)
def matching_score(subscription: str, topic: str) -> float:
    """The score of a message of this topic for a subscription."""
    return interest_of(subscription).score(content_of(topic))


def matches(subscriptions: Iterable[str], topic: str) -> bool:
    """Whether a message of this topic matches one of these subscriptions at all."""
    for wanted in subscriptions:  # noqa: SIM110 - a generator takes longer than most of the answers
        if matching_score(wanted, topic):
            return True
    return False
