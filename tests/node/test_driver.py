"""The live driver: contacts over frames, what survives a crash, what strangers try."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from hunet.model import DeviceCatalogue, OutputError, PeerError
from hunet.node import wire
from hunet.node.driver import LiveDriver
from hunet.node.holdings import Quotas
from hunet.node.packets import Packets
from hunet.node.publication import Publication
from hunet.protocols.carrier import Carried, Have, Seen
from hunet.protocols.contract import Control, Driver, Protocol
from hunet.protocols.packet_bytes import to_bytes
from hunet.protocols.packets import Packet
from hunet.protocols.push import Push
from hunet.protocols.state import parts_of, restore_part
from hunet.systems import PROTOCOLS
from hunet.systems.b_sub.packets import Filters
from hunet.systems.b_sub.wire import wire_size
from hunet.systems.socialcast.socialcast import Transfer
from tests.fields import difference
from tests.node.table import IDENTITIES, NAMES, Table

STATEFUL = ["push", "spray-and-wait", "b-sub", "socialcast", "social-election", "socio-aware-overlay", "mops"]
STATEFUL += ["prophet", "prophet-v2", "max-prop", "bubble-rap"]
OUTSIDE = (LiveDriver, DeviceCatalogue)
"""What the state of a protocol refers to and does not hold."""


def refusals(table: Table, node: int) -> dict[str, int]:
    return {name: many for name, many in table[node].store.counters().items() if name.startswith("refused")}


def test_devices_that_stay_together_exchange_what_comes_up() -> None:
    for protocol in ("push", "b-sub"):
        table = Table(protocol)
        table[1].subscribe("news")
        table.meet(0, 1)
        table.now = 5.0
        hello = table.publish(0, "news")
        table.advance(20.0)
        assert table.delivered(1) == [hello.id], protocol


def test_a_long_contact_is_not_renewed_without_news() -> None:
    table = Table("b-sub")
    table.meet(0, 1)
    table.advance(10.0)
    assert table[0].links[NAMES[1]].contact <= 2
    before = table[0].links[NAMES[1]].contact
    table.advance(10_000.0)
    assert table[0].links[NAMES[1]].contact == before


def test_variants_of_one_system_understand_each_other_and_others_are_left_in_peace() -> None:
    table = Table("b-sub")
    assert table[0]._understands("b-sub-p")
    assert not table[0]._understands("push")
    assert not table[0]._understands("nothing that there is")
    table.open.add((0, 1))
    table[0].link_up(NAMES[1])
    table.frames.clear()
    table.say(1, 0, t="greet", contact=1, version=2, protocol="push", packets=[])
    table.say(1, 0, t="control", contact=1, packet=encoded_packet(Seen(0)))
    assert table[0].links[NAMES[1]].mute
    assert table[0].store.counters()["other protocol"] == 1


def test_mops_devices_find_their_community_by_themselves() -> None:
    table = Table("mops", 3, learning="exchange", sigma=50.0, relearn=200.0, threshold=0.01)
    table[2].subscribe("news")
    for day in range(13):
        table.advance(1.0 + day * 50)
        table.meet(0, 1)
        table.advance(11.0 + day * 50)
        table.meet(1, 2)
        table.advance(21.0 + day * 50)
        table.part(0, 1)
        table.part(1, 2)
        if day == 10:
            hello = table.publish(0, "news")
    assert [driver.protocol.community for driver in table.drivers] == [1, 1, 1]  # type: ignore[attr-defined]
    assert table.deliveries() == [(561.0, 2, hello.id, 2)]


def test_what_a_broker_tells_other_brokers_as_it_comes_is_not_on_the_disk_yet() -> None:
    table = Table("socio-aware-overlay", 3, threshold=0.2, k=2)
    table[2].subscribe("news")
    table.meet(0, 1)
    table.meet(1, 2)
    table.advance(10.0)
    assert [driver.store.fact("role") for driver in table.drivers] == [b"broker"] * 3
    hello = table.publish(0, "news")
    table.advance(20.0)
    assert table.delivered(2) == [hello.id]
    assert not any("damaged" in driver.store.counters() for driver in table.drivers)


# Crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", STATEFUL)
def test_a_publication_survives_a_crash_and_is_delivered_once(protocol: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"period": 5.0} if protocol == "socialcast" else {}
    table = Table(protocol, folder=tmp_path, **given)
    table[1].subscribe("news")
    table.now = 1.0
    hello = table.publish(0, "news")
    table.crash(0)
    table.now = 2.0
    table.meet(0, 1)
    table.advance(40.0)
    table.crash(1)
    table.meet(0, 1)
    table.advance(80.0)
    assert table.delivered(1) == [hello.id]


@pytest.mark.parametrize("protocol", STATEFUL)
def test_a_crash_at_any_frame_loses_nothing_that_was_acknowledged(protocol: str, tmp_path: Path) -> None:
    """Cut a contact at each of its frames in turn, kill one end, and let the two meet again."""
    given: dict[str, Any] = {"period": 5.0} if protocol == "socialcast" else {}
    for cut in range(12):
        folder = tmp_path / f"{protocol}-{cut}"
        folder.mkdir()
        table = Table(protocol, folder=folder, **given)
        table[1].subscribe("news")
        table[0].subscribe("art")
        table.now = 1.0
        wanted = [table.publish(0, "news"), table.publish(0, "news", b"again")]
        back = table.publish(1, "art")
        table.now = 2.0
        table.open.add((0, 1))
        table[0].link_up(NAMES[1])
        table[1].link_up(NAMES[0])
        for _ in range(cut):
            if table.frames:
                sender, device, frame = table.frames.popleft()
                table[NAMES.index(device)].frame(NAMES[sender], frame)
        table.frames.clear()
        table.crash(cut % 2)
        table.now += 1.0
        table.meet(0, 1)
        table.advance(60.0)
        table.part(0, 1)
        table.meet(0, 1)
        table.advance(120.0)
        assert sorted(table.delivered(1)) == sorted(said.id for said in wanted), f"cut after {cut} frames"
        assert table.delivered(0) == [back.id], f"cut after {cut} frames"


def test_what_a_protocol_has_learnt_comes_back(tmp_path: Path) -> None:
    table = Table("b-sub", folder=tmp_path)
    table[1].subscribe("news")
    table.now = 1.0
    table.meet(0, 1)
    table[0].save()
    learnt = table[0].protocol.relay  # type: ignore[attr-defined]
    assert "news" in learnt
    table.crash(0)
    assert table[0].protocol.relay.counters == learnt.counters  # type: ignore[attr-defined]
    assert table[0].protocol.filters == {}  # type: ignore[attr-defined]


LEARNT: dict[str, tuple[str, ...]] = {
    "push": ("seen", "delivered"),
    "pull": ("seen", "delivered"),
    "spray-and-wait": ("tokens", "spraying"),
    "prophet": ("predictabilities", "wants"),
    "prophet-v2": ("predictabilities", "parted"),
    "max-prop": ("likelihoods", "vectors", "got"),
    "bubble-rap": ("popularity", "view.familiar", "wants"),
    "socialcast": ("utilities", "copies", "forecasts.topics"),
    "socialcast-random": ("copies", "forecasts.topics"),
    "socio-aware-overlay": ("seen", "view.familiar", "subscriptions"),
    "b-sub": ("relay.counters", "marks"),
    "b-sub-p": ("relay.counters", "marks"),
    "b-sub-push": ("relay.counters", "seen"),
    "b-sub-pull": ("relay.counters", "seen"),
    "social-election": ("table", "window"),
    "random-broker": ("table", "_score"),
    "mops": ("learner.history", "learner.exchange", "structure", "book"),
    "k-nearest": ("seen", "published"),
    "foresight": ("encounters.count", "reaches", "open"),
}
"""For each protocol, what it must have learnt before its state is worth writing."""
STATES: list[tuple[str, dict[str, Any]]] = [
    *(
        (protocol, {})
        for protocol in sorted(set(PROTOCOLS) - {"mops", "random-broker", "socio-aware-overlay", "bubble-rap"})
    ),
    ("socialcast", {"model": "trend"}),
    ("socialcast", {"model": "season"}),
    ("socialcast", {"distrust": 0.3}),
    ("socialcast", {"model": "season", "distrust": 0.3, "weights": {"battery": 0.5, "col": 0.5}, "buffer": 3}),
    ("socio-aware-overlay", {"threshold": 20.0}),
    ("bubble-rap", {"threshold": 20.0}),
    ("random-broker", {"share": 0.5, "cycle": 60.0}),
    ("mops", {"learning": "exchange", "sigma": 200.0, "relearn": 400.0, "threshold": 0.01}),
]


TRANSIENT = {
    "Foresight._subscribers": "computed again",
    "Foresight._worth": "computed again",
    "Foresight._refused": "of a contact",
    "Foresight._now": "of a contact",
    "Protocol.rng": "drawn anew",
    "Buffer._buried": "asked of the catalogue",
    "Carrier._dead": "asked of the catalogue",
    "BSub._gaps": "seen anew",
    "BSub._waited": "seen anew",
    "BSub._last_contact": "seen anew",
    "Carrier._greeting": "made when it is needed",
    "MaxProp._costs": "computed when they are needed",
    "BSub._tags": "made when it is needed",
    "BSub._heard": "a cache",
    "BSub.open_contacts": "no contact outlives a restart",
    "BSub._parted": "no contact outlives a restart",
    "FilterShape._positions": "a cache",
    "Forecasts.common": "used in simulations only",
    "BrokerSwarm._sorted_topics": "made when they are needed",
    "BrokerSwarm._scores": "a cache",
    "SubscriptionTable._matches": "a cache",
    "EncounterWindow._peers": "made when they are needed",
    "LocalCommunity._state": "made when it is needed",
    "LocalCommunity._adjacent": "made up to date when it is needed",
    "LocalCommunity._pending": "what is missing in it",
    "LocalCommunity._graph": "made when it is needed",
    "LocalCommunity._changed": "what has changed since",
    "LocalCommunity.versions": "what is sent next counts as later",
    "FamiliarSet.version": "the threshold will rise again",
    "FamiliarSet._level": "follows from the times together",
    "FamiliarSet._sums": "follow from the times together",
    "LocalCommunity._peer_states": "who has lost its memory asks for everything",
    "LocalCommunity._begun": "of what peers have sent",
    "LocalCommunity._changes": "peers are sent the whole state again",
    "LocalCommunity._sent_to": "peers are sent the whole state again",
    "BrokerDirectory.changes": "peers are sent the whole state again",
    "SubscriptionList.changes": "peers are sent the whole state again",
    "BrokerDirectory._due": "a bound",
    "SubscriptionList._all": "made when it is needed",
    "SocioAwareOverlay._degree": "computed when something changes",
    "BrokerSwarm._dead": "asked of the catalogue",
    "SwarmLink.before": "no contact outlives a restart",
    "SwarmLink.holds": "no contact outlives a restart",
    "SwarmLink.exchanged": "the same as told",
    "UtilityBuffer._held": "the same as held",
    "SubscriptionTable._others": "a cache",
    "SubscriptionTable._oldest": "a bound, made exact when it is passed",
    "SubscriptionList._others": "a cache",
    "SubscriptionList._oldest": "a bound, made exact when it is passed",
    "SocioAwareOverlay._renewal": "looked at again at the next contact",
    "BSub.keys": "follow from the topics",
    "EncounterWindow._oldest": "a bound",
    "SocialCast._company": "made when it is needed",
    "SocialCast._near": "made when it is needed",
    "SocialCast._interests": "made when they are needed",
    "SocialCast._said": "for simulations",
    "SocialCast._left_out": "for simulations",
    "SocialCast._on_topic": "made when it is needed",
    "SocialCast._sorted": "made when it is needed",
    "SocialCast._idle": "made when it is needed",
    "SocialCast._repeats": "asked of the driver when it is needed",
    "SocialCast._first_expiry": "for simulations",
    "SocialCast._movers": "for simulations",
    "SocioAwareOverlay._found": "computed when something changes",
    "SocioAwareOverlay._floods_to": "made when it is needed",
    "SocioAwareOverlay._flood_log": "the same as floods",
    "SocioAwareOverlay._exchanges": "a device that has lost its memory asks for the whole state, and is asked",
    "SocioAwareOverlay._was_listed": "an announcement more or less",
    "SocioAwareOverlay._gone": "computed when something changes",
    "SocioAwareOverlay._unheeded": "who has lost its memory asks for everything",
    "InterestBook._made": "computed when they are needed",
    "InterestBook._made_for": "computed when they are needed",
    "Structure._ways": "a cache",
    "CommunityExchange._news": "made when they are needed",
    "Mops._mine": "made when it is needed",
    "WeightedCarrier._listed_of": "what the next was made of",
    "WeightedCarrier._listings": "made when they are needed",
}
"""What is not part of a protocol's state, and why a restart does not miss it. All else comes back."""


