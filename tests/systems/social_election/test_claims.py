"""Social election's claims: from the folders that studies leave to verdicts that follow the numbers."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hunet.systems.social_election
from hunet.pipeline.study_plan import read_study
from hunet.pipeline.study_run import do_run
from hunet.report.claims import Claim, replace_sections
from hunet.systems.social_election.claims import EVALUATION, RULES, SPEEDS, sections

STUDIES = Path(hunet.systems.social_election.__file__).parent / "studies"
PAGE = Path(__file__).parents[3] / "docs" / "systems" / "social-election.md"
SECTIONS = ("claims", "margins", "readings", "choices", "traces")
WORLDS, READINGS = ("waypoint", "slaw"), ("mean", "marginal")


class Study:
    """A folder as ``hunet study`` leaves it, of made-up runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.points, self.runs = folder, 0, 0

    def add(
        self,
        *values: float,
        protocol: str = "social-election",
        world: str = "waypoint",
        speed: int = 10,
        roles: list[list[tuple[float, str, str]]] | None = None,
        delays: dict[str, float] | None = None,
        **axes: Any,
    ) -> None:
        """A point of the grid; a value for each repetition, of which all metrics are made."""
        for repetition, value in enumerate(values):
            key = f"run{self.runs}"
            name = {
                "contacts": {"world": world, "parameters": {"speed_max": speed}, "seed": 1},
                "result": {"contacts": {"nodes": 100}},
            }
            observed = {"score": value, "duty": value, "watched": 100, "brokered": value}
            row = {
                "key": key,
                "point": self.points,
                "repetition": repetition,
                "seed": repetition,
                "contacts": world,
                "axes": json.dumps({f"parameters.{axis.removeprefix('world_')}": at for axis, at in axes.items()}),
                "name": json.dumps(name),
                "observed": json.dumps(observed),
                "created": 10.0,
                "latency_avg": value,
                "role_changes": 7.0,
                "delivery_ratio": value / 1000,
                "reachable_ratio": 0.9,
            }
            self._write(f"runs/protocol={protocol}/{key}.parquet", [row])
            if roles:
                tables: dict[str, list[dict[str, Any]]] = {
                    "series": [{"time": 30.0 * step} for step in range(1, 101)],
                    "nodes": [{"node": str(node)} for node in range(100)],
                    "roles": [dict(zip(("time", "node", "role"), change, strict=True)) for change in roles[repetition]],
                }
                for table, content in tables.items():
                    self._write(f"tables/{key}/{table}.parquet", content)
            if delays:
                served: list[dict[str, Any]] = [
                    {"publication": each, "node": "7", "delay": value * at} for each, at in delays.items()
                ]
                self._write(f"tables/{key}/deliveries.parquet", served)
            self.runs += 1
        self.points += 1
        (self.folder / "study.json").write_text(json.dumps({"points": [0] * self.points}))

    def _write(self, name: str, rows: list[dict[str, Any]]) -> None:
        coordinates = self.folder / name
        coordinates.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), coordinates)


def figure_1(
    results: Path,
    margin: float = 1.2,
    slower: float = 1.0,
    faster: float = 1.0,
    delegated: float = 0.9,
    over_delegation: float = 1.0,
) -> None:
    """In both readings the same: throughputs that grow with speed, by `faster`; those of Random below by a margin."""
    study = Study(results / "figure-1")
    for world, speed, replication, reading in product(WORLDS, SPEEDS, ("naive", "delegation"), READINGS):
        ours = (100 + speed * faster) * (delegated if replication == "delegation" else 1.0)
        over = margin * (1.05 if world == "slaw" else 1.0) * (slower if speed <= 20 else 1.0)
        over *= over_delegation if replication == "delegation" else 1.0
        coordinates = {"world": world, "speed": speed, "replication": replication, "difference": reading}
        seeds = [ours + 0.01 * seed for seed in range(4)]
        study.add(*seeds, **coordinates)  # type: ignore[arg-type]
        study.add(*(each / over for each in seeds), protocol="random-broker", **coordinates)  # type: ignore[arg-type]


def judged(results: Path) -> list[Claim]:
    return RULES.judged(EVALUATION.read(results))


def verdicts(results: Path) -> dict[str, str]:
    """Those of the default reading."""
    ending = ", mean"
    return {claim.id.removesuffix(ending): claim.verdict for claim in judged(results) if claim.id.endswith(ending)}


