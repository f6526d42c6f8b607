"""``hunet trace follow``: a trace that is kept up to date while logs come in."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hunet.cli.log_options import (
    CLEANING,
    OUT,
    Columns,
    Extend,
    FilePattern,
    FormatName,
    Gap,
    Internal,
    Master,
    Memory,
    Offsets,
    Origin,
    OutFolder,
    Reversed,
    Scan,
    Schema,
    TimeFormat,
    Unit,
    Where,
    named_columns,
    read_offsets,
)


def follow(
    out: OutFolder,
    path: Annotated[
        str | None, typer.Argument(metavar="FOLDER", show_default=False, help="Where logs arrive: a folder, or a URI.")
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Brokers of Kafka, in place of FOLDER; with --topic.")
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="The topic whose messages are records.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Take in what is there, and end.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to look for new files.")] = 10.0,
    late: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            rich_help_panel=CLEANING,
            help="How much earlier than what came before a record may start; later ones are kept apart.",
        ),
    ] = 86400.0,
    most: Annotated[
        int | None,
        typer.Option(min=1, show_default="all that are new", help="The most files, or messages, at once."),
    ] = None,
    format_: FormatName = None,
    files: FilePattern = "*",
    column: Columns = None,
    schema: Schema = None,
    where: Where = None,
    time_format: TimeFormat = None,
    unit: Unit = None,
    internal: Internal = None,
    reversed_: Reversed = "set-aside",
    gap: Gap = None,
    extend: Extend = 0.0,
    offsets: Offsets = None,
    scan: Scan = None,
    origin: Origin = "auto",
    master: Master = None,
    memory: Memory = "2g",
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUT, help="Print a line of JSON for each batch, for programs.")
    ] = False,
) -> None:
    """Keep a trace up to date from logs that arrive in a folder, until Ctrl-C; the same command goes on.

    DIR is at any time what hunet trace import would make of the logs that have come; hunet run --contacts DIR takes it.
    A file is read once: write it elsewhere and move it there when it is complete.

    Example: hunet trace follow inbox -o trace --gap 120 --late 7200
    """
    from hunet.model.errors import ConfigurationError
    from hunet.pipeline.following import Follow
    from hunet.pipeline.importing import ImportSettings

    settings = ImportSettings(
        format=format_,
        files=files,
        columns=named_columns(column),
        schema=schema,
        where=where,
        time_format=time_format,
        internal=internal,
        reversed=reversed_,
        gap=gap,
        extend=extend,
        offsets=read_offsets(offsets) if offsets else {},
        unit=unit,
        scan=scan,
        origin=origin,
    )
    if (path is None) == (kafka is None) or (kafka is None) != (topic is None):
        raise ConfigurationError("name the FOLDER in which logs arrive, or give --kafka HOST:PORT and --topic NAME")
    work = Follow(path or topic or "", out, settings, late, most, kafka)
    from hunet.pipeline.session import spark_errors, spark_session

    with spark_errors(memory):
        spark = spark_session(master, memory=memory, small=work.is_small)
        totals = work.run(spark, once=once, every=every, report=_print_as_json if as_json else _print)
    if totals is None:
        typer.echo(f"hunet: warning: {path or topic}: no record has come yet", err=True)


def _print(totals: dict[str, Any]) -> None:
    if "slot" not in totals:
        return
    fates = ", ".join(f"{count:,} {fate}" for fate, count in totals["fates"].items())
    typer.echo(
        f"batch {totals['batch']}: {totals['files']:,} files, {totals['records']:,} records ({fates}); "
        f"{totals['nodes']:,} nodes, {totals['contacts']:,} contacts, {totals['open']:,} of them open"
    )


def _print_as_json(totals: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(totals))
