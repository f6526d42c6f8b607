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
    from pyspark.sql import Column, DataFrame

EDGES = ("both", "inner+trailing", "inner")
CATEGORIES = ("community", "familiar stranger", "friend", "stranger")
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


def pairs_of(
    contacts: DataFrame,
    window: tuple[float, float],
    *,
    edges: Literal["both", "inner+trailing", "inner"] = "both",
    sigma: float | None = None,
    many: float | None = None,
    long: float | None = None,
) -> DataFrame:
    """The table ``pairs`` of contacts in a window of time; see :class:`PairSettings` for what can be said.

    ``contacts`` has columns a, b, start, end: each pair in one order, its contacts disjoint (as stage 2 makes them).
    """
    chosen = PairSettings(window, edges, sigma, many, long)
    measured = _statistics(contacts_in(contacts, chosen.window), chosen.window, chosen.edges)
    return _with_category(_with_closeness(measured, chosen.sigma), chosen.many, chosen.long).select(*names("pairs"))


def span_of(contacts: DataFrame) -> tuple[float, float]:
    """The first start and the last end, found by a job: a window for who knows no better one."""
    from pyspark.sql import functions as sf

    first, last = contacts.agg(sf.min("start"), sf.max("end")).collect()[0]
    if first is None:
        raise ConfigurationError("the contact table is empty: it has no span")
    return float(first), float(last)


def inter_contacts_of(contacts: DataFrame) -> DataFrame:
    """Every time between two contacts of a pair (table ``inter_contacts``)."""
    from pyspark.sql import functions as sf

    return _with_gap(contacts).where(sf.col("gap").isNotNull()).select("a", "b", sf.col("gap").alias("time"))


def profiles_of(pairs: DataFrame) -> DataFrame:
    """Pairs to the table ``profiles``: of every device, how many of its pairs are in each category."""
    from pyspark.sql import functions as sf

    ends = pairs.select(sf.explode(sf.array("a", "b")).alias("node"), "category")
    counts = {name.replace(" ", "_"): sf.count_if(sf.col("category") == name) for name in CATEGORIES}
    return ends.groupBy("node").agg(*(count.alias(name) for name, count in counts.items())).select(*names("profiles"))


def bins_of(inter_contacts: DataFrame, *groups: str) -> DataFrame:
    """Inter-contact times to the bins of a power law: bin, times, logs (the sum of logarithms), for each group."""
    from pyspark.sql import functions as sf

    number = sf.floor(sf.log10("time") * BINS_PER_DECADE).cast("int")
    # Decimals: the sum must not depend on the order of adding.
    logs = sf.sum(sf.log("time").cast("decimal(30,12)")).cast("double")
    return (
        inter_contacts.where(sf.col("time") > 0)
        .groupBy(*groups, number.alias("bin"))
        .agg(sf.count("*").alias("times"), logs.alias("logs"))
    )


def contacts_in(contacts: DataFrame, window: tuple[float, float]) -> DataFrame:
    """What of these contacts lies in a window, cut at its edges (``Contacts.within``, for a table of any size)."""
    from pyspark.sql import functions as sf

    first, last = (sf.lit(float(edge)) for edge in window)
    return contacts.where((sf.col("end") >= first) & (sf.col("start") <= last)).select(
        "a", "b", sf.greatest("start", first).alias("start"), sf.least("end", last).alias("end")
    )


def exact_mean(column: str) -> Column:
    """The mean of a column, which does not depend on the order of adding."""
    from pyspark.sql import functions as sf

    return sf.sum(sf.col(column).cast(_EXACT)).cast("double") / sf.count("*")


def _statistics(inside: DataFrame, window: tuple[float, float], edges: str) -> DataFrame:
    """Counts and times of every pair that met in the window."""
    from pyspark.sql import functions as sf

    first, last = (sf.lit(float(edge)) for edge in window)
    leading = sf.when(sf.col("first") > first, sf.col("first") - first).otherwise(0.0)
    trailing = sf.when(sf.col("last") < last, last - sf.col("last")).otherwise(0.0)
    total, many = sf.col("apart"), sf.col("contacts") - 1
    if edges == "both":
        total, many = total + leading, many + (leading > 0).cast("bigint")
    if edges != "inner":
        total, many = total + trailing, many + (trailing > 0).cast("bigint")
    return (
        _with_gap(inside)
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


def _with_closeness(statistics: DataFrame, sigma: float | None) -> DataFrame:
    """Add MOPS's closeness; without a σ it is the mean separation over all pairs here."""
    from pyspark.sql import functions as sf

    if sigma is not None:
        known = statistics.withColumn("_sigma", sf.lit(float(sigma)))
    else:
        known = statistics.crossJoin(sf.broadcast(statistics.agg(exact_mean("separation").alias("_sigma"))))
    ratio = sf.col("separation") / sf.col("_sigma")
    value = sf.when(sf.col("separation") == 0, 1.0).otherwise(sf.exp(-ratio * ratio / 2))
    return known.withColumn("closeness", value).drop("_sigma")


def _with_category(statistics: DataFrame, many: float | None, long: float | None) -> DataFrame:
    """Add the overlay paper's four categories."""
    from pyspark.sql import functions as sf

    means = statistics.agg(exact_mean("contacts").alias("_many"), exact_mean("duration").alias("_long"))
    known = statistics.crossJoin(sf.broadcast(means))
    often = sf.col("contacts") > (sf.col("_many") if many is None else sf.lit(float(many)))
    lasting = sf.col("duration") > (sf.col("_long") if long is None else sf.lit(float(long)))
    community, familiar, friend, stranger = CATEGORIES
    category = sf.when(often & lasting, community).when(often, familiar).when(lasting, friend).otherwise(stranger)
    return known.withColumn("category", category).drop("_many", "_long")


def _with_gap(contacts: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    before = sf.lag("end").over(Window.partitionBy("a", "b").orderBy("start"))
    return contacts.withColumn("gap", sf.col("start") - before)
