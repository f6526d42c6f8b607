"""How long copies were held: the n-th removal of a copy belongs to the n-th time that it was stored."""

from __future__ import annotations

import numpy as np

from hunet.simulation.copies import copies
from hunet.simulation.record import Record


def record(*events: tuple[float, str, int, int]) -> Record:
    """(time, "stored" or a reason, node, message), in order."""
    found = Record()
    for time, what, node, message in events:
        if what == "stored":
            found.stored.extend((time, node, 1))
            found.stored_messages.append(message)
        else:
            found.removed.extend((time, node, message, found.reason(what)))
    return found


def held(found: Record, ttl: float | None = None, end: float = 100.0) -> list[tuple[int, int, float, float, str]]:
    """(node, message, from, until, why not longer), in the order in which copies were stored."""
    table = copies(
        found.stored_columns(),
        found.removed_columns(),
        np.array([np.inf if ttl is None else ttl, np.inf]),
        3,
        end,
    )
    names = [*found.reasons, "stayed"]
    rows = zip(*(getattr(table, f).tolist() for f in ("node", "publication", "start", "end", "reason")), strict=True)
    return [(node, message, start, until, names[reason]) for node, message, start, until, reason in rows]


def test_a_message_that_comes_and_goes_is_several_copies() -> None:
    found = record(
        (1.0, "stored", 0, 0),
        (2.0, "stored", 1, 0),
        (5.0, "handover", 0, 0),
        (6.0, "stored", 0, 0),
        (7.0, "overflow", 1, 0),
        (9.0, "crash", 0, 0),
        (11.0, "stored", 0, 0),
    )
    assert held(found) == [
        (0, 0, 1.0, 5.0, "handover"),
        (1, 0, 2.0, 7.0, "overflow"),
        (0, 0, 6.0, 9.0, "crash"),
        (0, 0, 11.0, 100.0, "stayed"),
    ]


def test_several_copies_at_once_go_one_after_the_other() -> None:
    found = record(*[(1.0, "stored", 2, 1)] * 3, (4.0, "handover", 2, 1), (8.0, "handover", 2, 1))
    assert [until for _, _, _, until, _ in held(found)] == [4.0, 8.0, 100.0]


def test_messages_and_nodes_are_not_mixed_up() -> None:
    """Node 2 of message 0 and node 0 of message 1 are neighbours as keys."""
    found = record(
        (1.0, "stored", 2, 0),
        (2.0, "stored", 0, 1),
        (3.0, "overflow", 0, 1),
        (4.0, "stored", 1, 0),
        (5.0, "crash", 1, 0),
    )
    assert held(found) == [(2, 0, 1.0, 100.0, "stayed"), (0, 1, 2.0, 3.0, "overflow"), (1, 0, 4.0, 5.0, "crash")]


def test_what_dies_is_held_until_then_and_what_is_removed_before_until_that() -> None:
    found = record((1.0, "stored", 0, 0), (1.0, "stored", 1, 0), (4.0, "overflow", 1, 0), (1.0, "stored", 0, 1))
    assert [until for _, _, _, until, _ in held(found, ttl=30.0)] == [30.0, 4.0, 100.0]
