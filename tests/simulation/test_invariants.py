"""What must hold in every run, whatever the protocol, the contacts, the workload, the links and the luck.

A protocol takes part by an entry in ``PROTOCOLS``. Every test counts what it has seen: crowds in which nothing passes
would satisfy everything.
"""

from __future__ import annotations

import io
import json
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hunet
from hunet import Contacts, Crash, Links, Publication, Result, Workload, run
from hunet.protocols import Data, Driver, Protocol
from hunet.protocols.watcher import watch_protocol
from hunet.simulation import EventLog
from hunet.simulation.event_log import _replay
from tests.fields import difference, rows
from tests.strategies import Crowd, crowd, crowds

PROTOCOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "push": ("push", {}),
    "push, small buffers": ("push", {"buffer": 2, "evict": "first-in"}),
    "push, two hops": ("push", {"max_hops": 2}),
    "pull": ("pull", {}),
    "pull from anyone": ("pull", {"from_anyone": True}),
    "spray-and-wait": ("spray-and-wait", {"copies": 4}),
    "push, as The ONE": ("push", {"buffer": 3, "again": "next-contact", "subscribers_carry": False}),
    "spray-and-wait, again": ("spray-and-wait", {"copies": 4, "buffer": 3, "again": "next-contact"}),
    "prophet": ("prophet", {"time_unit": 1.0}),
    "prophet-v2": ("prophet-v2", {"typical_interval": 5.0, "p_threshold": 0.01}),
    "max-prop": ("max-prop", {"buffer": 4}),
    "max-prop, delete": ("max-prop", {"acknowledged": "delete"}),
    "bubble-rap": ("bubble-rap", {"threshold": 3.0, "window": 5.0}),
    "bubble-rap, handover": ("bubble-rap", {"threshold": 3.0, "window": 5.0, "handover": True, "rank": "single"}),
    "foresight": ("foresight", {"doubt": 1.0}),
    "foresight, small buffers": ("foresight", {"price": 0.3, "buffer": 2}),
    "b-sub": ("b-sub", {"decay_cycle": 4.0, "buffer": 3}),
    "b-sub, two hops": ("b-sub", {"decay_cycle": 4.0, "max_hops": 2}),
    "b-sub-p": ("b-sub-p", {"decay_cycle": 4.0, "exact": True}),
    "b-sub-push": ("b-sub-push", {}),
    "b-sub-pull": ("b-sub-pull", {}),
    "socialcast": ("socialcast", {"period": 2.0, "hysteresis": 0.0}),
    "socialcast-random": ("socialcast-random", {"period": 2.0, "buffer": 4}),
    "socio-aware-overlay": ("socio-aware-overlay", {"threshold": 3.0, "broker_link": "unicast"}),
    "social-election": (
        "social-election",
        {"window": 8.0, "lower_bound": 1, "upper_bound": 1, "ask_again": False, "buffer": 2},
    ),
    "social-election, delegation": (
        "social-election",
        {"window": 8.0, "lower_bound": 1, "replication": "delegation", "self_promotion": True},
    ),
    "random-broker": ("random-broker", {"cycle": 5.0, "share": 0.5, "direct_delivery": True}),
    "mops": (
        "mops",
        {"closeness": [[0, 1, 0.9], [1, 2, 0.8], [2, 3, 0.3], [3, 4, 0.9]], "later": [[9, [[0, 3, 0.7]]]]},
    ),
    "mops, small buffers": (
        "mops",
        {"default_weight": 0.0, "buffer": 2, "closeness": [[0, 1, 0.6], [1, 2, 0.6], [0, 3, 0.2]]},
    ),
    "mops, exchange": ("mops", {"learning": "exchange", "sigma": 5.0, "relearn": 7.0, "window": 9.0}),
    "k-nearest": ("k-nearest", {}),
}
LINKS = {
    "instantaneous": Links(),
    "messages/s": Links(rate=0.5),
    "bits/s": Links(rate=40, unit="bits/s"),
    "shared with control": Links(rate=4000, unit="bits/s", control="shared"),
    "lossy": Links(loss=0.3),
}
SEEDS = range(10)

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def simulate(crowd: Crowd, protocol: str, links: Links, **more: Any) -> Result:
    name, parameters = PROTOCOLS[protocol]
    contacts, workload = crowd
    return run(contacts, workload, name, links=links, **parameters, **more)


def test_every_protocol_takes_part() -> None:
    assert {name for name, _ in PROTOCOLS.values()} == set(hunet.PROTOCOLS)


# One result ----------------------------------------------------------------------------------------------------------


def check(contacts: Contacts, workload: Workload, result: Result) -> None:
    deliveries_are_unique_wanted_and_alive(contacts, workload, result)
    packets_cross_open_contacts_and_carry_what_the_sender_has(contacts, workload, result)
    tables_agree_with_each_other(result)


