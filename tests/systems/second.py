"""Second implementations: a system's rules once more in plain Python, for comparison with the quick ones.

A ``by_the_paper`` module beside a system's tests has its rules as a :class:`Network`: all devices in one object, sets
and lists, no packets. :func:`compare` shows the events of one run to both, in the order that ``docs/simulation.md``
gives, and requires the same deliveries, forwards and roles.
"""

from __future__ import annotations

from math import inf
from typing import Any

from hunet import Contacts, Publication, Result, Workload, run
from tests.fields import rows


class Network:
    """Devices, and what is recorded of them; a message is its publication."""

    def __init__(self, nodes: int) -> None:
        self.wants: list[set[str]] = [set() for _ in range(nodes)]
        """What each device's application has subscribed to."""
        self.deliveries: list[tuple[str, int, float, int]] = []
        """Message, node, time, hops."""
        self.forwards: list[tuple[float, int, int, str]] = []
        """Time, sender, receiver, message."""
        self.roles: list[tuple[float, int, str]] = []

    def held(self, node: int) -> list[tuple[Publication, int]]:
        """The messages that a device holds, with their hops."""
        raise NotImplementedError

    def start(self, now: float) -> None:
        """Everything is switched on."""

    def until(self, now: float) -> None:
        """Do what devices do by themselves before a time."""

    def subscribe(self, now: float, node: int, topic: str) -> None:
        """The application gets what the device holds already."""
        self.wants[node].add(topic)
        for message, hops in self.held(node):
            self.deliver(now, node, message, hops)

    def unsubscribe(self, now: float, node: int, topic: str) -> None:
        self.wants[node].remove(topic)

    def deliver(self, now: float, node: int, message: Publication, hops: int) -> None:
        """Hand a message to the application, if it wants it, once."""
        had = message.node == node or any(row[:2] == (message.id, node) for row in self.deliveries)
        if message.topic in self.wants[node] and alive(message, now) and not had:
            self.deliveries.append((message.id, node, now, hops))

    def publish(self, now: float, message: Publication) -> None:
        raise NotImplementedError

    def meet(self, now: float, a: int, b: int) -> None:
        """A contact starts."""
        raise NotImplementedError

    def part(self, now: float, a: int, b: int) -> None:
        """It ends."""


def alive(message: Publication, now: float) -> bool:
    return message.ttl is None or now <= message.time + message.ttl


def play(network: Network, contacts: Contacts, workload: Workload) -> None:
    """Show the events of a run to a network, in their order."""
    met = [(int(a), int(b), start, end) for a, b, start, end in contacts.records()]
    said = [message.time for message in workload.publications]
    begin, end = min([contacts.span[0], *said]), max([contacts.span[1], *said])
    wanted = [w for w in workload.subscriptions if w.end >= begin]
    events: list[tuple[float, int, tuple[Any, ...]]] = []
    events += [(start, 1, (network.meet, start, a, b)) for a, b, start, _ in met]
    events += [(w.start, 2, (network.subscribe, w.start, w.node, w.topic)) for w in wanted]
    events += [(m.time, 3, (network.publish, m.time, m)) for m in workload.publications]
    events += [(w.end, 4, (network.unsubscribe, w.end, w.node, w.topic)) for w in wanted]
    events += [(end, 5, (network.part, end, a, b)) for a, b, _, end in sorted(met)]
    network.start(begin)
    for time, _, (happens, *what) in sorted(events, key=lambda event: event[:2]):
        if time <= end:
            if time > -inf:
                network.until(time)
            happens(*what)
    network.until(end)


def compare(network: Network, contacts: Contacts, workload: Workload, protocol: str, **given: Any) -> int:
    """Require that both deliver and forward the same, and have the same roles; returns how many deliveries there were.

    Rows come in any order, each as often as in the other.
    """
    play(network, contacts, workload)
    result = run(contacts, workload, protocol, **given)
    delivered = [(m, int(node), t, hops) for m, node, t, hops in rows(result, "deliveries", *_DELIVERY)]
    forwarded = [(t, int(a), int(b), m) for t, a, b, m in rows(result, "forwards", *_FORWARD)]
    assert sorted(network.deliveries) == sorted(delivered)
    assert sorted(network.forwards) == sorted(forwarded)
    assert network.roles == roles_of(result)
    return len(delivered)


def roles_of(result: Result) -> list[tuple[float, int, str]]:
    return [(time, int(node), role) for time, node, role in rows(result, "roles", "time", "node", "role")]


_DELIVERY = ("publication", "node", "time", "hops")
_FORWARD = ("time", "sender", "receiver", "publication")
