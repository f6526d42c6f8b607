"""Foresight's packets. Chances travel as levels from 0 to 15, finer where they are small.

>>> [level_of(chance) for chance in (0.0, 0.004, 0.1, 0.5, 1.0)]
[0, 1, 5, 11, 15]
>>> levels = (0, 0, 1, 2, 3, 5, 8, 13, 15)
>>> packed(levels).hex(), unpacked(packed(levels)) == levels
('0012358df0', True)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hunet.model import MessageSet, Node, PeerError, Topic
from hunet.protocols.carrier_packets import Carried
from hunet.protocols.contract import Control
from hunet.systems.foresight.encounters import SPANS

TOP = 15
CHANCES = tuple([(level / TOP) ** 2 for level in range(TOP + 1)])
"""The chance that each level stands for."""
Levels = tuple[int, ...]
"""A level for each span."""


def level_of(chance: float) -> int:
    """The level of a chance."""
    return int(chance**0.5 * TOP + 0.5)


def packed(levels: Sequence[int]) -> bytes:
    """Levels, two in a byte."""
    even = [*levels, 0] if len(levels) % 2 else levels
    return bytes([high << 4 | low for high, low in zip(even[::2], even[1::2], strict=True)])


def unpacked(data: bytes) -> Levels:
    """The levels of all spans."""
    return tuple([level for byte in data for level in (byte >> 4, byte & TOP)][: len(SPANS)])


class Subscribed(msgspec.Struct, frozen=True, gc=False):
    """What a device wants, and how often that has changed: the later word counts."""

    version: int
    topics: tuple[Topic, ...]


class Known(msgspec.Struct, frozen=True, gc=False):
    """What the sender tells of a device: its own chances to get something to it, and what it wants, if that is new."""

    levels: bytes
    wants: Subscribed | None


class Reach(Control, frozen=True, gc=False):
    """Whom the sender is likely to reach: what has changed since it last told this neighbour."""

    encounters: int
    """How many the chances come from."""
    devices: dict[Node, Known]


class Share(Control, frozen=True, gc=False):
    """Of a message that both have: what is open.

    For each subscriber the level of the chance that neither the sender nor another carrier that it knows of serves it;
    those that are not named are open for all that the sender knows.
    """

    messages: MessageSet
    open: dict[Node, int]


class Guided(Carried, frozen=True, gc=False):
    """A message, with the same for its new carrier."""

    open: dict[Node, int]


def check(packet: object) -> None:
    """Refuse what no honest device sends."""
    if isinstance(packet, Reach):
        if any(len(each.levels) != (len(SPANS) + 1) // 2 for each in packet.devices.values()):
            raise PeerError("chances for other spans of time than ours")
    elif isinstance(packet, Share | Guided):
        if packet.messages.bit_count() != 1:
            raise PeerError("what is open of more than one message")
        if not all(0 <= level <= TOP for level in packet.open.values()):
            raise PeerError("a level that does not exist")