def lived(protocol: str, folder: Path, **parameters: Any) -> Table:
    """Three devices that have met, subscribed, published and forwarded; 0 has a contact that lasts."""
    table = Table(protocol, 3, folder=folder, **parameters)
    topics = ("news", "art", "sport")
    for node, topic in enumerate(topics):
        table[node].subscribe(topic)
    for day in range(6):
        start = 1.0 + day * 200
        table.advance(start)
        table.meet(0, 1)
        table.publish(day % 3, topics[day % 2])
        table.advance(start + 90)
        table.meet(1, 2)
        table.meet(0, 2)
        table.advance(start + 130)
        for one, two in ((0, 1), (1, 2), (0, 2)):
            table.part(one, two)
    table.meet(0, 1)
    table.advance(table.now + 45)
    assert len(table.deliveries()) >= 3
    return table


@pytest.mark.parametrize(("protocol", "parameters"), STATES, ids=str)
def test_the_state_of_every_protocol_can_be_written_and_read(
    protocol: str, parameters: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = lived(protocol, tmp_path, **parameters)
    before = table[0].protocol
    for name in LEARNT[protocol]:
        learnt, fresh = attrgetter(name)(before), attrgetter(name)(Table(protocol, 3, **parameters)[0].protocol)
        assert difference(fresh, learnt, OUTSIDE), f"{protocol} has not learnt {name}"

    again = remade(table[0])  # in the middle of a contact
    assert difference(before, again, OUTSIDE, without=TRANSIENT) is None

    table.part(0, 1)
    table[0].save()
    table.crash(0)
    assert caplog.text == ""
    assert table[0].protocol is not before
    assert difference(before, table[0].protocol, OUTSIDE, without=TRANSIENT) is None
    assert parts_of(table[0].protocol) == parts_of(before)


def remade(driver: LiveDriver) -> Protocol:
    """The protocol of a driver, made again of the data that its state is written as."""
    made = driver._kind(driver.holdings.node, driver._parameters, cast("Driver", driver), Random(0))
    for name, part in parts_of(driver.protocol).items():
        restore_part(made, name, wire.decode(wire.encode(part)))
    return made


@pytest.mark.parametrize(("protocol", "parameters"), STATES, ids=str)
def test_a_node_sends_what_a_simulation_counts(
    protocol: str, parameters: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Any, bytes]] = []
    write = Packets.write

    def note(packets: Packets, packet: Packet, now: float) -> bytes:
        data = write(packets, packet, now)
        if isinstance(packet, Control):
            sent.append((packet, data))
        return data

    monkeypatch.setattr(Packets, "write", note)
    lived(protocol, tmp_path, **parameters)
    assert len(sent) > 20
    for packet, data in sent:
        assert len(data) == packet.size, packet


