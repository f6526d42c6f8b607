"""The paper's orders in a small made-up crowd: BS-1, BS-3, BS-5, and an optimum of the decay cycle (BS-2)."""

from __future__ import annotations

from typing import Any

import pytest

from hunet import make_workload, make_world, run

SHORT, GOOD, LONG = 1.0, 16.0, 2048.0
"""Decay cycles (s) for a crowd that meets much more often than Infocom's."""


@pytest.fixture(scope="module")
def seen() -> dict[tuple[str, float], dict[str, Any]]:
    """The summaries by protocol and decay cycle."""
    contacts = make_world("waypoint", seed=1, nodes=40, duration=7200.0)
    workload = make_workload(contacts, seed=1, kind="tags", max_interval=600.0, ttl=600.0)
    cases = [("b-sub-push", GOOD), ("b-sub-pull", GOOD)]
    cases += [(protocol, cycle) for protocol in ("b-sub", "b-sub-p") for cycle in (SHORT, GOOD, LONG)]
    return {
        (protocol, cycle): run(contacts, workload, protocol, decay_cycle=cycle, buffer=60).summary
        for protocol, cycle in cases
    }


def delivery(seen: Any, protocol: str, cycle: float = GOOD) -> float:
    return float(seen[protocol, cycle]["delivery_ratio"])


def test_bs_1_push_above_b_sub_above_pull(seen: Any) -> None:
    for cycle in (SHORT, GOOD, LONG):
        assert delivery(seen, "b-sub-push") > delivery(seen, "b-sub", cycle) > delivery(seen, "b-sub-pull")
    assert delivery(seen, "b-sub-push") > delivery(seen, "b-sub-p") > delivery(seen, "b-sub-pull")


def test_bs_2_delivery_is_best_at_a_decay_cycle_in_between(seen: Any) -> None:
    for protocol in ("b-sub", "b-sub-p"):
        best = delivery(seen, protocol)
        assert best > 1.1 * delivery(seen, protocol, SHORT)
        assert best > 1.1 * delivery(seen, protocol, LONG)


def test_bs_3_privacy_costs_deliveries(seen: Any) -> None:
    for cycle in (SHORT, GOOD, LONG):
        assert delivery(seen, "b-sub", cycle) > delivery(seen, "b-sub-p", cycle)


def test_bs_5_push_drops_far_more(seen: Any) -> None:
    dropped = {protocol: seen[protocol, GOOD]["dropped_overflow"] for protocol in ("b-sub-push", "b-sub", "b-sub-p")}
    assert dropped["b-sub-push"] > 50 * max(dropped["b-sub"], dropped["b-sub-p"], 1)
    assert seen["b-sub-pull", GOOD]["dropped_overflow"] == 0


def test_messages_are_relayed_over_several_hops(seen: Any) -> None:
    """The merge-order test on a whole run: with filters merged before forwarding there would be deliveries only."""
    assert seen["b-sub", GOOD]["hopcount_max"] > 3
    assert seen["b-sub", GOOD]["copies_delivered_avg"] > 2 * seen["b-sub-pull", GOOD]["copies_delivered_avg"]
