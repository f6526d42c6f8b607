"""What can be set of MOPS, and the closeness tables that an experimenter gives its devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from hunet.model import Node, doc
from hunet.protocols.carrier import BufferParameters
from hunet.systems.mops.closeness_graph import closeness_table, mean_separations
from hunet.systems.mops.contact_history import Edges
from hunet.systems.mops.structure import Standings

if TYPE_CHECKING:
    from hunet.model import Contacts
    from hunet.protocols.capabilities import Experiment

Table = tuple[tuple[int, int, float], ...]
"""Rows of (node, node, closeness)."""


class MopsParameters(BufferParameters, frozen=True):
    """MOPS's parameters."""

    threshold: Annotated[float, doc("closeness of local neighbours", symbol="T", source="section V.B", ge=0, le=1)] = (
        0.5
    )
    hops: Annotated[int, doc("longest path of a virtual link", symbol="k", source="section V.A", ge=1, le=4)] = 2
    pruning: Annotated[
        float, doc("share of a pair's flow at which other gateways suffice", symbol="B", source="section V.A", ge=0)
    ] = 0.8
    alpha: Annotated[
        float, doc("weight of interests nearby against those beyond", symbol="α", source="section V.A", ge=0, le=1)
    ] = 0.99
    default_weight: Annotated[
        float, doc("weight of what nobody is known to want, for brokers", source="section IV.C, V.B", ge=0)
    ] = 1e-5
    unsubscribed: Annotated[
        Literal["known", "listed"],
        doc(
            "which topics have the default weight: those that nobody known here or next door wants (IV.C), or all "
            "that are not in the list at hand (IV.B)"
        ),
    ] = "listed"
    exclude_peer_community: Annotated[
        bool, doc("whether what a community wants itself is left out where a broker asks that community (IV.A, ER)")
    ] = False
    sigma: (
        Annotated[float, doc("scale of separations; none: their mean", symbol="σ", unit="s", source="V.A", gt=0)] | None
    ) = None
    edges: Annotated[Edges, doc("which separations count at the ends of the training window")] = "both"
    learning: Annotated[
        Literal["central", "exchange"], doc("who makes structures: an experimenter, or devices by hello messages")
    ] = "central"
    patience: (
        Annotated[
            float,
            doc("how long devices that exchange wait for all rows; none: by the pauses of the crowd", unit="s", gt=0),
        ]
        | None
    ) = None
    relearn: Annotated[float, doc("structures are made anew so often; none is never", unit="s", gt=0)] | None = None
    window: (
        Annotated[float, doc("how far back a new structure looks; none: as long as training", unit="s", gt=0)] | None
    ) = None
    closeness: (
        Annotated[
            str | Table,
            doc("closeness of pairs: a folder of hunet trace pairs or communities; none: of training", path=True),
        ]
        | None
    ) = None
    communities: (
        Annotated[
            str | Standings,
            doc("communities and brokers: a folder of hunet trace communities; none: of the closeness", path=True),
        ]
        | None
    ) = None
    later: Annotated[
        tuple[tuple[float, Table], ...], doc("tables that replace it, each from a time on; made by relearn")
    ] = ()

    def __post_init__(self) -> None:
        if self.learning == "exchange" and self.communities is not None:
            raise ValueError("learning by exchange finds communities by itself: leave them out")


def closeness_in_training(
    parameters: MopsParameters, contacts: Contacts, training: tuple[float, float]
) -> dict[str, Any]:
    """The closeness of the training part of a trace, and that of later windows if it is relearnt.

    Nothing is given to devices that learn by themselves or know their closeness already, and without training there is
    nothing to give.
    """
    begin, end = training
    if parameters.closeness is not None or begin == end or parameters.learning == "exchange":
        return {}
    later: list[tuple[float, Table]] = []
    if parameters.relearn:
        window = parameters.window or end - begin
        now = end + parameters.relearn
        while now < contacts.span[1]:
            later.append((now, closeness_of(contacts, (max(begin, now - window), now), parameters)))
            now += parameters.relearn
    return {"closeness": closeness_of(contacts, (begin, end), parameters), "later": tuple(later)}


def closeness_of(contacts: Contacts, window: tuple[float, float], parameters: MopsParameters) -> Table:
    """How close pairs were in a window of time."""
    return closeness_table(mean_separations(contacts, *window, parameters.edges), parameters.sigma)


def tables_of(parameters: MopsParameters, experiment: Experiment) -> dict[str, Any]:
    """The tables that are in the folders which the parameters name, and the settings with which they were made."""
    names, given = experiment.contacts.names, msgspec.structs.asdict(parameters)
    found: dict[str, Any] = {}
    if isinstance(parameters.communities, str):
        tables = experiment.communities(parameters.communities)
        members, closeness, gateways = tables.of("mops", names)
        found = tables.settings_of("mops", given, msgspec.structs.asdict(MopsParameters()))
        label = {member.community: member.node for member in members if member.handle}
        bridges: dict[Node, list[Node]] = {}
        for each in gateways:
            if each.broker:
                bridges.setdefault(each.node, []).append(label[each.other])
        rows = [(each.node, label[each.community], tuple(sorted(bridges.get(each.node, ())))) for each in members]
        found = {**found, "communities": tuple(rows)}
        if parameters.closeness is None:
            found["closeness"] = tuple(closeness)
    if isinstance(parameters.closeness, str):
        found["closeness"] = tuple(experiment.communities(parameters.closeness).closeness_among(names))
    return found
