"""Who was where with whom: sightings from positions and from stays.

Both are joins on a place and a stretch of time, so that only rows which may meet are compared: positions by the cell of
a grid as wide as the range (and its eight neighbours), stays by the access point or class. A row that lasts is entered
into every stretch that it touches; a meeting is taken from the stretch in which it begins, and so counted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.contacts import check_internal
from hunet.pipeline.schemas import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

_STRETCH = 600.0
_LONG_STRETCH = 6 * 3600.0


def check_positions(internal: str) -> Callable[[DataFrame], DataFrame]:
    """Decide the fate of every position: of several at one instant, the last line holds."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    def check(positions: DataFrame) -> DataFrame:
        track = Window.partitionBy("node").orderBy(sf.col("fate").asc_nulls_first(), "start", "source", "row")
        used = sf.col("fate").isNull()
        return (
            positions.transform(check_internal(internal, "node"))
            .withColumn("fate", sf.when(used & (sf.col("start") < 0), "negative-time").otherwise(sf.col("fate")))
            .withColumns({"_next": sf.lead("start").over(track), "_fate": sf.lead("fate").over(track)})
            .withColumn("end", sf.when(used & sf.col("_fate").isNull(), sf.col("_next")))
            .withColumn(
                "fate", sf.when(used & (sf.col("end") == sf.col("start")), "duplicate").otherwise(sf.col("fate"))
            )
            .drop("_next", "_fate")
        )

    return check


def check_stays(internal: str, turned: str) -> Callable[[DataFrame], DataFrame]:
    """Decide the fate of every stay at an access point or in a class."""
    from pyspark.sql import functions as sf

    repair = turned == "repair"

    def check(stays: DataFrame) -> DataFrame:
        low, high = sf.least("start", "end"), sf.greatest("start", "end")
        backwards = sf.col("end") < sf.col("start")
        unused = sf.col("fate").isNotNull()
        return (
            stays.withColumn(
                "fate",
                sf.when(unused, sf.col("fate"))
                .when(low < 0, "negative-time")
                .when(backwards & sf.lit(not repair), "reversed"),
            )
            .transform(check_internal(internal, "node"))
            .withColumn("repaired", backwards & ~unused)
            .withColumns(
                {
                    "start": sf.when(unused, sf.col("start")).otherwise(low),
                    "end": sf.when(unused, sf.col("end")).otherwise(high),
                }
            )
        )

    return check


def within_range(reach: float) -> Callable[[DataFrame], DataFrame]:
    """Sightings of nodes that were at most ``reach`` metres apart, while they were."""
    from pyspark.sql import functions as sf

    def meet(positions: DataFrame) -> DataFrame:
        used = positions.where(sf.col("fate").isNull())
        last = used.agg(sf.max("start").alias("_last"))
        held = used.crossJoin(sf.broadcast(last)).select(
            "node", "x", "y", "start", sf.coalesce("end", "_last").alias("end")
        )
        placed = held.withColumns({"_x": sf.floor(sf.col("x") / reach), "_y": sf.floor(sf.col("y") / reach)}).transform(
            _stretches(_STRETCH)
        )
        near = sf.array(
            *(sf.struct(sf.lit(i).alias("i"), sf.lit(j).alias("j")) for i in (-1, 0, 1) for j in (-1, 0, 1))
        )
        around = (
            placed.withColumn("_near", sf.explode(near))
            .withColumns({"_x": sf.col("_x") + sf.col("_near.i"), "_y": sf.col("_y") + sf.col("_near.j")})
            .drop("_near")
        )
        x, y = sf.col("one.x") - sf.col("two.x"), sf.col("one.y") - sf.col("two.y")
        close = x * x + y * y <= reach * reach
        # Who arrives as another leaves does not meet it: a position holds up to the next, not at it.
        lasting = sf.greatest("one.start", "two.start") < sf.least("one.end", "two.end")
        return _meet(around, placed, ["_x", "_y"], _STRETCH).where(close & lasting).transform(_sightings)

    return meet


def stays_together(stays: DataFrame) -> DataFrame:
    """Sightings of nodes that stayed at the same place, while both did."""
    from pyspark.sql import functions as sf

    used = stays.where(sf.col("fate").isNull()).select("node", "place", "start", "end")
    placed = used.transform(_stretches(_LONG_STRETCH))
    return _meet(placed, placed, ["place"], _LONG_STRETCH).transform(_sightings)


def _stretches(length: float) -> Callable[[DataFrame], DataFrame]:
    from pyspark.sql import functions as sf

    first, last = (sf.floor(sf.col(name) / length) for name in ("start", "end"))
    return lambda rows: rows.withColumn("_stretch", sf.explode(sf.sequence(first, last)))


def _meet(one: DataFrame, two: DataFrame, where: list[str], length: float) -> DataFrame:
    from pyspark.sql import functions as sf

    same = sf.col("one._stretch") == sf.col("two._stretch")
    for column in where:
        same = same & (sf.col(f"one.{column}") == sf.col(f"two.{column}"))
    start = sf.greatest("one.start", "two.start")
    both = (start <= sf.least("one.end", "two.end")) & (sf.col("one.node") < sf.col("two.node"))
    begins = sf.floor(start / length) == sf.col("one._stretch")
    return one.alias("one").join(two.alias("two"), same & both & begins)


def _sightings(sightings: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    return sightings.select(
        sf.lit(0).cast("bigint").alias("source"),
        sf.lit(0).cast("bigint").alias("row"),
        sf.col("one.node").alias("scanner"),
        sf.col("two.node").alias("seen"),
        sf.greatest("one.start", "two.start").alias("start"),
        sf.least("one.end", "two.end").alias("end"),
        sf.lit(False).alias("repaired"),
        sf.lit(None).cast("string").alias("fate"),
        sf.lit(None).cast("string").alias("detail"),
    ).select(*names("checked"))
