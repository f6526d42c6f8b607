"""Stages 1 and 2 as one act: a log in any known format becomes a folder with clean contacts.

The folder holds ``contacts.parquet`` (which ``hunet run --contacts`` takes), ``rejected.parquet`` (every record that
is not part of a contact, with the reason) and ``quality.json`` (counts, settings, warnings). It appears when all of it
is complete. Contacts are computed once and kept on Spark's disk while the three are made of them.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.contacts import natural_order
from hunet.model.errors import ConfigurationError, InputError, OutputError
from hunet.model.files import folder_in_place
from hunet.pipeline.contacts import Cleaning, check_internal, check_sightings, condense, contacts_of, number_contacts
from hunet.pipeline.formats import choose_format
from hunet.pipeline.formats.format import Format, Reading
from hunet.pipeline.meetings import check_positions, check_stays, stays_together, within_range
from hunet.pipeline.quality import NOT_RECORDS, Fates, unit_warnings
from hunet.pipeline.sources import find_files, read_head, read_lines
from hunet.pipeline.tables import refuse_foreign, save_table, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["UNITS", "ImportSettings", "import_trace"]

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}
_UNIX = 1e8
_KIND = "import"


@dataclass(frozen=True)
class ImportSettings:
    """What the user may say of an import; None is the format's own rule."""

    format: str | None = None
    files: str = "*"
    """Of a folder, the files whose name or path matches this pattern."""
    columns: dict[str, str] = field(default_factory=dict)
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

    def cleaning(self, chosen: Format) -> Cleaning:
        """The rules of the contact stage, the format's where the user said nothing."""
        if self.reversed not in ("set-aside", "repair"):
            raise ConfigurationError(f"reversed '{self.reversed}': write set-aside or repair")
        if self.unit is not None and self.unit not in UNITS:
            raise ConfigurationError(f"unit '{self.unit}': write one of {', '.join(UNITS)}")
        if self.range <= 0:
            raise ConfigurationError(f"a range of {self.range:g} m reaches nobody: give more than 0")
        if chosen.makes != "sightings" and self.offsets:
            raise ConfigurationError(f"clock offsets are for scanners, and '{chosen.name}' has none")
        return Cleaning(
            internal=chosen.internal if self.internal is None else self.internal,
            reversed="repair" if self.reversed == "repair" else "set-aside",
            gap=chosen.gap if self.gap is None else self.gap,
            extend=self.extend,
            offsets=self.offsets,
        )


def import_trace(
    spark: SparkSession, path: Path | Sequence[Path], out: Path, settings: ImportSettings | None = None
) -> dict[str, Any]:
    """Import a log, or several that belong together, into a folder; returns what ``quality.json`` says."""
    settings = settings or ImportSettings()
    paths = [path] if isinstance(path, Path) else path
    found = [find_files(each, settings.files) for each in paths]
    files, ignored = [file for some, _ in found for file in some], [name for _, some in found for name in some]
    heads = [read_head(log) for log in files]
    chosen = choose_format(heads, settings.format)
    cleaning = settings.cleaning(chosen)
    given = " ".join(map(str, paths))
    name = {"kind": _KIND, "input": given, "format": chosen.name, "settings": _said(settings, cleaning)}
    refuse_foreign(out, "quality.json", lambda said: _foreign(said, name))
    reading = Reading(files, heads[0], settings.columns, settings.scan)
    work = _Work(spark, chosen, cleaning, settings, reading)
    try:
        return work.save(out, name, " ".join(each.name for each in paths), ignored)
    finally:
        work.checked.unpersist()


