"""What happened beside what was simulated: devices that meet late, too late, never, or do what they should not."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple, cast

import pytest

from hunet import Contacts, Links, run
from hunet.model import Message, Publication, Subscription, Workload, members
from hunet.node.emulated_device import EPOCH, Recorder
from hunet.protocols import Data, Packet, Protocol
from hunet.protocols.capabilities import OutOfBandDriver
from hunet.protocols.watcher import CONDUCTOR, Logged, Stall
from hunet.simulation.agreement import Agreement, Difference, compare
from hunet.systems import protocol_class

LINE = Contacts.from_records([("0", "1", 10, 12), ("0", "1", 100, 160), ("1", "2", 200, 300)])
NEWS = Workload.of([Publication("m", 0.0, 0, "news")], [Subscription(1, "news"), Subscription(2, "news")])


class Plain:
    """A simulator's driver to which devices leave nothing out, as to that of a live node."""

    repeats = False

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


class Reality(NamedTuple):
    """What devices logged and delivered that were simulated, too, but on contacts of their own."""

    events: list[Logged]
    delivered: dict[tuple[str, int], float]

    @classmethod
    def on(
        cls, contacts: Contacts, workload: Workload, protocol: str, links: Links | None = None, **parameters: Any
    ) -> Reality:
        base: Any = protocol_class(protocol)
        recorders: list[Recorder] = []

        class Recorded(base):  # type: ignore[misc]
            def __new__(cls, node: int, parameters: Any, driver: Any, rng: Random) -> Any:
                recorders.append(Recorder(node, lambda peer: f"{sorted((node, peer))} at {driver.engine.now}"))
                return recorders[-1](base(node, parameters, Plain(driver), rng))

        result = run(contacts, workload, Recorded, links=links, **parameters)
        events = sorted(event for recorder in recorders for event in recorder.events if event.what != "start")
        rows = result.deliveries[["publication", "node", "time"]].itertuples(index=False)
        return cls(
            [event._replace(time=event.time + EPOCH) for event in events],
            {(message, contacts.names.index(node)): time for message, node, time in rows},
        )


def agree(planned: Contacts, real: Contacts, workload: Workload, protocol: str = "push", **more: Any) -> Agreement:
    links, others = more.pop("links", None), more.pop("delivered", {})
    reality = Reality.on(real, workload, protocol, links, **more)
    return compare(planned, workload, reality.events, reality.delivered | others, protocol, slowest=5.0, **more)


def on(*rows: tuple[str, str, float, float]) -> Contacts:
    return Contacts.from_arrays(
        LINE.names, [int(r[0]) for r in rows], [int(r[1]) for r in rows], [r[2] for r in rows], [r[3] for r in rows],
        span=LINE.span,
    )  # fmt: skip


def test_what_happens_as_planned_is_the_same() -> None:
    assert agree(LINE, LINE, NEWS) == Agreement(2, [], [0.0, 0.0], [0.0, 0.0, 0.0], 0, [])


def test_devices_that_meet_a_little_late_deliver_a_little_late() -> None:
    agreement = agree(LINE, on(("0", "1", 11, 12), ("0", "1", 101, 160), ("1", "2", 203, 300)), NEWS)
    assert agreement == Agreement(2, [], [1.0, 3.0], [1.0, 1.0, 3.0], 0, [])


def test_a_delivery_that_is_late_or_not_simulated_is_listed_and_nothing_is_lost() -> None:
    agreement = agree(LINE, on(("0", "1", 101, 160), ("1", "2", 203, 300)), NEWS)
    assert agreement.differences == [Difference("m", 1, 10.0, 101.0)]
    assert agreement.missed == 1
    agreement = agree(on(("0", "1", 10, 12)), LINE, NEWS)
    assert agreement.differences == [Difference("m", 2, None, 200.0)]
    assert agreement.lost == []


def test_a_contact_that_is_too_short_is_a_reason() -> None:
    planned = on(("0", "1", 10, 12), ("1", "2", 200, 300))
    agreement = agree(planned, on(("1", "2", 200, 300)), NEWS)
    reason = "0 had 2.0 s to give it to 1 (the contact ended at 12.0 s; not linked)"
    assert agreement.differences == [Difference("m", 1, 10.0, None, reason), Difference("m", 2, 200.0, None, reason)]
    assert agreement.lost == []


def test_so_is_a_message_that_reaches_a_device_too_late_for_its_next_contact() -> None:
    planned = on(("0", "1", 10, 60), ("1", "2", 10, 11))
    (difference,) = agree(planned, on(("0", "1", 12, 60), ("1", "2", 10.5, 11)), NEWS).differences
    linked = "linked from 10.5 s to 11.0 s"
    reason = f"1 had 0.0 s to give it to 2 (the contact ended at 11.0 s; {linked})"
    assert difference == Difference("m", 2, 10.0, None, reason)


@pytest.mark.parametrize(("ttl", "end", "what"), [(102.0, 160.0, "its life"), (None, 103.0, "the subscription")])
def test_so_is_a_life_or_a_subscription_that_ends_before_devices_have_met(
    ttl: float | None, end: float, what: str
) -> None:
    workload = Workload.of([Publication("m", 0.0, 0, "news", ttl=ttl)], [Subscription(1, "news", 0.0, end)])
    (difference,) = agree(on(("0", "1", 100, 160)), on(("0", "1", 104, 160)), workload).differences
    assert f"({what} ended at" in difference.reason


def test_a_long_contact_in_which_devices_do_not_meet_is_none() -> None:
    agreement = agree(LINE, on(("0", "1", 11, 12), ("0", "1", 101, 160)), NEWS)
    assert agreement.lost == agreement.differences == [Difference("m", 2, 200.0, None)]


