"""A trace that is kept up to date while logs come in (``hunet trace follow``).

Structured Streaming tells which files are new, each of them once: its checkpoint lies in the trace's folder. The files
of a batch are read and checked as by an import, and joined with what is still open: contacts that a record may yet
lengthen. A record is *late* if it starts before the *bound*, the latest start of the batches before less ``late``
seconds: contacts that ended more than ``gap`` before the bound are closed, and never read again.

After each batch the table is what an import of all records so far would be, without the late ones. In the folder are

=========================  ==========================================================================================
``contacts.parquet``       ``batch=N``: the contacts that batch N closed
``open.parquet``           ``slot=S``: those that are still open, as far as they are known
``nodes.parquet``          ``batch=N``: the nodes that batch N was the first to name; ``external.parquet``: devices
``rejected.parquet``       ``batch=N``: its records that are part of no contact, late ones among them
``carried.parquet``        ``slot=S``: what the next batch needs of the records of open contacts
``state``                  what the next batch must know beside: ``trace.json`` as of each of the last batches
``follow.json``            what is followed, and how
=========================  ==========================================================================================

``trace.json`` is written last: readers take no batch beyond the one that it names. A batch depends on nothing but its
files and what the batch before left, and writes over what a killed attempt at it has left: so it may be done again.
"""

from __future__ import annotations

import json
import re
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.contacts import content_fingerprint
from hunet.model.errors import ConfigurationError, InputError, OutputError
from hunet.pipeline.contacts import only_contacts
from hunet.pipeline.formats import choose_format, format_named
from hunet.pipeline.formats.format import Format
from hunet.pipeline.importing import SMALL, ImportSettings, Work, shifted
from hunet.pipeline.messages import MessageSource, stream_of
from hunet.pipeline.quality import Fates, unit_warnings
from hunet.pipeline.session import for_streams, is_connect
from hunet.pipeline.sources import Head, Source, logs_among, logs_below, read_head, read_heads_at
from hunet.pipeline.storage import Storage, is_uri, join, refuse_foreign
from hunet.pipeline.traces import MARKER, Facts, measure_contacts, measure_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

DAY = 86400.0
_KIND, _OWN_MARKER = "follow", "follow.json"
_SLOTS = 8
"""States that are kept: two are enough to go on; a reader may take as long as the other batches."""
_CARRIED = -(1 << 63)
"""The source of a row that an earlier batch has counted: it comes before all others."""
_LOOK_EVERY = 1
_BINARY_FILE = "path string, modificationTime timestamp, length bigint, content binary"
"""What Spark knows of a file; the content is not asked for."""
_FOR_EVER = "36500d"
"""How old a file may be beside the youngest; Spark passes over those of last week otherwise."""


