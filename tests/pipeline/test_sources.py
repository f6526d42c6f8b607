"""What goes in beside text logs, and from where: URIs that only Spark opens, files with columns, times, conditions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hunet.model import ConfigurationError, InputError, OutputError
from hunet.model.contact_files import read_contacts
from hunet.pipeline.contacts import contacts_of, fates_of
from hunet.pipeline.importing import Import, ImportSettings, import_trace
from hunet.pipeline.sources import find_files
from hunet.pipeline.statistics import trace_statistics
from hunet.pipeline.storage import Storage
from hunet.pipeline.traces import read_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "a,b,start,end\nann,bob,0,600\nbob,ann,500,900\nbob,eve,1000,1200\neve,eve,3,4\nx,y,z,9\n"
CONTACTS = [("ann", "bob", 0.0, 900.0), ("bob", "eve", 1000.0, 1200.0)]


@pytest.mark.slow
def test_a_uri_goes_in_and_a_uri_comes_out(spark: SparkSession, store: str, tmp_path: Path) -> None:
    logs = tmp_path / "store" / "logs"
    logs.mkdir()
    (logs / "one.csv").write_text(LOG)
    (logs / "README").write_text("not a log")
    said = import_trace(spark, f"{store}/logs", f"{store}/trace")
    assert (said["fates"], said["ignored_files"]) == ({"kept": 3, "unreadable": 1, "self": 1}, ["README"])
    contacts = read_trace(f"{store}/trace", spark)
    assert list(contacts.records()) == CONTACTS
    assert contacts.fingerprint == said["fingerprint"]
    rejected = spark.read.parquet(f"{store}/trace/rejected.parquet").orderBy("line").collect()
    assert [(row["file"], row["line"], row["reason"]) for row in rejected] == [
        (f"{store}/logs/one.csv", 5, "self"),
        (f"{store}/logs/one.csv", 6, "unreadable"),
    ]
    assert trace_statistics(f"{store}/trace")["merged_contacts"] == 2
    # The same again is fine; another import and somebody else's folder are not.
    assert import_trace(spark, f"{store}/logs", f"{store}/trace") == said
    with pytest.raises(OutputError, match="holds another import"):
        import_trace(spark, f"{store}/logs", f"{store}/trace", ImportSettings(gap=9.0))
    with pytest.raises(OutputError, match="holds other files"):
        import_trace(spark, f"{store}/logs", f"{store}/logs")
    # What did not come to its end is no trace, and may be done again.
    Storage(spark).write_json(f"{store}/trace/trace.json", {"kind": "import", "state": "incomplete"})
    with pytest.raises(InputError, match="did not come to its end: run it again"):
        read_trace(f"{store}/trace", spark)
    assert import_trace(spark, f"{store}/logs", f"{store}/trace") == said


@pytest.mark.slow
def test_the_same_trace_wherever_it_lies(spark: SparkSession, store: str, tmp_path: Path) -> None:
    """Packed in a zip at a URI, or plain on the disk."""
    with zipfile.ZipFile(tmp_path / "store" / "logs.zip", "w") as archive:
        archive.writestr("inside/one.csv", LOG)
    (tmp_path / "one.csv").write_text(LOG)
    there = import_trace(spark, f"{store}/logs.zip", f"{store}/trace")
    here = import_trace(spark, tmp_path / "one.csv", tmp_path / "trace")
    assert there["fingerprint"] == here["fingerprint"] == read_contacts(tmp_path / "trace").fingerprint
    rejected = spark.read.parquet(f"{store}/trace/rejected.parquet").orderBy("line").collect()
    assert [(row["file"], row["line"]) for row in rejected] == [
        (f"{store}/logs.zip:inside/one.csv", 5),
        (f"{store}/logs.zip:inside/one.csv", 6),
    ]


@pytest.mark.slow
def test_what_spark_cannot_open(spark: SparkSession, store: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        import_trace(spark, f"{store}/nowhere", tmp_path / "out")
    with pytest.raises(InputError, match=r"gopher://host/logs: Spark cannot open it: .*No FileSystem for scheme"):
        import_trace(spark, "gopher://host/logs", tmp_path / "out")
    with pytest.raises(InputError, match="holds no trace"):
        read_trace(f"{store}/nowhere", spark)


@pytest.mark.parametrize("kind", ["parquet", pytest.param("orc", marks=pytest.mark.slow)])
def test_files_with_columns(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Timestamps, other columns, a condition; a row that names nobody is kept with its number."""
    rows = spark.sql(
        "select phone, other, cast(time as timestamp) time, 60 duration, rssi from values "
        "('ann', 'bob', '2026-05-01 10:00:00', -70), ('ann', 'bob', '2026-05-01 10:00:30', -90), "
        "(null, 'eve', '2026-05-01 11:00:00', -50), ('bob', 'eve', '2026-05-01 11:00:00', -60) "
        "as t(phone, other, time, rssi)"
    )
    rows.coalesce(1).write.format(kind).save(str(tmp_path / "in"))
    settings = ImportSettings(columns={"a": "phone", "b": "other"}, where="rssi > -80 or phone is null")
    said = import_trace(spark, tmp_path / "in", tmp_path / "out", settings)
    assert (said["format"], said["fates"]) == (kind, {"kept": 2, "unreadable": 1, "filtered": 1})
    assert said["origin"] == 1777629600.0
    assert list(read_contacts(tmp_path / "out").records()) == [
        ("ann", "bob", 0.0, 60.0),
        ("bob", "eve", 3600.0, 3660.0),
    ]
    (bad,) = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert (bad["line"], bad["reason"]) == (3, "unreadable")
    assert bad["detail"].startswith("'phone' is empty: {")
    assert bad["file"].startswith(str(tmp_path / "in" / "part-"))


