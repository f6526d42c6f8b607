"""A protocol cannot tell who drives it: the same contacts and applications, simulated and live, deliver the same."""

from __future__ import annotations

import subprocess
import sys
from math import inf
from random import Random
from typing import Any

import pytest

from hunet import run
from hunet.model import Contacts, Subscription, Workload
from hunet.model import Publication as Said
from hunet.node.publication import Publication
from hunet.systems import protocol_class
from hunet.testing import Network
from tests.node.table import IDENTITIES, Table

TOPICS = ("art", "news", "sport")
PROTOCOLS: dict[str, dict[str, Any]] = {
    "push": {},
    "pull": {},
    "spray-and-wait": {"copies": 4},
    "b-sub": {},
    "b-sub-p": {},
    "socialcast": {"period": 7.0},
    "social-election": {},
    # Live nodes have no network that joins all brokers: their default is unicast, the simulator's is direct.
    "socio-aware-overlay": {"broker_link": "unicast"},
    "mops": {},
    "k-nearest": {},
    "foresight": {},
}

Event = tuple[float, int, str, int, Any]
"""When, the rank among the events of an instant, what, whose, and with whom or about what."""


def simulated(protocol: str, devices: int, events: list[Event], **given: Any) -> list[tuple[float, int, str, int]]:
    rows = [
        (began[3], began[4], began[0], next(each[0] for each in events[i:] if each[2:] == ("part", *began[3:])))
        for i, began in enumerate(events)
        if began[2] == "meet"
    ]
    contacts = Contacts.from_arrays([str(node) for node in range(devices)], *zip(*rows, strict=True), span=(0.0, 1e3))
    said = [each for each in events if each[2] == "publish"]
    workload = Workload.of(
        [Said(it.id, it.created, node, it.topic, len(it.to_bytes()), it.ttl) for _, _, _, node, it in said],
        [Subscription(node, topic, time) for time, _, what, node, topic in events if what == "subscribe"],
    )
    table = run(contacts, workload, protocol, **given).deliveries
    rows_of = table[["time", "node", "publication", "hops"]].itertuples(index=False)
    return sorted((time, int(node), message, hops) for time, node, message, hops in rows_of)


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


def perform(live: Table, what: str, node: int, about: Any) -> None:
    if what == "meet":
        live.meet(node, about)
    elif what == "part":
        live.part(node, about)
    elif what == "subscribe":
        live[node].subscribe(about)
    else:
        live[node].publish(about)
    live.carry()


ASKS_IN_ORDER = {"socio-aware-overlay"}
"""They hand a message to whom they ask first. Links that overlap are asked one by one simulated, at once live."""


@pytest.mark.parametrize(
    ("protocol", "overlapping"),
    [(name, False) for name in PROTOCOLS] + [(name, True) for name in PROTOCOLS if name not in ASKS_IN_ORDER],
)
def test_the_same_deliveries_one_by_one(protocol: str, overlapping: bool) -> None:
    same_deliveries(protocol, overlapping, **PROTOCOLS[protocol])


@pytest.mark.parametrize("cycle", [5.0, 7.0, 11.0])
def test_a_message_published_beside_several_neighbours_goes_to_the_same_ones(cycle: float) -> None:
    """The links are asked in another order live. Short decay cycles make neighbours differ in preference."""
    same_deliveries("b-sub-p", overlapping=True, decay_cycle=cycle)


def same_deliveries(protocol: str, overlapping: bool, **given: Any) -> None:
    total = 0
    for seed in range(12):
        devices = 2 + seed % 2
        events = plan(seed, devices, overlapping=overlapping)
        live = Table(protocol, devices, again=inf, **given)
        for time, _, what, node, about in events:
            live.advance(time)
            perform(live, what, node, about)
        expected = simulated(protocol, devices, events, **given)
        assert live.deliveries() == expected, f"seed {seed}"
        total += len(expected)
    assert total > 10


@pytest.mark.parametrize("protocol", ["push", "spray-and-wait", "b-sub", "social-election", "mops"])
def test_the_order_in_which_two_ends_hear_each_other_does_not_matter(protocol: str) -> None:
    """Frames of one direction stay in order; how the two directions interleave is the network's affair."""
    for seed in range(6):
        events = plan(seed, 2, overlapping=False)
        outcomes = []
        for luck in (None, Random(seed), Random(seed + 100)):
            live = Table(protocol, 2, again=inf, luck=luck, **PROTOCOLS[protocol])
            for time, _, what, node, about in events:
                live.advance(time)
                perform(live, what, node, about)
            outcomes.append(live.deliveries())
        assert outcomes[0] == outcomes[1] == outcomes[2], f"seed {seed}"


def test_the_classes_are_the_very_same_and_know_nothing_of_nodes() -> None:
    for protocol, parameters in PROTOCOLS.items():
        table, network = Table(protocol, 1, **parameters), Network(protocol, 1, **parameters)
        assert type(table[0].protocol) is type(network[0].protocol) is protocol_class(protocol)
    code = "import sys; from hunet.systems import PROTOCOLS; list(PROTOCOLS.values()); "
    code += "print([m for m in sys.modules if m.startswith('hunet.node')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
