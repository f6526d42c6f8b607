"""Packets: what devices send each other.

These are the bases. Packets are plain records. ``./run compile`` leaves this module as it is: packages of others add
classes of their own.
"""

from __future__ import annotations

from functools import cache

import msgspec

from hunet.model import MessageSet
from hunet.protocols.byte_streams import ID_BYTES, ids_size
from hunet.protocols.forms import Layout

__all__ = ["ID_BYTES", "Control", "Data", "Packet", "layout_of"]


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


@cache
def layout_of(kind: type[Packet]) -> Layout:
    """How the packets of a class are written."""
    return Layout(kind, carries=issubclass(kind, Data))
