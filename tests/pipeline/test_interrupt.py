"""Ctrl-C while Spark starts: one line, the usual status, no Java and no files left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
sys.argv[0] = "hunet"
from hunet.cli import main
main()
"""


def processes_of(folder: Path) -> list[str]:
    """The command lines of all processes that know this temporary folder, which nobody else has."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            known = os.fsencode(folder) in (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue  # ended meanwhile
        if known and command:
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "awaited",
    ["hunet-spark-*/log4j2.properties", "hunet-spark-*/connection", "hunet-spark-*/blockmgr-*"],
    ids=["before Java", "Java listens", "Spark starts"],
)
def test_ctrl_c_while_spark_starts(awaited: str, tmp_path: Path) -> None:
    temporary, work = tmp_path / "temporary", tmp_path / "work"
    temporary.mkdir()
    work.mkdir()
    (work / "log.csv").write_text("a,b,start,end\nann,bob,0,10\n")
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "trace", "import", "log.csv", "-o", "out", "--memory", "512m"],
        env={**os.environ, "TMPDIR": str(temporary)},
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group of its own, as a terminal gives it
    )
    seen = threading.Event()
    while process.poll() is None and not seen.wait(0.01):
        if any(temporary.glob(awaited)):
            seen.set()
    assert seen.is_set(), process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "hunet: interrupted; nothing was left half-written"
    assert processes_of(temporary) == []
    assert [path.name for path in work.iterdir()] == ["log.csv"]
    assert [path.name for path in temporary.iterdir() if not path.name.startswith("hunet-java-")] == []
