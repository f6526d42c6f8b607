"""``hunet advise``: which system suits one's own crowd."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hunet.cli.options import ResultsFolder, SparkMaster
from hunet.cli.progress import progress_of_runs

if TYPE_CHECKING:
    from hunet.advising import Advised

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
    cost: Annotated[str, typer.Option(help="Cost to minimise: forwards, bytes, control or copies.")] = "forwards",
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
    from hunet.advising import advise as ask
    from hunet.model.quantities import duration
    from hunet.pipeline.advice import COSTS, Goal
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS
    from hunet.reporting import make_advice_page

    goal = Goal(ratio, duration("--within", within), cost, confidence)  # type: ignore[arg-type]
    with progress_of_runs("advise", lines=True) as progress:
        advised = ask(
            contacts,
            goal,
            out,
            messages=messages,
            topics=topics,
            buffer=buffer,
            runs=runs,
            quick=quick,
            start=partial(spark_session, master, memory=memory, options=STUDY_OPTIONS),
            progress=progress,
            announce=_announce,
        )
    advice = advised.advice
    if not as_json:
        from hunet.report.tables import print_advice

        print_advice(advice, COSTS[advice.goal.cost][0])
        if advised.settings:
            typer.echo(f"To run it: hunet run --config {advised.settings}")
    page = make_advice_page(advised, out, contacts)
    if as_json:
        import json

        typer.echo(json.dumps(_plain(advised, page), indent=2))
    else:
        typer.echo(f"All candidates: {page}")
    for failure in advised.failed:
        typer.echo(f"hunet: run {failure}", err=True)
    if advised.failed or not advice.best:
        raise typer.Exit(1)


def _announce(runs: int, seconds: float) -> None:
    from hunet.report.metrics import duration

    typer.echo(
        f"hunet: {runs} runs, about {duration(seconds)} on the idle cores of this machine (a rough guess); "
        "stopped, the same command goes on",
        err=True,
    )


def _plain(advised: Advised, page: Path) -> dict[str, Any]:
    from hunet.pipeline.advice import Candidate

    advice = advised.advice

    def as_shown(each: Candidate | None) -> Any:
        return each and {**each._asdict(), "ratio": each.ratio._asdict(), "cost": each.cost._asdict()}

    return {
        "goal": advice.goal._asdict(),
        "repetitions": advice.repetitions,
        "bound": advice.bound._asdict(),
        "recommended": as_shown(advice.best),
        "sure": advice.sure,
        "undecided": advice.undecided,
        "likely": as_shown(advice.likely),
        "near_misses": [as_shown(each) for each in advice.near_misses],
        "runner_up": as_shown(advice.runner_up),
        "candidates": [as_shown(each) for each in advice.candidates],
        "settings": str(advised.settings) if advised.settings else None,
        "report": str(page),
    }
