"""Who a device is: two keys in one file that nobody else can read.

A device signs with an Ed25519 key, and that key *is* its name: the public half in base32, 52 lower-case letters and
digits. Sessions are encrypted with a second key (X25519), because the Noise handshake needs one for Diffie-Hellman;
a signature ties it to the name (see ``session``). Both are made at the first start and kept in one file of two
standard PEM blocks, which ``openssl pkey`` reads too. Losing the file is losing the name: there is no authority
that could give it back.

>>> ann = Identity.new()
>>> verify(ann.device, ann.sign(b"hello"), b"hello")
True
>>> verify(ann.device, ann.sign(b"hello"), b"hello!")
False
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import tempfile
from base64 import b32decode, b32encode
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from hunet.model import InputError, OutputError
from hunet.model.files import file_in_place

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

    from hunet.node.vault import Vault

_REMEMBERED = 4096
"""Names whose spelling is remembered: every message is by somebody, and most are by few."""
PROOF_BYTES = 96
_PROOF = b"hunet session key 1\0"
_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]*)PRIVATE KEY-----.*?-----END \1PRIVATE KEY-----\n?", re.DOTALL)


class Identity:
    """The keys of this device; ``Identity.load_or_create(path)`` gets them, and makes them at the first start."""

    def __init__(self, signing: Ed25519PrivateKey, exchange: X25519PrivateKey) -> None:
        self._signing, self._exchange = signing, exchange
        self.device: str = device_name(signing.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"Identity({self.device})"

    @classmethod
    def new(cls) -> Identity:
        """Fresh keys, in memory only."""
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @classmethod
    def load_or_create(cls, path: Path, vault: Vault | None = None) -> Identity:
        """The keys in a file; if there is none, it is made, readable by its owner alone, encrypted if there is a vault.

        A file that others can read, or that is no key file, is an :class:`InputError` that says what to do.
        """
        if not path.exists():
            _write_once(path, cls.new()._pem(vault))
        return cls._load(path, vault)

    @classmethod
    def _load(cls, path: Path, vault: Vault | None) -> Identity:
        try:
            found = path.stat()
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise InputError(path, f"others can read this secret key; run: chmod 600 {path}")
            blocks = [block[0] for block in _BLOCK.finditer(path.read_bytes())]
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror}") from None
        keys: list[PrivateKeyTypes] = []
        with suppress(ValueError, TypeError):  # TypeError: it is encrypted, or is not, and should be the other
            password = None if vault is None else vault.key.hex().encode()
            keys = [load_pem_private_key(block, password) for block in blocks]
        match keys:
            case [Ed25519PrivateKey() as signing, X25519PrivateKey() as exchange]:
                return cls(signing, exchange)
        raise InputError(path, "is not a key file of hunet; restore it from a copy, or move it away to get a new name")

    def write(self, path: Path, vault: Vault | None = None) -> None:
        """Replace a file by one with these keys."""
        with file_in_place(path, mode=0o600) as partial:
            partial.write_bytes(self._pem(vault))

    def _pem(self, vault: Vault | None) -> bytes:
        encryption = NoEncryption() if vault is None else BestAvailableEncryption(vault.key.hex().encode())
        return b"".join(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption) for key in (self._signing, self._exchange)
        )

    def sign(self, data: bytes) -> bytes:
        """The 64 bytes with which anybody can check that this device said so."""
        return self._signing.sign(data)

    @property
    def exchange_key(self) -> X25519PrivateKey:
        """The private X25519 key, for Noise."""
        return self._exchange

    @property
    def proof(self) -> bytes:
        """What tells another end of a Noise handshake whose X25519 key it sees; see :func:`proven_device`."""
        public = self._exchange.public_key().public_bytes_raw()
        return device_key(self.device) + self.sign(_PROOF + public)

    def alias(self, purpose: str) -> Identity:
        """Another identity, always the same for a purpose; nobody without this one's keys can tell whose it is."""
        signing, exchange = self.secret(f"alias signs: {purpose}"), self.secret(f"alias exchanges: {purpose}")
        return Identity(Ed25519PrivateKey.from_private_bytes(signing), X25519PrivateKey.from_private_bytes(exchange))

    def agree(self, key: bytes) -> bytes:
        """The secret shared with who has another X25519 key and knows only the name of this device."""
        own = hashlib.sha512(self._signing.private_bytes_raw()).digest()[:32]
        return X25519PrivateKey.from_private_bytes(own).exchange(X25519PublicKey.from_public_bytes(key))

    def secret(self, purpose: str) -> bytes:
        """32 secret bytes for a purpose, always the same for this identity: for pseudonyms, for example."""
        return hmac.digest(self._signing.private_bytes_raw(), f"hunet secret: {purpose}".encode(), "sha256")


def verify(device: str, signature: bytes, data: bytes) -> bool:
    """Whether this device signed these bytes; False also for what is no device or no signature at all."""
    try:
        Ed25519PublicKey.from_public_bytes(device_key(device)).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def proven_device(proof: bytes, exchange_public_key: bytes) -> str | None:
    """The device that claims an X25519 key as its own; None unless it has signed that."""
    device, signature = device_name(proof[:32]), proof[32:]
    claimed = len(proof) == PROOF_BYTES and verify(device, signature, _PROOF + exchange_public_key)
    return device if claimed else None


@lru_cache(maxsize=_REMEMBERED)
def device_name(key: bytes) -> str:
    """The name of the device with this public Ed25519 key."""
    return b32encode(key).decode().rstrip("=").lower()


@lru_cache(maxsize=_REMEMBERED)
def device_key(device: str) -> bytes:
    """The public key that a name spells out; ValueError if it spells none, or not in the one right way."""
    key = b32decode(device.upper() + "====")
    if len(key) != 32 or device_name(key) != device:
        raise ValueError(f"not the name of a device: '{device}'")
    return key


def pseudonym(device: str, secret: bytes) -> str:
    """What a log calls a device: always the same with one secret, and without it nobody can tell who it is.

    >>> pseudonym("aaaa", b"one") == pseudonym("aaaa", b"one") != pseudonym("aaaa", b"two")
    True
    """
    return b32encode(hmac.digest(secret, device.encode(), hashlib.sha256)[:10]).decode().lower()


def _write_once(path: Path, content: bytes) -> None:
    """The file appears whole and private, or not at all; if somebody else was quicker, theirs stays."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)  # made 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(name, path)
        finally:
            Path(name).unlink()
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
