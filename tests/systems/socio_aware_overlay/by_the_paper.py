"""The Socio-Aware Overlay once more, from sections 3.3, 5.1 and 5.2 of the paper, with communities that are known.

Detection has its own second implementation in ``test_detection``. Where the paper leaves a choice, it is as
``hunet.systems.socio_aware_overlay`` says under "Where we depart from the paper".
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any, ClassVar, cast

from hunet.model import Message, Parameters
from hunet.protocols import Driver
from hunet.protocols.capabilities import OutOfBandDriver
from hunet.protocols.contract import Data, Packet
from hunet.systems.socio_aware_overlay.socio_aware_overlay import OverlayParameters
from tests.systems.plain_device import PlainCopies, PlainDevice, PlainWord

# Communities and brokers ---------------------------------------------------------------------------------------------


def alike(one: set[int], two: set[int]) -> bool:
    return 2 * len(one & two) >= len(one | two)


def agreed(views: list[set[int]]) -> list[set[int]]:
    """Two are of one community if each is in the other's view and these are alike; at least three; largest first."""
    groups = [{node} for node in range(len(views))]
    for one in range(len(views)):
        for two in range(one):
            if one in views[two] and two in views[one] and alike(views[one], views[two]):
                joined = [group for group in groups if one in group or two in group]
                groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return sorted((group for group in groups if len(group) >= 3), key=lambda group: (-len(group), min(group)))


def distances(community: set[int], links: set[frozenset[int]], source: int) -> dict[int, int]:
    """Hops to all whom a path inside the community reaches."""
    found = {source: 0}
    for hops in range(1, len(community)):
        near = {n for n in community if any(frozenset((n, at)) in links for at in found)}
        found.update(dict.fromkeys(near - set(found), hops))
    return found


def central(community: set[int], links: set[frozenset[int]]) -> tuple[set[int], int]:
    """Eq. 1: the brokers are all of the highest closeness; and how many hops they are away from members at most."""
    closeness = {}
    for node in community:
        reached = distances(community, links, node)
        far = len(community) * (len(community) - len(reached))  # who is out of reach is as far as there are members
        closeness[node] = Fraction(1, sum(reached.values()) + far)
    brokers = {node for node in community if closeness[node] == max(closeness.values())}
    return brokers, max(1, *(max(distances(community, links, broker).values()) for broker in brokers))


# Dissemination -------------------------------------------------------------------------------------------------------


