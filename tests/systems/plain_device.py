"""What the second implementations of systems share that carry copies from contact to contact.

A system's ``by_the_paper`` has its rules once more as a plain protocol: sets of message numbers, dictionaries, one kind
of word and one kind of packet. The simulator shows it the same events as the quick one, over any link.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hunet import Contacts, Workload, run
from hunet.model import Message, members
from hunet.protocols import Driver, Protocol
from hunet.protocols.contract import Control, Data, Packet
from tests.fields import rows


class PlainWord(Control, frozen=True):
    """Anything that one device tells another."""

    kind: str
    told: Any

    @property
    def size(self) -> int:
        return 0

    @property
    def seen_bytes(self) -> int:
        return 0


class PlainCopies(Data, frozen=True):
    """PlainCopies of messages: their hops, this one included, by number; and why they are sent."""

    hops: dict[int, int]
    why: Any


class PlainDevice(Protocol):
    """A device that has seen messages, holds copies, and knows what those around it have seen."""

    def __init__(self, node: int, parameters: Any, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.seen: set[int] = set()
        self.copies: set[int] = set()
        self.delivered: set[int] = set()
        self.hops: dict[int, int] = {}
        self.known: dict[int, set[int]] = {}
        """For each device in contact, what it has seen, as far as it or somebody in between said."""

    def message(self, number: int) -> Message:
        return self.driver.messages[number]

    def alive(self, numbers: set[int], now: float) -> set[int]:
        return {number for number in numbers if self.message(number).expires >= now}

    def pack(self, numbers: list[int], why: Any) -> PlainCopies:
        return PlainCopies(sum(1 << n for n in numbers), {n: self.hops[n] + 1 for n in numbers}, why)

    def tell(self, peer: int, kind: str, told: Any) -> None:
        self.driver.send(peer, PlainWord(kind, told))

    def store(self, numbers: set[int]) -> None:
        self.copies |= numbers
        for peer, known in self.known.items():
            if numbers - known:
                self.driver.wake(peer)

    def deliver(self, numbers: set[int]) -> None:
        for number in sorted(numbers - self.delivered):
            message = self.message(number)
            if message.topic in self.topics and message.publisher != self.node:
                self.delivered.add(number)
                self.driver.deliver(message, self.hops[number])

    def take(self, giver: int, packet: PlainCopies, now: float) -> set[int]:
        """What of a packet is new here and alive: the application has it now."""
        if giver in self.known:
            self.known[giver] |= set(packet.hops)
        new = set(packet.hops) - self.seen
        self.seen |= new
        if new and set(self.known) - {giver}:
            self.driver.broadcast(PlainWord("have", new), but=giver)
        new = self.alive(new, now)
        self.hops.update({number: packet.hops[number] for number in new})
        self.deliver(new)
        return new

    def publish(self, message: Message, now: float) -> None:
        self.seen.add(message.number)
        self.hops[message.number] = 0
        self.store({message.number})

    def subscribe(self, topic: str, now: float) -> None:
        super().subscribe(topic, now)
        self.deliver(self.alive(self.copies, now))

    def link_down(self, peer: int, now: float) -> None:
        self.known.pop(peer, None)

    def receive(self, peer: int, packet: Packet, now: float) -> None:
        assert isinstance(packet, PlainWord)
        if packet.kind == "have" and peer in self.known:
            self.known[peer] |= packet.told

    def sent(self, peer: int, packet: Data, arrived: bool, now: float) -> None:
        if peer in self.known:
            self.known[peer] |= set(members(packet.messages))


def compare(contacts: Contacts, workload: Workload, quick: type[Protocol], plain: type[Protocol], **given: Any) -> int:
    """Require that two implementations deliver and forward the same; returns how many deliveries there were."""
    one, two = (run(contacts, workload, kind, **given) for kind in (quick, plain))
    for table, names in (
        ("deliveries", ("publication", "node", "time", "hops")),
        ("forwards", ("time", "sender", "receiver", "publication")),
    ):
        assert sorted(rows(one, table, *names)) == sorted(rows(two, table, *names)), table
    assert one.summary["out_of_band_packets"] == two.summary["out_of_band_packets"]
    return int(one.summary["delivered"])