def test_nor_is_a_link_that_breaks() -> None:
    late = Workload.of([Publication("m", 210.0, 1, "news")], [Subscription(2, "news")])
    agreement = agree(LINE, on(("0", "1", 11, 12), ("1", "2", 201, 202)), late)
    assert agreement.lost == [Difference("m", 2, 210.0, None)]


def test_an_exchange_that_lasts_to_the_end_of_the_contact_and_is_not_finished_is_a_reason() -> None:
    contacts = on(("0", "1", 100, 160))
    workload = Workload.of(
        [Publication("m", 1.0, 0, "news"), Publication("n", 2.0, 0, "news")], [Subscription(1, "news")]
    )
    differences = agree(contacts, contacts, workload, links=Links(rate=1 / 40)).differences
    assert [each.happened for each in differences] == [None, 140.0]
    assert differences[0].reason == "0 and 1 were linked from 100.0 s to 160.0 s, and did not finish their exchange"


@pytest.mark.parametrize(("apart", "accepted"), [(4, True), (40, False)])
def test_a_moment_apart_that_nobody_noticed_is_a_reason(apart: float, accepted: bool) -> None:
    """B-SUB as printed exchanges once in a contact: what is said in a gap goes over in the next, if there is one."""
    planned = on(("0", "1", 100, 160), ("0", "1", 160 + apart, 300))
    late_news = Workload.of([Publication("m", 162.0, 0, "news")], [Subscription(1, "news")])
    agreement = agree(planned, on(("0", "1", 100, 300)), late_news, "b-sub", while_linked=False)
    reason = "0 had it at 162.0 s, and had exchanged with 1 since 100.0 s" if accepted else ""
    assert agreement.differences == [Difference("m", 1, 160.0 + apart, None, reason)]


class Telephone(Protocol):
    """Sends everything to device 1, out of band."""

    def publish(self, message: Message, now: float) -> None:
        cast("OutOfBandDriver", self.driver).send_out_of_band(1, Data(message.bit))

    def receive_out_of_band(self, node: int, packet: Packet, now: float) -> None:
        assert isinstance(packet, Data)
        for number in members(packet.messages):
            self.driver.deliver(self.driver.messages[number], 1)


def test_what_was_sent_out_of_band_to_a_device_out_of_reach_is_lost() -> None:
    """Short contacts must not be taken for its cause."""
    contacts, name = on(("0", "1", 100, 101)), f"{__name__}:Telephone"
    agreement = agree(contacts, contacts, NEWS, name, links=Links(out_of_band_loss=1.0))
    assert agreement.broken == []
    assert agreement.lost == [Difference("m", 1, 0.0, None)]


@pytest.mark.parametrize(
    ("node", "reason"), [(0, True), (CONDUCTOR, True), (2, False)], ids=["sender", "conductor", "another"]
)
def test_a_machine_that_has_no_time_is_a_reason_and_is_measured(node: int, reason: bool) -> None:
    """They were in contact for 101 s and never linked; for 97 of them a process stood still, which was noted twice."""
    contacts, nothing = on(("0", "1", 0, 101), ("1", "2", 200, 201)), on(("1", "2", 200, 201))
    events, delivered = Reality.on(nothing, NEWS, "push")
    stalls = [Stall(node, 1.0, 60.0), Stall(node, 50.0, 98.0)]
    agreement = compare(contacts, NEWS, events, delivered, "push", slowest=5.0, stalls=stalls)
    said = [difference.reason for difference in agreement.differences]  # of both devices: the way is the same
    assert [bool(each) for each in said] == [reason, reason]
    assert all("97.0 s of it the machine had no time" in each for each in said) is reason


def test_what_was_sent_out_of_band_to_a_neighbour_is_replayed() -> None:
    contacts, name = on(("0", "1", 0, 101)), f"{__name__}:Telephone"
    workload = Workload.of([Publication("m", 50.0, 0, "news")], [Subscription(1, "news")])
    assert agree(contacts, contacts, workload, name) == Agreement(1, [], [0.0], [0.0], 0, [])


def test_a_device_that_does_what_its_protocol_does_not_is_found_out() -> None:
    agreement = agree(LINE, LINE, NEWS, delivered={("m", 2): 205.5})
    assert agreement.broken == ["m at 2: delivered at 205.5 s, but its protocol says delivered at 200.0 s"]


def test_a_device_that_receives_what_nobody_sent_is_found_out() -> None:
    events, delivered = Reality.on(LINE, NEWS, "push")
    received = next(event for event in events if event.what == "receive" and event.argument == "Carried")
    events.insert(events.index(received), received)
    agreement = compare(LINE, NEWS, events, delivered, "push", slowest=5.0)
    assert "1 received a Carried of 0, whose protocol sent nothing" in agreement.broken


@pytest.mark.parametrize("protocol", ["push", "b-sub", "socialcast"])
def test_nothing_is_lost_when_devices_only_meet_late(protocol: str) -> None:
    """With B-SUB and SocialCast who carries a message may change with a contact that is not on its path."""
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
        happened = Contacts.from_arrays(planned.names, *zip(*real, strict=True), span=planned.span)
        workload = Workload.of(
            [Publication(f"m{i}", rng.uniform(1, 1500), rng.randrange(6), rng.choice("xy")) for i in range(20)],
            [Subscription(node, topic) for node in range(6) for topic in rng.sample("xy", 1)],
        )
        agreement = agree(planned, happened, workload, protocol)
        assert agreement.broken == []
        assert protocol != "push" or agreement.lost == []
        changed += len(agreement.differences)
    assert changed
