"""Devices of one run that differ in their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunet import HunetError, Result, make_workload, make_world, run
from hunet.simulation.event_log import EventLog, replay
from tests.fields import rows

CROWD = make_world("waypoint", seed=1, nodes=10, duration=600.0, width=200.0, height=200.0)
WORKLOAD = make_workload(CROWD, seed=1, messages=10)
STUBBORN = {"3": {"switching": 0.0}, "5": {"switching": 0.0}}


def served(result: Result) -> set[str]:
    """Who was ever a broker."""
    return {node for node, role in rows(result, "roles", "node", "role") if role == "broker"}


def test_devices_may_have_parameters_of_their_own(tmp_path: Path) -> None:
    assert served(run(CROWD, WORKLOAD, "social-election", switching=1.0)) == set(CROWD.names)
    with (tmp_path / "log.jsonl").open("w", encoding="utf-8") as file:
        result = run(CROWD, WORKLOAD, "social-election", switching=1.0, devices=STUBBORN, log=EventLog(file))
    assert served(result) == set(CROWD.names) - {"3", "5"}
    assert result.name["devices"] == STUBBORN
    assert replay(tmp_path / "log.jsonl") > 100


@pytest.mark.parametrize(
    ("devices", "problem"),
    [
        ({"bob": {"switching": 0.0}}, "'devices' names 'bob', which is not in the contacts"),
        ({"3": {"switching": 2.0}}, "switching"),
        ({"3": {"swiching": 0.0}}, "swiching"),
    ],
)
def test_bad_parameters_of_a_device_are_refused_in_a_line(devices: dict[str, dict[str, float]], problem: str) -> None:
    with pytest.raises(HunetError, match=problem) as error:
        run(CROWD, WORKLOAD, "social-election", devices=devices)
    assert "\n" not in str(error.value)
