"""Lengths that tell little: contents are padded before they are encrypted.

The rule is Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs", PETS
2019, section 4): of a length only the highest bits stay, about as many as its number of bits has. A length then falls
into one of O(log log) classes for each power of two, and grows by 12 % at most. Short contents are all of one length.

>>> len(pad(b"yes")), len(pad(b"no")), len(pad(bytes(1000))), len(pad(bytes(1020)))
(256, 256, 1024, 1024)
>>> unpad(pad(b"yes"))
b'yes'
"""

from __future__ import annotations

_SHORTEST = 256
_LENGTH = 4


def pad(content: bytes) -> bytes:
    """The content with its length before it, and zeros after it."""
    return (len(content).to_bytes(_LENGTH, "big") + content).ljust(padded_length(len(content)), b"\0")


def padded_length(length: int) -> int:
    """How long a content of a length is when it is padded."""
    whole = max(_SHORTEST, length + _LENGTH)
    exponent = whole.bit_length() - 1
    unit = 1 << (exponent - exponent.bit_length())
    return -(-whole // unit) * unit


def unpad(padded: bytes) -> bytes:
    """What was padded; a ValueError if it was not padded by this rule."""
    length = int.from_bytes(padded[:_LENGTH], "big")
    content = padded[_LENGTH : _LENGTH + length]
    if pad(content) != padded:
        raise ValueError("not padded by the rule")
    return content
