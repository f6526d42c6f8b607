"""B-SUB does what a second implementation does that has no bit tricks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from hunet.systems.b_sub.b_sub import BSubParameters
from tests.strategies import Crowd, crowd, crowds
from tests.systems.b_sub.by_the_paper import BSub
from tests.systems.second import compare

SETTINGS: dict[str, dict[str, Any]] = {
    "wide filters": {"decay_cycle": 5.0, "buffer": None},
    "narrow filters": {"decay_cycle": 2.0, "counters": 8, "hashes": 2, "initial": 3, "buffer": None},
    "low ceiling": {"decay_cycle": 9.0, "counters": 16, "initial": 4, "ceiling": 6, "buffer": None},
    "small buffers": {"decay_cycle": 5.0, "counters": 32, "buffer": 2},
    "wide counters in several filters": {
        "decay_cycle": 2000.0,
        "counters": 8,
        "initial": 100,
        "ceiling": 1275,
        "filters": 3,
        "relative_always": True,
        "buffer": None,
    },
    "first query wins": {"decay_cycle": 5.0, "first_wins": True, "consumers_relay": False, "buffer": None},
    "two hops": {"decay_cycle": 5.0, "max_hops": 2},
}
each_setting = pytest.mark.parametrize("given_", SETTINGS.values(), ids=SETTINGS)
each_variant = pytest.mark.parametrize("protocol", ["b-sub", "b-sub-p"])


def deliveries(shown: Crowd, protocol: str, chosen: dict[str, Any]) -> int:
    contacts, workload = shown
    second = BSub(len(contacts.names), BSubParameters(**chosen), private=protocol == "b-sub-p")
    return compare(second, contacts, workload, protocol, **chosen)


@each_variant
@each_setting
def test_dense_crowds(protocol: str, given_: dict[str, Any]) -> None:
    crowds_ = [crowd(seed, nodes=10, topics="uvwxyz", busy=3) for seed in range(10)]
    assert sum(deliveries(each, protocol, given_) for each in crowds_) >= 150


@each_variant
@each_setting
def test_any_crowd(protocol: str, given_: dict[str, Any]) -> None:
    seen: list[int] = []

    @settings(max_examples=settings().max_examples // 6)
    @given(crowds(ttl=True))
    def examples(shown: Crowd) -> None:
        seen.append(deliveries(shown, protocol, given_))

    examples()
    assert sum(seen) >= 15
