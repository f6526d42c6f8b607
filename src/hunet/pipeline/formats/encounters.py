"""The project's own encounter log: what a live node writes down of whom it met.

JSON lines, one per contact that has ended, appended as it ends::

    {"device": "ann", "met": "bob", "start": 1700000000.25, "end": 1700000360.5}

``device`` is the node whose log it is; both names are pseudonyms, unless its owner wants otherwise. Times are Unix
seconds by the node's own clock; other keys are ignored. Each node keeps its own log, so a contact stands in two of
them, a little apart: joining contacts that overlap makes one of the two. For that, all logs must call a device by the
same pseudonym.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import Format, Reading, unreadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    schema = "device string, met string, start double, end double, broken string"
    found = sf.from_json("text", schema, {"columnNameOfCorruptRecord": "broken"})
    problem = sf.when(
        sf.col("_").isNull() | sf.col("_.broken").isNotNull(), sf.lit("is not a JSON object of an encounter")
    )
    for name in ("device", "met", "start", "end"):
        problem = problem.when(sf.col(f"_.{name}").isNull(), sf.lit(f"has no '{name}'"))
    for name in ("device", "met"):
        problem = problem.when(sf.trim(f"_.{name}") == "", sf.lit(f"'{name}' is empty"))
    for name in ("start", "end"):
        problem = problem.when(sf.abs(f"_.{name}") == float("inf"), sf.lit(f"'{name}' is not a number"))
    return (
        lines.withColumn("_", found)
        .withColumns(
            {
                "scanner": sf.col("_.device"),
                "seen": sf.col("_.met"),
                "start": sf.col("_.start"),
                "end": sf.col("_.end"),
                "_problem": problem,
                "fate": sf.when(sf.col("text") == "", "blank").when(problem.isNotNull(), "unreadable"),
            }
        )
        .transform(unreadable("_problem"))
        .drop("_", "_problem")
    )


ENCOUNTERS = Format(
    name="encounters",
    summary="hunet's own encounter log: JSON lines with device, met, start, end",
    example='{"device": "ann", "met": "bob", "start": 1700000000.25, "end": 1700000360.5}',
    pattern=r"\{.*",  # also a line that a node could not finish
    parse=_parse,
    tell=lambda head: any('"device"' in text and '"met"' in text for _, text in head.lines),
)
