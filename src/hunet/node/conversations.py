"""Conversations with people: what was written and what came, in one order, and what became of it.

The order is the same at both ends whatever their clocks say: every message has a Lamport clock (one more than the
highest that its sender had seen in the conversation), ties go by the sender's key.

A message of one's own is *waiting* until a neighbour has taken it (or until a key of the recipient is known at all),
*carried* by so many neighbours then, and *arrived* when the recipient's device has said so. A message that was not
confirmed when its time was over is *expired*: it may have arrived nevertheless.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hunet.model import ConfigurationError
from hunet.node.direct import LONGEST_TEXT
from hunet.node.prekeys import KEPT
from hunet.node.publication import WEEK, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunet.node.store import Store

State = Literal["waiting", "carried", "arrived", "expired", "received"]
TEXT = "text/plain; charset=utf-8"
REKEY = "application/vnd.hunet.rekey"
"""The content type of a message that waits to be sent and is no text: a new key of a group."""
_MOST_OF_STRANGERS = 1000
"""Messages of people whom the owner does not know that are kept."""
_SHOWN = f"kind <> '' AND kind <> '{REKEY}'"
_FARTHEST = 10_000
"""A clock that is further ahead than this is not believed."""
_COLUMNS = (
    "number, device, own, id, sent, at, expires, kind, content, publication, arrived, done, "
    "(SELECT count(*) FROM carriers WHERE carriers.publication = letters.publication)"
)


class Letter(msgspec.Struct, frozen=True):
    """A direct message, one's own or another's."""

    number: int
    device: str
    """With whom the conversation is."""
    own: bool
    id: bytes
    sent: float
    """By the sender's clock, in seconds since 1970."""
    at: float
    """When it was written or came here."""
    content: bytes
    content_type: str
    expires: float
    """Until then it is carried."""
    state: State
    carriers: int
    """Neighbours that have taken it."""
    read: bool

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode("utf-8", "replace")


