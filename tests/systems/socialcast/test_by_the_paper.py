"""SocialCast does what a second implementation does that follows Fig. 2 line by line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from hunet.systems.socialcast.parameters import SocialCastParameters
from tests.strategies import Crowd, crowd, crowds
from tests.systems.second import compare
from tests.systems.socialcast.by_the_paper import SocialCast

SETTINGS: dict[str, dict[str, Any]] = {
    "no hysteresis": {"period": 2.0, "hysteresis": 0.0},
    "hysteresis": {"period": 1.0, "hysteresis": 0.1, "state_noise": 0.1, "copies": 2},
    "two hops": {"period": 1.5, "hysteresis": 0.0, "max_hops": 2, "copies": 5},
    "short memory": {"period": 1.0, "hysteresis": 0.0, "memory": 2, "max_hops": None},
    "small buffers": {"period": 2.0, "hysteresis": 0.0, "buffer": 4},
}
each_setting = pytest.mark.parametrize("given_", SETTINGS.values(), ids=SETTINGS)
each_variant = pytest.mark.parametrize("protocol", ["socialcast", "socialcast-random"])


def deliveries(shown: Crowd, protocol: str, chosen: dict[str, Any], seed: int) -> int:
    contacts, workload = shown
    prediction = protocol == "socialcast"
    second = SocialCast(len(contacts.names), SocialCastParameters(**chosen), seed, prediction)
    return compare(second, contacts, workload, protocol, seed=seed, **chosen)


@each_variant
@each_setting
def test_dense_crowds(protocol: str, given_: dict[str, Any]) -> None:
    shown = {seed: crowd(seed, nodes=10, topics="wxyz", busy=3) for seed in range(10)}
    assert sum(deliveries(each, protocol, given_, seed) for seed, each in shown.items()) >= 300


@each_variant
@each_setting
def test_any_crowd(protocol: str, given_: dict[str, Any]) -> None:
    seen: list[int] = []

    @settings(max_examples=settings().max_examples // 6)
    @given(crowds(ttl=True))
    def examples(shown: Crowd) -> None:
        seen.append(deliveries(shown, protocol, given_, seed=1))

    examples()
    assert sum(seen) >= 15
