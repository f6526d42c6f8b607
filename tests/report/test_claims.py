"""The claims table: generated from a study's folder, put into a page, judged by the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hunet.model import InputError
from hunet.model.intervals import Interval
from hunet.report.claims import Claim, claims_table, percent, read_claims, replace_section, replace_sections
from hunet.report.runs import Runs
from hunet.systems.b_sub.claims import sections as b_sub_sections
from hunet.systems.b_sub.tables import privacy_table

CYCLES = [4, 16, 64, 256, 1024, 4096]
DELIVERY = {
    "b-sub": [0.18, 0.22, 0.25, 0.26, 0.22, 0.17],
    "b-sub-p": [0.15, 0.18, 0.19, 0.2, 0.12, 0.09],
    "b-sub-push": [0.3],
    "b-sub-pull": [0.1],
}


def row(protocol: str, cycle: int | None, repetition: int, **changed: Any) -> dict[str, Any]:
    short = {"b-sub-push": 0.92, "b-sub-pull": 0.0}.get(protocol, 0.002)
    place = CYCLES.index(cycle) if cycle else 0
    return {
        "protocol": protocol,
        "seed": repetition,
        "point": 10 * list(DELIVERY).index(protocol) + place,
        "repetition": repetition,
        "axes": {"parameters.decay_cycle": cycle} if cycle else {},
        "name": {"result": {"contacts": {"nodes": 10}}},
        "delivery_ratio": DELIVERY[protocol][place] + 0.001 * repetition,
        "latency_avg": 1000.0 + abs(place - 2),
        "copies_delivered_avg": {"b-sub-push": 40.0}.get(protocol, 16.0),
        "copies_net_delivered_avg": {"b-sub-push": 20.0, "b-sub-p": 16.5}.get(protocol, 16.0),
        "dropped_overflow": {"b-sub-push": 1000.0, "b-sub-pull": 0.0}.get(protocol, 10.0),
        "observed": {
            "forwards": 1000,
            "false_forwards": 1000 * short / (place + 1),
            "relayed_tags": 10 * [0, 5, 20, 29, 36, 38][place],
            "greetings": 10,
            "filter_bytes": [300, 500, 600, 550, 520, 500][place],
            "string_bytes": 1700,
            "interests": 100,
            "guessed": 100 if protocol == "b-sub" else 30,
            "lasting_interests": 20,
            "lasting_guessed": 20,
        },
        **changed,
    }


def rows(**changed: Any) -> list[dict[str, Any]]:
    return [
        row(protocol, cycle, repetition, **changed)
        for protocol in DELIVERY
        for cycle in (CYCLES if protocol in ("b-sub", "b-sub-p") else [None])
        for repetition in (0, 1)
    ]


def test_claims_are_read_from_a_page_as_they_were_written(tmp_path: Path) -> None:
    page, claims = (
        tmp_path / "page.md",
        [Claim("X-1", "a", "b", "shape only", "c", "partly"), Claim("X-2", "a", "–", "not run")],
    )
    page.write_text(f"before\n{claims_table(claims)}\n\n| another | table |\n")
    assert read_claims(page) == claims
    page.write_text(claims_table([claims[0]]).replace("shape only", "perhaps"))
    with pytest.raises(InputError, match="no verdict but 'perhaps'"):
        read_claims(page)


def test_runs_are_asked_by_place() -> None:
    runs = Runs(rows(), lambda row: {"cycle": row["axes"].get("parameters.decay_cycle", 0)})
    assert runs.at("delivery_ratio", "b-sub", cycle=16).mean == pytest.approx(0.2205)
    assert list(runs.by("cycle")) == [0, *CYCLES]
    assert list(runs.only("b-sub").by("cycle")) == list(runs.along("delivery_ratio", "b-sub", "cycle")) == CYCLES
    assert len(runs.only("b-sub", cycle=16).rows) == 2
    assert runs.only(cycle=5).rows == []


def test_the_privacy_table_has_a_row_for_each_cycle() -> None:
    *lines, _, repetitions = privacy_table(Runs(rows())).splitlines()
    assert len(lines) == 2 + len(CYCLES)
    assert repetitions == "2 repetitions."
    assert lines[-1] == "| 2^12 s | 100.0 ± 0.0 % | 30.0 ± 0.0 % | – | 100.0 ± 0.0 % |"


def save(folder: Path, runs: list[dict[str, Any]]) -> None:
    """As ``hunet study`` does."""
    for number, one in enumerate(runs):
        place = folder / "runs" / f"protocol={one.pop('protocol')}"
        place.mkdir(parents=True, exist_ok=True)
        plain = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in one.items()}
        pq.write_table(pa.Table.from_pylist([plain | {"key": str(number)}]), place / f"{number}.parquet")


def test_studies_are_read_and_the_page_is_written(tmp_path: Path) -> None:
    results, page = tmp_path / "results", tmp_path / "page.md"
    sections = ("claims", "privacy", "figure 9, Infocom 2006", "interests")
    old = "before\n" + "".join(f"<!-- {name} -->\nthe last table\n<!-- end of {name} -->\n" for name in sections)
    page.write_text(old)
    replace_sections(page, b_sub_sections(results))
    assert page.read_text().count("the last table") == 3  # no results: claims are judged by what is kept
    for name in ("figure-9-infocom06", "privacy"):
        save(results / name, rows())
    replace_sections(page, b_sub_sections(results))
    first = page.read_text()
    assert first.startswith("before\n<!-- claims -->\n\n| claim |")
    assert first.endswith("<!-- interests -->\nthe last table\n<!-- end of interests -->\n")
    assert first.count("the last table") == 1
    assert "`figure-9-infocom06` (run anew, 2 seeds)" in first
    assert "| b-sub | 2^8 s | 0.261 ± 0.006 | 16.0 ± 0.0 |" in first
    replace_sections(page, b_sub_sections(results))
    assert page.read_text() == first
    save(results / "interests-sigcomm09", rows())
    replace_sections(page, b_sub_sections(results))
    wanted = "| SIGCOMM 2009 | b-sub | 2^8 s | 0.261 ± 0.006 | 17 ± 0 | 16.0 ± 0.0 | 0.1 ± 0.0 % | 55 ± 0 |"
    assert wanted in page.read_text()
    page.write_text("nothing")
    with pytest.raises(InputError, match="no place for claims"):
        replace_sections(page, b_sub_sections(results))


def test_repetitions_that_are_under_way_do_not_count(tmp_path: Path) -> None:
    unfinished = [row("b-sub", cycle, 2, delivery_ratio=0.9) for cycle in CYCLES[:2]]
    save(tmp_path, rows() + unfinished)
    runs = Runs.read(tmp_path)
    assert runs.repetitions == 2
    assert runs.at("delivery_ratio", "b-sub", decay_cycle=4).mean == pytest.approx(0.1805)


def test_results_without_a_complete_repetition_are_refused(tmp_path: Path) -> None:
    save(tmp_path, [row("b-sub", 4, 0), row("b-sub", 16, 1)])
    with pytest.raises(InputError, match="no repetition in which no run is missing"):
        Runs.read(tmp_path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no runs"):
        Runs.read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        replace_section(tmp_path / "none.md", "")
    (tmp_path / "page.md").write_text("nothing here")
    with pytest.raises(InputError, match="no place for claims"):
        replace_section(tmp_path / "page.md", "")


def test_intervals() -> None:
    assert Interval.of([0.5]).text() == "0.500"
    assert Interval.of([1.0, 1.0, 4.0]).text(1) == "2.0 ± 4.3"
    assert Interval.of([0.0] * 30).half == 0
    assert (percent(Interval.of([0.25]), 1), percent(Interval.of([]))) == ("25.0 %", "–")
    assert claims_table([Claim("X-1", "a", "b", "shape only", "c")]).endswith("| X-1 | a | b | shape only | c |  |")
