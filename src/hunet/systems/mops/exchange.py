"""How devices find MOPS's communities by themselves: hello messages, decisions in rounds, announcements.

F. Li and J. Wu, "MOPS", ICDCS 2009, appendix. "In the l-th round, a node sends its l-hop neighbor set and corresponding
closeness value in the hello message to each of its encountered neighbors"; after 2k rounds it knows what is 2k + 1 hops
away, and that is all it needs to tell whether it is an initiator and which community it makes.

Theory of operation. Every device knows the closeness of its own links: its *row*. Rows travel from device to device
when they meet, at most 2k hops far. Communities are formed in rounds as in ``clique_communities``; but a device decides
for itself alone, and only when it knows enough: all rows up to 2k hops away, and of everybody who matters to it (whom
it can see, and their neighbours) whether a community had taken them before this round. So everybody tells how far it
has got: the rounds that it has decided, and those after which it is still free because all who could have taken it have
decided and did not. This and the communities travel like rows, without a limit. The decisions are then those of the
central computation, whatever the order in which people meet, and when all is heard the communities are the same.

People leave, and then their rows and decisions never come. Who has waited long enough gives up (:meth:`give_up`): it
finds the communities of those who have been heard of and have none yet. Devices that have heard the same rows by then
find the same.

What is learnt belongs to an *epoch*: rows of different training windows are not mixed, and news of another epoch than
the own are not heard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from hunet.model import Node, members
from hunet.systems.mops.closeness_graph import ClosenessGraph, ClosenessTable
from hunet.systems.mops.communities import Communities, Neighbourhoods, communities

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(msgspec.Struct, frozen=True, gc=False):
    """The closeness of one device's own links, and how far it has come."""

    owner: Node
    hops: int
    links: tuple[tuple[Node, float], ...]


class News(msgspec.Struct, frozen=True, gc=False):
    """What one device tells another of an epoch: rows, how far everybody has got, and communities."""

    epoch: int
    rows: tuple[Row, ...]
    progress: tuple[tuple[Node, int, int], ...]
    """(device, rounds that it has decided, rounds after which it was free)."""
    communities: tuple[tuple[int, tuple[Node, ...]], ...]
    """(round, members), the initiator first."""


