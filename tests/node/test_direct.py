"""Direct messages: who can read them, who can tell the sender, what deleted keys protect, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hunet import Node
from hunet.model import ConfigurationError, OutputError, PeerError
from hunet.node import wire
from hunet.node.conversations import Conversations
from hunet.node.direct import safety_number, seal, unseal
from hunet.node.holdings import Quotas
from hunet.node.identity import Identity
from hunet.node.padding import pad
from hunet.node.prekeys import KEPT, ROTATED, Announcement, AnnouncementBook, Prekeys, read_announcement
from hunet.node.publication import Publication, Refused, read_publication, sealed_publication
from hunet.node.store import Store
from tests.node.company import until
from tests.node.test_node import device, play

ANN, BOB, EVE = Identity.new(), Identity.new(), Identity.new()
NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "hunet.db")
    yield made
    made.close()


def announced(identity: Identity = BOB, now: float = NOW) -> tuple[X25519PrivateKey, Announcement]:
    key = X25519PrivateKey.generate()
    return key, Announcement.signed(identity, key.public_key().public_bytes_raw(), now, now + KEPT)


# Sealing --------------------------------------------------------------------------------------------------------------


def test_only_the_recipient_reads_a_message_and_knows_who_wrote_it() -> None:
    key, announcement = announced()
    said = seal(ANN, announcement, {"kind": "text", "content": b"dinner at eight"}, NOW, 3600.0)
    assert read_publication(said.to_bytes(), NOW) == said
    assert unseal(key, said) == (ANN.device, {"kind": "text", "content": b"dinner at eight"})
    with pytest.raises(Refused, match="badly sealed"):
        unseal(announced()[0], said)


def test_a_carrier_sees_neither_sender_nor_content_nor_length() -> None:
    _, announcement = announced()
    said = seal(ANN, announcement, {"content": b"dinner at eight"}, NOW, 3600.0)
    shown = said.to_bytes()
    secrets = [b"dinner", ANN.device.encode(), ANN.proof[:32], ANN.exchange_key.public_key().public_bytes_raw()]
    secrets += [BOB.device.encode(), announcement.prekey]
    assert not [secret for secret in secrets if secret in shown]
    assert said.author not in (ANN.device, BOB.device)
    other = seal(ANN, announcement, {"content": b"no"}, NOW, 3600.0)
    assert len(other.content) == len(said.content)
    # The alias is that of one sender and one prekey: with the next prekey nothing ties the two together.
    assert other.author == said.author
    assert seal(EVE, announcement, {}, NOW, 3600.0).author != said.author
    assert seal(ANN, announced()[1], {}, NOW, 3600.0).author != said.author


def test_a_changed_or_copied_message_is_refused() -> None:
    key, announcement = announced()
    said = seal(ANN, announcement, {"content": b"dinner"}, NOW, 3600.0)
    for place in (0, 40, 100, 200, len(said.content) - 1):
        changed = bytearray(said.content)
        changed[place] ^= 1
        with pytest.raises(Refused, match="badly sealed"):
            unseal(key, msgspec.structs.replace(said, content=bytes(changed)))


def test_nobody_writes_in_the_name_of_another() -> None:
    """Eve has Ann's proof from a session, and puts it into a message of her own."""
    from hunet.node.noise import HandshakeState

    key, announcement = announced()
    noise = HandshakeState("X", True, EVE.exchange_key, remote=announcement.prekey, prologue=b"hunet direct 1")
    forged = noise.write_message(ANN.proof + pad(wire.encode({"content": b"dinner"})))
    said = sealed_publication(EVE, announcement.topic, forged, created=NOW, ttl=60.0)
    with pytest.raises(Refused, match="badly sealed"):
        unseal(key, said)


def test_a_worthless_prekey_is_refused() -> None:
    announcement = Announcement.signed(EVE, bytes(32), NOW, NOW + KEPT)
    with pytest.raises(PeerError, match="worthless"):
        seal(ANN, announcement, {}, NOW, 60.0)


