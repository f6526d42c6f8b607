"""Where students of the campus go in their free time: attraction vectors by kind of student, day and hour.

A key reads "graduate weekday 8-11"; its places are buildings by name, or HOME (its own dormitory, OFF for
those who commute), DEPT (its own department's building) and OFF (outside, where nobody is met).
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from hunet.model.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunet.worlds.campus import Campus
    from hunet.worlds.timetable import Student

KINDS = ("undergraduate-resident", "undergraduate-commuter", "graduate")
_QUIET_WEEKEND = {"10-18": {"HOME": 0.85, "LIB": 0.08, "DEPT": 0.07}, "18-23": {"HOME": 1.0}}

DEFAULT_ATTRACTIONS: Mapping[str, Mapping[str, float]] = {
    "undergraduate-resident weekday 8-11": {
        "HOME": 0.40, "DEPT": 0.20, "LIB": 0.15, "UNION": 0.15, "GEN": 0.05, "REC": 0.05,
    },
    "undergraduate-resident weekday 11-14": {
        "UNION": 0.45, "DEPT": 0.20, "LIB": 0.15, "HOME": 0.10, "REC": 0.05, "GEN": 0.05,
    },
    "undergraduate-resident weekday 14-18": {
        "LIB": 0.30, "DEPT": 0.30, "HOME": 0.15, "UNION": 0.10, "REC": 0.10, "GEN": 0.05,
    },
    "undergraduate-resident weekday 18-23": {
        "HOME": 0.50, "LIB": 0.20, "UNION": 0.10, "REC": 0.10, "DEPT": 0.05, "OFF": 0.05,
    },
    "undergraduate-commuter weekday 8-11": {
        "OFF": 0.45, "DEPT": 0.20, "LIB": 0.15, "UNION": 0.15, "GEN": 0.05,
    },
    "undergraduate-commuter weekday 11-14": {
        "UNION": 0.35, "OFF": 0.25, "DEPT": 0.20, "LIB": 0.15, "GEN": 0.05,
    },
    "undergraduate-commuter weekday 14-18": {
        "OFF": 0.35, "DEPT": 0.25, "LIB": 0.25, "UNION": 0.10, "REC": 0.05,
    },
    "undergraduate-commuter weekday 18-23": {"OFF": 0.85, "LIB": 0.10, "DEPT": 0.05},
    "graduate weekday 8-11": {"DEPT": 0.50, "HOME": 0.40, "LIB": 0.10},
    "graduate weekday 11-14": {"DEPT": 0.45, "UNION": 0.30, "HOME": 0.15, "LIB": 0.10},
    "graduate weekday 14-18": {"DEPT": 0.60, "HOME": 0.20, "LIB": 0.15, "UNION": 0.05},
    "graduate weekday 18-23": {"HOME": 0.60, "DEPT": 0.35, "LIB": 0.05},
    "undergraduate-resident weekend 10-18": {
        "HOME": 0.45, "OFF": 0.25, "LIB": 0.12, "UNION": 0.10, "REC": 0.08,
    },
    "undergraduate-resident weekend 18-23": {"HOME": 0.55, "OFF": 0.35, "UNION": 0.10},
    **{f"undergraduate-commuter weekend {hours}": places for hours, places in _QUIET_WEEKEND.items()},
    **{f"graduate weekend {hours}": places for hours, places in _QUIET_WEEKEND.items()},
}  # fmt: skip


class Habit(NamedTuple):
    """An attraction vector, ready to draw from."""

    places: list[str]
    upto: list[float]

    def drawn(self, draw: float) -> str:
        """Take the place for a uniform number in [0, 1)."""
        return self.places[min(bisect_right(self.upto, draw * self.upto[-1]), len(self.places) - 1)]


def attraction_tables(p: Campus, student: Student) -> tuple[list[Habit | None], list[Habit | None]]:
    """Make, for weekdays and weekend days, the student's vector in each slot of the day; none at night."""
    own = {"HOME": student.home, "DEPT": f"DEPT{student.department}"}
    per_day, per_hour = round(86400 / p.slot), 3600 / p.slot
    tables: tuple[list[Habit | None], list[Habit | None]] = ([None] * per_day, [None] * per_day)
    for key, chances in p.attractions.items():
        kind, day, begin, end = _parsed(key)
        if kind != student.kind:
            continue
        wakes = p.weekend_night_end if day == "weekend" else p.night_end
        habit = Habit([own.get(place, place) for place in chances], list(accumulate(chances.values())))
        for slot in range(per_day):
            if max(begin, wakes) * per_hour <= slot < min(end, p.night_begin) * per_hour:
                tables[day == "weekend"][slot] = habit
    return tables


def check_attractions(p: Campus) -> None:
    """Raise a ValueError unless every vector can be drawn from and the hours of the day are covered."""
    places = {"HOME", "DEPT", "OFF", *p.buildings}
    hours: dict[tuple[str, str], list[tuple[float, float]]] = {
        (k, d): [] for k in KINDS for d in ("weekday", "weekend")
    }
    for key, chances in p.attractions.items():
        kind, day, begin, end = _parsed(key)
        hours[kind, day].append((begin, end))
        for place in chances:
            if place not in places:
                raise ValueError(f"attractions '{key}': no place '{place}': {did_you_mean(place, places)}")
        if min(chances.values(), default=-1) < 0 or abs(sum(chances.values()) - 1) > 1e-9:
            raise ValueError(
                f"attractions '{key}': chances must be at least 0 and sum to 1, not {sum(chances.values()):g}"
            )
    for (kind, day), periods in hours.items():
        reached = p.weekend_night_end if day == "weekend" else p.night_end
        for begin, end in sorted(periods):
            reached = max(reached, end) if begin <= reached else reached
        if reached < p.night_begin:
            raise ValueError(
                f"attractions of '{kind} {day}' say nothing about {reached:g} h: cover the day up to "
                f"{p.night_begin:g} h"
            )


def _parsed(key: str) -> tuple[str, str, float, float]:
    """Take a key apart: kind of student, kind of day, begin and end, such as "graduate weekday 8-11"."""
    try:
        kind, day, period = key.split()
        begin, end = (float(hour) for hour in period.split("-"))
    except ValueError:
        kind, day, begin, end = "", "", 0.0, 0.0
    if kind not in KINDS or day not in ("weekday", "weekend") or begin >= end:
        raise ValueError(f"attractions: '{key}' is not like 'graduate weekday 8-11'; kinds: {', '.join(KINDS)}")
    return kind, day, begin, end
