"""``hunet reproduce``: a paper's evaluation done again, and the tables of its page written from the results."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from hunet.cli.options import SparkMaster
from hunet.cli.progress import progress_of_runs

SYSTEMS = {
    "b-sub": "hunet.systems.b_sub.claims",
    "socialcast": "hunet.systems.socialcast.claims",
    "social-election": "hunet.systems.social_election.claims",
    "socio-aware-overlay": "hunet.systems.socio_aware_overlay.claims",
    "mops": "hunet.systems.mops.claims",
}
"""The systems whose evaluation can be done again, and the module that judges their claims."""

_QUICK = 2


def reproduce(
    system: Annotated[str | None, typer.Argument(show_default="all", help="Only this one.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the results.")] = Path("results"),
    studies: Annotated[Path, typer.Option(metavar="DIR", help="The project's study files.")] = Path("studies"),
    docs: Annotated[Path, typer.Option(metavar="DIR", help="The pages to write tables into.")] = Path("docs"),
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{_QUICK} repetitions; a full run goes on from them.")
    ] = False,
    master: SparkMaster = None,
    memory: Annotated[str, typer.Option(help="Java heap of the driver and of each executor.")] = "1g",
) -> None:
    """Run the studies of a paper (hours, if not --quick) and write the tables of its page from the results.

    Run it in the project's folder. The same command again goes on where it was stopped. A study whose trace is not
    there is left out, and said so; the pages tell how to import the traces.

    Example: hunet reproduce b-sub --quick
    """
    from hunet.model.errors import ConfigurationError, InputError, did_you_mean
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS, run_study
    from hunet.pipeline.study_plan import read_study

    if system is not None and system not in SYSTEMS:
        raise ConfigurationError(f"no system '{system}': {did_you_mean(system, SYSTEMS)}")
    chosen = [system] if system else list(SYSTEMS)
    failed = 0
    for name in chosen:
        files = sorted((studies / name).glob("*.toml"))
        if not files:
            raise InputError(studies / name, "holds no studies: run this in the project's folder, or name --studies")
        for number, file in enumerate(files, 1):
            label = f"{name} {number}/{len(files)}, {file.stem}"
            try:
                study = read_study(file)
            except InputError as problem:
                typer.echo(f"{label}: left out: {problem}", err=True)
                continue
            if quick:
                study = study.first(_QUICK)
            spark = spark_session(master, memory=memory, options=STUDY_OPTIONS)
            with progress_of_runs(label) as progress:
                done = run_study(spark, study, out / name / file.stem, progress)
            typer.echo(f"{label}: {done.runs} runs, {len(done.failed)} failed")
            failed += len(done.failed)
        page = docs / "systems" / f"{name}.md"
        import_module(SYSTEMS[name]).write_claims(page, out / name)
        typer.echo(f"{page}: written from {out / name}")
    from hunet.report.claims import claims_summary, replace_section

    pages = {name: docs / "systems" / f"{name}.md" for name in SYSTEMS}
    replace_section(docs / "claims.md", claims_summary({n: page for n, page in pages.items() if page.exists()}))
    if failed:
        raise typer.Exit(1)
