"""Copies of a node's folder: made, put back, or the folder wiped.

A backup is one tar file with the key, the list of people and the database, as they are: that of an encrypted folder is
encrypted, that of another is not. It may be made while the node runs. Prekeys are left out, since a copy of them would
make old messages readable again: messages that are under way when a node is restored cannot be read, their senders see
that they do not arrive. What came after the backup was made comes again as far as neighbours still carry it.

A restored node has the name of the old one. Run one of them only: neighbours take the two for one device.
"""

from __future__ import annotations

import fcntl
import io
import os
import signal
import tarfile
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hunet.model import ConfigurationError, InputError, OutputError
from hunet.model.files import file_in_place
from hunet.node.folder import own_files
from hunet.node.identity import Identity
from hunet.node.trust import AddressBook
from hunet.node.vault import NAME, Vault, connect, database_errors

if TYPE_CHECKING:
    from sqlite3 import Connection

_FILES = ("key.pem", "known.json", NAME)
_DATABASE = "hunet.db"
_PATIENCE = 20.0
"""So long a node may take to end before its folder is wiped (s)."""


def backup(folder: Path, out: Path, passphrase: str | None = None) -> None:
    """Write a copy of a node to a file that only its owner can read."""
    if not (folder / "key.pem").exists():
        raise ConfigurationError(f"{folder}: there is no node; name its folder with --folder")
    vault = Vault.open(folder, passphrase)
    key = vault.key if vault else None
    with tempfile.TemporaryDirectory(dir=folder) as work:
        copy = Path(work) / _DATABASE
        try:
            with closing(connect(folder / _DATABASE, key)) as database:
                database.execute("VACUUM INTO ?", (str(copy),))
            with closing(connect(copy, key)) as database:
                database.execute("DELETE FROM prekeys")
                database.execute("VACUUM")
        except database_errors(key) as error:
            raise OutputError(f"{folder / _DATABASE}: cannot be copied: {error}") from None
        with file_in_place(out, mode=0o600) as partial, tarfile.open(partial, "w") as tar:
            for path in [folder / name for name in _FILES] + [copy]:
                if path.exists():
                    entry = tarfile.TarInfo(path.name)
                    entry.size, entry.mode, entry.mtime = path.stat().st_size, 0o600, int(time.time())
                    with path.open("rb") as file:
                        tar.addfile(entry, file)


def restore(copy: Path, folder: Path, passphrase: str | None = None) -> None:
    """Make the folder of a node from a backup; with a passphrase, an encrypted one from a backup that is not."""
    if own_files(folder):
        raise ConfigurationError(f"{folder}: there is a node already; restore into another folder, or wipe this one")
    found = _read(copy)
    if passphrase is not None and NAME in found:
        raise ConfigurationError(f"{copy}: is encrypted already; restore it without a passphrase, which it keeps")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    vault = None if passphrase is None else Vault.open(folder, passphrase)
    for name, content in found.items():
        with file_in_place(folder / name, mode=0o600) as partial:
            partial.write_bytes(content)
    if vault is not None:
        _encrypt(folder, vault)


def _read(copy: Path) -> dict[str, bytes]:
    try:
        with tarfile.open(copy) as tar:
            members = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
            found = {name: file.read() for name, file in members.items() if file and name in (*_FILES, _DATABASE)}
    except OSError as error:
        raise InputError(copy, f"cannot be read: {error.strerror or error}") from None
    except (tarfile.TarError, EOFError):
        found = {}
    if not {"key.pem", _DATABASE} <= set(found):
        raise InputError(copy, "is not a backup of a node; take one that 'hunet backup' wrote")
    return found


def _encrypt(folder: Path, vault: Vault) -> None:
    """Encrypt what was restored from a backup that was not."""
    Identity.load_or_create(folder / "key.pem").write(folder / "key.pem", vault)
    AddressBook(folder / "known.json").move(folder / "known.json", vault)
    plain, sealed = folder / _DATABASE, folder / f"{_DATABASE}.encrypted"
    with closing(connect(sealed, vault.key)) as database:
        _copy_all(database, plain)
    overwrite(plain)
    sealed.replace(plain)
    plain.chmod(0o600)


def _copy_all(database: Connection, plain: Path) -> None:
    database.execute("ATTACH ? AS plain KEY ''", (str(plain),))
    database.execute("SELECT sqlcipher_export('main', 'plain')").fetchall()
    database.execute("DETACH plain")


def wipe(folder: Path) -> int:
    """End the node that runs in a folder, if one does, and destroy everything of it; how many files that were.

    Files are overwritten once before they are removed. Flash memory may keep old blocks nevertheless: of an encrypted
    folder those are worthless without the key, which is destroyed first.
    """
    if not own_files(folder):
        raise ConfigurationError(f"{folder}: there is no node; name its folder with --folder")
    _end_node(folder / "lock")
    files = sorted(own_files(folder), key=lambda path: (path.name != NAME, path.name != "key.pem", path.name))
    for path in files:
        overwrite(path)
    (folder / "socket").unlink(missing_ok=True)
    with suppress(OSError):  # something of somebody else is in it
        folder.rmdir()
    return len(files)


def overwrite(path: Path) -> None:
    """Overwrite a file with random bytes, and remove it."""
    try:
        with path.open("r+b") as file:
            left = file.seek(0, io.SEEK_END)
            file.seek(0)
            while left > 0:
                left -= file.write(os.urandom(min(left, 1 << 20)))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
    except OSError as error:
        raise OutputError(f"{path}: cannot be destroyed: {error.strerror}; remove it by hand") from None


def _end_node(lock: Path) -> None:
    """Ask the node that holds a lock to end, and wait until it has."""
    if not lock.exists():
        return
    with lock.open("r+") as held:
        until, asked = time.monotonic() + _PATIENCE, False
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > until:
                    raise OutputError(f"{lock.parent}: the node there does not end; stop it, then wipe again") from None
                if not asked and (pid := held.read().strip()).isdigit():
                    os.kill(int(pid), signal.SIGTERM)
                    asked = True
                time.sleep(0.05)
            else:
                return
