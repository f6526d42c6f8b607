"""Try a wheel as somebody who installs it: ``python -m tests.try_wheel dist/hunet.whl``, which ./run release calls.

It is installed with the pinned packages into an environment of its own, and used in an empty folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]


def main() -> None:
    wheel = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory(prefix="hunet-wheel-") as made:
        folder = Path(made) / "empty"
        folder.mkdir()
        programs = install(wheel, Path(made) / "venv")
        for trial in TRIALS:
            sys.stderr.write(f"{wheel.name}: {trial.__name__.replace('_', ' ')}\n")
            trial(programs, folder)
    sys.stderr.write(f"{wheel.name}: ready to be released\n")


def install(wheel: Path, folder: Path) -> Path:
    """Make an environment with the pinned packages and the wheel; returns the folder of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    pip = (programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements" / "run.lock"], check=True)
    subprocess.run([*pip, wheel], check=True)
    return programs


def call(programs: Path, folder: Path, *words: str) -> str:
    """What the installed command prints."""
    done = subprocess.run(
        [programs / "hunet", *words], cwd=folder, env=clean(folder), stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def clean(folder: Path) -> dict[str, str]:
    """Environment variables that show a program nothing of the project."""
    return {"HOME": str(folder), "PATH": os.defpath}


def version_is_that_of_the_project(programs: Path, folder: Path) -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if call(programs, folder, "--version") != f"hunet {wanted}\n":
        sys.exit(f"the wheel is not version {wanted}")


def demo_delivers(programs: Path, folder: Path) -> None:
    compared = json.loads(call(programs, folder, "demo", "--messages", "20", "--runs", "1", "--json"))
    if not compared["push"]["delivery_ratio_mean"] > 0:
        sys.exit(f"the demo delivers nothing: {compared['push']}")


def commands_of_the_readme_run(programs: Path, folder: Path) -> None:
    """All of them; those that need a node or hours are tried by the trials beside this one."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    environment = clean(folder) | {"PATH": f"{programs}{os.pathsep}{os.defpath}"}
    for block in blocks:
        subprocess.run(["sh", "-euc", block], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    if not blocks:
        sys.exit("the README has no commands")


def study_is_reproduced(programs: Path, folder: Path) -> None:
    call(programs, folder, "reproduce", "social-election", "--quick", "--study", "figure-3")
    claims = (folder / "results" / "social-election" / "claims.md").read_text("utf-8")
    if not re.search(r"^\| SE-\d+ \|.*\| (reproduced|shape only|not reproduced) \|", claims, re.MULTILINE):
        sys.exit(f"no claim was judged:\n{claims}")


def node_answers(programs: Path, folder: Path) -> None:
    """Start a node, publish by the command, and ask its HTTP API for what it holds."""
    words = ["node", "--folder", "ann", "--listen", "127.0.0.1:0", "--no-beacons", "--http", "0"]
    node = subprocess.Popen(
        [programs / "hunet", *words], cwd=folder, env=clean(folder), stderr=subprocess.PIPE, text=True
    )
    try:
        assert node.stderr is not None
        page = next((found[1] for line in node.stderr if (found := re.match(r"its page is (\S+)", line))), None)
        if page is None:
            sys.exit(f"the node ended with {node.wait()} before it had a page")
        call(programs, folder, "publish", "news", "hello", "--folder", "ann")
        with urlopen(f"{page.rstrip('/')}/status", timeout=30) as answer:
            status = json.load(answer)
        if "device" not in status:
            sys.exit(f"the node answers {status}")
    finally:
        node.terminate()
        node.communicate(timeout=30)


TRIALS = (
    version_is_that_of_the_project,
    commands_of_the_readme_run,
    demo_delivers,
    study_is_reproduced,
    node_answers,
)
"""What is done with an installed wheel, one after the other; each is given the programs and an empty folder."""

if __name__ == "__main__":
    main()
