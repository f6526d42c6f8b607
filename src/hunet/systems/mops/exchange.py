"""How devices find MOPS's communities by themselves: hello messages, decisions in rounds, announcements.

F. Li and J. Wu, "MOPS", ICDCS 2009, appendix. "In the l-th round, a node sends its l-hop neighbor set and corresponding
closeness value in the hello message to each of its encountered neighbors"; after 2k rounds it knows what is 2k + 1 hops
away, and that is all it needs to tell whether it is an initiator and which community it makes.

Theory of operation. Every device knows how long it is apart from whom it met, on average: its *row*. Rows travel from
device to device when they meet, at most 2k hops far. Communities are formed in rounds as in ``clique_communities``; but
a device decides for itself alone, and only when it knows enough: all rows up to 2k hops away, and of everybody who
matters to it (whom it can see, and their neighbours) whether a community had taken them before this round. So everybody
tells how far it has got: the rounds that it has decided, and those after which it is still free because all who could
have taken it have decided and did not. This and the communities travel like rows, without a limit. The decisions are
then those of the central computation, whatever the order in which people meet, and when all is heard the communities
are the same.

Closeness needs σ, "the average separation period of all nodes" (section V.A), which no device knows. If it is not
given, everybody also tells how many pairs its row has and the sum of their separations, and takes the mean of all that
it has heard of at the moment in which it knows its surroundings: σ is exact where everybody has been heard of.

People leave, and then their rows and decisions never come. Who has waited long enough gives up (:meth:`give_up`): it
finds the communities of those who have been heard of and have none yet. Devices that have heard the same rows by then
find the same. The most hasty decides for all, so how long is enough must not be its own affair: everybody also tells
its longest pause between two meetings, and the median of the crowd counts (:attr:`pause`). A crowd that sleeps at night
and stays away at weekends has such pauses.

What is told. Every piece of knowledge has the version at which this device learnt it, so that a peer is told what is
new since the version that it has heard (:meth:`since`): whose rows there are, and all the rest. It then asks for the
rows that it lacks, so that a row comes to each device once.

What is learnt belongs to an *epoch*: rows of different training windows are not mixed, and news of another epoch than
the own are not heard.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from hunet.model import Node, members
from hunet.systems.mops.closeness_graph import ClosenessGraph, ClosenessTable, closeness_table
from hunet.systems.mops.communities import Communities, Neighbourhoods, communities

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Row(msgspec.Struct, frozen=True, gc=False):
    """How long one device is apart from those whom it met (s), and over how many hops the row has come."""

    owner: Node
    hops: int
    links: tuple[tuple[Node, float], ...]


class Learnt(msgspec.Struct, frozen=True, gc=False):
    """What one device tells another of an epoch, from one version of its knowledge to a later one."""

    epoch: int
    since: int
    version: int
    rows: tuple[tuple[Node, int], ...]
    """Whose rows it has, and over how many hops."""
    scales: tuple[tuple[Node, int, float, float], ...]
    """(device, pairs in its row, sum of their separations, its longest pause between two meetings)."""
    progress: tuple[tuple[Node, int, int], ...]
    """(device, rounds that it has decided, rounds after which it was free)."""
    communities: tuple[tuple[int, tuple[Node, ...]], ...]
    """(round, members), the initiator first."""


class CommunityExchange:
    """One device's part in the forming of communities of one epoch.

    >>> apart = [(1, 2, 10.0), (1, 3, 20.0), (2, 3, 20.0), (2, 4, 90.0), (3, 4, 80.0), (4, 5, 10.0)]
    >>> rows = {n: {b if a == n else a: t for a, b, t in apart if n in (a, b)} for n in range(1, 6)}
    >>> devices = {n: CommunityExchange(n, 0, rows[n], threshold=0.5, hops=2) for n in rows}
    >>> def meet(one, two):
    ...     for teller, hearer in ((one, two), (two, one)):
    ...         lacking = hearer.hear(teller.since(0))
    ...         hearer.take(teller.rows_of(lacking))
    >>> for _ in range(6):
    ...     for one, two, _ in apart:
    ...         meet(devices[one], devices[two])
    >>> devices[5].communities
    {2: (1, 2, 3), 4: (4, 5)}
    """

    saved: ClassVar[dict[str, Any]] = {
        "node": Node,
        "epoch": int,
        "_threshold": float,
        "_hops": int,
        "_sigma": float | None,
        "rows": dict[Node, Row],
        "_scales": dict[Node, tuple[int, float, float]],
        "_decided": dict[Node, int],
        "_free": dict[Node, int],
        "_found": dict[Node, tuple[int, tuple[Node, ...]]],
        "_taken": dict[Node, int],
        "near_table": ClosenessTable | None,
        "version": int,
        "_row_since": dict[Node, int],
        "_progress_since": dict[Node, int],
        "_found_since": dict[Node, int],
    }

    def __init__(
        self,
        node: Node,
        epoch: int,
        links: Mapping[Node, float],
        *,
        threshold: float,
        hops: int,
        sigma: float | None = None,
        pause: float = 0.0,
    ) -> None:
        self.node, self.epoch = node, epoch
        self._threshold, self._hops = threshold, hops
        self._sigma = sigma
        """As given; None: estimated of what is heard."""
        self.rows: dict[Node, Row] = {node: Row(node, 0, tuple(sorted(links.items())))}
        self._scales: dict[Node, tuple[int, float, float]] = {node: (len(links), sum(links.values(), 0.0), pause)}
        """For everybody heard of, how many pairs its row has, the sum of their separations, and its longest pause."""
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
        self.version = 1
        """Rises whenever something was learnt."""
        self._row_since: dict[Node, int] = {node: 1}
        """At which version each row (and scale), progress and community was learnt, or last changed."""
        self._progress_since: dict[Node, int] = {}
        self._found_since: dict[Node, int] = {}
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
    def basis(self) -> int:
        """How many rows the graph is made of, while it may become more."""
        return 0 if self._near else len(self.rows)

    def graph(self) -> ClosenessGraph | None:
        """The part of the network that this device needs to know, once it does; of who was taken, what it knows."""
        if self._near is None:
            return self._known_graph(present=True) if self.placed else None
        return self._near.graph

    @property
    def sigma(self) -> float:
        """σ as given, or the mean separation of all pairs heard of (those of two who are both heard of count twice)."""
        if self._sigma is not None:
            return self._sigma
        pairs = sum(many for many, _, _ in self._scales.values())
        return sum(total for _, total, _ in self._scales.values()) / pairs if pairs else 1.0

    @property
    def pause(self) -> float:
        """The median of the longest pauses between two meetings, of all that have been heard of."""
        return median(pause for _, _, pause in self._scales.values())

    def give_up(self) -> None:
        """Wait no longer for those who have not been heard of: do without them."""
        if self.placed:
            return
        graph = self._known_graph(present=True)
        left = [node for node in sorted(self.rows) if node not in self._taken]
        for label, group in communities(graph, left, self._threshold).items():
            self._learn(self._decided.get(self.node, 0) + 1, label, group)

    def _known_graph(self, *, present: bool = False) -> ClosenessGraph:
        """The graph of the rows that have come, or only of those whose rows have come."""
        apart = {
            (min(row.owner, peer), max(row.owner, peer)): average
            for _, row in sorted(self.rows.items())
            for peer, average in row.links
            if not present or peer in self.rows
        }
        return ClosenessGraph(closeness_table(apart, self.sigma or 1.0), hops=self._hops, floor=self._threshold)

    # What is told and heard -------------------------------------------------------------------------------------------

    def since(self, version: int) -> Learnt:
        """What was learnt after a version; rows that have come 2k hops far go no further."""
        rows = [owner for owner, learnt in self._row_since.items() if learnt > version]
        progress = [node for node, learnt in self._progress_since.items() if learnt > version]
        found = [label for label, learnt in self._found_since.items() if learnt > version]
        return Learnt(
            self.epoch,
            version,
            self.version,
            tuple((owner, hops) for owner in sorted(rows) if (hops := self._hops_of(owner)) < 2 * self._hops),
            tuple((owner, *self._scales[owner]) for owner in sorted(rows)),
            tuple((node, self._decided[node], self._free.get(node, 0)) for node in sorted(progress)),
            tuple(self._announced(label) for label in sorted(found)),
        )

    def rows_of(self, owners: Iterable[Node]) -> tuple[Row, ...]:
        """The rows that a peer asks for, of those that it may have."""
        return tuple(row for owner in owners if (row := self.rows.get(owner)) and row.hops < 2 * self._hops)

    def hear(self, changes: Learnt) -> tuple[Node, ...]:
        """Take in what another device tells; returns whose rows it has that are lacking here."""
        if changes.epoch != self.epoch:
            return ()
        before = self.version
        lacking = []
        for owner, hops in changes.rows:
            known = self.rows.get(owner)
            if known is None:
                lacking.append(owner)
            elif hops + 1 < known.hops:  # the same row, over fewer hops: it may go further
                self.rows[owner] = Row(owner, hops + 1, known.links)
                self._learnt(self._row_since, owner)
        for owner, pairs, total, pause in changes.scales:
            if owner not in self._scales:
                self._scales[owner] = (pairs, total, pause)
                self._learnt(self._row_since, owner)
        for node, decided, free in changes.progress:
            if node != self.node and (decided > self._decided.get(node, 0) or free > self._free.get(node, 0)):
                self._decided[node] = max(decided, self._decided.get(node, 0))
                self._free[node] = max(free, self._free.get(node, 0))
                self._learnt(self._progress_since, node)
        for when, group in changes.communities:
            self._learn(when, group[0], tuple(sorted(group)))
        if self.version > before:
            self._decide()
        return tuple(lacking)

    def take(self, rows: Iterable[Row]) -> None:
        """Rows have come that were asked for."""
        before = self.version
        for row in rows:
            if row.owner not in self.rows:
                self.rows[row.owner] = Row(row.owner, row.hops + 1, row.links)
                self._learnt(self._row_since, row.owner)
        if self.version > before:
            self._decide()

    def _hops_of(self, owner: Node) -> int:
        """Over how many hops a row has come; of whom there is only the scale, too many."""
        row = self.rows.get(owner)
        return row.hops if row else 2 * self._hops

    def _announced(self, label: Node) -> tuple[int, tuple[Node, ...]]:
        when, group = self._found[label]
        return when, (label, *(node for node in group if node != label))

    def _learnt(self, since: dict[Node, int], what: Node) -> None:
        self.version += 1
        since[what] = self.version

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
            self._learnt(self._progress_since, self.node)

    def _learn(self, when: int, label: Node, group: tuple[Node, ...]) -> None:
        if label not in self._found:
            self._found[label] = (when, group)
            for node in group:
                self._taken[node] = when
            self._learnt(self._found_since, label)

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
