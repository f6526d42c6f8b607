"""Plain filters that no device writes are refused, each for its own reason."""

from __future__ import annotations

import pytest

from hunet.model import PeerError
from hunet.systems.b_sub.filter import FilterShape

SHAPE = FilterShape(counters=20)  # a bit vector of three bytes, the last one half used


def test_a_bit_vector_is_read_bit_by_bit_and_positions_one_by_one() -> None:
    assert [p for p, value in enumerate(SHAPE.from_plain_wire(bytes([1, 0, 8])).counters) if value] == [0, 19]
    assert [p for p, value in enumerate(SHAPE.from_plain_wire(bytes([3, 19])).counters) if value] == [3, 19]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes(4), "in 4 bytes: 3 are enough"),
        (bytes([0, 0, 16]), "bits beyond its 20"),
        (bytes([19, 3]), "out of order or out of range"),
        (bytes([3, 3]), "out of order or out of range"),
        (bytes([20]), "out of order or out of range"),
    ],
)
def test_nonsense_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(PeerError, match=reason):
        SHAPE.from_plain_wire(data)
