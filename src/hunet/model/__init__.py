"""The vocabulary: contacts, messages, workloads, parameters, errors. Plain data; imports nothing of ours."""

from hunet.model.contacts import Contacts, natural_order
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
    Message,
    MessageSet,
    Node,
    NodeList,
    NodeSet,
    PerMessage,
    Topic,
    members,
    without,
)
from hunet.model.parameters import Parameter, Parameters, about, describe, from_mapping
from hunet.model.workload import Publication, Subscription, Workload

__all__ = [
    "Catalogue",
    "ConfigurationError",
    "Contacts",
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
    "weighted_terms",
    "without",
]
