"""A subscription is served or refused: what is delivered is exactly what matches, and nothing is ignored silently."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hunet import Contacts, Publication, Subscription, Workload, run
from hunet.model import ConfigurationError, Message, matching_score
from hunet.node.emulation import emulate
from hunet.node.node import Node
from hunet.protocols import Protocol
from hunet.protocols.capabilities import MatchesContent, check_subscription
from hunet.systems import PROTOCOLS
from hunet.testing import Network
from tests.simulation.test_invariants import PROTOCOLS as SETTINGS
from tests.simulation.test_invariants import each_protocol
from tests.strategies import crowd

PAIR = Contacts.from_records([("0", "1", 0, 10)])
TOPICS = {
    "u": "x",
    "v": "y x",
    "w": "price = 3",
    "x": "x price = 7.5",
    "y": 'kind = "a" price = 12',
    "z": 'y "the choir"',
}
INTERESTS = {
    "u": "x",
    "v": "x^0.7 y^0.3",
    "w": "price in 2..8",
    "x": 'kind = "a" and price > 10 or "the choir"',
    "y": "y and not x",
    "z": "(x or price < 5)^0.4 y^0.2",
}
REFUSED = "BSub cannot serve 'not football': filters hold what a message must have"


def content_crowd(seed: int, **how: Any) -> tuple[Contacts, Workload]:
    """A crowd that says and wants more than single tags."""
    contacts, plain = crowd(seed, topics="uvwxyz", busy=2, **how)
    said = [each._replace(topic=TOPICS[each.topic]) for each in plain.publications]
    return contacts, Workload.of(said, [each._replace(topic=INTERESTS[each.topic]) for each in plain.subscriptions])


def wants(workload: Workload, node: str, topic: str, time: float) -> bool:
    rows = [each for each in workload.subscriptions if str(each.node) == node and each.start <= time <= each.end]
    return any(matching_score(each.topic, topic) for each in rows)


@each_protocol
def test_what_is_delivered_is_what_has_come_and_matches(protocol: str) -> None:
    name, parameters = SETTINGS[protocol]
    served = set()
    for seed in range(4):
        contacts, workload = content_crowd(seed)
        result = run(contacts, workload, name, **parameters)
        topics = {said.id: said for said in workload.publications}
        got = {(row.publication, row.node): row.time for row in result.deliveries.itertuples()}
        for (publication, node), time in got.items():
            assert wants(workload, node, topics[publication].topic, time)
            assert str(topics[publication].node) != node
            served.add(topics[publication].topic)
        for row in result.forwards.itertuples():  # what comes to who wants it is delivered
            said = topics[row.publication]
            if str(said.node) != row.receiver and wants(workload, row.receiver, said.topic, row.time):
                assert got[row.publication, row.receiver] <= row.time
    assert len(served) >= 3


@pytest.mark.parametrize("seed", range(8))
def test_push_delivers_what_the_bound_says(seed: int) -> None:
    result = run(*content_crowd(seed), "push")
    assert result.summary["delivered"] == result.summary["reachable"] > 0
    assert result.publications["delivered"].tolist() == result.publications["reachable"].tolist()


@pytest.mark.parametrize("setting", ["b-sub", "mops", "social-election", "socialcast", "socio-aware-overlay"])
def test_a_term_of_weight_one_is_served_like_its_tag(setting: str) -> None:
    name, parameters = SETTINGS[setting]
    contacts, workload = crowd(3)
    weighted = [wanted._replace(topic=f"({wanted.topic})^1") for wanted in workload.subscriptions]
    plain = run(contacts, workload, name, **parameters)
    other = run(contacts, Workload.of(list(workload.publications), weighted), name, **parameters)
    assert other.deliveries.to_dict("records") == plain.deliveries.to_dict("records") != []


class OnlyTags(Protocol):
    """A protocol of others, which compares topics."""

    def publish(self, message: Message, now: float) -> None:
        pass


def test_a_protocol_that_does_not_say_that_it_matches_content_gets_plain_tags_only() -> None:
    assert all(issubclass(kind, MatchesContent) for kind in PROTOCOLS.values())
    assert check_subscription(OnlyTags, " football") == "football"
    for said, wanted in (("football", "football^0.9"), ("football goals", "football"), ("price = 5", "football")):
        workload = Workload.of([Publication("m", 1.0, 0, said)], [Subscription(1, wanted)])
        with pytest.raises(ConfigurationError, match=r"OnlyTags cannot serve .*: it knows only plain tags"):
            run(PAIR, workload, OnlyTags)


def test_filters_refuse_what_they_cannot_hold_when_a_workload_is_loaded_and_on_a_table() -> None:
    workload = Workload.of([Publication("m", 1.0, 0, "football")], [Subscription(1, "not football")])
    for name in ("b-sub", "b-sub-p", "b-sub-push", "b-sub-pull"):
        with pytest.raises(ConfigurationError, match=REFUSED[5:]):
            run(PAIR, workload, name)
    with pytest.raises(ConfigurationError, match=REFUSED):
        Network("b-sub", 2).nodes[0].subscribe("not football")


@pytest.mark.parametrize("name", ["b-sub", "b-sub-p"])
def test_ranges_are_found_by_their_keys_and_checked_by_the_subscriber(name: str) -> None:
    net = Network(name, 3, while_linked=True)
    ann, bob, eve = net.nodes
    bob.subscribe("price in 10.5..20.25")
    bob.subscribe("football and goals")
    first = [
        ann.publish(topic, at=0) for topic in ("price = 20.2", "price = 10.1", "goals football", "football", "a b")
    ]
    ann.meet(bob, at=10)
    eve.meet(bob, at=11)
    assert bob.delivered == [first[2], first[0]]
    false = {int(number) for number in net.engine.record.false_matches[2::3]}
    assert false <= {first[1].number, first[3].number}
    assert false or name == "b-sub-p"


def device(folder: Path, protocol: str, *peers: Node) -> Node:
    return Node(folder, protocol, listen="127.0.0.1:0", beacons=False, peers=[peer.address for peer in peers])


def test_two_nodes_a_message_that_matches_and_one_that_does_not(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann", "b-sub") as ann, device(tmp_path / "bob", "b-sub", ann) as bob:
            heard = bob.subscribe('kind = "alert" and price < 5')
            tags = bob.subscribe("football^0.9 goals^0.2")
            await ann.publish("kind=alert price=6", "too dear")
            await ann.publish("kind=alert   price=4.50", "cheap")
            await ann.publish("hockey tonight", "who comes?")
            await ann.publish("football tonight", "at eight")
            cheap, eight = await anext(heard), await anext(tags)
            assert (cheap.topic, cheap.text) == ('kind = "alert" price = 4.5', "cheap")
            assert (eight.topic, eight.text) == ("football tonight", "at eight")

    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_a_live_node_refuses_it_and_warns_of_one_that_it_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with device(tmp_path, "b-sub") as ann:
            with pytest.raises(ConfigurationError, match=REFUSED):
                ann.subscribe("not football")
            with pytest.raises(ConfigurationError, match="character 9: a closing parenthesis is missing"):
                ann.subscribe("(hockey ")
            assert ann.subscriptions() == []
        async with device(tmp_path, "push") as ann:
            ann.subscribe("not  football")
        assert "cannot serve" not in caplog.text
        async with device(tmp_path, "b-sub") as ann:
            assert REFUSED in caplog.text
            await ann.unsubscribe("not (football)")
            assert ann.subscriptions() == []

    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_an_emulation_is_refused_before_it_starts(tmp_path: Path) -> None:
    workload = Workload.of([Publication("m", 1.0, 0, "football")], [Subscription(1, "not football")])
    with pytest.raises(ConfigurationError, match=REFUSED):
        asyncio.run(emulate(PAIR, workload, "b-sub", folder=tmp_path))
    assert list(tmp_path.iterdir()) == []
