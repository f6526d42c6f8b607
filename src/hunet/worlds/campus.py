"""The campus: students between classes, dormitories and the library. The synthetic trace of MOPS.

F. Li and J. Wu, "MOPS: Providing Content-Based Service in Disruption-Tolerant Networks", ICDCS 2009, section
V.A: 200 graduate and undergraduate students of four departments; each moves between buildings by a Markov
chain made from class schedules and enrolment; two students in one building contact each other with
probability 0.8; contact lengths follow a power law; 10 days.

Theory of operation. Time goes in slots of half an hour. At night a student is at home: in a dormitory, or off
campus for those who commute. In a slot of a class it is in the class's building, if it attends (decided once
per meeting). In a free slot it stays where it is with probability σ, or draws a place from the attraction
vector of its kind, the kind of day and the time of day: the chain of a free slot is Q = σ I + (1 - σ) 1 aᵀ,
whose stationary law is a. A move takes effect up to ten minutes after the slot began. Contacts are those of
``co_stays``.

Where we depart from the paper, and why. Its map, schedules, chain and exponent were never published, so the
population, timetable, attraction vectors and lengths here are ours, built to meet what it says: a contact
frequency between those of its two real traces (365 and 4.6 contacts per node and day; here about 150).
Distances play no role; the positions are for drawing only, with the buildings on a circle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import numpy as np

from hunet.model.parameters import Parameters, doc
from hunet.worlds.campus_habits import DEFAULT_ATTRACTIONS, attraction_tables, check_attractions
from hunet.worlds.co_stays import Stays, co_locations, meetings
from hunet.worlds.movement import check_order, labelled
from hunet.worlds.streams import stream
from hunet.worlds.timetable import Student, dormitory_name, meeting_slots, students
from hunet.worlds.tracks import Tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from hunet.model.contacts import Contacts
    from hunet.worlds.tracks import Breakpoints, Floats

_PAPER = "MOPS, section V.A"
_DAY_PATTERNS = tuple(f"Mon Wed Fri {hour:02}:00 60" for hour in (9, 10, 11, 13, 14)) + tuple(
    f"Tue Thu {time} 90" for time in ("09:00", "10:30", "13:00", "14:30")
)
_GRADUATE_PATTERNS = tuple(f"{days} {time} 90" for days in ("Mon Wed", "Tue Thu") for time in ("16:00", "17:30"))
_DAY = 86400.0
_MAP_SIDE, _RING, _OUTSIDE, _ROOM = 1000.0, 330.0, 480.0, 25.0
_LONGEST_WALK = 300.0


class Campus(Parameters, frozen=True):
    """Students on a campus; the defaults are MOPS's synthetic trace, completed."""

    departments: Annotated[int, doc("departments, each with a building", source=_PAPER, ge=1)] = 4
    undergraduates: Annotated[
        tuple[int, ...],
        doc("undergraduates of each year, per department", source="ours; 200 students in all"),
    ] = (8, 8, 7, 7)
    graduates: Annotated[tuple[int, ...], doc("graduates of each year, per department", source="ours")] = (
        10,
        10,
    )
    undergraduate_residents: Annotated[
        float, doc("share of undergraduates who live on campus", source="ours", ge=0, le=1)
    ] = 0.6
    graduate_residents: Annotated[float, doc("share of graduates who live on campus", source="ours", ge=0, le=1)] = 0.1
    dormitories: Annotated[int, doc("dormitories, DORM-A, DORM-B and so on", source="ours", ge=0, le=26)] = 2
    public_buildings: Annotated[tuple[str, ...], doc("buildings open to everybody", source="ours")] = (
        "LIB",
        "UNION",
        "REC",
        "GEN",
    )
    lecture_hall: Annotated[str, doc("building of the courses that departments share", source="ours")] = "GEN"
    days: Annotated[int, doc("length of the run", unit="days", source=_PAPER, ge=1)] = 10
    first_weekday: Annotated[int, doc("weekday of the first day; 0 is Monday", source="ours", ge=0, le=6)] = 0
    weekend: Annotated[tuple[int, ...], doc("weekdays without classes; 5 and 6: Saturday, Sunday", source="ours")] = (
        5,
        6,
    )
    slot: Annotated[float, doc("length of a slot", unit="s", source="ours", gt=0)] = 1800.0
    night_begin: Annotated[float, doc("when everybody goes home", unit="h", source="ours", ge=0, le=24)] = 23.0
    night_end: Annotated[float, doc("when a weekday begins", unit="h", source="ours", ge=0, le=24)] = 8.0
    weekend_night_end: Annotated[float, doc("when a weekend day begins", unit="h", source="ours", ge=0, le=24)] = 10.0
    day_patterns: Annotated[tuple[str, ...], doc("when undergraduate classes can meet", source="ours")] = _DAY_PATTERNS
    graduate_patterns: Annotated[tuple[str, ...], doc("when graduate classes can meet", source="ours")] = (
        _GRADUATE_PATTERNS
    )
    shared_courses: Annotated[
        tuple[int, ...], doc("courses in the lecture hall, for each undergraduate year", source="ours")
    ] = (2, 2, 1, 1)
    core_courses: Annotated[int, doc("core courses of an undergraduate cohort", source="ours", ge=0)] = 3
    electives: Annotated[int, doc("undergraduate electives a department offers", source="ours", ge=0)] = 3
    elective_years: Annotated[tuple[int, ...], doc("undergraduate years that take an elective", source="ours")] = (
        3,
        4,
    )
    own_elective: Annotated[
        float,
        doc("chance that an undergraduate's elective is of their department", source="ours", ge=0, le=1),
    ] = 0.5
    graduate_courses: Annotated[int, doc("core courses of a graduate cohort", source="ours", ge=0)] = 2
    graduate_electives: Annotated[int, doc("graduate electives a department offers", source="ours", ge=0)] = 1
    graduate_own_elective: Annotated[
        float, doc("chance that a graduate's elective is of their department", source="ours", ge=0, le=1)
    ] = 0.7
    attendance: Annotated[float, doc("chance to attend a class", source="ours", ge=0, le=1)] = 0.9
    stay: Annotated[float, doc("chance to stay in a free slot", symbol="σ", source="ours", ge=0, le=1)] = 0.75
    stay_after_class: Annotated[
        float, doc("chance to stay in the slot after a class", symbol="σ", source="ours", ge=0, le=1)
    ] = 0.2
    jitter: Annotated[
        float, doc("a move takes effect up to so long after its slot began", unit="s", source="ours", ge=0)
    ] = 600.0
    attractions: Annotated[
        dict[str, dict[str, float]],
        doc(
            "by kind of student, day and hours, the chances of places (a table in TOML)",
            symbol="a",
            source="ours",
        ),
    ] = msgspec.field(default_factory=lambda: {key: dict(places) for key, places in DEFAULT_ATTRACTIONS.items()})
    contact_probability: Annotated[
        float, doc("chance that a co-location yields a contact", source=_PAPER, ge=0, le=1)
    ] = 0.8
    contact_min: Annotated[float, doc("shortest contact", unit="s", source="ours: an iMote's scan period", gt=0)] = (
        120.0
    )
    contact_max: Annotated[float, doc("longest contact", unit="s", source="ours", gt=0)] = 14400.0
    contact_exponent: Annotated[
        float,
        doc("exponent of the truncated Pareto law of contact lengths", symbol="a", source="ours", gt=0),
    ] = 1.5

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.departments * (sum(self.undergraduates) + sum(self.graduates)) < 2:
            raise ValueError("fewer than two students: raise undergraduates or graduates")
        for name in ("undergraduates", "graduates", "shared_courses"):
            if min(getattr(self, name), default=0) < 0:
                raise ValueError(f"{name} has a negative entry: give counts of at least 0")
        if not set(self.weekend) <= set(range(7)):
            raise ValueError("weekend lists weekdays by number: 0 is Monday, 6 is Sunday")
        if (_DAY / self.slot) % 1:
            raise ValueError(f"slot {self.slot:g} s does not divide a day: choose 900, 1800 or 3600 s, for example")
        if self.jitter > self.slot:
            raise ValueError(
                f"jitter {self.jitter:g} s is longer than a slot of {self.slot:g} s: choose at most a slot"
            )
        check_order(self, "contact_min", "contact_max")
        if max(self.night_end, self.weekend_night_end) >= self.night_begin:
            raise ValueError(
                f"night_begin {self.night_begin:g} h is not after night_end {self.night_end:g} h and "
                f"weekend_night_end {self.weekend_night_end:g} h: let days begin before their night"
            )
        if len(self.shared_courses) != len(self.undergraduates):
            raise ValueError(
                f"shared_courses has {len(self.shared_courses)} entries for {len(self.undergraduates)} "
                "undergraduate years: give one for each year"
            )
        self._check_courses()
        check_attractions(self)

    def _check_courses(self) -> None:
        for pattern in self.day_patterns + self.graduate_patterns:
            meeting_slots(pattern, self.slot)
        most = max((shared + self.core_courses for shared in self.shared_courses), default=0)
        for name, wanted, have in (
            ("day_patterns", max(most, self.electives), len(self.day_patterns)),
            (
                "graduate_patterns",
                max(self.graduate_courses, self.graduate_electives),
                len(self.graduate_patterns),
            ),
        ):
            if wanted > have:
                raise ValueError(f"{wanted} courses without a clash need as many {name}, not {have}: add some")
        if len({*self.buildings, "HOME", "DEPT", "OFF"}) < len(self.buildings) + 3:
            raise ValueError("public_buildings must have names of their own: not twice, nor those of other places")
        if self.lecture_hall not in self.public_buildings:
            raise ValueError(f"lecture_hall '{self.lecture_hall}' is not among public_buildings: add it there")

    @property
    def buildings(self) -> tuple[str, ...]:
        """All buildings by name; OFF, outside, is none of them."""
        dormitories = tuple(dormitory_name(number) for number in range(self.dormitories))
        return dormitories + self.public_buildings + tuple(f"DEPT{number}" for number in range(self.departments))