def test_what_was_not_run_says_so_and_is_no_error(tmp_path: Path) -> None:
    found = judged(tmp_path)
    assert [claim.id for claim in found] == [f"SE-{n}, {reading}" for n in range(1, 13) for reading in READINGS]
    assert {claim.verdict for claim in found} == {"not run"}
    assert found[0].why == "48 of 48 points have no results that are kept"
    page = tmp_path / "page.md"
    page.write_text("\n".join(f"<!-- {name} -->\nlast time\n<!-- end of {name} -->" for name in SECTIONS))
    replace_sections(page, sections(tmp_path))
    assert re.search(r"`duty` \(kept, \d+ seeds\)", page.read_text())
    assert page.read_text().count("last time") == 4  # other tables stay as they are


def test_a_study_that_is_under_way_has_not_been_run(tmp_path: Path) -> None:
    figure_1(tmp_path)
    assert verdicts(tmp_path)["SE-1"] == "reproduced"
    planned = json.loads((tmp_path / "figure-1" / "study.json").read_text())["points"]
    (tmp_path / "figure-1" / "study.json").write_text(json.dumps({"points": [*planned, 0]}))
    assert verdicts(tmp_path)["SE-1"] == "not run"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"slower": 1.05}, {"SE-1": "reproduced", "SE-2": "reproduced", "SE-3": "reproduced", "SE-12": "reproduced"}),
        ({"slower": 0.8}, {"SE-1": "not reproduced", "SE-3": "not reproduced"}),
        ({"over_delegation": 0.8}, {"SE-1": "not reproduced"}),
        ({"margin": 1.02}, {"SE-1": "shape only"}),  # what SE-11 would call no effect
        ({"margin": 0.7}, {"SE-1": "not reproduced"}),
        ({"faster": -1.0}, {"SE-2": "not reproduced"}),
        ({"delegated": 1.1}, {"SE-12": "not reproduced"}),
    ],
)
def test_figure_1_is_judged_by_the_numbers(tmp_path: Path, given: dict[str, float], expected: dict[str, str]) -> None:
    figure_1(tmp_path, **given)
    found = verdicts(tmp_path)
    assert {claim: found[claim] for claim in expected} == expected


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ({"m1": 1.0, "m2": 2.0, "m3": 90.0}, "reproduced"),  # only one of the two delivered m3, and it took long
        ({"m1": 1.0, "m2": 3.0}, "not reproduced"),
    ],
)
def test_delays_are_compared_on_what_both_delivered(tmp_path: Path, theirs: dict[str, float], expected: str) -> None:
    study = Study(tmp_path / "delay")
    for world, replication in product(WORLDS, ("naive", "delegation")):
        study.add(1.0, 1.0, world=world, replication=replication, delays={"m1": 1.0, "m2": 2.0, "m4": 50.0})
        study.add(1.0, 1.0, world=world, replication=replication, delays=theirs, protocol="random-broker")
    assert verdicts(tmp_path)["SE-4"] == expected


def test_the_margins_of_figure_1_stand_point_by_point(tmp_path: Path) -> None:
    figure_1(tmp_path)
    lines = sections(tmp_path)["margins"].splitlines()
    assert len(lines) == 2 + 48
    assert "| marginal | waypoint | naive | 5 | 105 ± 0 | 88 ± 0 | 20.0 ± 0.0 % |" in lines


def terms(*lengths: float, nodes: int = 100, start: float = 0.0) -> list[tuple[float, str, str]]:
    """Each node serves one term; lengths are repeated for all nodes."""
    changes = []
    for node in range(nodes):
        changes += [(start, str(node), "broker"), (start + lengths[node % len(lengths)], str(node), "user")]
    return sorted(changes, key=lambda change: change[0])


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ((100.0, 100.0, 100.0, 100.0, 2000.0), "reproduced"),  # 80 short, 20 long
        ((100.0, 100.0, 100.0, 2000.0), "reproduced"),
        ((100.0, 100.0, 2000.0), "shape only"),
        ((100.0, 2000.0, 2000.0), "not reproduced"),
    ],
)
def test_figure_2_duty_is_judged_by_the_numbers(tmp_path: Path, lengths: tuple[float, ...], expected: str) -> None:
    study = Study(tmp_path / "figure-2-speed")
    for world, speed in product(WORLDS, SPEEDS):
        study.add(60.0 - speed, 61.0 - speed, world=world, speed=speed, roles=[terms(*lengths)] * 2)
    found = verdicts(tmp_path)
    assert (found["SE-5"], found["SE-7"]) == ("reproduced", expected)
    # An unpublished speed that turns the answer makes the claim not testable.
    slowest = Study(tmp_path / "slowest")
    for pace in (0.1, 1.0, 2.0, 5.0):
        turned = lengths if pace > 1 else [2100 - length for length in lengths]
        slowest.add(1.0, 1.0, speed=10, roles=[terms(*turned)] * 2, world_speed_min=pace)
    assert expected == "not reproduced" or verdicts(tmp_path)["SE-7"] == "not testable"


