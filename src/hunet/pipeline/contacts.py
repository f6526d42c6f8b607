"""Stage 2: from sightings to contacts.

Each step is a function from DataFrame to DataFrame (tables ``sightings``, ``checked``, ``joined`` and ``contacts`` of
``hunet.pipeline.schemas``). A row is never dropped: it gets a ``fate``, the first of these that applies:

=================  ===================================================================================
``unreadable``     set by the format: the line is not what it should be
``filtered``       set by the format: it does not meet the user's condition
``stray``          set by the format: an end without a beginning
``negative-time``  before second 0
``reversed``       ends before it starts (or is repaired, on request)
``self``           a node that saw itself
``external``       a device that takes no part, by the format's rule or the user's
``duplicate``      the same nodes in the same direction at the same times as another row
=================  ===================================================================================

What is left is symmetric: of a pair, rows that overlap, touch, or are at most ``gap`` seconds apart are one contact.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hunet.model.errors import ConfigurationError
from hunet.pipeline.joining import join_sightings
from hunet.pipeline.schemas import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Cleaning:
    """What is done to sightings."""

    internal: str = "all"
    """Who takes part: ``all``; ``scanners`` (those that saw somebody); or numbers, such as ``1-41,50``."""
    reversed: Literal["set-aside", "repair"] = "set-aside"
    """A record that ends before it starts: set aside, or its ends exchanged."""
    gap: float = 0.0
    """Records of a pair that are at most this far apart are one contact (s)."""
    extend: float = 0.0
    """Added to every end: the scan interval, if a sighting is to stand for the time until the next scan (s)."""
    offsets: dict[str, float] = field(default_factory=dict)
    """For each scanner, what its clock must be corrected by (s, added)."""

    def __post_init__(self) -> None:
        if self.internal not in ("all", "scanners") and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", self.internal):
            raise ConfigurationError(
                f"internal '{self.internal}': write all, scanners, or numbers such as 1-41 or 1-20,30"
            )
        if not all(math.isfinite(length) and length >= 0 for length in (self.gap, self.extend)):
            raise ConfigurationError("gaps and extensions are lengths of time: give 0 or more seconds")


def contacts_of(
    sightings: DataFrame,
    *,
    gap: float = 0.0,
    extend: float = 0.0,
    internal: str = "all",
    reversed: Literal["set-aside", "repair"] = "set-aside",  # noqa: A002 - as the command calls it
    offsets: dict[str, float] | None = None,
) -> DataFrame:
    """The contacts (columns a, b, start, end) of sightings in any session, for data engineers.

    Sightings have the columns ``a`` (who saw), ``b`` (who was seen), ``start`` and, unless they are instants, ``end``,
    in seconds. ``gap``, ``extend``, ``internal``, ``reversed`` and ``offsets`` are those of ``hunet trace import``.
    """
    return _joined(sightings, Cleaning(internal, reversed, gap, extend, offsets or {})).transform(only_contacts)


def fates_of(
    sightings: DataFrame,
    *,
    gap: float = 0.0,
    extend: float = 0.0,
    internal: str = "all",
    reversed: Literal["set-aside", "repair"] = "set-aside",  # noqa: A002 - as the command calls it
    offsets: dict[str, float] | None = None,
) -> DataFrame:
    """The sightings that are part of no contact of :func:`contacts_of`, and why (columns a, b, start, end, fate)."""
    joined = _joined(sightings, Cleaning(internal, reversed, gap, extend, offsets or {}))
    return joined.where("fate is not null and fate != 'node'").select("a", "b", "start", "end", "fate")


def _joined(sightings: DataFrame, cleaning: Cleaning) -> DataFrame:
    from pyspark.sql import functions as sf

    nothing = sf.lit(None).cast("string")
    rows = sightings.select(
        sf.lit(0).cast("bigint").alias("source"),
        sf.monotonically_increasing_id().alias("row"),
        sf.col("a").cast("string").alias("scanner"),
        sf.col("b").cast("string").alias("seen"),
        sf.col("start").cast("double").alias("start"),
        sf.col("end" if "end" in sightings.columns else "start").cast("double").alias("end"),
        nothing.alias("fate"),
        nothing.alias("detail"),
    )
    missing = sf.greatest(*(sf.col(name).isNull() for name in ("scanner", "seen", "start", "end")))
    known = rows.withColumn("fate", sf.when(missing, "unreadable"))
    return known.transform(check_sightings(cleaning)).transform(join_sightings(cleaning.gap))


def only_contacts(joined: DataFrame) -> DataFrame:
    """The contacts (table ``contacts``), in no order; times are still the log's."""
    return joined.where("fate is null").select(*names("contacts"))


