"""Social election and the broker swarm once more, from Algorithm 1 and section IV.B of the paper.

Where the paper leaves a choice, it is as ``hunet.systems.social_election`` says under "Where we depart from the paper".
"""

from __future__ import annotations

from math import inf

from hunet import Publication
from hunet.model.randomness import Stream, node_rng
from hunet.systems.social_election.social_election import SocialElectionParameters
from tests.systems.second import Network, alive


class Copy:
    def __init__(self, hops: int, mark: float) -> None:
        self.hops, self.mark = hops, mark


class Device:
    def __init__(self, node: int, seed: int) -> None:
        self.rng = node_rng(seed, Stream.PROTOCOL, node, 0)
        self.role = "user"
        self.window: dict[int, tuple[float, str, set[int]]] = {}
        """For each peer met: when the contact ended (inf: not yet), its role by then, and whom it had met itself."""
        self.subscriptions: dict[str, float] = {}
        """A broker's: when each was registered last."""
        self.buffer: dict[Publication, Copy] = {}
        self.seen: set[Publication] = set()


class Told:
    """What a device knows of a neighbour since they exchanged subscriptions."""

    def __init__(self, wants: set[str], subscriptions: dict[str, float], seen: set[Publication]) -> None:
        self.wants, self.subscriptions, self.seen = wants, subscriptions, seen


def freshest(one: dict[str, float], two: dict[str, float]) -> dict[str, float]:
    return {topic: max(one.get(topic, 0.0), two.get(topic, 0.0)) for topic in [*one, *two]}


def utility(message: Publication, subscriptions: dict[str, float], now: float) -> float:
    """Eq. 2; no match, no utility."""
    if message.topic not in subscriptions:
        return 0.0
    return 1 / max(1.0, (now - message.time) + (now - subscriptions[message.topic]))


