"""One run of a study, as an executor does it: contacts from a store that is read once, a simulation, one file.

A result is written under a name that no reader looks at and then renamed; its final name is the run's own key, so
that a run that was tried twice (a lost executor, a speculative copy) leaves one result, and the same bytes whoever
wrote it.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.errors import ConfigurationError, HunetError
from hunet.pipeline.study_plan import Run
from hunet.pipeline.study_results import run_file, write_run
from hunet.pipeline.study_values import canonical

if TYPE_CHECKING:
    from hunet.model import Contacts, Workload
    from hunet.simulation import Result

_KEPT_TRACES = 4


def do_run(run: Run, folder: Path) -> str | None:
    """Do one run and write its result; a failure is a result too. Returns what went wrong, if anything did."""
    error = None
    result = None
    figures = None
    try:
        if run.is_analysis:
            figures = _analyse(run, folder)
        else:
            result = simulate_run(run, _contacts(run, folder))
            if run.tables:
                result.save(folder / "tables" / run.key)
    except HunetError as problem:
        error = str(problem)
    except MemoryError:
        error = "out of memory: use fewer messages or a shorter trace, or fewer tasks at a time"
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        error = f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"
    write_run(folder, run, result, error, figures)
    return error


def give_up(run: Run, folder: Path, attempts: int) -> str:
    """Record a run whose process died every time, instead of letting it end the study."""
    error = f"the process that ran it died {attempts} times: it may need more memory than there is"
    write_run(folder, run, None, error)
    return error


def _analyse(run: Run, folder: Path) -> dict[str, Any]:
    from hunet.model import from_mapping
    from hunet.systems import ANALYSES

    analysis = ANALYSES[run.point.protocol]
    return analysis.compute(_contacts(run, folder), from_mapping(analysis.parameters, run.point.settings["parameters"]))


def simulate_run(run: Run, contacts: Contacts, **watched: Any) -> Result:
    """Do a run on its contacts; ``watched`` may have the ``log`` and the ``progress`` of ``hunet.run``."""
    from hunet.model import from_mapping
    from hunet.simulation import Links
    from hunet.simulation import run as simulate
    from hunet.simulation.schedule import crashes_from

    settings = run.point.settings
    return simulate(
        contacts,
        workload_of(run, contacts),
        run.point.protocol,
        seed=run.seed,
        links=from_mapping(Links, settings["links"]),
        crashes=crashes_from(run.crash, contacts),
        train=float(settings["train"]),
        **watched,
        **settings["parameters"],
    )


def contacts_of(run: Run) -> Contacts:
    """The contacts that a run is on, read or made."""
    from hunet.model.contact_files import read_contacts
    from hunet.worlds import make_world

    if run.point.source.file is not None:
        return read_contacts(run.point.source.file)
    named = run.point.source.named(run.seed)
    return make_world(named["world"], named["seed"], **named["parameters"])


def _contacts(run: Run, folder: Path) -> Contacts:
    """The same, read once by each worker process; a study keeps the contacts of its worlds."""
    source = run.point.source
    if source.file is not None and source.sha256 is not None:
        return _read(source.file, source.sha256)
    named = source.named(run.seed)
    return _world(str(folder), canonical(named))


@lru_cache(maxsize=_KEPT_TRACES)
def _read(path: str, sha256: str) -> Contacts:
    """A trace, read once by each worker process."""
    from hunet.model.contact_files import read_contacts

    contacts = read_contacts(path)
    if contacts.fingerprint != sha256:
        raise ConfigurationError(f"{path} has changed since the study began")
    return contacts


@lru_cache(maxsize=_KEPT_TRACES)
def _world(folder: str, named: str) -> Contacts:
    """A world, made once in a study and read once by each worker process that needs it again."""
    from hunet.model.contact_files import read_contacts, write_contacts
    from hunet.worlds import make_world

    given = json.loads(named)
    place = world_file(Path(folder), given)
    if not place.exists():
        write_contacts(make_world(given["world"], given["seed"], **given["parameters"]), place)
    # Read back also what was just made: every run of the world gets it by the same way.
    return read_contacts(place)


def world_file(folder: Path, named: dict[str, Any]) -> Path:
    """Where a study keeps the contacts of a world, by what the names of runs say of it."""
    return folder / "worlds" / f"{hashlib.sha256(canonical(named).encode()).hexdigest()[:20]}.parquet"


def workload_of(run: Run, contacts: Contacts) -> Workload:
    """The workload of a run, read or generated."""
    from hunet.simulation import make_workload, read_workload

    settings = run.point.settings
    if "publications" in settings:
        return read_workload(contacts, Path(settings["publications_file"]), Path(settings["subscriptions_file"]))
    return make_workload(contacts, run.seed, base=settings["base_file"], **settings["workload"])


def is_done(run: Run, folder: Path) -> bool:
    """Whether a run has a result; one that failed has not, and is tried again."""
    return run_file(folder, run).exists()
