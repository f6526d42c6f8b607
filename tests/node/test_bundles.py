"""Bundles: every field of RFC 9171, round trips, and what is refused and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import HunetError
from hunet.node.bundle_bytes import BundleError, Crc
from hunet.node.bundles import (
    NOBODY,
    Block,
    BlockFlag,
    BlockKind,
    Bundle,
    BundleFlag,
    bundle_age,
    dtn_time,
    hop_count,
    payload,
    previous_node,
    read_bundle,
    unix_time,
)

NUMBERS = st.integers(0, (1 << 64) - 1)
CRCS = st.sampled_from(Crc)
NAMES = st.from_regex(r"(?:[a-zA-Z0-9._~!$&'()*+,;=-]|%[0-9A-F]{2}){1,12}", fullmatch=True)
NODES = st.one_of(
    st.builds("dtn://{}/{}".format, NAMES, st.from_regex(r"|[!-}][!-~]{0,8}", fullmatch=True)),
    st.builds("ipn:{}.{}".format, NUMBERS, NUMBERS),
    st.builds("ipn:{}.{}.{}".format, *(st.integers(0, (1 << 32) - 1),) * 2, st.integers(0, 9)),
)
GROUPS = st.builds("dtn://{}/~{}".format, NAMES, st.from_regex(r"[!-~]{0,8}", fullmatch=True))


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    """Any bundle that the RFC allows."""
    made = [
        lambda number: Block(
            draw(st.integers(192, 255)),
            number,
            draw(st.binary(max_size=20)),
            draw(st.sampled_from([0, 1, 4, 16])),
            draw(CRCS),
        ),
        lambda number: previous_node(draw(NODES), number, draw(CRCS)),
        lambda number: bundle_age(draw(NUMBERS), number, draw(CRCS)),
        lambda number: hop_count(draw(st.integers(1, 255)), draw(NUMBERS), number, draw(CRCS)),
    ]

    chosen = draw(st.lists(st.sampled_from(range(4)), unique=True))
    numbers = draw(st.lists(st.integers(2, 1 << 40), min_size=len(chosen), max_size=len(chosen), unique=True))
    blocks = tuple(made[which](number) for which, number in zip(chosen, numbers, strict=True))
    data = draw(st.binary(max_size=300))
    source = draw(st.one_of(st.just(NOBODY), NODES))
    flags = draw(st.sampled_from([0, 0x2, 0x20, 0x40, 0x1000000]))
    flags |= BundleFlag.DO_NOT_FRAGMENT if source == NOBODY else draw(st.sampled_from([0, BundleFlag.DO_NOT_FRAGMENT]))
    if source != NOBODY and not flags & BundleFlag.ADMINISTRATIVE:
        flags |= draw(st.sampled_from([0, BundleFlag.REPORT_DELIVERY, BundleFlag.REPORTS]))
    fragment = None
    if draw(st.booleans()):
        flags |= BundleFlag.FRAGMENT
        offset = draw(st.integers(0, 1 << 40))
        fragment = (offset, offset + len(data) + draw(st.integers(0, 9)))
    return Bundle(
        draw(st.one_of(GROUPS, NODES)),
        source,
        created=draw(NUMBERS.filter(bool) if 2 not in chosen else NUMBERS),
        lifetime=draw(NUMBERS),
        blocks=(*blocks, payload(data, draw(CRCS))),
        sequence=draw(NUMBERS),
        report_to=draw(st.one_of(st.just(NOBODY), NODES)),
        flags=flags,
        fragment=fragment,
        crc=draw(st.sampled_from([Crc.X25, Crc.CASTAGNOLI])),
    )


@given(bundles())
def test_what_is_written_is_read(bundle: Bundle) -> None:
    data = bundle.to_bytes()
    again = read_bundle(data)
    assert again == bundle
    assert again.to_bytes() == data


@given(bundles())
def test_another_reader_of_cbor_finds_the_fields_in_their_places(bundle: Bundle) -> None:
    data = bundle.to_bytes()
    assert data[0] == 0x9F
    assert data[-1] == 0xFF
    primary, *blocks = cbor2.loads(data)
    assert len(primary) == 9 + 2 * (bundle.fragment is not None)
    assert primary[:3] == [7, bundle.flags, bundle.crc]
    assert primary[6:8] == [[bundle.created, bundle.sequence], bundle.lifetime]
    assert tuple(primary[8:-1]) == (bundle.fragment or ())
    assert len(primary[-1]) == (2 if bundle.crc is Crc.X25 else 4)
    for found, block in zip(blocks, bundle.blocks, strict=True):
        assert found[:5] == [block.kind, block.number, block.flags, block.crc, block.data]
        assert [len(each) for each in found[5:]] == {0: [], 1: [2], 2: [4]}[block.crc]


@given(bundles(), st.data())
def test_a_part_of_a_bundle_is_refused(bundle: Bundle, data: st.DataObject) -> None:
    whole = bundle.to_bytes()
    with pytest.raises(BundleError):
        read_bundle(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(BundleError, match="1 bytes follow after the end"):
        read_bundle(whole + b"\0")


@given(bundles(), st.data())
def test_a_changed_bit_is_noticed_where_blocks_have_checksums(bundle: Bundle, data: st.DataObject) -> None:
    bundle = replace(bundle, blocks=tuple(replace(block, crc=Crc.X25) for block in bundle.blocks))
    changed = bytearray(bundle.to_bytes())
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BundleError):
        read_bundle(bytes(changed))


@given(st.one_of(st.binary(max_size=80), st.binary(max_size=80).map(b"\x9f\x89\x07\x00\x01".__add__)))
def test_anything_else_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(BundleError) as refusal:
        read_bundle(data)
    assert isinstance(refusal.value, HunetError)
    assert "\n" not in str(refusal.value)


def test_the_bytes_of_a_bundle() -> None:
    """A bundle taken apart by hand."""
    bundle = Bundle(
        "dtn://hunet/~news",
        "ipn:23.42",
        created=1,
        sequence=2,
        lifetime=24,
        flags=BundleFlag.DO_NOT_FRAGMENT | BundleFlag.REPORT_DELETION,
        blocks=(hop_count(30, 1, number=2, crc=Crc.NONE), payload(b"hi", Crc.NONE)),
        crc=Crc.X25,
    )
    written = bundle.to_bytes()
    assert written.hex(" ") == (
        "9f "
        "89 07 1a 00 04 00 04 01 "  # version 7, flags, checksum of 16 bits
        "82 01 6d 2f 2f 68 75 6e 65 74 2f 7e 6e 65 77 73 "  # dtn://hunet/~news
        "82 02 82 17 18 2a "  # ipn:23.42
        "82 01 00 "  # dtn:none
        "82 01 02 18 18 "  # created, sequence, lifetime
        "42 30 64 "
        "85 0a 02 00 00 44 82 18 1e 01 "  # hop count
        "85 01 01 00 00 42 68 69 "  # payload
        "ff"
    )
    assert read_bundle(written).hops == (30, 1)


def test_times() -> None:
    assert dtn_time(946_684_800) == 0
    assert dtn_time(1_800_000_000.25) == 853_315_200_250
    assert unix_time(853_315_200_250) == 1_800_000_000.25
    bundle = Bundle("ipn:1.2", "ipn:3.0", created=1000, lifetime=5000, blocks=(payload(b""),))
    assert bundle.expires(0.0) == 946_684_806.0
    old = replace(bundle, created=0, blocks=(bundle_age(2000, 2), payload(b"")))
    assert old.age == 2000
    assert old.expires(100.0) == 103.0


GOOD: dict[str, Any] = {
    "destination": "dtn://hunet/~news",
    "source": "dtn://ann/",
    "created": 1,
    "lifetime": 2,
    "blocks": (payload(b"x"),),
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"destination": "dtn://a b/"}, "destination: 'dtn://a b/' is no endpoint"),
        ({"destination": "dtn:///x"}, "destination: 'dtn:///x' is no endpoint"),
        ({"destination": "dtn://ann"}, "destination: 'dtn://ann' is no endpoint"),
        ({"destination": "dtn://ann/é"}, "no endpoint"),
        ({"destination": "http://ann/"}, "no endpoint"),
        ({"destination": f"ipn:{1 << 64}.1"}, "no endpoint"),
        ({"report_to": "ipn:1"}, "report_to: 'ipn:1' is no endpoint"),
        ({"report_to": "ipn:01.1"}, "no endpoint"),
        ({"source": "dtn://ann/~all"}, "'dtn://ann/~all' is a group, and a source is one node"),
        ({"source": NOBODY}, "an anonymous bundle must forbid fragments"),
        ({"source": NOBODY, "flags": 0x4 | BundleFlag.REPORT_DELIVERY}, "asks for status reports"),
        ({"flags": BundleFlag.ADMINISTRATIVE | BundleFlag.REPORT_DELETION}, "asks for status reports"),
        (
            {"flags": BundleFlag.ADMINISTRATIVE, "blocks": (Block(1, 1, b"", BlockFlag.REPORT_IF_UNKNOWN),)},
            "a block of an administrative or anonymous bundle asks",
        ),
        ({"flags": BundleFlag.FRAGMENT}, "only a fragment, has an offset"),
        ({"fragment": (0, 9)}, "only a fragment, has an offset"),
        ({"flags": BundleFlag.FRAGMENT, "fragment": (5, 5)}, "reaches beyond the total length"),
        ({"crc": Crc.NONE}, "neither a checksum nor an integrity block"),
        ({"created": -1}, "negative, or longer than 64 bits"),
        ({"lifetime": 1 << 64}, "negative, or longer than 64 bits"),
        ({"created": 0}, "without a creation time needs a bundle age block"),
        ({"blocks": ()}, "exactly one payload block, at its end"),
        ({"blocks": (payload(b""), hop_count(1, 0, 2))}, "exactly one payload block, at its end"),
        ({"blocks": (Block(1, 2, b""), payload(b""))}, "exactly one payload block, at its end"),
        ({"blocks": (Block(1, 2, b""),)}, "the payload block is number 1, not 2"),
        ({"blocks": (hop_count(1, 0, 1), payload(b""))}, "blocks must be numbered differently"),
        ({"blocks": (hop_count(1, 0, 0), payload(b""))}, "not 0, which is the primary block"),
        ({"blocks": (hop_count(1, 0, 2), hop_count(1, 0, 3), payload(b""))}, "more than one hop count block"),
        ({"blocks": (bundle_age(1, 2), bundle_age(1, 3), payload(b""))}, "more than one bundle age block"),
        ({"blocks": (hop_count(0, 0, 2), payload(b""))}, "a limit of 0 hops; it must be from 1 to 255"),
        ({"blocks": (hop_count(256, 0, 2), payload(b""))}, "a limit of 256 hops"),
        ({"blocks": (Block(BlockKind.BUNDLE_AGE, 2, b"\x20"), payload(b""))}, "bundle age block: a negative integer"),
        ({"blocks": (Block(BlockKind.BUNDLE_AGE, 2, b"\1\1"), payload(b""))}, "bundle age block: 1 bytes too many"),
        ({"blocks": (previous_node("dtn://bob/~x", 2), payload(b""))}, "'dtn://bob/~x' is no node"),
    ],
)
def test_what_the_rfc_forbids_cannot_be_made(change: dict[str, Any], reason: str) -> None:
    Bundle(**GOOD)
    with pytest.raises(BundleError, match=reason.replace("(", r"\(")):
        Bundle(**{**GOOD, **change})


def test_an_integrity_block_stands_for_the_checksum() -> None:
    sealed = Bundle(**{**GOOD, "crc": Crc.NONE, "blocks": (Block(BlockKind.INTEGRITY, 2, b"?"), payload(b"x"))})
    assert read_bundle(sealed.to_bytes()) == sealed


PRIMARY: list[Any] = [7, 0, 1, [1, "//hunet/~news"], [2, [1, 0]], [1, 0], [1, 0], 2]
PAYLOAD: list[Any] = [1, 1, 0, 0, b"x"]


def x25(data: bytes) -> bytes:
    """The checksum of 16 bits, bit by bit."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x8408 if value & 1 else 0)
    return (value ^ 0xFFFF).to_bytes(2, "big")


