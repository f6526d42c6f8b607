"""Install the packages of a lock into the environment that runs this, and show how far it is: see ./run setup."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
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
    total = sum("==" in line for line in lock.read_text("utf-8").splitlines())
    site = Path(sysconfig.get_path("purelib"))
    line = Line()
    pip = ["pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    asked = [sys.executable, "-m", *pip, "--no-deps", "--require-hashes", "-r", str(lock)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        fetched = 0
        for said in process.stdout:
            words = said.split()
            if said.startswith("Ignoring "):
                total -= 1  # a package for other systems
            elif said.startswith(("Collecting ", "Requirement already satisfied")):
                fetched += 1
                name = words[1] if said.startswith("C") else words[3]
                line.show(f"{fetched} of {total} packages fetched: {name}", fetched % 10 == 0 or fetched == total)
            elif said.startswith("Building wheel for "):
                line.show(f"building {words[3]}", "started" in said)
            elif said.startswith("Installing collected packages"):
                break
        before = len(list(site.glob("*.dist-info")))
        many = said.count(",") + 1 if said.startswith("Installing") else 0
        while process.poll() is None:  # pip says nothing until all of them are there
            done = min(max(0, len(list(site.glob("*.dist-info"))) - before), many)
            line.show(f"{done} of {many} packages installed", done and done % 10 == 0)
            time.sleep(0.2)
    line.end()
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
