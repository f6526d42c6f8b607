"""``hunet report``: a study as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that hunet study wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page [default: DIR/report.html].")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table of results for LaTeX, too.")
    ] = None,
) -> None:
    """Write a study as one page that works offline: tables, figures, and which differences are real.

    Each figure is also in DIR/report, as SVG and with its data as CSV.

    Example: hunet report compare --latex compare.tex
    """
    from hunet.report.page import write_report

    typer.echo(f"{write_report(folder, out, latex)}: written")
