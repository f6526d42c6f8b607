"""The contact stage against a plain-Python reference, on random dirty logs; many logs in one Spark job."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hunet.model.contact_files import read_contacts
from hunet.model.contacts import natural_order
from hunet.pipeline.importing import ImportSettings, import_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Row(NamedTuple):
    scanner: str
    seen: str
    start: str
    end: str


# Few nodes and few instants: rows meet, touch, repeat and contradict each other.
times = st.one_of(st.integers(-2, 40).map(str), st.sampled_from(["7.5", "0.1", "12.25", "nan", "x", "", "1e3"]))
nodes = st.sampled_from(["1", "2", "3", "10", "b"])
rows = st.builds(Row, nodes, nodes, times, times)
logs = st.lists(st.lists(rows, max_size=14), min_size=40, max_size=60)


def reference(
    log: list[Row], *, repair: bool, gap: float, extend: float, scanners_only: bool
) -> tuple[Counter[str], list[tuple[str, str, float, float]]]:
    """What shall become of a log, row by row."""
    fates: Counter[str] = Counter()
    readable = []
    for row in log:
        try:
            start, end = float(row.start), float(row.end)
        except ValueError:
            fates["unreadable"] += 1
            continue
        if start != start or end != end:
            fates["unreadable"] += 1
        elif min(start, end) < 0:
            fates["negative-time"] += 1
        elif end < start and not repair:
            fates["reversed"] += 1
        elif row.scanner == row.seen:
            fates["self"] += 1
        else:
            readable.append((row.scanner, row.seen, min(start, end), max(start, end) + extend))
    scanners = {row[0] for row in readable}
    seen: set[tuple[str, str, float, float]] = set()
    pairs = defaultdict(list)
    for scanner, other, start, end in readable:
        if scanners_only and other not in scanners:
            fates["external"] += 1
            continue
        fates["duplicate" if (scanner, other, start, end) in seen else "kept"] += 1
        seen.add((scanner, other, start, end))
        a, b = sorted((scanner, other), key=natural_order)
        pairs[a, b].append((start, end))
    contacts = []
    for (a, b), intervals in pairs.items():
        ordered = sorted(intervals)
        since, until = ordered[0]
        for start, end in ordered[1:]:
            if start - until <= gap:
                until = max(until, end)
            else:
                contacts.append((a, b, since, until))
                since, until = start, end
        contacts.append((a, b, since, until))
    return fates, sorted(contacts)


def good_rows(many: int) -> list[Row]:
    """Rows with nothing wrong, far from all others: a log of which most is unreadable is refused."""
    return [Row("1", "2", f"{5000 + 10 * i}", f"{5001 + 10 * i}") for i in range(many)]


@given(logs, st.booleans(), st.sampled_from([0.0, 1.0, 5.5]), st.sampled_from([0.0, 2.0]), st.booleans())
@settings(max_examples=3, phases=[Phase.generate])  # an example takes seconds: none is made smaller
def test_contacts_are_those_of_the_reference(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    logs: list[list[Row]],
    repair: bool,
    gap: float,
    extend: float,
    scanners_only: bool,
) -> None:
    """Rows of different logs never meet, because a log's nodes carry its number."""
    folder = tmp_path_factory.mktemp("logs")
    lines, expected_fates, expected = ["a,b,start,end"], Counter[str](), []
    for number, log in enumerate(logs):
        whole = [*log, *good_rows(len(log) + 1)]
        lines += [f"{number}_{row.scanner},{number}_{row.seen},{row.start},{row.end}" for row in whole]
        fates, contacts = reference(whole, repair=repair, gap=gap, extend=extend, scanners_only=scanners_only)
        expected_fates += fates
        expected += [(f"{number}_{a}", f"{number}_{b}", start, end) for a, b, start, end in contacts]
    (folder / "log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chosen = ImportSettings(
        format="csv",
        reversed="repair" if repair else "set-aside",
        gap=gap,
        extend=extend,
        internal="scanners" if scanners_only else "all",
    )
    quality = import_trace(spark, folder / "log.csv", folder / "out", chosen)
    assert quality["fates"] == dict(expected_fates)
    table = pq.read_table(folder / "out" / "contacts.parquet").to_pydict()
    found = list(zip(table["a"], table["b"], table["start"], table["end"], strict=True))
    assert sorted(found) == sorted(expected)
    assert found == sorted(found, key=lambda row: (row[2], row[0], row[1])), "in order of time"
    reasons = Counter(pq.read_table(folder / "out" / "rejected.parquet").column("reason").to_pylist())
    assert reasons == Counter({fate: count for fate, count in expected_fates.items() if fate != "kept"})
    assert len(read_contacts(folder / "out")) == len(expected)


def test_pairs_are_in_order(spark: SparkSession, tmp_path: Path) -> None:
    """As in memory: numbers by value, also within names, and before letters."""
    log = tmp_path / "log.csv"
    log.write_text("a,b,start,end\n10,9,0,1\nx,10,2,3\nzoe,ann,4,5\nn10,n9,6,7\n07,7,8,9\n")
    import_trace(spark, log, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "contacts.parquet").to_pydict()
    assert list(zip(table["a"], table["b"], strict=True)) == [
        ("9", "10"),
        ("10", "x"),
        ("ann", "zoe"),
        ("n9", "n10"),
        ("07", "7"),
    ]


def test_clocks_are_corrected(spark: SparkSession, tmp_path: Path) -> None:
    """Two logs of one meeting, an hour apart: with the second clock put right they are one contact."""
    log = tmp_path / "log.csv"
    log.write_text("a,b,start,end\nann,bob,100,200\nbob,ann,3750,3800\n")
    import_trace(spark, log, tmp_path / "out", ImportSettings(offsets={"bob": -3600.0}))
    assert list(read_contacts(tmp_path / "out").records()) == [("ann", "bob", 100.0, 200.0)]


@pytest.mark.slow
def test_nothing_depends_on_partitions(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tables and the same fingerprint from one task or many, and that of the table in memory."""
    log = tmp_path / "log.csv"
    body = "\n".join(f"n{i % 7},n{(i * 3 + 1) % 11},{i * 1.1:.3f},{i * 1.1 + 0.7:.3f}" for i in range(500))
    log.write_text("a,b,start,end\n" + body + "\n")
    made = []
    for partitions in ("1", "5"):
        monkeypatch.setattr("hunet.pipeline.importing.BYTES_PER_PART", -(-log.stat().st_size // int(partitions)))
        monkeypatch.setattr("hunet.pipeline.storage.ROWS_PER_FILE", 500 // int(partitions))
        import_trace(spark, log, tmp_path / partitions)
        assert len(list((tmp_path / partitions / "contacts.parquet").glob("*.parquet"))) == int(partitions)
        said = json.loads((tmp_path / partitions / "trace.json").read_text("utf-8"))
        tables = [
            pq.read_table(tmp_path / partitions / f"{name}.parquet") for name in ("contacts", "nodes", "rejected")
        ]
        made.append((said, tables))
    assert made[0] == made[1]
    assert made[0][0]["fingerprint"] == read_contacts(tmp_path / "1").fingerprint
