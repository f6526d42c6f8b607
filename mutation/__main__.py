"""``./run mutate`` tries mutants of all modules of the table, ``./run mutate engine bound`` those of two.

Each mutant meets the tests of its own module first, and if none fails wider ones. ``--survivors`` tries only what
survived the last time: to be used after tests were added. What came out is kept in ``results.json`` beside this file,
from which docs/mutation.md is written; survivors that no test can tell from the original are judged in
``equivalent.toml``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Container
from pathlib import Path

from mutation.mutants import Mutant, lines_of_code, mutants, sample
from mutation.report import Name, Outcome, Survivor, judgements, read_results, write_page, write_results
from mutation.trial import Laboratory, NotCleanError

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PAGE = ROOT / "docs" / "mutation.md"
RESULTS = Path(__file__).with_name("results.json")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MODULES = ["hunet/protocols/*.py", "hunet/systems/*/*.py"]
MODULES += [f"hunet/simulation/{name}.py" for name in ("engine", "bound", "metrics", "schedule")]
MODULES += [f"hunet/node/{name}.py" for name in ("store", "holdings", "session", "publication")]
NOT_OF_DEVICES = {"__init__", "claims", "pictures", "measures", "tables", "community_study", "theory", "workload"}
RUNS = [f"tests/simulation/test_{name}.py" for name in ("invariants", "result", "copies")]
LIVE = [f"tests/node/test_{name}.py" for name in ("equivalence", "driver", "quotas")]
DEVICES = ["tests/systems/mops/test_mops.py", "tests/systems/socio_aware_overlay/test_socio_aware_overlay.py"]
NODES = [
    f"tests/node/test_{name}.py" for name in ("driver", "bundles", "http_api", "equivalence", "gateway", "restart")
]


def own_and_wider(module: str) -> tuple[list[str], list[str]]:
    """The tests that should kill the mutants of a module, and wider ones that meet the survivors."""
    folders, name = module.split("/")[1:-1], Path(module).stem
    match folders[0]:
        case "systems":
            return ["/".join(["tests", *folders])], ["tests/protocols", *RUNS, *LIVE]
        case "protocols":
            return ["tests/protocols"], [*RUNS, *LIVE, *DEVICES]
        case "simulation":
            return ["tests/simulation"], ["tests/protocols", *DEVICES]
    own = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "node").glob(f"test_{name}*.py"))
    return own, [file for file in NODES if file not in own]


def modules(asked: list[str]) -> list[str]:
    """Those of the table, or the ones of them whose path ends with, or lies in, what was asked for."""
    every = [path.relative_to(SOURCE).as_posix() for pattern in MODULES for path in sorted(SOURCE.glob(pattern))]
    every = [module for module in every if Path(module).stem not in NOT_OF_DEVICES]
    found = [
        module
        for module in every
        if not asked or any(f"/{word}/" in module or module.endswith(f"/{word}.py") for word in asked)
    ]
    if not found:
        sys.exit(f"mutate: no module {', '.join(asked)}: name one as in {every[0].removesuffix('.py')}, or a folder")
    return found


def files_of(places: list[str]) -> list[str]:
    """The files of these files and folders."""
    paths = [path for place in places for path in [ROOT / place, *(ROOT / place).rglob("test_*.py")]]
    return sorted({path.relative_to(ROOT).as_posix() for path in paths if path.suffix == ".py"})


def chosen(module: str, per_100: float, seed: int) -> list[Mutant]:
    """The sample of a module."""
    source = (SOURCE / module).read_text("utf-8")
    return sample(mutants(module, source), max(2, round(lines_of_code(source) * per_100 / 100)), seed)


def alive(module: str, one: Outcome, judged: Container[Name]) -> list[Mutant]:
    """The survivors of the last time that can still be made and are not judged equivalent."""
    names = {(module, survivor.line, survivor.change, survivor.nth) for survivor in one.survivors}
    every = mutants(module, (SOURCE / module).read_text("utf-8"))
    return [mutant for mutant in every if (*mutant.name, mutant.nth) in names and mutant.name not in judged]


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run mutate", description="Tries whether tests notice small errors.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="'engine', 'systems/b_sub'; default: all")
    parser.add_argument("--survivors", action="store_true", help="only what survived the last time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-100", type=float, default=7, help="mutants for 100 lines of code")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    results, judged = read_results(RESULTS), judgements(EQUIVALENT)
    work: dict[str, list[Mutant]] = {}
    for module in modules(asked.modules):
        if not asked.survivors:
            work[module] = chosen(module, asked.per_100, asked.seed)
        elif module in results and results[module].survivors:
            work[module] = alive(module, results[module], judged)
    tests = {module: [files_of(places) for places in own_and_wider(module)] for module in work}
    with (
        tempfile.TemporaryDirectory(prefix="hunet-mutate-") as place,
        Laboratory(SOURCE, ROOT, Path(place), asked.workers) as laboratory,
    ):
        started = time.monotonic()
        for module, tried in work.items():
            own, wider = tests[module]
            try:
                verdicts = laboratory.verdicts(tried, own, wider)
            except NotCleanError as error:
                sys.exit(f"mutate: {error}")
            one = results[module] if asked.survivors else Outcome(lines_of_code((SOURCE / module).read_text("utf-8")))
            one.survivors = [each for each in one.survivors if (module, each.line, each.change) in judged] + [
                Survivor(mutant.number, mutant.line, mutant.change, verdict.executed, mutant.nth)
                for mutant, verdict in zip(tried, verdicts, strict=True)
                if verdict.killer is None
            ]
            one.own += sum(verdict.killer is not None and verdict.own for verdict in verdicts)
            one.wider += sum(verdict.killer is not None and not verdict.own for verdict in verdicts)
            results[module] = one
            write_results(RESULTS, results)
            write_page(PAGE, results, judged, asked.seed)
            left = sum(verdict.killer is None for verdict in verdicts)
            print(f"{time.monotonic() - started:6.0f} s  {module}: {left} of {len(tried)} survive", flush=True)
    write_page(PAGE, results, judged, asked.seed)


if __name__ == "__main__":
    main()
