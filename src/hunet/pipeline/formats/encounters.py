"""The project's own encounter log: what a live node writes down of whom it met.

JSON lines, one per contact that has ended, appended as it ends::

    {"node": "ann", "peer": "bob", "start": 1700000000.25, "end": 1700000360.5}

Times are Unix seconds by the node's own clock; other keys are ignored. Each node keeps its own log, so a contact stands
in two of them, a little apart: joining contacts that overlap makes one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import Format, Reading, unreadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ENCOUNTERS"]


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import functions as sf

    schema = "node string, peer string, start double, end double, broken string"
    found = sf.from_json("text", schema, {"columnNameOfCorruptRecord": "broken"})
    problem = sf.when(
        sf.col("_").isNull() | sf.col("_.broken").isNotNull(), sf.lit("is not a JSON object of an encounter")
    )
    for name in ("node", "peer", "start", "end"):
        problem = problem.when(sf.col(f"_.{name}").isNull(), sf.lit(f"has no '{name}'"))
    return (
        lines.withColumn("_", found)
        .withColumns(
            {
                "scanner": sf.col("_.node"),
                "seen": sf.col("_.peer"),
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
    summary="hunet's own encounter log: JSON lines with node, peer, start, end",
    example='{"node": "ann", "peer": "bob", "start": 1700000000.25, "end": 1700000360.5}',
    pattern=r"\{.*\}",
    parse=_parse,
    tell=lambda head: all('"peer"' in text for _, text in head.lines),
)
