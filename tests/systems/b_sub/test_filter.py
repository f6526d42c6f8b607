"""The Temporal Counting Bloom Filter: vectors worked out by hand, and what must hold for any filter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import ConfigurationError, PeerError, ProtocolError
from hunet.protocols.packet_bytes import from_bytes, to_bytes
from hunet.systems.b_sub.filter import (
    HIGHEST,
    Evidence,
    FilterShape,
    TemporalCountingBloomFilter,
    cycles_between,
    preference,
)
from hunet.systems.b_sub.lookup import lookup_of
from hunet.systems.b_sub.packets import GREETINGS, check_filters
from hunet.systems.b_sub.theory import false_positive_rate
from hunet.systems.b_sub.watch import ExactCounters
from hunet.systems.b_sub.wire import counters_of, read_counters, wire_size, write_counters

Filter = TemporalCountingBloomFilter


def as_id(number: int) -> bytes:
    return number.to_bytes(8)


SHAPE = FilterShape()
SHAPES = st.builds(
    lambda counters, hashes, initial, ceiling, filters, salt: FilterShape(
        counters, hashes, min(initial, ceiling), ceiling, filters, salt
    ),
    st.sampled_from([5, 8, 64, 255, 256]),
    st.integers(1, 4),
    st.integers(1, 9),
    st.sampled_from([9, 15, 127, 128, 200, 255, 256, 1275, 20_000, 65_535, 65_536, HIGHEST]),
    st.sampled_from([1, 1, 2, 5]),
    st.sampled_from([0, 7]),
)
KEYS = st.sampled_from([f"tag{n}" for n in range(30)])


@st.composite
def filters(draw: st.DrawFn, many: int) -> list[Filter]:
    """Some filters of one shape, with small counters and large ones, and zeros in between."""
    shape = draw(SHAPES)
    made = []
    for _ in range(many):
        raw = draw(st.binary(min_size=shape.total, max_size=shape.total))
        most, step = draw(st.sampled_from([3, 40, shape.ceiling])), draw(st.sampled_from([1, 1 + shape.ceiling // 255]))
        values = [min(value % 97 if value % 3 else value * step, most, shape.ceiling) for value in raw]
        made.append(Filter(shape, counters_of(values, shape.width)))
    return made


class Figure5(FilterShape):
    """Five counters and two hashes, with the positions of Fig. 5."""

    def __init__(self) -> None:
        super().__init__(counters=5, hashes=2)

    def positions(self, key: str) -> tuple[int, ...]:
        return {"x": (0, 1), "y": (1, 3), "z": (0, 2), "w": (3, 4)}[key]


def values(one: Filter) -> list[int]:
    return list(one.shape.values(one.counters))


def small(*counters: int) -> Filter:
    return Filter(Figure5(), bytes(counters))


# Vectors worked out by hand ----------------------------------------------------------------------------------


def test_vector_2_insertion_leaves_set_counters_and_merging_adds_or_takes_the_larger() -> None:
    ours = Figure5().of(["x", "y"])
    assert list(ours.counters) == [5, 5, 0, 5, 0]
    other = small(0, 5, 0, 0, 5)
    assert list(ours.a_merge(other).counters) == [5, 10, 0, 5, 5]
    assert list(ours.m_merge(other).counters) == [5, 5, 0, 5, 5]


@pytest.mark.parametrize(("mine", "theirs", "expected"), [(4, 10, 1.5), (0, 7, 7), (10, 4, -0.6), (5, 5, 0), (0, 0, 0)])
def test_vector_3_preference(mine: int, theirs: int, expected: float) -> None:
    assert preference(mine, theirs) == expected
    ours, other = (Filter(SHAPE, bytes([value] * 256)) for value in (mine, theirs))
    assert preference(ours.value("NewMoon"), other.value("NewMoon")) == expected


def test_vector_4_evidence_before_hearsay() -> None:
    mine, theirs, interested = small(3, 3, 3, 3, 3), small(6, 6, 6, 6, 6), Figure5().of(["x", "w", "z"])
    assert list(mine.a_merge(interested).m_merge(theirs).counters) == [8] * 5
    assert list(mine.m_merge(theirs).a_merge(interested).counters) == [11] * 5
    evidence = Evidence(interested)
    assert mine.a_merge_and_m_merge(evidence, theirs.counters) == mine.a_merge(interested).m_merge(theirs)


def test_vector_5_decay_in_the_shape_of_figure_5() -> None:
    shape = Figure5()
    ours, last = shape.empty(), 0
    for key, at in (("x", 0), ("y", 2), ("z", 4), ("y", 9), ("w", 15), ("y", 16)):
        ours, last = ours.decay(at - last).a_merge(shape.of([key])), at
    assert list(ours.counters) == [0, 5, 0, 9, 4]
    after = ours.decay(19 - last)
    assert list(after.counters) == [0, 2, 0, 6, 1]
    assert {key: after.value(key) for key in "xyzw"} == {"x": 0, "y": 2, "z": 0, "w": 1}
    assert [key in after for key in "xyzw"] == [False, True, False, True]


def test_vector_6_bogus_counters_grow_by_adding_and_fade_by_taking_the_larger() -> None:
    def meetings(merge: Callable[[Filter, Filter], Filter]) -> list[int]:
        one, two = SHAPE.of(["a"]), SHAPE.empty()
        seen = []
        for _ in range(10):
            one, two = one.decay(1), two.decay(1)
            one, two = merge(one, two), merge(two, one)
            assert one == two
            seen.append(one.value("a"))
        return seen

    assert meetings(Filter.a_merge) == [4, 6, 10, 18, 34, 66, 130, 255, 255, 255]
    assert meetings(Filter.m_merge) == [4, 3, 2, 1, 0, 0, 0, 0, 0, 0]


def test_vector_9_saturation() -> None:
    assert set(Filter(SHAPE, bytes([253] * 256)).a_merge(Filter(SHAPE, bytes([5] * 256))).counters) == {255}
    assert set(Filter(SHAPE, bytes([255] * 256)).decay(1).counters) == {254}


@pytest.mark.parametrize(
    ("last", "now", "cycle", "cycles"), [(9, 31, 10, 3), (0, 9, 10, 0), (10, 10, 10, 0), (9.5, 10, 10, 1)]
)
def test_vector_10_time_runs_in_whole_cycles_of_a_common_clock(
    last: float, now: float, cycle: float, cycles: int
) -> None:
    assert cycles_between(last, now, cycle) == cycles


# Hashing ---------------------------------------------------------------------------------------------------------


def test_positions_are_part_of_the_format() -> None:
    """Two builds must agree: these numbers may never change."""
    assert SHAPE.positions("NewMoon") == (179, 49, 171)
    assert SHAPE.positions("Zürich ✈") == (141, 45, 174)
    assert FilterShape(counters=5, hashes=2).positions("x") == (3, 4)


def test_positions_are_spread_evenly() -> None:
    hits = [0] * 256
    for n in range(20_000):
        for position in SHAPE.positions(f"key {n}"):
            hits[position] += 1
    expected = 60_000 / 256
    chi_squared = sum((count - expected) ** 2 / expected for count in hits)
    assert 160 < chi_squared < 360  # 255 degrees of freedom: six standard deviations either way


# What must hold for any filter -----------------------------------------------------------------------------------


@given(SHAPES, st.lists(KEYS, max_size=12))
def test_a_fresh_filter_holds_its_keys_at_the_initial_value(shape: FilterShape, keys: list[str]) -> None:
    made = shape.of(keys)
    assert all(key in made and made.value(key) == shape.initial for key in keys)
    assert set(values(made)) <= {0, shape.initial}
    assert made == shape.of(reversed(keys))


def test_a_merged_filter_takes_no_insertions() -> None:
    with pytest.raises(ProtocolError, match="fresh"):
        SHAPE.of(["a"]).m_merge(SHAPE.empty()).insert("b")


@given(filters(2))
def test_merging_is_what_it_is_counter_by_counter(two: list[Filter]) -> None:
    one, other = two
    pairs = list(zip(values(one), values(other), strict=True))
    assert values(one.a_merge(other)) == [min(a + b, one.shape.ceiling) for a, b in pairs]
    assert values(one.m_merge(other)) == [max(a, b) for a, b in pairs]
    assert values(one.without(other)) == [0 if b else a for a, b in pairs]


@given(filters(3))
def test_laws_of_merging(three: list[Filter]) -> None:
    a, b, c = three
    assert a.a_merge(b) == b.a_merge(a)
    assert a.m_merge(b) == b.m_merge(a)
    assert a.m_merge(a) == a
    assert a.a_merge(b).a_merge(c) == a.a_merge(b.a_merge(c))
    assert a.m_merge(b).m_merge(c) == a.m_merge(b.m_merge(c))


@given(filters(3), st.lists(KEYS, unique=True, max_size=30))
def test_evidence_is_a_fresh_filter_that_is_added(three: list[Filter], keys: list[str]) -> None:
    fresh = three[0].shape.of(keys)
    evidence = Evidence(fresh)
    for mine in three:
        for theirs in three:
            assert mine.a_merge_and_m_merge(evidence, theirs.counters) == mine.a_merge(fresh).m_merge(theirs)


def test_what_is_merged_is_no_evidence() -> None:
    with pytest.raises(ProtocolError, match="only a fresh filter is evidence"):
        Evidence(SHAPE.of(["x"]).a_merge(SHAPE.of(["x"])))


@given(filters(2), st.integers(0, 300), st.integers(0, 300))
def test_laws_of_decay(two: list[Filter], first: int, second: int) -> None:
    a, b = two
    assert a.decay(first).decay(second) == a.decay(first + second)
    assert values(a.decay(first)) == [max(0, value - first) for value in values(a)]
    assert a.m_merge(b).decay(first) == a.decay(first).m_merge(b.decay(first))


@given(filters(2), st.lists(KEYS, unique=True, max_size=30))
def test_looking_up_many_keys_is_looking_up_each(two: list[Filter], keys: list[str]) -> None:
    mine, theirs = two
    lookup = lookup_of(mine.shape, keys)
    assert list(lookup.values(mine.counters)) == [mine.value(key) for key in keys]
    assert lookup.present(mine.counters) == [key for key in keys if key in mine]
    expected = [(key, mine.value(key), theirs.value(key)) for key in keys if theirs.value(key) > mine.value(key)]
    assert list(lookup.preferred(mine.counters, theirs.counters, keys)) == expected
    everything = [(key, mine.value(key), theirs.value(key)) for key in keys]
    assert list(lookup.compared(mine.counters, theirs.counters, keys)) == everything


@given(filters(2), KEYS)
def test_vector_7_after_merging_nobody_is_preferred_over_oneself(two: list[Filter], key: str) -> None:
    mine, theirs = two
    assert preference(mine.m_merge(theirs).value(key), theirs.value(key)) <= 0


@given(SHAPES, st.lists(st.tuples(st.sampled_from("amd"), st.lists(KEYS, max_size=4), st.integers(0, 4)), max_size=25))
def test_a_filter_never_holds_a_key_less_firmly_than_it_should(
    shape: FilterShape, steps: list[tuple[str, list[str], int]]
) -> None:
    """No false negatives: the exact counters are a lower bound through any history."""
    ours, exact = shape.empty(), ExactCounters({}, shape.ceiling)
    heard, heard_exactly = ours, exact
    for what, keys, cycles in steps:
        fresh, fresh_exactly = shape.of(keys), ExactCounters(dict.fromkeys(keys, shape.initial), shape.ceiling)
        if what == "a":
            ours, exact = ours.a_merge(fresh), exact.a_merge(fresh_exactly)
            heard, heard_exactly = ours, exact
        elif what == "m":
            ours, exact = ours.m_merge(heard), exact.m_merge(heard_exactly)
        else:
            ours, exact = ours.decay(cycles), exact.decay(cycles)
        for key in [f"tag{n}" for n in range(30)]:
            assert ours.value(key) >= exact.value(key)


# On the wire -----------------------------------------------------------------------------------------------------


@given(filters(1))
def test_wire_and_back(one: list[Filter]) -> None:
    [ours] = one
    told = GREETINGS[ours.shape.width](b"", ours.counters)
    assert from_bytes(to_bytes(told, as_id, as_id), int.from_bytes, int.from_bytes) == told
    assert told.size == len(to_bytes(told, as_id, as_id))
    check_filters(GREETINGS[ours.shape.width](ours.shape.empty().to_plain_wire(), ours.counters), ours.shape)


@given(SHAPES, st.lists(KEYS, max_size=30))
def test_plain_wire_and_back(shape: FilterShape, keys: list[str]) -> None:
    made = shape.of(keys)
    data = made.to_plain_wire()
    assert shape.from_plain_wire(data) == made
    blocks = [values(made)[start : start + 256] for start in range(0, shape.total, 256)]
    lengths = [min(sum(map(bool, block)), -(-len(block) // 8)) for block in blocks]
    assert len(data) == sum(lengths) + (len(blocks) if shape.total > 256 else 0)


def test_a_tag_takes_at_most_four_bytes_where_values_are_shared() -> None:
    tags = [f"tag{n}" for n in range(10)]
    assert wire_size(SHAPE.of(tags).counters) <= 3 * 10 + 2
    assert write_counters(SHAPE.of(["NewMoon"]).counters) == bytes([5, 2, 49, 171, 179])


@given(st.integers(1, 256), st.binary(max_size=60))
def test_nonsense_is_refused_or_means_exactly_what_it_says(counters: int, data: bytes) -> None:
    try:
        parsed = read_counters(data, counters)
    except PeerError:
        return
    assert write_counters(parsed) == data


@given(SHAPES, st.binary(max_size=40))
def test_plain_nonsense_is_refused(shape: FilterShape, data: bytes) -> None:
    try:
        parsed = shape.from_plain_wire(data)
    except PeerError:
        return
    assert set(values(parsed)) <= {0, shape.initial}


@pytest.mark.parametrize(
    "data",
    [
        bytes([5]),  # cut off after the value
        bytes([5, 2, 1, 2]),  # cut off among the positions
        bytes([0, 0, 1]),  # a group of zeros
        bytes([5, 1, 2, 1]),  # positions out of order
        bytes([5, 0, 1, 4, 0, 2]),  # values out of order
        bytes([5, 0, 1, 6, 0, 1]),  # two values for one counter
    ],
)
def test_damage_is_the_peers_fault(data: bytes) -> None:
    with pytest.raises(PeerError):
        read_counters(data, 256)


IMPOSSIBLE = [
    {"counters": 0},
    {"counters": 257},
    {"hashes": 0},
    {"hashes": 17},
    {"initial": 0},
    {"initial": 9, "ceiling": 8},
    {"ceiling": HIGHEST + 1},
    {"filters": 0},
    {"filters": 65},
    {"filters": 2, "hashes": 16},
]


@pytest.mark.parametrize("given_", IMPOSSIBLE, ids=str)
def test_impossible_shapes_are_refused(given_: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="1 to 256 counters"):
        FilterShape(**given_)


def test_the_least_and_the_largest_shapes() -> None:
    assert FilterShape(counters=1, hashes=1, initial=1, ceiling=1).of(["x"]).value("x") == 1
    assert FilterShape(counters=256, hashes=16, initial=255, ceiling=255).of(["x"]).value("x") == 255
    assert FilterShape(hashes=15, initial=300, ceiling=HIGHEST, filters=64).of(["x"]).value("x") == 300


def test_a_counter_takes_as_many_bytes_as_the_ceiling_needs() -> None:
    sizes = []
    for ceiling in (255, 256, 65_535, 65_536):
        shape = FilterShape(ceiling=ceiling)
        counters = shape.of(["NewMoon"]).counters
        sizes.append((len(counters), wire_size(counters, shape.width)))
    assert sizes == [(256, 5), (512, 6), (512, 6), (1024, 8)]


def test_several_filters_hold_fewer_false_positives() -> None:
    """Spread over two filters, 38 tags have the errors of 19 in one (section 5)."""
    keys = [f"tag{number}" for number in range(38)]
    wrong = []
    for filters_ in (1, 2):
        held = FilterShape(filters=filters_).of(keys)
        wrong.append(sum(f"other{number}" in held for number in range(20_000)) / 20_000)
    assert wrong[0] == pytest.approx(false_positive_rate(38), rel=0.15)
    assert wrong[1] == pytest.approx(false_positive_rate(19), rel=0.3)


def test_a_salt_gives_other_hash_functions() -> None:
    assert FilterShape(salt=1).positions("NewMoon") != SHAPE.positions("NewMoon") == (179, 49, 171)
