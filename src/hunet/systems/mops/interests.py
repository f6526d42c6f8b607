"""MOPS's interest lists and their weights (section IV.A), as one device keeps them.

F. Li and J. Wu, "MOPS", ICDCS 2009. A device knows the *lists* of its own community, which are broadcast there. A
broker makes three things of what it hears:

=============  =====================================================================================================
internal I     what its community wants: the sum of its closeness to those who want a topic, times how much (Eq. 2)
external E     what neighbouring communities want: of each community the largest internal weight that one of its
               brokers has told, times the closeness of the link to that broker; summed over communities (Eq. 3)
relayed R      what other brokers of its community have told of theirs, times the closeness to them
=============  =====================================================================================================

ER takes of each community the larger of E and R (Eq. 4). In its own community a broker asks by α·S + β·E (Eq. 5), where
S is the level of its own interests; outside, by α·I + β·ER (Eq. 6). Since α is far larger than β, what its own people
want comes first. (Section IV.B has S in the place of I in Eq. 6; then a broker would never collect for its community,
against the first rule of section IV.A.) Relayed lists are not used in the own community and are not relayed again.

Where the paper contradicts itself, and what can be chosen:

Which topics have the *default weight* (``unsubscribed``). ``known``: "the categories that are not currently subscribed
by any nodes in the brokers' own and neighboring communities" (IV.C), and brokers are infected "only when the subscriber
and publisher reside in different communities" (V.B). A broker then takes nothing at home that only its own community
wants: that is handed on among those who want it. ``listed``: before the communication begins, u will "assign the same
default weight to all the categories in its external interest list", and "only events with non-zero weight in v's
interest list will be sent" (IV.B): what is not in the list at hand has the default weight, no matter who wants it.

What a broker asks another community for on behalf of others (``exclude_peer_community``). ER is used "when broker u is
collecting events from *another* neighboring community", for "its own or *other* neighboring communities" (IV.A, III.C):
then what the community that is asked wants itself does not count. Eq. 4 as printed sums over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from hunet.model import Node, Topic, matches
from hunet.model.interests import terms_of
from hunet.protocols.byte_streams import KIND_BYTES, count_size, ids_size, widths
from hunet.protocols.contract import Control
from hunet.systems.mops.weighted_carrier import WantedTopics, by_weight, weights_size

if TYPE_CHECKING:
    from hunet.systems.mops.structure import Structure

Weights = dict[Topic, float]
M = TypeVar("M")
_Told = tuple[tuple[Topic, float], ...]

_FOLLOWS = {
    "own": ("S", "any", "I", "Eq. 5", "Eq. 6", "internal"),
    "lists": ("I", "Eq. 6", "internal"),
    "external": ("E", "ER", "Eq. 5", "Eq. 6", "relay"),
    "relayed": ("ER", "Eq. 6"),
}
"""What is made of its own interests, the community's lists, and what brokers elsewhere and here have told."""
_FOLLOWS_IF_KNOWN = {changed: (*made, "asked here", "Eq. 5") for changed, made in _FOLLOWS.items()}
"""If the default weight follows from what is known, all lists do."""
_FOLLOWS_FOR_ONE = {"external": ("E", "ER", "relay"), "relayed": ("R", "ER")}
"""Of these, what is made for each community by itself, and only made anew for the one that was told of."""


class InterestList(msgspec.Struct, frozen=True, gc=False):
    """What one device wants, as its community hears it: {(X, w)} with its generation time t (section II.C)."""

    origin: Node
    made: float
    own: tuple[Topic, ...]
    """Its own interests; what they weigh is in them."""
    carried: tuple[Topic, ...] = ()
    """What it, a broker, collects for other communities."""
    anything: bool = False
    """Whether it, a broker, takes the rest too, by its default weight."""


class Lists(Control, frozen=True, gc=False):
    """Interest lists of a community, on their way through it."""

    lists: tuple[InterestList, ...]


class Internal(Control, frozen=True, gc=False):
    """What a broker's community wants, told to brokers of other communities."""

    community: Node
    weights: _Told

    @property
    def size(self) -> int:
        return KIND_BYTES + ids_size(1) + 1 + weights_size(self.weights)


class Relay(Control, frozen=True, gc=False):
    """What other communities want, told to brokers of its own one: a list for each of them."""

    lists: tuple[tuple[Node, _Told], ...]

    @property
    def size(self) -> int:
        named, many = len({community for community, _ in self.lists}), len(self.lists)
        nodes = ids_size(named) + count_size(many) + widths(named, 0).node * many
        return KIND_BYTES + nodes + sum([weights_size(weights) for _, weights in self.lists])