def test_a_message_is_carried_no_longer_than_its_key_is_kept() -> None:
    _, announcement = announced(now=NOW - KEPT + 100.0)
    assert seal(ANN, announcement, {}, NOW, 3600.0).ttl == 100.0


# Prekeys --------------------------------------------------------------------------------------------------------------


def test_a_prekey_is_replaced_after_days_and_deleted_after_more_so_that_old_messages_stay_secret(store: Store) -> None:
    prekeys = Prekeys(store, BOB)
    assert prekeys.rotate(NOW)
    first = prekeys.announcement()
    said = seal(ANN, first, {"content": b"dinner"}, NOW, 3600.0)
    assert not prekeys.rotate(NOW + ROTATED - 1)
    assert prekeys.rotate(NOW + ROTATED)
    second = prekeys.announcement()
    assert (second.since, second.prekey != first.prekey) == (NOW + ROTATED, True)
    assert set(prekeys.topics()) == {first.topic, second.topic}
    private = prekeys.topics()[first.topic]
    assert unseal(private, said)[0] == ANN.device  # it may still be under way

    prekeys.rotate(NOW + KEPT)
    assert first.topic not in prekeys.topics()
    store.commit()
    assert store.path is not None
    kept = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert private.private_bytes_raw() not in kept  # also not in pages that are free, or in the write-ahead log
    for other in prekeys.topics().values():
        with pytest.raises(Refused, match="badly sealed"):
            unseal(other, said)


def test_announcements_are_checked() -> None:
    _, announcement = announced()
    data = announcement.to_bytes()
    assert read_announcement(data, NOW) == announcement
    assert read_announcement(data, NOW + KEPT) is None
    assert read_announcement(data, NOW - 1000) is None
    bad = [
        b"",
        wire.encode([b"", b""]),
        wire.encode(["text", b""]),
        wire.encode([1]),
        msgspec.structs.replace(announcement, device=EVE.device).to_bytes(),
        msgspec.structs.replace(announcement, until=NOW + KEPT - 1).to_bytes(),
        Announcement.signed(BOB, announcement.prekey, NOW, NOW + KEPT + 1).to_bytes(),
        Announcement.signed(BOB, b"short", NOW, NOW + KEPT).to_bytes(),
    ]
    for each in bad:
        with pytest.raises(PeerError):
            read_announcement(each, NOW)


def test_the_latest_announcement_counts_and_is_told_once(store: Store) -> None:
    book = AnnouncementBook(store, ANN.device, lambda device: False)
    old, new = announced(now=NOW - 10)[1], announced()[1]
    assert book.hear("eve", [new.to_bytes()], NOW) == [BOB.device]
    assert book.hear("joe", [new.to_bytes(), old.to_bytes(), announced(ANN)[1].to_bytes()], NOW) == []
    assert book.of(BOB.device, NOW) == new
    assert book.of(BOB.device, NOW + KEPT) is None
    own = announced(ANN)[1]

    def told(neighbour: str) -> list[Any]:
        return [wire.decode(frame)["announcements"] for frame in book.frames_for(neighbour, own, NOW)]

    assert told("joe") == [[own.to_bytes(), new.to_bytes()]]
    assert told("joe") == []
    newer = announced(now=NOW + 10)[1]
    assert book.hear("eve", [newer.to_bytes()], NOW + 10) == [BOB.device]
    assert told("joe") == [[newer.to_bytes()]]
    book.forget("joe")
    assert told("joe") == [[own.to_bytes(), newer.to_bytes()]]
    with pytest.raises(PeerError, match="more announcements"):
        book.hear("eve", [b""] * 51, NOW)
    with pytest.raises(PeerError, match="malformed"):
        book.hear("eve", ["text"], NOW)


