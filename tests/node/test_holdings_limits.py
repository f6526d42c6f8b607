"""Limits on what neighbours may make a device remember and send."""

from __future__ import annotations

import pytest

from hunet.node.holdings import Holdings, Quotas
from hunet.node.identity import device_name
from hunet.node.message_numbers import short_id
from hunet.node.publication import Publication
from hunet.node.store import Store
from tests.node.table import IDENTITIES, NAMES


def published(holdings: Holdings, size: int) -> str:
    said = Publication.signed(IDENTITIES[1], "news", bytes(size), created=0.0, ttl=1000.0)
    holdings.add(said, len(said.to_bytes()), 1)
    return said.id


def test_speaking_of_one_message_again_and_again_is_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.message_numbers._MOST_HEARD_OF", 5)
    holdings = Holdings(NAMES[0], Store(), Quotas())
    known = short_id(published(holdings, 10))
    for _ in range(50):
        assert holdings.numbers.find(known) == 0
    unknown = [bytes([number] * 8) for number in range(7)]
    assert [holdings.numbers.find(each) for each in unknown] == [1, 2, 3, 4, 5, None, None]
    assert holdings.numbers.find(unknown[0]) == 1
    assert holdings.numbers.find(known) == 0


def test_messages_that_are_only_spoken_of_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.message_numbers._MOST_HEARD_OF", 5)
    holdings = Holdings(NAMES[0], Store(), Quotas())
    unknown = [bytes([number] * 8) for number in range(6)]
    assert [holdings.numbers.find(each) for each in unknown] == [0, 1, 2, 3, 4, None]
    holdings.numbers.forget_heard_of()
    assert holdings.numbers.find(unknown[0]) == 0
    holdings.numbers.forget_heard_of()
    assert [holdings.numbers.find(each) for each in unknown] == [5, 6, 7, 8, 9, None]
    assert holdings.shown.dead(0.0) == (1 << 5) - 1


def test_a_message_keeps_the_number_under_which_others_spoke_of_it() -> None:
    holdings = Holdings(NAMES[0], Store(), Quotas())
    said = Publication.signed(IDENTITIES[1], "news", b"", created=0.0, ttl=1000.0)
    number = holdings.numbers.find(short_id(said.id))
    assert said.id not in holdings.messages
    assert holdings.add(said, 100, 1).number == number
    assert holdings.messages.by_id(said.id).number == number == holdings.numbers.find(short_id(said.id))


def test_a_device_keeps_the_number_under_which_others_spoke_of_it() -> None:
    store = Store()
    holdings = Holdings(NAMES[0], store, Quotas())
    number = holdings.device(short_id(NAMES[1]))
    assert holdings.names[number] == NAMES[1][:12] + holdings.names[number][12]
    holdings.commit()
    again = Holdings(NAMES[0], store, Quotas())
    assert again.device(short_id(NAMES[1])) == number == again.number_of(NAMES[1])
    assert again.names[number] == NAMES[1]
    again.commit()
    assert dict(store.devices())[number] == NAMES[1]
    assert Holdings(NAMES[0], store, Quotas()).device(short_id(NAMES[1])) == number


def test_a_device_whose_key_begins_like_anothers_has_a_number_of_its_own() -> None:
    holdings = Holdings(NAMES[0], Store(), Quotas())
    one, two = device_name(bytes(32)), device_name(bytes(31) + b"1")
    assert holdings.number_of(one) != holdings.number_of(two)
    assert holdings.device(bytes(8)) == holdings.number_of(one)


def test_a_data_frame_has_room_for_what_fits_and_for_one_at_least() -> None:
    holdings = Holdings(NAMES[0], Store(), Quotas())
    assert holdings.room(10) == 10
    published(holdings, 1_000_000)
    assert holdings.room(1000) == 2  # two megabytes of publications at most, in a frame of four
    assert holdings.room(1) == 1
    holdings._largest = 5 << 20
    assert holdings.room(1000) == 1
