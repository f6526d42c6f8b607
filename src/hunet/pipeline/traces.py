"""A trace where it lies: the folder of an import on a disk or at a URI, or any contact table that hunet reads.

``trace.json`` in the folder says what the trace is; its contacts are a folder of Parquet files, which Spark and Python
read alike. The fingerprint of the content is added up by Spark, row by row in any order, and is that of the table in
memory (``Contacts.fingerprint``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model import Contacts
from hunet.model.errors import InputError
from hunet.pipeline.schemas import names
from hunet.pipeline.storage import INCOMPLETE, Storage, is_uri, join, read_json

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MARKER = "trace.json"
_MICRO = 1_000_000
_FEW = 100_000
"""Contacts that are not worth much starting."""


class Facts(NamedTuple):
    """What is known of a table of contacts or of nodes without holding it."""

    rows: int = 0
    upper: int = 0
    """The sum of the upper halves of the rows' hashes."""
    lower: int = 0
    length: int = 0
    """Of contacts, the sum of their durations (microseconds)."""
    others: int = 0
    """Nodes that take no part."""

    @property
    def hashes(self) -> tuple[int, int, int]:
        """What the fingerprint is made of."""
        return self.rows, self.upper, self.lower

    @property
    def mean_duration(self) -> float:
        """Of contacts (s), to a microsecond."""
        return self.length / _MICRO / self.rows if self.rows else 0.0

    def plus(self, other: Facts) -> Facts:
        """Of both tables together, if they have no row in common."""
        return Facts(*(one + two for one, two in zip(self, other, strict=True)))


def measure_contacts(contacts: DataFrame) -> Facts:
    """Number, hashes and mean duration of contacts."""
    from pyspark.sql import functions as sf

    one, two = (sf.crc32(sf.col(name).cast("binary")) for name in "ab")
    hashed = sf.xxhash64(sf.least(one, two), sf.greatest(one, two), "start", "end")
    length = sf.round((sf.col("end") - sf.col("start")) * _MICRO).cast("bigint")
    found = contacts.select(hashed.alias("hash"), length.alias("length")).agg(*_sums(), sf.sum("length")).first()
    assert found is not None
    rows, upper, lower, total = found
    return Facts(rows, upper, lower, total or 0)


def measure_nodes(nodes: DataFrame) -> Facts:
    """Number and hashes of nodes, and how many have a fate because they take no part."""
    from pyspark.sql import functions as sf

    inside = sf.when(sf.col("fate").isNull(), sf.xxhash64(sf.crc32(sf.col("node").cast("binary"))))
    found = nodes.select(inside.alias("hash")).agg(*_sums(), sf.count("*")).first()
    assert found is not None
    rows, upper, lower, every = found
    return Facts(rows, upper, lower, others=every - rows)


def _sums() -> list[Column]:
    """The number of hashes, and the sums of their halves, which no order of adding changes."""
    from pyspark.sql import functions as sf

    upper, lower = sf.shiftrightunsigned("hash", 32), sf.col("hash").bitwiseAND(sf.lit(0xFFFFFFFF))
    return [sf.count("hash"), *(sf.coalesce(sf.sum(each), sf.lit(0)) for each in (upper, lower))]


def read_rows(spark: SparkSession, location: str | Path, description: dict[str, Any]) -> DataFrame:
    """The contacts of a trace that ``said`` is read of; of one that is followed, those that were there then."""
    storage = Storage(spark)
    contacts = storage.read_parquet(join(location, "contacts.parquet"))
    if "batch" not in description:
        return contacts.select(*names("contacts"))
    still = storage.read_parquet(join(location, f"open.parquet/slot={description['slot']}"))
    return contacts.where(contacts["batch"] <= description["batch"]).select(*names("contacts")).unionAll(still)


def read_nodes(spark: SparkSession, location: str | Path, description: dict[str, Any]) -> DataFrame:
    """The nodes of a trace, in the same way."""
    nodes = Storage(spark).read_parquet(join(location, "nodes.parquet"))
    return (nodes if "batch" not in description else nodes.where(nodes["batch"] <= description["batch"])).select("node")


def read_marker(spark: SparkSession, location: str | Path) -> dict[str, Any] | None:
    """What ``trace.json`` says; None if there is none; an import that did not come to its end is refused."""
    description = Storage(spark).read_json(join(location, MARKER))
    if description is not None and description.get("state") == INCOMPLETE:
        raise InputError(location, "the import did not come to its end: run it again")
    return description


def is_small(location: str | Path) -> bool:
    """Whether a trace of this machine is little, so that nothing large need be started for it; it must be there."""
    if is_uri(location):
        return False
    path = Path(location)
    if not path.exists():
        raise InputError(path, "no such file or folder")
    description = read_json(path / MARKER) if path.is_dir() else None
    return (
        description.get("contacts", _FEW + 1) <= _FEW
        if description
        else path.is_file() and path.stat().st_size <= 16 * _FEW
    )


def read_trace(location: str | Path, spark: SparkSession | None = None) -> Contacts:
    """Contacts from a path or a URI; the latter are read by Spark, which is started if it does not run."""
    from hunet.model.contact_files import contacts_from_arrow, read_contacts

    if not is_uri(location):
        return read_contacts(location)
    from hunet.pipeline.session import spark_errors, spark_session

    with spark_errors():
        spark = spark or spark_session()
        storage = Storage(spark)
        path = storage.local(location)
        if path is not None:
            return read_contacts(path)
        description = read_marker(spark, location)
        if description is None:
            raise InputError(location, "holds no trace: import a log with 'hunet trace import LOG -o URI'")
        rows = read_rows(spark, location, description).toArrow()
        nodes = read_nodes(spark, location, description).toArrow().column("node").to_pylist()
    facts = {key: description[key] for key in ("span", "origin", "about")}
    return contacts_from_arrow(rows, nodes=nodes, **facts)
