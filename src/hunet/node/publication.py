"""What travels from author to subscriber through strangers' hands: signed, dated, and exactly one encoding each.

A publication is two byte strings in CBOR: the signed part and its Ed25519 signature. The signed part is a CBOR list
(version, author's key, topic, created, ttl, content type, whether receipts are wanted, content), and the publication's
id is a hash of it. So nobody can change a publication or its age, give one id to two publications or two ids to
one; a carrier needs to believe nobody but the author. What cannot be read, is not signed, or is out of date is
:class:`Refused`, with a reason to count.

>>> from hunet.node.identity import Identity
>>> ann = Identity.new()
>>> hello = Publication.signed(ann, "news", b"hello", created=1000.0, ttl=3600.0)
>>> read_publication(hello.to_bytes(), now=1010.0) == hello
True
>>> read_publication(hello.to_bytes(), now=9999.0)
Traceback (most recent call last):
hunet.node.publication.Refused: expired

A private topic is a :class:`Group`: whoever has its key can read and recognise what belongs to it; carriers see a
tag and ciphertext.

>>> family = Group.new("family")
>>> secret = family.seal(ann, b"dinner at eight", created=1000.0, ttl=3600.0)
>>> secret.topic == family.topic_at(1000.0), b"dinner" in secret.to_bytes()
(True, False)
>>> Group.from_invitation(family.invitation).open(secret).content
b'dinner at eight'

What a tag does not hide: who wrote a publication, when, about how long it is (``padding``), and that two publications
of the same week belong to the same group. Who has the key reads everything that was sealed with it, also what is older:
groups are not forward secret.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
from base64 import b32decode, b32encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from hunet.model import ConfigurationError, PeerError
from hunet.node import wire
from hunet.node.identity import device_key, device_name, verify
from hunet.node.padding import pad, unpad

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunet.node.identity import Identity

Reason = Literal[
    "malformed",
    "oversized",
    "unsigned",
    "badly signed",
    "expired",
    "from the future",
    "badly sealed",
    "replayed",
    "blocked",
    "not a member",
]
"""Why a publication was refused. The last three are for whoever remembers what came before, and knows people."""

_VERSION = 1
_SIGNED_BY = b"hunet publication 1\0"  # so that a signature made for something else never fits here
_TAG = "~"  # what topics of groups begin with, and no other topic
_SEALED = "application/vnd.hunet.sealed"
_INVITATION = "hunet-group"
WEEK = 7 * 86400.0
"""So long the tag of a group stays the same; and so long private publications are carried at most."""
_SKEW = 900.0


class Refused(PeerError):  # noqa: N818 - it is an answer, as much as an error
    """A publication that must not reach the application or the disk; ``reason`` is what to count it under."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


class PublicationLimits(msgspec.Struct, frozen=True):
    """What a device accepts, of itself and of others."""

    content_bytes: int = 1 << 20
    topic_bytes: int = 256
    content_type_bytes: int = 128
    longest_ttl: float = 366 * 86400.0
    clock_skew: float = _SKEW
    """How far ahead of ours another device's clock may be, in seconds."""

    @property
    def encoded_bytes(self) -> int:
        """No acceptable publication is longer than this."""
        return self.content_bytes + self.topic_bytes + self.content_type_bytes + 256


_LIMITS = PublicationLimits()


class Publication(msgspec.Struct, frozen=True):
    """A signed publication; made by :meth:`signed`, :meth:`Group.seal` or :func:`read_publication`."""

    id: str
    """26 letters and digits, a hash of the signed part."""
    author: str
    """The device that signed it."""
    topic: str
    created: float
    """Seconds since 1970 by the author's clock."""
    ttl: float
    """Seconds for which it is worth carrying."""
    content: bytes
    content_type: str
    receipts: bool
    """Whether the author would like to know how many got it."""
    signature: bytes

    @classmethod
    def signed(
        cls,
        identity: Identity,
        topic: str,
        content: bytes,
        *,
        created: float,
        ttl: float,
        content_type: str = "text/plain; charset=utf-8",
        receipts: bool = False,
        limits: PublicationLimits = _LIMITS,
    ) -> Publication:
        """A new publication of this device; a ConfigurationError if nobody would accept it."""
        if topic.startswith(_TAG):
            raise ConfigurationError(f"a topic cannot begin with '{_TAG}', which marks private topics")
        return _sign(identity, topic, content, created, ttl, content_type, receipts, limits)

    @property
    def expires(self) -> float:
        """When it is no longer worth carrying, in seconds since 1970."""
        return self.created + self.ttl

    def to_bytes(self) -> bytes:
        """What goes over the wire and onto the disk; :func:`read_publication` reads it."""
        return wire.encode([_signed_part(self), self.signature])


