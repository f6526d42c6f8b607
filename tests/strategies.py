"""Random crowds for property tests: small enough to think about, dense enough that things happen at one instant."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hunet import Contacts, Publication, Subscription, Workload

TIMES = st.integers(0, 30)


@st.composite
def crowds(draw: st.DrawFn, nodes: int = 6, ttl: bool = False) -> tuple[Contacts, Workload]:
    """Contacts among up to ``nodes`` nodes, and a workload with subscriptions that come and go."""
    names = [str(n) for n in range(nodes)]
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda p: p[0] != p[1])
    rows = draw(st.lists(st.tuples(pair, TIMES, st.integers(0, 8)), min_size=1, max_size=25))
    contacts = Contacts.from_arrays(
        names,
        [p[0] for p, _, _ in rows],
        [p[1] for p, _, _ in rows],
        [t for _, t, _ in rows],
        [t + d for _, t, d in rows],
    )
    topics = st.sampled_from(["x", "y"])
    lives = st.one_of(st.none(), st.integers(0, 12)) if ttl else st.none()
    said = draw(st.lists(st.tuples(TIMES, st.integers(0, nodes - 1), topics, lives), max_size=8))
    publications = [Publication(f"m{i}", float(t), n, topic, 10, life) for i, (t, n, topic, life) in enumerate(said)]
    always = st.just((float("-inf"), float("inf")))
    spell = st.tuples(TIMES, st.integers(0, 15)).map(lambda s: (float(s[0]), float(s[0] + s[1])))
    wanted = draw(st.lists(st.tuples(st.integers(0, nodes - 1), topics, st.one_of(always, spell)), max_size=10))
    subscriptions = [Subscription(n, topic, *when) for n, topic, when in wanted]
    return contacts, Workload.of(publications, subscriptions)


def delivered(result: Any) -> dict[tuple[str, str], float]:
    """(publication, node) to time."""
    table = result.deliveries
    return {(p, n): t for p, n, t in zip(table["publication"], table["node"], table["time"], strict=True)}
