"""Compiles the inner modules with mypyc if HUNET_COMPILE is set, as ``./run compile`` does; otherwise pure Python.

The Python modules are the reference and run everywhere. What is compiled is a copy of them in build/, in which every
class says that it may have subclasses in Python, since systems of other packages derive from ours, and may be pickled,
as classes of Python may.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import setup

ROOT = Path(__file__).resolve().parent
COPY = ROOT / "build" / "mypyc"
FOLDERS = {
    "model": "matching messages",
    "protocols": "buffer carrier contract pull push router spray_and_wait",
    "simulation": "bound engine record schedule",
    "systems/b_sub": "b_sub baselines filter lanes lookup pace",
    "systems/mops": "baselines closeness_graph communities contact_history gateways interests learning mops structure "
    "weighted_carrier",
    "systems/social_election": "baselines buffer encounter_window social_election subscription_table swarm",
    "systems/socialcast": "baselines kalman socialcast utility",
    "systems/socio_aware_overlay": "broker_directory centrality exchange familiar local_community socio_aware_overlay "
    "subscription_list",
}
"""What is compiled, by folder: what runs for each contact and each packet."""
_RECORDS = {"NamedTuple", "StructuralType", "Struct"}
_OPEN = "@mypyc_attr(allow_interpreted_subclasses=True, serializable=True)\n"
_IMPORT = "from typing import TYPE_CHECKING, Union\nif TYPE_CHECKING:\n    from mypy_extensions import mypyc_attr\n"


def prepared(text: str) -> str:
    """The text of a module as mypyc gets it.

    Classes are open for subclasses and for pickle. The annotations of records are texts: mypyc would look up names that
    are there for type checkers only, and leave too little of the others for a record to check its fields by.
    """
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        if not isinstance(node, ast.ClassDef):
            continue
        names = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
        if node.keywords or names & _RECORDS:
            for field in reversed(node.body):
                if isinstance(field, ast.AnnAssign):
                    _replace(lines, field.annotation, repr(_as_text(field.annotation)))
        else:
            lines.insert(node.lineno - 1, _OPEN)
    first = next(number for number, line in enumerate(lines) if line.startswith("from __future__ "))
    return "".join([*lines[: first + 1], _IMPORT, *lines[first + 1 :]])


def _as_text(annotation: ast.expr) -> str:
    """An annotation as text; of ``A | B`` mypyc would not keep it."""
    if isinstance(annotation, ast.BinOp):
        return f"Union[{_as_text(annotation.left)}, {_as_text(annotation.right)}]"
    return ast.unparse(annotation)


def _replace(lines: list[str], node: ast.expr, by: str) -> None:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    lines[first : last + 1] = [before + by + after]


def refuse_without_compiler() -> None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if not shutil.which(compiler):
        sys.exit(f"compile: no C compiler ('{compiler}'): install one, on Debian by apt install gcc")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        sys.exit("compile: no Python.h; install Python's headers (on Debian: apt install python3-dev)")
    try:
        import mypyc.build  # noqa: F401
    except ImportError:
        sys.exit("compile: mypyc is not installed; ./run setup installs it (a part of mypy)")


def extensions() -> list[Any]:
    """The compiled modules, made from the copy in build/."""
    refuse_without_compiler()
    from mypyc.build import mypycify

    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT / "src", COPY, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
    paths = [COPY / "hunet" / folder / f"{name}.py" for folder, names in FOLDERS.items() for name in names.split()]
    for path in paths:
        path.write_text(prepared(path.read_text("utf-8")), "utf-8")
    os.environ["MYPYPATH"] = str(COPY)
    config = COPY / "mypy.ini"
    config.write_text("[mypy]\nexplicit_package_bases = True\nignore_missing_imports = True\n", "utf-8")
    return mypycify(
        [f"--config-file={config}", *(os.path.relpath(path) for path in paths)],
        opt_level=os.environ.get("HUNET_COMPILE_LEVEL", "2"),
        target_dir=os.path.relpath(COPY / "c"),
    )


setup(ext_modules=extensions() if os.environ.get("HUNET_COMPILE") else [])
