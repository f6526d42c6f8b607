"""The heart of stage 2: the sightings of a pair, put in order, become its contacts.

Pairs are dealt out to parts; Spark brings the rows of a part into one place, packed by the thousand as Arrow writes
them, and NumPy works through a part at once: one sort, a running maximum of the ends, a cut wherever a start is more
than ``gap`` after it. Window functions do the same and take longer, because they move and compare rows one by one.

What comes out of a partition (table ``joined``): one row a contact; one for each record that is part of none, with its
fate; one with the number of lines that are no records, for each kind; and one for each node that the partition has met,
with the fate ``node``. All that is asked of an import afterwards can be answered from these.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hunet.model.contacts import natural_order
from hunet.pipeline.quality import COUNTED, NUMBERED
from hunet.pipeline.schemas import ddl, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]
    Flags = NDArray[np.bool_]

BYTES_PER_PART = 8 << 20
"""Of the input, some three hundred thousand lines: what a task joins in memory at a time."""
_PARTS_PER_TASK = 4
"""All that is asked of an import afterwards passes over what tasks left, and every task has a price."""
_ROWS_PER_PACK = 1 << 18
_SCRAMBLE = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without pattern: it spreads pairs whose numbers have one."""


def join_sightings(gap: float, parts: int = 8) -> Callable[[DataFrame], DataFrame]:
    """Rows of the table ``checked`` to the table ``joined``; the pairs are dealt out to so many parts."""
    from pyspark.sql import functions as sf

    def join(checked: DataFrame) -> DataFrame:
        # Bytes: a name may be no valid text, and to mend it in every row would take long.
        names = {name: sf.col(name).cast("binary") for name in ("scanner", "seen")}
        rows = checked.withColumns(names)
        if parts <= 1:
            return rows.coalesce(1).mapInArrow(_join(gap), ddl("joined"))
        packed = rows.mapInArrow(_pack(parts), "part int, rows binary")
        packed = packed.repartition(-(-parts // _PARTS_PER_TASK), "part")
        return packed.sortWithinPartitions("part").mapInArrow(_join_packed(gap), ddl("joined"))

    return join


def as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Nothing is done: a Python process that was asked this has loaded what it needs to join sightings."""
    yield from batches


def _pack(parts: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows to packs of rows of the same part, as Arrow writes them: Spark moves a pack as quickly as a row."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for gathered in _gathered(batches):
            rows = _keyed(gathered)
            mixed = rows.column("pair").to_numpy().view(np.uint64) * _SCRAMBLE >> np.uint64(32)
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


def _keyed(rows: pa.Table) -> pa.Table:
    """Rows of the table ``checked`` with what tells their pair from others, in place of the names.

    ``pair`` is a number, and ``spelled`` has the names where they are no small numbers: numbers travel and compare
    several times faster. ``flags`` is 1 if the first of the pair saw the second, 2 if the row had to be mended, and 4
    times the number of its fate. Names are few, and rows are many: what a name is, is found once for each.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    scanner, seen = (_Names.of(rows.column(name)) for name in ("scanner", "seen"))
    one, two = scanner.numbers[scanner.places], seen.numbers[seen.places]
    swapped = one > two
    pair = np.minimum(one, two) << 32 | np.maximum(one, two)
    spelled = pa.nulls(len(pair), pa.string())
    other = np.flatnonzero((one < 0) | (two < 0))
    if len(other):
        swapped[other], pair[other], texts = _spelled(scanner, seen, other)
        nobody = np.asarray(pc.equal(texts, "\0"))
        pair[other[nobody]] = rows.column("row").to_numpy()[other[nobody]]  # they go anywhere
        where = np.full(len(pair), -1)
        where[other] = np.arange(len(other))
        spelled = texts.take(pa.array(where, mask=where < 0))
    fates = rows.column("fate").combine_chunks().dictionary_encode()
    numbers = np.array([NUMBERED.index(fate) for fate in fates.dictionary.to_pylist()] + [0], np.int32)
    flags = 4 * numbers[fates.indices.fill_null(-1).to_numpy()] + ~swapped + 2 * np.asarray(rows.column("repaired"))
    kept = {name: rows.column(name) for name in ("source", "row", "start", "end", "detail")}
    return pa.table({**kept, "pair": pair, "spelled": spelled, "flags": flags.astype(np.int32)})


class _Names(NamedTuple):
    """A column of names."""

    texts: list[str]
    """Every name once."""
    numbers: Places
    """The number that a name is, as usual: no sign, no point, no zeros in front, below 2^31; else -1."""
    places: Places
    """Row by row, which name it is."""

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> _Names:
        encoded = column.combine_chunks().fill_null(b"").dictionary_encode()
        texts = [name.decode("utf-8", "replace") for name in encoded.dictionary.to_pylist()]
        numbers = np.fromiter((int(text) if _SMALL_NUMBER(text) else -1 for text in texts), np.int64, len(texts))
        numbers[numbers >= 1 << 31] = -1
        return cls(texts, numbers, encoded.indices.to_numpy())


_SMALL_NUMBER = re.compile("0|[1-9][0-9]{0,9}").fullmatch


def _spelled(scanner: _Names, seen: _Names, rows: Places) -> tuple[Flags, Places, pa.Array]:
    """Of rows whose names are not both small numbers: whether the seen one comes first, the pair's hash, both names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    every = sorted({*scanner.texts, *seen.texts}, key=natural_order)
    ranks = {text: rank for rank, text in enumerate(every)}
    one, two = (
        np.array([ranks[text] for text in names.texts], np.int64)[names.places[rows]] for names in (scanner, seen)
    )
    low, high = np.minimum(one, two), np.maximum(one, two)
    hashes = np.array([int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in every], np.uint64)
    pair = (hashes[low] * _SCRAMBLE + hashes[high]).view(np.int64)
    texts = pa.array(every, pa.string())
    return one > two, pair, pc.binary_join_element_wise(*(texts.take(pa.array(each)) for each in (low, high)), "\0")


def _join(gap: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        held = list(batches)
        if not held:
            return
        rows = pa.Table.from_batches(held)
        del held
        if rows.num_rows:
            yield from _joined(_keyed(rows), gap).to_batches(max_chunksize=1 << 17)

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
    joined = pa.table({**_names(columns, begins, spelled.dictionary), **contacts})
    rejected = pa.table({**_names(columns, unused, spelled.dictionary), **_rejected(rows, columns, unused)})
    kinds, many = np.unique(columns.fate[counted], return_counts=True)
    others = pa.table({"fate": _fates(kinds), "records": many})
    whole = pa.concat_tables([joined, rejected, others, _nodes(joined, rejected)], promote_options="default")
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
        name: pc.coalesce(pc.list_element(parts, index).take(which), numbers[name]) for index, name in enumerate("ab")
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
