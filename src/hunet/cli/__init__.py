"""The ``hunet`` command: each subcommand parses, calls one function of a room, and prints.

Nothing heavy is imported here: ``hunet --help`` answers at once, and a command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Any

import typer

from hunet.cli import node as node_commands
from hunet.cli import operation as operation_commands
from hunet.cli import people as people_commands
from hunet.cli import run as run_command
from hunet.cli import tools
from hunet.cli.advise import advise
from hunet.cli.bundle import app as bundle_app
from hunet.cli.demo import demo
from hunet.cli.emulate import emulate
from hunet.cli.one import from_one
from hunet.cli.replay import replay
from hunet.cli.report import report
from hunet.cli.reproduce import reproduce
from hunet.cli.study import study
from hunet.cli.trace import app as trace_app
from hunet.cli.world import app as world_app

_INTERRUPTED = 130
_LIVE = "Devices that run for real"
_PARTS = dict.fromkeys(("demo", "trace", "study", "advise", "reproduce"), "spark") | {"report": "report"}
"""The extra that a command needs in the end, where it is more than the simulator; see hunet.model.parts."""

app = typer.Typer(
    name="hunet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="""Socially-aware publish/subscribe for human networks.

    People carry devices, devices meet, and messages travel from hand to hand to those who subscribed to them. hunet
    replays who met whom (a contact trace, or a made-up world) and shows how well a protocol serves the subscribers.

    hunet node runs a device for real, with any of these protocols.

    Start with: hunet demo
    """,
)
app.command("run")(run_command.run)
app.command("demo")(demo)
app.command("protocols")(tools.protocols)
app.add_typer(world_app, name="world")
app.add_typer(trace_app, name="trace")
app.add_typer(bundle_app, name="bundle")
app.command("study")(study)
app.command("advise")(advise)
app.command("report")(report)
app.command("replay")(replay)
app.command("reproduce")(reproduce)
app.command("node", rich_help_panel=_LIVE)(node_commands.node)
for _command in ("publish", "subscribe", "unsubscribe", "peers", "status", "log"):
    app.command(_command, rich_help_panel=_LIVE)(getattr(node_commands, _command))
for _command in ("send", "messages", "verify", "key"):
    app.command(_command, rich_help_panel=_LIVE)(getattr(people_commands, _command))
for _command in ("backup", "restore", "wipe"):
    app.command(_command, rich_help_panel=_LIVE)(getattr(operation_commands, _command))
app.add_typer(people_commands.group_app, name="group", rich_help_panel=_LIVE)
app.command("emulate", rich_help_panel=_LIVE)(emulate)
app.command("convert")(tools.convert)
app.command("from-one")(from_one)
app.command("replay-log")(tools.replay_log)


@app.callback(invoke_without_command=True)
def hunet(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from hunet import __version__

        typer.echo(f"hunet {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors of ours are one line on standard error and a non-zero exit."""
    sys.path.insert(0, "")  # a protocol of one's own (--protocol module:Class) lies in the current folder
    try:
        command = typer.main.get_command(only(sys.argv[1] if len(sys.argv) > 1 else ""))
        _hide_types_of_flags(command)
        command()
    except SystemExit as stop:
        if stop.code == _INTERRUPTED:
            _complain("interrupted; nothing was left half-written")
        raise
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: there is nobody to tell
        sys.exit(141)
    except MemoryError:
        _complain("out of memory: use fewer messages or a shorter trace")
        sys.exit(1)
    except ModuleNotFoundError as error:
        from hunet.model.parts import missing_part

        asked = _asked()
        advice = missing_part(f"'hunet {asked}'", error, _PARTS.get(asked.partition(" ")[0], "sim"))
        if advice is None:
            raise
        _complain(advice)
        sys.exit(1)
    except Exception as error:
        from hunet.model.errors import HunetError

        if not isinstance(error, HunetError):
            raise
        _complain(str(error))
        sys.exit(1)


def only(word: str) -> typer.Typer:
    """The command line with the command that was asked for and no other: to build all takes longer than a small run."""
    commands = [each for each in app.registered_commands if each.name == word]
    groups = [each for each in app.registered_groups if each.name == word]
    if not commands and not groups:
        return app
    chosen = copy(app)
    chosen.registered_commands, chosen.registered_groups = commands, groups
    return chosen


def _hide_types_of_flags(command: Any) -> None:
    """Typer writes <bool> beside every flag of the help, --help included, where nothing is to be given."""
    for option in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _hide_types_of_flags(below)


def _asked() -> str:
    """The command that was asked for, without its options: ``trace import``."""
    found: Any = typer.main.get_command(app)
    words = []
    for word in sys.argv[1:]:
        found = getattr(found, "commands", {}).get(word)
        if found is None:
            break
        words.append(word)
    return " ".join(words)


def _complain(problem: str) -> None:
    typer.echo(f"hunet: {problem}", err=True)
