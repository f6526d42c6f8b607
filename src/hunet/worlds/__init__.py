"""Worlds: where contacts come from when there is no trace. People who move, and whom they meet.

>>> contacts = make_world("waypoint", seed=1, nodes=20, duration=600)
>>> contacts
Contacts(20 nodes, 80 contacts, 0 to 600 s)
>>> make_world("waipoint")
Traceback (most recent call last):
    ...
hunet.model.errors.ConfigurationError: no world 'waipoint': did you mean 'waypoint'?

A world is named by its name, its parameters and a seed; the same name gives the same bytes, within the limits that
``streams`` tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hunet.model.errors import ConfigurationError, did_you_mean
from hunet.model.parameters import Parameter, Parameters, describe, from_mapping
from hunet.worlds.campus import Campus, campus
from hunet.worlds.clusters import Clusters, clusters
from hunet.worlds.community import Community, community
from hunet.worlds.exact_contacts import exact_contacts
from hunet.worlds.movement import Movement
from hunet.worlds.movement_files import write_movement
from hunet.worlds.slaw import Slaw, slaw
from hunet.worlds.tracks import Tracks
from hunet.worlds.waypoint import RandomWaypoint, random_waypoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hunet.model.contacts import Contacts

__all__ = [
    "WORLDS",
    "Movement",
    "Tracks",
    "World",
    "exact_contacts",
    "make_movement",
    "make_world",
    "write_movement",
]


@dataclass(frozen=True, slots=True)
class World:
    """A kind of world: its parameters, and how people move in it."""

    name: str
    summary: str
    parameters: type[Parameters]
    move: Callable[[Any, int], Movement]
    """From parameters and a seed to movement."""

    def describe(self) -> list[Parameter]:
        """List what can be set, with units, symbols and sources."""
        return describe(self.parameters)


WORLDS: Mapping[str, World] = MappingProxyType(
    {
        world.name: world
        for world in (
            World(
                "community",
                "hosts drawn to the squares of their friends (SocialCast, Table I)",
                Community,
                community,
            ),
            World("waypoint", "random waypoint, from goal to uniform goal", RandomWaypoint, random_waypoint),
            World("slaw", "least-action walks between fractal waypoints", Slaw, slaw),
            World("campus", "students between classes, dormitories and the library (MOPS)", Campus, campus),
            World("clusters", "walkers in disks, and ferries between them (The ONE)", Clusters, clusters),
        )
    }
)


def make_movement(name: str, seed: int = 1, **parameters: Any) -> Movement:
    """Let the people of a world move; parameters may be given as text.

    >>> make_movement("slaw", seed=7, nodes=5, duration="30").positions([0, 15, 30]).shape
    (3, 5, 2)
    """
    if name not in WORLDS:
        raise ConfigurationError(f"no world '{name}': {did_you_mean(name, WORLDS)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigurationError(f"seed {seed!r}: a seed is a whole number of at least 0, such as 1")
    world = WORLDS[name]
    chosen = from_mapping(world.parameters, parameters)
    for row in world.describe():
        value = getattr(chosen, row.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigurationError(f"parameter '{row.name}' is {value}: give a number, such as {row.default}")
    return world.move(chosen, seed)


def make_world(name: str, seed: int = 1, **parameters: Any) -> Contacts:
    """Make the contact table of a world; ``metadata`` tells the world, parameters, seed and labels."""
    return make_movement(name, seed, **parameters).contacts()
