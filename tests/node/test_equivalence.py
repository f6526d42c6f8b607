"""A protocol cannot tell who drives it: the same contacts and applications, simulated and live, deliver the same.

Live drivers are joined in memory, frame by frame, on a virtual clock; each numbers messages in its own way, and what
crosses between them is what would cross a network.
"""

from __future__ import annotations

from collections import deque
from math import inf
from random import Random
from typing import Any

import pytest

from hunet.model import Catalogue, Message, from_mapping
from hunet.node.driver import LiveDriver
from hunet.node.identity import Identity
from hunet.node.publication import Publication
from hunet.node.store import Store
from hunet.protocols import Driver, Protocol, protocol_class
from hunet.simulation.engine import Engine, Links, Rank
from hunet.simulation.randomness import Stream, node_rng
from hunet.simulation.record import columns

IDENTITIES = sorted((Identity.new() for _ in range(3)), key=lambda identity: identity.device)
TOPICS = ("art", "news", "sport")
PROTOCOLS: dict[str, dict[str, Any]] = {
    "push": {},
    "pull": {},
    "spray-and-wait": {"copies": 4},
    "b-sub": {},
    "b-sub-p": {},
    "socialcast": {"period": 7.0},
    "social-election": {},
    "socio-aware-overlay": {},
    "mops": {},
    "k-nearest": {},
}

Delivery = tuple[float, int, str]
Event = tuple[float, int, str, int, Any]
"""When, the rank among the events of an instant, what, whose, and with whom or about what."""


class Live:
    """Drivers in one process; frames pass through one queue, so that a frame is heard before any later one."""

    def __init__(self, protocol: str, devices: int) -> None:
        self.now = 0.0
        self.frames: deque[tuple[int, str, bytes]] = deque()
        kind = protocol_class(protocol)
        parameters = from_mapping(kind.Parameters, PROTOCOLS[protocol])
        self.names = [identity.device for identity in IDENTITIES[:devices]]
        self.drivers = []
        for node, name in enumerate(self.names):
            store = Store()
            for number, each in enumerate(self.names):  # ties between devices are decided by their numbers
                store.add_device(number, each)
            rng = node_rng(1, Stream.PROTOCOL, node, 0)
            driver = LiveDriver(
                name, kind, parameters, store, host=_Host(self, node), rng=rng, clock=lambda: self.now, again=inf
            )
            self.drivers.append(driver)
        self.open: set[tuple[int, int]] = set()

    def carry(self) -> None:
        while self.frames:
            sender, device, frame = self.frames.popleft()
            receiver = self.names.index(device)
            if (min(sender, receiver), max(sender, receiver)) in self.open:
                self.drivers[receiver].frame(self.names[sender], frame)

    def advance(self, time: float) -> None:
        while True:
            due = [(at, node) for node, driver in enumerate(self.drivers) if (at := driver.next_timer()) is not None]
            if not due or min(due)[0] >= time:
                break
            self.now, node = min(due)
            self.drivers[node].tick()
            self.carry()
        self.now = time

    def do(self, what: str, node: int, about: Any) -> None:
        driver = self.drivers[node]
        if what == "meet":
            self.open.add((node, about))
            driver.link_up(self.names[about])
            self.drivers[about].link_up(self.names[node])
        elif what == "part":
            self.open.discard((node, about))
            driver.link_down(self.names[about])
            self.drivers[about].link_down(self.names[node])
        elif what == "subscribe":
            driver.subscribe(about)
        elif what == "publish":
            driver.publish(about)
        self.carry()

    def deliveries(self) -> list[tuple[float, int, str, int]]:
        found = []
        for node, driver in enumerate(self.drivers):
            for at, number, hops in driver.store._rows("SELECT at, message, hops FROM deliveries"):
                found.append((at, node, driver.messages[number].id, hops))
        return sorted(found)


