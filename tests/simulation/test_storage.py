"""Storage in bytes: what does not fit goes by the protocol's own ranking, whatever the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hunet import Contacts, Links, Publication, Subscription, Workload, make_workload, run
from hunet.model import ConfigurationError
from hunet.model.quantities import parse_size, parse_sizes
from hunet.pipeline.study_plan import plan_study
from hunet.protocols import Protocol
from hunet.simulation import open_log
from hunet.simulation.engine import Engine
from hunet.simulation.event_log import replay
from hunet.testing import Network
from tests.simulation.test_invariants import PROTOCOLS, check
from tests.strategies import crowd

STORAGE = 400
LINKS = {"instantaneous": Links(), "one radio": Links(rate=9, radio="one")}


def sized(workload: Workload, sizes: list[int]) -> Workload:
    said = [each._replace(size=sizes[place % len(sizes)]) for place, each in enumerate(workload.publications)]
    return Workload.of(said, list(workload.subscriptions))


@pytest.mark.parametrize("links", LINKS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_device_ever_holds_more_than_its_storage(protocol: str, links: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at from outside: the bytes of what devices say they store and remove, whenever time moves on."""
    advance = Engine.advance

    def look(engine: Engine, time: float, rank: int) -> None:
        dead = engine.messages.dead(engine.now)
        for device in engine.devices:
            held = [each for each in engine.record.copies_at(device.node) if not dead >> each & 1]
            assert sum(engine.messages[each].size for each in held) <= STORAGE
        advance(engine, time, rank)

    monkeypatch.setattr(Engine, "advance", look)
    overflowed = 0
    for seed in range(2):
        contacts, workload = crowd(seed)
        name, parameters = PROTOCOLS[protocol]
        workload = sized(workload, [90, 150, 210, 30, 500])
        result = run(contacts, workload, name, links=LINKS[links], storage=STORAGE, **parameters)
        check(contacts, workload, result)
        assert result.name["storage"] == STORAGE
        overflowed += result.summary["dropped_overflow"]
    assert overflowed > 0


@pytest.mark.parametrize("protocol", ["push", "prophet", "max-prop", "bubble-rap", "socialcast", "social-election"])
def test_a_log_tells_what_was_let_go_and_can_be_replayed(protocol: str, tmp_path: Path) -> None:
    contacts, workload = crowd(1)
    with open_log(tmp_path / "log.jsonl") as log:
        result = run(contacts, sized(workload, [200]), protocol, storage=STORAGE, log=log)
    assert result.summary["dropped_overflow"] > 0
    assert '"in": "surrender", "among": ["' in (tmp_path / "log.jsonl").read_text()
    assert replay(tmp_path / "log.jsonl") > 100


def test_the_protocol_ranks_and_what_is_too_large_goes_first() -> None:
    net = Network("push", 2, storage=1000, evict="first-in")
    ann, bob = net.nodes
    small = [ann.publish("x", at=float(time), size=300) for time in range(3)]
    assert held(net, 0) == [0, 1, 2]
    ann.publish("x", at=3.0, size=1001)  # never fits, and takes nothing with it
    assert held(net, 0) == [0, 1, 2]
    ann.publish("x", at=4.0, size=500)  # the two that came first go
    assert held(net, 0) == [2, 4]
    bob.publish("x", at=5.0, size=600)
    ann.meet(bob, at=6.0)
    assert sum(net.messages[number].size for number in held(net, 1)) <= 1000
    assert small[0].number not in held(net, 1)


def test_what_has_expired_makes_room_before_anything_else() -> None:
    net = Network("push", 1, storage=500)
    net[0].publish("x", at=0.0, size=400, ttl=10)
    kept = net[0].publish("x", at=1.0, size=100)
    new = net[0].publish("x", at=20.0, size=400)
    assert kept.number in held(net, 0)
    assert new.number in held(net, 0)


def test_a_crash_empties_the_storage() -> None:
    net = Network("push", 1, storage=500)
    net[0].publish("x", at=0.0, size=400)
    net[0].crash(at=1.0)
    net[0].restart(at=2.0)
    new = net[0].publish("x", at=3.0, size=450)
    assert held(net, 0) == [new.number]
    assert net.engine.devices[0].size == 450  # type: ignore[attr-defined]


def held(net: Network, node: int) -> list[int]:
    return net.engine.record.copies_at(node)


def test_a_protocol_that_lets_nothing_go_is_refused() -> None:
    class Hoarder(Protocol):
        """Has no surrender of its own."""

    contacts = Contacts.from_records([("a", "b", 0, 1)])
    with pytest.raises(ConfigurationError, match="Hoarder cannot keep to a storage"):
        run(contacts, Workload.of([], []), Hoarder, storage="1k")


def test_storage_bounds_deliveries_and_links_carry_bytes() -> None:
    """Twice the storage, twice the messages that a relay takes along."""
    contacts = Contacts.from_records([("a", "b", 0, 10), ("b", "c", 20, 30)])
    said = [Publication(f"m{each}", each / 100, 0, "x", 250_000) for each in range(8)]
    work = Workload.of(said, [Subscription(2, "x")])

    def delivered(**more: Any) -> int:
        return int(run(contacts, work, "push", **more).summary["delivered"])

    assert delivered() == 8
    assert delivered(storage="500k") == 2
    assert delivered(storage="1M") == 4
    assert delivered(storage="1M", links=Links(rate=500_000, unit="bits/s")) == 2  # 4 s for each message


def test_sizes_are_drawn_from_a_range_by_every_kind_of_workload() -> None:
    contacts = crowd(1)[0]
    one = make_workload(contacts, 3, messages=200, size="100-300")
    assert {said.size for said in one.publications} <= set(range(100, 301))
    assert len({said.size for said in one.publications}) > 50
    plain = make_workload(contacts, 3, messages=200, size=100)
    # Nothing else changes, and the name tells it.
    assert [said._replace(size=100) for said in one.publications] == list(plain.publications)
    assert one.metadata["generated"]["size"] == "100-300"
    assert make_workload(contacts, 3, size="2k").publications[0].size == 2000
    types = make_workload(contacts, 3, kind="types", subscribers=3, size="1k-2k")
    assert len({said.size for said in types.publications}) > 1


@pytest.mark.parametrize("wrong", ["many", "5X", "-3", "1.5", "2k-1k", "1-"])
def test_what_is_no_size(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="size"):
        parse_sizes("size", wrong)


def test_sizes_as_people_write_them() -> None:
    assert [parse_size("", each) for each in (0, "140", "1.5k", "5MB", "2 G")] == [0, 140, 1500, 5 * 10**6, 2 * 10**9]
    assert parse_sizes("", "1k - 2k") == (1000, 2000)


def test_a_study_takes_it() -> None:
    world = {"name": "waypoint", "nodes": 10, "duration": 300}
    study = plan_study({"world": world, "storage": ["1k", 5000]}, Path("study.toml"))
    assert [point.settings["storage"] for point in study.points] == [1000, 5000]
    assert [point.axes for point in study.points] == [{"storage": 1000}, {"storage": 5000}]
    assert "storage" not in plan_study({"world": world}, Path("study.toml")).points[0].settings
