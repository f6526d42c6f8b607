"""MaxProp: everything to everybody, but in an order, for links and buffers are short.

J. Burgess, B. Gallagher, D. Jensen and B. N. Levine, "MaxProp: Routing for Vehicle-Based Disruption-Tolerant Networks",
INFOCOM 2006 (section III).

Theory of operation. A device i keeps the likelihood f_ij that the next device it meets is j: at a meeting f_ij rises by
one, and all are divided so that they add up to one (incremental averaging). Devices pass on the likelihoods of all
whom they have heard of. A path costs the sum of 1 - f over its hops; a message costs what the cheapest path to its
destination does. Messages wait in one order: those that have come less than t hops before the others, by hops; then by
cost. From the head of it they are sent, after deliveries; from its end they are dropped. The threshold t gives young
messages a share p of the buffer, b bytes long, that follows from how many bytes x a contact carries on average::

    p = x if x < b / 2;  min(x, b - x) if b / 2 <= x < b;  0 if x >= b

and t is the number of hops of the first message in the order of hops that does not fit into p bytes. Deliveries are
acknowledged, acknowledgements are passed on to all, and copies of what was acknowledged are let go.

Where we depart from the paper, and why.
- Messages have topics, not destinations: the destinations of a message are the subscribers of its topic that a device
  has heard of, what a device wants travels with its likelihoods, and the cost of a message is that of the cheapest of
  those who have not acknowledged it. A message that all known subscribers have acknowledged goes to the end of the
  order; it is deleted only if ``acknowledged`` says so, for there may be subscribers that nobody here has heard of.
- A device does not know how many others there are, so its likelihoods start empty, not equal: its first meeting gives
  1, where the paper has (1 + 1 / (|s| - 1)) / 2. After n meetings the difference is less than 2^-n.
- A message is not sent to a device that has seen it. The paper keeps a list of hops in each message for that.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from hunet.model import MessageSet, Node, Parameters, PeerError, doc, members, without
from hunet.protocols.buffer import Buffer
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, widths
from hunet.protocols.capabilities import Experiment
from hunet.protocols.contract import Control, Data, Driver, Packet
from hunet.protocols.router import DestinationRouter, RouterParameters

if TYPE_CHECKING:
    from random import Random


class MaxPropParameters(RouterParameters, frozen=True):
    """MaxProp's parameters; ``evict`` is without effect, for the order decides."""

    buffer_bytes: (
        Annotated[
            int,
            doc("size of the buffer, for the threshold of hops; none: the device's", symbol="b", unit="bytes"),
        ]
        | None
    ) = None
    acknowledged: Annotated[
        Literal["keep", "delete"], doc("what becomes of copies that all known subscribers have acknowledged")
    ] = "keep"


class Vector(msgspec.Struct, frozen=True, gc=False):
    """The likelihoods of one device, and when it met somebody last."""

    since: float
    likelihoods: dict[Node, float]


class Likelihoods(Control, frozen=True, gc=False):
    """The likelihoods of every device that the sender has heard of, its own included."""

    vectors: dict[Node, Vector]

    @property
    def size(self) -> int:
        rows = [vector.likelihoods for vector in self.vectors.values()]
        many, named = len(rows), len(set(self.vectors).union(*rows))
        node, lengths = widths(named, 0).node, [len(row) for row in rows]
        counts = count_size(many) + (many if named < 128 else sum(map(count_size, lengths)))
        return KIND_BYTES + ids_size(named) + counts + many * (node + 8) + sum(lengths) * (node + 8)


class Acknowledgements(Control, frozen=True, gc=False):
    """For each subscriber, messages that it has got."""

    got: dict[Node, MessageSet]

    @property
    def size(self) -> int:
        many, named = len(self.got), 0
        for messages in self.got.values():
            named |= messages
        width = widths(many, named.bit_count())
        tables = ids_size(many) + ids_size(named.bit_count())
        return KIND_BYTES + tables + count_size(many) + many * (width.node + width.messages)


