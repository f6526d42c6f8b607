"""The rules of the house: rooms import one way, protocols are pure, the API is documented, examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hunet
from hunet.model import Catalogue
from hunet.protocols.codec import decode
from hunet.systems import PROTOCOLS, studies_of, systems

SOURCE = Path(hunet.__file__).parent
ROOMS = {
    "model": set(),
    "graphs": {"model"},
    "protocols": {"model"},
    "systems": {"model", "graphs", "protocols"},
    "worlds": {"model", "graphs"},
    "simulation": {"model", "protocols", "registry"},
    "node": {"model", "protocols", "registry"},
    "pipeline": {"model", "graphs", "protocols", "registry", "worlds", "simulation"},
    "testing": {"model", "protocols", "registry", "simulation"},
    "report": {"model", "graphs"},
    "reporting": {"model", "graphs", "registry", "worlds", "simulation", "pipeline", "report", "advising"},
    "advising": {"model", "pipeline"},
    "notebook": {"model", "pipeline", "report", "reporting", "advising"},
}
"""What each room may import. The registry is ``hunet.systems`` itself; no room imports a system by its name."""
SYSTEMS = ("b_sub", "mops", "social_election", "socialcast", "socio_aware_overlay")
"""Those of papers."""
OF_OUR_OWN = "foresight"
NOT_OF_DEVICES = {"workload", "claims", "pictures", "measures", "tables", "community_study", "theory"}
"""Modules of a system that no device is made of: they may use NumPy and read files."""
IMPURE = {
    "asyncio",
    "time",
    "datetime",
    "socket",
    "threading",
    "subprocess",
    "os",
    "io",
    "pathlib",
    "secrets",
    "numpy",
}
IMPURE_CALLS = {"open", "print", "input", "eval", "exec"}


def modules(*rooms: str) -> Iterator[tuple[str, Path]]:
    for room in rooms:
        place = SOURCE / room
        for path in [*sorted(place.rglob("*.py")), *SOURCE.glob(f"{room}.py")]:
            yield room, path


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every imported module, and whether it is only for the type checker."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in typing_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in typing_only


def room_of(name: str) -> str:
    """The room of an imported module; ``hunet.systems`` itself is the registry."""
    parts = name.split(".")
    return "hunet" if len(parts) < 2 else "registry" if parts[1:] == ["systems"] else parts[1]


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    seen = 0
    for _, path in modules(room):
        for name, typing_only in imports(path):
            if name.split(".")[0] == "hunet" and not (typing_only and room == "report"):
                other, seen = room_of(name), seen + 1
                assert other == room or other in allowed(room, path), f"{path.name} imports {name}"
    assert seen or room == "model"


def allowed(room: str, path: Path) -> set[str]:
    if room != "systems":
        return ROOMS[room]
    also = {"claims": {"report"}, "pictures": {"report"}, "measures": {"report"}, "tables": {"report"}}
    return ROOMS[room] | {"registry"} | also.get(path.stem, set())


def test_systems_do_not_import_each_other() -> None:
    for _, path in modules("systems"):
        own = path.relative_to(SOURCE / "systems").parts[0]
        for name, _ in imports(path):
            parts = name.split(".")
            if parts[:2] == ["hunet", "systems"] and len(parts) > 2:
                assert parts[2] == own, f"{path} imports {name}: what two systems share belongs to protocols or graphs"


def pure_modules() -> list[Path]:
    parts = [path for _, path in modules("systems") if path.parent != SOURCE / "systems"]
    return [path for _, path in modules("protocols")] + [path for path in parts if path.stem not in NOT_OF_DEVICES]


def test_what_devices_are_made_of_is_pure() -> None:
    """No clock, no I/O, no threads, no randomness but what they were given."""
    looked_at = {path.relative_to(SOURCE).with_suffix("").as_posix() for path in pure_modules()}
    for path in pure_modules():
        for name, typing_only in imports(path):
            root = name.split(".")[0]
            assert root not in IMPURE, f"{path} imports {name}"
            assert root != "random" or typing_only, f"{path} may name random.Random as a type only"
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in IMPURE_CALLS, f"{path} calls {node.func.id}"
    homes = {home.partition(":")[0] for one in systems().values() for home in one.protocols.values()}
    missing = {home.removeprefix("hunet.").replace(".", "/") for home in homes} - looked_at
    assert not missing, f"not looked at: {missing}"
    assert {path.parent.name for path in pure_modules()} >= set(SYSTEMS)
    folders = {folder.name for folder in (SOURCE / "systems").iterdir() if (folder / "__init__.py").exists()}
    assert folders == {*SYSTEMS, OF_OUR_OWN}
    assert len(looked_at) >= 45


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_has_one_folder_with_everything(name: str) -> None:
    """The declaration, the device that is called like the folder, workload, claims and studies."""
    folder = SOURCE / "systems" / name
    assert {f"{name}.py", "__init__.py", "workload.py", "claims.py"} <= {path.name for path in folder.glob("*.py")}
    declared = next(one for one in systems().values() if one.package == f"hunet.systems.{name}")
    assert len(studies_of(declared)) >= 5
    assert all(home.startswith(f"hunet.systems.{name}") for home in declared.protocols.values())
    text = importlib.import_module(f"hunet.systems.{name}").__doc__ or ""
    assert "Theory of operation." in text
    assert "Where we depart from the paper, and why" in text
    assert declared.title in (Path(__file__).parents[1] / "docs" / "systems" / f"{declared.name}.md").read_text("utf-8")


def all_modules() -> list[str]:
    found = pkgutil.walk_packages([str(SOURCE)], "hunet.")
    return ["hunet", *(module.name for module in found)]


def test_examples_in_docstrings_run() -> None:
    ran = 0
    for name in all_modules():
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
        assert result.failed == 0, f"{name}: an example in a docstring fails"
        ran += result.attempted
    assert ran > 300


def test_modules_and_what_they_offer_are_documented() -> None:
    """Every module says what it is. What a module lists in ``__all__`` is public API and has a docstring."""
    for name in all_modules():
        module = importlib.import_module(name)
        assert module.__doc__, f"{name} has no docstring"
        for public in getattr(module, "__all__", []):
            thing = getattr(module, public)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert inspect.getdoc(thing), f"{name}.{public} has no docstring"


def test_no_two_packets_share_a_kind() -> None:
    """Logs and wires tell packets by system and class; the table that they use refuses two of one kind."""
    assert list(PROTOCOLS.values())  # all systems are imported
    with pytest.raises(KeyError):
        decode({"kind": "no such kind"}, Catalogue(), {})


def test_the_drawing_of_the_house_is_true() -> None:
    """CONTRIBUTING.md has one line for each room, with what it may import."""
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    block = text.split("```tree\nsrc/hunet/\n")[1].split("```")[0]
    drawn = {}
    for line in block.splitlines():
        room, _, may = re.split(r"\s{2,}", line.strip())
        drawn[room.rstrip("/").removesuffix(".py")] = may
    there = {path.stem for path in SOURCE.iterdir() if path.stem.isidentifier() and not path.stem.startswith("_")}
    assert set(drawn) == {name for name in there if name != "py"}
    assert drawn.pop("cli") == "all"
    assert drawn.pop("pipeline") == "all above but node"
    assert ROOMS["pipeline"] == {"model", "graphs", "protocols", "registry", "worlds", "simulation"}
    for room, may in drawn.items():
        listed = set() if may == "imports nothing of ours" else set(may.split(", "))
        assert listed == ROOMS[room], room


RETIRED = {"said", "told", "met", "news", "place", "about"}
"""Words that stood for many things; `docs/glossary.md` has those that stand for one."""
WHERE_PEOPLE_STAY = ("worlds/campus", "worlds/co_stays", "pipeline/formats", "pipeline/meetings")
"""There a place is a building or an access point, and nothing else."""
SAVED = {("systems/social_election/swarm.py", "told")}
"""Saved states of earlier versions have these names for what has a better one now."""


def test_names_are_usual_nouns() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        home = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            names = {
                ast.Name: "id",
                ast.arg: "arg",
                ast.Attribute: "attr",
                ast.FunctionDef: "name",
                ast.ClassDef: "name",
            }
            name = getattr(node, names.get(type(node), ""), "")
            if (home, name) in SAVED or (name == "place" and home.startswith(WHERE_PEOPLE_STAY)):
                continue
            assert name not in RETIRED, f"{home}, line {getattr(node, 'lineno', 0)}: say what '{name}' is"


JSON_FORMS = "node/http/records.py"
"""The forms in which the API shows things have the names of the things."""
IN_A_WORKLOAD_TOO = {"Publication", "Subscription"}
"""A row of a workload, and what a live node signs or follows: the same thing in two worlds, as the glossary says."""


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        home = path.relative_to(SOURCE).as_posix()
        if home != JSON_FORMS:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(home)
    twice = {name: found for name, found in homes.items() if len(found) > 1 and name not in IN_A_WORKLOAD_TOO}
    assert not twice