def deliveries_are_unique_wanted_and_alive(contacts: Contacts, workload: Workload, result: Result) -> None:
    said = {p.id: p for p in workload.publications}
    served = rows(result, "deliveries", "publication", "node", "time")
    assert len({(message, node) for message, node, _ in served}) == len(served)
    for message, node, time in served:
        publication = said[message]
        wanted = [s for s in workload.subscriptions if (contacts.names[s.node], s.topic) == (node, publication.topic)]
        assert any(s.start <= time <= s.end for s in wanted)
        assert node != contacts.names[publication.node]
        assert publication.ttl is None or time <= publication.time + publication.ttl


def packets_cross_open_contacts_and_carry_what_the_sender_has(
    contacts: Contacts, workload: Workload, result: Result
) -> None:
    """Reading the table from the top: who sends a message has published it, or a row above has brought it."""
    when = defaultdict(list)
    for a, b, start, end in contacts.records():
        when[frozenset((a, b))].append((start, end))
    came = {(p.id, contacts.names[p.node]): p.time for p in workload.publications}
    now = -inf
    for time, sender, receiver, message in rows(result, "forwards", "time", "sender", "receiver", "publication"):
        assert now <= time
        now = time
        assert any(start <= time <= end for start, end in when[frozenset((sender, receiver))])
        assert came[message, sender] <= time
        came.setdefault((message, receiver), time)
    for time, node, message in rows(result, "deliveries", "time", "node", "publication"):
        assert came[message, node] <= time


def tables_agree_with_each_other(result: Result) -> None:
    summary, said, nodes, series = result.summary, *(result.columns[t] for t in ("publications", "nodes", "series"))
    last = {name: column[-1] for name, column in series.items()}
    delivered, relayed = len(result.columns["deliveries"]["time"]), len(result.columns["forwards"]["time"])
    assert delivered == summary["delivered"] == said["delivered"].sum() == nodes["delivered"].sum() == last["delivered"]
    assert relayed == summary["relayed"] == said["forwards"].sum() == last["data_packets"]
    assert relayed == nodes["sent"].sum() == nodes["received"].sum()
    assert summary["control_packets"] == last["control_packets"]
    assert summary["pairs"] == said["interested"].sum()
    assert (said["delivered"] <= said["reachable"]).all()
    assert (said["reachable"] <= said["interested"]).all()
    assert (said["copies_net"] <= said["copies"]).all()


@each_protocol
@pytest.mark.parametrize("links", LINKS)
def test_what_must_hold_holds_in_dense_crowds(protocol: str, links: str) -> None:
    delivering = delivered = relayed = 0
    for seed in SEEDS:
        contacts, workload = crowd(seed)
        result = simulate((contacts, workload), protocol, LINKS[links])
        check(contacts, workload, result)
        delivering += result.summary["delivered"] > 0
        delivered += result.summary["delivered"]
        relayed += result.summary["relayed"]
    assert delivering >= 7
    assert relayed >= delivered >= 15


@each_protocol
def test_what_must_hold_holds_in_any_crowd(protocol: str) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=settings().max_examples // 4)
    @given(crowds(ttl=True), st.sampled_from(list(LINKS.values())))
    def examples(crowd: Crowd, links: Links) -> None:
        result = simulate(crowd, protocol, links)
        check(*crowd, result)
        seen.update(delivered=result.summary["delivered"], relayed=result.summary["relayed"])

    examples()
    assert seen["relayed"] >= seen["delivered"] >= 15


def test_seven_crowds_in_ten_deliver_something() -> None:
    delivered: list[int] = []

    @given(crowds(ttl=True))
    def examples(crowd: Crowd) -> None:
        delivered.append(run(*crowd, "push").summary["delivered"])

    examples()
    assert sum(many > 0 for many in delivered) >= 0.7 * len(delivered)


# Two results ---------------------------------------------------------------------------------------------------------


@each_protocol
def test_the_same_name_gives_the_same_bytes(protocol: str) -> None:
    delivered = 0
    for seed, links in enumerate(LINKS.values()):
        one, two = (simulate(crowd(seed), protocol, links) for _ in range(2))
        assert one.name == two.name
        assert one.summary == two.summary
        for table in one.columns:
            assert difference(one.columns[table], two.columns[table]) is None
        delivered += one.summary["delivered"]
    assert delivered >= 5


@each_protocol
def test_a_log_replays_to_the_same_actions(protocol: str) -> None:
    delivered = 0
    for seed, links in enumerate(LINKS.values()):
        log = io.StringIO()
        crashes = [Crash(seed, 12.0, float(seed)), Crash(5, 20.0, 3.0)]
        watched = simulate(crowd(seed), protocol, links, crashes=crashes, log=EventLog(log))
        plain = simulate(crowd(seed), protocol, links, crashes=crashes)
        assert watched.summary == plain.summary
        assert _replay(Path("log"), io.StringIO(log.getvalue())) > 0
        delivered += plain.summary["delivered"]
    assert delivered >= 5


# What a device knows --------------------------------------------------------------------------------------------------


