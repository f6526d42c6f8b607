"""The yardstick: intervals cover what they say, equality is symmetric, more runs never hurt, and verdicts follow."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from hunet.report.claims import Number, Reason, Rule, Rules, Sweep, within
from hunet.report.runs import Runs, Studies
from hunet.report.yardstick import (
    Above,
    At,
    Found,
    Mean,
    Measured,
    Needs,
    Ratio,
    Rises,
    Same,
    above_zero,
    combined,
    equal,
)

numbers = st.floats(-100, 100)
seeded = st.dictionaries(st.integers(0, 50), st.floats(0.1, 100), min_size=3, max_size=20)


def of(*values: float) -> Measured:
    return Measured.of(dict(enumerate(values)))


@given(st.lists(numbers, min_size=3, max_size=12), st.sampled_from([0.05, 0.01, 0.05 / 24]))
def test_intervals_are_those_of_scipy(values: list[float], level: float) -> None:
    sample = of(*values)
    if sample.error == 0:
        return
    low, high = stats.t.interval(1 - level, len(values) - 1, loc=sample.mean, scale=stats.sem(values))
    assert sample.mean - sample.half(level) == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert sample.mean + sample.half(level) == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    random = Random(24)
    missed = 0
    for _ in range(2000):
        sample = of(*(random.gauss(3, 2) for _ in range(8)))
        missed += abs(sample.mean - 3) > sample.half()
    assert 0.03 < missed / 2000 < 0.07


def test_chance_is_taken_for_an_effect_no_more_often_than_the_level_says_over_all_points() -> None:
    random, points = Random(7), 10
    wrong = sum(
        any(above_zero(of(*(random.gauss(0, 1) for _ in range(6))), 0.05 / points) for _ in range(points))
        for _ in range(400)
    )
    assert wrong / 400 < 0.05


def test_unequal_things_pass_for_equal_no_more_often_than_the_level() -> None:
    random = Random(11)
    passed = sum(
        equal(of(*(random.gauss(111, 5) for _ in range(10))), Measured.constant(100.0)) is True for _ in range(1000)
    )
    assert passed / 1000 < 0.05


@given(seeded, seeded)
def test_equality_is_symmetric(one: dict[int, float], two: dict[int, float]) -> None:
    left, right = Measured.of(one), Measured.of({**dict.fromkeys(one, 1.0), **two})
    assert equal(left, right) == equal(right, left)
    assert equal(left, right, within=3.0) == equal(right, left, within=3.0)


@given(st.floats(-5, 5), st.floats(0.01, 5), st.integers(2, 40), st.integers(0, 40))
def test_what_holds_with_few_runs_holds_with_more(mean: float, half: float, few: int, more: int) -> None:
    """At the same spread; so a bound that is known stays known."""
    spread = half * math.sqrt(few)
    samples = [Measured(mean, spread / math.sqrt(n), n) for n in (few, few + more)]
    outcomes = [above_zero(sample) for sample in samples]
    assert outcomes[0] in (None, outcomes[1])


@given(seeded, st.floats(-20, 20))
def test_what_holds_by_means_alone_holds_seed_by_seed(one: dict[int, float], shift: float) -> None:
    random = Random(1)
    two = {seed: value + shift + random.gauss(0, 1) for seed, value in one.items()}
    left, right = Measured.of(one), Measured.of(two)
    exact = above_zero(combined((1.0, right), (-1.0, left)))
    blind = [Measured.printed(each.mean, each.half(), int(each.runs)) for each in (left, right)]
    bound = above_zero(combined((1.0, blind[1]), (-1.0, blind[0])))
    assert bound in (None, exact)


def test_seeds_that_one_side_lacks_do_not_count() -> None:
    one, two = Measured.of({1: 5.0, 2: 6.0, 3: 100.0}), Measured.of({1: 4.0, 2: 5.0, 9: 0.0})
    assert combined((1.0, one), (-1.0, two)).values == {1: 1.0, 2: 1.0}


# Comparisons and verdicts ---------------------------------------------------------------------------------------------


def runs(*rows: tuple[str, dict[str, Any], list[float]], metric: str = "relayed") -> Runs:
    """Points with a value for each seed."""
    return Runs(
        {"protocol": protocol, "coordinates": coordinates, "seed": seed, "repetition": seed, metric: value}
        for protocol, coordinates, values in rows
        for seed, value in enumerate(values)
    )


def printed(*rows: tuple[str, dict[str, Any], float, float, int], metric: str = "relayed") -> Runs:
    return Runs(
        {
            "protocol": p,
            "coordinates": coordinates,
            "seed": None,
            "runs": n,
            "repetition": 0,
            metric: mean,
            f"{metric} ±": half,
        }
        for p, coordinates, mean, half, n in rows
    )


def relayed(protocol: str, **coordinates: Any) -> At:
    return At("s", "relayed", protocol, coordinates)


def verdict(rule: Rule, studies: Studies, **more: Any) -> str:
    [claim] = Rules("today", "none", [rule], **more).judged(studies)
    return claim.verdict


LESS, MORE = [10.0, 20.0, 30.0, 40.0, 50.0], [12.0, 22.5, 32.0, 42.0, 52.0]
STUDY = {"s": runs(("a", {}, LESS), ("b", {}, MORE), ("c", {}, [x * 1.3 for x in LESS]))}
BLIND = {"s": printed(("a", {}, 30.0, 20.0, 5), ("b", {}, 32.1, 20.0, 5), ("c", {}, 90.0, 9.0, 5))}


def test_differences_are_seed_by_seed() -> None:
    rule = Rule("X-1", "more", [Above(relayed("b"), relayed("a"))])
    assert verdict(rule, STUDY) == "reproduced"
    assert verdict(rule, BLIND) == "not known"
    back = Rule("X-1", "less", [Above(relayed("a"), relayed("b"))])
    assert verdict(back, STUDY) == verdict(back, BLIND) == "not reproduced"
    assert verdict(Rule("X-1", "more", [Above(relayed("c"), relayed("a"))]), BLIND) == "reproduced"
    assert verdict(Rule("X-1", "twice", [Above(relayed("b"), relayed("a"), by=2)]), STUDY) == "not reproduced"


def test_numbers_make_the_difference_between_reproduced_and_shape_only() -> None:
    core = [Above(relayed("b"), relayed("a"))]
    flat = {"s": runs(("a", {}, [1.0, 1.01, 1.02]), ("b", {}, [2.0, 2.01, 2.03]))}
    assert verdict(Rule("X-1", "", core, [Same(relayed("b"), 2.0)]), flat) == "reproduced"
    assert verdict(Rule("X-1", "", core, [Same(relayed("b"), 2.5)]), flat) == "shape only"
    assert verdict(Rule("X-1", "", core, [Same(relayed("b"), relayed("a"), times=2)]), flat) == "reproduced"
    assert verdict(Rule("X-1", "", core, [Same(relayed("b"), 2.0, within=0.001)]), flat) == "shape only"
    # A wide interval around the paper's number is no agreement.
    assert verdict(Rule("X-1", "", [Same(relayed("a"), 30.0)]), STUDY) == "not known"
    assert verdict(Rule("X-1", "", [Same(relayed("a"), 34.0)]), STUDY) == "not reproduced"


def test_noise_is_no_rise() -> None:
    flat = {"s": runs(*(("a", {"x": x}, [5 + 0.1 * x, 5.0, 5.2 - 0.1 * x, 5.1]) for x in range(4)))}
    grows = {"s": runs(*(("a", {"x": x}, [5.0 + x, 5.1 + x, 4.9 + x, 5 + 1.01 * x]) for x in range(4)))}
    curve = [relayed("a", x=x) for x in range(4)]
    assert verdict(Rule("X-1", "", [Rises(curve)]), flat) == "not reproduced"
    assert verdict(Rule("X-1", "", [Rises(curve)]), grows) == "reproduced"
    assert verdict(Rule("X-1", "", [Rises(curve, falls=True)]), grows) == "not reproduced"
    assert verdict(Rule("X-1", "", [Rises([*curve, curve[0]])]), grows) == "not reproduced"


def test_nothing_is_reproduced_by_a_ceiling() -> None:
    high = {"s": runs(("a", {}, [0.995, 0.996, 0.995]), ("b", {}, [0.999, 1.0, 0.999]), metric="delivery_ratio")}
    a, b = (At("s", "delivery_ratio", name) for name in "ab")
    assert verdict(Rule("X-1", "", [Above(b, a)]), high) == "not testable"
    assert verdict(Rule("X-1", "", [Same(b, a)]), high) == "not testable"
    assert verdict(Rule("X-1", "", [Above(b, 0.9), Needs(a, 0.9)]), high) == "not testable"
    assert verdict(Rule("X-1", "", [Above(0.9, b), Needs(a, 0.9)]), high) == "not reproduced"


def test_nothing_is_reproduced_by_construction() -> None:
    """The same run on both sides is no difference, however many points there are."""
    assert verdict(Rule("X-1", "", [Above(relayed("a"), relayed("a"))]), STUDY) == "not reproduced"


def test_a_parameter_that_is_not_given_and_turns_the_answer_makes_it_not_testable() -> None:
    rule = Rule(
        "X-1",
        "",
        [Above(relayed("b"), relayed("a"))],
        sweep=Sweep("speed", {"fast": [Above(relayed("a"), relayed("b"))]}),
    )
    [claim] = Rules("today", "none", [rule]).judged(STUDY)
    assert claim.verdict == "not testable"
    assert claim.why.startswith("speed, which the paper does not give: fast: fails")
    steady = rule._replace(sweep=Sweep("speed", {"fast": [Above(relayed("c"), relayed("a"))]}))
    assert verdict(steady, STUDY) == "reproduced"


def test_tables_are_judged_by_strict_shares() -> None:
    numbers = [Number(relayed("a"), 30.0), Number(relayed("b"), 30.0), Number(relayed("c"), 31.0)]
    [claim] = Rules("today", "none", [Rule("Table 1", "", table=numbers)]).judged(STUDY)
    assert claim.ours == "of 3 printed numbers 2 within 10 %, 3 within a third"
    assert (claim.verdict, claim.why) == ("shape only", "open")
    assert not within(1.34, 1.0, 1 / 3)


def test_reasons_are_told_with_the_study_that_shows_them() -> None:
    rule = Rule("X-1", "", [Above(relayed("a"), relayed("c"))], reasons=[Reason("c sends more", [relayed("c")])])
    [claim] = Rules("today", "none", [rule]).judged(STUDY)
    assert claim.why == "c sends more: relayed of c (`s`) 39.0 ± 25.5"


def test_readings_stand_side_by_side_and_none_is_chosen_for_its_result() -> None:
    study = {"s": runs(("a", {"w": 0}, LESS), ("b", {"w": 0}, MORE), ("a", {"w": 1}, MORE), ("b", {"w": 1}, LESS))}
    rule = Rule("X-1", "", [Above(relayed("b"), relayed("a"))], before={"calm": "partly", "wild": "partly"})
    rules = Rules("today", "none", [rule], readings={"calm": {"w": 0}, "wild": {"w": 1}}, chosen="the paper's")
    assert [(c.id, c.verdict, c.before) for c in rules.judged(study)] == [
        ("X-1, calm", "reproduced", "partly"),
        ("X-1, wild", "not reproduced", "partly"),
    ]
    assert "| X-1 | reproduced | not reproduced |" in rules.section(study)
    assert "Default reading: calm; the paper's." in rules.section(study)


def test_quantities_are_made_seed_by_seed() -> None:
    found = Found(STUDY)
    assert Ratio(relayed("c"), relayed("a")).sample(found).text() == "1.300"
    assert Mean([relayed("a"), relayed("b")]).sample(found).mean == pytest.approx(31.05)
    blind = Ratio(relayed("c"), relayed("a")).sample(Found(BLIND))
    assert blind.mean == 3.0
    assert not blind.paired
    with pytest.raises(ValueError, match="more than one point"):
        At("s", "relayed").sample(found)


def test_what_has_no_results_is_not_run() -> None:
    assert verdict(Rule("X-1", "", [Above(relayed("b"), relayed("a"))]), {}) == "not run"
    assert verdict(Rule("X-1", "", [Above(relayed("b"), relayed("z"))]), STUDY) == "not run"
    assert verdict(Rule("X-1", "", untestable="never published"), {}) == "not testable"
    # One run of something random tells nothing.
    assert verdict(Rule("X-1", "", [Above(relayed("a"), 1.0)]), {"s": runs(("a", {}, [5.0]))}) == "not known"
    exact = {"fixed": frozenset({"s"})}
    assert verdict(Rule("X-1", "", [Above(relayed("a"), 1.0)]), {"s": runs(("a", {}, [5.0]))}, **exact) == "reproduced"
