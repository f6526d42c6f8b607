"""How much a node does for a message, in signatures and commits; and followers who do not take from each other."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from hunet.model import HunetError
from hunet.node import identity, publication
from hunet.node.http.client import NodeClient
from hunet.node.http.server import HttpServer
from hunet.node.node import Node
from hunet.node.store import Store
from tests.node.company import until

MANY = 100


def device(folder: Path, *peers: Node) -> Node:
    return Node(folder, "push", listen="127.0.0.1:0", beacons=False, peers=[each.address for each in peers])


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    done: Counter[str] = Counter()
    verify, commit, rows = identity.verify, Store.commit, Store.next_deliveries

    def counted_verify(*given: object) -> bool:
        done["signature checks"] += 1
        return verify(*given)  # type: ignore[arg-type]

    def counted_commit(store: Store) -> None:
        done["commits"] += store._sqlite.in_transaction
        commit(store)

    def counted_rows(store: Store, *given: object) -> object:
        found = rows(store, *given)  # type: ignore[arg-type]
        done["looks"] += 1
        done["rows"] += len(found)
        return found

    monkeypatch.setattr(publication, "verify", counted_verify)
    monkeypatch.setattr(Store, "commit", counted_commit)
    monkeypatch.setattr(Store, "next_deliveries", counted_rows)
    return done


def test_one_commit_a_publication_and_one_signature_check_a_message(tmp_path: Path, work: Counter[str]) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann") as ann:
            work.clear()
            for number in range(MANY):
                await ann.publish("news", str(number))
            assert work["commits"] == MANY
            async with device(tmp_path / "bob", ann) as bob:
                messages = bob.subscribe("news")
                await until(lambda: bob.status()["waiting"] == MANY)
                before = work["commits"]
                for _ in range(MANY):
                    await anext(messages)
                messages.taken()
                assert work["signature checks"] == MANY
                assert work["commits"] == before  # what is taken is written with others, a moment later
                assert work["rows"] == MANY
                assert work["looks"] < 6
                await until(lambda: work["commits"] > before)
                assert bob.status()["waiting"] == 0

    asyncio.run(scene())


def test_arrivals_are_committed_together(tmp_path: Path, work: Counter[str]) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann") as ann:
            for number in range(MANY):
                await ann.publish("news", str(number))
            async with device(tmp_path / "bob") as bob:
                bob.subscribe("news")
                work.clear()
                async with device(tmp_path / "carl", ann) as carl:
                    carl.subscribe("news")
                    await until(lambda: carl.status()["waiting"] == MANY)
                    assert work["commits"] < 16  # packets begin with 4 messages, so there are three more of them

    asyncio.run(scene())


def test_two_followers_of_one_topic_each_get_everything(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann") as ann, device(tmp_path / "bob", ann) as bob:
            bob.subscribe("news").close()
            for number in range(3):
                await ann.publish("news", str(number))
            await until(lambda: bob.status()["waiting"] == 3)
            quick, slow = bob.listen("news"), bob.listen("news")
            heard = [(await anext(quick)).text for _ in range(3)]
            await ann.publish("news", "3")
            heard.append((await anext(quick)).text)
            quick.taken()
            assert [(await anext(slow)).text for _ in range(4)] == heard
            assert bob.listen("news").at_once() is None  # who begins now gets what nobody has taken

    asyncio.run(scene())


def test_two_followers_over_the_socket_each_get_everything_also_over_a_restart(tmp_path: Path) -> None:
    def ask(place: tuple[int, int | None]) -> tuple[list[str], tuple[int, int]]:
        after, since = place
        client = NodeClient(tmp_path / "bob")
        said = client.ask("POST", "deliveries", "next", topic="news", after=after, since=since, most=2, wait=0.05)
        found = [said["message"], *said["more"]] if said["message"] else []
        return [each["text"] for each in found], (found[-1]["number"] if found else after, said["since"])

    async def scene() -> None:
        async with device(tmp_path / "ann") as ann:
            async with device(tmp_path / "bob", ann) as bob, HttpServer(bob):
                bob.subscribe("news").close()
                _, slow = await asyncio.to_thread(ask, (0, None))
                for number in range(4):
                    await ann.publish("news", str(number))
                await until(lambda: bob.status()["waiting"] == 4)
                first, quick = await asyncio.to_thread(ask, (0, None))
                second, quick = await asyncio.to_thread(ask, quick)
                await asyncio.to_thread(ask, quick)
                assert len(first) == len(second) == 2
                assert bob.status()["waiting"] == 0
            async with device(tmp_path / "bob", ann) as bob, HttpServer(bob):
                heard, slow = await asyncio.to_thread(ask, slow)
                more, slow = await asyncio.to_thread(ask, slow)
                assert heard + more == first + second

    asyncio.run(scene())


def test_a_node_that_stops_is_waited_for(tmp_path: Path) -> None:
    """Requests that come while it stops are answered as if it had ended: a follower asks again."""

    async def scene() -> None:
        async with device(tmp_path / "ann") as ann, HttpServer(ann):
            ann.running = False
            with pytest.raises(HunetError, match="not running") as told:
                await asyncio.to_thread(NodeClient(tmp_path / "ann").ask, "PUT", "subscriptions", "news")
            assert type(told.value).__name__ == "_EndedError"
            ann.running = True

    asyncio.run(scene())
