"""The archive of Spark's classes: made once, in one step, by one process, without a word; and done without."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hunet.pipeline.class_archive import archive_of, make_in_background, use_archive
from hunet.pipeline.java import Java, find_java

SESSION = """
import os
from pathlib import Path
from hunet.pipeline.session import spark_session
spark = spark_session("local[1]", memory="512m", small=True)
print(spark.range(3).count())
java = [p for p in Path("/proc").glob("[0-9]*/status") if f"PPid:\\t{os.getpid()}\\n" in p.read_text()]
print(any(".jsa" in (p.parent / "maps").read_text().replace("/classes.jsa", "") for p in java))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HUNET_SPARK_ARCHIVE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hunet"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The processes that would be started."""
    commands: list[list[str]] = []
    monkeypatch.setattr("hunet.pipeline.class_archive.subprocess.run", lambda words, **_: commands.append(words))
    return commands


def java(folder: Path, build: str = "17.0.15+6") -> Java:
    return Java(folder / "bin" / "java", 17, "PATH", build)


def named(found: Path | None) -> Path:
    assert found is not None
    return found


def test_its_name_tells_java_and_spark(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    one, other = named(archive_of(java(tmp_path))), named(archive_of(java(tmp_path, "17.0.16+1")))
    assert one.parent == cache
    assert one.name.startswith(f"java-17-spark-{pyspark.__version__}-")
    assert one != other
    monkeypatch.setenv("HUNET_SPARK_ARCHIVE", "off")
    assert archive_of(java(tmp_path)) is None


def test_one_process_makes_it(cache: Path, tmp_path: Path, started: list[list[str]]) -> None:
    archive = named(archive_of(java(tmp_path)))
    make_in_background(archive, java(tmp_path))
    assert len(started) == 1
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make_in_background(archive, java(tmp_path))
    assert len(started) == 1, "another process is at it"
    archive.with_suffix(".failed").touch()
    make_in_background(archive, java(tmp_path))
    assert len(started) == 1, "this Java makes none"


def test_a_home_that_cannot_be_written(tmp_path: Path, started: list[list[str]]) -> None:
    (tmp_path / "file").touch()
    make_in_background(tmp_path / "file" / "hunet" / "x.jsa", java(tmp_path))
    assert started == []


@pytest.mark.slow
def test_the_first_session_makes_it_and_the_second_uses_it(cache: Path) -> None:
    def session() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SESSION], env=os.environ, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert session() == ["3", "False"]
    archive = named(archive_of(find_java()))
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # free when the process in the background has ended
    assert sorted(path.suffix for path in cache.iterdir()) == [".jsa", ".lock"]
    assert session() == ["3", "True"]
    archive.chmod(0o644)
    archive.write_bytes(b"not an archive")
    assert session() == ["3", "False"], "one that does not fit is passed over"
    assert use_archive(archive).startswith(f'"-XX:SharedArchiveFile={archive}"')
