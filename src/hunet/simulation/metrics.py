"""Metrics: from what a run left behind to the numbers that people compare.

Everything is counted over (publication, interested subscriber) pairs. A node is *interested* in a publication if it
was subscribed to an interest that it matches at some instant of the publication's life within
the run; the publisher never is. A pair is *reachable* if some chain of contacts could have brought the message while
the node was subscribed: the bound of ``hunet.simulation.bound``. All definitions stand in ``docs/results.md`` under
the names used here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hunet.model import interest_of, matching_score
from hunet.model.interests import tags_of
from hunet.simulation.bound import earliest_arrivals
from hunet.simulation.record import Record, columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hunet.model import Contacts, Workload

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class InterestedPairs(NamedTuple):
    """All interested pairs, by (publication, node), and when each could have been served at the earliest."""

    publication: Ints
    node: Ints
    reachable: Floats
    """Earliest possible delivery; infinite if there is none."""


class DeliveryTable(NamedTuple):
    """The first delivery of each publication at each node, in order of time."""

    time: Floats
    node: Ints
    publication: Ints
    hops: Ints
    repeated: int
    """Further deliveries of the same at the same node: only a crash, which forgets, can cause them."""


def interested_pairs(contacts: Contacts, workload: Workload, end: float) -> InterestedPairs:
    """Who wanted what, and when each could have had it."""
    nodes = len(contacts.names)
    created = np.array([p.time for p in workload.publications])
    expires = np.array([np.inf if p.ttl is None else p.time + p.ttl for p in workload.publications])
    publisher = np.array([p.node for p in workload.publications], np.int64)
    by_tag: dict[str, list[int]] = {}
    for number, published in enumerate(workload.publications):
        for tag in tags_of(published.topic):
            by_tag.setdefault(tag, []).append(number)
    matching: dict[str, Ints] = {}
    # One row per subscription interval and publication that matches and that it meets.
    parts: list[tuple[Ints, Ints, Floats, Floats]] = []
    for wanted in workload.subscriptions:
        if wanted.topic not in matching:
            matching[wanted.topic] = np.array(_matching(wanted.topic, by_tag, workload), np.int64)
        said_on_topic = matching[wanted.topic]
        first = np.maximum(created[said_on_topic], wanted.start)
        last = np.minimum(np.minimum(expires[said_on_topic], wanted.end), end)
        interested = (first <= last) & (publisher[said_on_topic] != wanted.node)
        publications = said_on_topic[interested]
        parts.append(
            (publications, np.full(len(publications), wanted.node, np.int64), first[interested], last[interested])
        )
    if not parts:
        return InterestedPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    publication, node, first, last = (np.concatenate([part[column] for part in parts]) for column in range(4))

    asked = [0] * nodes
    for number, who in zip(publication.tolist(), node.tolist(), strict=True):
        asked[who] |= 1 << number
    arrived_message, arrived_node, arrived_time = earliest_arrivals(contacts, workload.publications, asked)
    key = publication * nodes + node
    arrival = np.full(len(key), np.inf)
    row, found = find(arrived_message * nodes + arrived_node, key)
    arrival[found] = arrived_time[row]
    served = np.maximum(arrival, first)
    served[served > last] = np.inf

    # A pair with several subscription intervals counts once, served in the first that works.
    pairs, back = np.unique(key, return_inverse=True)
    earliest = np.full(len(pairs), np.inf)
    np.minimum.at(earliest, back, served)
    return InterestedPairs(pairs // nodes, pairs % nodes, earliest)


def _matching(interest: str, by_tag: dict[str, list[int]], workload: Workload) -> list[int]:
    """The publications that a subscription matches at all."""
    tag = interest_of(interest).tag
    if tag is not None:
        return by_tag.get(tag, [])
    topics = [published.topic for published in workload.publications]
    return [number for number, topic in enumerate(topics) if matching_score(interest, topic)]


def deliveries(record: Record, nodes: int) -> DeliveryTable:
    """First deliveries; the record has all of them in order of time."""
    time, node, publication, hops = columns(record.deliveries, 4)
    _, first = np.unique(publication * nodes + node, return_index=True)
    first.sort()
    return DeliveryTable(
        time[first],
        node[first].astype(np.int64),
        publication[first].astype(np.int64),
        hops[first].astype(np.int64),
        len(time) - len(first),
    )


def find(keys: Ints, asked: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each asked key stands among distinct keys, for those that do, and which do."""
    order = np.argsort(keys)
    row = np.searchsorted(keys[order], asked)
    found = row < len(keys)
    found[found] = keys[order[row[found]]] == asked[found]
    return order[row[found]], found
