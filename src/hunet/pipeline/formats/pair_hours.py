"""Pairs by the hour (a conversion of Reality Mining): two nodes and the index of an hour in which they met."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import Field, Format, Reading, cut, number_rows
from hunet.pipeline.formats.sociopatterns import SAMPLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

_FIELDS = (Field("scanner", 0), Field("seen", 1), Field("hour", 2, number=True))
_HOUR = 3600.0
_LAST = 1e6
"""No trace has lasted for a hundred years."""


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    rows = lines.transform(cut, r"\s+", _FIELDS, (3,))
    return rows.withColumns({"start": sf.col("hour") * _HOUR, "end": (sf.col("hour") + 1) * _HOUR})


def _tell(head: Head) -> bool:
    rows = number_rows(head)
    if {len(row) for row in rows} != {3} or head.file.stem.isdigit():
        return False
    hours = [row[2] for row in rows]
    steady = all(before <= after for before, after in pairwise(hours))
    return steady and hours[-1] < _LAST and any(hour % SAMPLE for hour in hours)


PAIR_HOURS = Format(
    name="pair-hours",
    summary="pairs by the hour (Reality Mining): a, b, index of an hour in which they met",
    example="17 25 1",
    pattern=r"\S+\s+\S+\s+\d+",
    parse=_parse,
    tell=_tell,
    unit=_HOUR,
)
