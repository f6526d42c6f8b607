"""Stages 3 and 4 as acts: the contacts of an import or of a contact table become folders of tables.

``pairs``, ``inter_contacts``, ``profiles`` and ``laws`` (all ``.parquet``) and ``pairs.json`` for stage 3; ``edges``,
``nodes``, ``hops``, ``communities`` and ``windows`` and ``graph.json`` for stage 4. The JSON says what was measured, by
which settings, and the figures that people quote.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.graphs.power_law import PowerLaw, fit_power_law
from hunet.model.contacts import natural_order
from hunet.model.errors import ConfigurationError, InputError
from hunet.pipeline.communities import chosen_methods, closeness_of, found_by_devices, gateways_of, members_of
from hunet.pipeline.pairs import PairSettings, bins_of, exact_mean, inter_contacts_of, pairs_of, profiles_of
from hunet.pipeline.schemas import ddl
from hunet.pipeline.session import is_connect, scratch_folder
from hunet.pipeline.social_graph import GraphSettings, communities_of, graph_of, nodes_of, paths_of, windows_of
from hunet.pipeline.storage import Storage, join
from hunet.pipeline.traces import read_marker, read_rows, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from hunet.model import Contacts


class Trace(NamedTuple):
    """A contact table on disk, of which Spark reads the rows and nobody holds them all."""

    contacts: DataFrame
    """The table ``contacts``."""
    rows: int
    span: tuple[float, float]
    sha256: str
    """The fingerprint of its content, to tell what was measured."""


def open_trace(spark: SparkSession, location: str | Path) -> Trace:
    """The folder of an import, on a disk or at a URI, or any contact table that hunet reads."""
    description = read_marker(spark, location)
    if description is None:  # a table in another form, which the driver reads
        contacts = read_trace(location, spark)
        return Trace(_handed_over(spark, contacts), len(contacts), contacts.span, contacts.fingerprint)
    first, last = description["span"]
    return Trace(
        read_rows(spark, location, description), description["contacts"], (first, last), description["fingerprint"]
    )


def open_communities(spark: SparkSession, location: str | Path, method: str | None = None) -> DataFrame:
    """The communities in a folder of stage 4, in its first window: columns community and node.

    Without a method there must be one alone, or the one that comes first by name is taken.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sf

    try:
        table = Storage(spark).read_parquet(join(location, "communities.parquet"))
    except AnalysisException:
        raise InputError(location, "has no communities.parquet: make it with 'hunet trace communities'") from None
    if "window" in table.columns:
        table = table.where("window = 0")
    known = [row[0] for row in table.select("method").distinct().orderBy("method").collect()]
    if method is not None and method not in known:
        raise InputError(location, f"has no communities by '{method}' (it has: {', '.join(known) or 'none'})")
    chosen = method or next(iter(known), "")
    return table.where(sf.col("method") == chosen).select("community", "node")


def analyse_pairs(
    trace: Trace,
    out: str | Path,
    settings: PairSettings,
    fit: tuple[float, float] | None = None,
    communities: DataFrame | None = None,
) -> dict[str, Any]:
    """Write stage 3 to a folder; ``fit`` is the range of the power law, else the widest that fits is found.

    ``communities`` (columns community and node) adds the inter-contact laws inside and between communities.
    """
    from pyspark.sql import functions as sf

    name = {"kind": "pairs", "trace": trace.sha256, "settings": {**asdict(settings), "fit": fit}}
    measured = pairs_of(trace.contacts, **asdict(settings), rows=trace.rows).persist()
    gaps = inter_contacts_of(trace.contacts).persist()
    try:
        with _results(trace, out, "pairs") as folder:
            many = measured.count()
            folder.save("pairs", measured, ["a", "b"], many)
            folder.save("inter_contacts", gaps, ["a", "b", "time"], trace.rows)
            folder.save("profiles", profiles_of(measured), ["node"], 2 * many)
            laws = _laws(gaps, measured, communities, fit)
            table = trace.contacts.sparkSession.createDataFrame([_law_row(*law) for law in laws], ddl("laws"))
            folder.save("laws", table, ["by", "group"], len(laws))
            counts = measured.groupBy("category").agg(sf.count("*").alias("pairs")).collect()
            sigma = measured.agg(exact_mean("separation")).first()
            (_, _, times, law), *_ = laws
            facts = {
                **name,
                "pairs": many,
                "sigma": settings.sigma if settings.sigma is not None else (sigma[0] if sigma else None),
                "categories": {
                    row["category"]: row["pairs"] for row in sorted(counts, key=lambda row: row["category"])
                },
                "inter_contact_times": times,
                "power_law": law._asdict() if law else None,
                "power_law_by": {
                    by: {group: law._asdict() if law else None for each, group, _, law in laws if each == by}
                    for by in dict.fromkeys(by for by, *_ in laws[1:])
                },
            }
            folder.finish(facts)
    finally:
        measured.unpersist()
        gaps.unpersist()
    return facts


