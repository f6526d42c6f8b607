"""Plain values as canonical CBOR: one encoding for each value, and nothing but plain values.

Whatever a peer sends is read here first. A reader that accepts any CBOR builds dates, regular expressions or nested
containers at a stranger's wish; this one knows numbers, texts, bytes, lists and maps whose keys are texts, to a
limited depth, and refuses input that is not exactly what :func:`encode` would have written.

>>> decode(encode({"t": "news", "sizes": [1, 2.5]}))
{'t': 'news', 'sizes': [1, 2.5]}
>>> decode(bytes.fromhex("c11a514b67b0"))  # a date
Traceback (most recent call last):
hunet.node.wire.Malformed: not canonical CBOR
"""

from __future__ import annotations

from typing import Any, NoReturn

import cbor2

from hunet.model import PeerError

_DEPTH = 16  # packets nest four deep; the rest is room for protocols to come


class Malformed(PeerError):  # noqa: N818 - a reason to count, as the others
    """Bytes from a peer that are not a value in canonical CBOR."""

    def __init__(self) -> None:
        super().__init__("not canonical CBOR")


def encode(value: Any) -> bytes:
    """The one encoding of a value made of numbers, texts, bytes, lists, and maps with texts as keys."""
    return cbor2.dumps(value, canonical=True)


def decode(data: bytes) -> Any:
    """The value that :func:`encode` made these bytes of; anything else is :class:`Malformed`."""
    try:
        value = cbor2.loads(
            data,
            tag_hook=_no_tags,
            semantic_decoders=_NO_KNOWN_TAGS,
            max_depth=_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
            strict_hashable_types=True,  # numbers as keys can be chosen so that a dictionary crawls
        )
        canonical = cbor2.dumps(value, canonical=True)
    except (cbor2.CBORError, ValueError, RecursionError, OverflowError, MemoryError):
        raise Malformed from None
    if canonical != data:
        raise Malformed
    return value


def _no_tags(*_: object) -> NoReturn:
    raise ValueError("tags are not plain values")


# The library decodes these tags by itself unless told otherwise.
_NO_KNOWN_TAGS = dict.fromkeys(
    (0, 1, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799), _no_tags
)