def test_a_table_of_the_catalogue(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("select 'ann' a, 'bob' b, 5 start, 9 end union all select 'eve', 'eve', 1, 2").createOrReplaceTempView(
        "met"
    )
    said = import_trace(spark, [], tmp_path / "out", ImportSettings(table="met"))
    assert (said["format"], said["fates"], said["input"]) == ("table", {"kept": 1, "self": 1}, "table met")
    assert pq.read_table(tmp_path / "out" / "rejected.parquet").column("file").to_pylist() == ["met"]
    with pytest.raises(ConfigurationError, match=r"--table nowhere: .*cannot be found"):
        import_trace(spark, [], tmp_path / "other", ImportSettings(table="nowhere"))
    with pytest.raises(ConfigurationError, match="--table stands in place of files"):
        Import([tmp_path], ImportSettings(table="met"))


TIMES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "iso with a zone": ("2026-05-01T12:00:00+02:00", "2026-05-01T12:01:00+02:00", {}),
    "named": ("01/05/2026 10:00", "01/05/2026 10:01", {"time_format": "dd/MM/yyyy HH:mm"}),
    "milliseconds": ("1777629600000", "1777629660000", {"unit": "ms"}),
}


@pytest.mark.parametrize("form", TIMES)
def test_times_in_any_form(spark: SparkSession, tmp_path: Path, form: str) -> None:
    start, end, settings = TIMES[form]
    (tmp_path / "log.csv").write_text(f"a,b,start,end\nann,bob,{start},{end}\nann,bob,{start},soon\n")
    said = import_trace(spark, tmp_path / "log.csv", tmp_path / "out", ImportSettings(**settings))
    assert (said["origin"], said["span"], said["fates"]) == (1777629600.0, [0.0, 60.0], {"kept": 1, "unreadable": 1})


