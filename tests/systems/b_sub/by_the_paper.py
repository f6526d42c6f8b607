"""B-SUB and B-SUB-P once more, from sections 3.1 and 4.3 to 4.5 of the paper: counters in lists, messages in sets.

Where the paper leaves a choice, it is as ``hunet.systems.b_sub`` says under "Where we depart from the paper".
"""

from __future__ import annotations

from hashlib import blake2b

from hunet import Publication
from hunet.systems.b_sub.b_sub import BSubParameters
from tests.systems.second import Network, alive

Filter = list[int]


class Device:
    def __init__(self, counters: int) -> None:
        self.relay: Filter = [0] * counters
        self.aged = 0
        """Decay cycles of the common clock that the relay filter has seen."""
        self.buffer: dict[Publication, int] = {}
        """Messages with their hops."""
        self.preferences: dict[Publication, float] = {}
        self.seen: set[Publication] = set()
        self.met: dict[int, tuple[Filter, Filter, Filter]] = {}
        """For neighbours, when the contact began: this device's relay filter, and both filters that they told."""


class BSub(Network):
    def __init__(self, nodes: int, parameters: BSubParameters, private: bool) -> None:
        super().__init__(nodes)
        self.given, self.private = parameters, private
        self.devices = [Device(parameters.counters * parameters.filters) for _ in range(nodes)]

    # Filters (section 3.1) ------------------------------------------------------------------------------------------

    def positions(self, tag: str) -> list[int]:
        hashes, several = self.given.hashes, self.given.filters > 1
        digest = blake2b(tag.encode(), digest_size=4 * (hashes + several), person=b"hunet-tcbf").digest()
        words = [int.from_bytes(digest[4 * i : 4 * i + 4], "little") for i in range(hashes + several)]
        which = words[hashes] % self.given.filters if several else 0
        return [which * self.given.counters + word % self.given.counters for word in words[:hashes]]

    def genuine(self, tags: set[str]) -> Filter:
        made = [0] * (self.given.counters * self.given.filters)
        for tag in tags:
            for position in self.positions(tag):
                made[position] = self.given.initial
        return made

    def a_merge(self, one: Filter, two: Filter) -> Filter:
        return [min(x + y, self.given.ceiling) for x, y in zip(one, two, strict=True)]

    def m_merge(self, one: Filter, two: Filter) -> Filter:
        return [max(x, y) for x, y in zip(one, two, strict=True)]

    def value(self, of: Filter, tag: str) -> int:
        return min(of[position] for position in self.positions(tag))

    def preference(self, mine: Filter, theirs: Filter, tag: str) -> float:
        c_i, c_j = self.value(mine, tag), self.value(theirs, tag)
        if self.given.relative_always:
            c_i = max(c_i, 1)
        return c_j if c_i == 0 else (c_j - c_i) / c_i

    # A contact (sections 4.3 to 4.5) --------------------------------------------------------------------------------

    def held(self, node: int) -> list[tuple[Publication, int]]:
        return list(self.devices[node].buffer.items())

    def publish(self, now: float, message: Publication) -> None:
        self.store(now, message.node, message, 0)
        device = self.devices[message.node]
        planned = list(device.met.items()) if self.given.while_linked and message in device.buffer else []
        # Of neighbours that do not want it, the one that is preferred most.
        wants = [peer for peer, (_, genuine, _) in planned if self.value(genuine, message.topic) > 0]
        others = [each for each in planned if each[0] not in wants]
        best = max(others, key=lambda each: self.preference(each[1][0], each[1][2], message.topic), default=None)
        for peer, (mine, genuine, relay) in planned:
            goes = peer in wants or (best is not None and peer == best[0])
            if goes and self.goes(device, message, mine, genuine, relay):
                self.send(now, message.node, peer, message, 0)

    def part(self, now: float, a: int, b: int) -> None:
        del self.devices[a].met[b], self.devices[b].met[a]

    def meet(self, now: float, a: int, b: int) -> None:
        told: dict[int, tuple[Filter, Filter, set[Publication]]] = {}
        for node in (a, b):
            assert self.given.decay_cycle, "devices that find their own have no common clock"
            device, cycles = self.devices[node], int(now // self.given.decay_cycle)
            device.relay = [max(0, counter - (cycles - device.aged)) for counter in device.relay]
            device.aged = cycles
            genuine, relay = self.genuine(self.wants[node]), device.relay
            if self.private:
                genuine, relay = self.genuine(set()), self.a_merge(genuine, relay)
            told[node] = genuine, relay, set(device.seen)
        goes = {(one, two): self.chosen(now, one, *told[two]) for one, two in ((a, b), (b, a))}
        for (sender, receiver), messages in goes.items():
            for message, hops in messages.items():
                self.send(now, sender, receiver, message, hops)
        for node, peer in ((a, b), (b, a)):
            device = self.devices[node]
            device.met[peer] = device.relay, told[peer][0], told[peer][1]
            device.relay = self.m_merge(self.a_merge(device.relay, told[peer][0]), told[peer][1])

    def chosen(
        self, now: float, node: int, genuine: Filter, relay: Filter, seen: set[Publication]
    ) -> dict[Publication, int]:
        """What goes to a peer that has told its filters and what it has seen (section 4.4)."""
        device, goes = self.devices[node], {}
        for message, hops in device.buffer.items():
            new = alive(message, now) and message not in seen
            if new and self.goes(device, message, device.relay, genuine, relay):
                goes[message] = hops
        return goes

    def goes(self, device: Device, message: Publication, mine: Filter, genuine: Filter, relay: Filter) -> bool:
        """Whether a peer wants a message, or is a better carrier than all that got it before."""
        if self.value(genuine, message.topic) > 0:
            return True
        better = self.preference(mine, relay, message.topic)
        if better <= device.preferences.get(message, -2 if self.given.first_wins else 0):
            return False
        device.preferences[message] = better
        return True

    def send(self, now: float, sender: int, receiver: int, message: Publication, hops: int) -> None:
        self.forwards.append((now, sender, receiver, message.id))
        self.deliver(now, receiver, message, hops + 1)
        self.store(now, receiver, message, hops + 1)

    def store(self, now: float, node: int, message: Publication, hops: int) -> None:
        device = self.devices[node]
        device.seen.add(message)
        wanted = node != message.node and message.topic in self.wants[node]
        if wanted and not self.given.consumers_relay:
            return
        if self.given.max_hops is None or hops < self.given.max_hops:
            device.buffer[message] = hops
        device.buffer = {message: hops for message, hops in device.buffer.items() if alive(message, now)}
        if self.given.buffer is not None and len(device.buffer) > self.given.buffer:
            del device.buffer[min(device.buffer, key=lambda held: (held.time, held.id))]
