"""What commands that draw need to know of people: their contacts, found again from a run's name, and communities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hunet.model import Contacts
    from hunet.report.crowd import Crowd
    from hunet.worlds import Movement, Tracks

_MOST_PEOPLE = 1500
"""Finding communities takes the third power of that."""


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


def _movement(about: dict[str, Any]) -> Movement | None:
    """The movement of the world that contacts came from, by what they tell about themselves."""
    from hunet.worlds import WORLDS, make_movement

    if about.get("world") not in WORLDS:
        return None
    return make_movement(about["world"], about["seed"], **about["parameters"])


def crowd_of(label: str, contacts: Contacts) -> Crowd:
    """Contacts with communities: those that the world tells, or those of greedy modularity by contact time."""
    import numpy as np

    from hunet.graphs.communities import find_communities
    from hunet.graphs.pairs import inter_contact_times, pairs_of
    from hunet.report.crowd import Crowd

    many = len(contacts.names)
    told = contacts.about.get("communities") or contacts.about.get("departments")
    if told and len(told) == many:
        groups = {label: [node for node in range(many) if told[node] == label] for label in sorted(set(told))}
        found, by = list(groups.values()), "as the world tells"
    elif many <= _MOST_PEOPLE:
        pairs = pairs_of(contacts, shortest=1.0)
        weights = np.sqrt(pairs.seconds)
        found = [each for each in find_communities("modularity", many, pairs.edges(), weights) if len(each) > 1]
        by = "by greedy modularity of contact times"
    else:
        found, by = [], f"not sought among more than {_MOST_PEOPLE} people"
    return Crowd(label, contacts, tuple(map(tuple, found)), by, inter_contact_times(contacts))
