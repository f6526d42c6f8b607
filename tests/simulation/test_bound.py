"""The reachable bound, against a plain Dijkstra search, and PUSH against the bound."""

from __future__ import annotations

import heapq
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Workload, run
from hunet.simulation import earliest_arrivals
from tests.strategies import crowds, delivered


def dijkstra(contacts: Contacts, source: int, created: float) -> dict[int, float]:
    """Earliest arrival at every node: settle nodes in order of time, relax along contacts that are still usable."""
    reached: dict[int, float] = {}
    waiting = [(created, source)]
    rows = list(zip(*(c.tolist() for c in (contacts.a, contacts.b, contacts.start, contacts.end)), strict=True))
    while waiting:
        now, here = heapq.heappop(waiting)
        if here in reached:
            continue
        reached[here] = now
        for a, b, start, end in rows:
            if here in (a, b) and now <= end:
                heapq.heappush(waiting, (max(now, start), b if here == a else a))
    return reached


@given(crowds())
def test_the_sweep_finds_what_dijkstra_finds(crowd: tuple[Contacts, Workload]) -> None:
    contacts, workload = crowd
    message, node, time = earliest_arrivals(contacts, workload.publications)
    found = {(m, n): t for m, n, t in zip(message.tolist(), node.tolist(), time.tolist(), strict=True)}
    expected = {
        (number, n): t
        for number, said in enumerate(workload.publications)
        for n, t in dijkstra(contacts, said.node, said.time).items()
        if n != said.node
    }
    assert found == expected


@given(crowds(ttl=True))
def test_push_without_limits_is_the_reachable_bound_pair_by_pair(crowd: tuple[Contacts, Workload]) -> None:
    contacts, workload = crowd
    result = run(contacts, workload, "push")
    expected: dict[tuple[str, str], float] = {}
    for said in workload.publications:
        arrivals = dijkstra(contacts, said.node, said.time)
        expires = inf if said.ttl is None else said.time + said.ttl
        end = max(contacts.span[1], *(p.time for p in workload.publications))
        for wanted in workload.subscriptions:
            served = max(arrivals.get(wanted.node, inf), wanted.start)
            if wanted.topic == said.topic and wanted.node != said.node and served <= min(expires, wanted.end, end):
                pair = (said.id, contacts.names[wanted.node])
                expected[pair] = min(served, expected.get(pair, inf))
    assert delivered(result) == expected
    assert result.summary["reachable"] == len(expected)
    assert result.summary["latency_avg"] == result.summary["reachable_latency_avg"] or expected


@given(crowds(ttl=True), st.sampled_from(["push", "pull", "spray-and-wait"]), st.integers(1, 3))
def test_nothing_beats_the_bound(crowd: tuple[Contacts, Workload], protocol: str, buffer: int) -> None:
    contacts, workload = crowd
    best = delivered(run(contacts, workload, "push"))
    limited = delivered(run(contacts, workload, protocol, buffer=buffer))
    assert limited.keys() <= best.keys()
    assert all(limited[pair] >= best[pair] for pair in limited)
