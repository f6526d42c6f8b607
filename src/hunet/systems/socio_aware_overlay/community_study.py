"""A trace's communities, and how well devices find them: Tables 1 and 2 and Fig. 5 to 9 of the overlay's paper.

E. Yoneki, P. Hui, S. Chan and J. Crowcroft, "A Socio-Aware Overlay for Publish/Subscribe Communication in Delay
Tolerant Networks", MSWiM 2007, sections 3.4 and 4.4.

An analysis: it needs no devices and moves no messages. Devices detect communities on the trace (``detection``), which
are compared with those that a centre with the whole trace would find (``hunet.graphs.communities``)::

    analysis = "communities"

Centralised communities are k-clique communities of the pairs that spent the threshold together, and those of Newman
(weighted Girvan-Newman) of all pairs, of at least three. *Similarity* is the Jaccard index of the best match among the
detected communities, averaged over the centralised ones; *accuracy* compares every device's own local community with
the centralised ones that the device is in, averaged over devices. The paper's own index is not in the paper.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from hunet.graphs.communities import find_communities
from hunet.graphs.figures import graph_figures, pair_figures
from hunet.graphs.pairs import pairs_of
from hunet.model import doc, members
from hunet.systems import Analysis
from hunet.systems.socio_aware_overlay.detection import agreed, best_matches, detect, jaccard
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunet.model import Contacts, NodeSet

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Fig. 6a: how alike a detected community must be to count as found."""


class CommunityStudyParameters(DetectionParameters, frozen=True):
    """What is detected and compared."""

    threshold: Annotated[
        float,
        doc("time together that makes a peer familiar", symbol="T_th", unit="s", source="section 4.4", gt=0),
    ] = 250_000.0
    share: Annotated[float, doc("devices detect on this first share of the trace", source="Fig. 5", gt=0, le=1)] = 1.0
    least_contacts: Annotated[int, doc("Table 1: pairs that met less often are no edge of the graph", ge=1)] = 1


def community_study(contacts: Contacts, parameters: CommunityStudyParameters) -> dict[str, Any]:
    """The figures of a trace: its graph, its pairs, and the communities that devices and a centre find."""
    return {
        "graph": graph_figures(contacts, parameters.least_contacts),
        "pairs": pair_figures(contacts),
        **_detection(contacts, parameters),
    }


COMMUNITIES = Analysis(CommunityStudyParameters, community_study)


def _detection(contacts: Contacts, rules: CommunityStudyParameters) -> dict[str, Any]:
    first, last = contacts.span
    devices = detect(contacts, rules, until=first + rules.share * (last - first))
    found = agreed([device.nodes for device in devices])
    inside = [
        sum((devices[node].familiar & each).bit_count() for node in members(each))
        / (each.bit_count() * (each.bit_count() - 1))
        for each in found
    ]
    central = {
        "k-clique": _centralised("k-clique", contacts, rules.threshold, rules.k),
        "newman": _centralised("girvan-newman", contacts, 0.0, 0),
    }
    figures: dict[str, Any] = {
        "communities": [sorted(members(each)) for each in found],
        "density": _mean(inside),
        "kept": _mean([device.nodes.bit_count() + device.familiar.bit_count() for device in devices]),
        "kept_of_others": _mean([sum(f.bit_count() for f in device.familiar_of.values()) for device in devices]),
        "centralised": {method: [sorted(members(each)) for each in known] for method, known in central.items()},
        "similarity": {},
        "found": {},
        "accuracy": {},
    }
    for method, known in central.items():
        matches = best_matches(found, known)
        figures["similarity"][method] = _mean(matches)
        figures["found"][method] = [_mean([match >= level for match in matches]) for level in LEVELS]
        own = []
        for device in devices:
            homes = [each for each in known if each >> device.node & 1]
            if homes:
                own.append(max(jaccard(device.nodes, home) for home in homes))
        figures["accuracy"][method] = _mean(own)
    return figures


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _centralised(method: str, contacts: Contacts, threshold: float, k: int) -> list[NodeSet]:
    return _find(method, _Trace(contacts), threshold, k)


class _Trace:
    """A trace as a key: by its content. Many points of a study share one, and Girvan-Newman takes its time."""

    def __init__(self, contacts: Contacts) -> None:
        self.contacts = contacts
        self.fingerprint = contacts.fingerprint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Trace) and other.fingerprint == self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


@lru_cache(maxsize=64)
def _find(method: str, trace: _Trace, threshold: float, k: int) -> list[NodeSet]:
    import numpy as np

    pairs = pairs_of(trace.contacts)
    strong = pairs.seconds >= threshold
    kept = [edge for edge, keep in zip(pairs.edges(), strong.tolist(), strict=True) if keep]
    # Contacts of no length still are contacts.
    weights = np.maximum(pairs.seconds[strong], 1e-6)
    found = find_communities(method, len(trace.contacts.names), kept, weights, k)
    return [sum(1 << node for node in community) for community in found if len(community) >= 3]
