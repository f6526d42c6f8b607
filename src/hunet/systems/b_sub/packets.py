"""B-SUB's packets, and the form in which its filters travel.

The genuine filter has no counters (section 4.4); the relay filter has groups of equal ones (``wire`` has both). These
bytes are what :attr:`Filters.filter_bytes` counts. Around them a greeting has counts, how many counters there are, and
the messages that were seen.

>>> from hunet.systems.b_sub.filter import FilterShape
>>> shape = FilterShape()
>>> filters = Filters(shape.of(["NewMoon"]).to_plain_wire(), shape.of(["openwebawards"]).counters)
>>> filters.filter_bytes, filters.size
(8, 15)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from hunet.model import MessageSet, PeerError, Topic
from hunet.protocols.byte_streams import KIND_BYTES, Reader, Widths, Writer, count_size, ids_size
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Control
from hunet.protocols.forms import Form, NotSent
from hunet.systems.b_sub.filter import MOST_FILTERS, FilterShape
from hunet.systems.b_sub.wire import BLOCK, blocks, read_counters, values_of, wire_size, write_counters


class _Counters(Form):
    """The counters of filters, each of so many bytes: how many, less one, and the groups of each block."""

    def __init__(self, width: int) -> None:
        self.width = width

    def size(self, value: bytes, widths: Widths) -> int:  # noqa: ARG002
        return counters_size(value, self.width)

    def write(self, value: bytes, to: Writer) -> None:
        to.count(len(value) // self.width - 1)
        for block in blocks(value, self.width):
            groups = write_counters(block, self.width)
            to.count(len(groups))
            to.data += groups

    def read(self, source: Reader) -> bytes:
        left, found = source.number() + 1, []
        if left > BLOCK * MOST_FILTERS:
            raise PeerError(f"filters of {left} counters: no device has more than {BLOCK * MOST_FILTERS}")
        while left > 0:
            found.append(read_counters(source.take(source.count()), min(left, BLOCK), self.width))
            left -= BLOCK
        return b"".join(found)


def counters_size(counters: bytes, width: int) -> int:
    """Bytes of filters in a greeting, with all counts."""
    if len(counters) <= BLOCK and width == 1:
        length = wire_size(counters)
        return count_size(len(counters) - 1) + count_size(length) + length
    lengths = [wire_size(block, width) for block in blocks(counters, width)]
    return count_size(len(counters) // width - 1) + sum(count_size(length) + length for length in lengths)


class Truth(msgspec.Struct, frozen=True, gc=False):
    """What filters stand for. Studies send it along to tell false positives; it never goes over a real link."""

    own: tuple[Topic, ...]
    relayed: Mapping[Topic, int]


class Filters(Control, frozen=True, gc=False):
    """A greeting: the sender's own interests, those that it relays (B-SUB-P has both there), and what it has seen."""

    genuine: bytes
    """The genuine filter as it goes over the wire."""
    relay: Annotated[bytes, _Counters(1)]
    """The counters of the relay filter, one after the other."""
    truth: Annotated[Truth | None, NotSent()] = None
    seen: MessageSet = 0
    """Messages that nobody need send it."""

    width: ClassVar[int] = 1
    """Bytes of a counter."""

    @property
    def filter_bytes(self) -> int:
        """What the filters take of the packet."""
        return len(self.genuine) + wire_size(self.relay, self.width)

    @property
    def size(self) -> int:
        genuine = len(self.genuine)
        filters = count_size(genuine) + genuine + counters_size(self.relay, self.width)
        return KIND_BYTES + filters + ids_size(self.seen.bit_count())

    @property
    def seen_bytes(self) -> int:
        return ids_size(self.seen.bit_count())


class WideFilters(Filters, frozen=True, gc=False):
    """A greeting with counters of two bytes."""

    relay: Annotated[bytes, _Counters(2)]
    width: ClassVar[int] = 2


class WidestFilters(Filters, frozen=True, gc=False):
    """A greeting with counters of four bytes."""

    relay: Annotated[bytes, _Counters(4)]
    width: ClassVar[int] = 4


GREETINGS = {kind.width: kind for kind in (Filters, WideFilters, WidestFilters)}
"""The greeting for counters of so many bytes."""


class Forward(Carried, frozen=True, gc=False):
    """Messages, and which of them the receiver's genuine filter asked for."""

    direct: MessageSet


def check_filters(filters: Filters, shape: FilterShape) -> None:
    """Refuse filters that no honest device makes."""
    if shape.from_plain_wire(filters.genuine).to_plain_wire() != filters.genuine:
        raise PeerError("a plain filter came longer than it need be")
    if filters.width != shape.width or len(filters.relay) != shape.total * shape.width:
        raise PeerError(
            f"a peer's filters have {len(filters.relay) // filters.width} counters of {filters.width} bytes, ours "
            f"{shape.total} of {shape.width}: all devices of a network must share these parameters"
        )
    if max(values_of(filters.relay, filters.width)) > shape.ceiling:
        raise PeerError(f"a peer's counters exceed our ceiling of {shape.ceiling}: devices must share this parameter")