@pytest.mark.slow
def test_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"scanner": "ann", "seen": "bob", "time": "2026-05-01T10:00:00Z", "duration": 30, "rssi": -50},
        {"scanner": "ann", "seen": "bob", "time": "2026-05-01T10:05:00Z", "duration": 30, "rssi": -95},
    ]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + "{broken\n")
    said = import_trace(spark, tmp_path / "log.jsonl", tmp_path / "out", ImportSettings(where="rssi > -80"))
    assert (said["format"], said["fates"]) == ("json", {"kept": 1, "unreadable": 1, "filtered": 1})


def test_names_of_files_stand_for_themselves(spark: SparkSession, tmp_path: Path) -> None:
    """Blanks, brackets and stars are no patterns; a URI may write them as Python does; an empty file says nothing."""
    folder = tmp_path / "a [b] c"
    folder.mkdir()
    (folder / "l*{1} %20.csv").write_text(LOG)
    (folder / "nothing.csv").touch()
    (tmp_path / "a b c").mkdir()
    (tmp_path / "a b c" / "lx{1} %20.csv").write_text(LOG.replace("ann", "zoe"))
    here = import_trace(spark, folder, tmp_path / "tr[ace]")
    there = import_trace(spark, folder.as_uri(), (tmp_path / "again [x]").as_uri())
    assert here["fingerprint"] == there["fingerprint"]
    assert (here["ignored_files"], there["ignored_files"]) == (["nothing.csv"], []), "Spark does not list it"
    assert list(read_contacts(tmp_path / "again [x]").records()) == CONTACTS
    rejected = Storage(spark).read_parquet(tmp_path / "tr[ace]" / "rejected.parquet").collect()
    assert {row["file"] for row in rejected} == {str(folder / "l*{1} %20.csv")}
    assert Storage(spark).files(f"file://{tmp_path}/a*c/lx*") == [
        (f"file:{tmp_path}/a b c/lx{{1}} %20.csv", len(LOG)),
    ]


def test_a_trace_beside_its_logs_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(LOG)
    (tmp_path / "out" / "nodes.parquet").mkdir(parents=True)
    (tmp_path / "out" / "trace.json").write_text("{}")
    (tmp_path / "out" / "nodes.parquet" / "part-0.parquet").write_bytes(b"PAR1")
    assert [log.given for log in find_files(tmp_path)[0]] == [str(tmp_path / "one.csv")]


