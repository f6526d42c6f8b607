"""The notebooks of examples/ run from top to bottom, and hold no output.

A notebook is run as a script in a process of its own, so that ``__main__`` is what it is in Jupyter. What
a cell ends with is shown as Jupyter would show it.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NAMES = ["from-encounters-to-a-study", "from-log-to-figure", "your-own-protocol"]
ON_SPARK = {"from-encounters-to-a-study", "from-log-to-figure"}
SHOW = """
def _show(value):
    shown = [name for name in ("_repr_html_", "_repr_png_") if hasattr(value, name)]
    content = [getattr(value, name)() for name in shown]
    assert all(content)
    print("shown:", type(value).__name__, *shown, "|", repr(value).splitlines()[0] if value is not None else "")
"""


def cells(name: str) -> list[dict[str, Any]]:
    content = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    assert content["nbformat"] == 4
    found: list[dict[str, Any]] = content["cells"]
    return found


def script(name: str) -> str:
    """The code of a notebook, with what each cell ends with shown."""
    parts = [SHOW]
    for cell in cells(name):
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            if isinstance(body[-1], ast.Expr):
                shown = ast.Call(ast.Name("_show", ast.Load()), [body[-1].value], [])
                body[-1] = ast.Expr(shown)
            parts.append(ast.unparse(ast.fix_missing_locations(ast.Module(body, []))))
    return "\n".join(parts)


def run(name: str, folder: Path) -> str:
    (folder / "notebook.py").write_text(script(name), "utf-8")
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "notebook.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_notebooks_are_here_and_hold_no_output() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES
    for name in NAMES:
        for cell in cells(name):
            if cell["cell_type"] == "code":
                assert cell["outputs"] == [], name
                assert cell["execution_count"] is None, name
    text = (FOLDER.parents[1] / "docs" / "notebooks.md").read_text("utf-8")
    assert all(f"examples/notebooks/{name}.ipynb" in text for name in NAMES)


def test_your_own_protocol_against_five_systems(tmp_path: Path) -> None:
    said = run("your-own-protocol", tmp_path)
    assert "shown: Study _repr_html_ | Study(14 runs: __main__:TwoHop, b-sub, socialcast, social-election" in said
    assert said.count("shown: Plot _repr_png_") == 2
    assert "Result(__main__:TwoHop, seed 1: delivery ratio 0." in said


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ON_SPARK))
def test_notebooks_on_spark_run(name: str, tmp_path: Path) -> None:
    said = run(name, tmp_path)
    assert "shown: Contacts | Contacts(30 nodes, " in said
    assert said.count("shown: Plot _repr_png_") >= 2
    if name == "from-log-to-figure":
        assert "shown: Study _repr_html_ | Study(24 runs: push, pull, spray-and-wait, prophet)" in said
        assert list(tmp_path.glob("*/delivery.svg"))
    else:
        assert "shown: AdviceShown _repr_html_ | Advice(" in said
        assert "nothing reaches" not in said
