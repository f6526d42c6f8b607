"""Clusters: walkers who keep to a disk each, and others who walk everywhere between them.

The movement of The ONE that needs no map: its ``ClusterMovement`` and its ``RandomWaypoint`` (A. Keränen, J. Ott and T.
Kärkkäinen, "The ONE Simulator for DTN Protocol Evaluation", SIMUTools 2009), as ``hunet from-one`` takes them over.

Theory of operation. There are groups of nodes. A node of a group draws a goal uniformly in the group's disk, or in the
whole area where the group has none, and a speed uniformly between the slowest and the fastest; it walks there in a
straight line, waits for a time that is drawn uniformly, and draws again. Nodes of two disks that do not touch never
meet: messages between them need those who walk everywhere (ferries). A group with a disk of radius 0 stays where it is.

Where we depart from The ONE, and why. Paths are drawn from our own random numbers: the distribution is the same, the
paths are not. Contacts begin and end at the exact instant, not at the next update. The default scenario is ours: The
ONE's example of clusters has the same shape, three clusters and ferries.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from hunet.model.parameters import Parameters, doc
from hunet.worlds.movement import RadioMovement, check_order, check_radio_area
from hunet.worlds.streams import stream
from hunet.worlds.tracks import Breakpoints, Tracks, from_instant

if TYPE_CHECKING:
    from numpy.random import Generator

    from hunet.worlds.tracks import Floats

_ONE = "The ONE"
_CHUNK = 64


class Cluster(Parameters, frozen=True):
    """Nodes that move alike."""

    nodes: Annotated[int, doc("number of people", source=_ONE, ge=1)] = 10
    x: Annotated[float, doc("centre of the disk", unit="m", source=_ONE)] = 0.0
    y: Annotated[float, doc("centre of the disk", unit="m", source=_ONE)] = 0.0
    radius: Annotated[float, doc("radius of the disk; none: the whole area", unit="m", source=_ONE, ge=0)] | None = None
    speed_min: Annotated[float, doc("slowest speed", unit="m/s", source=_ONE, gt=0)] = 0.5
    speed_max: Annotated[float, doc("fastest speed", unit="m/s", source=_ONE, gt=0)] = 1.5
    pause_min: Annotated[float, doc("shortest wait", unit="s", source=_ONE, ge=0)] = 0.0
    pause_max: Annotated[float, doc("longest wait", unit="s", source=_ONE, ge=0)] = 120.0

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_order(self, "speed_min", "speed_max")
        check_order(self, "pause_min", "pause_max")


class Clusters(Parameters, frozen=True):
    """Clusters and ferries; the default has three of 20 people each, and six who walk between them."""

    groups: Annotated[tuple[Cluster, ...], doc("who moves how; a table for each group", source=_ONE)] = (
        Cluster(nodes=20, x=200.0, y=200.0, radius=120.0),
        Cluster(nodes=20, x=800.0, y=200.0, radius=120.0),
        Cluster(nodes=20, x=500.0, y=700.0, radius=120.0),
        Cluster(nodes=6, speed_min=2.0, speed_max=5.0),
    )
    width: Annotated[float, doc("width of the area", unit="m", source="ours", gt=0)] = 1000.0
    height: Annotated[float, doc("height of the area", unit="m", source="ours", gt=0)] = 1000.0
    radio_range: Annotated[float, doc("radio range", unit="m", source="ours", gt=0)] = 20.0
    duration: Annotated[float, doc("length of the run", unit="s", source="ours", gt=0)] = 7200.0
    warmup: Annotated[float, doc("seconds walked before time 0", unit="s", source=_ONE, ge=0)] = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_radio_area(self.width, self.height, self.radio_range)
        if sum(group.nodes for group in self.groups) < 2:
            raise ValueError("a world needs at least two nodes: give groups with more")


def clusters(parameters: Clusters, seed: int) -> RadioMovement:
    """Draw everybody's walk; ``metadata`` has the group of each node.

    >>> clusters(Clusters(groups=(Cluster(nodes=3),), duration=10), seed=1).metadata["communities"]
    [0, 0, 0]
    """
    group_of = [index for index, group in enumerate(parameters.groups) for _ in range(group.nodes)]
    tracks = Tracks.from_breakpoints(
        _walk(parameters, parameters.groups[index], stream(seed, "clusters", "walk", node))
        for node, index in enumerate(group_of)
    )
    known = {"world": "clusters", "seed": seed, "parameters": msgspec.to_builtins(parameters)}
    return RadioMovement(tracks, parameters.duration, parameters.radio_range, known | {"communities": group_of})


def _walk(p: Clusters, group: Cluster, rng: Generator) -> Breakpoints:
    until = p.warmup + p.duration
    [x], [y] = _places(p, group, rng.random((1, 2)))
    if group.radius == 0:
        return np.array([0.0, p.duration]), np.array([x, x]), np.array([y, y])
    parts: list[Breakpoints] = [(np.zeros(1), np.array([x]), np.array([y]))]
    while parts[-1][0][-1] < until:
        time, x, y = (column[-1] for column in parts[-1])
        draws = rng.random((_CHUNK, 4))
        goal_x, goal_y = _places(p, group, draws[:, :2])
        distance = np.hypot(np.diff(goal_x, prepend=x), np.diff(goal_y, prepend=y))
        travel = distance / (group.speed_max - (group.speed_max - group.speed_min) * draws[:, 2])
        pause = group.pause_min + (group.pause_max - group.pause_min) * draws[:, 3]
        times = time + np.cumsum(np.column_stack((travel, pause)).ravel())
        parts.append((times, np.repeat(goal_x, 2), np.repeat(goal_y, 2)))
    t, xs, ys = (np.concatenate(column) for column in zip(*parts, strict=True))
    needed = int(np.searchsorted(t, until)) + 1
    return from_instant((t[:needed], xs[:needed], ys[:needed]), p.warmup)


def _places(p: Clusters, group: Cluster, draws: Floats) -> tuple[Floats, Floats]:
    """Uniform places of a group: in its disk, or anywhere in the area."""
    if group.radius is None:
        return p.width * draws[:, 0], p.height * draws[:, 1]
    out, angle = group.radius * np.sqrt(draws[:, 0]), 2 * math.pi * draws[:, 1]
    return group.x + out * np.cos(angle), group.y + out * np.sin(angle)
