"""The reachable bound, against a plain Dijkstra search, and PUSH against the bound."""

from __future__ import annotations

import heapq
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Publication, Workload, run
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
    created = {said.id: said.time for said in workload.publications}
    delays = [time - created[message] for (message, _), time in expected.items()]
    mean = pytest.approx(sum(delays) / len(delays)) if delays else None
    assert result.summary["latency_avg"] == mean
    assert result.summary["reachable_latency_avg"] == mean


@pytest.mark.parametrize("seed", range(4))
def test_many_messages_that_die_are_numbered_anew_and_lose_nothing(seed: int) -> None:
    """Every 32 dead messages the sweep counts from another first one; an immortal one ends that."""
    rng = Random(seed)
    rows = [(0, 6, 250, 260)]  # 6 is alone for long, with the first message
    for _ in range(120):
        a, b = rng.sample(range(6), 2)
        start = rng.randint(0, 300)
        rows.append((a, b, start, start + rng.randint(0, 9)))
    contacts = Contacts.from_arrays([str(n) for n in range(7)], *map(list, zip(*rows, strict=True)))
    immortal = 0 if seed % 2 else rng.randint(70, 99)
    lives = [None if i == immortal else rng.randint(0, 12) for i in range(110)]
    said = [
        Publication(f"m{i:03}", 3.0 * i, rng.randrange(6) if i else 6, "x", 10, life) for i, life in enumerate(lives)
    ]
    asked = [rng.getrandbits(110) | rng.getrandbits(110) for _ in range(7)]
    message, node, time = earliest_arrivals(contacts, tuple(said), list(asked))
    found = {(m, n): t for m, n, t in zip(message.tolist(), node.tolist(), time.tolist(), strict=True)}
    assert len(found) == len(message)
    while_alive = 0
    for number, publication in enumerate(said):
        expires = inf if publication.ttl is None else publication.time + publication.ttl
        arrivals = dijkstra(contacts, publication.node, publication.time)
        del arrivals[publication.node]
        for there in range(7):
            expected, got = arrivals.get(there), found.get((number, there))
            if not asked[there] >> number & 1:
                assert got is None
            elif expected is not None and expected <= expires:
                assert got == expected
                while_alive += 1
            else:
                assert got is None or got == expected  # arrivals after a message's life may be left out
    assert while_alive >= 50


@pytest.mark.parametrize("protocol", ["push", "pull", "spray-and-wait"])
def test_nothing_beats_the_bound(protocol: str) -> None:
    served = 0

    @given(crowds(ttl=True), st.integers(1, 3))
    def examples(crowd: tuple[Contacts, Workload], buffer: int) -> None:
        nonlocal served
        best = delivered(run(*crowd, "push"))
        limited = delivered(run(*crowd, protocol, buffer=buffer))
        assert limited.keys() <= best.keys()
        assert all(limited[pair] >= best[pair] for pair in limited)
        served += len(limited)

    examples()
    assert served >= 100
