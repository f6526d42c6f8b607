"""Times and sizes as people write them, and ranges of sizes.

>>> parse_size("storage", "5M"), parse_size("size", 140)
(5000000, 140)
>>> parse_sizes("size", "500k-1M")
(500000, 1000000)
"""

from __future__ import annotations

import re
from datetime import datetime

from hunet.model.errors import ConfigurationError

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def duration(option: str, text: str) -> float:
    """Seconds, of a time as people write it.

    >>> duration("--ttl", "90s"), duration("--ttl", "1.5h"), duration("--within", "30min"), duration("--ttl", "30m")
    (90.0, 5400.0, 1800.0, 1800.0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text.strip())
    if not found or found[2] not in _SECONDS:
        raise ConfigurationError(f"{option} {text}: write a number and one of s, min, h, d, such as 6h")
    return float(found[1]) * _SECONDS[found[2]]


def moment(option: str, text: str) -> float:
    """Unix seconds, of a time as people write it; without an offset it is one of this machine's clock.

    >>> moment("--until", "2026-11-21T18:00+01:00"), moment("--until", "1795280400")
    (1795280400.0, 1795280400.0)
    """
    try:
        return float(text) if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text) else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise ConfigurationError(f"{option} {text}: write a date and a time, such as 2026-11-21T18:00") from None


def parse_size(what: str, value: object) -> int:
    """Bytes: a whole number, or a number with k, M or G (thousand, million, thousand million), as in The ONE."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kMG]?)B?", str(value).strip())
    size = float(found[1]) * _UNITS[found[2]] if found else -1.0
    if not size.is_integer() or size < 0:
        raise ConfigurationError(f"{what} {value}: write a number of bytes, such as 140, 500k or 5M")
    return int(size)


def parse_sizes(what: str, value: object) -> tuple[int, int]:
    """The smallest and the largest of a range LOW-HIGH; one size is both."""
    low, dash, high = str(value).partition("-")
    smallest = parse_size(what, low)
    largest = parse_size(what, high) if dash else smallest
    if largest < smallest:
        raise ConfigurationError(f"{what} {value}: the smallest size comes first, such as 500k-1M")
    return smallest, largest
