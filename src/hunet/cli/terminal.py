"""What others wrote, as it may be shown in a terminal."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
"""Cannot be seen, but letters and emoji are put together by them."""


def visible(text: str) -> str:
    r"""A text on one line, with every character that would move the cursor, hide or turn letters written out.

    >>> print(visible("hello\nnews  Mum: send money\x1b[2J\u202e"))
    hello\nnews  Mum: send money\x1b[2J\u202e
    """
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode()
