"""Contact tables as files: the project's own (Parquet, CSV) and The ONE's connectivity events, gzip too.

=============  =====================================================================================
Parquet        columns a, b (names), start, end (seconds); nodes without contacts, span and origin
               are kept in the file's metadata
CSV            a header line that names a, b, start, end, in any order; comma, semicolon or tab
The ONE        ``time CONN a b up`` and ``time CONN a b down``, separated by blanks or tabs
=============  =====================================================================================

Reading is strict: a record that cannot be a contact is refused with its line. Dirty logs are the pipeline's business.
Formats are recognised by content when reading and chosen by the file's name when writing.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hunet.model import ConfigurationError, Contacts, InputError, did_you_mean, natural_order
from hunet.model.contacts import BadRecordError
from hunet.model.files import file_in_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

_COLUMNS = ("a", "b", "start", "end")
_NO_TRACE = "this folder holds no trace: import a log with 'hunet trace import LOG -o FOLDER'"
_REMEDY = "correct the record, or clean the log with 'hunet trace import'"


def read_contacts(path: Path | str) -> Contacts:
    """Read a contact table, or the folder of an import that holds one (``contacts.parquet``)."""
    path = Path(path)
    if path.is_dir() and (path / "contacts.parquet").exists():
        path = path / "contacts.parquet"
    try:
        contacts = _read_parquet(path) if path.is_dir() or path.suffix == ".parquet" else _read_text(path)
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None
    if not len(contacts):
        raise InputError(path, "holds no contacts: there is nothing to simulate")
    return contacts


def write_contacts(contacts: Contacts, path: Path | str) -> None:
    """Write a contact table; the name says how: ``.parquet``, ``.csv``, ``.one``, and ``.csv.gz``, ``.one.gz``."""
    path = Path(path)
    suffixes = path.suffixes
    packed = bool(suffixes) and suffixes[-1] == ".gz"
    kind = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if kind == ".parquet" and not packed:
        with file_in_place(path) as partial:
            _write_parquet(contacts, partial)
        return
    lines = {".csv": _csv_lines, ".one": _one_lines}.get(kind)
    if lines is None:
        raise ConfigurationError(f"{path}: name it .parquet, .csv or .one (or .csv.gz, .one.gz) to say its format")
    with file_in_place(path) as partial, partial.open("wb") as raw:
        # No file name and no time in the gzip header: the same contacts give the same bytes.
        file = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if packed else raw
        with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
            text.writelines(lines(contacts))


# Text -------------------------------------------------------------------------------------------------------------


def _read_text(path: Path) -> Contacts:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(path, f"the gzip file is damaged or cut short ({error}): fetch or pack it again") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(path, "is neither text nor Parquet: see the formats in docs/formats.md") from None
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    if not first:
        raise InputError(path, "is empty: there is nothing to simulate")
    if re.match(r"\S+\s+CONN\s", first):
        return _read_one(path, text)
    delimiter = next((mark for mark in ",;\t" if mark in first), ",")
    header = [name.strip().strip('"') for name in first.strip().split(delimiter)]
    if set(_COLUMNS) <= set(header):
        return _read_csv(path, text, header, delimiter)
    line = text[: text.index(first)].count("\n") + 1
    raise InputError(
        path,
        f"not a contact table: expected a header naming a, b, start, end or 'time CONN a b up', found "
        f"'{first.strip()[:60]}'; other formats are read by 'hunet trace import'",
        line,
    )


def _read_csv(path: Path, text: str, header: list[str], delimiter: str) -> Contacts:
    import pyarrow as pa
    import pyarrow.csv as pc

    types = {"a": pa.string(), "b": pa.string(), "start": pa.float64(), "end": pa.float64()}
    try:
        table = pc.read_csv(
            io.BytesIO(text.encode()),
            read_options=pc.ReadOptions(column_names=header, skip_rows_after_names=1),
            parse_options=pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pc.ConvertOptions(column_types=types, include_columns=_COLUMNS, null_values=[]),
        )
        return _from_columns(*(table.column(name) for name in _COLUMNS))
    except (pa.ArrowInvalid, BadRecordError) as error:
        _explain_csv(path, text, header, delimiter, error)


def _explain_csv(path: Path, text: str, header: list[str], delimiter: str, error: Exception) -> NoReturn:
    """Something is wrong in the file: go through it line by line, and say where and what."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    columns = [header.index(name) for name in _COLUMNS]
    number = -1
    for values in rows:
        if not any(values):
            continue
        number += 1
        if not number:
            continue  # the header
        if len(values) != len(header):
            problem = f"{len(values)} values where the header names {len(header)} columns"
            raise InputError(path, problem, rows.line_num)
        for name in ("start", "end"):
            value = values[header.index(name)].strip()
            try:
                float(value)
            except ValueError:
                raise InputError(path, f"'{name}' must be a number, not '{value}'", rows.line_num) from None
        if isinstance(error, BadRecordError) and error.row == number - 1:
            written = ", ".join(values[i] for i in columns)
            raise InputError(path, f"{error.problem} ({written}): {_REMEDY}", rows.line_num)
    raise InputError(path, f"cannot be read as CSV: {error}")


