"""Class rosters (NUS): who sits in which session; everybody in a session is in contact with everybody else.

The first line gives the number of sessions and of students; then come two lines a session: ``start hour, session, size,
hours`` and the students. A record is a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import Format, Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

_HOUR = 3600.0


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    """One row a student and session; a session that does not add up is one unreadable row."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    # A session's two lines stand together: 2 and 3, 4 and 5, ...
    session = sf.floor(sf.col("line") / 2)
    parts = sf.split("text", r"\s+")
    pairs = (
        lines.where((sf.col("line") > 1) & (sf.col("text") != ""))
        .withColumn("_session", session)
        .groupBy("file", "_session")
        .agg(
            sf.min("line").alias("line"),
            sf.min_by("source", "line").alias("source"),
            sf.min_by("row", "line").alias("row"),
            sf.min_by("text", "line").alias("text"),
            sf.max_by("text", "line").alias("_members"),
            sf.count("*").alias("_lines"),
        )
        .withColumn("_head", sf.transform(parts, lambda part: part.try_cast("double")))
        .withColumn("_members", sf.split("_members", r"\s+"))
    )
    size, found = sf.get("_head", sf.lit(2)), sf.size("_members")
    problem = (
        sf.when(sf.col("_lines") != 2, sf.lit("expected a line about the session and a line of students"))
        .when(
            (sf.size("_head") != 4) | sf.exists("_head", lambda number: number.isNull()),
            sf.lit("expected start hour, session, size, hours"),
        )
        .when(
            size != found,
            sf.concat(sf.lit("the session names a size of "), size.cast("int"), sf.lit(" and has "), found),
        )
    )
    start = sf.get("_head", sf.lit(0)) * _HOUR
    sessions = pairs.withColumn("_problem", problem).withColumns(
        {
            "fate": sf.when(sf.col("_problem").isNotNull(), "unreadable"),
            "detail": sf.concat("_problem", sf.lit(": "), sf.substring("text", 1, 200)),
            "place": sf.concat_ws(":", "file", "line"),
            "start": start,
            "end": start + sf.get("_head", sf.lit(3)) * _HOUR,
        }
    )
    columns = ("source", "row", "node", "place", "start", "end", "fate", "detail")
    students = sessions.withColumn(
        "node",
        sf.explode(sf.when(sf.col("fate").isNull(), sf.array_distinct("_members")).otherwise(sf.array(sf.lit(None)))),
    )
    others = lines.where((sf.col("line") == 1) | (sf.col("text") == "")).select(
        "source",
        "row",
        *(
            sf.lit(None).cast(kind).alias(name)
            for name, kind in zip(columns[2:6], ("string", "string", "double", "double"), strict=True)
        ),
        sf.when(sf.col("text") == "", "blank").otherwise("header").alias("fate"),
        sf.lit(None).cast("string").alias("detail"),
    )
    first = sf.row_number().over(Window.partitionBy("source", "row").orderBy("node")) == 1
    return students.select(*columns).unionByName(others).withColumn("record", first)


def _tell(head: Head) -> bool:
    counts = [len(text.split()) for _, text in head.lines[:3]]
    return len(counts) == 3 and counts[:2] == [2, 4] and str(counts[2]) == head.lines[1][1].split()[2]


ROSTER = Format(
    name="roster",
    summary="class rosters (NUS): sessions and students; two lines a session",
    example="0 2 64 2",
    pattern=r"\d+(?:\s+\d+)*",
    parse=_parse,
    makes="stays",
    tell=_tell,
    unit=_HOUR,
    numbered=True,
)
