"""The device of Foresight; the theory is in the package's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hunet.model import Message, MessageSet, Node, NodeSet, Parameters, Topic, doc, matches, members
from hunet.protocols.capabilities import Demand
from hunet.protocols.carrier import BufferParameters, Carrier, Seen
from hunet.protocols.contract import Control, Data, Driver, Packet
from hunet.systems.foresight.encounters import HOPE, PRIOR, SPANS, Encounters, span_of
from hunet.systems.foresight.packets import (
    CHANCES,
    TOP,
    Guided,
    Known,
    Levels,
    Reach,
    Share,
    Subscribed,
    check,
    level_of,
    packed,
    unpacked,
)

if TYPE_CHECKING:
    from random import Random

_GROWTH = 2.0
"""By how much its evidence has grown when a device tells the same neighbour again whom it reaches."""
_SMALL = 2
"""A change by so many levels is not worth telling."""
_RELAYS = 2
"""Over how many others a device knows ways to a third."""
_FAINT = 1e-4
"""A way over a neighbour whose chances add up to less is none."""
_SURE: Levels = (TOP,) * len(SPANS)
_NONE: Levels = (0,) * len(SPANS)
_MOST = 512
"""Neighbours of whom a device remembers what they told it; of more, those that told it something last."""


class ForesightParameters(BufferParameters, frozen=True):
    """Foresight's parameters: one price, and when it holds."""

    price: Annotated[float, doc("further subscribers that a copy must be expected to reach", ge=0)] = 0.1
    doubt: Annotated[
        float, doc("encounters after which half of the price is asked; before, copies are given freely", ge=0)
    ] = 20.0


