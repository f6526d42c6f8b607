"""Stage 6: one large run, split by publication over tasks and merged to the bytes of the unsplit run.

Theory of operation. Where buffers and links are unlimited, what becomes of a publication does not depend on the
others, given the contacts: every shard replays all contacts with its share of the publications. The rows that the
shards record (deliveries, data packets, copies stored and removed) are then those of the unsplit run. They are put
in one order, by time, publication and node, in which the unsplit run's rows stand as well.

What is not simply added up is control traffic. Its bytes are what devices say anyway (measured by a shard without
publications) and what they say of single messages, which is additive. Its packets are what devices say anyway and
one announcement to each further neighbour for every data packet that brought news; the unsplit run sends in one
data packet what the shards send in several, so packets of the same event between the same two devices count once.
An event (a contact that starts, an application that subscribes or publishes) has the same number in every shard.
The sums are checked against each shard's own count: a protocol that says anything else is refused, not
approximated.

Which protocols qualify. The ways of two messages must not touch. They do where links are served in an order that
other messages change, and the order decides: with tokens that are split (spray-and-wait), with a limit of hops,
with receivers that serve others by their own interests (PULL with ``from_anyone``). PUSH qualifies because devices
that are in contact know the same messages, so that all news of a new contact goes the same way; PULL because
nothing goes further than from its publisher to a subscriber.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hunet.model import Catalogue, ConfigurationError, ProtocolError, Workload, from_mapping
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Data, Protocol
from hunet.simulation import Crash, Links, Result, run
from hunet.simulation.engine import Engine
from hunet.simulation.record import Record, columns, spread
from hunet.simulation.run import SERIES_STEPS
from hunet.simulation.schedule import Schedule, play
from hunet.simulation.summary import Outcome
from hunet.systems import protocol_class

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from hunet.model import Contacts, Message

    Floats = NDArray[np.float64]

_COUPLED = {"push": {"max_hops"}, "pull": {"from_anyone"}}
"""The protocols whose publications are independent, and the parameters under which they are not."""


@dataclass(frozen=True)
class Job:
    """What is run: the arguments of ``hunet.run``."""

    contacts: Contacts
    workload: Workload
    protocol: str
    seed: int
    train: float
    parameters: dict[str, Any]

    @property
    def span(self) -> tuple[float, float]:
        """First and last instant of the unsplit run, which are those of every shard."""
        times = [said.time for said in self.workload.publications]
        return min([self.contacts.span[0], *times]), max([self.contacts.span[1], *times])

    def share(self, shard: int, shards: int) -> Workload:
        """The workload of a shard: every n-th publication, and all subscriptions."""
        return replace(self.workload, publications=self.workload.publications[shard::shards])


class Shard(NamedTuple):
    """What a shard leaves behind; messages carry the numbers of the unsplit run."""

    deliveries: Floats
    """time, message, node, hops"""
    forwards: Floats
    """time, message, sender, receiver"""
    packets: Floats
    """event, publication of the event or -1, sender, receiver, time, announcements: data packets"""
    stored: Floats
    """time, message, node"""
    removed: list[tuple[float, int, int, str]]
    """time, message, node, reason"""
    control: list[tuple[int, int]]
    """Control packets and bytes so far, at each step of the series."""
    unpublished: int


def run_sharded(
    spark: SparkSession,
    contacts: Contacts,
    workload: Workload,
    protocol: str = "push",
    *,
    shards: int,
    seed: int = 1,
    links: Links | None = None,
    crashes: Sequence[Crash] = (),
    train: float = 0.0,
    **parameters: Any,
) -> Result:
    """What ``hunet.run`` gives with the same arguments, by as many Spark tasks as there are shards."""
    refuse_coupled(protocol, links or Links(), parameters, crashes=bool(crashes))
    if shards < 1:
        raise ConfigurationError(f"a run cannot be split into {shards} shards: give at least 1")
    job = Job(contacts, workload, protocol, seed, train, parameters)
    everything = spark.sparkContext.broadcast(job)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for shard in batch.column(0).to_pylist():
                made = play_shard(everything.value, shard, shards)
                # One row a table: a single value of Arrow holds two gigabytes at most.
                for part, table in enumerate(made):
                    row = [pa.array([shard]), pa.array([part]), pa.array([pickle.dumps(table)], pa.binary())]
                    yield pa.RecordBatch.from_arrays(row, names=["shard", "part", "table"])

    rows = spark.range(0, shards, 1, shards).mapInArrow(work, "shard bigint, part bigint, table binary").collect()
    everything.unpersist()
    tables: dict[int, dict[int, Any]] = {}
    for row in rows:
        tables.setdefault(row["shard"], {})[row["part"]] = pickle.loads(bytes(row["table"]))
    return merge_shards(job, [Shard(*(tables[i][part] for part in range(len(Shard._fields)))) for i in range(shards)])


def refuse_coupled(protocol: str, links: Links, parameters: dict[str, Any], *, crashes: bool = False) -> None:
    """Raise, saying why, where the fate of one publication depends on the others."""
    chosen = from_mapping(protocol_class(protocol).Parameters, parameters)
    reason = ""
    if getattr(chosen, "buffer", None) is not None:
        reason = "buffers are limited, so that messages push each other out"
    elif links.rate is not None:
        reason = "links are limited, so that messages wait for each other"
    elif links.loss or links.out_of_band_loss:
        reason = "links lose packets, and which ones depends on all packets before"
    elif crashes:
        reason = "devices crash, and what they and others say when they are back depends on all messages"
    elif protocol not in _COUPLED:
        reason = f"with {protocol}, the order in which messages are served decides who gets them"
    else:
        for name in sorted(_COUPLED[protocol]):
            if getattr(chosen, name) not in (None, False):
                reason = f"with {name}, the order in which messages are served decides which way they take"
    if reason:
        raise ConfigurationError(f"this run cannot be split by publication: {reason}. Run it without --shards")


def play_shard(job: Job, shard: int, shards: int) -> Shard:
    """Replay all contacts with a shard's publications."""
    workload, kind = job.share(shard, shards), protocol_class(job.protocol)
    chosen = from_mapping(kind.Parameters, job.parameters)
    messages = Catalogue()
    for said in workload.publications:
        messages.add(said.id, said.topic, said.node, said.time, said.size, said.ttl)

    def make(node: int, driver: Any, starts: int) -> Protocol:
        return kind(node, chosen, driver, node_rng(job.seed, Stream.PROTOCOL, node, starts))

    rng = node_rng(job.seed, Stream.LINKS)
    engine = _Labelled(len(job.contacts.names), messages, make, Links(), rng)
    begin, end = job.span
    engine.now = begin
    engine.start()
    schedule = Schedule(job.contacts, workload, (), (begin, end), job.train)
    for subscription in workload.subscriptions:
        if subscription.start == -inf:
            engine.subscribe(subscription.node, subscription.topic)
    control = play(engine, schedule, _steps(job)[1:].tolist(), None)
    return _renumbered(engine, control, np.arange(len(job.workload.publications))[shard::shards])


