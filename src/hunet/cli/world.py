"""``hunet world``: make the contacts, and the movement, of a synthetic world."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hunet.model.contacts import Contacts

_SUMMARIES = {
    "community": "Hosts drawn to the squares of their friends (SocialCast, Table I).",
    "waypoint": "Random waypoint, from goal to uniform goal (social election).",
    "slaw": "Least-action walks between fractal waypoints (social election).",
    "campus": "Students between classes, dormitories and the library (MOPS).",
    "clusters": "Walkers in disks, and ferries between them (The ONE).",
}

Seed = Annotated[
    int | None,
    typer.Option(help="Seed of everything random; the same seed gives the same bytes (default 1)."),
]
SettingOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the world; repeat as needed."),
]
Config = Annotated[
    Path | None,
    typer.Option(help="TOML file of a run, with a table named world and a seed; --set and --seed win."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the contacts: .parquet, .csv or .one, also with .gz."),
]
Positions = Annotated[Path | None, typer.Option(help="Write the movement, for drawing and for other simulators.")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of --positions: ns2, one or csv (default: by the file's name)."),
]
Step = Annotated[float, typer.Option(help="Seconds between the samples of The ONE's movement format.")]


class _Sinks(NamedTuple):
    """Where the results go."""

    output: Path | None
    positions: Path | None
    format: str | None
    step: float


class _GroupHelp(TyperGroup):
    """Help that ends with the parameters of all worlds."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        _print_parameters(_SUMMARIES)


class _WorldHelp(TyperCommand):
    """Help that ends with the parameters of one world."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        _print_parameters([str(self.name)])


app = typer.Typer(
    name="world",
    cls=_GroupHelp,
    help="Make a synthetic world: people who move, and whom they meet. "
    "Name it here, or in a TOML file given with --config.",
    invoke_without_command=True,
)


@app.callback()
def world(
    ctx: typer.Context,
    *,
    seed: Seed = None,
    settings: SettingOptions = None,
    config: Config = None,
    output: Output = None,
    positions: Positions = None,
    positions_format: Format = None,
    step: Step = 1.0,
) -> None:
    """Make the world that the configuration names, or list all worlds."""
    given = seed is not None or bool(settings or config or output or positions or positions_format)
    if ctx.invoked_subcommand is None:
        if not given:
            typer.echo(ctx.get_help())
            return
        sinks = _Sinks(output, positions, positions_format, step)
        _make(None, seed, settings, config, sinks)
    elif given:
        from hunet.model.errors import ConfigurationError

        raise ConfigurationError(f"options go after the world's name: hunet world {ctx.invoked_subcommand} ...")


def _command(name: str) -> Callable[..., None]:
    """Make the command of one world."""

    def make(
        *,
        seed: Seed = None,
        settings: SettingOptions = None,
        config: Config = None,
        output: Output = None,
        positions: Positions = None,
        positions_format: Format = None,
        step: Step = 1.0,
    ) -> None:
        _make(name, seed, settings, config, _Sinks(output, positions, positions_format, step))

    return make


for _name, _summary in _SUMMARIES.items():
    app.command(_name, cls=_WorldHelp, help=_summary)(_command(_name))


def _make(name: str | None, seed: int | None, settings: list[str] | None, config: Path | None, sinks: _Sinks) -> None:
    from hunet.cli.settings import RunSettings, split_setting
    from hunet.model.errors import ConfigurationError
    from hunet.worlds import make_movement, write_movement
    from hunet.worlds.movement_files import format_of

    given = RunSettings(config)
    named = given.table("world").get("name")
    if name is None and named is None:
        raise ConfigurationError(f"which world? Name one: hunet world {'|'.join(_SUMMARIES)} ...")
    if name is not None and named not in (None, name):
        raise ConfigurationError(f"{config} names the world '{named}', the command line '{name}': drop one of them")
    given.override(world=name or named, seed=seed)
    given.override_table("world", dict(map(split_setting, settings or [])))
    if seed is not None:
        given.table("world").pop("seed", None)
    planned = given.plan()
    chosen = planned.point.source.named(planned.seed)
    if sinks.positions:
        format_of(sinks.positions, sinks.format)  # before the work, not after it
    movement = make_movement(chosen["world"], chosen["seed"], **chosen["parameters"])
    if sinks.positions:
        write_movement(movement, sinks.positions, sinks.format, step=sinks.step)
    if sinks.output or not sinks.positions:
        contacts = movement.contacts()
        if sinks.output:
            from hunet.model.contact_files import write_contacts

            write_contacts(contacts, sinks.output)
        _print_summary(contacts)
        if chosen["world"] == "community":
            _warn_of_stillness(contacts)


def _warn_of_stillness(contacts: Contacts) -> None:
    """Who lives in a square with all relations never leaves it: in small communities that may be nearly everybody."""
    first, last = contacts.span
    whole = int(((contacts.start <= first) & (contacts.end >= last)).sum())
    if 2 * whole >= len(contacts):
        typer.echo(
            f"hunet: nobody moves: {whole} of {len(contacts)} contacts last the whole run, since most people know "
            "nobody outside their square; try fewer caves (such as --set caves=4) or --set weak_ties=true",
            err=True,
        )


def _print_summary(contacts: Contacts) -> None:
    from hunet.graphs.contact_statistics import contact_statistics

    found = contact_statistics(contacts)
    typer.echo(
        f"{contacts.metadata['world']}, seed {contacts.metadata['seed']}: {len(contacts.names)} nodes, "
        f"{found.contacts:,} contacts in {contacts.span[1]:,.0f} s, mean degree {found.mean_degree:.2f}"
    )


def _print_parameters(names: Iterable[str]) -> None:
    """Print a table for each world: what can be set, its default, its unit and what it means."""
    from hunet.report.tables import print_parameters
    from hunet.worlds import WORLDS

    for name in names:
        print_parameters(name, WORLDS[name].summary, WORLDS[name].describe())
