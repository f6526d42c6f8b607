"""Consensus: whether people give the same tags to the same things.

Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", IEEE TPDS 2013,
section 4.2. Tags can only bring messages to the interested if people choose alike. The consensus of an item is the
share of the people who tagged it that chose its most chosen tag; 1 means that there is a tag that all of them chose.
"""

from __future__ import annotations

from collections.abc import Iterable


def consensus(choices: Iterable[tuple[str, str, str]]) -> dict[str, float]:
    """The consensus of each item, from (user, item, tag) rows, in the order in which items come up.

    A user may give an item several tags; the same tag twice counts once.

    >>> consensus([("ann", "quake", "tsunami"), ("bob", "quake", "Japan"), ("bob", "quake", "tsunami"),
    ...            ("ann", "moon", "NewMoon"), ("bob", "moon", "eclipse")])
    {'quake': 1.0, 'moon': 0.5}
    """
    users: dict[str, set[str]] = {}
    chosen: dict[str, dict[str, set[str]]] = {}
    for user, item, tag in choices:
        users.setdefault(item, set()).add(user)
        chosen.setdefault(item, {}).setdefault(tag, set()).add(user)
    return {item: max(len(by) for by in chosen[item].values()) / len(users[item]) for item in users}
