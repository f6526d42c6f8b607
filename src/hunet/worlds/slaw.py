"""SLAW, the self-similar least-action walk: the second world of the social election paper.

Y. Zhao and J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks", section V, after K. Lee, S.
Hong, S. J. Kim, I. Rhee and S. Chong, "SLAW: A New Mobility Model for Human Walks", INFOCOM 2009.

Theory of operation. People stop at waypoints that are clumped like a fractal (see ``fractal_map``). Waypoints
closer than a cluster range to each other form clusters, and every walker has a fixed set of them, large ones
more likely. For each trip it swaps one of its clusters for a strange one, draws some waypoints of each, and
visits them all by least action: the next is near rather than far, with probability in proportion to distance
to the power -α. At each it pauses for a time with a power-law tail. That gives heavy-tailed flights and
pauses, heterogeneous areas of activity, and inter-contact times with a tail heavier than exponential.

Where we depart from the paper, and why. Zhao and Wu give the area, nodes, range, duration and the maximum
speed, and none of SLAW's own parameters: they are BonnMotion's, whose own test is this scenario. A trip
outlasts the 3,000 s of a run, and its beginning, in the dense clumps, differs from its end, so if everybody
set off at time 0 the mean degree would first double and then fall below what it was. So walkers begin at a
random instant of their second trip (``start = "random"``); ``"sync"`` is the common start. The slowest speed
is 1 m/s, as for random waypoint.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from hunet.model.errors import ConfigurationError
from hunet.model.parameters import Parameters, doc
from hunet.worlds.exact_contacts import near_pairs
from hunet.worlds.fractal_map import fractal_waypoints, hurst_parameter
from hunet.worlds.movement import RadioMovement, check_order, check_radio_area
from hunet.worlds.streams import stream
from hunet.worlds.tracks import Breakpoints, Tracks, from_instant

if TYPE_CHECKING:
    from numpy.random import Generator

    from hunet.worlds.tracks import Floats, Integers

_PAPER = "Zhao and Wu, section V"
_BONNMOTION = "BonnMotion"


class Slaw(Parameters, frozen=True):
    """SLAW; the defaults are the paper's scenario at a maximum speed of 10 m/s."""

    nodes: Annotated[int, doc("number of people", symbol="N", source=_PAPER, ge=2)] = 100
    side: Annotated[float, doc("side of the square area", unit="m", source=_PAPER, gt=0)] = 1000.0
    radio_range: Annotated[float, doc("radio range", symbol="r", unit="m", source=_PAPER, gt=0)] = 50.0
    duration: Annotated[float, doc("length of the run", symbol="T", unit="s", source=_PAPER, gt=0)] = 3000.0
    speed_min: Annotated[float, doc("slowest speed (exclusive)", unit="m/s", source="ours", gt=0)] = 1.0
    speed_max: Annotated[float, doc("fastest speed; the paper sweeps 5 to 50", unit="m/s", source=_PAPER, gt=0)] = 10.0
    waypoints: Annotated[int, doc("number of waypoints", symbol="n", source=_BONNMOTION, ge=16)] = 1000
    hurst: Annotated[float, doc("Hurst parameter of the waypoints", symbol="H", source=_BONNMOTION, gt=0.5, lt=1)] = (
        0.75
    )
    levels: Annotated[int, doc("times the area is split into four", source=_BONNMOTION, ge=1, le=15)] = 8
    first_variance: Annotated[
        float, doc("normalised variance of the first split", symbol="V_1", source=_BONNMOTION, gt=0, lt=3)
    ] = 0.8
    split: Annotated[
        Literal["uniform", "first31"],
        doc("how a box is shared among its four children", source="ours; BonnMotion: first31"),
    ] = "uniform"
    least_action: Annotated[
        float,
        doc("exponent of distance in the choice of the next waypoint", symbol="α", source=_BONNMOTION, ge=0),
    ] = 3.0
    cluster_range: Annotated[
        float,
        doc("waypoints this close belong to one cluster", symbol="R", unit="m", source=_BONNMOTION, gt=0),
    ] = 50.0
    cluster_ratio: Annotated[float, doc("a walker has one in so many clusters", source=_BONNMOTION, ge=1)] = 5.0
    waypoint_ratio: Annotated[
        float, doc("a trip visits one in so many waypoints of a cluster", source=_BONNMOTION, ge=1)
    ] = 5.0
    pause_min: Annotated[float, doc("shortest pause", symbol="L", unit="s", source=_BONNMOTION, gt=0)] = 10.0
    pause_max: Annotated[float, doc("longest pause", symbol="U", unit="s", source=_BONNMOTION, gt=0)] = 50.0
    pause_exponent: Annotated[
        float, doc("exponent of the truncated Pareto law of pauses", symbol="β", source=_BONNMOTION, gt=0)
    ] = 1.0
    start: Annotated[
        Literal["random", "sync"],
        doc("begin at a random instant of a trip, or all at a trip's start", source="ours"),
    ] = "random"

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_radio_area(self.side, self.side, self.radio_range)
        check_order(self, "speed_min", "speed_max")
        check_order(self, "pause_min", "pause_max")
        if self.cluster_range >= self.side:
            raise ValueError(
                f"cluster_range {self.cluster_range:g} m reaches across the area of {self.side:g} m: all "
                f"waypoints would be one cluster; choose a small part of it, such as {self.side / 20:g} m"
            )


