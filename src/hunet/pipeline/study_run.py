"""One run of a study, as an executor does it: its files come in an archive, its result goes back as bytes.

Nothing is written outside temporary folders of the executor, so that a run that was tried twice (a lost executor, a
speculative copy) gives the same bytes, no matter who did it, and leaves nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import traceback
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.errors import HunetError
from hunet.pipeline.study_plan import Run
from hunet.pipeline.study_results import row_bytes, save_outcome
from hunet.pipeline.study_values import canonical

if TYPE_CHECKING:
    from hunet.model import Contacts, Workload
    from hunet.simulation import Result

_KEPT_TRACES = 4


class TaskOutcome(NamedTuple):
    """What a run gave."""

    key: str
    protocol: str
    error: str | None
    row: bytes | None
    """Its row, as a Parquet file; None if the run was not done, because its process died too often."""
    tables: dict[str, bytes]
    """Its tables by the names of their files, if the study keeps them."""
    seconds: float


def outcome_of(run: Run, files: Path, worlds: Path) -> TaskOutcome:
    """Do one run; a failure is an outcome too.

    ``files`` is what the names of files are relative to; ``worlds`` is a folder that keeps worlds for other runs.
    """
    began = perf_counter()
    error = None
    result = None
    figures = None
    tables: dict[str, bytes] = {}
    try:
        contacts = _contacts(run, files, worlds)
        if run.is_analysis:
            figures = _analyse(run, contacts)
        else:
            result = simulate_run(run, contacts, files)
            if run.tables:
                tables = _tables(result)
    except HunetError as problem:
        error = str(problem)
    except MemoryError:
        error = "out of memory: use fewer messages or a shorter trace, or fewer tasks at a time"
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        error = f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"
    if error is not None:  # the file's name is the user's, its place on this machine is not
        error = re.sub(rf"{re.escape(str(files))}/\w+/", "", error)
    row = row_bytes(run, result, error, figures)
    return TaskOutcome(run.key, run.point.protocol, error, row, tables, perf_counter() - began)


def do_run(run: Run, folder: Path) -> str | None:
    """Do one run here, without Spark, and write its result; returns what went wrong, if anything did."""
    outcome = outcome_of(run, Path(), folder / "worlds")
    save_outcome(folder, outcome)
    return outcome.error


def given_up(run: Run, attempts: int) -> TaskOutcome:
    """The outcome of a run whose process died every time: on the next Spark would end the whole study."""
    error = f"the process that ran it died {attempts} times: it may need more memory than there is"
    return TaskOutcome(run.key, run.point.protocol, error, row_bytes(run, None, error), {}, 0.0)


def _tables(result: Result) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables"
        result.save(tables)
        return {path.name: path.read_bytes() for path in sorted(tables.iterdir())}


def _analyse(run: Run, contacts: Contacts) -> dict[str, Any]:
    from hunet.model import from_mapping
    from hunet.systems import ANALYSES

    analysis = ANALYSES[run.point.protocol]
    return analysis.compute(contacts, from_mapping(analysis.parameters, run.point.settings["parameters"]))


def simulate_run(run: Run, contacts: Contacts, files: Path = Path(), **watched: Any) -> Result:
    """Do a run on its contacts; ``watched`` may have the ``log`` and the ``progress`` of ``hunet.run``."""
    from hunet.model import from_mapping
    from hunet.simulation import Links
    from hunet.simulation import run as simulate
    from hunet.simulation.schedule import crashes_from

    settings = run.point.settings
    parameters = dict(settings["parameters"])
    for field in settings.get("communities_file", ()):
        parameters[field] = str(files / parameters[field])
    return simulate(
        contacts,
        workload_of(run, contacts, files),
        run.point.protocol,
        seed=run.seed,
        links=from_mapping(Links, settings["links"]),
        crashes=crashes_from(run.crash, contacts),
        train=float(settings["train"]),
        storage=settings.get("storage"),
        **watched,
        **parameters,
    )


def contacts_of(run: Run) -> Contacts:
    """The contacts that a run is on, read or made."""
    from hunet.pipeline.traces import read_trace

    if run.point.source.file is not None:
        return read_trace(run.point.source.file)
    return world_of(run.point.source.named(run.seed))


def world_of(named: dict[str, Any]) -> Contacts:
    """Make the world that the name of a run tells."""
    from hunet.worlds import make_world

    return make_world(named["world"], named["seed"], **named["parameters"])


def _contacts(run: Run, files: Path, worlds: Path) -> Contacts:
    """The same, read once by each worker process and made once on each machine."""
    source = run.point.source
    if source.file is not None:
        return _read(str(files / source.file))
    return _world(str(worlds), canonical(source.named(run.seed)))


@lru_cache(maxsize=_KEPT_TRACES)
def _read(path: str) -> Contacts:
    from hunet.model.contact_files import read_contacts

    return read_contacts(path)


@lru_cache(maxsize=_KEPT_TRACES)
def _world(worlds: str, named: str) -> Contacts:
    from hunet.model.contact_files import read_contacts, write_contacts

    path = Path(worlds) / f"{hashlib.sha256(named.encode()).hexdigest()[:20]}.parquet"
    if not path.exists():
        write_contacts(world_of(json.loads(named)), path)
    # Read back also what was just made: every run of the world gets it by the same way.
    return read_contacts(path)


def workload_of(run: Run, contacts: Contacts, files: Path = Path()) -> Workload:
    """The workload of a run, read or generated."""
    from hunet.simulation import make_workload, read_workload

    settings = run.point.settings
    if "publications" in settings:
        return read_workload(contacts, files / settings["publications_file"], files / settings["subscriptions_file"])
    return make_workload(contacts, run.seed, base=files / settings["base_file"], **settings["workload"])
