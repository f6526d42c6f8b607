"""The timetable of the campus: who studies what, and when and where the classes meet.

Theory of operation. A course is a meeting pattern (weekdays, time, length) and a building. Each undergraduate
year shares a few courses in the lecture hall; each cohort (department and year) has core courses in its
department's building; departments offer electives, of which the upper years and the graduates take one that
does not clash, if there is one. All of it is drawn once per seed. Hours are counted in slots of the week, so
that a clash is a common slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hunet.worlds.streams import stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from hunet.worlds.campus import Campus

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Course:
    """When and where a class meets."""

    building: str
    meetings: tuple[tuple[int, ...], ...]
    """For each meeting of the week its slots, counted from Monday 0:00."""

    def clashes(self, other: Course) -> bool:
        """Tell whether the two have a slot in common."""
        return bool({slot for meeting in self.meetings for slot in meeting} & {s for m in other.meetings for s in m})


@dataclass(frozen=True, slots=True)
class Student:
    """One person of the campus."""

    department: int
    year: str
    """1, 2, ... for undergraduates, G1, G2, ... for graduates."""
    resident: bool
    home: str
    """The own dormitory, or OFF for those who commute."""
    courses: tuple[Course, ...]

    @property
    def kind(self) -> str:
        """Which attraction vectors hold: undergraduate-resident, undergraduate-commuter or graduate."""
        if self.year.startswith("G"):
            return "graduate"
        return "undergraduate-resident" if self.resident else "undergraduate-commuter"


def meeting_slots(pattern: str, slot: float) -> tuple[tuple[int, ...], ...]:
    """Find the slots of each meeting of a pattern such as "Mon Wed Fri 09:00 60" (days, time, minutes).

    >>> meeting_slots("Mon Tue 01:00 60", 1800.0)
    ((2, 3), (50, 51))
    """
    *days, time, minutes = pattern.split()
    try:
        hour, minute = (int(part) for part in time.split(":"))
        numbers, length = [WEEKDAYS.index(day) for day in days], int(minutes)
    except ValueError:
        numbers, hour, minute, length = [], 0, 0, 0
    if not numbers or length <= 0:
        raise ValueError(f"meeting pattern '{pattern}' is not of the form 'Mon Wed Fri 09:00 60' (days, time, minutes)")
    begin, count = (hour * 60 + minute) * 60 / slot, length * 60 / slot
    if begin % 1 or count % 1:
        raise ValueError(f"meeting pattern '{pattern}' does not begin and end on a slot of {slot / 60:g} minutes")
    per_day = round(86400 / slot)
    return tuple(tuple(range(day * per_day + int(begin), day * per_day + int(begin + count))) for day in numbers)


def students(p: Campus, seed: int) -> list[Student]:
    """List everybody, department by department and year by year, with their homes and courses."""
    rng = stream(seed, "campus", "map")
    day = [meeting_slots(pattern, p.slot) for pattern in p.day_patterns]
    evening = [meeting_slots(pattern, p.slot) for pattern in p.graduate_patterns]
    shared = [_drawn(rng, p.lecture_hall, day, count) for count in p.shared_courses]
    own = [f"DEPT{department}" for department in range(p.departments)]
    core = [
        [_drawn(rng, building, _without(day, shared[year]), p.core_courses) for year in range(len(p.undergraduates))]
        for building in own
    ]
    electives = [_drawn(rng, building, day, p.electives) for building in own]
    graduate_core = [[_drawn(rng, building, evening, p.graduate_courses) for _ in p.graduates] for building in own]
    graduate_electives = [_drawn(rng, building, evening, p.graduate_electives) for building in own]

    people: list[Student] = []
    for department in range(p.departments):
        for year, count in enumerate(p.undergraduates):
            fixed, elects = shared[year] + core[department][year], year + 1 in p.elective_years
            offered = electives if elects else []
            for _ in range(count):
                label, chance = str(year + 1), p.undergraduate_residents
                people.append(
                    _enrolled(
                        p,
                        seed,
                        len(people),
                        department=department,
                        year=label,
                        resident_chance=chance,
                        fixed=fixed,
                        offered=offered,
                    )
                )
        for year, count in enumerate(p.graduates):
            fixed = graduate_core[department][year]
            for _ in range(count):
                label, chance = f"G{year + 1}", p.graduate_residents
                people.append(
                    _enrolled(
                        p,
                        seed,
                        len(people),
                        department=department,
                        year=label,
                        resident_chance=chance,
                        fixed=fixed,
                        offered=graduate_electives,
                    )
                )
    return people


def _enrolled(
    p: Campus,
    seed: int,
    number: int,
    *,
    department: int,
    year: str,
    resident_chance: float,
    fixed: list[Course],
    offered: list[list[Course]],
) -> Student:
    """Enrol one student: residence and elective are drawn from a stream of its own."""
    rng = stream(seed, "campus", "placement", number)
    resident = bool(rng.random() < resident_chance)
    dormitory = int(rng.integers(p.dormitories)) if p.dormitories else 0
    home = dormitory_name(dormitory) if resident and p.dormitories else "OFF"
    courses = list(fixed)
    possible = [[c for c in courses_of if not any(c.clashes(f) for f in fixed)] for courses_of in offered]
    if any(possible):
        mine = possible[department]
        others = [course for other, each in enumerate(possible) if other != department for course in each]
        own_chance = p.graduate_own_elective if year.startswith("G") else p.own_elective
        stays = rng.random() < own_chance
        chosen = (mine or others) if stays else (others or mine)
        courses.append(chosen[int(rng.integers(len(chosen)))])
    return Student(department, year, home != "OFF", home, tuple(courses))


def dormitory_name(number: int) -> str:
    """Name a dormitory.

    >>> dormitory_name(0)
    'DORM-A'
    """
    return f"DORM-{chr(ord('A') + number)}"


def _drawn(rng: Generator, building: str, patterns: Sequence[tuple[tuple[int, ...], ...]], count: int) -> list[Course]:
    """Draw distinct patterns for ``count`` courses in one building."""
    return [Course(building, patterns[int(each)]) for each in rng.choice(len(patterns), size=count, replace=False)]


def _without(patterns: Sequence[tuple[tuple[int, ...], ...]], taken: list[Course]) -> list[tuple[tuple[int, ...], ...]]:
    used = {course.meetings for course in taken}
    return [pattern for pattern in patterns if pattern not in used]
