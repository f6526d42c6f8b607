"""A subscription is served or refused: no protocol ignores one silently."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hunet import Contacts, Publication, Subscription, Workload, run
from hunet.model import ConfigurationError
from hunet.node.emulation import emulate
from hunet.node.node import Node
from hunet.protocols.capabilities import check_subscription
from hunet.systems import PROTOCOLS
from hunet.testing import Network
from tests.simulation.test_invariants import PROTOCOLS as SETTINGS
from tests.strategies import crowd

WEIGH = {
    *("push", "pull", "spray-and-wait", "prophet", "prophet-v2", "max-prop", "bubble-rap"),
    *("social-election", "random-broker"),
}
REFUSED = "matches topics by equality only, not 'football^0.9': subscribe to plain topics such as 'football'"
PAIR = Contacts.from_records([("0", "1", 0, 10)])


def test_the_systems_say_what_they_understand() -> None:
    assert {name for name, kind in PROTOCOLS.items() if getattr(kind, "weighs_terms", False)} == WEIGH


@pytest.mark.parametrize("name", sorted(set(PROTOCOLS) - WEIGH))
def test_what_a_protocol_cannot_express_is_refused(name: str) -> None:
    workload = Workload.of([Publication("m", 1.0, 0, "football")], [Subscription(1, "football^0.9")])
    with pytest.raises(ConfigurationError, match=REFUSED.replace("^", r"\^")):
        run(PAIR, workload, name)


@pytest.mark.parametrize("setting", [name for name, (protocol, _) in SETTINGS.items() if protocol in WEIGH])
def test_a_term_of_weight_one_is_served_like_its_topic(setting: str) -> None:
    name, parameters = SETTINGS[setting]
    delivered = 0
    for seed in range(10):
        contacts, workload = crowd(seed)
        weighted = [wanted._replace(topic=f"{wanted.topic}^1") for wanted in workload.subscriptions]
        plain = run(contacts, workload, name, **parameters)
        other = run(contacts, Workload.of(list(workload.publications), weighted), name, **parameters)
        assert other.deliveries.to_dict("records") == plain.deliveries.to_dict("records")
        delivered += len(plain.deliveries)
    assert delivered


def test_devices_on_a_table_refuse_it_too() -> None:
    net = Network("b-sub", 2)
    with pytest.raises(ConfigurationError, match="BSub matches topics by equality only"):
        net.nodes[0].subscribe("football^0.9")


def test_a_badly_written_weight_is_refused_by_every_protocol() -> None:
    for kind in PROTOCOLS.values():
        with pytest.raises(ConfigurationError, match=r"is not TERM\^WEIGHT"):
            check_subscription(kind, "football^2")


def device(folder: Path, protocol: str, *peers: Node) -> Node:
    return Node(folder, protocol, listen="127.0.0.1:0", beacons=False, peers=[peer.address for peer in peers])


def test_two_nodes_one_message_that_matches_and_one_that_does_not(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path / "ann", "push") as ann, device(tmp_path / "bob", "push", ann) as bob:
            heard = bob.subscribe("football^0.9 goals^0.2")
            await ann.publish("hockey tonight", "who comes?")
            await ann.publish("football tonight", "at eight")
            assert (await anext(heard)).topic == "football tonight"

    asyncio.run(asyncio.wait_for(scene(), 30.0))


def test_a_live_node_refuses_it_and_warns_of_one_that_it_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with device(tmp_path, "b-sub") as ann:
            with pytest.raises(ConfigurationError, match="BSub matches topics by equality only"):
                ann.subscribe("football^0.9")
            assert ann.subscriptions() == []
        async with device(tmp_path, "push") as ann:
            ann.subscribe("football^0.9")
        assert "equality" not in caplog.text
        async with device(tmp_path, "b-sub") as ann:
            assert REFUSED in caplog.text
            await ann.unsubscribe("football^0.9")

    asyncio.run(asyncio.wait_for(scene(), 30.0))


def test_an_emulation_is_refused_before_it_starts(tmp_path: Path) -> None:
    workload = Workload.of([Publication("m", 1.0, 0, "football")], [Subscription(1, "football^0.9")])
    with pytest.raises(ConfigurationError, match="BSub matches topics by equality only"):
        asyncio.run(emulate(PAIR, workload, "b-sub", folder=tmp_path))
    assert list(tmp_path.iterdir()) == []
