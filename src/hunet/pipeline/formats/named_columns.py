"""Logs with a header line that names their columns: plain CSV contacts, and WiFi association logs.

Columns may stand in any order and others may be there. A file's own names are given as ``a=NAME`` and so on.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from hunet.model.errors import InputError, did_you_mean
from hunet.pipeline.formats.format import Field, Format, Reading, cut

if TYPE_CHECKING:
    from collections.abc import Callable

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


def _separator(text: str) -> str:
    return max(",;\t", key=text.count)


def _header(head: Head) -> list[str]:
    text = head.lines[0][1].removeprefix("#").strip()
    return [name.strip() for name in next(csv.reader([text], delimiter=_separator(text)))]


def _find(header: list[str], wanted: str, columns: dict[str, str]) -> int | None:
    """Where a column stands: under the name that the user gave, or one that everybody uses."""
    for name in (columns[wanted],) if wanted in columns else _SYNONYMS[wanted]:
        for place, found in enumerate(header):
            if found.lower() == name.lower():
                return place
    return None


def _places(head: Head, wanted: tuple[str, ...], columns: dict[str, str]) -> dict[str, int]:
    header = _header(head)
    for given in columns:
        if given not in (*wanted, "end", "duration"):
            raise InputError(head.file.label, f"no use for a column '{given}': {did_you_mean(given, (*wanted, 'end'))}")
    places: dict[str, int] = {}
    for name in wanted:
        place = _find(header, name, columns)
        if place is None:
            said = columns.get(name, name)
            raise InputError(
                head.file.label,
                f"no column '{said}' among {', '.join(header)[:200]}: name it with --column {name}=ITS-NAME",
                head.lines[0][0],
            )
        places[name] = place
    for name in ("end", "duration"):
        place = _find(header, name, columns)
        if place is not None and place not in places.values():
            places[name] = place
            break
        if name in columns:
            raise InputError(head.file.label, f"no column '{columns[name]}' among {', '.join(header)[:200]}", 1)
    return places


def _parser(wanted: tuple[str, ...], renamed: dict[str, str]) -> Callable[[DataFrame, Reading], DataFrame]:
    def parse(lines: DataFrame, reading: Reading) -> DataFrame:
        from pyspark.sql import functions as sf

        places = _places(reading.head, wanted, reading.columns)
        many, mark = len(_header(reading.head)), _separator(reading.head.lines[0][1])
        kinds = ("start", "end", "duration")
        fields = tuple(Field(renamed.get(name, name), place, name in kinds) for name, place in places.items())
        rows = lines.transform(cut, _parts(mark, many), fields, (many,))
        if "duration" in places:
            rows = rows.withColumn("end", sf.col("start") + sf.col("duration"))
        elif "end" not in places:
            rows = rows.withColumn("end", sf.col("start"))
        top = sf.col("line") == reading.head.lines[0][0]
        return rows.withColumns(
            {"fate": sf.when(top, "header").otherwise(sf.col("fate")), "detail": sf.when(~top, sf.col("detail"))}
        )

    return parse


def _parts(mark: str, many: int) -> Column:
    """The fields of a line. Only lines with quotes go through the parser for them, which is slow."""
    from pyspark.sql import functions as sf

    schema = ", ".join(f"c{place} string" for place in range(many)) + ", broken string"
    options = {"sep": mark, "columnNameOfCorruptRecord": "broken"}
    parsed = sf.from_csv("text", schema, options)
    quoted = sf.when(parsed["broken"].isNull(), sf.array(*(parsed[f"c{place}"] for place in range(many))))
    return sf.when(sf.contains("text", sf.lit('"')), quoted).otherwise(sf.split("text", mark, -1))


def _names(wanted: tuple[str, ...]) -> Callable[[Head], bool]:
    return lambda head: all(_find(_header(head), name, {}) is not None for name in wanted)


CSV = Format(
    name="csv",
    summary="CSV with a header: a, b, start and end or duration (neither: instants), in any order",
    example="a,b,start,end",
    pattern=r".*[,;\t].*",
    parse=_parser(_CONTACT, {"a": "scanner", "b": "seen"}),
    tell=lambda head: _names(_CONTACT)(head) and not _names(_STAY)(head),
)

ASSOCIATIONS = Format(
    name="associations",
    summary="WiFi associations, CSV with a header: node, access point, start, end; contact by co-association",
    example="node,ap,start,end",
    pattern=r".*[,;\t].*",
    parse=_parser(_STAY, {}),
    makes="stays",
    tell=_names(_STAY),
)
