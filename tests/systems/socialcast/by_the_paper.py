"""SocialCast once more, from Fig. 2, section IV and the appendix of the paper, and its variant without prediction.

Where the paper leaves a choice, it is as ``hunet.systems.socialcast`` says under "Where we depart from the paper".
"""

from __future__ import annotations

from hunet import Publication
from hunet.model.randomness import Stream, node_rng
from hunet.systems.socialcast.parameters import SocialCastParameters
from tests.systems.second import Network, alive


class Kalman:
    """The appendix with F = G = 1: forecast X̂ and its error Ω."""

    def __init__(self, q: float, r: float) -> None:
        self.q, self.r, self.x, self.omega = q, r, 0.0, 1.0

    def update(self, y: float) -> float:
        theta, delta = self.omega, self.omega + self.r
        self.x = self.x + theta / delta * (y - self.x)
        self.omega = self.omega + self.q - theta * theta / delta
        return self.x


class Row:
    """What a neighbour has told in its last CONTROL message."""

    def __init__(self, interests: set[str], utilities: dict[str, float], received: set[Publication]) -> None:
        self.interests, self.utilities, self.received = interests, utilities, received


class Device:
    def __init__(self, node: int, seed: int, given: SocialCastParameters) -> None:
        self.rng = node_rng(seed, Stream.PROTOCOL, node, 0)
        self.next_tick = 0.0
        self.neighbours: set[int] = set()
        self.before: set[int] = set()
        """The neighbours at the last tick."""
        self.rows: dict[int, Row] = {}
        self.buffer: list[tuple[Publication, int]] = []
        """Copies with their hops, in order of arrival."""
        self.received: list[Publication] = []
        self.cdc = Kalman(given.state_noise, given.observation_noise)
        self.col: dict[str, Kalman] = {}
        """For each interest that the device knows of, in the order in which it learnt of them."""
        self.utilities: dict[str, float] = {}