class _Work:
    """One import on its way."""

    def __init__(
        self, spark: SparkSession, chosen: Format, cleaning: Cleaning, settings: ImportSettings, reading: Reading
    ) -> None:
        from pyspark import StorageLevel

        self.chosen, self.cleaning, self.settings, self.files = chosen, cleaning, settings, reading.files
        self.unit = chosen.unit if settings.unit is None else UNITS[settings.unit]
        parsed = chosen.parse(read_lines(spark, reading.files), reading).transform(self._in_seconds)
        if chosen.makes == "sightings":
            checked = (
                parsed.transform(check_sightings(cleaning)).transform(number_contacts(cleaning.gap)).transform(condense)
            )
        elif chosen.makes == "positions":
            checked = parsed.transform(check_positions(cleaning.internal))
        else:
            checked = parsed.transform(check_stays(cleaning.internal, cleaning.reversed))
        self.checked = checked.persist(StorageLevel.DISK_ONLY)

    def save(self, out: Path, name: dict[str, Any], title: str, ignored: list[str]) -> dict[str, Any]:
        fates = self._fates()
        if fates.counts.get("unreadable", 0) * 2 > fates.records:
            raise self._mostly_unreadable(fates)
        if fates.first is None or fates.last is None:
            raise InputError(name["input"], f"no record is left to make contacts of: {_told(fates.counts)}")
        nodes, external = self._nodes()
        origin = self._origin(fates.first)
        shift = origin or 0.0
        span = (fates.first - shift, fates.last - shift)
        about = {"trace": title, "format": name["format"], "settings": name["settings"]}

        def describe(rows: int, length: float) -> dict[bytes, bytes]:  # noqa: ARG001
            said = {"nodes": nodes, "span": span, "origin": origin, "about": about}
            return {b"hunet.contacts": json.dumps(said).encode()}

        with folder_in_place(out) as place:
            meetings, contacts = self._contacts()
            rows, length = save_table(
                contacts.transform(_shifted, shift),
                ["start", "a", "b"],
                place / "contacts.parquet",
                describe,
                most=fates.records if meetings is None else None,
            )
            if not rows:
                raise OutputError(f"{name['input']}: nobody meets anybody: there are no contacts to write")
            save_table(self._rejected(), ["file", "line", "reason"], place / "rejected.parquet", most=fates.records)
            quality = {
                **name,
                "files": len(self.files),
                "ignored_files": ignored,
                **fates.report(),
                **({"meetings": meetings.count()} if meetings is not None else {}),
                "nodes": len(nodes),
                "external": external,
                "contacts": rows,
                "mean_duration": length / rows,
                "span": list(span),
                "origin": origin,
                "warnings": unit_warnings(fates.first, fates.last, self.unit),
            }
            write_json(place / "quality.json", quality)
        return quality

    def _in_seconds(self, rows: DataFrame) -> DataFrame:
        """Times in the unit that the user named instead of the format's."""
        from pyspark.sql import functions as sf

        factor = self.unit / self.chosen.unit
        if factor == 1.0:
            return rows
        times = [name for name in ("start", "end") if name in rows.columns]
        return rows.withColumns({name: sf.col(name) * factor for name in times})

    def _fates(self) -> Fates:
        from pyspark.sql import functions as sf

        rows, point = self.checked, self.chosen.makes == "positions"
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
        used = [row for row in found if row["fate"] in (None, "duplicate")]
        return Fates(
            {row["fate"] or "kept": row["rows"] for row in found},
            sum(row["repaired"] for row in found),
            sum(row["instants"] for row in used),
            min((row["first"] for row in used), default=None),
            max((row["last"] for row in used), default=None),
        )

    def _nodes(self) -> tuple[list[str], int]:
        """The nodes that take part, in natural order, and how many devices do not."""
        from pyspark.sql import functions as sf

        readable = self.checked.where(~sf.coalesce("fate", sf.lit("")).isin("unreadable", *NOT_RECORDS))
        if self.chosen.makes == "sightings":
            # Pair by pair first: rows of a pair are together already.
            met = readable.groupBy("pair", "spelled", "a", "b").agg(
                *(sf.max(f"{c}_saw").alias(f"{c}_saw") for c in "ab")
            )
            ends = sf.array(*(sf.struct(sf.col(c).alias("node"), sf.col(f"{c}_saw").alias("scans")) for c in "ab"))
            named = met.select(sf.explode(ends).alias("_")).select("_.node", "_.scans")
        else:
            named = readable.select("node", sf.lit(True).alias("scans"))
        seen = named.where("node is not null").groupBy("node").agg(sf.max("scans").alias("scans"))
        seen = seen.withColumn("fate", sf.lit(None).cast("string"))
        if self.cleaning.internal == "scanners":
            seen = seen.withColumn("fate", sf.when(~sf.col("scans"), "external"))
        else:
            seen = seen.transform(check_internal(self.cleaning.internal, "node"))
        groups = seen.groupBy("fate").agg(
            sf.count("*").alias("many"),
            sf.collect_list(sf.when(sf.col("fate").isNull(), sf.col("node"))).alias("names"),
        )
        inside: list[str] = []
        outside = 0
        for row in groups.collect():
            if row["fate"] is None:
                inside = sorted(row["names"], key=natural_order)
            else:
                outside = row["many"]
        return inside, outside

    def _origin(self, first: float) -> float | None:
        if self.settings.origin == "auto":
            return float(math.floor(first)) if first >= _UNIX else None
        try:
            origin = float(self.settings.origin)
        except ValueError:
            raise ConfigurationError(f"origin '{self.settings.origin}': write auto or a Unix time in seconds") from None
        if origin > first:
            raise ConfigurationError(f"origin {origin:g} is after the first contact ({first:g}): choose an earlier one")
        return origin

    def _contacts(self) -> tuple[DataFrame | None, DataFrame]:
        """The meetings of positions or stays, and the contacts; sightings have been numbered already."""
        from pyspark.sql import functions as sf

        if self.chosen.makes == "sightings":
            return None, contacts_of(self.checked)
        meet = within_range(self.settings.range) if self.chosen.makes == "positions" else stays_together
        meetings = self.checked.transform(meet)
        longer = meetings.withColumn("end", sf.col("end") + self.cleaning.extend)
        return meetings, longer.transform(number_contacts(self.cleaning.gap)).transform(condense).transform(contacts_of)

    def _rejected(self) -> DataFrame:
        from pyspark.sql import functions as sf

        rows = self.checked.where(sf.col("fate").isNotNull() & ~sf.col("fate").isin(*NOT_RECORDS))
        if self.chosen.makes == "sightings":
            one, other = (sf.when(sf.col("a_saw"), sf.col(x)).otherwise(sf.col(y)) for x, y in ("ab", "ba"))
            end = sf.col("end")
        elif self.chosen.makes == "stays":
            one, other, end = sf.col("node"), sf.col("place"), sf.col("end")
        else:
            one, other, end = sf.col("node"), sf.lit(None).cast("string"), sf.lit(None).cast("double")
        readable = sf.col("fate") != "unreadable"
        return rows.select(
            sf.get(sf.array(*(sf.lit(log.label) for log in self.files)), "file").alias("file"),
            "line",
            sf.col("fate").alias("reason"),
            sf.when(readable, one).alias("a"),
            sf.when(readable, other).alias("b"),
            sf.when(readable, sf.col("start")).alias("start"),
            sf.when(readable, end).alias("end"),
            "detail",
        )

    def _mostly_unreadable(self, fates: Fates) -> InputError:
        from pyspark.sql import functions as sf

        first = self.checked.where(sf.col("fate") == "unreadable").orderBy("file", "line").first()
        assert first is not None
        bad = fates.counts["unreadable"]
        return InputError(
            self.files[first["file"]].label,
            f"is not in the format '{self.chosen.name}' ({bad} of {fates.records} records cannot be read): "
            f"{first['detail']}; expected a line such as '{self.chosen.example}'",
            first["line"],
        )


def _shifted(contacts: DataFrame, shift: float) -> DataFrame:
    from pyspark.sql import functions as sf

    return contacts.withColumns({"start": sf.col("start") - shift, "end": sf.col("end") - shift}) if shift else contacts


def _said(settings: ImportSettings, cleaning: Cleaning) -> dict[str, Any]:
    given = asdict(replace(settings, internal=cleaning.internal, gap=cleaning.gap))
    return {name: value for name, value in given.items() if value is not None and name != "format"}


def _foreign(said: dict[str, Any], name: dict[str, Any]) -> str | None:
    if said.get("kind") != _KIND:
        return "holds something else than an import"
    for key, value in json.loads(json.dumps(name)).items():
        if said.get(key) != value:
            return f"holds another import ({said.get('input')} as {said.get('format')}, and '{key}' differs)"
    return None


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {fate}" for fate, count in sorted(counts.items())) or "the log is empty"
