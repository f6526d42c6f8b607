"""What can be set of MOPS, and the closeness tables that an experimenter gives its devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from hunet.model import about
from hunet.protocols.carrier import BufferParameters
from hunet.systems.mops.closeness_graph import closeness_table, mean_separations
from hunet.systems.mops.contact_history import Edges

if TYPE_CHECKING:
    from hunet.model import Contacts

Table = tuple[tuple[int, int, float], ...]
"""Rows of (node, node, closeness)."""


class MopsParameters(BufferParameters, frozen=True):
    """MOPS's parameters."""

    threshold: Annotated[
        float, about("closeness of local neighbours", symbol="T", source="section V.B", ge=0, le=1)
    ] = 0.5
    hops: Annotated[int, about("longest path of a virtual link", symbol="k", source="section V.A", ge=1, le=4)] = 2
    pruning: Annotated[
        float, about("share of a pair's flow at which other gateways suffice", symbol="B", source="section V.A", ge=0)
    ] = 0.8
    alpha: Annotated[
        float, about("weight of interests nearby against those beyond", symbol="α", source="section V.A", ge=0, le=1)
    ] = 0.99
    default_weight: Annotated[
        float, about("weight of what nobody is known to want, for brokers", source="section IV.C, V.B", ge=0)
    ] = 1e-5
    sigma: (
        Annotated[float, about("scale of separations; none is their mean", symbol="σ", unit="s", source="V.A", gt=0)]
        | None
    ) = None
    edges: Annotated[Edges, about("which separations count at the ends of the training window")] = "both"
    learning: Annotated[
        Literal["central", "exchange"], about("who makes structures: an experimenter, or devices by hello messages")
    ] = "central"
    patience: Annotated[
        float, about("how long devices that exchange wait to hear of everybody before they do without", unit="s", gt=0)
    ] = 21_600.0
    relearn: Annotated[float, about("structures are made anew so often; none is never", unit="s", gt=0)] | None = None
    window: (
        Annotated[float, about("how far back a new structure looks; none: as long as training", unit="s", gt=0)] | None
    ) = None
    closeness: (
        Annotated[Table, about("closeness of pairs, if known in advance; none: of the training phase")] | None
    ) = None
    later: Annotated[
        tuple[tuple[float, Table], ...], about("tables that replace it, each from a time on; made by relearn")
    ] = ()

    def __post_init__(self) -> None:
        if self.learning == "exchange" and self.sigma is None:
            raise ValueError("learning by exchange needs sigma: no device knows the mean separation of all")


def prepared(parameters: MopsParameters, contacts: Contacts, training: tuple[float, float]) -> MopsParameters:
    """The same with the closeness of the training part of a trace, and with that of later windows if it is relearnt.

    Nothing is given to devices that learn by themselves or know their closeness already, and without training there is
    nothing to give.
    """
    begin, end = training
    if parameters.closeness is not None or begin == end or parameters.learning == "exchange":
        return parameters

    def table(start: float, finish: float) -> Table:
        return closeness_table(mean_separations(contacts, start, finish, parameters.edges), parameters.sigma)

    later: list[tuple[float, Table]] = []
    if parameters.relearn:
        window = parameters.window or end - begin
        now = end + parameters.relearn
        while now < contacts.span[1]:
            later.append((now, table(max(begin, now - window), now)))
            now += parameters.relearn
    return msgspec.structs.replace(parameters, closeness=table(begin, end), later=tuple(later))
