"""Watched protocols: what a node writes to its disk is the protocol, not those who watch it."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

from hunet.protocols import Protocol
from hunet.protocols.watcher import watch_protocol


def test_the_state_of_a_watched_protocol_is_its_own() -> None:
    driver: Any = None
    protocol = Protocol(7, None, driver, Random(1))
    watched = watch_protocol(protocol, before=lambda *_: None)
    assert type(watched) is not Protocol
    restored = pickle.loads(pickle.dumps(watched))
    assert type(restored) is Protocol
    assert restored.node == 7
