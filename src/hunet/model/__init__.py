"""The vocabulary: contacts, messages, workloads, parameters, errors. Plain data; imports nothing of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.model.errors import (
    ConfigurationError,
    HunetError,
    InputError,
    OutputError,
    PeerError,
    ProtocolError,
    did_you_mean,
)
from hunet.model.matching import matching_score, weighted_terms
from hunet.model.messages import (
    Catalogue,
    DeviceCatalogue,
    Message,
    MessageSet,
    Node,
    NodeList,
    NodeSet,
    PerMessage,
    Topic,
    members,
    set_of,
    without,
)
from hunet.model.parameters import Parameter, Parameters, about, describe, from_mapping
from hunet.model.workload import Publication, Subscription, Workload

if TYPE_CHECKING:
    from hunet.model.contacts import Contacts, natural_order

__all__ = [
    "Catalogue",
    "ConfigurationError",
    "Contacts",
    "DeviceCatalogue",
    "HunetError",
    "InputError",
    "Message",
    "MessageSet",
    "Node",
    "NodeList",
    "NodeSet",
    "OutputError",
    "Parameter",
    "Parameters",
    "PeerError",
    "PerMessage",
    "ProtocolError",
    "Publication",
    "Subscription",
    "Topic",
    "Workload",
    "about",
    "describe",
    "did_you_mean",
    "from_mapping",
    "matching_score",
    "members",
    "natural_order",
    "set_of",
    "weighted_terms",
    "without",
]


def __getattr__(name: str) -> Any:
    # Contacts need numpy, which a live node is installed without.
    if name in ("Contacts", "natural_order"):
        from hunet.model import contacts

        return getattr(contacts, name)
    raise AttributeError(f"module 'hunet.model' has no attribute '{name}'")
