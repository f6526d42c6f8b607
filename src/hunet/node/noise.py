"""The Noise protocol framework, as much of it as hunet uses: patterns XX and X with 25519, ChaChaPoly and SHA256.

Specification: "The Noise Protocol Framework", revision 34. The names of classes, methods and tokens are those of its
section 5. Primitives are those of ``cryptography``; nothing else is needed. Why this is not a library: the one for
Python that covers both patterns had its last release in 2020. The published test vectors of both patterns, and that
library as the other end, are in ``tests/node/test_noise.py``.

What the two patterns give (section 7.7 of the specification):

- XX, for sessions: both ends are authenticated, names are hidden from who only listens, sessions are forward secret.
- X, one message to somebody whose key is known: the sender is authenticated and hidden from everybody but the
  recipient, and can deny to have written it. The message can be read by whoever gets the recipient's key later, who
  then can also write in any sender's name; and it can be sent twice. ``direct`` says what it does about that.

>>> from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
>>> ann, bob = X25519PrivateKey.generate(), X25519PrivateKey.generate()
>>> sealed = HandshakeState("X", True, ann, remote=bob.public_key().public_bytes_raw()).write_message(b"hello")
>>> opening = HandshakeState("X", False, bob)
>>> opening.read_message(sealed), opening.remote == ann.public_key().public_bytes_raw()
(b'hello', True)
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

_PATTERNS = {
    "XX": (("e",), ("e", "ee", "s", "es"), ("s", "se")),
    "X": (("e", "es", "s", "ss"),),  # after the pre-message "<- s"
}
_KEY, _TAG = 32, 16
LONGEST = 65535
"""Bytes of a Noise message; ``LONGEST - 16`` of a transport message are payload."""


class NoiseError(ValueError):
    """A message that is not what it should be."""


class CipherState:
    """A key and a counter (section 5.1); without a key, nothing is encrypted."""

    def __init__(self, key: bytes | None = None) -> None:
        self._cipher = None if key is None else ChaCha20Poly1305(key)
        self._count = 0

    @property
    def overhead(self) -> int:
        """By how many bytes a ciphertext is longer than what is in it."""
        return 0 if self._cipher is None else _TAG

    def encrypt(self, plain: bytes, bound: bytes = b"") -> bytes:
        """``EncryptWithAd``."""
        return plain if self._cipher is None else self._cipher.encrypt(self._nonce(), plain, bound)

    def decrypt(self, sealed: bytes, bound: bytes = b"") -> bytes:
        """``DecryptWithAd``; after a NoiseError nothing more can be read."""
        if self._cipher is None:
            return sealed
        try:
            return self._cipher.decrypt(self._nonce(), sealed, bound)
        except InvalidTag:
            raise NoiseError("badly sealed") from None

    def _nonce(self) -> bytes:
        nonce = bytes(4) + self._count.to_bytes(8, "little")
        self._count += 1
        return nonce


class HandshakeState:
    """One end of a handshake (sections 5.2 and 5.3): ``write_message`` and ``read_message`` in turns.

    ``static`` is this end's key; ``remote`` the other's public key, which the sender of pattern X has to know.
    """

    def __init__(
        self,
        pattern: Literal["XX", "X"],
        initiator: bool,
        static: X25519PrivateKey,
        *,
        remote: bytes | None = None,
        prologue: bytes = b"",
        ephemeral: X25519PrivateKey | None = None,
    ) -> None:
        self._initiator, self._static = initiator, static
        self._ephemeral = ephemeral or X25519PrivateKey.generate()
        self._remote_ephemeral = b""
        self.remote = remote or b""
        """The other end's static key, as soon as it is known; authentic when a message that came with it was read."""
        self._messages = list(_PATTERNS[pattern])
        name = f"Noise_{pattern}_25519_ChaChaPoly_SHA256".encode()
        self.hash = name.ljust(32, b"\0") if len(name) <= 32 else sha256(name).digest()
        """At the end, 32 bytes that stand for the whole handshake."""
        self._chaining = self.hash
        self._cipher = CipherState()
        self._mix_hash(prologue)
        if pattern == "X":
            self._mix_hash(self.remote if initiator else _public(static))

    @property
    def finished(self) -> bool:
        """Whether all messages were written or read."""
        return not self._messages

    def write_message(self, payload: bytes) -> bytes:
        """The next message of this end; a NoiseError if the other end's key is worthless."""
        message = b""
        for token in self._messages.pop(0):
            if token == "e":
                public = _public(self._ephemeral)
                self._mix_hash(public)
                message += public
            elif token == "s":
                message += self._encrypt_and_hash(_public(self._static))
            else:
                self._mix_dh(token)
        return message + self._encrypt_and_hash(payload)

    def read_message(self, message: bytes) -> bytes:
        """The payload of the next message of the other end; a NoiseError if it is none."""
        for token in self._messages.pop(0):
            if token == "e":
                self._remote_ephemeral, message = _cut(message, _KEY)
                self._mix_hash(self._remote_ephemeral)
            elif token == "s":
                sealed, message = _cut(message, _KEY + self._cipher.overhead)
                self.remote = self._decrypt_and_hash(sealed)
            else:
                self._mix_dh(token)
        return self._decrypt_and_hash(message)

    def split(self) -> tuple[CipherState, CipherState]:
        """For what comes after the handshake: to send with, and to receive with."""
        assert self.finished
        first, second = (CipherState(key) for key in _hkdf(self._chaining, b""))
        return (first, second) if self._initiator else (second, first)

    def _mix_dh(self, token: str) -> None:
        """``MixKey(DH(...))``: the first letter is the initiator's key, the second the responder's."""
        keys = token if self._initiator else token[::-1]
        own = self._ephemeral if keys[0] == "e" else self._static
        other = self._remote_ephemeral if keys[1] == "e" else self.remote
        try:
            shared = own.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError:  # a point of small order, with which everybody would get the same secret
            raise NoiseError("a worthless key") from None
        self._chaining, key = _hkdf(self._chaining, shared)
        self._cipher = CipherState(key)

    def _mix_hash(self, data: bytes) -> None:
        self.hash = sha256(self.hash + data).digest()

    def _encrypt_and_hash(self, plain: bytes) -> bytes:
        sealed = self._cipher.encrypt(plain, self.hash)
        self._mix_hash(sealed)
        return sealed

    def _decrypt_and_hash(self, sealed: bytes) -> bytes:
        plain = self._cipher.decrypt(sealed, self.hash)
        self._mix_hash(sealed)
        return plain


def _public(key: X25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def _cut(message: bytes, length: int) -> tuple[bytes, bytes]:
    if len(message) < length:
        raise NoiseError("too short")
    return message[:length], message[length:]


def _hkdf(chaining: bytes, material: bytes) -> tuple[bytes, bytes]:
    """``HKDF`` with two outputs (section 4.3)."""
    key = hmac.digest(chaining, material, "sha256")
    first = hmac.digest(key, b"\1", "sha256")
    return first, hmac.digest(key, first + b"\2", "sha256")
