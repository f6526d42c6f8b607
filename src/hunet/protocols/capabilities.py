"""What a protocol can do beside the ten verbs of the contract: small types that drivers look for, once, at set-up.

A protocol has a capability if it has the methods of the type; there is nothing to register, and no base class. So these
method names are taken: a protocol that has a method ``settled`` is told when links have settled.

| capability | method | who looks for it |
|---|---|---|
| `Prepares` | `prepare` (of the class) | simulations, before they make the devices |
| `PreparesLive` | `prepare_live` (of the class) | live nodes, before they start |
| `Trains` | `phase` | simulations with a training phase |
| `Settles` | `settled` | all drivers |
| `MatchesContent` | `refuses` (of the class) | all drivers: without it a protocol gets plain tags only |
| `OutOfBand` | `receive_out_of_band` | drivers whose protocol calls `send_out_of_band` |
| `Checks` | `check` | live nodes, whose packets come from strangers |
| `Surrenders` | `surrender` | simulations with storage, live nodes with quotas |
| `Delivers` | `has_for` | simulations of devices with one radio (`links.radio = "one"`) |
| `Explains` | `demand` | the page of a live node |
| `FindsCommunity` | `circle` | the page of a live node |
| `Counts` | `observations` | studies |
| `Repeats` | `is_silent`, `say_again` | simulations without loss |

A class attribute ``exchanges_once = True`` says that what comes up while a contact lasts has to wait for the next one
(:func:`exchanges_once`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, runtime_checkable
from typing import Protocol as StructuralType

from hunet.model import (
    ConfigurationError,
    Interest,
    Message,
    MessageSet,
    Node,
    NodeSet,
    Topic,
    Workload,
    canonical_topic,
    parse_interest,
)
from hunet.model.interests import tags_of
from hunet.protocols.contract import Control, Driver, Packet, Protocol

__all__ = [
    "BatteryDriver",
    "Checks",
    "Counts",
    "Delivers",
    "Demand",
    "Experiment",
    "Explains",
    "FindsCommunity",
    "MatchesContent",
    "OutOfBand",
    "OutOfBandDriver",
    "Prepares",
    "PreparesLive",
    "RepeatingDriver",
    "Repeats",
    "Settles",
    "Surrenders",
    "Trains",
    "check_subscription",
    "check_topic",
    "check_workload",
    "exchanges_once",
]

if TYPE_CHECKING:
    from hunet.model import Contacts
    from hunet.model.community_files import CommunityTables


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
    topics: tuple[Topic, ...] = ()
    """All topics of the workload, sorted. For measures that need them; a device does not know them in advance."""
    seed: int = 0


@runtime_checkable
class Prepares(StructuralType):
    """Gets from an experimenter what no device can know: communities of the whole trace, settings of another run."""

    @classmethod
    def prepare(cls, parameters: Any, experiment: Experiment) -> Mapping[str, Any]:
        """What all devices are given in advance, by the parameter for which it stands; or a ``ConfigurationError``.

        A simulation asks once, before it makes the devices; a live node has no trace and never does. Devices have it in
        their parameters. The name of a run has the parameters as they were asked for, and this beside them, as
        ``prepared``; what is too long for a name stands there by its hash.
        """
        ...


@runtime_checkable
class PreparesLive(StructuralType):
    """Needs other settings on a live node, which has nobody who knows the whole trace, or cannot run there at all."""

    @classmethod
    def prepare_live(cls, parameters: Any, storage: int) -> Any:
        """The parameters for a node that has ``storage`` bytes.

        Raise ``ConfigurationError``, with the remedy, for those with which devices cannot deliver by themselves.
        """
        ...


@runtime_checkable
class Trains(StructuralType):
    """Has a training phase, in which devices only watch."""

    def phase(self, name: str, now: float) -> None:
        """A new phase of the experiment: ``train``, then ``operate``. Without one, all is operation."""
        ...


@runtime_checkable
class Settles(StructuralType):
    """Acts when an exchange is complete."""

    def settled(self, peer: Node, now: float) -> None:
        """Neither end has anything left to send on this link: once per contact, at the latest before it ends."""
        ...


@runtime_checkable
class MatchesContent(StructuralType):
    """Serves interests (``hunet.model.interests``), and messages with several tags or with attributes."""

    @classmethod
    def refuses(cls, interest: Interest) -> str:
        """Why devices could not serve an interest, as a clause; empty if they can."""
        ...


@runtime_checkable
class OutOfBand(StructuralType):
    """Reaches devices without a contact (the overlay's Direct mode); its driver is an :class:`OutOfBandDriver`."""

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        """A packet has arrived by a way that needs no contact."""
        ...


@runtime_checkable
class BatteryDriver(Driver, StructuralType):
    """A driver that knows what is left of the device's battery, as a live node may."""

    def battery(self) -> float | None:
        """The share that is left, from 0 to 1; None if there is no battery or nobody can tell."""
        ...


class OutOfBandDriver(Driver, StructuralType):
    """What a protocol that reaches devices without a contact may ask of its driver."""

    def send_out_of_band(self, node: Node, packet: Packet) -> None:
        """Send a packet to any device by a way that needs no contact."""
        ...


@runtime_checkable
class Checks(StructuralType):
    """Knows values that no honest device sends."""

    def check(self, packet: Packet) -> None:
        """Refuse a packet by a ``PeerError``. Types have been checked; what remains is what only the system knows."""
        ...


@runtime_checkable
class Surrenders(StructuralType):
    """Keeps to a storage that is shorter than what it would hold; a ``Carrier`` does."""

    def surrender(self, among: MessageSet, now: float) -> MessageSet:
        """Drop the lowest-ranked copy among these messages and return its message; 0 if there is none."""
        ...


@runtime_checkable
class Delivers(StructuralType):
    """Knows what its neighbours want themselves; a ``Router`` does."""

    def has_for(self, peer: Node, now: float) -> bool:
        """Whether the next packet for a neighbour is a delivery."""
        ...


class Demand(NamedTuple):
    """What a device knows of who wants a message: of some who they are, of others only that it meets such people."""

    devices: NodeSet = 0
    strength: float = 0.0
    """How firmly it counts on meeting somebody who wants it, in the system's own measure; 0 if it has none."""


@runtime_checkable
class Explains(StructuralType):
    """Tells people for whom it carries what; a ``Carrier`` does."""

    def demand(self, message: Message, now: float) -> Demand:
        """For whom this device would carry a message, as far as it knows."""
        ...


@runtime_checkable
class FindsCommunity(StructuralType):
    """Tells people whom it takes for their community."""

    def circle(self) -> NodeSet | None:
        """The devices of its community, itself among them; None while it has none."""
        ...


@runtime_checkable
class Counts(StructuralType):
    """Counts something for studies."""

    def observations(self, now: float) -> dict[str, float]:
        """What this device has counted by the end of a run; summed over devices by name."""
        ...


@runtime_checkable
class Repeats(StructuralType):
    """Leaves out what it would say again and again, if its driver is a :class:`RepeatingDriver` that ``repeats``."""

    def is_silent(self) -> bool:
        """Whether it leaves something out now."""
        ...

    def say_again(self, now: float) -> Control | None:
        """What this device would have broadcast last before now, if it is silent; the driver is told how often."""
        ...


class RepeatingDriver(Driver, StructuralType):
    """A driver that knows, as a simulator does, what devices would say that say the same again and again."""

    repeats: bool
    """Whether a device may leave that out."""

    def repeated(self, packet: Control, times: int) -> None:
        """Note for observers: this device would have broadcast a packet of this size so many times."""
        ...

    def is_silent(self, peer: Node) -> bool:
        """Whether a neighbour has left out what it would have said last, or may do so."""
        ...

    def last_said(self, peer: Node) -> Control | None:
        """What that is."""
        ...


def exchanges_once(kind: type[Protocol]) -> bool:
    """Whether what comes up while a contact lasts has to wait for the next one.

    Live devices that stay together for long then end the contact and begin another now and then; in a simulation
    contacts are as the trace has them.
    """
    return bool(getattr(kind, "exchanges_once", False))


def check_subscription(kind: type[Protocol], text: str) -> Topic:
    """The canonical form of an interest; one that is badly written, or that a protocol could not serve, is refused.

    >>> check_subscription(Protocol, " football ")
    'football'
    >>> check_subscription(Protocol, "football^0.9")
    Traceback (most recent call last):
    hunet.model.errors.ConfigurationError: Protocol cannot serve 'football^0.9': it knows only plain tags, ...
    """
    interest = parse_interest(text)
    if interest.tag is not None:
        return interest.tag
    reason = kind.refuses(interest) if issubclass(kind, MatchesContent) else _PLAIN
    if reason:
        raise ConfigurationError(f"{kind.__name__} cannot serve '{interest.text}': {reason}")
    return interest.text


_PLAIN = "it knows only plain tags, such as football; push and social-election serve everything"


def check_topic(kind: type[Protocol], text: str) -> Topic:
    """The canonical form of a topic; one that is badly written, or whose messages a protocol would lose, is refused."""
    topic = canonical_topic(text)
    if not issubclass(kind, MatchesContent) and tags_of(topic) != (topic,):
        raise ConfigurationError(f"{kind.__name__} cannot serve messages on '{topic}': {_PLAIN}")
    return topic


def check_workload(kind: type[Protocol], workload: Workload) -> None:
    """Refuse a workload with a subscription or a message that a protocol would ignore."""
    for topic in dict.fromkeys(wanted.topic for wanted in workload.subscriptions):
        check_subscription(kind, topic)
    for topic in dict.fromkeys(publication.topic for publication in workload.publications):
        check_topic(kind, topic)
