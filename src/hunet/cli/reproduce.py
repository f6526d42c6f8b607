"""``hunet reproduce``: a paper's evaluation done again, and its claims judged by the results."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunet.cli.options import ResultsFolder, SparkMaster
from hunet.cli.progress import progress_of_runs

if TYPE_CHECKING:
    from hunet.systems import System

_QUICK = 2


def reproduce(
    system: Annotated[str | None, typer.Argument(show_default="all", help="Only this one.")] = None,
    out: ResultsFolder = Path("results"),
    traces: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the imported traces: DIR/SYSTEM/TRACE.")
    ] = Path("traces"),
    docs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The project's pages, to write the tables into as well.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{_QUICK} repetitions; a full run goes on from them.")
    ] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Run nothing: judge by what is there and by kept rows.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the runs that judge beside the studies, for judging without running.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--study", metavar="NAME", help="Only this study; repeat as needed.")
    ] = None,
    master: SparkMaster = None,
    memory: Annotated[str, typer.Option(help="Java heap of the driver and of each executor.")] = "1g",
) -> None:
    """Run the studies of a paper (hours, if not --quick) and judge its claims by the results.

    The tables go to DIR/SYSTEM/claims.md. The same command again goes on where it was stopped. A study whose trace is
    not there is left out, and said so; the pages of the systems tell how to import the traces. Where a study has no
    results, claims are judged by the rows that are kept of it, if any. Systems of other installed packages are
    reproduced in the same way.

    Example: hunet reproduce b-sub --kept
    """
    from hunet.model.errors import ConfigurationError, did_you_mean
    from hunet.systems import studies_of, systems
    from hunet.systems import system as system_called

    known = [name for name, one in systems().items() if one.claims]
    if system is not None and system not in known:
        raise ConfigurationError(f"no system '{system}': {did_you_mean(system, known)}")
    files = {name: studies_of(system_called(name)) for name in ([system] if system else known)}
    names = {file.stem for each in files.values() for file in each}
    for name in only or []:
        if name not in names:
            raise ConfigurationError(f"no study '{name}': {did_you_mean(name, names)}")
    failed = 0
    for name, studies in files.items():
        chosen = [file for file in studies if not kept and (not only or file.stem in only)]
        for number, file in enumerate(chosen, 1):
            label = f"{name} {number}/{len(chosen)}, {file.stem}"
            failed += _run(label, file, traces / name, out / name / file.stem, quick, master, memory)
        _judge(system_called(name), out / name, docs, keep)
    if docs:
        _sum_up(docs)
    if failed:
        raise typer.Exit(1)


def _sum_up(docs: Path) -> None:
    """Write the sum of all pages into that of the claims, and into the README beside the folder if it has a place."""
    from hunet.report.claims import claims_counts, claims_summary, replace_section
    from hunet.systems import systems

    found = {one.title: docs / "systems" / f"{name}.md" for name, one in systems().items() if one.claims}
    pages = {title: page for title, page in found.items() if page.exists()}
    replace_section(docs / "claims.md", claims_summary(pages))
    readme = docs.parent / "README.md"
    if readme.exists() and "<!-- claims -->" in readme.read_text("utf-8"):
        replace_section(readme, claims_counts(pages, f"{docs.name}/systems/"))


def _run(label: str, file: Path, traces: Path, out: Path, quick: bool, master: str | None, memory: str) -> int:
    """Run one study; returns how many of its runs failed."""
    from hunet.model.errors import InputError
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS, run_study
    from hunet.pipeline.study_plan import read_study

    try:
        study = read_study(file, traces)
    except InputError as problem:
        typer.echo(f"{label}: left out: {problem}", err=True)
        return 0
    if quick:
        study = study.first(_QUICK)
    start = partial(spark_session, master, memory=memory, options=STUDY_OPTIONS)
    with progress_of_runs(label) as progress:
        done = run_study(start, study, out, progress)
    typer.echo(f"{label}: {done.runs} runs, {len(done.failed)} failed")
    return len(done.failed)


def _judge(one: System, results: Path, docs: Path | None, keep: bool) -> None:
    """Write the tables of a system beside its results and, if asked to, into its page."""
    from hunet.model.files import file_in_place
    from hunet.report.claims import replace_sections
    from hunet.report.evidence import Evaluation
    from hunet.systems import load

    sections = load(one.claims)(results)
    parts = [f"# {one.title}: what we find again", one.paper]
    parts += [text if name == "claims" else f"## {name.capitalize()}\n\n{text}" for name, text in sections.items()]
    origins = ""
    if one.evaluation:
        evaluation: Evaluation = load(one.evaluation)
        studies = evaluation.read(results)
        if keep:
            typer.echo(f"{one.name}: {evaluation.keep(studies)} rows kept in {evaluation.folder}")
        parts.append(f"## Comparisons\n\n{evaluation.comparisons(studies)}")
        origins = f", {evaluation.origins(studies)}"
    with file_in_place(results / "claims.md") as partial:
        partial.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    typer.echo(f"{one.name}: claims judged in {results / 'claims.md'}{origins}")
    page = docs / "systems" / f"{one.name}.md" if docs else None
    if docs and page and page.exists():
        replace_sections(page, sections)
        if one.evaluation:
            evaluation.draw(studies, docs / "pictures" / f"{one.name}-evaluation.svg")
        if one.pictures:
            load(one.pictures)(results, docs / "pictures")
        typer.echo(f"{page}: written from {results}")
