"""Small versions of what ``tests.node.faults`` does for as long as one likes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.machine import needs_proc
from tests.node.faults import ATTACKS, attacks, cuts


@pytest.mark.slow
def test_links_cut_in_mid_transfer_lose_nothing(tmp_path: Path) -> None:
    counts = asyncio.run(cuts(3, seed=1, folder=tmp_path))
    assert counts["acknowledged"] == counts["delivered"] > 0


def test_a_node_that_is_attacked_goes_on_serving_others(tmp_path: Path) -> None:
    needs_proc()
    found = asyncio.run(attacks(60.0, seed=1, folder=tmp_path, most=len(ATTACKS)))
    assert found["acknowledged"] <= found["delivered"]
    assert found["MiB at most"] - found["MiB before"] < 200
