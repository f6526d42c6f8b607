"""Log files as a table of lines: plain, gzip or zip, one file or a folder, each line with its file and number.

Plain files are cut into chunks at line ends, so that a large one is read by many tasks; packed files are read by one
task each. The driver passes over plain files once to know the line numbers at which chunks begin; nothing is held.
Paths must be visible to every executor.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from hunet.model.contacts import natural_order
from hunet.model.errors import InputError
from hunet.pipeline.schemas import ddl

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CHUNK = 8 << 20
_BLOCK = 4 << 20
_PACKED = 4
"""How much longer a packed file is when it is unpacked, about."""
_HEAD_BYTES, _HEAD_LINES = 1 << 16, 200
_TEXT_SHARE = 0.01
"""Share of control characters above which a file is not text."""


class LogFile(NamedTuple):
    """One input: a file, or a member of a zip archive."""

    path: str
    """Absolute: the processes that read it stand elsewhere."""
    packing: str
    """plain, gzip or zip"""
    given: str
    """The path as the user wrote it."""
    member: str = ""

    @property
    def label(self) -> str:
        """How messages and tables name it."""
        return f"{self.given}:{self.member}" if self.member else self.given

    @property
    def stem(self) -> str:
        """The file's name without folder and endings: what per-scanner logs are named by."""
        return Path(self.member or self.path).name.split(".")[0]


class Head(NamedTuple):
    """The beginning of a file, from which its format is told."""

    file: LogFile
    lines: list[tuple[int, str]]
    """Number and text of the first lines that are not blank."""


class _Chunk(NamedTuple):
    file: int
    log: LogFile
    begin: int
    end: int
    """Bytes; 0 for a packed file, which is read whole."""
    first_line: int


def find_files(path: Path, pattern: str = "*") -> tuple[list[LogFile], list[str]]:
    """The inputs under a path in natural order, and what was passed over (hidden files and READMEs)."""
    if not path.exists():
        raise InputError(path, "no such file or folder")
    if path.is_file():
        return _open_up(path), []
    found: list[LogFile] = []
    ignored: list[str] = []
    for each in sorted(path.rglob("*"), key=lambda p: natural_order(str(p.relative_to(path)))):
        name = str(each.relative_to(path))
        if not each.is_file() or not (fnmatch(name, pattern) or fnmatch(each.name, pattern)):
            continue
        if any(part.startswith(".") for part in Path(name).parts) or "readme" in each.name.lower():
            ignored.append(name)
        else:
            found.extend(_open_up(each))
    if not found:
        raise InputError(path, f"no files match '{pattern}': there is nothing to import")
    return found, ignored


def read_head(log: LogFile) -> Head:
    """The first lines of a file; a binary or damaged file is refused."""
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
    if len(content) == _HEAD_BYTES:
        text = text[:-1]
    lines = [(number, line.strip()) for number, line in enumerate(text, 1) if line.strip()]
    if not lines:
        raise InputError(log.label, "is empty: there is nothing to import")
    return Head(log, lines[:_HEAD_LINES])


def read_lines(spark: SparkSession, files: list[LogFile]) -> DataFrame:
    """All lines of all files (table ``lines``)."""
    tasks = _tasks([chunk for number, log in enumerate(files) for chunk in _chunks(number, log)])

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for chunk in tasks[number]:
                    yield from _read_chunk(chunk)

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(read, ddl("lines"))


def _open_up(path: Path) -> list[LogFile]:
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start[:2] == b"\x1f\x8b":
            return [LogFile(str(path.absolute()), "gzip", str(path))]
        if start == b"PK\x03\x04":
            with zipfile.ZipFile(path) as archive:
                members = [info.filename for info in archive.infolist() if not info.is_dir()]
            where = str(path.absolute())
            return [LogFile(where, "zip", str(path), member) for member in sorted(members, key=natural_order)]
    except zipfile.BadZipFile as error:
        raise InputError(path, f"the zip file is damaged or cut short ({error}): fetch or pack it again") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None
    return [LogFile(str(path.absolute()), "plain", str(path))]


def _stream(log: LogFile) -> IO[bytes] | gzip.GzipFile:
    if log.packing == "gzip":
        return gzip.open(log.path, "rb")
    if log.packing == "zip":
        return zipfile.ZipFile(log.path).open(log.member)
    return Path(log.path).open("rb")


def _tasks(chunks: list[_Chunk]) -> list[list[_Chunk]]:
    """Put chunks together until they are worth a task: a folder may hold thousands of small files."""
    tasks: list[list[_Chunk]] = []
    held = CHUNK
    for chunk in chunks:
        size = chunk.end - chunk.begin if chunk.end else _PACKED * Path(chunk.log.path).stat().st_size
        if held + size > CHUNK:
            tasks.append([])
            held = 0
        tasks[-1].append(chunk)
        held += size
    return tasks


def _chunks(number: int, log: LogFile) -> Iterator[_Chunk]:
    if log.packing != "plain":
        yield _Chunk(number, log, 0, 0, 1)
        return
    begin, line = 0, 1
    with Path(log.path).open("rb") as file:
        while block := file.read(CHUNK):
            block += file.readline()  # up to the end of its last line
            yield _Chunk(number, log, begin, begin + len(block), line)
            begin += len(block)
            line += block.count(b"\n")


def _read_chunk(chunk: _Chunk) -> Iterator[pa.RecordBatch]:
    try:
        with _stream(chunk.log) as file:
            left = chunk.end - chunk.begin if chunk.end else None
            if chunk.begin:
                file.seek(chunk.begin)
            line = chunk.first_line
            while block := file.read(_BLOCK if left is None else min(_BLOCK, left)):
                if left is None or len(block) < left:
                    block += file.readline()
                left = None if left is None else left - len(block)
                batch = _batch(chunk.file, line, block)
                line += batch.num_rows
                yield batch
                if left == 0:
                    return
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InputError(chunk.log.label, f"is damaged or cut short ({error}): fetch or pack it again") from None


def _batch(number: int, first_line: int, block: bytes) -> pa.RecordBatch:
    """The lines of a block; their text is the block's own memory, cut at its line ends."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if first_line == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    if not block.endswith(b"\n"):
        block += b"\n"
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")).astype(np.int32) + 1
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    text: Any = pa.Array.from_buffers(pa.utf8(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:  # not UTF-8: whatever it is, it shall be seen
        text = pa.array([line.decode("utf-8", "replace") for line in block.split(b"\n")[:-1]], pa.utf8())
    lines = np.arange(first_line, first_line + len(ends), dtype=np.int64)
    files = np.full(len(ends), number, np.int32)
    return pa.RecordBatch.from_arrays(
        [pa.array(files), pa.array(lines), pc.utf8_trim_whitespace(text)], names=["file", "line", "text"]
    )
