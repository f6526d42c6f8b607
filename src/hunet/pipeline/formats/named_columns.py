"""Inputs whose columns have names: CSV with a header, JSON lines, Parquet, ORC, tables of a catalogue.

Columns may stand in any order and others may be there. A file's own names are given as ``a=NAME`` and so on. Times are
numbers, timestamps, or text in a form that the user names; text that looks like ISO 8601 is taken as such.
"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.errors import ConfigurationError, InputError, did_you_mean
from hunet.pipeline.formats.format import Format, Reading, number_in, unreadable
from hunet.pipeline.storage import is_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from hunet.pipeline.sources import Head

_SYNONYMS = {
    "a": ("a", "scanner", "seer", "node1", "id1", "source", "i", "user_id"),
    "b": ("b", "seen", "node2", "id2", "target", "j", "seen_user_id"),
    "node": ("node", "user", "device", "client", "mac", "station"),
    "place": ("place", "ap", "access_point", "accesspoint", "bssid", "room"),
    "start": ("start", "begin", "from", "start_time", "time", "t", "timestamp"),
    "end": ("end", "stop", "until", "to", "end_time"),
    "duration": ("duration", "length"),
}
_CONTACT, _STAY = ("a", "b", "start"), ("node", "place", "start")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?")


class _Header(NamedTuple):
    """The names of an input's columns, and their types in SQL where they are known."""

    names: list[str]
    types: dict[str, str]
    example: dict[str, str]
    """A value of each, where the beginning of a text shows one."""
    written: bool = True
    """Whether all values are text."""

    def find(self, wanted: str, columns: dict[str, str]) -> str | None:
        """A column by the name that the user gave, or by one that everybody uses."""
        for name in (columns[wanted],) if wanted in columns else _SYNONYMS[wanted]:
            for found in self.names:
                if found.lower() == name.lower():
                    return found
        return None


def _places(header: _Header, wanted: tuple[str, ...], reading: Reading) -> dict[str, str]:
    """Our name of each column to the input's."""
    columns, label = reading.columns, reading.head.file.label
    for given in columns:
        if given not in (*wanted, "end", "duration"):
            raise InputError(label, f"no use for a column '{given}': {did_you_mean(given, (*wanted, 'end'))}")
    places: dict[str, str] = {}
    for name in wanted:
        found = header.find(name, columns)
        if found is None:
            raise InputError(
                label,
                f"no column '{columns.get(name, name)}' among {', '.join(header.names)[:200]}: "
                f"name it with --column {name}=ITS-NAME",
                reading.head.lines[0][0] if reading.head.lines else None,
            )
        other = next((ours for ours, theirs in places.items() if theirs == found), None)
        if other is not None:
            raise InputError(label, f"column '{found}' cannot be both '{other}' and '{name}': name two with --column")
        places[name] = found
    for name in ("end", "duration"):
        found = header.find(name, columns)
        if found is not None and found not in places.values():
            places[name] = found
            break
        if name in columns:
            raise InputError(label, f"no column '{columns[name]}' among {', '.join(header.names)[:200]}", 1)
    return places


def _check(wanted: tuple[str, ...]) -> Callable[[Sequence[Head], Reading], None]:
    """Columns that cannot be told apart or are missing, and files whose columns differ, are told before Spark starts.

    Files at a URI are looked into by Spark alone, and of many of them some; tables are known to Spark alone.
    """

    def check(heads: Sequence[Head], reading: Reading) -> None:
        kind = heads[0].file.packing
        if kind in ("orc", "table") or (kind == "parquet" and is_uri(heads[0].file.where)):
            return
        headers = [_header(head, reading) for head in heads]
        for head, header in zip(heads, headers, strict=True):
            label, line = head.file.label, head.lines[0][0] if head.lines else None
            folded = [name.lower() for name in header.names]
            twice = next((name for name in header.names if folded.count(name.lower()) > 1), None)
            if twice is not None:
                raise InputError(label, f"has two columns '{twice}' (case does not count): rename one of them", line)
            if "_line" in folded:
                raise InputError(label, "has a column '_line', a name that is used here: rename it", line)
            if kind != "parquet" and header.names != headers[0].names and not _is_json(head):
                raise InputError(
                    label,
                    f"has the columns {', '.join(header.names)[:200]}, and {heads[0].file.label} has "
                    f"{', '.join(headers[0].names)[:200]}: import files of one header at a time (--files PATTERN)",
                    line,
                )
        whole = _json_header(reading.head, reading.schema) if _is_json(heads[0]) else headers[0]
        _places(whole, wanted, reading)

    return check


