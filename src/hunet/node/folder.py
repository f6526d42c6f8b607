"""The folder of a node: nobody but its owner reads what is in it, whatever the folder was before."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hunet.model import ConfigurationError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATTERNS = ("lock", "vault", "key.pem", "known.json", "hunet.db*", "http-token", "hunet.log*", "reserve")
"""What a node writes, beside its socket."""


def own_files(folder: Path) -> list[Path]:
    """The files of a node that are in its folder."""
    return sorted(path for pattern in PATTERNS for path in folder.glob(pattern))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second node out of a folder, and others' eyes out of its files."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in own_files(folder):
            if path.name != "key.pem":  # one that others could read is refused: it may be known to somebody
                path.chmod(0o600)
        make_private(folder / "lock")
        lock = (folder / "lock").open("r+")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be used as a node's folder: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(f"{folder}: a node runs here already; stop it, or take another folder") from None
        lock.truncate()
        lock.write(f"{os.getpid()}\n")  # for who has to end it: see backup.wipe
        lock.flush()
        yield


def make_private(path: Path) -> None:
    """Have a file that only its owner can read; it is made if there is none. SQLite gives its other files the same."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
