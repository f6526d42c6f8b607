"""Contact intervals in milliseconds (NCCU): two nodes, start and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import Field, Format, Reading, cut, number_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

_FIELDS = (Field("scanner", 0), Field("seen", 1), Field("start", 2, number=True), Field("end", 3, number=True))
_LATE = 1e11
"""As Unix seconds the year 5138; as Unix milliseconds March 1973."""


def in_milliseconds(head: Head) -> bool:
    """Whether every time is one of our age if it is in milliseconds, and of none if it is in seconds."""
    return all(min(row[2:4]) > _LATE for row in number_rows(head) if len(row) >= 4)


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    rows = lines.transform(cut, r"\s+", _FIELDS, (4,))
    return rows.withColumns({"start": sf.col("start") / 1000, "end": sf.col("end") / 1000})


MILLISECONDS = Format(
    name="milliseconds",
    summary="contact intervals in milliseconds (NCCU): a, b, start, end",
    example="0 53 1418767200000 1418767560000",
    pattern=r"\S+\s+\S+\s+-?\d+\s+-?\d+",
    parse=_parse,
    tell=lambda head: {len(row) for row in number_rows(head)} == {4} and in_milliseconds(head),
    unit=0.001,
)
