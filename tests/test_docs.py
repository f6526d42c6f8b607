"""What the documentation shows is what runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hunet.model import describe
from hunet.simulation import Links, UniformWorkload

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec", dont_inherit=True), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_examples_run(page: Path, tmp_path: Path) -> None:
    """Each page's commands one after the other, in an empty folder, with the installed command."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks(page, "sh"):
        done = subprocess.run(
            ["sh", "-eu", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_first_screen_of_the_readme_has_the_two_commands() -> None:
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:14])
    assert re.findall(r"^    (\./run \w+)", screen, re.MULTILINE) == ["./run demo", "./run test"]


def test_parameters_are_documented_as_they_are() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    for record in (UniformWorkload, Links):
        for row in describe(record):
            assert re.search(rf"^\| `{row.name}` \| .* \| {re.escape(row.help)} \|$", page, re.MULTILINE), row.name
