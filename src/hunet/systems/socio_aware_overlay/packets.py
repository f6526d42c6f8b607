"""What devices of the Socio-Aware Overlay tell each other: communities, brokers, subscriptions, publications."""

from __future__ import annotations

from typing import Literal

from hunet.model import Node, NodeSet, Topic
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Control

Purpose = Literal["inject", "flood", "unicast"]
"""Why a publication is handed over: to get it to a broker, to spread it in a community, to get it to other brokers."""


class CommunityNews(Control, frozen=True, gc=False):
    """What community detection exchanges (section 4.3, step 3): C, F and FoC."""

    community: NodeSet
    familiar: NodeSet
    familiar_of: dict[Node, NodeSet]


class SubscriptionNews(Control, frozen=True, gc=False):
    """Subscriptions and unsubscriptions on their way to the broker (section 5.2, step 1), or its list (step 3)."""

    records: tuple[tuple[Node, Topic, bool, float], ...]


class BrokerNews(Control, frozen=True, gc=False):
    """The brokers of communities with timestamps (section 5.2, steps 1 and 3): brokers, members, since when."""

    communities: tuple[tuple[NodeSet, NodeSet, float], ...]


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
