"""Links over real loopback sockets: one with each device, whoever dials, and none with those who misbehave."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hunet.model import ConfigurationError, PeerError
from hunet.node.discovery import Sighting, StaticPeers
from hunet.node.identity import Identity
from hunet.node.neighbourhood import Neighbourhood
from hunet.node.places import NeighbourLimits
from hunet.node.rate_limits import BoundedDict
from hunet.node.session import PeerFault, Session, SessionLimits, open_session
from hunet.node.trust import AddressBook
from tests.machine import needs_link_local
from tests.node.company import ByHand, Diary, Neighbour, narrow, neighbour, until

READY, KEEP, ASK, HAVE, LOST = (bytes([kind]) for kind in range(2, 7))


def first_and_second() -> tuple[Identity, Identity]:
    """Two identities, the chooser first."""
    a, b = sorted((Identity.new(), Identity.new()), key=lambda identity: identity.device)
    return a, b


async def call(callee: Neighbourhood, caller: Identity, host: str = "127.0.0.1") -> Session:
    """A session with a neighbourhood, held by the test itself."""
    stream = await asyncio.open_connection(*callee.address, local_addr=(host, 0))
    return await open_session(*stream, caller, True, SessionLimits(handshake_seconds=20.0))


async def link(callee: Neighbourhood, caller: Identity, host: str = "127.0.0.1") -> Session:
    """The same, agreed upon."""
    session = await call(callee, caller, host)
    if caller.device < callee.identity.device:
        assert await session.receive() == READY
        await session.send(KEEP)
    else:
        await session.send(READY)
        assert await session.receive() == KEEP
    await until(lambda: caller.device in callee.devices())
    return session


def test_a_sighting_becomes_a_link_and_frames_flow_both_ways(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann, neighbour(tmp_path) as bob:
            ann.sight(bob)
            await until(lambda: bool(ann.devices() and bob.devices()))
            frames = [b"", b"hello", bytes(200_000)]
            for frame in frames:
                await ann.send(bob.device, frame)
                await bob.send(ann.device, frame)
            await until(lambda: len(ann.diary.events) == len(bob.diary.events) == 4)
            await ann.drop(bob.device, "enough")
            await until(lambda: not bob.devices())
            assert ann.devices() == []
            for here, there in ((ann, bob), (bob, ann)):
                assert here.diary.events[:-1] == [("up", there.device), *((there.device, frame) for frame in frames)]
                assert there.device in here.book.entries()
            assert ann.diary.events[-1] == ("down", bob.device, "enough")
            assert bob.diary.events[-1][:2] == ("down", ann.device)
            assert not ann.refused
            assert not bob.refused

    asyncio.run(scene())


def dawdling(method: Callable[..., Any], rng: random.Random) -> Callable[..., Any]:
    async def slowly(*arguments: Any, **named: Any) -> Any:
        for _ in range(rng.choice((0, 1, 3, 10, 30))):
            await asyncio.sleep(0)
        result = await method(*arguments, **named)
        for _ in range(rng.choice((0, 0, 1, 3, 10))):
            await asyncio.sleep(0)
        return result

    return slowly


async def settled(*company: Neighbour) -> None:
    """Until nobody dials or shakes hands any more."""
    await until(
        lambda: all(
            not each._dialling and not each._silent and not each._shaking_hands and each.by_hand._sightings.empty()
            for each in company
        )
    )


@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(0, 150, 25)], ids=str)
def test_two_that_dial_each_other_at_the_same_moment_have_one_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    """Many interleavings, made by waiting for random times at every step; also with several dials from each end."""
    identities = first_and_second()

    async def scene(seed: int) -> None:
        rng = random.Random(seed)
        with monkeypatch.context() as patch:
            patch.setattr(Session, "send", dawdling(Session.send, rng))
            patch.setattr(Session, "receive", dawdling(Session.receive, rng))
            patch.setattr("hunet.node.neighbourhood.open_session", dawdling(open_session, rng))
            async with neighbour(tmp_path, identities[0]) as ann, neighbour(tmp_path, identities[1]) as bob:
                for dial in range(1 + seed % 3):
                    for here, there in ((ann, bob), (bob, ann)) if rng.random() < 0.5 else ((bob, ann), (ann, bob)):
                        here.sight(there, f"{dial}")
                await until(lambda: bool(ann.devices() and bob.devices()))
                await settled(ann, bob)
                await until(lambda: len(ann._open) == len(bob._open) == 1)
                assert ann._open == bob._open
                assert ann._links[bob.device].session.id == bob._links[ann.device].session.id
                await ann.send(bob.device, b"hello")
                await until(lambda: (ann.device, b"hello") in bob.diary.events)
                assert len(ann.diary.of("up")) == len(bob.diary.of("up")) == 1  # and it never flapped
                assert not ann.diary.of("down")
                assert not bob.diary.of("down")
                assert not ann.refused
                assert not bob.refused

    for seed in seeds:
        asyncio.run(scene(seed))


def test_a_crowd_that_all_dials_everybody_has_one_session_for_each_pair(tmp_path: Path) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(neighbour(tmp_path)) for _ in range(6)]
            for each in crowd:
                for other in crowd:
                    if other is not each:
                        each.sight(other)
            await until(lambda: all(len(each.devices()) == 5 for each in crowd))
            await settled(*crowd)
            await until(lambda: all(len(each._open) == 5 for each in crowd))
            assert all(len(each.diary.of("up")) == 5 and not each.diary.of("down") for each in crowd)

    asyncio.run(scene())


@pytest.mark.parametrize("chooser_restarts", [True, False])
def test_a_device_that_was_restarted_is_linked_at_once(tmp_path: Path, chooser_restarts: bool) -> None:
    """The other end still believes in the old session, which is dead; it must not wait until it has noticed."""
    first, second = first_and_second()
    restarted, other = (first, second) if chooser_restarts else (second, first)

    async def scene() -> None:
        async with neighbour(tmp_path, other) as stays:
            dead = await link(stays, restarted)  # nobody will ever answer there
            async with neighbour(tmp_path, restarted) as again:
                again.sight(stays)
                await until(lambda: other.device in again.devices())
                await until(lambda: len(stays.diary.of("up")) == 2)
                assert stays.reasons == ["replaced" if chooser_restarts else "lost"]
                assert again.reasons == []
                await stays.send(restarted.device, b"welcome back")
                await until(lambda: (other.device, b"welcome back") in again.diary.events)
            dead.abort()

    asyncio.run(scene())


@pytest.mark.parametrize("sender_cuts", [True, False])
def test_a_link_that_is_cut_in_mid_transfer_leaves_nothing_half_and_comes_back(
    tmp_path: Path, sender_cuts: bool
) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann, neighbour(tmp_path) as bob:
            for cuts in range(1, 4):
                ann.sight(bob)
                await until(lambda: bool(ann.devices() and bob.devices()))
                writer = ann._links[bob.device].session._writer
                narrow(writer)
                sending = asyncio.create_task(ann.send(bob.device, bytes(4 << 20)))
                while not writer.transport.get_write_buffer_size() and not sending.done():
                    await asyncio.sleep(0)
                (ann._links[bob.device] if sender_cuts else bob._links[ann.device]).session.abort()
                with pytest.raises(PeerFault):
                    await sending
                await until(lambda: not ann.devices() and not bob.devices())
                assert len(bob.diary.events) == 2 * cuts  # up, down, and never a part of a frame
            assert {*ann.reasons, *bob.reasons} <= {"closed", "cut off"}
            assert not ann.refused
            assert not bob.refused

    asyncio.run(scene())


def test_link_local_addresses_can_be_dialled(tmp_path: Path) -> None:
    """As beacons over IPv6 report them, with the number of the interface behind them."""
    address, interface = needs_link_local()

    async def scene() -> None:
        async with neighbour(tmp_path) as ann, neighbour(tmp_path, listen=("", 0)) as bob:
            host = ":".join(address[start : start + 4] for start in range(0, 32, 4))
            ann.by_hand.sight(Sighting(f"{host}%{interface}", bob.address[1]))
            await until(lambda: bool(ann.devices() and bob.devices()))

    asyncio.run(scene())


def test_a_device_that_is_linked_is_not_dialled_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann, neighbour(tmp_path) as bob:
            ann.sight(bob, "0123")
            await until(lambda: bool(ann.devices() and bob.devices()))
            for _ in range(50):
                ann.sight(bob, "0123")
            await settled(ann)
            ann._sighted(bob_again := _sighting(bob, "0123"))
            assert not ann._dialling
            await bob.drop(ann.device, "on purpose")
            await until(lambda: not ann.devices())
            ann.by_hand.sight(bob_again)  # and when it is gone, it is
            await until(lambda: bool(ann.devices() and bob.devices()))

    asyncio.run(scene())


def _sighting(other: Neighbour, short_id: str) -> Sighting:
    return Sighting("127.0.0.1", other.address[1], short_id)


def test_nobody_there_is_tried_again_later_and_later(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            async with neighbour(tmp_path) as gone:
                nowhere = _sighting(gone, "")
            pauses = []
            for _ in range(8):
                ann._retry = _paused_no_more(ann)
                ann._sighted(nowhere)
                assert ann._dialling
                await settled(ann)
                pauses.append(ann._retry[nowhere.host, nowhere.port].seconds)
                ann._sighted(nowhere)
                assert not ann._dialling
            assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
            ann._sighted(Sighting("host that is none \0", 1))
            ann._sighted(Sighting("name.invalid", 1))
            await settled(ann)

    asyncio.run(scene())


def test_forged_beacons_do_not_make_a_scanner_of_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dialled = []

    async def nobody(*address: Any) -> None:
        dialled.append(address)
        raise ConnectionRefusedError

    async def scene() -> None:
        monkeypatch.setattr(asyncio, "open_connection", nobody)
        async with neighbour(tmp_path, limits=NeighbourLimits(dials=4)) as ann:
            for port in range(1, 1000):
                ann._sighted(Sighting("192.0.2.7", port, f"{port}"))
                assert len(ann._dialling) <= 4
                if port % 4 == 0:
                    await settled(ann)
            assert 8 <= len(dialled) < 100

    asyncio.run(scene())


def _paused_no_more(ann: Neighbour) -> Any:
    pauses = BoundedDict[Any, Any](10)
    for key, pause in ann._retry.items():
        pauses[key] = msgspec.structs.replace(pause, until=pause.until - pause.seconds)
    return pauses


def test_a_device_does_not_link_with_itself(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            ann.sight(ann)
            await until(lambda: ann.refused["ourselves"] == 2)  # as caller and as callee
            await settled(ann)
            ann.sight(ann)
            await settled(ann)
            assert not ann.diary.events
            assert ann.refused == {"ourselves": 2}

    asyncio.run(scene())


def test_a_blocked_device_is_refused_whoever_dials(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann, neighbour(tmp_path) as eve:
            ann.book.block(eve.device)
            eve.sight(ann)
            await until(lambda: ann.refused["blocked"] == 1)
            await settled(eve)
            ann.sight(eve)
            await until(lambda: ann.refused["blocked"] == 2)
            await settled(ann, eve)
            assert not ann.diary.events
            assert not eve.diary.events

    asyncio.run(scene())


def test_silence_ends_a_link_and_signs_of_life_keep_it(tmp_path: Path) -> None:
    async def scene() -> None:
        quick: dict[str, Any] = {"keepalive": 0.05, "silence": 1.0}
        async with neighbour(tmp_path, **quick) as ann, neighbour(tmp_path, **quick) as bob:
            ann.sight(bob)
            await until(lambda: bool(ann.devices() and bob.devices()))
            mute = await link(ann, Identity.new())
            await until(lambda: not {mute.device} & set(ann.devices()) and len(ann.devices()) == 1)
            assert ann.reasons == ["silent"]  # while the two who show life are still linked
            assert bob.reasons == []
            assert not ann.refused  # to walk away is no crime
            mute.abort()

    asyncio.run(scene())


def test_a_neighbour_that_takes_nothing_is_dropped_and_holds_no_memory(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path, keepalive=0.05, silence=0.1) as ann:
            eve = Identity.new()
            deaf = await link(ann, eve)
            with pytest.raises(PeerFault, match=r"stalled|silent|cut off"):
                for _ in range(100):
                    await ann.send(eve.device, bytes(1 << 20))
            await until(lambda: not ann.devices())
            assert ann.reasons[0] in {"stalled", "silent"}
            with pytest.raises(PeerFault, match="not linked"):
                await ann.send(eve.device, b"")
            deaf.abort()

    asyncio.run(scene())


def test_a_flood_of_signs_of_life_is_a_flood(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            session = await link(ann, Identity.new())
            with pytest.raises(PeerFault):
                for _ in range(1_000_000):
                    await session.send(b"\x01")
                    await asyncio.sleep(0)
            await until(lambda: ann.reasons == ["flooding"])
            assert ann.refused == {"flooding": 1}
            session.abort()

    asyncio.run(scene())


def test_whoever_sends_faster_than_allowed_is_slowed_down(tmp_path: Path) -> None:
    async def scene() -> None:
        limits = NeighbourLimits(frames_per_second=200.0)
        async with neighbour(tmp_path, limits=limits) as ann:
            session = await link(ann, Identity.new())
            began = asyncio.get_running_loop().time()
            for _ in range(240):
                await session.send(b"\x00x")
            await until(lambda: len(ann.diary.events) == 241)
            assert asyncio.get_running_loop().time() - began > 0.15
            session.abort()

    asyncio.run(scene())


@pytest.mark.parametrize("frame", [b"", b"\x02", b"\x03", b"\x04" + bytes(32), b"\x01\x01", b"\xff" * 9])
def test_a_frame_of_no_known_kind_ends_the_link_and_has_a_price(tmp_path: Path, frame: bytes) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            eve = Identity.new()
            session = await link(ann, eve)
            await session.send(frame)
            await until(lambda: ann.reasons == ["malformed"])
            again = await call(ann, eve)
            await until(lambda: ann.refused["misbehaved lately"] == 1)
            assert ann.refused == {"malformed": 1, "misbehaved lately": 1}
            assert ann._penalties[eve.device].seconds == 30.0
            for each in (session, again):
                each.abort()

    asyncio.run(scene())


@pytest.mark.parametrize("chooses", [True, False])
@pytest.mark.parametrize("frame", [b"", b"\x00early", HAVE, b"\xff"])
def test_nonsense_in_place_of_agreement(tmp_path: Path, frame: bytes, chooses: bool) -> None:
    first, second = first_and_second()

    async def scene() -> None:
        async with neighbour(tmp_path, first if chooses else second) as ann:
            session = await call(ann, second if chooses else first)
            await session.send(frame)
            await until(lambda: ann.refused["malformed"] == 1)
            assert not ann.diary.events
            session.abort()

    asyncio.run(scene())


def test_nonsense_in_answer_to_a_question(tmp_path: Path) -> None:
    first, second = first_and_second()

    async def scene() -> None:
        async with neighbour(tmp_path, first) as ann:
            good = await link(ann, second)
            odd = await call(ann, second)
            await odd.send(READY)
            assert await odd.receive() == ASK + good.id
            await odd.send(b"perhaps")
            await until(lambda: ann.refused["malformed"] == 1)
            assert ann.devices() == [second.device]
            for each in (good, odd):
                each.abort()

    asyncio.run(scene())


def test_a_follower_says_what_it_has_and_what_it_has_lost(tmp_path: Path) -> None:
    first, second = first_and_second()

    async def scene() -> None:
        async with neighbour(tmp_path, second) as bob:
            old = await link(bob, first)
            new = await call(bob, first)
            assert await new.receive() == READY
            for question, answer in ((old.id, HAVE), (new.id, HAVE), (bytes(32), LOST), (b"", LOST)):
                await new.send(ASK + question)
                assert await new.receive() == answer
            await new.send(KEEP)
            await until(lambda: len(bob.diary.of("up")) == 2)
            assert bob.diary.events == [("up", first.device), ("down", first.device, "replaced"), ("up", first.device)]
            for each in (old, new):
                each.abort()

    asyncio.run(scene())


class Strict(Diary):
    """A listener that does not like what it hears."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def frame(self, device: str, data: bytes) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason", "counted"),
    [
        (PeerFault("a lie"), "a lie", {"a lie": 1}),
        (PeerError("something"), "malformed", {"malformed": 1}),
        (ZeroDivisionError(), "our own error", {}),
    ],
)
def test_what_the_listener_does_not_accept_ends_the_link(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception, reason: str, counted: dict[str, int]
) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path, diary=Strict(error)) as ann:
            session = await link(ann, Identity.new())
            await session.send(b"\x00anything")
            await until(lambda: ann.reasons == [reason])
            assert ann.refused == counted
            session.abort()

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    assert bool(caplog.records) == (not counted)


