"""Stage 3: what every pair's contacts say of it.

Theory of operation. Within a window of time, a pair's contacts are cut to the window. Their *separations* are the
maximal intervals of the window without contact: between contacts, and at the window's edges before the first and after
the last (MOPS: its example fixes the trailing edge and leaves the leading one open; ``both`` is symmetric). A
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
    from collections.abc import Iterator

    import pyarrow as pa
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
    rows: int | None = None,
) -> DataFrame:
    """The table ``pairs`` of contacts in a window of time; see :class:`PairSettings` for what can be said.

    ``contacts`` has columns a, b, start, end: each pair in one order, its contacts disjoint (as stage 2 makes them).
    One task holds the contacts of its pairs in memory: with ``rows``, about how many contacts there are, tasks are made
    for a million each, and otherwise there are as many as ``spark.sql.shuffle.partitions`` says.
    """
    chosen = PairSettings(window, edges, sigma, many, long)
    inside = contacts_in(contacts, chosen.window)
    return _judged(_statistics(inside, chosen.window, chosen.edges, rows), chosen).select(*names("pairs"))


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


def _statistics(inside: DataFrame, window: tuple[float, float], edges: str, rows: int | None) -> DataFrame:
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
    parts = () if rows is None else (-(-rows // _ROWS_PER_PART),)
    return (
        inside.repartition(*parts, "a", "b")
        .mapInArrow(_measured, _MEASURED)
        .withColumns(
            {
                "contact_mean": sf.col("duration") / sf.col("contacts"),
                "inter_contact_mean": sf.when(sf.col("contacts") > 1, sf.col("apart") / (sf.col("contacts") - 1)),
                "separations": many,
                "separation": sf.when(many > 0, total / many).otherwise(0.0),
            }
        )
    )


def _measured(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The pairs of one part: one sort, then sums from each pair's first contact to the next pair's.

    Window functions do the same and take several times as long, because they compare names row by row.
    """
    import numpy as np
    import pyarrow as pa

    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    rows = pa.Table.from_batches(held)
    a, b = (rows.column(name).combine_chunks().dictionary_encode() for name in "ab")
    pair = a.indices.to_numpy().astype(np.int64) * len(b.dictionary) + b.indices.to_numpy()
    start, end = rows.column("start").to_numpy(), rows.column("end").to_numpy()
    order = np.lexsort((start, pair))
    pair, start, end = pair[order], start[order], end[order]
    new = np.append(True, pair[1:] != pair[:-1])
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], len(pair))
    length, gap = end - start, np.append(0.0, start[1:] - end[:-1])
    longest = np.maximum.reduceat(np.where(new, -np.inf, gap), begins)
    gap[new] = 0.0
    many = ends - begins
    columns = [
        *(column.dictionary.take(column.indices.take(pa.array(order[begins]))) for column in (a, b)),
        pa.array(many),
        pa.array(np.add.reduceat(length, begins)),
        pa.array(np.maximum.reduceat(length, begins)),
        pa.array(longest, mask=many == 1),
        pa.array(np.add.reduceat(gap, begins)),
        pa.array(start[begins]),
        pa.array(np.maximum.reduceat(end, begins)),
    ]
    table = pa.table(columns, names=[field.split()[0] for field in _MEASURED.split(", ")])
    yield from table.to_batches(max_chunksize=1 << 17)


_MEASURED = (
    "a string, b string, contacts bigint, duration double, contact_max double, inter_contact_max double, "
    "apart double, first double, last double"
)
_ROWS_PER_PART = 1 << 20


def _judged(statistics: DataFrame, settings: PairSettings) -> DataFrame:
    """Add MOPS's closeness and the overlay paper's four categories; what is not set is the mean over all pairs here."""
    from pyspark.sql import functions as sf

    of_all = {"sigma": "separation", "many": "contacts", "long": "duration"}
    missing = {name: column for name, column in of_all.items() if getattr(settings, name) is None}
    if missing:
        means = statistics.agg(*(exact_mean(column).alias(f"_{name}") for name, column in missing.items()))
        statistics = statistics.crossJoin(sf.broadcast(means))
    sigma, many, long = (
        sf.col(f"_{name}") if name in missing else sf.lit(float(getattr(settings, name))) for name in of_all
    )
    ratio = sf.col("separation") / sigma
    closeness = sf.when(sf.col("separation") == 0, 1.0).otherwise(sf.exp(-ratio * ratio / 2))
    often, lasting = sf.col("contacts") > many, sf.col("duration") > long
    community, familiar, friend, stranger = CATEGORIES
    category = sf.when(often & lasting, community).when(often, familiar).when(lasting, friend).otherwise(stranger)
    return statistics.withColumns({"closeness": closeness, "category": category})


def _with_gap(contacts: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    before = sf.lag("end").over(Window.partitionBy("a", "b").orderBy("start"))
    return contacts.withColumn("gap", sf.col("start") - before)
