"""./run compile: what mypyc makes of the modules runs as they do, to the last byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine import needs_compiler

ROOT = Path(__file__).parents[1]
RUNS = """
import sys
from pathlib import Path
import hunet
from hunet.simulation import engine

assert Path(engine.__file__).suffix == sys.argv[2], engine.__file__
out = Path(sys.argv[1])
contacts = hunet.make_world("waypoint", 3, nodes=25, duration=3600.0)
workload = hunet.make_workload(contacts, seed=5, messages=60, ttl=1800.0)
settings = {
    "prophet": {}, "prophet-v2": {}, "max-prop": {}, "bubble-rap": {},
    "push": {"buffer": 20}, "pull": {"from_anyone": True}, "spray-and-wait": {"copies": 8},
    "socialcast": {"period": 60.0}, "socialcast-random": {}, "socio-aware-overlay": {"threshold": 300.0},
    "b-sub": {"decay_cycle": 600.0}, "b-sub-p": {}, "b-sub-push": {}, "b-sub-pull": {},
    "social-election": {"replication": "delegation"}, "random-broker": {}, "mops": {}, "k-nearest": {}, "foresight": {},
}
assert set(settings) == set(hunet.PROTOCOLS)
for name, chosen in settings.items():
    for links in (hunet.Links(), hunet.Links(rate=0.05, loss=0.1)):
        folder = out / f"{name}-{links.loss:g}"
        hunet.run(contacts, workload, name, seed=7, train=0.25, links=links, **chosen).save(folder)
"""


def runs(tmp_path: Path, source: Path, suffix: str) -> dict[str, bytes]:
    out = tmp_path / f"runs{suffix}"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", RUNS, str(out), suffix]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_compiled_modules_run_as_the_python_ones_do(tmp_path: Path) -> None:
    needs_compiler()
    library = tmp_path / "compiled"
    places = (f"--build-lib={library}", f"--build-temp={tmp_path}/objects")
    command = [sys.executable, "setup.py", "-q", "build_ext", *places]
    environment = {**os.environ, "HUNET_COMPILE": "1", "HUNET_COMPILE_LEVEL": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pure = tmp_path / "pure"
    for folder in (pure, library):
        shutil.copytree(ROOT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    expected = runs(tmp_path, pure, ".py")
    assert len(expected) == 19 * 2 * 7
    assert runs(tmp_path, library, ".so") == expected


def test_without_a_compiler_one_line_says_so(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "setup.py"), "-q", "build_ext", f"--build-lib={tmp_path}"]
    environment = {**os.environ, "HUNET_COMPILE": "1", "PATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.startswith("compile: no C compiler")
    assert len(done.stderr.splitlines()) == 1