@dataclass(frozen=True)
class Follow:
    """What should be followed; whatever can be known without Spark is checked when this is made."""

    location: str
    """A folder of this machine, or a URI; of Kafka, a topic."""
    out: str
    settings: ImportSettings
    late: float = DAY
    """How much earlier than the latest start of the batches before a record may start (s)."""
    most: int | None = None
    """The most files, or messages, of a batch; all that are new if None."""
    kafka: str | None = None
    """The brokers of Kafka, HOST:PORT,..., in place of a folder."""

    def __post_init__(self) -> None:
        if self.late < 0:
            raise ConfigurationError(f"--late {self.late:g}: give 0 or more seconds")
        if not self.kafka and not is_uri(self.location) and not Path(self.location).is_dir():
            raise InputError(self.location, "no such folder: name the folder in which logs arrive")
        if not self.kafka and f"{_place(self.out)}/".startswith(f"{_place(self.location)}/"):
            raise ConfigurationError(f"{self.out}: lies in the folder that is followed: choose another place for it")
        if self.settings.format:
            self.check_format(format_named(self.settings.format))
        if not is_uri(self.out):
            refuse_foreign(Path(self.out), _OWN_MARKER, self._foreign)

    @property
    def is_small(self) -> bool:
        """Whether what is there now is known to be little."""
        if self.kafka or is_uri(self.location):
            return False
        return sum(each.stat().st_size for each in Path(self.location).rglob("*") if each.is_file()) <= SMALL

    @property
    def name(self) -> dict[str, Any]:
        """What tells this trace from others."""
        given = {name: value for name, value in asdict(self.settings).items() if value is not None}
        source = f"{self.kafka}/{self.location}" if self.kafka else self.location
        return {"kind": _KIND, "input": source, "settings": given, "late": self.late}

    def _foreign(self, description: dict[str, Any]) -> str | None:
        for key, value in json.loads(json.dumps(self.name)).items():
            if description.get(key) != value:
                return f"holds another trace that is followed ({description.get('input')}, and '{key}' differs)"
        return None

    def state_of(self, batch: int) -> str:
        """Where it is said what a batch left."""
        return join(self.out, f"state/{batch % _SLOTS}.json")

    def check_format(self, chosen: Format) -> Format:
        """Refuse a format of which a record is nothing without records of other files."""
        if chosen.makes != "sightings" or chosen.name == "one":
            raise ConfigurationError(
                f"'{chosen.name}' cannot be followed: its records need those of other files; import it as a whole"
            )
        if self.settings.cleaning(chosen).internal == "scanners":
            raise ConfigurationError(
                f"--internal scanners (the rule of '{chosen.name}' if none is given) is known when all logs are there: "
                "give all, or numbers such as 1-41"
            )
        return chosen

    def run(
        self, spark: SparkSession, *, once: bool, every: float, report: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any] | None:
        """Follow until somebody stops it, or ``once`` through what is there; ``told`` hears of every batch.

        Returns what ``trace.json`` says at the end.
        """
        storage = Storage(spark)
        storage.refuse_foreign(self.out, _OWN_MARKER, self._foreign)
        if storage.read_json(join(self.out, _OWN_MARKER)) is None:
            storage.write_json(join(self.out, _OWN_MARKER), self.name)
        problems: list[Exception] = []
        work = for_streams(spark, adder, asdict(self), None if is_connect(spark) else problems)
        writer = self._stream(spark, storage).writeStream.foreachBatch(work)
        writer = writer.option("checkpointLocation", storage.uri(join(self.out, "checkpoint")))
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every:g} seconds")
        before = storage.read_json(join(self.out, MARKER))
        query = writer.start()
        try:
            heard = self._wait(query, storage, report)
        except Exception:
            if problems:
                raise problems[0] from None
            raise
        finally:
            with suppress(Exception):  # Spark may have gone
                query.stop()
        description = storage.read_json(join(self.out, MARKER))
        if description is not None and description["batch"] > max(heard, before["batch"] if before else -1):
            report(description)  # the stream ended before it could be asked
        return description

    def _stream(self, spark: SparkSession, storage: Storage) -> DataFrame:
        if self.kafka:
            return stream_of(spark, self.kafka, self.location, self.most)
        stream = spark.readStream.format("binaryFile").schema(_BINARY_FILE)
        stream = stream.option("recursiveFileLookup", "true").option("maxFileAge", _FOR_EVER)
        if self.most is not None:
            stream = stream.option("maxFilesPerTrigger", self.most)
        return stream.load(storage.uri(_place(self.location))).select("path", "length")

    def _wait(self, query: StreamingQuery, storage: Storage, report: Callable[[dict[str, Any]], None]) -> int:
        """Wait for the end of the stream; returns the last batch that was told of."""
        heard, over = -1, False
        while not over:
            over = bool(query.awaitTermination(_LOOK_EVERY))
            done = [progress["batchId"] for progress in query.recentProgress if progress["numInputRows"]]
            for number in (each for each in done if each > heard):
                totals = storage.read_json(self.state_of(number))
                if totals is not None and totals["batch"] == number:
                    report(totals)
                heard = number
        return heard


def _place(location: str) -> str:
    """A location as Spark names what is in it: without links and dots, if it is of this machine."""
    return location.rstrip("/") if is_uri(location) else str(Path(location).resolve())


def adder(description: dict[str, Any], problems: list[Exception] | None = None) -> Callable[[DataFrame, int], None]:
    """A function that makes the records of a batch part of a trace; ``problems`` gets what ended it.

    Of the trace it is given ``asdict``: on Spark Connect it works in another process.
    """
    work = _Batches(Follow(**{**description, "settings": ImportSettings(**description["settings"])}))

    def add(found: DataFrame, number: int) -> None:
        try:
            work.add(found, number)
        except Exception as error:
            if problems is None:
                raise
            problems.append(error)
            # Java looks at the text with a regular expression, which overflows its stack if that is long.
            raise RuntimeError(f"batch {number} failed") from None

    return add


