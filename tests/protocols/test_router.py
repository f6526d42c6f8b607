"""What The ONE's hosts do: take a dropped copy again, leave what was for them to themselves, send in random order."""

from __future__ import annotations

import pytest

from hunet import Contacts, Links, Workload, run
from hunet.model import ConfigurationError
from hunet.testing import Network


def dropping(again: str) -> Network:
    """1 has room for one message: what 0 gave it was pushed out by its own, which has expired."""
    net = Network("push", 2, links=Links(rate=1.0), buffer=1, evict="first-in", again=again)
    net[0].publish("x", at=0.0)
    net[0].meet(net[1], at=1.0, seconds=1.0)
    net[1].publish("x", at=3.0, ttl=1.0)
    net.advance(5.0)
    return net


def test_a_dropped_copy_never_comes_again_unless_told() -> None:
    net = dropping("never")
    net[0].meet(net[1], at=10.0, seconds=5.0)
    assert net.packets() == ["0->1 m0"]


def test_a_dropped_copy_comes_again_in_the_next_contact() -> None:
    net = dropping("next-contact")
    net[0].meet(net[1], at=10.0, seconds=5.0)
    assert net.packets() == ["0->1 m0", "0->1 m0"]


def test_a_dropped_copy_comes_again_at_once_from_who_is_there() -> None:
    for again, times in (("next-contact", 1), ("at-once", 2)):
        net = Network("push", 2, links=Links(rate=1.0), buffer=2, evict="first-in", again=again, max_hops=1)
        net[0].publish("x", at=0.0)
        net[0].connect(net[1], at=1.0)
        net.advance(2.0)
        assert net.packets() == ["0->1 m0"]
        net[1].protocol.forget(1)  # as when it is dropped
        net.engine.settle()
        net.advance(9.0)
        assert net.packets() == ["0->1 m0"] * times, again


def test_at_once_without_a_rate_is_refused() -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10)])
    for protocol in ("push", "prophet", "max-prop"):
        with pytest.raises(ConfigurationError, match="needs links with a rate"):
            run(contacts, Workload.of([], []), protocol, again="at-once")


def test_what_was_delivered_here_is_not_needed_again() -> None:
    net = Network("push", 2, links=Links(rate=1.0), buffer=1, again="next-contact")
    net[1].subscribe("x", at=0.0)
    first = net[0].publish("x", at=0.0)
    net[0].meet(net[1], at=1.0, seconds=1.0)
    net[1].publish("y", at=3.0)  # pushes it out
    net[0].meet(net[1], at=10.0, seconds=3.0)
    assert net.packets().count("0->1 m0") == 1
    assert net[1].delivered == [first]


@pytest.mark.parametrize("protocol", ["push", "spray-and-wait", "prophet", "max-prop", "bubble-rap"])
def test_a_subscriber_may_leave_what_it_got_to_itself(protocol: str) -> None:
    net = Network(protocol, 2, subscribers_carry=False)
    net[1].subscribe("x", at=0.0)
    hello = net[0].publish("x", at=1.0)
    net[0].meet(net[1], at=2.0)
    assert net[1].delivered == [hello]
    assert net[1].protocol.buffer.held(3.0) == 0


def test_in_random_order_what_the_neighbour_wants_goes_first() -> None:
    orders = set()
    for seed in range(8):
        net = Network("push", 2, links=Links(rate=1.0), order="random", seed=seed)
        net[1].subscribe("mine", at=0.0)
        for topic in ("a", "mine", "b", "c"):
            net[0].publish(topic, at=0.0)
        net[0].connect(net[1], at=1.0)
        net.advance(6.0)
        assert net.packets()[0] == "0->1 m1"
        assert len(net.packets()) == 4
        orders.add(tuple(net.packets()))
    assert len(orders) > 1


def test_spray_may_pay_for_deliveries_and_forgets_the_tokens_of_what_was_dropped() -> None:
    net = Network("spray-and-wait", 3, copies=8, deliveries_cost=True)
    net[1].subscribe("x", at=0.0)
    hello = net[0].publish("x", at=1.0)
    net[0].meet(net[1], at=2.0)
    assert net[0].protocol.tokens == {hello.bit: 4}
    again = Network("spray-and-wait", 2, copies=8, buffer=1, evict="first-in", again="next-contact")
    hello = again[0].publish("x", at=1.0)
    again[0].meet(again[1], at=2.0)
    assert again[1].protocol.tokens == {hello.bit: 4}
    other = again[1].publish("x", at=3.0, ttl=1.0)  # pushes it out
    assert again[1].protocol.tokens == {other.bit: 8}
    again[0].meet(again[1], at=5.0)
    assert again[1].protocol.tokens[hello.bit] == 2
    assert again[1].protocol.buffer.held(5.0) == hello.bit


def test_a_publisher_takes_its_own_dropped_copy_again() -> None:
    net = Network("push", 2, links=Links(rate=1.0), buffer=1, evict="first-in", again="at-once")
    net[0].connect(net[1], at=0.0)
    first = net[0].publish("news", at=1.0)
    net.advance(3.0)
    net[0].publish("news", at=4.0)  # there is room for one
    net.advance(5.0)
    assert net.packets() == [f"0->1 {first.id}", f"1->0 {first.id}"]
    assert net[0].delivered == []
