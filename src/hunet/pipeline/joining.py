"""The heart of stage 2: the sightings of a pair, put in order, become its contacts.

Spark brings all rows of a pair into one partition (``repartition`` by the pair), and NumPy works through a partition at
once: one sort, a running maximum of the ends, a cut wherever a start is more than ``gap`` after it. Window functions do
the same and take half as long again, because they sort and compare rows one by one.

What comes out of a partition (table ``joined``): one row a contact; one for each record that is part of none, with its
fate; one with the number of lines that are no records, for each kind; and one for each node that the partition has met,
with the fate ``node``. All that is asked of an import afterwards can be answered from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hunet.pipeline.quality import COUNTED
from hunet.pipeline.schemas import ddl, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]
    Flags = NDArray[np.bool_]

BYTES_PER_PARTITION = 24 << 20
"""Of the input, about a million lines: what one task joins in memory."""


def join_sightings(gap: float, partitions: int | None = None) -> Callable[[DataFrame], DataFrame]:
    """Rows of the table ``checked`` to the table ``joined``; Spark chooses the partitions if nobody says how many."""

    def join(checked: DataFrame) -> DataFrame:
        keyed = checked.withColumns(_pair_keys()).select(*names("keyed"))
        if partitions is None:
            spread = keyed.repartition("pair", "spelled")
        else:
            spread = keyed.coalesce(1) if partitions == 1 else keyed.repartition(partitions, "pair", "spelled")
        return spread.mapInArrow(_join(gap), ddl("joined"))

    return join


def _pair_keys() -> dict[str, Column]:
    """What tells a pair from others: a number, and for names that are no small numbers also how they are spelled.

    Numbers travel and compare several times faster than two names. A row that names nobody goes anywhere.
    """
    from pyspark.sql import functions as sf

    numbers = [sf.col(name).try_cast("int") for name in "ab"]
    plain = sf.lit(True)
    for name, number in zip("ab", numbers, strict=True):
        plain = plain & (number >= 0) & (number.cast("string") == sf.col(name))
    plain = sf.coalesce(plain, sf.lit(False))
    packed = sf.shiftleft(numbers[0].cast("bigint"), 32) + numbers[1]
    named = sf.col("a").isNotNull() | sf.col("b").isNotNull()
    return {
        "pair": sf.when(plain, packed).when(named, sf.xxhash64("a", "b")).otherwise(sf.col("row")),
        "spelled": sf.when(~plain, sf.concat_ws("\0", sf.coalesce("a", sf.lit("")), sf.coalesce("b", sf.lit("")))),
    }


def _join(gap: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        held = list(batches)
        if not held:
            return
        rows = pa.Table.from_batches(held)
        del held
        if rows.num_rows:
            yield from _joined(rows, gap).to_batches(max_chunksize=1 << 17)

    return join


class _Columns(NamedTuple):
    """What rows are put in order by."""

    pair: Places
    spelled: NDArray[np.int32]
    """Number of the pair's spelling; -1 where there is none."""
    start: Floats
    end: Floats
    a_saw: Flags
    source: Places
    row: Places


def _joined(rows: pa.Table, gap: float) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    spelled = rows.column("spelled").combine_chunks().dictionary_encode()
    columns = _Columns(
        rows.column("pair").to_numpy(),
        spelled.indices.fill_null(-1).to_numpy(),
        rows.column("start").to_numpy(),
        rows.column("end").to_numpy(),
        rows.column("a_saw").fill_null(True).to_numpy(),
        rows.column("source").to_numpy(),
        rows.column("row").to_numpy(),
    )
    fate = rows.column("fate")
    used, counted = fate.is_null(), pc.is_in(fate, pa.array(COUNTED))
    order, new_pair, again = _in_order(columns, np.flatnonzero(used))
    unused = np.concatenate([np.flatnonzero(pc.invert(pc.or_(used, counted))), order[again]])
    begins, contacts = _contacts(columns, order[~again], new_pair[~again], rows.column("repaired").to_numpy(), gap)
    met = pa.table({**_names(columns, begins, spelled.dictionary), **contacts})
    rejected = pa.table({**_names(columns, unused, spelled.dictionary), **_rejected(rows, columns.a_saw, unused)})
    tally = fate.filter(counted).combine_chunks().value_counts()
    others = pa.table({"fate": tally.field("values"), "records": tally.field("counts")})
    whole = pa.concat_tables([met, rejected, others, _nodes(met, rejected)], promote_options="default")
    return whole.select(names("joined"))


