"""Messages that are past their life are of no use: nobody speaks of them, and nobody remembers them as seen."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.protocols.packets import Data, layout_of
from hunet.systems import PROTOCOLS
from hunet.testing import Network

PARAMETERS: dict[str, dict[str, Any]] = {"random-broker": {"share": 0.5}}
MEETINGS = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (0, 2)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_dead_messages_leave_what_devices_say_and_remember(protocol: str) -> None:
    net = Network(protocol, 4, **PARAMETERS.get(protocol, {}))
    for node in net.nodes:
        node.subscribe("x", at=0)
    for time, publisher in enumerate((0, 1, 2)):
        net[publisher].publish("x", at=float(time), ttl=300.0)
    dead = (1 << 3) - 1

    def meet_all(since: float) -> None:
        for number, (one, two) in enumerate(MEETINGS):
            net[one].meet(net[two], at=since + 45.0 * number, seconds=40.0)

    meet_all(10.0)
    spoken_of = [packet for _, _, packet in net.sent if layout_of(type(packet)).named(packet)[1] & dead]
    assert spoken_of, "the test shows nothing if nobody ever spoke of them"
    net[3].publish("x", at=310.0)
    heard = len(net.sent)
    meet_all(320.0)
    for sender, receiver, packet in net.sent[heard:]:
        named = packet.messages if isinstance(packet, Data) else layout_of(type(packet)).named(packet)[1]
        assert not named & dead, f"{sender} to {receiver}: {packet}"
    assert any(isinstance(packet, Data) for _, _, packet in net.sent[heard:])
    for node in net.nodes:
        assert not getattr(node.protocol, "seen", 0) & dead
