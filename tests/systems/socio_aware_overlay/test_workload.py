"""The Socio-Aware Overlay's workload: its size, and who shares a topic with whom."""

from __future__ import annotations

from collections import Counter

import pytest

from hunet import Contacts, HunetError, make_workload

CIRCLES = Contacts.from_records(
    [
        (str(a), str(b), 100.0 * turn, 100.0 * turn + 50)
        for turn in range(10)
        for first in (0, 6)
        for a in range(first, first + 6)
        for b in range(a + 1, first + 6)
    ]
)


def test_so_many_publications_and_so_many_distinct_subscriptions_on_ten_topics() -> None:
    work = make_workload(CIRCLES, 1, kind="overlay", messages=500, subscriptions=50)
    assert (len(work.publications), len(work.subscriptions)) == (500, 50)
    assert len({(s.node, s.topic) for s in work.subscriptions}) == 50
    assert {p.topic for p in work.publications} == {f"t{n}" for n in range(10)}
    assert {p.node for p in work.publications} == set(range(12))
    times = [p.time for p in work.publications]
    assert min(times) < 50
    assert max(times) > 900
    assert work == make_workload(CIRCLES, 1, kind="overlay", messages=500, subscriptions=50)
    assert work.fingerprint != make_workload(CIRCLES, 2, kind="overlay", messages=500, subscriptions=50).fingerprint


@pytest.mark.parametrize(("within", "least", "most"), [(1.0, 1.0, 1.0), (0.9, 0.88, 0.99), (0.0, 0.35, 0.75)])
def test_publishers_and_subscribers_of_a_topic_share_a_community(within: float, least: float, most: float) -> None:
    work = make_workload(CIRCLES, 1, kind="overlay", messages=1000, subscriptions=50, within=within, threshold=300.0)
    side = [(p.topic, p.node < 6) for p in work.publications] + [(s.topic, s.node < 6) for s in work.subscriptions]
    home = {topic: Counter(left for t, left in side if t == topic).most_common(1)[0][0] for topic, _ in side}
    assert least <= sum(left == home[topic] for topic, left in side) / len(side) <= most


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(HunetError, match="make no 200 subscriptions"):
        make_workload(CIRCLES, kind="overlay", subscriptions=200)
    with pytest.raises(HunetError, match="no community found"):
        make_workload(CIRCLES, kind="overlay", threshold=1e9, within=0.5)
