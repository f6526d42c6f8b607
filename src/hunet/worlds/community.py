"""The community-based mobility model: SocialCast's world.

P. Costa, C. Mascolo, M. Musolesi and G. P. Picco, "Socially-Aware Routing for Publish-Subscribe in
Delay-Tolerant Mobile Ad Hoc Networks", section V.A and Table I, after M. Musolesi and C. Mascolo, "Designing
mobility models based on social network theory", ACM SIGMOBILE Mobile Computing and Communications Review
11(3), 2007. The variant ``hcmm`` is C. Boldrini and A. Passarella, "HCMM: modelling spatial and temporal
properties of human mobility driven by users' social relationships", Computer Communications 33(9), 2010.

Theory of operation. Hosts form communities (see ``society``), and each community lives in one square of a
grid. A host begins in its home square and walks in straight lines from goal to goal. Having reached a goal it
asks how much each square attracts it: the sum of its relations to the hosts associated with that square.
Associated with a square are those who live there (``association = "home"``) or those who are heading for it
now (``"goal"``). It then takes a square in proportion to attraction (``proportional``, with a drift d added
for every square), or the most attractive (``deterministic``), or one by its rank in attraction (``pseudo``),
or returns home by a coin after every excursion (``hcmm``); and a uniform point in it is its next goal.

Where we depart from the paper, and why. SocialCast's text takes the square of *highest* attraction. At its
own values no host then ever leaves home (20 of 20 seeds, and the authors' generator as well), so its results
cannot come from that rule. Heading for squares by *current* goals does mix, but dissolves the communities
within half an hour. Our default is the reading under which communities last and mix: proportional, home, sum,
no drift, unrelated hosts do not attract. All other readings are options. Of ``prob_current(0.01)``, the
reading that comes nearest to SocialCast's curves, the settings are choice=proportional, association=goal,
drift=0.01, weak_ties=true, speed_per=host, distinct_squares=false. The paper sets up society once;
``reconfiguration`` draws it anew at intervals.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from heapq import heapify, heapreplace
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from hunet.model.parameters import Parameters, doc
from hunet.worlds.movement import RadioMovement, check_order, check_radio_area
from hunet.worlds.society import Society, communities, placed, related, squares_that_fit, weighted
from hunet.worlds.streams import stream
from hunet.worlds.tracks import Tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from hunet.worlds.tracks import Floats, Integers

_TABLE = "SocialCast, Table I"
_TEXT = "SocialCast, section V.A"


class Community(Parameters, frozen=True):
    """Community-based mobility; the defaults are SocialCast's Table I."""

    hosts: Annotated[int, doc("number of people", symbol="N", source=_TABLE, ge=2)] = 100
    side: Annotated[float, doc("side of the square area", unit="m", source=_TABLE, gt=0)] = 4000.0
    squares: Annotated[int, doc("squares of the grid per side", source=_TEXT, ge=1)] = 20
    caves: Annotated[int, doc("caves of the initial network", symbol="K", source=_TEXT, ge=1)] = 10
    rewiring: Annotated[float, doc("probability that a relation is rewired", symbol="p", source=_TEXT, ge=0, le=1)] = (
        0.1
    )
    strength_spread: Annotated[
        float,
        doc("strong relations are uniform in (1 - θ, 1]", symbol="θ", source="authors' generator", ge=0, le=1),
    ] = 0.1
    weak_ties: Annotated[
        bool, doc("unrelated hosts attract a little: uniform in [0, θ)", source="authors' generator: true")
    ] = False
    detection: Annotated[
        Literal["girvan-newman", "caves"],
        doc("how communities are found; caves is the shortcut for many hosts", source=_TEXT),
    ] = "girvan-newman"
    distinct_squares: Annotated[
        bool, doc("no two communities share a square", source="ours; authors' generator: false")
    ] = True
    min_separation: Annotated[
        int,
        doc("least distance of home squares, diagonal steps count 1", unit="squares", source="ours", ge=0),
    ] = 0
    choice: Annotated[
        Literal["proportional", "deterministic", "pseudo", "hcmm"],
        doc(
            "how the next square is chosen",
            source="Musolesi and Mascolo, section 3; SocialCast: deterministic",
        ),
    ] = "proportional"
    association: Annotated[
        Literal["home", "goal"],
        doc("which hosts count for a square: who lives there, or is heading there", source=_TEXT),
    ] = "home"
    normalisation: Annotated[
        Literal["sum", "mean"],
        doc("attraction as the sum or the mean over the associated hosts", source=f"{_TEXT}; Musolesi: mean"),
    ] = "sum"
    drift: Annotated[
        float,
        doc("added to every square's attraction, choice=proportional", symbol="d", source="Musolesi", ge=0),
    ] = 0.0
    rank_mean: Annotated[
        float, doc("mean of the exponential rank, choice=pseudo", symbol="μ", source="INET, expmean", gt=0)
    ] = 1.0
    travellers: Annotated[
        int,
        doc(
            "so many take the second-best square where the best is theirs, choice=deterministic",
            source="Musolesi",
            ge=0,
        ),
    ] = 0
    excursion: Annotated[
        float,
        doc("chance to stay on in a foreign square, choice=hcmm", symbol="p_e", source="ours", ge=0, lt=1),
    ] = 0.8
    speed_min: Annotated[float, doc("slowest speed (exclusive)", unit="m/s", source=_TABLE, gt=0)] = 1.0
    speed_max: Annotated[float, doc("fastest speed", symbol="S", unit="m/s", source=_TABLE, gt=0)] = 6.0
    speed_per: Annotated[
        Literal["leg", "host"],
        doc("when a speed is drawn: for each leg, or once per host", source="INET; generator: host"),
    ] = "leg"
    radio_range: Annotated[float, doc("radio range", symbol="r", unit="m", source=_TABLE, gt=0)] = 250.0
    duration: Annotated[float, doc("length of the run", symbol="T", unit="s", source=_TABLE, gt=0)] = 28800.0
    reconfiguration: Annotated[
        float | None,
        doc("interval at which society is drawn anew; none: never", unit="s", source="generator: 10000"),
    ] = None
    society_stays: Annotated[
        bool, doc("a reconfiguration moves the squares and leaves who knows whom", source="authors' generator: true")
    ] = False

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_radio_area(self.side, self.side, self.radio_range)
        if self.caves > self.hosts:
            raise ValueError(
                f"{self.caves} caves are too many for {self.hosts} hosts: choose at most {self.hosts} caves"
            )
        check_order(self, "speed_min", "speed_max")
        room = squares_that_fit(self.squares, self.min_separation)
        if self.distinct_squares and self.caves > room:
            raise ValueError(
                f"{self.caves} caves do not fit on {self.squares} x {self.squares} squares at "
                f"min_separation {self.min_separation}: choose {room} caves or fewer, or more squares"
            )
        if not self.distinct_squares and self.min_separation > 0:
            raise ValueError("min_separation needs distinct_squares=true: set one of the two back")
        if self.choice == "hcmm" and (self.association, self.normalisation, self.drift) != ("home", "sum", 0):
            raise ValueError("choice=hcmm has its own rule: leave association=home, normalisation=sum, drift=0")
        if self.choice != "proportional" and self.drift > 0:
            raise ValueError(f"drift means nothing with choice={self.choice}: set choice=proportional or drift=0")
        if self.travellers and self.choice != "deterministic":
            raise ValueError(f"travellers mean nothing with choice={self.choice}: set choice=deterministic")
        if self.society_stays and self.reconfiguration is None:
            raise ValueError(
                "society_stays means nothing without reconfigurations: give their interval, or leave it out"
            )
        if self.reconfiguration is not None and self.reconfiguration <= 0:
            raise ValueError("reconfiguration is an interval in seconds: give a number above 0, or none")


