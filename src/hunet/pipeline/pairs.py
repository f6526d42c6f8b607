"""Stage 3: what every pair's contacts say of it.

Theory of operation. Within a window of time, a pair's contacts are cut to the window. Their *separations* are the
maximal intervals of the window without contact: between contacts, and at the window's edges before the first and after
the last (MOPS, A1: the example fixes the trailing edge and leaves the leading one open; ``both`` is symmetric). A
separation of no length is none. MOPS's closeness is exp(-AVG² / 2σ²) of the mean separation AVG, with σ the mean of AVG
over the pairs that met (section V.A); a pair without separations has closeness 1, and one that never met is not here.

The four categories are those of the Socio-Aware Overlay, section 3.2: many or few contacts, long or short in total,
where many and long are above the mean over all pairs, or above what the user says.

Sums over all pairs are made of decimals, to a microsecond, so that they do not depend on the order of adding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hunet.graphs.power_law import BINS_PER_DECADE
from hunet.model.errors import ConfigurationError
from hunet.pipeline.schemas import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

EDGES = ("both", "inner+trailing", "inner")
_EXACT = "decimal(32,6)"


@dataclass(frozen=True)
class PairSettings:
    """What pairs are measured by; None is the mean over all pairs."""

    window: tuple[float, float]
    """First and last second that count; usually the span of the trace, or its training part."""
    edges: Literal["both", "inner+trailing", "inner"] = "both"
    """Which separations count at the edges of the window."""
    sigma: float | None = None
    """σ of the closeness (s)."""
    many: float | None = None
    """More contacts than this are many."""
    long: float | None = None
    """More contact time than this is long (s)."""

    def __post_init__(self) -> None:
        if self.edges not in EDGES:
            raise ConfigurationError(f"edges '{self.edges}': write one of {', '.join(EDGES)}")
        if self.window[0] >= self.window[1]:
            raise ConfigurationError(f"the window from {self.window[0]:g} to {self.window[1]:g} s has no length")
        if self.sigma is not None and self.sigma <= 0:
            raise ConfigurationError("sigma is a length of time: give more than 0 seconds")


def pairs(settings: PairSettings) -> Callable[[DataFrame], DataFrame]:
    """The whole stage: contacts to the table ``pairs``."""

    def measure(contacts: DataFrame) -> DataFrame:
        return (
            contacts.transform(pair_statistics(settings.window, settings.edges))
            .transform(closeness(settings.sigma))
            .transform(categories(settings.many, settings.long))
            .select(*names("pairs"))
        )

    return measure


def pair_statistics(window: tuple[float, float], edges: str = "both") -> Callable[[DataFrame], DataFrame]:
    """Counts and times of every pair that met in the window."""
    from pyspark.sql import functions as sf

    first, last = (sf.lit(float(edge)) for edge in window)

    def measure(contacts: DataFrame) -> DataFrame:
        leading = sf.when(sf.col("first") > first, sf.col("first") - first).otherwise(0.0)
        trailing = sf.when(sf.col("last") < last, last - sf.col("last")).otherwise(0.0)
        total, many = sf.col("apart"), sf.col("contacts") - 1
        if edges == "both":
            total, many = total + leading, many + (leading > 0).cast("bigint")
        if edges != "inner":
            total, many = total + trailing, many + (trailing > 0).cast("bigint")
        return (
            contacts.transform(_cut(window))
            .transform(_with_gap)
            .groupBy("a", "b")
            .agg(
                sf.count("*").alias("contacts"),
                sf.sum(sf.col("end") - sf.col("start")).alias("duration"),
                sf.max(sf.col("end") - sf.col("start")).alias("contact_max"),
                sf.max("gap").alias("inter_contact_max"),
                sf.coalesce(sf.sum("gap"), sf.lit(0.0)).alias("apart"),
                sf.min("start").alias("first"),
                sf.max("end").alias("last"),
            )
            .withColumns(
                {
                    "contact_mean": sf.col("duration") / sf.col("contacts"),
                    "inter_contact_mean": sf.when(sf.col("contacts") > 1, sf.col("apart") / (sf.col("contacts") - 1)),
                    "separations": many,
                    "separation": sf.when(many > 0, total / many).otherwise(0.0),
                }
            )
        )

    return measure


def closeness(sigma: float | None = None) -> Callable[[DataFrame], DataFrame]:
    """Add MOPS's closeness; without a σ it is the mean separation over all pairs here."""
    from pyspark.sql import functions as sf

    def add(statistics: DataFrame) -> DataFrame:
        if sigma is not None:
            known = statistics.withColumn("_sigma", sf.lit(float(sigma)))
        else:
            mean = statistics.agg(_mean("separation").alias("_sigma"))
            known = statistics.crossJoin(sf.broadcast(mean))
        ratio = sf.col("separation") / sf.col("_sigma")
        value = sf.when(sf.col("separation") == 0, 1.0).otherwise(sf.exp(-ratio * ratio / 2))
        return known.withColumn("closeness", value).drop("_sigma")

    return add


def categories(many: float | None = None, long: float | None = None) -> Callable[[DataFrame], DataFrame]:
    """Add the overlay paper's four categories."""
    from pyspark.sql import functions as sf

    def add(statistics: DataFrame) -> DataFrame:
        means = statistics.agg(_mean("contacts").alias("_many"), _mean("duration").alias("_long"))
        known = statistics.crossJoin(sf.broadcast(means))
        often = sf.col("contacts") > (sf.col("_many") if many is None else sf.lit(float(many)))
        lasting = sf.col("duration") > (sf.col("_long") if long is None else sf.lit(float(long)))
        category = (
            sf.when(often & lasting, "community")
            .when(often, "familiar stranger")
            .when(lasting, "friend")
            .otherwise("stranger")
        )
        return known.withColumn("category", category).drop("_many", "_long")

    return add


def inter_contacts(contacts: DataFrame) -> DataFrame:
    """Every time between two contacts of a pair (table ``inter_contacts``)."""
    from pyspark.sql import functions as sf

    return contacts.transform(_with_gap).where(sf.col("gap").isNotNull()).select("a", "b", sf.col("gap").alias("time"))


def _cut(window: tuple[float, float]) -> Callable[[DataFrame], DataFrame]:
    from pyspark.sql import functions as sf

    first, last = (sf.lit(float(edge)) for edge in window)
    return lambda contacts: contacts.where((sf.col("end") >= first) & (sf.col("start") <= last)).withColumns(
        {"start": sf.greatest("start", first), "end": sf.least("end", last)}
    )


def _with_gap(contacts: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    before = sf.lag("end").over(Window.partitionBy("a", "b").orderBy("start"))
    return contacts.withColumn("gap", sf.col("start") - before)


def _mean(column: str) -> Column:
    from pyspark.sql import functions as sf

    return sf.sum(sf.col(column).cast(_EXACT)).cast("double") / sf.count("*")


def binned(inter_contacts: DataFrame) -> DataFrame:
    """Inter-contact times to the bins of a power law: columns bin, times, logs (the sum of natural logarithms)."""
    from pyspark.sql import functions as sf

    number = sf.floor(sf.log10("time") * BINS_PER_DECADE).cast("int")
    # Decimals: the sum must not depend on the order of adding.
    logs = sf.sum(sf.log("time").cast("decimal(30,12)")).cast("double")
    return (
        inter_contacts.where(sf.col("time") > 0)
        .groupBy(number.alias("bin"))
        .agg(sf.count("*").alias("times"), logs.alias("logs"))
    )
