"""Stages 3 and 4 as acts: the contacts of an import or of a contact table become folders of tables.

``pairs.parquet``, ``inter_contacts.parquet`` and ``pairs.json`` for stage 3; ``edges``, ``nodes``, ``hops``,
``communities`` and ``windows`` (all ``.parquet``) and ``graph.json`` for stage 4. The JSON says what was measured,
by which settings, and the figures that people quote.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.graphs.power_law import fit_power_law
from hunet.model.files import folder_in_place
from hunet.pipeline.pairs import PairSettings, binned, inter_contacts, pairs
from hunet.pipeline.session import scratch_folder
from hunet.pipeline.social_graph import (
    GraphSettings,
    communities,
    contact_graph,
    hop_distribution,
    node_measures,
    windows_of,
)
from hunet.pipeline.storage import Storage, join
from hunet.pipeline.tables import refuse_foreign, save_table, write_json
from hunet.pipeline.traces import read_marker, read_trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    storage = Storage(spark)
    said = read_marker(spark, location)
    if said is None:  # a table in another form: bring it into ours, beside Spark's own files
        from hunet.model.contact_files import write_contacts

        contacts = read_trace(location, spark)
        file = Path(tempfile.mkdtemp(prefix="contacts-", dir=scratch_folder())) / "contacts.parquet"
        write_contacts(contacts, file)
        table, said = str(file), {"span": contacts.span, "contacts": len(contacts), "fingerprint": contacts.fingerprint}
    else:
        table = join(location, "contacts.parquet")
    rows = spark.read.parquet(storage.uri(table)).select("a", "b", "start", "end")
    return Trace(rows, said["contacts"], (said["span"][0], said["span"][1]), said["fingerprint"])


def analyse_pairs(
    trace: Trace, out: Path, settings: PairSettings, fit: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Write stage 3 to a folder; ``fit`` is the range of the power law, else the widest that fits is found."""
    from pyspark.sql import functions as sf

    name = {"kind": "pairs", "trace": trace.sha256, "settings": {**asdict(settings), "fit": fit}}
    refuse_foreign(out, "pairs.json", lambda said: None if said.get("kind") == "pairs" else "holds something else")
    measured = trace.contacts.transform(pairs(settings)).persist()
    gaps = trace.contacts.transform(inter_contacts).persist()
    try:
        with folder_in_place(out) as place:
            many, _ = save_table(measured, ["a", "b"], place / "pairs.parquet", most=trace.rows)
            save_table(gaps, ["a", "b", "time"], place / "inter_contacts.parquet", most=trace.rows)
            bins = binned(gaps).orderBy("bin").toArrow()
            number, times, logs = (bins.column(name).to_numpy() for name in ("bin", "times", "logs"))
            law = fit_power_law(number, times, logs, fit)
            counts = measured.groupBy("category").agg(sf.count("*").alias("pairs")).collect()
            exact = sf.sum(sf.col("separation").cast("decimal(32,6)")).cast("double") / sf.count("*")
            sigma = measured.agg(exact).first()
            said = {
                **name,
                "pairs": many,
                "sigma": settings.sigma if settings.sigma is not None else (sigma[0] if sigma else None),
                "categories": {
                    row["category"]: row["pairs"] for row in sorted(counts, key=lambda row: row["category"])
                },
                "inter_contact_times": sum(bins.column("times").to_pylist()),
                "power_law": law._asdict() if law else None,
            }
            write_json(place / "pairs.json", said)
    finally:
        measured.unpersist()
        gaps.unpersist()
    return said


def analyse_graph(trace: Trace, out: Path, settings: GraphSettings) -> dict[str, Any]:
    """Write stage 4 to a folder."""
    name = {"kind": "graph", "trace": trace.sha256, "settings": asdict(settings)}
    refuse_foreign(out, "graph.json", lambda said: None if said.get("kind") == "graph" else "holds something else")
    edges = trace.contacts.transform(contact_graph(settings)).persist()
    nodes = edges.transform(node_measures(settings)).persist()
    hops = edges.transform(hop_distribution).persist()
    found = edges.transform(communities(settings)).persist()
    try:
        with folder_in_place(out) as place:
            most = 2 * edges.count()
            save_table(edges, ["window", "a", "b"], place / "edges.parquet", most=most)
            save_table(nodes, ["window", "node"], place / "nodes.parquet", most=most)
            save_table(hops, ["window", "hops"], place / "hops.parquet", most=most)
            order = ["window", "method", "community", "node"]
            save_table(found, order, place / "communities.parquet", most=most * len(settings.methods))
            windows = windows_of(settings, edges, nodes, hops)
            save_table(windows, ["window"], place / "windows.parquet", most=len(settings.windows()))
            said = {**name, **_first_window(place)}
            write_json(place / "graph.json", said)
    finally:
        for table in (edges, nodes, hops, found):
            table.unpersist()
    return said


def _first_window(folder: Path) -> dict[str, Any]:
    """What people quote: the figures of the first window, which is the whole trace unless windows slide."""
    import pyarrow.parquet as pq

    windows = pq.read_table(folder / "windows.parquet").to_pylist()
    said: dict[str, Any] = {"windows": len(windows), **{k: v for k, v in windows[0].items() if k != "window"}}
    rows = [row for row in pq.read_table(folder / "communities.parquet").to_pylist() if row["window"] == 0]
    sizes: dict[str, list[int]] = {}
    for row in rows:
        counts = sizes.setdefault(row["method"], [])
        counts.extend([0] * (row["community"] + 1 - len(counts)))
        counts[row["community"]] += 1
    said["communities"] = sizes
    said["modularity"] = {row["method"]: row["modularity"] for row in rows if row["modularity"] is not None}
    beyond = windows[0]["edges"] > 0 and not rows and bool(windows[0]["hops_mean"] is None)
    said["beyond_one_task"] = beyond
    return said
