"""``hunet replay``: a run as a page that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A folder of hunet run --out, or DIR/tables/RUN of a study.")
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
    from hunet.report.replay import read_run, write_replay
    from hunet.reporting import crowd_of, people_of_run

    named = read_run(run)["name"]["contacts"]
    met, tracks = people_of_run(run, named, contacts)
    label = str(named["about"].get("world") or (contacts.name if contacts else "a trace"))
    page = write_replay(run, crowd_of(label, met), tracks, out)
    typer.echo(f"{page}: written ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")