def test_who_meets_is_not_told_of_everybody_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.prekeys._NEWEST", 3)
    monkeypatch.setattr("hunet.node.prekeys._OTHERS", 2)
    book, known = AnnouncementBook(store, ANN.device, lambda device: False), []
    for _ in range(20):
        known.append(announced(Identity.new())[1].to_bytes())
        book.hear("eve", [known[-1]], NOW)
    own, heard = announced(ANN)[1], set[bytes]()
    for _ in range(200):
        (frame,) = book.frames_for("joe", own, NOW)
        told = wire.decode(frame)["announcements"]
        assert told[:4] == [own.to_bytes(), *known[:-4:-1]]
        assert len(told) <= 6
        heard |= set(told)
        book.forget("joe")  # he has gone, and comes again
    assert heard == {own.to_bytes(), *known}


def test_who_makes_devices_up_pushes_out_its_own(store: Store) -> None:
    book = AnnouncementBook(store, ANN.device, lambda device: device == BOB.device, most=10)
    honest = [Identity.new() for _ in range(4)]
    book.hear("eve", [announced(BOB)[1].to_bytes()], NOW)
    book.hear("joe", [announced(each)[1].to_bytes() for each in honest], NOW)
    for _ in range(40):
        book.hear("eve", [announced(Identity.new())[1].to_bytes()], NOW)
    assert store.select("SELECT count(*) FROM announcements") == [(10,)]
    assert all(book.of(each.device, NOW) for each in [*honest, BOB])


# Conversations --------------------------------------------------------------------------------------------------------


def text(content: bytes, clock: int, id_: bytes) -> dict[str, Any]:
    return {"id": id_, "clock": clock, "sent": NOW, "type": "text/plain", "content": content}


def test_the_order_is_that_of_the_conversation_whatever_comes_first(store: Store) -> None:
    talk = Conversations(store, ANN.device)
    talk.write(BOB.device, b"one", "text/plain", NOW, 60.0)
    talk.receive(BOB.device, text(b"three", 3, b"3" * 16), NOW - 1000, known=True)
    talk.receive(BOB.device, text(b"two", 2, b"2" * 16), NOW - 2000, known=True)
    talk.write(BOB.device, b"four", "text/plain", NOW - 3000, 6000.0)
    assert [letter.text for letter in talk.with_device(BOB.device, NOW)] == ["one", "two", "three", "four"]
    assert [letter.text for letter in talk.with_device(BOB.device, NOW, 2)] == ["three", "four"]


def test_a_message_that_was_taken_is_refused_in_another_publication(store: Store) -> None:
    talk = Conversations(store, ANN.device)
    talk.receive(BOB.device, text(b"dinner", 1, b"1" * 16), NOW, known=True)
    for _ in range(2):
        with pytest.raises(Refused, match="replayed"):
            talk.receive(BOB.device, text(b"dinner", 1, b"1" * 16), NOW, known=True)
        talk.forget(BOB.device)  # a conversation that was deleted does not come back either
        assert talk.with_device(BOB.device, NOW) == []


@pytest.mark.parametrize(
    "change", [{"id": b"short"}, {"clock": -1}, {"clock": "1"}, {"sent": 1e300}, {"content": "text"}, {"type": 3}]
)
def test_a_message_that_makes_no_sense_is_refused(store: Store, change: dict[str, Any]) -> None:
    talk = Conversations(store, ANN.device)
    with pytest.raises(Refused, match="malformed"):
        talk.receive(BOB.device, text(b"", 1, b"1" * 16) | change, NOW, known=True)


def test_strangers_cannot_fill_the_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.conversations._MOST_OF_STRANGERS", 3)
    talk = Conversations(store, ANN.device)
    for number in range(3):
        talk.receive(Identity.new().device, text(b"spam", 1 << 60, bytes([number]) * 16), NOW, known=False)
    with pytest.raises(Refused, match="oversized"):
        talk.receive(EVE.device, text(b"spam", 1, b"9" * 16), NOW, known=False)
    talk.receive(BOB.device, text(b"hello", 1, b"9" * 16), NOW, known=True)
    assert max(clock for (clock,) in store.select("SELECT clock FROM letters")) == 10_000


