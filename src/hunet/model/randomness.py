"""Random streams: one seed, and for each purpose a stream of its own.

Two protocols that run under the same seed see the same roles and the same publication times, whatever coins they toss
themselves (common random numbers), so that their difference is not blurred by luck.
"""

from __future__ import annotations

from enum import IntEnum
from random import Random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


class Stream(IntEnum):
    """The purposes; a number is part of the name of every result and must never change."""

    ROLES = 1
    TIMES = 2
    PROTOCOL = 3
    LINKS = 4
    SIZES = 5


def generator(seed: int, stream: Stream, *key: int) -> np.random.Generator:
    """NumPy's generator for a stream (and a node, a repetition, ... in it): for many draws at once."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(stream, *key))))


def node_rng(seed: int, stream: Stream, *key: int) -> Random:
    """Python's generator for a stream: ten times cheaper for single draws, so what protocols get."""
    state = np.random.SeedSequence(seed, spawn_key=(stream, *key)).generate_state(4, np.uint64)
    return Random(int.from_bytes(state.tobytes(), "little"))


def publication_times(
    span: tuple[float, float], nodes: Iterable[int], max_interval: float, seed: int
) -> list[tuple[float, int]]:
    """(time, node) of all messages, in order: the time between two of one node is uniform up to ``max_interval``."""
    times = generator(seed, Stream.TIMES)
    begin, end = span
    expected = 2 * (end - begin) / max_interval
    found: list[tuple[float, int]] = []
    for node in nodes:
        when = np.array([begin])
        while when[-1] <= end:
            gaps = times.uniform(0, max_interval, int(expected + 4 * expected**0.5) + 8)
            when = np.concatenate([when, when[-1] + np.cumsum(gaps)])
        found += [(float(time), node) for time in when[1:] if time <= end]
    return sorted(found)
