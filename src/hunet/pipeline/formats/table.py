"""Formats in which a line of fields is a record: one entry each, with an example line. Other formats have modules."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

    Parser = Callable[[DataFrame, Reading], DataFrame]

_NUMBERS = {"start", "end", "duration", "hour"}
_SAMPLE = 20.0
"""Seconds between two samples of the SocioPatterns badges."""
_LATE = 1e11
"""As Unix seconds the year 5138; as Unix milliseconds March 1973."""
_LAST_HOUR = 1e6
"""No trace has lasted for a hundred years."""


def _fields(
    names: str, counts: tuple[int, ...], separator: str = r"\s+", comment: str = "#", **computed: str
) -> Parser:
    """A parser that cuts lines into fields of these names, and then computes columns from them by SQL expressions."""
    fields = tuple(Field(name, place, name in _NUMBERS) for place, name in enumerate(names.split()))

    def parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
        from pyspark.sql import functions as sf

        rows = lines.transform(cut, separator, fields, counts, comment)
        return (
            rows.withColumns({name: sf.expr(expression) for name, expression in computed.items()}) if computed else rows
        )

    return parse


def _by_scanner(lines: DataFrame, reading: Reading) -> DataFrame:
    from pyspark.sql import functions as sf

    stem = sf.split_part(sf.substring_index("file", "/", -1), sf.lit("."), sf.lit(1))
    return _fields("seen start end", (3, 4, 5))(lines, reading).withColumn("scanner", stem)


def _samples(names: str) -> Parser:
    def parse(lines: DataFrame, reading: Reading) -> DataFrame:
        from pyspark.sql import functions as sf

        begin = sf.col("end") - sf.lit(_SAMPLE if reading.scan is None else reading.scan)
        # The first sample of a log that counts from 0 has no 20 seconds before it.
        begin = sf.when(sf.col("end") >= 0, sf.greatest(begin, sf.lit(0.0))).otherwise(begin)
        return _fields(names, (3, 5))(lines, reading).withColumn("start", begin)

    return parse


def _rows(head: Head) -> list[list[float]]:
    """The lines of a beginning as numbers; empty if any is not."""
    try:
        return [[float(part) for part in text.split()] for _, text in head.lines if not text.startswith("#")]
    except ValueError:
        return []


def _has_numbers(head: Head, many: int) -> bool:
    return {len(row) for row in _rows(head)} == {many}


def _rising(values: list[float]) -> bool:
    return all(before <= after for before, after in pairwise(values))


def _in_milliseconds(head: Head) -> bool:
    """Whether every time is one of our age if it is in milliseconds, and of none if it is in seconds."""
    return all(min(row[2:4]) > _LATE for row in _rows(head) if len(row) >= 4)


def _is_sampled(head: Head, place: int) -> bool:
    if any(len(text.split()) not in (3, 5) or " CONN " in text for _, text in head.lines):
        return False
    times = [float(text.split()[place]) for _, text in head.lines]
    return _rising(times) and all(time % _SAMPLE == 0 for time in times)


def _is_by_scanner(head: Head) -> bool:
    rows = _rows(head)
    if not head.file.stem.isdigit() or not rows or {len(row) for row in rows} - {3, 4, 5}:
        return False
    samples = all(row[0] % _SAMPLE == 0 for row in rows) or all(row[2] % _SAMPLE == 0 for row in rows)
    return not samples and all(row[2] - row[1] < row[1] or row[2] < row[1] for row in rows)


def _is_by_hour(head: Head) -> bool:
    if not _has_numbers(head, 3) or head.file.stem.isdigit():
        return False
    hours = [row[2] for row in _rows(head)]
    return _rising(hours) and hours[-1] < _LAST_HOUR and any(hour % _SAMPLE for hour in hours)


TABLE = (
    # In both Haggle formats who scans takes part; anybody who was only ever seen is an external device.
    Format(
        name="haggle",
        summary="Haggle/CRAWDAD contact table: seer, seen, first s, last s, number, gap",
        example="1 40 21574 21687 1 0",
        pattern=rf"\S+\s+\S+\s+{NUMBER}\s+{NUMBER}(?:\s+\d+){{0,2}}",
        parse=_fields("scanner seen start end", (4, 5, 6)),
        tell=lambda head: _has_numbers(head, 6),
        internal="scanners",
    ),
    Format(
        name="scanner-files",
        summary="Haggle/CRAWDAD contacts, one file per scanner, which its name tells: seen, first s, last s",
        example="3 1130493728 1130493728",
        pattern=rf"\S+\s+{NUMBER}\s+{NUMBER}(?:\s+\d+){{0,2}}",
        parse=_by_scanner,
        tell=_is_by_scanner,
        internal="scanners",
        by_file=True,
    ),
    Format(
        name="intervals",
        summary="contact intervals: a, b, start s, end s",
        example="52 167 1211329764 1211329791",
        pattern=rf"\S+\s+\S+\s+{NUMBER}\s+{NUMBER}",
        parse=_fields("scanner seen start end", (4,)),
        tell=lambda head: _has_numbers(head, 4) and not _in_milliseconds(head),
    ),
    Format(
        name="durations",
        summary="contacts by their length: a;b;start s;duration s",
        example="71;36;1145836813;109",
        pattern=rf"[^;]+;[^;]+;\s*{NUMBER}\s*;\s*{NUMBER}\s*",
        parse=_fields("scanner seen start duration", (4,), ";", end="start + duration"),
        tell=lambda head: True,  # noqa: ARG005 - the pattern is enough
    ),
    Format(
        name="sociopatterns",
        summary="SocioPatterns: t, i, j, and if there their classes; in contact from t - 20 s to t",
        example="1385982020 1 939 2BIO3 2BIO3",
        pattern=rf"{NUMBER}\s+\S+\s+\S+(?:\s+\S+\s+\S+)?",
        parse=_samples("end scanner seen"),
        tell=lambda head: _is_sampled(head, 0),
    ),
    Format(
        name="sociopatterns-ijt",
        summary="SocioPatterns co-presence: i, j, t; in contact from t - 20 s to t",
        example="1507 1512 31500",
        pattern=rf"\S+\s+\S+\s+{NUMBER}(?:\s+\S+\s+\S+)?",
        parse=_samples("scanner seen end"),
        tell=lambda head: bool(_rows(head)) and _is_sampled(head, 2) and not _is_sampled(head, 0),
    ),
    # A sighting is an instant, in one scan. The phones of SIGCOMM 2009 scanned about every 120 s, so sightings up to
    # 260 s apart (one missed scan, and the scatter) are one contact. What is before @data is the header.
    Format(
        name="arff",
        summary="ARFF sightings (SIGCOMM 2009): time s, seer, seen",
        example="27968,1,26",
        pattern=rf"@.*|%.*|{NUMBER}\s*,[^,]+,[^,]+",
        parse=_fields(
            "start scanner seen",
            (3,),
            r"\s*,\s*",
            "%",
            end="start",
            fate="if(startswith(text, '@'), 'header', fate)",
            detail="if(startswith(text, '@'), null, detail)",
        ),
        tell=lambda head: head.lines[0][1].lower().startswith(("@relation", "%")),
        gap=260.0,
    ),
    Format(
        name="milliseconds",
        summary="contact intervals in milliseconds (NCCU): a, b, start, end",
        example="0 53 1418767200000 1418767560000",
        pattern=r"\S+\s+\S+\s+-?\d+\s+-?\d+",
        parse=_fields("scanner seen start end", (4,), start="start / 1000", end="`end` / 1000"),
        tell=lambda head: _has_numbers(head, 4) and _in_milliseconds(head),
        unit=0.001,
    ),
    # A conversion of Reality Mining.
    Format(
        name="pair-hours",
        summary="pairs by the hour (Reality Mining): a, b, index of an hour in which they met",
        example="17 25 1",
        pattern=r"\S+\s+\S+\s+\d+",
        parse=_fields("scanner seen hour", (3,), start="hour * 3600", end="(hour + 1) * 3600"),
        tell=_is_by_hour,
        unit=3600.0,
    ),
)
