"""The input formats, by name, and the guess which one a file is in.

To add one, add an entry to ``table``, or write a module and list its format here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.model.errors import ConfigurationError, InputError, did_you_mean
from hunet.pipeline.formats.encounters import ENCOUNTERS
from hunet.pipeline.formats.format import Format
from hunet.pipeline.formats.named_columns import ASSOCIATIONS, CSV, JSON, TABLES
from hunet.pipeline.formats.one import ONE
from hunet.pipeline.formats.positions import POSITIONS
from hunet.pipeline.formats.roster import ROSTER
from hunet.pipeline.formats.table import TABLE

if TYPE_CHECKING:
    from hunet.pipeline.sources import Head

FORMATS: dict[str, Format] = {
    each.name: each for each in (ONE, *TABLE, ROSTER, POSITIONS, ASSOCIATIONS, CSV, JSON, ENCOUNTERS, *TABLES)
}
_ENOUGH = 0.5
"""Share of a file's first lines that must look like the format that the user named: logs are dirty."""


def format_named(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise ConfigurationError(f"no format '{name}': {did_you_mean(name, FORMATS)} See 'hunet trace formats'")
    return FORMATS[name]


def choose_format(heads: list[Head], named: str | None = None) -> Format:
    """The one format of all files: the named one if they look like it, else the only one that they look like."""
    kinds = {head.file.packing for head in heads} & {"parquet", "orc"}
    if kinds:
        if any(head.file.packing not in kinds for head in heads) or len(kinds) > 1:
            odd = next(head for head in heads if head.file.packing != heads[0].file.packing)
            raise InputError(odd.file.label, f"is of another kind than {heads[0].file.label}: import one at a time")
        chosen = format_named(named or kinds.pop())
        if not chosen.has_columns:
            raise InputError(heads[0].file.label, f"has columns with names, and '{named}' is a format of text lines")
        return chosen
    if named:
        chosen = format_named(named)
        for head in heads:
            _check(chosen, head)
        return chosen
    guesses = [_guess(head) for head in heads]
    for head, guess in zip(heads, guesses, strict=True):
        if guess is not guesses[0]:
            raise InputError(
                head.file.label,
                f"looks like '{guess.name}', and {heads[0].file.label} like '{guesses[0].name}': import one kind at a "
                "time (name one file or folder, or choose files with --files PATTERN)",
            )
    return guesses[0]


def _guess(head: Head) -> Format:
    found = [each for each in FORMATS.values() if each.recognises(head)]
    line, text = head.lines[0]
    if not found:
        raise InputError(
            head.file.label,
            f"looks like none of the known formats: found '{text[:80]}'; "
            "name one with --format ('hunet trace formats' shows how each looks)",
            line,
        )
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise InputError(head.file.label, f"could be {names}: say which with --format (found '{text[:80]}')", line)
    return found[0]


def _check(chosen: Format, head: Head) -> None:
    found = chosen.matches(head)
    if sum(found) >= _ENOUGH * max(len(found), 1) and found:
        return
    data = [row for row in head.lines if row[0] > chosen.preamble] or head.lines
    line, text = next((row for row, fits in zip(data, found, strict=False) if not fits), data[0])
    looks = [each.name for each in FORMATS.values() if each.recognises(head)]
    hint = f"; it looks like '{looks[0]}'" if looks else ""
    raise InputError(
        head.file.label,
        f"is not in the format '{chosen.name}': expected a line such as '{chosen.example}', found '{text[:80]}'{hint}",
        line,
    )
