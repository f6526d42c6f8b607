"""The small commands: ``demo``, ``protocols``, ``convert``, ``replay-log``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["convert", "demo", "protocols", "replay_log"]


def demo(
    messages: Annotated[int, typer.Option(min=1, help="Publications in each run.")] = 300,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each protocol, each in a crowd of its own.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON, for programs.")] = False,
) -> None:
    """Compare the protocols on a made-up crowd: no download, a few seconds.

    One hundred people walk between the places of their communities for eight hours (SocialCast's world); everybody
    wants one of ten topics. All protocols see the same crowds and the same messages.
    """
    from hunet.cli.progress import progress_bar
    from hunet.protocols import PROTOCOLS
    from hunet.report.tables import Comparison, print_comparison
    from hunet.simulation import make_workload, run
    from hunet.worlds import make_world

    comparison = Comparison()
    total = runs * (1 + len(PROTOCOLS))
    done = 0
    with progress_bar("demo") as progress:

        def step() -> None:
            nonlocal done
            done += 1
            if progress:
                progress(done / total)

        for seed in range(1, runs + 1):
            contacts = make_world("community", seed)
            step()
            workload = make_workload(contacts, seed, messages=messages, ttl=3600)
            for name in PROTOCOLS:
                comparison.add(name, run(contacts, workload, name, seed=seed).summary)
                step()
    if as_json:
        import json

        found = {
            protocol: {key: {"mean": one.mean if one.runs else None, "ci95": one.half} for key, one in row.items()}
            for protocol, row in comparison.rows().items()
        }
        typer.echo(json.dumps(found, indent=2))
    else:
        print_comparison(
            comparison,
            f"100 people, 10 communities, 8 hours; {messages} messages of one hour; {runs} runs",
        )


def protocols(
    name: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """List the protocols with their parameters, the papers' symbols and the defaults."""
    from hunet.model import describe
    from hunet.protocols import PROTOCOLS, protocol_class

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
    """Convert a contact table between Parquet, CSV and The ONE's connectivity events."""
    from hunet.worlds.contact_files import read_contacts, write_contacts

    contacts = read_contacts(source)
    write_contacts(contacts, target)
    typer.echo(f"{target}: {len(contacts.names)} nodes, {len(contacts)} contacts")


def replay_log(log: Annotated[Path, typer.Argument(help="A log that hunet run --log wrote.")]) -> None:
    """Show a log's events to new protocol objects and check that they do the same again, line by line."""
    from hunet.simulation import replay

    typer.echo(f"{log}: {replay(log)} events replayed, every action the same")
