"""``hunet demo``: all protocols side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hunet import Contacts, make_workload, make_world, run, write_contacts
from hunet.cli import main
from hunet.model import from_mapping
from hunet.systems import PROTOCOLS, Scales, demo_parameters, demo_variants, protocol_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_the_demo_compares_all_protocols(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    del spark  # the session that the command finds running
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(
        "COLUMNS", "100"
    )  # at 80 it depends on how wide the numbers are whether one table has all columns
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
    assert set(rows) == {*PROTOCOLS, "socio-aware-overlay, unicast"}
    direct, over_contacts = rows["socio-aware-overlay"], rows["socio-aware-overlay, unicast"]
    assert direct["out_of_band_packets_mean"] >= 0 == over_contacts["out_of_band_packets_mean"]
    assert rows["push"]["delivery_ratio_mean"] == rows["push"]["reachable_ratio_mean"] > 0
    assert rows["pull"]["overhead_ratio_mean"] == 0
    shown = demo()  # from the results that are there
    assert "trace.csv; 20 messages that live 60 min; 2 runs" in shown
    assert " data packets per publication" in shown, "the answer in words"
    assert "Settings for this crowd: spray-and-wait copies=8; " in shown
    assert "out of" in shown.splitlines()[2], "what goes beside contacts has a column of its own"
    assert "  unicast " in shown, "the overlay over contacts has a row of its own"
    assert "(–: none, everybody is alike)" in " ".join(shown.split())
    assert shown.count("±") > 5
    watched = shown.partition("Watch a run: hunet replay ")[2].split()
    assert (Path(watched[0]) / "forwards.parquet").exists()
    assert watched[1:] == ["--contacts", "trace.csv"]
    assert {path.stem for path in Path("demo-results/report").glob("*.svg")} >= {"contact-graph-0", "brokers"}
    assert Path("demo-results/summary.csv").exists()


def test_settings_of_the_demo_follow_from_the_crowd() -> None:
    crowd = make_world("waypoint", seed=1, nodes=12, duration=600)
    scales = Scales.of(crowd, within=300.0)
    assert scales.pace == pytest.approx(600 * 12 / (2 * len(crowd)))
    slow, quick = demo_parameters(scales._replace(within=30000.0, pace=900.0)), demo_parameters(scales)
    assert slow["b-sub"]["decay_cycle"] == 100 * quick["b-sub"]["decay_cycle"]
    assert "b-sub-p" not in slow  # each device finds its own decay cycle
    assert slow["social-election"] == {"replication": "naive"}  # each device finds its own window
    assert slow["socio-aware-overlay"] == {"broker_link": "direct"}  # each device derives its own threshold
    assert demo_variants(scales)["socio-aware-overlay"] == {"broker_link": ["direct", "unicast"]}
    for protocol, parameters in quick.items():
        assert from_mapping(protocol_class(protocol).Parameters, parameters)


@pytest.mark.slow
def test_every_system_shows_what_it_is_for() -> None:
    """On a crowd of the demo: what each system is proud of, beside what it is compared with."""
    crowd = make_world("community", seed=1)
    workload = make_workload(crowd, seed=1, messages=300, ttl=3600.0, first=0.25)
    chosen = demo_parameters(Scales.of(crowd, 3600.0))
    ours = ("b-sub", "b-sub-p", "mops", "social-election", "socialcast", "socio-aware-overlay")
    found = {
        protocol: run(crowd, workload, protocol, seed=1, train=0.25, **chosen.get(protocol, {})).summary
        for protocol in ("push", "pull", "random-broker", *ours)
    }
    ratio = {protocol: summary["delivery_ratio"] for protocol, summary in found.items()}
    packets = {protocol: summary["relayed"] for protocol, summary in found.items()}
    assert ratio["push"] == found["push"]["reachable_ratio"]
    assert ratio["b-sub"] > 0.75
    assert packets["b-sub"] < packets["push"] / 3
    assert ratio["b-sub-p"] > 0.9
    assert ratio["mops"] > 0.99
    assert packets["mops"] < 0.75 * packets["push"]
    assert ratio["social-election"] > ratio["random-broker"] + 0.1
    assert found["social-election"]["role_time"]["broker"] < 40
    assert ratio["socialcast"] > ratio["pull"]
    overlay = found["socio-aware-overlay"]
    assert overlay["latency_avg"] < found["push"]["latency_avg"], "brokers reach each other at once"
    assert ratio["socio-aware-overlay"] > 0.95  # with thresholds that devices derive
    assert 0 < overlay["out_of_band_packets"] < 500 * 300, "publications go to each broker once"
