"""Random crowds for tests: small enough to think about, dense enough that messages pass and things happen at once.

:func:`crowd` makes one from a seed, always the same; :func:`crowds` lets hypothesis choose, and shrink what fails.
"""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any

from hypothesis import strategies as st

from hunet import Contacts, Publication, Subscription, Workload

Crowd = tuple[Contacts, Workload]

TIMES = st.integers(0, 30)
SIZES = (5, 10, 20)
"""On a link of 40 bits/s these take 1, 2 and 4 s."""


def crowd(
    seed: int, nodes: int = 6, ttl: bool = True, lasting: bool = False, topics: str = "xy", busy: int = 1
) -> Crowd:
    """A crowd that hardly fails to deliver: 15 to 25 contacts, 8 publications, 10 subscriptions; ``busy`` times that.

    ``lasting`` subscriptions last for ever; otherwise four in ten come and go.
    """
    rng = Random(seed)
    rows = []
    for _ in range(busy * rng.randint(15, 25)):
        a, b = rng.sample(range(nodes), 2)
        start = rng.randint(0, 30)
        rows.append((a, b, start, start + rng.randint(0, 8)))
    said = [
        (rng.randint(0, 20), rng.randrange(nodes), rng.choice(topics), rng.choice([None, 4, 8, 12]) if ttl else None)
        for _ in range(busy * 8)
    ]
    wanted = []
    for _ in range(busy * 10):
        first, length = float(rng.randint(0, 20)), rng.randint(0, 15)
        spell = (first, first + length) if rng.random() < 0.4 and not lasting else (-inf, inf)
        wanted.append((rng.randrange(nodes), rng.choice(topics), spell))
    return _crowd(nodes, rows, said, wanted)


@st.composite
def crowds(draw: st.DrawFn, nodes: int = 6, ttl: bool = False) -> Crowd:
    """Contacts among up to ``nodes`` nodes, and a workload with subscriptions that come and go.

    The least sizes are such that seven crowds in ten deliver something under PUSH, which a test checks.
    """
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(1, nodes - 1)).map(lambda p: (p[0], (p[0] + p[1]) % nodes))
    met = draw(st.lists(st.tuples(pair, TIMES, st.integers(0, 8)), min_size=10, max_size=25))
    topics = st.sampled_from(["x", "y"])
    lives = st.one_of(st.none(), st.integers(0, 12)) if ttl else st.none()
    moments = st.integers(0, 20)
    said = draw(st.lists(st.tuples(moments, st.integers(0, nodes - 1), topics, lives), min_size=4, max_size=8))
    spell = st.tuples(TIMES, st.integers(0, 15)).map(lambda s: (float(s[0]), float(s[0] + s[1])))
    when = st.one_of(st.just((-inf, inf)), spell)
    wanted = draw(st.lists(st.tuples(st.integers(0, nodes - 1), topics, when), min_size=6, max_size=10))
    return _crowd(nodes, [(*p, start, start + length) for p, start, length in met], said, wanted)


def _crowd(
    nodes: int,
    rows: list[tuple[int, int, int, int]],
    said: list[tuple[int, int, str, int | None]],
    wanted: list[tuple[int, str, tuple[float, float]]],
) -> Crowd:
    contacts = Contacts.from_arrays([str(n) for n in range(nodes)], *map(list, zip(*rows, strict=True)))
    publications = [
        Publication(f"m{i}", float(time), node, topic, SIZES[i % len(SIZES)], life)
        for i, (time, node, topic, life) in enumerate(said)
    ]
    return contacts, Workload.of(publications, [Subscription(node, topic, *spell) for node, topic, spell in wanted])


def delivered(result: Any) -> dict[tuple[str, str], float]:
    """(publication, node) to time."""
    table = result.deliveries
    return {(p, n): t for p, n, t in zip(table["publication"], table["node"], table["time"], strict=True)}