def test_a_listener_may_drop_whom_it_is_listening_to(tmp_path: Path) -> None:
    class Touchy(Diary):
        ann: Neighbour

        async def frame(self, device: str, data: bytes) -> None:
            await super().frame(device, data)
            await self.ann.drop(device, "rude")
            self.events.append(("dropped",))

    async def scene() -> None:
        touchy, eve = Touchy(), Identity.new()
        async with neighbour(tmp_path, diary=touchy) as ann:
            touchy.ann = ann
            session = await link(ann, eve)
            for _ in range(3):
                await session.send(b"\x00!")
            await until(lambda: ann.reasons == ["rude"])
            assert ann.diary.events[1:] == [(eve.device, b"!"), ("dropped",), ("down", eve.device, "rude")]
            session.abort()

    asyncio.run(scene())


def test_a_listener_that_is_slow_hears_the_end_last(tmp_path: Path) -> None:
    class Slow(Diary):
        def __init__(self) -> None:
            super().__init__()
            self.started, self.go_on = asyncio.Event(), asyncio.Event()

        async def frame(self, device: str, data: bytes) -> None:
            self.started.set()
            await self.go_on.wait()
            await super().frame(device, data)

    async def scene() -> None:
        slow = Slow()
        async with neighbour(tmp_path, diary=slow) as ann:
            session = await link(ann, Identity.new())
            await session.send(b"\x00late")
            await slow.started.wait()
            dropping = asyncio.create_task(ann.drop(ann.devices()[0], "bye"))
            await asyncio.sleep(0.01)
            assert not dropping.done()
            assert ann.diary.of("down") == []
            slow.go_on.set()
            await dropping
            assert [len(event) for event in ann.diary.events] == [2, 2, 3]
            session.abort()

    asyncio.run(scene())