def _is_json(head: Head) -> bool:
    return bool(head.lines) and head.lines[0][1].startswith("{")


def _header(head: Head, reading: Reading) -> _Header:
    """The columns of a file from its beginning."""
    if head.file.packing == "parquet":
        return _parquet_header(head)
    return (_json_header if _is_json(head) else _csv_header)(head, reading.schema)


def _parquet_header(head: Head) -> _Header:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_metadata(head.file.where).schema
    except (OSError, pa.ArrowException) as error:
        raise InputError(head.file.label, f"is no Parquet file that can be read: {str(error)[:200]}") from None
    for column in map(schema.column, range(len(schema))):
        # Spark's own INT96 has them too, and Spark reads it.
        if column.physical_type == "INT64" and "nanoseconds" in str(column.logical_type):
            raise InputError(
                head.file.label,
                f"column '{column.name}' has times in nanoseconds, which Spark does not read: write microseconds "
                "(pandas: to_parquet(..., coerce_timestamps='us', allow_truncated_timestamps=True))",
            )
    return _Header(schema.to_arrow_schema().names, {}, {})


def _parser(wanted: tuple[str, ...], renamed: dict[str, str]) -> Callable[[DataFrame, Reading], DataFrame]:
    def parse(rows: DataFrame, reading: Reading) -> DataFrame:
        if "_line" in rows.columns:
            header, table = _table(rows, reading)
        elif _is_json(reading.head):
            header, table = _json(rows, reading)
        else:
            header, table = _csv(rows, reading)
        return _records(table, header, wanted, renamed, reading)

    return parse


def _records(
    rows: DataFrame, header: _Header, wanted: tuple[str, ...], renamed: dict[str, str], reading: Reading
) -> DataFrame:
    """Rows with ``_line``, ``_kind``, ``_broken``, ``_meets`` and the input's columns to records with a fate."""
    from pyspark.sql import functions as sf

    problem = sf.when(sf.col("_broken").isNotNull(), sf.col("_broken"))
    values: dict[str, Column] = {}
    for ours, theirs in _places(header, wanted, reading).items():
        name, column = renamed.get(ours, ours), sf.col(f"`{theirs}`")
        if ours in ("start", "end", "duration"):
            value, written = _time(column, theirs, header, reading.time_format if ours != "duration" else None)
            bad = value.isNull() | sf.isnan(value) | (sf.abs(value) == float("inf"))
            problem = problem.when(bad, sf.lit(f"'{theirs}' is not {written}"))
        else:
            value = sf.trim(column.cast("string"))
            problem = problem.when(value.isNull() | (value == ""), sf.lit(f"'{theirs}' is empty"))
        values[name] = value
    if "duration" in values:
        values["end"] = values["start"] + values.pop("duration")
    values.setdefault("end", values["start"])
    fate = (
        sf.when(sf.col("_kind").isNotNull(), sf.col("_kind"))
        .when(problem.isNotNull(), "unreadable")
        .when(~sf.coalesce("_meets", sf.lit(False)), "filtered")
    )
    named = [value.alias(name) for name, value in values.items()]
    made = rows.select("_line.*", *named, fate.alias("fate"), problem.alias("_problem"))
    return made.transform(unreadable("_problem")).drop("_problem")


def _time(column: Column, name: str, header: _Header, form: str | None) -> tuple[Column, str]:
    """A time in seconds, or in the input's unit; and what it should have been."""
    from pyspark.sql import functions as sf

    kind = header.types.get(name, "string")
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return sf.unix_micros(column.cast("timestamp")) / 1e6, "a time"
    if form is None and kind == "string" and _ISO.fullmatch(header.example.get(name, "").strip()):
        form = "iso"
    if form is None:
        return number_in(column) if header.written else column.try_cast("double"), "a number"
    moment = sf.try_to_timestamp(column) if form == "iso" else sf.try_to_timestamp(column, sf.lit(form))
    return sf.unix_micros(moment) / 1e6, f"a time of the form '{form}'"


