"""How many have got a publication: small sealed notes that find their way back as the publication found its way out.

A device gives receipts only if its owner wants that. Then, for a publication that it got and that asks for receipts,
it makes one: a token, sealed to the author. The token is another for each publication, and nobody can tell whose it
is, the author included; of one device and one publication it is always the same, so that the author counts devices.
Whoever carries a receipt sees which publication it is of, and nothing else.

Receipts are given to every neighbour, once. A device keeps those of publications that it has, until these are out of
date: so many of one publication, and so many in all, where those of the publication with most of them go first. Anybody
can make up tokens, as anybody can make up devices: a count is what the author was told, not what is so.

>>> from hunet.node.identity import Identity
>>> ann, bob = Identity.new(), Identity.new()
>>> receipt = Receipt.of("a" * 26, ann.device, bob)
>>> receipt.opened(ann) == Receipt.of("a" * 26, ann.device, bob).opened(ann)
True
>>> receipt.opened(bob) is None
True
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import device_key
from hunet.node.rate_limits import BoundedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hunet.model import Message
    from hunet.node.identity import Identity
    from hunet.node.store import Store

MOST_OF_ONE = 1000
"""Receipts of one publication that a device keeps."""
MOST = 10_000
"""Receipts in all that it keeps for others."""
MOST_AT_ONCE = 200
"""Receipts in a frame."""
_REMEMBERED = 1024
"""Neighbours of whom it is known what they were given."""
_TOKEN = 16
_SEALED = 32 + _TOKEN + 16
"""A fresh key, the token and a tag."""
_PRIME = 2**255 - 19


class Receipt(msgspec.Struct, frozen=True):
    """A note that somebody has got a publication, which only the author can read."""

    publication: str
    sealed: bytes

    @classmethod
    def of(cls, publication: str, author: str, subscriber: Identity) -> Receipt:
        """That a device of one's own has it."""
        token = hmac.digest(subscriber.secret("receipts"), publication.encode(), "sha256")[:_TOKEN]
        once = X25519PrivateKey.generate()
        ours = once.public_key().public_bytes_raw()
        shared = once.exchange(X25519PublicKey.from_public_bytes(_exchange_key(author)))
        return cls(publication, ours + _cipher(shared, ours, author).encrypt(bytes(12), token, publication.encode()))

    @classmethod
    def read(cls, plain: Any) -> Receipt:
        """A receipt that a neighbour passes on; a PeerError if it is none."""
        match plain:
            case [str() as publication, bytes() as sealed] if len(publication) == 26 and len(sealed) == _SEALED:
                return cls(publication, sealed)
        raise PeerError("a malformed receipt")

    def opened(self, author: Identity) -> bytes | None:
        """The token inside; None if it was not sealed to this author, for this publication."""
        ours = self.sealed[:32]
        try:
            shared = author.agree(ours)
            cipher = _cipher(shared, ours, author.device)
            return cipher.decrypt(bytes(12), self.sealed[32:], self.publication.encode())
        except (InvalidTag, ValueError):
            return None


class ReceiptBook:
    """The receipts that a device has, and which of them it has given to whom."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store, self._identity = store, identity
        self._given: BoundedDict[str, int] = BoundedDict(_REMEMBERED)

    def give(self, message: Message, author: str) -> None:
        """Say that this device has got a message; on the disk when this returns."""
        self.add([(Receipt.of(message.id, author, self._identity), message, author)])
        self._store.commit()

    def add(self, receipts: Iterable[tuple[Receipt, Message, str]]) -> bool:
        """Keep receipts of messages by their authors; whether there is something new to pass on."""
        new = False
        for receipt, message, author in receipts:
            if author != self._identity.device:
                kept = self._store.add_receipt(message.id, receipt.sealed, message.expires, MOST_OF_ONE)
                new = new or kept
            elif token := receipt.opened(self._identity):
                self._store.add_receiver(message.id, token, message.expires)
        if new:
            self._store.trim_receipts(MOST)
        return new

    def frames_for(self, device: str, now: float) -> Iterator[bytes]:
        """The receipts that a neighbour has not been given yet."""
        while ungiven := self._store.receipts(self._given.get(device, 0), now, MOST_AT_ONCE):
            self._given[device] = ungiven[-1][0]
            yield wire.encode({"t": "receipts", "receipts": [[*receipt] for _, *receipt in ungiven]})


def _exchange_key(device: str) -> bytes:
    """The X25519 key of a device whose name is an Ed25519 key: the same point, as Montgomery writes it (RFC 7748)."""
    y = int.from_bytes(device_key(device), "little") & (1 << 255) - 1
    return ((1 + y) * pow(1 - y, -1, _PRIME) % _PRIME).to_bytes(32, "little")


def _cipher(shared: bytes, ours: bytes, author: str) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(hashlib.sha256(b"hunet receipt 2\0" + shared + ours + device_key(author)).digest())
