"""Tries a mutant: in a process of its own, on a copy of the package, with the tests that come to the changed line.

The clean package is tried first, one test file after the other, under coverage: that gives the lines each test comes
to, and how long a file takes. A mutant's tests then run in this order: those that come to its line, the quickest first,
then the rest of their files (a fixture or a cache may have come to the line for all of them).
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mutation.mutants import Mutant

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

    import pytest

PRELOADED = ["pytest", "hypothesis", "numpy", "pandas", "pyarrow", "rustworkx", "msgspec", "aiohttp", "cryptography"]
"""Libraries that the server of processes imports once. Nothing of the package under test."""
MEMORY = 8 << 30
IMPORTED = ""
"""The coverage of what runs while a module is imported."""


@dataclass(slots=True)
class Record:
    """One test file on the clean package."""

    cpu: float = 0.0
    durations: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """By file of the package, as it is called in the package, and by line: the tests that came there."""


class NotCleanError(Exception):
    """A test fails without any mutant."""


class Package:
    """A copy of the source folder that mutants are written into."""

    def __init__(self, source: Path, place: Path) -> None:
        self.source = source
        self.root = place / "src"
        shutil.copytree(source, self.root, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
        self.scratch = place / "scratch"
        self.scratch.mkdir()

    def put(self, module: str, text: str) -> None:
        path = self.root / module
        path.write_text(text, "utf-8")
        for stale in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            stale.unlink()  # Python tells versions by size and by whole seconds

    def restore(self, module: str) -> None:
        self.put(module, (self.source / module).read_text("utf-8"))


class Verdict(NamedTuple):
    """What became of a mutant."""

    killer: str | None
    """The test that failed, or the limit that was passed; None if it survived."""
    own: bool
    """Whether that was a test of its own module."""
    executed: bool
    """Whether any test comes to its line."""


class Laboratory:
    """Copies of a source folder, one for each worker. Test files are named as seen from the folder ``tests``."""

    def __init__(self, source: Path, tests: Path, place: Path, workers: int) -> None:
        self.tests = tests
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)
        self.free: SimpleQueue[Package] = SimpleQueue()
        for number in range(workers):
            self.free.put(Package(source, place / str(number)))
        self.pool = ThreadPoolExecutor(workers)
        self.running: set[ForkServerProcess] = set()
        self.records: dict[str, Record] = {}

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        for process in list(self.running):
            _end(process)
        self.pool.shutdown(cancel_futures=True)

    def _run(self, target: Callable[..., None], *arguments: object, patience: float | None = None) -> int | None:
        """The exit status of a process; None if patience ended first."""
        process = self.context.Process(target=target, args=arguments)
        process.start()
        self.running.add(process)
        process.join(patience)
        status = process.exitcode
        if status is None:
            _end(process)
        self.running.discard(process)
        return status

    def verdicts(self, mutants: list[Mutant], own: list[str], wider: list[str]) -> list[Verdict]:
        """Tries mutants with the tests of their own module, and what survives with wider ones."""
        new = [file for file in [*own, *wider] if file not in self.records]
        self.records.update(zip(new, self.pool.map(self._record, new), strict=True))
        sources = [mutant.source() for mutant in mutants]
        tests = [{file: self.records[file] for file in files} for files in (own, wider)]
        return list(self.pool.map(lambda pair: self._verdict(*pair, *tests), zip(mutants, sources, strict=True)))

    def _verdict(self, mutant: Mutant, source: str, own: dict[str, Record], wider: dict[str, Record]) -> Verdict:
        executed = any(_reached(one, mutant) for one in [*own.values(), *wider.values()])
        package = self.free.get()
        package.put(mutant.module, source)
        try:
            found = self._killer(package, mutant, own, rest=True)
            if found is not None:
                return Verdict(found, own=True, executed=True)
            return Verdict(self._killer(package, mutant, wider, rest=False), own=False, executed=executed)
        finally:
            package.restore(mutant.module)
            self.free.put(package)

    def _record(self, file: str) -> Record:
        """Runs a test file on the clean package, and says which test came to which line."""
        package = self.free.get()
        answer = package.scratch / "record"
        status = self._run(_record, package, self.tests, file, answer)
        output = (package.scratch / "output").read_text("utf-8", errors="replace")
        self.free.put(package)
        if status != 0:
            raise NotCleanError(f"{file} fails without any mutant; mend it first:\n{output[-3000:]}")
        made = cast(Record, pickle.loads(answer.read_bytes()))
        print(f"{made.cpu:6.1f} s  {file}: {len(made.durations)} tests of the clean package pass", flush=True)
        return made

    def _killer(self, package: Package, mutant: Mutant, records: dict[str, Record], *, rest: bool) -> str | None:
        """The test that fails; ``rest`` runs all tests of the files of which one comes to the line."""
        reached = {file: found for file, one in records.items() if (found := _reached(one, mutant))}
        if not reached:
            return None
        cost = {name: seconds for file in reached for name, seconds in records[file].durations.items()}
        first = sorted(set().union(*reached.values()), key=lambda name: (cost[name], name))
        answer = package.scratch / "killer"
        answer.unlink(missing_ok=True)
        order = _Order(first, cost, rest, answer)
        if self._run(_try, package, self.tests, list(reached), order, patience=3 * sum(cost.values()) + 60) == 0:
            return None
        return answer.read_text("utf-8") if answer.exists() else "a limit, or an import"


def _reached(one: Record, mutant: Mutant) -> set[str]:
    by_line = one.lines.get(mutant.module, {})
    first, last = mutant.lines
    found = {name for line in range(first, last + 1) for name in by_line.get(line, ())}
    return set(one.durations) if IMPORTED in found else found


def _end(process: ForkServerProcess) -> None:
    assert process.pid is not None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.join()


def _prepare(package: Package) -> None:
    os.setsid()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTHONPATH"] = str(package.root)
    sys.path.insert(0, str(package.root))
    output = os.open(package.scratch / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _pytest(package: Package, tests: Path, files: list[str], *words: str, plugin: object) -> int:
    import pytest

    os.chdir(tests)
    quiet = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "-m", "not slow"]
    quiet += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    code = int(pytest.main([*quiet, f"--basetemp={package.scratch / 'tmp'}", *words, *files], plugins=[plugin]))
    sys.stdout.flush()  # the process ends without the usual cleaning up
    return code


class _Recorder:
    def __init__(self, switch: Callable[[str], object]) -> None:
        self.switch = switch
        self.durations: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.switch(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration


def _record(package: Package, tests: Path, file: str, answer: Path) -> None:
    import coverage

    _prepare(package)
    measured = coverage.Coverage(data_file=None, config_file=False, source=[str(package.root)], messages=False)
    measured.start()
    recorder = _Recorder(measured.switch_context)
    code = _pytest(package, tests, [file], plugin=recorder)
    measured.stop()
    if code not in (0, 5):  # 5: all of its tests are slow
        os._exit(code)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    made = Record(sum(one.ru_utime + one.ru_stime for one in used), recorder.durations)
    data = measured.get_data()
    for path in data.measured_files():
        contexts = data.contexts_by_lineno(path)
        made.lines[Path(path).relative_to(package.root).as_posix()] = {line: set(on) for line, on in contexts.items()}
    with answer.open("wb") as kept:
        pickle.dump(made, kept)
    os._exit(0)


class _Order:
    """The tests that come to the line first, then the others or none. Writes the name of the one that fails."""

    def __init__(self, first: list[str], cost: dict[str, float], rest: bool, answer: Path) -> None:
        self.place = {name: place for place, name in enumerate(first)}
        self.cost = cost
        self.rest = rest
        self.answer = answer

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self.place.get(item.nodeid, len(self.place)))
        if not self.rest:
            items[:] = [item for item in items if item.nodeid in self.place]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test that computes three times as long as it should, and ten seconds, ends the process."""
        limit = int(time.process_time() + 3 * self.cost.get(nodeid, 0.0)) + 10
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.answer.write_text(report.nodeid, "utf-8")


def _try(package: Package, tests: Path, files: list[str], order: _Order) -> None:
    _prepare(package)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os._exit(_pytest(package, tests, files, plugin=order))