def test_the_filters_of_a_live_greeting_are_as_long_as_the_metrics_say() -> None:
    table = Table("b-sub", 2)
    for number in range(20):
        table[0].subscribe(f"tag{number}")
        table[1].subscribe(f"other{number}")
    table.meet(0, 1)
    table.part(0, 1)
    table.now = 10.0
    table[0].link_up(NAMES[1])
    [(_, _, frame)] = table.frames
    [data] = wire.decode(frame)["packets"]
    protocol: Any = table[0].protocol
    genuine, relay = len(protocol.genuine_wire), wire_size(protocol.relay.counters)
    assert (genuine, relay) == (32, 57)  # of twenty tags each
    assert len(data) == 2 + (1 + genuine) + (2 + 1 + relay) + 1
    assert len(frame) < len(data) + 80


def test_no_protocol_is_left_out_where_states_are_written() -> None:
    assert {protocol for protocol, _ in STATES} == set(LEARNT) == set(PROTOCOLS)


def test_a_state_of_other_parameters_is_not_used_but_publications_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table("push", folder=tmp_path)
    hello = table.publish(0, "news")
    table[0].save()
    table[1].save()
    table[1].store.abandon()
    table[0].store.abandon()
    again = Table("push", folder=tmp_path, buffer=7)
    assert "starting afresh" in caplog.text
    again[1].subscribe("news")
    again.meet(0, 1)
    assert again.delivered(1) == [hello.id]


