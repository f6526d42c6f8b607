"""What goes in: log files, Parquet and ORC files, and tables of a catalogue, read by Spark where they lie.

A row of input is known by its ``row``: the number that Spark gives it in its scan. Rows of a scan are numbered in
order within a block of a file, so that the line follows from the counts of the blocks before it: :meth:`Source.locate`
counts them, in one more scan, when somebody asks for lines. Nobody passes over the data for that beforehand.

Logs may be plain or packed: ``.gz`` is unpacked by Spark; a zip file, and gzip under another name, by one task each.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from hunet.model.contacts import natural_order
from hunet.model.errors import ConfigurationError, InputError
from hunet.pipeline.schemas import ddl
from hunet.pipeline.storage import Storage, is_uri
from hunet.pipeline.traces import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

BLANKS = " \t\r\n\v\f\ufeff"
_BLOCK = 4 << 20
_PACKED = 8
"""How much longer a packed file is when it is unpacked, about."""
_HEAD_BYTES, _HEAD_LINES = 1 << 16, 200
_HEADS = 4
"""Of how many files at a URI the beginning is looked at."""
_TEXT_SHARE = 0.01
"""Share of control characters above which a file is not text."""
_MAGIC = {b"PAR1": "parquet", b"ORC": "orc"}


class LogFile(NamedTuple):
    """One input: a file, or a member of a zip archive."""

    where: str
    """What Spark opens: an absolute path, or a URI."""
    packing: str
    """plain (also ``.gz``, which Spark unpacks), gzip, zip, parquet or orc"""
    given: str
    """The path as the user wrote it."""
    size: int
    member: str = ""

    @property
    def label(self) -> str:
        """How messages and tables name it."""
        return f"{self.given}:{self.member}" if self.member else self.given

    @property
    def stem(self) -> str:
        """The file's name without folder and endings: what per-scanner logs are named by."""
        return Path(self.member or self.where).name.split(".")[0]


class Head(NamedTuple):
    """The beginning of a file, from which its format is told."""

    file: LogFile
    lines: list[tuple[int, str]]
    """Number and text of the first lines that are not blank."""


def find_files(path: Path, pattern: str = "*") -> tuple[list[LogFile], list[str]]:
    """The inputs under a path in natural order, and what was passed over (hidden and empty files, READMEs)."""
    if not path.exists():
        raise InputError(path, "no such file or folder")
    if path.is_file():
        return _open_up(path), []
    traces = [
        marker.parent for marker in path.rglob(MARKER) if marker.parent != path
    ]  # what an import left beside logs
    below = (each for each in path.rglob("*") if not any(each.is_relative_to(trace) for trace in traces))
    found, ignored = logs_below(path, [each for each in below if each.is_file()], pattern)
    if not found:
        raise InputError(path, f"no files match '{pattern}': there is nothing to import")
    return found, ignored


def logs_below(folder: Path, files: list[Path], pattern: str) -> tuple[list[LogFile], list[str]]:
    """The inputs among files of a folder of this machine."""
    chosen, ignored = _chosen({str(each.relative_to(folder)): each.stat().st_size for each in files}, pattern)
    return [log for name in chosen for log in _open_up(folder / name)], ignored


def find_at(spark: SparkSession, location: str, pattern: str = "*") -> tuple[list[LogFile], list[str]]:
    """The same at a URI."""
    sizes = dict(Storage(spark).files(location))
    if not sizes:
        raise InputError(location, "no such file or folder, or an empty one")
    found, ignored = logs_among(spark, location, sizes, pattern)
    if not found:
        raise InputError(location, f"no files match '{pattern}': there is nothing to import")
    return found, ignored


def logs_among(
    spark: SparkSession, location: str, sizes: dict[str, int], pattern: str
) -> tuple[list[LogFile], list[str]]:
    """The inputs among files that Spark lists below a URI; packing is told by the file's name."""
    top = location.rstrip("/")
    names = {(path.removeprefix(top).lstrip("/") or Path(path).name): path for path in sizes}
    chosen, ignored = _chosen({name: sizes[path] for name, path in names.items()}, pattern)
    kinds = {".zip": "zip", ".parquet": "parquet", ".orc": "orc"}
    found = [(names[name], kinds.get(Path(name).suffix.lower(), "plain")) for name in chosen]
    logs = [LogFile(path, kind, path, sizes[path]) for path, kind in found]
    return [member for log in logs for member in (_members(spark, log) if log.packing == "zip" else [log])], ignored


