"""The packets of a carrier, which has them too: ``from hunet.protocols.carrier import Seen``.

They stand apart because the carrier is compiled (``setup.py``), and packets of others derive from these: a compiled
class takes none of them for its own.
"""

from __future__ import annotations

from hunet.model import MessageSet, PerMessage, Topic
from hunet.protocols.byte_streams import KIND_BYTES, ids_size, texts_size
from hunet.protocols.contract import Control, Data


class Seen(Control, frozen=True, gc=False):
    """Messages that the sender has, or has had: no need to send them (the summary vector of epidemic routing)."""

    messages: MessageSet

    @property
    def size(self) -> int:
        return KIND_BYTES + ids_size(self.messages.bit_count())

    @property
    def seen_bytes(self) -> int:
        return ids_size(self.messages.bit_count())


class Have(Control, frozen=True, gc=False):
    """Messages that the sender has just received, told to those who are listening already."""

    messages: MessageSet

    @property
    def size(self) -> int:
        return KIND_BYTES + ids_size(self.messages.bit_count())

    @property
    def seen_bytes(self) -> int:
        return ids_size(self.messages.bit_count())


class Interests(Control, frozen=True, gc=False):
    """The sender's own topics, in sorted order, all of them."""

    topics: tuple[Topic, ...]

    @property
    def size(self) -> int:
        return KIND_BYTES + texts_size(self.topics)

    @property
    def seen_bytes(self) -> int:
        return 0


class Carried(Data, frozen=True, gc=False):
    """Messages with the number of transmissions behind each, this one included; highest number first."""

    hops: PerMessage
