"""MOPS does what a second implementation does that has no bit tricks and keeps nothing that it can work out again."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet import Contacts, Crash, Links, Publication, Subscription, Workload
from hunet.protocols.contract import Packet
from hunet.systems.mops.closeness_graph import closeness_table, mean_separations
from hunet.systems.mops.contact_history import Edges
from hunet.systems.mops.interests import Internal, Lists, Relay
from hunet.systems.mops.mops import Mops
from hunet.systems.mops.structure import structure_of
from hunet.systems.mops.weighted_carrier import WantedTopics
from tests.strategies import Crowd, crowd, crowds
from tests.systems.mops import by_the_paper as plain
from tests.systems.plain_device import PlainCopies, PlainWord, compare

NODES = 7
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "no default weight": {"default_weight": 0.0},
    "as meant": {"unsubscribed": "known", "exclude_peer_community": True},
    "three hops": {"hops": 3, "threshold": 0.6, "alpha": 0.7},
    "most gateways prune": {"pruning": 0.3, "alpha": 0.5, "threshold": 0.7},
}
LINKS = {"instantaneous": Links(), "messages/s": Links(rate=1.0), "bits/s": Links(rate=40, unit="bits/s")}
each_setting = pytest.mark.parametrize("setting", SETTINGS)

Rows = tuple[tuple[int, int, float], ...]


def closeness(rng: Random) -> Rows:
    """Two circles around somebody whom all of it know well, and weaker links; in sixteenths, so that sums are exact."""
    circle = {node: rng.randrange(2) for node in range(NODES)}
    hubs = [min((node for node in circle if circle[node] == side), default=0) for side in range(2)]
    rows = []
    for a, b in combinations(range(NODES), 2):
        if circle[a] == circle[b]:
            rows.append((a, b, rng.randint(13, 16) if a in hubs else rng.choice([0, 1, 7, 12])))
        else:
            rows.append((a, b, rng.choice([0, 0, 1, 4, 7])))
    return tuple((a, b, sixteenths / 16) for a, b, sixteenths in rows if sixteenths)


def busy(seed: int) -> Crowd:
    """A crowd in which lists get around before most events, and most events are wanted by somebody out of sight."""
    rng = Random(seed)
    rows = []
    for start in range(60):
        a, b = rng.sample(range(NODES), 2)
        rows.append((a, b, start, start + rng.choice([0, 1, 2, 6])))
    said = [
        Publication(f"m{i}", rng.randint(5, 45), rng.randrange(NODES), rng.choice("xyz"), rng.choice([5, 10]), ttl)
        for i, ttl in enumerate([None, 30, 9] * 4)
    ]
    wanted = [Subscription(node, rng.choice("xyz")) for node in range(NODES)]
    wanted += [Subscription(rng.randrange(NODES), "z", first, first + 20) for first in range(0, 40, 10)]
    contacts = Contacts.from_arrays([str(n) for n in range(NODES)], *map(list, zip(*rows, strict=True)))
    return contacts, Workload.of(said, wanted)


# Structures ----------------------------------------------------------------------------------------------------------


def check_structure(rows: Rows, hops: int, threshold: float, pruning: float, seen: Counter[str]) -> None:
    table = {(a, b): Fraction(c) for a, b, c in rows}
    quick = structure_of(rows, threshold, hops, pruning)
    links = {pair: link for pair, link in plain.virtual_links(table, hops).items() if link[0] >= threshold}
    for a, b in combinations(range(NODES), 2):
        assert quick.graph.virtual(a, b) == links.get((a, b))
        seen.update(longer=(a, b) in links and len(links[a, b][1]) > 2)
    groups = plain.communities(table, hops, threshold)
    assert {label: set(group) for label, group in quick.communities.items()} == groups
    bridges = plain.brokers(table, groups, Fraction(pruning))
    assert {node: set(labels) for node, labels in quick.brokers.items()} == bridges
    unpruned = plain.brokers(table, groups, 2)
    seen.update(communities=sum(len(group) > 2 for group in groups.values()), brokers=len(bridges))
    seen.update(pruned=sum(map(len, unpruned.values())) - sum(map(len, bridges.values())))


@pytest.mark.parametrize(
    ("hops", "threshold", "pruning"), [(2, 0.5, 0.75), (3, 0.5, 0.5), (1, 0.625, 0.25), (2, 0.75, 1.0)]
)
def test_structures(hops: int, threshold: float, pruning: float) -> None:
    seen: Counter[str] = Counter()
    for seed in range(12):
        check_structure(closeness(Random(seed)), hops, threshold, pruning, seen)

    @settings(max_examples=settings().max_examples // 6)
    @given(st.lists(st.integers(0, 16), min_size=21, max_size=21))
    def examples(sixteenths: list[int]) -> None:
        pairs = zip(combinations(range(NODES), 2), sixteenths, strict=True)
        check_structure(tuple((a, b, c / 16) for (a, b), c in pairs if c), hops, threshold, pruning, seen)

    examples()
    assert seen["communities"] >= 15
    assert seen["brokers"] >= 50
    assert seen["longer"] >= 60 or hops == 1
    assert seen["pruned"] >= 10 or pruning == 1


@pytest.mark.parametrize("edges", ["both", "inner+trailing", "inner"])
def test_closeness(edges: str) -> None:
    pairs = 0
    for seed in range(12):
        contacts, _ = crowd(seed)
        for begin, finish in ((0.0, 30.0), (4.0, 16.5), (10.0, 11.0)):
            found = plain.closeness(contacts, begin, finish, edges)
            quick = closeness_table(mean_separations(contacts, begin, finish, cast("Edges", edges)))
            assert {(a, b): c for a, b, c in quick} == pytest.approx(found, rel=1e-12)
            pairs += len(found)
    assert pairs >= 200


# Lists and events ----------------------------------------------------------------------------------------------------


def said(packet: Packet) -> tuple[Any, ...] | None:
    """What a packet tells, in the second implementation's words."""
    if isinstance(packet, WantedTopics):
        return "wants", dict(packet.weights), packet.default
    if isinstance(packet, Internal):
        return "internal", packet.community, dict(packet.weights)
    if isinstance(packet, Relay):
        return "relay", {community: dict(weights) for community, weights in packet.lists}
    if isinstance(packet, Lists):
        return "lists", {one.origin: (one.made, set(one.own), set(one.carried), one.anything) for one in packet.lists}
    if isinstance(packet, PlainWord) and packet.kind in ("wants", "internal"):
        return packet.kind, *packet.told
    if isinstance(packet, PlainWord) and packet.kind in ("relay", "lists"):
        return packet.kind, packet.told
    return None


