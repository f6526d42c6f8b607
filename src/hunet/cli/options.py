"""Options that several commands have, described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WHAT, SAID, OUT = "What to run", "What people say", "Where results go"
"""Headings of the help."""


def on_disk(folder: Path) -> Path:
    """Check a folder of results that Python itself reads again: a URI is Spark's affair."""
    from hunet.model.errors import ConfigurationError
    from hunet.pipeline.storage import is_uri

    if is_uri(folder):
        raise ConfigurationError(
            f"{folder}: name a folder of this machine; a study that is at a URI is copied first, "
            "such as with 'hadoop fs -get URI DIR'"
        )
    return folder


ContactsFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=WHAT,
        help="Contact table (.parquet, .csv), The ONE's events, or the folder of an import.",
    ),
]
WorldName = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=WHAT, help="Instead of a file: a world (see hunet world)."),
]
ProtocolName = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=WHAT, show_default="push", help="One of hunet protocols."),
]
PublicationsFile = Annotated[
    str | None,
    typer.Option(metavar="CSV", rich_help_panel=SAID, help="Columns: id, time, node, topic; optional: size, ttl."),
]
SubscriptionsFile = Annotated[
    str | None,
    typer.Option(metavar="CSV", rich_help_panel=SAID, help="Columns: node, topic; optional: from, until."),
]
MessageCount = Annotated[
    int | None,
    typer.Option(rich_help_panel=SAID, show_default="100", help="Publications of a generated workload."),
]
ResultsFolder = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", callback=on_disk, help="Folder for the results.")
]
SparkMaster = Annotated[
    str | None,
    typer.Option(metavar="URL", show_default="all cores", help="local[N], spark://HOST:PORT, ..."),
]
