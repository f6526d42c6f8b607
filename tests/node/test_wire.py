"""Only plain values, only in their one encoding."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.node import wire

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(plain)
def test_plain_values_round_trip(value: Any) -> None:
    assert wire.decode(wire.encode(value)) == value


@given(st.binary(max_size=200))
def test_random_bytes_are_a_value_or_malformed_and_nothing_else(data: bytes) -> None:
    try:
        value = wire.decode(data)
    except wire.Malformed:
        return
    assert wire.encode(value) == data


@given(plain, st.integers(0, 70000))
def test_no_tag_is_read_whatever_it_holds(value: Any, tag: int) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode(cbor2.dumps(cbor2.CBORTag(tag, value)))


@pytest.mark.parametrize(
    "data",
    [
        "",
        "0000",  # two values
        "1801",  # 1, in more bytes than it needs
        "fb3ff0000000000000",  # 1.0 likewise
        "9f01ff",  # a list without a length
        "a2616101616102",  # one key twice
        "a2616201616102",  # keys out of order
        "a10102",  # a number as key
        "81" * 100 + "00",
        "9b7fffffffffffffff",
        "5b00000000ffffffff",
        "c249010000000000000000",
        "d82363282828",
        "62c328",  # not UTF-8
    ],
)
def test_other_cbor_is_malformed(data: str) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode(bytes.fromhex(data))
