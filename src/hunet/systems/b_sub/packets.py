"""B-SUB's packets, and its filters as bytes.

On a real link the filters travel as CBOR: ``["b-sub", m, k, genuine, relay]``. The genuine filter has no counters
(section 4.4): the set positions, a byte each, or the bit vector where that is shorter. The relay filter is groups of
equal counters: the value, their number less one, and their positions, a byte each, so that a tag takes at most 4 bytes
(section 6.1) where values are shared. The bytes of these two are what the metrics count; the few of CBOR around them
are not.

>>> from hunet.systems.b_sub.filter import FilterShape
>>> shape = FilterShape()
>>> told = Filters(shape.of(["NewMoon"]).to_plain_wire(), shape.of(["openwebawards"]).counters)
>>> told.filter_bytes, len(to_wire(told, shape))
(8, 21)
>>> from_wire(to_wire(told, shape), shape) == told
True
"""

from __future__ import annotations

from collections.abc import Mapping

import cbor2
import msgspec

from hunet.model import MessageSet, PeerError, Topic
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import ID_BYTES, Control
from hunet.systems.b_sub.filter import FilterShape, TemporalCountingBloomFilter, wire_size

_KIND = "b-sub"
_LONGEST = 2000
"""More bytes than any greeting needs: 256 positions and twice 255 values, a bit vector, and CBOR."""


class Truth(msgspec.Struct, frozen=True, gc=False):
    """What filters stand for. Studies send it along to tell false positives; it never goes over a real link."""

    own: tuple[Topic, ...]
    relayed: Mapping[Topic, int]


class Filters(Control, frozen=True, gc=False):
    """A greeting: the sender's own interests, those that it relays (B-SUB-P has both there), and what it has seen."""

    genuine: bytes
    """The genuine filter as it goes over the wire."""
    relay: bytes
    """The counters of the relay filter, one after the other."""
    truth: Truth | None = None
    seen: MessageSet = 0
    """Messages that nobody need send it."""

    @property
    def filter_bytes(self) -> int:
        """What the filters take on the wire."""
        return len(self.genuine) + wire_size(self.relay)

    @property
    def size(self) -> int:
        return self.filter_bytes + ID_BYTES * self.seen.bit_count()


class Forward(Carried, frozen=True, gc=False):
    """Messages, and which of them the receiver's genuine filter asked for."""

    direct: MessageSet


def to_wire(told: Filters, shape: FilterShape) -> bytes:
    """A greeting as CBOR."""
    relay = TemporalCountingBloomFilter(shape, told.relay).to_wire()
    return cbor2.dumps([_KIND, shape.counters, shape.hashes, told.genuine, relay])


def from_wire(data: bytes, shape: FilterShape) -> Filters:
    """The greeting that :func:`to_wire` wrote; anything else is refused as the peer's fault."""
    if len(data) > _LONGEST:
        raise PeerError(f"a greeting of {len(data)} bytes: no filters are that long")
    try:
        plain = cbor2.loads(data)
    except (cbor2.CBORDecodeError, ValueError, RecursionError) as error:
        raise PeerError(f"a greeting that is not CBOR: {error}") from None
    match plain:
        case [str(kind), int(counters), int(hashes), bytes(genuine), bytes(relay)] if kind == _KIND:
            if (counters, hashes) != (shape.counters, shape.hashes):
                raise PeerError(
                    f"a peer's filters have {counters} counters and {hashes} hashes, ours {shape.counters} and "
                    f"{shape.hashes}: all devices of a network must share these parameters"
                )
            told = Filters(genuine, shape.from_wire(relay).counters)
            check_filters(told, shape)
            return told
        case _:
            raise PeerError("a greeting that is not B-SUB's")


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
    if told.truth is not None:
        raise PeerError("a peer's filters came with what they stand for: that is for studies")
