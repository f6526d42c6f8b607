"""Social election's workload: a few types of messages, each with its publishers and its subscribers.

Y. Zhao, J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks", section V.A. "We randomly generate 5 types
of messages, 5 publishers, and 10 subscribers for each type of message. The publishers generate 1 message per second."

Where the paper leaves a choice. Five publishers for each type (``publishers = 1`` is the other reading, five in all).
Publishers and subscribers of a type are drawn uniformly and independently of the other types; each publisher begins at
a time of its own within the first interval, so that not all speak at the same instant. With ``weights``, subscriptions
are not for one type only but weigh several (``hunet.model.matching``): the type drawn, and the ones after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hunet.model import ConfigurationError, Parameters, Publication, Subscription, doc
from hunet.model.randomness import Stream, generator
from hunet.model.workload import Drawn, WorkloadKind

if TYPE_CHECKING:
    from hunet.model import Contacts

_PAPER = "Zhao and Wu, section V.A"


class TypeWorkload(Parameters, frozen=True):
    """Every type of message has its publishers, who speak at regular intervals, and its subscribers."""

    types: Annotated[int, doc("types of messages", source=_PAPER, ge=1)] = 5
    publishers: Annotated[int, doc("publishers of each type", source=_PAPER, ge=1)] = 5
    subscribers: Annotated[int, doc("subscribers of each type", source=_PAPER, ge=0)] = 10
    interval: Annotated[float, doc("between two messages of a publisher", unit="s", source=_PAPER, gt=0)] = 1.0
    weights: Annotated[
        tuple[float, ...], doc("how much a subscriber cares for its type and the ones after it; none: its type only")
    ] = ()
    size: Annotated[int, doc("bytes of a message", unit="bytes", ge=0)] = 140
    ttl: Annotated[float, doc("life of a message; none is for ever", unit="s", ge=0)] | None = None

    def __post_init__(self) -> None:
        if len(self.weights) > self.types:
            raise ValueError(f"weights has {len(self.weights)} values, but there are {self.types} types")
        if not all(0 < weight <= 1 for weight in self.weights):
            raise ValueError("weights are above 0, and at most 1")


def draw_types(contacts: Contacts, chosen: TypeWorkload, seed: int) -> Drawn:
    """Draw who publishes and who wants what."""
    nodes = len(contacts.names)
    if max(chosen.publishers, chosen.subscribers) > nodes:
        raise ConfigurationError(
            f"{chosen.publishers} publishers and {chosen.subscribers} subscribers of a type, but only {nodes} nodes"
        )
    roles, times = generator(seed, Stream.ROLES), generator(seed, Stream.TIMES)
    begin, end = contacts.span
    spoken: list[tuple[float, int, str]] = []
    subscriptions = []
    for number in range(chosen.types):
        for node in sorted(roles.permutation(nodes)[: chosen.publishers].tolist()):
            first = float(times.uniform(0, chosen.interval))
            many = max(0, -int(-(end - begin - first) // chosen.interval))
            spoken += [(begin + first + i * chosen.interval, node, f"type{number}") for i in range(many)]
        for node in sorted(roles.permutation(nodes)[: chosen.subscribers].tolist()):
            subscriptions.append(Subscription(node, _wanted(number, chosen)))
    publications = [
        Publication(f"m{i}", time, node, topic, chosen.size, chosen.ttl)
        for i, (time, node, topic) in enumerate(sorted(spoken))
    ]
    return publications, subscriptions


def _wanted(number: int, chosen: TypeWorkload) -> str:
    if not chosen.weights:
        return f"type{number}"
    return " ".join(f"type{(number + i) % chosen.types}^{weight:g}" for i, weight in enumerate(chosen.weights))


TYPES = WorkloadKind(TypeWorkload, draw_types)
