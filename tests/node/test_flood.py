"""Strangers who flood a device push out each other's publications: not its own, nor those of honest neighbours."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from hunet.model import OutputError, PeerError, members
from hunet.node import wire
from hunet.node.driver import Frame, LiveDriver
from hunet.node.holdings import Quotas
from hunet.node.identity import Identity
from hunet.node.message_numbers import short_id
from hunet.node.parameters import live_parameters
from hunet.node.publication import Publication
from hunet.node.store import Store
from hunet.protocols.carrier import Carried
from hunet.protocols.packet_bytes import to_bytes
from hunet.systems import protocol_class

QUOTA = 100_000


class Person:
    """A driver with a key of its own; ``meet`` lets two exchange all that they have, in memory."""

    def __init__(
        self,
        protocol: str = "push",
        quota: int = QUOTA,
        clock: Callable[[], float] = lambda: 100.0,
        store: Store | None = None,
        identity: Identity | None = None,
        **given: Any,
    ) -> None:
        self.identity, kind = identity or Identity.new(), protocol_class(protocol)
        self.driver = LiveDriver(
            self.identity.device,
            kind,
            live_parameters(kind, {}, quota),
            store or Store(),
            rng=Random(1),
            clock=clock,
            quotas=Quotas(quota),
            **given,
        )

    def write(self, many: int, size: int, topic: str = "news") -> list[str]:
        said = [
            Publication.signed(self.identity, topic, number.to_bytes(2) * (size // 2), created=100.0, ttl=1000.0)
            for number in range(many)
        ]
        for each in said:
            self.driver.publish(each)
        return [each.id for each in said]

    def meet(self, other: Person) -> None:
        ends = {self.identity.device: self.driver, other.identity.device: other.driver}
        frames: deque[tuple[str, bytes]] = deque()
        self.driver.link_up(other.identity.device)
        other.driver.link_up(self.identity.device)
        while True:
            for driver in ends.values():
                frames.extend((each.device, each.data) for each in driver.output() if isinstance(each, Frame))
            if not frames:
                break
            device, data = frames.popleft()
            sender = next(name for name in ends if name != device)
            ends[device].frame(sender, data)
        self.driver.link_down(other.identity.device)
        other.driver.link_down(self.identity.device)

    def holds(self, ids: list[str]) -> int:
        messages = self.driver.messages
        return sum(each in messages and self.driver.holdings.holds(messages.by_id(each).number) for each in ids)


@pytest.mark.parametrize("protocol", ["push", "spray-and-wait"])
def test_own_and_honest_publications_survive_three_floods(protocol: str) -> None:
    ann, honest = Person(protocol), Person(protocol, quota=10 * QUOTA)
    own, carried = ann.write(40, 200), honest.write(40, 200)
    honest.meet(ann)
    for _ in range(3):
        sybil = Person(protocol, quota=10 * QUOTA)
        junk = sybil.write(150, 900)
        sybil.meet(ann)
        assert 0 < ann.holds(junk) < 150
    assert (ann.holds(own), ann.holds(carried)) == (40, 40)
    assert ann.driver.holdings.held_bytes <= QUOTA
    assert len(list(ann.driver.store.kept())) == ann.driver.holdings.held.bit_count()


@pytest.mark.parametrize("protocol", ["push", "spray-and-wait", "b-sub", "socialcast", "social-election"])
def test_headers_of_what_a_flood_pushed_out_are_forgotten(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.holdings._MOST_GONE", 20)
    monkeypatch.setattr("hunet.node.holdings._MOST_KEPT", 60)
    store = Store()
    ann = Person(protocol, store=store)
    own = ann.write(40, 20)
    ann.driver.subscribe("wanted")
    floods = [Person(protocol, quota=10 * QUOTA) for _ in range(4)]
    said = [each.write(80, 20, topic="wanted" if each is floods[0] else "junk") for each in floods]
    for flood in [*floods, *floods]:
        flood.meet(ann)
    delivered = store.select("SELECT message FROM deliveries ORDER BY number")
    assert ann.holds(own) == 40
    assert len(list(store.headers())) <= 40 + 60 + 20 + len(delivered)
    assert ann.holds([each for ids in said for each in ids]) <= 60
    again = Person(protocol, store=store, identity=ann.identity)
    again.meet(Person(protocol))
    assert again.holds(own) == 40
    assert store.select("SELECT message FROM deliveries ORDER BY number") == delivered


def test_who_carries_much_does_not_bring_back_what_a_flood_made_a_neighbour_forget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would look like part of the flood, and lose its place and its own publications for it."""
    ann, carol = Person(), Person(quota=10 * QUOTA)
    flood = Person(quota=10 * QUOTA)
    flood.write(80, 20)
    flood.meet(ann)
    carol.meet(ann)
    assert carol.driver.holdings.held.bit_count() == 80
    monkeypatch.setattr("hunet.node.holdings._MOST_GONE", 20)
    monkeypatch.setattr("hunet.node.holdings._MOST_KEPT", 60)
    more = Person(quota=10 * QUOTA)
    more.write(200, 20)
    more.meet(ann)
    forgotten = [message for message in carol.driver.messages if message.id not in ann.driver.messages]
    assert len(forgotten) > 40
    own = carol.write(1, 20)
    carol.meet(ann)
    assert carol.driver.store.counters()["sent"] == ann.holds(own) == 1


