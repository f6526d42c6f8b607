"""Packets as bytes: what devices send each other. ``forms`` has the format of each type of field.

A packet begins with its kind (2 bytes, a hash of the name that :func:`hunet.protocols.codec.kind_of` gives it), then
come its tables of devices and messages, then its fields in the order of its class. A data packet has no table of
messages: its messages are those that travel with it, in their order.

>>> from hunet.protocols.carrier import Seen
>>> sent = Seen(0b101)
>>> data = to_bytes(sent, lambda number: number.to_bytes(8), lambda node: node.to_bytes(8))
>>> data.hex(" "), len(data) == sent.size
('7e 6d 02 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02', True)
>>> from_bytes(data, int.from_bytes, int.from_bytes) == sent
True
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from hunet.model import ConfigurationError, MessageSet, Node, PeerError, members
from hunet.protocols.byte_streams import KIND_BYTES, Reader, Writer, widths
from hunet.protocols.codec import kind_of, kinds
from hunet.protocols.packets import Data, Packet, layout_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST = 1 << 18
"""No packet is longer (bytes): there is room for more messages than a device speaks of, and reading takes not long."""


def to_bytes(
    packet: Packet,
    message_id: Callable[[int], bytes],
    node_id: Callable[[Node], bytes],
    unsaid: MessageSet = 0,
) -> bytes:
    """A packet as bytes, with 8 bytes for each number; ``unsaid`` messages are left out of a control packet's sets."""
    layout = layout_of(type(packet))
    nodes, messages = layout.named(packet)
    node_ids = sorted([(node_id(node), node) for node in members(nodes)])
    message_ids: list[bytes] = []
    order: list[int] = []
    if isinstance(packet, Data):
        order = list(members(packet.messages))
    elif layout.whole:
        message_ids = sorted(map(message_id, members(messages & ~unsaid)))
    else:
        named = sorted([(message_id(number), number) for number in members(messages & ~unsaid)])
        message_ids, order = [each for each, _ in named], [number for _, number in named]
    to = Writer({node: index for index, (_, node) in enumerate(node_ids)}, {n: index for index, n in enumerate(order)})
    to.data += _tag(type(packet))
    for ids, there in (([each for each, _ in node_ids], layout.names_nodes), (message_ids, layout.lists_messages)):
        if there:
            to.count(len(ids))
            to.data += b"".join(ids)
    for name, form in layout.fields:
        form.write(getattr(packet, name), to)
    return bytes(to.data)


def from_bytes(
    data: bytes,
    messages: Callable[[bytes], int | None],
    nodes: Callable[[bytes], Node],
    carried: Sequence[int | None] = (),
) -> Packet:
    """The packet that :func:`to_bytes` wrote; what it did not write is refused as the peer's fault.

    Messages for which the reader has no number (None) are left out. ``carried`` are the numbers of the messages that
    travel with a data packet, in their order.
    """
    if len(data) > LONGEST:
        raise PeerError(f"a packet of {len(data)} bytes: no packet is longer than {LONGEST}")
    source = Reader(data)
    kind = _kind(source.take(KIND_BYTES))
    layout = layout_of(kind)
    if issubclass(kind, Data) != bool(carried):
        raise PeerError(f"a packet of the kind {kind_of(kind)} {'without' if not carried else 'with'} publications")
    if layout.names_nodes:
        source.nodes = source.table(nodes)  # type: ignore[assignment]
    source.messages = source.table(messages) if layout.lists_messages else carried
    source.widths = widths(len(source.nodes), len(source.messages))
    values = {name: form.read(source) for name, form in layout.fields}
    if source.at < len(data):
        raise PeerError("a packet with more bytes than it needs")
    return kind(**values)


@cache
def _tag(kind: type[Packet]) -> bytes:
    return blake2b(kind_of(kind).encode(), digest_size=KIND_BYTES, person=b"hunet-packet").digest()


def _kind(tag: bytes) -> type[Packet]:
    if tag not in _by_tag():
        kinds.cache_clear()  # its class may have been imported since
        _by_tag.cache_clear()
    try:
        return _by_tag()[tag]
    except KeyError:
        raise PeerError("a packet of a kind that is not known here") from None


@cache
def _by_tag() -> dict[bytes, type[Packet]]:
    found: dict[bytes, type[Packet]] = {}
    for name, kind in kinds().items():
        other = found.setdefault(_tag(kind), kind)
        if other is not kind:
            raise ConfigurationError(
                f"the kinds '{kind_of(other)}' and '{name}' begin with the same two bytes: rename one of the classes"
            )
    return found