class Conversations:
    """The direct messages in the store of a device."""

    def __init__(self, store: Store, own: str) -> None:
        self._store, self._own = store, own

    def write(self, device: str, content: bytes, content_type: str, now: float, ttl: float) -> int:
        """A message of one's own, not sent yet; its number."""
        if len(content) > LONGEST_TEXT:
            raise ConfigurationError(f"a direct message has at most {LONGEST_TEXT} bytes, not {len(content)}")
        if not 0 < ttl <= WEEK:
            raise ConfigurationError(f"a direct message is carried for more than 0 s and at most {WEEK:g} s")
        clock = self._clock(device) + 1
        self._add(device, True, os.urandom(16), clock, now, now, now + ttl, content_type, content)
        return int(self._store.select("SELECT max(number) FROM letters")[0][0])

    def unsent(self, now: float) -> list[tuple[Letter, int]]:
        """Messages that have not become publications yet, and their clocks."""
        where = "own AND publication IS NULL AND kind <> '' AND expires > ?"
        found = self._select(where, "number", now, now=now)
        clocks = dict(self._store.select("SELECT number, clock FROM letters WHERE own AND publication IS NULL"))
        return [(letter, clocks[letter.number]) for letter in found]

    def drop(self, number: int) -> None:
        """Forget a message that was sent and is nobody's to read here."""
        self._store.erase("DELETE FROM letters WHERE number = ?", number)

    def sent_as(self, number: int, publication: str) -> None:
        """A message has become a publication."""
        self._store.execute("UPDATE letters SET publication = ? WHERE number = ?", publication, number)

    def handed(self, publication: str, neighbour: str) -> bool:
        """A neighbour has taken a publication; whether it is a message of one's own and that is news."""
        sql = "INSERT OR IGNORE INTO carriers SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM letters WHERE publication = ?1)"
        return self._store.execute(sql, publication, neighbour) > 0

    def arrived(self, device: str, ids: Iterable[Any], now: float) -> bool:
        """Somebody says that messages have come; whether that is news."""
        sql = "UPDATE letters SET arrived = ? WHERE device = ? AND own AND id = ? AND arrived IS NULL"
        changed = [self._store.execute(sql, now, device, each) > 0 for each in ids if isinstance(each, bytes)]
        return any(changed)

    def receive(self, device: str, inside: dict[str, Any], now: float, known: bool) -> None:
        """Somebody's message has come; Refused if it is none, has come before, or is one too many of strangers."""
        match inside:
            case {"id": bytes() as id_, "clock": int() as clock, "sent": float() as sent, "type": str() as kind}:
                content = inside.get("content")
            case _:
                raise Refused("malformed")
        if not isinstance(content, bytes) or len(id_) != 16 or clock < 0 or not 0 <= sent < 1e11:
            raise Refused("malformed")
        if not known and self._of_strangers(device) >= _MOST_OF_STRANGERS:
            raise Refused("oversized")
        clock = min(clock, self._clock(device) + _FARTHEST)
        if not self._add(device, False, id_, clock, sent, now, now, kind, content):
            raise Refused("replayed")

    def unanswered(self) -> dict[str, list[bytes]]:
        """Messages that have come and whose senders have not been told so, by sender."""
        found: dict[str, list[bytes]] = {}
        for device, id_ in self._store.select("SELECT device, id FROM letters WHERE NOT own AND arrived IS NULL"):
            found.setdefault(device, []).append(id_)
        return found

    def answered(self, device: str, ids: Iterable[bytes], now: float) -> None:
        """Their sender is told."""
        for id_ in ids:
            sql = "UPDATE letters SET arrived = ? WHERE device = ? AND NOT own AND id = ?"
            self._store.execute(sql, now, device, id_)

    def read(self, device: str) -> None:
        """The owner has seen everything of somebody."""
        self._store.execute("UPDATE letters SET done = 1 WHERE device = ? AND NOT own AND NOT done", device)

    def forget(self, device: str) -> None:
        """Delete a conversation, and overwrite it on the disk; only ids stay, so that nothing is taken again."""
        self._store.erase("UPDATE letters SET content = x'', kind = '' WHERE device = ?", device)

    def clean(self, now: float) -> None:
        """Forget ids that cannot come again, and who carried what has arrived."""
        self._store.execute(f"DELETE FROM letters WHERE NOT ({_SHOWN}) AND at < ?", now - KEPT)
        self._store.execute(
            "DELETE FROM carriers WHERE publication NOT IN "
            "(SELECT publication FROM letters WHERE publication IS NOT NULL AND arrived IS NULL)"
        )

    def with_device(self, device: str, now: float, most: int = 200) -> list[Letter]:
        """The latest messages of a conversation, in order."""
        order = f"clock DESC, (CASE own WHEN 1 THEN '{self._own}' ELSE device END) DESC, number DESC LIMIT {int(most)}"
        return self._select(f"device = ? AND {_SHOWN}", order, device, now=now)[::-1]

    def latest(self, now: float) -> list[tuple[Letter, int]]:
        """The last message of every conversation, latest first, and how many of it were not read."""
        sql = f"SELECT device, count(*) FROM letters WHERE NOT own AND NOT done AND {_SHOWN} GROUP BY device"
        unread = dict(self._store.select(sql))
        devices = self._store.select(
            f"SELECT device FROM letters WHERE {_SHOWN} GROUP BY device ORDER BY max(number) DESC"
        )
        return [(self.with_device(device, now, 1)[0], unread.get(device, 0)) for (device,) in devices]

    def one(self, number: int, now: float) -> Letter:
        """A message by its number."""
        return self._select("number = ?", "number", number, now=now)[0]

    def wrote_to(self, device: str) -> bool:
        """Whether the owner has ever written to somebody."""
        return bool(self._store.select(f"SELECT 1 FROM letters WHERE device = ? AND own AND {_SHOWN} LIMIT 1", device))

    def _add(self, device: str, own: bool, *values: object) -> bool:
        sql = (
            "INSERT OR IGNORE INTO letters (device, own, id, clock, sent, at, expires, kind, content) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        return self._store.execute(sql, device, own, *values) > 0

    def _clock(self, device: str) -> int:
        return int(self._store.select("SELECT coalesce(max(clock), 0) FROM letters WHERE device = ?", device)[0][0])

    def _of_strangers(self, device: str) -> int:
        """Messages of those to whom the owner has never written; in one's own conversation all count."""
        sql = (
            "SELECT count(*) FROM letters a WHERE NOT own AND kind <> '' AND (device = ? OR NOT EXISTS "
            "(SELECT 1 FROM letters b WHERE b.device = a.device AND b.own))"
        )
        return int(self._store.select(sql, device)[0][0])

    def _select(self, where: str, order: str, *values: object, now: float) -> list[Letter]:
        rows = self._store.select(f"SELECT {_COLUMNS} FROM letters WHERE {where} ORDER BY {order}", *values)
        return [_letter(row, now) for row in rows]


def _letter(row: tuple[Any, ...], now: float) -> Letter:
    number, device, own, id_, sent, at, expires, kind, content, _, arrived, done, carriers = row
    state: State = "waiting"
    if not own:
        state = "received"
    elif arrived is not None:
        state = "arrived"
    elif expires <= now:
        state = "expired"
    elif carriers:
        state = "carried"
    return Letter(number, device, bool(own), id_, sent, at, content, kind, expires, state, carriers, bool(done))
