"""The heart of stage 2: the sightings of a pair, put in order, become its contacts.

Pairs are dealt out to parts; Spark brings the rows of a part into one place, packed by the thousand as Arrow writes
them, and NumPy works through a part at once: one sort, a running maximum of the ends, a cut wherever a start is more
than ``gap`` after it. Window functions do the same and take longer, because they move and compare rows one by one.

What comes out of a partition (table ``joined``): one row a contact; one for each record that is part of none, with its
fate; one with the number of lines that are no records, for each kind; and one for each node that the partition has met,
with the fate ``node``. All that is asked of an import afterwards can be answered from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hunet.pipeline.quality import COUNTED, NUMBERED
from hunet.pipeline.schemas import ddl, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]
    Flags = NDArray[np.bool_]

BYTES_PER_PART = 24 << 20
"""Of the input, about a million lines: what one task joins in memory."""
_ROWS_PER_PACK = 1 << 20
_SCRAMBLE = 0x9E3779B97F4A7C15
"""An odd number without pattern: it spreads pairs whose numbers have one."""


def join_sightings(gap: float, parts: int = 8) -> Callable[[DataFrame], DataFrame]:
    """Rows of the table ``checked`` to the table ``joined``; the pairs are dealt out to so many parts."""

    def join(checked: DataFrame) -> DataFrame:
        keyed = checked.transform(_keyed)
        if parts <= 1:
            return keyed.coalesce(1).mapInArrow(_join(gap), ddl("joined"))
        packed = keyed.mapInArrow(_pack(parts), "part int, rows binary").repartition(parts, "part")
        return packed.sortWithinPartitions("part").mapInArrow(_join_packed(gap), ddl("joined"))

    return join


def _pack(parts: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows to packs of rows of the same part, as Arrow writes them: Spark moves a pack as quickly as a row."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for rows in _gathered(batches):
            mixed = rows.column("pair").to_numpy().view(np.uint64) * np.uint64(_SCRAMBLE) >> np.uint64(32)
            part = (mixed % np.uint64(parts)).astype(np.uint16)
            order = np.argsort(part, kind="stable")
            ordered = rows.take(pa.array(order))
            edges = np.searchsorted(part[order], np.arange(parts + 1))
            for number in range(parts):
                begin, end = edges[number], edges[number + 1]
                if begin < end:
                    content = _to_bytes(ordered.slice(begin, end - begin))
                    yield pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), pa.array([content])], _PACKED)

    return pack


_PACKED = ["part", "rows"]


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until there are enough rows."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    many = 0
    for batch in batches:
        held.append(batch)
        many += batch.num_rows
        if many >= _ROWS_PER_PACK:
            yield pa.Table.from_batches(held)
            held, many = [], 0
    if many:
        yield pa.Table.from_batches(held)


def _to_bytes(rows: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(rows.combine_chunks())
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _join_packed(gap: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from itertools import groupby

        import pyarrow as pa

        packs = (pack for batch in batches for pack in zip(*(column.to_pylist() for column in batch), strict=True))
        for _, same in groupby(packs, key=lambda pack: pack[0]):
            rows = pa.concat_tables(pa.ipc.open_stream(content).read_all() for _, content in same)
            yield from _joined(rows, gap).to_batches(max_chunksize=1 << 17)

    return join


def _keyed(checked: DataFrame) -> DataFrame:
    """Rows with what tells their pair from others: a number, and the spelling of names that are no small numbers.

    Numbers travel and compare several times faster than two names. Of a pair, numbers come by value and before other
    names, which stand in order of their letters. A row that names nobody goes anywhere.
    """
    from pyspark.sql import functions as sf

    one, two = sf.col("_one"), sf.col("_two")
    plain = one.between(0, _LAST) & two.between(0, _LAST)
    for number, name in ((one, "scanner"), (two, "seen")):
        plain = plain & (sf.octet_length(name) == _digits(number))
    swapped = (
        sf.when(one.isNotNull() & two.isNotNull() & (one != two), one > two)
        .when(one.isNull() & two.isNotNull(), True)
        .when(one.isNotNull() & two.isNull(), False)
        .otherwise(sf.coalesce(sf.col("scanner") > sf.col("seen"), sf.lit(False)))
    )
    names_of = [sf.make_valid_utf8(sf.coalesce(name, sf.lit(""))) for name in ("scanner", "seen")]
    spelled = sf.when(sf.col("_swapped"), sf.concat_ws("\0", *reversed(names_of)))
    spelled = spelled.otherwise(sf.concat_ws("\0", *names_of))
    packed = sf.when(sf.col("_plain"), sf.shiftleft(sf.least(one, two), 32) + sf.greatest(one, two))
    named = sf.coalesce("scanner", "seen").isNotNull()
    fate = sf.when(sf.col("fate").isNull(), 0)
    for place, name in enumerate(NUMBERED[1:], 1):
        fate = fate.when(sf.col("fate") == name, 4 * place)
    flags = fate + (~sf.col("_swapped")).cast("int") + 2 * sf.col("repaired").cast("int")
    # Step by step: what is used several times is computed once.
    return (
        checked.withColumns({"_one": sf.col("scanner").try_cast("bigint"), "_two": sf.col("seen").try_cast("bigint")})
        .withColumns({"_plain": sf.coalesce(plain, sf.lit(False)), "_swapped": swapped})
        .withColumns({"spelled": sf.when(~sf.col("_plain"), spelled), "flags": flags})
        .withColumn("pair", packed.when(named, sf.xxhash64("spelled")).otherwise(sf.col("row")))
        .select(*names("keyed"))
    )


_LAST = 2**31 - 1


def _digits(number: Column) -> Column:
    """How long a number is that is written as usual: no sign, no point, no zeros in front."""
    from pyspark.sql import functions as sf

    length = sf.when(number < 10, 1)
    for places in range(2, 10):
        length = length.when(number < 10**places, places)
    return length.otherwise(10)


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
    """What rows are put in order by, and what became of them."""

    pair: Places
    spelled: NDArray[np.int32]
    """Number of the pair's spelling; -1 where there is none."""
    start: Floats
    end: Floats
    a_saw: Flags
    repaired: Flags
    fate: NDArray[np.int32]
    source: Places
    row: Places


