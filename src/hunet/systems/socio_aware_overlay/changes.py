"""What has changed since a peer was last sent it, so that it is sent once."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")


class Changes(Generic[Key]):
    """Keys in the order in which what they stand for last changed.

    >>> changes = Changes[str]()
    >>> for name in ("ann", "bob", "ann"):
    ...     changes.add(name)
    >>> changes.count, changes.since(0), changes.since(2)
    (3, ['ann', 'bob'], ['ann'])
    """

    def __init__(self) -> None:
        self.count = 0
        """How many changes there have been."""
        self._last: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        """It has changed."""
        self.count += 1
        self._last.pop(key, None)
        self._last[key] = self.count

    def forget(self, key: Key) -> None:
        """It is told to nobody any more."""
        self._last.pop(key, None)

    def since(self, count: int) -> list[Key]:
        """The keys that have changed after so many changes, the latest first."""
        found: list[Key] = []
        if count == self.count:
            return found
        for key, last in reversed(self._last.items()):
            if last <= count:
                break
            found.append(key)
        return found
