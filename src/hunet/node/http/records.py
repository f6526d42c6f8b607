"""What requests and answers of the HTTP API contain."""

from __future__ import annotations

from base64 import b64encode
from math import inf
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from hunet.node.deliveries import Delivery

Time = Annotated[float, Meta(description="Seconds since 1970.")]
Name = Annotated[str, Meta(description="The name that the owner gave the device, or the beginning of its key.")]
Key = Annotated[str, Meta(description="The public key of a device, which is its name among devices.")]

Endings = Annotated[
    dict[str, float], Meta(description="Until when those hold that are not for good; seconds since 1970.")
]


class Problem(msgspec.Struct, frozen=True):
    """Why a request was refused."""

    error: str


class Device(msgspec.Struct, frozen=True):
    """Somebody's device, or one's own."""

    device: Key
    name: Name
    here: Annotated[bool, Meta(description="Whether it is in reach now.")]
    own: bool


class Status(msgspec.Struct, frozen=True):
    """How the node fares."""

    device: Key
    address: Annotated[str, Meta(description="Where other devices connect over IP; empty if they cannot.")]
    protocol: str
    role: str | None
    peers: Annotated[int, Meta(description="How many devices are in reach.", ge=0)]
    subscriptions: list[str]
    endings: Endings
    held: Annotated[int, Meta(description="Messages that it carries.", ge=0)]
    held_bytes: Annotated[int, Meta(ge=0)]
    waiting: Annotated[int, Meta(description="Deliveries that nobody has taken.", ge=0)]
    disk_bytes: Annotated[int, Meta(ge=0)]
    clock: Annotated[
        str, Meta(description="What is wrong with the clock, by those of all neighbours; empty if nothing.")
    ]
    radios: Annotated[
        dict[str, dict[str, int | float]],
        Meta(description="What radios other than IP have done since the start."),
    ]
    counters: dict[str, int]


class Peer(msgspec.Struct, frozen=True):
    """A device in reach."""

    device: Key
    name: Name
    since: Time | None
    radio: Annotated[str, Meta(description="Over which radio: ip, ble.")]
    same_protocol: Annotated[bool, Meta(description="Whether the two understand each other.")]


class Peers(msgspec.Struct, frozen=True):
    """Who is in reach now."""

    peers: list[Peer]


class Message(msgspec.Struct, frozen=True):
    """A message that was delivered here. Contents beyond 64 KiB come only if one message is asked for."""

    number: Annotated[int, Meta(description="Deliveries are numbered in order.", ge=1)]
    id: str
    topic: str
    author: Key
    name: Name
    created: Time
    delivered: Time
    hops: Annotated[int, Meta(description="Transmissions behind it.", ge=0)]
    content_type: str
    size: Annotated[int, Meta(description="Bytes of its content.", ge=0)]
    taken: Annotated[bool, Meta(description="Whether somebody here has dealt with it.")]
    private: Annotated[bool, Meta(description="Whether it was sealed for a group.")]
    text: Annotated[str, Meta(description="The content, if it is text.")] | None = None
    base64: Annotated[str, Meta(description="The content, if it is anything else.")] | None = None


def text_or_base64(content: bytes, content_type: str) -> tuple[str | None, str | None]:
    """A content as text if it is one, or else in Base64."""
    try:
        text = content.decode() if content_type.startswith("text/") else None
    except UnicodeDecodeError:
        text = None
    return text, b64encode(content).decode() if text is None else None


def message_of(delivery: Delivery, name: str, longest: float = inf) -> Message:
    """A delivery, with what its author is called; its content is left out if it is too long."""
    text = base64 = None
    if len(delivery.content) <= longest:
        text, base64 = text_or_base64(delivery.content, delivery.content_type)
    return Message(
        number=delivery.number,
        id=delivery.id,
        topic=delivery.topic,
        author=delivery.author,
        name=name,
        created=delivery.created,
        delivered=delivery.delivered,
        hops=delivery.hops,
        content_type=delivery.content_type,
        size=len(delivery.content),
        taken=delivery.taken,
        private=delivery.private,
        text=text,
        base64=base64,
    )


class Messages(msgspec.Struct, frozen=True):
    """Messages, latest first."""

    messages: list[Message]
    before: Annotated[int, Meta(description="Ask with this number for earlier ones.")] | None


