"""MaxProp by its paper: incremental averaging, path costs, the threshold of hops, acknowledgements."""

from __future__ import annotations

import pytest

from hunet import Contacts, Links, Workload, run
from hunet.model import PeerError
from hunet.protocols.max_prop import Likelihoods, Vector
from hunet.testing import Network


def test_incremental_averaging() -> None:
    """Section III.A: one is added, then all are divided so that they add up to one."""
    net = Network("max-prop", 4)
    net[0].meet(net[1], at=0.0)
    assert net[0].protocol.likelihoods == {1: 1.0}
    net[0].meet(net[2], at=1.0)
    assert net[0].protocol.likelihoods == {1: 0.5, 2: 0.5}
    net[0].meet(net[1], at=2.0)
    assert net[0].protocol.likelihoods == {1: 0.75, 2: 0.25}
    net[0].meet(net[3], at=3.0)
    assert net[0].protocol.likelihoods == {1: 0.375, 2: 0.125, 3: 0.5}


def test_a_path_costs_what_its_hops_are_unlikely() -> None:
    device = Network("max-prop", 5)[0].protocol
    device.receive(
        1,
        Likelihoods(
            {
                0: Vector(0.0, {9: 1.0}),  # of itself a device knows better
                1: Vector(0.0, {3: 0.75, 2: 0.25}),
                2: Vector(0.0, {3: 1.0}),
            }
        ),
        0.0,
    )
    device.encounter(1, 1.0)
    device.encounter(2, 2.0)
    # 0 -> 1 and 0 -> 2 cost 1/2 each; on to 3 it is 1/4 by way of 1, and nothing by way of 2.
    assert device.costs() == {0: 0.0, 1: 0.5, 2: 0.5, 3: 0.5}
    device.receive(1, Likelihoods({2: Vector(-1.0, {3: 0.0})}), 3.0)  # older than what is known
    assert device.costs()[3] == 0.5
    device.receive(1, Likelihoods({2: Vector(4.0, {4: 1.0})}), 5.0)
    assert device.costs() == {0: 0.0, 1: 0.5, 2: 0.5, 3: 0.75, 4: 0.5}


def test_the_share_of_young_messages_follows_what_contacts_carry() -> None:
    device = Network("max-prop", 2, buffer_bytes=1000)[0].protocol
    device.contacts = 10
    for carried, share in ((4000, 400), (5000, 500), (7000, 300), (9990, 1), (20_000, 0)):
        device.carried = carried
        assert device.young_bytes(0) == share
    unlimited = Network("max-prop", 2)[0].protocol
    unlimited.contacts, unlimited.carried = 2, 600
    assert unlimited.young_bytes(0) == 300


def test_young_messages_go_by_hops_and_others_by_cost() -> None:
    net = Network("max-prop", 4)
    for node, topic in ((2, "far"), (3, "near")):
        net[node].subscribe(topic, at=0.0)
    device = net[0].protocol
    net[0].meet(net[2], at=1.0)
    for time in (2.0, 3.0, 4.0):
        net[0].meet(net[3], at=time)  # so that the way to 3 is the cheaper one
    far, near, young = (net[0].publish(topic, at=5.0, size=100) for topic in ("far", "near", "far"))
    device.hops[far.number], device.hops[near.number] = 3, 4
    device.contacts, device.carried = 1, 150  # room for one young message
    assert device.threshold(device.buffer.held(5.0)) == 3
    assert device.order(device.buffer.held(5.0), 5.0) == [
        young.number,
        near.number,
        far.number,
    ]
    assert device.surrender(device.buffer.held(5.0), 5.0) == far.bit  # the end of the order goes first
    device.carried = 10_000  # all are young
    assert device.threshold(device.buffer.held(5.0)) == 5


def test_on_a_slow_link_the_order_decides_after_deliveries() -> None:
    net = Network("max-prop", 4, links=Links(rate=1.0))
    net[1].subscribe("own", at=0.0)
    net[3].subscribe("known", at=0.0)
    net[0].meet(net[3], at=1.0)
    net[0].protocol.carried = 0
    nobody, known, own = (net[0].publish(topic, at=2.0) for topic in ("nobody", "known", "own"))
    net[0].connect(net[1], at=3.0)
    net.advance(7.0)
    assert net.packets() == [f"0->1 {message.id}" for message in (own, known, nobody)]


@pytest.mark.parametrize("acknowledged", ["delete", "keep"])
def test_acknowledgements_travel_and_make_room(acknowledged: str) -> None:
    net = Network("max-prop", 4, acknowledged=acknowledged)
    net[3].subscribe("news", at=0.0)
    net[3].meet(net[0], at=1.0)
    hello = net[0].publish("news", at=2.0)
    for node in (1, 2):
        net[0].meet(net[node], at=2.0 + node)
    net[2].meet(net[3], at=5.0)
    assert net[3].delivered == [hello]
    assert net[2].protocol.got == {3: hello.bit}
    net[2].meet(net[1], at=6.0)  # hears that it is over
    net[1].meet(net[0], at=7.0)  # and so does the publisher, two hops from the subscriber
    kept = hello.bit if acknowledged == "keep" else 0
    assert [net[node].protocol.buffer.held(8.0) for node in (0, 1, 2)] == [kept] * 3
    assert net[0].protocol.served(hello.bit) == hello.bit
    other = net[0].publish("other", at=9.0)
    assert net[0].protocol.order(hello.bit | other.bit, 9.0)[-1] == hello.number  # what is over waits last


def test_acknowledgements_of_what_has_expired_are_dropped() -> None:
    net = Network("max-prop", 3)
    net[1].subscribe("news", at=0.0)
    net[0].publish("news", at=1.0, ttl=10.0)
    net[0].meet(net[1], at=2.0)
    assert net[0].protocol.got
    second = net[0].publish("news", at=20.0)
    net[0].meet(net[1], at=21.0)
    assert net[0].protocol.got == {1: second.bit}


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(PeerError, match="no probability"):
        Network("max-prop", 1)[0].protocol.check(Likelihoods({1: Vector(0.0, {2: -0.5})}))


def test_a_device_knows_its_storage() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10)])
    work = Workload.of([], [])
    assert run(contacts, work, "max-prop", storage="2k").name["prepared"] == {"buffer_bytes": 2000}
    assert "prepared" not in run(contacts, work, "max-prop").name
