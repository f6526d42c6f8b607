"""Bad input: one clear line that names the file, the line and the remedy; a non-zero exit; nothing overwritten."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.usefixtures("spark")  # the session that the command finds running


def test_a_good_import(hunet: Any, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b,start,end\nann,bob,0,10\nbob,ann,10,20\nann,ann,1,2\n")
    answer = hunet("trace", "import", tmp_path / "log.csv", "-o", tmp_path / "out")
    assert (answer.status, answer.err) == (0, "")
    assert "2 nodes, 1 contacts of 20.00 s on average, from 3 records (csv: 2 kept, 1 self)" in answer.out
    figures = json.loads(hunet("trace", "stats", tmp_path / "out", "--json").out)
    assert (figures["nodes"], figures["records"], figures["merged_contacts"]) == (2, 3, 1)
    assert (figures["mean_duration"], figures["span"]) == (20.0, 20.0)
    assert "merged contacts    1" in hunet("trace", "stats", tmp_path / "out").out
    # The same again is fine, another import is not.
    assert hunet("trace", "import", tmp_path / "log.csv", "-o", tmp_path / "out").status == 0
    other = hunet("trace", "import", tmp_path / "log.csv", "-o", tmp_path / "out", "--gap", 5)
    assert other.status == 1
    assert "holds another import" in other.err


@pytest.mark.slow
def test_stages_after_a_good_import(hunet: Any, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b,start,end\nann,bob,0,10\nbob,ann,10,20\nann,ann,1,2\n")
    assert hunet("trace", "import", tmp_path / "log.csv", "-o", tmp_path / "out").status == 0
    for command in ("pairs", "graph"):
        answer = hunet("trace", command, tmp_path / "out", "-o", tmp_path / command)
        assert (answer.status, answer.err) == (0, ""), command
        assert hunet("trace", command, tmp_path / "out", "-o", tmp_path / "out").status == 1


def test_lists(hunet: Any) -> None:
    names = [row["name"] for row in json.loads(hunet("trace", "formats", "--json").out)]
    assert {"one", "haggle", "scanner-files", "arff", "positions", "encounters"} <= set(names)
    assert "haggle" in hunet("trace", "formats").out
    assert set(json.loads(hunet("trace", "tables", "--json").out)["contacts"]) == {"a", "b", "start", "end"}
    assert "merged" not in hunet("trace", "tables").err


GOOD = "1 2 100 200 1 0\n"
CASES: dict[str, tuple[dict[str, bytes], list[str], str]] = {
    "missing": ({}, ["nowhere"], "nowhere: no such file or folder"),
    "unknown format": (
        {"log": b"what is this\n"},
        ["log"],
        "log, line 1: looks like none of the known formats: found 'what is this'",
    ),
    "wrong format": (
        {"log": GOOD.encode()},
        ["log", "--format", "one"],
        "log, line 1: is not in the format 'one': expected a line such as '1.0 CONN n27 n37 up', found '1 2 100 200",
    ),
    "wrong further down": (
        {"log": GOOD.encode() * 300 + b"what?\n" * 900},
        ["log", "--format", "haggle"],
        "log, line 301: is not in the format 'haggle' (900 of 1200 records cannot be read)",
    ),
    "mixed": (
        {"logs/a.dat": GOOD.encode(), "logs/b.one": b"0 CONN a b up\n"},
        ["logs"],
        "b.one: looks like 'one', and",
    ),
    "binary": ({"log": bytes(range(256))}, ["log"], "is a binary file"),
    "empty": ({"log": b"\n\n"}, ["log"], "log: is empty"),
    "cut short": ({"log.gz": gzip.compress(GOOD.encode() * 5000)[:60]}, ["log.gz"], "is damaged or cut short"),
    "cut short further down": (
        {
            "log.gz": gzip.compress("".join(f"{n} 2 {n * 7919} {n * 7919 + 9} 1 0\n" for n in range(50000)).encode())[
                :-9
            ]
        },
        ["log.gz"],
        "log.gz: is damaged or cut short",
    ),
    "missing column": (
        {"log.csv": b"a,c,start\n1,2,3\n"},
        ["log.csv", "--format", "csv"],
        "log.csv, line 1: no column 'b' among a, c, start",
    ),
    "columns of one name": (
        {"log.csv": b"a,b,start,end,A\n1,2,3,4,5\n"},
        ["log.csv"],
        "log.csv, line 1: has two columns 'a' (case does not count): rename one of them",
    ),
    "a column for two": (
        {"log.csv": b"a,b,start,end\n1,2,3,4\n"},
        ["log.csv", "--column", "a=b"],
        "log.csv: column 'b' cannot be both 'a' and 'b'",
    ),
    "our own column": ({"log.csv": b"a,b,start,_line\n1,2,3,4\n"}, ["log.csv"], "line 1: has a column '_line', a name"),
    "columns in another order": (
        {"logs/a.csv": b"a,b,start,end\n1,2,3,4\n", "logs/b.csv": b"a,b,end,start\n1,2,9,8\n"},
        ["logs"],
        "b.csv, line 1: has the columns a, b, end, start, and logs/a.csv has a, b, start, end: import files of one "
        "header at a time",
    ),
    "a condition on no column": (
        {"log.csv": b"a,b,start,end\n1,2,3,4\n"},
        ["log.csv", "--where", "rssi > 3"],
        "--where rssi > 3: [UNRESOLVED_COLUMN",
    ),
    "nothing left": (
        {"log.csv": b"a,b,start\n1,1,3\n"},
        ["log.csv"],
        "no record is left to make contacts of: 1 header, 1 self",
    ),
    "no files": ({"logs/a.dat": b"x"}, ["logs", "--files", "*.csv"], "no files match '*.csv'"),
    "wrong rule": (
        {"log": GOOD.encode()},
        ["log", "--internal", "me"],
        "internal 'me': write all, scanners, or numbers",
    ),
    "wrong unit": ({"log": GOOD.encode()}, ["log", "--unit", "weeks"], "unit 'weeks': write one of s, ms"),
    "no number as gap": ({"log": GOOD.encode()}, ["log", "--gap", "nan"], "give 0 or more seconds"),
    "wrong gap": ({"log": GOOD.encode()}, ["log", "--gap", "-1"], "give 0 or more seconds"),
    "late origin": ({"log": b"1 2 3 4\n"}, ["log", "--origin", "99"], "origin 99 is after the first contact (3)"),
}


LARGE = ("cut short further down",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in CASES]
)
def test_one_clear_line(hunet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    files, words, problem = CASES[name]
    monkeypatch.chdir(tmp_path)
    for path, content in files.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(content)
    answer = hunet("trace", "import", *words, "-o", "out")
    assert answer.status == 1
    assert problem in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert not Path("out").exists()
    assert {str(path) for path in Path().rglob("*") if path.is_file()} == set(files), "nothing else was left"


def test_parquet_that_spark_does_not_read(hunet: Any, tmp_path: Path) -> None:
    moment = pa.array([1_000_000_000], pa.timestamp("ns"))
    pq.write_table(pa.table({"a": ["x"], "b": ["y"], "start": moment}), tmp_path / "log.parquet")
    nanoseconds = hunet("trace", "import", tmp_path / "log.parquet", "-o", tmp_path / "out")
    assert "column 'start' has times in nanoseconds, which Spark does not read: write microsec" in nanoseconds.err
    (tmp_path / "logs").mkdir()
    for name, kind in (("a", pa.int32()), ("b", pa.int64())):
        whole = pa.array([1], kind)
        table = pa.table({"a": whole, "b": pa.array([2], kind), "start": [0.0]})
        pq.write_table(table, tmp_path / "logs" / f"{name}.parquet")
    types = hunet("trace", "import", tmp_path / "logs", "-o", tmp_path / "out")
    assert re.search(r"logs/b\.parquet: column '[ab]' has another type than in the first file", types.err)
    assert len(types.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_times_in_the_wrong_unit_are_warned_of(hunet: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("1 2 1418767200000 1418767560000\n3 4 1418767200000 1418767560000\n")
    answer = hunet("trace", "import", tmp_path / "log", "--format", "intervals", "-o", tmp_path / "out")
    assert answer.status == 0
    assert (
        "warning: times up to 1418767560000 would be the year 46928 in seconds, and 2014 in milliseconds" in answer.err
    )
    right = hunet(
        "trace", "import", tmp_path / "log", "--format", "intervals", "--unit", "ms", "-o", tmp_path / "right"
    )
    assert right.err == ""
    (tmp_path / "log").write_text("1 2 1418767200 1418767560\n")
    small = hunet("trace", "import", tmp_path / "log", "--format", "milliseconds", "-o", tmp_path / "small")
    assert "would be in January 1970 in milliseconds" in small.err


def test_folders_of_others_are_left_alone(hunet: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(GOOD)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    answer = hunet("trace", "import", tmp_path / "log", "-o", tmp_path / "mine")
    assert "holds other files" in answer.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    answer = hunet("trace", "import", tmp_path / "log", "-o", tmp_path / "log")
    assert "is a file" in answer.err


def test_offsets_are_read_from_a_file(hunet: Any, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b,start,end\nann,bob,100,200\n")
    (tmp_path / "clocks.csv").write_text("scanner,offset\nann,-50\n")
    words = (
        "trace",
        "import",
        tmp_path / "log.csv",
        "-o",
        tmp_path / "out",
        "--offsets",
        tmp_path / "clocks.csv",
        "--json",
    )
    assert json.loads(hunet(*words).out)["span"] == [50.0, 150.0]
    (tmp_path / "clocks.csv").write_text("scanner,offset\nann,fast\n")
    assert "clocks.csv, line 2: offset must be a number, not 'fast'" in hunet(*words).err
    (tmp_path / "clocks.csv").write_text("who,offset\n")
    assert "must name the columns scanner and offset" in hunet(*words).err


def test_a_study_that_fails_says_so(hunet: Any, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        "[workload]\ninterests = 20\n[[world]]\nname = 'waypoint'\nnodes = 5\nduration = 60\n"
    )
    answer = hunet("study", tmp_path / "study.toml", "-o", tmp_path / "out")
    assert answer.status == 1
    assert "1 failed" in answer.out
    assert "interests (20) cannot exceed topics (10)" in answer.err
