"""Tables on disk: what Spark computes in parts becomes one Parquet file whose bytes do not depend on the parts.

The rows come sorted, so that the parts in their order are the table; they are written again in row groups of a fixed
size, a few at a time, with whatever the file shall say of itself.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.errors import OutputError
from hunet.model.files import file_in_place, is_unused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

ROW_GROUP = 1 << 20


def save_table(
    table: DataFrame,
    order: list[str],
    target: Path,
    describe: Callable[[int, float], dict[bytes, bytes]] | None = None,
    *,
    most: int | None = None,
) -> tuple[int, float]:
    """Compute a table and write it as one file, sorted; returns its rows, and the sum of end - start if it has them.

    ``describe`` gets these two and gives the file's metadata. ``most`` is how many rows there are at most, if that is
    known: few are sorted in one place, without the pass over the table by which Spark finds out how to spread them.
    """
    parts = target.with_name(f".{target.name}.parts")
    few = most is not None and most <= ROW_GROUP
    ordered = table.coalesce(1).sortWithinPartitions(*order) if few else table.orderBy(*order)
    ordered.write.mode("overwrite").parquet(parts.absolute().as_uri())
    files = sorted(parts.glob("*.parquet"))
    try:
        return _join(files, target, describe)
    finally:
        for path in (*parts.iterdir(), parts):
            path.rmdir() if path.is_dir() else path.unlink()


def _join(
    files: list[Path], target: Path, describe: Callable[[int, float], dict[bytes, bytes]] | None
) -> tuple[int, float]:
    import pyarrow.parquet as pq

    rows, length = sum(pq.read_metadata(path).num_rows for path in files), 0.0
    schema = pq.read_schema(files[0])
    if {"start", "end"} <= set(schema.names) and describe is not None:
        # Exact, so that the sum does not depend on how Spark cut the table.
        length = math.fsum(gap for batch in _batches(files, ["start", "end"]) for gap in _lengths(batch))
    plain = schema.with_metadata(describe(rows, length) if describe is not None else None)
    with file_in_place(target) as place, pq.ParquetWriter(place, plain, compression="zstd") as writer:
        for group in _groups(files):
            writer.write_table(group.cast(plain), row_group_size=ROW_GROUP)
    return rows, length


def _lengths(batch: pa.RecordBatch) -> list[float]:
    import pyarrow.compute as pc

    lengths: list[float] = pc.subtract(batch.column("end"), batch.column("start")).to_pylist()
    return lengths


def _batches(files: list[Path], columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(ROW_GROUP, columns=columns)


def _groups(files: list[Path]) -> Iterator[pa.Table]:
    """The rows in tables of exactly one row group each, but for the last."""
    import pyarrow as pa

    held: list[pa.Table] = []
    rows = 0
    for batch in _batches(files):
        held.append(pa.Table.from_batches([batch]))
        rows += batch.num_rows
        while rows >= ROW_GROUP:
            whole = pa.concat_tables(held)
            yield whole.slice(0, ROW_GROUP)
            held, rows = [whole.slice(ROW_GROUP)], rows - ROW_GROUP
    if held and rows:
        yield pa.concat_tables(held)


def refuse_foreign(folder: Path, marker: str, ours: Callable[[dict[str, Any]], str | None]) -> None:
    """Raise unless a folder is new, empty, or ours: ``ours`` reads its marker file and says what is foreign."""
    if is_unused(folder):
        return
    said = read_json(folder / marker)
    if said is None:
        raise OutputError(f"{folder}: holds other files; choose a new or an empty folder")
    problem = ours(said)
    if problem:
        raise OutputError(f"{folder}: {problem}; choose another folder or remove that one")


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file; None if there is none."""
    try:
        said = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


def write_json(path: Path, said: dict[str, Any]) -> None:
    """Write a JSON object, readable, in one step."""
    with file_in_place(path) as place:
        place.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