def _in_order(columns: _Columns, used: Places) -> tuple[Places, Flags, Flags]:
    """Rows in the order of pairs and times; which of them is the first of its pair; which says the same as another."""
    pair, spelled, start = columns.pair[used], columns.spelled[used], columns.start[used]
    keys = (start, pair) if (spelled < 0).all() else (start, spelled, pair)
    order = used[np.lexsort(keys)]
    pair, spelled, start = columns.pair[order], columns.spelled[order], columns.start[order]
    same_pair, tied = np.zeros(len(order), bool), np.zeros(len(order), bool)
    same_pair[1:] = (pair[1:] == pair[:-1]) & (spelled[1:] == spelled[:-1])
    tied[1:] = same_pair[1:] & (start[1:] == start[:-1])
    # Few rows start together: only they are compared by all that tells them apart.
    together = tied.copy()
    together[:-1] |= tied[1:]
    among = np.flatnonzero(together)
    few = order[among]
    run = np.cumsum(~tied[among])
    further = (columns.row[few], columns.source[few], columns.a_saw[few], columns.end[few], run)
    order[among] = few[np.lexsort(further)]
    end, a_saw = columns.end[order], columns.a_saw[order]
    again = tied
    again[1:] &= (end[1:] == end[:-1]) & (a_saw[1:] == a_saw[:-1])
    return order, ~same_pair, again


def _contacts(
    columns: _Columns, order: Places, new_pair: Flags, repaired: Flags, gap: float
) -> tuple[Places, dict[str, Any]]:
    """The first row of each contact, and the columns of the contacts but for the names."""
    start, end = columns.start[order], _running_maximum(columns.end[order], new_pair)
    first = new_pair.copy()
    first[1:] |= start[1:] - end[:-1] > gap
    begins = np.flatnonzero(first)
    ends = np.append(begins[1:], len(order))[: len(begins)] - 1

    def total(values: Flags) -> Places:
        counted: Places = np.add.reduceat(values.astype(np.int64), begins) if len(begins) else begins
        return counted

    records, a_saw = ends - begins + 1, total(columns.a_saw[order])
    return order[begins], {
        "start": start[begins],
        # The latest end of the pair so far is that of this contact: those before ended earlier.
        "end": end[ends],
        "records": records,
        "repaired": total(repaired[order]),
        "instants": total(start == columns.end[order]),
        "a_saw": a_saw > 0,
        "b_saw": a_saw < records,
    }


def _running_maximum(values: Floats, new: Flags) -> Floats:
    """The largest value so far since the last row that is new, by doubling; most often one look is enough."""
    found, group = values.copy(), np.cumsum(new)
    step = 1
    while step < len(found):
        higher = (group[step:] == group[:-step]) & (found[:-step] > found[step:])
        if not higher.any():
            break
        found[step:] = np.where(higher, found[:-step], found[step:])
        step *= 2
    return found


def _names(columns: _Columns, rows: Places, spellings: pa.Array) -> dict[str, pa.Array]:
    """Both names of the pairs of some rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pair, spelled = columns.pair[rows], columns.spelled[rows]
    numbers = {"a": pa.array(pair >> 32).cast(pa.string()), "b": pa.array(pair & 0xFFFFFFFF).cast(pa.string())}
    if (spelled < 0).all():
        return numbers
    parts = pc.split_pattern(spellings, "\0", max_splits=1)
    which = pa.array(spelled, mask=spelled < 0)
    return {
        name: pc.coalesce(pc.list_element(parts, place).take(which), numbers[name]) for place, name in enumerate("ab")
    }


def _rejected(rows: pa.Table, a_saw: Flags, unused: Places) -> dict[str, Any]:
    """The columns of rows that are part of no contact but for the names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    left = rows.take(pa.array(unused))
    return {
        **{name: left.column(name) for name in ("start", "end", "source", "row", "detail")},
        "fate": left.column("fate").fill_null("duplicate"),
        "records": np.ones(len(unused), np.int64),
        "repaired": left.column("repaired").cast(pa.int64()),
        "instants": pc.equal(left.column("start"), left.column("end")).fill_null(False).cast(pa.int64()),
        "a_saw": a_saw[unused],
        "b_saw": ~a_saw[unused],
    }


def _nodes(contacts: pa.Table, rejected: pa.Table) -> pa.Table:
    """A row for each node that a readable record names, with whether it saw anybody."""
    import pyarrow as pa
    import pyarrow.compute as pc

    named = rejected.filter(pc.not_equal(rejected.column("fate"), "unreadable"))
    both = [(table.column(name), table.column(f"{name}_saw")) for table in (contacts, named) for name in "ab"]

    def distinct(columns: list[pa.ChunkedArray]) -> pa.Array:
        return pc.unique(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))

    nodes = distinct([column for column, _ in both])
    scanners = distinct([column.filter(saw) for column, saw in both])
    fate = pa.array(["node"] * len(nodes), pa.string())
    return pa.table({"a": nodes, "a_saw": pc.is_in(nodes, scanners), "fate": fate})
