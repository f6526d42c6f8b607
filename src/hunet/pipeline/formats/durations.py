"""Contacts as ``a;b;start;duration``, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIELDS = (Field("scanner", 0), Field("seen", 1), Field("start", 2, number=True), Field("duration", 3, number=True))


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    return lines.transform(cut, ";", _FIELDS, (4,)).withColumn("end", sf.col("start") + sf.col("duration"))


DURATIONS = Format(
    name="durations",
    summary="contacts by their length: a;b;start s;duration s",
    example="71;36;1145836813;109",
    pattern=rf"[^;]+;[^;]+;\s*{NUMBER}\s*;\s*{NUMBER}\s*",
    parse=_parse,
    tell=lambda head: True,  # noqa: ARG005 - the pattern is enough
)
