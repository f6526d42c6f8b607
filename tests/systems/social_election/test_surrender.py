"""What a user or broker of the social election gives up when a live node is short of storage: the least useful."""

from __future__ import annotations

from hunet.testing import Network, TestNode


def broker() -> TestNode:
    """Holds A, A, B, C, A in order of age; A was asked for lately, B long ago, C never."""
    node = Network("social-election", 1)[0]
    node.protocol.become("broker", 0.0)
    for time, topic in enumerate("AABCA"):
        node.publish(topic, at=float(time))
    node.protocol.table.refresh({"A": 90.0, "B": 1.0})
    return node


def surrendered(node: TestNode, among: int) -> list[int]:
    """What goes, one after the other, until nothing is left."""
    gone = []
    while found := node.protocol.surrender(among, 100.0):
        assert found.bit_count() == 1
        gone.append(found.bit_length() - 1)
        assert gone[-1] not in node.protocol.buffer.copies
    return gone


def test_the_least_useful_goes_first() -> None:
    # Utilities at 100: C none; B 1 / (98 + 99); A 1 / (100 + 10), 1 / (99 + 10) and 1 / (96 + 10).
    assert surrendered(broker(), 0b11111) == [3, 2, 0, 1, 4]


def test_only_those_in_question_go() -> None:
    node = broker()
    assert surrendered(node, 0b10011) == [0, 1, 4]
    assert sorted(node.protocol.buffer.copies) == [2, 3]


def test_without_utility_the_oldest_goes_first() -> None:
    node = broker()
    node.protocol.table.drop_before(1000.0)
    assert surrendered(node, 0b11111) == [0, 1, 2, 3, 4]
