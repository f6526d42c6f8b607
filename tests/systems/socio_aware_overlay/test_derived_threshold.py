"""Without a threshold, devices derive one from the contacts that they have had."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts
from hunet.model import members
from hunet.systems.socio_aware_overlay.detection import agreed, detect
from hunet.systems.socio_aware_overlay.familiar import FamiliarSet
from hunet.systems.socio_aware_overlay.local_community import CommunityState, DetectionParameters, LocalCommunity

DERIVED = DetectionParameters()


def mean_of_moments(times: dict[int, float]) -> float:
    return sum(time**2 for time in times.values()) / sum(times.values())


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 50)), min_size=1, max_size=40))
def test_who_is_familiar_has_spent_the_derived_time_together(contacts: list[tuple[int, int]]) -> None:
    familiar, times, now, highest = FamiliarSet(None), dict[int, float](), 0.0, 0.0
    for peer, length in contacts:
        familiar.link_up(peer, now)
        now += length
        familiar.link_down(peer, now)
        times[peer] = times.get(peer, 0.0) + length
        level = mean_of_moments(times)
        highest = max(highest, level)  # it does not fall
    within = {peer for peer, time in times.items() if familiar.nodes >> peer & 1}
    assert {peer for peer, time in times.items() if time >= highest * 1.001} <= within
    assert within <= {peer for peer, time in times.items() if time >= level / 1.26}


def test_a_level_that_has_risen_makes_strangers_of_some() -> None:
    familiar = FamiliarSet(None)
    for peer, start, end in ((1, 0.0, 10.0), (2, 20.0, 120.0)):
        familiar.link_up(peer, start)
        assert familiar.link_down(peer, end)
    assert set(members(familiar.nodes)) == {2}
    assert familiar.version == 120


def test_who_stays_becomes_familiar_when_the_level_is_reached_though_it_has_risen() -> None:
    mine = LocalCommunity(0, DERIVED)
    assert mine.link_up(1, 0.0) is None  # nothing is known yet
    assert mine.link_down(1, 10.0)
    assert mine.link_up(2, 20.0) == 30.0
    mine.link_up(1, 20.0)
    assert mine.link_down(1, 29.0) is False  # 19 s with it: the level is higher now
    assert not mine.reach_threshold(2, 30.0)
    assert mine.threshold_time(2) == 39.0
    assert mine.reach_threshold(2, 39.0)
    assert mine.familiar == 0b110


def test_of_two_versions_of_a_familiar_set_the_later_counts_and_members_by_the_earlier_leave() -> None:
    mine = LocalCommunity(0, DERIVED)
    for friend in (1, 2):
        mine.link_up(friend, 0.0)
        mine.link_down(friend, 10.0)
    assert mine.receive(3, CommunityState(0b1110, 0b0110, {}, {3: 5}), 20.0)
    assert mine.nodes == 0b1111
    assert not mine.receive(1, CommunityState(0b1010, 0, {3: 0b110110}, {3: 4}), 21.0) or mine.familiar_of[3] == 0b0110
    mine.receive(1, CommunityState(0b1010, 0, {3: 0b110000}, {3: 9}), 22.0)
    assert mine.nodes == 0b0111
    assert 3 not in mine.familiar_of


def test_two_circles_of_friends_are_found_however_long_their_contacts() -> None:
    for seconds in (10.0, 100_000.0):
        rng, rows = Random(1), []
        for turn in range(600):
            strangers = rng.random() < 0.1
            a, b = rng.sample(range(12) if strangers else [range(6), range(6, 12)][turn % 2], 2)
            rows.append((str(a), str(b), turn * seconds, (turn + (0.1 if strangers else 0.9)) * seconds))
        contacts = Contacts.from_records(rows)
        devices = detect(contacts, DERIVED)
        found = agreed([device.nodes for device in devices])
        circles = [{contacts.names[node] for node in members(each)} for each in found]
        assert sorted(map(len, circles)) >= [4, 4]
        assert all(len({int(name) < 6 for name in each}) == 1 for each in circles)


def test_a_window_needs_a_threshold() -> None:
    with pytest.raises(ValueError, match="window needs a threshold"):
        DetectionParameters(window=100.0)
