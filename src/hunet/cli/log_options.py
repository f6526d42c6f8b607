"""Options of commands that read logs (``hunet trace import`` and ``follow``), described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CLEANING, SPARK, OUT = "Cleaning", "Spark", "Where results go"
"""Headings of the help."""

Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL", rich_help_panel=SPARK, show_default="all cores", help="local[N], spark://HOST:PORT, ..."
    ),
]
Memory = Annotated[str, typer.Option(rich_help_panel=SPARK, help="Java heap of the driver and of each executor.")]
AsJson = Annotated[bool, typer.Option("--json", rich_help_panel=OUT, help="Print the figures as JSON, for programs.")]
OutFolder = Annotated[
    str, typer.Option("--out", "-o", metavar="DIR", rich_help_panel=OUT, help="Folder to make, or a URI.")
]
FormatName = Annotated[
    str | None, typer.Option("--format", metavar="NAME", show_default="guessed", help="One of hunet trace formats.")
]
FilePattern = Annotated[str, typer.Option(metavar="PATTERN", help="Of a folder, only files that match this.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="OURS=THEIRS", help="The input's own name of a column (a, b, start, end, ...); repeat."),
]
Schema = Annotated[
    str | None, typer.Option(metavar="DDL", help="Columns of a CSV without a header: 'phone string, rssi double'.")
]
Where = Annotated[
    str | None, typer.Option(metavar="SQL", help="Take only records for which this holds, such as 'rssi > -80'.")
]
TimeFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", show_default="numbers, or ISO if they look so", help="iso, or a Spark pattern."),
]
Unit = Annotated[str | None, typer.Option(help="The log's unit of time: s, ms, us, min, h.")]
Internal = Annotated[
    str | None,
    typer.Option(
        metavar="WHO",
        rich_help_panel=CLEANING,
        show_default="the format's rule",
        help="Who takes part: all, scanners, or numbers such as 1-41.",
    ),
]
Reversed = Annotated[
    str,
    typer.Option("--reversed", rich_help_panel=CLEANING, help="Records that end first: set-aside or repair."),
]
Gap = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        rich_help_panel=CLEANING,
        show_default="the format's",
        help="Join contacts this far apart.",
    ),
]
Extend = Annotated[
    float, typer.Option(metavar="SECONDS", rich_help_panel=CLEANING, help="Lengthen records by the scan interval.")
]
Offsets = Annotated[
    Path | None,
    typer.Option(metavar="CSV", rich_help_panel=CLEANING, help="Clock corrections: scanner,offset (s, added)."),
]
Scan = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", rich_help_panel=CLEANING, help="SocioPatterns: length of a sample."),
]
Origin = Annotated[str, typer.Option(rich_help_panel=CLEANING, help="Unix time of second 0, or auto: the first start.")]


def named_columns(given: list[str] | None) -> dict[str, str]:
    """Our name of each column to the input's, from what ``--column`` says."""
    from hunet.model.errors import ConfigurationError

    named = dict(text.partition("=")[::2] for text in given or [])
    if not all(named.values()):
        raise ConfigurationError("--column: write OURS=THEIRS, such as --column a=phone1")
    return named


def read_offsets(path: Path) -> dict[str, float]:
    """Clock corrections from a file."""
    import csv

    from hunet.model.errors import InputError

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if not {"scanner", "offset"} <= set(rows.fieldnames or ()):
                raise InputError(path, "the first line must name the columns scanner and offset", 1)
            found: dict[str, float] = {}
            for row in rows:
                try:
                    found[row["scanner"]] = float(row["offset"])
                except (TypeError, ValueError):
                    raise InputError(path, f"offset must be a number, not '{row['offset']}'", rows.line_num) from None
            return found
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
