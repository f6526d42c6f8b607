"""The sliding window of encounters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hunet.systems.social_election.encounter_window import EncounterWindow

ENCOUNTERS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.booleans(), st.integers(0, 3)), max_size=30)


@given(ENCOUNTERS, st.integers(1, 20), st.integers(30, 60))
def test_the_window_has_the_last_encounter_of_each_peer_that_is_young_enough(
    rows: list[tuple[int, int, bool, int]], length: int, end: int
) -> None:
    window = EncounterWindow(length)
    last: dict[int, tuple[int, bool, int]] = {}
    for time, peer, broker, popularity in [*sorted(rows), (end, -1, False, 0)]:
        window.forget(time)
        young = {peer: seen for peer, seen in last.items() if time - seen[0] < length}
        assert window.peers == tuple(sorted(young))
        brokers = [popularity for _, broker, popularity in young.values() if broker]
        assert window.broker_count == len(brokers)
        assert window.mean_popularity() == (sum(brokers) / len(brokers) if brokers else 0)
        assert window.popularity_of_brokers() == set(range(max(brokers, default=0)))
        window.record(peer, time, broker=broker, met=tuple(range(popularity)))
        last[peer] = (time, broker, popularity)
