"""``hunet from-one``: a trace-driven scenario of The ONE as a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def from_one(
    settings: Annotated[
        list[Path], typer.Argument(metavar="SETTINGS...", help="The ONE's settings files; later ones win.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the study and its files.")],
    runs: Annotated[
        str | None,
        typer.Option(metavar="N|A:B", show_default="all that differ", help="Run indices, as for The ONE's -b."),
    ] = None,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="List what hunet has not as warnings, and go on without it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON, for programs.")] = False,
) -> None:
    """Turn a scenario of The ONE that is driven by a connectivity trace into a study.

    Reads default_settings.txt first if it is in the working folder, as The ONE does. Messages become publications on
    a topic of their receiver's own; each run (values in brackets) becomes a case of the study.

    Example: hunet from-one my_settings.txt -o mine
    """
    from hunet.pipeline.one_scenario import DEFAULT_SETTINGS, convert_scenario
    from hunet.pipeline.one_settings import OneSettings

    files = (
        [DEFAULT_SETTINGS, *settings] if DEFAULT_SETTINGS.exists() and DEFAULT_SETTINGS not in settings else settings
    )
    done = convert_scenario(OneSettings.read(files), out, _runs(runs), ignore_unknown=ignore_unknown)
    for warning in done.warnings:
        typer.echo(f"hunet: warning: {warning}", err=True)
    if as_json:
        import json

        typer.echo(json.dumps({**done._asdict(), "study": str(done.study)}, indent=2))
        return
    for note in done.notes:
        typer.echo(note)
    typer.echo(f"{done.study}: {len(done.cases)} runs ({', '.join(done.cases)})")
    typer.echo(f"Next: hunet study {done.study} -o RESULTS && hunet report RESULTS --one")


def _runs(text: str | None) -> range | None:
    """N is the first N runs, A:B those from A to B, counted from 1."""
    from hunet.model.errors import ConfigurationError

    if text is None:
        return None
    first, colon, last = text.rpartition(":")
    try:
        found = range(int(first or "1") - 1, int(last))
    except ValueError:
        found = range(0)
    if not found or found.start < 0 or (colon and not first):
        raise ConfigurationError(f"--runs {text}: write how many, or FIRST:LAST, counted from 1")
    return found