def _chosen(sizes: dict[str, int], pattern: str) -> tuple[list[str], list[str]]:
    """Of files by their names and sizes the logs, and what is passed over; an empty file says nothing."""
    found: list[str] = []
    ignored: list[str] = []
    for name in sorted(sizes, key=natural_order):
        own = Path(name).name
        if fnmatch(name, pattern) or fnmatch(own, pattern):
            hidden = any(part.startswith((".", "_")) for part in Path(name).parts)  # as Spark has it
            empty = not sizes[name] and len(sizes) > 1
            (ignored if hidden or empty or "readme" in own.lower() else found).append(name)
    return found, ignored


def _open_up(path: Path) -> list[LogFile]:
    where, size = str(path.absolute()), path.stat().st_size
    try:
        with path.open("rb") as file:
            start = file.read(4)
        for magic, kind in _MAGIC.items():
            if start.startswith(magic):
                return [LogFile(where, kind, str(path), size)]
        if start == b"PK\x03\x04":
            with zipfile.ZipFile(path) as archive:
                sizes = {info.filename: info.file_size for info in archive.infolist() if not info.is_dir()}
            return [LogFile(where, "zip", str(path), sizes[name], name) for name in _chosen(sizes, "*")[0]]
    except zipfile.BadZipFile as error:
        raise InputError(path, f"the zip file is damaged or cut short ({error}): fetch or pack it again") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None
    if start[:2] == b"\x1f\x8b":
        return [LogFile(where, "plain" if path.suffix == ".gz" else "gzip", str(path), _PACKED * size)]
    return [LogFile(where, "plain", str(path), size)]