def slaw(parameters: Slaw, seed: int) -> RadioMovement:
    """Draw everybody's walk; ``metadata`` has the map's measured Hurst parameter and each walker's clusters.

    >>> walk = slaw(Slaw(nodes=3, duration=60), seed=1)
    >>> abs(walk.metadata["measured_hurst"] - 0.75) < 0.03
    True
    """
    x, y = waypoint_map(parameters, seed)
    members = clusters(x, y, parameters.cluster_range)
    if len(members) < 2:
        raise ConfigurationError(
            f"all {parameters.waypoints} waypoints form one cluster at cluster_range "
            f"{parameters.cluster_range:g} m, and a walker needs at least two: choose a smaller "
            f"cluster_range, such as {parameters.cluster_range / 2:g} m"
        )
    walkers = [
        _Walker(parameters, x, y, members, stream(seed, "slaw", "walk", node)) for node in range(parameters.nodes)
    ]
    tracks = Tracks.from_breakpoints(walker.track() for walker in walkers)
    known: dict[str, Any] = {"world": "slaw", "seed": seed, "parameters": msgspec.to_builtins(parameters)}
    known["measured_hurst"] = round(hurst_parameter(x, y, parameters.side), 6)
    known["clusters"] = [len(each) for each in members]
    known["own_clusters"] = [sorted(int(number) for number in walker.own) for walker in walkers]
    return RadioMovement(tracks, parameters.duration, parameters.radio_range, known)


def waypoint_map(p: Slaw, seed: int) -> tuple[Floats, Floats]:
    """Draw the places of the waypoints."""
    rng = stream(seed, "slaw", "map")
    return fractal_waypoints(
        p.waypoints,
        p.side,
        rng,
        hurst=p.hurst,
        levels=p.levels,
        first_variance=p.first_variance,
        split=p.split,
    )


def clusters(x: Floats, y: Floats, cluster_range: float) -> list[Integers]:
    """Find the waypoints of each cluster: those that hang together by steps of at most ``cluster_range``.

    >>> [each.tolist() for each in clusters(np.array([0.0, 9.0, 50.0]), np.zeros(3), 10.0)]
    [[0, 1], [2]]
    """
    leader = list(range(len(x)))

    def lead(point: int) -> int:
        while leader[point] != point:
            leader[point] = point = leader[leader[point]]
        return point

    for one, two in near_pairs(x, y, cluster_range):
        for i, j in zip(one.tolist(), two.tolist(), strict=True):
            low, high = sorted((lead(i), lead(j)))
            leader[high] = low
    leaders = np.array([lead(point) for point in range(len(x))])
    return [np.nonzero(leaders == each)[0] for each in np.unique(leaders)]


