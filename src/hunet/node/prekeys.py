"""Prekeys: short-lived keys to which direct messages are sealed, and the announcements that make them known.

A device makes an X25519 key every two days, signs it with its name, and deletes the private half eight days later. The
signed note is an :class:`Announcement`. Devices that meet tell each other of announcements, so that sooner or
later one can write to people who are not in reach. Who keeps ciphertexts and gets hold of a device later finds private
halves of eight days at most: what was written before stays secret (forward secrecy). The idea is that of the signed
prekey of X3DH (Marlinspike and Perrin, "The X3DH Key Agreement Protocol", revision 1); there are no one-time prekeys,
because there is no server that could hand each out once.

An announcement says that a device exists and was there at a time; so does everything that it publishes.

>>> from hunet.node.identity import Identity
>>> bob = Identity.new()
>>> announcement = Announcement.signed(bob, bytes(32), since=1000.0, until=2000.0)
>>> read_announcement(announcement.to_bytes(), now=1500.0) == announcement
True
>>> read_announcement(announcement.to_bytes(), now=3000.0) is None  # out of date
True
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import device_key, device_name, verify
from hunet.node.publication import private_topic
from hunet.node.rate_limits import RateLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hunet.node.identity import Identity
    from hunet.node.store import Store

DAY = 86400.0
ROTATED = 2 * DAY
"""So long a prekey is announced."""
KEPT = 8 * DAY
"""So long its private half is kept."""
_SKEW = 300.0
_MOST_AT_ONCE = 50
"""Announcements in a frame."""
_NEWEST, _OTHERS = 250, 250
"""Announcements that a neighbour is told of when it comes: some 95 kB, however many are known."""
_MOST = 5000
"""Announcements of strangers that a device keeps."""
_NEW_PER_SECOND, _NEW_AT_ONCE = 20.0, 1000.0
"""Announcements of one neighbour that are looked at; further ones are left out."""
_SIGNED_BY = b"hunet prekey 1\0"


class Announcement(msgspec.Struct, frozen=True):
    """A device's signed word: seal to this key until then."""

    device: str
    prekey: bytes
    since: float
    until: float
    """When the private half will be deleted, in seconds since 1970."""
    signature: bytes

    @classmethod
    def signed(cls, identity: Identity, prekey: bytes, since: float, until: float) -> Announcement:
        """An announcement of one's own."""
        draft = cls(identity.device, prekey, float(since), float(until), b"")
        return msgspec.structs.replace(draft, signature=identity.sign(_SIGNED_BY + draft._part()))

    @property
    def topic(self) -> str:
        """The topic of messages that are sealed to this prekey."""
        return inbox_topic(self.prekey)

    def to_bytes(self) -> bytes:
        """As it travels; :func:`read_announcement` reads it."""
        return wire.encode([self._part(), self.signature])

    def _part(self) -> bytes:
        return wire.encode([device_key(self.device), self.prekey, self.since, self.until])


def inbox_topic(prekey: bytes) -> str:
    """What a device follows to get what is sealed to a prekey of its own."""
    return private_topic(hashlib.sha256(b"hunet inbox 1" + prekey).digest())


def read_announcement(data: bytes, now: float) -> Announcement | None:
    """An announcement from a peer, checked; None if it is not in date, a PeerError if it is none."""
    match wire.decode(data):
        case [bytes() as part, bytes() as signature]:
            fields = wire.decode(part)
        case _:
            raise PeerError("a malformed announcement")
    match fields:
        case [bytes() as key, bytes() as prekey, float() as since, float() as until]:
            if len(key) != 32 or len(prekey) != 32 or not 0 <= since < until <= since + KEPT:
                raise PeerError("a malformed announcement")
        case _:
            raise PeerError("a malformed announcement")
    if not since - _SKEW <= now < until:
        return None
    device = device_name(key)
    if not verify(device, signature, _SIGNED_BY + part):
        raise PeerError("a badly signed announcement")
    return Announcement(device, prekey, since, until, signature)


