"""QR codes, for the page and for terminals."""

from __future__ import annotations

import segno

from hunet.model import ConfigurationError

_QUIET = 2
"""Light modules around a code in a terminal."""


def qr_rows(text: str) -> list[str]:
    """The rows of a QR code, "1" for a dark module.

    >>> qr_rows("hunet")[0][:8]
    '11111110'
    """
    try:
        code = segno.make(text, error="m", micro=False)
    except segno.DataOverflowError:
        raise ConfigurationError(f"{len(text)} letters are too many for a QR code") from None
    return ["".join("1" if module else "0" for module in row) for row in code.matrix]


def qr_for_terminal(rows: list[str]) -> str:
    """A QR code in half blocks, dark on light whatever the colours of the terminal are."""
    width = len(rows[0]) + 2 * _QUIET
    light = "0" * width
    padded = [light] * _QUIET + [f"{'0' * _QUIET}{row}{'0' * _QUIET}" for row in rows] + [light] * _QUIET
    padded += [light] * (len(padded) % 2)
    blocks = {"00": "█", "01": "▀", "10": "▄", "11": " "}
    pairs = zip(padded[::2], padded[1::2], strict=True)
    lines = ("".join(blocks[upper + lower] for upper, lower in zip(*pair, strict=True)) for pair in pairs)
    return "\n".join(f"\x1b[97;40m{line}\x1b[0m" for line in lines)
