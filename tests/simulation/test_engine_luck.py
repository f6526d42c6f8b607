"""The engine's promises about loss and crashes: each kind of packet, each direction, each moment."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import Any

import pytest

from hunet import Contacts, Crash, Links, Publication, Subscription, Workload, run
from hunet.model import Message, Node
from hunet.protocols import Control, Data, Packet, Protocol
from hunet.testing import Network, Pair

LOSS, MANY = 0.25, 2000


class LuckWord(Control, frozen=True, gc=False):
    """One word."""

    said: str

    @property
    def size(self) -> int:
        return len(self.said)


class Talker(Protocol):
    """Greets, sends, broadcasts, and counts what it hears."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.heard: Counter[str] = Counter()
        self.outbox = 0

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        return (LuckWord("greeting"),)

    def phase(self, name: str, now: float) -> None:
        self.driver.broadcast(LuckWord(name))

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        self.heard[packet.said if isinstance(packet, LuckWord) else "data"] += 1

    def publish(self, message: Message, now: float) -> None:
        self.outbox |= message.bit
        self.driver.wake(1 - self.node)

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        gone, self.outbox = self.outbox, 0
        return Data(gone) if gone else None


def likely(heard: int) -> bool:
    """Whether so many of MANY packets arriving is within four standard deviations."""
    return abs(heard - (1 - LOSS) * MANY) < 4 * sqrt(MANY * LOSS * (1 - LOSS))


def test_every_kind_of_packet_is_lost_alike_in_both_directions() -> None:
    pair = Pair(Talker, links=Links(loss=LOSS))
    for second in range(MANY):
        pair.a.meet(pair.b, at=float(second))
    pair.a.connect(pair.b, at=float(MANY))
    for node in pair.nodes:
        for _ in range(MANY):
            node.protocol.driver.send(1 - node.node, LuckWord("sent"))
            node.protocol.driver.broadcast(LuckWord("broadcast"))
            node.publish("x")
    for node in pair.nodes:
        for kind in ("greeting", "sent", "broadcast", "data"):
            assert likely(node.protocol.heard[kind]), (node.node, kind)
    assert pair.engine.record.lost == 2 * MANY - sum(node.protocol.heard["data"] for node in pair.nodes)


def test_a_link_without_loss_loses_nothing() -> None:
    pair = Pair(Talker)
    for second in range(50):
        pair.a.meet(pair.b, at=float(second))
    assert [node.protocol.heard["greeting"] for node in pair.nodes] == [50, 50]


def test_what_a_new_phase_makes_devices_say_is_heard_at_once() -> None:
    net = Network(Talker, 3)
    net[0].connect(net[1])
    net.phase("operate")
    assert [node.protocol.heard["operate"] for node in net.nodes] == [1, 1, 0]


# Crashes -------------------------------------------------------------------------------------------------------------


def test_the_crash_of_a_device_that_is_down_changes_nothing() -> None:
    net = Network("social-election", 2)
    node = net[0]
    node.publish("x")
    node.crash(at=1.0)
    removed, roles = len(net.engine.record.removed), list(net.engine.record.roles)
    assert roles[-1] == (1.0, 0, "down")
    node.crash(at=2.0)
    assert (len(net.engine.record.removed), net.engine.record.roles) == (removed, roles)


def test_the_restart_of_a_device_that_is_up_changes_nothing() -> None:
    net = Network("push", 2)
    node = net[0]
    message = node.publish("x")
    before = node.protocol
    node.restart(at=1.0)
    assert node.protocol is before
    assert message in node.protocol.buffer


@pytest.mark.parametrize(("protocol", "roles"), [("push", set()), ("social-election", {"user", "broker", "down"})])
def test_only_devices_that_have_roles_are_down(protocol: str, roles: set[str]) -> None:
    contacts = Contacts.from_records([("0", "1", 0, 100)])
    workload = Workload.of([Publication("m", 1.0, 1, "x")], [Subscription(0, "x")])
    result = run(contacts, workload, protocol, crashes=[Crash(0, 50.0, 10.0)])
    assert set(result.roles["role"]) == roles
