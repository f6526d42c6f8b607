"""What devices of the Socio-Aware Overlay tell each other: communities, brokers, subscriptions, publications.

Who has been told before is told what has changed since. The news that a device has for a peer are numbered; who misses
a number asks for everything.
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


class CommunityNews(Control, frozen=True, gc=False):
    """What community detection exchanges (section 4.3, step 3): C, F and FoC.

    All of it, or who has joined or left C and F since, and what has changed in FoC.
    """

    community: NodeSet
    familiar: NodeSet
    familiar_of: dict[Node, NodeSet]
    judged: dict[Node, int] = {}  # noqa: RUF012  (nobody changes a packet)
    """When derived thresholds rose last, on which familiar sets depend."""
    number: int = 0
    everything: bool = True

    @property
    def size(self) -> int:
        here = community_size(self.community, self.familiar, self.familiar_of, self.judged)
        return KIND_BYTES + here + number_size(self.number) + 1


def community_size(
    community: NodeSet, familiar: NodeSet, familiar_of: Mapping[Node, NodeSet], judged: Mapping[Node, int] | None = None
) -> int:
    """Bytes of what community detection exchanges."""
    many, when = len(familiar_of), judged or {}
    times = count_size(len(when)) + sum(map(number_size, when.values())) if judged is not None else 0
    if not community and not familiar and not many and not when:
        return 4 + times
    named = reduce(or_, familiar_of.values(), community | familiar)
    devices = reduce(or_, map((1).__lshift__, [*familiar_of, *when]), named).bit_count()
    width = widths(devices, 0)
    return (
        ids_size(devices)
        + 2 * width.nodes
        + count_size(many)
        + many * (width.node + width.nodes)
        + (times + len(when) * width.node)
    )


class SubscriptionNews(Control, frozen=True, gc=False):
    """Subscriptions and unsubscriptions on their way to the broker (section 5.2, step 1), or its list (step 3)."""

    records: tuple[tuple[Node, Topic, bool, float], ...]
    number: int = 0
    everything: bool = False

    @property
    def size(self) -> int:
        numbered = number_size(self.number) + 1
        named, many = len({record[0] for record in self.records}), len(self.records)
        topics = sum([text_size(record[1]) for record in self.records])
        each = widths(named, 0).node + 1 + 8
        return KIND_BYTES + ids_size(named) + count_size(many) + topics + many * each + numbered


class BrokerNews(Control, frozen=True, gc=False):
    """The brokers of communities with timestamps (section 5.2, steps 1 and 3): brokers, members, since when."""

    communities: tuple[tuple[NodeSet, NodeSet, float], ...]
    number: int = 0

    @property
    def size(self) -> int:
        numbered = number_size(self.number)
        named, many = 0, len(self.communities)
        for brokers, members, _ in self.communities:
            named |= brokers | members
        devices = named.bit_count()
        return KIND_BYTES + ids_size(devices) + count_size(many) + many * (2 * widths(devices, 0).nodes + 8) + numbered


class TellAll(Control, frozen=True, gc=False):
    """News have not arrived: the receiver tells everything again."""

    number: int
    """What came instead."""

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

    told: NodeSet
    """The brokers that get them from the sender, or have them."""
