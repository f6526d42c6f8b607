"""The vocabulary: contacts, messages, workloads, parameters, errors. Plain data; imports nothing of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.model.conditions import Content, Interest
from hunet.model.errors import (
    ConfigurationError,
    HunetError,
    InputError,
    OutputError,
    PeerError,
    ProtocolError,
    did_you_mean,
)
from hunet.model.interests import (
    canonical_interest,
    canonical_topic,
    content_of,
    interest_of,
    parse_content,
    parse_interest,
)
from hunet.model.matching import matches, matching_score
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
from hunet.model.parameters import Parameter, Parameters, describe, doc, from_mapping
from hunet.model.shared_catalogue import SharedCatalogue
from hunet.model.workload import Publication, Subscription, Workload

if TYPE_CHECKING:
    from hunet.model.contacts import Contacts, natural_order

__all__ = [
    "Catalogue",
    "ConfigurationError",
    "Contacts",
    "Content",
    "DeviceCatalogue",
    "HunetError",
    "InputError",
    "Interest",
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
    "SharedCatalogue",
    "Subscription",
    "Topic",
    "Workload",
    "canonical_interest",
    "canonical_topic",
    "content_of",
    "describe",
    "did_you_mean",
    "doc",
    "from_mapping",
    "interest_of",
    "matches",
    "matching_score",
    "members",
    "natural_order",
    "parse_content",
    "parse_interest",
    "set_of",
    "without",
]


def __getattr__(name: str) -> Any:
    # Contacts need numpy, which a live node is installed without.
    if name in ("Contacts", "natural_order"):
        from hunet.model import contacts

        return getattr(contacts, name)
    raise AttributeError(f"module 'hunet.model' has no attribute '{name}'")