class Foresight(Carrier):
    """Give a copy for the further subscribers that it is expected to reach."""

    Parameters: ClassVar[type[Parameters]] = ForesightParameters

    saved: ClassVar[dict[str, Any]] = {
        "encounters": Encounters,
        "wants": dict[Node, Subscribed],
        "reaches": dict[Node, dict[Node, Levels]],
        "evidence": dict[Node, int],
        "relays": dict[Node, tuple[Node, ...]],
        "informed": dict[Node, tuple[float, dict[Node, Levels], dict[Node, int]]],
        "open": dict[MessageSet, dict[Node, float]],
        "shared": dict[MessageSet, NodeSet],
    }

    def __init__(self, node: Node, parameters: ForesightParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.encounters = Encounters()
        self.wants: dict[Node, Subscribed] = {node: Subscribed(0, ())}
        """What each device wants, as far as known."""
        self.reaches: dict[Node, dict[Node, Levels]] = {}
        """What neighbours have told: for each device and span, the level of their chance."""
        self.evidence: dict[Node, int] = {}
        """From how many encounters that came."""
        self.relays: dict[Node, tuple[Node, ...]] = {}
        """For each device, the best of those who know ways to it."""
        self.informed: dict[Node, tuple[float, dict[Node, Levels], dict[Node, int]]] = {}
        """For each neighbour: with how many encounters it was last told something, which levels, and which wants."""
        self.open: dict[MessageSet, dict[Node, float]] = {}
        """For each message (as a set of one), the chance that nobody else serves a subscriber, if it is below 1."""
        self.shared: dict[MessageSet, NodeSet] = {}
        """For each message, with whom this has been shared: once, or the same carriers would count twice."""
        self._subscribers: dict[Topic, tuple[Node, ...]] = {}
        self._worth: dict[Node, dict[tuple[Topic, int], list[tuple[Node, float]]]] = {}
        """For each neighbour, topic and span: who could be reached through it, with the chance that it adds."""
        self._refused: dict[Node, MessageSet] = {}
        self._now = 0.0

    # Learning -----------------------------------------------------------------------------------------------------

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        self.encounters.meet(peer, now)
        self._worth.pop(peer, None)
        self._refused.pop(peer, None)
        *packets, seen = super().link_up(peer, now)
        reach = self._unheard(peer)
        return (*packets, reach, seen) if reach else (*packets, seen)

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.encounters.part(peer, now)

    def subscribe(self, topic: Topic, now: float) -> None:
        super().subscribe(topic, now)
        self._note(self.node, Subscribed(self.wants[self.node].version + 1, tuple(sorted(self.topics))))

    def unsubscribe(self, topic: Topic, now: float) -> None:
        super().unsubscribe(topic, now)
        self._note(self.node, Subscribed(self.wants[self.node].version + 1, tuple(sorted(self.topics))))

    def _note(self, node: Node, wants: Subscribed) -> None:
        known = self.wants.get(node)
        if known is None or known.version < wants.version:
            self.wants[node] = wants
            if known is None or known.topics != wants.topics:
                self._subscribers.clear()
                self._worth.clear()

    def levels(self, node: Node, listener: Node, chances_of: dict[Node, list[float]]) -> Levels:
        """For each span, the level of the chance to get something to a device, directly or over one neighbour.

        A way over a neighbour takes two meetings, each in the next shorter span; a way over who is listening is none.
        ``chances_of`` are chances to meet neighbours that have been computed already.
        """
        chances = self.encounters.chances(node)
        for relay in self.relays.get(node, ()):
            onward = self.reaches[relay].get(node) if relay != listener else None
            if onward:
                there = chances_of.get(relay)
                if there is None:
                    there = chances_of[relay] = self.encounters.chances(relay)
                for span in range(len(SPANS)):
                    shorter = span - 1 if span else 0
                    over = there[shorter] * CHANCES[onward[shorter]]
                    chances[span] = max(chances[span], over)
        return tuple([level_of(chance) for chance in chances])

    def _unheard(self, peer: Node) -> Reach | None:
        """What a neighbour has not been told of this device's reach; None until there is more evidence."""
        before = self.informed.get(peer)
        count, version = self.encounters.count, self.wants[self.node].version
        if before and before[0] / _GROWTH < count < before[0] * _GROWTH and before[2].get(self.node) == version:
            return None
        levels_before: dict[Node, Levels] = before[1] if before else {}
        wants_before: dict[Node, int] = before[2] if before else {}
        devices: dict[Node, Known] = {}
        chances_of: dict[Node, list[float]] = {}
        for node, wants in self.wants.items():
            if node == peer:
                continue
            levels = _SURE if node == self.node else self.levels(node, peer, chances_of)
            old = levels_before.get(node, _NONE)
            new = wants_before.get(node, -1) != wants.version
            change = max([abs(one - other) for one, other in zip(levels, old, strict=True)])
            if change > _SMALL or (new and levels[-1]):
                devices[node] = Known(packed(levels), wants if new else None)
                levels_before[node] = levels
                wants_before[node] = wants.version
        self.informed.pop(peer, None)
        self.informed[peer] = count, levels_before, wants_before
        if len(self.informed) > _MOST:
            del self.informed[next(iter(self.informed))]
        return Reach(int(count), devices)

    def _learn(self, peer: Node, reach: Reach) -> None:
        """A neighbour tells whom it reaches."""
        known = self.reaches.pop(peer, {})
        self.reaches[peer] = known
        self.evidence[peer] = reach.encounters
        direct: dict[Node, list[float]] = {peer: self.encounters.chances(peer)}
        for node, informed in reach.devices.items():
            levels = known[node] = unpacked(informed.levels)
            if informed.wants is not None and node != self.node:
                self._note(node, informed.wants)
            relays = self.relays.get(node, ())
            if node in (self.node, peer) or peer in relays:
                continue
            mine = _product(direct[peer], levels)
            if mine < _FAINT:
                continue
            if len(relays) < _RELAYS:
                self.relays[node] = (*relays, peer)
                continue
            scores = []
            for relay in relays:
                if relay not in direct:
                    direct[relay] = self.encounters.chances(relay)
                scores.append(_product(direct[relay], self.reaches[relay].get(node, _NONE)))
            worst = min(range(_RELAYS), key=scores.__getitem__)
            if scores[worst] < mine:
                self.relays[node] = (*relays[:worst], *relays[worst + 1 :], peer)
        if len(self.reaches) > _MOST:
            self._forget(next(iter(self.reaches)))
        self._worth.pop(peer, None)
        self._refused.pop(peer, None)

    def _forget(self, node: Node) -> None:
        del self.reaches[node], self.evidence[node]
        for other, relays in self.relays.items():
            if node in relays:
                self.relays[other] = tuple([relay for relay in relays if relay != node])

    # What others know of us, and we of them -----------------------------------------------------------------------

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Reach):
            self._learn(peer, packet)
        elif isinstance(packet, Share):
            self._merge(packet)
        else:
            if isinstance(packet, Seen):
                self._meet_carrier(peer, packet.messages, now)
            super().receive(peer, packet, now)

    def _meet_carrier(self, peer: Node, seen: MessageSet, now: float) -> None:
        """What both have: the neighbour need not be served, and the two tell each other what other carriers cover."""
        for number in members(seen & self.buffer.held(now)):
            message = self.driver.messages[number]
            bit = message.bit
            opened = self.open.setdefault(bit, {})
            opened[peer] = 0.0
            with_whom = self.shared.get(bit, 0)
            if not with_whom >> peer & 1:
                self.shared[bit] = with_whom | 1 << peer
                left = self._left(message, now)
                if left:
                    self.driver.send(peer, Share(bit, left))

    def _left(self, message: Message, now: float) -> dict[Node, int]:
        """For each subscriber, the level of the chance that neither this device nor another carrier serves it."""
        span, opened = span_of(message.expires - now), self.open.get(message.bit, {})
        found = {}
        for node in self.subscribers(message.topic):
            chance = 0.0 if node == self.node else opened.get(node, 1.0) * (1 - self.encounters.chance(node, span))
            level = level_of(chance)
            if level < TOP:
                found[node] = level
        return found

    def _merge(self, packet: Share | Guided) -> None:
        opened = self.open.get(packet.messages)
        if opened is not None:
            for node, level in packet.open.items():
                if CHANCES[level] < opened.get(node, 1.0):
                    opened[node] = CHANCES[level]

    def subscribers(self, topic: Topic) -> tuple[Node, ...]:
        """Who is known to want a message on this topic."""
        found = self._subscribers.get(topic)
        if found is None:
            found = tuple([node for node, wants in self.wants.items() if matches(wants.topics, topic)])
            self._subscribers[topic] = found
        return found

    def _forget_the_dead(self, now: float) -> None:
        super()._forget_the_dead(now)
        for of in (self.open, self.shared):
            for bit in [bit for bit in of if bit & self._dead]:
                del of[bit]

    def check(self, packet: Packet) -> None:
        check(packet)

    # Deciding -----------------------------------------------------------------------------------------------------

    def publish(self, message: Message, now: float) -> None:
        self.open[message.bit] = {}
        super().publish(message, now)

    def offers(self, peer: Node, now: float) -> MessageSet:
        held = self.buffer.held(now)
        give = held & self.wanted(self.interests.get(peer, ()))
        others = held & ~give & ~self.known.get(peer, 0) & ~self._refused.get(peer, 0)
        if not others:
            return give
        least = self._least(peer)
        worth = self._worth.setdefault(peer, {})
        refused = 0
        for number in members(others):
            message = self.driver.messages[number]
            key = message.topic, span_of(message.expires - now)
            through = worth.get(key)
            if through is None:
                through = worth[key] = self._through(peer, *key)
            opened = self.open.get(message.bit, {})
            if sum([chance * opened.get(node, 1.0) for node, chance in through]) >= least:
                give |= message.bit
            else:
                refused |= message.bit
        if refused:
            self._refused[peer] = self._refused.get(peer, 0) | refused
        return give

    def _least(self, peer: Node) -> float:
        """The price of a copy; with little evidence at either end it is low."""
        count = min(self.encounters.count, self.evidence.get(peer, 0))
        price: float = self.parameters.price
        return price * count / (count + self.parameters.doubt) if count else 0.0

    def _through(self, peer: Node, topic: Topic, span: int) -> list[tuple[Node, float]]:
        reach, found = self.reaches.get(peer, {}), []
        others = [node for node in self.subscribers(topic) if node not in (peer, self.node)]
        if not others:  # somebody of whom nobody has heard may want it; the neighbour stands in for it
            return [(peer, PRIOR * HOPE / (PRIOR + self.evidence.get(peer, 0)))]
        for node in others:
            level = reach[node][span] if node in reach else 0
            if level:
                found.append((node, CHANCES[level] * (1 - self.encounters.chance(node, span))))
        return found

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        self._now = now
        return super().poll(peer, now, min(room, 1))  # what is open is told message by message

    def lacking(self, peer: Node, known: MessageSet, now: float) -> MessageSet:
        lacking = super().lacking(peer, known, now)
        return lacking & self.wanted(self.interests.get(peer, ())) or lacking  # deliveries go first

    def packet(self, messages: MessageSet, peer: Node) -> Data:
        message = self.driver.messages[messages.bit_length() - 1]
        left = self._left(message, self._now)
        left.pop(peer, None)
        return Guided(messages, self.next_hops(messages), left)

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        if not arrived:
            return
        bit = packet.messages
        self.shared[bit] = self.shared.get(bit, 0) | 1 << peer
        message = self.driver.messages[bit.bit_length() - 1]
        opened, reach, span = self.open.setdefault(bit, {}), self.reaches.get(peer, {}), span_of(message.expires - now)
        for node in self.subscribers(message.topic):
            if node in reach:
                opened[node] = opened.get(node, 1.0) * (1 - CHANCES[reach[node][span]])
        opened[peer] = 0.0

    def _accept(self, peer: Node, packet: Data, now: float) -> MessageSet:
        assert isinstance(packet, Guided)
        bit = packet.messages
        self.shared[bit] = self.shared.get(bit, 0) | 1 << peer
        if bit not in self.open:
            self.open[bit] = {}
        self._merge(packet)
        self.open[bit][peer] = 0.0
        return super()._accept(peer, packet, now)

    def demand(self, message: Message, now: float) -> Demand:
        span = span_of(message.expires - now)
        likely = [self.encounters.chance(node, span) for node in self.subscribers(message.topic) if node != self.node]
        return Demand(super().demand(message, now).devices, max(likely, default=0.0))


def _product(direct: list[float], levels: Levels) -> float:
    return sum([chance * CHANCES[level] for chance, level in zip(direct, levels, strict=True)])
