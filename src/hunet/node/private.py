"""What a node does for people and groups: direct messages, announcements of prekeys, and the private topics it follows.

The driver shows what arrives on a private topic (:meth:`Private.arrived`) within the transaction in which the protocol
delivers it: so a message is in its conversation, on the disk, before anybody is told that it has come. What follows
from it (an answer that it has arrived, a new tag of a group to follow) is done afterwards, by :meth:`Private.settle`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hunet.model import ConfigurationError, OutputError, PeerError
from hunet.node import wire
from hunet.node.conversations import REKEY, TEXT, Conversations, Letter
from hunet.node.direct import safety_number, seal, unseal
from hunet.node.groups import HELLO, GroupBook, label_of
from hunet.node.prekeys import AnnouncementBook, Prekeys, read_announcement
from hunet.node.publication import WEEK, Group, Opened, Publication, Refused, read_publication
from hunet.node.store import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hunet.node.driver import LiveDriver
    from hunet.node.identity import Identity
    from hunet.node.trust import AddressBook

_MOST_IDS = 500
"""Arrived messages that one answer names."""


class Private:
    """Direct messages and groups of a node; ``publish`` carries a publication of this device's own.

    A device that is not ``direct`` has no prekeys: it announces nothing, and nobody can write to it.
    """

    def __init__(
        self,
        driver: LiveDriver,
        identity: Identity,
        book: AddressBook,
        publish: Callable[[Publication], None],
        direct: bool = True,
    ) -> None:
        self._direct = direct
        self._driver, self._identity, self._book, self._publish = driver, identity, book, publish
        self.conversations = Conversations(driver.store, identity.device)
        self.groups = GroupBook(driver.store, identity.device)
        self._prekeys = Prekeys(driver.store, identity)
        self.announcements = AnnouncementBook(driver.store, identity.device, self.knows)
        self._inboxes = self._prekeys.topics()
        self._rekeyed = self._settling = False
        self._problem: OutputError | None = None
        driver.private = self

    # What to follow ---------------------------------------------------------------------------------------------------

    def refresh(self, now: float) -> bool:
        """Renew keys that are due, and follow the topics of today; whether there is a new prekey to tell of."""
        renewed = self._direct and self._prekeys.rotate(now)
        self.groups.clean(now)
        self.conversations.clean(now)
        self._driver.store.commit()
        self._inboxes = self._prekeys.topics()
        wanted = {*self._inboxes, *self.groups.topics(now)}
        followed = {topic for topic in self._driver.store.subscriptions() if topic.startswith("~")}
        for topic in sorted(followed - wanted):
            self._driver.unsubscribe(topic)
        for topic in sorted(wanted - followed):
            self._driver.subscribe(topic)
        if renewed:
            self.announcements.renew()
        return renewed

    def knows(self, device: str) -> bool:
        """Whether the owner has named somebody, or written to them."""
        entry = self._book.entries().get(device)
        return (entry is not None and not entry.stranger) or self.conversations.wrote_to(device)

    # What comes -------------------------------------------------------------------------------------------------------

    def arrived(self, author: str, encoded: bytes, now: float) -> str | None:
        """What came on a private topic; the label under which applications get it, None if it is not theirs."""
        try:
            publication = read_publication(encoded, now, self._driver.limits)
            prekey = self._inboxes.get(publication.topic)
            if prekey is not None:
                self._take(*unseal(prekey, publication), now)
                return None
            name, opened = self.groups.open(publication)
        except Refused as refused:
            self._driver.count(f"refused: {refused.reason}")
            return None
        self.groups.add_member(name, author)
        return None if opened.content_type == HELLO else label_of(name)

    def open(self, publication: Publication) -> tuple[str, Opened]:
        """The group that a delivery belongs to, and what is inside."""
        return self.groups.open(publication)

    def _take(self, device: str, inside: dict[str, Any], now: float) -> None:
        if self._book.blocked(device) or device == self._identity.device:
            raise Refused("blocked")
        self._learn(device, inside.get("announcement"), now)
        match inside:
            case {"kind": "text"}:
                self.conversations.receive(device, inside, now, self.knows(device))
                self._driver.count("direct messages")
            case {"kind": "arrived", "ids": list(ids)} if len(ids) <= _MOST_IDS:
                self.conversations.arrived(device, ids, now)
            case {"kind": "rekey", "of": bytes() as old, "key": bytes() as key, "removed": list(removed)}:
                gone = [each for each in removed if isinstance(each, str)]
                if not self.groups.rekey(device, old, key, gone, now):
                    raise Refused("not a member")
                self._rekeyed = True
            case _:
                raise Refused("malformed")

    def _learn(self, device: str, encoded: Any, now: float) -> None:
        """Who writes says to which key an answer is sealed."""
        try:
            announcement = read_announcement(encoded, now) if isinstance(encoded, bytes) else None
        except PeerError:
            announcement = None
        if announcement is not None and announcement.device == device:
            self.announcements.add(announcement, self._identity.device, now)

    def settle(self, now: float) -> None:
        """Send what can be sent: messages that waited for a key, and answers that messages have come."""
        if self._settling:  # something has come while it was sending: it looks again when it is done
            return
        self._settling = True
        try:
            while self._send_all(now):
                pass
        finally:
            self._settling = False
        self._driver.store.commit()

    def _send_all(self, now: float) -> bool:
        """Whether something was sent: then there may be more."""
        sent = False
        if self._rekeyed:
            self._rekeyed = False
            self.refresh(now)
        for letter, clock in self.conversations.unsent(now):
            kind, fields = "text", {"type": letter.content_type, "content": letter.content, "clock": clock}
            if letter.content_type == REKEY:
                kind, fields = "rekey", wire.decode(letter.content)
            publication = self._send(
                letter.device, kind, now, letter.id, letter.expires - now, **fields, sent=letter.sent
            )
            sent = sent or publication is not None
            if publication is not None and kind == "rekey":
                self.conversations.drop(letter.number)
            elif publication is not None:
                self.conversations.sent_as(letter.number, publication.id)
        for device, ids in self.conversations.unanswered().items():
            if self.knows(device) and self._send(device, "arrived", now, ids=ids[:_MOST_IDS]) is not None:
                self.conversations.answered(device, ids[:_MOST_IDS], now)
                sent = True
        return sent

    def _send(
        self, device: str, kind: str, now: float, id_: bytes = b"", ttl: float = WEEK, **inside: Any
    ) -> Publication | None:
        """Seal something to a device and publish it; None if no key of it is known, or a worthless one."""
        announcement = self.announcements.of(device, now)
        if announcement is None or not self._inboxes:
            return None
        own = self._prekeys.announcement().to_bytes()
        whole = {"kind": kind, "id": id_ or os.urandom(16), "announcement": own, **inside}
        try:
            publication = seal(self._identity, announcement, whole, now, ttl)
            self._publish(publication)
        except PeerError:
            return None
        except DamagedError:
            raise
        except OutputError as problem:  # no room: it is tried again with the next that comes or goes
            self._problem = problem
            return None
        return publication

    # Neighbours -------------------------------------------------------------------------------------------------------

    def hear(self, giver: str, announcements: list[Any], now: float) -> bool:
        """A neighbour tells of announcements; whether there is news for the others."""
        new = self.announcements.hear(giver, announcements, now)
        if new:
            self.settle(now)
        return bool(new)

    def frames_for(self, neighbour: str, now: float) -> Iterator[bytes]:
        """The announcements that a neighbour has not been told of."""
        if not self._inboxes:  # it is not direct, or there was no room on the disk for a prekey
            return iter(())
        return self.announcements.frames_for(neighbour, self._prekeys.announcement(), now)

    # The owner --------------------------------------------------------------------------------------------------------

    def write(self, whom: str, content: str | bytes, now: float, ttl: float, content_type: str | None) -> Letter:
        """Send a message to somebody; on the disk when this returns."""
        device = self._book.find(whom)
        if not self._direct:
            raise ConfigurationError("this node was started without direct messages")
        if device == self._identity.device:
            raise ConfigurationError("this is the device itself; write to somebody else")
        if self._book.blocked(device):
            raise ConfigurationError(f"{self._book.call(device)} is blocked; unblock them first: hunet peers --unblock")
        payload = content.encode() if isinstance(content, str) else content
        kind = content_type or (TEXT if isinstance(content, str) else "application/octet-stream")
        number = self.conversations.write(device, payload, kind, now, ttl)
        self._driver.store.commit()
        self._problem = None
        self.settle(now)
        if self._problem is not None:
            self.conversations.drop(number)
            raise self._problem
        return self.conversations.one(number, now)

    def safety_number(self, whom: str) -> tuple[str, str]:
        """The key of somebody, and the digits that are compared with what their device shows."""
        device = self._book.find(whom)
        return device, safety_number(self._identity.device, device)

    def join(self, group: Group, now: float) -> None:
        """Belong to a group from now on, and let the other members know."""
        if self.groups.join(group):
            self._driver.store.commit()
            self.refresh(now)
            self._publish(group.seal(self._identity, b"", created=now, ttl=WEEK, content_type=HELLO))

    def leave(self, name: str, now: float) -> None:
        """Belong to a group no longer."""
        self.groups.leave(name)
        self.refresh(now)

    def remove_member(self, name: str, whom: str, now: float) -> int:
        """Give a group a new key without somebody; how many others are sent it, as soon as their keys are known."""
        device = self._book.find(whom)
        old, key = self.groups.remove(name, device, now)
        self._driver.store.commit()
        self.refresh(now)
        others = self.groups.members(name)
        for other in others:
            letter = wire.encode({"of": old, "key": key, "removed": [device]})
            self.conversations.write(other, letter, REKEY, now, WEEK)
        self.settle(now)
        return len(others)