class SocialCast(Network):
    def __init__(self, nodes: int, parameters: SocialCastParameters, seed: int, prediction: bool) -> None:
        super().__init__(nodes)
        self.given, self.prediction = parameters, prediction
        self.devices = [Device(node, seed, parameters) for node in range(nodes)]

    def start(self, now: float) -> None:
        for device in self.devices:
            device.next_tick = now + device.rng.random() * self.given.period

    def until(self, now: float) -> None:
        while True:
            node = min(range(len(self.devices)), key=lambda n: self.devices[n].next_tick)
            time = self.devices[node].next_tick
            if time > now:
                return
            self.tick(time, node)
            self.devices[node].next_tick = time + self.given.period

    # Contacts and applications --------------------------------------------------------------------------------------

    def meet(self, now: float, a: int, b: int) -> None:
        self.devices[a].neighbours.add(b)
        self.devices[b].neighbours.add(a)

    def part(self, now: float, a: int, b: int) -> None:
        for node, peer in ((a, b), (b, a)):
            self.devices[node].neighbours.remove(peer)
            self.devices[node].rows.pop(peer, None)

    def held(self, node: int) -> list[tuple[Publication, int]]:
        return self.devices[node].buffer

    def subscribe(self, now: float, node: int, topic: str) -> None:
        super().subscribe(now, node, topic)
        self.learn(node, topic)

    def publish(self, now: float, message: Publication) -> None:
        self.learn(message.node, message.topic)
        self.remember(message.node, message)
        for _ in range(self.given.copies):
            self.insert(message.node, message, 0)

    # Fig. 2 ---------------------------------------------------------------------------------------------------------

    def tick(self, now: float, node: int) -> None:
        me = self.devices[node]
        me.buffer = [(message, hops) for message, hops in me.buffer if alive(message, now)]
        self.update_own_utilities(node)
        for peer in me.neighbours:
            told = me.utilities if self.prediction else {}
            self.devices[peer].rows[node] = Row(set(self.wants[node]), dict(told), set(me.received))
            for topic, utility in told.items():  # "of what nobody has met lately, nobody learns" is not the paper's
                if topic in self.wants[node] or utility > self.given.weights["cdc"] * me.cdc.x + 1e-15:
                    self.learn(peer, topic)
        carriers = self.carriers_by_utility(node) if self.prediction else self.carriers_by_lot(node)
        self.disseminate(now, node, carriers)

    def disseminate(self, now: float, node: int, carriers: dict[Publication, int]) -> None:
        """Subscribers first, since the copy that leaves may be the last.

        Fig. 2 has no order beyond that. Where the receiver's memory or buffer is short it is the quick version's:
        neighbour by neighbour, the newest message first; what other subscribers wait for is handed over at last.
        """
        me = self.devices[node]
        newest_first = sorted(dict(me.buffer), key=lambda message: (message.time, message.id), reverse=True)
        wanted = {
            (peer, message)
            for peer, row in me.rows.items()
            for message in newest_first
            if peer != carriers.get(message) and message.topic in row.interests and message not in row.received
        }
        for _ in range(2):
            for peer in me.rows:
                for message in newest_first:
                    if (peer, message) in wanted:
                        self.send(now, node, peer, message, me.buffer[self.latest(node, message)][1], replica=False)
                wanted = {(other, message) for other, message in wanted if other != peer}
                for message in newest_first:
                    if carriers.get(message) == peer and message not in {waiting for _, waiting in wanted}:
                        del carriers[message]
                        _, hops = me.buffer.pop(self.latest(node, message))
                        self.send(now, node, peer, message, hops, replica=True)

    def latest(self, node: int, message: Publication) -> int:
        """Where the copy of a message is that came last."""
        return max(place for place, (held, _) in enumerate(self.devices[node].buffer) if held == message)

    def update_own_utilities(self, node: int) -> None:
        """Section IV: change degree of connectivity and co-location, forecast and weighed."""
        me = self.devices[node]
        either, both = me.before | me.neighbours, me.before & me.neighbours
        me.before = set(me.neighbours)
        cdc = me.cdc.update((len(either) - len(both)) / len(either) if either else 0.0)
        for topic, predictor in me.col.items():
            col = predictor.update(1.0 if any(topic in row.interests for row in me.rows.values()) else 0.0)
            me.utilities[topic] = self.given.weights["cdc"] * cdc + self.given.weights["col"] * col

    def carriers_by_utility(self, node: int) -> dict[Publication, int]:
        me, found = self.devices[node], {}
        for message, _ in me.buffer:
            level = me.utilities.get(message.topic, 0.0) + self.given.hysteresis
            rows = {peer: row for peer, row in me.rows.items() if message not in row.received}
            told = {peer: row.utilities.get(message.topic, 0.0) for peer, row in rows.items()}
            better = [peer for peer, utility in told.items() if utility > level]
            if better:
                found[message] = min(better, key=lambda peer: (-told[peer], peer))
        return found

    def carriers_by_lot(self, node: int) -> dict[Publication, int]:
        """Each message stays or goes to one of the neighbours; the lots are drawn in the order of the quick version."""
        me, found = self.devices[node], {}
        peers = list(me.rows)
        for topic in me.col:
            for message in sorted({m for m, _ in me.buffer if m.topic == topic}, key=lambda m: (m.time, m.id)):
                if any(message not in row.received for row in me.rows.values()):
                    drawn = int(me.rng.random() * (len(peers) + 1))
                    if drawn < len(peers) and message not in me.rows[peers[drawn]].received:
                        found[message] = peers[drawn]
        return found

    def send(self, now: float, node: int, peer: int, message: Publication, hops: int, replica: bool) -> None:
        """DATA, and what its receiver does."""
        self.forwards.append((now, node, peer, message.id))
        self.devices[node].rows[peer].received.add(message)
        self.learn(peer, message.topic)
        self.remember(peer, message)
        self.deliver(now, peer, message, hops + 1)
        if replica and (self.given.max_hops is None or hops + 1 < self.given.max_hops):
            self.insert(peer, message, hops + 1)

    def learn(self, node: int, topic: str) -> None:
        self.devices[node].col.setdefault(topic, Kalman(self.given.state_noise, self.given.observation_noise))

    def remember(self, node: int, message: Publication) -> None:
        received = self.devices[node].received
        if message not in received:
            received.append(message)
        del received[: -self.given.memory]

    def insert(self, node: int, message: Publication, hops: int) -> None:
        buffer = self.devices[node].buffer
        buffer.append((message, hops))
        if self.given.buffer is not None and len(buffer) > self.given.buffer:
            del buffer[0]
