"""Packets as bytes: sizes are what is sent, readers get what writers sent, and nonsense is refused."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet.model import PeerError, members
from hunet.protocols.byte_streams import ID_BYTES
from hunet.protocols.carrier import Carried, Seen
from hunet.protocols.codec import kinds
from hunet.protocols.contract import Control, Data, Packet
from hunet.protocols.forms import MOST_HOPS, NotSent, fields_of, form_of
from hunet.protocols.packet_bytes import from_bytes, to_bytes
from hunet.systems import PROTOCOLS
from hunet.systems.b_sub.filter import FilterShape
from hunet.systems.b_sub.packets import Filters, Forward
from hunet.systems.b_sub.wire import counters_of, write_counters
from hunet.systems.socio_aware_overlay.packets import StateUpdate

for name in PROTOCOLS:
    PROTOCOLS[name]  # its packets are known when its modules are imported

KINDS = {name: kind for name, kind in kinds().items() if kind.__module__.startswith("hunet.") and fields_of(kind)}
CONTROL = {name: kind for name, kind in KINDS.items() if issubclass(kind, Control)}

NODES = st.integers(0, 400)
SETS = st.sets(NODES, max_size=8).map(lambda chosen: sum(1 << number for number in chosen))
TEXTS = st.text(max_size=8) | st.sampled_from(["", "ä" * 63, "ä" * 64, "x" * 127, "x" * 128])
SHAPE = FilterShape()
FILTERS = st.lists(st.text(max_size=4), max_size=40).map(SHAPE.of)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a field."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated and isinstance(parts[1], NotSent):
        return st.just(parts[1].instead)
    if origin is Annotated:
        return {"node": NODES, "nodes": SETS, "messages": SETS}[parts[1]]
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in (Union, UnionType):
        return st.none() | values(next(part for part in parts if part is not NoneType))
    if origin is dict:
        return st.dictionaries(values(parts[0]), values(parts[1]), max_size=5)
    if origin is tuple:
        inner = [values(part) for part in parts if part is not Ellipsis]
        return st.lists(inner[0], max_size=5).map(tuple) if parts[-1] is Ellipsis else st.tuples(*inner)
    if issubclass(hint, msgspec.Struct):
        return st.builds(hint, **{field: values(part) for field, part in fields_of(hint).items()})
    numbers = st.integers(-(1 << 63), (1 << 63) - 1)
    return {
        str: TEXTS,
        bytes: st.binary(max_size=8),
        int: numbers,
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
    }[hint]


@st.composite
def packets(draw: st.DrawFn, kind: type[Packet]) -> Packet:
    """Packets of a kind; what needs more than types say is done here."""
    hints = dict(fields_of(kind))
    given: dict[str, Any] = {}
    if issubclass(kind, Filters):
        relay = counters_of(list(draw(FILTERS).counters), kind.width)
        given = {"genuine": draw(FILTERS).to_plain_wire(), "relay": relay}
    if issubclass(kind, Data):
        given["messages"] = draw(SETS.filter(bool))
        if "hops" in hints and hints["hops"] is not int:
            many = given["messages"].bit_count()
            given["hops"] = tuple(draw(st.lists(st.integers(0, MOST_HOPS), min_size=many, max_size=many)))
        if issubclass(kind, Forward):
            given["direct"] = draw(SETS) & given["messages"]
    return kind(**given, **{field: draw(values(hints[field])) for field in hints if field not in given})


def as_id(number: int) -> bytes:
    return (number * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8)


NUMBERS = {as_id(number): number for number in range(401)}


def written(packet: Packet, **options: Any) -> bytes:
    return to_bytes(packet, as_id, as_id, **options)


def read(data: bytes, packet: Packet | None = None) -> Packet:
    """Read by a device that numbers messages and devices as the sender does."""
    carried = members(packet.messages) if isinstance(packet, Data) else ()
    return from_bytes(data, NUMBERS.get, lambda short: NUMBERS.get(short, 0), carried)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_what_is_read_is_what_was_written(kind: str, data: st.DataObject) -> None:
    packet = data.draw(packets(KINDS[kind]))
    assert read(written(packet), packet) == packet


@pytest.mark.parametrize("kind", CONTROL)
@settings(max_examples=20)
@given(data=st.data())
def test_the_size_of_a_packet_is_what_is_sent(kind: str, data: st.DataObject) -> None:
    packet: Any = data.draw(packets(CONTROL[kind]))
    assert packet.size == len(written(packet))
    by_its_fields = Control.seen_bytes.fget(packet)  # type: ignore[attr-defined]
    assert packet.seen_bytes == by_its_fields < packet.size


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_whatever_comes_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    """A packet that is damaged anywhere is either refused or another packet, which can be written again."""
    packet = data.draw(packets(KINDS[kind]))
    encoded = bytearray(written(packet))
    for _ in range(data.draw(st.integers(1, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(encoded) + data.draw(st.binary(max_size=2))
    try:
        found = read(damaged, packet)
    except PeerError:
        return
    assert read(written(found), found) == found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_packet_that_is_cut_off_is_refused(kind: str, data: st.DataObject) -> None:
    packet = data.draw(packets(KINDS[kind]))
    encoded = written(packet)
    with pytest.raises(PeerError):
        read(encoded[: data.draw(st.integers(0, len(encoded) - 1))], packet)


@given(st.binary(max_size=200))
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(PeerError, match=r"not known here|cut off"):
        read(b"\0\0"[: len(data)] + data)


def seen(rest: str) -> bytes:
    return written(Seen(0))[:2] + bytes.fromhex(rest)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (seen("00 00"), "more bytes"),
        (seen("ff ff ff ff 0f"), "cut off"),  # a count of four thousand million
        (seen("80 00"), "no device writes"),  # a nought in two bytes
        (seen("ff" * 12), "no device writes"),
        (seen("02" + "00" * 7 + "02" + "00" * 7 + "01"), "out of order"),
        (seen("02" + "01" * 16), "out of order"),  # twice the same
        (written(Carried(1, (1,))), "without publications"),
    ],
)
def test_what_no_device_writes_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(PeerError, match=why):
        read(data)


def test_a_packet_that_is_too_long_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(Seen(0b111))
    monkeypatch.setattr("hunet.protocols.packet_bytes.LONGEST", len(data))
    assert read(data) == Seen(0b111)
    monkeypatch.setattr("hunet.protocols.packet_bytes.LONGEST", len(data) - 1)
    with pytest.raises(PeerError, match="a packet of 27 bytes"):
        read(data)


def test_a_control_packet_brings_no_publications() -> None:
    with pytest.raises(PeerError, match="with publications"):
        read(written(Seen(0)), Carried(1, (1,)))


def test_hops_have_a_limit() -> None:
    packet = Carried(1, (65535,))
    assert read(written(packet), packet) == Carried(1, (MOST_HOPS,))
    with pytest.raises(PeerError, match="above"):
        read(written(packet)[:2] + b"\xff\xff\x03", packet)


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_what_stands_per_message_stays_with_its_message(order: list[int], refused: set[int]) -> None:
    """The reader numbers messages in another way, and wants nothing to do with some."""
    hops = (60, 50, 40, 30, 20, 10)  # of messages 5 to 0
    there = [None if number in refused else order[number] for number in (5, 4, 3, 2, 1, 0)]
    found = from_bytes(written(Forward(0b111111, hops, 0b000101)), int.from_bytes, int.from_bytes, there)
    assert isinstance(found, Forward)
    kept = {order[number]: 10 * (number + 1) for number in range(6) if number not in refused}
    assert dict(zip(members(found.messages), found.hops, strict=True)) == kept
    assert found.direct == sum(1 << order[number] for number in {0, 2} - refused)


def test_what_is_unsaid_is_left_out() -> None:
    assert read(written(Seen(0b111), unsaid=0b010)) == Seen(0b101)


def test_messages_that_the_reader_has_no_number_for_are_left_out() -> None:
    data = written(Seen(0b11))
    assert from_bytes(data, lambda short: 7 if short == as_id(1) else None, int.from_bytes) == Seen(1 << 7)


# What packets cost -------------------------------------------------------------------------------------------------


def test_a_summary_takes_eight_bytes_for_each_message() -> None:
    assert ID_BYTES == 8
    assert len(written(Seen((1 << 100) - 1))) == 2 + 1 + 800
    assert len(written(Seen(0))) == 3


def test_a_device_is_named_once_in_a_packet_however_many_sets_it_is_in() -> None:
    """Forty devices that are all familiar with each other: a table of them, and a bit for each in every set."""
    everybody = (1 << 40) - 1
    packet = StateUpdate(0, True, everybody, everybody, dict.fromkeys(range(39), everybody))
    assert packet.size == 2 + 1 + 1 + (1 + 40 * 8) + 5 + 5 + 1 + 39 * (1 + 5) + 3


@pytest.mark.parametrize("tags", [0, 2, 10, 38])
def test_filters_are_sent_compressed(tags: int) -> None:
    """The bytes that metrics have for filters are those of the filters in a greeting: at most 4 for a tag."""
    made = SHAPE.of(f"tag{number}" for number in range(tags))
    told = Filters(made.to_plain_wire(), made.decay(1).counters, None, 0b11)
    encoded = written(told)
    genuine, relay = made.to_plain_wire(), write_counters(made.decay(1).counters)
    assert told.filter_bytes == len(genuine) + len(relay) <= 32 + 4 * tags
    parts = [bytes([len(genuine)]), genuine, bytes([255, 1, len(relay)]), relay]
    assert encoded[3 + 2 * ID_BYTES :] == b"".join(parts)
    assert len(encoded) == told.size


class Unheard(Control, frozen=True):
    """What a packet cannot have."""

    thing: complex


def test_a_field_that_cannot_be_sent_is_named() -> None:
    with pytest.raises(TypeError, match="complex"):
        form_of(complex)
    with pytest.raises(TypeError, match="complex"):
        _ = Unheard(1j).size
