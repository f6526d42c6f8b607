"""Workloads from what people really wanted: the questionnaires of Infocom 2006, the profiles of SIGCOMM 2009.

Infocom 2006 (CRAWDAD cambridge/haggle): participants named the conference's topics that interest them, in
``forms/N.dat`` as ``topics=15,22,24``, where N is the mote. What they said to whom is not known; here everybody now and
then says something on a topic of their own, at the times of B-SUB's workload. With ``languages``, a message is in one
of the languages that its author named (``languages=3,1,5``), and people want their topics in languages that they named:
``topic-15 and (language = 1 or language = 3)``.

SIGCOMM 2009 (CRAWDAD thlab/sigcomm2009): participants joined interest groups (``interests1.csv`` before,
``interests2.csv`` during the conference) and really sent messages to groups: the rows of type M of ``messages.csv``.

The files are not part of hunet; a folder that holds them is named. People without contacts are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hunet.model import InputError, Parameters, Publication, Subscription, doc
from hunet.model.randomness import Stream, generator
from hunet.model.randomness import publication_times as spoken_times
from hunet.model.workload import Drawn, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunet.model import Contacts

_LIFE = doc("life of a message; none is for ever", unit="s", ge=0)


class QuestionnaireWorkload(Parameters, frozen=True):
    """People want the topics that they named, and keep saying something on them (Infocom 2006)."""

    folder: Annotated[str, doc("the folder of the forms, N.dat", path=True)] = "forms"
    languages: Annotated[bool, doc("whether messages are in a language, and people want those they know")] = False
    max_interval: Annotated[
        float, doc("longest time between two messages of a node", symbol="MAX_INTERVAL", unit="s", gt=0)
    ] = 3600.0
    size: Annotated[int, doc("bytes of a message", unit="bytes", ge=0)] = 140
    ttl: Annotated[float, _LIFE] | None = 3600.0


class GroupWorkload(Parameters, frozen=True):
    """People want the groups that they joined, and what was sent to groups is sent again (SIGCOMM 2009)."""

    folder: Annotated[str, doc("folder of interests1.csv, interests2.csv and messages.csv", path=True)] = "sigcomm09"
    size: Annotated[int, doc("bytes of a message", unit="bytes", ge=0)] = 140
    ttl: Annotated[float, _LIFE] | None = 86400.0


def draw_questionnaires(contacts: Contacts, chosen: QuestionnaireWorkload, seed: int) -> Drawn:
    """The topics that participants named, and messages on them."""
    wanted: dict[int, list[str]] = {}
    languages: dict[int, list[str]] = {}
    for node, name in enumerate(contacts.names):
        path = Path(chosen.folder) / f"{name}.dat"
        form = _lines(path) if path.exists() else []
        if topics := _named(form, "topics"):
            wanted[node] = [f"topic-{topic}" for topic in topics]
            languages[node] = _named(form, "languages") if chosen.languages else []
    if not wanted:
        raise InputError(chosen.folder, "has no form N.dat with topics= of any node N of these contacts")
    roles = generator(seed, Stream.ROLES)
    publications = []
    for i, (time, node) in enumerate(spoken_times(contacts.span, sorted(wanted), chosen.max_interval, seed)):
        topic = wanted[node][roles.integers(len(wanted[node]))]
        if spoken := languages[node]:
            topic = f"{topic} language = {spoken[roles.integers(len(spoken))]}"
        publications.append(Publication(f"m{i}", time, node, topic, chosen.size, chosen.ttl))
    subscriptions = []
    for node, topics in wanted.items():
        known = " or ".join(f"language = {language}" for language in languages[node])
        subscriptions += [Subscription(node, f"{topic} and ({known})" if known else topic) for topic in topics]
    return publications, subscriptions


def _named(form: list[str], what: str) -> list[str]:
    """The answers to a question of a form, each once."""
    lines = [line.partition("=")[2] for line in form if line.startswith(f"{what}=")]
    return list(dict.fromkeys(answer.strip() for line in lines for answer in line.split(",") if answer.strip()))


def draw_groups(contacts: Contacts, chosen: GroupWorkload, seed: int) -> Drawn:  # noqa: ARG001
    """The groups that participants joined, and the messages to groups; nothing is random."""
    folder, number = Path(chosen.folder), {name: node for node, name in enumerate(contacts.names)}
    subscriptions = []
    for name, columns in (("interests1.csv", 2), ("interests2.csv", 3)):
        for user, group, *since in _rows(folder / name, columns):
            if user in number:
                start = float(since[0]) if since else float("-inf")
                subscriptions.append(Subscription(number[user], f"group-{group}", start))
    begin, end = contacts.span
    publications = [
        Publication(f"m{message}", float(created), number[user], f"group-{group}", chosen.size, chosen.ttl)
        for message, user, created, kind, group in _rows(folder / "messages.csv", 5)
        if kind == "M" and user in number and begin <= float(created) <= end
    ]
    if not publications or not subscriptions:
        raise InputError(folder, "has no messages to groups, or no interests, of any node of these contacts")
    return publications, subscriptions


def _rows(path: Path, columns: int) -> Iterator[list[str]]:
    for number, line in enumerate(_lines(path), 1):
        row = line.strip().split(";")
        if line.strip() and not line.startswith("#"):
            if len(row) != columns:
                raise InputError(path, f"{len(row)} values where {columns} belong, separated by ';'", number)
            yield row


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None


QUESTIONNAIRES = WorkloadKind(QuestionnaireWorkload, draw_questionnaires)
GROUPS = WorkloadKind(GroupWorkload, draw_groups)
