"""How fast the pipeline is, how it grows, and what it needs beside duckdb and polars doing the same job.

    ./run bench pipeline [--rows 1e6,1e7,5e7,2e8] [--engines spark,duckdb,polars] [--folder FOLDER] [--record]
    ./run bench pipeline --workers [--record]     (a standalone cluster of one worker, then of two: 10 million rows,
                                                   or as many as --rows says)
    ./run bench pipeline --command LOG [--record] (a whole 'hunet trace import' of a small log, several times)
    ./run bench pipeline --study [--runs 400]
    ./run bench pipeline --small             (20,000 sightings: it only shows that all engines run)
    ./run bench pipeline --roster FILE       (class rosters as NUS's: 12.3 million implied contacts)

A job reads a CSV of made-up sightings (one in fifty is a self-contact, one in fifty reversed, one in fifty said
twice), cleans them, joins what is at most 240 s apart into contacts, measures every pair, and writes both tables;
Spark's also finds and keeps every rejected record with its line. Every job is a process of its own, all in one run on
the same file; wall time, CPU time and the most memory of the whole process tree are printed, and ratios to duckdb.
Spark runs as ``local[2]`` with a heap of 2 GiB. Processes are watched in ``/proc``, so that this needs Linux. With
``--record`` this program writes the table into docs/pipeline.md.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from hunet.pipeline.class_archive import archive_of
from hunet.pipeline.java import find_java

GAP = 240.0
SCAN = 120
DAYS = 30
BLOCK = 1_000_000


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--rows", default="1e6,1e7")
    ask.add_argument("--small", dest="rows", action="store_const", const="2e4")
    ask.add_argument("--engines", default="spark,duckdb,polars")
    ask.add_argument("--folder", type=Path, help="where the made-up logs are kept for the next time")
    ask.add_argument("--study", action="store_true")
    ask.add_argument("--runs", type=int, default=400)
    ask.add_argument("--roster", type=Path)
    ask.add_argument("--workers", action="store_true")
    ask.add_argument("--command", type=Path, metavar="LOG")
    ask.add_argument("--record", action="store_true", help="write the table into docs/pipeline.md")
    ask.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    said = ask.parse_args()
    if said.job:
        engine, log, out = said.job
        JOBS[engine](Path(log), Path(out))
    elif said.study:
        measure_study(said.runs)
    elif said.workers:
        with tempfile.TemporaryDirectory() as place:
            rows = int(float(said.rows.split(",")[-1]))
            show("workers", measure_workers(said.folder or Path(place), rows), record=said.record)
    elif said.command:
        show("command", measure_command(said.command), record=said.record)
    elif said.roster:
        with tempfile.TemporaryDirectory() as out:
            print(json.dumps(measured("spark-import", said.roster, Path(out)), indent=2))
    else:
        with tempfile.TemporaryDirectory() as place:
            sizes = [int(float(rows)) for rows in said.rows.split(",")]
            show("engines", compare(sizes, said.engines.split(","), said.folder or Path(place)), record=said.record)


def show(name: str, lines: list[str], *, record: bool) -> None:
    """Print a table, and put it where docs/pipeline.md has it."""
    print("\n".join(lines))
    if record:
        page = Path(__file__).parents[1] / "docs" / "pipeline.md"
        before, begin, rest = page.read_text("utf-8").partition(f"<!-- bench {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of bench {name} -->")
        assert begin, f"{page} has no place for '{name}'"
        assert end, f"{page} has no end of '{name}'"
        page.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")


def compare(sizes: list[int], engines: list[str], folder: Path) -> list[str]:
    lines = ["| sightings | engine | wall s | CPU s | GiB | wall, to duckdb |", "|---|---|---|---|---|---|"]
    for size in sizes:
        log = folder / f"sightings-{size}.csv"
        if not log.exists():
            make_log(log, size)
        found = {}
        for engine in engines:
            with tempfile.TemporaryDirectory(dir=folder) as out:
                found[engine] = row = measured(engine, log, Path(out))
        for engine, row in found.items():
            ratio = f"{row['wall'] / found['duckdb']['wall']:.1f}" if "duckdb" in found else ""
            lines.append(
                f"| {size:,} | {engine} | {row['wall']:.1f} | {row['cpu']:.1f} | {row['memory']:.2f} | {ratio} |"
            )
            print(lines[-1], f"{row['contacts']:,} contacts, {row['pairs']:,} pairs", flush=True)
        assert len({(row["contacts"], row["pairs"]) for row in found.values()}) == 1, "they did not do the same job"
    return lines


def measure_workers(folder: Path, rows: int) -> list[str]:
    """The same job on a real standalone cluster of one worker with one core, and of two.

    Each worker is bound to one processor. Unbound, a worker of "one core" runs Java, Java's compiler and Python on
    all processors there are, and a second worker finds none free. The session has started, and has done a job of
    100,000 rows, before the clock starts: what is asked is what a second worker gains, not how quickly Java starts.
    """
    from tests.pipeline.conftest import Cluster

    log, first_log = (folder / f"sightings-{many}.csv" for many in (rows, 100_000))
    for path, many in ((log, rows), (first_log, 100_000)):
        if not path.exists():
            make_log(path, many)
    lines = [
        "| workers of one core | wall s | as fast | CPU s of the driver | of the workers |",
        "|---|---|---|---|---|",
    ]
    first = 0.0
    for workers in (1, 2):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            cluster = Cluster(Path(place), workers, hidden=[], pinned=True)
            said = {
                "HUNET_BENCH_MASTER": cluster.url,
                "HUNET_BENCH_WORKERS": " ".join(str(worker.pid) for worker in cluster.workers),
                "HUNET_BENCH_FIRST": str(first_log),
            }
            try:
                os.environ |= said
                seen = measured("spark-workers", log, Path(place))
            finally:
                for name in said:
                    os.environ.pop(name, None)
                cluster.stop()
        wall, driver = seen["seconds"], seen["driver"]
        first = first or wall
        each = " + ".join(f"{cpu:.1f}" for cpu in seen["workers"])
        lines.append(f"| {workers} | {wall:.1f} | {first / wall:.2f} | {driver:.1f} | {each} |")
        print(lines[-1], flush=True)
    return lines


def measure_command(log: Path) -> list[str]:
    """A whole command on a small log, once before the archive of Java's classes is there, then with it."""
    hunet = Path(sys.executable).with_name("hunet")
    lines = [f"| `hunet trace import` of {log.stat().st_size:,} bytes | wall s | CPU s |", "|---|---|---|"]
    for number, kind in enumerate(("without the archive", *["with it"] * 3)):
        if number == 1:
            _finish_archive(hunet, log)
        environment = os.environ | ({"HUNET_SPARK_ARCHIVE": "off"} if kind.startswith("without") else {})
        with tempfile.TemporaryDirectory() as out:
            before, start = os.times(), perf_counter()
            subprocess.run(
                [hunet, "trace", "import", log, "-o", Path(out) / "trace"],
                check=True,
                env=environment,
                stdout=subprocess.DEVNULL,
            )
            wall, after = perf_counter() - start, os.times()
        cpu = after.children_user - before.children_user + after.children_system - before.children_system
        lines.append(f"| {kind} | {wall:.1f} | {cpu:.1f} |")
        print(lines[-1], flush=True)
    return lines


