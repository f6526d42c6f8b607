"""Crashes as configuration files tell them."""

from __future__ import annotations

from typing import Any

import pytest

from hunet import Contacts, Crash
from hunet.model import ConfigurationError
from hunet.simulation.schedule import crashes_from

CONTACTS = Contacts.from_records([("ann", "bob", 0, 10), ("bob", "7", 5, 20)])


def test_crashes_are_by_name_and_last_no_time_unless_they_say_so() -> None:
    given: list[dict[str, Any]] = [{"node": "bob", "time": 5}, {"node": 7, "time": 6.5, "down": 3}]
    number = {name: i for i, name in enumerate(CONTACTS.names)}
    assert crashes_from(given, CONTACTS) == [Crash(number["bob"], 5.0, 0.0), Crash(number["7"], 6.5, 3.0)]
    assert crashes_from([], CONTACTS) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"node": "bob"}, "a crash has the fields node, time"),
        ({"node": "bob", "time": 1, "dwon": 2}, "a crash has the fields node, time"),
        ({"node": "bop", "time": 1}, "did you mean 'bob'"),
        ({"node": "bob", "time": -1}, "must not be negative"),
        ({"node": "bob", "time": 1, "down": -1}, "must not be negative"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        crashes_from([given], CONTACTS)