def _meeting(rows: DataFrame, where: str | None) -> DataFrame:
    """Rows with the column ``_meets``: whether they meet the user's condition."""
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions as sf

    if where is None:
        return rows.withColumn("_meets", sf.lit(True))
    try:
        made = rows.withColumn("_meets", sf.expr(where).cast("boolean"))
        _ = made.schema
    except (AnalysisException, ParseException) as error:
        reason = next(line for line in str(error).splitlines() if line.strip())
        raise ConfigurationError(f"--where {where}: {reason[:300]}") from None
    return made


# Tables -----------------------------------------------------------------------------------------------------------


def _table(rows: DataFrame, reading: Reading) -> tuple[_Header, DataFrame]:
    from pyspark.sql import functions as sf

    fields = [field for field in rows.schema.fields if field.name != "_line"]
    types = {field.name: field.dataType.simpleString() for field in fields}
    header = _Header([field.name for field in fields], types, {}, written=False)
    whole = sf.to_json(sf.struct(*(sf.col(f"`{name}`") for name in header.names)))
    line = sf.struct("_line.row", "_line.source", whole.alias("text")).alias("_line")
    nothing = sf.lit(None).cast("string")
    kept = rows.transform(_meeting, reading.where)
    others = [sf.col(f"`{name}`") for name in header.names]
    return header, kept.select(line, nothing.alias("_kind"), nothing.alias("_broken"), "_meets", *others)


# Text -------------------------------------------------------------------------------------------------------------


def _json(lines: DataFrame, reading: Reading) -> tuple[_Header, DataFrame]:
    from pyspark.sql import functions as sf

    header = _json_header(reading.head, reading.schema)
    schema = ", ".join(f"`{name}` string" for name in header.names) + ", _corrupt string"
    found = sf.from_json("text", schema, {"columnNameOfCorruptRecord": "_corrupt"})
    broken = sf.when(found.isNull() | found["_corrupt"].isNotNull(), sf.lit("is not a JSON object"))
    kind = sf.when(sf.col("text") == "", "blank")
    return header, _typed(lines, header, {name: found[name] for name in header.names}, kind, broken, reading.where)


def _csv(lines: DataFrame, reading: Reading) -> tuple[_Header, DataFrame]:
    from pyspark.sql import functions as sf

    top = reading.head.lines[0][1]
    mark, header = _separator(top), _csv_header(reading.head, reading.schema)
    many = len(header.names)
    parts = sf.col("_parts")
    broken = sf.when(sf.size(parts) != many, sf.concat(sf.lit(f"expected {many} fields, found "), sf.size(parts)))
    kind = sf.when(sf.col("text") == "", "blank")
    if not reading.schema:  # the header, also where logs were put together
        kind = kind.when(sf.col("text") == top, "header")
    kind = kind.when(sf.startswith("text", sf.lit("#")), "comment")
    values = {name: sf.get(parts, sf.lit(place)) for place, name in enumerate(header.names)}
    cut = lines.withColumn("_parts", _parts(mark, many))
    return header, _typed(cut, header, values, kind, broken, reading.where)


def _typed(
    lines: DataFrame, header: _Header, values: dict[str, Column], kind: Column, broken: Column, where: str | None
) -> DataFrame:
    """Lines with the columns of the input as text; a condition sees them in their types."""
    from pyspark.sql import functions as sf

    line = sf.struct("row", "source", "text").alias("_line")
    held = [line, kind.alias("_kind"), broken.alias("_broken")]
    text = [value.alias(name) for name, value in values.items()]
    if where is None:
        return lines.select(*held, sf.lit(True).alias("_meets"), *text)
    raw = sf.struct(*text).alias("_raw")
    typed = [value.try_cast(header.types.get(name, "string")).alias(name) for name, value in values.items()]
    kept = lines.select(*held, raw, *typed).transform(_meeting, where)
    return kept.select("_line", "_kind", "_broken", "_meets", "_raw.*")


def _separator(text: str) -> str:
    return max(",;\t", key=text.count)