_MOST_COMMUNITIES = 20
"""The largest communities have a law of their own."""
_MOST_SIZES = 1000
"""Of so many communities the sizes are told; the table has all."""
Law = tuple[str, str, int, PowerLaw | None]
"""(all, category or community; which; inter-contact times; the law)"""


def _laws(
    gaps: DataFrame, pairs: DataFrame, communities: DataFrame | None, fit: tuple[float, float] | None
) -> list[Law]:
    """The power laws of all pairs, and of the pairs of each category and community."""
    from pyspark.sql import functions as sf

    known = gaps.join(pairs.select("a", "b", "category"), ["a", "b"], "left")
    laws: list[Law] = [("all", "all", *_fit(bins_of(gaps), fit)[""])]
    by_category = _fit(bins_of(known.where("category is not null"), "category"), fit, "category")
    laws += [("category", name, *found) for name, found in sorted(by_category.items())]
    if communities is not None:
        ends = communities.select("node", "community").distinct()
        one = ends.select(sf.col("node").alias("a"), "community")
        two = ends.select(sf.col("node").alias("b"), "community")
        inside = gaps.select("a", "b").distinct().join(one, "a").join(two, ["b", "community"])
        placed = gaps.join(inside, ["a", "b"], "left")
        group = sf.coalesce(sf.col("community").cast("string"), sf.lit("between"))
        shown = placed.where(sf.col("community").isNull() | (sf.col("community") < _MOST_COMMUNITIES))
        by_community = _fit(bins_of(shown.withColumn("group", group), "group"), fit, "group")
        laws += [("community", name, *by_community[name]) for name in sorted(by_community, key=natural_order)]
    return laws


def _fit(
    bins: DataFrame, fit: tuple[float, float] | None, group: str | None = None
) -> dict[str, tuple[int, PowerLaw | None]]:
    """The number of times and the power law of each group; a few thousand rows at most are brought here."""
    import numpy as np

    rows = bins.collect()
    by_group: dict[str, list[Any]] = {} if group else {"": rows}
    for row in rows if group else ():
        by_group.setdefault(row[group], []).append(row)
    found = {}
    for name, held in by_group.items():
        held.sort(key=lambda row: row["bin"])
        number, times, logs = (np.array([row[key] for row in held]) for key in ("bin", "times", "logs"))
        found[name] = (int(times.sum()), fit_power_law(number, times, logs, fit))
    return found


def _law_row(by: str, group: str, times: int, law: PowerLaw | None) -> tuple[Any, ...]:
    figures = (law.alpha, law.low, law.high, law.share, law.distance) if law else (None,) * 5
    return (by, group, times, *figures)


def analyse_graph(trace: Trace, out: str | Path, settings: GraphSettings) -> dict[str, Any]:
    """Write stage 4 to a folder."""
    with _results(trace, out, "graph") as folder:
        edges = graph_of(
            trace.contacts,
            settings.span,
            length=settings.length,
            step=settings.step,
            least_contacts=settings.least_contacts,
            least_duration=settings.least_duration,
        ).persist()
        approximate = {"approximate": settings.approximate}
        paths = paths_of(edges, **approximate)
        nodes = nodes_of(edges, paths, weight=settings.weight).persist()
        found = communities_of(edges, settings.methods, k=settings.k, weight=settings.weight, **approximate).persist()
        windows = settings.windows()
        try:
            folder.save("edges", edges, ["window", "a", "b"], edges.count())
            folder.save("nodes", nodes, ["window", "node"], nodes.count())
            folder.save("hops", paths.hops, ["window", "hops"], len(windows))
            folder.save("communities", found, ["window", "method", "community", "node"], found.count())
            table = windows_of(windows, edges, nodes, paths).persist()
            folder.save("windows", table, ["window"], len(windows))
            facts = {
                "kind": "graph",
                "trace": trace.sha256,
                "settings": asdict(settings),
                **_first_window(table, found, len(windows)),
            }
            table.unpersist()
        finally:
            for each in (edges, nodes, found):
                each.unpersist()
        folder.finish(facts)
    return facts


