"""A device's own community, found by talking to those it meets: SIMPLE and k-CLIQUE.

E. Yoneki, P. Hui, S. Chan and J. Crowcroft, "A Socio-Aware Overlay for Publish/Subscribe Communication in Delay
Tolerant Networks", MSWiM 2007, sections 4.2 and 4.3.

Theory of operation. A device v0 knows its familiar set F, its local community C (at first itself alone) and, of the
members of C, what others have sent it of *their* familiar sets (FoC). Two devices in contact send each other all three.
Then, at each end (the numbers are the paper's steps):

3. what both know of a member's familiar set is united;
4. a peer that has become familiar joins C;
5. a peer v_i that is not in C joins it if its friends are mostly here: SIMPLE asks for |F_i ∩ C| / |F_i| > λ,
   k-CLIQUE for |F_i ∩ C| ≥ k - 1, as in k-clique percolation;
6. (*aggressive*) with a peer that has joined come others: by SIMPLE all of its community, if |C ∩ C_i| > γ |C ∪ C_i|;
   by k-CLIQUE each v_j of it whose familiar set, as the peer knows it, has k - 1 members in C.

In later contacts two devices send each other what has changed since; each keeps what the other has sent of those who
are not in its own community, since they may join it.

Sets of devices are integers with a bit for each, so that an intersection is a machine operation. The work of a contact
follows the size of the two communities, whatever the size of the network.

Where we depart from the paper, and why
- FoC is kept for SIMPLE too: without it a device knows no graph to compute centralities on.
- A familiar peer's own familiar set enters FoC at once, as it was sent in this contact.
- In step 6 the members of the peer's community are tried once, in the order of their numbers, each with those before it
  already in C. The paper gives no order.
- Step 6 follows step 5 only. "If v_i is added in the previous steps" may include step 4, where a peer becomes familiar;
  but that is often when the contact ends, and the similarity with centralised communities changes by .042 at most.
- Without a threshold, that of ``familiar`` is derived, and beside k - 1 members more than half of a familiar set has to
  be in C. Then familiar sets become smaller at times, of which the paper knows nothing: of two versions of a familiar
  set the later one counts, only sets of one version are united, and who was admitted by a familiar set that is out of
  date is judged again.
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


class CommunityState(NamedTuple):
    """What a device sends to a peer (step 3): all of it, or what has changed."""

    community: NodeSet = 0
    """C; of an update, who has joined or left."""
    familiar: NodeSet = 0
    """F; of an update, who has come or gone."""
    familiar_of: dict[Node, NodeSet] = {}  # noqa: RUF012  (nobody changes what was sent)
    """FoC: what the sender knows of its members' familiar sets; of an update, those that have changed."""
    versions: dict[Node, int] = {}  # noqa: RUF012
    """With derived thresholds, of the sender and of those in FoC: when theirs rose last, as far as known."""


NO_CHANGE = CommunityState()


class PeerState:
    """What is known of a peer's state, as far as it may still matter."""

    def __init__(self, compared: int) -> None:
        self.community: NodeSet = 0
        self.familiar: NodeSet = 0
        self.familiar_of: dict[Node, NodeSet] = {}
        """Without those of this device's own members: these have been merged already."""
        self.versions: dict[Node, int] = {}
        self.compared = compared
        """What this device has begun to know since then has not been compared with this."""


