"""The ONE's connectivity events: ``time CONN a b up``, later ``time CONN a b down``.

Both ends of a contact may report it, so records of a pair may overlap: the n-th up belongs to the n-th down, and a
down while nothing is up is a stray. What is still up when the log ends is up until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIELDS = (Field("time", 0, number=True), Field("word", 1), Field("scanner", 2), Field("seen", 3), Field("state", 4))


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    wrong = (sf.col("word") != "CONN") | ~sf.col("state").isin("up", "down")
    events = (
        lines.transform(cut, r"\s+", _FIELDS, (5,))
        .withColumn("_wrong", sf.col("fate").isNull() & wrong)
        .withColumn("fate", sf.when(sf.col("_wrong"), "unreadable").otherwise(sf.col("fate")))
        .withColumn(
            "detail",
            sf.when(sf.col("_wrong"), sf.concat(sf.lit("expected CONN and up or down: "), "text")).otherwise(
                sf.col("detail")
            ),
        )
        .withColumn("_up", sf.when(sf.col("fate").isNull(), sf.col("state") == "up"))
        .withColumns({"_a": sf.least("scanner", "seen"), "_b": sf.greatest("scanner", "seen")})
    )
    # How many are up after each event; below its own minimum so far, a down has nothing to end.
    in_order = Window.partitionBy("_a", "_b").orderBy(
        sf.col("fate").asc_nulls_first(), "time", sf.desc("_up"), "source", "row"
    )
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    level = sf.sum(sf.when(sf.col("_up"), 1).when(~sf.col("_up"), -1).otherwise(0)).over(in_order)
    lowest = sf.coalesce(sf.least(sf.lit(0), sf.min("_level").over(before)), sf.lit(0))
    marked = events.withColumn("_level", level).withColumn(
        "fate",
        sf.when(sf.col("fate").isNull() & ~sf.col("_up") & (sf.col("_level") < lowest), "stray").otherwise(
            sf.col("fate")
        ),
    )
    last = events.where(sf.col("fate").isNull()).agg(sf.max("time").alias("_last"))
    nth = sf.row_number().over(Window.partitionBy("_a", "_b", "fate", "_up").orderBy("time", "source", "row"))
    return (
        marked.withColumn("_nth", nth)
        .crossJoin(sf.broadcast(last))
        .groupBy(
            "_a", "_b", "fate", "_nth", sf.when(sf.col("fate").isNotNull(), sf.struct("source", "row")).alias("_row")
        )
        .agg(
            # The record stands where its up stands; a rejected line stands for itself.
            sf.min_by(
                sf.struct("source", "row", "scanner", "seen", "detail"), sf.struct(~sf.col("_up"), "source", "row")
            ).alias("_"),
            sf.min("time").alias("start"),
            sf.when(sf.count("_up") > 1, sf.max("time")).otherwise(sf.max("_last")).alias("_end"),
            sf.count_if(sf.col("_up")).alias("_ups"),
        )
        .withColumn("end", sf.when(sf.col("fate") == "stray", sf.col("start")).otherwise(sf.col("_end")))
        .select("_.source", "_.row", "_.scanner", "_.seen", "start", "end", "fate", "_.detail")
    )


ONE = Format(
    name="one",
    summary="The ONE's connectivity events",
    example="1.0 CONN n27 n37 up",
    pattern=rf"{NUMBER}\s+CONN\s+\S+\s+\S+\s+(?:up|down)",
    parse=_parse,
    tell=lambda head: True,  # noqa: ARG005 - no other format has that word
)
