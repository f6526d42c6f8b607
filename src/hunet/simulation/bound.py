"""The reachable bound: who could have been reached at all, and when at the earliest.

The earliest arrival of a message at a node is the end of the quickest path through the temporal graph: contacts are
closed intervals, passing on takes no time, and everybody passes on everything. No protocol that uses contacts only can
deliver more, or sooner; epidemic routing with unlimited buffers and links delivers exactly this. The bound therefore
stands beside every delivery ratio, and is computed here without the engine, the protocols or the event loop.

Theory. Sweep the contacts in time. At any instant all nodes of a connected component of the open-contact graph know
the same messages, since passing on takes no time. So only two things can teach anybody anything: a message that is
published (its component learns it), and a contact that opens between nodes that know different things (each side
floods what the other lacks). Knowledge is a bit per message. Flooding stops at nodes that know already, so the work
follows the number of arrivals, not the number of nodes or messages.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from hunet.model import members
from hunet.simulation.record import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hunet.model import Contacts, Publication


def earliest_arrivals(
    contacts: Contacts, publications: tuple[Publication, ...], wanted: list[int] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The columns message, node, time of all first arrivals; the publisher's own are not arrivals.

    ``publications`` are in order of time and message i is the i-th of them. ``wanted`` gives, for each node, the set
    of messages whose arrival is asked for; without it, all are. Arrivals after a message's life may be left out.

    >>> from hunet.model import Contacts, Publication
    >>> line = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30), ("2", "3", 40, 50)])
    >>> [column.tolist() for column in earliest_arrivals(line, (Publication("m", 0.0, 0, "news"),))]
    [[0, 0, 0], [1, 2, 3], [0.0, 20.0, 40.0]]
    """
    nodes = len(contacts.names)
    asked = [-1] * nodes if wanted is None else wanted
    arrivals = array("d")
    knows = [0] * nodes
    dead = 0  # all messages before this one have expired
    first = 0  # sets count from this message, one of these
    open_to: list[set[int]] = [set() for _ in range(nodes)]

    def flood(node: int, new: int, now: float) -> None:
        reached = [(node, new)]
        while reached:
            here, new = reached.pop()
            new &= ~knows[here]  # somebody else may have told it meanwhile
            if new:
                knows[here] |= new
                for message in members(new & asked[here]):
                    arrivals.extend((first + message, here, now))
                for there in open_to[here]:
                    missing = new & ~knows[there]
                    if missing:
                        reached.append((there, missing))

    def publish(node: int, message: int, now: float) -> None:
        # Nobody knows it yet, so that there are no sets to compare: it is told once to each node of the component.
        new, holders, reached = 1 << message, {node}, [node]
        for here in reached:
            knows[here] |= new
            if here != node and asked[here] >> message & 1:
                arrivals.extend((first + message, here, now))
            for there in open_to[here]:
                if there not in holders:
                    holders.add(there)
                    reached.append(there)

    for chunk in _sweep(contacts, publications):
        for now, kind, x, y in chunk:
            if kind == _OPENS:
                open_to[x].add(y)
                open_to[y].add(x)
                here, there = knows[x], knows[y]
                if here != there:
                    both = here & there
                    if there != both:
                        flood(x, there ^ both, now)
                    if here != both:
                        flood(y, here ^ both, now)
            elif kind == _CLOSES:
                open_to[x].remove(y)
                open_to[y].remove(x)
            else:
                dead = _dead(publications, dead, now)
                if dead - first >= _STEP:
                    asked = [wants >> dead - first for wants in asked]
                    knows = [known >> dead - first for known in knows]
                    first = dead
                publish(x, y - first, now)
    message, node, time = columns(arrivals, 3)
    return message.astype(np.int64), node.astype(np.int64), time


def _dead(publications: tuple[Publication, ...], first: int, now: float) -> int:
    """The first message, from one on, that is still alive."""
    while first < len(publications):
        publication = publications[first]
        if publication.ttl is None or publication.time + publication.ttl >= now:
            break
        first += 1
    return first


_OPENS, _PUBLISHED, _CLOSES = 0, 1, 2
_STEP = 32
"""How many messages must have died before the sets of the living are counted anew."""
_CHUNK = 1 << 16


def _sweep(contacts: Contacts, publications: tuple[Publication, ...]):  # type: ignore[no-untyped-def]
    """(time, kind, x, y) in order: what opens at an instant is open before anything is published or closes."""
    time = np.concatenate([contacts.start, [p.time for p in publications], contacts.end])
    sizes = (len(contacts), len(publications), len(contacts))
    kind = np.repeat(np.array([_OPENS, _PUBLISHED, _CLOSES], np.int8), sizes)
    x = np.concatenate([contacts.a, np.array([p.node for p in publications], np.int32), contacts.a])
    y = np.concatenate([contacts.b, np.arange(len(publications), dtype=np.int32), contacts.b])
    order = np.argsort(time, kind="stable")
    for first in range(0, len(order), _CHUNK):
        part = order[first : first + _CHUNK]
        yield zip(time[part].tolist(), kind[part].tolist(), x[part].tolist(), y[part].tolist(), strict=True)
