"""Stages 3 and 4 as acts: the contacts of an import or of a contact table become folders of tables.

``pairs``, ``inter_contacts``, ``profiles`` and ``laws`` (all ``.parquet``) and ``pairs.json`` for stage 3; ``edges``,
``nodes``, ``hops``, ``communities`` and ``windows`` and ``graph.json`` for stage 4. The JSON says what was measured, by
which settings, and the figures that people quote.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.graphs.power_law import PowerLaw, fit_power_law
from hunet.model.contacts import natural_order
from hunet.model.errors import ConfigurationError
from hunet.model.files import folder_in_place
from hunet.pipeline.communities import chosen_methods, closeness_of, found_by_devices, gateways_of, members_of
from hunet.pipeline.pairs import PairSettings, bins_of, exact_mean, inter_contacts_of, pairs_of, profiles_of
from hunet.pipeline.schemas import ddl
from hunet.pipeline.social_graph import GraphSettings, communities_of, graph_of, nodes_of, paths_of, windows_of
from hunet.pipeline.tables import refuse_foreign, save_table, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


class Trace(NamedTuple):
    """A contact table on disk, of which Spark reads the rows and nobody holds them all."""

    contacts: DataFrame
    """The table ``contacts``."""
    rows: int
    span: tuple[float, float]
    sha256: str
    """Of the file, to tell what was measured."""


def open_trace(spark: SparkSession, path: Path) -> Trace:
    """The folder of an import, or any contact table that hunet reads."""
    import pyarrow.parquet as pq

    file = path / "contacts.parquet" if path.is_dir() else path
    said = _said_of(file)
    if said is None or "span" not in said:  # a table in another form: bring it into ours, beside Spark's own files
        from hunet.model.contact_files import read_contacts, write_contacts

        contacts = read_contacts(path)
        scratch = spark.conf.get("spark.hunet.scratch")
        file = Path(tempfile.mkdtemp(prefix="contacts-", dir=scratch)) / "contacts.parquet"
        write_contacts(contacts, file)
        said = {"span": contacts.span}
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    table = spark.read.parquet(file.absolute().as_uri()).select("a", "b", "start", "end")
    return Trace(table, pq.read_metadata(file).num_rows, (said["span"][0], said["span"][1]), digest)


def _said_of(file: Path) -> dict[str, Any] | None:
    """What our own Parquet files say of themselves."""
    import pyarrow.parquet as pq

    if file.suffix != ".parquet" or not file.is_file():
        return None
    said: dict[str, Any] = json.loads((pq.read_schema(file).metadata or {}).get(b"hunet.contacts", b"{}"))
    return said


def analyse_pairs(
    trace: Trace,
    out: Path,
    settings: PairSettings,
    fit: tuple[float, float] | None = None,
    communities: DataFrame | None = None,
) -> dict[str, Any]:
    """Write stage 3 to a folder; ``fit`` is the range of the power law, else the widest that fits is found.

    ``communities`` (columns community and node) adds the inter-contact laws inside and between communities.
    """
    from pyspark.sql import functions as sf

    name = {"kind": "pairs", "trace": trace.sha256, "settings": {**asdict(settings), "fit": fit}}
    refuse_foreign(out, "pairs.json", lambda said: None if said.get("kind") == "pairs" else "holds something else")
    measured = pairs_of(trace.contacts, **asdict(settings)).persist()
    gaps = inter_contacts_of(trace.contacts).persist()
    try:
        with folder_in_place(out) as place:
            many, _ = save_table(measured, ["a", "b"], place / "pairs.parquet", most=trace.rows)
            save_table(gaps, ["a", "b", "time"], place / "inter_contacts.parquet", most=trace.rows)
            save_table(profiles_of(measured), ["node"], place / "profiles.parquet", most=2 * many)
            laws = _laws(gaps, measured, communities, fit)
            table = trace.contacts.sparkSession.createDataFrame([_law_row(*law) for law in laws], ddl("laws"))
            save_table(table, ["by", "group"], place / "laws.parquet", most=len(laws))
            counts = measured.groupBy("category").agg(sf.count("*").alias("pairs")).collect()
            sigma = measured.agg(exact_mean("separation")).first()
            (_, _, times, law), *_ = laws
            said = {
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
            write_json(place / "pairs.json", said)
    finally:
        measured.unpersist()
        gaps.unpersist()
    return said


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


def analyse_graph(trace: Trace, out: Path, settings: GraphSettings) -> dict[str, Any]:
    """Write stage 4 to a folder."""
    name = {"kind": "graph", "trace": trace.sha256, "settings": asdict(settings)}
    refuse_foreign(out, "graph.json", lambda said: None if said.get("kind") == "graph" else "holds something else")
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
    hops = paths.hops.persist()
    found = communities_of(edges, settings.methods, k=settings.k, weight=settings.weight, **approximate).persist()
    try:
        with folder_in_place(out) as place:
            most = 2 * edges.count()
            save_table(edges, ["window", "a", "b"], place / "edges.parquet", most=most)
            save_table(nodes, ["window", "node"], place / "nodes.parquet", most=most)
            save_table(hops, ["window", "hops"], place / "hops.parquet", most=most)
            order = ["window", "method", "community", "node"]
            save_table(found, order, place / "communities.parquet", most=most * len(settings.methods))
            windows = windows_of(settings.windows(), edges, nodes, paths)
            save_table(windows, ["window"], place / "windows.parquet", most=len(settings.windows()))
            said = {**name, **_first_window(windows, found, len(settings.windows()))}
            write_json(place / "graph.json", said)
    finally:
        for table in (edges, nodes, hops, found):
            table.unpersist()
    return said


def _first_window(windows: DataFrame, communities: DataFrame, many: int) -> dict[str, Any]:
    """What people quote: the figures of the first window, which is the whole trace unless windows slide."""
    from pyspark.sql import functions as sf

    first = windows.where("window = 0").drop("window").collect()[0].asDict()
    here = communities.where("window = 0")
    sizes = here.groupBy("method", "community").agg(
        sf.count("*").alias("size"), sf.first("modularity").alias("quality")
    )
    sizes = sizes.persist()
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
    trace: Trace, out: Path, window: tuple[float, float], methods: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Write the communities that devices find in a window to a folder, which runs take as ``communities=``."""
    from pyspark.sql import functions as sf

    if window[0] >= window[1]:
        raise ConfigurationError(f"the window from {window[0]:g} to {window[1]:g} s has no length")
    settings = chosen_methods(methods)
    name = {"kind": "communities", "trace": trace.sha256, "window": window, "settings": settings}
    refuse_foreign(
        out, "communities.json", lambda said: None if said.get("kind") == "communities" else "holds something else"
    )
    found = found_by_devices(trace.contacts, window, methods).persist()
    try:
        with folder_in_place(out) as place:
            members = members_of(found)
            save_table(members, ["method", "community", "node"], place / "communities.parquet", most=trace.rows)
            save_table(closeness_of(found), ["a", "b"], place / "closeness.parquet", most=trace.rows)
            order = ["method", "community", "other", "node"]
            save_table(gateways_of(found), order, place / "gateways.parquet", most=trace.rows)
            sizes = members.groupBy("method", "community").agg(
                sf.count("*").alias("size"), sf.count_if("broker").alias("brokers")
            )
            figures = (
                sizes.groupBy("method")
                .agg(
                    sf.count_if(sf.col("size") > 1).alias("communities"),
                    sf.max("size").alias("largest"),
                    sf.sum("brokers").alias("brokers"),
                    sf.sum(sf.when(sf.col("size") > 1, sf.col("size")).otherwise(0)).alias("members"),
                )
                .collect()
            )
            counted = {row["method"]: {key: row[key] for key in row.asDict() if key != "method"} for row in figures}
            nothing = {"communities": 0, "largest": 0, "brokers": 0, "members": 0}
            said = {**name, "found": {method: counted.get(method, nothing) for method in settings}}
            write_json(place / "communities.json", said)
    finally:
        found.unpersist()
    return said
