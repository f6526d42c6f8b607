"""Frozen communities: those of a whole trace with their brokers, known before the first contact.

The Socio-Aware Overlay's paper detects communities on a trace and then measures publish/subscribe on the same trace
(section 5.3, Tables 3 to 5). A simulation does so in one go: the overlay asks for them here when a run is prepared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from hunet.model import Node, members
from hunet.systems.socio_aware_overlay.centrality import Centrality, brokers, farthest, graph_of
from hunet.systems.socio_aware_overlay.detection import agreed, detect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunet.model import Contacts, NodeSet
    from hunet.model.community_files import Member
    from hunet.systems.socio_aware_overlay.local_community import DetectionParameters

Hop = Literal["met", "familiar"]
"""Who is one hop from whom when centralities are computed: all who met, or the familiar."""


class FrozenCommunity(msgspec.Struct, frozen=True):
    """A community of the network that is known in advance."""

    members: tuple[Node, ...]
    brokers: tuple[Node, ...]
    depth: int = 1
    """The most hops from a broker to a member: how far a publication is flooded."""
    guests: tuple[Node, ...] = ()
    """Loners that were assigned to it (step 7)."""


def freeze(
    contacts: Contacts,
    rules: DetectionParameters,
    *,
    hop: Hop = "met",
    centrality: Centrality = "closeness",
    single: bool = False,
) -> tuple[FrozenCommunity, ...]:
    """The communities on which devices agree after a whole trace, largest first, each with its brokers."""
    devices = detect(contacts, rules)
    near = {device.node: device.familiar for device in devices}
    if hop == "met":
        for one, two in zip(contacts.a.tolist(), contacts.b.tolist(), strict=True):
            near[one] |= 1 << two
    found = []
    for community in agreed([device.nodes for device in devices]):
        graph = graph_of(community, near)
        chosen = brokers(graph, centrality, single)
        found.append(FrozenCommunity(_rising(community), _rising(chosen), max(1, farthest(graph, chosen))))
    return tuple(found)


def thawed(found: Sequence[Member]) -> tuple[FrozenCommunity, ...]:
    """The communities that a table has, largest first, as :func:`freeze` gave them.

    >>> from hunet.model.community_files import Member
    >>> thawed([Member(0, 2, True, True, 1), Member(0, 5, False, False, 1)])
    (FrozenCommunity(members=(2, 5), brokers=(2,), depth=1, guests=()),)
    """
    by_number: dict[int, list[Member]] = {}
    for member in sorted(found):
        by_number.setdefault(member.community, []).append(member)
    return tuple(
        FrozenCommunity(
            tuple(member.node for member in group),
            tuple(member.node for member in group if member.broker),
            group[0].depth,
        )
        for group in by_number.values()
    )


def with_loners(communities: tuple[FrozenCommunity, ...], nodes: int) -> tuple[FrozenCommunity, ...]:
    """The same with those of no community as guests of the largest one, the default community (section 5.2, step 7).

    >>> with_loners((FrozenCommunity((0, 1, 2), (0,)),), 4)[0].guests
    (3,)
    """
    if not communities:
        return communities
    placed = {node for community in communities for node in community.members}
    loners = tuple(node for node in range(nodes) if node not in placed)
    return (msgspec.structs.replace(communities[0], guests=loners), *communities[1:])


def detected_communities(contacts: Contacts, rules: DetectionParameters) -> list[list[Node]]:
    """The members of the communities on which devices agree after a whole trace, largest first."""
    return [list(_rising(community)) for community in agreed([device.nodes for device in detect(contacts, rules)])]


def _rising(nodes: NodeSet) -> tuple[Node, ...]:
    return tuple(reversed(members(nodes)))