def test_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    """The oldest connection of the host that has most goes; whoever says something needs a place for a moment only."""

    async def scene() -> None:
        async with neighbour(tmp_path, limits=NeighbourLimits(silent=3)) as ann:
            other = (await asyncio.open_connection(*ann.address, local_addr=("127.0.0.2", 0)))[1]
            await until(lambda: len(ann._silent) == 1)
            writers = [(await asyncio.open_connection(*ann.address))[1] for _ in range(10)]
            await until(lambda: ann.refused["too many handshakes"] == 8)
            assert list(ann._silent.values()) == ["127.0.0.2", "127.0.0.1", "127.0.0.1"]
            session = await link(ann, Identity.new())
            assert ann.refused["too many handshakes"] == 9
            for writer in (other, *writers):
                writer.transport.abort()
            await settled(ann)
            session.abort()

    asyncio.run(scene())


def test_nothing_is_computed_for_who_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            signed: list[bytes] = []
            monkeypatch.setattr(ann.identity, "sign", signed.append, raising=False)
            writers = [(await asyncio.open_connection(*ann.address))[1] for _ in range(10)]
            await until(lambda: len(ann._silent) == 10)
            for writer in writers:
                writer.transport.abort()
            await settled(ann)
            assert not signed

    asyncio.run(scene())