def test_what_became_of_a_message(store: Store) -> None:
    talk = Conversations(store, ANN.device)
    number = talk.write(BOB.device, b"dinner", "text/plain", NOW, 60.0)

    def state(now: float = NOW) -> tuple[str, int]:
        letter = talk.one(number, now)
        return letter.state, letter.carriers

    assert state() == ("waiting", 0)
    assert not talk.handed("other", EVE.device)
    talk.sent_as(number, "publication")
    assert talk.handed("publication", EVE.device)
    assert not talk.handed("publication", EVE.device)
    assert state() == ("carried", 1)
    assert talk.handed("publication", BOB.device)
    assert state() == ("carried", 2)
    assert state(NOW + 60)[0] == "expired"
    id_ = talk.one(number, NOW).id
    assert not talk.arrived(EVE.device, [id_, "nonsense"], NOW)  # only the recipient can say so
    assert talk.arrived(BOB.device, [id_], NOW)
    assert state(NOW + 60)[0] == "arrived"


def test_limits_of_a_message(store: Store) -> None:
    talk = Conversations(store, ANN.device)
    with pytest.raises(ConfigurationError, match="at most 32768 bytes"):
        talk.write(BOB.device, bytes(32769), "text/plain", NOW, 60.0)
    with pytest.raises(ConfigurationError, match="at most 604800 s"):
        talk.write(BOB.device, b"", "text/plain", NOW, 604801.0)
    _, announcement = announced()
    inside = {"content": bytes(32768), "announcement": announcement.to_bytes(), "type": "x" * 100}
    seal(ANN, announcement, inside, NOW, 60.0)  # the longest fits into a Noise message


def test_safety_numbers() -> None:
    number = safety_number(ANN.device, BOB.device)
    assert number == safety_number(BOB.device, ANN.device)
    assert [len(part) for part in number.split()] == [5] * 12
    assert number != safety_number(ANN.device, EVE.device)


# Nodes ----------------------------------------------------------------------------------------------------------------


def texts(node: Node, other: Node) -> list[tuple[bool, str, str]]:
    return [(letter.own, letter.text, letter.state) for letter in node.conversation(other.device)]


@pytest.mark.parametrize("protocol", ["b-sub", "push", "spray-and-wait"])
def test_two_nodes_write_to_each_other(tmp_path: Path, protocol: str) -> None:
    async def scene() -> None:
        given: dict[str, Any] = {"protocol": protocol, "again": 0.05}
        async with device(tmp_path, "ann", **given) as ann, device(tmp_path, "bob", ann, **given) as bob:
            bob.name(ann.device, "Ann")  # whom one does not know is not told that their message has come
            letter = await ann.send(bob.device, "dinner at eight?")
            assert letter.state == "waiting"
            await until(lambda: texts(bob, ann) == [(False, "dinner at eight?", "received")])
            await until(lambda: texts(ann, bob) == [(True, "dinner at eight?", "arrived")])
            await bob.send("Ann", "yes")
            await until(lambda: texts(ann, bob)[-1] == (False, "yes", "received"))
            both = [("dinner at eight?", False), ("yes", True)]
            assert [(letter.text, letter.own) for letter in bob.conversation("Ann")] == both
            assert [(letter.text, unread) for letter, unread in ann.conversations()] == [("yes", 1)]
            ann.read(bob.device)
            assert [unread for _, unread in ann.conversations()] == [0]
            assert (ann.subscriptions(), bob.subscriptions(), bob.last_delivery()) == ([], [], 0)

    play(scene())


