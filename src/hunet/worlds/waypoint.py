"""Random waypoint: the world of the social election paper's first set of simulations.

Y. Zhao and J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks", section V: 100 nodes in 1,000
m x 1,000 m, range 50 m, maximum speed 5 to 50 m/s, 3,000 s, "the standard random way point mobility model".
The stationary start follows W. Navidi and T. Camp, "Stationary distributions for the random waypoint mobility
model", IEEE Transactions on Mobile Computing 3(1), 2004.

Theory of operation. A node draws a goal uniformly in the area and a speed uniformly in (speed_min,
speed_max], walks there in a straight line, pauses, and draws again. In the long run nodes crowd in the middle
(density 2.2 times the mean at the centre of a square), and since a slow leg lasts longer than a fast one, the
mean speed over time is (v_max - v_min) / ln(v_max / v_min), well below the mean of the drawn speeds. From a
uniform start both drift towards these limits, in the first few hundred seconds; with ``start = "stationary"``
positions, pauses and speeds are drawn from their limits (a leg chosen in proportion to its length, a speed in
proportion to 1/v, the rest of a pause), so that the world is the same at all times.

The speed decay. With speed_min = 0 there is no limit: the mean speed falls towards 0 for as long as one cares
to look, and every result depends on when it was measured. So the slowest speed is 1 m/s here unless it is
set.

Where we depart from the paper, and why. It gives only the maximum speed and neither a pause nor a warm-up:
the slowest speed (1 m/s), no pause and no warm-up are ours. Its nodes are "uniformly placed", so the uniform
start is the default although the stationary one is the better experiment.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from hunet.model.parameters import Parameters, doc
from hunet.worlds.movement import RadioMovement, check_order, check_radio_area
from hunet.worlds.streams import stream
from hunet.worlds.tracks import Breakpoints, Tracks, from_instant

if TYPE_CHECKING:
    from numpy.random import Generator

_PAPER = "Zhao and Wu, section V"


class RandomWaypoint(Parameters, frozen=True):
    """Random waypoint; the defaults are the paper's scenario at a maximum speed of 10 m/s."""

    nodes: Annotated[int, doc("number of people", symbol="N", source=_PAPER, ge=2)] = 100
    width: Annotated[float, doc("width of the area", unit="m", source=_PAPER, gt=0)] = 1000.0
    height: Annotated[float, doc("height of the area", unit="m", source=_PAPER, gt=0)] = 1000.0
    radio_range: Annotated[float, doc("radio range", symbol="r", unit="m", source=_PAPER, gt=0)] = 50.0
    duration: Annotated[float, doc("length of the run", symbol="T", unit="s", source=_PAPER, gt=0)] = 3000.0
    speed_min: Annotated[
        float,
        doc(
            "slowest speed (exclusive); 0 makes the mean speed decay for ever",
            unit="m/s",
            source="ours",
            ge=0,
        ),
    ] = 1.0
    speed_max: Annotated[float, doc("fastest speed; the paper sweeps 5 to 50", unit="m/s", source=_PAPER, gt=0)] = 10.0
    pause_min: Annotated[float, doc("shortest pause at a goal", unit="s", source="ours", ge=0)] = 0.0
    pause_max: Annotated[float, doc("longest pause at a goal", unit="s", source="ours", ge=0)] = 0.0
    start: Annotated[
        Literal["uniform", "warmup", "stationary"],
        doc("how the run begins: placed uniformly, after a warm-up, or in the steady state", source=_PAPER),
    ] = "uniform"
    warmup: Annotated[float, doc("seconds walked before time 0, with start=warmup", unit="s", source="ours", ge=0)] = (
        400.0
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_radio_area(self.width, self.height, self.radio_range)
        check_order(self, "speed_min", "speed_max")
        check_order(self, "pause_min", "pause_max")
        if self.start == "stationary" and self.speed_min == 0:
            raise ValueError(
                "with speed_min 0 there is no steady state: choose a speed_min above 0 for start=stationary"
            )


def random_waypoint(parameters: RandomWaypoint, seed: int) -> RadioMovement:
    """Draw everybody's walk.

    >>> random_waypoint(RandomWaypoint(nodes=3, duration=10), seed=1).positions([0, 10]).shape
    (2, 3, 2)
    """
    tracks = Tracks.from_breakpoints(
        _walk(parameters, stream(seed, "waypoint", "walk", node)) for node in range(parameters.nodes)
    )
    known = {"world": "waypoint", "seed": seed, "parameters": msgspec.to_builtins(parameters)}
    return RadioMovement(tracks, parameters.duration, parameters.radio_range, known)


def mean_leg(width: float, height: float) -> float:
    """Give the mean distance of two uniform points of a rectangle.

    >>> round(mean_leg(1, 1), 6)
    0.521405
    """
    w, h, d = width, height, math.hypot(width, height)
    corners = w**3 / h**2 + h**3 / w**2 + d * (3 - (w / h) ** 2 - (h / w) ** 2)
    return (corners + 2.5 * (h * h / w * math.log((w + d) / h) + w * w / h * math.log((h + d) / w))) / 15


def mean_speed(speed_min: float, speed_max: float) -> float:
    """Give the mean speed over time of a walker without pauses: harmonic, since slow legs last longer.

    >>> round(mean_speed(1, 10), 3)
    3.909
    """
    if speed_min in (0, speed_max):
        return speed_min
    return (speed_max - speed_min) / math.log(speed_max / speed_min)


def _walk(p: RandomWaypoint, rng: Generator) -> Breakpoints:
    if p.start == "stationary":
        return _continued(p, rng, _steady_state(p, rng), p.duration)
    t, x, y = np.zeros(1), p.width * rng.random(1), p.height * rng.random(1)
    if p.start == "warmup":
        return from_instant(_continued(p, rng, (t, x, y), p.warmup + p.duration), p.warmup)
    return _continued(p, rng, (t, x, y), p.duration)


def _steady_state(p: RandomWaypoint, rng: Generator) -> Breakpoints:
    """Draw the leg or pause under way at time 0 of a walk that has always been going on, up to its end."""
    mean_pause = (p.pause_min + p.pause_max) / 2
    travel = mean_leg(p.width, p.height) / mean_speed(p.speed_min, p.speed_max)
    if rng.random() < mean_pause / (mean_pause + travel):
        start, share = rng.random(2) * (p.width, p.height), rng.random(2)
        # A pause is met in proportion to its length, and a uniform part of it is left.
        whole = math.sqrt(p.pause_min**2 + share[0] * (p.pause_max**2 - p.pause_min**2))
        rest = whole * (1 - share[1])
        return np.array([0.0, rest]), np.full(2, start[0]), np.full(2, start[1])
    diagonal = math.hypot(p.width, p.height)
    while True:
        x0, y0, x1, y1, draw = rng.random(5) * (p.width, p.height, p.width, p.height, diagonal)
        length = math.hypot(x1 - x0, y1 - y0)
        if draw < length:
            break
    done, speed_share, pause_share = rng.random(3)
    speed = p.speed_min * (p.speed_max / p.speed_min) ** (1 - speed_share)
    arrives = (1 - done) * length / speed
    leaves = arrives + p.pause_min + (p.pause_max - p.pause_min) * pause_share
    t, x, y = [0.0, arrives, leaves], [x0 + done * (x1 - x0), x1, x1], [y0 + done * (y1 - y0), y1, y1]
    return np.array(t), np.array(x), np.array(y)


def _continued(p: RandomWaypoint, rng: Generator, track: Breakpoints, until: float) -> Breakpoints:
    """Append legs until the track reaches ``until``; each leg takes one row of four numbers of the stream."""
    typical = mean_leg(p.width, p.height) / ((p.speed_min + p.speed_max) / 2) + (p.pause_min + p.pause_max) / 2
    parts = [track]
    while parts[-1][0][-1] < until:
        t, x, y = (column[-1] for column in parts[-1])
        rows = rng.random((int((until - t) / typical) + 4, 4))
        goal_x, goal_y = p.width * rows[:, 0], p.height * rows[:, 1]
        distance = np.sqrt(np.diff(goal_x, prepend=x) ** 2 + np.diff(goal_y, prepend=y) ** 2)
        travel = distance / (p.speed_max - (p.speed_max - p.speed_min) * rows[:, 2])
        pause = p.pause_min + (p.pause_max - p.pause_min) * rows[:, 3]
        times = t + np.cumsum(np.column_stack((travel, pause)).ravel())
        parts.append((times, np.repeat(goal_x, 2), np.repeat(goal_y, 2)))
    t, x, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    needed = int(np.searchsorted(t, until)) + 1
    return t[:needed], x[:needed], y[:needed]
