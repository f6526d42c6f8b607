"""The campus: timetable, chain, stays, and the rhythm of days in its contacts."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from hunet.graphs.contact_statistics import contact_statistics
from hunet.model.contacts import Contacts
from hunet.model.parameters import from_mapping
from hunet.worlds import make_movement, make_world
from hunet.worlds.campus import Campus, CampusMovement, campus, slots_of
from hunet.worlds.co_stays import CoLocations, Stays, co_locations, meetings
from hunet.worlds.streams import stream
from hunet.worlds.timetable import Student, meeting_slots, students

DAY = 86400.0
PERIODS = {"weekday": (8, 11, 14, 18, 23), "weekend": (10, 18, 23)}


@cache
def ten_days(seed: int = 1) -> tuple[CampusMovement, Contacts]:
    movement = campus(Campus(), seed)
    return movement, movement.contacts()


def inside(movement: CampusMovement) -> Stays:
    own = movement.stays.place < len(movement.parameters.buildings)
    person, place, enter, leave = movement.stays
    return Stays(person[own], place[own], enter[own], leave[own])


def test_the_population() -> None:
    people = students(Campus(), 1)
    assert len(people) == 200
    cohorts = Counter((each.department, each.year) for each in people)
    assert len(cohorts) == 24
    assert [cohorts[0, year] for year in ("1", "2", "3", "4", "G1", "G2")] == [8, 8, 7, 7, 10, 10]
    residents = np.mean([each.resident for seed in range(5) for each in students(Campus(), seed) if each.year < "5"])
    assert residents == pytest.approx(0.6, abs=4 * math.sqrt(0.24 / 600))


@pytest.mark.parametrize("seed", range(5))
def test_nobody_has_two_classes_at_once(seed: int) -> None:
    for each in students(Campus(), seed):
        # A graduate goes without an elective when all four on offer clash with its two core courses.
        assert len(each.courses) in ((2, 3) if each.year.startswith("G") else (5,))
        taken = [slot for course in each.courses for meeting in course.meetings for slot in meeting]
        assert len(taken) == len(set(taken))


def test_cohorts_share_their_core_courses() -> None:
    people = [each for each in students(Campus(), 1) if (each.department, each.year) == (2, "1")]
    assert len({each.courses for each in people}) == 1
    assert Counter(course.building for course in people[0].courses) == {"GEN": 2, "DEPT2": 3}


def test_meeting_patterns() -> None:
    assert meeting_slots("Fri 23:30 30", 1800.0) == ((4 * 48 + 47,),)
    with pytest.raises(ValueError, match="is not of the form"):
        meeting_slots("Mo 9:00 60", 1800.0)
    with pytest.raises(ValueError, match="does not begin and end on a slot of 30 minutes"):
        meeting_slots("Mon 9:10 60", 1800.0)


def test_nobody_is_in_two_places_at_once() -> None:
    stays = ten_days()[0].stays
    same = np.diff(stays.person) == 0
    assert (stays.enter[1:][same] == stays.leave[:-1][same]).all()
    assert (stays.leave > stays.enter).all()
    assert (stays.place[1:][same] != stays.place[:-1][same]).all()


def test_co_locations_are_all_pairs_of_overlapping_stays() -> None:
    stays = inside(campus(Campus(days=1, undergraduates=(3, 3), shared_courses=(1, 1), graduates=(2,)), 1))
    found = set(zip(*(column.tolist() for column in co_locations(stays)), strict=True))
    expected = set()
    rows = list(zip(*(column.tolist() for column in stays), strict=True))
    for i, (person, place, enter, leave) in enumerate(rows):
        for other, other_place, other_enter, other_leave in rows[i + 1 :]:
            start, end = max(enter, other_enter), min(leave, other_leave)
            if place == other_place and start < end:
                expected.add((min(person, other), max(person, other), start, end))
    assert found == expected


def test_every_contact_lies_within_a_common_stay() -> None:
    movement, contacts = ten_days()
    together = co_locations(inside(movement))
    key = together.a * 200 + together.b
    order = np.lexsort((together.start, key))
    key, start, end = key[order], together.start[order], together.end[order]
    wanted = contacts.a.astype(np.int64) * 200 + contacts.b
    # The last co-location of the pair that begins no later than the contact does.
    rank = np.lexsort((np.append(start, contacts.start), np.append(key, wanted)))
    origin = np.append(np.arange(len(key)), np.full(len(wanted), -1))[rank]
    holder = np.maximum.accumulate(origin)[np.argsort(rank)][len(key) :]
    assert (key[holder] == wanted).all()
    assert (end[holder] >= contacts.end).all()


def test_eight_in_ten_co_locations_are_contacts() -> None:
    movement, contacts = ten_days()
    assert len(contacts) / len(co_locations(inside(movement)).a) == pytest.approx(0.8, abs=0.005)


def test_the_amount_of_contacts_that_was_measured() -> None:
    runs = [ten_days(seed)[1] for seed in (1, 2, 3)]
    assert np.mean([len(run) for run in runs]) == pytest.approx(151_060, rel=0.15)
    lengths = np.concatenate([run.end - run.start for run in runs])
    assert lengths.mean() == pytest.approx(297.4, rel=0.03)
    assert np.median(lengths) == pytest.approx(184.2, rel=0.03)
    assert np.mean([contact_statistics(run).mean_degree for run in runs]) == pytest.approx(0.52, rel=0.15)
    # The paper's hint: between Reality (4.6) and Haggle (365) contacts per node and day.
    assert 4.6 < 2 * len(runs[0]) / 200 / 10 < 365


def test_days_have_a_rhythm_and_weekends_are_quiet() -> None:
    start = ten_days()[1].start
    hour, day = start % DAY / 3600, (start // DAY).astype(int)
    assert ((hour >= 10) & (hour < 16)).mean() == pytest.approx(0.532, abs=0.1)
    assert (hour < 8).mean() == pytest.approx(0.066, abs=0.044)
    per_day = np.bincount(day, minlength=10)
    weekend = per_day[[5, 6]].mean()
    assert weekend < per_day[[0, 1, 2, 3, 4, 7, 8, 9]].mean() / 3


def test_cohorts_meet_more_than_departments_and_those_more_than_strangers() -> None:
    contacts = ten_days()[1]
    department, year = np.array(contacts.metadata["departments"]), np.array(contacts.metadata["years"])
    same, peers = department[:, None] == department, year[:, None] == year
    met = np.zeros((200, 200))
    np.add.at(met, (contacts.a, contacts.b), 1)
    above = np.triu(np.ones((200, 200), bool), 1)
    cohort, other_year, other = (met[above & mask].mean() for mask in (same & peers, same & ~peers, ~same))
    assert cohort > other_year > other
    assert cohort / 10 == pytest.approx(1.79, rel=0.15)
    assert other / 10 == pytest.approx(0.54, rel=0.4)


def test_students_attend_nine_classes_in_ten() -> None:
    attended = skipped = 0
    for person, student in enumerate(students(Campus(), 1)):
        first = {meeting[0] for course in student.courses for meeting in course.meetings}
        for number, slot in enumerate(slots_of(Campus(), student, stream(1, "campus", "walk", person))):
            if number % (7 * 48) in first:
                attended += slot.reason == "class"
                skipped += slot.reason in ("skipped", "after-class")
    assert attended / (attended + skipped) == pytest.approx(0.9, abs=0.01)


def test_free_slots_follow_the_chain() -> None:
    """Observed places against the sum of the rows of Q = σ I + (1 - σ) 1 aᵀ, for each kind and period."""
    p = Campus()
    observed: dict[tuple[str, str, int], Counter[str]] = {}
    expected: dict[tuple[str, str, int], Counter[str]] = {}
    for person, student in enumerate(students(p, 1)):
        place = student.home
        for number, slot in enumerate(slots_of(p, student, stream(1, "campus", "walk", person))):
            day = "weekend" if number // 48 % 7 in (5, 6) else "weekday"
            period = int(np.searchsorted(PERIODS[day], number % 48 / 2, "right")) - 1
            if slot.reason in ("free", "skipped", "after-class"):
                key = (student.kind, day, period)
                observed.setdefault(key, Counter())[_named(student, slot.place)] += 1
                law, stay = _law(p, key), p.stay_after_class if slot.reason == "after-class" else p.stay
                rows = expected.setdefault(key, Counter())
                rows[_named(student, place)] += stay  # type: ignore[assignment]
                for target, chance in law.items():
                    rows[_named(student, _actual(student, target))] += (1 - stay) * chance  # type: ignore[assignment]
            place = slot.place
    assert len(observed) == 18
    for key, rows in expected.items():
        places = [place for place, count in rows.items() if count >= 5]
        square = sum((observed[key][place] - rows[place]) ** 2 / rows[place] for place in places)
        freedom = max(1, len(places) - 1)
        limit = freedom * (1 - 2 / (9 * freedom) + 3.7 * math.sqrt(2 / (9 * freedom))) ** 3  # chi-square at 1e-4
        assert square < limit, key


def _law(p: Campus, key: tuple[str, str, int]) -> dict[str, float]:
    kind, day, period = key
    hours = PERIODS[day]
    return p.attractions[f"{kind} {day} {hours[period]}-{hours[period + 1]}"]


def _actual(student: Student, place: str) -> str:
    return {"HOME": student.home, "DEPT": f"DEPT{student.department}"}.get(place, place)


def _named(student: Student, place: str) -> str:
    return {student.home: "HOME", f"DEPT{student.department}": "DEPT"}.get(place, place)


def test_long_stays_give_lengths_with_the_wanted_tail() -> None:
    count = 20_000
    evening = np.arange(float(count)) * DAY
    nights = CoLocations(np.zeros(count, int), np.ones(count, int), evening, evening + 5 * 3600)
    rng = np.random.default_rng(1)
    found = meetings(nights, rng, probability=1.0, shortest=120.0, longest=14400.0, exponent=1.5)
    length = found.end - found.start
    assert length.min() >= 120 - 1e-6
    assert length.max() <= 14400 + 1e-6
    estimates = np.linspace(1.2, 1.8, 601)
    # Maximum likelihood for a Pareto law truncated at both ends.
    score = np.log(estimates) - np.log1p(-((120 / 14400) ** estimates)) - estimates * np.log(length / 120).mean()
    assert estimates[np.argmax(score)] == pytest.approx(1.5, abs=0.05)
    assert ((found.start - nights.start) / (5 * 3600 - length)).mean() == pytest.approx(0.5, abs=0.01)


def test_shares_of_time() -> None:
    movement = ten_days()[0]
    spent = np.bincount(movement.stays.place, weights=movement.stays.leave - movement.stays.enter)
    share = dict(zip((*movement.parameters.buildings, "OFF"), spent / spent.sum(), strict=True))
    assert share["DORM-A"] + share["DORM-B"] == pytest.approx(0.242, abs=4 * 0.024)
    assert sum(share[f"DEPT{number}"] for number in range(4)) == pytest.approx(0.183, abs=0.02)
    for building, known in (("LIB", 0.064), ("UNION", 0.048), ("GEN", 0.026), ("REC", 0.015)):
        assert share[building] == pytest.approx(known, abs=0.01)


def test_people_are_drawn_where_they_stay() -> None:
    movement = make_movement("campus", 1, days=1)
    assert isinstance(movement, CampusMovement)
    noon = 12.9 * 3600
    places = movement.positions([noon])[0]
    assert places.min() > 0
    assert places.max() < 1000
    buildings = list(movement.metadata["buildings"].values())
    now = (movement.stays.enter <= noon) & (noon < movement.stays.leave - 300)
    for person, place in zip(movement.stays.person[now], movement.stays.place[now], strict=True):
        if place < len(buildings):
            assert np.abs(places[person] - buildings[place]).max() <= 25


def test_days_without_a_night_or_delay() -> None:
    everywhere = {"HOME": 0.5, "LIB": 0.5}
    kinds = ("undergraduate-resident", "undergraduate-commuter", "graduate")
    habits = {f"{kind} {day} 0-24": everywhere for kind in kinds for day in ("weekday", "weekend")}
    awake = {"night_end": 0, "weekend_night_end": 0, "night_begin": 24, "jitter": 0}
    movement = campus(from_mapping(Campus, {"days": 1, "attractions": habits, **awake}), 1)
    assert (movement.stays.leave > movement.stays.enter).all()
    assert len(movement.contacts()) > 0


def test_everything_can_be_arranged_otherwise() -> None:
    contacts = make_world(
        "campus",
        1,
        departments=2,
        undergraduates=[5],
        graduates=[],
        graduate_patterns=["Mon 18:00 60", "Tue 18:00 60"],
        shared_courses=[1],
        elective_years=[],
        public_buildings=["LIB", "UNION", "REC", "HALL", "GEN"],
        lecture_hall="HALL",
        day_patterns=["Mon Tue 08:00 120", "Mon Tue 10:00 60", "Wed 09:00 60", "Thu 09:00 60"],
        first_weekday=6,
        weekend=[6],
        days=3,
        slot=3600,
    )
    assert len(contacts.names) == 10
    assert contacts.span == (0, 3 * DAY)
    assert list(contacts.metadata["buildings"])[:6] == ["DORM-A", "DORM-B", "LIB", "UNION", "REC", "HALL"]
