"""A paper as a package: built, installed into a scratch environment, listed, run, reproduced and put on live nodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "hunet-gossip"
TIMEOUT = 300


class Environment:
    """A virtual environment that sees the packages of this one, and has those that are installed into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        self.python = folder / "env" / "bin" / "python"
        home = Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        own = [path for path in sys.path if path.endswith("site-packages") or path.endswith("src")]
        source = str(Path(__file__).parents[1] / "src")
        (home / "outer.pth").write_text("\n".join(dict.fromkeys([source, *own])) + "\n")

    def install(self, package: Path) -> None:
        copy = self.folder / package.name  # building leaves files beside the source
        shutil.copytree(package, copy)
        words = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(copy)]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self.python), *words]
        subprocess.run(pip, check=True, timeout=TIMEOUT)

    def run(self, *words: object) -> str:
        # Tests that ran before in this process may have told Spark which Python its workers use: this one's.
        ours = ("PYTHONPATH", "PYSPARK", "SPARK")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        environment["COLUMNS"] = "120"
        done = subprocess.run(
            [self.python, *map(str, words)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hunet(self, *words: object) -> str:
        return self.run("-c", "from hunet.cli import main; main()", *words)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("scratch"))
    environment.install(EXAMPLE)
    return environment


def test_it_is_listed_and_runs_and_passes_its_own_tests(installed: Environment) -> None:
    assert "probability" in installed.hunet("protocols", "gossip")
    assert "gossip" in installed.hunet("protocols")
    world = ["--world", "waypoint", "--set", "world.nodes=20", "--set", "world.duration=300"]
    summary = json.loads(installed.hunet("run", *world, "--protocol", "gossip", "--set", "probability=0.5", "--json"))
    assert summary["name"]["protocol"] == "gossip"
    assert summary["delivered"] > 0
    assert "2 passed" in installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "hunet-gossip/tests")


def test_two_live_nodes_run_it(installed: Environment) -> None:
    script = """
import asyncio, hunet
async def two():
    quick = {"listen": "127.0.0.1:0", "beacons": False, "protocol": "gossip"}
    async with hunet.Node("ann", **quick) as ann, hunet.Node("bob", peers=[ann.address], **quick) as bob:
        messages = bob.subscribe("news")
        await ann.publish("news", "hello")
        print((await asyncio.wait_for(anext(messages), 60)).text)
asyncio.run(two())
"""
    assert installed.run("-c", script).strip() == "hello"


@pytest.mark.slow
def test_its_claims_are_reproduced_on_spark_and_it_is_advised(installed: Environment) -> None:
    said = installed.hunet("reproduce", "gossip", "--quick")
    assert "probability: 12 runs, 0 failed" in said
    claims = (installed.folder / "results" / "gossip" / "claims.md").read_text()
    assert "| GO-1 |" in claims
    assert "| GO-2 |" in claims
    installed.hunet("world", "waypoint", "--set", "nodes=20", "--set", "duration=600", "-o", "contacts.csv")
    words = ["--ratio", "0.05", "--within", "200", "--quick", "--runs", "2", "--messages", "20", "--json"]
    advice = json.loads(installed.hunet("advise", "contacts.csv", *words))
    assert "gossip, p = 0.7" in {each["name"] for each in advice["candidates"]}


def test_two_packages_cannot_declare_one_name(installed: Environment) -> None:
    script = """
from hunet import systems
from hunet.model.errors import ConfigurationError
systems.systems.cache_clear()
systems._OURS = (*systems._OURS, "baselines")
try:
    systems.systems()
except ConfigurationError as error:
    print(error)
"""
    assert "both declare a system 'baselines': uninstall one" in installed.run("-c", script)
