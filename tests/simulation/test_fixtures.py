"""The small deterministic fixtures F1 to F6 that every paper's reader can check by hand."""

from __future__ import annotations

import pytest

from hunet import Contacts, Links, Publication, Subscription, Workload, run
from hunet.systems.mops.closeness_graph import gaussian_closeness
from hunet.systems.mops.contact_history import ContactHistory
from tests.strategies import delivered

LINE = [("0", "1", 0, 10), ("1", "2", 20, 30), ("2", "3", 40, 50)]
REVERSE_LINE = [("2", "3", 0, 10), ("1", "2", 20, 30), ("0", "1", 40, 50)]


def everybody_wants(nodes: int, *publications: Publication) -> Workload:
    return Workload.of(list(publications), [Subscription(n, "news") for n in range(nodes)])


def test_f1_on_a_line_push_carries_the_message_to_the_end_and_pull_does_not() -> None:
    line = Contacts.from_records(LINE)
    news = everybody_wants(4, Publication("m", 0, 0, "news"))
    result = run(line, news, "push")
    assert delivered(result) == {("m", "1"): 0, ("m", "2"): 20, ("m", "3"): 40}
    assert result.deliveries["hops"].tolist() == [1, 2, 3]
    assert delivered(run(line, news, "pull")) == {("m", "1"): 0}


def test_f2_on_a_line_that_opens_backwards_only_the_neighbour_is_reached() -> None:
    line = Contacts.from_records(REVERSE_LINE)
    news = everybody_wants(4, Publication("m", 0, 0, "news"))
    assert delivered(run(line, news, "push")) == {("m", "1"): 40}


@pytest.mark.parametrize("links", [Links(rate=0.1), Links(rate=500e3, unit="bits/s")])
def test_f3_a_contact_of_25_s_passes_two_events_of_10_s_and_cuts_off_the_third(links: Links) -> None:
    pair = Contacts.from_records([("0", "1", 0, 25)])
    event_bytes = 5_000_000 // 8  # 5 Mb at 500 kb/s take 10 s (MOPS, section V.A)
    three = [Publication(f"m{i}", 0, 0, "news", event_bytes) for i in range(3)]
    result = run(pair, everybody_wants(2, *three), "push", links=links)
    assert sorted(delivered(result).values()) == [10, 20]
    assert result.summary["aborted"] == 1


def test_f3_both_directions_share_the_link() -> None:
    pair = Contacts.from_records([("0", "1", 0, 25)])
    news = everybody_wants(2, *(Publication(f"{node}-{i}", 0, node, "news") for node in (0, 1) for i in range(2)))
    result = run(pair, news, "push", links=Links(rate=0.1))
    assert sorted(node for _, node in delivered(result)) == ["0", "1"]


def two_cliques() -> Contacts:
    """{0..4} and {5..9} meet inside every 100 s for 50 s; 4 and 5 meet once per 1000 s."""
    cliques = [range(5), range(5, 10)]
    rows = [
        (str(a), str(b), 100.0 * k, 100.0 * k + 50)
        for clique in cliques
        for a in clique
        for b in clique
        if a < b
        for k in range(30)
    ]
    rows += [("4", "5", 1000.0 * k + 60, 1000.0 * k + 90) for k in range(3)]
    return Contacts.from_records(rows)


def test_f4_two_cliques_are_two_communities_whose_gateways_are_4_and_5() -> None:
    contacts = two_cliques()
    histories = {name: ContactHistory() for name in contacts.names}
    for a, b, start, end in contacts.records():
        for one, other in ((a, b), (b, a)):
            histories[one].start(other, start)
            histories[one].end(other, end)
    close = {
        (a, b): gaussian_closeness(history.separations(b, *contacts.span), sigma=100)
        for a, history in histories.items()
        for b in history.peers
    }
    communities = {frozenset({a} | {b for one, b in close if one == a and close[a, b] >= 0.5}) for a, _ in close}
    assert communities == {frozenset("01234"), frozenset("56789")}
    crossing = {a for a, b in close if not any({a, b} <= community for community in communities)}
    assert crossing == {"4", "5"}


def test_f4_a_message_crosses_by_the_bridge_only() -> None:
    result = run(two_cliques(), everybody_wants(10, Publication("m", 10, 0, "news")), "push")
    at = {node: time for (_, node), time in delivered(result).items()}
    assert at == {**dict.fromkeys("1234", 10.0), "5": 60.0, **dict.fromkeys("6789", 100.0)}
    forwards = result.forwards
    crossings = forwards[(forwards["sender"].astype(int) < 5) & (forwards["receiver"].astype(int) >= 5)]
    assert crossings[["sender", "receiver"]].to_numpy().tolist() == [["4", "5"]]


def test_f5_the_closeness_of_the_mops_example() -> None:
    history = ContactHistory()
    for start, end in ((20, 40), (50, 70)):
        history.start(8, start)
        history.end(8, end)
    assert gaussian_closeness(history.separations(8, 0, 100), sigma=25) == pytest.approx(0.7261, abs=5e-5)


def test_f6_in_a_simultaneous_triangle_everybody_receives_the_message_once() -> None:
    triangle = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 0, 10), ("0", "2", 0, 10)])
    result = run(triangle, everybody_wants(3, Publication("m", 5, 0, "news")), "push")
    assert delivered(result) == {("m", "1"): 5, ("m", "2"): 5}
    assert result.summary["relayed"] == 2
    assert result.summary["duplicates"] == 0
