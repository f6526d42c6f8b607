"""The groups of a device: made, joined, left, listed; and members removed, by a new key for the others.

All members are equal: who has the key can read, write, invite, and remove others. Who has written to a group (its
device says hello when it joins) is known as a member. To remove somebody, a device makes a new key and sends it to
every other known member in a direct message; they take it if it comes from a member, and write with it from then on.
The old key is kept for reading for a week, in which messages under way arrive, and then deleted. Who was removed reads
what was sealed with keys that they had, and nothing that came after; their messages are refused.

If two members change the key at the same time, both keys can be read, and the one that is later in order is written
with. A member whom nobody knows of, or whose device has not announced a key, gets the new key late or by an invitation.
"""

from __future__ import annotations

import hmac
import os
from hashlib import sha256
from typing import TYPE_CHECKING

from hunet.model import ConfigurationError
from hunet.node.publication import WEEK, Group, Opened, Refused, private_topic

if TYPE_CHECKING:
    from hunet.node.publication import Publication
    from hunet.node.store import Store

HELLO = "application/vnd.hunet.joined"
"""The content type of the empty message by which a new member is known; applications do not get it."""
_LONGEST_NAME = 64


class GroupBook:
    """The groups that this device belongs to, in its store."""

    def __init__(self, store: Store, own: str) -> None:
        self._store, self._own = store, own

    def names(self) -> list[str]:
        """All groups, in the order of the alphabet."""
        return [name for (name,) in self._store.select("SELECT DISTINCT name FROM group_keys ORDER BY name")]

    def current(self, name: str) -> Group:
        """A group with the key that is written with."""
        sql = "SELECT key FROM group_keys WHERE name = ? ORDER BY epoch DESC, key DESC LIMIT 1"
        rows = self._store.select(sql, name)
        if not rows:
            known = ", ".join(self.names()) or "none"
            raise ConfigurationError(f"this device is in no group '{name}'; its groups: {known}")
        return Group(name, rows[0][0])

    def find(self, word: str) -> Group:
        """The group that a name or an invitation stands for."""
        return Group.from_invitation(word) if word.startswith("hunet-group:") else self.current(word)

    def join(self, group: Group) -> bool:
        """Belong to a group from now on; whether that is news. The name is this device's own affair."""
        if not group.name or len(group.name) > _LONGEST_NAME or not group.name.isprintable():
            raise ConfigurationError(f"the name of a group has 1 to {_LONGEST_NAME} printable letters")
        known = self._store.select("SELECT name FROM group_keys WHERE key = ?", group.key)
        if known:
            return False
        if group.name in self.names():
            raise ConfigurationError(
                f"this device is in another group '{group.name}'; leave that one first, or join under another name"
            )
        self._store.execute("INSERT INTO group_keys VALUES (?, 0, ?, NULL)", group.name, group.key)
        return True

    def leave(self, name: str) -> None:
        """Belong to a group no longer, and delete its keys."""
        self.current(name)
        self._store.execute("DELETE FROM group_members WHERE name = ?", name)
        self._store.erase("DELETE FROM group_keys WHERE name = ?", name)

    def members(self, name: str) -> list[str]:
        """The devices that are known to belong to a group, this one left out."""
        sql = "SELECT device FROM group_members WHERE name = ? AND NOT removed AND device <> ? ORDER BY device"
        return [device for (device,) in self._store.select(sql, name, self._own)]

    def remove(self, name: str, device: str, now: float) -> tuple[bytes, bytes]:
        """Take a new key, without somebody: what identifies the old key to the other members, and the new one."""
        old = self.current(name)
        if device not in self.members(name):
            raise ConfigurationError(f"'{device}' is not known as a member of '{name}'")
        key = os.urandom(32)
        self._succeed(name, old.key, key, now)
        self._set_member(name, device, removed=True)
        return _fingerprint(old.key), key

    def rekey(self, sender: str, fingerprint: bytes, key: bytes, removed: list[str], now: float) -> bool:
        """A member has sent a new key; whether it was taken."""
        for name, old in self._store.select("SELECT name, key FROM group_keys"):
            if hmac.compare_digest(_fingerprint(old), fingerprint) and len(key) == 32:
                if sender not in self.members(name) or self._store.select("SELECT 1 FROM group_keys WHERE key=?", key):
                    return False
                self._succeed(name, old, key, now)
                for device in removed:
                    self._set_member(name, device, removed=True)
                return True
        return False

    def topics(self, now: float) -> dict[str, Group]:
        """What to follow, and what each tag belongs to."""
        rows = self._store.select("SELECT name, key FROM group_keys")
        groups = [Group(name, key) for name, key in rows]
        return {topic: group for group in groups for topic in group.topics_at(now)}

    def open(self, publication: Publication) -> tuple[str, Opened]:
        """The group that a publication belongs to, and what is inside; Refused if it belongs to none."""
        for name, key in self._store.select("SELECT name, key FROM group_keys"):
            group = Group(name, key)
            if group.topic_at(publication.created) == publication.topic:
                removed = "SELECT 1 FROM group_members WHERE name = ? AND device = ? AND removed"
                if self._store.select(removed, name, publication.author):
                    raise Refused("not a member")
                return name, group.open(publication)
        raise Refused("badly sealed")

    def add_member(self, name: str, device: str) -> None:
        """Somebody has written to a group, and so is a member."""
        self._store.execute("INSERT OR IGNORE INTO group_members VALUES (?, ?, 0)", name, device)

    def clean(self, now: float) -> bool:
        """Delete keys that were replaced a week ago; whether there were some."""
        if not self._store.select("SELECT 1 FROM group_keys WHERE until <= ?", now):
            return False
        self._store.erase("DELETE FROM group_keys WHERE until <= ?", now)
        return True

    def _succeed(self, name: str, old: bytes, key: bytes, now: float) -> None:
        sql = "INSERT INTO group_keys SELECT name, epoch + 1, ?, NULL FROM group_keys WHERE key = ?"
        self._store.execute(sql, key, old)
        newest = self.current(name).key
        # Counted from the first time that it was replaced: whoever still has the old key cannot keep it alive.
        sql = "UPDATE group_keys SET until = ? WHERE name = ? AND key <> ? AND until IS NULL"
        self._store.execute(sql, now + WEEK, name, newest)

    def _set_member(self, name: str, device: str, removed: bool) -> None:
        self._store.execute("INSERT OR REPLACE INTO group_members VALUES (?, ?, ?)", name, device, removed)


def label_of(name: str) -> str:
    """Under which topic deliveries of a group stand in this device's own store, whatever its tag is."""
    return private_topic(sha256(b"hunet label 1" + name.encode()).digest())


def _fingerprint(key: bytes) -> bytes:
    return hmac.digest(key, b"hunet group 1", "sha256")[:16]
