"""Familiar sets against another program's, over a real trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunet.model import members
from hunet.systems.socio_aware_overlay.familiar import FamiliarSet


def familiar_sets(connectivity: Path, threshold: float) -> list[set[int]]:
    """Familiar when a contact ends, which is how that program has it: here nobody looks at the clock meanwhile."""
    devices = [FamiliarSet(threshold) for _ in range(36)]
    for line in connectivity.read_text(encoding="utf-8").splitlines():
        when, _, first, second, what = line.split()
        a, b = int(first), int(second)
        for one, two in ((a, b), (b, a)):
            if what == "up":
                devices[one].link_up(two, float(when))
            else:
                devices[one].link_down(two, float(when))
    return [set(members(device.nodes)) for device in devices]


@pytest.mark.parametrize("threshold", [7200, 21600, 36000, 72000])
def test_familiar_sets_are_another_programs(shared: Path, threshold: int) -> None:
    found = familiar_sets(shared / "oracles/one-cambridge/connectivity.one", float(threshold))
    answers = (shared / f"oracles/communities-cambridge/KCLIQUE_T{threshold}_k3.txt").read_text(encoding="utf-8")
    for line in answers.splitlines():
        node, familiar, _ = line.split("\t")
        assert found[int(node)] == {int(each) for each in familiar.split(",") if each}