def check_run(shown: Crowd, seen: Counter[str], **chosen: Any) -> None:
    """The same lists with the same weights at the same time, and the same events."""
    heard: dict[str, list[tuple[Any, ...]]] = {"quick": [], "plain": []}

    class Quick(Mops):
        def receive(self, peer: int, packet: Packet, now: float) -> None:
            if words := said(packet):
                heard["quick"].append((now, peer, self.node, *words))
            super().receive(peer, packet, now)

    class Plain(plain.Mops):
        def receive(self, peer: int, packet: Packet, now: float) -> None:
            if words := said(packet):
                heard["plain"].append((now, peer, self.node, *words))
            seen["on behalf"] += bool(isinstance(packet, PlainCopies) and packet.why)
            super().receive(peer, packet, now)

    seen["delivered"] += compare(*shown, Quick, Plain, **chosen)
    assert heard["quick"] == heard["plain"]
    seen.update(f"{words[3]}" for words in heard["plain"] if words[3] != "relay" or any(words[4].values()))


def enough(seen: Counter[str], setting: str, runs: int) -> None:
    """So many lists and events in so many runs that something is compared."""
    least = {"delivered": 12, "wants": 80, "lists": 7, "internal": 2, "on behalf": 0.2}
    if setting != "most gateways prune":
        least["relay"] = 5
    assert {what: seen[what] for what, many in least.items() if seen[what] < many * runs} == {}


@each_setting
@pytest.mark.parametrize("links", LINKS)
def test_dense_crowds(setting: str, links: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(5, 9):
        chosen = {"closeness": closeness(Random(seed)), "links": LINKS[links], **SETTINGS[setting]}
        check_run(busy(seed), seen, **chosen)
    enough(seen, setting, 4)


@each_setting
def test_dense_crowds_that_learn_first(setting: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        check_run(busy(seed), seen, train=0.2 + 0.2 * (seed % 2), **SETTINGS[setting])
    enough(seen, setting, 4)


@each_setting
def test_dense_crowds_whose_devices_crash(setting: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        crashes = [Crash(seed, 15.0, float(seed)), Crash(seed + 3, 30.0, 0.0)]
        check_run(busy(seed), seen, closeness=closeness(Random(seed)), crashes=crashes, **SETTINGS[setting])
    enough(seen, setting, 4)


@each_setting
def test_dense_crowds_that_learn_anew(setting: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(3):
        first, last = closeness(Random(seed)), closeness(Random(seed + 100))
        weaker = tuple((a, b, c / 2 if c < 0.5 else c) for a, b, c in first)  # other weights, and most places the same
        later = ((16.0, weaker), (35.0, last))
        check_run(busy(seed), seen, closeness=first, later=later, **SETTINGS[setting])
    enough(seen, setting, 3)


@each_setting
def test_any_crowd(setting: str) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=settings().max_examples // 6)
    @given(crowds(nodes=NODES, ttl=True), st.integers(0, 99), st.sampled_from(list(LINKS.values())))
    def examples(shown: Crowd, seed: int, links: Links) -> None:
        check_run(shown, seen, closeness=closeness(Random(seed)), links=links, **SETTINGS[setting])

    examples()
    assert seen["delivered"] >= 15
    assert seen["lists"] >= 50
