"""Communities of a trace on which devices agree, by SIMPLE and by k-CLIQUE (``hunet trace communities``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from hunet.model.community_files import Findings, Member
from hunet.systems import Finder
from hunet.systems.socio_aware_overlay.frozen_communities import freeze
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters
from hunet.systems.socio_aware_overlay.socio_aware_overlay import OverlayParameters

if TYPE_CHECKING:
    from hunet.model import Contacts

_FIELDS = (*DetectionParameters.__struct_fields__[1:], "hop", "centrality", "broker_group")
"""What communities and their brokers depend on, beside the algorithm."""


def _finder(algorithm: Literal["simple", "k-clique"]) -> Finder:
    def find(contacts: Contacts, parameters: OverlayParameters) -> Findings:
        known = freeze(
            contacts,
            msgspec.structs.replace(parameters, algorithm=algorithm),
            hop=parameters.hop,
            centrality=parameters.centrality,
            single=not parameters.broker_group,
        )
        return Findings(
            [
                Member(number, node, node in community.brokers, node == community.brokers[0], community.depth)
                for number, community in enumerate(known)
                for node in community.members
            ]
        )

    return Finder(OverlayParameters, _FIELDS, find)


SIMPLE = _finder("simple")
K_CLIQUE = _finder("k-clique")