class _Batches:
    """What is done with each batch."""

    def __init__(self, follow: Follow) -> None:
        self._follow = follow

    def add(self, found: DataFrame, number: int) -> None:
        """Make the records of a batch part of the trace."""
        if not self._follow.kafka:
            self._add(*self._files(found), number)
            return
        messages = MessageSource(found.persist(), self._follow.location)
        head = messages.head()
        self._add(messages, [head] if head.lines else [], {}, number)
        found.unpersist()

    def _add(self, source: Source, heads: list[Head], found: dict[str, Any], number: int) -> None:
        follow, storage = self._follow, Storage(source.spark)
        before: dict[str, Any] | None = {"batch": -1, "files": 0, "ignored_files": []}
        if number:
            before = storage.read_json(follow.state_of(number - 1))
        if before is None or before["batch"] != number - 1:
            raise OutputError(f"{follow.out}: what batch {number - 1} left is missing: follow into a new folder")
        totals = {**before, **{key: before[key] + value for key, value in found.items()}, "batch": number}
        if heads:
            chosen = follow.check_format(choose_format(heads, before.get("format") or follow.settings.format))
            with closing(_Batch(follow, source, chosen, heads, before)) as batch:
                totals |= batch.save(storage, number)
        storage.write_json(follow.state_of(number), totals)
        if "slot" in totals:
            storage.write_json(join(follow.out, MARKER), totals)

    def _files(self, found: DataFrame) -> tuple[Source, list[Head], dict[str, Any]]:
        """The logs among new files, their beginnings, and what is counted of them."""
        spark, location, pattern = found.sparkSession, self._follow.location, self._follow.settings.files
        sizes = {row["path"]: row["length"] for row in found.collect() if row["length"]}
        if is_uri(location):
            logs, ignored = logs_among(spark, location, sizes, pattern)
            heads = read_heads_at(spark, logs) if logs else []
        else:
            folder = Path(location)
            places = [Path(re.sub("^file:/+", "/", path)).relative_to(_place(location)) for path in sizes]
            logs, ignored = logs_below(folder, [folder / each for each in places], pattern)
            heads = [read_head(log) for log in logs]
        return Source(spark, logs), heads, {"files": len(logs), "ignored_files": ignored}


