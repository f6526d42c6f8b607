"""Metrics that can be checked by hand, and results on disk."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from hunet import Contacts, Crash, HunetError, Publication, Subscription, Workload, run
from hunet.model import Message
from hunet.protocols import Protocol
from hunet.simulation import SUMMARY, TABLES

# Ann tells Bob, Bob tells Eve and Dan; Eve and Dan want it, Flo would but is never met in time.
CONTACTS = Contacts.from_records(
    [("ann", "bob", 0, 10), ("bob", "eve", 20, 30), ("bob", "dan", 40, 50), ("dan", "flo", 5, 6), ("ann", "flo", 0, 1)]
)
NUMBER = {name: i for i, name in enumerate(CONTACTS.names)}
WORKLOAD = Workload.of(
    [Publication("m", 2, NUMBER["ann"], "x", 100)],
    [Subscription(NUMBER[name], "x") for name in ("ann", "eve", "dan", "flo")],
)


def test_the_numbers_of_a_small_run() -> None:
    summary = run(CONTACTS, WORKLOAD, "push").summary
    expected = {
        "created": 1,
        "pairs": 3,
        "delivered": 2,
        "delivery_ratio": 2 / 3,
        "reachable": 2,
        "message_delivery_ratio": 1.0,
        "utility": 2 / 3,
        "efficiency": 2 / 3,
        "latency_avg": (18 + 38) / 2,
        "latency_med": 28,
        "hopcount_avg": 2.0,
        "relayed": 3,
        "relayed_bytes": 300,
        "overhead_ratio": 0.5,
        "copies_avg": 4.0,
        "dropped": 0,
        # ann holds it from 2 to 50, bob the same, eve from 20, dan from 40; five people, 50 s
        "buffer_avg": (48 + 48 + 30 + 10) / 5 / 50,
        "buffer_max": 1,
    }
    assert {key: summary[key] for key in expected} == pytest.approx(expected)


def test_copies_that_expire_or_overflow_are_counted_once() -> None:
    mortal = Workload.of([Publication("m", 2, NUMBER["ann"], "x", 100, 25)], list(WORKLOAD.subscriptions))
    summary = run(CONTACTS, mortal, "push").summary
    assert (summary["dropped_expired"], summary["dropped_overflow"]) == (3, 0)
    assert summary["buffertime_avg"] == pytest.approx((25 + 25 + 7) / 3)
    two = Workload.of([Publication("m", 2, 0, "x"), Publication("n", 3, 0, "x")], [])
    summary = run(CONTACTS, two, "push", buffer=1).summary
    assert summary["dropped_overflow"] == 2  # ann and bob had m, and gave it up for n
    assert summary["copies_avg"] - summary["copies_net_avg"] == 1.0


class Elected(Protocol):
    """Everybody is a broker for the first half of the run."""

    def start(self, now: float) -> None:
        self.driver.role("broker")
        self.driver.set_timer("retire", 25.0)

    def timer(self, tag: str, now: float) -> None:
        self.driver.role("user")

    def publish(self, message: Message, now: float) -> None:
        self.driver.false_match(message)


def test_roles_over_time() -> None:
    result = run(CONTACTS, WORKLOAD, Elected)
    assert result.summary["role_time"] == {"broker": 2.5, "user": 2.5}
    assert result.summary["role_changes"] == 5
    assert result.summary["false_matches"] == 1
    assert result.roles["role"].tolist() == ["broker"] * 5 + ["user"] * 5


def test_a_device_that_is_down_has_no_role() -> None:
    result = run(CONTACTS, WORKLOAD, Elected, crashes=[Crash(0, 10.0, 10.0)])
    begin, end = CONTACTS.span
    assert sum(result.summary["role_time"].values()) == pytest.approx(5.0)
    assert result.summary["role_time"]["down"] == pytest.approx(10 / (end - begin))


def test_of_systems_with_brokers_everybody_has_a_role_from_the_start() -> None:
    for protocol in ("social-election", "random-broker", "socio-aware-overlay", "mops"):
        given: dict[str, Any] = {"share": 0.5} if protocol == "random-broker" else {}
        assert sum(run(CONTACTS, WORKLOAD, protocol, **given).summary["role_time"].values()) == pytest.approx(5.0)


def test_every_number_and_column_is_documented() -> None:
    result = run(CONTACTS, WORKLOAD, "push")
    assert list(result.summary) == list(SUMMARY)
    assert {name: list(table) for name, table in result.columns.items()} == {
        name: list(table) for name, table in TABLES.items()
    }
    formats = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    for name, table in TABLES.items():
        for column, meaning in table.items():
            assert f"| `{column}` | {meaning} |" in formats, f"{name}.{column}"
    for number, meaning in SUMMARY.items():
        assert f"| `{number}` | {meaning} |" in formats, number


def test_a_result_on_disk_has_everything_and_its_name(tmp_path: Path) -> None:
    result = run(CONTACTS, WORKLOAD, "push", seed=4)
    result.save(tmp_path / "out")
    said = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert said["name"]["seed"] == 4
    assert said["name"]["contacts"]["sha256"] == CONTACTS.fingerprint
    assert said["delivered"] == 2
    table = pd.read_parquet(tmp_path / "out" / "deliveries.parquet")
    assert table[["publication", "node", "time", "hops"]].to_numpy().tolist() == [
        ["m", "eve", 20.0, 2],
        ["m", "dan", 40.0, 2],
    ]
    metadata = pq.read_schema(tmp_path / "out" / "forwards.parquet").metadata
    assert json.loads(metadata[b"hunet.run"]) == said["name"]


def test_the_same_run_again_gives_the_same_bytes_in_the_same_place(tmp_path: Path) -> None:
    def content() -> dict[str, bytes]:
        run(CONTACTS, WORKLOAD, "push").save(tmp_path / "out")
        return {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    assert content() == content()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_other_peoples_folders_are_left_alone(tmp_path: Path) -> None:
    result = run(CONTACTS, WORKLOAD, "push")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("dear diary")
    with pytest.raises(HunetError, match="holds other files"):
        result.save(tmp_path / "notes")
    run(CONTACTS, WORKLOAD, "pull").save(tmp_path / "out")
    with pytest.raises(HunetError, match=r"holds another run \(pull, seed 1\)"):
        result.save(tmp_path / "out")
    with pytest.raises(HunetError, match="is a file"):
        result.save(tmp_path / "notes" / "diary.txt")
    assert (tmp_path / "notes" / "diary.txt").read_text() == "dear diary"


SAVE_WITH_LITTLE_ROOM = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from tests.simulation.test_result import CONTACTS, WORKLOAD
from hunet import HunetError, run
result = run(CONTACTS, WORKLOAD, "push")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    result.save(sys.argv[1])
except HunetError as error:
    print(error)
"""


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    """The operating system refuses to write more than a thousand bytes: a disk that is full in mid-file."""
    assert resource.RLIMIT_FSIZE is not None
    command = [sys.executable, "-c", SAVE_WITH_LITTLE_ROOM, str(tmp_path / "out"), str(Path(__file__).parents[2])]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COVERAGE_PROCESS_START": ""}
    )
    assert "cannot be written" in done.stdout
    assert list(tmp_path.iterdir()) == []
