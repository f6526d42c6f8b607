"""The Socio-Aware Overlay's claims: the paper's own numbers, and a whole evaluation in miniature."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hunet.systems.socio_aware_overlay
from hunet import Contacts, write_contacts
from hunet.pipeline.study_plan import read_study
from hunet.pipeline.study_run import do_run
from hunet.report.claims import replace_sections
from hunet.report.runs import tables_of
from hunet.systems.socio_aware_overlay.claims import EVALUATION, RULES, sections
from hunet.systems.socio_aware_overlay.measures import OVERLAY, UNIT, stages, undelivered_percent
from hunet.systems.socio_aware_overlay.tables import SAME_COMMUNITY, TABLE_3, TABLE_4, TABLE_5

STUDIES = Path(hunet.systems.socio_aware_overlay.__file__).parent / "studies"
SECTIONS = ("claims", "Table 3", "Table 4", "Table 5", "what-matters", "online", "table-1")


def test_vector_1_all_rows_of_the_paper_agree_on_a_unit_of_390_seconds() -> None:
    rows = [*TABLE_3, *TABLE_4, SAME_COMMUNITY, *TABLE_5]
    units = [round(row.hours * 3600 / row.pub_to_sub, 1) for row in rows]
    assert units == [388.1, 389.3, 394.5, 389.9, 390.2, 390.1, 390.1, 390.3, 389.8, 390.2]
    for row in rows:  # the printed digits leave room for 390 s
        low, high = (row.hours - 0.05) / (row.pub_to_sub + 0.05), (row.hours + 0.05) / (row.pub_to_sub - 0.05)
        assert low * 3600 <= UNIT + 0.06
        assert high * 3600 >= UNIT


def test_vector_6_percentages_and_averages_are_the_papers() -> None:
    for rows in (TABLE_3, TABLE_4, TABLE_5):
        for row, many in zip(rows, (1000, 500, 200), strict=True):
            assert row.total_hops is not None
            assert row.total_hops / row.hops <= 10 * many  # deliveries, of ten subscribers at most
    given = [undelivered_percent(row.undelivered, int(row.load.partition("/")[0])) for row in (*TABLE_4, *TABLE_5)]
    assert given == [26, 48, 58, 85, 86, 92]


def circles(trace: int) -> Contacts:
    """Three circles of four friends, who meet twenty times for 15,000 s; two loners pass by, and meet once."""
    records = [
        (str(a), str(b), 50_000.0 * turn + 10 * a, 50_000.0 * turn + 15_000)
        for turn in range(20)
        for first in (0, 4, 8)
        for a in range(first, first + 4)
        for b in range(a + 1, first + 4)
    ]
    passing = [("12", str(turn % 12), 50_000.0 * turn + 20_000, 50_000.0 * turn + 20_010) for turn in range(20)]
    passing += [("13", str(turn % 4), 50_000.0 * turn + 30_000, 50_000.0 * turn + 30_010) for turn in range(0, 20, 3)]
    return Contacts.from_records([*records, *passing, ("12", "13", 1e5 * trace + 4e4, 1e5 * trace + 4e4)])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every study file as it is, on circles of friends: one repetition, and few messages."""
    work = tmp_path_factory.mktemp("studies")
    for number, trace in enumerate(("cambridge", "reality", "geolife")):
        write_contacts(circles(number), work / f"{trace}.parquet")
    for file in sorted(STUDIES.glob("*.toml")):
        text = file.read_text().replace('"traces/', '"')
        text = re.sub(r'"(cambridge|reality|geolife)"', r'"\1.parquet"', text)
        text = text.replace("repetitions = 5", "repetitions = 1")
        text = text.replace('kind = "overlay"', 'kind = "overlay"\nmessages = 40')
        (work / file.name).write_text(text)
        for run in read_study(work / file.name).runs():
            assert do_run(run, work / "results" / file.stem) is None, file.name
    return work / "results"


def test_every_claim_is_judged_by_results(results: Path, tmp_path: Path) -> None:
    claims = {claim.id: claim for claim in RULES.judged(EVALUATION.read(results))}
    assert len(claims) == 32
    assert "not run" not in {claim.verdict for claim in claims.values()}
    assert claims["SO-5"].ours == "of 5 printed numbers 1 within 10 %, 1 within a third"  # 3 communities of 4
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name} -->\nthe last table\n<!-- end of {name} -->\n" for name in SECTIONS))
    replace_sections(page, sections(results))
    text = page.read_text()
    assert "the last table" not in text
    assert text.count("| | loners have none |") == 10
    assert text.count("| | epidemic |") == 9
    assert len(re.findall(r"^\| (?:met|familiar) \|", text, re.MULTILINE)) == 8
    assert len(re.findall(r"^\| (?:online|frozen) \|", text, re.MULTILINE)) == 4
    assert "| Geolife for UCSD | 14 |" in text
    replace_sections(page, sections(results))
    assert page.read_text() == text


def test_stages_are_in_order(results: Path) -> None:
    runs = EVALUATION.read(results)["table-4"]
    served = [each for row in runs.rows for each in stages(tables_of(row))]
    assert served
    assert all(0 <= each.since_handed <= each.since_created for each in served)  # A, then B, then C
    alone, helped = (
        runs.at("delivery_ratio", OVERLAY, default_community=loners, subscriptions=100) for loners in (False, True)
    )
    assert alone.mean < helped.mean  # who has no community is served by the default one only


def test_what_has_not_been_run_is_said_and_is_no_error(results: Path, tmp_path: Path) -> None:
    assert {claim.verdict for claim in RULES.judged({})} == {"not run", "not testable"}
    for stem in ("table-3", "table-2-reality"):
        (tmp_path / stem).symlink_to(results / stem)
    claims = {claim.id: claim.verdict for claim in RULES.judged(EVALUATION.read(tmp_path))}
    judged = {name.partition(",")[0] for name, verdict in claims.items() if verdict != "not run"}
    assert judged == {"Table 2", "Table 3", "SO-2", "SO-4"}
