"""What devices of the Socio-Aware Overlay send each other: communities, brokers, subscriptions, publications.

A peer that has been sent the whole state before is sent what has changed since. The updates of a device for a peer are
numbered; a device that has missed one asks for the whole state.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Literal

from hunet.model import Node, NodeSet, Topic
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, number_size, text_size, widths
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Control

if TYPE_CHECKING:
    from collections.abc import Mapping

Purpose = Literal["inject", "flood", "unicast"]
"""Why a publication is handed over: to get it to a broker, to spread it in a community, to get it to other brokers."""


class StateUpdate(Control, frozen=True, gc=False):
    """What a device sends at a contact (section 5.2, step 1): its state, or what has changed since the last update."""

    number: int = 0
    full: bool = False
    """Whether this is the whole state."""
    community: NodeSet = 0
    """C (section 4.3, step 3); of an update, who has joined or left it. So are the familiar set F and FoC."""
    familiar: NodeSet = 0
    familiar_of: dict[Node, NodeSet] = {}  # noqa: RUF012  (nobody changes a packet)
    versions: dict[Node, int] = {}  # noqa: RUF012
    """When derived thresholds rose last, on which familiar sets depend."""
    announcements: tuple[tuple[Node, bool, int], ...] = ()
    """Of devices, whether they are brokers, and when they said so."""
    subscriptions: tuple[tuple[Node, Topic, bool, float], ...] = ()
    """Subscriptions and unsubscriptions on their way to the broker, or its list."""

    @property
    def size(self) -> int:
        named = self.community | self.familiar
        familiar_of, versions, subscriptions = self.familiar_of, self.versions, self.subscriptions
        many = len(familiar_of)
        if many:
            named = reduce(or_, familiar_of.values(), named)
            named = reduce(or_, map((1).__lshift__, familiar_of), named)
        for node in versions:
            named |= 1 << node
        for announcement in self.announcements:
            named |= 1 << announcement[0]
        for record in subscriptions:
            named |= 1 << record[0]
        devices = named.bit_count()
        width = widths(devices, 0)
        size = KIND_BYTES + number_size(self.number) + 1 + ids_size(devices) + 2 * width.nodes + 4
        if many:
            size += count_size(many) - 1 + many * (width.node + width.nodes)
        if versions:
            size += (
                count_size(len(versions)) - 1 + len(versions) * width.node + sum(map(number_size, versions.values()))
            )
        if self.announcements:
            size += count_size(len(self.announcements)) - 1 + len(self.announcements) * (width.node + 1)
            size += _times_size(self.announcements)
        if subscriptions:
            topics = sum([text_size(record[1]) for record in subscriptions])
            size += count_size(len(subscriptions)) - 1 + topics + len(subscriptions) * (width.node + 1 + 8)
        return size


def community_size(community: NodeSet, familiar: NodeSet, familiar_of: Mapping[Node, NodeSet]) -> int:
    """Bytes of what community detection exchanges."""
    many = len(familiar_of)
    if not community and not familiar and not many:
        return 4
    named = reduce(or_, familiar_of.values(), community | familiar)
    devices = reduce(or_, map((1).__lshift__, familiar_of), named).bit_count()
    width = widths(devices, 0)
    return ids_size(devices) + 2 * width.nodes + count_size(many) + many * (width.node + width.nodes)


class Subscriptions(Control, frozen=True, gc=False):
    """Subscriptions that a device has learnt of while a contact lasts; out of band, for brokers (step 3)."""

    subscriptions: tuple[tuple[Node, Topic, bool, float], ...]
    number: int = 0

    @property
    def size(self) -> int:
        named, many = len({record[0] for record in self.subscriptions}), len(self.subscriptions)
        topics = sum([text_size(record[1]) for record in self.subscriptions])
        each = widths(named, 0).node + 1 + 8
        return KIND_BYTES + ids_size(named) + count_size(many) + topics + many * each + number_size(self.number)


class Announcements(Control, frozen=True, gc=False):
    """Out of band, brokers send each other who is a broker (step 3)."""

    announcements: tuple[tuple[Node, bool, int], ...]

    @property
    def size(self) -> int:
        named, many = len({announcement[0] for announcement in self.announcements}), len(self.announcements)
        each = widths(named, 0).node + 1
        return KIND_BYTES + ids_size(named) + count_size(many) + many * each + _times_size(self.announcements)


def _times_size(announcements: tuple[tuple[Node, bool, int], ...]) -> int:
    """The same as :func:`number_size` of each time."""
    return sum([((time if time >= 0 else ~time).bit_length() + 7) // 7 for _, _, time in announcements])


class Unchanged(Control, frozen=True, gc=False):
    """Nothing has changed since the update of this number."""

    number: int

    @property
    def size(self) -> int:
        return KIND_BYTES + number_size(self.number)


class Resend(Control, frozen=True, gc=False):
    """An update has not arrived: the receiver sends its whole state again."""

    number: int
    """Of the update that came instead."""

    @property
    def size(self) -> int:
        return KIND_BYTES + number_size(self.number)


class Handed(Carried, frozen=True, gc=False):
    """Publications handed over in a contact."""

    purpose: Purpose
    scope: NodeSet = 0
    """Flooding: who may get them."""
    left: int = 0
    """Flooding: how many more times they may be passed on."""


class Direct(Carried, frozen=True, gc=False):
    """Publications from broker to broker by a way that needs no contact (the paper's Direct mode)."""

    reached: NodeSet
    """The brokers that get them from the sender, or have them."""
