"""The contract between a protocol and whoever drives it.

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
``poll`` and ``sent``, then ``settled`` once (when neither end has anything left to send, at the latest just before the
link goes down), then ``link_down``.
A protocol never learns in advance when a contact will end.

Iteration is always in an explicit order (dicts keep theirs; sets are sorted first), so that the same events give the
same actions on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from typing import Protocol as StructuralType

from hunet.model import Catalogue, Message, MessageSet, Node, NodeSet, Topic
from hunet.model.parameters import Parameters  # mypyc finds a base class only where it is defined
from hunet.protocols.packets import ID_BYTES, Control, Data, Packet

if TYPE_CHECKING:
    from random import Random

    from hunet.model import Contacts
    from hunet.model.community_files import CommunityTables

__all__ = [
    "ID_BYTES",
    "Control",
    "Data",
    "Demand",
    "Driver",
    "Experiment",
    "Logged",
    "Packet",
    "Protocol",
]


class Experiment(NamedTuple):
    """What an experimenter knows before the devices begin."""

    contacts: Contacts
    training: tuple[float, float]
    """The part of the trace, first and last second, in which devices only watch."""
    trial: Callable[[str, dict[str, Any]], dict[str, float]]
    """Runs a protocol by name with these parameters, without messages; gives what its devices observed, summed up.
    With it a baseline can match its parameters to how another protocol fares on these contacts."""
    communities: Callable[[str], CommunityTables]
    """Reads a folder of communities that a parameter names."""
    storage: int | None = None
    """What a device can hold, in bytes."""
    limited: bool = False
    """Whether links have a rate."""


class Demand(NamedTuple):
    """What a device knows of who wants a message: of some who they are, of others only that it meets such people."""

    devices: NodeSet = 0
    strength: float = 0.0
    """How firmly it counts on meeting somebody who wants it, in the system's own measure; 0 if it has none."""


class Logged(NamedTuple):
    """An event that a device's protocol was shown."""

    moment: float
    """On the clock that all devices share: what comes later has a later one."""
    time: float
    """Of the trace."""
    node: int
    what: str
    """The method of :class:`Protocol`."""
    peer: int
    """-1 where there is none."""
    about: Any
    """The session of a ``link_up``; the kind of a packet; the room of a ``poll``; the topic, the id, the tag."""


class Driver(StructuralType):
    """What a protocol may ask of whoever drives it."""

    messages: Catalogue

    def send(self, peer: Node, packet: Control) -> None:
        """Send a control packet to a neighbour. Ignored if the link is down."""
        ...

    def broadcast(self, packet: Control, but: Node | None = None) -> None:
        """Send a control packet to all neighbours (but one): one transmission, however many hear it."""
        ...

    def send_out_of_band(self, node: Node, packet: Packet) -> None:
        """Send a packet to any device by a way that needs no contact (the overlay's Direct mode)."""
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
    """The base of all protocols: an event that a system has no use for is not overridden.

    The base keeps the device's own subscriptions; everything else is the system's.
    """

    Parameters: ClassVar[type[Parameters]] = Parameters
    """What can be set, with the paper's symbols and defaults."""
    exchanges_once: ClassVar[bool] = False
    """Whether what comes up while a contact lasts has to wait for the next one. Devices that stay together for long
    then end the contact and begin another now and then; in a simulation contacts are as the trace has them."""
    unnamed: ClassVar[frozenset[str]] = frozenset()
    """Parameters that ``prepare`` computes from the contacts and that are too long for the name of a run."""

    saved: ClassVar[dict[str, Any]] = {
        "topics": set[Topic],
    }

    @classmethod
    def prepare(cls, parameters: Any, experiment: Experiment) -> Any:  # noqa: ARG003
        """Complete the parameters by what an experimenter who has the whole trace gives all devices in advance.

        A simulation asks once, before it makes the devices; a live node has no trace and never does.
        """
        return parameters

    def __init__(self, node: Node, parameters: Any, driver: Driver, rng: Random) -> None:
        self.node = node
        self.parameters = parameters
        self.driver = driver
        self.rng = rng
        self.topics: set[Topic] = set()

    def start(self, now: float) -> None:
        """The device is switched on."""

    def phase(self, name: str, now: float) -> None:
        """A new phase of the experiment: ``train`` (watch only), then ``operate``. Without one, all is operation."""

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
        """A contact with ``peer`` begins: what this end says first. Both ends speak before either hears the other."""
        return ()

    def link_down(self, peer: Node, now: float) -> None:
        """The contact with ``peer`` has ended."""

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        """A packet from ``peer`` has arrived."""

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        """A packet has arrived by a way that needs no contact."""

    def poll(self, peer: Node, now: float, room: int) -> Data | None:  # noqa: ARG002
        """The link is free: the most valuable packet of at most ``room`` messages for ``peer``, or None."""
        return None

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        """A polled packet has arrived, or was lost (by the link, or because the contact ended)."""

    def settled(self, peer: Node, now: float) -> None:
        """Neither end has anything left to send on this link: once per contact."""

    def timer(self, tag: str, now: float) -> None:
        """A timer that was set has run out."""

    def check(self, packet: Packet) -> None:
        """Refuse, by a ``PeerError``, what no honest device sends: asked by drivers whose packets come from strangers.

        Types have been looked after; what remains are values that only the system knows to be wrong.
        """

    def surrender(self, among: MessageSet, now: float) -> MessageSet:  # noqa: ARG002
        """Storage is short: let go of the copy of the lowest rank among these messages; which one went, if any."""
        return 0

    def circle(self) -> NodeSet | None:
        """The devices that this one takes for its community, itself among them; None in a system that has none."""
        return None

    def demand(self, message: Message, now: float) -> Demand:  # noqa: ARG002
        """For whom this device would carry a message, as far as it knows: for people who look at it."""
        return Demand()

    def observations(self, now: float) -> dict[str, float]:  # noqa: ARG002
        """What this device has counted of itself by the end of a run, for studies; summed over devices by name."""
        return {}