def _csv_header(head: Head, schema: str | None = None) -> _Header:
    top = head.lines[0][1]
    mark = _separator(top)
    rows = list(csv.reader((text for _, text in head.lines), delimiter=mark))
    if schema:
        types = _ddl(schema)
        return _Header(list(types), types, dict(zip(types, rows[0], strict=False)))
    names = [name.strip() for name in next(csv.reader([top.removeprefix("#").strip()], delimiter=mark))]
    data = [row for row in rows[1:] if len(row) == len(names)]
    numbers = {
        name: "double" for place, name in enumerate(names) if data and all(_is_number(row[place]) for row in data)
    }
    return _Header(names, numbers, dict(zip(names, data[0], strict=True)) if data else {})


def _json_header(head: Head, schema: str | None = None) -> _Header:
    found: dict[str, Any] = {}
    types: dict[str, str] = {}
    for _, text in head.lines:
        try:
            first = json.loads(text)
        except ValueError:
            continue
        if isinstance(first, dict):
            for name, value in first.items():
                found.setdefault(name, value)
                plain = (
                    "boolean" if isinstance(value, bool) else "double" if isinstance(value, (int, float)) else "string"
                )
                types[name] = plain if types.get(name, plain) == plain else "string"
    types = _ddl(schema) if schema else types
    return _Header(list(types), types, {name: str(value) for name, value in found.items()})


def _ddl(schema: str) -> dict[str, str]:
    """Names and types of a schema as SQL writes it; types with commas in them are for tables.

    >>> _ddl("phone string, rssi double")
    {'phone': 'string', 'rssi': 'double'}
    """
    types: dict[str, str] = {}
    for part in schema.split(","):
        name, _, kind = part.strip().partition(" ")
        if not name or not re.fullmatch(r"\w+", kind.strip()):
            raise ConfigurationError(f"--schema {schema}: write names and types, such as 'phone string, rssi double'")
        types[name.strip("`")] = kind.strip().lower()
    return types


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parts(mark: str, many: int) -> Column:
    """The fields of a line. Only lines with quotes go through the parser for them, which is slow."""
    from pyspark.sql import functions as sf

    schema = ", ".join(f"c{place} string" for place in range(many)) + ", broken string"
    options = {"sep": mark, "columnNameOfCorruptRecord": "broken"}
    parsed = sf.from_csv("text", schema, options)
    quoted = sf.when(parsed["broken"].isNull(), sf.array(*(parsed[f"c{place}"] for place in range(many))))
    return sf.when(sf.contains("text", sf.lit('"')), quoted).otherwise(sf.split("text", mark, -1))


def _names(header: Callable[[Head], _Header], wanted: tuple[str, ...]) -> Callable[[Head], bool]:
    return lambda head: all(header(head).find(name, {}) is not None for name in wanted)


_SEEN = {"a": "scanner", "b": "seen"}

CSV = Format(
    name="csv",
    summary="CSV with a header: a, b, start and end or duration (neither: instants), in any order",
    example="a,b,start,end",
    pattern=r".*[,;\t].*",
    parse=_parser(_CONTACT, _SEEN),
    tell=lambda head: _names(_csv_header, _CONTACT)(head) and not _names(_csv_header, _STAY)(head),
    has_columns=True,
    check=_check(_CONTACT),
)

ASSOCIATIONS = Format(
    name="associations",
    summary="WiFi associations, CSV with a header: node, access point, start, end; contact by co-association",
    example="node,ap,start,end",
    pattern=r".*[,;\t].*",
    parse=_parser(_STAY, {}),
    makes="stays",
    tell=_names(_csv_header, _STAY),
    has_columns=True,
    check=_check(_STAY),
)

JSON = Format(
    name="json",
    summary="JSON lines with the keys a, b, start and end or duration, or others by --column",
    example='{"a": "ann", "b": "bob", "start": "2026-05-01T10:00:00Z", "duration": 60}',
    pattern=r"\{.*",
    parse=_parser(_CONTACT, _SEEN),
    tell=_names(_json_header, _CONTACT),
    has_columns=True,
    check=_check(_CONTACT),
)

TABLES = tuple(
    Format(
        name=kind,
        summary=summary,
        example="a, b, start, end",
        pattern=r"(?!)",
        parse=_parser(_CONTACT, _SEEN),
        has_columns=True,
        check=_check(_CONTACT),
    )
    for kind, summary in (
        ("parquet", "Parquet files with the columns a, b, start and end or duration, or others by --column"),
        ("orc", "ORC files with such columns"),
        ("table", "a table of Spark's catalogue with such columns, by --table NAME"),
    )
)