class Prekeys:
    """The prekeys of this device, in its store."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store, self._identity = store, identity

    def rotate(self, now: float) -> bool:
        """Delete what is too old, and make a new prekey if it is time; whether something changed.

        Others hear of it when it is on the disk: commit first.
        """
        old = self._store.select("SELECT 1 FROM prekeys WHERE until <= ?", now)
        if old:
            self._store.erase("DELETE FROM prekeys WHERE until <= ?", now)
        newest = self._store.select("SELECT max(since) FROM prekeys")[0][0]
        due = newest is None or not newest <= now < newest + ROTATED
        if due:
            key = X25519PrivateKey.generate()
            public, private = key.public_key().public_bytes_raw(), key.private_bytes_raw()
            self._store.execute("INSERT INTO prekeys VALUES (?, ?, ?, ?)", public, private, now, now + KEPT)
        return bool(old) or due

    def topics(self) -> dict[str, X25519PrivateKey]:
        """What to follow, and the key with which what comes there is opened."""
        rows = self._store.select("SELECT public, private FROM prekeys ORDER BY since")
        return {inbox_topic(public): X25519PrivateKey.from_private_bytes(private) for public, private in rows}

    def announcement(self) -> Announcement:
        """The latest prekey, signed."""
        sql = "SELECT public, since, until FROM prekeys ORDER BY since DESC LIMIT 1"
        [(public, since, until)] = self._store.select(sql)
        return Announcement.signed(self._identity, public, since, until)


class AnnouncementBook:
    """The latest announcements of others, and which of them which neighbour has been given.

    Those of people whom the owner knows stay; of the others there are at most so many, and if there are too many those
    that came from the neighbour who gave most go first.
    """

    def __init__(self, store: Store, own: str, is_known: Callable[[str], bool], most: int = _MOST) -> None:
        self._store, self._own, self._is_known, self._most = store, own, is_known, most
        self._given: dict[str, int] = {}
        self._limits: dict[str, RateLimit] = {}

    def of(self, device: str, now: float) -> Announcement | None:
        """The latest announcement of a device, if one is known and in date."""
        rows = self._store.select("SELECT encoded FROM announcements WHERE device = ? AND until > ?", device, now)
        return read_announcement(rows[0][0], now) if rows else None

    def hear(self, giver: str, encoded: list[object], now: float) -> list[str]:
        """Take what a neighbour tells; the devices of which it is news. A PeerError if no honest device says that."""
        if len(encoded) > _MOST_AT_ONCE:
            raise PeerError("more announcements than fit into a frame")
        limit = self._limits.setdefault(giver, RateLimit(_NEW_PER_SECOND, _NEW_AT_ONCE))
        new = []
        for each in encoded:
            if not isinstance(each, bytes):
                raise PeerError("a malformed announcement")
            if self._store.select("SELECT 1 FROM announcements WHERE encoded = ?", each):
                continue
            if limit.left < 1:
                break
            limit.use()
            announcement = read_announcement(each, now)
            if announcement is not None and self.add(announcement, giver, now):
                new.append(announcement.device)
        return new

    def add(self, announcement: Announcement, giver: str, now: float) -> bool:
        """Keep an announcement that was checked; whether it is news."""
        device = announcement.device
        rows = self._store.select("SELECT since FROM announcements WHERE device = ?", device)
        known = rows[0][0] if rows else -1.0
        if device == self._own or announcement.since <= known <= now + _SKEW:
            return False
        self._store.execute(
            "INSERT OR REPLACE INTO announcements (device, since, until, giver, encoded) VALUES (?, ?, ?, ?, ?)",
            device,
            announcement.since,
            announcement.until,
            giver,
            announcement.to_bytes(),
        )
        self._make_room(now)
        return True

    def _make_room(self, now: float) -> None:
        if self._store.select("SELECT count(*) FROM announcements")[0][0] <= self._most:
            return
        self._store.execute("DELETE FROM announcements WHERE until <= ?", now)
        sql = (
            "SELECT device FROM announcements ORDER BY "
            "(SELECT count(*) FROM announcements a WHERE a.giver = announcements.giver) DESC, number"
        )
        devices = [device for (device,) in self._store.select(sql) if not self._is_known(device)]
        for device in devices[: max(1, self._most // 50)]:  # some at once: to count them all takes time
            self._store.execute("DELETE FROM announcements WHERE device = ?", device)

    def frames_for(self, neighbour: str, own: Announcement, now: float) -> Iterator[bytes]:
        """What to tell a neighbour: at first this device's own, the newest and some others, then what is new."""
        last = self._given.get(neighbour)
        if last is None:
            newest = self._encoded("until > ? ORDER BY number DESC LIMIT ?", now, _NEWEST)
            some = self._encoded("until > ? ORDER BY random() LIMIT ?", now, _OTHERS)
            telling = list(dict.fromkeys([own.to_bytes(), *newest, *some]))
        else:
            telling = self._encoded("until > ? AND number > ? ORDER BY number", now, last)
        self._given[neighbour] = self._store.select("SELECT coalesce(max(number), 0) FROM announcements")[0][0]
        for start in range(0, len(telling), _MOST_AT_ONCE):
            yield wire.encode({"t": "announcements", "announcements": telling[start : start + _MOST_AT_ONCE]})

    def _encoded(self, where: str, *values: object) -> list[bytes]:
        return [each for (each,) in self._store.select(f"SELECT encoded FROM announcements WHERE {where}", *values)]

    def forget(self, neighbour: str) -> None:
        """A link is gone: with the next, everything is told again."""
        self._given.pop(neighbour, None)
        self._limits.pop(neighbour, None)

    def renew(self) -> None:
        """Tell everything to everybody again: there is a new prekey of this device."""
        self._given.clear()
