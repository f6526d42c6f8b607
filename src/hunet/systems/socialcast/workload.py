"""SocialCast's workload: one interest for each community (section V.A.2 and Table I).

Half of the people publish and, independently, half of them subscribe, each to the interest of its own community. Every
publisher publishes at regular intervals for a while, each time on an interest drawn from those that somebody has. The
contacts must say who belongs to which community (those of ``hunet world community`` do), or else a file must: the
classes of a school, for instance. Communities are numbered by size, and where there are more of them than interests
they share: the paper does not say what happens if detection finds another number of communities than interests.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hunet.model import ConfigurationError, InputError, Parameters, Publication, Subscription, doc
from hunet.model.randomness import Stream, generator
from hunet.model.workload import Drawn, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunet.model import Contacts

_TABLE = "SocialCast, Table I"


class CommunityWorkload(Parameters, frozen=True):
    """Interests mirror communities; the defaults are Table I's."""

    interests: Annotated[int, doc("interests in all", source=_TABLE, ge=1)] = 10
    publishers: Annotated[float, doc("share of the people who publish", source=_TABLE, gt=0, le=1)] = 0.5
    subscribers: Annotated[float, doc("share of the people who subscribe", source=_TABLE, gt=0, le=1)] = 0.5
    start: Annotated[float, doc("when publishing begins", unit="s", source="V.A.2", ge=0)] = 3000.0
    until: Annotated[float, doc("when it ends (exclusive)", unit="s", source="V.A.2", ge=0)] = 3500.0
    interval: Annotated[float, doc("between two publications of a publisher", unit="s", source=_TABLE, gt=0)] = 60.0
    among_subscribers: Annotated[
        bool, doc("publishers are drawn from the subscribers and keep to their interest", source="V.B.1, Fig. 4")
    ] = False
    size: Annotated[int, doc("bytes of a message", unit="bytes", ge=0)] = 140
    members: Annotated[
        str,
        doc("file of lines 'node community', if contacts do not tell communities", source="ours", path=True),
    ] = ""

    def __post_init__(self) -> None:
        if self.until <= self.start:
            raise ValueError(f"until ({self.until:g}) must be after start ({self.start:g})")


def community_workload(contacts: Contacts, chosen: CommunityWorkload, seed: int) -> Drawn:
    """Draw who publishes and subscribes, and when."""
    interest = _interests(_communities(contacts, chosen.members), chosen.interests)
    roles, times = generator(seed, Stream.ROLES), generator(seed, Stream.TIMES)
    nodes = len(contacts.names)
    subscribers = sorted(roles.permutation(nodes)[: round(chosen.subscribers * nodes)].tolist())
    crowd = subscribers if chosen.among_subscribers else list(range(nodes))
    wanted = round(chosen.publishers * nodes)
    publishers = sorted(crowd[i] for i in roles.permutation(len(crowd))[:wanted].tolist())
    used = sorted({interest[node] for node in subscribers})
    publications: list[Publication] = []
    for node in publishers:
        now = chosen.start + float(times.uniform(0, chosen.interval))
        while now < chosen.until:
            topic = interest[node] if chosen.among_subscribers else used[int(roles.integers(len(used)))]
            publications.append(Publication(f"m{len(publications)}", now, node, topic, chosen.size))
            now += chosen.interval
    return publications, [Subscription(node, interest[node]) for node in subscribers]


def _communities(contacts: Contacts, members: str) -> list[str]:
    """The community of each node."""
    if members:
        return _listed(Path(members), contacts.names)
    known = contacts.metadata.get("communities")
    if not isinstance(known, list) or len(known) != len(contacts.names):
        raise ConfigurationError(
            "this workload needs to know everybody's community: use contacts of 'hunet world community' (as Parquet), "
            "or name a file with members=FILE"
        )
    return [str(label) for label in known]


def _listed(path: Path, names: Sequence[str]) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    community = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if len(words) == 1:
            raise InputError(path, "a line has a node and its community", number)
        if words:
            community[words[0]] = words[1]
    missing = [name for name in names if name not in community]
    if missing:
        raise InputError(path, f"does not say to which community node '{missing[0]}' belongs")
    return [community[name] for name in names]


def _interests(communities: list[str], interests: int) -> list[str]:
    """The interest of each node: that of its community."""
    sizes = Counter(communities)
    first = {label: communities.index(label) for label in sizes}
    order = sorted(sizes, key=lambda label: (-sizes[label], first[label]))
    number = {label: i % interests for i, label in enumerate(order)}
    return [f"i{number[label]}" for label in communities]


COMMUNITIES = WorkloadKind(CommunityWorkload, community_workload)