def test_a_flood_does_not_stand_before_what_others_gave() -> None:
    """It is always newer. Neighbours that gave messages take turns in a packet; who brought too much comes last."""
    ann, honest = Person(), Person()
    first = honest.write(4, 20)
    honest.meet(ann)
    floods = [Person(quota=10 * QUOTA) for _ in range(3)]
    for flood in floods:
        flood.write(100, 20)
        flood.meet(ann)
    ann.driver.holdings.pool(floods[0].identity.device)
    catalogue = ann.driver.messages
    chosen = [catalogue[number] for number in members(catalogue.newest(ann.driver.holdings.held, 12))]
    assert {message.id for message in chosen} >= set(first)
    authors = Counter(ann.driver.holdings.names[message.publisher] for message in chosen)
    assert sorted(authors.values()) == [4, 4, 4]
    assert floods[0].identity.device not in authors
    assert catalogue.newest(ann.driver.holdings.held, 1000) == ann.driver.holdings.held
    assert catalogue.newest(ann.driver.holdings.held, 290).bit_count() == 290


@pytest.mark.parametrize("favoured", ["a friend's", "what is wanted"])
def test_friends_and_what_is_wanted_stay_before_strangers(favoured: str) -> None:
    friend, stranger = Person(quota=10 * QUOTA), Person(quota=10 * QUOTA)
    ann = Person(friends=lambda device: favoured == "a friend's" and device == friend.identity.device)
    if favoured == "what is wanted":
        ann.driver.subscribe("art")
    theirs = friend.write(60, 500, topic="art")  # the largest share, and a third of the quota
    friend.meet(ann)
    junk = stranger.write(150, 900)
    stranger.meet(ann)
    assert ann.holds(theirs) == 60
    assert 0 < ann.holds(junk) < 150


def test_a_flood_on_a_topic_that_is_wanted_leaves_half_of_the_room_to_others() -> None:
    honest, flood = Person(quota=10 * QUOTA), Person(quota=10 * QUOTA)
    ann = Person()
    ann.driver.subscribe("art")
    carried = honest.write(40, 900, topic="news")
    honest.meet(ann)
    junk = flood.write(150, 900, topic="art")
    flood.meet(ann)
    assert ann.holds(carried) == 40
    assert ann.driver.holdings.held_bytes <= QUOTA
    assert len(list(ann.driver.store.waiting())) == ann.holds(junk) < 150
    assert ann.driver.store.counters()["quota: not taken"] == 150 - ann.holds(junk)


def test_who_brings_too_much_under_ever_new_names_pushes_out_its_own() -> None:
    ann, honest = Person(), Person(quota=10 * QUOTA)
    carried = honest.write(40, 900)
    honest.meet(ann)
    for _ in range(40):
        sybil = Person(quota=10 * QUOTA)
        sybil.write(8, 900)
        sybil.meet(ann)
        ann.driver.holdings.pool(sybil.identity.device)
    assert ann.holds(carried) == 40
    assert ann.driver.holdings.held_bytes <= QUOTA
    ann.driver.weigh_again()
    assert ann.driver.holdings.held_bytes <= QUOTA


def test_a_name_given_later_counts_at_once() -> None:
    known: set[str] = set()
    friend, stranger = Person(quota=10 * QUOTA), Person(quota=10 * QUOTA)
    ann = Person(friends=known.__contains__)
    theirs = friend.write(40, 900)
    friend.meet(ann)
    known.add(friend.identity.device)
    ann.driver.weigh_again()
    stranger.write(150, 900)
    stranger.meet(ann)
    assert ann.holds(theirs) == 40


