"""Single rules of the engine and of what is counted: restarts, crashes, greetings, losses, and their order."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
import pytest

from hunet import Contacts, Links, Publication, Subscription, Workload, run
from hunet.model import Message, Node, Topic
from hunet.protocols import Control, Data, Protocol
from hunet.simulation.copies import _nth
from hunet.testing import Network, Pair
from tests.simulation.test_engine import Diary, Word


def test_what_was_unsubscribed_is_not_wanted_after_a_restart() -> None:
    net = Network("push", 1)
    net[0].subscribe("x")
    net[0].subscribe("y")
    net[0].unsubscribe("x", at=1)
    net[0].crash(at=2)
    net[0].restart(at=3)
    assert net[0].protocol.topics == {"y"}


def test_luck_after_a_restart_is_not_that_of_the_first_life() -> None:
    net = Network("push", 1)
    first = net[0].protocol.rng.random()
    net[0].crash(at=1)
    net[0].restart(at=2)
    assert net[0].protocol.rng.random() != first


def test_a_device_that_is_down_hears_nothing() -> None:
    pair = Pair(Diary)
    pair.a.connect(pair.b, at=1)
    pair.b.crash(at=2)
    before = list(pair.protocols[1].diary)  # type: ignore[attr-defined]
    pair.a.protocol.driver.broadcast(Word("hello"))
    pair.a.protocol.driver.send(1, Word("hello"))
    pair.a.subscribe("x")  # any event: what was queued is carried
    assert pair.protocols[1].diary == before  # type: ignore[attr-defined]
    assert pair.engine.record.control_bytes == 0


@pytest.mark.parametrize(("at", "lost"), [(10.0, 1), (10.5, 0)])
def test_a_message_is_alive_at_the_instant_it_expires(at: float, lost: int) -> None:
    net = Network("push", 1)
    net[0].publish("x", at=0, ttl=10)
    net[0].crash(at=at)
    assert len(net.engine.record.removed) // 4 == lost


class Greeter(Diary):
    """Says the same to everybody."""

    greeting = (Word("hello"), Word("you"))

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        return self.greeting


def test_greetings_are_counted_each_time() -> None:
    pair = Pair(Greeter)
    for at in (1, 2):
        pair.a.meet(pair.b, at=at)
    assert (pair.engine.record.control_packets, pair.engine.record.control_bytes) == (8, 32)


def test_packets_out_of_band_are_counted() -> None:
    net = Network(Diary, 2)
    for text in ("hello", "you"):
        net[0].protocol.driver.send_out_of_band(1, Word(text))
    assert (net.engine.record.out_of_band_packets, net.engine.record.out_of_band_bytes) == (2, 8)


class Asked(Protocol):
    """Writes down how much room it was given."""

    rooms: ClassVar[list[int]] = []

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self.driver.wake(peer)
        return ()

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        self.rooms.append(room)
        return None


@pytest.mark.parametrize(
    ("links", "room"), [(Links(), sys.maxsize), (Links(loss=0.5), 1), (Links(rate=1.0), 1)], ids=str
)
def test_where_packets_can_be_lost_or_take_time_each_has_one_message(links: Links, room: int) -> None:
    Asked.rooms.clear()
    pair = Pair(Asked, links=links)
    pair.a.meet(pair.b, at=1, seconds=1)
    assert set(Asked.rooms) == {room}


class Order(Diary):
    """Writes down what happens to the first device."""

    events: ClassVar[list[Any]] = []

    def phase(self, name: str, now: float) -> None:
        if self.node == 0:
            self.events.append(name)

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self.events.append(topic)

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self.events.append(f"no {topic}")

    def publish(self, message: Message, now: float) -> None:
        self.events.append(message.id)


def test_at_one_instant_phases_come_first_then_subscriptions_then_publications() -> None:
    Order.events.clear()
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    wanted = [Subscription(0, "x", start=50.0), Subscription(0, "y", start=0.0, end=50.0)]
    run(contacts, Workload.of([Publication("m", 50, 0, "x")], wanted), Order, train=0.5)
    assert Order.events == ["train", "y", "operate", "x", "m", "no y"]


def test_without_training_there_are_no_phases() -> None:
    Order.events.clear()
    run(Contacts.from_records([("a", "b", 0, 100)]), Workload.of([], [Subscription(0, "x")]), Order)
    assert Order.events == ["x"]


def test_a_weighted_subscription_is_owed_what_it_matches() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 100)])
    said = [Publication(name, 10.0, 0, name) for name in ("football goals", "hockey", "goals")]
    summary = run(contacts, Workload.of(said, [Subscription(1, "football^0.7 goals^0.3")]), "push").summary
    assert (summary["pairs"], summary["reachable"]) == (2, 2)


def test_equal_keys_are_counted_in_order() -> None:
    assert _nth(np.array([5, 3, 5, 5, 3, 4])).tolist() == [0, 0, 1, 2, 1, 0]
