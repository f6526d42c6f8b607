"""A device's own community, found by talking to those it meets: SIMPLE and k-CLIQUE.

E. Yoneki, P. Hui, S. Chan and J. Crowcroft, "A Socio-Aware Overlay for Publish/Subscribe Communication in Delay
Tolerant Networks", MSWiM 2007, sections 4.2 and 4.3.

Theory of operation. A device v0 knows its familiar set F, its local community C (at first itself alone) and, of the
members of C, what it has heard of *their* familiar sets (FoC). Two devices that meet tell each other all three. Then,
at each end (the numbers are the paper's steps):

3. what both know of a member's familiar set is united;
4. a peer that has become familiar joins C;
5. a peer v_i that is not in C joins it if its friends are mostly here: SIMPLE asks for |F_i ∩ C| / |F_i| > λ,
   k-CLIQUE for |F_i ∩ C| ≥ k - 1, as in k-clique percolation;
6. (*aggressive*) with a peer that has joined come others: by SIMPLE all of its community, if |C ∩ C_i| > γ |C ∪ C_i|;
   by k-CLIQUE each v_j of it whose familiar set, as the peer knows it, has k - 1 members in C.

Two that meet again tell each other what has changed since; each keeps what the other has told of those who are not in
its own community, since they may come to be.

Sets of devices are integers with a bit for each, so that an intersection is a machine operation. The work of a contact
follows the size of the two communities, whatever the size of the network.

Where we depart from the paper, and why
- FoC is kept for SIMPLE too: without it a device knows no graph to compute centralities on.
- A familiar peer's own familiar set enters FoC at once, as it was told in this contact.
- In step 6 the members of the peer's community are tried once, in the order of their numbers, each with those before it
  already in C. The paper gives no order.
- Without a threshold, that of ``familiar`` is derived, and beside k - 1 members more than half of a familiar set has to
  be in C. Then familiar sets become smaller at times, of which the paper knows nothing: of two versions of a familiar
  set the one that was judged later counts, only those of one judgement are united, and who was admitted by a familiar
  set that is out of date is judged again.
- With a sliding window, which the paper leaves to another, familiar peers are forgotten with their contacts, and a
  member that has not been confirmed for the length of the window leaves the community.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from hunet.model import Node, NodeSet, Parameters, doc, members
from hunet.systems.socio_aware_overlay.centrality import Graph
from hunet.systems.socio_aware_overlay.changes import Changes
from hunet.systems.socio_aware_overlay.familiar import FamiliarSet

if TYPE_CHECKING:
    from collections.abc import Mapping


class DetectionParameters(Parameters, frozen=True):
    """How communities are detected."""

    algorithm: Annotated[
        Literal["k-clique", "simple"], doc("who is admitted to a community, and by what test", source="section 4.3")
    ] = "k-clique"
    threshold: (
        Annotated[
            float,
            doc(
                "time together that makes a peer familiar; none: derived from the contacts so far",
                symbol="T_th",
                unit="s",
                source="section 4.4",
                gt=0,
            ),
        ]
        | None
    ) = None
    k: Annotated[int, doc("size of the cliques of k-clique", symbol="k", source="section 4.3", ge=2)] = 3
    admission: Annotated[
        float, doc("simple: share of a peer's familiar set in the community", symbol="λ", source="section 4.3", ge=0)
    ] = 0.6
    merging: Annotated[
        float, doc("simple: overlap of two communities that merge", symbol="γ", source="section 4.3", ge=0)
    ] = 0.6
    aggressive: Annotated[bool, doc("whether others come along with a new member", source="section 4.3, step 6")] = True
    window: (
        Annotated[float, doc("only the last so many seconds count; none: all", unit="s", source="section 4.4", gt=0)]
        | None
    ) = None

    def __post_init__(self) -> None:
        if self.window is not None and self.threshold is None:
            raise ValueError("window needs a threshold: a derived one is for all contacts so far")
        if self.window is not None and self.threshold is not None and self.window < self.threshold:
            raise ValueError(f"window ({self.window:g} s) is shorter than threshold ({self.threshold:g} s)")


class Told(NamedTuple):
    """What a device tells whom it meets (step 3)."""

    community: NodeSet
    familiar: NodeSet
    familiar_of: dict[Node, NodeSet]
    """FoC: what it knows of its members' familiar sets."""
    judged: dict[Node, int] = {}  # noqa: RUF012  (nobody changes what was told)
    """Of those whose thresholds are derived, the teller's too: when these rose last, as far as known."""


