"""The numbers of devices: distinct whatever names a neighbour makes up, and in the order of keys."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import ProtocolError
from hunet.node.holdings import Holdings, Quotas
from hunet.node.identity import device_name
from hunet.node.store import Store

RANDOM_KEYS = st.binary(min_size=32, max_size=32)
CROWDED_KEYS = st.builds(
    lambda start, rest: start + bytes(28) + rest,
    st.sampled_from([b"\0\0", b"\0\1", b"\x5c\xe3", b"\xff\xff"]),  # also where there is no number beyond
    st.binary(min_size=2, max_size=2),
)
"""Keys that wish for the same numbers."""


def holdings_of(device: str, store: Store | None = None) -> Holdings:
    return Holdings(device, store or Store(), Quotas())


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=2, max_size=30, unique=True), st.randoms())
def test_devices_agree_on_the_order_of_devices(keys: list[bytes], rng: Random) -> None:
    """Whoever is heard of first: protocols break ties by numbers, and both ends must break them alike."""
    names = [device_name(key) for key in keys]
    orders = []
    for _ in range(2):
        rng.shuffle(names)
        holdings = holdings_of(names[0])
        orders.append(sorted(names, key=holdings.number_of))
        assert len({holdings.number_of(name) for name in names}) == len(names)
    assert orders[0] == orders[1]


def test_made_up_names_never_get_the_number_of_the_device_itself() -> None:
    """The third lies between the keys of two others, and the only number between theirs is that of the device."""
    start = (23779).to_bytes(2)
    own = device_name(start + bytes(30))
    holdings = holdings_of(own)
    numbers = [holdings.number_of(device_name(start + bytes(29) + bytes([last]))) for last in (9, 3, 5)]
    assert numbers[:2] == [23780, 23778]
    assert holdings.node == 23779
    assert holdings.node not in numbers
    assert holdings.names[holdings.node] == own


@given(st.lists(RANDOM_KEYS | CROWDED_KEYS, min_size=2, max_size=40, unique=True))
def test_numbers_are_distinct_and_the_own_one_stays(keys: list[bytes]) -> None:
    names = [device_name(key) for key in keys]
    store = Store()
    holdings = holdings_of(names[0], store)
    own = holdings.node
    numbers = [holdings.number_of(name) for name in names]
    assert len(set(numbers)) == len(names)
    assert numbers[0] == own
    assert {number: holdings.names[number] for number in numbers} == dict(zip(numbers, names, strict=True))
    holdings.commit()
    again = holdings_of(names[0], store)
    assert [again.number_of(name) for name in names] == numbers


@given(st.lists(CROWDED_KEYS, min_size=1, max_size=20, unique=True), CROWDED_KEYS)
def test_the_order_of_keys_is_kept_where_a_number_between_is_free(keys: list[bytes], new: bytes) -> None:
    names = {key: device_name(key) for key in sorted(keys)}
    holdings = holdings_of(names[keys[0]])
    for key in keys:
        holdings.number_of(names[key])
    below = max((key for key in keys if key < new), default=None)
    above = min((key for key in keys if key > new), default=None)
    low = -1 if below is None else holdings.number_of(names[below])
    high = 1 << 16 if above is None else holdings.number_of(names[above])
    free = any(number not in holdings.names for number in range(low + 1, high))
    if new not in names and free:
        assert low < holdings.number_of(device_name(new)) < high


def test_a_protocol_does_not_know_what_is_only_spoken_of() -> None:
    holdings = holdings_of(device_name(b"\1" * 32))
    heard_of = holdings.numbers.find(bytes(8))
    assert heard_of is not None
    assert list(holdings.shown) == []
    with pytest.raises(ProtocolError, match="has not been shown"):
        holdings.shown[heard_of]


def test_a_device_that_was_spoken_of_keeps_its_number_when_it_is_met_or_writes() -> None:
    holdings = holdings_of(device_name(b"\1" * 32))
    for key in (b"\2" * 32, b"\3" * 32):
        number = holdings.device(key[:8])
        assert device_name(key).startswith(holdings.names[number][:12])
        assert holdings.number_of(device_name(key)) == number == holdings.device(key[:8])
        assert holdings.names[number] == device_name(key)
