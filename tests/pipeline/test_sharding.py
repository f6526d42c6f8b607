"""One run split by publication: the same bytes as unsplit, or a refusal that says why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet import Contacts, Links, Publication, Subscription, Workload, make_workload, make_world, run
from hunet.model import ConfigurationError
from hunet.pipeline.sharding import Job, merge_shards, play_shard, refuse_coupled, run_sharded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hunet.simulation import Result

NODES = 7


@st.composite
def cases(draw: st.DrawFn) -> tuple[Contacts, Workload]:
    """Few instants, so that many contacts, publications and subscriptions fall together."""
    instant = st.integers(0, 12).map(float)
    pair = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(lambda ends: ends[0] != ends[1])
    rows = draw(st.lists(st.tuples(pair, instant, instant), min_size=1, max_size=25))
    records = [(str(a), str(b), min(s, e), max(s, e)) for (a, b), s, e in rows]
    names = [str(node) for node in range(NODES)]
    contacts = Contacts.from_arrays(
        names,
        [int(row[0]) for row in records],
        [int(row[1]) for row in records],
        [row[2] for row in records],
        [row[3] for row in records],
    )
    node, topic = st.integers(0, NODES - 1), st.sampled_from(["x", "y"])
    ttl = st.sampled_from([None, 0.0, 3.0])
    said = draw(st.lists(st.tuples(instant, node, topic, ttl), min_size=1, max_size=8))
    publications = [
        Publication(f"m{i}", time, who, what, 10 + i, life) for i, (time, who, what, life) in enumerate(said)
    ]
    wanted = draw(st.lists(st.tuples(node, topic, instant, instant), max_size=8))
    subscriptions = [Subscription(who, what, min(s, e), max(s, e)) for who, what, s, e in wanted]
    subscriptions += [Subscription(who, what) for who, what in draw(st.lists(st.tuples(node, topic), max_size=6))]
    return contacts, Workload.of(publications, subscriptions)


def sharded(job: Job, shards: int) -> Result:
    return merge_shards(job, [play_shard(job, shard, shards) for shard in range(shards)])


def saved(result: Result, folder: Path) -> dict[str, bytes]:
    result.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("protocol", ["push", "pull"])
@given(cases(), st.integers(2, 5))
@settings(max_examples=150)
def test_shards_add_up(
    tmp_path_factory: pytest.TempPathFactory,
    protocol: str,
    case: tuple[Contacts, Workload],
    shards: int,
) -> None:
    contacts, workload = case
    job = Job(contacts, workload, protocol, 1, 0.0, {})
    folder = tmp_path_factory.mktemp("results")
    plain = run(contacts, workload, protocol, seed=1)
    assert saved(sharded(job, shards), folder / "split") == saved(plain, folder / "plain")


def test_crashes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="devices crash"):
        refuse_coupled("push", Links(), {}, crashes=True)


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    contacts = make_world("waypoint", seed=3, nodes=40, duration=900)
    workload = make_workload(contacts, seed=3, messages=60, ttl=300)
    split = run_sharded(spark, contacts, workload, "push", shards=4, seed=3)
    assert saved(split, tmp_path / "split") == saved(run(contacts, workload, "push", seed=3), tmp_path / "plain")


@pytest.mark.parametrize(
    ("protocol", "links", "parameters", "why"),
    [
        ("push", Links(), {"buffer": 10}, "buffers are limited"),
        ("push", Links(rate=5.0), {}, "links are limited"),
        ("pull", Links(loss=0.1), {}, "links lose packets"),
        ("spray-and-wait", Links(), {}, "the order in which messages are served"),
        ("push", Links(), {"max_hops": 3}, "with max_hops"),
        ("pull", Links(), {"from_anyone": True}, "with from_anyone"),
    ],
)
def test_what_is_coupled_is_refused(protocol: str, links: Links, parameters: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=f"cannot be split by publication: .*{why}"):
        refuse_coupled(protocol, links, parameters)
