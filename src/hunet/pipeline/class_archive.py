"""An archive of the classes that Spark loads: with it Java starts in about half the time.

Java can keep the classes of a run in a file (class data sharing) that later runs map into memory. The file has some
180 MB and fits one build of Java and one Spark. The first session that misses it starts, at its end, a process in the
background that makes it in the user's cache, where later sessions find it. ``HUNET_SPARK_ARCHIVE=off`` does without.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hunet.pipeline.java import spark_home

if TYPE_CHECKING:
    from hunet.pipeline.java import Java

SWITCH = "HUNET_SPARK_ARCHIVE"
_KEPT = 3
"""Archives of this many Javas and Sparks stay; the others that were not used for longest go."""
_ROOM = 1 << 30
"""Bytes that must be free on the disk before an archive is made."""
_LONGEST = 900
"""Seconds after which the process in the background gives up."""


def archive_of(java: Java) -> Path | None:
    """Where the archive of this Java and this Spark is, or would be; None if the user wants none."""
    if os.environ.get(SWITCH) == "off":
        return None
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hunet"
        home = spark_home()
        key = f"{java.build}\n{java.path.resolve()}\n{home}\n{(home / 'jars').stat().st_mtime_ns}"
    except (OSError, RuntimeError):  # no home, or a Spark from elsewhere
        return None
    spark = importlib.metadata.version("pyspark")
    name = f"java-{java.version}-spark-{spark}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.jsa"
    return folder / name


def use_archive(archive: Path) -> str:
    """The options for Java that use an archive; one that does not fit is passed over, without a word."""
    with suppress(OSError):
        os.utime(archive)
    return f'"-XX:SharedArchiveFile={archive}" -Xshare:auto -Xlog:disable'


def make_in_background(archive: Path, java: Java) -> None:
    """Start the process that makes the archive, unless another makes it or it cannot be made here."""
    with suppress(OSError):
        archive.parent.mkdir(parents=True, exist_ok=True)
        if archive.exists() or _hopeless(archive).exists() or shutil.disk_usage(archive.parent).free < _ROOM:
            return
        with archive.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the process inherits it, and holds it to its end
            environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
            environment |= {
                SWITCH: "off",
                "JAVA_HOME": str(java.path.parents[1]),
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            }
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-m", __name__, str(archive)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=archive.parent,
                env=environment,
                pass_fds=[lock.fileno()],
                start_new_session=True,
                check=False,
            )


def make_archive(archive: Path) -> bool:
    """Make the archive of the Java in JAVA_HOME by a small import; says whether there is one now."""
    from hunet.pipeline.importing import import_trace
    from hunet.pipeline.session import spark_session, stop_spark

    new = archive.with_suffix(".new")
    new.unlink(missing_ok=True)  # left by a process that was killed
    options = {"spark.driver.extraJavaOptions": f'"-XX:ArchiveClassesAtExit={new}" -Xlog:disable'}
    try:
        with tempfile.TemporaryDirectory(prefix="hunet-archive-") as folder:
            log = Path(folder) / "log.csv"
            log.write_text("a,b,start,end\nann,bob,0,10\nbob,ann,5,20\nbob,eve,30,40\n", encoding="utf-8")
            try:
                import_trace(spark_session("local[2]", memory="1g", options=options, small=True), log, log.parent / "t")
            finally:
                stop_spark()
        if not new.exists():
            _hopeless(archive).touch()  # this Java makes none; the next session need not try
            return False
        new.replace(archive)
    finally:
        new.unlink(missing_ok=True)
    for old in sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
    return True


def _hopeless(archive: Path) -> Path:
    return archive.with_suffix(".failed")


if __name__ == "__main__":
    os.nice(19)
    signal.alarm(_LONGEST)
    make_archive(Path(sys.argv[1]))
