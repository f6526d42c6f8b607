"""Install the packages of a lock into the environment that runs this, and show how far it is: see ./run setup."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path


class Line:
    """Progress on standard error: a line that changes on a terminal, elsewhere a new line now and then."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = ""

    def show(self, text: str, also_plain: bool) -> None:
        if text == self._shown:
            return
        if self._terminal:
            sys.stderr.write(f"\r\x1b[Krun: {text}")
        elif also_plain:
            sys.stderr.write(f"run: {text}\n")
        sys.stderr.flush()
        self._shown = text

    def end(self) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")


def main() -> int:
    lock = Path(sys.argv[1])
    total = sum("==" in text for text in lock.read_text("utf-8").splitlines())
    line = Line()
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    asked = [*pip, "--no-deps", "--require-hashes", "-r", str(lock)]
    with (
        tempfile.TemporaryFile("w+") as problems,
        subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=problems, text=True) as process,
    ):
        assert process.stdout is not None
        fetched = 0
        for said in process.stdout:
            words = said.split()
            if said.startswith("Ignoring "):
                total -= 1  # a package for other systems
            elif said.startswith(("Collecting ", "Requirement already satisfied: ")):
                fetched += 1
                name = words[1] if words[0] == "Collecting" else words[3]
                line.show(f"{fetched} of {total} packages fetched: {name}", fetched % 10 == 0 or fetched == total)
            elif said.startswith("Building wheel for "):
                line.show(f"building {words[3]}", True)
            elif said.startswith("Installing collected packages: "):
                watch(process, said.count(",") + 1, line)
        line.end()
        if process.wait():
            problems.seek(0)
            sys.stderr.write(problems.read())
    return process.returncode


def watch(process: subprocess.Popen[str], total: int, line: Line) -> None:
    """Count the packages that appear in the environment: pip says nothing until all of them are there."""
    site = Path(sysconfig.get_path("purelib"))
    before, told = len(packages(site)), 0
    while process.poll() is None:
        done = min(len(packages(site)) - before, total)
        line.show(f"{done} of {total} packages installed", done >= told + 10)
        told = max(told, done // 10 * 10)
        time.sleep(0.2)


def packages(site: Path) -> list[Path]:
    """The packages of an environment; pip for Python 3.11 leaves some as eggs."""
    return [*site.glob("*.dist-info"), *site.glob("*.egg-info")]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
