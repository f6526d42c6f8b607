"""The rules of the house: rooms import one way, protocols are pure, the API is documented, examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import hunet
from hunet.protocols import Packet
from hunet.systems import PROTOCOLS

SOURCE = Path(hunet.__file__).parent
ROOMS = {
    "model": set(),
    "graphs": {"model"},
    "social": {"model"},
    "protocols": {"model", "social"},
    "worlds": {"model", "graphs"},
    "simulation": {"model", "social", "protocols"},
    "node": {"model", "social", "protocols"},
    "pipeline": {"model", "graphs", "social", "protocols", "worlds", "simulation"},
    "testing": {"model", "protocols", "simulation"},
    "report": {"model", "graphs"},
}
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


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    for _, path in modules(room):
        for name, typing_only in imports(path):
            parts = name.split(".")
            if parts[0] == "hunet" and not (typing_only and room == "report"):
                other = parts[1] if len(parts) > 1 else "hunet"
                assert other == room or other in ROOMS[room], f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("room", "path"), list(modules("protocols", "social")), ids=lambda value: getattr(value, "name", value)
)
def test_protocols_and_social_are_pure(room: str, path: Path) -> None:
    """No clock, no I/O, no threads, no randomness but what they were given."""
    for name, typing_only in imports(path):
        root = name.split(".")[0]
        assert root not in IMPURE, f"{path.name} imports {name}"
        assert root != "random" or typing_only, f"{path.name} may name random.Random as a type only"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in IMPURE_CALLS, f"{path.name} calls {node.func.id}"


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


def test_no_two_packets_share_a_name() -> None:
    """Logs and wires tell packets by the names of their classes."""
    assert PROTOCOLS  # all systems are imported
    waiting: list[type[Packet]] = [Packet]
    seen: dict[str, str] = {}
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__.startswith("hunet."):
            assert kind.__name__ not in seen, f"{kind.__module__} and {seen[kind.__name__]} both have {kind.__name__}"
            seen[kind.__name__] = kind.__module__
    assert len(seen) > 10
