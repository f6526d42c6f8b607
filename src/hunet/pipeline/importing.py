"""Stages 1 and 2 as one act: a log in any known format becomes a trace, a folder with clean contacts.

The folder holds ``contacts.parquet`` (which ``hunet run --contacts`` takes), ``nodes.parquet`` (who takes part),
``rejected.parquet`` (every record that is not part of a contact, with file, line and reason), ``trace.json``: counts,
settings, span, origin, warnings, and the fingerprint of the content. It is complete when ``trace.json`` is there.
Contacts are computed once and kept on Spark's disk while the tables are made of them.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.contacts import content_fingerprint
from hunet.model.errors import ConfigurationError, InputError, OutputError
from hunet.pipeline.contacts import Cleaning, check_internal, check_sightings, only_contacts
from hunet.pipeline.formats import FORMATS, choose_format
from hunet.pipeline.formats.format import Format, Reading
from hunet.pipeline.joining import BYTES_PER_PART, join_sightings
from hunet.pipeline.meetings import check_positions, check_stays, stays_together, within_range
from hunet.pipeline.quality import COUNTED, NOT_RECORDS, Fates, unit_warnings
from hunet.pipeline.schemas import ddl
from hunet.pipeline.session import stage, start_python
from hunet.pipeline.sources import Head, LogFile, Source, find_at, find_files, read_head, read_heads_at
from hunet.pipeline.storage import Storage, is_uri, join, refuse_foreign
from hunet.pipeline.traces import MARKER, measure_contacts, measure_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["UNITS", "Import", "ImportSettings", "import_trace"]

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}
SMALL = 4 << 20
"""Bytes of input up to which one task does it all."""
_UNIX = 1e8
_KIND = "import"


@dataclass(frozen=True)
class ImportSettings:
    """What the user may say of an import; None is the format's own rule."""

    format: str | None = None
    files: str = "*"
    """Of a folder, the files whose name or path matches this pattern."""
    table: str | None = None
    """A table of Spark's catalogue, in place of files."""
    columns: dict[str, str] = field(default_factory=dict)
    schema: str | None = None
    """Names and types of a CSV without a header, or of JSON: such as ``phone string, rssi double``."""
    where: str | None = None
    """A condition in Spark's SQL on the input's columns; the rest is filtered out."""
    time_format: str | None = None
    """How times are written: ``iso``, or a pattern of Spark such as ``dd/MM/yyyy HH:mm:ss``."""
    internal: str | None = None
    reversed: str = "set-aside"
    gap: float | None = None
    extend: float = 0.0
    offsets: dict[str, float] = field(default_factory=dict)
    unit: str | None = None
    """The unit of the log's times: s, ms, us, min or h."""
    range: float = 10.0
    """Positions: the distance up to which two nodes are in contact (m)."""
    scan: float | None = None
    """SocioPatterns: the length of a sample (s)."""
    origin: str = "auto"
    """Second 0: ``auto`` is the first start of a log in Unix time and the log's own 0 otherwise; or a Unix time."""
    single_file: bool = False
    """Tables as one file each."""

    def reading(self, chosen: Format, heads: Sequence[Head]) -> Reading:
        """What the format's parser is told of files with these beginnings; raises where they do not go together."""
        head = heads[0]
        if chosen.name == "json":  # a key that the first file lacks is a column, too
            head = Head(head.file, [line for each in heads for line in each.lines])
        reading = Reading(head, self.columns, self.scan, self.where, self.time_format, self.schema)
        if chosen.check is not None:
            chosen.check(heads, reading)
        return reading

    def cleaning(self, chosen: Format) -> Cleaning:
        """The rules of the contact stage, the format's where the user said nothing."""
        if self.reversed not in ("set-aside", "repair"):
            raise ConfigurationError(f"reversed '{self.reversed}': write set-aside or repair")
        if self.unit is not None and self.unit not in UNITS:
            raise ConfigurationError(f"unit '{self.unit}': write one of {', '.join(UNITS)}")
        if self.unit is not None and self.time_format is not None:
            raise ConfigurationError("--unit is for times that are numbers, and --time-format for others: give one")
        if self.range <= 0:
            raise ConfigurationError(f"a range of {self.range:g} m reaches nobody: give more than 0")
        if chosen.makes != "sightings" and self.offsets:
            raise ConfigurationError(f"clock offsets are for scanners, and '{chosen.name}' has none")
        if not chosen.has_columns:
            for name in ("columns", "schema", "where", "time_format"):
                if getattr(self, name):
                    option = "--column" if name == "columns" else f"--{name.replace('_', '-')}"
                    raise ConfigurationError(
                        f"{option} is for inputs whose columns have names (CSV, JSON, Parquet, ORC, tables), "
                        f"not for '{chosen.name}'"
                    )
        return Cleaning(
            internal=chosen.internal if self.internal is None else self.internal,
            reversed="repair" if self.reversed == "repair" else "set-aside",
            gap=chosen.gap if self.gap is None else self.gap,
            extend=self.extend,
            offsets=self.offsets,
        )