def truncated_pareto(low: float, high: float, exponent: float, share: Floats) -> Floats:
    """Invert the law with density in proportion to length^-(exponent + 1) between ``low`` and ``high``.

    >>> truncated_pareto(10, 50, 1.0, np.array([0.0, 0.5])).round(2).tolist()
    [10.0, 16.67]
    """
    lengths: Floats = (low**-exponent - share * (low**-exponent - high**-exponent)) ** (-1 / exponent)
    return lengths


class _Walker:
    """One walker: its clusters and its track so far, drawn from its own stream."""

    def __init__(self, p: Slaw, x: Floats, y: Floats, members: list[Integers], rng: Generator) -> None:
        self.p, self.x, self.y, self.members, self.rng = p, x, y, members, rng
        size = np.array([len(each) for each in members])
        how_many = math.ceil(len(members) / p.cluster_ratio)
        self.own = rng.choice(len(members), size=how_many, replace=False, p=size / size.sum())
        self.visits: list[int] = []
        self.times: list[float] = [0.0]

    def track(self) -> Breakpoints:
        """Walk from time 0 to the end of the run."""
        plan = self.plan()
        self.visits.append(int(plan[0]))
        self.trip(plan[1:])
        begin = 0.0
        if self.p.start == "random":
            second = self.times[-1]
            self.trip(self.plan())
            begin = second + float(self.rng.random()) * (self.times[-1] - second)
        while self.times[-1] < begin + self.p.duration:
            self.trip(self.plan())
        stops = np.repeat(self.visits, 2)[1:]
        return from_instant((np.array(self.times), self.x[stops], self.y[stops]), begin)

    def plan(self) -> Integers:
        """Draw the waypoints of a trip: a part of each own cluster, one of them swapped for a strange one."""
        chosen, rng = self.own.copy(), self.rng
        strange = np.setdiff1d(np.arange(len(self.members)), chosen)
        if len(strange):
            chosen[rng.integers(len(chosen))] = rng.choice(strange)
        drawn = []
        for cluster in chosen:
            members = self.members[cluster]
            part = len(members) / self.p.waypoint_ratio
            count = max(1, int(part) + int(rng.random() < part - int(part)))
            drawn.append(rng.choice(members, size=count, replace=False))
        return rng.permutation(np.concatenate(drawn))

    def trip(self, plan: Integers) -> None:
        """Visit all waypoints of the plan by least action, each followed by a pause."""
        p, left = self.p, len(plan)
        plan, x, y = plan.copy(), self.x[plan], self.y[plan]
        draw, drawn_speed, drawn_pause = self.rng.random((3, left))
        pauses = truncated_pareto(p.pause_min, p.pause_max, p.pause_exponent, drawn_pause).tolist()
        speeds = (p.speed_max - (p.speed_max - p.speed_min) * drawn_speed).tolist()
        now, here = self.times[-1], self.visits[-1]
        for flight in range(left):
            squared = np.square(x[:left] - self.x[here]) + np.square(y[:left] - self.y[here])
            squared[squared == 0] = np.inf
            nearest = squared.min()
            if nearest == np.inf:
                break  # only the place where the walker stands is left
            upto = np.cumsum((nearest / squared) ** (p.least_action / 2))
            next_ = min(int(np.searchsorted(upto, draw[flight] * upto[-1], "right")), left - 1)
            here = int(plan[next_])
            arrives = now + math.sqrt(squared[next_]) / speeds[flight]
            now = arrives + pauses[flight]
            self.times += (arrives, now)
            self.visits.append(here)
            left -= 1
            plan[next_], x[next_], y[next_] = plan[left], x[left], y[left]