class LocalCommunity:
    """What one device knows of its community.

    >>> rules = DetectionParameters(algorithm="k-clique", k=3, threshold=60)
    >>> ann = LocalCommunity(0, rules)
    >>> for friend in (1, 2):
    ...     ann.link_up(friend, now=0)
    ...     ann.reach_threshold(friend, now=60)
    60.0
    True
    60.0
    True
    >>> bob_is_familiar_with_1_and_2 = CommunityState(community=0b1110, familiar=0b0110)
    >>> ann.receive(3, bob_is_familiar_with_1_and_2, now=70)
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
        self.versions: dict[Node, int] = {}
        """When their derived thresholds rose last, as far as known; those that are given never do."""
        self._derived = rules.threshold is None
        self._forgets = self._derived or rules.window is not None
        self._familiar = FamiliarSet(rules.threshold, rules.window)
        self._present: dict[Node, NodeSet] = {}
        """The familiar sets that peers in contact have sent."""
        self._confirmed: dict[Node, float] = {}
        """With a window: when each member was last found to belong here."""
        self._state: CommunityState | None = None
        self._adjacent: dict[Node, NodeSet] = {}
        """For each device, those that are in its familiar set or have it in theirs."""
        self._pending: dict[Node, NodeSet] = {}
        """Familiar sets that have grown since and are not yet part of that."""
        self._graph: Graph = {}
        """The same within the community."""
        self._changed: NodeSet | None = None
        """Those that have got more neighbours since somebody asked; None if more than that has changed."""
        self._peer_states: dict[Node, PeerState] = {}
        self._begun = Changes[Node]()
        """Of whom this device has begun to know, or knows less: what peers sent of them before may be new now."""
        self._changes = Changes[Node]()
        """Whose familiar sets, as far as known, have changed."""
        self._sent_to: dict[Node, tuple[NodeSet, NodeSet, int]] = {}
        """The community and the familiar set that each peer was sent last, and the number of changes that it knows."""

    @property
    def familiar(self) -> NodeSet:
        """The familiar set F, which a device knows exactly."""
        return self._familiar.nodes

    def state(self) -> CommunityState:
        """The whole state to send; the same object until something changes."""
        if self._state is None:
            versions = {**self.versions, self.node: self._familiar.version} if self._derived else {}
            self._state = CommunityState(self.nodes, self.familiar, dict(self.familiar_of), versions)
        return self._state

    def changes_for(self, peer: Node) -> tuple[bool, CommunityState]:
        """What to send to a peer: the whole state (True), or what has changed since it was sent something."""
        nodes, familiar, count = self.nodes, self._familiar.nodes, self._changes.count
        before = self._sent_to.get(peer)
        if before is None:
            self._sent_to[peer] = (nodes, familiar, count)
            return True, self.state()
        last_nodes, last_familiar, last_count = before
        if last_count == count and last_nodes == nodes and last_familiar == familiar:
            return False, NO_CHANGE
        self._sent_to[peer] = (nodes, familiar, count)
        changed: dict[Node, NodeSet] = {}
        versions: dict[Node, int] = {}
        if last_count != count:
            known = self.familiar_of
            changed = {node: known[node] for node in self._changes.since(last_count) if node in known}
            changed.pop(peer, None)  # it knows its own
        if self._derived:
            versions = {node: self.versions[node] for node in changed if node in self.versions}
            versions[self.node] = self._familiar.version
        return False, CommunityState(last_nodes ^ nodes, last_familiar ^ familiar, changed, versions)

    def forget_sent(self, peer: Node) -> None:
        """The peer has missed something: it is sent the whole state next."""
        self._sent_to.pop(peer, None)

    def community_of(self, peer: Node) -> NodeSet:
        """A peer's community, as far as it has sent it."""
        state = self._peer_states.get(peer)
        return state.community if state is not None else 0

    def graph(self) -> Graph:
        """The community: two are neighbours if either is in the other's familiar set, as far as known.

        It grows with what is known, and who has asked must not change it.
        """
        if self._pending:
            for node, familiar in self._pending.items():
                self._add_edges(node, familiar)
            self._pending.clear()
        if self._changed is None:
            near, nodes = self._adjacent, self.nodes
            self._graph = {node: near.get(node, 0) & nodes for node in reversed(members(nodes))}
            self._changed = 0
        return self._graph

    def changes(self) -> NodeSet | None:
        """Who has got more neighbours in the graph since the last call; None if there is more that has changed."""
        fresh = self._changed is None
        self.graph()
        changed, self._changed = self._changed, 0
        return None if fresh else changed

    # Events ---------------------------------------------------------------------------------------------------------

    def link_up(self, peer: Node, now: float) -> float | None:
        """A contact begins: when the peer becomes familiar if it lasts; None if it is already."""
        if self.rules.window is not None:
            self._forget(now)
        return self._familiar.link_up(peer, now)

    def receive(self, peer: Node, state: CommunityState, now: float, full: bool = True) -> bool:
        """Steps 3, 5 and 6: merge what a peer in contact has sent, its state or an update; whether that changed any."""
        known = self._peer_states.get(peer)
        if full or known is None:
            known = self._peer_states[peer] = PeerState(self._begun.count)
        known.community ^= state.community
        known.familiar ^= state.familiar
        familiar = self._present[peer] = known.familiar
        if state.versions:
            known.versions.update(state.versions)
        new = self._merge(known, state.familiar_of)
        if self.nodes >> peer & 1:
            self._confirm(peer, now)
            if self.familiar_of.get(peer) != familiar:
                self._set_familiar_of(peer, familiar, known.versions.get(peer, 0))
                new = True
        elif self.admits(familiar):
            self._admit(peer, familiar, now, known.versions.get(peer, 0))
            if self.rules.aggressive:
                self.admit_community(CommunityState(known.community, familiar, known.familiar_of, known.versions), now)
            new = True
        if new:
            self._state = None
        return new

    def _merge(self, peer: PeerState, familiar_of: Mapping[Node, NodeSet]) -> bool:
        """Step 3: unite what is known of members with what a peer sends now, or sent before they were."""
        new, mine, others = False, self.familiar_of, peer.familiar_of
        forgets, versions = self._forgets, peer.versions
        for node, familiar in familiar_of.items():
            known = mine.get(node)
            if known is None:
                others[node] = familiar
                continue
            if forgets:
                others[node] = familiar
            elif known == familiar:
                continue
            if self._merge_set(node, familiar, versions.get(node, 0)):
                new = True
        if peer.compared != self._begun.count:
            for node in self._begun.since(peer.compared):
                if node in mine and node in others and peer.community >> node & 1:
                    familiar = others[node] if forgets else others.pop(node)
                    if self._merge_set(node, familiar, versions.get(node, 0)):
                        new = True
            peer.compared = self._begun.count
        return new

    def _merge_set(self, node: Node, familiar: NodeSet, version: int) -> bool:
        """Merge what a peer knows of a member's familiar set; whether it is new."""
        known, last = self.familiar_of[node], self.versions.get(node, 0)
        if version != last:
            if version < last:
                return False
            self._set_familiar_of(node, familiar, version)
            return True
        if known is familiar or not familiar & ~known:
            return False
        self._set_familiar_of(node, known | familiar, version)
        return True

    def reach_threshold(self, peer: Node, now: float) -> bool:
        """Step 4: a peer in contact has become familiar; or not yet, since a derived threshold has risen."""
        if self._derived and (self.threshold_time(peer) or inf) > now:
            return False
        self._familiar.add(peer)
        self._add_familiar(peer, now)
        return True

    def threshold_time(self, peer: Node) -> float | None:
        """When a peer in contact becomes familiar if it stays; None if that is not known or if it is already."""
        return None if self._familiar.nodes >> peer & 1 else self._familiar.threshold_time(peer)

    def link_down(self, peer: Node, now: float) -> bool:
        """The contact ends; whether anything has changed."""
        before = self._familiar.nodes
        new = self._familiar.link_down(peer, now)
        if new:
            if self._familiar.nodes >> peer & 1:
                self._add_familiar(peer, now)
            if before & ~self._familiar.nodes:
                self._review()
        self._present.pop(peer, None)
        return new if self.rules.window is None else self._forget(now) or new

    # The criteria ---------------------------------------------------------------------------------------------------

    def admits(self, familiar: NodeSet) -> bool:
        """Step 5: whether one with this familiar set belongs here."""
        common = (familiar & self.nodes).bit_count()
        if self.rules.algorithm == "k-clique":
            return common >= self.rules.k - 1 and (not self._derived or 2 * common > familiar.bit_count())
        return familiar != 0 and common / familiar.bit_count() > self.rules.admission

    def admit_community(self, state: CommunityState, now: float) -> None:
        """Step 6: whom a new member brings along."""
        candidates = state.community & ~self.nodes
        if not candidates:
            return
        if self.rules.algorithm == "simple":
            common, either = self.nodes & state.community, self.nodes | state.community
            if common.bit_count() > self.rules.merging * either.bit_count():
                for node in members(candidates):
                    self._admit(node, state.familiar_of.get(node), now, state.versions.get(node, 0))
            return
        for node in reversed(members(candidates)):
            familiar = state.familiar_of.get(node)
            if familiar is not None and self.admits(familiar):
                self._admit(node, familiar, now, state.versions.get(node, 0))

    # Steps ----------------------------------------------------------------------------------------------------------

    def _add_familiar(self, peer: Node, now: float) -> None:
        self._pending[self.node] = self.familiar
        known = self._peer_states.get(peer)
        self._admit(peer, self._present.get(peer), now, known.versions.get(peer, 0) if known else 0)
        self._state = None

    def _review(self) -> None:
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
            self.versions.pop(node, None)
        self._state = None
        self._rebuild_graph()

    def _admit(self, node: Node, familiar: NodeSet | None, now: float, version: int = 0) -> None:
        if not self.nodes >> node & 1:
            self.nodes |= 1 << node
            self._changed = None
        self._confirm(node, now)
        if familiar is not None and node != self.node:
            if node in self.familiar_of:
                self._merge_set(node, familiar, version)
            else:
                self._set_familiar_of(node, familiar, version)

    def _set_familiar_of(self, node: Node, familiar: NodeSet, version: int) -> None:
        """Record the familiar set of a member, as far as it is known."""
        before = self.familiar_of.get(node)
        if version:
            self.versions[node] = version
        self.familiar_of[node] = familiar
        self._changes.add(node)
        if before is None:
            self._begun.add(node)
        elif before & ~familiar:
            self._begun.add(node)
            self._rebuild_graph()
            if self._derived and not self.familiar >> node & 1 and not self.admits(familiar):
                self._review()
        self._pending[node] = familiar

    def _add_edges(self, node: Node, familiar: NodeSet) -> None:
        """Record that a device and those in its familiar set are neighbours in the graph."""
        near = self._adjacent
        known = near.get(node, 0)
        new = familiar & ~(known | 1 << node)
        if not new:
            return
        near[node] = known | new
        for other in members(new):
            near[other] = near.get(other, 0) | 1 << node
        inside = new & self.nodes
        if inside and self._changed is not None:
            graph = self._graph
            self._changed |= inside | 1 << node
            graph[node] |= inside
            for other in members(inside):
                graph[other] |= 1 << node

    def _rebuild_graph(self) -> None:
        """Begin again, since familiar sets have become smaller."""
        self._adjacent.clear()
        self._changed = None
        self._pending = {**self.familiar_of, self.node: self.familiar}

    def _confirm(self, node: Node, now: float) -> None:
        if self.rules.window is not None:
            self._confirmed[node] = now

    def _forget(self, now: float) -> bool:
        """With a window: remove those whom nothing confirms any more."""
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
            self._state = None
            self._rebuild_graph()
        return bool(gone or stale)

    def restored(self) -> None:
        """After a restart: index the familiar sets that are known."""
        self._rebuild_graph()
