"""Bundles out of one running node and into another: as files, over MTCP, signed or not, by the commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hunet.model import HunetError
from hunet.node.bundles import Bundle, dtn_time, payload
from hunet.node.gateway import Gateway, bundle_of, load_bundle
from hunet.node.holdings import Quotas
from hunet.node.http.server import HttpServer
from hunet.node.mtcp import MtcpPort, send_bundles
from hunet.node.node import Node
from hunet.node.publication import Publication
from hunet.pipeline.formats import choose_format
from hunet.pipeline.sources import find_files, read_head


def run(play: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await play()

    asyncio.run(bounded())


def alone(folder: Path, **settings: Any) -> Node:
    """A node that nobody finds."""
    return Node(folder, listen="127.0.0.1:0", beacons=False, **settings)


@pytest.fixture
def bundle(hunet: Any) -> Callable[..., Awaitable[Any]]:
    """The command, in another thread than the nodes."""
    return partial(asyncio.to_thread, hunet, "bundle")


def foreign(text: bytes = b"it rains") -> Bundle:
    return Bundle(
        "dtn://elsewhere/~weather",
        "dtn://station/",
        created=dtn_time(1_790_000_000),
        lifetime=10**14,
        blocks=(payload(text),),
    )


def test_bundles_go_from_node_to_node_as_files(tmp_path: Path, bundle: Any) -> None:
    ann_folder, bob_folder, stick = tmp_path / "ann", tmp_path / "bob", tmp_path / "stick"

    async def play() -> None:
        async with alone(ann_folder) as ann, alone(bob_folder) as bob, HttpServer(bob):
            news = await ann.publish("news", "hello")
            weather = await ann.publish("weather", "it rains")
            told = await bundle("export", "-d", ann_folder, "-o", stick)
            assert told == (0, f"{stick}: 2 publications as bundles\n", "")
            assert load_bundle(stick / f"{news.id}.bundle") == bundle_of(news)
            assert (await bundle("export", "-d", ann_folder, "-o", stick, "--topic", "none"))[1].endswith(
                "0 publications as bundles\n"
            )
            told = await bundle("export", "-d", ann_folder, "--group", "fc", "-o", tmp_path / "one", weather.id[:9])
            assert told == (0, f"{tmp_path / 'one'}: 1 publications as bundles\n", "")
            assert load_bundle(tmp_path / "one" / f"{weather.id}.bundle").destination == "dtn://fc/~weather"

            heard = bob.subscribe("news")
            assert await bundle("import", "-d", bob_folder, stick) == (
                0,
                "2 new publications, 0 known already, 0 bundles refused\n",
                "",
            )
            delivery = await anext(heard)
            assert (delivery.id, delivery.author, delivery.text) == (news.id, ann.device, "hello")
            assert "0 new publications, 2 known already" in (await bundle("import", "-d", bob_folder, stick))[1]
            assert await bundle("export", "-d", bob_folder, "-o", tmp_path / "again") == (
                0,
                f"{tmp_path / 'again'}: 2 publications as bundles\n",
                "",
            )
            for path in stick.iterdir():
                assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), "the same wherever exported"

            (stick / "bad.bundle").write_bytes(b"\x9f")
            (stick / "foreign.bundle").write_bytes(foreign().to_bytes())
            status, said, problem = await bundle("import", "-d", bob_folder, stick)
            assert status == 1
            assert "bad.bundle: the bundle is cut short: primary block is missing\n" in problem
            assert "foreign.bundle: the payload is not a signed publication" in problem
            assert "0 new publications, 2 known already, 2 bundles refused" in said
            told = await bundle("import", "-d", bob_folder, stick / "foreign.bundle", "--accept-unsigned")
            assert told == (0, "1 new publications, 0 known already, 0 bundles refused\n", "")
        async with alone(bob_folder) as bob:  # all of it is on the disk
            assert bob.status()["held"] == 3

    run(play)


def test_what_was_brought_travels_on(tmp_path: Path) -> None:
    """To a device that meets the one it was brought to, and never the author."""

    async def play() -> None:
        async with (
            alone(tmp_path / "ann") as ann,
            alone(tmp_path / "bob", protocol="push") as bob,
            alone(tmp_path / "eve", protocol="push", peers=[bob.address]) as eve,
        ):
            heard = eve.subscribe("news")
            news = await ann.publish("news", "hello")
            assert await Gateway(bob).take(bundle_of(news)) == (news, True)
            delivery = await anext(heard)
            assert (delivery.id, delivery.author, delivery.hops) == (news.id, ann.device, 1)

    run(play)


def test_bundles_go_from_node_to_node_over_mtcp(tmp_path: Path, bundle: Any) -> None:
    async def play() -> None:
        async with (
            alone(tmp_path / "ann") as ann,
            alone(tmp_path / "bob") as bob,
            MtcpPort(Gateway(bob)) as signed,
            MtcpPort(Gateway(bob, accept_unsigned=True)) as any_,
        ):
            heard, weather = bob.subscribe("news"), bob.subscribe("weather")
            await ann.publish("news", "hello")
            address = f"{signed.host}:{signed.port}"
            assert await bundle("export", "-d", tmp_path / "ann", "--mtcp", address) == (
                0,
                f"{address}: 1 publications as bundles\n",
                "",
            )
            assert (await anext(heard)).text == "hello"
            await send_bundles(signed.host, signed.port, [foreign(), bundle_of(await ann.publish("news", "more"))])
            assert (await anext(heard)).text == "more"
            assert signed.refused == {"refused": 1}
            assert bob.status()["counters"]["refused: bundle"] == 1
            await send_bundles(any_.host, any_.port, [foreign()])
            delivery = await anext(weather)
            assert (delivery.text, delivery.author) == ("it rains", bob.device)

    run(play)


def test_what_is_brought_keeps_within_the_quotas(tmp_path: Path) -> None:
    async def play() -> None:
        async with alone(tmp_path / "bob", quotas=Quotas(total=3000)) as bob:
            async with alone(tmp_path / "ann") as ann:
                said = [await ann.publish("news", bytes(900)) for _ in range(6)]
            for each in said:
                await Gateway(bob).take(bundle_of(each))
            assert bob.status()["held_bytes"] <= 3000
            full = Publication.signed(bob.identity, "x", bytes(4000), created=bob.now, ttl=60.0)
            with pytest.raises(HunetError, match="more exceed the quota of 3000"):
                await Gateway(bob)(bundle_of(full))

    run(play)


def test_bad_commands_say_what_to_do(tmp_path: Path, bundle: Any) -> None:
    async def play() -> None:
        folder = tmp_path / "ann"
        for words, reason in (
            (("export", "-d", folder, "-o", tmp_path), "ann: is not the folder of a node"),
            (("export", "-d", folder), "say where the bundles go: -o DIR, or --mtcp HOST:PORT"),
            (("import", "-d", folder, tmp_path), "no node is running in"),
            (("show", tmp_path), "has no files that end with .bundle"),
        ):
            told = await bundle(*words)
            assert told.status == 1
            assert reason in told.err
        async with alone(folder) as ann:
            await ann.publish("news", "hello")
            told = await bundle("export", "-d", folder, "-o", tmp_path, "zz1")
            assert "no publication zz1 is held by" in told.err
            told = await bundle("export", "-d", folder, "--mtcp", "nowhere")
            assert "is no address: write HOST:PORT" in told.err

    run(play)


def test_bundles_are_shown(tmp_path: Path, bundle: Any) -> None:
    async def play() -> None:
        (tmp_path / "a.bundle").write_bytes(foreign().to_bytes())
        (tmp_path / "b.bundle").write_bytes(
            Bundle("ipn:1.2", "ipn:3.4", created=(1 << 64) - 1, lifetime=1, blocks=(payload(b""),)).to_bytes()
        )
        first, second = (await bundle("show", tmp_path, "--json")).json
        assert (first["destination"], first["created"]) == ("dtn://elsewhere/~weather", "2026-09-21 14:13:20.000+00:00")
        assert first["carries"].startswith("8 bytes; the payload is not a signed publication")
        assert second["created"] == "18446744073709551615 ms after 2000"
        told = await bundle("show", tmp_path / "a.bundle")
        assert told.status == 0
        assert "source         dtn://station/\n" in told.out

    run(play)


def test_the_logs_of_a_trial_agree_on_who_is_who(tmp_path: Path) -> None:
    """So that what both ends write down becomes one contact of a trace."""

    async def play(trial: str | None) -> list[list[dict[str, Any]]]:
        place = tmp_path / str(trial)
        async with (
            asyncio.timeout(30),
            alone(place / "ann", trial=trial) as ann,
            alone(place / "bob", trial=trial, peers=[ann.address]) as bob,
        ):
            heard = bob.subscribe("news")
            await ann.publish("news", "hello")
            await anext(heard)
            assert [each["end"] for each in bob.log()] == [None]
        found = []
        for name in ("ann", "bob"):
            async with alone(place / name, trial=trial) as node:
                found.append(list(node.log()))
                assert node.device not in str(found[-1])
        return found

    for trial, agree in (("spring", True), (None, False)):
        (one,), (other,) = asyncio.run(play(trial))
        assert (one["met"] == other["device"]) is (one["device"] == other["met"]) is agree
        assert one["start"] < one["end"]
        log = tmp_path / f"{trial}.jsonl"
        log.write_text(json.dumps(one) + "\n" + json.dumps(other) + "\n")
        assert choose_format([read_head(find_files(log)[0][0])]).name == "encounters"
