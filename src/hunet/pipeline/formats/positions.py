"""Positions (NCCU): ``t node x y``; a node stays where it was until its next line. Contacts are by range.

The first line gives the bounds of time and place and is not a position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

_FIELDS = (
    Field("start", 0, number=True),
    Field("node", 1),
    Field("x", 2, number=True),
    Field("y", 3, number=True),
)


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    bounds = (sf.col("line") == 1) & (sf.size(sf.split("text", r"\s+")) == 6)
    return (
        lines.transform(cut, r"\s+", _FIELDS, (4,))
        .withColumn("fate", sf.when(bounds, "header").otherwise(sf.col("fate")))
        .withColumn("detail", sf.when(~bounds, sf.col("detail")))
    )


def _tell(head: Head) -> bool:
    return len(head.lines[0][1].split()) == 6 and all(len(text.split()) == 4 for _, text in head.lines[1:])


POSITIONS = Format(
    name="positions",
    summary="positions (NCCU): t s, node, x m, y m; contacts by range",
    example="1418767200 2 1121 34",
    pattern=rf"{NUMBER}\s+\S+\s+{NUMBER}\s+{NUMBER}",
    parse=_parse,
    makes="positions",
    tell=_tell,
    preamble=1,
    numbered=True,
)
