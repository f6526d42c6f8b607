"""What a node offers for people and groups: the part of :class:`~hunet.node.node.Node` that is about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from hunet.model import MessageSet, members
from hunet.node.publication import WEEK, Group, is_private

if TYPE_CHECKING:
    import asyncio
    from contextlib import AbstractContextManager

    from hunet.node.clock import SteadyClock
    from hunet.node.conversations import Letter
    from hunet.node.driver import LiveDriver
    from hunet.node.private import Private
    from hunet.node.store import Store
    from hunet.node.trust import AddressBook


class People(ABC):
    """Direct messages and groups of a node."""

    book: AddressBook
    _private: Private
    _store: Store
    _driver: LiveDriver
    _clock: SteadyClock
    _queues: dict[str, asyncio.Queue[bytes]]

    @abstractmethod
    def _check_running(self) -> None: ...

    @abstractmethod
    def _date(self) -> float: ...

    @abstractmethod
    def _watched(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _tell(self, what: str, **details: Any) -> None: ...

    @abstractmethod
    def _send(self, device: str, frame: bytes) -> None: ...

    async def send(
        self, whom: str, content: str | bytes, *, ttl: float = WEEK, content_type: str | None = None
    ) -> Letter:
        """Write to somebody (a petname, a key, or the beginning of one); returns when it is on the disk.

        Only that device can read it, and nobody else can tell who wrote it: see ``hunet.node.direct``.
        """
        self._check_running()
        letter = self._private.write(whom, content, self._date(), ttl, content_type)
        self._tell("direct", device=letter.device)
        return letter

    def conversation(self, whom: str, most: int = 200) -> list[Letter]:
        """The latest direct messages with somebody, own and theirs, in order."""
        return self._private.conversations.with_device(self.book.find(whom), self._clock(), most)

    def conversations(self) -> list[tuple[Letter, int]]:
        """The last message of each conversation, latest first, and how many of each have not been read."""
        return self._private.conversations.latest(self._clock())

    def read(self, whom: str) -> None:
        """Say that all messages of somebody have been seen."""
        self._private.conversations.read(self.book.find(whom))
        self._store.commit()

    def forget(self, whom: str) -> None:
        """Delete the conversation with somebody."""
        self._private.conversations.forget(self.book.find(whom))

    def safety_number(self, whom: str) -> tuple[str, str]:
        """The key of somebody, and the digits to compare with what their device shows for this one."""
        return self._private.safety_number(whom)

    def verify(self, whom: str, same: bool = True) -> str:
        """Note that the safety numbers were compared and are the same; gives the key."""
        device = self.book.find(whom)
        self.book.verify(device, same)
        return device

    def groups(self) -> dict[str, list[str]]:
        """The groups of this device, and the other devices that are known to be their members."""
        return {name: self._private.groups.members(name) for name in self._private.groups.names()}

    def group(self, word: str) -> Group:
        """The group that a name or an invitation stands for."""
        return self._private.groups.find(word)

    def join(self, group: Group) -> None:
        """Belong to a group from now on, until :meth:`leave`, over restarts too."""
        self._check_running()
        with self._watched():
            self._private.join(group, self._date())

    def leave(self, name: str) -> None:
        """Belong to a group no longer; its keys are deleted."""
        self._check_running()
        with self._watched():
            self._private.leave(name, self._clock())

    def remove_member(self, name: str, whom: str) -> int:
        """Give a group a new key that somebody does not get; how many others do, as soon as they can be reached."""
        self._check_running()
        with self._watched():
            return self._private.remove_member(name, whom, self._date())

    def renew_keys(self) -> None:
        """Do what is due by the clock: new prekeys and tags, old ones deleted."""
        with self._watched():
            if self._private.refresh(self._clock()):
                self._tell_announcements()

    def _handed(self, device: str, messages: MessageSet) -> None:
        """A neighbour has messages: of direct ones it is noted who carries them."""
        for number in members(messages):
            message = self._driver.messages[number]
            if is_private(message.topic) and self._private.conversations.handed(message.id, device):
                self._tell("direct", device=None)

    def _tell_announcements(self) -> None:
        for device in list(self._queues):
            self._give_announcements(device)

    def _give_announcements(self, device: str) -> None:
        if device in self._queues:
            for frame in self._private.frames_for(device, self._clock()):
                self._send(device, frame)