class _Host:
    def __init__(self, live: Live, node: int) -> None:
        self._live, self._node = live, node

    def send_frame(self, device: str, frame: bytes) -> None:
        self._live.frames.append((self._node, device, frame))

    def delivered(self, message: Message) -> None: ...
    def link_ready(self, device: str) -> None: ...
    def receipts_heard(self, device: str, receipts: list[Any]) -> None: ...
    def role_changed(self, name: str) -> None: ...


def simulated(protocol: str, devices: int, events: list[Event]) -> list[tuple[float, int, str, int]]:
    kind = protocol_class(protocol)
    parameters = from_mapping(kind.Parameters, PROTOCOLS[protocol])

    def make(node: int, driver: Driver, starts: int) -> Protocol:
        return kind(node, parameters, driver, node_rng(1, Stream.PROTOCOL, node, starts))

    messages = Catalogue()
    engine = Engine(devices, messages, make, Links(), Random(1))
    engine.start()
    for time, _, what, node, about in events:
        engine.advance(time, Rank.CONTACT_START)
        if what == "meet":
            engine.contact_start(node, about)
            engine.settle()
        elif what == "part":
            engine.contact_end(node, about)
        elif what == "subscribe":
            engine.subscribe(node, about)
        elif what == "publish":
            encoded = len(about.to_bytes())
            engine.publish(messages.add(about.id, about.topic, node, about.created, encoded, about.ttl))
    at, nodes, numbers, hops = columns(engine.record.deliveries, 4)
    rows = zip(at.tolist(), nodes.tolist(), numbers.tolist(), hops.tolist(), strict=True)
    return sorted((float(a), int(n), messages[int(m)].id, int(h)) for a, n, m, h in rows)


def plan(seed: int, devices: int, *, overlapping: bool) -> list[Event]:
    """Random contacts, subscriptions and publications, each at an instant of its own."""
    rng = Random(seed)
    events: list[Event] = []
    time = 10.0
    for _ in range(rng.randint(4, 10)):
        one, two = sorted(rng.sample(range(devices), 2))
        length = rng.choice([1.0, 4.0, 30.0])
        events += [(time, 0, "meet", one, two), (time + length, 1, "part", one, two)]
        time += rng.choice([2.0, 9.0]) if overlapping else length + rng.choice([1.0, 9.0])
    last: dict[tuple[int, int], float] = {}
    kept = []
    for began, ended in zip(events[::2], events[1::2], strict=True):
        pair = (began[3], began[4])
        if began[0] > last.get(pair, 0.0):  # two devices have one contact at a time
            kept += [began, ended]
            last[pair] = ended[0]
    for node in range(devices):
        kept += [(rng.uniform(0, time / 2), 0, "subscribe", node, topic) for topic in rng.sample(TOPICS, 2)]
    for number in range(rng.randint(3, 8)):
        node, at = rng.randrange(devices), rng.uniform(1, time)
        said = Publication.signed(
            IDENTITIES[node], rng.choice(TOPICS), b"%d" % number, created=at, ttl=rng.choice([40.0, 400.0])
        )
        kept.append((at, 0, "publish", node, said))
    return sorted(kept, key=lambda event: (event[0], event[1], event[2], event[3]))


@pytest.mark.parametrize("overlapping", [False, True], ids=["one at a time", "overlapping"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_deliveries_one_by_one(protocol: str, overlapping: bool) -> None:
    if overlapping and protocol == "socio-aware-overlay":
        pytest.skip("it hands a message to whom it asks first; links are asked one by one simulated, at once live")
    total = 0
    for seed in range(12):
        devices = 2 + seed % 2
        events = plan(seed, devices, overlapping=overlapping)
        live = Live(protocol, devices)
        for time, _, what, node, about in events:
            live.advance(time)
            live.do(what, node, about)
        expected = simulated(protocol, devices, events)
        assert live.deliveries() == expected, f"seed {seed}"
        total += len(expected)
    assert total > 10
