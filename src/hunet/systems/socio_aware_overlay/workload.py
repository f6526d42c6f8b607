"""The Socio-Aware Overlay's workload: so many publications, so many subscriptions, ten topics (section 5.3).

Publishers, topics and times are drawn uniformly over the whole trace; subscriptions are distinct pairs of a node and a
topic, there from the start. With ``within``, that share of a topic's publishers and subscribers is of one community
(Fig. 14: WithinCommunity, 0.9; the last row of Table 4: 1), else they are anywhere (MixCommunity).

Where the paper leaves a choice. It does not say which community a topic belongs to: here, to that of a member drawn at
random, so that large communities have more topics. Communities are those that the overlay would find by
the parameters given here. Where they are too small for all subscriptions to differ, the rest is drawn from everybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hunet.model import ConfigurationError, Publication, Subscription, doc
from hunet.model.randomness import Stream, generator
from hunet.model.workload import Drawn, WorkloadKind
from hunet.systems.socio_aware_overlay.frozen_communities import detected_communities
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters

if TYPE_CHECKING:
    from hunet.model import Contacts

_SECTION = "Socio-Aware Overlay, section 5.3"


class OverlayWorkload(DetectionParameters, frozen=True):
    """Publications and subscriptions of random people, or of people in one community."""

    subscriptions: Annotated[int, doc("distinct pairs of node and topic", source=_SECTION, ge=0)] = 100
    messages: (
        Annotated[int, doc("publications in all; none is ten for each subscription", source=_SECTION, ge=0)] | None
    ) = None
    topics: Annotated[int, doc("topics, named t0, t1, ...", source=_SECTION, ge=1)] = 10
    within: Annotated[
        float, doc("share of a topic's publishers and subscribers in its community", source="Fig. 14", ge=0, le=1)
    ] = 0.0
    size: Annotated[int, doc("bytes of a message", unit="bytes", ge=0)] = 140


def draw_overlay(contacts: Contacts, chosen: OverlayWorkload, seed: int) -> Drawn:
    """Who wants which topics, and who says something when."""
    nodes = len(contacts.names)
    if chosen.subscriptions > nodes * chosen.topics:
        raise ConfigurationError(
            f"{nodes} nodes and {chosen.topics} topics make no {chosen.subscriptions} subscriptions"
        )
    roles, times = generator(seed, Stream.ROLES), generator(seed, Stream.TIMES)
    at_home = [list(range(nodes))] * chosen.topics
    if chosen.within:
        communities = detected_communities(contacts, chosen)
        placed = [community for community in communities for _ in community]
        if not placed:
            raise ConfigurationError("no community found for 'within': try a lower threshold")
        at_home = [placed[draw] for draw in roles.integers(len(placed), size=chosen.topics)]

    inside = [(node, topic) for topic in range(chosen.topics) for node in at_home[topic]]
    everywhere = [(node, topic) for topic in range(chosen.topics) for node in range(nodes)]
    first = [inside[i] for i in roles.permutation(len(inside))][: round(chosen.within * chosen.subscriptions)]
    taken = set(first)
    rest = [pair for pair in (everywhere[i] for i in roles.permutation(len(everywhere))) if pair not in taken]
    wanted = first + rest[: chosen.subscriptions - len(first)]

    begin, end = contacts.span
    many = 10 * chosen.subscriptions if chosen.messages is None else chosen.messages
    when = sorted(times.uniform(begin, end, many).tolist())
    publications = []
    for number, time in enumerate(when):
        topic = int(roles.integers(chosen.topics))
        crowd = at_home[topic] if roles.random() < chosen.within else range(nodes)
        publisher = crowd[int(roles.integers(len(crowd)))]
        publications.append(Publication(f"m{number}", time, publisher, f"t{topic}", chosen.size))
    return publications, [Subscription(node, f"t{topic}") for node, topic in sorted(wanted)]


OVERLAY = WorkloadKind(OverlayWorkload, draw_overlay)