@each_protocol
def test_other_messages_in_the_future_make_no_difference(protocol: str) -> None:
    until, said = 12.0, 0
    for seed, links in enumerate((LINKS["instantaneous"], LINKS["bits/s"])):
        contacts, workload = crowd(seed)
        rng, past = Random(seed), [each for each in workload.publications if each.time <= until]
        later = [each for each in workload.publications if each.time > until]
        assert later
        others = [
            each._replace(time=rng.uniform(until + 0.1, 20), node=rng.randrange(6), topic=rng.choice("wxyz"), size=5)
            for each in rng.sample(later, len(later))
        ]
        futures: list[list[Publication]] = [later, [*others, Publication("more", 15.0, 0, "x")], []]
        logs = [
            simulate_log((contacts, Workload.of([*past, *future], list(workload.subscriptions))), protocol, links)
            for future in futures
        ]
        lines = _events(logs[0], until)
        assert all(_events(log, until) == lines for log in logs[1:])
        said += len(lines)
    assert said > 150


def simulate_log(crowd: Crowd, protocol: str, links: Links) -> str:
    log = io.StringIO()
    simulate(crowd, protocol, links, train=0.2, log=EventLog(log))
    return log.getvalue()


def _events(log: str, until: float) -> list[str]:
    """The lines of a log up to a time: what devices were shown, and what they did."""
    return [line for line in log.splitlines() if (json.loads(line).get("t") or 0) <= until and '"node":' in line]


class Auditor:
    """In the place of an event log: every device gets packets of its own, and its catalogue has what it was shown."""

    def __init__(self) -> None:
        self.shown = 0

    def begin(self, *_: Any) -> None:
        """What is run does not matter here."""

    def recording(self, node: int, driver: Driver, create: Callable[[Driver], Protocol], starts: int) -> Protocol:
        expected = 0

        def check(event: str, given: dict[str, Any]) -> None:
            nonlocal expected
            if event == "publish":
                expected |= given["message"].bit
            elif event.startswith("receive"):
                given["packet"] = pickle.loads(pickle.dumps(given["packet"]))
                expected |= given["packet"].messages if isinstance(given["packet"], Data) else 0
            assert sum(message.bit for message in driver.messages) == expected
            self.shown += expected > 0

        return watch_protocol(create(driver), check)


@each_protocol
def test_a_device_shares_neither_messages_nor_packets_with_others(protocol: str) -> None:
    auditor: Any = Auditor()
    for seed, links in enumerate((LINKS["instantaneous"], LINKS["bits/s"])):
        crashes = [Crash(seed, 12.0, 2.0)]
        audited = simulate(crowd(seed), protocol, links, crashes=crashes, log=auditor)
        assert audited.summary == simulate(crowd(seed), protocol, links, crashes=crashes).summary
    assert auditor.shown > 50


# Single protocols ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", LINKS)
def test_pull_never_wastes_a_packet(links: str) -> None:
    relayed = 0
    for seed in SEEDS:
        result = simulate(crowd(seed, ttl=False, lasting=True), "pull", LINKS[links])
        assert result.summary["efficiency"] == 1
        assert result.summary["overhead_ratio"] == 0
        relayed += result.summary["relayed"]
    assert relayed >= 50


@pytest.mark.parametrize("copies", [1, 2, 5, 6])
@pytest.mark.parametrize("links", LINKS)
def test_spray_conserves_tokens(copies: int, links: str) -> None:
    """Replaying the tokens that packets carried, nobody ever has less than one of what it carries, or more than L."""
    moved = 0
    for seed in SEEDS[:4]:
        log = io.StringIO()
        run(*crowd(seed, ttl=False), "spray-and-wait", copies=copies, links=LINKS[links], log=EventLog(log))
        tokens: Counter[tuple[str, str]] = Counter()
        for event in map(json.loads, log.getvalue().splitlines()):
            if event.get("in") == "publish":
                tokens[event["message"], event["node"]] += copies
            elif event.get("in") == "sent" and event["arrived"]:
                for message in event["packet"]["messages"]:
                    tokens[message, event["node"]] -= event["packet"]["tokens"]
                    tokens[message, event["peer"]] += event["packet"]["tokens"]
                    moved += event["packet"]["tokens"]
                    assert tokens[message, event["node"]] >= 0
        totals: Counter[str] = Counter()
        for (message, _), count in tokens.items():
            totals[message] += count
        assert set(totals.values()) == {copies}
    assert moved >= 10 * (copies > 1)


@pytest.mark.parametrize("evict", ["oldest", "first-in", "last-in"])
def test_a_buffer_never_holds_more_than_it_can(evict: str) -> None:
    dropped = 0
    for seed in SEEDS:
        for buffer in range(1, 5):
            result = run(*crowd(seed), "push", buffer=buffer, evict=evict)
            assert result.summary["buffer_max"] <= buffer
            assert (result.nodes["buffer_avg"] <= buffer + 1e-9).all()
            dropped += result.summary["dropped_overflow"]
    assert dropped >= 50
