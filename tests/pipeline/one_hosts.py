"""Hosts as The ONE has them, in the plainest Python: a second program for the same scenario.

The ONE itself could not be run where these tests are made. This is written after its rules, and is none of its code:

- Time goes in steps. In each, connections change, messages are created, then hosts act in the order of their numbers.
- A host takes part in one transfer at a time, as sender or as receiver, over all of its connections.
- It first tries what it holds for a neighbour, then asks neighbours for what they hold for it, then what its router
  says, in random order (PRoPHET: the neighbour with the highest predictability first).
- A neighbour refuses what it holds, or has got as its receiver. It drops what it received first until there is room;
  what was dropped may come again. A receiver does not store what was for it.
- A transfer lasts as long as the link needs, and to the end of the step; it is lost if the connection ends before.
- Binary Spray and Wait halves the copies of the sender at every transfer, also at a delivery.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

Contact = tuple[int, int, float, float]
Sent = tuple[str, float, int, int, int]
"""id, time, from, to, size"""


@dataclass
class Host:
    number: int
    held: dict[str, float] = field(default_factory=dict)
    """By id: when it was received."""
    copies: dict[str, int] = field(default_factory=dict)
    got: set[str] = field(default_factory=set)
    near: list[int] = field(default_factory=list)
    busy: bool = False
    known: dict[int, float] = field(default_factory=dict)
    """PRoPHET's predictabilities."""
    aged: float = 0.0


@dataclass
class Transfer:
    sender: int
    receiver: int
    message: str
    copies: int
    done: float


@dataclass
class Network:
    """A scenario, and what came of it."""

    router: str
    hosts: list[Host]
    messages: dict[str, Sent]
    speed: float
    room: float
    copies: int = 0
    time_unit: float = 30.0
    step: float = 1.0
    now: float = 0.0
    transfers: list[Transfer] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    rng: Random = field(default_factory=lambda: Random(1))

    def run(self, contacts: list[Contact], end: float) -> Counter[str]:
        events = [(start, 1, a, b) for a, b, start, _ in contacts] + [(last, 0, a, b) for a, b, _, last in contacts]
        events.sort()
        created = sorted(self.messages.values(), key=lambda sent: sent[1])
        while self.now < end:
            self.now += self.step
            while events and events[0][0] <= self.now:
                _, up, a, b = events.pop(0)
                (self.connect if up else self.disconnect)(a, b)
            while created and created[0][1] <= self.now:
                self.create(created.pop(0))
            for host in self.hosts:
                self.act(host)
        return self.counts

    def connect(self, a: int, b: int) -> None:
        one, two = self.hosts[a], self.hosts[b]
        one.near.append(b)
        two.near.append(a)
        if self.router == "prophet":
            for me, other in ((one, two), (two, one)):
                self.age(me)
                self.age(other)
                before = me.known.get(other.number, 0.0)
                me.known[other.number] = before + (1 - before) * 0.75
                for node, theirs in other.known.items():
                    if node != me.number:
                        mine = me.known.get(node, 0.0)
                        me.known[node] = mine + (1 - mine) * me.known[other.number] * theirs * 0.25

    def age(self, host: Host) -> None:
        left = 0.98 ** ((self.now - host.aged) / self.time_unit)
        host.known = {node: value * left for node, value in host.known.items()}
        host.aged = self.now

    def disconnect(self, a: int, b: int) -> None:
        self.hosts[a].near.remove(b)
        self.hosts[b].near.remove(a)
        for transfer in [each for each in self.transfers if {each.sender, each.receiver} == {a, b}]:
            self.counts["aborted"] += 1
            self.free(transfer)

    def free(self, transfer: Transfer) -> None:
        self.transfers.remove(transfer)
        self.hosts[transfer.sender].busy = self.hosts[transfer.receiver].busy = False

    def create(self, sent: Sent) -> None:
        message, _, source, _, size = sent
        host = self.hosts[source]
        self.make_room(host, size)
        host.held[message] = self.now
        host.copies[message] = self.copies
        self.counts["created"] += 1

    def make_room(self, host: Host, size: int) -> bool:
        sending = {each.message for each in self.transfers if each.sender == host.number}
        used = sum(self.messages[message][4] for message in host.held)
        while used + size > self.room:
            loose = [message for message in host.held if message not in sending]
            if size > self.room or not loose:
                return False
            oldest = min(loose, key=host.held.__getitem__)
            used -= self.messages[oldest][4]
            del host.held[oldest]
            self.counts["dropped"] += 1
        return True

    def act(self, host: Host) -> None:
        for transfer in [each for each in self.transfers if each.sender == host.number and each.done <= self.now]:
            self.finish(transfer)
        if host.busy or not host.near or not host.held:
            return
        mine = [(message, peer) for message in host.held for peer in host.near if self.messages[message][3] == peer]
        self.rng.shuffle(mine)
        if self.start_first(host, mine):
            return
        for peer in host.near:
            other = self.hosts[peer]
            for_me = [(message, host.number) for message in other.held if self.messages[message][3] == host.number]
            if not other.busy and self.start_first(other, for_me):
                return
        self.start_first(host, self.choices(host))

    def choices(self, host: Host) -> list[tuple[str, int]]:
        if self.router == "direct":
            return []
        messages = [each for each in host.held if self.router != "spray" or host.copies[each] > 1]
        if self.router != "prophet":
            self.rng.shuffle(messages)
            return [(message, peer) for peer in host.near for message in messages]
        self.age(host)
        found = []
        for peer in host.near:
            other = self.hosts[peer]
            self.age(other)
            for message in messages:
                target = self.messages[message][3]
                if other.known.get(target, 0.0) > host.known.get(target, 0.0):
                    found.append((other.known[target], message, peer))
        return [(message, peer) for _, message, peer in sorted(found, reverse=True)]

    def start_first(self, host: Host, wanted: list[tuple[str, int]]) -> bool:
        return any(self.start(host, message, self.hosts[peer]) for message, peer in wanted)

    def start(self, host: Host, message: str, peer: Host) -> bool:
        if host.busy or peer.busy or message in peer.held or message in peer.got:
            return False
        size = self.messages[message][4]
        if not self.make_room(peer, size):
            return False
        self.transfers.append(
            Transfer(host.number, peer.number, message, host.copies.get(message, 0), self.now + size / self.speed)
        )
        host.busy = peer.busy = True
        return True

    def finish(self, transfer: Transfer) -> None:
        self.free(transfer)
        self.counts["relayed"] += 1
        sender, receiver, message = self.hosts[transfer.sender], self.hosts[transfer.receiver], transfer.message
        if self.messages[message][3] == receiver.number:
            self.counts["delivered"] += message not in receiver.got
            receiver.got.add(message)
        else:
            receiver.held[message] = self.now
            receiver.copies[message] = -(-transfer.copies // 2)
        if message in sender.held:
            sender.copies[message] //= 2
