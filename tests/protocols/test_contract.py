"""What the contract promises of every protocol, and the size of its packets."""

from __future__ import annotations

import pytest

from hunet.protocols.carrier import Interests
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