class SocialElection(Network):
    def __init__(self, nodes: int, parameters: SocialElectionParameters, seed: int) -> None:
        super().__init__(nodes)
        self.given = parameters
        assert parameters.window is not None  # as in the paper
        self.window = parameters.window
        self.devices = [Device(node, seed) for node in range(nodes)]
        self.told: dict[tuple[int, int], Told] = {}
        """For each end of an open contact, and the other end."""

    def start(self, now: float) -> None:
        self.roles = [(now, node, "user") for node in range(len(self.devices))]

    def held(self, node: int) -> list[tuple[Publication, int]]:
        return [(message, copy.hops) for message, copy in self.devices[node].buffer.items()]

    # Algorithm 1 ----------------------------------------------------------------------------------------------------

    def meet(self, now: float, a: int, b: int) -> None:
        met = {}
        for node in (a, b):
            window = self.devices[node].window
            for peer in [peer for peer, (time, _, _) in window.items() if now - time >= self.window]:
                del window[peer]
            met[node] = set(window)
        for node, peer in ((a, b), (b, a)):
            self.decide(now, node, peer, met[peer])
        for node, peer in ((a, b), (b, a)):
            self.devices[node].window[peer] = (inf, self.devices[peer].role, met[peer])
        self.exchange_subscriptions(now, a, b)
        self.exchange_messages(now, a, b)

    def part(self, now: float, a: int, b: int) -> None:
        del self.told[a, b], self.told[b, a]
        for node, peer in ((a, b), (b, a)):
            self.devices[node].window[peer] = (now, *self.devices[node].window[peer][1:])

    def decide(self, now: float, node: int, new: int, popularity: set[int]) -> None:
        brokers = [met for _, role, met in self.devices[node].window.values() if role == "broker"]
        lower, upper = self.given.lower_bound, self.given.upper_bound
        if self.devices[new].role == "user":
            if len(brokers) < lower:
                self.designate(now, new, "broker")
        elif brokers and len(brokers) >= (lower if upper is None else upper):
            mean = sum(len(met) for met in brokers) / len(brokers)
            beta = mean if self.given.threshold is None else self.given.threshold
            union = set().union(*brokers)
            gamma = {
                "mean": len(popularity),
                "marginal": len(popularity - union),
                "scalar": len(popularity) - len(union),
            }
            if gamma[self.given.difference] < beta:
                self.designate(now, new, "user")

    def designate(self, now: float, node: int, role: str) -> None:
        device = self.devices[node]
        if device.rng.random() < self.given.switching:
            device.role = role
            self.roles.append((now, node, role))
            for beside in [other for other in self.devices if node in other.window]:
                time, _, met = beside.window[node]
                if time == inf:
                    beside.window[node] = (time, role, met)
            device.subscriptions = {}  # a user forgets those of others, a broker adds its own when it tells them

    # Section IV.B ---------------------------------------------------------------------------------------------------

    def exchange_subscriptions(self, now: float, a: int, b: int) -> None:
        ends = ((a, b), (b, a))
        registered = {}
        for node in (a, b):
            device, own = self.devices[node], dict.fromkeys(self.wants[node], now)
            if device.role == "broker":
                device.subscriptions = freshest(device.subscriptions, own)
                late = now - 10 * self.window  # "forgotten after ten windows" is not the paper's
                device.subscriptions = {topic: at for topic, at in device.subscriptions.items() if at >= late}
            registered[node] = device.subscriptions if device.role == "broker" else own
        for node, peer in ends:
            if self.devices[node].role == "broker":
                self.devices[node].subscriptions = freshest(registered[node], registered[peer])
        for node, peer in ends:
            self.told[node, peer] = Told(set(self.wants[peer]), dict(registered[peer]), set(self.devices[peer].seen))

    def subscribe(self, now: float, node: int, topic: str) -> None:
        super().subscribe(now, node, topic)
        if self.devices[node].role == "broker":
            self.devices[node].subscriptions[topic] = now

    def publish(self, now: float, message: Publication) -> None:
        self.store(now, message.node, message, Copy(0, 0.0))
        for node, peer in list(self.told):
            if node == message.node:
                self.exchange_messages(now, min(node, peer), max(node, peer))

    def exchange_messages(self, now: float, a: int, b: int) -> None:
        """One message each in turn, the best first, until neither has any for the other."""
        ways = {(b, a), (a, b)}
        while ways:
            for node, peer in ((b, a), (a, b)):
                ranked = [(self.rank(now, node, peer, message), message) for message in self.devices[node].buffer]
                goes = [(rank, message) for rank, message in ranked if rank is not None]
                if goes:
                    rank, message = max(goes)
                    self.send(now, node, peer, message, rank)
                else:
                    ways.discard((node, peer))

    def rank(self, now: float, node: int, peer: int, message: Publication) -> tuple[int, float, float, str] | None:
        """What is sent first has the highest: tier, utility at the next hop, age; None: it is not sent."""
        mine, theirs, told = self.devices[node], self.devices[peer].role, self.told[node, peer]
        worth = utility(message, told.subscriptions, now)
        if message in told.seen or not alive(message, now):
            return None
        if mine.role == "user" and theirs == "broker":
            tier = -1 if message.node == node else -2
        elif (mine.role == "broker" or self.given.direct_delivery) and message.topic in told.wants:
            tier = 0
        elif mine.role == theirs == "broker" and (
            self.given.replication == "naive" or worth > mine.buffer[message].mark
        ):
            tier = -1
        else:
            return None
        return tier, worth, message.time, message.id

    def send(self, now: float, node: int, peer: int, message: Publication, rank: tuple[int, float, float, str]) -> None:
        self.forwards.append((now, node, peer, message.id))
        self.told[node, peer].seen.add(message)
        self.told[peer, node].seen.add(message)
        sender, receiver = self.devices[node], self.devices[peer]
        copy = sender.buffer[message]
        if sender.role == "user" and receiver.role == "broker":
            del sender.buffer[message]  # the single copy moves
        elif rank[0] < 0 and self.given.replication == "delegation":
            copy.mark = rank[1]
        if message in receiver.seen:
            return
        wanted = message.topic in self.wants[peer]
        self.deliver(now, peer, message, copy.hops + 1)
        if receiver.role == "broker":
            self.store(now, peer, message, Copy(copy.hops + 1, copy.mark))
        elif wanted:
            receiver.seen.add(message)

    def store(self, now: float, node: int, message: Publication, copy: Copy) -> None:
        device = self.devices[node]
        device.seen.add(message)
        device.buffer[message] = copy
        device.buffer = {held: copy for held, copy in device.buffer.items() if alive(held, now)}
        if self.given.buffer is not None and len(device.buffer) > self.given.buffer:
            ranks = [(utility(held, device.subscriptions, now), held.time, held.id, held) for held in device.buffer]
            del device.buffer[min(ranks)[-1]]
