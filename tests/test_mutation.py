"""The tool behind ``./run mutate``: which mutants it makes, which of them tests kill, and what it writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutation.__main__ import chosen, files_of, modules, own_and_wider
from mutation.mutants import Mutant, lines_of_code, mutants, sample
from mutation.report import Outcome, Survivor, judgements, read_results, write_page, write_results
from mutation.trial import Laboratory, NotCleanError

TINY = '''
"""A module."""
LIMIT = 3


def small(number: int = 0) -> bool:
    """Whether it is below 3."""
    return number < LIMIT


def best(numbers: list[int]) -> list[int]:
    return sorted(numbers, reverse=True)


def unused() -> None:
    print("never")


class Thing:
    def __repr__(self) -> str:
        return "x" * 2
'''
TESTS = """
from tiny.module import best, small

def test_small():
    assert small(2)
    assert not small(4)
"""
WIDER = """
from tiny.module import small

def test_the_limit():
    assert not small(3)
"""


def changes(text: str) -> set[str]:
    return {mutant.change for mutant in mutants("m.py", text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b < c", {"b < c -> b <= c", "b < c -> b >= c"}),
        ("a = b and c", {"b and c -> b or c", "b and c -> b", "b and c -> c"}),
        ("a = not b", {"not b -> b"}),
        ("a = b - 1", {"b - 1 -> b + 1", "1 -> 2", "1 -> 0"}),
        ("a = True", {"True -> False"}),
        ("f(a)", {"f(a) -> pass"}),
        ("a ^= b", {"a ^= b -> pass", "a ^= b -> a |= b"}),
        ("a = min(b)", {"min(b) -> max(b)"}),
        ("a = sorted(b, key=c)", {"sorted(b, key=c) -> list(b)"}),
        ("def f():\n return a", {"return a -> return None"}),
        ("if a:\n b = c", {"a -> True"}),
        ("a: Annotated[int, 3] = b", set()),
        ('"""Text"""\nimport a\nlog.info(a)\nassert a\nraise E(1)', set()),
        ("class A(B, frozen=True):\n def __repr__(self):\n  return 1", set()),
        ('a = f"{b:>3}" + "c"', set()),
    ],
)
def test_mutants_of_each_kind(text: str, expected: set[str]) -> None:
    assert changes(text) == expected


def test_mutants_change_one_thing_and_name_its_place() -> None:
    every = mutants("tiny/module.py", TINY)
    clean = ast.unparse(ast.parse(TINY))
    for mutant in every:
        changed = mutant.source()
        before, after = clean.splitlines(), changed.splitlines()
        assert sum(left != right for left, right in zip(before, after, strict=True)) == 1
        assert TINY.splitlines()[mutant.number - 1].strip() == mutant.line
    assert [mutant.source() for mutant in mutants("tiny/module.py", TINY)] == [mutant.source() for mutant in every]


def test_mutants_of_equal_lines_are_told_apart() -> None:
    first, second = (mutant for mutant in mutants("m.py", "a += b\na += b\n") if mutant.change.endswith("pass"))
    assert first.name == second.name
    assert (first.nth, second.nth) == (0, 1)


def test_samples_depend_on_the_seed_alone_and_prefer_other_lines() -> None:
    every = mutants("tiny/module.py", TINY)
    few = sample(every, 5, seed=1)
    assert few == sample(every, 5, seed=1)
    assert len({mutant.number for mutant in few}) == 5
    assert any(sample(every, 5, seed=other) != few for other in range(2, 9))
    assert sample(every, 99, seed=1) == every
    assert lines_of_code(TINY) == 10


def test_every_module_of_the_table_has_mutants_and_tests() -> None:
    found = modules([])
    assert {"hunet/simulation/engine.py", "hunet/node/store.py", "hunet/systems/mops/mops.py"} < set(found)
    assert modules(["engine", "systems/b_sub"])[-1] == "hunet/simulation/engine.py"
    for module in found:
        own, wider = (files_of(places) for places in own_and_wider(module))
        assert own, module
        assert wider, module
    assert len(chosen("hunet/simulation/bound.py", 7, seed=1)) >= 5
    with pytest.raises(SystemExit, match="no module nothing"):
        modules(["nothing"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for path, text in {
        "src/tiny/__init__.py": "",
        "src/tiny/module.py": TINY,
        "tests/test_own.py": TESTS,
        "tests/test_wider.py": WIDER,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_mutants_are_killed_or_survive(project: Path) -> None:
    def one(change: str) -> Mutant:
        [found] = [mutant for mutant in mutants("tiny/module.py", TINY) if mutant.change == change]
        return found

    tried = ["number < LIMIT -> number >= LIMIT", "number < LIMIT -> number <= LIMIT", "0 -> 1"]
    tried += ["sorted(numbers, reverse=True) -> list(numbers)"]
    with Laboratory(project / "src", project, project / "work", workers=2) as laboratory:
        found = laboratory.verdicts(list(map(one, tried)), ["tests/test_own.py"], ["tests/test_wider.py"])
    assert [verdict.killer for verdict in found[:2]] == [
        "tests/test_own.py::test_small",
        "tests/test_wider.py::test_the_limit",
    ]
    assert [verdict.own for verdict in found[:2]] == [True, False]
    assert [(verdict.killer, verdict.executed) for verdict in found[2:]] == [(None, True), (None, False)]
    assert (project / "src/tiny/module.py").read_text() == TINY


def test_tests_must_pass_without_mutants(project: Path) -> None:
    (project / "tests/test_own.py").write_text("def test_wrong(): assert False")
    with (
        Laboratory(project / "src", project, project / "work", workers=1) as laboratory,
        pytest.raises(NotCleanError, match=r"tests/test_own.py fails without any mutant(.|\n)*test_wrong"),
    ):
        laboratory.verdicts([], ["tests/test_own.py"], [])


def test_the_page_tells_survivors_from_equivalents(tmp_path: Path) -> None:
    survivors = [Survivor(3, "a = 1", "1 -> 2", True), Survivor(4, "b = 1", "1 -> 2", False)]
    results = {"hunet/a.py": Outcome(50, own=6, wider=1, survivors=survivors)}
    write_results(tmp_path / "results.json", results)
    assert read_results(tmp_path / "results.json") == results
    (tmp_path / "equivalent.toml").write_text(
        '[[mutant]]\nmodule = "hunet/a.py"\nline = "a = 1"\nchange = "1 -> 2"\nreason = "nobody reads it"\n'
    )
    write_page(tmp_path / "page.md", results, judgements(tmp_path / "equivalent.toml"), seed=1)
    text = (tmp_path / "page.md").read_text()
    assert "| a | 50 | 9 | 6 | 1 | 1 | 1 | 88 % |" in text
    assert "- `hunet/a.py:4` `1 -> 2`, in `b = 1`; no test comes here" in text.split("## Judged equivalent")[0]
    assert "- `hunet/a.py:3` `1 -> 2`: nobody reads it" in text.split("## Judged equivalent")[1]