def parse_connection(row: str) -> tuple[float, str, str, bool]:
    """Time, both nodes, and whether they connect, of a line of The ONE; ``ValueError`` says what is wrong with it."""
    words = row.split()
    many = len(words)
    # As The ONE has it: up and down in any case, and perhaps the name of a network interface behind it.
    way = words[4].lower() if many in (5, 6) else ""
    if way not in ("up", "down") or words[1] != "CONN":
        raise ValueError(f"expected 'time CONN a b up|down', found '{row.strip()[:60]}'")
    return parse_time(words[0]), words[2], words[3], way == "up"


def parse_time(word: str) -> float:
    """The time of an event of The ONE; ``ValueError`` says what is wrong with it."""
    try:
        time = float(word)
    except ValueError:
        raise ValueError(f"the time must be a number, not '{word}'") from None
    if not 0 <= time < float("inf"):
        raise ValueError(f"the time must not be negative, and it is {word}")
    return time


def _read_one(path: Path, text: str) -> Contacts:
    """Pair ups with downs. Records of a pair may overlap (both devices report it): it is open while any is.

    The simulator itself ignores a second up (``hunet.pipeline.one_events``), but traces in its format are logs.
    """
    events: list[tuple[float, bool, int, str, str]] = []
    for line, row in enumerate(io.StringIO(text), 1):
        if row.isspace():
            continue
        try:
            time, a, b, up = parse_connection(row)
        except ValueError as error:
            raise InputError(path, str(error), line) from None
        if a == b:
            raise InputError(path, f"a node is in contact with itself ({a}): {_REMEDY}", line)
        events.append((time, not up, line, a, b))
    events.sort()  # no two are of one line
    opened: dict[tuple[str, str], list[float]] = defaultdict(list)
    records: list[tuple[str, str, float, float]] = []
    for time, down, line, a, b in events:
        pair = (a, b) if a < b else (b, a)
        if not down:
            opened[pair].append(time)
        elif opened[pair]:
            records.append((*pair, opened[pair].pop(0), time))
        else:
            raise InputError(path, f"{a} and {b} go down without having gone up: {_REMEDY}", line)
    last = events[-1][0]
    records.extend((*pair, since, last) for pair, times in opened.items() for since in times)
    return Contacts.from_records(records)


def _csv_lines(contacts: Contacts) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for a, b, start, end in contacts.records():
        writer.writerow((a, b, _number(start), _number(end)))
        if out.tell() > 1 << 16:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def _one_lines(contacts: Contacts) -> Iterator[str]:
    for name in contacts.names:
        if not name or re.search(r"\s", name):
            raise ConfigurationError(
                f"The ONE's format cannot hold the node name '{name}': write CSV or Parquet instead"
            )
    names = contacts.names
    time = np.concatenate([contacts.start, contacts.end])
    word = np.repeat(np.array(["up", "down"]), len(contacts))
    which = np.tile(np.arange(len(contacts)), 2)
    for event in np.argsort(time, kind="stable"):
        a, b = contacts.a[which[event]], contacts.b[which[event]]
        yield f"{_number(float(time[event]))}\tCONN\t{names[a]}\t{names[b]}\t{word[event]}\n"


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


# Parquet ----------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> Contacts:
    import pyarrow as pa

    trace = _trace_of(path)
    try:
        table = _read_parts(path, trace)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        if path.is_dir():
            raise InputError(path, _NO_TRACE) from None
        raise InputError(path, f"not a readable Parquet file: {str(error).splitlines()[0]}") from None
    if path.is_dir() and not set(_COLUMNS) <= set(table.column_names):
        raise InputError(path, _NO_TRACE)
    for name in _COLUMNS:
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise InputError(path, f"no column '{name}' ({hint}): a contact table has a, b, start, end")
    if trace is None:
        description = json.loads((table.schema.metadata or {}).get(b"hunet.contacts", b"{}"))
    else:
        nodes = _read_parts(path.parent / "nodes.parquet", trace).column("node").to_pylist()
        description = {"nodes": nodes, **{key: trace[key] for key in ("span", "origin", "about")}}
    try:
        return contacts_from_arrow(table, **description)
    except pa.ArrowInvalid as error:
        raise InputError(path, f"a column has the wrong type: {str(error).splitlines()[0]}") from None
    except BadRecordError as error:
        raise InputError(path, f"row {error.row + 1}: {error.problem}: {_REMEDY}") from None