class NewPublication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to publish: on a topic or to a group (a name or an invitation), and a text or anything in Base64."""

    topic: str | None = None
    group: str | None = None
    text: str | None = None
    base64: str | None = None
    content_type: str | None = None
    ttl: Annotated[float, Meta(description="For how many seconds it is carried.", gt=0)] = 86400.0
    receipts: Annotated[bool, Meta(description="Whether subscribers' devices tell that they have it.")] = False


class Published(msgspec.Struct, frozen=True):
    """A publication that is on the disk."""

    id: str
    topic: str
    expires: Time


class Subscriptions(msgspec.Struct, frozen=True):
    """The topics that this device follows."""

    subscriptions: list[str]
    endings: Endings


class Following(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose next message to wait for: of a topic that is followed, or of a group (a name or an invitation)."""

    topic: str | None = None
    group: str | None = None
    after: Annotated[int, Meta(description="Messages on it up to this number are dealt with.", ge=0)] = 0
    since: Annotated[int, Meta(description="As in the first answer; none in the first request.", ge=0)] | None = None
    most: Annotated[int, Meta(description="How many messages may come at once.", ge=1, le=100)] = 1
    wait: Annotated[float, Meta(description="For how many seconds to wait for one.", ge=0, le=60)] = 30.0


class Next(msgspec.Struct, frozen=True):
    """The next messages that nobody had taken before this follower began, with their contents; none if none came."""

    message: Message | None
    more: Annotated[list[Message], Meta(description="Those after it, if several were asked for.")]
    since: Annotated[int, Meta(description="To be given in further requests.", ge=0)]


class NewBundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bundle (RFC 9171) in Base64."""

    base64: str
    accept_unsigned: Annotated[bool, Meta(description="Sign it in the node's own name if nobody has.")] = False


class Brought(msgspec.Struct, frozen=True):
    """The publication of a bundle, which is on the disk."""

    id: str
    topic: str
    new: Annotated[bool, Meta(description="Whether it was not known here.")]


class Carried(msgspec.Struct, frozen=True):
    """A message that this device carries, and for whom."""

    id: str
    topic: str
    author: Key
    name: Name
    own: bool
    created: Time
    expires: Time
    size: Annotated[int, Meta(ge=0)]
    wanted_by: Annotated[list[Device], Meta(description="Some of those who want it, as far as the protocol knows.")]
    wanted_by_many: Annotated[int, Meta(description="How many it knows to want it.", ge=0)]
    strength: Annotated[
        float,
        Meta(description="How firmly it counts on meeting others who want it, in the protocol's measure.", ge=0),
    ]
    receipts: Annotated[int, Meta(description="At least so many subscribers have it.", ge=0)]


class CarriedList(msgspec.Struct, frozen=True):
    """What this device carries, latest first."""

    carried: list[Carried]
    held: Annotated[int, Meta(ge=0)]
    held_bytes: Annotated[int, Meta(ge=0)]


class Community(msgspec.Struct, frozen=True):
    """Where this device stands, as its protocol sees it."""

    protocol: str
    role: str | None
    members: Annotated[list[Device], Meta(description="Null in systems without communities.")] | None


class Encounter(msgspec.Struct, frozen=True):
    """A time in which a device was in reach; without an end it still is."""

    device: Key | None
    name: Name
    start: Time
    end: Time | None
    radio: Annotated[str, Meta(description="Over which radio: ip, ble.")]
    weakest: Annotated[int, Meta(description="The weakest signal (dBm), where the radio tells.")] | None
    strongest: Annotated[int, Meta(description="The strongest.")] | None


class Encounters(msgspec.Struct, frozen=True):
    """Whom this device has met, latest first."""

    encounters: list[Encounter]


class LogEntry(msgspec.Struct, frozen=True, rename={"encountered": "met"}):
    """An encounter as the node notes it: under pseudonyms, unless it was told otherwise."""

    device: str
    encountered: str
    start: Time
    end: Time | None
    radio: Annotated[str, Meta(description="Over which radio: ip, ble.")]
    weakest: Annotated[int, Meta(description="The weakest signal (dBm), where the radio tells.")] | None
    strongest: Annotated[int, Meta(description="The strongest.")] | None


class Log(msgspec.Struct, frozen=True):
    """All encounters, in the order in which they began."""

    log: list[LogEntry]


class Receipts(msgspec.Struct, frozen=True):
    """How many subscribers are known to have a publication."""

    id: str
    subscribers: Annotated[int, Meta(ge=0)]


QrRows = Annotated[list[str], Meta(description="The rows of a QR code of it; 1 is dark.")]


class DirectMessage(msgspec.Struct, frozen=True):
    """A message to or from one person."""

    number: Annotated[int, Meta(ge=1)]
    device: Key
    name: Name
    own: Annotated[bool, Meta(description="Whether it was written here.")]
    sent: Annotated[float, Meta(description="By its writer's clock, in seconds since 1970.")]
    at: Annotated[float, Meta(description="When it was written or came here, in seconds since 1970.")]
    state: Annotated[str, Meta(description="Own ones: waiting, carried, arrived, expired; others: received.")]
    carriers: Annotated[int, Meta(description="Neighbours that have taken it.", ge=0)]
    read: Annotated[bool, Meta(description="Whether the owner has seen it.")]
    content_type: str
    text: Annotated[str, Meta(description="The content, if it is text.")] | None = None
    base64: Annotated[str, Meta(description="The content, if it is anything else.")] | None = None


class DirectMessages(msgspec.Struct, frozen=True):
    """A conversation, in the order in which it was written."""

    messages: list[DirectMessage]


class NewDirectMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to write to somebody."""

    text: str | None = None
    base64: str | None = None
    content_type: str | None = None
    ttl: Annotated[float, Meta(description="For how many seconds it is carried; a week at most.", gt=0)] = 604800.0


