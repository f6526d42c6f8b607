"""Limits on what neighbours may make a device remember and send."""

from __future__ import annotations

import pytest

from hunet.node.holdings import Holdings, Quotas
from hunet.node.publication import Publication
from hunet.node.store import Store
from tests.node.table import IDENTITIES, NAMES


def published(holdings: Holdings, size: int) -> str:
    said = Publication.signed(IDENTITIES[1], "news", bytes(size), created=0.0, ttl=1000.0)
    holdings.add(said, len(said.to_bytes()), 1)
    return said.id


def test_speaking_of_one_message_again_and_again_is_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.holdings._MOST_HEARD_OF", 5)
    holdings = Holdings(NAMES[0], Store(), Quotas())
    known = published(holdings, 10)
    for _ in range(50):
        assert holdings.by_id(known) is not None
    unknown = ["abcdefghijklmnopqrstuvwx" + second + "a" for second in "abcdefg"]
    assert [holdings.by_id(each) is not None for each in unknown] == [True] * 5 + [False] * 2
    assert holdings.by_id(unknown[0]) is not None
    assert holdings.by_id(known) is not None


def test_a_data_frame_has_room_for_what_fits_and_for_one_at_least() -> None:
    holdings = Holdings(NAMES[0], Store(), Quotas())
    assert holdings.room(10) == 10
    published(holdings, 1_000_000)
    assert holdings.room(1000) == 2  # two megabytes of publications at most, in a frame of four
    assert holdings.room(1) == 1
    holdings._largest = 5 << 20
    assert holdings.room(1000) == 1
