"""The figures of stages 3 and 4 of the pipeline for contacts that fit into memory, without Spark.

An analysis in a study is one Spark task, which cannot start others; a page about a crowd needs no Java. These are the
only plain versions, and a test holds them against the stages (``hunet.pipeline.pairs``, ``social_graph``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.graphs.hops import hop_counts
from hunet.graphs.pairs import inter_contact_times, pairs_of
from hunet.graphs.power_law import fit_times
from hunet.model import members

if TYPE_CHECKING:
    from hunet.model import Contacts


def graph_figures(contacts: Contacts, least_contacts: int = 1) -> dict[str, Any]:
    """Degrees, hops between pairs and clustering of the graph of all pairs that met often enough (``graph_of``).

    >>> from hunet.model import Contacts
    >>> chain = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 0, 10), ("0", "2", 5, 9), ("2", "3", 20, 30)])
    >>> found = graph_figures(chain)
    >>> found["hops"], round(found["hops_mean"], 3), round(found["clustering_mean"], 3), found["degrees"]
    ([4, 2], 1.333, 0.583, [2, 2, 3, 1])
    """
    pairs = pairs_of(contacts)
    kept = [edge for edge, many in zip(pairs.edges(), pairs.contacts.tolist(), strict=True) if many >= least_contacts]
    near = [0] * len(contacts.names)
    for one, two in kept:
        near[one] |= 1 << two
        near[two] |= 1 << one
    there = [node for node in range(len(near)) if near[node]]
    hops = [many // 2 for many in hop_counts(len(near), kept)[1:]]
    while hops and not hops[-1]:
        hops.pop()
    clustering = 0.0
    for node in there:
        degree = near[node].bit_count()
        closed = sum((near[other] & near[node]).bit_count() for other in members(near[node]))
        clustering += closed / (degree * (degree - 1)) if degree > 1 else 0.0
    return {
        "nodes": len(there),
        "edges": len(kept),
        "hops": hops,
        "hops_mean": sum(hop * many for hop, many in enumerate(hops, 1)) / sum(hops) if hops else None,
        "clustering_mean": clustering / len(there) if there else None,
        "degrees": [near[node].bit_count() for node in there],
    }


def pair_figures(contacts: Contacts) -> dict[str, Any]:
    """The power law of inter-contact times, and the number of pairs of each category (``pairs_of`` and its laws).

    >>> from hunet.model import Contacts
    >>> often = [("0", "1", 100 * turn, 100 * turn + 50) for turn in range(10)]
    >>> pair_figures(Contacts.from_records([*often, ("0", "2", 0, 900), ("1", "2", 0, 1)]))["categories"]
    {'community': 1, 'familiar stranger': 0, 'friend': 1, 'stranger': 1}
    """
    pairs, gaps = pairs_of(contacts), inter_contact_times(contacts)
    often, lasting = pairs.contacts > pairs.contacts.mean(), pairs.seconds > pairs.seconds.mean()
    law = fit_times(gaps)
    return {
        "categories": {
            "community": int((often & lasting).sum()),
            "familiar stranger": int((often & ~lasting).sum()),
            "friend": int((~often & lasting).sum()),
            "stranger": int((~often & ~lasting).sum()),
        },
        "inter_contact_times": len(gaps),
        "power_law": law._asdict() if law else None,
    }
