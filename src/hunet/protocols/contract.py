"""The contract between a protocol and its driver.

Rules
-----
A protocol is a class; one object is one device. It does no I/O, starts no thread, reads no clock and draws no
randomness but from the generator it was given: what it does is a function of the events it was shown. It cannot tell
whether a simulator, a test or a live node shows them to it.

Theory of operation
-------------------
*Events* are method calls from the driver. All carry ``now``, which never runs backwards. *Actions* are calls on
``self.driver``. An action never calls back into the protocol before the event that caused it has returned.

Transmission is pulled, because order matters and bandwidth is only discovered by running out of it. A protocol says
``driver.wake(peer)``: "I may have data for this peer". When the link is free the driver calls :meth:`Protocol.poll`,
and the protocol decides then, with what it knows then, which packet is the most valuable. It commits (gives a copy
away, raises a mark) in :meth:`Protocol.sent`, when the packet is known to have arrived, not when it is polled.
Two ends that both have something are asked in turn; an end that answered None need not be asked before it wakes again.

Control packets (interests, summaries, filters, utilities) are small and are sent with ``driver.send``; they arrive at
once, in order, and their bytes are counted. Data packets carry messages and take the link's time. On a limited or lossy
link there is ``room`` for one message in a packet; on an instantaneous one, for as many as the protocol likes, so that
an exchange of a thousand messages can be a few operations on sets.

A contact, seen from one end, is ``link_up`` (whose answer is this end's greeting), then any number of ``receive``,
``poll`` and ``sent``, then ``link_down``. A protocol never learns in advance when a contact will end.

A *greeting* is a tuple of control packets, perhaps empty; the other end receives them in this order, before anything
else. Packets are values: nobody changes one after it was made, not its sender and not its receiver, and which object
carries a value means nothing. So a protocol may give the same greeting again until it has something new to say, and a
driver may measure equal packets once; neither has to.

``driver.messages`` has the messages that this device has published or received in a data packet so far, and nothing
else: not what other devices have, and not what will be published. A set of messages in a control packet may name
others; what they are is not to be had.

The ten methods of :class:`Protocol` are what drivers ask of every protocol. What only some can do beside that
(preparing, training, acting when a link has settled, out of band, checks, storage, explanations, counts) is in
``hunet.protocols.capabilities``.

Iteration is always in an explicit order (dicts keep theirs; sets are sorted first), so that the same events give the
same actions on any machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from typing import Protocol as StructuralType

from hunet.model import DeviceCatalogue, Message, MessageSet, Node, Topic
from hunet.model.parameters import Parameters  # mypyc finds a base class only where it is defined
from hunet.protocols.packets import ID_BYTES, Control, Data, Packet

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "ID_BYTES",
    "Control",
    "Data",
    "Driver",
    "Packet",
    "Protocol",
]


class Driver(StructuralType):
    """What a protocol may ask of its driver."""

    messages: DeviceCatalogue
    """What this device has published or received, and nothing else."""

    def send(self, peer: Node, packet: Control) -> None:
        """Send a control packet to a neighbour. Ignored if the link is down."""
        ...

    def broadcast(self, packet: Control, but: Node | None = None) -> None:
        """Send a control packet to all neighbours (but one): one transmission, however many hear it."""
        ...

    def wake(self, peer: Node) -> None:
        """Say that there may be data for this neighbour: please poll."""
        ...

    def deliver(self, message: Message, hops: int) -> None:
        """Hand a message to the application of this device."""
        ...

    def set_timer(self, tag: str, at: float) -> None:
        """Ask for a ``timer(tag)`` event at a time; a timer of that tag that is still running is replaced."""
        ...

    def cancel_timer(self, tag: str) -> None:
        """Forget a timer, if it runs."""
        ...

    def stored(self, messages: MessageSet) -> None:
        """Note for observers: this device now holds a copy of each."""
        ...

    def removed(self, message: Message, reason: str) -> None:
        """Note for observers: the copy is gone: ``overflow``, ``expired``, ``handover``, ``given``."""
        ...

    def role(self, name: str) -> None:
        """Note for observers: this device now has this role (``broker``, ``user``)."""
        ...

    def false_match(self, message: Message) -> None:
        """Note for observers: a filter matched a message that its owner does not want (a false positive)."""
        ...


class Protocol:
    """The base of all protocols, with ten events; one that a system has no use for is not overridden.

    The base keeps the device's own subscriptions; everything else is the system's.
    """

    Parameters: ClassVar[type[Parameters]] = Parameters
    """What can be set, with the paper's symbols and defaults."""
    saved: ClassVar[dict[str, Any]] = {
        "topics": set[Topic],
    }

    def __init__(self, node: Node, parameters: Any, driver: Driver, rng: Random) -> None:
        self.node = node
        self.parameters = parameters
        self.driver = driver
        self.rng = rng
        self.topics: set[Topic] = set()

    def start(self, now: float) -> None:
        """The device is switched on."""

    def subscribe(self, topic: Topic, now: float) -> None:  # noqa: ARG002
        """The application wants this topic."""
        self.topics.add(topic)

    def unsubscribe(self, topic: Topic, now: float) -> None:  # noqa: ARG002
        """The application no longer wants this topic."""
        self.topics.discard(topic)

    def publish(self, message: Message, now: float) -> None:
        """The application publishes a message."""
        raise NotImplementedError

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:  # noqa: ARG002
        """A contact with ``peer`` begins: this end's greeting. Both ends greet before either hears the other."""
        return ()

    def link_down(self, peer: Node, now: float) -> None:
        """The contact with ``peer`` has ended."""

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        """A packet from ``peer`` has arrived."""

    def poll(self, peer: Node, now: float, room: int) -> Data | None:  # noqa: ARG002
        """The link is free: the most valuable packet of at most ``room`` messages for ``peer``, or None."""
        return None

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        """A polled packet has arrived, or was lost (by the link, or because the contact ended)."""

    def timer(self, tag: str, now: float) -> None:
        """A timer that was set has run out."""
