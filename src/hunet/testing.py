"""Devices on a table: two or more nodes over links that you open and close yourself.

For protocol tests that read like the paper's example, and for trying a protocol by hand:

>>> net = Network("push", 3)
>>> ann, bob, eve = net.nodes
>>> eve.subscribe("news")
>>> hello = ann.publish("news", at=0)
>>> ann.meet(bob, at=10)
>>> bob.meet(eve, at=20)
>>> eve.delivered == [hello]
True
>>> net.packets(kind="Carried")
['0->1 m0', '1->2 m0']

It is the simulator's own engine without its event loop, so links can be limited, lossy and out of band as there.
"""

from __future__ import annotations

from typing import Any

from hunet.model import Catalogue, Message, Node, Topic, from_mapping, members
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Data, Driver, Packet, Protocol
from hunet.protocols.capabilities import check_topic
from hunet.protocols.watcher import watch_protocol
from hunet.simulation.engine import Engine, Links, Rank
from hunet.simulation.record import columns
from hunet.systems import protocol_class

__all__ = ["Network", "Pair", "TestNode"]


class Network:
    """N devices that run one protocol."""

    def __init__(
        self,
        protocol: str | type[Protocol],
        nodes: int = 2,
        *,
        links: Links | None = None,
        seed: int = 1,
        storage: int | None = None,
        **parameters: Any,
    ) -> None:
        kind = protocol_class(protocol) if isinstance(protocol, str) else protocol
        chosen = from_mapping(kind.Parameters, parameters)
        self.sent: list[tuple[Node, Node, Packet]] = []
        """Every packet that arrived, control and data: (sender, receiver, packet)."""
        self.protocols: dict[Node, Protocol] = {}

        def make(node: Node, driver: Driver, starts: int) -> Protocol:
            def shown(event: str, given: dict[str, Any]) -> None:
                if event == "receive":
                    self.sent.append((given["peer"], node, given["packet"]))
                elif event == "receive_out_of_band":
                    self.sent.append((given["node"], node, given["packet"]))

            self.protocols[node] = kind(node, chosen, driver, node_rng(seed, Stream.PROTOCOL, node, starts))
            return watch_protocol(self.protocols[node], shown)

        self.messages = Catalogue()
        loss = node_rng(seed, Stream.LINKS)
        self.engine = Engine(nodes, self.messages, make, links or Links(), loss, crashes=True, storage=storage)
        self.engine.start()
        self.nodes = [TestNode(self, node) for node in range(nodes)]

    def __getitem__(self, node: Node) -> TestNode:
        return self.nodes[node]

    @property
    def now(self) -> float:
        """The time on the table."""
        return self.engine.now

    def advance(self, to: float) -> None:
        """Let time pass: timers run out, packets arrive on limited links."""
        if to < self.now:
            raise ValueError(f"time does not run back from {self.now:g} to {to:g}")
        self.engine.advance(to, Rank.CONTACT_END)

    def phase(self, name: str) -> None:
        """Begin a phase (``train``, ``operate``) everywhere."""
        self.engine.phase(name)

    def packets(self, kind: str = "") -> list[str]:
        """Data packets so far (or all packets of a class by name) as 'sender->receiver messages', for comparing."""
        return [
            f"{a}->{b} {' '.join(self.messages[n].id for n in members(getattr(packet, 'messages', 0)))}".rstrip()
            for a, b, packet in self.sent
            if (type(packet).__name__ == kind if kind else isinstance(packet, Data))
        ]


class Pair(Network):
    """Two devices: ``a`` and ``b``."""

    def __init__(self, protocol: str | type[Protocol], **given: Any) -> None:
        super().__init__(protocol, 2, **given)
        self.a, self.b = self.nodes


class TestNode:
    """One device, its application, and what you can do with it. Times (``at``) default to now."""

    __test__ = False  # not a test case, whatever pytest thinks of the name

    def __init__(self, network: Network, node: Node) -> None:
        self._network, self.node = network, node

    @property
    def protocol(self) -> Any:
        """The protocol object, for looking at its state."""
        return self._network.protocols[self.node]

    @property
    def delivered(self) -> list[Message]:
        """What the application has got, in order."""
        _, nodes, numbers, _ = columns(self._network.engine.record.deliveries, 4)
        return [self._network.messages[int(n)] for n in numbers[nodes == self.node]]

    def _at(self, at: float | None) -> Engine:
        if at is not None:
            self._network.advance(at)
        return self._network.engine

    def subscribe(self, topic: Topic, at: float | None = None) -> None:
        self._at(at).subscribe(self.node, topic)

    def unsubscribe(self, topic: Topic, at: float | None = None) -> None:
        self._at(at).unsubscribe(self.node, topic)

    def publish(self, topic: Topic, at: float | None = None, *, size: int = 140, ttl: float | None = None) -> Message:
        engine = self._at(at)
        topic = check_topic(engine.protocols[self.node].__class__, topic)
        message = engine.messages.add(f"m{len(engine.messages)}", topic, self.node, engine.now, size, ttl)
        engine.publish(message)
        return message

    def connect(self, other: TestNode, at: float | None = None) -> None:
        """A contact begins."""
        engine = self._at(at)
        engine.contact_start(*sorted((self.node, other.node)))
        engine.settle()

    def disconnect(self, other: TestNode, at: float | None = None) -> None:
        """The contact ends."""
        self._at(at).contact_end(*sorted((self.node, other.node)))

    def meet(self, other: TestNode, at: float | None = None, seconds: float = 0.0) -> None:
        """A whole contact."""
        self.connect(other, at)
        self.disconnect(other, self._network.now + seconds)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        """Show the device a packet that nobody has sent."""
        if isinstance(packet, Data):
            self._network.engine.devices[self.node].messages.show(packet.messages)
        self.protocol.receive(peer, packet, now)

    def crash(self, at: float | None = None) -> None:
        self._at(at).crash(self.node)

    def restart(self, at: float | None = None) -> None:
        self._at(at).restart(self.node)