class InterestBook:
    """The lists that a device has heard, and the weights that follow."""

    saved: ClassVar[dict[str, Any]] = {
        "own": set[Topic],
        "lists": dict[Node, InterestList],
        "external": dict[Node, dict[Node, _Told]],
        "relayed": dict[Node, dict[Node, _Told]],
    }

    def __init__(
        self, node: Node, alpha: float, default: float, unsubscribed: str = "listed", *, exclude_peer: bool = False
    ) -> None:
        self.node, self.alpha, self.default = node, alpha, default
        self._known_only, self._exclude_peer = unsubscribed == "known", exclude_peer
        self._follows = _FOLLOWS_IF_KNOWN if self._known_only else _FOLLOWS
        self.own: set[Topic] = set()
        self.lists: dict[Node, InterestList] = {}
        """The newest list of everybody in the community, this device included."""
        self.external: dict[Node, dict[Node, _Told]] = {}
        """For each neighbouring community, what its brokers have told of it."""
        self.relayed: dict[Node, dict[Node, _Told]] = {}
        """For each of them, what brokers of its own community have told of it."""
        self.structure: Structure | None = None
        self._made: dict[str, Any] = {}
        """Sums and packets, as they were made when something that they follow from last changed."""
        self._made_for: dict[str, dict[Node, Any]] = {}
        """The same for each community by itself."""

    # What comes in --------------------------------------------------------------------------------------------------

    def use_structure(self, structure: Structure) -> None:
        """Learn its own place: lists of those who are not (or no longer) of the community are forgotten."""
        here = set(structure.members(self.node))
        self.lists = {origin: one for origin, one in self.lists.items() if origin in here}
        self.external, self.relayed = {}, {}
        self.weigh_by(structure)

    def weigh_by(self, structure: Structure) -> None:
        """The own place is as it was, but who is how close may have changed, and all weights with it."""
        self.structure = structure
        self._made.clear()
        self._made_for.clear()

    def want(self, topics: set[Topic]) -> None:
        """The device's own interests."""
        if self.own != topics:
            self.own = set(topics)
            self._remake("own")

    def hear(self, lists: Iterable[InterestList]) -> tuple[InterestList, ...]:
        """Take in lists of its own community; returns those that were news. The newest wins."""
        assert self.structure is not None
        here = self.structure.members(self.node)
        new = []
        for one in lists:
            known = self.lists.get(one.origin)
            if one.origin != self.node and one.origin in here and (known is None or known.made < one.made):
                self.lists[one.origin] = one
                new.append(one)
        if new:
            self._remake("lists")
        return tuple(new)

    def hear_internal(self, broker: Node, packet: Internal) -> None:
        """A broker of another community tells what that wants."""
        brokers = self.external.setdefault(packet.community, {})
        if brokers.get(broker) != packet.weights:
            brokers[broker] = packet.weights
            self._remake("external", packet.community)

    def hear_relay(self, broker: Node, packet: Relay) -> None:
        """A broker of its own community tells what its neighbouring communities want."""
        before = {community: row[broker] for community, row in self.relayed.items() if broker in row}
        now = dict(packet.lists)
        changed = [community for community in sorted({*before, *now}) if before.get(community) != now.get(community)]
        for community in changed:
            row = self.relayed.setdefault(community, {})
            if community in now:
                row[broker] = now[community]
            else:
                del row[broker]
        if changed:
            self._remake("relayed", *changed)

    # What follows ---------------------------------------------------------------------------------------------------

    def internal(self) -> Weights:
        """I, Eq. 2."""
        return self._once("I", self._internal)

    def _internal(self) -> Weights:
        weights: Weights = {}
        for origin in sorted(self.lists):
            closeness = self._closeness(origin)
            for topic, level in levels(self.lists[origin].own if origin != self.node else sorted(self.own)).items():
                weights[topic] = weights.get(topic, 0.0) + closeness * level
        return weights

    def external_of(self, community: Node) -> Weights:
        """E(A): the best that this broker can do for a community."""
        return self._once_for("E", community, self._external_of)

    def _external_of(self, community: Node) -> Weights:
        assert self.structure is not None
        direct, rows = self.structure.graph.direct, self.external.get(community, {})
        return _best((direct(self.node, broker), weights) for broker, weights in rows.items())

    def relayed_of(self, community: Node) -> Weights:
        """R(A): the same with the help of another broker of its own community."""
        return self._once_for("R", community, self._relayed_of)

    def _relayed_of(self, community: Node) -> Weights:
        rows = self.relayed.get(community, {})
        return _best((self._closeness(broker), weights) for broker, weights in rows.items())

    def external_sum(self) -> Weights:
        """E, Eq. 3."""
        return self._once("E", lambda: _sum(self.external_of(community) for community in sorted(self.external)))

    def external_or_relayed(self) -> Weights:
        """ER, Eq. 4."""
        return self._once("ER", self._external_or_relayed)

    def _external_or_relayed(self, but: Node | None = None) -> Weights:
        communities = sorted({*self.external, *self.relayed} - {self._home, but})
        return _sum(self._once_for("ER", community, self._better_of) for community in communities)

    def _better_of(self, community: Node) -> Weights:
        better = dict(self.external_of(community))
        for topic, weight in self.relayed_of(community).items():
            better[topic] = max(better.get(topic, 0.0), weight)
        return better

    def carried(self) -> tuple[Topic, ...]:
        """What this broker tells its own community that it collects for others; if it takes all else too, nothing."""
        if self.default > 0 and not self._known_only:
            return ()
        return tuple(sorted(topic for topic, weight in self.external_sum().items() if weight > 0))

    def asks_for(self, one: InterestList, topic: Topic) -> bool:
        """Whether somebody of the community, by its list, wants a topic or takes it by its default weight."""
        if matches(one.own, topic) or matches(one.carried, topic):
            return True
        return one.anything and not (self._known_only and matches(self._once("asked here", self._asked_here), topic))

    def _asked_here(self) -> set[Topic]:
        """What anybody of the community wants or collects."""
        return self.own.union(*(topics for one in self.lists.values() for topics in (one.own, one.carried)))

    # What goes out --------------------------------------------------------------------------------------------------

    def for_itself(self) -> WantedTopics:
        """The list of somebody who collects for nobody else: its own interests, by their levels."""
        return self._once("S", lambda: by_weight(self._self()))

    def for_itself_and_anybody(self) -> WantedTopics:
        """The list of somebody who does not know for whom to collect."""
        return self._once("any", lambda: by_weight(self._self(), self.default))

    def for_neighbours(self) -> WantedTopics:
        """A broker's list for its own community, Eq. 5."""
        return self._once("Eq. 5", lambda: self._mixed(self._self(), self.external_sum()))

    def for_outsiders(self, community: Node | None = None) -> WantedTopics:
        """A broker's list for brokers of another community, Eq. 6."""
        if not self._exclude_peer or community is None:
            return self._once("Eq. 6", lambda: self._mixed(self.internal(), self.external_or_relayed()))
        lists: dict[Node, WantedTopics] = self._once("Eq. 6", dict)
        if community not in lists:
            lists[community] = self._mixed(self.internal(), self._external_or_relayed(but=community))
        return lists[community]

    def told_outside(self) -> Internal:
        """The internal list for brokers of other communities."""
        return self._once("internal", lambda: Internal(self._home, tuple(sorted(self.internal().items()))))

    def told_inside(self) -> Relay:
        """The external lists for brokers of its own community."""
        return self._once("relay", lambda: Relay(tuple(map(self._told_of, sorted(self.external)))))

    def _told_of(self, community: Node) -> tuple[Node, _Told]:
        return community, self._once_for("relay", community, lambda one: tuple(sorted(self.external_of(one).items())))

    def _self(self) -> Weights:
        return levels(sorted(self.own))

    @property
    def _home(self) -> Node:
        assert self.structure is not None
        return self.structure.label(self.node)

    def _mixed(self, first: Weights, second: Weights) -> WantedTopics:
        beta = 1 - self.alpha
        topics = sorted({*first, *second})
        mixed = {topic: self.alpha * first.get(topic, 0.0) + beta * second.get(topic, 0.0) for topic in topics}
        known = {*self.internal(), *self.external_or_relayed()} if self._known_only else ()
        return by_weight(mixed, self.default, refused=known)

    def _closeness(self, other: Node) -> float:
        assert self.structure is not None
        return self.structure.graph.closeness(self.node, other)

    def _once(self, name: str, make: Callable[[], M]) -> M:
        """What has this name, as it was made when something that it follows from last changed."""
        if name not in self._made:
            self._made[name] = make()
        found: M = self._made[name]
        return found

    def _once_for(self, name: str, community: Node, make: Callable[[Node], M]) -> M:
        """The same for one community."""
        made = self._made_for.setdefault(name, {})
        if community not in made:
            made[community] = make(community)
        found: M = made[community]
        return found

    def _remake(self, changed: str, *communities: Node) -> None:
        for name in self._follows[changed]:
            self._made.pop(name, None)
        for community in communities:
            for name in _FOLLOWS_FOR_ONE[changed]:
                self._made_for.get(name, {}).pop(community, None)


def levels(interests: Iterable[Topic]) -> Weights:
    """What they ask for, and how much of it: {(X, w)} of section II.C; what weighs several terms, term by term.

    >>> levels(["arts", "goals^0.4 sports^0.7", "sports^0.2"])
    {'arts': 1.0, 'goals': 0.4, 'sports': 0.7}
    """
    found: Weights = {}
    for interest in interests:
        for term, weight in terms_of(interest):
            found[term] = max(weight, found.get(term, 0.0))
    return found


def _best(rows: Iterable[tuple[float, _Told]]) -> Weights:
    best: Weights = {}
    for closeness, weights in rows:
        for topic, weight in weights:
            reached = closeness * weight
            if topic not in best or reached > best[topic]:
                best[topic] = reached
    return best


def _sum(rows: Iterable[Mapping[Topic, float]]) -> Weights:
    total: Weights = {}
    for row in rows:
        for topic, weight in row.items():
            total[topic] = total.get(topic, 0.0) + weight
    return total
