"""What has been sent to whom: an update is sent once, and a device that has missed one asks for the whole state.

The updates that a device sends to a peer are numbered. In a contact with nothing to send, :class:`Unchanged` has the
number of the last one, so that a loss shows in the next contact.
"""

from __future__ import annotations

_LATER = 10_000
"""A device that has lost its memory counts on from another number than before, most probably."""


class PeerExchange:
    """What a device has sent to one peer and received from it.

    >>> ann, bob = PeerExchange(), PeerExchange()
    >>> ann.begin(now=0.0)
    >>> bob.accepts(ann.next(), full=True)
    True
    >>> lost, later = ann.next(), ann.next()
    >>> bob.accepts(later), bob.may_ask(), bob.may_ask()  # once in a contact
    (False, True, False)
    """

    __slots__ = ("_answered", "_asked", "began", "community", "directory", "received", "sent", "subscriptions")

    def __init__(self) -> None:
        self.began = False
        """Whether the peer has been sent the whole state, and all changes since."""
        self.sent = -1
        """The number of the last update to the peer."""
        self.received = -2
        """The number of the last update from the peer."""
        self.community = -1
        """The number of changes of the community that the peer knows; each is -1 as long as it knows none."""
        self.directory = -1
        self.subscriptions = -1
        self._asked = self._answered = False

    def begin(self, now: float) -> None:
        """The peer is about to be sent the whole state."""
        self.began, self.sent = True, int(now) % _LATER
        self.community = self.directory = self.subscriptions = -1

    def next(self) -> int:
        """The number of the next update."""
        self.sent += 1
        return self.sent

    def accepts(self, number: int, full: bool = False) -> bool:
        """An update has come; whether it can be used: it is the whole state, or follows the one before."""
        if not full and number != self.received + 1:
            return False
        self.received = number
        return True

    def may_ask(self) -> bool:
        """Whether to ask the peer for the whole state: once in a contact."""
        asked, self._asked = self._asked, True
        return not asked

    def may_answer(self) -> bool:
        """The peer asks for the whole state; whether it gets that: once in a contact."""
        answered, self._answered = self._answered, True
        if not answered:
            self.began = False
        return not answered

    def link_down(self) -> None:
        """The contact ends."""
        self._asked = self._answered = False
