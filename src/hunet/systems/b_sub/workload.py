"""B-SUB's workload: short messages on the trends of the day.

Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", IEEE TPDS 2013,
section 6.1. Everybody wants two tags of a pool of 38, drawn uniformly, and says something every now and then: the time
between two messages of a node is uniform between 0 and MAX_INTERVAL. A message has one tag, drawn from Table 2; the
system itself has "tags" of a message (sections 4.1 and 4.2), and with ``each`` it has so many, all different.

Where the paper leaves a choice. Table 2 has the shares of the first four tags only; those of the others fall off
geometrically from the fourth, so that all add up to 1 (q = 0.892793 for 38 tags). Only the names of the first four are
known; the others are made up, so that a tag has the 12 bytes that section 6.3 speaks of, on average. The paper names a
TTL but not its length. Without one, PUSH would sink in its own messages and deliver less than PULL, against every
figure; an hour, which is MAX_INTERVAL on Infocom 2006, gives the paper's picture. On Reality both are 50 hours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from hunet.model import Parameters, Publication, Subscription, doc
from hunet.model.interests import MOST_CONDITIONS
from hunet.model.randomness import Stream, generator, publication_times
from hunet.model.workload import Drawn, WorkloadKind

if TYPE_CHECKING:
    from hunet.model import Contacts

TABLE_2 = (0.132, 0.103, 0.0887, 0.0739)
"""The shares of the four most frequent tags."""

TAGS = (
    *("NewMoon", "Twitter'sNew", "funnybutnotcool", "openwebawards"),
    *("mondaymood", "GoodMorningAll", "SnowInTheCity", "lastnightsgame", "coffeefirst", "TheBigFinale", "lostluggage"),
    *("BookFair", "midtermblues", "NowPlaying", "citymarathon", "ThrowbackSong", "rainyweekend", "HallwayTrack"),
    *("freelunch", "MuseumNight", "bestpaperever", "TramStrike", "vinylrecords", "KeynoteLive", "quietcoach"),
    *("GreenElection", "harbourlights", "PosterSession", "missedmytrain", "OldTownTour", "teatimetalk", "ZeroCarbon"),
    *("nightowls", "DemoFriday", "weatheralert", "StreetFoodFest", "halfwaythere", "SundayLeague"),
)
"""The pool, most frequent first; as in the paper, spaces are removed."""


class TagWorkload(Parameters, frozen=True):
    """Everybody wants a few tags of a pool and keeps sending short messages on it (B-SUB)."""

    tags: Annotated[int, doc("tags of the pool", source="section 6.1", ge=5, le=len(TAGS))] = 38
    interests: Annotated[int, doc("distinct tags that a node wants, drawn uniformly", source="section 6.1", ge=0)] = 2
    each: Annotated[int, doc("distinct tags of a message", source="sections 4.1 and 6.1", ge=1)] = 1
    max_interval: Annotated[
        float, doc("longest time between two messages of a node", symbol="MAX_INTERVAL", unit="s", gt=0)
    ] = 3600.0
    size: Annotated[int, doc("bytes of a message", unit="bytes", source="section 6.1", ge=0)] = 140
    ttl: Annotated[float, doc("life of a message; none is for ever", unit="s", source="section 4.4", ge=0)] | None = (
        3600.0
    )

    def __post_init__(self) -> None:
        if self.interests > self.tags:
            raise ValueError(f"interests ({self.interests}) cannot exceed tags ({self.tags})")
        if self.each > min(self.tags, MOST_CONDITIONS):
            raise ValueError(f"each ({self.each}) cannot exceed tags ({self.tags}), nor {MOST_CONDITIONS}")


def tag_shares(tags: int = 38) -> list[float]:
    """The share of messages on each tag: Table 2, then a geometric tail that makes the sum 1.

    >>> shares = tag_shares()
    >>> [round(share, 5) for share in (*shares[:5], shares[-1], sum(shares))]
    [0.132, 0.103, 0.0887, 0.0739, 0.06598, 0.00156, 1.0]
    """
    last, missing, rest = TABLE_2[-1], 1 - sum(TABLE_2), tags - len(TABLE_2)
    low, high = 0.0, 2.0 + missing / last  # the sum of the tail grows with its ratio
    for _ in range(200):
        ratio = (low + high) / 2
        tail = [last * ratio**step for step in range(1, rest + 1)]
        low, high = (ratio, high) if sum(tail) < missing else (low, ratio)
    return [*TABLE_2, *tail]


def draw_tags(contacts: Contacts, chosen: TagWorkload, seed: int) -> Drawn:
    """Who wants which tags, and who says something when."""
    nodes = len(contacts.names)
    roles = generator(seed, Stream.ROLES)
    subscriptions = [
        Subscription(node, TAGS[tag])
        for node in range(nodes)
        for tag in sorted(roles.permutation(chosen.tags)[: chosen.interests])
    ]
    times = publication_times(contacts.span, range(nodes), chosen.max_interval, seed)
    shares = np.array(tag_shares(chosen.tags))
    shares /= shares.sum()
    if chosen.each == 1:
        topics = [TAGS[tag] for tag in roles.choice(chosen.tags, len(times), p=shares)]
    else:
        drawn = (roles.choice(chosen.tags, chosen.each, replace=False, p=shares) for _ in times)
        topics = [" ".join(TAGS[tag] for tag in tags) for tags in drawn]
    publications = [
        Publication(f"m{i}", time, node, topic, chosen.size, chosen.ttl)
        for i, ((time, node), topic) in enumerate(zip(times, topics, strict=True))
    ]
    return publications, subscriptions


TAG_WORKLOAD = WorkloadKind(TagWorkload, draw_tags)
