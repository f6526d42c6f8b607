"""The documentation of the worlds says what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hunet.worlds import WORLDS, make_world

TEXT = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text("utf-8")


@pytest.mark.parametrize("name", WORLDS)
def test_every_parameter_is_documented_with_its_unit(name: str) -> None:
    section = TEXT.split(f"\n### {name}\n")[1].split("\n### ")[0]
    documented = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|", section, re.MULTILINE)
    assert [(each, unit.strip()) for each, unit in documented] == [
        (row.name, row.unit) for row in WORLDS[name].describe()
    ]


def test_the_examples_in_toml_make_worlds() -> None:
    examples = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)]
    assert len(examples) == 3
    for example in examples:
        assert len(make_world(example["world"].pop("name"), example.get("seed", 1), **example["world"])) > 0


def test_the_examples_in_python_run() -> None:
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, {})


def test_the_pictures_are_there() -> None:
    pictures = re.findall(r"\]\((pictures/[^)]+)\)", TEXT)
    assert len(pictures) == 5
    assert all((Path(__file__).parents[2] / "docs" / picture).exists() for picture in pictures)
