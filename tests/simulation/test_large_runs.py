"""What was sent and stored goes to files in a large run, and the metrics are the same."""

from __future__ import annotations

import pandas as pd
import pytest

import hunet
from hunet.simulation import record
from hunet.simulation.result import TABLES


@pytest.mark.parametrize(
    ("protocol", "ttl", "buffer"),
    [
        ("push", None, None),
        ("push", 900.0, None),
        ("push", None, 10),
        ("push", 900.0, 10),
        ("spray-and-wait", None, None),
        ("social-election", None, 100),
    ],
)
def test_a_record_in_files_gives_the_same_result(
    protocol: str, ttl: float | None, buffer: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    contacts = hunet.make_world("waypoint", 1, nodes=20, duration=1800.0)
    workload = hunet.make_workload(contacts, seed=1, messages=60, ttl=ttl)
    expected = hunet.run(contacts, workload, protocol, buffer=buffer)
    assert bool(expected.summary["dropped_overflow"]) == (buffer == 10)
    monkeypatch.setattr("hunet.simulation.schedule._CHUNK", 64)
    monkeypatch.setattr(record, "ROOM", 50)
    for module in ("record", "copies", "summary"):
        monkeypatch.setattr(f"hunet.simulation.{module}.PIECE", 7)
    found = hunet.run(contacts, workload, protocol, buffer=buffer)
    for metric, value in expected.summary.items():
        # Times are summed up in another order.
        close = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        assert found.summary[metric] == close, metric
    for table in TABLES:
        pd.testing.assert_frame_equal(found.table(table), expected.table(table), check_dtype=False)


def test_a_large_record_leaves_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "ROOM", 4)
    kept = record.Record()
    for time in range(3):
        kept.forwards.extend((time, 0, 1, 2))
        kept.forwarded_messages.extend((2 * time + 1, 2 * time))
        kept.stored.extend((time, 1, 1))
        kept.stored_messages.append(2 * time)
        kept.removed.extend((time, 1, 2 * time, 0))
        kept.spill()
    assert kept.in_files
    assert len(kept.forwarded_messages) == 2  # the last one came after the others had gone
    assert [column.tolist() for column in kept.sent_columns()] == [
        [0, 0, 1, 1, 2, 2],
        [0] * 6,
        [1] * 6,
        [1, 0, 3, 2, 5, 4],
    ]
    assert [column.tolist() for column in kept.stored_columns()] == [[0, 1, 2], [1, 1, 1], [0, 2, 4]]
    assert [column.tolist() for column in kept.removed_columns()] == [[0, 1, 2], [1, 1, 1], [0, 2, 4], [0, 0, 0]]