def merge_shards(job: Job, shards: list[Shard]) -> Result:
    """The result of the unsplit run."""
    # Nothing is published, but the run lasts as long: this is what devices say anyway, and the run's name.
    begin, end = job.span
    silent = replace(job.workload, publications=())
    still = run(
        replace(job.contacts, span=(begin, end)),
        silent,
        job.protocol,
        seed=job.seed,
        train=job.train,
        **job.parameters,
    )
    name = still.name | {
        "contacts": {**still.name["contacts"], "sha256": job.contacts.fingerprint},
        "workload": {**still.name["workload"], "sha256": job.workload.fingerprint},
    }
    series = still.columns["series"]
    anyway = list(zip(series["control_packets"].tolist(), series["control_bytes"].tolist(), strict=True))
    steps = _steps(job)
    announced = [_announced(shard.packets, steps) for shard in shards]
    for shard, own in zip(shards, announced, strict=True):
        if [packets for packets, _ in shard.control] != [a + b for (a, _), b in zip(anyway, own, strict=True)]:
            raise ProtocolError(f"{job.protocol} says more of its messages than can be added up: run it without shards")
    together = _announced(np.concatenate([shard.packets for shard in shards]), steps)
    control = [
        (base[0] + more, base[1] + sum(shard.control[step][1] - base[1] for shard in shards))
        for step, (base, more) in enumerate(zip(anyway, together, strict=True))
    ]
    record = _record(shards)
    record.control_packets, record.control_bytes = control[-1]
    return Outcome(name, job.contacts, job.workload, record, (begin, end)).result(steps, control)