def stored_publication(data: bytes) -> Publication:
    """A publication from the disk, where only what was checked comes; Refused if it cannot be read."""
    return _parts(data)[0]


def claimed_id(data: object) -> str:
    """The id of a publication of which nothing else was checked; empty for what is none."""
    with suppress(PeerError):
        match wire.decode(data) if isinstance(data, bytes) else None:
            case [bytes() as part, bytes()]:
                return _id(part)
    return ""


def read_publication(
    data: bytes,
    now: float,
    limits: PublicationLimits = _LIMITS,
    is_here: Callable[[str, bytes], bool] = lambda *_: False,
) -> Publication:
    """A publication from a peer, checked: raises :class:`Refused` unless it is sound and in date.

    Of one that ``is_here``, to the byte, the signature is not checked again.
    """
    if len(data) > limits.encoded_bytes:
        raise Refused("oversized")
    publication, part, signature = _parts(data)
    problem = _problem(publication, limits)
    if problem is not None:
        raise Refused(problem[0])
    if not signature:
        raise Refused("unsigned")
    if publication.expires <= now:
        raise Refused("expired")
    if publication.created > now + limits.clock_skew:
        raise Refused("from the future")
    if is_here(publication.id, data):
        return publication
    if not verify(publication.author, signature, _SIGNED_BY + part):  # last, because it costs most
        raise Refused("badly signed")
    return publication


def _parts(data: bytes) -> tuple[Publication, bytes, bytes]:
    try:
        match wire.decode(data):
            case [bytes() as part, bytes() as signature]:
                return _from_fields(wire.decode(part), part, signature), part, signature
    except wire.Malformed:
        pass
    raise Refused("malformed")


def is_private(topic: str) -> bool:
    """Whether a topic is a tag that only those who have a key know to be theirs."""
    return topic.startswith(_TAG)


def private_topic(digest: bytes) -> str:
    """The tag that is made of a digest: nobody can tell one from another."""
    return _TAG + b32encode(digest[:15]).decode().lower()


def sealed_publication(
    identity: Identity,
    topic: str,
    sealed: bytes,
    *,
    created: float,
    ttl: float,
    receipts: bool = False,
    limits: PublicationLimits = _LIMITS,
) -> Publication:
    """A publication on a private topic, of a content that was encrypted."""
    if ttl > WEEK:
        raise ConfigurationError(f"private messages are carried for at most {WEEK:g} s, not {ttl:g}")
    return _sign(identity, topic, sealed, created, ttl, _SEALED, receipts, limits)


class Opened(msgspec.Struct, frozen=True):
    """What members of a group find in a sealed publication."""

    content: bytes
    content_type: str


