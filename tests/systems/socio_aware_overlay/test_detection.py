"""Community detection against a second implementation: sets of names, second by second, nothing clever.

Rules of Hui et al. (MobiArch 2007): *simple* and *k-CLIQUE*. At an instant contacts start, then thresholds are
reached, then contacts end, each by device number.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from hunet import Contacts
from hunet.model import members
from hunet.systems.socio_aware_overlay.detection import detect
from hunet.systems.socio_aware_overlay.local_community import CommunityState, DetectionParameters, LocalCommunity

NODES = 8
RULES = [
    {"algorithm": "simple", "admission": 0.6, "merging": 0.5, "threshold": 6.0},
    {"algorithm": "simple", "admission": 0.3, "merging": 0.2, "threshold": 4.0},
    {"algorithm": "simple", "admission": 0.3, "merging": 0.2, "threshold": 4.0, "window": 15.0},
    {"algorithm": "simple", "admission": 0.3, "threshold": 4.0, "aggressive": False},
    {"algorithm": "k-clique", "k": 2, "threshold": 9.0},
    {"algorithm": "k-clique", "k": 3, "threshold": 6.0},
    {"algorithm": "k-clique", "k": 3, "threshold": 6.0, "aggressive": False},
    {"algorithm": "k-clique", "k": 3, "threshold": 4.0, "window": 12.0},
    {"algorithm": "k-clique", "k": 2, "threshold": 6.0, "window": 20.0},
]


class Person:
    """One device, and what it believes."""

    def __init__(self, name: int, rules: DetectionParameters) -> None:
        self.name, self.rules = name, rules
        self.community = {name}
        self.familiar: set[int] = set()
        self.familiar_of: dict[int, set[int]] = {}
        self.present: dict[int, set[int]] = {}
        self.seconds: dict[int, list[int]] = {}
        """With each other device, the seconds of contact: 5 is the one that ends at 5."""
        self.confirmed: dict[int, int] = {}

    def together(self, other: int, now: int) -> int:
        window = self.rules.window
        return len([s for s in self.seconds.get(other, []) if window is None or now - window < s <= now])

    def says(self) -> tuple[set[int], set[int], dict[int, set[int]]]:
        return set(self.community), set(self.familiar), {n: set(known) for n, known in self.familiar_of.items()}

    def hears(self, other: int, said: tuple[set[int], set[int], dict[int, set[int]]], now: int) -> None:
        community, familiar, familiar_of = said
        self.present[other] = familiar
        for node, known in familiar_of.items():
            if node in self.familiar_of:
                self.familiar_of[node] |= known
        if other in self.community:
            self.confirmed[other] = now
            self.familiar_of[other] = set(familiar)
        elif self.belongs(familiar):
            self.admit(other, familiar, now)
            if self.rules.aggressive:
                self.brings(community, familiar_of, now)

    def belongs(self, familiar: set[int]) -> bool:
        common = len(familiar & self.community)
        if self.rules.algorithm == "k-clique":
            return common >= self.rules.k - 1
        return bool(familiar) and common / len(familiar) > self.rules.admission

    def brings(self, community: set[int], familiar_of: dict[int, set[int]], now: int) -> None:
        if self.rules.algorithm == "simple":
            alike = len(self.community & community) / len(self.community | community)
            for node in sorted(community - self.community) if alike > self.rules.merging else []:
                self.admit(node, familiar_of.get(node), now)
            return
        for node in sorted(community - self.community):
            if node in familiar_of and self.belongs(familiar_of[node]):
                self.admit(node, familiar_of[node], now)

    def admit(self, node: int, familiar: set[int] | None, now: int) -> None:
        self.community.add(node)
        self.confirmed[node] = now
        if familiar is not None and node != self.name:
            self.familiar_of[node] = self.familiar_of.get(node, set()) | familiar

    def befriend(self, other: int, now: int) -> None:
        self.familiar.add(other)
        self.admit(other, self.present.get(other), now)

    def forget(self, now: int) -> int:
        """With a window, when a contact starts or ends; how many were forgotten."""
        if self.rules.window is None:
            return 0
        self.familiar = {n for n in self.familiar if self.together(n, now) >= (self.rules.threshold or 0)}
        stale = {n for n in self.community - self.familiar if self.confirmed.get(n, now) < now - self.rules.window}
        for node in stale:
            self.community.discard(node)
            self.familiar_of.pop(node, None)
            del self.confirmed[node]
        return len(stale)


def simulated(contacts: Contacts, rules: DetectionParameters) -> tuple[list[Person], int]:
    people = [Person(name, rules) for name in range(len(contacts.names))]
    columns = (contacts.start, contacts.a, contacts.b, contacts.end)
    rows = sorted(zip(*(map(int, column.tolist()) for column in columns), strict=True))
    forgotten = 0
    for now in range(int(contacts.span[1]) + 1):
        for start, a, b, end in rows:
            if start < now <= end:
                people[a].seconds.setdefault(b, []).append(now)
                people[b].seconds.setdefault(a, []).append(now)
        for a, b in [(a, b) for start, a, b, _ in rows if start == now]:
            forgotten += people[a].forget(now) + people[b].forget(now)
            said, answer = people[a].says(), people[b].says()
            people[b].hears(a, said, now)
            people[a].hears(b, answer, now)
        for a, b in sorted((a, b) for start, a, b, end in rows if start <= now <= end):
            if b not in people[a].familiar and people[a].together(b, now) >= (rules.threshold or 0):
                people[a].befriend(b, now)
                people[b].befriend(a, now)
        for a, b in sorted((a, b) for _, a, b, end in rows if end == now):
            for one, two in ((a, b), (b, a)):
                people[one].present.pop(two, None)
                forgotten += people[one].forget(now)
    return people, forgotten


def crowd(seed: int) -> Contacts:
    """Two circles of friends that meet often, and strangers that meet now and then."""
    rng = Random(seed)
    rows = []
    for _ in range(rng.randint(25, 45)):
        circle = rng.choice([range(4), range(4, 8), range(8)])
        a, b = rng.sample(circle, 2)
        start = rng.randint(0, 60)
        rows.append((a, b, start, start + rng.randint(0, 7)))
    return Contacts.from_arrays([str(n) for n in range(NODES)], *map(list, zip(*rows, strict=True)))


@pytest.mark.parametrize("given", RULES, ids=lambda rules: " ".join(str(value) for value in rules.values()))
def test_detection_is_what_second_by_second_reckoning_finds(given: dict[str, Any]) -> None:
    rules = DetectionParameters(**given)
    seen: Counter[str] = Counter()
    for seed in range(12):
        contacts = crowd(seed)
        people, forgotten = simulated(contacts, rules)
        for device, person in zip(detect(contacts, rules), people, strict=True):
            assert set(members(device.familiar)) == person.familiar, seed
            assert set(members(device.nodes)) == person.community, seed
            known = {node: set(members(familiar)) for node, familiar in device.familiar_of.items()}
            assert known == person.familiar_of, seed
            assert device.state() == CommunityState(device.nodes, device.familiar, device.familiar_of)
            seen.update(familiar=len(person.familiar), others=len(person.community - person.familiar) - 1)
        seen.update(forgotten=forgotten)
    assert seen["familiar"] >= 50
    assert seen["others"] >= 5
    assert seen["forgotten"] >= 5 or rules.window is None


# A window, one step at a time ----------------------------------------------------------------------------------------


def windowed() -> LocalCommunity:
    """0 has admitted 2 at 10 s, for whom 1 vouched; 1 is familiar."""
    mine = LocalCommunity(0, DetectionParameters(k=2, threshold=10.0, window=200.0))
    mine.link_up(1, 0.0)
    mine.reach_threshold(1, 10.0)
    assert mine.receive(2, CommunityState(0b110, 0b010, {}), 10.0)
    assert mine.nodes == 0b111
    return mine


def test_a_member_that_nothing_confirms_leaves_when_the_window_has_passed() -> None:
    mine = windowed()
    assert not mine.link_down(1, 210.0)
    assert mine.nodes == 0b111
    mine.link_up(1, 210.5)
    assert mine.nodes == 0b011
    assert 2 not in mine.familiar_of


def test_a_member_that_is_met_again_stays_as_long_again() -> None:
    mine = windowed()
    mine.receive(2, CommunityState(0b110, 0b010, {}), 150.0)
    mine.link_down(1, 350.0)
    assert mine.nodes == 0b111
    mine.link_up(1, 350.5)
    assert mine.nodes == 0b011


def test_who_is_met_too_briefly_does_not_join_when_the_contact_ends() -> None:
    mine = LocalCommunity(0, DetectionParameters(threshold=10.0))
    mine.link_up(1, 0.0)
    assert not mine.link_down(1, 9.0)
    assert (mine.nodes, mine.familiar) == (0b1, 0)


def test_who_becomes_familiar_by_a_rounding_at_the_end_of_a_contact_joins() -> None:
    mine = LocalCommunity(0, DetectionParameters(threshold=0.3))
    for start in (0.0, 1.0):
        mine.link_up(1, start)
        assert not mine.link_down(1, start + 0.1)
    mine.link_up(1, 2.0)
    assert mine.link_down(1, 2.1 + 1e-12)
    assert (mine.nodes, mine.familiar) == (0b11, 0b10)


def test_what_is_told_is_made_anew_when_a_member_comes() -> None:
    mine = LocalCommunity(0, DetectionParameters(k=2, threshold=10.0))
    mine.link_up(1, 0.0)
    mine.reach_threshold(1, 10.0)
    before = mine.state()
    assert mine.receive(2, CommunityState(0b110, 0b010, {}), 11.0)
    assert mine.state().community == 0b111 != before.community
    assert mine.state().familiar_of == {2: 0b010}


def test_a_member_that_says_the_same_again_is_no_news() -> None:
    mine = windowed()
    assert not mine.receive(2, CommunityState(0b110, 0b010, {}), 20.0)
    assert mine.receive(2, CommunityState(0b110, 0b011, {}), 30.0)
    assert mine.state().familiar_of[2] == 0b011
    assert not mine.receive(2, CommunityState(0b110, 0b011, {}), 40.0)


def test_who_becomes_familiar_in_the_last_instant_of_a_contact_is_familiar() -> None:
    """Times that add up to the threshold, though not in binary: 0.1 + 10.2 - 10 is a little less than 0.3."""
    contacts = Contacts.from_records([("0", "1", 0, 0.1), ("0", "1", 10, 10.2)])
    assert [device.familiar for device in detect(contacts, DetectionParameters(threshold=0.3))] == [0b10, 0b01]
