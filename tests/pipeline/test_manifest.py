"""Every real trace: the counts that another program computed must come out, format by format, guessed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hunet.model.contact_files import read_contacts
from hunet.pipeline.importing import ImportSettings, import_trace
from hunet.pipeline.statistics import trace_statistics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRACES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "infocom05/contacts.Exp3.dat",
        {},
        {"format": "haggle", "nodes": 41, "external": 223, "records": 28216, "used_records": 22459}
        | {"merged_contacts": 17712, "mean_duration": 205.01},
    ),
    (
        "infocom06/infocom2006_day2345.trace",
        {},
        {"format": "durations", "nodes": 78, "records": 106493, "merged_contacts": 92764, "mean_duration": 155.05},
    ),
    (
        "cambridge",
        {"files": "*/*.dat"},
        {"format": "scanner-files", "nodes": 54, "external": 11367, "records": 41587, "used_records": 10873}
        | {"merged_contacts": 7821, "mean_duration": 1135.91},
    ),
    (
        "cambridge/SR-10mins-Students",
        {},
        {"nodes": 36, "used_records": 10641, "merged_contacts": 7592, "mean_duration": 1168.73},
    ),
    (
        "cambridge/students.one.tsv",
        {},
        {"format": "one", "nodes": 36, "records": 10641, "merged_contacts": 7592, "mean_duration": 1168.73},
    ),
    (
        "reality/mit.one.txt.gz",
        {},
        {"nodes": 96, "records": 64184, "merged_contacts": 64175, "mean_duration": 1734.21, "span": 154.55 * 86400},
    ),
    ("reality/rmin.txt.gz", {}, {"format": "pair-hours", "nodes": 96, "records": 76551}),
    (
        "reality/september2004-with-external.txt.gz",
        {"internal": "1-97"},
        {"format": "intervals", "nodes": 95, "external": 2249, "records": 34822}
        | {"merged_contacts": 13281, "mean_duration": 1745.93},
    ),
    (
        "sigcomm09/proximity.internal.arff",
        {},
        {"format": "arff", "nodes": 76, "records": 69186, "merged_contacts": 19010, "mean_duration": 276.5},
    ),
    (
        "sociopatterns/SFHH_tij.dat.gz",
        {},
        {"format": "sociopatterns", "nodes": 403, "records": 70261, "merged_contacts": 26040, "mean_duration": 54.0},
    ),
    (
        "sociopatterns/workplace_InVS_tij.dat.zip",
        {},
        {"nodes": 92, "records": 9827, "merged_contacts": 4592, "mean_duration": 42.8},
    ),
    (
        "sociopatterns/workplace_InVS15_tij.dat.gz",
        {},
        {"nodes": 217, "records": 78249, "merged_contacts": 33751, "mean_duration": 46.4},
    ),
    (
        "sociopatterns/HighSchool2013_proximity_net.csv.gz",
        {},
        {"nodes": 327, "records": 188508, "merged_contacts": 67613, "mean_duration": 55.8},
    ),
    (
        "sociopatterns/co-presence/tij_pres_SFHH.txt.zip",
        {},
        {"format": "sociopatterns-ijt", "nodes": 403, "records": 1417485}
        | {"merged_contacts": 838411, "mean_duration": 33.8},
    ),
    (
        "sociopatterns/co-presence/tij_pres_InVS15.txt.zip",
        {},
        {"nodes": 219, "records": 1283194, "merged_contacts": 489217, "mean_duration": 52.5},
    ),
    (
        "nccu/nccu.dat",
        {},
        {"format": "milliseconds", "nodes": 115, "records": 7673, "merged_contacts": 7673, "mean_duration": 552.26},
    ),
]


QUICK = ("infocom05/contacts.Exp3.dat",)


@pytest.mark.parametrize(
    ("path", "settings", "expected"),
    [pytest.param(*row, id=row[0], marks=() if row[0] in QUICK else pytest.mark.slow) for row in TRACES],
)
def test_counts(
    spark: SparkSession,
    shared: Path,
    tmp_path: Path,
    path: str,
    settings: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    quality = import_trace(spark, shared / "traces" / path, tmp_path / "out", ImportSettings(**settings))
    assert sum(quality["fates"].values()) == quality["records"], "every record has a fate"
    found = trace_statistics(tmp_path / "out")
    digits = {name: len(str(value).partition(".")[2]) for name, value in expected.items()}
    for name, value in expected.items():
        if name == "span":
            assert found[name] / 86400 == pytest.approx(value / 86400, abs=0.005)
        elif isinstance(value, float):
            assert found[name] == pytest.approx(value, abs=0.5 * 10 ** -digits[name] + 1e-9), name
        else:
            assert found[name] == value, name


@pytest.mark.slow
def test_what_is_set_aside_is_kept(spark: SparkSession, shared: Path, tmp_path: Path) -> None:
    """GeoLife is dirty: ends before starts. They are set aside with file and line, or repaired and counted."""
    import pyarrow.parquet as pq

    log = shared / "traces" / "geolife-contacts" / "contacts2008-10.dat"
    aside = import_trace(spark, log, tmp_path / "aside")
    assert (aside["records"], aside["fates"]) == (3728, {"kept": 3205, "reversed": 523})
    rejected = pq.read_table(tmp_path / "aside" / "rejected.parquet").to_pylist()
    lines = log.read_text().splitlines()
    for row in rejected[:50]:
        a, b, start, end = lines[row["line"] - 1].split()
        assert (row["a"], row["b"], row["start"], row["end"]) == (a, b, float(start), float(end))
    assert len(rejected) == 523
    assert {row["reason"] for row in rejected} == {"reversed"}
    mended = import_trace(spark, log, tmp_path / "mended", ImportSettings(reversed="repair"))
    assert (mended["fates"], mended["repaired"], mended["contacts"]) == ({"kept": 3728}, 523, 3025)


@pytest.mark.slow
def test_extended_by_the_scan(spark: SparkSession, shared: Path, tmp_path: Path) -> None:
    """The other programs' connectivity for Cambridge: each sighting lengthened by its 600 s scan."""
    students = shared / "traces" / "cambridge" / "SR-10mins-Students"
    import_trace(spark, students, tmp_path / "out", ImportSettings(extend=600.0))
    ours, theirs = (
        read_contacts(path) for path in (tmp_path / "out", shared / "oracles" / "one-cambridge" / "connectivity.one")
    )
    assert len(ours) == len(theirs) == 5576
    begin = ours.start.min()
    assert [(s - begin, e - begin) for s, e in zip(ours.start, ours.end, strict=True)] == list(
        zip(theirs.start, theirs.end, strict=True)
    )


