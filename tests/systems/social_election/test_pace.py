"""A window that follows the pace of meetings: few brokers where people meet rarely, and Random beside it."""

from __future__ import annotations

from typing import Any

import pytest

from hunet import Workload, make_workload, make_world, run
from hunet.systems.social_election.measures import FIGURES
from hunet.systems.social_election.social_election import Hello
from hunet.testing import Network


def brokers(observed: dict[str, float]) -> float:
    """Of a hundred."""
    return 100 * observed["duty"] / observed["watched"]


def saturation(observed: dict[str, float]) -> float:
    """The share of decisions for which a device had met fewer brokers than the lower bound."""
    return observed["too_few"] / observed["decisions"]


def test_few_brokers_serve_a_crowd_that_meets_rarely() -> None:
    """The crowd of ``hunet demo``: with the paper's 100 s half of it are brokers."""
    contacts = make_world("community", seed=2, duration=4 * 3600.0)
    workload = make_workload(contacts, seed=2, messages=60, ttl=3600.0, first=0.25)
    summary = run(contacts, workload, "social-election", seed=2).summary
    ours, silent = summary["observed"], Workload.of([], [])
    short = run(contacts, silent, "social-election", seed=2, window=100.0).summary["observed"]
    assert summary["delivery_ratio"] >= 0.85
    assert brokers(ours) <= 20 < brokers(short) / 2
    assert saturation(ours) < saturation(short) / 3
    assert 100 * 600 < ours["window"] < 100 * 6 * 3600
    assert short["window"] == 100 * 100


@pytest.mark.parametrize("window", [None, 100.0])
def test_random_brokers_serve_as_long_at_a_time(window: float | None) -> None:
    contacts = make_world("waypoint", seed=3, nodes=60, duration=3000.0, width=700.0, height=700.0)
    elected = run(contacts, Workload.of([], []), "social-election", seed=3, window=window).summary["observed"]
    result = run(contacts, Workload.of([], []), "random-broker", seed=3, window=window)
    drawn = result.summary["observed"]
    assert result.name["prepared"].keys() == {"share", "cycle"}
    assert brokers(drawn) == pytest.approx(brokers(elected), rel=0.2)
    assert drawn["duty"] / drawn["terms"] == pytest.approx(elected["duty"] / elected["terms"], rel=0.2)


def test_a_window_that_is_too_short_for_the_crowd_is_seen_as_saturation() -> None:
    contacts = make_world("waypoint", seed=3, nodes=30, duration=1200.0)
    shares = []
    for window in (20.0, 2000.0):
        summary = run(contacts, Workload.of([], []), "social-election", window=window).summary
        shares.append(FIGURES["saturation"](summary) or 0.0)
    assert shares[0] > 0.9 > 0.5 > shares[1], shares
    assert FIGURES["saturation"]({"observed": {"duty": 1.0}}) is None  # brokers by lot decide nothing


def test_a_window_has_ten_people_for_each_broker_of_the_lower_bound_and_popularity_an_hour() -> None:
    net = Network("social-election", 14, lower_bound=1, switching=0.0)
    for other in range(1, 12):
        net[0].meet(net[other], at=200.0 * other)
    window = net[0].protocol.window
    window.forget(net.now)
    assert window.peers == tuple(range(2, 12))
    net[0].meet(net[12], at=3850.0)
    net[0].meet(net[13], at=3900.0)
    peers: list[Any] = [packet.peers for a, _, packet in net.sent if a == 0 and isinstance(packet, Hello)]
    assert peers[-2:] == [tuple(range(2, 12)), (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)]
    window.forget(3850.0 + 6 * 3600)
    assert window.peers == (13,)