def test_own_publications_push_out_others_and_are_refused_when_they_fill_the_quota() -> None:
    ann, other = Person(), Person(quota=10 * QUOTA)
    other.write(150, 900)
    other.meet(ann)
    own = ann.write(85, 900)
    assert ann.holds(own) == 85
    with pytest.raises(OutputError, match="larger quota"):
        ann.write(20, 900, topic="more")
    assert ann.driver.holdings.own_bytes <= ann.driver.holdings.held_bytes <= QUOTA
    assert ann.driver.store.counters()["quota"] > 100


def test_a_protocol_with_a_limit_of_messages_keeps_all_own_ones() -> None:
    ann = Person("b-sub")
    assert ann.holds(ann.write(150, 20)) == 150


def test_the_signature_of_what_is_here_is_not_checked_again_but_that_of_a_forged_copy_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ann, bob = Person(), Person()
    said = Publication.signed(bob.identity, "news", b"hello", created=100.0, ttl=1000.0)
    ann.driver.publish(said, brought=True)
    checked: list[object] = []
    monkeypatch.setattr("hunet.node.publication.verify", lambda *given: checked.append(given))
    packet = to_bytes(Carried(1, (1,)), lambda _: bytes(8), lambda _: bytes(8))
    read = ann.driver._packets.read_data
    assert read(packet, [said.to_bytes()], 0, 100.0) == Carried(1, (1,))
    assert not checked
    forged = msgspec.structs.replace(said, signature=bytes(64))
    assert forged.id == said.id
    with pytest.raises(PeerError, match="badly signed"):
        read(packet, [forged.to_bytes()], 0, 100.0)
    assert len(checked) == 1


def test_a_frame_of_more_publications_than_fit_ends_the_link() -> None:
    ann, eve = Person(), Person()
    said = [Publication.signed(eve.identity, "news", bytes([n]), created=100.0, ttl=1000.0) for n in range(65)]
    ann.driver.link_up(eve.identity.device)
    link = ann.driver.links[eve.identity.device]
    link.greeted = link.ready = True
    packet = to_bytes(Carried((1 << 65) - 1, (1,) * 65), lambda _: bytes(8), lambda _: bytes(8))
    with pytest.raises(PeerError, match="too much"):
        ann.driver.frame(
            eve.identity.device,
            wire.encode(
                {
                    "t": "data",
                    "contact": 1,
                    "number": 1,
                    "packet": packet,
                    "publications": [each.to_bytes() for each in said],
                }
            ),
        )
    assert not ann.driver.links
    assert ann.holds([each.id for each in said]) == 0


@pytest.mark.parametrize("junk", [[0] * 30_000, [[]] * 30_000, {"t": "control", "contact": 1, "packet": [""] * 30_000}])
def test_a_frame_of_too_many_items_is_not_read(junk: object, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, eve = Person(), Person()
    ann.driver.link_up(eve.identity.device)
    read: list[bytes] = []
    frame = wire.encode(junk)
    monkeypatch.setattr("hunet.node.driver.wire.decode", read.append)
    with pytest.raises(PeerError, match="too many items"):
        ann.driver.frame(eve.identity.device, frame)
    assert not read


def test_made_up_devices_and_authors_fill_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.holdings._MOST_DEVICES", 20)
    ann = Person()
    holdings, own = ann.driver.holdings, ann.driver.holdings.node
    met = [Identity.new().device for _ in range(10)]
    for device in met:
        holdings.number_of(device)
    for _ in range(50):
        holdings.device(short_id(Identity.new().device))  # somebody speaks of it
    assert len(holdings._numbers) == 20
    assert all(device in holdings._numbers for device in met)
    for _ in range(30):
        holdings.number_of(Identity.new().device)
    assert len(holdings._numbers) == 20
    assert holdings.names[own] == ann.identity.device == holdings.names[holdings.node]
    linked = dict.fromkeys([Identity.new().device for _ in range(19)])
    holdings.linked = linked
    for device in linked:
        holdings.number_of(device)
    with pytest.raises(PeerError, match="too many devices"):
        holdings.number_of(Identity.new().device)
    before = len(holdings._numbers)
    for _ in range(30):
        stranger = Identity.new()
        holdings.add(Publication.signed(stranger, "news", b"x", created=100.0, ttl=10.0), 100, own)
    assert len(holdings._numbers) == before
    assert len(ann.driver.store.authors()) == 30
    ann.driver.store.forget_before(200.0)
    assert not ann.driver.store.authors()