def _finish_archive(hunet: Path, log: Path) -> None:
    """Have the archive made, if it is not there: a process in the background does it when a session ends."""
    archive = archive_of(find_java())
    if archive is None or archive.exists():
        return
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            [hunet, "trace", "import", log, "-o", Path(out) / "trace"], check=True, stdout=subprocess.DEVNULL
        )
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # free when that process has ended


def make_log(path: Path, rows: int) -> None:
    """Sightings of pairs that meet for a while: one a scan, eight in a row on average, some scans missed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pc

    rng = np.random.default_rng(1)
    nodes = max(20, int((rows / 10) ** 0.5))
    partial = path.with_suffix(".partial")
    schema = pa.schema([(name, pa.int64()) for name in ("a", "b", "start", "end")])
    with pc.CSVWriter(partial, schema, write_options=pc.WriteOptions(quoting_style="none")) as file:
        for first in range(0, rows, BLOCK):
            many = min(BLOCK, rows - first)
            scans = rng.geometric(1 / 8, many // 4 + 100)
            meeting = np.repeat(np.arange(len(scans)), scans)[:many]
            scan = np.arange(len(meeting)) - np.repeat(np.cumsum(scans) - scans, scans)[:many]
            a = rng.integers(0, nodes, len(scans))[meeting]
            b = (a + 1 + rng.geometric(0.05, len(scans))[meeting]) % nodes
            begin = rng.integers(0, DAYS * 86400, len(scans))[meeting]
            start = begin + SCAN * (scan + (rng.random(many) < 0.1)) + rng.integers(0, 5, many)
            end = start + rng.integers(0, 3, many)
            b = np.where(rng.random(many) < 0.02, a, b)
            end = np.where(rng.random(many) < 0.02, start - 1, end)
            again = np.flatnonzero(rng.random(many - 1) < 0.02)
            order = rng.permutation(many)
            columns = [a.copy(), b, start, end]
            for column in columns:
                column[again + 1] = column[again]
            file.write_table(pa.table([pa.array(column[order]) for column in columns], schema=schema))
    partial.rename(path)


def measured(engine: str, log: Path, out: Path) -> dict[str, Any]:
    """Run a job in a process of its own and watch it and its children."""
    start = perf_counter()
    child = subprocess.Popen(
        [sys.executable, __file__, "--job", engine, str(log), str(out)], stdout=subprocess.PIPE, text=True
    )
    seen: dict[int, float] = {}
    most, over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.2):
            running = _process_tree(child.pid)
            seen.update({pid: process.cpu for pid, process in running.items()})
            most = max(most, sum(process.memory for process in running.values()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    text, _ = child.communicate()
    over.set()
    watcher.join()
    assert child.returncode == 0, f"{engine} failed"
    said = json.loads(text.strip().splitlines()[-1])
    return {"wall": perf_counter() - start, "cpu": sum(seen.values()), "memory": most / 2**30, **said}


class _Process(NamedTuple):
    name: str
    parent: int
    cpu: float
    """Seconds so far, without those of its children."""
    memory: int
    """Bytes that it holds now."""


def _process_tree(root: int) -> dict[int, _Process]:
    """The process with this number and all its descendants, by their numbers."""
    running = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            # The name may hold anything, also brackets: man 5 proc_pid_stat.
            head, _, tail = (place / "stat").read_text(errors="replace").rpartition(")")
        except OSError:
            continue  # it has ended
        words = tail.split()
        cpu = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        memory = int(words[21]) * os.sysconf("SC_PAGE_SIZE")
        running[int(place.name)] = _Process(head.partition("(")[2], int(words[1]), cpu, memory)
    found, waiting = {}, [root]
    while waiting:
        pid = waiting.pop()
        if pid in running:
            found[pid] = running[pid]
            waiting += [each for each, process in running.items() if process.parent == pid]
    return found


def spark_import(log: Path, out: Path, columns: str | None = "csv") -> Any:
    from hunet.pipeline.importing import ImportSettings, import_trace
    from hunet.pipeline.session import spark_session

    master = os.environ.get("HUNET_BENCH_MASTER", "local[2]")
    spark = spark_session(master, memory="2g" if master.startswith("local") else "900m")
    settings = ImportSettings(columns, gap=GAP) if columns else ImportSettings()
    return spark, import_trace(spark, log, out / "trace", settings)


def spark_job(log: Path, out: Path) -> None:
    from hunet.pipeline import pairs_of
    from hunet.pipeline.analysis import open_trace
    from hunet.pipeline.storage import Storage

    spark, said = spark_import(log, out)
    trace = open_trace(spark, out / "trace")
    pairs = pairs_of(trace.contacts, trace.span, rows=trace.rows).persist()
    many = pairs.count()
    Storage(spark).save_table(pairs, ["a", "b"], out / "pairs.parquet", rows=many)
    print(json.dumps({"contacts": said["contacts"], "pairs": many}))


def spark_workers(log: Path, out: Path) -> None:
    """The job on a cluster that has done a small one, with the CPU time of its parts."""

    def spent() -> list[float]:
        roots = [os.getpid(), *map(int, os.environ["HUNET_BENCH_WORKERS"].split())]
        return [sum(process.cpu for process in _process_tree(root).values()) for root in roots]

    first = out / "first"
    first.mkdir()
    spark_job(Path(os.environ["HUNET_BENCH_FIRST"]), first)
    before, start = spent(), perf_counter()
    spark_job(log, out)
    wall = perf_counter() - start
    driver, *workers = (after - earlier for earlier, after in zip(before, spent(), strict=True))
    print(json.dumps({"seconds": wall, "driver": driver, "workers": workers}))


def spark_roster(log: Path, out: Path) -> None:
    _, quality = spark_import(log, out, None)
    print(json.dumps({key: quality[key] for key in ("records", "meetings", "nodes", "contacts", "mean_duration")}))


SQL = """
CREATE TABLE seen AS SELECT DISTINCT a AS scanner, least(a, b) AS a, greatest(a, b) AS b, "start", "end"
    FROM read_csv('{log}', header = true) WHERE a <> b AND "end" >= "start";