def community(parameters: Community, seed: int) -> RadioMovement:
    """Draw everybody's walk, with the communities in ``metadata``.

    >>> walk = community(Community(hosts=20, caves=2, duration=600), seed=1)
    >>> walk.metadata["communities"][:6]
    [0, 1, 0, 1, 0, 1]
    """
    interval = parameters.reconfiguration or math.inf
    epochs = max(1, math.ceil(parameters.duration / interval))
    societies = [draw_society(parameters, seed, epoch) for epoch in range(epochs)]
    walkers = _walks(parameters, seed, societies, interval)
    tracks = Tracks.from_breakpoints((walker.t, walker.x, walker.y) for walker in walkers)
    known: dict[str, Any] = {
        "world": "community",
        "seed": seed,
        "parameters": msgspec.to_builtins(parameters),
    }
    known |= _described(societies[0], parameters.squares)
    if len(societies) > 1:
        known["reconfigurations"] = [
            {"time": epoch * interval, **_described(society, parameters.squares)}
            for epoch, society in enumerate(societies)
            if epoch
        ]
    return RadioMovement(tracks, parameters.duration, parameters.radio_range, known)


def draw_society(p: Community, seed: int, epoch: int = 0) -> Society:
    """Draw the network, the communities and their squares; ``epoch`` counts the reconfigurations."""
    rng = stream(seed, "community", "network", 0 if p.society_stays else epoch)
    edges = related(p.hosts, p.caves, p.rewiring, rng)
    weight = weighted(p.hosts, edges, p.strength_spread, p.weak_ties, rng)
    label = communities(p.hosts, p.caves, edges, p.detection)
    where = stream(seed, "community", "placement", epoch)
    square = placed(int(label.max()) + 1, p.squares, p.distinct_squares, p.min_separation, where)
    return Society(weight, label, square)


