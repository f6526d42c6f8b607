"""The quality report: what became of every record of an import, and what looks wrong with its times."""

from __future__ import annotations

from typing import Any, NamedTuple

FATES: dict[str, str] = {
    "kept": "part of a contact",
    "unreadable": "the line is not what its format says",
    "stray": "an end without a beginning",
    "negative-time": "before second 0",
    "reversed": "ends before it starts",
    "self": "a node that saw itself",
    "external": "names a device that takes no part",
    "duplicate": "says the same as another record",
    "late": "came later than --late allows, when contacts of its time were closed",
    "filtered": "does not meet the condition of --where",
}
"""Every fate of a record, and what it means; all but the first and the last are in ``rejected.parquet``."""

NOT_RECORDS: dict[str, str] = {
    "blank": "an empty line",
    "comment": "a line for people",
    "header": "a line that describes the others",
}
"""Lines that are no records."""

COUNTED = ("filtered", *NOT_RECORDS)
"""What is counted and not kept."""

NUMBERED = (*FATES, *NOT_RECORDS)
"""All of them by number; 0 is what is kept."""

_YEAR = 365.25 * 86400
_UNIX = 1e8
"""Seconds after which a time can only be counted from 1970: three years of trace, or March 1973."""
_FAR = 1e11
"""Unix seconds of the year 5138, Unix milliseconds of March 1973."""
_LONGEST = 10 * _YEAR
"""No contact trace has lasted longer."""


class Fates(NamedTuple):
    """Counts by fate, with what the rows say of time."""

    counts: dict[str, int]
    repaired: int = 0
    zero_length: int = 0
    first: float | None = None
    last: float | None = None

    @property
    def records(self) -> int:
        """All rows that are records."""
        return sum(count for fate, count in self.counts.items() if fate not in NOT_RECORDS)

    @property
    def rejected(self) -> int:
        """Records that are kept with their reason."""
        return sum(count for fate, count in self.counts.items() if fate not in ("kept", *COUNTED))

    def plus(self, other: Fates) -> Fates:
        """Of the rows of both."""
        firsts = [each for each in (self.first, other.first) if each is not None]
        lasts = [each for each in (self.last, other.last) if each is not None]
        return Fates(
            {fate: self.counts.get(fate, 0) + other.counts.get(fate, 0) for fate in {**self.counts, **other.counts}},
            self.repaired + other.repaired,
            self.zero_length + other.zero_length,
            min(firsts, default=None),
            max(lasts, default=None),
        )

    def report(self) -> dict[str, Any]:
        """The counts as ``trace.json`` has them, in a fixed order."""
        return {
            "records": self.records,
            "fates": {fate: self.counts[fate] for fate in FATES if self.counts.get(fate)},
            "other_lines": {kind: self.counts[kind] for kind in NOT_RECORDS if self.counts.get(kind)},
            "repaired": self.repaired,
            "zero_length": self.zero_length,
        }


def unit_warnings(first: float, last: float, unit: float) -> list[str]:
    """What makes the unit of time doubtful, with the evidence; ``unit`` is the seconds in a unit of the log.

    >>> unit_warnings(1418767200000.0, 1418853600000.0, 1.0)  # doctest: +ELLIPSIS
    ['times up to 1418853600000 would be the year 46930 in seconds, and 2014 in milliseconds: ...--unit ms']
    >>> unit_warnings(1418767200.0, 1418853600.0, 1.0)
    []
    """
    written = last / unit
    if written > _FAR and unit == 1.0:
        wrong, right = int(1970 + last / _YEAR), int(1970 + last / 1000 / _YEAR)
        return [
            f"times up to {written:.0f} would be the year {wrong} in seconds, and {right} in milliseconds: "
            "if they are, import again with --unit ms"
        ]
    if unit < 1.0 and _UNIX < written < _FAR:
        return [
            f"times up to {written:.0f} would be in January 1970 in milliseconds, and in {int(1970 + written / _YEAR)} "
            "in seconds: if they are, import again with --unit s"
        ]
    if last - first > _LONGEST:
        length = last - first
        return [
            f"the log spans {length / _YEAR:.0f} years if its times are right, and {length / 1000 / 86400:.1f} days if "
            "they are in milliseconds: import again with --unit ms if they are"
        ]
    return []
