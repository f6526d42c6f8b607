"""The sliding window of encounters."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from hunet.systems.social_election.encounter_window import EncounterWindow

EVENTS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 5), st.sampled_from(["broker", "user", "end"]), st.integers(0, 3)),
    max_size=30,
)


@given(EVENTS, st.integers(1, 20), st.integers(0, 4), st.integers(0, 20), st.integers(30, 60))
def test_the_window_has_open_contacts_and_those_that_ended_lately(
    events: list[tuple[int, int, str, int]], length: int, people: int, more: int, end: int
) -> None:
    window = EncounterWindow(length, people, length + more)
    last: dict[int, tuple[float, bool, int]] = {}
    """Of each peer: when the contact ended, whether it is a broker, and its popularity."""
    for time, peer, event, popularity in [*sorted(events), (end, -1, "user", 0)]:
        window.forget(time)
        for other in sorted(last, key=lambda each: last[each][0]):
            age = time - last[other][0]
            if age >= length + more or (age >= length and len(last) > people):
                del last[other]
        ages = [time - ended for ended, _, _ in last.values()]
        assert window.reach(time) == max(length, *ages, 0)
        assert window.peers == tuple(sorted(last))
        brokers = [popularity for _, broker, popularity in last.values() if broker]
        assert window.broker_count == len(brokers)
        assert window.mean_popularity() == (sum(brokers) / len(brokers) if brokers else 0)
        assert window.popularity_of_brokers() == set(range(max(brokers, default=0)))
        ends = [ended for ended, broker, _ in last.values() if broker]
        few = len(last) <= people
        assert window.without_brokers() == max(ends, default=-inf) + length + (more if few else 0)
        if event == "end":
            window.end(peer, time)
            if peer in last:
                last[peer] = (min(time, last[peer][0]), *last[peer][1:])
        else:
            window.record(peer, broker=event == "broker", peers=tuple(range(popularity)))
            last[peer] = (inf, event == "broker", popularity)


def test_without_a_number_of_people_the_window_is_as_long_as_it_is() -> None:
    window = EncounterWindow(10)
    window.record(1, broker=True, peers=())
    window.end(1, 0)
    window.forget(9)
    assert (window.peers, window.reach(9)) == ((1,), 10)
    window.forget(10)
    assert (window.peers, window.reach(10)) == ((), 10)
