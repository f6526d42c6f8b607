"""What must hold in every run, whatever the contacts, the workload, the links and the luck."""

from __future__ import annotations

import io
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Crash, Links, Result, Workload, run
from hunet.simulation import EventLog
from hunet.simulation.event_log import _replay
from tests.strategies import crowds

PROTOCOLS = st.sampled_from(
    [
        ("push", {}),
        ("push", {"buffer": 2, "evict": "first-in"}),
        ("push", {"max_hops": 2}),
        ("pull", {}),
        ("pull", {"from_anyone": True}),
        ("spray-and-wait", {"copies": 4}),
        ("b-sub", {"decay_cycle": 4.0, "buffer": 3}),
        ("b-sub-p", {"decay_cycle": 4.0, "exact": True}),
        ("socialcast", {"period": 2.0, "hysteresis": 0.0}),
        ("socialcast-random", {"period": 2.0}),
        ("socio-aware-overlay", {"threshold": 3.0, "broker_link": "unicast"}),
        ("social-election", {"window": 8.0, "lower_bound": 1, "upper_bound": 1, "buffer": 2}),
        ("social-election", {"window": 8.0, "lower_bound": 1, "replication": "delegation", "self_promotion": True}),
        ("random-broker", {"cycle": 5.0, "share": 0.5, "direct_delivery": True}),
        ("mops", {"closeness": [[0, 1, 0.9], [1, 2, 0.8], [2, 3, 0.3], [3, 4, 0.9]], "later": [[9, [[0, 3, 0.7]]]]}),
        ("mops", {"default_weight": 0.0, "buffer": 2, "closeness": [[0, 1, 0.6], [1, 2, 0.6], [0, 3, 0.2]]}),
        ("mops", {"learning": "exchange", "sigma": 5.0, "relearn": 7.0, "window": 9.0}),
        ("k-nearest", {}),
    ]
)
LINKS = st.sampled_from([Links(), Links(rate=0.5), Links(rate=40, unit="bits/s"), Links(loss=0.3)])


def simulate(crowd: tuple[Contacts, Workload], protocol: tuple[str, dict[str, Any]], links: Links) -> Result:
    return run(crowd[0], crowd[1], protocol[0], links=links, **protocol[1])


def open_at(contacts: Contacts) -> dict[frozenset[str], list[tuple[float, float]]]:
    when = defaultdict(list)
    for a, b, start, end in contacts.records():
        when[frozenset((a, b))].append((start, end))
    return when


@given(crowds(ttl=True), PROTOCOLS, LINKS)
def test_deliveries_are_unique_wanted_and_alive(crowd: Any, protocol: Any, links: Links) -> None:
    contacts, workload = crowd
    table = simulate(crowd, protocol, links).deliveries
    assert not table.duplicated(["publication", "node"]).any()
    said = {p.id: p for p in workload.publications}
    for row in table.itertuples():
        publication = said[row.publication]
        spells = [s for s in workload.subscriptions if contacts.names[s.node] == row.node and s.topic == row.topic]
        assert any(s.start <= row.time <= s.end for s in spells)
        assert row.node != contacts.names[publication.node]
        assert publication.ttl is None or row.time <= publication.time + publication.ttl


@given(crowds(), PROTOCOLS, LINKS)
def test_packets_cross_open_contacts_only_and_carry_what_the_sender_has(
    crowd: Any, protocol: Any, links: Links
) -> None:
    contacts, workload = crowd
    when = open_at(contacts)
    holders = {p.id: {contacts.names[p.node]} for p in workload.publications}
    for row in simulate(crowd, protocol, links).forwards.itertuples():
        assert any(start <= row.time <= end for start, end in when[frozenset((row.sender, row.receiver))])
        assert row.sender in holders[row.publication]
        holders[row.publication].add(row.receiver)


