"""Random streams: one independent generator per (seed, world, purpose, node).

A node's walk draws from its own stream only, so adding a node, or working the nodes off in another order,
changes nobody else's walk. The four names become a NumPy ``SeedSequence`` whose spawn key holds the CRC-32 of
the world's and the purpose's name and the node's number. The same seed gives the same bytes with the same NumPy on
the same kind of machine: NumPy may change how a Generator turns bits into choices between its versions, and powers
and logarithms may differ in their last digit between platforms. The purposes are ``network``, ``placement``, ``map``,
``walk`` and ``contact``.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, world: str, purpose: str, node: int = 0) -> np.random.Generator:
    """Make the generator of one purpose of one node.

    >>> stream(1, "waypoint", "walk", 7).random() == stream(1, "waypoint", "walk", 7).random()
    True
    >>> stream(1, "waypoint", "walk", 7).random() == stream(1, "waypoint", "walk", 8).random()
    False
    """
    key = (zlib.crc32(world.encode()), zlib.crc32(purpose.encode()), node)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