class Secretive(Push):
    """A protocol of somebody's own, with a state that cannot be written."""

    def start(self, now: float) -> None:
        self.secret = lambda: now


def test_a_protocol_whose_state_cannot_be_written_runs_and_keeps_its_publications(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table("tests.node.test_driver:Secretive", folder=tmp_path)
    hello = table.publish(0, "news")
    table[0].save()
    assert caplog.text.count("is not kept over a restart") == 2  # once for each device
    table.crash(0)
    table[1].subscribe("news")
    table.meet(0, 1)
    assert table.delivered(1) == [hello.id]


def test_a_clock_that_goes_back_starts_the_protocol_afresh(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = Table("push", folder=tmp_path)
    table.now = 1_990_000_000.0
    hello = table.publish(0, "news", ttl=1e6)
    table.now = 2_000_000_000.0
    table[0].publish(Publication.signed(IDENTITIES[0], "news", b"later", created=table.now, ttl=1e6))
    table[0].save()
    assert not table[0].holdings.holds(0)  # it is out of date
    table.now = 1_990_000_000.0
    table.crash(0)
    assert "the clock has gone back by 116 days" in caplog.text
    table[1].subscribe("news")
    table.meet(0, 1)
    assert table.delivered(1) == [hello.id]


def test_time_never_runs_backwards_for_a_protocol() -> None:
    table = Table("push")
    table.now = 100.0
    table.publish(0, "news")
    table.now = 50.0
    table[0].tick()
    assert table[0].now == 100.0


# Strangers ---------------------------------------------------------------------------------------------------------


def ready(protocol: str = "push") -> Table:
    """Device 1 has met device 0, and it is device 1's turn to send."""
    table = Table(protocol)
    table.meet(0, 1)
    assert table[1].links[NAMES[0]].holds_turn
    return table


def encoded_packet(packet: Packet) -> bytes:
    """A packet in which message or device number n has an id of n."""
    return to_bytes(packet, lambda number: number.to_bytes(8), lambda node: node.to_bytes(8))


def data(said: Publication, encoded: bytes | None = None, **other: Any) -> dict[str, Any]:
    packet = encoded_packet(Carried(1, (1,)))
    given = {"t": "data", "contact": 1, "number": 1, "packet": packet, "publications": [encoded or said.to_bytes()]}
    return given | other


def test_a_publication_that_is_not_what_its_author_signed_reaches_nobody() -> None:
    said = Publication.signed(IDENTITIES[2], "news", b"pay ann", created=0.0, ttl=100.0)
    part, signature = wire.decode(said.to_bytes())
    cases = {
        "badly signed": wire.encode([part, bytes(64)]),
        "unsigned": wire.encode([part, b""]),
        "malformed": b"\xff" + said.to_bytes(),
        "oversized": said.to_bytes() + bytes(2 << 20),
    }
    for reason, encoded in cases.items():
        table = ready()
        table[0].subscribe("news")
        with pytest.raises(PeerError):
            table.say(1, 0, **data(said, encoded))
        assert refusals(table, 0) == {f"refused: {reason}": 1}
        assert NAMES[1] not in table[0].links
        assert table.delivered(0) == []
        assert not list(table[0].store.headers())
        assert not list(table[0].store.kept())
    assert signature


def test_what_is_out_of_date_is_refused_and_the_rest_of_its_packet_is_not() -> None:
    table = ready()
    table[0].subscribe("news")
    table.now = 500.0
    old = Publication.signed(IDENTITIES[2], "news", b"old", created=0.0, ttl=100.0)
    new = Publication.signed(IDENTITIES[2], "news", b"new", created=400.0, ttl=200.0)
    packet = encoded_packet(Carried(0b11, (3, 7)))
    table.say(1, 0, **data(old, packet=packet, publications=[old.to_bytes(), new.to_bytes()]))
    assert table.deliveries() == [(500.0, 0, new.id, 7)]
    assert refusals(table, 0) == {"refused: expired": 1}


def test_what_is_replayed_is_not_delivered_again() -> None:
    table = ready()
    table[0].subscribe("news")
    said = Publication.signed(IDENTITIES[2], "news", b"once", created=0.0, ttl=100.0)
    table.say(1, 0, **data(said))
    table.say(1, 0, **data(said))
    assert table.delivered(0) == [said.id]
    assert refusals(table, 0) == {"refused: replayed": 1}


def test_data_out_of_turn_or_that_makes_no_sense_ends_the_link() -> None:
    said = Publication.signed(IDENTITIES[2], "news", b"x", created=0.0, ttl=100.0)
    other = Publication.signed(IDENTITIES[2], "news", b"y", created=0.0, ttl=100.0)
    table = ready()
    with pytest.raises(PeerError, match="out of turn"):
        table.say(0, 1, **data(said))
    for wrong in (
        data(said, publications=[]),
        data(said, publications=[said.to_bytes()] * 2),
        data(said, publications=[said.to_bytes(), other.to_bytes()]),  # hops of one, and publications of two
        data(said, publications=["news"]),
        data(said, packet=encoded_packet(Carried(1, ()))),
        data(said, packet=encoded_packet(Seen(1))),
        data(said, packet=encoded_packet(Transfer(1, (1,), True))),
        data(said, packet=b"\0\0"),
        data(said, packet={}),
        {"t": "ack", "contact": 1, "number": 9, "awake": False},
        {"t": "ready", "contact": 1, "awake": False},
        {"t": "greet", "contact": 7, "version": 2, "protocol": "push", "packets": []},
        {"t": "control", "contact": 1, "packet": encoded_packet(Seen(0b11))[:-1]},
        {"t": "control", "contact": 1, "packet": encoded_packet(Carried(1, (1,)))},
        {"t": "control", "contact": 1, "packet": "hunet.Seen"},
        {"no": "sense"},
    ):
        table = ready()
        with pytest.raises(PeerError):
            table.say(1, 0, **wrong)
        assert NAMES[1] not in table[0].links
        assert table[0].protocol.known == {}  # type: ignore[attr-defined]


def test_filters_that_no_device_makes_are_refused() -> None:
    for relay in (bytes(3), bytes([255]) * 256):
        table = Table("b-sub", initial=5, ceiling=200)
        table.meet(0, 1)
        with pytest.raises(PeerError):
            table.say(1, 0, t="control", contact=1, packet=encoded_packet(Filters(b"", relay)))


@pytest.mark.parametrize("protocol", ["b-sub", "socialcast", "social-election", "mops", "push"])
def test_random_nonsense_never_gets_further_than_the_driver(protocol: str) -> None:
    """Honest frames, broken in random places: either they make sense or the link ends; nothing else happens."""
    rng = Random(5)
    for seed in range(40):
        table = Table(protocol, 2)
        table[0].subscribe("news")
        table[1].subscribe("art")
        table.publish(1, "news")
        table.now = 3.0
        table.open.add((0, 1))
        table[0].link_up(NAMES[1])
        table[1].link_up(NAMES[0])
        while table.frames:
            sender, device, frame = table.frames.popleft()
            receiver = NAMES.index(device)
            if receiver == 0 and rng.random() < 0.4:
                frame = wire.encode(_broken(rng, wire.decode(frame)))
            try:
                table[receiver].frame(NAMES[sender], frame)
            except PeerError:
                assert NAMES[sender] not in table[receiver].links
                break
        table[0].save()
        assert set(table.delivered(0)) <= {message.id for message in table[0].messages}, seed


def _broken(rng: Random, value: Any) -> Any:
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: _broken(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [*value[:place], _broken(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, bytes) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return value[:place] + bytes([rng.randrange(256)]) + value[place + 1 :]
    return rng.choice([None, True, -1, 1 << 60, 0.5, float("inf"), "", "x" * 300, b"\0" * 40, [], [[]], {}, {"a": 1}])


def test_a_flood_of_ids_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.message_numbers._MOST_HEARD_OF", 10)
    table = ready()
    table.say(1, 0, t="control", contact=1, packet=encoded_packet(Have((1 << 50) - 1)))
    assert (len(table[0].holdings.messages), len(table[0].messages)) == (10, 0)


def test_packets_begin_small_and_grow_with_each_that_was_taken() -> None:
    """So that who has much to bring to a device that slows strangers down gets something through in a short time."""
    table = Table("push")
    for number in range(200):
        table.publish(0, "news", number.to_bytes())
    sizes: list[int] = []
    carried = table[1].frame

    def frame(device: str, data: bytes) -> None:
        said = wire.decode(data)
        sizes.extend([len(said["publications"])] if said["t"] == "data" else [])
        carried(device, data)

    table[1].frame = frame  # type: ignore[method-assign]
    table.meet(0, 1)
    assert sizes == [4, 8, 16, 32, 64, 64, 12]


# Quotas ------------------------------------------------------------------------------------------------------------


def test_quotas_let_the_protocols_ranking_decide_and_spare_own_publications() -> None:
    quotas = Quotas(total=3000)
    for topics in (["news"] * 5, list("abcde")):
        for protocol in ("push", "social-election", "socialcast"):
            table = Table(protocol, 2, quotas=quotas, room=1)
            own = table.publish(0, topics[0], bytes(100))
            driver = table[0]
            for number, topic in enumerate(topics):
                table.now = 10.0 + number
                said = Publication.signed(IDENTITIES[1], topic, bytes(900), created=table.now, ttl=1000.0)
                encoded = said.to_bytes()
                message = driver.holdings.add(said, len(encoded), 1)
                driver.store.add_content(message.number, encoded)
                driver.now = table.now
                driver.protocol.publish(message, table.now)  # as if it had come: what matters is that it is held
                driver._keep_quotas()
            held = {message.id for message in driver.messages if driver.holdings.holds(message.number)}
            assert own.id in held, protocol
            assert driver.holdings.held_bytes < 3700
            assert sum(many for name, many in driver.store.counters().items() if name.startswith("quota")) >= 2


def test_own_publications_beyond_the_quota_are_refused_with_a_remedy() -> None:
    table = Table("push", quotas=Quotas(total=1000))
    table.publish(0, "news", bytes(600))
    with pytest.raises(OutputError, match="larger quota"):
        table.publish(0, "news", bytes(601))
    assert table[0].holdings.held.bit_count() == 1


def test_a_content_that_the_disk_has_lost_is_given_up_and_the_rest_goes() -> None:
    for protocol in ("push", "b-sub", "spray-and-wait"):
        table = Table(protocol, room=1)
        table[1].subscribe("news")
        lost, whole = table.publish(0, "news", b"lost"), table.publish(0, "news", b"whole")
        table[0].store.add_content(table[0].messages.by_id(lost.id).number, b"something else")
        table[0].store._write("UPDATE contents SET checksum = 0 WHERE content = ?", b"something else")
        table.now = 1.0
        table.meet(0, 1)
        table.advance(9.0)
        assert table.delivered(1) == [whole.id], protocol
        assert table[0].store.counters()["damaged"] == 1


def test_contents_go_when_nobody_needs_them_any_more() -> None:
    table = Table("push", buffer=1)
    table[1].subscribe("news")
    table.now = 1.0
    table.publish(0, "news", b"first")
    table.meet(0, 1)
    table.now = 2.0
    table.publish(0, "news", b"second")
    assert len(list(table[0].store.kept())) == 1
    assert len(list(table[1].store.kept())) == 2  # the application has not taken the first yet
    first = next(table[1].store.waiting())
    table[1].take(first.number)
    assert table[1].holdings.lapsed() == [first.message]  # for other applications, while there is room
    table.now = 10_000.0
    table[1].tick()
    table[1].clean()
    assert not table[1].holdings.lapsed()
    assert first.message not in list(table[1].store.kept())
