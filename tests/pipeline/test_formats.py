"""Each format: how it is told from the others, and what becomes of its lines, the bad ones too."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hunet.model import ConfigurationError, InputError
from hunet.model.contact_files import read_contacts
from hunet.pipeline.formats import FORMATS, choose_format, format_named
from hunet.pipeline.formats.format import Reading
from hunet.pipeline.importing import ImportSettings, import_trace
from hunet.pipeline.sources import Source, find_files, read_head

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# For each format: a file's name, its lines, and what they become: (scanner, seen, start, end) or a fate.
SIGHTINGS: dict[str, tuple[str, str, list[Any]]] = {
    "one": (
        "a.one",
        "0 CONN x y up\n5 CONN y x up\n7 CONN x y down\n9 CONN x y down\n9.5 CONN x y down\n"
        "10 CONN x z up\n12 CONN x z",
        [("x", "y", 0.0, 7.0), ("y", "x", 5.0, 9.0), "stray", ("x", "z", 10.0, 10.0), "unreadable"],
    ),
    "haggle": ("contacts.dat", "1 40 21 23 1 0\n1\t2\t3\tx\t1\t0\n", [("1", "40", 21.0, 23.0), "unreadable"]),
    "scanner-files": (
        "17.dat",
        "3 1130493728 1130493730\n4 5\n",
        [("17", "3", 1130493728.0, 1130493730.0), "unreadable"],
    ),
    "intervals": (
        "geo.dat",
        "52 167 30 20\n# a note\n\n1 2 3 4\n",
        [("52", "167", 30.0, 20.0), "comment", "blank", ("1", "2", 3.0, 4.0)],
    ),
    "durations": ("t.trace", "71;36;100;9\n71;36;100;\n", [("71", "36", 100.0, 109.0), "unreadable"]),
    "sociopatterns": ("tij.dat", "20 1 2\n40 1 2 A B\n", [("1", "2", 0.0, 20.0), ("1", "2", 20.0, 40.0)]),
    "sociopatterns-ijt": ("ijt.dat", "1507 1512 31500\n", [("1507", "1512", 31480.0, 31500.0)]),
    "arff": (
        "p.arff",
        "@relation 'x'\n\n@data\n27968,1,26\n27968,1\n",
        ["header", "blank", "header", ("1", "26", 27968.0, 27968.0), "unreadable"],
    ),
    "milliseconds": ("n.dat", "0 53 1418767200000 1418767560500\n", [("0", "53", 1418767200.0, 1418767560.5)]),
    "pair-hours": ("rmin.txt", "17 25 1\n17 26 2\n", [("17", "25", 3600.0, 7200.0), ("17", "26", 7200.0, 10800.0)]),
    "csv": (
        "c.csv",
        'end;b;a;start\n9;"y;1";x;5\n9;y;x\n8;;x;5\n7;y;x;oops\n',
        ["header", ("x", "y;1", 5.0, 9.0), "unreadable", "unreadable", "unreadable"],
    ),
    "encounters": (
        "ann.jsonl",
        '{"device": "ann", "met": "bob", "start": 1.5, "end": 3, "rssi": -70}\n\n'
        '{"device": "ann", "met": "bob", "start": 5}\n{"device": "ann", "met": " ", "start": 5, "end": 6}\n'
        '{"device": "ann", "met": "bob", "start": "5", "end": 6}\n'
        '{"device": "ann", "met": "bob", "start": 5, "end": 1e999}\n{"met"\n[]\n',
        [("ann", "bob", 1.5, 3.0), "blank", *["unreadable"] * 2, ("ann", "bob", 5.0, 6.0), *["unreadable"] * 3],
    ),
}


def parsed(spark: SparkSession, name: str, path: Path) -> DataFrame:
    """The records of a file by a format."""
    files, _ = find_files(path)
    return FORMATS[name].parse(Source(spark, files).rows(by_file=True), Reading(read_head(files[0])))


def test_every_line_has_a_meaning(spark: SparkSession, tmp_path: Path) -> None:
    """All formats in one Spark job."""
    from functools import reduce

    from pyspark.sql import functions as sf

    tables = []
    for name, (file, text, _) in SIGHTINGS.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
        columns = ["row", "scanner", "seen", "start", "end", "fate", "detail"]
        tables.append(parsed(spark, name, tmp_path / file).select(sf.lit(name).alias("name"), *columns))
    rows = reduce(lambda one, two: one.unionByName(two), tables).orderBy("name", "row").collect()
    for name, (_, _, expected) in SIGHTINGS.items():
        found = [
            row["fate"] or (row["scanner"], row["seen"], row["start"], row["end"])
            for row in rows
            if row["name"] == name
        ]
        assert found == expected, name
    for row in rows:
        assert (row["detail"] is not None) == (row["fate"] == "unreadable")


@pytest.mark.parametrize("name", [name for name in SIGHTINGS if name != "one"])
def test_formats_are_recognised(tmp_path: Path, name: str) -> None:
    file, text, expected = SIGHTINGS[name]
    good = [line for line, what in zip(text.splitlines(), expected, strict=False) if what != "unreadable"]
    (tmp_path / file).write_text("\n".join(good) + "\n", encoding="utf-8")
    if name == "intervals":
        (tmp_path / file).write_text("52 167 30 20\n1 2 3 4\n")
    assert choose_format([read_head(find_files(tmp_path / file)[0][0])]).name == name


def test_packed_files_are_opened(spark: SparkSession, tmp_path: Path) -> None:
    text = "\ufeffa,b,start,end\r\nann,bob,0,10\r\nbob,eve,5,9".encode()
    (tmp_path / "plain.csv").write_bytes(text)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(text))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("inside/one.csv", text)
        archive.writestr("inside/two.csv", text)
    files, _ = find_files(tmp_path)
    assert [file.label.removeprefix(str(tmp_path)) for file in files] == [
        "/packed.csv.gz",
        "/packed.zip:inside/one.csv",
        "/packed.zip:inside/two.csv",
        "/plain.csv",
    ]
    quality = import_trace(spark, tmp_path, tmp_path / "out")
    assert (quality["records"], quality["contacts"], quality["fates"]) == (8, 2, {"kept": 2, "duplicate": 6})
    assert list(read_contacts(tmp_path / "out").records()) == [("ann", "bob", 0.0, 10.0), ("bob", "eve", 5.0, 9.0)]


@pytest.mark.parametrize("size", [100, 1000, 1 << 20])
def test_lines_do_not_depend_on_how_spark_cuts_files(spark: SparkSession, tmp_path: Path, size: int) -> None:
    """Files in many blocks, and many files in a task: a row stands in the line in which it stands."""
    logs = {f"{name}.log": [f"{name}{'x' * (number % 37)}{number}" for number in range(150)] for name in "ab"}
    for name, lines in logs.items():
        (tmp_path / name).write_text("\n".join(lines))
    source = Source(spark, find_files(tmp_path)[0])
    spark.conf.set("spark.sql.files.maxPartitionBytes", size)
    spark.conf.set("spark.sql.files.openCostInBytes", 0)
    try:
        rows = source.locate(source.rows()).select("file", "line", "text").collect()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")
    found = sorted((Path(row["file"]).name, row["line"], row["text"]) for row in rows)
    assert found == [(name, number, line) for name in sorted(logs) for number, line in enumerate(logs[name], 1)]


def test_not_utf_8_is_shown_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(b"a,b,start,end\nJos\xe9,bob,0,1\nann,bob,2,3\n")
    import_trace(spark, tmp_path / "log.csv", tmp_path / "out")
    assert read_contacts(tmp_path / "out").names == ("Jos\ufffd", "ann", "bob")


@pytest.mark.slow
def test_associations_meet_at_their_access_point(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "wifi.csv").write_text(
        "user,ap,start,end\n"
        "ann,library,0,50000\nbob,library,100,200\nbob,canteen,200,300\neve,canteen,250,400\n"
        "ann,library,49000,60000\nbob,library,59000,59500\nzoe,roof,0,90\nbad,library,9,1\n"
    )
    quality = import_trace(spark, tmp_path / "wifi.csv", tmp_path / "out")
    assert quality["format"] == "associations"
    assert quality["fates"] == {"kept": 7, "reversed": 1}
    contacts = read_contacts(tmp_path / "out")
    assert list(contacts.records()) == [
        ("ann", "bob", 100.0, 200.0),
        ("bob", "eve", 250.0, 300.0),
        ("ann", "bob", 59000.0, 59500.0),
    ]
    assert contacts.names == ("ann", "bad", "bob", "eve", "zoe"), "who meets nobody is there all the same"


@pytest.mark.slow
def test_positions_meet_within_range(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "walk.txt").write_text(
        "0 3000 0 100 0 100\n"
        "0 1 5 5\n0 2 50 50\n100 2 11 5\n100 2 14 5\n200 2 15.1 5\n1500 2 5 14\n2000 1 90 90\n"
        "x 3 0 0\n0 3 99 99\n3000 3 98 98\n"
    )
    quality = import_trace(spark, tmp_path / "walk.txt", tmp_path / "out", ImportSettings("positions", range=10.0))
    assert quality["fates"] == {"kept": 8, "unreadable": 1, "duplicate": 1}
    assert list(read_contacts(tmp_path / "out").records()) == [
        ("1", "2", 100.0, 200.0),
        ("1", "2", 1500.0, 2000.0),
    ]


@pytest.mark.slow
def test_rosters_put_a_class_together(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "nus.txt").write_text("3 4\n0 7 3 2\n1 2 3\n2 8 2 1\n1 2\n5 9 3 1\n1 2\n")
    quality = import_trace(spark, tmp_path / "nus.txt", tmp_path / "out")
    assert (quality["format"], quality["fates"], quality["meetings"]) == ("roster", {"kept": 2, "unreadable": 1}, 4)
    assert list(read_contacts(tmp_path / "out").records()) == [
        ("1", "2", 0.0, 3 * 3600.0),
        ("1", "3", 0.0, 2 * 3600.0),
        ("2", "3", 0.0, 2 * 3600.0),
    ]


def test_the_logs_of_both_ends_of_an_encounter_make_one_contact(spark: SparkSession, tmp_path: Path) -> None:
    """Each device by its own clock; the log of a third is not there, but it was met."""
    line = '{{"device": "{}", "met": "{}", "start": {}, "end": {}}}\n'.format
    day = 1_700_000_000
    (tmp_path / "ann.jsonl").write_text(line("ann", "bob", day, day + 60.5) + line("ann", "eve", day + 5, day + 9))
    (tmp_path / "bob.jsonl").write_text(
        line("bob", "ann", day + 2, day + 61) + '{"device": "bob", "met":\n' + line("bob", "ann", day + 90, day + 99)
    )
    expected = [("ann", "bob", 0.0, 61.0), ("ann", "eve", 5.0, 9.0), ("ann", "bob", 90.0, 99.0)]
    quality = import_trace(spark, tmp_path, tmp_path / "whole")
    assert (quality["format"], quality["fates"]) == ("encounters", {"kept": 4, "unreadable": 1})
    assert list(read_contacts(tmp_path / "whole").records()) == expected
    # The files one by one, and the bad line is where it was.
    logs = [tmp_path / "bob.jsonl", tmp_path / "ann.jsonl"]
    assert import_trace(spark, logs, tmp_path / "given")["input"] == f"{logs[0]} {logs[1]}"
    assert list(read_contacts(tmp_path / "given").records()) == expected
    rejected = spark.read.parquet(str(tmp_path / "given" / "rejected.parquet")).collect()
    assert [(row["file"], row["line"], row["reason"]) for row in rejected] == [(str(logs[0]), 2, "unreadable")]
    assert rejected[0]["detail"].startswith("is not a JSON object: ")


def test_columns_of_another_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("phone,other,when,length\n1,2,1000,500\n")
    named = {"a": "phone", "b": "other", "start": "when", "duration": "length"}
    settings = ImportSettings(format="csv", columns=named, unit="ms")
    import_trace(spark, tmp_path / "log.csv", tmp_path / "out", settings)
    assert list(read_contacts(tmp_path / "out").records()) == [("1", "2", 1.0, 1.5)]
    with pytest.raises(InputError, match="no column 'a' among phone, other, when, length"):
        import_trace(spark, tmp_path / "log.csv", tmp_path / "other", ImportSettings(format="csv"))


def test_unknown_names() -> None:
    with pytest.raises(ConfigurationError, match="no format 'hagle': did you mean 'haggle'"):
        format_named("hagle")
