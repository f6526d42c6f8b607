"""``hunet run``: one protocol on one contact table."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunet.cli.options import (
    OUT,
    SAID,
    WHAT,
    ContactsFile,
    MessageCount,
    ProtocolName,
    PublicationsFile,
    SubscriptionsFile,
    WorldName,
)

if TYPE_CHECKING:
    from hunet.pipeline.study_plan import Run
    from hunet.simulation import Result

_WRONG = "What can go wrong"


def run(
    contacts: ContactsFile = None,
    world: WorldName = None,
    protocol: ProtocolName = None,
    seed: Annotated[
        int | None, typer.Option(rich_help_panel=WHAT, show_default="1", help="Seed of everything random.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            rich_help_panel=WHAT,
            help="A parameter of the protocol, or workload.NAME, links.NAME, world.NAME; repeat as needed.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=WHAT, help="TOML file with any of this; options win."),
    ] = None,
    publications: PublicationsFile = None,
    subscriptions: SubscriptionsFile = None,
    messages: MessageCount = None,
    topics: Annotated[
        int | None, typer.Option(rich_help_panel=SAID, show_default="10", help="Topics of a generated workload.")
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(metavar="TIME", rich_help_panel=SAID, help="Life of generated messages: 90s, 30min, 6h, 2d."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            rich_help_panel=_WRONG,
            show_default="unlimited",
            help="What a link carries: a number with messages/s, bits/s, kbits/s or Mbits/s.",
        ),
    ] = None,
    loss: Annotated[
        float | None, typer.Option(rich_help_panel=_WRONG, help="Probability that a link loses a packet.")
    ] = None,
    crash: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE@TIME[+DOWN]",
            rich_help_panel=_WRONG,
            help="A device that forgets everything, and is back after DOWN seconds; repeat as needed.",
        ),
    ] = None,
    train: Annotated[
        float | None,
        typer.Option(metavar="SHARE", rich_help_panel=WHAT, help="Share of the trace in which protocols only watch."),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", rich_help_panel=_WRONG, show_default="unlimited", help="What a device can hold: 500k, 5M."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", rich_help_panel=OUT, help="Folder for summary.json and tables."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUT, help="Print the summary as JSON, for programs.")
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUT,
            help="Write every event and action as JSON lines (.jsonl, .jsonl.gz); see hunet replay-log.",
        ),
    ] = None,
) -> None:
    """Run one protocol on the contacts of a file or of a world, and say how well subscribers were served.

    Without files the workload is generated from the seed; all protocols see the same one under the same seed.

    Example: hunet run --contacts trace.csv --protocol spray-and-wait --set copies=4 --seed 1
    """
    from hunet.cli.settings import RunSettings, parse_crash
    from hunet.model.quantities import duration

    given = RunSettings(config)
    given.override(
        contacts=contacts,
        world=world,
        protocol=protocol,
        seed=seed,
        publications=publications,
        subscriptions=subscriptions,
        train=train,
        storage=storage,
    )
    life = duration("--ttl", ttl) if ttl else None
    given.override_table("workload", {"messages": messages, "topics": topics, "ttl": life})
    given.override_table("links", {"loss": loss} | (_rate(rate) if rate else {}))
    for text in settings or []:
        given.set(text)
    if crash:
        given.given["crash"] = [*given.given.get("crash", []), *map(parse_crash, crash)]
    result = _simulate(given.plan(), log)
    if out:
        result.save(out)
    if as_json:
        import json

        typer.echo(json.dumps({"name": result.name, **result.summary}, indent=2))
    else:
        from hunet.report.tables import print_summary

        print_summary(result)


def _simulate(planned: Run, log: Path | None) -> Result:
    from hunet.cli.progress import progress_bar
    from hunet.pipeline.study_run import contacts_of, simulate_run
    from hunet.simulation import open_log

    contacts = contacts_of(planned)
    with ExitStack() as stack:
        event_log = stack.enter_context(open_log(log)) if log else None
        progress = stack.enter_context(progress_bar(planned.point.protocol))
        return simulate_run(planned, contacts, log=event_log, progress=progress)


def _rate(text: str) -> dict[str, object]:
    import re

    from hunet.model.errors import ConfigurationError

    units = {"messages/s": (1.0, "messages/s"), "bits/s": (1.0, "bits/s"), "kbits/s": (1e3, "bits/s")}
    units["Mbits/s"] = (1e6, "bits/s")
    found = re.fullmatch(r"\s*([0-9.eE+]+)\s*(\S+)\s*", text)
    if not found or found[2] not in units:
        raise ConfigurationError(f"--rate {text}: write a number and one of {', '.join(units)}, e.g. '50 messages/s'")
    factor, unit = units[found[2]]
    try:
        return {"rate": float(found[1]) * factor, "unit": unit}
    except ValueError:
        raise ConfigurationError(f"--rate {text}: '{found[1]}' is not a number") from None