class CommunityExchange:
    """One device's part in the forming of communities of one epoch.

    >>> table = [(1, 2, .9), (1, 3, .8), (2, 3, .7), (2, 4, .3), (2, 5, .2), (3, 4, .4), (4, 5, .9)]
    >>> rows = {n: {b if a == n else a: c for a, b, c in table if n in (a, b)} for n in range(1, 6)}
    >>> devices = {n: CommunityExchange(n, 0, rows[n], threshold=0.5, hops=2) for n in rows}
    >>> for _ in range(6):
    ...     for one, two, _ in table:
    ...         _ = devices[one].hear(devices[two].news()), devices[two].hear(devices[one].news())
    >>> devices[5].communities
    {2: (1, 2, 3), 4: (4, 5)}
    """

    saved: ClassVar[dict[str, Any]] = {
        "node": Node,
        "epoch": int,
        "_threshold": float,
        "_hops": int,
        "rows": dict[Node, Row],
        "_decided": dict[Node, int],
        "_free": dict[Node, int],
        "_found": dict[Node, tuple[int, tuple[Node, ...]]],
        "_taken": dict[Node, int],
        "near_table": ClosenessTable | None,
        "version": int,
    }

    def __init__(self, node: Node, epoch: int, links: Mapping[Node, float], *, threshold: float, hops: int) -> None:
        self.node, self.epoch = node, epoch
        self._threshold, self._hops = threshold, hops
        self.rows: dict[Node, Row] = {node: Row(node, 0, tuple(sorted(links.items())))}
        self._decided: dict[Node, int] = {}
        """For everybody heard of, how many rounds it has decided."""
        self._free: dict[Node, int] = {}
        """For everybody heard of, after how many rounds no community had taken it."""
        self._found: dict[Node, tuple[int, tuple[Node, ...]]] = {}
        """Communities by label: the round, and the members in rising order."""
        self._taken: dict[Node, int] = {}
        """In which round people were taken."""
        self._near: Neighbourhoods | None = None
        """Local neighbours in the part of the network that is known, once that is all that is needed."""
        self.version = 0
        """Rises whenever something was learnt."""
        self._news: News | None = None
        self._decide()

    @property
    def communities(self) -> Communities:
        """The communities heard of, by label."""
        return {label: group for label, (_, group) in sorted(self._found.items())}

    @property
    def placed(self) -> bool:
        """Whether this device has a community."""
        return self.node in self._taken

    @property
    def graph(self) -> ClosenessGraph | None:
        """The part of the network that this device needs to know, once it does."""
        return self._near.graph if self._near else None

    def give_up(self) -> None:
        """Wait no longer for those who have not been heard of: do without them."""
        if self.placed:
            return
        graph = self._known_graph(present=True)
        left = [node for node in sorted(self.rows) if node not in self._taken]
        for label, group in communities(graph, left, self._threshold).items():
            self._learn(self._decided.get(self.node, 0) + 1, label, group)
        self._near, self._news = Neighbourhoods(graph, self._threshold), None

    def _known_graph(self, *, present: bool = False) -> ClosenessGraph:
        """The graph of the rows that have come, or only of those whose rows have come."""
        pairs = {
            (min(row.owner, peer), max(row.owner, peer)): closeness
            for _, row in sorted(self.rows.items())
            for peer, closeness in row.links
            if not present or peer in self.rows
        }
        table = [(one, two, closeness) for (one, two), closeness in sorted(pairs.items())]
        return ClosenessGraph(table, hops=self._hops, floor=self._threshold)

    def news(self) -> News:
        """All that is worth telling; rows that have come 2k hops far go no further."""
        if self._news is None:
            rows = [self.rows[owner] for owner in sorted(self.rows) if self.rows[owner].hops < 2 * self._hops]
            found = [(when, (label, *(n for n in group if n != label))) for label, (when, group) in self._found.items()]
            progress = [(node, rounds, self._free.get(node, 0)) for node, rounds in sorted(self._decided.items())]
            self._news = News(self.epoch, tuple(rows), tuple(progress), tuple(sorted(found)))
        return self._news

    def hear(self, news: News) -> bool:
        """Take in what another device tells; whether there was anything new in it."""
        if news.epoch != self.epoch:
            return False
        before = self.version
        for row in news.rows:
            known = self.rows.get(row.owner)
            if known is None or row.hops + 1 < known.hops:
                self.rows[row.owner] = Row(row.owner, row.hops + 1, row.links)
                self.version += 1
        for node, decided, free in news.progress:
            if node != self.node and (decided > self._decided.get(node, 0) or free > self._free.get(node, 0)):
                self._decided[node] = max(decided, self._decided.get(node, 0))
                self._free[node] = max(free, self._free.get(node, 0))
                self.version += 1
        for when, group in news.communities:
            self._learn(when, group[0], tuple(sorted(group)))
        if self.version == before:
            return False
        self._news = None
        self._decide()
        return True

    # Decisions --------------------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        """Decide as many rounds as can be decided with what is known."""
        if self._near is None:
            if not self._knows_its_surroundings():
                return
            self._near = Neighbourhoods(self._known_graph(), self._threshold)
        while not self.placed:
            decided, free = self._decided.get(self.node, 0), self._free.get(self.node, 0)
            if decided == free and self._knows_all_who_matter(free):
                self._decided[self.node] = decided + 1
                left = self._left(decided)
                if self._near.initiates(self.node, left):
                    self._learn(decided + 1, self.node, tuple(members(self._near.community_of(self.node, left))[::-1]))
            elif decided > free and self._nobody_took_it(decided):
                self._free[self.node] = decided
            else:
                return
            self.version += 1
            self._news = None

    def _learn(self, when: int, label: Node, group: tuple[Node, ...]) -> None:
        if label not in self._found:
            self._found[label] = (when, group)
            for node in group:
                self._taken[node] = when
            self.version += 1

    def _knows_its_surroundings(self) -> bool:
        """Whether the rows of all who are up to 2k hops away have come."""
        edge, seen = {self.node}, {self.node}
        for _ in range(2 * self._hops + 1):
            if not edge <= self.rows.keys():
                return False
            edge = {peer for node in edge for peer, _ in self.rows[node].links} - seen
            seen |= edge
        return True

    def _knows_all_who_matter(self, rounds: int) -> bool:
        """Whether it is known of all who matter if they were taken in these rounds.

        Those are whom this device can see, and their neighbours, who count in degrees.
        """
        assert self._near is not None
        matters = seen = self._near.visible(self.node, -1)
        for node in members(seen):
            matters |= sum(1 << peer for peer in self._near.graph.links.get(node, ()))
        return all(node in self._taken or self._free.get(node, 0) >= rounds for node in members(matters))

    def _nobody_took_it(self, rounds: int) -> bool:
        """Whether all who could have taken this device have decided these rounds; who was taken cannot any more."""
        assert self._near is not None
        could = members(self._near.near.get(self.node, 0))
        return all(node in self._taken or self._decided.get(node, 0) >= rounds for node in could)

    def _left(self, rounds: int) -> int:
        """Everybody known whom no community took in these rounds."""
        assert self._near is not None
        known = {self.node, *self._near.graph.nodes}
        return sum(1 << node for node in sorted(known) if self._taken.get(node, rounds + 1) > rounds)

    # State ------------------------------------------------------------------------------------------------------------

    @property
    def near_table(self) -> ClosenessTable | None:
        """The links of the part of the network that is known, once that is all that is needed."""
        return self._near.graph.table() if self._near else None

    @near_table.setter
    def near_table(self, table: ClosenessTable | None) -> None:
        self._near = None
        if table is not None:
            self._near = Neighbourhoods(ClosenessGraph(table, hops=self._hops, floor=self._threshold), self._threshold)

    def restored(self) -> None:
        """After a restart."""
        self._news = None
