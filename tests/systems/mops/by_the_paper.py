"""MOPS once more, from sections II to IV and the appendix of the paper, with structures that an experimenter makes.

Where the paper leaves a choice, it is as ``hunet.systems.mops`` says under "Where we depart from the paper".
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations
from math import exp
from random import Random
from typing import Any, ClassVar, NamedTuple

from hunet import Contacts
from hunet.model import Message, Parameters
from hunet.protocols import Driver
from hunet.protocols.capabilities import Experiment
from hunet.protocols.contract import Data, Packet
from hunet.systems.mops.parameters import MopsParameters
from tests.systems.plain_device import PlainCopies, PlainDevice, PlainWord

Pair = tuple[int, int]
Table = dict[Pair, Any]
"""Closeness of pairs, the smaller node first: numbers of any kind."""
Weights = dict[str, float]
Way = tuple[int, ...]

# Structures (sections II.B, III.A, IV.D, appendix) --------------------------------------------------------------------


def closeness(contacts: Contacts, begin: float, finish: float, edges: str = "both") -> Table:
    """Eq. 1: exp(-AVG(D)² / 2σ²) of all who met in the window; σ is the mean of all AVG(D)."""
    apart = {}
    for pair in combinations(range(len(contacts.names)), 2):
        rows = [(s, e) for a, b, s, e in contacts.records() if (int(a), int(b)) == pair and s <= finish and e >= begin]
        if rows:
            ends, starts = [begin, *(end for _, end in rows)], [*(start for start, _ in rows), finish]
            gaps = [start - end for end, start in zip(ends, starts, strict=True)]
            first, last = int(edges != "both"), len(gaps) - int(edges == "inner")
            counted = [gap for gap in gaps[first:last] if gap > 0]
            apart[pair] = sum(counted) / len(counted) if counted else 0.0
    sigma = sum(apart.values()) / len(apart) if apart else 0.0
    return {pair: exp(-((average / sigma) ** 2) / 2) if average else 1.0 for pair, average in apart.items()}


def virtual_links(table: Table, k: int) -> dict[Pair, tuple[Any, Way]]:
    """Definition 2: the largest product over paths of at most k links, and that path; the shorter, lower one first."""
    paths: list[tuple[Any, Way]] = [(1, (node,)) for node in sorted({node for pair in table for node in pair})]
    found: dict[Pair, tuple[Any, int, Way]] = {}
    for _ in range(k):
        longer = []
        for product, path in paths:
            for (a, b), close in table.items():
                peer = b if a == path[-1] else a
                if path[-1] in (a, b) and peer not in path:
                    longer.append((product * close, (*path, peer)))
        for product, path in longer:
            pair, rank = (path[0], path[-1]), (-product, len(path), path)
            if pair[0] < pair[1] and (pair not in found or rank < found[pair]):
                found[pair] = rank
        paths = longer
    return {pair: (-product, path) for pair, (product, _, path) in found.items()}


def communities(table: Table, k: int, threshold: Any) -> dict[int, set[int]]:
    """Algorithm 1: those of the highest degree in sight gather cliques, and keep that of the least cut."""
    virtual = {pair: close for pair, (close, _) in virtual_links(table, k).items()}
    left, found = {node for pair in table for node in pair}, {}
    while left:
        near = {i: {j for j in left if j != i and virtual.get((min(i, j), max(i, j)), 0) >= threshold} for i in left}
        visible = {i: {i} | near[i] | {other for j in near[i] for other in near[j]} for i in left}
        degree = {i: sum(close for pair, close in table.items() if i in pair and set(pair) <= left) for i in left}
        leaders = [i for i in left if i == max(visible[i], key=lambda j: (degree[j], -j))]
        for leader in leaders:
            order = sorted(near[leader], key=lambda j: (-virtual[min(leader, j), max(leader, j)], j))
            cliques: list[set[int]] = []
            for first in order:
                if not any(first in clique for clique in cliques):
                    clique = {leader, first}
                    for j in order:
                        if all(j in near[member] for member in clique):
                            clique.add(j)
                    cliques.append(clique)
            ranked = [(cut(table, q, visible[leader] - q), -len(q), sorted(q)) for q in cliques or [{leader}]]
            found[leader] = set(min(ranked)[2])
        left -= set().union(*(found[leader] for leader in leaders))
    return found


def cut(table: Table, inside: set[int], outside: set[int]) -> Any:
    """Closeness of direct links that leave a clique for others in sight, over all that its members have."""
    crossing = sum(close for (a, b), close in table.items() if {a, b} & inside and {a, b} & outside)
    total = sum(close for pair, close in table.items() for node in pair if node in inside)
    return crossing / total if total else 0


def brokers(table: Table, groups: dict[int, set[int]], pruning: Any) -> dict[int, set[int]]:
    """Gateways that do not prune themselves, by Eq. 7 as it is printed: for each, the communities beyond."""

    def c(one: int, two: int) -> Any:
        return 1 if one == two else table.get((min(one, two), max(one, two)), 0)

    found: dict[int, set[int]] = {}
    for (_, here), (label, there) in permutations(groups.items(), 2):
        flow = {u: sum(c(u, v) * c(i, u) * c(v, j) for v in there for i in here for j in there) for u in here}
        share = {gateway: much / sum(flow.values()) for gateway, much in flow.items() if much}
        for gateway, b in share.items():
            betters = [better for better in share.values() if better > b]
            if not betters or sum(betters) < pruning:
                found.setdefault(gateway, set()).add(label)
    return found


# Interests and events (sections II.C, III.B, IV) ----------------------------------------------------------------------


class InterestList(NamedTuple):
    made: float
    own: set[str]
    beyond: set[str]
    """What a broker collects for others."""
    anything: bool


class Mops(PlainDevice):
    Parameters: ClassVar[type[Parameters]] = MopsParameters

    @classmethod
    def prepare(cls, parameters: Any, experiment: Experiment) -> dict[str, Any]:
        begin, finish = experiment.training
        if parameters.closeness is not None or begin == finish:
            return {}
        table = closeness(experiment.contacts, begin, finish, parameters.edges)
        return {"closeness": tuple((a, b, c) for (a, b), c in table.items())}

    def __init__(self, node: int, parameters: MopsParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        assert not isinstance(parameters.closeness, str)
        self.settle(parameters.closeness or ())
        self.training = False
        self.lists: dict[int, InterestList] = {}
        self.external: dict[int, dict[int, Weights]] = {}
        """What brokers of other communities have told of these."""
        self.relayed: dict[int, dict[int, Weights]] = {}
        """What brokers of this community have told of others."""
        self.standing: dict[int, tuple[int, set[int], dict[int, float]]] = {}
        self.wants: dict[int, tuple[Weights, float]] = {}
        self.near: list[int] = []
        self.own: set[int] = set()
        self.ways: dict[int, set[Way]] = {}
        """Messages to be handed on: the next hop first, the one whom it is for last."""
        self.for_others: set[int] = set()
        self.sent_to: dict[int, set[int]] = {}

    def settle(self, rows: Iterable[tuple[int, int, float]]) -> None:
        """The own place in the structure that follows from closeness."""
        given = self.parameters
        self.table = {(a, b): c for a, b, c in rows}
        self.virtual = virtual_links(self.table, given.hops)
        groups = communities(self.table, given.hops, given.threshold)
        self.home = next((label for label, group in groups.items() if self.node in group), self.node)
        self.members = groups.get(self.home, {self.node})
        self.bridges = brokers(self.table, groups, given.pruning).get(self.node, set())

    # Weights ---------------------------------------------------------------------------------------------------------

    def close(self, other: int) -> float:
        pair = (min(self.node, other), max(self.node, other))
        return 1.0 if other == self.node else float(self.virtual[pair][0])

    def internal(self) -> Weights:
        """Eq. 2."""
        found: Weights = {}
        for member in sorted(self.lists):
            for topic in self.lists[member].own:
                found[topic] = found.get(topic, 0.0) + self.close(member)
        return found

    def best_of(self, community: int) -> Weights:
        """E of one community: the best that a link to one of its brokers allows."""
        found: Weights = {}
        for broker, told in self.external.get(community, {}).items():
            direct = self.table.get((min(self.node, broker), max(self.node, broker)), 0.0)
            for topic, weight in told.items():
                found[topic] = max(found.get(topic, 0.0), direct * weight)
        return found

    def beyond(self, relayed: bool, but: int | None = None) -> Weights:
        """Eq. 3, or Eq. 4 with what brokers of this community relayed."""
        found: Weights = {}
        known = {*self.external, *self.relayed} - {self.home} if relayed else set(self.external)
        for community in sorted(known - {but}):
            best = self.best_of(community)
            for broker, told in self.relayed.get(community, {}).items() if relayed else ():
                for topic, weight in told.items() if broker in self.members else ():
                    best[topic] = max(best.get(topic, 0.0), self.close(broker) * weight)
            for topic, weight in best.items():
                found[topic] = found.get(topic, 0.0) + weight
        return found

    def list_for(self, community: int, bridges: set[int]) -> tuple[Weights, float]:
        """Section IV.B: what is told to such a peer, and the weight of all else."""
        alpha, beta = self.parameters.alpha, 1 - self.parameters.alpha
        first: Weights = dict.fromkeys(self.topics, 1.0)
        if community == self.home and self.bridges:  # Eq. 5
            second = self.beyond(relayed=False)
        elif community in self.bridges and self.home in bridges:  # Eq. 6
            asked = community if self.parameters.exclude_peer_community else None
            first, second = self.internal(), self.beyond(relayed=True, but=asked)
        else:
            return first, 0.0
        mixed = {x: alpha * first.get(x, 0.0) + beta * second.get(x, 0.0) for x in {*first, *second}}
        listed = {topic: weight for topic, weight in mixed.items() if weight > 0}
        if self.parameters.unsubscribed == "known":
            known = {*self.internal(), *self.beyond(relayed=True)}
            listed = {**dict.fromkeys(known, 0.0), **listed}
        return listed, self.parameters.default_weight

    def asks_for(self, one: InterestList, topic: str) -> bool:
        known = self.parameters.unsubscribed == "known"
        wanted = {x for other in self.lists.values() for x in other.own | other.beyond} | self.topics
        return topic in one.own | one.beyond or (one.anything and not (known and topic in wanted))

    # Lists ------------------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self.renew(now)
        for time, _ in reversed(self.parameters.later):
            self.driver.set_timer(f"{time}", time)

    def timer(self, tag: str, now: float) -> None:
        before = self.home, self.members, self.bridges
        self.settle(dict(self.parameters.later)[float(tag)])
        if (self.home, self.members, self.bridges) != before:
            self.lists = {member: one for member, one in self.lists.items() if member in self.members}
            self.external, self.relayed = {}, {}
            self.renew(now)
            self.greet_all()

    def greet_all(self) -> None:
        for peer in self.near:
            for word in self.greeting():
                self.driver.send(peer, word)
            if peer in self.standing:
                self.answer(peer, *self.standing[peer])

    def phase(self, name: str, now: float) -> None:
        self.training = name == "train"
        if self.training:
            for heard in (self.standing, self.wants, self.known):
                heard.clear()
        else:
            self.greet_all()

    def greeting(self) -> tuple[PlainWord, ...]:
        made = {member: one.made for member, one in self.lists.items()}
        return PlainWord("standing", (self.home, self.bridges, made)), PlainWord("seen", set(self.seen))

    def link_up(self, peer: int, now: float) -> tuple[PlainWord, ...]:
        self.near.append(peer)
        return () if self.training else self.greeting()

    def link_down(self, peer: int, now: float) -> None:
        super().link_down(peer, now)
        self.near.remove(peer)
        self.standing.pop(peer, None)
        self.wants.pop(peer, None)

    def renew(self, now: float) -> None:
        """A new list, if this device does not want what it wanted."""
        broker, default = bool(self.bridges), self.parameters.default_weight
        all_else = default > 0 and self.parameters.unsubscribed == "listed"
        beyond = {x for x, weight in self.beyond(relayed=False).items() if weight > 0 and broker and not all_else}
        made = InterestList(now, set(self.topics), beyond, broker and default > 0)
        before = self.lists.get(self.node)
        if before is None or before[1:] != made[1:]:
            self.lists[self.node] = made if before is None else made._replace(made=max(now, before.made + 1e-6))

    def subscribe(self, topic: str, now: float) -> None:
        super().subscribe(topic, now)
        self.changed(now)

    def unsubscribe(self, topic: str, now: float) -> None:
        super().unsubscribe(topic, now)
        self.changed(now)

    def changed(self, now: float) -> None:
        self.renew(now)
        for peer, (community, bridges, _) in self.standing.items():
            self.tell(peer, "wants", self.list_for(community, bridges))
            if community == self.home:
                self.tell(peer, "lists", {self.node: self.lists[self.node]})

    def receive(self, peer: int, packet: Packet, now: float) -> None:
        if isinstance(packet, PlainCopies):
            self.arrived(peer, packet, now)
            return
        assert isinstance(packet, PlainWord)
        told = packet.told
        if packet.kind == "standing":
            self.standing[peer] = told
            self.answer(peer, *told)
        elif packet.kind == "lists":
            self.hear(peer, told, now)
        elif packet.kind == "internal":
            self.external.setdefault(told[0], {})[peer] = told[1]
            self.renew(now)
        elif packet.kind == "relay":
            for row in self.relayed.values():
                row.pop(peer, None)
            for community, weights in told.items():
                self.relayed.setdefault(community, {})[peer] = weights
        elif packet.kind == "wants":
            self.wants[peer] = told
        elif packet.kind == "seen":
            self.known[peer] = set(told)
        else:
            super().receive(peer, packet, now)
        if packet.kind in ("wants", "seen") and peer in self.wants and peer in self.known:
            self.driver.wake(peer)

    def answer(self, peer: int, community: int, bridges: set[int], made: dict[int, float]) -> None:
        if community == self.home:
            lacking = {m: one for m, one in self.lists.items() if m not in made or one.made > made[m]}
            if lacking:
                self.tell(peer, "lists", lacking)
            if self.bridges and bridges:
                self.tell(peer, "relay", {beyond: self.best_of(beyond) for beyond in self.external})
        elif community in self.bridges and self.home in bridges:
            self.tell(peer, "internal", (self.home, self.internal()))
        self.tell(peer, "wants", self.list_for(community, bridges))

    def hear(self, teller: int, lists: dict[int, InterestList], now: float) -> None:
        news = {}
        for member, one in lists.items():
            known = self.lists.get(member)
            if member in self.members - {self.node} and (known is None or known.made < one.made):
                news[member] = self.lists[member] = one
        for peer, (community, _, _) in self.standing.items() if news else ():
            if peer != teller and community == self.home:
                self.tell(peer, "lists", news)
        for number in sorted(self.alive(self.own & self.copies, now), reverse=True):
            self.send_off(number, news)

    # Events -----------------------------------------------------------------------------------------------------------

    def publish(self, message: Message, now: float) -> None:
        self.own.add(message.number)
        self.sent_to[message.number] = set()
        super().publish(message, now)
        self.send_off(message.number, self.lists)

    def send_off(self, number: int, lists: dict[int, InterestList]) -> None:
        """To those of the community who ask for it and to whom the best path is not the direct one."""
        for member, one in lists.items():
            if member not in self.sent_to[number] | {self.node} and self.asks_for(one, self.message(number).topic):
                path = self.virtual[min(self.node, member), max(self.node, member)][1]
                path = path if path[0] == self.node else path[::-1]
                if len(path) > 2:
                    self.sent_to[number].add(member)
                    self.hand_on(number, path[1:])

    def hand_on(self, number: int, way: Way) -> None:
        self.ways.setdefault(number, set()).add(way)
        if way[0] in self.known:
            self.driver.wake(way[0])

    def poll(self, peer: int, now: float, room: int) -> PlainCopies | None:
        if peer not in self.wants or peer not in self.known:
            return None
        weights, default = self.wants[peer]
        lacking = self.alive(self.copies, now) - self.known[peer]
        free = lacking - self.for_others
        listed = {n for n in free if self.message(n).topic in weights}
        asked = {n for n in listed if weights[self.message(n).topic] > 0}
        by_weight = sorted(asked, key=lambda n: (-weights[self.message(n).topic], self.message(n).expires, n))
        waiting = {n for n, ways in self.ways.items() if any(way[0] == peer for way in ways)}
        chosen = by_weight[:room]
        if not chosen:
            for number in waiting - lacking:
                self.served(number, peer)
            chosen = sorted(waiting & lacking)
        if not chosen and default > 0:
            chosen = sorted(free - listed, key=lambda n: (self.message(n).expires, n))[:room]
        errands = sorted(waiting & set(chosen), key=lambda n: (self.message(n).expires, n))
        if errands:
            rest = {way[1:] for way in self.ways[errands[0]] if way[0] == peer}
            return self.pack(errands[:1], {way for way in rest if way})
        return self.pack(chosen, set()) if chosen else None

    def sent(self, peer: int, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        assert isinstance(packet, PlainCopies)
        for number in packet.hops if arrived else ():
            self.served(number, peer)

    def served(self, number: int, peer: int) -> None:
        """A peer has a message: nobody needs to bring it there, or hand it on there."""
        self.sent_to.setdefault(number, set()).add(peer)
        before = self.ways.pop(number, set())
        after = {way for way in before if peer not in (way[0], way[-1])}
        if after:
            self.ways[number] = after
        elif before and number in self.for_others:
            self.for_others.discard(number)
            self.copies.discard(number)

    def arrived(self, giver: int, packet: PlainCopies, now: float) -> None:
        self.store(self.take(giver, packet, now))
        for number in self.alive(set(packet.hops) & self.copies, now) if packet.why else ():
            for way in packet.why:
                self.hand_on(number, way)
            message = self.message(number)
            if not self.asks_for(self.lists[self.node], message.topic) and message.publisher != self.node:
                self.for_others.add(number)