class MaxProp(DestinationRouter):
    """Everything to everybody, the most promising first; what was acknowledged goes."""

    Parameters: ClassVar[type[Parameters]] = MaxPropParameters

    saved: ClassVar[dict[str, Any]] = {
        "likelihoods": dict[Node, float],
        "vectors": dict[Node, Vector],
        "got": dict[Node, MessageSet],
        "contacts": int,
        "carried": int,
    }

    @classmethod
    def prepare(cls, parameters: MaxPropParameters, experiment: Experiment) -> dict[str, Any]:
        super().prepare(parameters, experiment)
        known = parameters.buffer_bytes is not None or experiment.storage is None
        return {} if known else {"buffer_bytes": experiment.storage}

    @classmethod
    def prepare_live(cls, parameters: MaxPropParameters, storage: int) -> MaxPropParameters:
        super().prepare_live(parameters, storage)
        return msgspec.structs.replace(parameters, buffer_bytes=parameters.buffer_bytes or storage)

    def __init__(self, node: Node, parameters: MaxPropParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.buffer = Buffer(driver)  # what goes when it is full is not known when a message comes in
        self.likelihoods: dict[Node, float] = {}
        self.vectors: dict[Node, Vector] = {}
        self.got: dict[Node, MessageSet] = {}
        """For each subscriber, what it has acknowledged."""
        self.contacts = 0
        self.carried = 0
        """Bytes that all contacts so far have carried."""
        self._costs: dict[Node, float] | None = None

    # Likelihoods and costs ----------------------------------------------------------------------------------------

    def encounter(self, peer: Node, now: float) -> None:
        self.contacts += 1
        raised = self.likelihoods | {peer: self.likelihoods.get(peer, 0.0) + 1}
        total = sum(raised.values())
        self.likelihoods = {node: each / total for node, each in raised.items()}
        self.vectors[self.node] = Vector(now, self.likelihoods)
        self._costs = None

    def costs(self) -> dict[Node, float]:
        """The cost of the cheapest path to each device that there is a path to (Dijkstra)."""
        if self._costs is None:
            self._costs = found = {}
            waiting = [(0.0, self.node)]
            while waiting:
                cost, node = heappop(waiting)
                if node not in found:
                    found[node] = cost
                    vector = self.vectors.get(node)
                    for other, likelihood in vector.likelihoods.items() if vector else ():
                        if other not in found:
                            heappush(waiting, (cost + 1 - likelihood, other))
        return self._costs

    # The order ----------------------------------------------------------------------------------------------------

    def young_bytes(self, held: MessageSet) -> float:
        """p: the bytes that go by hops."""
        sizes = [self.driver.messages[number].size for number in members(held)]
        room = self.parameters.buffer_bytes
        if room is None and self.parameters.buffer is not None and sizes:
            room = self.parameters.buffer * sum(sizes) / len(sizes)
        average: float = self.carried / max(1, self.contacts)
        if room is None or average < room / 2:
            return average
        return float(max(0.0, min(average, room - average)))

    def threshold(self, held: MessageSet) -> int:
        """t: messages that have come less hops go by hops."""
        left = self.young_bytes(held)
        hops = 0
        for hops, number in sorted((self.hops[number], number) for number in members(held)):
            left -= self.driver.messages[number].size
            if left < 0:
                return hops
        return hops + 1

    def order(self, messages: MessageSet, now: float) -> list[int]:
        """The numbers of messages, the most promising first; of equals, the newest."""
        held = self.buffer.held(now)
        threshold, costs = self.threshold(held), self.costs()
        cheapest = dict.fromkeys(members(messages), inf)
        missing_somewhere = wanted = 0
        for node, for_it in self.destinations(messages).items():
            cost, missing = costs.get(node, inf), without(for_it, self.got.get(node, 0))
            wanted |= for_it
            missing_somewhere |= missing
            for number in members(missing):
                cheapest[number] = min(cheapest[number], cost)
        served = without(wanted, missing_somewhere)

        def rank(number: int) -> tuple[int, float, float, int]:
            young = self.hops[number] < threshold
            group = 2 if served >> number & 1 else 0 if young else 1
            value = float(self.hops[number]) if group == 0 else cheapest[number]
            return group, value, -self.driver.messages[number].created, -number

        return sorted(cheapest, key=rank)

    def served(self, messages: MessageSet) -> MessageSet:
        """Of these messages, those that somebody is known to want, and that all of those have acknowledged."""
        wanted, missing = 0, 0
        for node, each in self.destinations(messages).items():
            wanted |= each
            missing |= without(each, self.got.get(node, 0))
        return without(wanted, missing)

    # The router ---------------------------------------------------------------------------------------------------

    def ways(self, now: float) -> tuple[Control, ...]:
        dead = self.driver.messages.dead(now)
        self.got = {node: left for node, got in self.got.items() if (left := without(got, dead))}
        return (Likelihoods(self.vectors.copy()), Acknowledgements(self.got.copy()))

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Likelihoods):
            for node, vector in packet.vectors.items():
                known = self.vectors.get(node)
                if node != self.node and (known is None or known.since < vector.since):
                    self.vectors[node] = vector
                    self._costs = None
        elif isinstance(packet, Acknowledgements):
            self._acknowledge(packet.got, peer, now)
        else:
            super().receive(peer, packet, now)

    def offers(self, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        return self.buffer.held(now)

    def first(self, messages: MessageSet, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        return 1 << self.order(messages, now)[0]

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        self.carried += self._bytes(packet) if arrived else 0

    def _accept(self, peer: Node, packet: Data, now: float) -> MessageSet:
        self.carried += self._bytes(packet)
        before = self.delivered
        new = super()._accept(peer, packet, now)
        got = without(self.delivered, before)
        if got:
            self._acknowledge({self.node: got}, None, now)
        return new

    def _bytes(self, packet: Data) -> int:
        return sum([self.driver.messages[number].size for number in members(packet.messages)])

    def _acknowledge(self, got: dict[Node, MessageSet], source: Node | None, now: float) -> None:
        """Note who has got what, and tell neighbours what is new of it."""
        dead = self.driver.messages.dead(now)
        acknowledged = {}
        for node, messages in got.items():
            known = self.got.get(node, 0)
            new = without(without(messages, known), dead)
            if new:
                acknowledged[node] = new
                self.got[node] = known | new
        if acknowledged:
            self.driver.broadcast(Acknowledgements(acknowledged), but=source)
            if self.parameters.acknowledged == "delete":
                for number in members(self.served(self.buffer.held(now))):
                    self.buffer.remove(self.driver.messages[number], "acknowledged")

    # Room ---------------------------------------------------------------------------------------------------------

    def surrender(self, among: MessageSet, now: float) -> MessageSet:
        held = among & self.buffer.held(now)
        if not held:
            return 0
        last = self.driver.messages[self.order(held, now)[-1]]
        self.buffer.remove(last, "overflow")
        self.forget(last.bit)
        return last.bit

    def _store(self, messages: MessageSet, now: float) -> None:
        super()._store(messages, now)
        room = self.parameters.buffer
        while room is not None and len(self.buffer) > room:
            self.surrender(self.buffer.held(now), now)

    def check(self, packet: Packet) -> None:
        if isinstance(packet, Likelihoods):
            for vector in packet.vectors.values():
                if not all(0 <= each <= 1 for each in vector.likelihoods.values()):
                    raise PeerError("a likelihood that is no probability")
