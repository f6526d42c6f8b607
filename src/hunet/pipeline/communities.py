"""Stage 4, as devices see it: the communities, brokers and gateways that the systems themselves find on a trace.

What a device finds follows from the order of its meetings, so that a method needs the contacts of the whole window in
one task; the methods run beside each other, one task each. They are those of the systems (``hunet.systems.FINDERS``),
the same functions that a run calls which is given no communities: their tables give runs the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model.contacts import Contacts, natural_order
from hunet.model.errors import ConfigurationError, did_you_mean
from hunet.model.parameters import from_mapping
from hunet.pipeline.pairs import contacts_in
from hunet.pipeline.schemas import ddl, names
from hunet.systems import FINDERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from hunet.model.community_files import Findings

Methods = dict[str, dict[str, Any]]
"""What each method is given beside its defaults."""


def chosen_methods(given: Mapping[str, Mapping[str, Any]]) -> Methods:
    """All settings on which the communities of each method depend; no methods are all methods."""
    chosen: Methods = {}
    for method in given or FINDERS:
        if method not in FINDERS:
            raise ConfigurationError(f"no method '{method}': {did_you_mean(method, FINDERS)}")
        finder = FINDERS[method]
        for name in given.get(method, {}):
            if name not in finder.fields:
                hint = did_you_mean(name, finder.fields)
                raise ConfigurationError(f"communities by {method} have no parameter '{name}': {hint}")
        values = msgspec.to_builtins(from_mapping(finder.parameters, given.get(method, {})))
        chosen[method] = {name: values[name] for name in finder.fields}
    return chosen


def found_by_devices(
    contacts: DataFrame, window: tuple[float, float], methods: Mapping[str, Mapping[str, Any]] | None = None
) -> DataFrame:
    """Contacts in a window of time to the table ``found``, by some methods with their parameters, or by all.

    :func:`members_of`, :func:`closeness_of` and :func:`gateways_of` take it apart.
    """
    from pyspark.sql import functions as sf

    chosen = chosen_methods(methods or {})

    def find(table: pa.Table) -> pa.Table:
        method = table.column("method")[0].as_py()
        return _found(method, chosen[method], table, window)

    named = sf.explode(sf.array(*map(sf.lit, chosen)))
    inside = contacts_in(contacts, window).withColumn("method", named)
    return inside.groupBy("method").applyInArrow(find, ddl("found"))


def members_of(found: DataFrame) -> DataFrame:
    """The table ``members``."""
    return found.where("part = 'member'").select(*names("members"))


def closeness_of(found: DataFrame) -> DataFrame:
    """The table ``closeness``."""
    from pyspark.sql import functions as sf

    pair = (sf.col("node").alias("a"), sf.col("peer").alias("b"), sf.col("value").alias("closeness"))
    return found.where("part = 'link'").select(*pair)


def gateways_of(found: DataFrame) -> DataFrame:
    """The table ``gateways``."""
    return found.where("part = 'gateway'").withColumnRenamed("value", "betweenness").select(*names("gateways"))


def _found(method: str, given: Mapping[str, Any], table: pa.Table, window: tuple[float, float]) -> pa.Table:
    """One method on the contacts of one task."""
    import pyarrow as pa

    finder = FINDERS[method]
    contacts = _contacts(table, window)
    rows = _rows(method, contacts.names, finder.find(contacts, from_mapping(finder.parameters, given)))
    kinds = {"string": pa.string(), "int": pa.int32(), "boolean": pa.bool_(), "double": pa.float64()}
    columns = [field.split() for field in ddl("found").split(", ")]
    return pa.table({name: pa.array([row.get(name) for row in rows], kinds[kind]) for name, kind in columns})


def _contacts(table: pa.Table, window: tuple[float, float]) -> Contacts:
    import numpy as np
    import pyarrow as pa

    both = pa.chunked_array([*table.column("a").chunks, *table.column("b").chunks], pa.string())
    coded = both.combine_chunks().dictionary_encode()
    seen = coded.dictionary.to_pylist()
    people = sorted(seen, key=natural_order)
    rank = {name: node for node, name in enumerate(people)}
    numbers = np.array([rank[name] for name in seen], np.int32)[coded.indices.to_numpy()]
    start, end = (table.column(name).to_numpy() for name in ("start", "end"))
    half = len(numbers) // 2
    return Contacts.from_arrays(people, numbers[:half], numbers[half:], start, end, span=window)


def _rows(method: str, people: tuple[str, ...], found: Findings) -> list[dict[str, Any]]:
    rows = [{"part": "member", "method": method, **each._asdict()} for each in found.members]
    rows += [{"part": "gateway", "method": method, **each._asdict()} for each in found.gateways]
    for row in rows:
        row["node"] = people[row["node"]]
        row["value"] = row.pop("betweenness", None)
    rows += [
        {"part": "link", "method": method, "node": people[one], "peer": people[two], "value": closeness}
        for one, two, closeness in found.closeness
    ]
    return rows
