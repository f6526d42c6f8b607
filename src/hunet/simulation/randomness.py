"""Random streams: one seed, and for each purpose a stream of its own.

Two protocols that run under the same seed see the same roles and the same publication times, whatever coins they toss
themselves (common random numbers), so that their difference is not blurred by luck.
"""

from __future__ import annotations

from enum import IntEnum
from random import Random

import numpy as np


class Stream(IntEnum):
    """The purposes; a number is part of the name of every result and must never change."""

    ROLES = 1
    TIMES = 2
    PROTOCOL = 3
    LINKS = 4


def generator(seed: int, stream: Stream, *key: int) -> np.random.Generator:
    """NumPy's generator for a stream (and a node, a repetition, ... in it): for many draws at once."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(stream, *key))))


def node_rng(seed: int, stream: Stream, *key: int) -> Random:
    """Python's generator for a stream: ten times cheaper for single draws, so what protocols get."""
    state = np.random.SeedSequence(seed, spawn_key=(stream, *key)).generate_state(4, np.uint64)
    return Random(int.from_bytes(state.tobytes(), "little"))
