"""The Socio-Aware Overlay does what a second implementation does that has no bit tricks."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet import Crash, Links
from hunet.systems.socio_aware_overlay.frozen_communities import FrozenCommunity, Hop, freeze
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters
from hunet.systems.socio_aware_overlay.socio_aware_overlay import SocioAwareOverlay
from tests.strategies import Crowd, crowd, crowds
from tests.systems.plain_device import compare
from tests.systems.socio_aware_overlay import test_detection as detection
from tests.systems.socio_aware_overlay.by_the_paper import Overlay, agreed, central

SETTINGS: dict[str, dict[str, Any]] = {
    "direct": {},
    "direct, wait for a broker": {"inject": "broker"},
    "unicast": {"broker_link": "unicast"},
    "unicast, wait for a broker": {"broker_link": "unicast", "inject": "broker"},
    "unicast, brokers only": {"broker_link": "unicast", "unicast": "contact"},
}
LINKS = {"instantaneous": Links(), "messages/s": Links(rate=1.0), "late": Links(rate=2.0, out_of_band_delay=1.0)}
NODES = 8


def communities(rng: Random) -> list[dict[str, Any]]:
    """Two or three communities with their brokers, and loners who are somebody's guests or nobody's."""
    people = rng.sample(range(NODES), NODES)
    found = []
    for size in rng.choice([(3, 3), (4, 3), (2, 2, 3)]):
        members, people = people[:size], people[size:]
        brokers = sorted(rng.sample(members, rng.randint(1, size - 1)))
        found.append({"members": sorted(members), "brokers": brokers, "depth": rng.randint(1, 3)})
    found[0]["guests"] = [node for node in sorted(people) if rng.random() < 0.7]
    return found


def deliveries(shown: Crowd, known: list[dict[str, Any]], setting: str, links: str, **more: Any) -> int:
    given = {"mode": "frozen", "communities": known, "links": LINKS[links], **SETTINGS[setting], **more}
    return compare(*shown, SocioAwareOverlay, Overlay, **given)


@pytest.mark.parametrize("links", LINKS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_dense_crowds(setting: str, links: str) -> None:
    done = [deliveries(crowd(s, nodes=NODES), communities(Random(s)), setting, links) for s in range(12)]
    assert sum(done) >= 35


@pytest.mark.parametrize("setting", SETTINGS)
def test_dense_crowds_whose_devices_crash(setting: str) -> None:
    done = 0
    for seed in range(8):
        crashes = [Crash(seed, 10.0, float(seed)), Crash(7 - seed, 16.0, 0.0)]
        known = communities(Random(seed))
        done += deliveries(crowd(seed, nodes=NODES), known, setting, "instantaneous", crashes=crashes)
    assert done >= 20


@pytest.mark.parametrize("setting", SETTINGS)
def test_any_crowd(setting: str) -> None:
    seen: list[int] = []

    @settings(max_examples=settings().max_examples // 4)
    @given(crowds(nodes=NODES, ttl=True), st.integers(0, 99), st.sampled_from(list(LINKS)))
    def examples(shown: Crowd, seed: int, links: str) -> None:
        seen.append(deliveries(shown, communities(Random(seed)), setting, links))

    examples()
    assert sum(seen) >= 20


@pytest.mark.parametrize("rules", [detection.RULES[1], detection.RULES[4], detection.RULES[5]], ids=str)
def test_frozen_communities(rules: dict[str, Any]) -> None:
    """Detected, agreed, with their brokers and how far these flood; and then what is delivered."""
    found: Counter[str] = Counter()
    for seed in range(16):
        contacts = detection.crowd(seed)
        people, _ = detection.simulated(contacts, DetectionParameters(**rules))
        friends = {frozenset((person.name, friend)) for person in people for friend in person.familiar}
        met = friends | {frozenset((int(a), int(b))) for a, b, _, _ in contacts.records()}
        choices: list[tuple[Hop, set[frozenset[int]]]] = [("familiar", friends), ("met", met)]
        for hop, links in choices:
            expected = []
            for group in agreed([person.community for person in people]):
                brokers, depth = central(group, links)
                expected.append(FrozenCommunity(tuple(sorted(group)), tuple(sorted(brokers)), depth))
                found.update(communities=1, ordinary=len(group - brokers), deep=depth > 1)
            assert freeze(contacts, DetectionParameters(**rules), hop=hop) == tuple(expected), (seed, hop)
    assert found["communities"] >= 40
    assert found["ordinary"] >= 50
    assert found["deep"] >= 5
