"""Packets: what devices send each other, and those that several protocols share.

They are plain records, and what ``./run compile`` leaves as it is: packages of others add classes of their own.
"""

from __future__ import annotations

from functools import cache

import msgspec

from hunet.model import MessageSet, PerMessage, Topic
from hunet.protocols.byte_streams import ID_BYTES, KIND_BYTES, ids_size, texts_size
from hunet.protocols.forms import Layout

__all__ = ["ID_BYTES", "Carried", "Control", "Data", "Have", "Interests", "Packet", "Seen", "layout_of"]


class Packet(msgspec.Struct, frozen=True, gc=False):
    """What one device sends to another. Fields are plain data, so that a packet can be logged and sent for real."""


class Control(Packet, frozen=True, gc=False):
    """Knowledge about people: interests, summaries, filters, utilities."""

    @property
    def size(self) -> int:
        """Bytes as they are sent; ``forms`` says what is counted. Where it is asked often, a class has its formula."""
        return layout_of(type(self)).size(self)

    @property
    def seen_bytes(self) -> int:
        """Of them, those that name messages: what spares duplicates, and is no knowledge about people."""
        layout = layout_of(type(self))
        return ids_size(layout.named(self)[1].bit_count()) if layout.lists_messages else 0


class Data(Packet, frozen=True, gc=False):
    """Messages on their way; their sizes are the driver's to know. Systems add what their copies carry."""

    messages: MessageSet


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


class Interests(Control, frozen=True, gc=False):
    """The sender's own topics, in sorted order, all of them."""

    topics: tuple[Topic, ...]

    @property
    def size(self) -> int:
        return KIND_BYTES + texts_size(self.topics)


class Carried(Data, frozen=True, gc=False):
    """Messages with the number of transmissions behind each, this one included; highest number first."""

    hops: PerMessage


@cache
def layout_of(kind: type[Packet]) -> Layout:
    """How the packets of a class are written."""
    return Layout(kind, carries=issubclass(kind, Data))
