"""``hunet demo``: all systems and their baselines side by side, with nothing to download."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hunet.cli.options import ResultsFolder
from hunet.cli.progress import progress_of_runs

if TYPE_CHECKING:
    from hunet.pipeline.study_plan import StudyPlan

_TRAINING = 0.25


def demo(
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own contacts, instead of a made-up crowd.")
    ] = None,
    messages: Annotated[int, typer.Option(min=1, help="Publications in each run.")] = 300,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each protocol.")] = 5,
    ttl: Annotated[str, typer.Option(metavar="TIME", help="Life of a message: 90s, 30min, 6h, 2d.")] = "1h",
    out: ResultsFolder = Path("demo-results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON, for programs.")] = False,
) -> None:
    """Compare all protocols, on a made-up crowd or on your own contacts. A minute or two.

    One hundred people walk between the places of their communities for eight hours (SocialCast's world); everybody
    wants one of ten topics, and messages are published from the third hour on. All protocols see the same crowds and
    the same messages, with settings that follow from the crowd, as those of hunet advise do. The same command again
    shows the results that are there.

    Example: hunet demo --trace contacts.csv --out mine
    """
    from hunet.model.errors import ConfigurationError
    from hunet.model.quantities import duration
    from hunet.pipeline.session import spark_session
    from hunet.pipeline.studies import STUDY_OPTIONS, run_study

    life = duration("--ttl", ttl)
    if life < 1:
        raise ConfigurationError(f"--ttl {ttl}: messages must live for a second or longer")
    study = _plan(trace, messages, runs, life)
    start = partial(spark_session, None, memory="1g", options=STUDY_OPTIONS)
    with progress_of_runs("demo") as progress:
        done = run_study(start, study, out, progress)
    points = done.summary.to_pylist()
    if as_json:
        import json

        typer.echo(json.dumps(_by_name(points), indent=2))
    else:
        from hunet.report.tables import print_comparison

        who = trace.name if trace else "100 people, 10 communities, 8 hours"
        print_comparison(_in_one_column(points), f"{who}; {messages} messages that live {life / 60:g} min; {runs} runs")
        _tell(study, out, trace)
    if done.failed:
        for failure in done.failed:
            typer.echo(f"hunet: run {failure}", err=True)
        raise typer.Exit(1)


def _by_name(points: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rows by protocol; a second row of one protocol also has the values in which it differs."""
    named: dict[str, dict[str, Any]] = {}
    for point in points:
        name = str(point["protocol"])
        if name in named:
            name = ", ".join([name, *[str(point[axis]) for axis in point if axis.startswith("parameters.")]])
        named[name] = point
    return named


def _in_one_column(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with what sets two of one protocol apart below its name: all columns fit on a terminal."""
    return [
        {key: value for key, value in point.items() if not key.startswith("parameters.")}
        | {"protocol": name.replace(", ", "\n  ")}
        for name, point in _by_name(points).items()
    ]


def _plan(trace: Path | None, messages: int, runs: int, life: float) -> StudyPlan:
    """All protocols, with settings that suit the crowd."""
    from hunet.model.contact_files import read_contacts
    from hunet.pipeline.study_plan import plan_study
    from hunet.systems import PROTOCOLS, Scales, demo_variants
    from hunet.worlds import make_world

    contacts = read_contacts(trace) if trace else make_world("community", seed=1)
    crowd: dict[str, Any] = {"contacts": str(trace.absolute())} if trace else {"world": [{"name": "community"}]}
    return plan_study(
        {
            **crowd,
            "protocol": list(PROTOCOLS),
            "repetitions": runs,
            "tables": True,  # for the figures of the page, and to watch any run
            # MOPS watches who meets whom before it begins; all others just wait for the first message.
            "train": _TRAINING,
            "workload": {"messages": messages, "ttl": life, "first": _TRAINING},
            "parameters": demo_variants(Scales.of(contacts, life)),
        },
        Path("demo"),
    )


def _tell(study: StudyPlan, out: Path, trace: Path | None) -> None:
    """The answer, the settings, and where to go on."""
    from hunet.report.field import fields_of
    from hunet.report.study import StudyResults
    from hunet.reporting import make_report

    typer.echo()
    for field in fields_of(StudyResults(out)):
        typer.echo(field.answer())
    chosen = [(point.protocol, point.settings["parameters"]) for point in study.points]
    lines = [
        f"{protocol} {', '.join(f'{name}={value}' for name, value in given.items())}"
        for protocol, given in chosen
        if given
    ]
    typer.echo(f"Settings for this crowd: {'; '.join(lines)}.")
    page, _ = make_report(out, contacts=[trace] if trace else [])
    typer.echo(f"Figures and which differences are real: {page}")
    for run in sorted(out.glob("runs/protocol=social-election/*.parquet"))[:1]:
        file = f" --contacts {trace}" if trace else ""
        typer.echo(f"Watch a run: hunet replay {out / 'tables' / run.stem}{file}")