class Slot(NamedTuple):
    """One step of a student's chain."""

    place: str
    reason: str
    """night, class, skipped (a free slot instead of a class), after-class or free."""
    moves_at: float
    """When a change of place takes effect."""


def slots_of(p: Campus, student: Student, rng: Generator) -> Iterator[Slot]:
    """Run the chain of one student; each slot takes four numbers of the stream, used or not."""
    per_day = round(_DAY / p.slot)
    classes = {s: (course.building, m[0]) for course in student.courses for m in course.meetings for s in m}
    habits = attraction_tables(p, student)
    place, was_in_class, attends = student.home, False, False
    for number, (show_up, lazy, where, late) in enumerate(rng.random((p.days * per_day, 4)).tolist()):
        weekday, of_day = (number // per_day + p.first_weekday) % 7, number % per_day
        weekend = weekday in p.weekend
        building, first = classes.get(weekday * per_day + of_day, ("", -1)) if not weekend else ("", -1)
        if first == weekday * per_day + of_day:
            attends = show_up < p.attendance
        table = habits[weekend][of_day]
        if table is None:
            place, reason = student.home, "night"
        elif building and attends:
            place, reason = building, "class"
        else:
            reason = "after-class" if was_in_class else "skipped" if building else "free"
            if lazy >= (p.stay_after_class if was_in_class else p.stay):
                place = table.drawn(where)
        was_in_class = reason == "class"
        yield Slot(place, reason, number * p.slot + late * p.jitter)


@dataclass(frozen=True, slots=True, repr=False)
class CampusMovement:
    """The students' stays, from which contacts come, and positions for drawing."""

    parameters: Campus
    seed: int
    students: list[Student]
    stays: Stays
    """In the numbering of ``Campus.buildings``; the number after the last is OFF."""
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        return f"Movement(campus, {len(self.students)} nodes, {self.duration:g} s)"

    @property
    def duration(self) -> float:
        """Seconds of movement, from time 0."""
        return self.parameters.days * _DAY

    @property
    def tracks(self) -> Tracks:
        """Walks for drawing: everybody has a spot in each building and walks over before it enters."""
        return Tracks.from_breakpoints(_drawn_walk(self, person) for person in range(len(self.students)))

    def positions(self, times: ArrayLike) -> Floats:
        """Say where everybody is drawn at the given times: an array [instant, node, (x, y)]."""
        return self.tracks.positions(times)

    def contacts(self) -> Contacts:
        """Draw the contacts of those who are in one building."""
        p = self.parameters
        inside = self.stays.place < len(p.buildings)
        person, place, enter, leave = self.stays
        together = co_locations(Stays(person[inside], place[inside], enter[inside], leave[inside]))
        rng = stream(self.seed, "campus", "contact")
        contacts = meetings(
            together,
            rng,
            probability=p.contact_probability,
            shortest=p.contact_min,
            longest=p.contact_max,
            exponent=p.contact_exponent,
        )
        return labelled(len(self.students), contacts, self.duration, self.metadata)


def campus(parameters: Campus, seed: int) -> CampusMovement:
    """Draw everybody's stays; ``metadata`` has each student's department, year and home.

    >>> campus(Campus(days=1), seed=1).metadata["years"][:9]
    ['1', '1', '1', '1', '1', '1', '1', '1', '2']
    """
    people = students(parameters, seed)
    number = {name: index for index, name in enumerate((*parameters.buildings, "OFF"))}
    rows: list[tuple[int, int, float, float]] = []
    for person, student in enumerate(people):
        place, since = student.home, 0.0
        for slot in slots_of(parameters, student, stream(seed, "campus", "walk", person)):
            if slot.place != place:
                if slot.moves_at > since:
                    rows.append((person, number[place], since, slot.moves_at))
                place, since = slot.place, slot.moves_at
        rows.append((person, number[place], since, parameters.days * _DAY))
    columns = list(zip(*rows, strict=True))
    stays = Stays(np.array(columns[0]), np.array(columns[1]), np.array(columns[2]), np.array(columns[3]))
    known: dict[str, Any] = {"world": "campus", "seed": seed, "parameters": msgspec.to_builtins(parameters)}
    known["departments"] = [student.department for student in people]
    known["years"] = [student.year for student in people]
    known["kinds"] = [student.kind for student in people]
    known["homes"] = [student.home for student in people]
    known["buildings"] = {name: list(_place_of(parameters, name)) for name in parameters.buildings}
    return CampusMovement(parameters, seed, people, stays, known)


def _place_of(p: Campus, building: str) -> tuple[float, float]:
    """Place a building for drawing: evenly on a circle."""
    angle = 2 * math.pi * p.buildings.index(building) / len(p.buildings)
    return round(_MAP_SIDE / 2 + _RING * math.cos(angle), 3), round(_MAP_SIDE / 2 + _RING * math.sin(angle), 3)


def _drawn_walk(movement: CampusMovement, person: int) -> Breakpoints:
    p, stays = movement.parameters, movement.stays
    own = slice(*np.searchsorted(stays.person, (person, person + 1)))
    place, enter, leave = stays.place[own], stays.enter[own], stays.leave[own]
    right, up, angle = stream(movement.seed, "campus", "placement", len(movement.students) + person).random(3)
    spots = [
        (x + (2 * right - 1) * _ROOM, y + (2 * up - 1) * _ROOM)
        for x, y in (_place_of(p, building) for building in p.buildings)
    ]
    outside = _MAP_SIDE / 2 + _OUTSIDE * np.array((math.cos(2 * math.pi * angle), math.sin(2 * math.pi * angle)))
    x, y = np.array([*spots, outside])[place].T
    sets_off = leave - np.minimum(_LONGEST_WALK, (leave - enter) / 2)
    return (
        np.append(np.column_stack((enter, sets_off)).ravel(), leave[-1]),
        np.append(np.repeat(x, 2), x[-1]),
        np.append(np.repeat(y, 2), y[-1]),
    )
