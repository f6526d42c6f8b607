"""``hunet world``: help, options, configuration files and errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hunet.cli.world import app
from hunet.model.contact_files import read_contacts
from hunet.model.errors import ConfigurationError, HunetError, InputError
from hunet.worlds import WORLDS, make_world

QUICK = ("--set", "nodes=10", "--set", "duration=100")


def run(*arguments: str) -> str:
    """What the command prints; its errors are raised, as the main program sees them."""
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "140"})
    if isinstance(result.exception, HunetError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_lists_models_and_parameters_with_units(arguments: list[str]) -> None:
    said = run(*arguments)
    for world in WORLDS.values():
        assert world.summary in said
        assert all(row.name in said for row in world.describe())
    assert "m/s" in said


def test_help_of_one_world() -> None:
    said = run("waypoint", "--help")
    assert "speed_max" in said
    assert "m/s" in said
    assert "caves" not in said


def test_a_world_without_files_is_summed_up() -> None:
    assert run("waypoint", "--seed", "3", *QUICK).startswith("waypoint, seed 3: 10 nodes, ")


def test_contacts_and_movement_are_written(tmp_path: Path) -> None:
    table, walk = tmp_path / "contacts.parquet", tmp_path / "walk.txt"
    run("slaw", *QUICK, "-o", str(table), "--positions", str(walk), "--format", "one", "--step", "10")
    written = read_contacts(table)
    assert written.fingerprint == make_world("slaw", 1, nodes=10, duration=100).fingerprint
    assert written.metadata["seed"] == 1
    assert written.metadata["measured_hurst"] == pytest.approx(0.75, abs=0.03)
    assert len(walk.read_text().splitlines()) == 1 + 11 * 10


def test_a_file_names_the_world_and_the_command_line_wins(tmp_path: Path) -> None:
    config = tmp_path / "world.toml"
    config.write_text('seed = 5\nprotocol = "pull"\n[world]\nname = "waypoint"\nnodes = 7\nduration = 50\n')
    assert run("--config", str(config)).startswith("waypoint, seed 5: 7 nodes")
    assert run("waypoint", "--config", str(config), "--seed", "6", "--set", "nodes=8").startswith(
        "waypoint, seed 6: 8 nodes"
    )
    with pytest.raises(ConfigurationError, match="names the world 'waypoint', the command line 'slaw'"):
        run("slaw", "--config", str(config))


def test_lists_are_written_as_in_toml() -> None:
    said = run("campus", "--set", "days=1", "--set", "graduates=[1, 2]", "--set", "departments = 1")
    assert "33 nodes" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["waypoint", "--set", "nodes"], "write NAME=VALUE"),
        (["waypoint", "--set", "nodes=[1"], "--set nodes="),
        (["waypoint", "--set", "speed=3"], "no parameter 'speed': did you mean"),
        (["waypoint", "--seed", "-4"], "a seed is a whole number"),
        (["--seed", "4"], "which world"),
        (["--seed", "4", "waypoint"], "options go after the world's name: hunet world waypoint"),
        (["waypoint", "--positions", "walk.txt"], "the name does not tell the movement format"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        run(*arguments)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("world = ", "is not TOML"),
        ('wrld = "slaw"', "no key 'wrld': did you mean 'world'"),
        ('world = "slaw"', r"'world' must be a table \[world\]"),
        ('seed = "x"\n[world]\nname = "slaw"', "a seed is a whole number of at least 0, not 'x'"),
        ('[world]\nname = "slaw"\nnodes = [10, 20]', "'world.nodes' names several values: that is a study"),
    ],
)
def test_bad_configuration_files(tmp_path: Path, content: str, words: str) -> None:
    config = tmp_path / "world.toml"
    config.write_text(content)
    with pytest.raises(InputError, match=words):
        run("--config", str(config))


def test_a_missing_configuration_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        run("--config", str(tmp_path / "none.toml"))


def test_the_command_itself_imports_nothing_heavy() -> None:
    program = "import sys, hunet.cli.world; print({'numpy', 'rustworkx', 'rich.table'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"


def test_a_community_in_which_nobody_moves_is_told() -> None:
    """Three people in a square of their own have nobody to visit: contacts last as long as the run."""
    still = run("community", "--set", "hosts=30", "--set", "duration=3600")
    assert "48 contacts in 3,600 s" in still
    assert "hunet: nobody moves: 48 of 48 contacts last the whole run" in still
    for remedy in ("caves=4", "weak_ties=true"):
        assert f"--set {remedy}" in still
        assert "nobody moves" not in run("community", "--set", "hosts=30", "--set", "duration=3600", "--set", remedy)