def test_strangers_who_connect_and_say_nothing_are_shown_out(tmp_path: Path) -> None:
    first, second = first_and_second()

    async def scene() -> None:
        async with neighbour(tmp_path, first, limits=NeighbourLimits(handshake_seconds=1.0)) as ann:
            _, writer = await asyncio.open_connection(*ann.address)
            session = await call(ann, second)  # who is known now, but is never ready
            await until(lambda: ann.refused["slow handshake"] == 2)
            writer.transport.abort()
            session.abort()

    asyncio.run(scene())


def test_there_are_only_so_many_neighbours(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path, limits=NeighbourLimits(neighbours=2, turn_seconds=inf)) as ann:
            sessions = [await link(ann, Identity.new()) for _ in range(2)]
            sessions.append(await call(ann, Identity.new()))
            await until(lambda: ann.refused["too many neighbours"] == 1)
            assert len(ann.devices()) == 2
            for session in sessions:
                session.abort()

    asyncio.run(scene())


def test_strangers_take_turns_and_those_of_a_crowd_make_way(tmp_path: Path) -> None:
    """Of two hosts, the one with more links loses one; a stranger of that host cannot push out one of the other."""
    limits = NeighbourLimits(neighbours=3, turn_seconds=0.0)

    async def scene() -> None:
        async with neighbour(tmp_path, limits=limits) as ann:
            lonely, crowd = Identity.new(), [Identity.new() for _ in range(4)]
            sessions = [await link(ann, lonely, "127.0.0.2")]
            for each in crowd:
                sessions.append(await link(ann, each))
                await until(lambda: len(ann.devices()) <= 3)
            assert ann.devices() == [lonely.device, crowd[2].device, crowd[3].device]
            assert ann.reasons == ["made room"] * 2
            for session in sessions:
                session.abort()

    asyncio.run(scene())


