"""Detection over a whole trace: what every device knows in the end, and on what they agree.

:func:`detect` shows a contact table to devices that do nothing but detect their communities, in the order of events
that the simulator keeps: contacts start, thresholds are reached, contacts end.

Every device has its own idea of its community. The paper counts communities of the network (Table 2, Fig. 11) and does
not say how it gets from one to the other. Here, two devices are of one community if each is in the other's local
community and these are alike (a Jaccard index of at least one half, the least similarity level of Fig. 6a); those that
are linked by such pairs, directly or through others, are a community if they are at least three. The rest are loners.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from hunet.model import members
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters, LocalCommunity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunet.model import Contacts, Node, NodeSet


def detect(contacts: Contacts, rules: DetectionParameters, until: float | None = None) -> list[LocalCommunity]:
    """What every device knows after a trace, or after its contacts up to a time."""
    devices = [LocalCommunity(node, rules) for node in range(len(contacts.names))]
    columns = (contacts.start.tolist(), contacts.a.tolist(), contacts.b.tolist(), contacts.end.tolist())
    agenda: list[tuple[float, int, Node, Node, float]] = []
    """(time, 1 for a threshold that a device reaches or 2 for the end of a contact, the devices, when it ends)"""

    def reach(time: float | None, one: Node, two: Node, last: float) -> None:
        if time is not None and time <= last:
            heappush(agenda, (time, 1, one, two, last))

    def advance(now: float) -> None:
        while agenda and agenda[0][0] < now:
            time, kind, a, b, last = heappop(agenda)
            if kind == 2:
                devices[a].link_down(b, time)
                devices[b].link_down(a, time)
            elif not devices[a].reach_threshold(b, time):
                reach(devices[a].threshold_time(b), a, b, last)

    for start, a, b, end in zip(*columns, strict=True):
        if until is not None and start > until:
            break
        if agenda and agenda[0][0] < start:
            advance(start)
        one, two = devices[a], devices[b]
        last = end if until is None else min(end, until)
        reach(one.link_up(b, start), a, b, last)
        reach(two.link_up(a, start), b, a, last)
        (full, update), (answer_full, answer) = one.changes_for(b), two.changes_for(a)
        two.receive(a, update, start, full)
        one.receive(b, answer, start, answer_full)
        heappush(agenda, (last, 2, a, b, last))
    advance(float("inf"))
    return devices


def agreed(communities: Sequence[NodeSet], least: int = 3, alike: float = 0.5) -> list[NodeSet]:
    """The communities on which devices agree, given each device's own; largest first.

    >>> [bin(each) for each in agreed([0b0111, 0b0111, 0b1111, 0b1000])]
    ['0b111']
    """
    left = set(range(len(communities)))
    found = []
    for node in range(len(communities)):
        if node not in left:
            continue
        left.discard(node)
        group, waiting = 1 << node, [node]
        while waiting:
            one = waiting.pop()
            for other in members(communities[one]):
                mutual = other in left and communities[other] >> one & 1
                if mutual and jaccard(communities[one], communities[other]) >= alike:
                    left.discard(other)
                    group |= 1 << other
                    waiting.append(other)
        if group.bit_count() >= least:
            found.append(group)
    return sorted(found, key=lambda group: (-group.bit_count(), group & -group))


def jaccard(one: NodeSet, two: NodeSet) -> float:
    """|A ∩ B| / |A ∪ B|; two empty sets are alike.

    >>> jaccard(0b0111, 0b1110)
    0.5
    """
    either = (one | two).bit_count()
    return (one & two).bit_count() / either if either else 1.0


def best_matches(found: Sequence[NodeSet], wanted: Sequence[NodeSet]) -> list[float]:
    """For each wanted community, the Jaccard index of the one found that is most like it; 0 if nothing was found.

    >>> best_matches([0b0111], [0b0111, 0b1100])
    [1.0, 0.25]
    """
    return [max((jaccard(each, other) for other in found), default=0.0) for each in wanted]