def test_a_zip_of_a_desktop(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for name in ("logs/one.csv", "__MACOSX/logs/._one.csv", "logs/.DS_Store"):
            archive.writestr(name, LOG)
    assert [log.member for log in find_files(tmp_path / "logs.zip")[0]] == ["logs/one.csv"]


def test_a_key_that_the_first_file_lacks(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "1.json").write_text('{"a": 1, "b": 2, "start": 0}\n')
    (tmp_path / "logs" / "2.json").write_text('{"a": 1, "b": 3, "start": 0, "end": 60}\n')
    said = import_trace(spark, tmp_path / "logs", tmp_path / "trace")
    assert said["fates"] == {"kept": 1, "unreadable": 1}, "one has no end"
    assert list(read_contacts(tmp_path / "trace").records()) == [("1", "3", 0.0, 60.0)]


def test_a_csv_without_a_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("7,ann,bob,-60\n9,bob,ann,-99\n")
    schema = "start double, a string, b string, rssi double"
    settings = ImportSettings(format="csv", schema=schema, where="rssi > -80")
    said = import_trace(spark, tmp_path / "log.csv", tmp_path / "out", settings)
    assert (said["span"], said["fates"]) == ([7.0, 7.0], {"kept": 1, "filtered": 1})


def test_conditions_that_make_no_sense(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    for where, problem in (("rsi > 5", r"--where rsi > 5: .*rsi"), ("a >", r"--where a >: .*[Ss]yntax")):
        with pytest.raises(ConfigurationError, match=problem):
            import_trace(spark, tmp_path / "log.csv", tmp_path / "out", ImportSettings(where=where))
    (tmp_path / "log.dat").write_text("1 2 100 200 1 0\n")
    with pytest.raises(ConfigurationError, match="--where is for inputs whose columns have names"):
        Import([tmp_path / "log.dat"], ImportSettings(where="a > 5"))
    with pytest.raises(ConfigurationError, match="--unit is for times that are numbers"):
        Import([tmp_path / "log.csv"], ImportSettings(unit="ms", time_format="iso"))


def test_everything_is_checked_before_java_starts(tmp_path: Path) -> None:
    """Without a session: paths, formats, options, and the folder for the results."""
    with pytest.raises(InputError, match="no such file or folder"):
        Import([tmp_path / "nowhere"], ImportSettings())
    (tmp_path / "log.csv").write_text(LOG)
    with pytest.raises(ConfigurationError, match="unit 'weeks'"):
        Import([tmp_path / "log.csv"], ImportSettings(unit="weeks"))
    with pytest.raises(OutputError, match="holds other files"):
        Import([tmp_path / "log.csv"], ImportSettings()).check(tmp_path)
    with pytest.raises(ConfigurationError, match="nothing to import"):
        Import([], ImportSettings())


@pytest.mark.slow
def test_one_file_for_who_wants_one(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    many = import_trace(spark, tmp_path / "log.csv", tmp_path / "many")
    one = import_trace(spark, tmp_path / "log.csv", tmp_path / "one", ImportSettings(single_file=True))
    assert {path.name: path.is_file() for path in (tmp_path / "one").iterdir()} == {
        "contacts.parquet": True,
        "nodes.parquet": True,
        "rejected.parquet": True,
        "trace.json": True,
    }
    assert (tmp_path / "many" / "contacts.parquet").is_dir()
    assert one["fingerprint"] == many["fingerprint"] == read_contacts(tmp_path / "one").fingerprint


@pytest.mark.slow
def test_in_somebodys_own_session(spark: SparkSession) -> None:
    """The stage without files and without a command."""
    rows = [
        ("ann", "bob", 0, 10),
        ("bob", "ann", 12, 20),
        ("bob", "ann", 12, 20),
        ("eve", "eve", 1, 2),
        (None, "x", 1, 2),
    ]
    sightings = spark.createDataFrame(rows, "a string, b string, start int, end int")
    contacts = contacts_of(sightings, gap=5.0, extend=1.0)
    assert [tuple(row) for row in contacts.collect()] == [("ann", "bob", 0.0, 21.0)]
    fates = sorted((row["fate"], row["b"]) for row in fates_of(sightings, gap=5.0).collect())
    assert fates == [("duplicate", "bob"), ("self", "eve"), ("unreadable", "x")]
    assert contacts_of(sightings.select("a", "b", "start")).count() == 2, "instants"


def test_a_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    """It tells rows, names and span apart, and nothing else; the vector is what Spark's own functions give."""
    from hunet.model import Contacts

    one = Contacts.from_records([("ann", "bob", 0, 10), ("bob", "eve", 5, 6.5)])
    other = Contacts.from_records([("eve", "bob", 5, 6.5), ("bob", "ann", 0, 10)])
    assert one.fingerprint == other.fingerprint
    changed = [
        Contacts.from_records([("ann", "bob", 0, 10), ("bob", "eve", 5, 6.25)]),
        Contacts.from_records([("ann", "bob", 0, 10), ("bob", "eva", 5, 6.5)]),
        Contacts.from_arrays(["ann", "bob", "eve", "zoe"], one.a, one.b, one.start, one.end),
        Contacts.from_arrays(one.names, one.a, one.b, one.start, one.end, span=(0, 11)),
    ]
    assert len({one.fingerprint, *(each.fingerprint for each in changed)}) == 5
    table = pa.table({"a": ["ann", "bob"], "b": ["bob", "eve"], "start": [0.0, 5.0], "end": [10.0, 6.5]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_contacts(tmp_path / "t.parquet").fingerprint == one.fingerprint