def _joined(rows: pa.Table, gap: float) -> pa.Table:
    import pyarrow as pa

    spelled = rows.column("spelled").combine_chunks().dictionary_encode()
    flags = rows.column("flags").to_numpy()
    columns = _Columns(
        rows.column("pair").to_numpy(),
        spelled.indices.fill_null(-1).to_numpy(),
        rows.column("start").to_numpy(),
        rows.column("end").to_numpy(),
        flags & 1 > 0,
        flags & 2 > 0,
        flags >> 2,
        rows.column("source").to_numpy(),
        rows.column("row").to_numpy(),
    )
    order, new_pair, again = _in_order(columns, np.flatnonzero(columns.fate == 0))
    columns.fate[order[again]] = NUMBERED.index("duplicate")
    counted = np.isin(columns.fate, [NUMBERED.index(fate) for fate in COUNTED])
    unused = np.flatnonzero((columns.fate > 0) & ~counted)
    begins, contacts = _contacts(columns, order[~again], new_pair[~again], gap)
    met = pa.table({**_names(columns, begins, spelled.dictionary), **contacts})
    rejected = pa.table({**_names(columns, unused, spelled.dictionary), **_rejected(rows, columns, unused)})
    kinds, many = np.unique(columns.fate[counted], return_counts=True)
    others = pa.table({"fate": _fates(kinds), "records": many})
    whole = pa.concat_tables([met, rejected, others, _nodes(met, rejected)], promote_options="default")
    return whole.select(names("joined"))


def _fates(numbers: NDArray[np.int32]) -> pa.Array:
    import pyarrow as pa

    return pa.array(NUMBERED).take(pa.array(numbers))


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


def _contacts(columns: _Columns, order: Places, new_pair: Flags, gap: float) -> tuple[Places, dict[str, Any]]:
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
        "repaired": total(columns.repaired[order]),
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


def _rejected(rows: pa.Table, columns: _Columns, unused: Places) -> dict[str, Any]:
    """The columns of rows that are part of no contact but for the names."""
    import pyarrow as pa

    left = rows.select(["start", "end", "source", "row", "detail"]).take(pa.array(unused))
    return {
        **{name: left.column(name) for name in left.column_names},
        "fate": _fates(columns.fate[unused]),
        "records": np.ones(len(unused), np.int64),
        "repaired": columns.repaired[unused].astype(np.int64),
        "instants": (columns.start[unused] == columns.end[unused]).astype(np.int64),
        "a_saw": columns.a_saw[unused],
        "b_saw": ~columns.a_saw[unused],
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
