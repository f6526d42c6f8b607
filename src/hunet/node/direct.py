"""Direct messages: sealed to one person's device, carried by everybody, recognised by nobody else.

How it is made
--------------
A message is one handshake message of Noise X (see ``noise``) from the sender's static key to the latest prekey that the
recipient has announced (see ``prekeys``). In it are the proof that ties the static key to the sender's name, and the
padded content. It becomes a publication on the topic of that prekey, signed by an alias of the sender: a key of its own
for each prekey, which nobody can tie to the sender. To a carrier it is a publication as any other, so every protocol
carries it.

What it gives
-------------
- Secrecy: only the recipient reads it, and after its prekey is deleted (8 days) nobody does, whoever gets the devices.
- Authenticity: the recipient knows who wrote it. The sender can deny it: the recipient could have made it as well.
- Freshness: a message is taken once, whoever sends it again and in whatever publication.
- What carriers learn: the time, about how long it is (``padding``), that several messages to one device within two days
  are of one sender, and for which device they are, if they have its announcement. They do not learn who that sender is;
  only who is in contact with the sender at that time can guess it, since it has the message earlier than others.

What it does not give
---------------------
- A device that is seized gives away the prekeys of eight days, and the conversations that it keeps.
- Who has a recipient's prekey can write to that recipient in anybody's name (key compromise impersonation).
- No secrecy against who gets another to believe in a wrong key: compare safety numbers (:func:`safety_number`).

What is in a message
--------------------
A map with the kind ("text", "arrived" or "rekey"), a random id of 16 bytes, what belongs to the kind, and the sender's
announcement, so that who gets the message can answer. "arrived" names messages that have come: it is sent to people
whom the owner knows (has named, or has written to), and to nobody else: strangers cannot find out who is there.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.identity import PROOF_BYTES, device_key, proven_device
from hunet.node.noise import LONGEST, HandshakeState, NoiseError
from hunet.node.padding import pad, padded_length, unpad
from hunet.node.publication import Refused, sealed_publication

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from hunet.node.identity import Identity
    from hunet.node.prekeys import Announcement
    from hunet.node.publication import Publication

LONGEST_TEXT = 32 << 10
"""Bytes of a direct message."""
assert padded_length(LONGEST_TEXT + 1024) + PROOF_BYTES + 96 < LONGEST
_PROLOGUE = b"hunet direct 1"
_ROUNDS = 5200


def seal(identity: Identity, to: Announcement, inside: dict[str, Any], created: float, ttl: float) -> Publication:
    """A publication that only the device of an announcement can read."""
    noise = HandshakeState("X", True, identity.exchange_key, remote=to.prekey, prologue=_PROLOGUE)
    try:
        sealed = noise.write_message(identity.proof + pad(wire.encode(inside)))
    except NoiseError:
        raise PeerError("a prekey that is worthless") from None
    alias = identity.alias(f"writes to {to.prekey.hex()}")
    return sealed_publication(alias, to.topic, sealed, created=created, ttl=min(ttl, to.until - created))


def unseal(prekey: X25519PrivateKey, publication: Publication) -> tuple[str, dict[str, Any]]:
    """The device that wrote a publication, and what is in it; Refused("badly sealed") if it is none."""
    noise = HandshakeState("X", False, prekey, prologue=_PROLOGUE)
    try:
        plain = noise.read_message(publication.content)
        inside = wire.decode(unpad(plain[PROOF_BYTES:]))
    except (ValueError, wire.Malformed):  # NoiseError is one
        raise Refused("badly sealed") from None
    device = proven_device(plain[:PROOF_BYTES], noise.remote)
    if device is None or not isinstance(inside, dict):
        raise Refused("badly sealed")
    return device, inside


def safety_number(one: str, other: str) -> str:
    """Sixty digits that two people compare, in person or by telephone, to be sure of each other's keys.

    Both devices show the same. The construction is that of Signal's safety numbers: thirty digits for each key, by many
    rounds of SHA-512, so that it takes long to find a key with nearly the same digits.

    >>> ann, bob = "a" * 52, "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq"
    >>> safety_number(ann, bob) == safety_number(bob, ann)
    True
    >>> safety_number(ann, bob)[:23]
    '04265 92445 65682 84282'
    """
    digits = "".join(sorted(map(_digits, (one, other))))
    return " ".join(digits[start : start + 5] for start in range(0, len(digits), 5))


def _digits(device: str) -> str:
    key = device_key(device)
    digest = b"hunet safety number 1" + key
    for _ in range(_ROUNDS):
        digest = hashlib.sha512(digest + key).digest()
    return "".join(f"{int.from_bytes(digest[start : start + 5], 'big') % 100_000:05}" for start in range(0, 30, 5))
