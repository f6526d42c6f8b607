"""Groups that a node keeps: made, joined, left, members removed; and what the commands do with them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import typer
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from typer.testing import CliRunner, Result

from hunet import Node
from hunet.cli import node, people
from hunet.model import ConfigurationError
from hunet.node.direct import unseal
from hunet.node.groups import GroupBook
from hunet.node.http.server import HttpServer
from hunet.node.identity import Identity
from hunet.node.prekeys import KEPT, Announcement
from hunet.node.publication import WEEK, Group, Refused, read_publication
from hunet.node.store import Store
from tests.node.company import until
from tests.node.test_node import device, play

ANN, BOB, EVE = Identity.new(), Identity.new(), Identity.new()
NOW = 1_800_000_000.0
PUSH: dict[str, Any] = {"protocol": "push"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "hunet.db")
    yield made
    made.close()


APP = typer.Typer()  # the whole one takes long to set up, for each command anew
for command in (people.send, people.messages, people.verify, people.key, node.publish):
    APP.command()(command)
APP.add_typer(people.group_app, name="group")


async def hunet(*words: object, say: str | None = None) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, APP, list(map(str, words)), say)


def test_a_group_is_joined_once_and_found_by_name_or_invitation(store: Store) -> None:
    book, choir = GroupBook(store, ANN.device), Group.new("choir")
    assert book.join(choir)
    assert not book.join(choir)
    assert book.names() == ["choir"]
    assert book.find("choir") == book.find(choir.invitation) == choir
    with pytest.raises(ConfigurationError, match="another group 'choir'"):
        book.join(Group.new("choir"))
    with pytest.raises(ConfigurationError, match="in no group 'chess'; its groups: choir"):
        book.find("chess")
    for name in ("", "x" * 65, "two\nlines"):
        with pytest.raises(ConfigurationError, match="printable"):
            book.join(Group(name, bytes(32)))
    book.leave("choir")
    assert book.names() == []
    assert choir.key not in b"".join(path.read_bytes() for path in (store.path or Path()).parent.iterdir())


def test_who_is_removed_cannot_read_what_follows_and_is_not_read(store: Store) -> None:
    book, choir = GroupBook(store, ANN.device), Group.new("choir")
    book.join(choir)
    book.add_member("choir", BOB.device)
    with pytest.raises(ConfigurationError, match="not known as a member"):
        book.remove("choir", EVE.device, NOW)
    before = choir.seal(BOB, b"before", created=NOW, ttl=60.0)
    assert book.open(before)[1].content == b"before"
    fingerprint, key = book.remove("choir", BOB.device, NOW)
    assert (book.current("choir").key, book.members("choir")) == (key, [])
    after = book.current("choir").seal(ANN, b"after", created=NOW, ttl=60.0)
    assert book.open(after)[1].content == b"after"
    with pytest.raises(Refused, match="badly sealed"):
        choir.open(after)
    with pytest.raises(Refused, match="not a member"):
        book.open(choir.seal(BOB, b"still here", created=NOW, ttl=60.0))
    under_way = choir.seal(EVE, b"sent before she knew", created=NOW, ttl=60.0)
    assert book.open(under_way)[1].content == b"sent before she knew"
    assert len(book.topics(NOW)) == 2 * len(choir.topics_at(NOW))
    assert not book.clean(NOW + WEEK - 1)
    assert book.clean(NOW + WEEK)
    with pytest.raises(Refused, match="badly sealed"):
        book.open(under_way)
    assert fingerprint not in key


def test_a_new_key_is_taken_from_members_only_and_two_at_once_end_as_one(tmp_path: Path) -> None:
    stores = [Store(tmp_path / name) for name in ("a", "b")]
    ann, bob = (GroupBook(each, whom.device) for each, whom in zip(stores, (ANN, BOB), strict=True))
    choir = Group.new("choir")
    for book in (ann, bob):
        book.join(choir)
        for member in (ANN, BOB, EVE):
            book.add_member("choir", member.device)
    stranger = Identity.new().device
    of, key = ann.remove("choir", EVE.device, NOW)
    assert not bob.rekey(stranger, of, key, [], NOW)
    assert not bob.rekey(ANN.device, bytes(16), key, [], NOW)
    of_other, other = bob.remove("choir", EVE.device, NOW)
    assert of_other == of
    assert bob.rekey(ANN.device, of, key, [EVE.device], NOW)
    assert not bob.rekey(ANN.device, of, key, [EVE.device], NOW)
    assert ann.rekey(BOB.device, of, other, [EVE.device], NOW)
    assert ann.current("choir") == bob.current("choir")
    assert {key, other} == {group.key for group in ann.topics(NOW).values()} - {choir.key}
    assert not ann.rekey(EVE.device, of, bytes(32), [BOB.device], NOW)
    for each in stores:
        each.close()


def test_three_nodes_in_a_group_and_one_is_removed(tmp_path: Path) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            ann = await stack.enter_async_context(device(tmp_path, "ann", **PUSH))
            bob = await stack.enter_async_context(device(tmp_path, "bob", ann, **PUSH))
            eve = await stack.enter_async_context(device(tmp_path, "eve", ann, **PUSH))
            choir = Group.new("choir")
            bobs, eves = bob.subscribe(choir), eve.subscribe(choir)
            ann.join(choir)
            await until(lambda: len(ann.groups()["choir"]) == len(bob.groups()["choir"]) == 2)
            await ann.publish(ann.group("choir"), "rehearsal at eight")
            assert [(await anext(each)).text for each in (bobs, eves)] == ["rehearsal at eight"] * 2
            assert bob.last_delivery() == 1  # that people have joined is no message
            assert ann.remove_member("choir", eve.device) == 1
            await until(lambda: bob.group("choir") == ann.group("choir"))
            assert bob.groups() == {"choir": [ann.device]}
            await bob.publish(bob.group("choir"), "without Eve")
            got = await anext(ann.listen(ann.group("choir")))
            assert (got.text, got.topic, got.private, got.author) == ("without Eve", "choir", True, bob.device)
            assert eve.group("choir") == choir
            assert eve.last_delivery() == 1
        async with device(tmp_path, "bob", **PUSH) as bob:
            assert bob.groups() == {"choir": [ann.device]}
            bob.leave("choir")
            assert len(bob._store.subscriptions()) == 1  # its inbox

    play(scene())


def test_a_new_key_waits_for_a_member_whose_prekey_is_not_known_yet(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann", **PUSH) as ann:
            ann.join(Group.new("choir"))
            for member in (BOB, EVE):
                ann._private.groups.add_member("choir", member.device)
            assert ann.remove_member("choir", EVE.device) == 1
            assert ann.conversations() == []  # it is no message that anybody reads
            prekey, now = X25519PrivateKey.generate(), ann.now
            public = prekey.public_key().public_bytes_raw()
            announcement = Announcement.signed(BOB, public, now, now + KEPT)
            ann._private.hear("somebody", [announcement.to_bytes()], ann.now)
            contents = [ann._store.content(number) or b"" for number in ann._store.kept()]
            found = [read_publication(each, ann.now) for each in contents]
            (said,) = [each for each in found if each.topic == announcement.topic]
            writer, inside = unseal(prekey, said)
            assert (writer, inside["kind"], inside["removed"]) == (ann.device, "rekey", [EVE.device])
            assert inside["key"] == ann.group("choir").key
            assert ann._store.select("SELECT count(*) FROM letters") == [(0,)]

    play(scene())


def test_commands_for_people_and_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann", **PUSH) as ann, HttpServer(ann), device(tmp_path, "bob", ann, **PUSH) as bob:
            monkeypatch.setenv("HUNET_FOLDER", str(tmp_path / "ann"))
            await until(lambda: bool(ann.peers()))
            bob.name(ann.device, "Ann")
            ann.name(bob.device, "Bob")
            assert (await hunet("messages")).output == "no messages\n"
            assert (await hunet("send", "Bob", "dinner\nat eight?")).output == "waiting\n"
            assert (await hunet("send", "Bob", say="or nine?")).output == "waiting\n"
            await until(lambda: [letter.state for letter in ann.conversation("Bob")] == ["arrived"] * 2)
            await bob.send("Ann", "yes\x1b[2J\nBob: no")
            await until(lambda: len(ann.conversation("Bob")) == 3)
            listed = (await hunet("messages")).output
            assert re.fullmatch(r"Bob  1 new  \S+ \S+  yes\\x1b\[2J\\nBob: no\n", listed)
            shown = (await hunet("messages", "Bob")).output.splitlines()
            assert [line.partition("  ")[2] for line in shown] == [
                r"me: dinner\nat eight?  (arrived)",
                "me: or nine?  (arrived)",
                r"Bob: yes\x1b[2J\nBob: no",
            ]
            assert [one["read"] for one in json.loads((await hunet("messages", "Bob", "--json")).output)][-1]
            digits = " ".join((await hunet("verify", "Bob")).output.split()[:12])
            assert digits == bob.safety_number("Ann")[1]
            assert "not compared yet" in (await hunet("verify", "Bob")).output
            assert "compared, and the same" in (await hunet("verify", "Bob", "--same", "--qr")).output
            assert ann.book.entries()[bob.device].verified
            assert "not compared yet" in (await hunet("verify", "Bob", "--different")).output
            assert (await hunet("key")).output == f"hunet:{ann.device}\n"
            assert "█" in (await hunet("key", "--qr")).output
            await hunet("messages", "Bob", "--forget")
            assert (await hunet("messages", "Bob")).output == "no messages\n"
            await groups(ann, bob)

    async def groups(ann: Node, bob: Node) -> None:
        assert (await hunet("group", "list")).output == "no groups\n"
        assert (await hunet("group", "make", "the choir")).output == "the choir  nobody else yet\n"
        assert (await hunet("group", "make", "the choir")).exit_code != 0
        paper = tmp_path / "invitation"
        await hunet("group", "invite", "the choir", "-o", paper)
        assert stat.S_IMODE(paper.stat().st_mode) == 0o600
        invitation = (await hunet("group", "invite", "the choir")).output
        assert paper.read_text() == invitation
        assert "█" in (await hunet("group", "invite", "the choir", "--qr")).output
        messages = bob.subscribe(Group.from_invitation(invitation))
        await until(lambda: len(ann.groups()["the choir"]) == 1)
        assert (await hunet("group", "list")).output == "the choir  Bob\n"
        assert (await hunet("publish", "--group", "the choir", "at eight")).exit_code == 0
        assert (await anext(messages)).text == "at eight"
        assert "1 other" not in (await hunet("group", "remove", "the choir", "Bob")).output
        assert (await hunet("group", "leave", "the choir")).output == "no groups\n"
        assert (await hunet("group", "join", paper, "--name", "old choir")).output.startswith("old choir  ")
        assert (await hunet("group", "join", say=invitation)).output.startswith("old choir  ")
        refused = await hunet("publish", "--group", invitation.strip(), "at nine")
        assert "hunet group join" in str(refused.exception)
        for bad in (tmp_path / "none", tmp_path / "ann" / "hunet.db"):
            assert (await hunet("group", "join", bad)).exit_code != 0

    play(scene())


def test_whose_messages_are_blocked_are_hidden_wherever_they_come_from(tmp_path: Path) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            eve = await stack.enter_async_context(device(tmp_path, "eve", **PUSH))
            ann = await stack.enter_async_context(device(tmp_path, "ann", eve, **PUSH))
            bob = await stack.enter_async_context(device(tmp_path, "bob", eve, **PUSH))
            messages = bob.subscribe("news")
            await ann.publish("news", "one")
            await until(lambda: bob.last_delivery() == 1)
            await bob.block(ann.device)
            assert [delivery.text for delivery in bob.deliveries()] == []
            await ann.publish("news", "two")  # it comes by Eve
            await eve.publish("news", "three")
            assert (await anext(messages)).text == "three"
            assert [delivery.text for delivery in bob.deliveries()] == ["three"]
            await until(lambda: bob.status()["counters"].get("refused: blocked", 0) > 0)
            bob.unblock(ann.device)
            await ann.publish("news", "four")
            assert (await anext(messages)).text == "four"

    play(scene())


def test_everything_in_the_folder_is_its_owners_whatever_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "ann"
    folder.mkdir(mode=0o755)
    for name in ("hunet.db", "known.json", "lock"):
        (folder / name).write_bytes(b"{}" if name == "known.json" else b"")
        (folder / name).chmod(0o644)

    async def scene() -> None:
        async with device(tmp_path, "ann", **PUSH) as ann, HttpServer(ann), HttpServer(ann, "0.0.0.0:0"):
            ann.book.name(BOB.device, "Bob")
            await ann.publish("news", "hello")
            modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in folder.iterdir()}
            assert {"hunet.db", "hunet.db-wal", "hunet.db-shm", "known.json", "key.pem", "lock", "http-token"} <= set(
                modes
            )
            assert {name: oct(mode) for name, mode in modes.items() if mode & 0o177} == {}

    before = os.umask(0)
    try:
        play(scene())
    finally:
        os.umask(before)
