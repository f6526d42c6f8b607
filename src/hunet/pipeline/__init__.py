"""The data pipeline on Apache Spark: raw logs to contacts, contacts to the social graph, studies to results.

Each stage is a function from DataFrame to DataFrame, in a module of its own, and a command:

==========================  ==================================================================================
``importing``, ``formats``  stage 1: raw logs in (``hunet trace import``)
``following``               stages 1 and 2 as logs come in (``hunet trace follow``)
``contacts``                stage 2: sightings to contacts; every record has a fate
``pairs``                   stage 3: what can be said of each two people (``hunet trace pairs``)
``social_graph``            stage 4: the weighted contact graph and its measures (``hunet trace graph``)
``communities``             stage 4, as devices see it: communities and brokers (``hunet trace communities``)
``studies``                 stage 5: many runs, one Spark task each (``hunet study``)
==========================  ==================================================================================

Spark itself is imported only by the functions that use it. The functions of the stages can be imported from here, for
use in a session of one's own, classic or Spark Connect.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hunet.pipeline.communities import closeness_of, found_by_devices, gateways_of, members_of
    from hunet.pipeline.contacts import contacts_of, fates_of
    from hunet.pipeline.pairs import contacts_in, inter_contacts_of, pairs_of, profiles_of, span_of
    from hunet.pipeline.social_graph import communities_of, graph_of, hops_of, nodes_of, paths_of, windows_of

__all__ = [
    "closeness_of",
    "communities_of",
    "contacts_in",
    "contacts_of",
    "fates_of",
    "found_by_devices",
    "gateways_of",
    "graph_of",
    "hops_of",
    "inter_contacts_of",
    "members_of",
    "nodes_of",
    "pairs_of",
    "paths_of",
    "profiles_of",
    "span_of",
    "windows_of",
]

_HOMES = {
    "communities": ("closeness_of", "found_by_devices", "gateways_of", "members_of"),
    "contacts": ("contacts_of", "fates_of"),
    "pairs": ("contacts_in", "inter_contacts_of", "pairs_of", "profiles_of", "span_of"),
    "social_graph": ("communities_of", "graph_of", "hops_of", "nodes_of", "paths_of", "windows_of"),
}


def __getattr__(name: str) -> Any:
    """A stage's function, from its module when it is asked for: commands import the package and need few of them."""
    for home, functions in _HOMES.items():
        if name in functions:
            return getattr(import_module(f"hunet.pipeline.{home}"), name)
    raise AttributeError(f"module 'hunet.pipeline' has no attribute '{name}'")