class Group(msgspec.Struct, frozen=True):
    """A private topic: a name, which is the owner's own affair, and a key, which the members share."""

    name: str
    key: bytes

    def __post_init__(self) -> None:
        if len(self.key) != 32:
            raise ConfigurationError(f"the key of a group has 32 bytes, not {len(self.key)}")

    def __repr__(self) -> str:  # a key has no business in a log
        return f"Group({self.name!r})"

    @classmethod
    def new(cls, name: str) -> Group:
        """A group with a fresh key."""
        return cls(name, os.urandom(32))

    def topic_at(self, time: float) -> str:
        """The tag that carriers see in place of the name of a group; another one every week."""
        return private_topic(hmac.digest(self.key, b"hunet topic 2" + _week(time), "sha256"))

    def topics_at(self, time: float) -> list[str]:
        """What members follow at a time: what is in date then has one of these tags."""
        weeks = {int(when // WEEK): when for when in (time - WEEK, time - _SKEW, time, time + _SKEW)}
        return [self.topic_at(when) for _, when in sorted(weeks.items())]

    @property
    def invitation(self) -> str:
        """One line to hand to a new member, over a way that nobody listens to: whoever has it is a member.

        >>> Group.from_invitation(Group("chess club", bytes(32)).invitation)
        Group('chess club')
        """
        spelled = b32encode(self.key + _checksum(self.name, self.key)).decode().rstrip("=").lower()
        return f"{_INVITATION}:{quote(self.name, safe='')}:{spelled}"

    @classmethod
    def from_invitation(cls, invitation: str) -> Group:
        """The group that an invitation is for; a ConfigurationError if it was not copied right."""
        match invitation.strip().split(":"):
            case [_, name, spelled] if len(spelled) == 58:
                with suppress(ValueError):  # not base32
                    group = cls(unquote(name), b32decode(spelled.upper() + "======")[:32])
                    if group.invitation == invitation.strip():  # with the checksum
                        return group
        raise ConfigurationError("this is no invitation to a group, or not all of it; copy the whole line again")

    def seal(
        self,
        identity: Identity,
        content: bytes,
        *,
        created: float,
        ttl: float,
        content_type: str = "text/plain; charset=utf-8",
        receipts: bool = False,
        limits: PublicationLimits = _LIMITS,
    ) -> Publication:
        """A publication that only members can read."""
        nonce, topic = os.urandom(12), self.topic_at(created)
        bound = wire.encode([identity.device, topic, float(created), float(ttl)])
        inside = pad(wire.encode([content_type, content]))
        sealed = nonce + self._cipher(identity.device).encrypt(nonce, inside, bound)
        return sealed_publication(identity, topic, sealed, created=created, ttl=ttl, receipts=receipts, limits=limits)

    def open(self, publication: Publication) -> Opened:
        """What is inside; Refused("badly sealed") if it was not sealed with this group's key by its author."""
        nonce, sealed = publication.content[:12], publication.content[12:]
        # The author and the date are bound to the ciphertext, so that nobody can sign a copy of it as their own.
        bound = wire.encode(
            [publication.author, self.topic_at(publication.created), publication.created, publication.ttl]
        )
        try:
            inside = wire.decode(unpad(self._cipher(publication.author).decrypt(nonce, sealed, bound)))
        except (InvalidTag, ValueError, wire.Malformed):
            raise Refused("badly sealed") from None
        match inside:
            case [str() as content_type, bytes() as content]:
                return Opened(content, content_type)
        raise Refused("badly sealed")

    def _cipher(self, author: str) -> ChaCha20Poly1305:
        """A key for each author, so that two authors can never use one nonce with one key."""
        return ChaCha20Poly1305(hmac.digest(self.key, b"hunet content 1" + author.encode(), "sha256"))


def _sign(
    identity: Identity,
    topic: str,
    content: bytes,
    created: float,
    ttl: float,
    content_type: str,
    receipts: bool,
    limits: PublicationLimits,
) -> Publication:
    created, ttl = float(created), float(ttl)
    draft = Publication("", identity.device, topic, created, ttl, content, content_type, receipts, b"")
    try:
        problem = _problem(draft, limits)
    except UnicodeEncodeError:
        raise ConfigurationError(f"a topic and a content type are text, not {topic!r} and {content_type!r}") from None
    if problem is not None:
        raise ConfigurationError(problem[1])
    part = _signed_part(draft)
    return msgspec.structs.replace(draft, id=_id(part), signature=identity.sign(_SIGNED_BY + part))


def _signed_part(publication: Publication) -> bytes:
    return wire.encode(
        [
            _VERSION,
            device_key(publication.author),
            publication.topic,
            publication.created,
            publication.ttl,
            publication.content_type,
            publication.receipts,
            publication.content,
        ]
    )


def _from_fields(fields: Any, part: bytes, signature: bytes) -> Publication:
    match fields:
        case [
            int() as version,
            bytes() as author,
            str() as topic,
            float() as created,
            float() as ttl,
            str() as content_type,
            bool() as receipts,
            bytes() as content,
        ] if version == _VERSION and version is not True and len(author) == 32:
            name = device_name(author)
            return Publication(_id(part), name, topic, created, ttl, content, content_type, receipts, signature)
    raise Refused("malformed")


def _id(part: bytes) -> str:
    return b32encode(hashlib.sha256(part).digest()[:16]).decode().rstrip("=").lower()


def _problem(publication: Publication, limits: PublicationLimits) -> tuple[Reason, str] | None:
    """Why nobody would accept it, for the one who counts and for the one who can change it."""
    for what, many, most in (
        ("content", len(publication.content), limits.content_bytes),
        ("topic", len(publication.topic.encode()), limits.topic_bytes),
        ("content type", len(publication.content_type.encode()), limits.content_type_bytes),
    ):
        if many > most:
            return "oversized", f"the {what} has {many} bytes; the limit is {most}"
    if not publication.topic:
        return "malformed", "a publication needs a topic"
    if not 0 <= publication.created < math.inf:
        return "malformed", f"a publication cannot be of {publication.created} seconds since 1970"
    if not 0 < publication.ttl <= limits.longest_ttl:
        return "malformed", f"a time to live of {publication.ttl:g} s; give more than 0, at most {limits.longest_ttl:g}"
    return None


def _week(time: float) -> bytes:
    return int(time // WEEK).to_bytes(8, "big")


def _checksum(name: str, key: bytes) -> bytes:
    return hashlib.sha256(b"hunet invitation" + name.encode() + key).digest()[:4]
