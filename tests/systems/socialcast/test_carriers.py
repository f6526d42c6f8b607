"""SocialCast's central rule (Fig. 2): a copy goes to the one neighbour that is the best carrier, if that is better."""

from __future__ import annotations

import pytest

from hunet import Contacts, Publication, Subscription, Workload, run
from hunet.systems.socialcast.socialcast import Advertisement, Transfer
from hunet.testing import Network


def planned(told: dict[int, float], *, has: dict[int, int] | None = None, publications: int = 1) -> dict[int, int]:
    """For each neighbour, the messages that device 0 would hand to it, if it was told these utilities."""
    net = Network("socialcast", 1 + max(told), copies=1, hysteresis=0.2)
    node = net[0]
    for _ in range(publications):
        node.publish("x")
    for peer, utility in told.items():
        node.protocol.link_up(peer, net.now)
        node.receive(peer, Advertisement((), {"x": utility}, (has or {}).get(peer, 0)), net.now)
    node.protocol._plan()
    return dict(node.protocol._handovers)


@pytest.mark.parametrize(
    ("told", "carrier"),
    [
        ({1: 0.8, 2: 0.9}, 2),
        ({1: 0.9, 2: 0.8}, 1),
        ({2: 0.9, 1: 0.9}, 1),  # equal: the smallest id, whoever spoke first
        ({3: 0.5, 1: 0.3, 2: 0.4}, 3),
        ({1: 0.2, 2: 0.21}, 2),  # above the hysteresis, not at it
    ],
)
def test_the_best_neighbour_becomes_the_carrier_and_only_that(told: dict[int, float], carrier: int) -> None:
    assert planned(told) == {carrier: 0b1}


def test_nobody_becomes_the_carrier_who_is_not_better_or_has_it() -> None:
    assert planned({1: 0.2, 2: 0.1}) == {}
    assert planned({1: 0.9, 2: 0.8}, has={1: 0b1, 2: 0b1}) == {}


def test_the_next_best_gets_what_the_best_has_received_already() -> None:
    assert planned({1: 0.8, 2: 0.9, 3: 0.7}, has={2: 0b01}, publications=2) == {2: 0b10, 1: 0b01}


def test_one_copy_is_promised_to_one_neighbour() -> None:
    plan = planned({1: 0.7, 2: 0.9, 3: 0.8}, has={2: 0b0011, 3: 0b0001}, publications=4)
    assert plan == {2: 0b1100, 3: 0b0010, 1: 0b0001}
    for peer, messages in plan.items():
        assert not any(messages & others for other, others in plan.items() if other != peer)


def test_a_carrier_forecasts_the_topic_of_what_it_carries() -> None:
    """Otherwise nobody would hear how good a carrier it is for it."""
    net = Network("socialcast", 2)
    author, node = net.nodes
    message = author.publish("x")
    node.receive(author.node, Transfer(message.bit, (1,), True), net.now)
    node.protocol.update_own_utilities()
    assert "x" in node.protocol.utilities


def test_a_full_buffer_drops_the_copy_that_came_in_first_and_says_so() -> None:
    contacts = Contacts.from_records([("0", "1", 0, 10)])
    workload = Workload.of([Publication(f"m{i}", float(i), 0, "x") for i in range(2)], [Subscription(1, "y")])
    result = run(contacts, workload, "socialcast", copies=1, buffer=1)
    assert result.summary["dropped_overflow"] == 1
    assert result.publications["copies_net"].tolist() == [0, 1]