def read_head(log: LogFile) -> Head:
    """The first lines of a file of this machine; a binary or damaged file is refused."""
    if log.packing in _MAGIC.values():
        return Head(log, [])
    try:
        with _stream(log) as file:
            content = file.read(_HEAD_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InputError(log.label, f"is damaged or cut short ({error}): fetch or pack it again") from None
    except OSError as error:
        raise InputError(log.label, f"cannot be read: {error.strerror or error}") from None
    odd = sum(byte < 9 or 13 < byte < 32 for byte in content)
    if b"\0" in content or odd > _TEXT_SHARE * len(content):
        raise InputError(log.label, "is a binary file, not a log of text lines: see 'hunet trace formats'")
    text = content.decode("utf-8-sig", "replace").splitlines()
    return _head(log, text[:-1] if len(content) == _HEAD_BYTES else text)


def read_heads_at(spark: SparkSession, logs: list[LogFile]) -> list[Head]:
    """The first lines of some files at a URI."""
    if logs[0].packing in _MAGIC.values():
        return [Head(log, []) for log in logs]
    some = sorted({0, len(logs) - 1, *range(0, len(logs), max(1, len(logs) // _HEADS))})[: _HEADS + 1]
    heads = []
    for log in (logs[number] for number in some):
        lines = Source(spark, [log]).rows().limit(_HEAD_LINES).select("text").collect()  # of its first block
        heads.append(_head(log, [row[0] for row in lines]))
    return heads


def _head(log: LogFile, text: list[str]) -> Head:
    lines = [(number, line.strip()) for number, line in enumerate(text, 1) if line.strip()]
    if not lines:
        raise InputError(log.label, "is empty: there is nothing to import")
    return Head(log, lines[:_HEAD_LINES])


class Source:
    """The rows of an import, and where each of them stands."""

    def __init__(self, spark: SparkSession, files: Sequence[LogFile], table: str | None = None) -> None:
        self.spark, self._storage, self.table = spark, Storage(spark), table
        kind = "text" if not files or files[0].packing not in _MAGIC.values() else files[0].packing
        self.kind = "table" if table else kind
        self._scanned = [log for log in files if log.packing not in ("gzip", "zip")]
        self._packed = [log for log in files if log.packing in ("gzip", "zip")]
        self.size = sum(log.size for log in files)

    def rows(self, *, by_file: bool = False) -> DataFrame:
        """All rows: of text the table ``lines``; of others ``_line`` (row, source) beside the columns they have.

        The name of the file is there on request only: Spark writes it beside every row.
        """
        from pyspark.sql import functions as sf

        if self.kind != "text":
            scan = self._scan()
            source = self._source(scan)
            line = sf.struct(sf.monotonically_increasing_id().alias("row"), source.alias("source"))
            return scan.select(line.alias("_line"), "*")
        parts = []
        if self._scanned:
            scan = self._scan()
            parts.append(
                scan.select(
                    sf.monotonically_increasing_id().alias("row"),
                    self._source(scan).alias("source"),
                    (sf.col("_metadata.file_name") if by_file else sf.lit(None).cast("string")).alias("file"),
                    _trimmed(sf.col("value")).alias("text"),
                )
            )
        if self._packed:
            parts.append(self._unpacked())
        return parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])

    def locate(self, rows: DataFrame) -> DataFrame:
        """Rows with a ``source`` and a ``row`` get the ``file`` and the ``line`` that they came from."""
        from pyspark.sql import functions as sf

        bare = rows.drop("file", "line")
        where = self._blocks()
        if where is None:
            return bare.withColumns({"file": sf.lit(self.table), "line": sf.lit(None).cast("bigint")})
        block = sf.broadcast(where)
        known = sf.when(sf.col("row") < 0, sf.col("source")).otherwise(sf.shiftright("row", 33))
        inside = (sf.col("_block") == known) & sf.col("row").between(sf.col("_first"), sf.col("_last"))
        line = sf.when(sf.col("row") < 0, -sf.col("row")).otherwise(sf.col("row") + sf.col("_shift"))
        located = bare.join(block, inside, "left").withColumns({"file": sf.col("_label"), "line": line})
        return located.drop("_block", "_first", "_last", "_shift", "_label")

    def _scan(self) -> DataFrame:
        if self.table is not None:
            return self._table()
        reader = self._storage.reader()
        places = [self._storage.uri(log.where) for log in self._scanned]
        if self.kind == "text":
            return reader.option("lineSep", "\n").text(places)
        return reader.format(self.kind).load(places)

    def _table(self) -> DataFrame:
        from pyspark.errors import AnalysisException

        assert self.table is not None
        try:
            found = self.spark.table(self.table)
            _ = found.columns
        except AnalysisException as error:
            raise ConfigurationError(f"--table {self.table}: {str(error).splitlines()[0][:200]}") from None
        return found

    def _source(self, scan: DataFrame) -> Column:
        """What tells files apart when rows are otherwise equal: so that it does not matter how Spark cuts them."""
        from pyspark.sql import functions as sf

        if len(self._scanned) < 2 or not _has_files(scan):
            return sf.lit(0).cast("bigint")
        return sf.xxhash64(sf.substring_index("_metadata.file_path", "/", -3))

    def _blocks(self) -> DataFrame | None:
        """For each block of each file: which places it has, and what must be added to get the line."""
        import pyarrow as pa
        from pyspark.sql import functions as sf

        rows = [(-1 - number, -(1 << 62), -1, 0, log.label) for number, log in enumerate(self._packed)]
        if self._scanned or self.table is not None:
            scan = self._scan()
            if not _has_files(scan):
                return None
            file = sf.col("_metadata.file_path")
            if self.kind == "text" and len(self._scanned) == 1:
                # Spark writes a path beside every row; the only one need not be written.
                file = sf.lit(self._storage.uri(self._scanned[0].where))
            counted = (
                scan.select(
                    sf.monotonically_increasing_id().alias("row"),
                    file.alias("file_path"),
                    "_metadata.file_block_start",
                )
                .groupBy("file_path", "file_block_start")
                .agg(sf.min("row").alias("first"), sf.count("*").alias("rows"))
                .collect()
            )
            labels = {self._storage.uri(log.where): log.given for log in self._scanned}
            labels = {_plain(uri): given for uri, given in labels.items()}
            before: dict[str, int] = {}
            for row in sorted(counted, key=lambda row: (row["file_path"], row["file_block_start"])):
                path, first = row["file_path"], row["first"]
                rows.append(
                    (
                        first >> 33,
                        first,
                        first + row["rows"] - 1,
                        before.get(path, 0) + 1 - first,
                        labels.get(_plain(path), path),
                    )
                )
                before[path] = before.get(path, 0) + row["rows"]
        numbers = [(name, pa.int64()) for name in ("_block", "_first", "_last", "_shift")]
        columns = zip(*rows, strict=True) if rows else [[]] * 5
        # An Arrow table: of a list, Spark would make rows in a Python process that it must start first.
        return self.spark.createDataFrame(pa.table(list(columns), pa.schema([*numbers, ("_label", pa.string())])))

    def _unpacked(self) -> DataFrame:
        """The lines of packed files; the place of a line is its number, below 0, and the source that of its file."""
        wanted: dict[str, dict[str, int]] = {}
        for number, log in enumerate(self._packed):
            wanted.setdefault(_plain(self._storage.uri(log.where)), {})[log.member] = -1 - number
        labels = {-1 - number: log.label for number, log in enumerate(self._packed)}

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import io

            for batch in batches:
                for path, content in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                    for member, source in wanted[_plain(path)].items():
                        try:
                            with _open_packed(io.BytesIO(content), member) as stream:
                                yield from _batches(stream, source, member or Path(path).name)
                        except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
                            problem = f"is damaged or cut short ({error}): fetch or pack it again"
                            raise InputError(labels[source], problem) from None

        places = list(dict.fromkeys(self._storage.uri(log.where) for log in self._packed))
        files = self._storage.reader().format("binaryFile").load(places).select("path", "content")
        return files.mapInArrow(read, ddl("lines"))


def _members(spark: SparkSession, log: LogFile) -> list[LogFile]:
    """The members of a zip archive at a URI."""

    def names(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import io

        import pyarrow as pa

        for batch in batches:
            for content in batch.column(0).to_pylist():
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    found = [(info.filename, info.file_size) for info in archive.infolist() if not info.is_dir()]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(list(x)) for x in zip(*found, strict=True)], ["name", "size"]
                )

    files = Storage(spark).reader().format("binaryFile").load(log.where)
    rows = files.select("content").mapInArrow(names, "name string, size long")
    sizes = {row["name"]: row["size"] for row in rows.collect()}
    return [log._replace(member=name, size=sizes[name]) for name in _chosen(sizes, "*")[0]]


def _trimmed(text: Column) -> Column:
    """A line without blanks at its ends; only the few that have other blanks than spaces are looked at for all."""
    from pyspark.sql import functions as sf

    odd = text.startswith("\ufeff") | text.startswith("\t") | text.endswith("\r") | text.endswith("\t")
    return sf.when(odd, sf.btrim(text, sf.lit(BLANKS))).otherwise(sf.trim(text))


def _has_files(scan: DataFrame) -> bool:
    """Whether rows know their file; those of a view or of another system's table do not."""
    from pyspark.errors import AnalysisException

    try:
        _ = scan.select("_metadata.file_block_start").schema
    except AnalysisException:
        return False
    return True


def _plain(path: str) -> str:
    """A path without the ways in which it can be written: file:/x, file:///x, /x, and %20 for a blank."""
    return re.sub(r"^file:/+", "/", unquote(path)) if not is_uri(path) or path.startswith("file:") else unquote(path)


def _stream(log: LogFile) -> IO[bytes] | gzip.GzipFile:
    if log.packing == "zip":
        return zipfile.ZipFile(log.where).open(log.member)
    with Path(log.where).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(log.where, "rb") if packed else Path(log.where).open("rb")


def _open_packed(packed: IO[bytes], member: str) -> IO[bytes] | gzip.GzipFile:
    return zipfile.ZipFile(packed).open(member) if member else gzip.GzipFile(fileobj=packed)


def _batches(stream: IO[bytes] | gzip.GzipFile, source: int, file: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    line = 1
    while block := stream.read(_BLOCK):
        block += stream.readline()
        text = [row.decode("utf-8", "replace").strip(BLANKS) for row in block.removesuffix(b"\n").split(b"\n")]
        many = len(text)
        places = pa.array(range(-line, -line - many, -1), pa.int64())
        line += many
        columns = [places, pa.array([source] * many, pa.int64()), pa.array([file] * many), pa.array(text, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, ["row", "source", "file", "text"])
