"""A neighbourhood under attack (see ``fuzz``, which also runs by itself for as long as one likes)."""

from __future__ import annotations

import asyncio

import pytest

from tests.node.fuzz import ATTACKS, fuzz


@pytest.mark.parametrize("seed", range(4))
def test_a_neighbourhood_survives_whatever_peers_send(seed: int) -> None:
    done = asyncio.run(fuzz(seed, cases=100))
    assert all(done[attack.__name__] for attack in ATTACKS)
    assert done["refused: malformed"] > 10
