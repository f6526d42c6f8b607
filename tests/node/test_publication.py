"""Publications: one encoding each, and whatever is touched is refused."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import ConfigurationError
from hunet.node import wire
from hunet.node.identity import Identity, device_key
from hunet.node.padding import pad
from hunet.node.publication import Group, Publication, PublicationLimits, Refused, read_publication

ANN, EVE = Identity.new(), Identity.new()
SMALL = PublicationLimits(content_bytes=64, topic_bytes=16)


def hello(**changes: Any) -> Publication:
    values: dict[str, Any] = {"topic": "news", "content": b"hello", "created": 1000.0, "ttl": 60.0} | changes
    return Publication.signed(ANN, **values)


def refusal(data: bytes, now: float = 1001.0, limits: PublicationLimits = PublicationLimits()) -> str:  # noqa: B008
    with pytest.raises(Refused) as caught:
        read_publication(data, now, limits)
    assert caught.value.reason == str(caught.value)
    return caught.value.reason


texts = st.text(max_size=40)
times = st.floats(0, 4e9)


@given(texts.filter(lambda topic: topic and topic[0] != "~"), st.binary(max_size=300), times, texts, st.booleans())
def test_round_trip(topic: str, content: bytes, created: float, content_type: str, receipts: bool) -> None:
    limits = PublicationLimits(content_type_bytes=200)
    made = Publication.signed(
        ANN,
        topic,
        content,
        created=created,
        ttl=60.0,
        content_type=content_type,
        receipts=receipts,
        limits=limits,
    )
    assert made.expires == created + 60.0
    data = made.to_bytes()
    read = read_publication(data, created, limits)
    assert read == made
    assert read.to_bytes() == data
    assert len(data) <= limits.encoded_bytes


def test_the_limits_are_those_that_other_nodes_keep() -> None:
    usual = PublicationLimits()
    assert (usual.content_bytes, usual.topic_bytes, usual.content_type_bytes) == (1 << 20, 256, 128)
    assert (usual.longest_ttl, usual.clock_skew) == (366 * 86400.0, 900.0)


def test_every_single_bit_counts() -> None:
    data = hello(receipts=True).to_bytes()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert refusal(bytes(flipped)) != ""


def test_every_prefix_and_any_longer_input_is_refused() -> None:
    data = hello().to_bytes()
    for end in range(len(data)):
        assert refusal(data[:end]) == "malformed"
    assert refusal(data + b"\0") == "malformed"


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert refusal(data) == "malformed"


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text() | st.binary(), st.lists, max_leaves=6))
def test_other_values_in_the_signed_part_are_refused_though_well_signed(value: Any) -> None:
    part = wire.encode(value)
    signature = ANN.sign(b"hunet publication 1\0" + part)
    assert refusal(wire.encode([part, signature])) == "malformed"


@pytest.mark.parametrize("length", [0, 31, 33])
def test_an_author_whose_key_is_no_key_is_refused_before_signatures_are_looked_at(length: int) -> None:
    key = (device_key(ANN.device) + b"\0")[:length]
    fields = wire.decode(wire.decode(hello().to_bytes())[0])
    part = wire.encode([fields[0], key, *fields[2:]])
    assert refusal(wire.encode([part, ANN.sign(b"hunet publication 1\0" + part)])) == "malformed"


def test_the_two_ends_of_life() -> None:
    data = hello().to_bytes()
    assert refusal(data, now=1060.0) == "expired"
    assert read_publication(data, now=1059.9)
    assert read_publication(data, now=100.0)  # a quarter of an hour of clock skew
    assert refusal(data, now=99.9) == "from the future"


def test_unsigned_and_badly_signed() -> None:
    made = hello()
    assert refusal(msgspec.structs.replace(made, signature=b"").to_bytes()) == "unsigned"
    assert refusal(msgspec.structs.replace(made, signature=bytes(64)).to_bytes()) == "badly signed"
    assert refusal(msgspec.structs.replace(made, author=EVE.device).to_bytes()) == "badly signed"
    assert refusal(msgspec.structs.replace(made, content=b"hullo").to_bytes()) == "badly signed"
    assert refusal(msgspec.structs.replace(made, ttl=6000.0).to_bytes()) == "badly signed"
    bare = wire.encode([wire.decode(made.to_bytes())[0], ANN.sign(wire.decode(made.to_bytes())[0])])
    assert refusal(bare) == "badly signed"  # a signature of the same bytes for another purpose


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"content": bytes(65)}, "oversized", "65 bytes; the limit is 64"),
        ({"topic": "é" * 9}, "oversized", "the topic has 18 bytes"),
        ({"content_type": "x" * 129}, "oversized", "the content type has 129"),
        ({"topic": ""}, "malformed", "needs a topic"),
        ({"ttl": 0.0}, "malformed", "time to live"),
        ({"ttl": math.inf}, "malformed", "time to live"),
        ({"ttl": math.nan}, "malformed", "time to live"),
        ({"created": -1.0}, "malformed", "seconds since 1970"),
        ({"created": math.nan}, "malformed", "seconds since 1970"),
    ],
)
def test_what_nobody_would_accept_is_not_made_and_not_taken(changes: dict[str, Any], reason: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        hello(limits=SMALL, **changes)
    forged = msgspec.structs.replace(hello(), **changes)
    part = wire.decode(forged.to_bytes())[0]
    data = wire.encode([part, ANN.sign(b"hunet publication 1\0" + part)])
    assert refusal(data, limits=SMALL) == reason


def test_a_huge_input_is_not_even_parsed() -> None:
    assert refusal(bytes(PublicationLimits().encoded_bytes + 1)) == "oversized"


def test_topics_that_cannot_be_sent() -> None:
    with pytest.raises(ConfigurationError, match="marks private topics"):
        hello(topic="~news")
    with pytest.raises(ConfigurationError, match="are text"):
        hello(topic="\ud800")


def test_the_id_is_the_signed_parts_and_covers_all_of_it() -> None:
    assert hello().id == hello().id
    assert len(hello().id) == 26
    variants = [hello(), hello(topic="mews"), hello(content=b""), hello(ttl=61.0), hello(created=1000.5)]
    variants += [hello(receipts=True), hello(content_type="a/b"), msgspec.structs.replace(hello(), id="x")]
    assert len({each.id for each in variants}) == len(variants)
    assert read_publication(variants[-1].to_bytes(), 1001.0).id == hello().id


def test_the_wire_format_stays_what_it_is() -> None:
    part, signature = wire.decode(hello().to_bytes())
    assert signature == hello().signature
    assert wire.decode(part) == [
        1,
        device_key(ANN.device),
        "news",
        1000.0,
        60.0,
        "text/plain; charset=utf-8",
        False,
        b"hello",
    ]


def test_members_read_and_others_do_not() -> None:
    family, strangers = Group.new("family"), Group.new("family")
    sealed = family.seal(ANN, b"dinner", created=1000.0, ttl=60.0, content_type="a/b", receipts=True)
    assert read_publication(sealed.to_bytes(), 1001.0) == sealed
    assert sealed.topic == family.topic_at(1000.0) != strangers.topic_at(1000.0)
    assert sealed.receipts
    assert b"dinner" not in sealed.to_bytes()
    assert b"family" not in sealed.to_bytes()
    assert b"a/b" not in sealed.to_bytes()
    member = Group.from_invitation(family.invitation)
    opened = member.open(sealed)
    assert (opened.content, opened.content_type) == (b"dinner", "a/b")
    with pytest.raises(Refused, match="badly sealed"):
        strangers.open(sealed)


def test_a_sealed_publication_cannot_be_copied_under_another_name_or_date() -> None:
    family = Group.new("family")
    sealed = family.seal(ANN, b"dinner", created=1000.0, ttl=60.0)
    for thief, created in ((EVE, 1000.0), (ANN, 2000.0)):
        draft = Publication.signed(thief, "x", sealed.content, created=created, ttl=60.0)
        with pytest.raises(Refused, match="badly sealed"):
            family.open(msgspec.structs.replace(draft, topic=family.topic_at(created)))


def test_the_tag_of_a_group_changes_every_week_and_members_follow_what_is_in_date() -> None:
    family, week = Group.new("family"), 7 * 86400.0
    now = 2000 * week + 3600.0
    assert family.topic_at(now) == family.topic_at(now + week - 3601.0) != family.topic_at(now + week)
    for created in (now - week, now - 86400.0, now, now + 250.0):  # carried for a week at most; clocks may differ
        assert family.seal(ANN, b"dinner", created=created, ttl=60.0).topic in family.topics_at(now)
    assert len(family.topics_at(now)) == 2
    assert family.topic_at(now + week) in family.topics_at(now + week - 3700.0)
    with pytest.raises(ConfigurationError, match="at most 604800 s"):
        family.seal(ANN, b"dinner", created=now, ttl=week + 1)


def test_lengths_in_a_group_tell_little() -> None:
    family = Group.new("family")
    lengths = {len(family.seal(ANN, b"x" * many, created=1000.0, ttl=60.0).content) for many in range(200)}
    assert len(lengths) == 1


@given(st.binary(max_size=100))
def test_nonsense_in_a_group_is_refused(content: bytes) -> None:
    group = Group("g", bytes(32))
    with pytest.raises(Refused, match="badly sealed"):
        group.open(msgspec.structs.replace(hello(), content=content, topic=group.topic_at(1000.0)))


def test_a_member_who_seals_nonsense_is_refused() -> None:
    group = Group("g", bytes(32))
    made = group.seal(ANN, b"", created=1000.0, ttl=60.0)
    for inside in (b"", wire.encode([1, 2]), wire.encode(["text/plain", b"not padded"]), pad(wire.encode([1, 2]))):
        bound = wire.encode([ANN.device, group.topic_at(1000.0), 1000.0, 60.0])
        content = bytes(12) + group._cipher(ANN.device).encrypt(bytes(12), inside, bound)
        with pytest.raises(Refused, match="badly sealed"):
            group.open(msgspec.structs.replace(made, content=content))


@given(st.text(), st.binary(min_size=32, max_size=32))
def test_invitations_round_trip(name: str, key: bytes) -> None:
    group = Group.from_invitation(f" {Group(name, key).invitation}\n")
    assert (group.name, group.key) == (name, key)


def test_an_invitation_with_a_typing_mistake_is_refused() -> None:
    invitation = Group.new("chess club").invitation
    for position, right in enumerate(invitation):
        for wrong in "abcdefghijklmnopqrstuvwxyz234567:%".replace(right, ""):
            changed = invitation[:position] + wrong + invitation[position + 1 :]
            with pytest.raises(ConfigurationError, match="no invitation"):
                Group.from_invitation(changed)
    for bad in ("", "hunet-group", invitation[:-1], invitation + "a", "hunet-group:x:" + "é" * 58):
        with pytest.raises(ConfigurationError, match="no invitation"):
            Group.from_invitation(bad)


def test_a_groups_key_is_32_bytes_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="32 bytes"):
        Group("x", b"short")
    assert repr(Group("x", b"k" * 32)) == "Group('x')"


def test_publications_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr("hunet.node.publication._VERSION", 2)
        data = hello().to_bytes()
    assert refusal(data) == "malformed"


def test_a_publication_lives_for_a_leap_year_at_most() -> None:
    year = 366 * 86400.0
    assert hello(ttl=year).ttl == year
    with pytest.raises(ConfigurationError, match="a time to live of"):
        hello(ttl=year + 1)