_NOTHING = Told(0, 0, {})


class Heard:
    """What a peer has told, as far as it may still matter."""

    def __init__(self, begun: int) -> None:
        self.community: NodeSet = 0
        self.familiar: NodeSet = 0
        self.familiar_of: dict[Node, NodeSet] = {}
        """Of those of whom this device knows itself, it has taken in what there is."""
        self.judged: dict[Node, int] = {}
        self.begun = begun
        """What this device has begun to know of others since has not been compared."""


class LocalCommunity:
    """What one device knows of its community.

    >>> rules = DetectionParameters(algorithm="k-clique", k=3, threshold=60)
    >>> ann = LocalCommunity(0, rules)
    >>> for friend in (1, 2):
    ...     ann.meet(friend, now=0)
    ...     ann.cross(friend, now=60)
    60.0
    True
    60.0
    True
    >>> bob_is_familiar_with_1_and_2 = Told(community=0b1110, familiar=0b0110, familiar_of={})
    >>> ann.hear(3, bob_is_familiar_with_1_and_2, now=70)
    True
    >>> bin(ann.nodes)
    '0b1111'
    """

    saved: ClassVar[dict[str, Any]] = {
        "nodes": NodeSet,
        "familiar_of": dict[Node, NodeSet],
        "_familiar": FamiliarSet,
        "_present": dict[Node, NodeSet],
        "_confirmed": dict[Node, float],
    }

    def __init__(self, node: Node, rules: DetectionParameters) -> None:
        self.node, self.rules = node, rules
        self.nodes: NodeSet = 1 << node
        """The local community C."""
        self.familiar_of: dict[Node, NodeSet] = {}
        """FoC: for members of C, what is known of their familiar sets."""
        self.judged: dict[Node, int] = {}
        """When their derived thresholds rose last, as far as known; those that are given never do."""
        self._derived = rules.threshold is None
        self._forgets = self._derived or rules.window is not None
        self._familiar = FamiliarSet(rules.threshold, rules.window)
        self._present: dict[Node, NodeSet] = {}
        """The familiar sets that peers in contact have told."""
        self._confirmed: dict[Node, float] = {}
        """With a window: when each member was last found to belong here."""
        self._told: Told | None = None
        self._near: dict[Node, NodeSet] = {}
        """For each device, those that are in its familiar set or have it in theirs."""
        self._unjoined: dict[Node, NodeSet] = {}
        """Familiar sets that have grown since and are not yet part of that."""
        self._graph: Graph = {}
        """The same within the community."""
        self._more: NodeSet | None = None
        """Those that have got more neighbours since somebody asked; None if more than that has changed."""
        self._heard: dict[Node, Heard] = {}
        self._begun = Changes[Node]()
        """Of whom this device has begun to know, or knows less: what was heard of them before may be news now."""
        self._changes = Changes[Node]()
        """Whose familiar sets, as far as known, have changed."""
        self._told_to: dict[Node, tuple[NodeSet, NodeSet, int]] = {}
        """The community and the familiar set that each peer was told last, and the number of changes until then."""

    @property
    def familiar(self) -> NodeSet:
        """The familiar set F, which a device knows exactly."""
        return self._familiar.nodes

    def told(self) -> Told:
        """What there is to tell; the same object until something changes."""
        if self._told is None:
            judged = {**self.judged, self.node: self._familiar.judged} if self._derived else {}
            self._told = Told(self.nodes, self.familiar, dict(self.familiar_of), judged)
        return self._told

    def tell(self, peer: Node) -> tuple[bool, Told]:
        """What to tell a peer: all there is, or (False) what has changed since it was told."""
        nodes, familiar, count = self.nodes, self.familiar, self._changes.count
        before = self._told_to.get(peer)
        self._told_to[peer] = (nodes, familiar, count)
        if before is None:
            return True, self.told()
        if before[0] == nodes and before[1] == familiar and before[2] == count:
            return False, _NOTHING
        known = self.familiar_of
        changed = {node: known[node] for node in self._changes.since(before[2]) if node in known}
        judged: dict[Node, int] = {}
        if self._derived:
            judged = {node: self.judged[node] for node in changed if node in self.judged}
            judged[self.node] = self._familiar.judged
        return False, Told(before[0] ^ nodes, before[1] ^ familiar, changed, judged)

    def tell_all(self, peer: Node) -> None:
        """The peer has missed something: it is told everything next."""
        self._told_to.pop(peer, None)

    def graph(self) -> Graph:
        """The community: two are neighbours if either is in the other's familiar set, as far as known.

        It grows with what is known, and who has asked must not change it.
        """
        for node, familiar in self._unjoined.items():
            self._join(node, familiar)
        self._unjoined.clear()
        if self._more is None:
            near, nodes = self._near, self.nodes
            self._graph = {node: near.get(node, 0) & nodes for node in reversed(members(nodes))}
            self._more = 0
        return self._graph

    def changes(self) -> NodeSet | None:
        """Who has got more neighbours in the graph since the last call; None if there is more that has changed."""
        fresh = self._more is None
        self.graph()
        more, self._more = self._more, 0
        return None if fresh else more

    # What happens ---------------------------------------------------------------------------------------------------

    def meet(self, peer: Node, now: float) -> float | None:
        """A contact begins: when the peer becomes familiar if it lasts; None if it is already."""
        self._forget(now)
        return self._familiar.meet(peer, now)

    def hear(self, peer: Node, told: Told, now: float, everything: bool = True) -> bool:
        """Steps 3, 5 and 6: take in what a peer in contact tells, all or what has changed; whether anything is new."""
        heard = self._heard.get(peer)
        if everything or heard is None:
            heard = self._heard[peer] = Heard(self._begun.count)
        heard.community ^= told.community
        heard.familiar ^= told.familiar
        familiar = self._present[peer] = heard.familiar
        heard.judged.update(told.judged)
        new = self._take_in(heard, told.familiar_of)
        if self.nodes >> peer & 1:
            self._confirm(peer, now)
            if self.familiar_of.get(peer) != familiar:
                self._know(peer, familiar, heard.judged.get(peer, 0))
                new = True
        elif self.admits(familiar):
            self._admit(peer, familiar, now, heard.judged.get(peer, 0))
            if self.rules.aggressive:
                self.bring_along(Told(heard.community, familiar, heard.familiar_of, heard.judged), now)
            new = True
        if new:
            self._told = None
        return new

    def _take_in(self, heard: Heard, told: Mapping[Node, NodeSet]) -> bool:
        """Step 3: unite what is known of members with what a peer tells now, or told before they were; if news."""
        new, mine, others = False, self.familiar_of, heard.familiar_of
        forgets, judged = self._forgets, heard.judged
        for node, familiar in told.items():
            if node not in mine:
                others[node] = familiar
                continue
            if forgets:
                others[node] = familiar
            new |= self._unite(node, familiar, judged.get(node, 0))
        if heard.begun != self._begun.count:
            for node in self._begun.since(heard.begun):
                if node in mine and node in others and heard.community >> node & 1:
                    known = others[node] if forgets else others.pop(node)
                    new |= self._unite(node, known, judged.get(node, 0))
            heard.begun = self._begun.count
        return new

    def _unite(self, node: Node, familiar: NodeSet, judged: int) -> bool:
        """Take in what was heard of a member's familiar set; whether it is news."""
        known, last = self.familiar_of[node], self.judged.get(node, 0)
        if judged != last:
            if judged < last:
                return False
            self._know(node, familiar, judged)
            return True
        if known is familiar or not familiar & ~known:
            return False
        self._know(node, known | familiar, judged)
        return True

    def cross(self, peer: Node, now: float) -> bool:
        """Step 4: a peer in contact has become familiar; or not yet, since a derived threshold has risen."""
        if self._derived and (self.crossing(peer) or inf) > now:
            return False
        self._familiar.cross(peer)
        self._befriend(peer, now)
        return True

    def crossing(self, peer: Node) -> float | None:
        """When a peer in contact becomes familiar if it stays; None if that is not known or if it is already."""
        return None if self._familiar.nodes >> peer & 1 else self._familiar.crossing(peer)

    def part(self, peer: Node, now: float) -> bool:
        """The contact ends; whether anything is new."""
        before = self.familiar
        new = self._familiar.part(peer, now)
        if new and self.familiar >> peer & 1:
            self._befriend(peer, now)
        if before & ~self.familiar:
            self._judge_anew()
        self._present.pop(peer, None)
        return self._forget(now) or new

    # The criteria ---------------------------------------------------------------------------------------------------

    def admits(self, familiar: NodeSet) -> bool:
        """Step 5: whether one with this familiar set belongs here."""
        common = (familiar & self.nodes).bit_count()
        if self.rules.algorithm == "k-clique":
            return common >= self.rules.k - 1 and (not self._derived or 2 * common > familiar.bit_count())
        return familiar != 0 and common / familiar.bit_count() > self.rules.admission

    def bring_along(self, told: Told, now: float) -> None:
        """Step 6: whom a new member brings along."""
        if self.rules.algorithm == "simple":
            common, either = self.nodes & told.community, self.nodes | told.community
            if common.bit_count() > self.rules.merging * either.bit_count():
                for node in members(told.community & ~self.nodes):
                    self._admit(node, told.familiar_of.get(node), now, told.judged.get(node, 0))
            return
        for node in reversed(members(told.community & ~self.nodes)):
            familiar = told.familiar_of.get(node)
            if familiar is not None and self.admits(familiar):
                self._admit(node, familiar, now, told.judged.get(node, 0))

    # Steps ----------------------------------------------------------------------------------------------------------

    def _befriend(self, peer: Node, now: float) -> None:
        self._unjoined[self.node] = self.familiar
        heard = self._heard.get(peer)
        self._admit(peer, self._present.get(peer), now, heard.judged.get(peer, 0) if heard else 0)
        self._told = None

    def _judge_anew(self) -> None:
        """Familiar sets have become smaller: who is a member only by them is so no more."""
        mine, waiting = self.familiar_of, self.nodes
        self.nodes = 1 << self.node | self.familiar
        waiting &= ~self.nodes
        found = True
        while found:
            found = False
            for node in reversed(members(waiting)):
                if node in mine and self.admits(mine[node]):
                    self.nodes |= 1 << node
                    waiting ^= 1 << node
                    found = True
        for node in members(waiting):
            mine.pop(node, None)
            self.judged.pop(node, None)
        self._told = None
        self._join_anew()

    def _admit(self, node: Node, familiar: NodeSet | None, now: float, judged: int = 0) -> None:
        if not self.nodes >> node & 1:
            self.nodes |= 1 << node
            self._more = None
        self._confirm(node, now)
        if familiar is not None and node != self.node:
            if node in self.familiar_of:
                self._unite(node, familiar, judged)
            else:
                self._know(node, familiar, judged)

    def _know(self, node: Node, familiar: NodeSet, judged: int) -> None:
        """Take down the familiar set of a member, as far as it is known."""
        before = self.familiar_of.get(node)
        if judged:
            self.judged[node] = judged
        self.familiar_of[node] = familiar
        self._changes.note(node)
        if before is None:
            self._begun.note(node)
        elif before & ~familiar:
            self._begun.note(node)
            self._join_anew()
            if self._derived and not self.familiar >> node & 1 and not self.admits(familiar):
                self._judge_anew()
        self._unjoined[node] = familiar

    def _join(self, node: Node, familiar: NodeSet) -> None:
        """Take down that a device and those in its familiar set are near each other."""
        near = self._near
        known = near.get(node, 0)
        new = familiar & ~(known | 1 << node)
        if not new:
            return
        near[node] = known | new
        for other in members(new):
            near[other] = near.get(other, 0) | 1 << node
        inside = new & self.nodes
        if inside and self._more is not None:
            graph = self._graph
            self._more |= inside | 1 << node
            graph[node] |= inside
            for other in members(inside):
                graph[other] |= 1 << node

    def _join_anew(self) -> None:
        """Begin again, since familiar sets have become smaller."""
        self._near.clear()
        self._more = None
        self._unjoined = {**self.familiar_of, self.node: self.familiar}

    def _confirm(self, node: Node, now: float) -> None:
        if self.rules.window is not None:
            self._confirmed[node] = now

    def _forget(self, now: float) -> bool:
        """With a window: let go of those whom nothing confirms any more."""
        if self.rules.window is None:
            return False
        gone = self._familiar.forget(now)
        old = now - self.rules.window
        stale = [node for node, when in self._confirmed.items() if when < old and not self.familiar >> node & 1]
        for node in stale:
            del self._confirmed[node]
            self.familiar_of.pop(node, None)
            self.nodes &= ~(1 << node)
        if gone or stale:
            self._told = None
            self._join_anew()
        return bool(gone or stale)

    def restored(self) -> None:
        """After a restart: index the familiar sets that are known."""
        self._join_anew()
