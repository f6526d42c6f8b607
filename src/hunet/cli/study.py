"""``hunet study``: many runs on Spark, from one TOML file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hunet.cli.options import SparkMaster
from hunet.cli.progress import progress_of_runs

_SHOWN_FAILURES = 5


def study(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="Traces or worlds, protocols, values, repetitions.")
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the results, or a URI.")],
    traces: Annotated[
        Path | None,
        typer.Option(metavar="DIR", show_default="the study's", help="Folder that the study's files are relative to."),
    ] = None,
    master: SparkMaster = None,
    memory: Annotated[str, typer.Option(help="Java heap of the driver and of each executor.")] = "1g",
    as_json: Annotated[bool, typer.Option("--json", help="Print how it went as JSON, for programs.")] = False,
) -> None:
    """Run a study: every protocol, with every value, in every repetition; results run by run, and summary tables.

    The same command again does only what is missing. A run that fails is recorded and does not stop the others.

    Example: hunet study compare.toml -o compare
    """
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.storage import join
    from hunet.pipeline.studies import STUDY_OPTIONS, run_study
    from hunet.pipeline.study_plan import read_study

    start = partial(spark_session, master, memory=memory, options=STUDY_OPTIONS)
    plan = read_study(file, traces, start)
    with progress_of_runs() as progress:
        done = run_study(start, plan, out, progress)
    if as_json:
        import json

        typer.echo(json.dumps({"runs": done.runs, "skipped": done.skipped, "failed": done.failed}, indent=2))
    else:
        from hunet.report.tables import print_study

        print_study(done.summary.to_pylist())
        typer.echo(
            f"{out}: {done.runs} runs, {done.skipped} of them already there, {len(done.failed)} failed; "
            f"see {join(out, 'summary.csv')}"
        )
    for failure in done.failed[:_SHOWN_FAILURES]:
        typer.echo(f"hunet: run {failure}", err=True)
    if done.failed:
        raise typer.Exit(1)