def _first_window(windows: DataFrame, communities: DataFrame, many: int) -> dict[str, Any]:
    """What people quote: the figures of the first window, which is the whole trace unless windows slide."""
    from pyspark.sql import functions as sf

    first = windows.where("window = 0").drop("window").collect()[0].asDict()
    sizes = (
        communities.where("window = 0")
        .groupBy("method", "community")
        .agg(sf.count("*").alias("size"), sf.first("modularity").alias("quality"))
        .persist()
    )
    largest = sizes.where(sf.col("community") < _MOST_SIZES).orderBy("method", "community").collect()
    counts = sizes.groupBy("method").agg(sf.count("*").alias("many"), sf.first("quality").alias("quality")).collect()
    sizes.unpersist()
    return {
        "windows": many,
        **first,
        "communities": {
            row["method"]: [each["size"] for each in largest if each["method"] == row["method"]] for row in counts
        },
        "communities_found": {row["method"]: row["many"] for row in counts},
        "modularity": {row["method"]: row["quality"] for row in counts if row["quality"] is not None},
    }


def analyse_communities(
    trace: Trace, out: str | Path, window: tuple[float, float], methods: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Write the communities that devices find in a window to a folder, which runs take as ``communities=``."""
    from pyspark.sql import functions as sf

    if window[0] >= window[1]:
        raise ConfigurationError(f"the window from {window[0]:g} to {window[1]:g} s has no length")
    settings = chosen_methods(methods)
    found = found_by_devices(trace.contacts, window, methods).persist()
    try:
        with _results(trace, out, "communities") as folder:
            most, members = found.count(), members_of(found)
            folder.save("communities", members, ["method", "community", "node"], most)
            folder.save("closeness", closeness_of(found), ["a", "b"], most)
            folder.save("gateways", gateways_of(found), ["method", "community", "other", "node"], most)
            sizes = members.groupBy("method", "community").agg(
                sf.count("*").alias("size"), sf.count_if("broker").alias("brokers")
            )
            figures = sizes.groupBy("method").agg(
                sf.count_if(sf.col("size") > 1).alias("communities"),
                sf.max("size").alias("largest"),
                sf.sum("brokers").alias("brokers"),
                sf.sum(sf.when(sf.col("size") > 1, sf.col("size")).otherwise(0)).alias("members"),
            )
            counted = {row["method"]: row.asDict() for row in figures.collect()}
            facts = {
                "kind": "communities",
                "trace": trace.sha256,
                "window": window,
                "settings": settings,
                "found": {
                    method: {key: counted.get(method, {}).get(key, 0) for key in figures.columns[1:]}
                    for method in settings
                },
            }
            folder.finish(facts)
    finally:
        found.unpersist()
    return facts


class _Folder(NamedTuple):
    """A folder of results while it is written."""

    storage: Storage
    folder: str
    marker: str

    def save(self, name: str, table: DataFrame, order: list[str], rows: int) -> None:
        self.storage.save_table(table, order, join(self.folder, f"{name}.parquet"), rows=rows)

    def finish(self, facts: dict[str, Any]) -> None:
        self.storage.write_json(join(self.folder, self.marker), facts)


def of_kind(kind: str) -> Callable[[dict[str, Any]], str | None]:
    """What is foreign in a folder, by its marker, for a stage that writes this kind of results."""
    return lambda description: None if description.get("kind") == kind else "holds something else"


@contextmanager
def _results(trace: Trace, out: str | Path, kind: str) -> Iterator[_Folder]:
    storage, marker = Storage(trace.contacts.sparkSession), f"{kind}.json"
    storage.refuse_foreign(out, marker, of_kind(kind))
    with storage.result_folder(out, marker, kind) as path:
        yield _Folder(storage, path, marker)


def _handed_over(spark: SparkSession, contacts: Contacts) -> DataFrame:
    """Contacts that the driver holds, as a table of the session."""
    import pyarrow as pa

    from hunet.model.contact_files import write_contacts

    # Locally everybody sees the driver's disk.
    if not is_connect(spark) and (spark.conf.get("spark.master", "") or "").startswith("local"):
        file = Path(tempfile.mkdtemp(prefix="contacts-", dir=scratch_folder())) / "contacts.parquet"
        write_contacts(contacts, file)
        return spark.read.parquet(file.as_uri()).select("a", "b", "start", "end")
    names = pa.array(contacts.names, pa.string())
    columns = {"a": names.take(pa.array(contacts.a)), "b": names.take(pa.array(contacts.b))}
    return spark.createDataFrame(pa.table({**columns, "start": contacts.start, "end": contacts.end}))
