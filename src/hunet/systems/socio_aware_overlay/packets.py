"""What devices of the Socio-Aware Overlay tell each other: communities, brokers, subscriptions, publications."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Literal

from hunet.model import Node, NodeSet, Topic
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, text_size, widths
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Control

Purpose = Literal["inject", "flood", "unicast"]
"""Why a publication is handed over: to get it to a broker, to spread it in a community, to get it to other brokers."""


class CommunityNews(Control, frozen=True, gc=False):
    """What community detection exchanges (section 4.3, step 3): C, F and FoC."""

    community: NodeSet
    familiar: NodeSet
    familiar_of: dict[Node, NodeSet]

    @property
    def size(self) -> int:
        return KIND_BYTES + community_size(self.community, self.familiar, self.familiar_of)


def community_size(community: NodeSet, familiar: NodeSet, familiar_of: dict[Node, NodeSet]) -> int:
    """Bytes of what community detection exchanges."""
    many = len(familiar_of)
    named = reduce(or_, familiar_of.values(), community | familiar)
    devices = reduce(or_, map((1).__lshift__, familiar_of), named).bit_count()
    width = widths(devices, 0)
    return ids_size(devices) + 2 * width.nodes + count_size(many) + many * (width.node + width.nodes)


class SubscriptionNews(Control, frozen=True, gc=False):
    """Subscriptions and unsubscriptions on their way to the broker (section 5.2, step 1), or its list (step 3)."""

    records: tuple[tuple[Node, Topic, bool, float], ...]

    @property
    def size(self) -> int:
        named, many = len({record[0] for record in self.records}), len(self.records)
        topics = sum([text_size(record[1]) for record in self.records])
        return KIND_BYTES + ids_size(named) + count_size(many) + topics + many * (widths(named, 0).node + 1 + 8)


class BrokerNews(Control, frozen=True, gc=False):
    """The brokers of communities with timestamps (section 5.2, steps 1 and 3): brokers, members, since when."""

    communities: tuple[tuple[NodeSet, NodeSet, float], ...]

    @property
    def size(self) -> int:
        named, many = 0, len(self.communities)
        for brokers, members, _ in self.communities:
            named |= brokers | members
        devices = named.bit_count()
        return KIND_BYTES + ids_size(devices) + count_size(many) + many * (2 * widths(devices, 0).nodes + 8)


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
