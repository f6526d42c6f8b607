"""Who has got a publication: small signed notes that find their way back as the publication found its way out.

A subscriber whose device has got a publication that asks for receipts signs one. Receipts are given to every
neighbour, once, and kept until the publication is out of date, so that sooner or later some reach the author, who can
then say "at least so many subscribers have it". They are few bytes and bounded in number; which way they came nobody
learns, but whoever carries them can read who got what: a publisher asks for them, and private topics hide what it was.

>>> from hunet.node.identity import Identity
>>> bob = Identity.new()
>>> receipt = Receipt.signed(bob, "a" * 26, expires=100.0)
>>> Receipt.read(receipt.plain(), now=50.0, latest=200.0) == receipt
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hunet.node.identity import Identity
    from hunet.node.store import Store

MOST_OF_ONE = 1000
"""Receipts of one publication that a device keeps."""
MOST_AT_ONCE = 200
"""Receipts in a frame."""
_SIGNED_BY = b"hunet receipt 1\0"


class Receipt(msgspec.Struct, frozen=True):
    """A subscriber's word that it has got a publication."""

    publication: str
    subscriber: str
    expires: float
    """When the publication is out of date, and its receipts with it."""
    signature: bytes

    @classmethod
    def signed(cls, identity: Identity, publication: str, expires: float) -> Receipt:
        """The word of a device of one's own."""
        said = _said(publication, identity.device, expires)
        return cls(publication, identity.device, expires, identity.sign(said))

    @classmethod
    def read(cls, plain: Any, now: float, latest: float) -> Receipt | None:
        """A receipt that a neighbour passes on; None if it is out of date, a PeerError if it is none."""
        match plain:
            case [str() as publication, str() as subscriber, float() as expires, bytes() as signature]:
                if len(publication) != 26 or not expires <= latest:
                    raise PeerError("a receipt of what cannot be")
                if expires < now:
                    return None
                if not verify(subscriber, signature, _said(publication, subscriber, expires)):
                    raise PeerError("a badly signed receipt")
                return cls(publication, subscriber, expires, signature)
        raise PeerError("a malformed receipt")

    def plain(self) -> list[Any]:
        """As it travels."""
        return [self.publication, self.subscriber, self.expires, self.signature]


class ReceiptBook:
    """The receipts that a device has, and which of them it has given to whom."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store, self._identity = store, identity
        self._given: dict[str, int] = {}

    def sign(self, publication: str, expires: float) -> None:
        """Say that this device has got a publication; on the disk when this returns."""
        self.add([Receipt.signed(self._identity, publication, expires)])
        self._store.commit()

    def add(self, receipts: Iterable[Receipt]) -> bool:
        """Keep what a neighbour passed on; whether some of it is new."""
        new = [
            self._store.add_receipt(each.publication, each.subscriber, each.expires, each.signature, MOST_OF_ONE)
            for each in receipts
        ]
        return any(new)

    def frames_for(self, device: str, now: float) -> Iterator[bytes]:
        """The receipts that a neighbour has not been given yet."""
        while news := self._store.receipts(self._given.get(device, 0), now, MOST_AT_ONCE):
            self._given[device] = news[-1][0]
            yield wire.encode({"t": "receipts", "receipts": [[*receipt] for _, *receipt in news]})


def _said(publication: str, subscriber: str, expires: float) -> bytes:
    return _SIGNED_BY + wire.encode([publication, subscriber, expires])