def sealed(fields: list[Any]) -> bytes:
    """An array with its checksum, written without the code under test."""
    data = cbor2.dumps([*fields, b"\0\0"])
    return data[:-2] + x25(data)


def changed(place: int, value: Any) -> bytes:
    primary = [*PRIMARY]
    primary[place] = value
    return b"\x9f" + sealed(primary) + cbor2.dumps(PAYLOAD) + b"\xff"


def block(*fields: Any) -> bytes:
    return b"\x9f" + sealed(PRIMARY) + cbor2.dumps([*fields]) + cbor2.dumps(PAYLOAD) + b"\xff"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the array of blocks is missing"),
        (b"hello", "not a bundle: it does not begin an array"),
        (b"\x82" + changed(1, 0)[1:-1], "not a bundle: it does not begin an array"),
        (changed(0, 6), "primary block: version 6, and only version 7 is understood"),
        (changed(0, "7"), "primary block, version: a text where an unsigned integer must be"),
        (changed(1, -1), "primary block, flags: a negative integer where"),
        (changed(2, 3), "primary block: unknown kind of checksum 3"),
        (changed(2, 0), "primary block: 9 items where 8 must be"),
        (changed(2, 2), "primary block: wrong checksum"),
        (changed(1, 1), "primary block, fragment offset: a byte string where"),
        (changed(3, [3, "x"]), "destination: unknown scheme 3"),
        (changed(3, [1, b"//x/"]), "destination: a byte string where a text must be"),
        (changed(3, [1, "none"]), "destination: 'dtn:none' must be written as 0"),
        (changed(3, [2, [1]]), "destination: 1 items where 2 to 3 must be"),
        (changed(3, [2, [1, 2, 3, 4]]), "destination: 4 items where 2 to 3 must be"),
        (changed(3, [1]), "destination: 1 items where 2 must be"),
        (changed(6, [1]), "creation timestamp: 1 items where 2 must be"),
        (changed(6, 5), "creation timestamp: an unsigned integer where an array must be"),
        (changed(7, 1.5), "lifetime: a value where an unsigned integer must be"),
        (changed(7, 1 << 70), "lifetime: a tag where an unsigned integer must be"),
        (changed(5, [1, 0, 0]), "report_to: 3 items where 2 must be"),
        (b"\x9f" + cbor2.dumps(PRIMARY[:7]), "primary block: 7 items where 8 to 11 must be"),
        (block(9, 2, 0), "a block: 3 items where 5 to 6 must be"),
        (block(9, 2, 0, 1, b"", b"\0\0"), r"block 2 \(type 9\): wrong checksum"),
        (block(9, 2, 0, 1, b"", b"\0\0\0"), "wrong checksum"),
        (block(9, 2, 0, 1, b""), "5 items where 6 must be"),
        (block(9, 2, 0, 0, b"", b"\0\0"), "6 items where 5 must be"),
        (block(9, 2, 0, 0, "x"), "data: a text where a byte string must be"),
        (block(10, 2, 0, 0, b"\x81\x01"), "hop count block: 1 items where 2 must be"),
        (block(6, 2, 0, 0, b"\x82\x01\x61\xff"), "previous node block: the text is not UTF-8"),
        (block(6, 2, 0, 0, b"\x82\x01"), "cut short: previous node block"),
        (b"\x9f" + sealed(PRIMARY) + b"\xff", "exactly one payload block"),
        (b"\x9f" + sealed(PRIMARY) + b"\x85\x01\x01\x00\x00\x5f\x41x\xff\xff", "a byte string of indefinite"),
        (b"\x9f" + sealed(PRIMARY) + b"\x85\x01\x18\x01\x00\x00\x41x\xff", "a number in more bytes than it needs"),
        (b"\x9f" + sealed(PRIMARY) + cbor2.dumps(PAYLOAD) * 65 + b"\xff", "more than 64 blocks"),
        (b"\x9f\x89\x07" + b"\x1c", "of indefinite or unknown length"),
        (b"\x9f" + sealed(PRIMARY) + b"\x85\x01\x01\x00\x00\x5b" + b"\xff" * 8, "cut short: payload block, data"),
    ],
)
def test_malformed_bytes_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BundleError, match=reason):
        read_bundle(data)


def test_blocks_as_arrays_of_indefinite_length_are_understood() -> None:
    """The RFC allows them, and their ends count for the checksum (section 4.3.2)."""
    fields = b"".join(map(cbor2.dumps, [9, 2, 0, 1, b"data"]))
    loose = b"\x9f" + fields + b"\x42" + x25(b"\x9f" + fields + b"\x42\0\0\xff") + b"\xff"
    ends = b"\x9f\x02\x9f\x01\x02\xff\xff", b"\x9f\x02\x9f\x01\x02\x03\xff\xff"
    for end, node in zip(ends, ("ipn:1.2", "ipn:1.2.3"), strict=True):
        before = cbor2.dumps([6, 3, 0, 0, end])
        found = read_bundle(b"\x9f" + sealed(PRIMARY) + loose + before + cbor2.dumps(PAYLOAD) + b"\xff")
        assert found.blocks[0] == Block(9, 2, b"data", crc=Crc.X25)
        assert found.previous_node == node
    with pytest.raises(BundleError, match="more than 6 items"):
        read_bundle(b"\x9f" + sealed(PRIMARY) + loose[:-1] + b"\1\xff" + cbor2.dumps(PAYLOAD) + b"\xff")
