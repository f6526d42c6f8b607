"""Social election and its swarm do what a second implementation does that ranks everything anew at every step."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from hunet import Contacts, Workload, run
from hunet.systems.social_election.social_election import SocialElectionParameters
from tests.strategies import Crowd, crowd, crowds
from tests.systems.second import compare, play, roles_of
from tests.systems.social_election.by_the_paper import SocialElection

SETTINGS: dict[str, dict[str, Any]] = {
    "naive": {"window": 8.0, "lower_bound": 1, "upper_bound": 1, "switching": 1.0},
    "naive, coins": {"window": 12.0, "lower_bound": 2, "upper_bound": 3, "direct_delivery": True},
    "naive, marginal": {"window": 12.0, "lower_bound": 2, "difference": "marginal", "threshold": 2.0},
    "naive, scalar": {"window": 12.0, "lower_bound": 2, "difference": "scalar", "threshold": 0.0},
    "naive, small buffers": {"window": 10.0, "lower_bound": 2, "buffer": 2},
    "delegation": {"window": 10.0, "lower_bound": 2, "replication": "delegation"},
    "delegation, small buffers": {"window": 6.0, "lower_bound": 1, "replication": "delegation", "buffer": 3},
}
BY_THE_PAPER = {"direct_delivery": False, "ask_again": False}
each_setting = pytest.mark.parametrize("given_", [BY_THE_PAPER | given_ for given_ in SETTINGS.values()], ids=SETTINGS)


def contacts_of(crowd: Crowd, *, one_at_a_time: bool) -> Contacts:
    """A crowd's contacts in their order, one after the other starting in half a minute, each a quarter as long.

    With ``one_at_a_time`` those of people who are in a contact already are left out. Otherwise a message may have
    several ways at one instant, and which it takes is a question of packets, not of the paper.
    """
    kept: list[tuple[int, int, float, float]] = []
    step = max(1, 60 // len(crowd[0])) / 2
    for number, (a, b, start, end) in enumerate(crowd[0].records()):
        row = (int(a), int(b), step * number, step * number + (end - start) / 4)
        if not one_at_a_time or all({*row[:2]}.isdisjoint(other[:2]) or row[2] > other[3] for other in kept):
            kept.append(row)
    return Contacts.from_arrays(crowd[0].names, *map(list, zip(*kept, strict=True)))


def deliveries(shown: Crowd, chosen: dict[str, Any]) -> int:
    second = SocialElection(len(shown[0].names), SocialElectionParameters(**chosen), seed=1)
    return compare(second, contacts_of(shown, one_at_a_time=True), shown[1], "social-election", **chosen)


def changes_of_role(shown: Crowd, chosen: dict[str, Any]) -> int:
    """Roles depend on nothing but contacts: here people are in several at once."""
    contacts, nothing = contacts_of(shown, one_at_a_time=False), Workload.of([], [])
    second = SocialElection(len(contacts.names), SocialElectionParameters(**chosen), seed=1)
    play(second, contacts, nothing)
    assert second.roles == roles_of(run(contacts, nothing, "social-election", **chosen))
    return len(second.roles) - len(contacts.names)


@each_setting
def test_dense_crowds(given_: dict[str, Any]) -> None:
    shown = [crowd(seed, nodes=10, topics="wxyz", busy=3) for seed in range(12)]
    assert sum(deliveries(each, given_) for each in shown) >= 200
    assert sum(changes_of_role(each, given_) for each in shown) >= 150


@each_setting
def test_any_crowd(given_: dict[str, Any]) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=settings().max_examples // 3)
    @given(crowds(ttl=True))
    def examples(shown: Crowd) -> None:
        seen.update(deliveries=deliveries(shown, given_), changes=changes_of_role(shown, given_))

    examples()
    assert seen["deliveries"] >= 10
    assert seen["changes"] >= 20