CREATE TABLE contacts AS
    WITH before AS (
        SELECT *, max("end") OVER (PARTITION BY a, b ORDER BY "start", "end"
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest FROM seen),
    numbered AS (
        SELECT *, sum(CASE WHEN latest IS NULL OR "start" - latest > {gap} THEN 1 ELSE 0 END)
            OVER (PARTITION BY a, b ORDER BY "start", "end" ROWS UNBOUNDED PRECEDING) AS contact FROM before)
    SELECT a, b, min("start")::DOUBLE AS "start", max("end")::DOUBLE AS "end" FROM numbered GROUP BY a, b, contact;
COPY (SELECT * FROM contacts ORDER BY "start", a, b) TO '{out}/contacts.parquet';
CREATE TABLE pairs AS
    WITH gaps AS (SELECT *, "start" - lag("end") OVER (PARTITION BY a, b ORDER BY "start") AS gap FROM contacts),
    ends AS (SELECT min("start") AS w0, max("end") AS w1 FROM contacts),
    statistics AS (
        SELECT a, b, count(*) AS contacts, sum("end" - "start") AS duration, max("end" - "start") AS contact_max,
            avg(gap) AS gap_mean, max(gap) AS gap_max,
            coalesce(sum(gap), 0) + min("start") - any_value(w0) + any_value(w1) - max("end") AS apart,
            count(*) - 1 + (min("start") > any_value(w0))::INT + (max("end") < any_value(w1))::INT AS separations
        FROM gaps, ends GROUP BY a, b),
    means AS (SELECT avg(apart / nullif(separations, 0)) AS sigma, avg(contacts) AS many, avg(duration) AS long
        FROM statistics)
    SELECT statistics.*, exp(-pow(apart / nullif(separations, 0) / sigma, 2) / 2) AS closeness,
        CASE WHEN contacts > many AND duration > long THEN 'community' WHEN contacts > many THEN 'familiar stranger'
             WHEN duration > long THEN 'friend' ELSE 'stranger' END AS category
    FROM statistics, means;
COPY (SELECT * FROM pairs ORDER BY a, b) TO '{out}/pairs.parquet';
"""


def duckdb_job(log: Path, out: Path) -> None:
    import duckdb

    base = duckdb.connect(str(out / "work.duckdb"), config={"threads": 2})
    base.execute(SQL.format(log=log, gap=GAP, out=out))
    counts = base.execute("SELECT (SELECT count(*) FROM contacts), (SELECT count(*) FROM pairs)").fetchone()
    assert counts is not None
    print(json.dumps({"contacts": counts[0], "pairs": counts[1]}))


def polars_job(log: Path, out: Path) -> None:
    os.environ["POLARS_MAX_THREADS"] = "2"
    import polars as pl

    pair = ["a", "b"]
    contacts = (
        pl.scan_csv(log)
        .filter((pl.col("a") != pl.col("b")) & (pl.col("end") >= pl.col("start")))
        .select(
            pl.col("a").alias("scanner"),
            pl.min_horizontal("a", "b").alias("a"),
            pl.max_horizontal("a", "b").alias("b"),
            "start",
            "end",
        )
        .unique()
        .sort("a", "b", "start", "end")
        .with_columns(pl.col("end").cum_max().shift(1).over(pair).alias("latest"))
        .with_columns(
            (pl.col("latest").is_null() | (pl.col("start") - pl.col("latest") > GAP))
            .cum_sum()
            .over(pair)
            .alias("contact")
        )
        .group_by("a", "b", "contact")
        .agg(pl.col("start").min().cast(pl.Float64), pl.col("end").max().cast(pl.Float64))
        .sort("start", "a", "b")
        .collect()
    )
    contacts.drop("contact").write_parquet(out / "contacts.parquet")
    first, last = contacts["start"].min(), contacts["end"].max()
    statistics = (
        contacts.lazy()
        .sort("a", "b", "start")
        .with_columns((pl.col("start") - pl.col("end").shift(1).over(pair)).alias("gap"))
        .group_by("a", "b")
        .agg(
            pl.len().cast(pl.Int64).alias("contacts"),
            (pl.col("end") - pl.col("start")).sum().alias("duration"),
            (pl.col("end") - pl.col("start")).max().alias("contact_max"),
            pl.col("gap").mean().alias("gap_mean"),
            pl.col("gap").max().alias("gap_max"),
            (pl.col("gap").sum() + pl.col("start").min() - first + last - pl.col("end").max()).alias("apart"),
            (pl.len() - 1 + (pl.col("start").min() > first) + (pl.col("end").max() < last)).alias("separations"),
        )
        .with_columns((pl.col("apart") / pl.col("separations")).alias("separation"))
        .with_columns(
            (-((pl.col("separation") / pl.col("separation").mean()) ** 2) / 2).exp().alias("closeness"),
            pl.when((pl.col("contacts") > pl.col("contacts").mean()) & (pl.col("duration") > pl.col("duration").mean()))
            .then(pl.lit("community"))
            .when(pl.col("contacts") > pl.col("contacts").mean())
            .then(pl.lit("familiar stranger"))
            .when(pl.col("duration") > pl.col("duration").mean())
            .then(pl.lit("friend"))
            .otherwise(pl.lit("stranger"))
            .alias("category"),
        )
        .sort("a", "b")
        .collect()
    )
    statistics.write_parquet(out / "pairs.parquet")
    print(json.dumps({"contacts": len(contacts), "pairs": len(statistics)}))


JOBS = {
    "spark": spark_job,
    "spark-workers": spark_workers,
    "duckdb": duckdb_job,
    "polars": polars_job,
    "spark-import": spark_roster,
}

STUDY = """
protocol = ["push", "pull"]
repetitions = {repetitions}
[workload]
messages = 200
ttl = [1800, 3600]
[[world]]
name = "community"
seed = 1
"""


def measure_study(runs: int) -> None:
    """Keep two cores busy: how much of their time, after start-up, goes to the processes that simulate."""
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS, run_study
    from hunet.pipeline.study_plan import read_study

    spark = spark_session("local[2]", memory="1g", options=STUDY_OPTIONS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_text(STUDY.format(repetitions=max(1, runs // 4)), encoding="utf-8")
        study = read_study(path)
        marks: list[tuple[int, float, dict[str, float]]] = []
        started = perf_counter()
        done = run_study(
            spark, study, Path(folder) / "out", lambda done, _: marks.append((done, perf_counter(), _busy()))
        )
        whole = perf_counter() - started
    steady = [mark for mark in marks if 4 <= mark[0] <= done.runs - 4]
    (first, begin, before), (last, finish, after) = steady[0], steady[-1]
    used = {kind: after[kind] - before[kind] for kind in after}
    others = max(0.0, used["machine"] - used["simulation"] - used["rest"])
    both = 2 * (finish - begin)
    ours = both - others
    print(f"{done.runs} runs in {whole:.1f} s, {len(done.failed)} failed; from run {first} to run {last}:")
    print(
        f"  {(last - first) / (finish - begin):.1f} runs/s; of the two cores' time {others / both:.0%} went to others;"
    )
    print(f"  of the rest {used['simulation'] / ours:.0%} to simulation, {used['rest'] / ours:.1%} to Spark itself")


def _busy() -> dict[str, float]:
    """CPU seconds so far: of the processes that simulate, of the rest of this program, of the whole machine."""
    spent = {"simulation": 0.0, "rest": 0.0}
    for pid, process in _process_tree(os.getpid()).items():
        spent["rest" if pid == os.getpid() or "java" in process.name else "simulation"] += process.cpu
    # user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user and nice: man 5 proc_stat.
    ticks = [int(word) for word in Path("/proc/stat").read_text().split()[1:9]]
    return spent | {"machine": (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")}


if __name__ == "__main__":
    main()