def test_places_are_kept_for_devices_that_are_known(tmp_path: Path) -> None:
    limits = NeighbourLimits(neighbours=4, places_for_known=1, turn_seconds=inf)

    async def scene() -> None:
        async with neighbour(tmp_path, limits=limits) as ann:
            friend, old, sessions = Identity.new(), Identity.new(), []
            ann.book.saw(old.device, 1000.0)  # long ago
            ann.book.name(friend.device, "Fran")
            for each in [Identity.new() for _ in range(3)]:
                sessions.append(await link(ann, each))
            sessions.append(await call(ann, Identity.new()))
            await until(lambda: ann.refused["too many neighbours"] == 1)
            sessions.append(await link(ann, friend))
            ann._places._limits = NeighbourLimits(neighbours=4, places_for_known=1, turn_seconds=0.0)
            sessions.append(await link(ann, old))
            await until(lambda: len(ann.devices()) == 4)
            assert ann.devices()[2:] == [friend.device, old.device]
            for session in sessions:
                session.abort()

    asyncio.run(scene())


def test_what_strangers_bring_is_limited_by_how_often_it_is_passed_on(tmp_path: Path) -> None:
    """Whoever brings more than its share waits while others have used up the rest, and makes way before others do."""
    limits = NeighbourLimits(
        neighbours=4, places_for_known=1, turn_seconds=0.0, passed_on_per_second=0.2, brought_per_second=1e-6
    )

    async def scene() -> None:
        async with neighbour(tmp_path, limits=limits) as ann:
            alone, friend, modest, late = (Identity.new() for _ in range(4))
            sessions = [await link(ann, alone)]
            await ann.allow(alone.device, 1000)  # there is nobody to whom that could be passed on
            ann.book.name(friend.device, "Fran")
            sessions += [await link(ann, modest), await link(ann, friend)]
            await ann.allow(alone.device, 1)  # twice to be passed on, which is what fits
            await ann.allow(friend.device, 1000)
            waiting = asyncio.create_task(ann.allow(alone.device, 1))
            await ann.send(modest.device, b"said nothing for longer than the other, and waits for nothing")
            ann._links[modest.device].used -= 100.0
            while ann._links[alone.device].brought < 1002:
                await asyncio.sleep(0)
            assert not waiting.done()
            sessions += [await link(ann, each) for each in (late, Identity.new())]
            await waiting
            assert alone.device not in ann.devices()
            assert {modest.device, friend.device, late.device} <= set(ann.devices())
            for session in sessions:
                session.abort()

    asyncio.run(scene())