class _Batch:
    """One batch on its way."""

    def __init__(
        self, follow: Follow, source: Source, chosen: Format, heads: list[Head], before: dict[str, Any]
    ) -> None:
        self._follow, self._chosen, self._before = follow, chosen, before
        self._known: dict[str, Any] = before.get("following", {})
        """What earlier batches have found."""
        settings = follow.settings
        reading = settings.reading(chosen, heads)
        self._cleaning = settings.cleaning(chosen)
        self._node_tables = {"nodes.parquet": "fate is null", "external.parquet": "fate is not null"}
        if self._cleaning.internal == "all":
            del self._node_tables["external.parquet"]
        self._work = Work(source, chosen, self._cleaning, settings, reading, self._with_carried)

    def close(self) -> None:
        self._work.close()
        self._checked.unpersist()

    def _read(self, spark: SparkSession, table: str) -> DataFrame:
        return Storage(spark).read_parquet(join(self._follow.out, table))

    def _bound(self, latest: float | None) -> float:
        return float("-inf") if latest is None else latest - self._follow.late

    def _with_carried(self, checked: DataFrame) -> DataFrame:
        """New rows, the late ones marked, and the rows of open contacts."""
        from pyspark import StorageLevel
        from pyspark.sql import functions as sf

        # As contacts have them: carried rows are found by the names of theirs.
        checked = checked.withColumns({name: sf.make_valid_utf8(name) for name in ("scanner", "seen")})
        if "slot" in self._before:
            late = sf.col("fate").isNull() & (sf.col("start") < self._bound(self._known["latest"]))
            marked = checked.withColumn("fate", sf.when(late, "late").otherwise(sf.col("fate")))
            given = {"source": sf.lit(_CARRIED), "row": sf.lit(0).cast("bigint")}
            given |= {name: sf.lit(None).cast("string") for name in ("fate", "detail")}
            carried = self._read(checked.sparkSession, f"carried.parquet/slot={self._before['slot']}")
            checked = marked.unionByName(carried.withColumns(given))
        self._checked = checked.persist(StorageLevel.DISK_ONLY)
        return self._checked

    def save(self, storage: Storage, number: int) -> dict[str, Any]:
        """Write the tables of the batch; returns what ``trace.json`` then says."""
        from pyspark.sql import functions as sf

        known, work = self._known, self._work
        latest, shuffled = self._latest()
        counted = work.fates().plus(Fates(**known.get("carried", {"counts": {}})))
        fates = counted.plus(Fates(**known.get("fates", {"counts": {}})))
        first, last = fates.first or 0.0, fates.last or 0.0
        origin = None if fates.first is None else work.origin(first)
        shift, bound = origin or 0.0, self._bound(latest)
        contacts = work.rows.transform(only_contacts)
        over = sf.lit(bound) - sf.col("end") > self._cleaning.gap
        closed, still = (contacts.where(each).transform(shifted, shift) for each in (over, ~over))
        seen = self._new_nodes(number)
        facts, open_facts, node_facts = measure_contacts(closed), measure_contacts(still), measure_nodes(seen)
        slot = (self._before.get("slot", -1) + 1) % _SLOTS
        carried = self._carried(contacts.where(~over), bound)
        tables = [
            (f"rejected.parquet/batch={number}", work.rejected(counted), ["file", "line"], counted.rejected),
            (f"contacts.parquet/batch={number}", closed, ["start", "a", "b"], facts.rows),
            (f"open.parquet/slot={slot}", still, ["start", "a", "b"], open_facts.rows),
            (f"carried.parquet/slot={slot}", carried, ["start", "scanner", "seen"], open_facts.rows),
        ]
        for name, condition in self._node_tables.items():
            tables.append((f"{name}/batch={number}", seen.where(condition).select("node"), ["node"], node_facts.rows))
        for name, table, order, rows in tables:
            storage.save_table(table, order, join(self._follow.out, name), rows=rows)
        closed_facts = facts.plus(Facts(*known.get("closed", ())))
        members = node_facts.plus(Facts(*known.get("nodes", ())))
        found, span, description = closed_facts.plus(open_facts), (first - shift, last - shift), self._follow.name
        return {
            **description,
            "format": self._chosen.name,
            **fates.report(),
            "out_of_order": self._before.get("out_of_order", 0) + shuffled,
            "nodes": members.rows,
            "external": members.others,
            "contacts": found.rows,
            "open": open_facts.rows,
            "mean_duration": found.mean_duration,
            "span": list(span),
            "origin": origin,
            "fingerprint": content_fingerprint(found.hashes, members.hashes, span),
            "about": {
                "trace": Path(description["input"]).name,
                "format": self._chosen.name,
                "settings": description["settings"],
            },
            "warnings": unit_warnings(first, last, work.unit),
            "slot": slot,
            "following": {
                "fates": fates._asdict(),
                "latest": latest,
                "closed": list(closed_facts),
                "nodes": list(members),
                "carried": self._counted_before(slot)._asdict(),
            },
        }

    def _latest(self) -> tuple[float | None, int]:
        """The latest start so far, and how many new rows start before that of the batches before."""
        from pyspark.sql import functions as sf

        before = self._known.get("latest")
        new = sf.col("source") != _CARRIED
        behind = sf.lit(0) if before is None else sf.count_if(new & (sf.col("start") < before))
        found = self._checked.where("fate is null").agg(sf.max("start"), behind).first()
        assert found is not None
        return max((each for each in (before, found[0]) if each is not None), default=None), found[1]

    def _new_nodes(self, number: int) -> DataFrame:
        """Nodes that no batch before has named; those that take no part have a fate."""
        seen = self._work.seen()
        for name in self._node_tables if "slot" in self._before else ():
            known = self._read(seen.sparkSession, name).where(f"batch < {number}").select("node")
            seen = seen.join(known, "node", "left_anti")
        return seen

    def _carried(self, still: DataFrame, bound: float) -> DataFrame:
        """The records of open contacts: one for all of a contact's before the bound, which nothing can repeat."""
        from pyspark.sql import functions as sf

        ends = [sf.least("a", "b"), sf.greatest("a", "b"), sf.col("start"), sf.col("end")]
        mine = still.select(*(end.alias(name) for end, name in zip(ends, ("_a", "_b", "_start", "_end"), strict=True)))
        same = (sf.least("scanner", "seen") == sf.col("_a")) & (sf.greatest("scanner", "seen") == sf.col("_b"))
        fresh = sf.col("start") >= bound
        apart = sf.when(fresh, sf.struct("scanner", "start", "end"))
        return (
            self._checked.where("fate is null")
            .join(mine, same & sf.col("start").between(sf.col("_start"), sf.col("_end")))
            .groupBy("_a", "_b", "_start", apart.alias("_apart"))
            .agg(
                sf.max(sf.struct("scanner", "seen")).alias("_who"),
                sf.min("start").alias("start"),
                sf.max("end").alias("end"),
                sf.max(sf.col("repaired") & fresh).alias("repaired"),
            )
            .select("_who.*", "start", "end", "repaired")
        )

    def _counted_before(self, slot: int) -> Fates:
        """What must be taken off the counts of the next batch, which has the rows that are carried among its own."""
        from pyspark.sql import functions as sf

        rows = self._read(self._checked.sparkSession, f"carried.parquet/slot={slot}")
        instants = sf.count_if(sf.col("start") == sf.col("end"))
        found = rows.agg(sf.count("*"), sf.count_if("repaired"), instants).first()
        assert found is not None
        return Fates({"kept": -found[0]}, -found[1], -found[2])
