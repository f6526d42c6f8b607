"""The evidence that is kept: every claim is judged again by it, and the pages say what it says."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hunet.pipeline.study_plan import plan_study
from hunet.report.claims import OPEN, Claim, read_claims
from hunet.report.evidence import EVIDENCE, Evaluation, read_evidence
from hunet.report.yardstick import names_of
from hunet.systems import load, system

DOCS = Path(__file__).parents[2] / "docs"
IDS = {
    "b-sub": [f"BS-{n}" for n in range(1, 14)],
    "socialcast": [f"SC-{n}" for n in range(1, 18)],
    "social-election": [f"SE-{n}" for n in range(1, 13)],
    "socio-aware-overlay": [*(f"Table {n}" for n in range(1, 6)), *(f"SO-{n}" for n in range(1, 14))],
    "mops": [f"MO-{n}" for n in range(1, 12)],
}


def evaluation(name: str) -> Evaluation:
    found: Evaluation = load(system(name).evaluation)
    return found


@pytest.fixture(params=IDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_all_claims_and_tables_are_judged_again_and_the_page_says_so(name: str) -> None:
    judged = evaluation(name).rules.judged(read_evidence(evaluation(name).folder))
    assert list(dict.fromkeys(claim.id.partition(",")[0] for claim in judged)) == IDS[name]
    on_page = read_claims(DOCS / "systems" / f"{name}.md")
    # A page is a table: its cells have no spaces at their ends.
    assert [Claim(*(cell.strip() for cell in claim)) for claim in judged] == on_page  # type: ignore[arg-type]
    assert all(claim.before for claim in judged if "R*" not in claim.id and "slow" not in claim.id)


def test_every_rule_names_studies_that_there_are(name: str) -> None:
    files = {file.stem for file in evaluation(name).folder.glob("*.toml")}
    for rule in evaluation(name).rules.rules:
        assert rule.untestable or names_of((rule.core, rule.table)), rule.id
        assert {at.study for at in names_of(rule)} <= files, rule.id


def test_every_reason_names_a_study_that_shows_it(name: str) -> None:
    one = evaluation(name)
    for rule in one.rules.rules:
        for reason in rule.reasons:
            assert names_of(reason.shown), f"{rule.id}: {reason.text}"
    for claim in one.rules.judged(read_evidence(one.folder)):
        if claim.verdict in ("not reproduced", "shape only"):
            assert claim.why == OPEN or "(`" in claim.why, claim


def test_runs_that_judge_have_other_seeds_than_those_that_fitted_anything(name: str) -> None:
    given = {"protocol": "push", "world": [{"name": "waypoint"}], "seed": 1, "repetitions": 100}
    fitted = set(plan_study(given, Path("study.toml")).seeds)
    table = pq.read_table(evaluation(name).folder / EVIDENCE, columns=["seed", "study", "runs"]).to_pylist()
    judging = [row for row in table if row["seed"] is not None and row["study"] not in evaluation(name).rules.fixed]
    assert not fitted & {row["seed"] for row in judging}
    assert all(row["runs"] == 1 for row in judging)


def test_the_evidence_is_small() -> None:
    assert sum((evaluation(name).folder / EVIDENCE).stat().st_size for name in IDS) < 3_000_000


def test_what_is_kept_is_what_was_run(tmp_path: Path) -> None:
    one = evaluation("mops")
    copy = one._replace(folder=tmp_path)
    studies = read_evidence(one.folder)
    assert copy.keep(studies) == pq.read_metadata(one.folder / EVIDENCE).num_rows
    assert (tmp_path / EVIDENCE).read_bytes() == (one.folder / EVIDENCE).read_bytes()
    # What was run since replaces what is kept of the same study, and nothing else.
    some = {"figure-11": studies["figure-11"].only("push")}
    copy.keep(some)
    again = read_evidence(tmp_path)
    assert len(again["figure-11"].rows) == len(some["figure-11"].rows)
    assert len(again["figure-10"].rows) == len(studies["figure-10"].rows)
