"""Packets: what devices send each other, and those that several protocols share.

They are plain records, and what ``./run compile`` leaves as it is: packages of others add classes of their own.
"""

from __future__ import annotations

import msgspec

from hunet.model import MessageSet, PerMessage, Topic, members

ID_BYTES = 8
"""What one message id costs in a control packet."""


class Packet(msgspec.Struct, frozen=True, gc=False):
    """What one device sends to another. Fields are plain data, so that a packet can be logged and sent for real."""


class Control(Packet, frozen=True, gc=False):
    """Knowledge about people: interests, summaries, filters, utilities."""

    @property
    def size(self) -> int:
        """Bytes, for the metrics."""
        raise NotImplementedError


class Data(Packet, frozen=True, gc=False):
    """Messages on their way; their sizes are the driver's to know. Systems add what their copies carry."""

    messages: MessageSet


class Seen(Control, frozen=True, gc=False):
    """Messages that the sender has, or has had: no need to send them (the summary vector of epidemic routing)."""

    messages: MessageSet

    @property
    def size(self) -> int:
        return ID_BYTES * self.messages.bit_count()


class Have(Control, frozen=True, gc=False):
    """Messages that the sender has just received, told to those who are listening already."""

    messages: MessageSet

    @property
    def size(self) -> int:
        return ID_BYTES * len(members(self.messages))


class Interests(Control, frozen=True, gc=False):
    """The sender's own topics, in sorted order, all of them."""

    topics: tuple[Topic, ...]

    @property
    def size(self) -> int:
        return sum(len(topic.encode()) for topic in self.topics)


class Carried(Data, frozen=True, gc=False):
    """Messages with the number of transmissions behind each, this one included; highest number first."""

    hops: PerMessage
