"""``hunet trace``: logs to contacts, contacts to pairs and to the social graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hunet.cli.follow import follow
from hunet.cli.log_options import (
    CLEANING,
    OUT,
    AsJson,
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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hunet.pipeline.analysis import Trace

app = typer.Typer(no_args_is_help=True, help="Import contact logs and look at them: contacts, pairs, social graph.")

_Trace = Annotated[
    str, typer.Argument(metavar="TRACE", help="The folder of an import (also a URI), or a contact table.")
]


@app.command("import")
def import_(
    out: OutFolder,
    path: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...", help="Logs (also .gz, .zip), folders of logs or URIs that Spark knows, taken together."
        ),
    ] = None,
    format_: FormatName = None,
    files: FilePattern = "*",
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="A table of Spark's catalogue, in place of PATH.")
    ] = None,
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
    range_: Annotated[
        float, typer.Option("--range", metavar="METRES", rich_help_panel=CLEANING, help="Positions: radio range.")
    ] = 10.0,
    scan: Scan = None,
    origin: Origin = "auto",
    single_file: Annotated[
        bool, typer.Option("--single-file", rich_help_panel=OUT, help="Write each table as one file.")
    ] = False,
    master: Master = None,
    memory: Memory = "2g",
    as_json: AsJson = False,
) -> None:
    """Import a log into the folder DIR, for hunet run --contacts DIR.

    DIR has contacts.parquet, nodes.parquet, rejected.parquet (what is not used, with the reason) and trace.json, which
    counts the fate of every record.

    Example: hunet trace import contacts.Exp3.dat --format haggle -o infocom05

    Example: hunet trace import s3a://logs/2026 --column a=phone --where 'rssi > -80' -o s3a://traces/may
    """
    from hunet.pipeline.importing import Import, ImportSettings

    settings = ImportSettings(
        format=format_,
        files=files,
        table=table,
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
        range=range_,
        scan=scan,
        origin=origin,
        single_file=single_file,
    )
    work = Import(path or [], settings)
    work.check(out)
    from hunet.cli.progress import progress_of_stages
    from hunet.pipeline.session import spark_errors, spark_session

    with progress_of_stages(), spark_errors(memory):
        quality = work.write(spark_session(master, memory=memory, small=work.is_small), out)
    for warning in quality["warnings"]:
        typer.echo(f"hunet: warning: {warning}", err=True)
    if as_json:
        _print_json(quality)
        return
    fates = ", ".join(f"{count:,} {fate}" for fate, count in quality["fates"].items())
    typer.echo(
        f"{out}: {quality['nodes']:,} nodes, {quality['contacts']:,} contacts of {quality['mean_duration']:,.2f} s on "
        f"average, from {quality['records']:,} records ({quality['format']}: {fates})"
    )


app.command("follow")(follow)


@app.command("formats")
def formats(as_json: AsJson = False) -> None:
    """List the input formats, each with a line as it looks."""
    from hunet.pipeline.formats import FORMATS

    if as_json:
        _print_json(
            [
                {"name": f.name, "summary": f.summary, "example": f.example, "guessed": f.tell is not None}
                for f in FORMATS.values()
            ]
        )
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for heading in ("format", "what it is", "a line of it"):
        table.add_column(heading, overflow="fold")
    for each in FORMATS.values():
        table.add_row(each.name, each.summary, each.example)
    Console(highlight=False).print(table, markup=False)


@app.command("stats")
def stats(trace: _Trace, as_json: AsJson = False) -> None:
    """Print the figures of a trace: nodes, records, merged contacts, mean duration, span."""
    from hunet.pipeline.statistics import trace_statistics

    figures = trace_statistics(trace)
    if as_json:
        _print_json(figures)
        return
    for name, value in figures.items():
        if value is not None:
            text = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
            typer.echo(f"{name.replace('_', ' '):<18} {text}")


@app.command("pairs")
def pairs(
    trace: _Trace,
    out: OutFolder,
    since: Annotated[
        float | None, typer.Option("--from", show_default="the trace's", help="First second of the window.")
    ] = None,
    until: Annotated[float | None, typer.Option(show_default="the trace's", help="Last second of the window.")] = None,
    edges: Annotated[
        str, typer.Option(help="Separations at the window's edges: both, inner+trailing, inner.")
    ] = "both",
    sigma: Annotated[float | None, typer.Option(show_default="mean separation", help="σ of the closeness (s).")] = None,
    many: Annotated[
        float | None, typer.Option(show_default="the mean", help="More contacts than this are many.")
    ] = None,
    long: Annotated[float | None, typer.Option(show_default="the mean", help="More contact time (s) is long.")] = None,
    fit: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", show_default="found", help="Range of the power law (s).")
    ] = None,
    communities: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Of trace communities or graph: inter-contact laws inside and between them."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(show_default="the first", help="By which method of DIR communities were found.")
    ] = None,
    master: Master = None,
    memory: Memory = "2g",
    as_json: AsJson = False,
) -> None:
    """Measure every pair: contacts, times apart, closeness, category; and the power law of inter-contact times.

    Example: hunet trace pairs infocom05 -o infocom05-pairs
    """
    from hunet.pipeline.analysis import analyse_pairs, open_communities
    from hunet.pipeline.pairs import PairSettings

    held = _parse_range(fit) if fit else None
    with _opened(trace, out, "pairs", master, memory) as (spark, found):
        groups = open_communities(spark, communities, method) if communities else None
        window = (found.span[0] if since is None else since, found.span[1] if until is None else until)
        settings = PairSettings(window, edges, sigma, many, long)  # type: ignore[arg-type]
        facts = analyse_pairs(found, out, settings, held, groups)
    if as_json:
        _print_json(facts)
        return
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in facts["categories"].items())
    typer.echo(f"{out}: {facts['pairs']:,} pairs ({kinds}); sigma {facts['sigma']:,.1f} s")
    law = facts["power_law"]
    if law:
        typer.echo(
            f"inter-contact times: power law with alpha {law['alpha']:.3f} "
            f"from {law['low']:,.0f} to {law['high']:,.0f} s "
            f"({law['share']:.0%} of them, distance {law['distance']:.3f})"
        )
    for by, laws in facts["power_law_by"].items():
        known = ", ".join(f"{group} {each['alpha']:.3f}" for group, each in laws.items() if each)
        typer.echo(f"alpha by {by}: {known or 'too few times'}")


@app.command("graph")
def graph(
    trace: _Trace,
    out: OutFolder,
    window: Annotated[
        float | None, typer.Option(metavar="SECONDS", show_default="all", help="Length of a window.")
    ] = None,
    step: Annotated[
        float | None, typer.Option(metavar="SECONDS", show_default="its length", help="From one window to the next.")
    ] = None,
    weight: Annotated[str, typer.Option(help="What an edge weighs: duration or contacts.")] = "duration",
    least_contacts: Annotated[int, typer.Option(help="An edge needs this many contacts.")] = 1,
    least_duration: Annotated[float, typer.Option(help="An edge needs this much contact time (s).")] = 0.0,
    method: Annotated[
        list[str] | None,
        typer.Option(show_default="the first two", help="Communities by k-clique, girvan-newman, modularity; repeat."),
    ] = None,
    k: Annotated[int, typer.Option(help="Size of the cliques.")] = 3,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Sampled paths and label propagation also where one task can do all.")
    ] = False,
    master: Master = None,
    memory: Memory = "2g",
    as_json: AsJson = False,
) -> None:
    """Make the social graph: degree, centralities, clustering, hops, communities; whole or in sliding windows.

    Example: hunet trace graph infocom05 --least-duration 3600 -o infocom05-graph
    """
    from hunet.pipeline.analysis import analyse_graph
    from hunet.pipeline.social_graph import GraphSettings

    with _opened(trace, out, "graph", master, memory) as (_, found):
        settings = GraphSettings(
            found.span,
            window,
            step,
            weight,  # type: ignore[arg-type]
            least_contacts,
            least_duration,
            tuple(method or ("k-clique", "girvan-newman")),
            k,
            approximate or None,
        )
        facts = analyse_graph(found, out, settings)
    if as_json:
        _print_json(facts)
        return
    typer.echo(f"{out}: {facts['windows']} windows; in the first {facts['nodes']:,} nodes, {facts['edges']:,} edges")
    if facts["hops_mean"] is not None:
        error = f" ± {facts['hops_error']:.2g} (standard error, sampled)" if facts["paths"] == "sampled" else ""
        typer.echo(f"mean hops {facts['hops_mean']:.2f}{error}, mean clustering {facts['clustering_mean']:.2f}")
    for name, sizes in facts["communities"].items():
        quality = facts["modularity"].get(name)
        quality_text = f", modularity {quality:.3f}" if quality is not None else ""
        first = ", ".join(map(str, sizes[:12]))
        typer.echo(f"{name}: {facts['communities_found'][name]} communities of {first} nodes{quality_text}")


@app.command("communities")
def communities(
    trace: _Trace,
    out: OutFolder,
    since: Annotated[
        float | None, typer.Option("--from", show_default="the trace's", help="First second of the window.")
    ] = None,
    until: Annotated[float | None, typer.Option(show_default="the trace's", help="Last second of the window.")] = None,
    train: Annotated[
        float, typer.Option(help="Only this first share of the window, as in a run's train.", min=0, max=1)
    ] = 1.0,
    method: Annotated[
        list[str] | None, typer.Option(show_default="all", help="As devices find them: simple, k-clique, mops; repeat.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.NAME=VALUE", help="A parameter of a method's protocol; repeat."),
    ] = None,
    master: Master = None,
    memory: Memory = "2g",
    as_json: AsJson = False,
) -> None:
    """Find communities, brokers and gateways as the systems' devices do; runs take DIR as communities= or closeness=.

    Example: hunet trace communities infocom05 --set k-clique.threshold=20000 -o infocom05-communities
    """
    from hunet.cli.settings import split_setting
    from hunet.model.errors import ConfigurationError
    from hunet.pipeline.analysis import analyse_communities
    from hunet.pipeline.communities import chosen_methods
    from hunet.systems import FINDERS

    methods: dict[str, dict[str, Any]] = {name: {} for name in method or FINDERS}
    for text in set_ or []:
        name, value = split_setting(text)
        whose, dot, field = name.partition(".")
        if not dot or whose not in methods:
            raise ConfigurationError(f"--set {text}: write METHOD.NAME=VALUE; methods here: {', '.join(methods)}")
        methods[whose][field] = value
    chosen_methods(methods)
    with _opened(trace, out, "communities", master, memory) as (_, found):
        begin, end = (found.span[0] if since is None else since, found.span[1] if until is None else until)
        facts = analyse_communities(found, out, (begin, begin + train * (end - begin)), methods)
    if as_json:
        _print_json(facts)
        return
    for name, counts in facts["found"].items():
        typer.echo(
            f"{name}: {counts['communities']:,} communities of {counts['members']:,} nodes, the largest of "
            f"{counts['largest']:,}; {counts['brokers']:,} brokers"
        )


@app.command("report")
def report(
    trace: _Trace,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", rich_help_panel=OUT, help="The page to write.")],
    communities: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Of trace communities or graph: inter-contact laws inside and between them."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(show_default="the first", help="By which method of DIR communities were found.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="DIR", rich_help_panel=OUT, help="Keep the tables in DIR; on Spark Connect a URI."),
    ] = None,
    master: Master = None,
    memory: Memory = "2g",
) -> None:
    """Write a page about a trace that works offline: inter-contact times, kinds of pairs, degrees, hops.

    Example: hunet trace report infocom05 -o infocom05.html
    """
    import tempfile

    from hunet.pipeline.analysis import open_communities
    from hunet.pipeline.trace_figures import trace_figures
    from hunet.report.trace import write_trace_report

    opened = _opened(trace, None, "", master, memory)
    with opened as (spark, found), tempfile.TemporaryDirectory() as scratch:
        groups = open_communities(spark, communities, method) if communities else None
        figures = trace_figures(found, keep or scratch, groups)
    write_trace_report(figures, out, Path(trace).name)
    typer.echo(f"{out}: {figures['contacts']:,} contacts, {figures['pairs']['pairs']:,} pairs")


@app.command("tables")
def tables(as_json: AsJson = False) -> None:
    """List the tables of all stages with their columns."""
    from hunet.pipeline.schemas import TABLES

    if as_json:
        _print_json({name: {c: column._asdict() for c, column in rows.items()} for name, rows in TABLES.items()})
        return
    for name, rows in TABLES.items():
        typer.echo(f"\n{name}")
        for column, types in rows.items():
            typer.echo(f"  {column:<20} {types.kind:<8} {types.help}")


@contextmanager
def _opened(
    trace: str, out: str | None, kind: str, master: str | None, memory: str
) -> Iterator[tuple[SparkSession, Trace]]:
    """A session and a trace for a stage, with progress; what can be known without Spark is checked before it starts."""
    from hunet.cli.progress import progress_of_stages
    from hunet.pipeline.analysis import of_kind, open_trace
    from hunet.pipeline.session import spark_errors, spark_session
    from hunet.pipeline.storage import is_uri, refuse_foreign
    from hunet.pipeline.traces import is_small

    small = is_small(trace)
    if out is not None and not is_uri(out):
        refuse_foreign(Path(out), f"{kind}.json", of_kind(kind))
    with progress_of_stages(), spark_errors(memory):
        spark = spark_session(master, memory=memory, small=small)
        yield spark, open_trace(spark, trace)


def _parse_range(text: str) -> tuple[float, float]:
    from hunet.model.errors import ConfigurationError

    low, _, high = text.partition(":")
    try:
        found = float(low), float(high)
    except ValueError:
        raise ConfigurationError(f"--fit {text}: write LOW:HIGH in seconds, such as 120:43200") from None
    if not 0 < found[0] < found[1]:
        raise ConfigurationError(f"--fit {text}: the range must rise from above 0")
    return found


def _print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, indent=2))
