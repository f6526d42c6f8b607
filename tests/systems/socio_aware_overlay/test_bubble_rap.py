"""BUBBLE Rap by its paper: ranks in windows, and Algorithm 1."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.systems.socio_aware_overlay.bubble_rap import PeerRanks, Popularity
from hunet.testing import Network

RULES: dict[str, Any] = {"threshold": 10.0, "window": 100.0}


def test_ranks_count_different_devices_in_windows() -> None:
    met = Popularity(100.0)
    assert met.rank(0.0) == 0.0
    for peer, now in ((1, 0.0), (2, 10.0), (1, 20.0), (3, 210.0), (1, 220.0), (2, 230.0), (4, 310.0)):
        met.meet(peer, now)
    assert met.rank(320.0) == (2 + 0 + 3) / 3  # an empty window counts; the one under way does not
    assert met.rank(320.0, single=True) == 3
    assert met.rank(450.0, single=True) == 1
    assert met.rank(320.0, among=0b0110) == (2 + 0 + 2) / 3


ME = PeerRanks(5.0, 2.0, 0b00011)


@pytest.mark.parametrize(
    ("destination", "theirs", "passes"),
    [
        (0, PeerRanks(1.0, 3.0, 0b00011), True),  # both of the community, and the other ranks higher in it
        (0, PeerRanks(9.0, 1.0, 0b00011), False),  # global ranks do not count any more
        (0, PeerRanks(9.0, 9.0, 0b11000), False),  # never out of the community again
        (4, PeerRanks(1.0, 0.0, 0b11000), True),  # of the receiver's community, whatever its rank
        (4, PeerRanks(6.0, 0.0, 0b00100), True),  # up the global ranks
        (4, PeerRanks(5.0, 9.0, 0b00100), False),
    ],
)
def test_algorithm_1(destination: int, theirs: PeerRanks, passes: bool) -> None:
    found = Network("bubble-rap", 1)[0].protocol.passes(1 << destination, ME, theirs)
    assert found == (1 << destination if passes else 0)


def bubble(**more: Any) -> Network:
    """0 has met nobody; 1 is popular; 2 and 3 are familiar with each other, and 3 wants the news."""
    net = Network("bubble-rap", 8, **RULES, **more)
    net[3].subscribe("news", at=0.0)
    net[2].meet(net[3], at=1.0, seconds=20.0)
    for place, other in enumerate((4, 5, 6)):
        net[1].meet(net[other], at=30.0 + place)
    return net


def test_a_message_climbs_to_the_community_of_a_subscriber() -> None:
    net = bubble()
    assert net[2].protocol.view.nodes == 0b1100
    hello = net[0].publish("news", at=40.0)
    net[0].meet(net[7], at=41.0)  # as unknown as 0 itself
    assert net.packets() == []
    net[0].meet(net[1], at=42.0)  # more popular
    net[1].meet(net[2], at=43.0)  # less popular, but of the subscriber's community
    assert net.packets() == ["0->1 m0", "1->2 m0"]
    net[2].meet(net[1], at=44.0)
    net[2].meet(net[4], at=45.0)  # out of the community it does not go
    assert len(net.packets()) == 2
    net[2].meet(net[3], at=46.0)
    assert net[3].delivered == [hello]


def test_bubble_b_gives_the_copy_to_the_community() -> None:
    net = bubble(handover=True)
    hello = net[0].publish("news", at=40.0)
    net[0].meet(net[1], at=42.0)
    assert net[0].protocol.buffer.held(43.0) == hello.bit
    net[1].meet(net[2], at=43.0)
    assert net[1].protocol.buffer.held(44.0) == 0
    assert net[2].protocol.buffer.held(44.0) == hello.bit


def test_devices_know_their_community() -> None:
    net = bubble()
    assert net[3].protocol.circle() == 0b1100
    assert net[1].protocol.circle() == 0b0010