def contacts_from_arrow(table: pa.Table, **description: Any) -> Contacts:
    """A contact table from Arrow's columns a, b, start, end; ``description`` may have nodes, span, origin and about."""
    import pyarrow as pa

    names = (pa.string(), pa.dictionary(pa.int32(), pa.string()))
    columns = []
    for name in _COLUMNS:
        column = table.column(name)
        known = names if name in "ab" else (pa.float64(),)
        columns.append(column if column.type in known else column.cast(known[0]))  # a cast takes half a second to load
    return _from_columns(*columns, metadata=description.pop("about", None), **description)


def _read_parts(path: Path, trace: dict[str, Any] | None) -> pa.Table:
    """A Parquet file, or a folder of them as Spark writes it: its parts one after the other."""
    import pyarrow as pa

    if not path.is_dir():
        return _read_part(path)
    folders = [path]
    if trace is not None and "batch" in trace:  # it is followed: of a later batch there may be a part
        folders = [each for each in path.glob("batch=*") if int(each.name.partition("=")[2]) <= trace["batch"]]
        if path.name == "contacts.parquet":
            folders.append(path.parent / "open.parquet" / f"slot={trace['slot']}")
    parts = sorted(part for folder in folders for part in folder.glob("*.parquet") if part.is_file())
    if not parts:
        raise InputError(path, _NO_TRACE)
    return pa.concat_tables([_read_part(part) for part in parts])


def _read_part(path: Path) -> pa.Table:
    """A Parquet file; of names, each is read once."""
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(path)
    names = [name for name in ("a", "b") if name in opened.schema_arrow.names]
    return pq.ParquetFile(path, metadata=opened.metadata, read_dictionary=names).read()


def _trace_of(path: Path) -> dict[str, Any] | None:
    """What is said of the trace that a table of contacts belongs to."""
    marker = path.parent / "trace.json"
    if path.name != "contacts.parquet" or not marker.is_file():
        return None
    try:
        description: dict[str, Any] = json.loads(marker.read_text("utf-8"))
    except ValueError:
        raise InputError(marker, "is damaged: import the log again") from None
    return description


def _write_parquet(contacts: Contacts, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.array(contacts.names, pa.string())
    description = {
        "nodes": list(contacts.names),
        "span": list(contacts.span),
        "origin": contacts.origin,
        "about": contacts.metadata,
    }
    table = pa.table(
        {
            "a": pa.DictionaryArray.from_arrays(pa.array(contacts.a), names),
            "b": pa.DictionaryArray.from_arrays(pa.array(contacts.b), names),
            "start": contacts.start,
            "end": contacts.end,
        }
    )
    pq.write_table(table.replace_schema_metadata({b"hunet.contacts": json.dumps(description).encode()}), path)


def _from_columns(
    a: Any,
    b: Any,
    start: Any,
    end: Any,
    *,
    nodes: Iterable[str] = (),
    span: list[float] | None = None,
    origin: float | None = None,
    metadata: dict[str, Any] | None = None,
) -> Contacts:
    """Arrow columns to a table; nodes are numbered in the natural order of their names."""
    for column, name in ((a, "a"), (b, "b"), (start, "start"), (end, "end")):
        if column.null_count:
            import pyarrow.compute as pc

            raise BadRecordError(pc.index(column.is_null(), True).as_py(), f"'{name}' is missing")
    coded = [[_codes(chunk) for chunk in column.chunks] for column in (a, b)]
    present = {name for chunks in coded for _, names in chunks for name in names}
    names = sorted({*present, *nodes}, key=natural_order)
    number_of = {name: number for number, name in enumerate(names)}

    def number(chunks: list[tuple[NDArray[np.int32], list[str]]]) -> NDArray[np.int32]:
        parts = [
            np.array([number_of[name] for name in names], np.int32)[codes] for codes, names in chunks if len(codes)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    return Contacts.from_arrays(
        names,
        number(coded[0]),
        number(coded[1]),
        _floats(start),
        _floats(end),
        span=(span[0], span[1]) if span else None,
        origin=origin,
        metadata=metadata,
    )


def _codes(chunk: Any) -> tuple[NDArray[np.int32], list[str]]:
    """A column of names as numbers into a list of those that occur."""
    import pyarrow as pa

    coded = chunk if isinstance(chunk.type, pa.DictionaryType) else chunk.dictionary_encode()
    codes = _values(coded.indices, np.int32)
    names = coded.dictionary.to_pylist()
    present = np.zeros(len(names), bool)
    present[codes] = True
    if not present.all():  # a dictionary may have more than the column
        codes = (np.cumsum(present, dtype=np.int32) - 1)[codes]
        names = [name for name, here in zip(names, present.tolist(), strict=True) if here]
    return codes, names


def _floats(column: Any) -> NDArray[np.float64]:
    parts = [_values(chunk, np.float64) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.empty(0, np.float64)


def _values(array: Any, kind: type[Any]) -> NDArray[Any]:
    """The values of an Arrow array without nulls. Arrow's own way to NumPy loads pandas first."""
    if not len(array):
        return np.empty(0, kind)
    values: NDArray[Any] = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]
    return values
