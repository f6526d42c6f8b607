"""``hunet report``: a study as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that hunet study wrote; with --one also hunet run's.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page, or with --one a folder.")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table of results for LaTeX, too.")
    ] = None,
    one: Annotated[
        bool, typer.Option("--one", help="Instead: The ONE's reports of every run, under its names, in DIR/reports.")
    ] = False,
) -> None:
    """Write a study as one page that works offline: tables, figures, and which differences are real.

    The page is DIR/report.html unless named; each figure is also in DIR/report, as SVG and with its data as CSV. With
    --one the files are NAME_MessageStatsReport.txt and the like; the study must have kept its tables (tables = true).

    Example: hunet report compare --latex compare.tex
    """
    if one:
        from hunet.report.one_reports import write_one_reports

        written = write_one_reports(folder, out or folder / "reports")
        typer.echo(f"{written[0].parent}: {len(written)} reports")
        return
    from hunet.report.page import write_report

    typer.echo(f"{write_report(folder, out, latex)}: written")