def check_sightings(cleaning: Cleaning) -> Callable[[DataFrame], DataFrame]:
    """Decide the fate of every sighting but duplicates (table ``checked``)."""
    from pyspark.sql import functions as sf

    def check(sightings: DataFrame) -> DataFrame:
        turned = sf.col("end") < sf.col("start")
        corrected = sightings.transform(_correct_clocks(cleaning, "scanner"))
        repair = cleaning.reversed == "repair"
        low, high = sf.least("start", "end"), sf.greatest("start", "end")
        checked = corrected.withColumn(
            "fate",
            sf.when(sf.col("fate").isNotNull(), sf.col("fate"))
            .when(low < 0, "negative-time")
            .when(turned & sf.lit(not repair), "reversed")
            .when(sf.col("scanner") == sf.col("seen"), "self"),
        ).transform(check_internal(cleaning.internal, "scanner", "seen"))
        unused = sf.col("fate").isNotNull()
        return checked.select(
            "source",
            "row",
            "scanner",
            "seen",
            # What is not used is kept as it was found.
            sf.when(unused, sf.col("start")).otherwise(low).alias("start"),
            sf.when(unused, sf.col("end")).otherwise(high + cleaning.extend).alias("end"),
            (turned & ~unused).alias("repaired"),
            "fate",
            "detail",
        )

    return check


def check_internal(rule: str, *columns: str) -> Callable[[DataFrame], DataFrame]:
    """Mark rows that name a device which takes no part; the first of the columns is the scanner."""
    from pyspark.sql import functions as sf

    def check(rows: DataFrame) -> DataFrame:
        if rule == "all":
            return rows
        if rule == "scanners":
            # Not filtered before they are gathered: Spark would work out all that a fate depends on anew for each use.
            used = rows.groupBy(sf.col(columns[0]).alias("_known")).agg(
                sf.bool_or(sf.col("fate").isNull()).alias("_scans")
            )
            known = used.where("_scans").select("_known")
            joined = rows.join(known, sf.col(columns[-1]) == sf.col("_known"), "left")
            external = sf.col("fate").isNull() & sf.col("_known").isNull()
            return joined.withColumn("fate", sf.when(external, "external").otherwise(sf.col("fate"))).drop("_known")
        inside = sf.lit(True)
        for column in columns:
            inside = inside & _within(sf.col(column).try_cast("bigint"), rule)
        external = sf.col("fate").isNull() & ~sf.coalesce(inside, sf.lit(False))
        return rows.withColumn("fate", sf.when(external, "external").otherwise(sf.col("fate")))

    return check


def _correct_clocks(cleaning: Cleaning, column: str) -> Callable[[DataFrame], DataFrame]:
    from pyspark.sql import functions as sf

    def correct(rows: DataFrame) -> DataFrame:
        if not cleaning.offsets:
            return rows
        flat = [sf.lit(value) for pair in cleaning.offsets.items() for value in pair]
        offset = sf.coalesce(sf.create_map(*flat)[sf.col(column)], sf.lit(0.0))
        return rows.withColumns({"start": sf.col("start") + offset, "end": sf.col("end") + offset})

    return correct


def _within(number: Column, rule: str) -> Column:
    from pyspark.sql import functions as sf

    inside = sf.lit(False)
    for part in rule.split(","):
        low, _, high = part.partition("-")
        inside = inside | number.between(int(low), int(high or low))
    return inside