def test_frames_have_a_limit(tmp_path: Path) -> None:
    async def scene() -> None:
        limits = NeighbourLimits(frame_bytes=1000)
        async with neighbour(tmp_path, limits=limits) as ann, neighbour(tmp_path) as bob:
            bob.sight(ann)
            await until(lambda: bool(ann.devices() and bob.devices()))
            with pytest.raises(ValueError, match="1001 bytes"):
                await ann.send(bob.device, bytes(1001))
            await ann.send(bob.device, bytes(1000))
            await bob.send(ann.device, bytes(1000))
            await until(lambda: len(ann.diary.events) == len(bob.diary.events) == 2)
            await bob.send(ann.device, bytes(1001))
            await until(lambda: ann.reasons == ["oversized"])

    asyncio.run(scene())


def test_closing_ends_all_links_and_tells_why(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            async with neighbour(tmp_path) as bob:
                ann.sight(bob)
                await until(lambda: bool(ann.devices() and bob.devices()))
                await bob.send(ann.device, b"last words")
            assert bob.reasons == ["closing"]
            await until(lambda: ann.reasons == ["closed"])
            assert (bob.device, b"last words") in ann.diary.events

    asyncio.run(scene())


def test_static_peers_find_each_other_without_anything_else(tmp_path: Path) -> None:
    async def scene() -> None:
        async with neighbour(tmp_path) as bob:
            host, port = bob.address
            peers = StaticPeers([f"{host}:{port}"])
            ann = Neighbourhood(Identity.new(), AddressBook(tmp_path / "ann.json"), [peers], listen=("", 0))
            diary = Diary()
            await ann.start(diary)
            await until(lambda: bool(ann.devices()))
            assert diary.events == [("up", bob.device)]
            await ann.close()
            assert diary.events[1:] == [("down", bob.device, "closing")]

    asyncio.run(scene())


def test_an_address_book_that_cannot_be_written_is_no_reason_to_be_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        (tmp_path / "file").write_text("")
        async with neighbour(tmp_path) as ann:
            ann.book._path = tmp_path / "file" / "book.json"
            session = await link(ann, Identity.new())
            await session.send(b"\x00hello")
            await until(lambda: len(ann.diary.events) == 2)
            session.abort()

    with caplog.at_level(logging.WARNING):
        asyncio.run(scene())
    assert "cannot be written" in caplog.text


def test_settings_that_cannot_work(tmp_path: Path) -> None:
    book = AddressBook(tmp_path / "book.json")
    with pytest.raises(ConfigurationError, match="cannot work"):
        Neighbourhood(Identity.new(), book, keepalive=10, silence=10)

    async def scene() -> None:
        async with neighbour(tmp_path) as ann:
            with pytest.raises(ConfigurationError, match=r"cannot listen on 127\.0\.0\.1"):
                await Neighbourhood(Identity.new(), book, listen=ann.address).start(Diary())

            class Broken(ByHand):
                async def start(self, port: int) -> None:
                    raise ConfigurationError("no radio")

            first = ByHand()
            with pytest.raises(ConfigurationError, match="no radio"):
                await Neighbourhood(Identity.new(), book, [first, Broken()]).start(Diary())
            with pytest.raises(StopAsyncIteration):
                await first.__anext__()  # closed again

    asyncio.run(scene())


def test_what_is_remembered_of_strangers_is_bounded() -> None:
    memory: BoundedDict[int, int] = BoundedDict(3)
    for number in (1, 2, 3, 1, 4):
        memory[number] = number
    assert list(memory) == [3, 1, 4]