def test_a_message_goes_by_a_carrier_who_learns_nothing_and_survives_restarts(tmp_path: Path) -> None:
    async def scene() -> None:
        push: dict[str, Any] = {"protocol": "push"}
        async with device(tmp_path, "eve", **push) as eve, device(tmp_path, "bob", eve, **push) as bob:
            bobs = bob.device
            await until(lambda: eve._private.announcements.of(bobs, eve.now) is not None)
        async with device(tmp_path, "ann", **push) as ann:
            anns = ann.device
            await ann.send(bobs, "are you there?")  # to somebody whose key is not known yet
            assert [letter.state for letter in ann.conversation(bobs)] == ["waiting"]
        async with device(tmp_path, "ann", **push) as ann, device(tmp_path, "eve", ann, **push) as eve:
            await until(lambda: [letter.state for letter in ann.conversation(bobs)] == ["carried"])
            (held,) = [one for one in eve.carried() if one["topic"].startswith("~")]
            assert held["author"] not in (anns, bobs)
            (message,) = [eve._store.content(number) or b"" for number in eve._store.kept()]
            assert anns.encode() not in message
            assert eve.conversations() == []
        async with device(tmp_path, "eve", **push) as eve, device(tmp_path, "bob", eve, **push) as bob:
            bob.name(anns, "Ann")
            await until(lambda: [letter.text for letter in bob.conversation(anns)] == ["are you there?"])
            await until(lambda: len([one for one in eve.carried() if one["topic"].startswith("~")]) == 2)
        async with device(tmp_path, "ann", **push) as ann, device(tmp_path, "eve", ann, **push) as eve:
            await until(lambda: [letter.state for letter in ann.conversation(bobs)] == ["arrived"])
            assert [letter.carriers for letter in ann.conversation(bobs)] == [1]

    play(scene())


def test_strangers_do_not_learn_that_their_message_has_come(tmp_path: Path) -> None:
    async def scene() -> None:
        push: dict[str, Any] = {"protocol": "push"}
        async with device(tmp_path, "ann", **push) as ann, device(tmp_path, "bob", ann, **push) as bob:
            await ann.send(bob.device, "hello")
            await until(lambda: len(texts(bob, ann)) == 1)
            bob._private.settle(bob.now)
            assert bob.status()["held"] == 1  # the message itself, and no answer
            bob.name(ann.device, "Ann")
            await until(lambda: texts(ann, bob) == [(True, "hello", "arrived")])

    play(scene())


def test_a_replayed_message_and_a_blocked_writer_do_not_come_through(tmp_path: Path) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            ann = await stack.enter_async_context(device(tmp_path, "ann", protocol="push"))
            bob = await stack.enter_async_context(device(tmp_path, "bob", ann, protocol="push"))
            await ann.send(bob.device, "one")
            await until(lambda: len(texts(bob, ann)) == 1)
            (number,) = ann._store.kept()
            said = read_publication(ann._store.content(number) or b"", ann.now)
            again = sealed_publication(EVE, said.topic, said.content, created=ann.now, ttl=60.0)
            await bob.bring(again)
            assert bob.status()["counters"]["refused: replayed"] == 1
            assert len(texts(bob, ann)) == 1

            announcement = bob._private._prekeys.announcement()
            inside = {"kind": "text", **text(b"two", 2, b"2" * 16)}
            await bob.block(ann.device)
            await bob.bring(seal(ann.identity, announcement, inside, bob.now, 60.0))
            assert bob.status()["counters"]["refused: blocked"] == 1
            assert len(texts(bob, ann)) == 1
            with pytest.raises(ConfigurationError, match="is blocked"):
                await bob.send(ann.device, "hello")
            stolen = {"kind": "rekey", "of": b"", "key": b"", "removed": []}
            for nonsense in ({"kind": "text"}, {"kind": "other"}, stolen):
                await bob.bring(seal(EVE, announcement, nonsense, bob.now, 60.0))
            counters = bob.status()["counters"]
            assert (counters["refused: malformed"], counters["refused: not a member"]) == (2, 1)
            garbage = sealed_publication(EVE, announcement.topic, b"garbage", created=bob.now, ttl=60.0)
            await bob.bring(garbage)
            assert bob.status()["counters"]["refused: badly sealed"] == 1

    play(scene())


