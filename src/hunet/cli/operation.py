"""What it takes to run a node for long: a configuration file, a log, a passphrase; ``hunet backup, restore, wipe``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

HOME = Path("~/.hunet")
Folder = Annotated[
    Path,
    typer.Option("--folder", "-d", metavar="DIR", envvar="HUNET_FOLDER", help="The folder of the node."),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        envvar="HUNET_PASSPHRASE_FILE",
        help="A file with the passphrase of an encrypted folder; HUNET_PASSPHRASE may hold it instead.",
    ),
]


def backup(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    folder: Folder = HOME,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Copy a node to one file: its key, whom it knows, its messages. The node may run meanwhile.

    That of an encrypted folder is encrypted as well. Keys of direct messages under way are left out.
    """
    from hunet.node import backup as room

    room.backup(folder.expanduser(), out, passphrase(passphrase_file))


def restore(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="What hunet backup wrote.")],
    folder: Folder = HOME,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make the folder of a node from a backup; with a passphrase, an encrypted one.

    The old node must not run any more: the two have one name.
    """
    from hunet.node import backup as room

    room.restore(copy, folder.expanduser(), passphrase(passphrase_file))


def wipe(
    folder: Folder = HOME,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Destroy a node: end it if it runs, then overwrite and remove its key, its messages and everything else."""
    from hunet.node import backup as room

    path = folder.expanduser()
    if not yes:
        typer.confirm(f"Destroy the node in {path}, its key and all its messages?", abort=True)
    typer.echo(f"{room.wipe(path)} files destroyed")


def passphrase(file: Path | None) -> str | None:
    """The passphrase in a file, or in the environment; None if there is none."""
    from hunet.model import InputError

    if file is None and "HUNET_PASSPHRASE_FILE" not in os.environ:
        return os.environ.get("HUNET_PASSPHRASE")
    file = file or Path(os.environ["HUNET_PASSPHRASE_FILE"])
    try:
        found = file.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file, f"no passphrase can be read: {error}") from None
    if not found:
        raise InputError(file, "is empty; write the passphrase into it")
    return found


def read_config(context: typer.Context, file: Path | None) -> Path | None:
    """Take the values of options from a TOML file; those on the command line win."""
    import tomllib

    from hunet.model import InputError
    from hunet.model.errors import did_you_mean

    if file is None:
        return None
    try:
        given = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(file, f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(file, str(error)) from None
    names: dict[str, Any] = {}
    for parameter in context.command.params:
        for option in parameter.opts:
            if option.startswith("--") and option not in ("--config", "--help"):
                names[option[2:]] = parameter
    for key in given:
        if key not in names:
            raise InputError(file, f"there is no option '{key}': {did_you_mean(key, names)}")
    context.default_map = {names[key].name: value for key, value in given.items()}
    return file
