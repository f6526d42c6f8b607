"""B-SUB's packets, and the form in which its filters travel.

The genuine filter has no counters (section 4.4): the set positions, a byte each, or the bit vector where that is
shorter. The relay filter is groups of equal counters: the value, their number less one, and their positions, a byte
each, so that a tag takes at most 4 bytes (section 6.1) where values are shared. These bytes are what
:attr:`Filters.filter_bytes` counts. Around them a greeting has two counts, how many counters a filter has, and the
messages that were seen.

>>> from hunet.systems.b_sub.filter import FilterShape
>>> shape = FilterShape()
>>> told = Filters(shape.of(["NewMoon"]).to_plain_wire(), shape.of(["openwebawards"]).counters)
>>> told.filter_bytes, told.size
(8, 14)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from hunet.model import MessageSet, PeerError, Topic
from hunet.protocols.byte_streams import KIND_BYTES, Reader, Widths, Writer, count_size, ids_size
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Control
from hunet.protocols.forms import Form, NotSent
from hunet.systems.b_sub.filter import FilterShape, read_counters, wire_size, write_counters


class _Counters(Form):
    """The counters of a filter: how many, less one, and the groups of those that are not 0."""

    def size(self, value: bytes, widths: Widths) -> int:  # noqa: ARG002
        length = wire_size(value)
        return 1 + count_size(length) + length

    def write(self, value: bytes, to: Writer) -> None:
        groups = write_counters(value)
        to.data.append(len(value) - 1)
        to.count(len(groups))
        to.data += groups

    def read(self, source: Reader) -> bytes:
        counters = source.take(1)[0] + 1
        return read_counters(source.take(source.count()), counters)


class Truth(msgspec.Struct, frozen=True, gc=False):
    """What filters stand for. Studies send it along to tell false positives; it never goes over a real link."""

    own: tuple[Topic, ...]
    relayed: Mapping[Topic, int]


class Filters(Control, frozen=True, gc=False):
    """A greeting: the sender's own interests, those that it relays (B-SUB-P has both there), and what it has seen."""

    genuine: bytes
    """The genuine filter as it goes over the wire."""
    relay: Annotated[bytes, _Counters()]
    """The counters of the relay filter, one after the other."""
    truth: Annotated[Truth | None, NotSent()] = None
    seen: MessageSet = 0
    """Messages that nobody need send it."""

    @property
    def filter_bytes(self) -> int:
        """What the filters take of the packet."""
        return len(self.genuine) + wire_size(self.relay)

    @property
    def size(self) -> int:
        genuine, relay = len(self.genuine), wire_size(self.relay)
        filters = count_size(genuine) + genuine + 1 + count_size(relay) + relay
        return KIND_BYTES + filters + ids_size(self.seen.bit_count())


class Forward(Carried, frozen=True, gc=False):
    """Messages, and which of them the receiver's genuine filter asked for."""

    direct: MessageSet


def check_filters(told: Filters, shape: FilterShape) -> None:
    """Refuse filters that no honest device makes."""
    if shape.from_plain_wire(told.genuine).to_plain_wire() != told.genuine:
        raise PeerError("a plain filter came longer than it need be")
    if len(told.relay) != shape.counters:
        raise PeerError(
            f"a peer's filter has {len(told.relay)} counters, ours {shape.counters}: all devices of a network must "
            "share these parameters"
        )
    if max(told.relay) > shape.ceiling:
        raise PeerError(f"a peer's counters exceed our ceiling of {shape.ceiling}: devices must share this parameter")
