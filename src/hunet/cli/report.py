"""``hunet report``: a study as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunet.cli.options import on_disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hunet.model import Parameters
    from hunet.report.crowd import Crowd
    from hunet.report.study import StudyResults


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
    one: Annotated[
        bool, typer.Option("--one", help="Instead: The ONE's reports of every run, under its names, in DIR/reports.")
    ] = False,
) -> None:
    """Write a study as one page that works offline: tables, figures, and which differences are real.

    The page is DIR/report.html unless named; each figure is also in DIR/report, as SVG and with its data as CSV. A
    study with tables = true has more figures; --one needs it, and writes NAME_MessageStatsReport.txt and the like.

    Example: hunet report compare --latex compare.tex
    """
    if one:
        from hunet.report.one_reports import write_one_reports

        written = write_one_reports(folder, out or folder / "reports")
        typer.echo(f"{written[0].parent}: {len(written)} reports")
        return
    page, missing = make_report(folder, out, latex, contacts or ())
    typer.echo(f"{page}: written")
    if missing:
        typer.echo(f"hunet: who met whom is not drawn for {', '.join(missing)}: give --contacts FILE", err=True)


def make_report(
    folder: Path, out: Path | None = None, latex: Path | None = None, contacts: Sequence[str | Path] = ()
) -> tuple[Path, list[str]]:
    """Write the page; returns its path, and the names of traces that would have been drawn had they been given."""
    from hunet.report.page import write_report
    from hunet.report.study import StudyResults

    study = StudyResults(folder)
    crowds = list(_crowds(study, contacts))
    missing = [label for label in study.sources() if label not in [crowd.label for crowd in crowds]]
    return write_report(study, out, latex, crowds=crowds, units=_units(study)), missing


def _crowds(study: StudyResults, files: Sequence[str | Path]) -> Iterator[Crowd]:
    """The contacts of the first run on each world, which is made again, and on each trace that is given."""
    from hunet.cli.people import crowd_of
    from hunet.model import InputError
    from hunet.pipeline.study_run import world_of
    from hunet.pipeline.traces import read_trace

    given = {(met := read_trace(file)).fingerprint: (file, met) for file in files}
    for label, row in study.sources().items():
        name, sha256 = row["name"]["contacts"], row["name"]["result"]["contacts"]["sha256"]
        if "world" in name and (met := world_of(name)).fingerprint == sha256:  # another version may make another
            yield crowd_of(label, met)
        elif found := given.pop(sha256, None):
            yield crowd_of(label, found[1])
    for file, _ in given.values():
        raise InputError(file, "holds other contacts than any that the study was on")


def _units(study: StudyResults) -> dict[str, str]:
    """The units of all that can differ between the runs of a study."""
    from hunet.model import describe
    from hunet.simulation import Links
    from hunet.systems import WORKLOADS, protocol_class
    from hunet.worlds import WORLDS

    kinds: dict[tuple[str, type[Parameters]], None] = {("links", Links): None}
    for row in study.rows:
        name = row["name"]
        kinds["parameters", protocol_class(row["protocol"]).Parameters] = None
        kinds["workload", WORKLOADS[name.get("workload", {}).get("kind", "uniform")].parameters] = None
        if "world" in name["contacts"]:
            kinds["world", WORLDS[name["contacts"]["world"]].parameters] = None
    return {f"{table}.{each.name}": each.unit for table, kind in kinds for each in describe(kind) if each.unit}
