"""Workloads from a seed: who says what when, and who wants what.

Each kind of workload is a set of parameters and a function from (contacts, parameters, seed) to a workload; a paper's
own kind is declared by its system (``hunet.systems.WORKLOADS``). Roles and times come from random streams of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from hunet.model import (
    ConfigurationError,
    Parameters,
    Publication,
    Subscription,
    Workload,
    did_you_mean,
    doc,
    from_mapping,
)
from hunet.model.parameters import path_fields
from hunet.model.quantities import parse_sizes
from hunet.model.randomness import Stream, generator
from hunet.model.workload import Drawn, WorkloadKind
from hunet.systems import WORKLOADS

if TYPE_CHECKING:
    from hunet.model import Contacts


class UniformWorkload(Parameters, frozen=True):
    """Everybody is alike: topics, publishers and times are drawn uniformly, unless told otherwise."""

    messages: Annotated[int, doc("publications in all", ge=0)] = 100
    topics: Annotated[int, doc("topics, named t0, t1, ...", ge=1)] = 10
    interests: Annotated[int, doc("distinct topics that a subscriber wants, drawn uniformly", ge=0)] = 1
    subscribers: Annotated[float, doc("share of the nodes that subscribe", ge=0, le=1)] = 1.0
    publishers: Annotated[float, doc("share of the nodes that publish", gt=0, le=1)] = 1.0
    popularity: Annotated[float, doc("Zipf exponent of the topics of messages; 0 makes them equally likely", ge=0)] = (
        0.0
    )
    first: Annotated[float, doc("when publishing begins, as a share of the trace", ge=0, le=1)] = 0.0
    last: Annotated[float, doc("when publishing ends, as a share of the trace", ge=0, le=1)] = 0.7
    timing: Annotated[Literal["uniform", "regular"], doc("publication times: uniformly random, or evenly spaced")] = (
        "uniform"
    )
    size: Annotated[int, doc("bytes of a message", unit="bytes", ge=0)] = 140
    ttl: Annotated[float, doc("life of a message; none is for ever", unit="s", ge=0)] | None = None

    def __post_init__(self) -> None:
        if self.interests > self.topics:
            raise ValueError(f"interests ({self.interests}) cannot exceed topics ({self.topics})")
        if self.first > self.last:
            raise ValueError(f"first ({self.first:g}) must not be after last ({self.last:g})")


def make_workload(
    contacts: Contacts, seed: int = 1, kind: str = "uniform", *, base: Path | str = "", **given: Any
) -> Workload:
    """A random workload of a kind for these contacts; the parameters are those of the kind.

    Files that it reads are relative to ``base``, by default to the working directory. Every kind takes a range of
    sizes, such as ``size="500k-1M"``, of which each message draws its own.

    >>> from hunet.model import Contacts
    >>> line = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30)])
    >>> work = make_workload(line, seed=7, messages=2, topics=3)
    >>> [(p.id, p.node, p.topic) for p in work.publications]
    [('m0', 2, 't1'), ('m1', 1, 't2')]
    """
    if kind not in WORKLOADS:
        raise ConfigurationError(f"no workload '{kind}': {did_you_mean(kind, WORKLOADS)}")
    if not contacts.names:
        raise ConfigurationError("a workload needs nodes, and the contact table has none")
    sizes = parse_sizes("size", given["size"]) if isinstance(given.get("size"), str) else None
    if sizes:
        given["size"] = sizes[0]
    chosen = from_mapping(WORKLOADS[kind].parameters, given)
    paths = {
        field: Path(base) / getattr(chosen, field) for field in path_fields(type(chosen)) if getattr(chosen, field)
    }
    located = msgspec.structs.replace(chosen, **{field: str(path) for field, path in paths.items()})
    publications, subscriptions = WORKLOADS[kind].draw(contacts, located, seed)
    # Where files lie is the machine's affair: the fingerprint of the workload tells what they hold.
    generated = msgspec.to_builtins(chosen) | {field: path.name for field, path in paths.items()}
    if sizes and sizes[0] < sizes[1]:
        drawn = generator(seed, Stream.SIZES).integers(*sizes, len(publications), endpoint=True).tolist()
        publications = [publication._replace(size=size) for publication, size in zip(publications, drawn, strict=True)]
        generated["size"] = f"{sizes[0]}-{sizes[1]}"
    return Workload.of(publications, subscriptions, {"kind": kind, "generated": generated, "seed": seed})


def _uniform(contacts: Contacts, chosen: UniformWorkload, seed: int) -> Drawn:
    nodes = len(contacts.names)
    roles, times = generator(seed, Stream.ROLES), generator(seed, Stream.TIMES)

    subscribing = np.sort(roles.permutation(nodes)[: round(chosen.subscribers * nodes)])
    subscriptions = [
        Subscription(int(node), f"t{topic}")
        for node in subscribing
        for topic in sorted(roles.permutation(chosen.topics)[: chosen.interests])
    ]
    publishing = np.sort(roles.permutation(nodes)[: max(1, round(chosen.publishers * nodes))])
    weights = 1.0 / np.arange(1, chosen.topics + 1) ** chosen.popularity
    publishers = roles.choice(publishing, chosen.messages)
    topics = roles.choice(chosen.topics, chosen.messages, p=weights / weights.sum())

    begin, finish = contacts.span
    window = begin + chosen.first * (finish - begin), begin + chosen.last * (finish - begin)
    if chosen.timing == "uniform":
        when = np.sort(times.uniform(*window, chosen.messages))
    else:
        when = np.linspace(*window, chosen.messages, endpoint=False)
    publications = [
        Publication(f"m{i}", float(when[i]), int(publishers[i]), f"t{topics[i]}", chosen.size, chosen.ttl)
        for i in range(chosen.messages)
    ]
    return publications, subscriptions


UNIFORM = WorkloadKind(UniformWorkload, _uniform)
