"""Watched protocols: what a node writes to its disk is the protocol, not those who watch it."""

from __future__ import annotations

from random import Random
from typing import Any

from hunet.protocols.carrier import BufferParameters
from hunet.protocols.push import Push
from hunet.protocols.state import parts_of
from hunet.protocols.watcher import watch_protocol


def test_the_state_of_a_watched_protocol_is_its_own() -> None:
    driver: Any = None
    protocol = Push(7, BufferParameters(), driver, Random(1))
    watched = watch_protocol(protocol, before=lambda *_: None)
    assert type(watched) is not Push
    protocol.seen = 0b1011
    assert parts_of(watched) == parts_of(protocol)
    assert parts_of(watched)["hunet.Carrier"][1]["seen"] == b"\x0b"