def import_trace(
    spark: SparkSession,
    path: str | Path | Sequence[str | Path],
    out: str | Path,
    settings: ImportSettings | None = None,
) -> dict[str, Any]:
    """Import a log, or several that belong together, into a folder; returns what ``trace.json`` says."""
    paths = [path] if isinstance(path, (str, Path)) else path
    return Import(paths, settings or ImportSettings()).write(spark, out)


class Import:
    """What should be imported. Whatever can be known without Spark is checked when this is made."""

    def __init__(self, paths: Sequence[str | Path], settings: ImportSettings) -> None:
        self.settings = settings
        self.paths = [str(path) for path in paths]
        if settings.table and self.paths:
            raise ConfigurationError("--table stands in place of files: give one or the other")
        if not settings.table and not self.paths:
            raise ConfigurationError("nothing to import: name a log, a folder of logs, a URI, or --table")
        self._files: list[LogFile] = []
        self._ignored: list[str] = []
        self._heads: list[Head] = []
        self._waiting: list[str] = []
        """URIs, which only Spark can look into."""
        for path in self.paths:
            if is_uri(path):
                self._waiting.append(path)
            else:
                self._add(*find_files(Path(path), settings.files))
        if not self._waiting:
            self._choose()

    def _add(self, files: list[LogFile], ignored: list[str], heads: list[Head] | None = None) -> None:
        self._files += files
        self._ignored += ignored
        self._heads += heads if heads is not None else [read_head(log) for log in files]

    def _choose(self) -> None:
        if self.settings.table:
            self.chosen = FORMATS["table"]
            table = LogFile(self.settings.table, "table", self.settings.table, 0)
            self._heads = [Head(table, [])]
        else:
            self.chosen = choose_format(self._heads, self.settings.format)
        self.cleaning = self.settings.cleaning(self.chosen)
        self._reading = self.settings.reading(self.chosen, self._heads)

    @property
    def is_small(self) -> bool:
        """Whether it is known to be little: it is then not worth to start much for it."""
        return not self._waiting and not self.settings.table and sum(log.size for log in self._files) <= SMALL

    @property
    def name(self) -> dict[str, Any]:
        """What tells this import from others."""
        given = asdict(replace(self.settings, internal=self.cleaning.internal, gap=self.cleaning.gap))
        chosen = {name: value for name, value in given.items() if value is not None and name != "format"}
        return {
            "kind": _KIND,
            "input": " ".join(self.paths) or f"table {self.settings.table}",
            "format": self.chosen.name,
            "settings": chosen,
        }

    def check(self, out: str | Path) -> None:
        """Refuse a folder of this machine that holds something else."""
        if not is_uri(out) and not self._waiting:
            refuse_foreign(Path(out), MARKER, self._foreign)

    def write(self, spark: SparkSession, out: str | Path) -> dict[str, Any]:
        """Do it; returns what ``trace.json`` says."""
        if self._waiting:
            for location in self._waiting:
                files, ignored = find_at(spark, location, self.settings.files)
                self._add(files, ignored, read_heads_at(spark, files))
            self._waiting = []
            self._choose()
        storage = Storage(spark)
        storage.refuse_foreign(out, MARKER, self._foreign)
        if self.is_small:
            start_python(spark)
        source = Source(spark, self._files, self.settings.table)
        work = Work(source, self.chosen, self.cleaning, self.settings, self._reading)
        try:
            return work.save(storage, out, self.name, self._ignored, len(self._files))
        finally:
            work.close()

    def _foreign(self, description: dict[str, Any]) -> str | None:
        if description.get("kind") != _KIND:
            return "holds something else than an import"
        if "state" in description:  # it did not come to its end
            return None
        for key, value in json.loads(json.dumps(self.name)).items():
            if description.get(key) != value:
                theirs = f"{description.get('input')} as {description.get('format')}"
                return f"holds another import ({theirs}, and '{key}' differs)"
        return None


