"""Pages of studies and runs, with all that they can know: who met whom, communities, and the units of what differs.

Commands and Python programs make pages here; the room ``report`` draws them and knows nothing of worlds and protocols.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hunet.advising import Advised
    from hunet.model import Contacts, Parameters
    from hunet.report.crowd import Crowd
    from hunet.report.page import Paper
    from hunet.report.study import StudyResults
    from hunet.worlds import Movement, Tracks


_MOST_PEOPLE = 1500
"""Finding communities takes the third power of that."""


def make_report(
    folder: Path,
    out: Path | None = None,
    latex: Path | None = None,
    contacts: Sequence[str | Path] = (),
    *,
    head: str = "",
    paper: Paper | None = None,
) -> tuple[Path, list[str]]:
    """Write the page; returns its path, and the names of traces that would have been drawn had they been given.

    ``head`` is a part of the page in place of its answer.
    """
    from hunet.report.page import write_report
    from hunet.report.study import StudyResults
    from hunet.systems import figures_of

    study = StudyResults(folder, figures_of)
    crowds = list(_crowds(study, contacts))
    missing = [label for label in study.sources() if label not in [crowd.label for crowd in crowds]]
    return write_report(study, out, latex, crowds=crowds, units=_units(study), head=head, paper=paper), missing


def make_advice_page(advised: Advised, folder: Path, contacts: str | Path) -> Path:
    """Write the page of an advice, in the folder of its runs; if only the question is new, only its head."""
    from hashlib import sha256
    from importlib.metadata import version

    from hunet.pipeline.advice import COSTS
    from hunet.report.advice import advice_parts
    from hunet.report.html import head, replace_head

    page = folder / "report.html"
    parts = advice_parts(advised.advice, COSTS[advised.advice.goal.cost][0], folder / "report")
    stamp = sha256("\n".join([version("hunet"), *sorted(advised.runs)]).encode()).hexdigest()
    if not replace_head(page, parts, stamp):
        make_report(folder, contacts=[contacts], head=head(parts, stamp))
    return page


def _crowds(study: StudyResults, files: Sequence[str | Path]) -> Iterator[Crowd]:
    """The contacts of the first run on each world, which is made again, and on each trace that is given."""
    from hunet.model import InputError
    from hunet.pipeline.study_run import world_of
    from hunet.pipeline.traces import read_trace

    given = {(contacts := read_trace(file)).fingerprint: (file, contacts) for file in files}
    for label, row in study.sources().items():
        name, sha256 = row["name"]["contacts"], row["name"]["result"]["contacts"]["sha256"]
        if "world" in name and (contacts := world_of(name)).fingerprint == sha256:  # another version may make another
            yield crowd_of(label, contacts)
        elif found := given.pop(sha256, None):
            yield crowd_of(label, found[1])
    for file, _ in given.values():
        raise InputError(file, "holds other contacts than any that the study was on")


def _units(study: StudyResults) -> dict[str, str]:
    """The units of all that can differ between the runs of a study."""
    from hunet.model import describe
    from hunet.simulation import Links
    from hunet.systems import WORKLOADS, protocol_class
    from hunet.worlds import WORLDS

    kinds: dict[tuple[str, type[Parameters]], None] = {("links", Links): None}
    for row in study.rows:
        name = row["name"]
        kinds["parameters", protocol_class(row["protocol"]).Parameters] = None
        kinds["workload", WORKLOADS[name.get("workload", {}).get("kind", "uniform")].parameters] = None
        if "world" in name["contacts"]:
            kinds["world", WORLDS[name["contacts"]["world"]].parameters] = None
    units = {f"{table}.{each.name}": each.unit for table, kind in kinds for each in describe(kind) if each.unit}
    return units | {"storage": "bytes"}


def people_of_run(run: Path, named: dict[str, Any], file: Path | None) -> tuple[Contacts, Tracks | None]:
    """The contacts that a run was on, as its name says, and where people were if a world made them.

    They come from the file that is given, or from the world, made again; either way they are known by their hash.
    """
    from hunet.model import InputError
    from hunet.model.contact_files import read_contacts

    movement = _movement(named["about"])
    made = movement.contacts() if movement else None
    same = made is not None and made.fingerprint == named["sha256"]
    tracks = movement.tracks if movement and same else None
    if file is not None:
        contacts = read_contacts(file)
        if contacts.fingerprint != named["sha256"]:
            problem = f"has other contacts than the run (SHA-256 {named['sha256'][:16]}...)"
            raise InputError(file, f"{problem}: name the right file with --contacts")
        return contacts, tracks
    if made is None:
        raise InputError(run, "was on the contacts of a file, which it does not keep: name it with --contacts FILE")
    if not same:
        raise InputError(run, "this version makes other contacts of its world: name the old ones with --contacts FILE")
    return made, tracks


def _movement(description: dict[str, Any]) -> Movement | None:
    """The movement of the world that contacts came from, by what they tell about themselves."""
    from hunet.worlds import WORLDS, make_movement

    if description.get("world") not in WORLDS:
        return None
    return make_movement(description["world"], description["seed"], **description["parameters"])


def crowd_of(label: str, contacts: Contacts) -> Crowd:
    """Contacts with communities: those that the world tells, or those of greedy modularity by contact time."""
    import numpy as np

    from hunet.graphs.communities import find_communities
    from hunet.graphs.pairs import inter_contact_times, pairs_of
    from hunet.report.crowd import Crowd

    many = len(contacts.names)
    communities = contacts.metadata.get("communities") or contacts.metadata.get("departments")
    if communities and len(communities) == many:
        groups = {
            label: [node for node in range(many) if communities[node] == label] for label in sorted(set(communities))
        }
        found, by = list(groups.values()), "as the world tells"
    elif many <= _MOST_PEOPLE:
        pairs = pairs_of(contacts, shortest=1.0)
        weights = np.sqrt(pairs.seconds)
        found = [each for each in find_communities("modularity", many, pairs.edges(), weights) if len(each) > 1]
        by = "by greedy modularity of contact times"
    else:
        found, by = [], f"not sought among more than {_MOST_PEOPLE} people"
    return Crowd(label, contacts, tuple(map(tuple, found)), by, inter_contact_times(contacts))