def _described(society: Society, per_side: int) -> dict[str, Any]:
    """Describe for ``metadata``: the community of each host, and [column, row] of each community's square."""
    squares = [[int(square) % per_side, int(square) // per_side] for square in society.square]
    return {"communities": society.community.tolist(), "home_squares": squares}


class _Inhabitant:
    """One host under way: its track so far, its own stream, and where it is heading."""

    def __init__(self, p: Community, rng: Generator, home: int) -> None:
        self.p, self.draws, self.epoch, self.goal = p, _rows(rng), 0, home
        x, y, speed, _ = next(self.draws)
        self.own_speed = p.speed_max - (p.speed_max - p.speed_min) * speed
        place_x, place_y = self.point(home, x, y)
        self.t, self.x, self.y = [0.0], [place_x], [place_y]
        self.head_for(home, next(self.draws))

    def point(self, square: int, x: float, y: float) -> tuple[float, float]:
        size = self.p.side / self.p.squares
        return (square % self.p.squares + x) * size, (square // self.p.squares + y) * size

    def head_for(self, square: int, row: list[float]) -> None:
        """Walk to a uniform point of the square; the row's first number was for the choice of the square."""
        _, u, v, w = row
        x, y = self.point(square, u, v)
        drawn = self.p.speed_max - (self.p.speed_max - self.p.speed_min) * w
        speed = drawn if self.p.speed_per == "leg" else self.own_speed
        distance = math.sqrt((x - self.x[-1]) ** 2 + (y - self.y[-1]) ** 2)
        self.t.append(self.t[-1] + distance / speed)
        self.x.append(x)
        self.y.append(y)
        self.goal = square


def _rows(rng: Generator) -> Iterator[list[float]]:
    """Draw four numbers per decision (choice, x, y, speed), many at a time."""
    while True:
        yield from rng.random((64, 4)).tolist()


def _walks(p: Community, seed: int, societies: list[Society], interval: float) -> list[_Inhabitant]:
    """Let everybody decide in order of (time, host) until the end."""
    first_homes = societies[0].home.tolist()
    walkers = [_Inhabitant(p, stream(seed, "community", "walk", i), first_homes[i]) for i in range(p.hosts)]
    homes = [society.home.tolist() for society in societies]
    goals = societies[0].home.copy()
    choices = [_HomeChoice(p, society) for society in societies] if p.association == "home" else []
    queue = [(walker.t[-1], host) for host, walker in enumerate(walkers)]
    heapify(queue)
    while queue[0][0] < p.duration:
        now, host = queue[0]
        walker, row = walkers[host], next(walkers[host].draws)
        epoch = min(int(now / interval), len(societies) - 1)
        if epoch != walker.epoch:
            walker.epoch, square = epoch, homes[epoch][host]
        elif choices:
            square = choices[epoch].square(host, walker.goal, row[0])
        else:
            pull = attraction(p, societies[epoch].weight[host], goals)
            square = chosen(p, pull, walker.goal, row[0], host < p.travellers)
        walker.head_for(square, row)
        goals[host] = square
        heapreplace(queue, (walker.t[-1], host))
    return walkers


def attraction(p: Community, weight: Floats, associated: Integers) -> Floats:
    """Say how much each square attracts a host with these relations, given each host's associated square."""
    pull = np.bincount(associated, weights=weight, minlength=p.squares**2).astype(np.float64)
    if p.normalisation == "sum":
        return pull
    return pull / np.maximum(1, np.bincount(associated, minlength=p.squares**2))


def chosen(p: Community, pull: Floats, current: int, draw: float, travels: bool = False) -> int:
    """Choose the next square by the rule of ``choice``; without any attraction a host stays in its square."""
    if p.choice == "proportional":
        upto = np.cumsum(pull + p.drift)
        if upto[-1] <= 0:
            return current
        return min(int(np.searchsorted(upto, draw * upto[-1], "right")), len(pull) - 1)
    if pull.max() <= 0:
        return current
    if p.choice == "deterministic":
        best = int(np.argmax(pull))
        if not travels or best != current:
            return best
        others = np.where(np.arange(len(pull)) == best, 0.0, pull)
        return int(np.argmax(others)) if others.max() > 0 else current
    ranking = np.argsort(-pull, kind="stable")[: int((pull > 0).sum())]
    return int(ranking[min(int(-p.rank_mean * math.log1p(-draw)), len(ranking) - 1)])


class _HomeChoice:
    """The choice under ``home`` association: attraction never changes, so odds are worked out once."""

    def __init__(self, p: Community, society: Society) -> None:
        self.p, self.home = p, society.home.tolist()
        self.pull = [attraction(p, society.weight[host], society.home) for host in range(p.hosts)]
        self.squares = [np.nonzero(pull + p.drift)[0].tolist() for pull in self.pull]
        odds = ((pull + p.drift)[squares].tolist() for pull, squares in zip(self.pull, self.squares, strict=True))
        self.upto = [list(accumulate(each)) for each in odds]

    def square(self, host: int, current: int, draw: float) -> int:
        if self.p.choice == "hcmm" and current != self.home[host]:
            return current if draw < self.p.excursion else self.home[host]
        if self.p.choice in ("deterministic", "pseudo"):
            return chosen(self.p, self.pull[host], current, draw, host < self.p.travellers)
        upto = self.upto[host]
        if not upto:
            return current
        return self.squares[host][min(bisect_right(upto, draw * upto[-1]), len(upto) - 1)]