class _Labelled(Engine):
    """An engine that numbers its events alike in every shard, and notes what each data packet set off."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.packets = array("d")
        self._event = 0
        self._said = -1

    def connect(self, one: int, two: int) -> None:
        self._event += 1
        super().connect(one, two)

    def subscribe(self, node: int, topic: str) -> None:
        self._event += 1
        super().subscribe(node, topic)

    def unsubscribe(self, node: int, topic: str) -> None:
        self._event += 1
        super().unsubscribe(node, topic)

    def publish(self, message: Message) -> None:
        self._said = message.number
        super().publish(message)
        self._said = -1

    def _carry(self, sender: int, receiver: int, packet: Data) -> None:
        before = self.record.control_packets
        super()._carry(sender, receiver, packet)
        announced = self.record.control_packets - before
        self.packets.extend((self._event, self._said, sender, receiver, self.now, announced))


def _steps(job: Job) -> Floats:
    return np.linspace(*job.span, SERIES_STEPS + 1)


def _renumbered(engine: _Labelled, control: list[tuple[int, int]], numbers: NDArray[np.int64]) -> Shard:
    """A shard's record with the message numbers of the unsplit run."""
    record = engine.record
    time, node, message, hops = columns(record.deliveries, 4)
    sent_time, sender, receiver, sent = spread(record.forwards, 4, record.forwarded_messages)
    kept_time, keeper, kept = spread(record.stored, 3, record.stored_messages)
    packets = np.column_stack(columns(engine.packets, 6))
    published = packets[:, 1] >= 0
    packets[published, 1] = numbers[packets[published, 1].astype(np.int64)]
    return Shard(
        np.column_stack([time, numbers[message.astype(np.int64)], node, hops]),
        np.column_stack([sent_time, numbers[sent], sender, receiver]),
        packets,
        np.column_stack([kept_time, numbers[kept], keeper]),
        [(when, int(numbers[number]), who, why) for when, number, who, why in _removed(record)],
        control,
        record.unpublished,
    )


def _removed(record: Record) -> list[tuple[float, int, int, str]]:
    time, node, message, reason = (column.tolist() for column in columns(record.removed, 4))
    return [
        (when, int(number), int(who), record.reasons[int(why)])
        for when, who, number, why in zip(time, node, message, reason, strict=True)
    ]


def _announced(packets: Floats, steps: Floats) -> list[int]:
    """Announcements so far at each step: packets of one event between the same two devices are one packet."""
    if not len(packets):
        return [0] * (len(steps) - 1)
    order = np.lexsort(packets[:, :4].T[::-1])
    ordered = packets[order]
    fresh = np.ones(len(ordered), bool)
    fresh[1:] = (ordered[1:, :4] != ordered[:-1, :4]).any(axis=1)
    most = np.maximum.reduceat(ordered[:, 5], np.flatnonzero(fresh))
    time = ordered[fresh, 4]
    by_time = np.argsort(time, kind="stable")
    total = np.concatenate([[0], np.cumsum(most[by_time])])
    return [int(total[place]) for place in np.searchsorted(time[by_time], steps[1:], side="right")]


def _record(shards: list[Shard]) -> Record:
    """One record of several shards' rows, in order."""
    record = Record()

    def together(rows: list[Floats]) -> Floats:
        table = np.concatenate(rows)
        return table[np.lexsort(table.T[::-1])]

    deliveries = together([shard.deliveries for shard in shards])[:, [0, 2, 1, 3]]
    record.deliveries = array("d", deliveries.tobytes())
    forwards = together([shard.forwards for shard in shards])
    one = np.ones(len(forwards))
    record.forwards = array("d", np.column_stack([forwards[:, [0, 2, 3]], one]).tobytes())
    record.forwarded_messages = array("l", forwards[:, 1].astype(np.dtype("l")).tobytes())
    stored = together([shard.stored for shard in shards])
    record.stored = array("d", np.column_stack([stored[:, [0, 2]], np.ones(len(stored))]).tobytes())
    record.stored_messages = array("l", stored[:, 1].astype(np.dtype("l")).tobytes())
    for time, message, node, reason in sorted(row for shard in shards for row in shard.removed):
        record.removed.extend((time, node, message, record.reason(reason)))
    record.unpublished = sum(shard.unpublished for shard in shards)
    return record
