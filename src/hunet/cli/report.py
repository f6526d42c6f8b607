"""``hunet report``: a study as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hunet.cli.options import on_disk


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", callback=on_disk, help="The folder that hunet study wrote; with --one also hunet run's."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page, or with --one a folder.")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables for LaTeX, too: results and differences.")
    ] = None,
    contacts: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A trace that the study was on, to draw who met whom; not needed for worlds. Repeat as needed.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write figures for a paper, too: PDF, and PGF with its data, as wide as a column."
        ),
    ] = None,
    style: Annotated[str, typer.Option(metavar="STYLE", help="Whose columns: ieee or acm.")] = "ieee",
    one: Annotated[
        bool, typer.Option("--one", help="Instead: The ONE's reports of every run, under its names, in DIR/reports.")
    ] = False,
) -> None:
    """Write a study as one page that works offline: the answer, tables, figures, and which differences are real.

    The page is DIR/report.html unless named; each figure is also in DIR/report, as SVG and with its data as CSV. A
    study with tables = true has more figures; --one needs it, and writes NAME_MessageStatsReport.txt and the like.

    Example: hunet report compare --latex compare.tex
    """
    if one:
        from hunet.report.one_reports import write_one_reports

        written = write_one_reports(folder, out or folder / "reports")
        typer.echo(f"{written[0].parent}: {len(written)} reports")
        return
    from hunet.model.errors import ConfigurationError
    from hunet.report.chart import WIDTHS
    from hunet.report.page import Paper
    from hunet.reporting import make_report

    if style not in WIDTHS:
        raise ConfigurationError(f"--style {style}: one of {', '.join(WIDTHS)}")
    paper = Paper(figures, style) if figures else None
    page, missing = make_report(folder, out, latex, contacts or (), paper=paper)
    typer.echo(f"{page}: written")
    if figures:
        typer.echo(f"{figures}: figures for a paper, each as PDF, PGF and CSV")
    if missing:
        typer.echo(f"hunet: who met whom is not drawn for {', '.join(missing)}: give --contacts FILE", err=True)