class Work:
    """One import on its way."""

    def __init__(
        self,
        source: Source,
        chosen: Format,
        cleaning: Cleaning,
        settings: ImportSettings,
        reading: Reading,
        also: Callable[[DataFrame], DataFrame] = lambda checked: checked,
    ) -> None:
        """``also`` is done to sightings that were checked, before they are joined."""
        from pyspark import StorageLevel

        self.source, self.chosen, self.cleaning, self.settings = source, chosen, cleaning, settings
        self.unit = chosen.unit if settings.unit is None else UNITS[settings.unit]
        parts = {} if settings.table else {"parts": -(-source.size // BYTES_PER_PART)}
        rows = source.rows(by_file=chosen.by_file)
        parsed = chosen.parse(source.locate(rows) if chosen.numbered else rows, reading).transform(self._in_seconds)
        if chosen.makes == "sightings":
            checked = parsed.transform(check_sightings(cleaning)).transform(also)
            checked = checked.transform(join_sightings(cleaning.gap, **parts))
        elif chosen.makes == "positions":
            checked = parsed.transform(check_positions(cleaning.internal))
        else:
            checked = parsed.transform(check_stays(cleaning.internal, cleaning.reversed))
        self.rows = checked.persist(StorageLevel.DISK_ONLY)
        """Of sightings the table ``joined``; of others one row a record."""
        self.cleaned: DataFrame | None = None

    def close(self) -> None:
        self.rows.unpersist()
        if self.cleaned is not None:
            self.cleaned.unpersist()

    def save(
        self, storage: Storage, out: str | Path, name: dict[str, Any], ignored: list[str], files: int
    ) -> dict[str, Any]:
        with stage("reading records and joining them into contacts"):
            fates = self.fates()
        if fates.counts.get("unreadable", 0) * 2 > fates.records:
            raise self._mostly_unreadable(fates)
        if fates.first is None or fates.last is None:
            raise InputError(name["input"], f"no record is left to make contacts of: {_listed(fates.counts)}")
        origin = self.origin(fates.first)
        shift = origin or 0.0
        span = (fates.first - shift, fates.last - shift)
        with stage("counting contacts and nodes"):
            meetings, contacts = self._contacts(shift)
            facts = measure_contacts(contacts)
            if not facts.rows:
                raise OutputError(f"{name['input']}: nobody meets anybody: there are no contacts to write")
            seen = self.seen()
            members = measure_nodes(seen)
        single = self.settings.single_file
        with storage.result_folder(out, MARKER, _KIND) as folder, stage("writing tables"):
            storage.save_table(
                contacts, ["start", "a", "b"], join(folder, "contacts.parquet"), rows=facts.rows, single=single
            )
            nodes = seen.where("fate is null").select("node")
            storage.save_table(nodes, ["node"], join(folder, "nodes.parquet"), rows=members.rows, single=single)
            storage.save_table(
                self.rejected(fates),
                ["file", "line", "reason"],
                join(folder, "rejected.parquet"),
                rows=fates.rejected,
                single=single,
            )
            title = " ".join(Path(path).name for path in name["input"].split())
            description = {
                **name,
                "files": files,
                "ignored_files": ignored,
                **fates.report(),
                **({"meetings": meetings} if meetings is not None else {}),
                "nodes": members.rows,
                "external": members.others,
                "contacts": facts.rows,
                "mean_duration": facts.mean_duration,
                "span": list(span),
                "origin": origin,
                "fingerprint": content_fingerprint(facts.hashes, members.hashes, span),
                "about": {"trace": title, "format": name["format"], "settings": name["settings"]},
                "warnings": unit_warnings(fates.first, fates.last, self.unit),
            }
            storage.write_json(join(folder, MARKER), description)
        return description

    def _in_seconds(self, rows: DataFrame) -> DataFrame:
        """Times in the unit that the user named instead of the format's."""
        from pyspark.sql import functions as sf

        factor = self.unit / self.chosen.unit
        if factor == 1.0:
            return rows
        times = [name for name in ("start", "end") if name in rows.columns]
        return rows.withColumns({name: sf.col(name) * factor for name in times})

    def fates(self) -> Fates:
        from pyspark.sql import functions as sf

        rows, point = self.rows, self.chosen.makes == "positions"
        end = sf.col("start") if point else sf.col("end")
        if self.chosen.makes == "sightings":
            counted, mended, instants = (sf.sum(name) for name in ("records", "repaired", "instants"))
        else:
            counted = sf.count_if("record") if "record" in rows.columns else sf.count("*")
            mended = sf.lit(0) if point else sf.count_if("repaired")
            instants = sf.lit(0) if point else sf.count_if(sf.col("start") == end)
        found = (
            rows.groupBy("fate")
            .agg(
                counted.alias("rows"),
                mended.alias("repaired"),
                instants.alias("instants"),
                sf.min("start").alias("first"),
                sf.max(end).alias("last"),
            )
            .collect()
        )
        found = [row for row in found if row["fate"] != "node"]
        used = [row for row in found if row["fate"] in (None, "duplicate")]
        return Fates(
            {row["fate"] or "kept": row["rows"] for row in found},
            sum(row["repaired"] or 0 for row in found),
            sum(row["instants"] for row in used),
            min((row["first"] for row in used), default=None),
            max((row["last"] for row in used), default=None),
        )

    def seen(self) -> DataFrame:
        """All nodes that readable records name; those that take no part have a fate."""
        from pyspark.sql import functions as sf

        if self.chosen.makes == "sightings":
            named = self.rows.where("fate = 'node'").select(sf.col("a").alias("node"), sf.col("a_saw").alias("scans"))
        else:
            readable = self.rows.where(~sf.coalesce("fate", sf.lit("")).isin("unreadable", *NOT_RECORDS, "filtered"))
            node = sf.make_valid_utf8("node").alias("node")
            named = readable.select(node, sf.lit(True).alias("scans")).where("node is not null")
        seen = named.groupBy("node").agg(sf.max("scans").alias("scans"))
        seen = seen.withColumn("fate", sf.lit(None).cast("string"))
        if self.cleaning.internal == "scanners":
            return seen.withColumn("fate", sf.when(~sf.col("scans"), "external"))
        return seen.transform(check_internal(self.cleaning.internal, "node"))

    def origin(self, first: float) -> float | None:
        if self.settings.origin == "auto":
            return float(math.floor(first)) if first >= _UNIX else None
        try:
            origin = float(self.settings.origin)
        except ValueError:
            raise ConfigurationError(f"origin '{self.settings.origin}': write auto or a Unix time in seconds") from None
        if origin > first:
            raise ConfigurationError(f"origin {origin:g} is after the first contact ({first:g}): choose an earlier one")
        return origin

    def _contacts(self, shift: float) -> tuple[int | None, DataFrame]:
        """How many meetings positions or stays make, and the contacts; those of sightings are there already."""
        from pyspark import StorageLevel
        from pyspark.sql import functions as sf

        if self.chosen.makes == "sightings":
            return None, self.rows.transform(only_contacts).transform(shifted, shift)
        meet = within_range(self.settings.range) if self.chosen.makes == "positions" else stays_together
        meetings = self.rows.transform(meet)
        longer = meetings.withColumn("end", sf.col("end") + self.cleaning.extend)
        self.cleaned = longer.transform(join_sightings(self.cleaning.gap)).persist(StorageLevel.DISK_ONLY)
        many = self.cleaned.where("fate is null or fate = 'duplicate'").agg(sf.sum("records")).first()
        assert many is not None
        return many[0] or 0, self.cleaned.transform(only_contacts).transform(shifted, shift)

    def rejected(self, fates: Fates) -> DataFrame:
        from pyspark.sql import functions as sf

        if not fates.rejected:
            return self.rows.sparkSession.createDataFrame([], ddl("rejected"))
        rows = self.rows.where(sf.col("fate").isNotNull() & ~sf.col("fate").isin("node", *COUNTED))
        if self.chosen.makes == "sightings":
            one, other = (sf.when(sf.col("a_saw"), sf.col(x)).otherwise(sf.col(y)) for x, y in ("ab", "ba"))
            end = sf.col("end")
        elif self.chosen.makes == "stays":
            one, other, end = sf.col("node"), sf.col("place"), sf.col("end")
        else:
            one, other, end = sf.col("node"), sf.lit(None).cast("string"), sf.lit(None).cast("double")
        readable = sf.col("fate") != "unreadable"
        return self.source.locate(rows).select(
            "file",
            "line",
            sf.col("fate").alias("reason"),
            sf.when(readable, one).alias("a"),
            sf.when(readable, other).alias("b"),
            sf.when(readable, sf.col("start")).alias("start"),
            sf.when(readable, end).alias("end"),
            "detail",
        )

    def _mostly_unreadable(self, fates: Fates) -> InputError:
        bad = self.source.locate(self.rows.where("fate = 'unreadable'"))
        first = bad.orderBy("file", "line").select("file", "line", "detail").first()
        assert first is not None
        return InputError(
            first["file"],
            f"is not in the format '{self.chosen.name}' ({fates.counts['unreadable']} of {fates.records} records "
            f"cannot be read): {first['detail']}; expected a line such as '{self.chosen.example}'",
            first["line"],
        )


def shifted(contacts: DataFrame, shift: float) -> DataFrame:
    from pyspark.sql import functions as sf

    return contacts.withColumns({"start": sf.col("start") - shift, "end": sf.col("end") - shift}) if shift else contacts


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {fate}" for fate, count in sorted(counts.items())) or "the log is empty"
