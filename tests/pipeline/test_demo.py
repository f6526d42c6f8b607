"""``hunet demo``: all protocols side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hunet import Contacts, write_contacts
from hunet.cli import main
from hunet.systems import PROTOCOLS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_demo_compares_all_protocols(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    del spark  # the session that the command finds running
    monkeypatch.chdir(tmp_path)
    around = [
        (str(i % 7), str((i * 3 + 1) % 7), 60.0 * i, 60.0 * i + 90) for i in range(200) if i % 7 != (i * 3 + 1) % 7
    ]
    write_contacts(Contacts.from_records(around), Path("trace.csv"))

    def demo(*words: str) -> str:
        command = ["hunet", "demo", "--trace", "trace.csv", "--messages", "20", "--runs", "2", *words]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return capfd.readouterr().out

    rows = json.loads(demo("--json"))
    assert set(rows) == set(PROTOCOLS)
    assert rows["push"]["delivery_ratio_mean"] == rows["push"]["reachable_ratio_mean"] > 0
    assert rows["pull"]["overhead_ratio_mean"] == 0
    shown = demo()  # from the results that are there
    assert "trace.csv; 20 messages that live 60 min; 2 runs" in shown
    assert " data packets per publication" in shown, "the answer in words"
    assert "Settings for this crowd: spray-and-wait copies=8; " in shown
    assert "out of" in shown.splitlines()[2], "what goes beside contacts has a column of its own"
    assert "(–: none, everybody is alike)" in " ".join(shown.split())
    assert shown.count("±") > 5
    watched = shown.partition("Watch a run: hunet replay ")[2].split()
    assert (Path(watched[0]) / "forwards.parquet").exists()
    assert watched[1:] == ["--contacts", "trace.csv"]
    assert {path.stem for path in Path("demo-results/report").glob("*.svg")} >= {"contact-graph-0", "brokers"}
    assert Path("demo-results/summary.csv").exists()
