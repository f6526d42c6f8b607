"""``hunet advise``: which system suits one's own crowd."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hunet.cli.options import ResultsFolder, SparkMaster
from hunet.cli.progress import progress_of_runs

if TYPE_CHECKING:
    from hunet.pipeline.advice import Advice

_RUNS, _QUICK_RUNS = 5, 3


def advise(
    contacts: Annotated[
        str,
        typer.Argument(
            metavar="CONTACTS", help="A contact table, The ONE's events, or the folder of an import (also a URI)."
        ),
    ],
    ratio: Annotated[float, typer.Option(help="Share of (publication, subscriber) pairs to be served in time.")] = 0.8,
    within: Annotated[str, typer.Option(metavar="DELAY", help="In time means within: 90s, 30min, 6h, 2d.")] = "6h",
    cost: Annotated[str, typer.Option(help="What shall be least: forwards, bytes, control or copies.")] = "forwards",
    confidence: Annotated[float, typer.Option(min=0, max=1, help="How sure to reach the ratio it must be.")] = 0.9,
    messages: Annotated[int, typer.Option(min=1, help="Publications in each run.")] = 300,
    topics: Annotated[int, typer.Option(min=1, help="Topics; everybody wants one of them.")] = 10,
    buffer: Annotated[
        int | None, typer.Option(min=1, show_default="any number", help="Messages that a device can hold.")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=2, show_default=f"{_RUNS}", help="Runs of each candidate.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"One setting of each protocol, {_QUICK_RUNS} runs: a first idea.")
    ] = False,
    out: ResultsFolder = Path("advice"),
    master: SparkMaster = None,
    memory: Annotated[str, typer.Option(help="Java heap of the driver and of each executor.")] = "1g",
    as_json: Annotated[bool, typer.Option("--json", help="Print the advice as JSON, for programs.")] = False,
) -> None:
    """Find the system, and its parameters, that reaches a delivery ratio within a delay at the least cost.

    Runs a study of all systems and baselines on these contacts (minutes; the same command again goes on where it was
    stopped, and another ratio or cost is answered from the same runs), says what to use, how sure that is, and writes
    recommended.toml for hunet run. If nothing reaches the ratio it says what contacts allow at best.

    Example: hunet advise contacts.csv --ratio 0.8 --within 6h --cost forwards
    """
    from hunet.cli.settings import duration
    from hunet.pipeline.advice import Goal, advice_study, judge
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS, run_study
    from hunet.pipeline.study_results import load_runs

    goal = Goal(ratio, duration("--within", within), cost, confidence)  # type: ignore[arg-type]
    many = runs or (_QUICK_RUNS if quick else _RUNS)
    start = partial(spark_session, master, memory=memory, options=STUDY_OPTIONS)
    study = advice_study(
        contacts, goal, messages=messages, topics=topics, buffer=buffer, runs=many, quick=quick, start=start
    )
    with progress_of_runs("advise") as progress:
        done = run_study(start(), study, out, progress)
    advice = judge(load_runs(out, study), study, goal)
    file = out / "recommended.toml"
    if advice.best:
        from os.path import relpath

        from hunet.model.files import write_toml
        from hunet.pipeline.advice import recommended_run
        from hunet.pipeline.storage import is_uri

        seen = contacts if is_uri(contacts) else relpath(Path(contacts).absolute(), out.absolute())
        write_toml(file, recommended_run(study, advice.best.name, seen))
    else:
        file.unlink(missing_ok=True)  # of another question, to the same runs
    from hunet.cli.report import make_report

    page, _ = make_report(out, contacts=[contacts])
    if as_json:
        import json

        typer.echo(json.dumps(_plain(advice, file, page), indent=2))
    else:
        from hunet.pipeline.advice import COSTS
        from hunet.report.tables import print_advice

        print_advice(advice, COSTS[advice.goal.cost][0])
        if advice.best:
            typer.echo(f"To run it: hunet run --config {file}")
        typer.echo(f"All candidates: {page}")
    for failure in done.failed:
        typer.echo(f"hunet: run {failure}", err=True)
    if done.failed or not advice.best:
        raise typer.Exit(1)


def _plain(advice: Advice, file: Path, page: Path) -> dict[str, Any]:
    from hunet.pipeline.advice import Candidate

    def told(each: Candidate | None) -> Any:
        return each and {**each._asdict(), "ratio": each.ratio._asdict(), "cost": each.cost._asdict()}

    return {
        "goal": advice.goal._asdict(),
        "repetitions": advice.repetitions,
        "bound": advice.bound._asdict(),
        "recommended": told(advice.best),
        "sure": advice.sure,
        "runner_up": told(advice.runner_up),
        "candidates": [told(each) for each in advice.candidates],
        "settings": str(file) if advice.best else None,
        "report": str(page),
    }
