"""What the contract promises of every protocol, and the size of its packets."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.protocols.carrier import Have, Interests, Seen
from hunet.protocols.contract import ID_BYTES
from hunet.testing import Pair


@pytest.mark.parametrize(("protocol", "tells"), [("push", False), ("pull", True), ("spray-and-wait", True)])
def test_who_tells_what_it_wants(protocol: str, tells: bool) -> None:
    pair = Pair(protocol)
    pair.a.subscribe("x")
    pair.a.connect(pair.b, at=1)
    assert bool(pair.packets("Interests")) == tells
    assert pair.packets("Seen")
    before = len(pair.sent)
    pair.a.subscribe("y")
    assert pair.sent[before:] == [(0, 1, Interests(("x", "y")))] * tells


@pytest.mark.parametrize(
    ("packet", "size"),
    [(Seen(0b1011), 3 * ID_BYTES), (Have(0b1011), 3 * ID_BYTES), (Have(0), 0), (Interests(("ab", "är")), None)],
)
def test_the_size_of_a_packet(packet: Any, size: int | None) -> None:
    assert packet.size == (size if size is not None else Interests(("ab",)).size + Interests(("är",)).size)