class Overlay(PlainDevice):
    Parameters: ClassVar[type[Parameters]] = OverlayParameters

    def __init__(self, node: int, parameters: OverlayParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.community, self.brokers, self.depth = {node}, set[int](), 1
        self.all_brokers: set[int] = set()
        assert not isinstance(parameters.communities, str)
        for known in parameters.communities or ():
            self.all_brokers |= set(known.brokers)
            if node in (*known.members, *known.guests):
                self.community, self.brokers = {*known.members, *known.guests}, set(known.brokers)
                self.depth = known.depth
        self.direct = parameters.broker_link != "unicast"
        self.subscriptions: dict[tuple[int, str], tuple[float, bool]] = {}
        """Who wants what: since when, and whether it is over."""
        self.outbox: set[int] = set()
        self.to_broker: set[int] = set()
        self.to_brokers: set[int] = set()
        self.floods: dict[tuple[frozenset[int], int], set[int]] = {}
        """What goes to whom, and how many times more."""
        self.told, self.heard, self.asked = set[int](), set[int](), set[int]()
        """Who has been told everything once and who has told that, and who was asked to tell it in this contact."""

    # Steps 1 and 4: subscriptions ------------------------------------------------------------------------------------

    def link_up(self, peer: int, now: float) -> tuple[PlainWord, ...]:
        seen = PlainWord("seen", set(self.seen))
        return (self.says(peer), seen) if peer in self.community | self.brokers else (seen,)

    def says(self, peer: int) -> PlainWord:
        """All subscriptions: who has lost its memory does not get them with the greeting unless all are told anew."""
        first = peer not in self.told
        self.told.add(peer)
        return PlainWord("everything" if first else "subscriptions", dict(self.subscriptions))

    def link_down(self, peer: int, now: float) -> None:
        super().link_down(peer, now)
        self.asked.discard(peer)

    def subscribe(self, topic: str, now: float) -> None:
        super().subscribe(topic, now)
        self.learn({(self.node, topic): (now, False)}, self.node)

    def unsubscribe(self, topic: str, now: float) -> None:
        super().unsubscribe(topic, now)
        self.learn({(self.node, topic): (now, True)}, self.node)

    def learn(self, told: dict[tuple[int, str], tuple[float, bool]], teller: int, shared: bool = False) -> None:
        never = (-1.0, False)
        news = {what: state for what, state in told.items() if state > self.subscriptions.get(what, never)}
        self.subscriptions.update(news)
        if not news:
            return
        for peer in self.known:
            if peer != teller and peer in self.community | self.brokers:
                self.tell(peer, "subscriptions", news)
        if self.node in self.brokers and self.direct and not shared:  # the brokers of a community share their list
            for broker in sorted(self.brokers - {self.node}):
                cast("OutOfBandDriver", self.driver).send_out_of_band(broker, PlainWord("subscriptions", news))

    def concerns(self, subscriber: int, teller: int) -> bool:
        mine = self.node in self.brokers and (subscriber == teller or teller in self.brokers)
        return subscriber in self.community or mine

    def receive(self, peer: int, packet: Packet, now: float) -> None:
        if isinstance(packet, PlainCopies):
            self.arrived(peer, packet, now)
        elif isinstance(packet, PlainWord) and packet.kind == "again":
            self.told.discard(peer)
            self.driver.send(peer, self.says(peer))
        elif isinstance(packet, PlainWord) and packet.kind == "subscriptions" and peer not in self.heard:
            if peer not in self.asked:
                self.asked.add(peer)
                self.tell(peer, "again", None)
        elif isinstance(packet, PlainWord) and packet.kind in ("subscriptions", "everything"):
            self.heard.add(peer)
            self.learn({w: s for w, s in packet.told.items() if self.concerns(w[0], peer)}, peer)
        elif isinstance(packet, PlainWord) and packet.kind == "seen":
            self.known[peer] = set(packet.told)
            if any(numbers & self.alive(self.copies, now) - packet.told for numbers, _ in self.plan(peer)):
                self.driver.wake(peer)
            if peer in self.brokers:  # what a broker has need not be brought to one
                self.forget(self.to_broker & packet.told)
                self.to_broker -= packet.told
        else:
            super().receive(peer, packet, now)

    def receive_out_of_band(self, node: int, packet: Packet, now: float) -> None:
        if isinstance(packet, PlainCopies):
            self.arrived(node, packet, now)
        elif isinstance(packet, PlainWord):
            self.learn(packet.told, node, shared=True)

    # Steps 5, 6 and 8: publications ----------------------------------------------------------------------------------

    def publish(self, message: Message, now: float) -> None:
        self.outbox.add(message.number)
        super().publish(message, now)

    def plan(self, peer: int) -> list[tuple[set[int], Any]]:
        """What goes to a peer, and why: to reach a broker, to spread in a community, to reach the other brokers."""
        waits = self.parameters.inject == "broker" and self.node not in self.brokers and peer not in self.brokers
        found: list[tuple[set[int], Any]] = [(set() if waits else self.outbox, "inject")]
        found += [(self.to_broker if peer in self.brokers else set(), "inject")]
        found += [(all_, ("flood", who, left - 1)) for (who, left), all_ in self.floods.items() if peer in who]
        found += [(self.to_brokers, "unicast")] * (self.parameters.unicast == "epidemic" or peer in self.all_brokers)
        return found

    def poll(self, peer: int, now: float, room: int) -> PlainCopies | None:
        if peer in self.known:
            for numbers, why in self.plan(peer):
                lacking = numbers & self.alive(self.copies, now) - self.known[peer]
                if lacking:
                    newest = sorted(lacking, key=lambda n: (self.message(n).created, n))[-room:]
                    return self.pack(newest, why)
        return None

    def sent(self, peer: int, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        assert isinstance(packet, PlainCopies)
        if arrived and packet.why == "inject":
            own, kept = self.outbox & set(packet.hops), set[int]()
            self.outbox -= own
            self.to_broker -= set(packet.hops)
            if own and self.node in self.brokers:  # it has waited for a contact; a broker that it met tells the others
                kept = self.serve(own, self.all_brokers if peer in self.all_brokers and self.direct else set())
                for neighbour in self.known:
                    self.driver.wake(neighbour)
            self.forget(set(packet.hops) - kept)

    def arrived(self, giver: int, packet: PlainCopies, now: float) -> None:
        new, kept = self.take(giver, packet, now), set[int]()
        kind = packet.why if isinstance(packet.why, str) else packet.why[0]
        if kind == "flood" and packet.why[2]:
            kept |= self.flood(new, packet.why[1], packet.why[2])
        if kind == "unicast" and self.parameters.unicast == "epidemic":
            self.to_brokers |= new
            kept |= new
        if self.node in self.brokers or kind == "direct":
            reached = packet.why[1] if kind == "direct" else set()
            if kind == "flood" and self.direct:  # it comes from a broker, who has sent it to the others
                reached = self.all_brokers
            kept |= self.serve(new, reached)
        elif kind == "inject":
            self.to_broker |= new
            kept |= new
        self.store(kept)

    def serve(self, numbers: set[int], told: set[int]) -> set[int]:
        """A broker spreads what somebody wants, and sees that all brokers get it but those who are told already."""
        kept = set[int]()
        for number in sorted(numbers, reverse=True):
            message = self.message(number)
            records = self.subscriptions.items()
            fans = {who for (who, topic), (_, over) in records if topic == message.topic and not over}
            fans -= {self.node, message.publisher}
            if fans:
                kept |= self.flood({number}, frozenset(self.community | fans), self.depth)
        others = self.all_brokers - told - {self.node}
        if numbers and others and self.direct:  # no contact, no hop
            hops = {number: self.hops[number] for number in numbers}
            packet = PlainCopies(sum(1 << n for n in numbers), hops, ("direct", {*told, *others, self.node}))
            for broker in sorted(others):
                cast("OutOfBandDriver", self.driver).send_out_of_band(broker, packet)
        elif others:
            self.to_brokers |= numbers
            kept |= numbers
        return kept

    def flood(self, numbers: set[int], to: frozenset[int], left: int) -> set[int]:
        self.floods[to, left] = self.floods.get((to, left), set()) | numbers
        return numbers

    def forget(self, numbers: set[int]) -> None:
        self.copies -= numbers
