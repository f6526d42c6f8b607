"""ARFF sightings (SIGCOMM 2009): after ``@data``, ``time,seer,seen``; one line is one sighting in one scan.

A sighting is an instant. The phones scanned about every 120 s, so by default sightings up to 260 s apart (one missed
scan, and the scatter) are one contact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIELDS = (Field("start", 0, number=True), Field("scanner", 1), Field("seen", 2))


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    header = sf.startswith("text", sf.lit("@"))
    return (
        lines.transform(cut, r"\s*,\s*", _FIELDS, (3,), "%")
        .withColumn("fate", sf.when(header, "header").otherwise(sf.col("fate")))
        .withColumn("detail", sf.when(~header, sf.col("detail")))
        .withColumn("end", sf.col("start"))
    )


ARFF = Format(
    name="arff",
    summary="ARFF sightings (SIGCOMM 2009): time s, seer, seen",
    example="27968,1,26",
    pattern=rf"@.*|%.*|{NUMBER}\s*,[^,]+,[^,]+",
    parse=_parse,
    tell=lambda head: head.lines[0][1].lower().startswith(("@relation", "%")),
    gap=260.0,
)
