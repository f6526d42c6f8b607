"""MOPS's communities, gateways and brokers of a trace, as an experimenter finds them (``hunet trace communities``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.model.community_files import CommunityGateway, Findings, Member
from hunet.systems import Finder
from hunet.systems.mops.gateways import all_betweenness
from hunet.systems.mops.parameters import MopsParameters, closeness_of
from hunet.systems.mops.structure import structure_of

if TYPE_CHECKING:
    from hunet.model import Contacts


def find(contacts: Contacts, parameters: MopsParameters) -> Findings:
    """The structure of the closeness in the whole span of these contacts; communities by rising initiator."""
    table = closeness_of(contacts, contacts.span, parameters)
    structure = structure_of(table, parameters.threshold, parameters.hops, parameters.pruning)
    number = {label: index for index, label in enumerate(structure.communities)}
    return Findings(
        [
            Member(number[label], node, bool(structure.bridges(node)), node == label, 0)
            for label, group in structure.communities.items()
            for node in group
        ],
        table,
        [
            CommunityGateway(number[label], number[other], node, share, other in structure.bridges(node))
            for label, other, node, share in all_betweenness(structure.graph, structure.communities)
        ],
    )


FINDER = Finder(MopsParameters, ("threshold", "hops", "pruning", "sigma", "edges"), find)
