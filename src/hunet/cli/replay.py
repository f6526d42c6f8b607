"""``hunet replay``: a run, or the event logs of live nodes, as a page that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="A folder of hunet run --out, or DIR/tables/RUN of a study; or logs of hunet node --event-log.",
        ),
    ],
    contacts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The contacts that it was on; not needed if they came from a world."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", show_default="RUN/replay.html", help="The page.")
    ] = None,
) -> None:
    """Write a page that plays a run: people, contacts, and the journey of any message from hand to hand.

    It works offline, in any browser. People are where the world has them; those of a trace near those whom they meet.

    Example: hunet replay results && xdg-open results/replay.html
    """
    from hunet.model import ConfigurationError

    if runs[0].is_file():
        page = _of_logs(runs, contacts, out)
    elif len(runs) > 1:
        raise ConfigurationError(f"{runs[1]}: name one run, or only event logs of live nodes")
    else:
        page = _of_run(runs[0], contacts, out)
    typer.echo(f"{page}: written ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


def _of_logs(logs: list[Path], contacts: Path | None, out: Path | None) -> Path:
    from hunet.model import ConfigurationError
    from hunet.report.node_logs import NodeLogs
    from hunet.report.replay import write_replay_of_logs
    from hunet.reporting import crowd_of

    if contacts:
        raise ConfigurationError("--contacts: event logs of live nodes hold their contacts: leave it out")
    read = NodeLogs(logs)
    return write_replay_of_logs(logs, read, crowd_of("live nodes", read.contacts()), out)


def _of_run(run: Path, contacts: Path | None, out: Path | None) -> Path:
    from hunet.report.replay import read_run, write_replay
    from hunet.reporting import crowd_of, people_of_run

    named = read_run(run)["name"]["contacts"]
    contacts_, tracks = people_of_run(run, named, contacts)
    label = str(named["about"].get("world") or (contacts.name if contacts else "a trace"))
    return write_replay(run, crowd_of(label, contacts_), tracks, out)
