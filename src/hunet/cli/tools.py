"""The small commands: ``protocols``, ``convert``, ``replay-log``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def protocols(
    name: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """List the protocols with their parameters, the papers' symbols and the defaults."""
    from hunet.model import describe
    from hunet.systems import PROTOCOLS, protocol_class

    chosen = {name: protocol_class(name)} if name else PROTOCOLS
    if as_json:
        import json
        from dataclasses import asdict

        rows = {key: [asdict(row) for row in describe(kind.Parameters)] for key, kind in chosen.items()}
        typer.echo(json.dumps(rows, indent=2))
    else:
        from hunet.report.tables import print_parameters

        for key, kind in chosen.items():
            summary = (kind.__doc__ or "").strip().splitlines()[0]
            print_parameters(key, summary, describe(kind.Parameters))


def convert(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A contact table or The ONE's events.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help=".parquet, .csv, .one, .csv.gz or .one.gz.")],
) -> None:
    """Convert a contact table between Parquet, CSV and The ONE's connectivity events.

    NAME_ContactTimesReport.txt and NAME_InterContactTimesReport.txt become The ONE's reports of that name.
    """
    from hunet.model.contact_files import read_contacts, write_contacts
    from hunet.report.one_reports import CONTACT_REPORTS, write_contact_report

    contacts = read_contacts(source)
    if target.name.endswith(CONTACT_REPORTS):
        write_contact_report(contacts, target)
    else:
        write_contacts(contacts, target)
    typer.echo(f"{target}: {len(contacts.names)} nodes, {len(contacts)} contacts")


def replay_log(log: Annotated[Path, typer.Argument(help="A log that hunet run --log wrote.")]) -> None:
    """Show a log's events to new protocol objects and check that they do the same again, line by line."""
    from hunet.simulation import replay

    typer.echo(f"{log}: {replay(log)} events replayed, every action the same")