def test_what_a_crash_sends_twice_is_taken_once(tmp_path: Path) -> None:
    async def scene() -> None:
        push: dict[str, Any] = {"protocol": "push"}
        async with device(tmp_path, "ann", **push) as ann, device(tmp_path, "bob", ann, **push) as bob:
            await ann.send(bob.device, "hello")
            await until(lambda: len(texts(bob, ann)) == 1)
            ann._store.execute("UPDATE letters SET publication = NULL")  # as if that had not reached the disk
            ann._private.settle(ann.now)
            await until(lambda: bob.status()["counters"].get("refused: replayed", 0) == 1)
            assert len(texts(bob, ann)) == 1

    play(scene())


def test_keys_are_renewed_while_nodes_are_linked(tmp_path: Path) -> None:
    shift = 0.0

    def clock() -> float:
        return NOW + shift

    async def scene() -> None:
        nonlocal shift
        given: dict[str, Any] = {"protocol": "push", "clock": clock}
        async with device(tmp_path, "ann", **given) as ann, device(tmp_path, "bob", ann, **given) as bob:
            await until(lambda: ann._private.announcements.of(bob.device, ann.now) is not None)
            first = ann._private.announcements.of(bob.device, ann.now)
            shift = ROTATED + 1
            bob.renew_keys()
            await until(lambda: ann._private.announcements.of(bob.device, ann.now) != first)
            await ann.send(bob.device, "with the new key")
            await until(lambda: len(texts(bob, ann)) == 1)
            shift = KEPT + 1
            bob.renew_keys()
            topics = bob._store.subscriptions()
            assert first is not None
            assert first.topic not in topics
            assert len(topics) == 2

    play(scene())


def test_who_announces_a_worthless_key_gets_nothing_and_stops_nobody(tmp_path: Path) -> None:
    async def scene() -> None:
        worthless, good = Announcement.signed(EVE, bytes(32), NOW, NOW + KEPT), announced()[1]
        async with device(tmp_path, "ann", protocol="push", clock=lambda: NOW) as ann:
            for whom, announcement in ((EVE, worthless), (BOB, good)):
                ann._private.announcements.add(announcement, "somebody", NOW)
                await ann.send(whom.device, "hello")
            assert [one["topic"] for one in ann.carried()] == [good.topic]

    play(scene())


def test_a_message_for_which_there_is_no_room_is_refused_and_answers_wait(tmp_path: Path) -> None:
    async def scene() -> None:
        small: dict[str, Any] = {"protocol": "push", "quotas": Quotas(total=1500)}
        async with device(tmp_path, "ann", protocol="push") as ann, device(tmp_path, "bob", ann, **small) as bob:
            bob.name(ann.device, "Ann")
            await until(lambda: bob._private.announcements.of(ann.device, bob.now) is not None)
            with pytest.raises(OutputError, match="exceed the quota"):
                for _ in range(3):
                    await bob.send("Ann", "x")
            assert len(bob.conversation("Ann")) < 3
            await ann.send(bob.device, "hello")  # that it has come cannot be said, for want of room
            await until(lambda: "hello" in [letter.text for letter in bob.conversation("Ann")])
            assert bob.running
            assert bob.peers()

    play(scene())


def test_whom_one_cannot_write_to(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann:
            with pytest.raises(ConfigurationError, match="the device itself"):
                await ann.send(ann.device, "hello")
            with pytest.raises(ConfigurationError, match="nobody is known as 'bob'"):
                await ann.send("bob", "hello")
        async with device(tmp_path, "joe", direct=False) as joe:
            with pytest.raises(ConfigurationError, match="without direct messages"):
                await joe.send(BOB.device, "hello")
            assert joe._store.subscriptions() == []

    play(scene())


def test_a_publication_on_a_topic_that_looks_private_cannot_be_made() -> None:
    with pytest.raises(ConfigurationError, match="private topics"):
        Publication.signed(ANN, "~x", b"", created=NOW, ttl=60.0)