class Conversation(msgspec.Struct, frozen=True, rename={"with_": "with"}):
    """Somebody with whom one writes."""

    with_: Device
    verified: Annotated[bool, Meta(description="Whether safety numbers were compared.")]
    unread: Annotated[int, Meta(ge=0)]
    last: DirectMessage


class Conversations(msgspec.Struct, frozen=True):
    """With whom one writes, latest first."""

    conversations: list[Conversation]


class Contact(msgspec.Struct, frozen=True):
    """The key of this device, for others to write to."""

    uri: str
    qr: QrRows


class Safety(msgspec.Struct, frozen=True):
    """Sixty digits that are the same on both devices if nobody is in between."""

    device: Device
    number: str
    qr: QrRows
    verified: Annotated[bool, Meta(description="Whether the owner has said that they are the same.")]


class Group(msgspec.Struct, frozen=True):
    """A private topic that this device belongs to."""

    name: str
    members: Annotated[list[Device], Meta(description="Others who are known to belong to it.")]


class Groups(msgspec.Struct, frozen=True):
    """The groups of this device."""

    groups: list[Group]


class NewGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name, to make a group; or an invitation to one, and a name of one's own for it if wanted."""

    name: str | None = None
    invitation: str | None = None


class Invitation(msgspec.Struct, frozen=True):
    """Whoever has this belongs to the group."""

    invitation: str
    qr: QrRows


class Rekeyed(msgspec.Struct, frozen=True):
    """A group has a new key."""

    members: Annotated[int, Meta(description="Members that get it.", ge=0)]


class DirectNews(msgspec.Struct, frozen=True):
    """Something has changed in conversations or groups."""

    device: Key | None


class Naming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to call a device."""

    name: str


class Hello(msgspec.Struct, frozen=True):
    """What happened before this has not been told; ask for the present state."""

    last_delivery: int


class LinkNews(msgspec.Struct, frozen=True):
    """A device has come into reach, or has gone."""

    device: Key
    name: Name
    reason: Annotated[str, Meta(description="Why it is gone.")] | None = None


class RoleNews(msgspec.Struct, frozen=True):
    """The device has a new role."""

    role: str


EVENTS: dict[str, type[msgspec.Struct]] = {
    "hello": Hello,
    "delivery": Message,
    "direct": DirectNews,
    "link-up": LinkNews,
    "link-down": LinkNews,
    "role": RoleNews,
}
"""What the data of each kind of server-sent event contains."""
