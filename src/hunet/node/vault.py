"""An encrypted folder, as an option: without the passphrase nothing in it can be read.

A random key of 32 bytes encrypts everything; the file ``vault`` holds it, encrypted by a key that scrypt makes of the
passphrase (N = 2^17, r = 8, p = 1: 128 MiB, some tenths of a second). The database is SQLCipher's (AES-256 and an HMAC
for each page; extra ``hunet[sealed]``), the key file is an encrypted PEM, the list of people is sealed with
ChaCha20-Poly1305. Names and lengths of files stay visible, and so do ``http-token`` and a log file, if there are any.
While a node runs, its keys are in memory; against who has the machine then, this does nothing.

>>> from tempfile import mkdtemp
>>> from pathlib import Path
>>> folder = Path(mkdtemp())
>>> vault = Vault.open(folder, "correct horse")
>>> Vault.open(folder, "correct horse").unseal(vault.seal(b"people"))
b'people'
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from hunet.model import ConfigurationError, InputError
from hunet.model.files import file_in_place
from hunet.node import wire

if TYPE_CHECKING:
    from pathlib import Path

NAME = "vault"
_COST = 1 << 17
_HIGHEST_COST = 1 << 20
_SHORTEST = 8


class Vault:
    """The key of an encrypted folder."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._cipher = ChaCha20Poly1305(key)

    def __repr__(self) -> str:  # a key has no business in a log
        return "Vault()"

    @classmethod
    def open(cls, folder: Path, passphrase: str | None) -> Vault | None:
        """The key of a folder; None if it is not encrypted and nobody wants it to be. It is made for a new node."""
        path = folder / NAME
        if not path.exists():
            if passphrase is None:
                return None
            if (folder / "key.pem").exists():
                raise ConfigurationError(
                    f"{folder}: the node there is not encrypted; make it so with 'hunet backup FILE', and "
                    "'hunet restore FILE --passphrase-file FILE' into another folder"
                )
            return cls.create(path, passphrase)
        if passphrase is None:
            raise ConfigurationError(f"{folder}: is encrypted; give --passphrase-file FILE, or set HUNET_PASSPHRASE")
        return cls(_unwrap(path, passphrase))

    @classmethod
    def create(cls, path: Path, passphrase: str) -> Vault:
        """A new key in a new file."""
        if len(passphrase) < _SHORTEST:
            raise ConfigurationError(f"a passphrase has at least {_SHORTEST} letters; four random words are good ones")
        key, salt = os.urandom(32), os.urandom(16)
        wrapped = ChaCha20Poly1305(_derive(passphrase, salt, _COST)).encrypt(bytes(12), key, None)
        with file_in_place(path, mode=0o600) as partial:
            partial.write_bytes(wire.encode({"version": 1, "salt": salt, "cost": _COST, "key": wrapped}))
        return cls(key)

    def seal(self, content: bytes) -> bytes:
        """A small file, encrypted."""
        nonce = os.urandom(12)
        return nonce + self._cipher.encrypt(nonce, content, None)

    def unseal(self, sealed: bytes) -> bytes:
        """What :meth:`seal` made; a ValueError if it was changed."""
        try:
            return self._cipher.decrypt(sealed[:12], sealed[12:], None)
        except InvalidTag:
            raise ValueError("cannot be decrypted") from None


def _unwrap(path: Path, passphrase: str) -> bytes:
    try:
        match wire.decode(path.read_bytes()):
            case {"version": 1, "salt": bytes() as salt, "cost": int() as cost, "key": bytes() as wrapped}:
                if cost > _HIGHEST_COST:
                    raise InputError(path, "asks for more memory than any node does; restore it from a backup")
            case _:
                raise InputError(path, "is not the key of an encrypted folder; restore it from a backup")
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except wire.Malformed:
        raise InputError(path, "is damaged; restore it from a backup") from None
    try:
        return ChaCha20Poly1305(_derive(passphrase, salt, cost)).decrypt(bytes(12), wrapped, None)
    except InvalidTag:
        raise ConfigurationError(f"{path.parent}: this is not its passphrase") from None


def _derive(passphrase: str, salt: bytes, cost: int) -> bytes:
    return Scrypt(salt=salt, length=32, n=cost, r=8, p=1).derive(passphrase.encode())


def connect(path: Path | str, key: bytes | None = None) -> sqlite3.Connection:
    """A SQLite database, encrypted if there is a key."""
    if key is None:
        return sqlite3.connect(path, isolation_level=None)
    from sqlcipher3 import dbapi2

    connection = dbapi2.connect(str(path), isolation_level=None)
    connection.execute("PRAGMA cipher_log_level = NONE")
    connection.execute(f"PRAGMA key = \"x'{key.hex()}'\"")
    return cast("sqlite3.Connection", connection)


def database_errors(key: bytes | None) -> tuple[type[Exception], ...]:
    """What a database of :func:`connect` raises."""
    if key is None:
        return (sqlite3.DatabaseError,)
    from sqlcipher3 import dbapi2

    return (sqlite3.DatabaseError, dbapi2.DatabaseError)
