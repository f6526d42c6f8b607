"""What happened beside what was simulated: devices that meet late, too late, never, or do what they should not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from hunet import Contacts, run
from hunet.model import Catalogue, Publication, Subscription, Workload
from hunet.model.randomness import Stream, node_rng
from hunet.node.emulated_device import EPOCH, _Recorder
from hunet.protocols import Driver
from hunet.protocols.contract import Logged
from hunet.simulation.agreement import Agreement, _Laboratory, compare
from hunet.simulation.engine import Engine, Links, Rank
from hunet.simulation.record import columns
from hunet.systems import protocol_class

LINE = Contacts.from_records([("0", "1", 10, 12), ("0", "1", 100, 160), ("1", "2", 200, 300)])
NEWS = Workload.of([Publication("m", 0.0, 0, "news")], [Subscription(1, "news"), Subscription(2, "news")])


class Reality:
    """Devices that are simulated, too, but on contacts of their own; they log what real ones do."""

    def __init__(self, contacts: Contacts, workload: Workload, protocol: str) -> None:
        self.recorders: list[Any] = []
        kind = protocol_class(protocol)

        def make(node: int, driver: Driver, starts: int) -> Any:
            recorder = _Recorder(node)
            recorder._protocol = kind(node, kind.Parameters(), driver, node_rng(1, Stream.PROTOCOL, node, starts))
            self.recorders.append(recorder)
            return recorder

        self.messages = Catalogue()
        for said in workload.publications:
            self.messages.add(said.id, said.topic, said.node, said.time, said.size, said.ttl)
        self.engine = Engine(len(contacts.names), self.messages, make, Links(), Random(0))
        self.engine.now = min([contacts.span[0], *(said.time for said in workload.publications)])
        self.engine.start()
        for wanted in workload.subscriptions:
            self.engine.subscribe(wanted.node, wanted.topic)
        events: list[tuple[float, int, str, tuple[int, ...]]] = []
        for a, b, start, end in zip(contacts.a, contacts.b, contacts.start, contacts.end, strict=True):
            events += [(start, Rank.CONTACT_START, "meet", (a, b)), (end, Rank.CONTACT_END, "part", (a, b))]
        events += [(said.time, Rank.PUBLISH, "publish", (i,)) for i, said in enumerate(workload.publications)]
        for number, (time, rank, what, about) in enumerate(sorted(events)):
            self.engine.advance(float(time), rank)
            if what == "publish":
                self.engine.publish(self.messages[about[0]])
            elif what == "meet":
                for node in about:
                    self.recorders[node].session = str(number)
                self.engine.connect(int(about[0]), int(about[1]))
            else:
                self.engine.contact_end(int(about[0]), int(about[1]))
            self.engine.settle()

    @property
    def events(self) -> list[Logged]:
        found: list[Logged] = [event for recorder in self.recorders for event in recorder.events]
        return [event._replace(time=event.time + EPOCH) for event in sorted(found)]

    @property
    def delivered(self) -> dict[tuple[str, int], float]:
        time, node, number, _ = columns(self.engine.record.deliveries, 4)
        return {(self.messages[int(m)].id, int(n)): float(t) for t, n, m in zip(time, node, number, strict=True)}


def agree(planned: Contacts, real: Contacts, workload: Workload, protocol: str = "push", **more: Any) -> Agreement:
    reality = Reality(real, workload, protocol)
    delivered = reality.delivered | more.pop("delivered", {})
    return compare(planned, workload, reality.events, delivered, protocol, slowest=5.0)


def on(*rows: tuple[str, str, float, float]) -> Contacts:
    return Contacts.from_arrays(
        LINE.names, [int(r[0]) for r in rows], [int(r[1]) for r in rows], [r[2] for r in rows], [r[3] for r in rows],
        span=LINE.span,
    )  # fmt: skip


def test_what_happens_as_planned_is_the_same() -> None:
    agreement = agree(LINE, LINE, NEWS)
    assert agreement.same == 2
    assert agreement.explained
    assert not agreement.differences


def test_devices_that_meet_a_little_late_deliver_a_little_late() -> None:
    agreement = agree(LINE, on(("0", "1", 11, 12), ("0", "1", 101, 160), ("1", "2", 203, 300)), NEWS)
    assert agreement.delays == [1.0, 3.0]
    assert agreement.meeting_times == [1.0, 1.0, 3.0]
    assert agreement.explained


def test_a_contact_too_short_to_meet_is_a_reason() -> None:
    agreement = agree(LINE, on(("0", "1", 101, 160), ("1", "2", 203, 300)), NEWS)
    (difference,) = agreement.differences
    assert difference[:4] == ("m", 1, 10.0, 101.0)
    assert difference.cause == "0 and 1, in reach from 10 s to 12 s, had no time to meet"
    assert agreement.explained
    assert agreement.missed == 1


def test_a_long_contact_in_which_devices_do_not_meet_is_none() -> None:
    agreement = agree(LINE, on(("0", "1", 11, 12), ("0", "1", 101, 160)), NEWS)
    (difference,) = agreement.differences
    assert difference[:4] == ("m", 2, 200.0, None)
    assert "no time to meet" in difference.cause
    assert not agreement.explained


@pytest.mark.parametrize(("apart", "explained"), [(4, True), (40, False)])
def test_a_moment_apart_that_nobody_noticed_is_a_reason(apart: float, explained: bool) -> None:
    """B-SUB exchanges once in a contact: what is said in a gap goes over in the next, if there is a next."""
    planned = on(("0", "1", 100, 160), ("0", "1", 160 + apart, 300))
    late_news = Workload.of([Publication("m", 162.0, 0, "news")], [Subscription(1, "news")])
    agreement = agree(planned, on(("0", "1", 100, 300)), late_news, "b-sub")
    (difference,) = agreement.differences
    assert difference[:4] == ("m", 1, 160.0 + apart, None)
    assert ("had not noticed" in difference.cause) is explained
    assert agreement.explained is explained


def test_nor_is_a_link_that_breaks() -> None:
    agreement = agree(LINE, on(("0", "1", 11, 12), ("1", "2", 201, 202), ("1", "2", 220, 300)), NEWS)
    assert agreement.explained
    late = Workload.of([Publication("m", 210.0, 1, "news")], [Subscription(2, "news")])
    agreement = agree(LINE, on(("0", "1", 11, 12), ("1", "2", 201, 202), ("1", "2", 220, 300)), late)
    (difference,) = agreement.differences
    assert difference.cause == "1 and 2, in reach from 200 s to 300 s, lost each other and met again"
    assert not agreement.explained


def test_a_device_that_does_what_its_protocol_does_not_is_found_out() -> None:
    agreement = agree(LINE, LINE, NEWS, delivered={("m", 2): 205.5})
    assert agreement.broken == ["m at 2: delivered at 205.5 s, but its protocol says delivered at 200.0 s"]
    assert not agreement.explained


def test_a_device_that_hears_what_nobody_said_is_found_out() -> None:
    reality = Reality(LINE, NEWS, "push")
    events = reality.events
    heard = next(event for event in events if event.what == "receive" and event.about == "Carried")
    events.insert(events.index(heard), heard)
    agreement = compare(LINE, NEWS, events, reality.delivered, "push", slowest=5.0)
    assert "1 heard a Carried of 0, whose protocol says nothing" in agreement.broken


@pytest.mark.parametrize("protocol", ["push", "b-sub", "socialcast"])
def test_nothing_is_left_unexplained_when_devices_only_meet_late(protocol: str) -> None:
    changed = 0
    for seed in range(8):
        rng = Random(seed)
        rows, real = [], []
        for _ in range(40):
            a, b = sorted(rng.sample(range(6), 2))
            start = rng.uniform(0, 2000)
            end = start + rng.choice([2.0, 50.0])
            rows.append((str(a), str(b), start, end))
        planned = Contacts.from_records(rows)
        for one, two, start, end in planned.records():
            late = start + rng.uniform(0.0, 5.0)
            if late < end:
                real.append((planned.names.index(one), planned.names.index(two), late, end))
        columns_of = zip(*real, strict=True)
        happened = Contacts.from_arrays(planned.names, *columns_of, span=planned.span)
        workload = Workload.of(
            [Publication(f"m{i}", rng.uniform(1, 1500), rng.randrange(6), rng.choice("xy")) for i in range(20)],
            [Subscription(node, topic) for node in range(6) for topic in rng.sample("xy", 1)],
        )
        agreement = agree(planned, happened, workload, protocol)
        assert agreement.broken == []
        assert agreement.explained, [each for each in agreement.differences if not each.explained]
        changed += len(agreement.differences)
    assert changed


def test_the_plan_is_simulated_as_ever() -> None:
    reality = Reality(LINE, NEWS, "b-sub")
    laboratory = _Laboratory(LINE, NEWS, reality.events, "b-sub", 1, {})
    table = run(LINE, NEWS, "b-sub").deliveries
    assert laboratory.outcome(0) == {
        (str(m), LINE.names.index(str(n))): t
        for m, n, t in table[["publication", "node", "time"]].itertuples(index=False)
    }