def test_duty_cycles_are_judged_beside_those_of_brokers_by_lot(tmp_path: Path) -> None:
    study = Study(tmp_path / "duty")
    for world in WORLDS:
        study.add(1.0, 1.0, world=world, roles=[terms(100.0, 100.0, 100.0, 2000.0)] * 2)
        study.add(1.0, 1.0, world=world, protocol="random-broker", roles=[terms(100.0, 100.0, 2000.0)] * 2)
    assert verdicts(tmp_path)["SE-8"] == "reproduced"


def test_readings_stand_beside_each_other(tmp_path: Path) -> None:
    study = Study(tmp_path / "readings")
    for ferries, promotes in product(("alone", "all"), (False, True)):
        roles = [terms(100.0, 2000.0)] * 2
        study.add(40.0, 44.0, roles=roles, difference="marginal", self_promotion=promotes, ferries=ferries)
    lines = sections(tmp_path)["readings"].splitlines()[2:]
    assert [line.split(" | ")[2] for line in lines] == ["none", "alone", "all"]
    assert "| 42.0 ± 25.4 | 50.0 ± 0.0 | 7.0 ± 0.0 |" in lines[0]


def test_choices_and_traces_have_tables_of_their_own(tmp_path: Path) -> None:
    workload, traces = Study(tmp_path / "workload"), Study(tmp_path / "traces")
    for protocol, value in (("social-election", 110.0), ("random-broker", 100.0)):
        workload.add(
            value,
            value,
            protocol=protocol,
            publishers=5,
            replication="naive",
            direct_delivery=False,
            weights=[1.0, 0.5],
        )
        traces.add(value, value, protocol=protocol, world="infocom05", window=3600, replication="naive")
    traces.add(300.0, 300.0, protocol="push", world="infocom05")
    page = tmp_path / "page.md"
    page.write_text("\n".join(f"<!-- {name} --><!-- end of {name} -->" for name in SECTIONS))
    replace_sections(page, sections(tmp_path))
    text = page.read_text()
    assert "| 5 | naive | no | 1.0, 0.5 | 110 ± 0 | 100 ± 0 | 10.0 ± 0.0 % |" in text
    assert "| infocom05 | social-election | 1 | naive | 110.0 ± 0.0 | 0.110 ± 0.000 | 0.900 ± 0.000 | 2 ± 0 |" in text
    assert "| infocom05 | push | – | – | – | 0.300 ± 0.000 | 0.900 ± 0.000 | 5 ± 0 |" in text
    assert "`workload` (run anew, 2 seeds)" in text


def test_the_page_has_a_place_for_everything() -> None:
    text = PAGE.read_text()
    for name in SECTIONS:
        assert f"<!-- {name} -->" in text
        assert f"<!-- end of {name} -->" in text


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("figure-1", 1920),
        ("figure-2-speed", 480),
        ("figure-2-threshold", 2000),
        ("figure-3", 240),
        ("readings", 720),
        ("duty", 160),
        ("slowest", 160),
        ("switching", 200),
        ("workload", 320),
        ("delay", 320),
    ],
)
def test_the_study_files_are_the_papers_size(name: str, runs: int) -> None:
    assert len(read_study(STUDIES / f"{name}.toml").runs()) == runs


def test_claims_come_out_of_a_study_that_was_really_run(tmp_path: Path) -> None:
    """Fig. 3's study, shrunk, from its file to its claim."""
    text = (STUDIES / "figure-3.toml").read_text().replace("repetitions = 20", "repetitions = 1")
    text = text.replace("speed_max = 10", "speed_max = 10\nnodes = 60\nduration = 1200")
    (tmp_path / "figure-3.toml").write_text(text)
    study, results = read_study(tmp_path / "figure-3.toml"), tmp_path / "figure-3"
    assert [do_run(run, results) for run in study.runs()] == [None] * 12
    (results / "study.json").write_text(json.dumps(study.identity))
    # One run of each tells nothing yet; but every order is the claim's.
    [claim] = [claim for claim in judged(tmp_path) if claim.id == "SE-9, marginal"]
    assert (claim.verdict, claim.ours.count("not known")) == ("not known", 3)
