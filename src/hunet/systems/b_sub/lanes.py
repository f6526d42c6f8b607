"""Many small counters in one integer, side by side in lanes, so that one operation works on all of them.

A lane has 8, 16 or 32 bits. ``high`` is the top bit of every lane, ``low`` all other bits, ``top`` the number of the
top bit (7, 15 or 31).
"""

from __future__ import annotations


def lanes(many: int, width: int = 1) -> tuple[int, int]:
    """``high`` and ``low`` for so many lanes of so many bytes."""
    top = 8 * width - 1
    high = int.from_bytes((1 << top).to_bytes(width, "little") * many, "little")
    return high, high - (high >> top)


def larger(a: int, b: int, high: int, low: int, top: int = 7) -> int:
    """The larger of a and b in every lane."""
    difference = a ^ b
    wins = at_least(a, b, difference, high, low)
    return b ^ (difference & ((wins << 1) - (wins >> top)))


def smaller(a: int, b: int, high: int, low: int, top: int = 7) -> int:
    """The smaller of a and b in every lane."""
    return a ^ b ^ larger(a, b, high, low, top)


def at_least(a: int, b: int, difference: int, high: int, low: int) -> int:
    """The top bit of every lane in which a >= b; the difference is a ^ b, which callers need too."""
    # With a's top bit set no lane borrows from the next; what is left of that bit compares the lower ones.
    rest = (a | high) - (b & low)
    return ((a & difference) | (rest ^ (rest & difference))) & high


def add(a: int, b: int, high: int, low: int, top: int = 7) -> int:
    """The sum in every lane, at most what it holds."""
    either = a | b
    if not either & high:
        return a + b
    # Add the lower bits of each lane, then the top bits without carry: no lane spills into the next.
    total = ((a & low) + (b & low)) ^ ((a ^ b) & high)
    carry = ((a & b) | (either ^ (either & total))) & high
    return total | ((carry << 1) - (carry >> top))
