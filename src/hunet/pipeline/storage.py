"""Where tables and results lie: on the driver's own disk, or at any URI that Spark can open.

A *location* is text. A plain path is a file or folder of this machine, which Python reads and writes itself. A URI
(``s3a://bucket/logs``, ``hdfs://...``, ``file:///...``) belongs to Spark: it is listed, read and written by Spark's own
readers and writers and by nothing else, so that whatever the user's Spark knows works here, on Spark Connect too.

A folder of results is complete when its marker, a small JSON file, is there. On a disk of this machine the folder takes
its name when everything in it is written. At a URI, where nothing can be renamed in one step, the marker says
``incomplete`` until the end.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hunet.model.errors import InputError, OutputError
from hunet.model.files import file_in_place, folder_in_place, is_unused
from hunet.pipeline.session import first_line, is_connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

ROWS_PER_FILE = 1 << 19
"""Rows of a table's part file, about: the table is cut in its order."""
INCOMPLETE = "incomplete"


def is_uri(location: str | Path) -> bool:
    """Whether a location is a URI and not a plain path.

    >>> is_uri("s3a://bucket/logs"), is_uri("file:///logs"), is_uri("logs/2026"), is_uri("C:/logs")
    (True, True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(location)) is not None


def join(location: str | Path, name: str) -> str:
    """The location of something in a folder."""
    return f"{str(location).rstrip('/')}/{name}"


class Storage:
    """Reads and writes at locations, with the means of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._remote = spark, is_connect(spark)

    def local(self, location: str | Path) -> Path | None:
        """The path of a location that Python may use itself; None if only Spark can."""
        if not is_uri(location):
            return Path(location)
        parts = urlsplit(str(location))
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and not self._remote:
            return Path(unquote(parts.path))
        return None

    def uri(self, location: str | Path) -> str:
        """A location as Spark's readers and writers take it."""
        if re.match("file:///", str(location)):  # as the user wrote it; where Spark lists, it writes file:/
            return "file://" + unquote(urlsplit(str(location)).path)
        if is_uri(location):
            return str(location)
        if self._remote:
            raise InputError(
                location,
                "is a path of this machine, and Spark Connect works on another: name a URI that the server knows "
                "(file:///... is on the server's disk)",
            )
        return f"file://{Path(location).absolute()}"  # as it is: Spark takes %20 for a name, and not for a blank

    def reader(self) -> DataFrameReader:
        """A reader of files by their names as they are: a bracket or a star in one stands for itself."""
        return self._spark.read.option("__globPaths__", "false")

    def read_parquet(self, location: str | Path) -> DataFrame:
        """A table as Spark writes it."""
        return self.reader().parquet(self.uri(location))

    def files(self, location: str | Path) -> list[tuple[str, int]]:
        """Paths and sizes of all files at a URI or below; empty if there is nothing.

        A URI is taken as it stands, and as a pattern if nothing is there.
        """
        as_it_is = self._files(location, self.reader())
        return as_it_is or (self._files(location, self._spark.read) if re.search(r"[*?\[{]", str(location)) else [])

    def _files(self, location: str | Path, reader: DataFrameReader) -> list[tuple[str, int]]:
        from pyspark.errors import AnalysisException

        try:
            found = (
                reader.format("binaryFile")
                .option("recursiveFileLookup", "true")
                .load(self.uri(location))
                .select("path", "length")
                .collect()
            )
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error):
                return []
            raise InputError(location, f"Spark cannot open it: {_short(error)}") from None
        except Exception as error:
            raise InputError(location, f"Spark cannot open it: {_short(error)}") from None
        return sorted((row["path"], row["length"]) for row in found)

    def read_json(self, location: str | Path) -> dict[str, Any] | None:
        """A JSON object; None if there is none."""
        path = self.local(location)
        if path is not None:
            return read_json(path)
        from pyspark.errors import AnalysisException

        try:
            rows = self._spark.read.text(self.uri(location), wholetext=True).collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error):
                return None
            raise InputError(location, f"Spark cannot open it: {_short(error)}") from None
        return _parse("".join(row[0] for row in rows))

    def write_json(self, location: str | Path, content: dict[str, Any]) -> None:
        """Write a JSON object: a file, or at a URI a folder with one part, as Spark writes text."""
        path = self.local(location)
        if path is not None:
            write_json(path, content)
            return
        from pyspark.sql import functions as sf

        row = self._spark.range(0, 1, 1, 1).select(sf.lit(json.dumps(content)).alias("value"))
        row.write.mode("overwrite").text(self.uri(location))

    def refuse_foreign(self, folder: str | Path, marker: str, ours: Callable[[dict[str, Any]], str | None]) -> None:
        """Raise unless a folder is new, empty, or ours: ``ours`` reads its marker and says what is foreign."""
        path = self.local(folder)
        if path is not None:
            refuse_foreign(path, marker, ours)
        elif self.files(folder):
            _refuse(folder, self.read_json(join(folder, marker)), ours)

    @contextmanager
    def result_folder(self, folder: str | Path, marker: str, kind: str) -> Iterator[str]:
        """A location to fill with tables, and with the marker as the last of all."""
        path = self.local(folder)
        if path is not None:
            with folder_in_place(path) as partial:
                yield str(partial)
            return
        self.write_json(join(folder, marker), {"kind": kind, "state": INCOMPLETE})
        yield str(folder)

    def save_table(
        self, table: DataFrame, order: list[str], location: str | Path, *, rows: int, single: bool = False
    ) -> None:
        """Write a table as Spark does, a folder of Parquet files in order; ``rows`` is about how many it has.

        ``single`` makes one file: of the table's name on a disk of this machine, the only part of it elsewhere.
        """
        parts = 1 if single else -(-rows // ROWS_PER_FILE)
        spread = table.coalesce(1) if parts <= 1 else table.repartitionByRange(parts, *order)
        spread.sortWithinPartitions(*order).write.mode("overwrite").parquet(self.uri(location))
        path = self.local(location)
        if single and path is not None:
            (only,) = path.glob("part-*.parquet")
            whole = only.rename(path.with_name(f".{path.name}"))
            for left in path.iterdir():
                left.unlink()
            path.rmdir()
            whole.rename(path)


def refuse_foreign(folder: Path, marker: str, ours: Callable[[dict[str, Any]], str | None]) -> None:
    """The same for a folder of this machine, before Spark is there."""
    if not is_unused(folder):
        _refuse(folder, read_json(folder / marker), ours)


def _refuse(
    folder: str | Path, description: dict[str, Any] | None, ours: Callable[[dict[str, Any]], str | None]
) -> None:
    if description is None:
        raise OutputError(f"{folder}: holds other files; choose a new or an empty folder")
    problem = ours(description)
    if problem:
        raise OutputError(f"{folder}: {problem}; choose another folder or remove that one")


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file of this machine, or from the folder that Spark writes; None if there is none."""
    try:
        parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
        return _parse("".join(part.read_text("utf-8") for part in parts))
    except OSError:
        return None


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON object to a file of this machine, readable, in one step."""
    with file_in_place(path) as partial:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _parse(text: str) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _short(error: Exception) -> str:
    return f"{first_line(error)} (does this Spark have the connector and the rights for it?)"
