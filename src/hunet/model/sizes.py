"""Sizes in bytes as people write them, and ranges of them.

>>> parse_size("storage", "5M"), parse_size("size", 140)
(5000000, 140)
>>> parse_sizes("size", "500k-1M")
(500000, 1000000)
"""

from __future__ import annotations

import re

from hunet.model.errors import ConfigurationError

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


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