@pytest.mark.slow
def test_positions_make_the_contacts_that_nccu_published(spark: SparkSession, shared: Path, tmp_path: Path) -> None:
    """Each contact of the first day begins where two positions come to be within a step of each other.

    NCCU's positions are steps of a grid, and its contacts join what is not far apart; its nodes count from 0, those of
    the positions from 2.
    """
    nccu = shared / "traces" / "nccu"
    import_trace(spark, nccu / "day01.csv.gz", tmp_path / "out", ImportSettings(range=1.5))
    ours = read_contacts(tmp_path / "out")
    assert ours.origin == 1418767200
    found = {(int(a) - 2, int(b) - 2, start) for a, b, start, _ in ours.records()}
    published = [tuple(map(int, line.split())) for line in (nccu / "nccu.dat").read_text().splitlines()]
    first_day = {
        (a, b, start / 1000 - ours.origin) for a, b, start, _ in published if start / 1000 < ours.origin + 86400
    }
    assert len(first_day) == 663
    assert first_day <= found


@pytest.mark.slow
def test_rosters(spark: SparkSession, shared: Path) -> None:
    """NUS: the pair contacts that its rosters imply (importing all of them is part of the benchmark)."""
    from pyspark.sql import functions as sf

    from hunet.pipeline.formats import FORMATS
    from hunet.pipeline.formats.format import Reading
    from hunet.pipeline.meetings import check_stays
    from hunet.pipeline.sources import Source, find_files, read_head

    files, _ = find_files(shared / "traces" / "nus")
    head = read_head(files[0])
    assert FORMATS["roster"].recognises(head)
    source = Source(spark, files)
    stays = FORMATS["roster"].parse(source.locate(source.rows()), Reading(head)).transform(check_stays("all", "repair"))
    sizes = stays.where("fate is null").groupBy("place").agg(sf.count("*").alias("many"))
    found = sizes.agg(sf.count("*"), sf.sum(sf.col("many") * (sf.col("many") - 1) / 2)).first()
    assert found is not None
    assert (found[0], int(found[1])) == (4885, 12320946)
    assert stays.select("node").where("node is not null").distinct().count() == 22341