@given(crowds(), st.sampled_from([{}, {"from_anyone": True}]), LINKS)
def test_pull_never_wastes_a_packet(crowd: Any, parameters: dict[str, Any], links: Links) -> None:
    result = simulate(crowd, ("pull", parameters), links)
    subscribed_throughout = all(s.start == float("-inf") and s.end == float("inf") for s in crowd[1].subscriptions)
    if subscribed_throughout and result.summary["relayed"] and not parameters:
        assert result.summary["efficiency"] == 1
        assert result.summary["overhead_ratio"] == 0


@given(crowds(), st.integers(1, 6), LINKS)
def test_spray_conserves_tokens(crowd: Any, copies: int, links: Links) -> None:
    """Replaying the tokens that packets carried, nobody ever has less than one of what it carries, or more than L."""
    log = io.StringIO()
    run(crowd[0], crowd[1], "spray-and-wait", copies=copies, links=links, log=EventLog(log))
    tokens: Counter[tuple[str, str]] = Counter()
    for line in log.getvalue().splitlines():
        event = json.loads(line)
        if event.get("in") == "publish":
            tokens[event["message"], event["node"]] += copies
        elif event.get("in") == "sent" and event["arrived"]:
            for message in event["packet"]["messages"]:
                tokens[message, event["node"]] -= event["packet"]["tokens"]
                tokens[message, event["peer"]] += event["packet"]["tokens"]
    totals: Counter[str] = Counter()
    for (message, _), count in tokens.items():
        assert count >= 0
        totals[message] += count
    assert all(total == copies for total in totals.values())
    assert all(count >= 1 for count in (+tokens).values())


@given(crowds(ttl=True), PROTOCOLS, LINKS)
def test_the_same_name_gives_the_same_bytes(crowd: Any, protocol: Any, links: Links) -> None:
    one, two = simulate(crowd, protocol, links), simulate(crowd, protocol, links)
    assert one.name == two.name
    assert one.summary == two.summary
    for table in one.columns:
        assert one.table(table).equals(two.table(table))


@given(crowds(ttl=True), PROTOCOLS, LINKS, st.integers(0, 5), st.integers(0, 20), st.integers(0, 5))
def test_a_log_replays_to_the_same_actions(
    crowd: Any, protocol: Any, links: Links, node: int, time: int, down: int
) -> None:
    log = io.StringIO()
    crashes = [Crash(node, float(time), float(down))]
    watched = run(crowd[0], crowd[1], protocol[0], links=links, crashes=crashes, log=EventLog(log), **protocol[1])
    plain = run(crowd[0], crowd[1], protocol[0], links=links, crashes=crashes, **protocol[1])
    assert watched.summary == plain.summary
    assert _replay(Path("log"), io.StringIO(log.getvalue())) > 0


@given(crowds(ttl=True), st.integers(1, 4), st.sampled_from(["oldest", "first-in", "last-in"]))
def test_a_buffer_never_holds_more_than_it_can(crowd: Any, buffer: int, evict: str) -> None:
    result = run(crowd[0], crowd[1], "push", buffer=buffer, evict=evict)
    assert result.summary["buffer_max"] <= buffer
    assert (result.nodes["buffer_avg"] <= buffer + 1e-9).all()


@given(crowds(ttl=True), PROTOCOLS, LINKS)
def test_the_tables_agree_with_each_other(crowd: Any, protocol: Any, links: Links) -> None:
    result = simulate(crowd, protocol, links)
    summary, last = result.summary, result.series.iloc[-1]
    assert summary["delivered"] == len(result.deliveries) == result.publications["delivered"].sum()
    assert summary["delivered"] == result.nodes["delivered"].sum() == last["delivered"]
    assert summary["relayed"] == len(result.forwards) == result.publications["forwards"].sum() == last["data_packets"]
    assert summary["relayed"] == result.nodes["sent"].sum() == result.nodes["received"].sum()
    assert summary["control_packets"] == last["control_packets"]
    assert summary["pairs"] == result.publications["interested"].sum()
    assert (result.publications["delivered"] <= result.publications["reachable"]).all()
    assert (result.publications["reachable"] <= result.publications["interested"]).all()
    assert (result.publications["copies_net"] <= result.publications["copies"]).all()
