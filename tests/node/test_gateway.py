"""Publications as bundles: the signature survives, the fields follow, and others' bundles need somebody to sign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import ConfigurationError, InputError
from hunet.node.bundle_bytes import BundleError
from hunet.node.bundles import (
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
)
from hunet.node.gateway import bundle_files, bundle_of, load_bundle, publication_in, save_bundles
from hunet.node.identity import Identity
from hunet.node.publication import Group, Publication, PublicationLimits, Refused

ANN, BOB = Identity.new(), Identity.new()
NOW = 1_800_000_000.0
TOPICS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(lambda t: t[0] != "~")


def hello(topic: str = "news", **changes: Any) -> Publication:
    return Publication.signed(ANN, topic, b"hello", **{"created": NOW, "ttl": 60.0, **changes})


def foreign(**changes: Any) -> Bundle:
    given = {
        "destination": "dtn://elsewhere/~news",
        "source": "dtn://station/weather",
        "created": dtn_time(NOW - 10),
        "lifetime": 60_000,
        "blocks": (payload(b"it rains"),),
    }
    return Bundle(**{**given, **changes})


@given(
    TOPICS,
    st.binary(max_size=200),
    st.floats(946_684_801, NOW),
    st.floats(NOW - 946_684_000, 1e9),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
def test_a_publication_comes_out_of_its_bundle_as_it_was(
    topic: str, content: bytes, created: float, ttl: float, group: str
) -> None:
    limits = PublicationLimits(longest_ttl=1e9)
    said = Publication.signed(ANN, topic, content, created=created, ttl=ttl, limits=limits)
    bundle = bundle_of(said, group)
    assert publication_in(read_bundle(bundle.to_bytes()), NOW, limits=limits) == said
    assert bundle_of(said, group) == bundle


def test_the_fields_follow_from_the_publication() -> None:
    said = hello("sport/football & more", created=NOW + 0.25)
    bundle = bundle_of(said, "fc köln")
    assert bundle.destination == "dtn://fc%20k%C3%B6ln/~sport/football%20%26%20more"
    assert bundle.source == f"dtn://{ANN.device}/"
    assert (bundle.created, bundle.lifetime) == (853_315_200_250, 60_000)
    assert bundle.flags == BundleFlag.DO_NOT_FRAGMENT
    assert bundle.payload == said.to_bytes()
    others = {bundle_of(hello(content_type=f"text/{n}")).sequence for n in range(50)}
    assert len(others) == 50, "bundles of one millisecond are told apart"


def test_private_topics_stay_private() -> None:
    family = Group.new("family")
    sealed = family.seal(ANN, b"dinner at eight", created=NOW, ttl=60.0)
    bundle = bundle_of(sealed)
    assert b"dinner" not in bundle.to_bytes()
    assert family.open(publication_in(bundle, NOW)).content == b"dinner at eight"


def test_other_nodes_may_add_blocks_on_the_way() -> None:
    bundle = bundle_of(hello())
    added = (
        previous_node("ipn:7.0", 5),
        hop_count(9, 9, 2),
        bundle_age(300, 3),
        Block(192, 4, b"?", BlockFlag.DISCARD_IF_UNKNOWN),
    )
    assert publication_in(replace(bundle, blocks=(*added, *bundle.blocks)), NOW) == hello()


def test_what_is_not_sound_is_refused() -> None:
    bundle = bundle_of(hello())
    for now, reason in ((NOW + 61, "expired"), (NOW - 901, "from the future")):
        with pytest.raises(Refused, match=reason):
            publication_in(bundle, now, signer=BOB)
    forged = msgspec.structs.replace(hello(), content=b"HELLO")
    for said, reason in ((forged, "badly signed"), (msgspec.structs.replace(hello(), signature=b""), "unsigned")):
        with pytest.raises(Refused, match=reason):
            publication_in(bundle_of(said), NOW, signer=BOB)
    with pytest.raises(BundleError, match="is for topic 'weather', the publication in it for 'news'"):
        publication_in(replace(bundle, destination="dtn://hunet/~weather"), NOW, signer=BOB)
    with pytest.raises(BundleError, match=f"is from dtn://{BOB.device}/, the publication in it from {ANN.device}"):
        publication_in(replace(bundle, source=f"dtn://{BOB.device}/"), NOW, signer=BOB)


def test_the_bundles_of_others_need_somebody_to_sign_them() -> None:
    with pytest.raises(BundleError, match="is not a signed publication; a node that accepts unsigned bundles signs it"):
        publication_in(foreign(), NOW)
    adopted = publication_in(foreign(), NOW, signer=BOB)
    assert (adopted.author, adopted.topic, adopted.content) == (BOB.device, "news", b"it rains")
    assert (adopted.created, adopted.ttl, adopted.content_type) == (NOW - 10, 60.0, "text/plain; charset=utf-8")
    assert publication_in(foreign(), NOW + 1, signer=BOB) == adopted, "the same bundle again is the same publication"
    assert publication_in(bundle_of(adopted), NOW) == adopted
    picture = publication_in(foreign(blocks=(payload(b"\xff\xd8"),)), NOW, signer=BOB)
    assert picture.content_type == "application/octet-stream"
    clockless = foreign(created=0, blocks=(bundle_age(20_000, 2), payload(b"it rains")))
    assert publication_in(clockless, NOW, signer=BOB).expires == NOW + 40
    for_ever = publication_in(foreign(lifetime=1 << 60), NOW, signer=BOB)
    assert for_ever.ttl == PublicationLimits().longest_ttl


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"lifetime": 9_000}, "expired"),
        ({"created": 0, "blocks": (bundle_age(60_000, 2), payload(b""))}, "expired"),
        ({"created": dtn_time(NOW + 901)}, "from the future"),
        ({"destination": "dtn://elsewhere/inbox"}, "not for a group of subscribers"),
        ({"destination": "ipn:1.2"}, "it is for ipn:1.2, not for a group"),
        ({"destination": "dtn:none"}, "not for a group"),
        ({"destination": "dtn://elsewhere/~%FF"}, "no topic in UTF-8"),
        ({"destination": "dtn://elsewhere/~"}, "a publication needs a topic"),
        ({"destination": "dtn://elsewhere/~~abc"}, "a topic cannot begin with '~'"),
        ({"destination": f"dtn://elsewhere/~{'x' * 257}"}, "the topic has 257 bytes"),
        ({"flags": BundleFlag.ADMINISTRATIVE}, "an administrative record"),
        ({"flags": BundleFlag.FRAGMENT, "fragment": (0, 99)}, "fragments are not put together"),
        ({"blocks": (hop_count(9, 10, 2), payload(b""))}, "10 hops, and 9 at most"),
        (
            {"blocks": (Block(192, 2, b"", BlockFlag.DELETE_BUNDLE_IF_UNKNOWN), payload(b""))},
            r"block 2 \(type 192\) is",
        ),
        (
            {"blocks": (Block(BlockKind.INTEGRITY, 2, b"", BlockFlag.DELETE_BUNDLE_IF_UNKNOWN), payload(b""))},
            "integrity block is not known here",
        ),
    ],
)
def test_bundles_that_nobody_can_take(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises((BundleError, Refused), match=reason):
        publication_in(foreign(**changes), NOW, signer=BOB)


def test_no_bundle_is_older_than_the_protocol() -> None:
    with pytest.raises(ConfigurationError, match="is dated before 2000"):
        bundle_of(hello(created=946_684_800.0))


def test_files(tmp_path: Path) -> None:
    said = [hello("news"), hello("weather")]
    for _ in range(2):
        saved = save_bundles(said, tmp_path / "out")
        assert saved == [tmp_path / "out" / f"{each.id}.bundle" for each in said]
    assert bundle_files([tmp_path / "out"]) == sorted(saved)
    assert bundle_files(saved) == saved
    assert [load_bundle(path) for path in saved] == [bundle_of(each) for each in said]
    bad = tmp_path / "bad.bundle"
    bad.write_bytes(saved[0].read_bytes()[:50])
    (tmp_path / "empty").mkdir()
    for path, largest, reason in (
        (bad, 1000, "bad.bundle: the bundle is cut short: "),
        (saved[0], 100, ".bundle: is longer than 100 bytes"),
        (tmp_path / "nowhere", 1000, "nowhere: cannot be read: No such file"),
    ):
        with pytest.raises(InputError, match=reason):
            load_bundle(path, largest)
    with pytest.raises(InputError, match="empty: has no files that end with"):
        bundle_files([tmp_path / "empty"])
