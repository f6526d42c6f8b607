"""Contact tables as files: what is written is read back, and what is wrong is named with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, HunetError, read_contacts, write_contacts

FORMATS = ["parquet", "csv", "csv.gz", "one", "one.gz"]
TIMES = st.floats(0, 1e9, allow_nan=False) | st.integers(0, 100).map(float)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["1", "02", "ann", "ä,ö", 'say"so', "n\tb"]),
        st.sampled_from(["x", "y y"]),
        TIMES,
        st.floats(0, 1e3),
    ),
    min_size=1,
    max_size=20,
)


@given(RECORDS, st.sampled_from(["parquet", "csv", "csv.gz"]))
def test_any_names_and_times_come_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str, float, float]], kind: str
) -> None:
    contacts = Contacts.from_records((a, b, start, start + length) for a, b, start, length in records)
    path = tmp_path_factory.mktemp("files") / f"contacts.{kind}"
    write_contacts(contacts, path)
    back = read_contacts(path)
    assert list(back.records()) == list(contacts.records())
    assert back.names == contacts.names


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_contacts_give_the_same_bytes(tmp_path: Path, kind: str) -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10.25), ("b", "c", 5, 5), ("a", "b", 20, 30)])
    for folder in ("one", "two"):
        write_contacts(contacts, tmp_path / folder / f"contacts.{kind}")
    one, two = ((tmp_path / folder / f"contacts.{kind}").read_bytes() for folder in ("one", "two"))
    assert one == two
    assert read_contacts(tmp_path / "one" / f"contacts.{kind}").fingerprint == contacts.fingerprint


def test_parquet_keeps_what_no_row_says(tmp_path: Path) -> None:
    contacts = Contacts.from_arrays(
        ["a", "b", "hermit"], [0], [1], [5], [6], span=(0, 100), origin=1.1e9, metadata={"world": "tiny", "seed": 3}
    )
    write_contacts(contacts, tmp_path / "c.parquet")
    back = read_contacts(tmp_path / "c.parquet")
    assert (back.names, back.span, back.origin) == (("a", "b", "hermit"), (0, 100), 1.1e9)
    assert back.metadata == {"world": "tiny", "seed": 3}


def test_a_folder_of_an_import_is_read_by_its_contacts(tmp_path: Path) -> None:
    contacts = Contacts.from_records([("a", "b", 0, 10)])
    write_contacts(contacts, tmp_path / "contacts.parquet")
    assert read_contacts(tmp_path).fingerprint == contacts.fingerprint


def test_foreign_parquet_with_numbers_as_names(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 10], "b": [2, 2], "start": [0, 5], "end": np.array([3, 9], np.int32)})
    pq.write_table(table, tmp_path / "c.parquet")
    assert list(read_contacts(tmp_path / "c.parquet").records()) == [("1", "2", 0, 3), ("2", "10", 5, 9)]


def test_csv_columns_in_any_order_and_other_separators(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("start;a;note;end;b\n0;x;hello;5;y\n\n7;y;;9;x\n")
    assert list(read_contacts(tmp_path / "c.csv").records()) == [("x", "y", 0, 5), ("x", "y", 7, 9)]


def test_the_ones_events_of_both_ends_are_one_contact(tmp_path: Path) -> None:
    lines = ["0 CONN 2 10 up", "1\tCONN\t10\t2\tUP", "3 CONN 2 10 down wifi", "5 CONN 10 2 down", "5 CONN 2 10 up"]
    (tmp_path / "c.one").write_text("\n".join(lines) + "\n9 CONN 2 3 up\n9 CONN 2 3 down\n")
    contacts = read_contacts(tmp_path / "c.one")
    assert list(contacts.records()) == [("2", "10", 0, 9), ("2", "3", 9, 9)]  # what is open at the end ends there


BAD = [
    ("c.csv", "a,b,start,end\nx,y,0,1\nx,y,9,5\n", "line 3: the contact ends before it starts (x, y, 9, 5)"),
    ("c.csv", "a,b,start,end\nx,x,0,1\n", "line 2: a node is in contact with itself"),
    ("c.csv", "a,b,start,end\n\nx,y,-5,1\n", "line 3: the contact starts at a negative time"),
    ("c.csv", "a,b,start,end\nx,y,soon,1\n", "line 2: 'start' must be a number, not 'soon'"),
    ("c.csv", "a,b,start,end\nx,y,0,1\nx,y,0\n", "line 3: 3 values where the header names 4 columns"),
    ("c.csv", "a,b,begin,end\nx,y,0,1\n", "line 1: not a contact table: expected a header naming a, b, start, end"),
    ("c.csv", "a,b,start,end\n", "holds no contacts"),
    ("c.csv", "", "is empty"),
    ("c.csv", "a,b,start,end\nx,y,,1\n", "line 2: 'start' must be a number, not ''"),
    ("c.one", "0 CONN a b up\n1 CONN a\n", "line 2: expected 'time CONN a b up|down', found '1 CONN a'"),
    ("c.one", "0 CONN a b up\nx CONN a b down\n", "line 2: the time must be a number"),
    ("c.one", "0 CONN a b up\n5 CONN c d down\n", "line 2: c and d go down without having gone up"),
    ("c.one", "0 CONN a a up\n", "line 1: a node is in contact with itself"),
    ("c.one", "-4 CONN a b up\n", "line 1: the time must not be negative"),
]


@pytest.mark.parametrize(("name", "content", "problem"), BAD)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(HunetError) as error:
        read_contacts(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_not_what_they_seem(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b,start,end\n" + b"x,y,0,1\n" * 1000)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "noise.csv").write_bytes(bytes(range(128, 256)))
    (tmp_path / "fake.parquet").write_text("a,b,start,end")
    pq.write_table(pa.table({"a": ["x"], "b": ["y"], "begin": [0]}), tmp_path / "other.parquet")
    pq.write_table(pa.table({"a": ["x"], "b": ["y"], "start": [3.0], "end": [1.0]}), tmp_path / "dirty.parquet")
    for name, problem in {
        "missing.csv": "no such file",
        "cut.csv.gz": "cut short",
        "noise.csv": "neither text nor Parquet",
        "fake.parquet": "not a readable Parquet file",
        "other.parquet": "no column 'start'",
        "dirty.parquet": "row 1: the contact ends before it starts",
    }.items():
        with pytest.raises(HunetError, match=problem):
            read_contacts(tmp_path / name)


def test_what_a_format_cannot_hold_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    contacts = Contacts.from_records([("ann b", "c", 0, 1)])
    for name, problem in {
        "c.one": "cannot hold the node name 'ann b'",
        "c.xlsx": "name it .parquet, .csv or .one",
    }.items():
        with pytest.raises(HunetError, match=problem):
            write_contacts(contacts, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
